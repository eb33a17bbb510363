//! Image to text that [`assemble`](super::assemble) turns into the same image.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use super::line::{quoted, word};
use crate::image::{Entry, Image, LineTable, ParamKind};
use crate::isa::Inst;

/// Levels of indentation; what nests deeper stands at the same column.
const MAX_INDENT: usize = 12;
/// Bytes of constants in a line.
const CONST_BYTES: usize = 32;
/// Column of the comments.
const COMMENT_COLUMN: usize = 56;

/// How much a listing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Style {
    /// The text alone, with the source line behind the first instruction of each.
    #[default]
    Plain,
    /// Behind every instruction its index, word, issue cycles and source line, as a comment.
    Columns,
}

/// The text of an image.
pub fn disassemble(image: &Image) -> String {
    disassemble_with(image, Style::Plain)
}

/// The text of an image in a style; either assembles to the same image.
pub fn disassemble_with(image: &Image, style: Style) -> String {
    let mut listing = Listing::new(image, style);
    listing.header();
    listing.code();
    listing.out
}

struct Listing<'i> {
    image: &'i Image,
    style: Style,
    insts: Vec<Inst>,
    labels: BTreeMap<u32, String>,
    /// Entries that can stand at their instruction, since they come in the order of the code.
    inline_entries: bool,
    out: String,
}

impl<'i> Listing<'i> {
    fn new(image: &'i Image, style: Style) -> Self {
        let insts = image.decode();
        let inline_entries = image.entries().is_sorted_by_key(|e| e.pc);
        let mut labels = labels(&insts);
        if !inline_entries {
            for entry in image.entries() {
                labels.entry(entry.pc).or_insert_with(|| format!("at_{}", entry.pc));
            }
        }
        Self { image, style, insts, labels, inline_entries, out: String::new() }
    }

    /// What stands before the code. Names and files are listed only if their order is not that of their use.
    fn header(&mut self) {
        self.push(&format!(".target {}", self.image.target()));
        if !names_in_order(&self.insts, self.image.names().len()) {
            self.image.names().iter().for_each(|name| push(&mut self.out, &format!(".name {}", quoted(name))));
        }
        let lines = self.image.lines();
        if !files_in_order(lines) {
            lines.files.iter().for_each(|file| push(&mut self.out, &format!(".file {}", quoted(file))));
        }
        for chunk in self.image.constants().chunks(CONST_BYTES) {
            self.out.push_str(".const ");
            chunk.iter().for_each(|byte| _ = write!(self.out, "{byte:02x}"));
            self.out.push('\n');
        }
        if !self.inline_entries {
            for entry in self.image.entries() {
                let label = &self.labels[&entry.pc];
                push_entry(&mut self.out, entry, &format!(" @{label}"));
            }
        }
    }

    fn code(&mut self) {
        let image = self.image;
        let mut ranges = image.lines().ranges.iter().peekable();
        let inline: &[Entry] = if self.inline_entries { image.entries() } else { &[] };
        let mut entries = inline.iter().peekable();
        let mut nesting = Nesting::default();
        let mut line_end = None;
        for (pc, inst) in (0..).zip(self.insts.clone()) {
            nesting.before(pc, &inst);
            self.label(pc);
            while let Some(entry) = entries.next_if(|e| e.pc == pc) {
                self.out.push('\n');
                push_entry(&mut self.out, entry, "");
            }
            let range = ranges.next_if(|r| r.start == pc);
            if let Some(range) = range {
                let file = quoted(&image.lines().files[range.file as usize]);
                self.push(&format!(".loc {file} {}", range.line));
                line_end = Some(range.end);
            } else if line_end == Some(pc) {
                self.push(".loc none");
                line_end = None;
            }
            self.inst(pc, &inst, nesting.depth(), range.is_some());
            nesting.after(&inst);
        }
        self.label(self.insts.len() as u32);
    }

    fn label(&mut self, pc: u32) {
        if let Some(label) = self.labels.get(&pc) {
            _ = writeln!(self.out, "{label}:");
        }
    }

    fn inst(&mut self, pc: u32, inst: &Inst, depth: usize, first_of_line: bool) {
        let text = self.inst_text(inst);
        let text = format!("{:1$}{text}", "", 4 + 2 * depth.min(MAX_INDENT));
        let source = || {
            let (file, line) = self.image.lines().lookup(pc)?;
            Some(format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)))
        };
        let comment = match self.style {
            Style::Plain => first_of_line.then(source).flatten(),
            Style::Columns => {
                let cycles = self.image.target().cycles(inst.cost());
                let source = source().unwrap_or_default();
                Some(format!("{pc:>6}  {:016x}  {cycles:>2}  {source}", inst.encode()))
            }
        };
        match comment {
            Some(comment) => self.push(format!("{text:COMMENT_COLUMN$} ; {comment}").trim_end()),
            None => self.push(&text),
        }
    }

    /// The instruction with labels and names in the places of numbers.
    fn inst_text(&self, inst: &Inst) -> String {
        let mut text = inst.to_string();
        if let Some(label) = inst.code_addr().and_then(|addr| self.labels.get(&addr.get())) {
            // A code address is the last operand of every row that has one.
            text.truncate(text.rfind('@').unwrap_or(text.len()));
            text.push('@');
            text.push_str(label);
        }
        if let Some(name) = inst.name_id() {
            text = text.replacen(&name.to_string(), &quoted(self.image.name(name)), 1);
        }
        text
    }

    fn push(&mut self, line: &str) {
        push(&mut self.out, line);
    }
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn push_entry(out: &mut String, entry: &Entry, at: &str) {
    push(out, &format!(".entry {}{at}", word(&entry.name)));
    for param in &entry.params {
        let kind = match param.kind {
            ParamKind::Buffer { space, dir, len_bytes } => format!("{} {} {len_bytes}", space.word(), dir.word()),
            ParamKind::Scalar => "scalar".to_owned(),
        };
        push(out, &format!(".param {} {kind} {}", word(&param.name), param.reg));
    }
    if let Some(reg) = entry.constants_reg {
        push(out, &format!(".constants_reg {reg}"));
    }
}

/// A label for every instruction that another one names: `fn_` if it is called, `at_` if it is jumped to, `end_` if a loop
/// ends there, with its index behind.
fn labels(insts: &[Inst]) -> BTreeMap<u32, String> {
    let mut prefixes: BTreeMap<u32, &str> = BTreeMap::new();
    for inst in insts {
        let Some(addr) = inst.code_addr() else { continue };
        let prefix = match inst {
            Inst::Call { .. } => "fn",
            Inst::LoopI { .. } | Inst::LoopS { .. } => "end",
            _ => "at",
        };
        let kept = prefixes.entry(addr.get()).or_insert(prefix);
        // Being called says most, ending a loop least.
        if prefix == "fn" || *kept == "end" {
            *kept = prefix;
        }
    }
    prefixes.into_iter().map(|(pc, prefix)| (pc, format!("{prefix}_{pc}"))).collect()
}

/// Whether numbering names as they appear gives the numbers that they have.
fn names_in_order(insts: &[Inst], n_names: usize) -> bool {
    in_order(insts.iter().filter_map(Inst::name_id).map(|id| id.get() as u32), n_names)
}

/// Likewise for files.
fn files_in_order(lines: &LineTable) -> bool {
    in_order(lines.ranges.iter().map(|r| r.file), lines.files.len())
}

fn in_order(ids: impl Iterator<Item = u32>, n: usize) -> bool {
    let mut seen = HashMap::new();
    for id in ids {
        let next = seen.len() as u32;
        if *seen.entry(id).or_insert(next) != id {
            return false;
        }
    }
    seen.len() == n
}

/// How deep an instruction stands in loops and regions.
#[derive(Default)]
struct Nesting {
    loop_ends: Vec<u32>,
    regions: usize,
}
impl Nesting {
    fn before(&mut self, pc: u32, inst: &Inst) {
        while self.loop_ends.last().is_some_and(|end| *end <= pc) {
            self.loop_ends.pop();
        }
        if matches!(inst, Inst::RegionEnd {}) {
            self.regions = self.regions.saturating_sub(1);
        }
    }
    fn after(&mut self, inst: &Inst) {
        match inst {
            Inst::Region { .. } => self.regions += 1,
            Inst::LoopI { end, .. } | Inst::LoopS { end, .. } => self.loop_ends.push(end.get()),
            _ => {}
        }
    }
    fn depth(&self) -> usize {
        self.loop_ends.len() + self.regions
    }
}
