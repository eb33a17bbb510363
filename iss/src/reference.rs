//! The reference pages `docs/isa.md` and `docs/costs.md`, written from the tables of instructions, operands, descriptors and
//! timing parameters. A test checks that the pages in the repository are current; `CCL_BLESS=1 cargo test -p iss` rewrites them.

use std::fmt::Write;

use crate::builder::{BroadcastDesc, Desc, DmaDesc, FlowDesc, RauDesc, Value};
use crate::isa::operand::Field;
use crate::isa::{FieldInfo, Inst, InstInfo, rule};
use crate::target::{PRESETS, Param, QC_U, QC_U_NARROW, Standing, Target};

/// Groups of rows: first opcode, title, what holds for all of them.
const GROUPS: [(u8, &str, &str); 8] = [
    (
        0x00,
        "Control",
        "One instruction is issued at a time, in order. `0x00` stays illegal, so that zeroed memory is no program.",
    ),
    (
        0x10,
        "Scalar",
        "32 registers of 32 bits, beside the array. They hold addresses, trip counts and what a run is given.",
    ),
    (0x30, "Predicates", "Each PE has a predicate bit, written by `cmp`, an enable bit, and a stack of enable bits."),
    (
        0x40,
        "Array ALU",
        "Every enabled PE, also of the border columns. Sources are read before the destination is written. A source may be \
         narrower than 32 bits and is sign-extended then.",
    ),
    (
        0x60,
        "Neighbours",
        "What is sent is read in the neighbour's port from the next instruction on, until it is sent again.",
    ),
    (
        0x68,
        "Multiply-accumulate",
        "Every enabled PE of the array, not of the border. One step is 16 products; it pops its weights from the broadcast queue.",
    ),
    (
        0x80,
        "Engines",
        "Engines run beside the instruction stream, started from a descriptor and named by a token until a wait retires them. \
         Touching bytes of a transfer before that stops the run.",
    ),
    (0xf0, "Markers", "For profile, probes and assertions; they change no state."),
];

/// The page of the instruction set.
pub fn isa_page() -> String {
    let mut page = String::from(ISA_INTRO);
    let rows = Inst::table();
    for (i, (first, title, intro)) in GROUPS.iter().enumerate() {
        let end = GROUPS.get(i + 1).map_or(0x100, |(next, ..)| *next as u32);
        let group = rows.iter().filter(|row| (*first as u32..end).contains(&(row.opcode as u32)));
        _ = write!(page, "\n## {title}\n\n{intro}\n");
        group.for_each(|row| instruction(&mut page, row));
    }
    page.push_str("\n## Rules across operands\n\nAn instruction that breaks one does not assemble, decode or build; the message is:\n\n");
    rule::ALL.iter().for_each(|message| _ = writeln!(page, "- {message}"));
    operands(&mut page, &rows);
    descriptors(&mut page);
    page
}

/// The instructions as a list: text, class, issue cycles on `QC-U`, and the first sentence on what each does.
pub fn isa_list() -> String {
    let rows = Inst::table();
    let forms: Vec<String> = rows.iter().map(form).collect();
    let width = forms.iter().map(String::len).max().unwrap_or(0);
    let line = |(row, form): (&InstInfo, &String)| {
        let prose = row.prose.split_inclusive(['.', ';', ':']).next().unwrap_or_default().trim_end_matches([';', ':']);
        let class = row.class.word();
        format!("{form:width$}  {class:13}  {:>2}  {prose}\n", QC_U.cycles(row.cost))
    };
    rows.iter().zip(&forms).map(line).collect()
}

/// What one instruction does, with its operands: its part of the page. `None` if no instruction is called so.
pub fn isa_row(mnemonic: &str) -> Option<String> {
    let row = Inst::table().into_iter().find(|row| row.mnemonic == mnemonic)?;
    let mut page = String::new();
    instruction(&mut page, &row);
    operand_types(&mut page, std::slice::from_ref(&row));
    Some(page.trim_start().to_owned())
}

/// Mnemonic and operands.
fn form(row: &InstInfo) -> String {
    let operands: Vec<&str> = row.fields.iter().map(|f| f.name).collect();
    format!("{} {}", row.mnemonic, operands.join(", ")).trim().to_owned()
}

const ISA_INTRO: &str = "\
# Instruction set

Written by `iss/src/reference.rs` from the tables in `iss/src/isa/`; a test checks that it is current, and
`CCL_BLESS=1 cargo test -p iss` rewrites it. How to add a row: [adding-an-instruction.md](adding-an-instruction.md). What the
costs are and where they come from: [costs.md](costs.md).

A word has 64 bits: the opcode in bits 56..64, operands from bit 0 upwards, the rest 0. Ranges of bits exclude their end. A word
with an unknown opcode, an operand without a meaning or other bits set is no instruction, so every instruction has one word.
Issue cycles are given for `QC-U`, whose PEs have 16 MACs, and for the same machine with 8; what an instruction waits for comes
on top. Each instruction is charged to one of the six classes of the profile.
";

fn instruction(page: &mut String, row: &InstInfo) {
    _ = write!(page, "\n### `{}`\n\n{}\n\n", form(row), row.prose);
    let [wide, narrow] = [QC_U.cycles(row.cost), with_8_macs().cycles(row.cost)];
    let cycles = if wide == narrow { wide.to_string() } else { format!("{wide}, with 8 MACs {narrow}") };
    let (opcode, class, cost) = (row.opcode, row.class, row.cost.name());
    _ = writeln!(page, "Opcode `{opcode:#04x}`; class `{class}`; issue cycles {cycles} (`{cost}`).");
    if !row.fields.is_empty() {
        page.push_str("\n| bits | operand | type |\n| --- | --- | --- |\n");
    }
    for FieldInfo { name, operand, low, bits, .. } in &row.fields {
        _ = writeln!(page, "| {low}..{} | `{name}` | [{operand}](#{}) |", low + bits, anchor(operand));
    }
}

fn with_8_macs() -> Target {
    let mut spec = QC_U.spec().clone();
    spec.macs_per_pe = 8;
    spec.build().expect("`QC-U` with 8 MACs is in the family")
}

/// The part of a link behind `#` that leads to a heading.
fn anchor(heading: &str) -> String {
    format!("operand-{}", heading.replace(' ', "-"))
}

/// Every operand type of the table, in the order of first use.
fn operands(page: &mut String, rows: &[InstInfo]) {
    page.push_str("\n## Operand types\n");
    operand_types(page, rows);
}

fn operand_types(page: &mut String, rows: &[InstInfo]) {
    let mut seen: Vec<&str> = Vec::new();
    for field in rows.iter().flat_map(|row| &row.fields) {
        if seen.contains(&field.operand) {
            continue;
        }
        seen.push(field.operand);
        let FieldInfo { operand, bits, forms, prose, encoding, values, .. } = field;
        _ = write!(page, "\n### Operand: {operand}\n\n{prose}\n\n");
        if values.is_empty() {
            _ = writeln!(page, "- text: {forms}\n- {bits} bits: {encoding}");
            continue;
        }
        _ = write!(page, "{bits} bits, one of:\n\n| value | text | meaning |\n| --- | --- | --- |\n");
        for value in *values {
            _ = writeln!(page, "| {} | `{}` | {} |", value.bits, value.word, value.prose);
        }
    }
}

fn descriptors(page: &mut String) {
    page.push_str(
        "\n## Descriptor fields by engine\n\n`d_clear` sets every field to 0; the builder's descriptor structs set the defaults. \
         An engine ignores the fields that are not its own.\n",
    );
    for (title, fields) in engines() {
        _ = write!(page, "\n### {title}\n\n| field | builder's default | meaning |\n| --- | --- | --- |\n");
        for (field, default) in fields {
            let default = match default {
                Value::Imm(value) => value.to_string(),
                Value::Reg(reg) => format!("s{reg}"),
            };
            _ = writeln!(page, "| `{field}` | {default} | {} |", field.prose());
        }
    }
}

/// The fields that each engine reads, with their defaults.
fn engines() -> [(&'static str, Vec<(Field, Value)>); 4] {
    [
        ("Flow: `flow_in`, `flow_out`", FlowDesc::default().fields()),
        ("Broadcast: `bcast`", BroadcastDesc::default().fields()),
        ("Random access: `rau_load`, `rau_store`", RauDesc::default().fields()),
        ("DMA: `dma_in`, `dma_out`", DmaDesc::default().fields()),
    ]
}

/// The page of the timing parameters.
pub fn costs_page() -> String {
    let mut page = String::from(COSTS_INTRO);
    page.push_str("\n| parameter | meaning | unit | standing | `QC-U` | `QC-U-narrow` | legal |\n");
    page.push_str("| --- | --- | --- | --- | ---: | ---: | --- |\n");
    for param in Param::ALL {
        let [wide, narrow] = [&QC_U, &QC_U_NARROW].map(|target| target.spec().timing.get(*param));
        let narrow = if wide == narrow { String::new() } else { narrow.to_string() };
        let (range, standing) = (param.range(), standing(param.standing()));
        let (name, prose, unit) = (param.name(), param.prose(), param.unit());
        _ = writeln!(
            page,
            "| `{name}` | {prose} | {unit} | {standing} | {wide} | {narrow} | {}..={} |",
            range.start(),
            range.end()
        );
    }
    sizes(&mut page);
    page
}

const COSTS_INTRO: &str = "\
# Costs and capacities

Written by `iss/src/reference.rs` from the tables in `iss/src/target/`; a test checks that it is current, and
`CCL_BLESS=1 cargo test -p iss` rewrites it. Which instruction charges which parameter: [isa.md](isa.md).

Standing says where a value comes from: *documented* by a public page on the machine, *inferred* from published measurements (the
calibration table), or *free*, chosen by us where nothing public says otherwise. Any of them can be changed:
`QC-U:fx_div=40` is a target with a faster divider. `QC-U-narrow` is a slower reading of the same published figures; a column
left empty is as for `QC-U`.

## Timing parameters
";

const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Documented => "documented",
        Standing::Inferred => "inferred",
        Standing::Free => "free",
    }
}

fn sizes(page: &mut String) {
    page.push_str("\n## Presets\n\n| preset | long name | array | PEs |\n| --- | --- | --- | ---: |\n");
    for target in PRESETS {
        let spec = target.spec();
        let name = target.to_string();
        let long = name.split(':').next().unwrap_or(&name);
        _ = writeln!(page, "| `{}` | `{long}` | {} x {} | {} |", spec.product, spec.rows, spec.cols, target.pes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares a page with the one in the repository, or rewrites that.
    #[track_caller]
    fn check(name: &str, page: &str) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
        if std::env::var_os("CCL_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&path, page).expect("the docs folder can be written");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = page.lines().zip(found.lines()).enumerate().find(|(_, (new, old))| new != old);
        assert!(
            found == page,
            "docs/{name} is not current, first at {differs:?}; rewrite it by CCL_BLESS=1 cargo test -p iss"
        );
    }

    #[test]
    fn isa_page_is_current() {
        check("isa.md", &isa_page());
    }

    #[test]
    fn costs_page_is_current() {
        check("costs.md", &costs_page());
    }

    #[test]
    fn every_row_operand_and_field_is_on_the_page() {
        let page = isa_page();
        for row in Inst::table() {
            assert!(page.contains(&format!("Opcode `{:#04x}`", row.opcode)), "{}", row.mnemonic);
            for field in &row.fields {
                assert!(page.contains(&format!("\n### Operand: {}\n", field.operand)), "{}", field.operand);
            }
        }
        for field in Field::ALL {
            assert!(
                engines().iter().any(|(_, fields)| fields.iter().any(|(f, _)| f == field)),
                "no engine reads `{field}`"
            );
        }
    }

    #[test]
    fn tables_have_no_stray_column() {
        for line in isa_page().lines().chain(costs_page().lines()).filter(|line| line.starts_with('|')) {
            assert!(matches!(line.matches('|').count(), 4 | 5 | 8), "{line}");
        }
    }
}
