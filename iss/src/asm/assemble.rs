//! Text to image, in one pass over the lines and one over the instructions that name labels.

use std::collections::HashMap;

use super::error::{AsmCause, AsmError, AsmErrors, nearest, shown};
use super::line::{Line, Piece, is_label_char};
use crate::image::{Image, ImageError, ImageParts, Interner, LineRange, MAX_CODE, MAX_NAMES};
use crate::isa::operand::{CodeAddr, NameId, Operand, OperandError};
use crate::isa::{Inst, InstError, InstInfo};
use crate::target::QC_U;

/// Errors that are kept.
const MAX_ERRORS: usize = 100;

/// Reads assembly text.
///
/// # Errors
/// All that is wrong with the text, each with line and column; nothing of the image is given then.
pub fn assemble(text: &str) -> Result<Image, AsmErrors> {
    Assembler::new().text(text)
}

/// Reads assembly text and records its lines as those of `file`, where no `.loc` is in force: breakpoints and the reports
/// of a run then name them.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_file(text: &str, file: &str) -> Result<Image, AsmErrors> {
    let mut assembler = Assembler::new();
    assembler.own_file = Some(file.to_owned());
    assembler.text(text)
}

/// A place that a name in the text refers to.
struct Reference {
    line: u32,
    column: u32,
    label: String,
    to: Referrer,
}
enum Referrer {
    Inst(usize),
    Entry(usize),
}

pub(super) struct Assembler {
    rows: HashMap<&'static str, InstInfo>,
    pub parts: ImageParts,
    pub target_seen: bool,
    pub names: Interner,
    pub files: Interner,
    /// File and line of the instructions to come.
    pub loc: Option<(u32, u32)>,
    /// File whose lines the text's own are, if they are recorded.
    own_file: Option<String>,
    insts: Vec<Inst>,
    /// Line of the text of each instruction, for errors found at the end.
    inst_lines: Vec<u32>,
    labels: HashMap<String, Label>,
    references: Vec<Reference>,
    errors: Vec<AsmError>,
    n_errors: usize,
}
struct Label {
    pc: u32,
    line: u32,
}

impl Assembler {
    fn new() -> Self {
        Self {
            rows: Inst::table().into_iter().map(|row| (row.mnemonic, row)).collect(),
            parts: ImageParts::new(QC_U),
            target_seen: false,
            names: Interner::default(),
            files: Interner::default(),
            loc: None,
            own_file: None,
            insts: Vec::new(),
            inst_lines: Vec::new(),
            labels: HashMap::new(),
            references: Vec::new(),
            errors: Vec::new(),
            n_errors: 0,
        }
    }

    fn text(mut self, text: &str) -> Result<Image, AsmErrors> {
        for (number, line) in (1..).zip(text.lines()) {
            self.line(&Line::new(number, line));
        }
        self.finish()
    }

    /// The index of the next instruction.
    pub fn pc(&self) -> u32 {
        self.insts.len() as u32
    }

    /// What was probably meant; not looked for once no further error is kept.
    pub fn suggest<'a>(&self, found: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
        if self.n_errors < MAX_ERRORS { nearest(found, candidates) } else { None }
    }

    fn error(&mut self, error: AsmError) {
        self.n_errors += 1;
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        let mut rest = line.all();
        loop {
            let (label, behind) = line.label(rest);
            rest = behind;
            let Some(label) = label else { break };
            if let Err(error) = self.bind(line, &label) {
                return self.error(error);
            }
        }
        if rest.text.is_empty() {
            return;
        }
        let (head, operands) = line.head(rest);
        let done = if head.text.starts_with('.') {
            self.directive(line, &head, &operands)
        } else {
            self.instruction(line, &head, &operands)
        };
        if let Err(error) = done {
            self.error(error);
        }
    }

    fn bind(&mut self, line: &Line<'_>, label: &Piece<'_>) -> Result<(), AsmError> {
        if label.text.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(line.syntax(label, "a label that does not start with a digit"));
        }
        let place = Label { pc: self.pc(), line: line.number() };
        if let Some(first) = self.labels.get(label.text) {
            let cause = AsmCause::LabelTwice { name: label.text.to_owned(), first: first.line };
            return Err(line.error(label.at, cause));
        }
        self.labels.insert(label.text.to_owned(), place);
        Ok(())
    }

    /// Appends an instruction; one that does not read leaves a placeholder, so that labels behind it keep their distance.
    fn instruction(&mut self, line: &Line<'_>, head: &Piece<'_>, operands: &Piece<'_>) -> Result<(), AsmError> {
        if self.insts.len() >= MAX_CODE {
            return Err(line.error(head.at, AsmCause::TooMany { what: "instructions", limit: MAX_CODE }));
        }
        let made = self.parse(line, head, &line.operands(operands));
        let own = self.own_file.as_ref().map(|file| (self.files.id(file), line.number()));
        if let Some((file, line)) = self.loc.or(own) {
            let start = self.pc();
            self.parts.lines.append(LineRange { start, end: start + 1, file, line });
        }
        self.inst_lines.push(line.number());
        let (inst, done) = match made {
            Ok(inst) => (inst, Ok(())),
            Err(error) => (Inst::Nop {}, Err(error)),
        };
        self.insts.push(inst);
        done
    }

    fn parse(&mut self, line: &Line<'_>, head: &Piece<'_>, operands: &[Piece<'_>]) -> Result<Inst, AsmError> {
        let Some(row) = self.rows.get(head.text) else {
            let nearest = self.suggest(head.text, Inst::MNEMONICS.iter().copied());
            let found = shown(head.text).trim_matches('`').to_owned();
            return Err(line.error(head.at, AsmCause::Mnemonic { found, nearest }));
        };
        let (mnemonic, n_fields) = (row.mnemonic, row.fields.len());
        let kinds: Vec<&'static str> = row.fields.iter().map(|f| f.operand).collect();
        if operands.len() != n_fields {
            let form = row.fields.iter().map(|f| f.name).collect::<Vec<_>>().join(", ");
            let at = operands.get(n_fields).map_or(head.at, |extra| extra.at);
            let cause = AsmCause::OperandCount { mnemonic, found: operands.len(), expected: n_fields, form };
            return Err(line.error(at, cause));
        }
        let mut texts = Vec::with_capacity(n_fields);
        let mut label = None;
        for (piece, kind) in operands.iter().zip(kinds) {
            texts.push(match kind {
                NameId::NAME if piece.text.starts_with('"') => self.intern(line, piece)?.to_string(),
                CodeAddr::NAME if names_label(piece.text) => {
                    label = Some((piece.at, piece.text[1..].to_owned()));
                    "@0".to_owned()
                }
                _ => piece.text.to_owned(),
            });
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let made = Inst::parse_parts(mnemonic, &texts).map_err(|e| self.inst_error(line, head, operands, mnemonic, e));
        if let Some((at, label)) = label {
            self.refer(line, at, label, Referrer::Inst(self.insts.len()));
        }
        made
    }

    fn inst_error(
        &self,
        line: &Line<'_>,
        head: &Piece<'_>,
        operands: &[Piece<'_>],
        mnemonic: &'static str,
        error: InstError,
    ) -> AsmError {
        match error {
            InstError::Operand { field, error, .. } => {
                let fields = &self.rows[mnemonic].fields;
                let idx = fields.iter().position(|f| f.name == field).unwrap_or_default();
                let words = fields[idx].values.iter().map(|v| v.word);
                let nearest = self.suggest(operands[idx].text, words);
                let error = cut(error);
                line.error(operands[idx].at, AsmCause::Operand { mnemonic, field, error, nearest })
            }
            InstError::Combination { inst, reason } => line.error(head.at, AsmCause::Combination { inst, reason }),
            // The mnemonic and the number of operands have been checked, and no word is read here.
            other => unreachable!("`parse_parts` of `{mnemonic}` gave {other:?}"),
        }
    }

    /// The id of a quoted name.
    fn intern(&mut self, line: &Line<'_>, piece: &Piece<'_>) -> Result<NameId, AsmError> {
        let name = line.unquoted(piece)?;
        self.name(line, piece, &name)
    }

    /// The id of a name.
    pub fn name(&mut self, line: &Line<'_>, piece: &Piece<'_>, name: &str) -> Result<NameId, AsmError> {
        let too_many = AsmCause::TooMany { what: "names", limit: MAX_NAMES };
        NameId::new(self.names.id(name) as i64).map_err(|_| line.error(piece.at, too_many))
    }

    /// Notes that an entry starts at a label.
    pub fn refer_entry(&mut self, line: &Line<'_>, piece: &Piece<'_>, entry: usize) {
        self.refer(line, piece.at, piece.text[1..].to_owned(), Referrer::Entry(entry));
    }

    fn refer(&mut self, line: &Line<'_>, at: usize, label: String, to: Referrer) {
        self.references.push(Reference { line: line.number(), column: line.column(at), label, to });
    }

    /// Gives what names a label its address.
    fn resolve(&mut self) {
        for Reference { line, column, label, to } in std::mem::take(&mut self.references) {
            let Some(place) = self.labels.get(&label) else {
                let labels = self.labels.keys().map(String::as_str);
                let cause = AsmCause::Label { nearest: self.suggest(&label, labels), found: label };
                self.error(AsmError { line, column, cause });
                continue;
            };
            match to {
                Referrer::Entry(entry) => self.parts.entries[entry].pc = place.pc,
                Referrer::Inst(at) => match CodeAddr::new(place.pc as i64) {
                    Ok(addr) => self.insts[at] = self.insts[at].with_code_addr(addr),
                    Err(error) => {
                        let cause = AsmCause::DirectiveOperand { directive: "label", error };
                        self.error(AsmError { line, column, cause });
                    }
                },
            }
        }
    }

    fn finish(mut self) -> Result<Image, AsmErrors> {
        self.resolve();
        if self.n_errors == 0 {
            self.parts.code = self.insts.iter().map(Inst::encode).collect();
            self.parts.names = std::mem::take(&mut self.names).into_list();
            self.parts.lines.files = std::mem::take(&mut self.files).into_list();
            let parts = std::mem::replace(&mut self.parts, ImageParts::new(QC_U));
            match Image::new(parts) {
                Ok(image) => return Ok(image),
                Err(error) => {
                    let line = pc_of(&error).and_then(|pc| self.inst_lines.get(pc as usize)).copied().unwrap_or(0);
                    self.error(AsmError { line, column: 0, cause: AsmCause::Image(error) });
                }
            }
        }
        // Labels are looked up behind everything else.
        self.errors.sort_by_key(|e| (e.line, e.column));
        Err(AsmErrors { n_more: self.n_errors - self.errors.len(), errors: self.errors })
    }
}

/// Whether an operand is `@label` rather than `@12`.
pub(super) fn names_label(text: &str) -> bool {
    let Some(name) = text.strip_prefix('@') else { return false };
    name.starts_with(|c: char| !c.is_ascii_digit()) && name.chars().all(is_label_char)
}

/// The instruction that an image's error is about.
const fn pc_of(error: &ImageError) -> Option<u32> {
    match error {
        ImageError::Word { pc, .. }
        | ImageError::CodeTarget { pc, .. }
        | ImageError::LoopsCross { pc, .. }
        | ImageError::NameRange { pc, .. }
        | ImageError::EntryPc { pc, .. } => Some(*pc),
        _ => None,
    }
}

/// Cuts the text that an error quotes to a length that a line can show.
pub(super) fn cut(error: OperandError) -> OperandError {
    match error {
        OperandError::Text { operand, text, expected } => {
            let text = shown(&text).trim_matches('`').to_owned();
            OperandError::Text { operand, text, expected }
        }
        other => other,
    }
}
