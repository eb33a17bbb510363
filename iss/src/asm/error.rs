//! What can be wrong with assembly text, where, and what was probably meant.

use std::fmt;

use crate::image::ImageError;
use crate::isa::operand::OperandError;

/// What is wrong at one place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what the texts name")]
pub enum AsmCause {
    /// Something else was expected.
    #[error("found {found}, expected {expected}")]
    Syntax { found: String, expected: &'static str },
    /// No such instruction.
    #[error("no instruction is called `{found}`{}", help(.nearest))]
    Mnemonic { found: String, nearest: Option<String> },
    /// No such directive.
    #[error("no directive is called `{found}`{}", help(.nearest))]
    Directive { found: String, nearest: Option<String> },
    /// Too few or too many operands.
    #[error("`{mnemonic}`: found {found} operands, expected {expected} ({form})")]
    OperandCount { mnemonic: &'static str, found: usize, expected: usize, form: String },
    /// An operand that does not read.
    #[error("`{mnemonic}`, operand `{field}`: {error}{}", help(.nearest))]
    Operand { mnemonic: &'static str, field: &'static str, error: OperandError, nearest: Option<String> },
    /// Operands that do not go together.
    #[error("`{inst}`: {reason}")]
    Combination { inst: String, reason: &'static str },
    /// A label that stands nowhere.
    #[error("no label is called `{found}`{}", help(.nearest))]
    Label { found: String, nearest: Option<String> },
    /// A label that stands twice.
    #[error("label `{name}` already stands in line {first}")]
    LabelTwice { name: String, first: u32 },
    /// A number that does not fit.
    #[error("{what}: found {found}, expected {min}..={max}")]
    Number { what: &'static str, found: String, min: u64, max: u64 },
    /// A directive that belongs behind another or may stand once.
    #[error("`{directive}` {why}")]
    Misplaced { directive: &'static str, why: &'static str },
    /// A register or another operand of a directive.
    #[error("`{directive}`: {error}")]
    DirectiveOperand { directive: &'static str, error: OperandError },
    /// A machine that cannot be.
    #[error("`.target`: {error}")]
    Target { error: String },
    /// More of something than an image can hold.
    #[error("more than {limit} {what}")]
    TooMany { what: &'static str, limit: usize },
    /// What the finished image does not allow.
    #[error(transparent)]
    Image(ImageError),
}

fn help(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("\nhelp: did you mean `{name}`?"))
}

/// One error and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsmError {
    /// Line, counted from 1; 0 where the whole text is meant.
    pub line: u32,
    /// Column in characters, counted from 1; 0 where the whole line is meant.
    pub column: u32,
    /// What is wrong.
    pub cause: AsmCause,
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => write!(f, "{}", self.cause),
            (line, 0) => write!(f, "line {line}: {}", self.cause),
            (line, column) => write!(f, "line {line}, column {column}: {}", self.cause),
        }
    }
}

/// Every error of a text in the order of its lines; the first hundred, if there are more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsmErrors {
    /// The errors, at least one.
    pub errors: Vec<AsmError>,
    /// Errors beyond those listed.
    pub n_more: usize,
}

impl fmt::Display for AsmErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().enumerate() {
            write!(f, "{}{error}", if i == 0 { "" } else { "\n" })?;
        }
        if self.n_more > 0 {
            write!(f, "\nand {} more", self.n_more)?;
        }
        Ok(())
    }
}
impl std::error::Error for AsmErrors {}

/// The candidate most like `found`, if one is like it at all: a third of its letters may be wrong.
pub(super) fn nearest<'a>(found: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    const MAX_CHARS: usize = 64;
    const MAX_CANDIDATES: usize = 10_000;
    let found = found.to_ascii_lowercase();
    let limit = found.chars().take(MAX_CHARS + 1).count().div_ceil(3);
    if limit > MAX_CHARS.div_ceil(3) {
        return None;
    }
    let alike = |name: &&str| name.len().abs_diff(found.len()) <= limit;
    let scored = candidates.take(MAX_CANDIDATES).filter(alike);
    let scored = scored.map(|name| (strsim::damerau_levenshtein(&found, &name.to_ascii_lowercase()), name));
    scored
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= limit)
        .map(|(_, name)| name.to_owned())
}

/// Text as it stands in an error: quoted, and cut where it is long.
pub(super) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        None if text.is_empty() => "nothing".to_owned(),
        None => format!("`{text}`"),
        Some((at, _)) => format!("`{}`..", &text[..at]),
    }
}
