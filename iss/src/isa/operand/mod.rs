//! Operand types: each knows its width in bits, its encoding, its text and its prose, and nothing of any instruction.

mod local;
mod number;
mod scalar;
mod set;
mod source;
mod word;

pub use local::{Dst, Lrm, Width};
pub use number::{Acc, Bound, CodeAddr, DReg, Frac, NameId, SReg, Shift, TableBits, Token, Trips};
pub use scalar::{SSrc, SSrc16, ScalarSrc, Tiles};
pub use set::{Dir, Dirs, Engine, Engines};
pub use source::{BroadcastRead, Src};
pub use word::{Cond, Field, MacShape};

use std::fmt;

/// A field of an instruction word.
///
/// Laws, tested for every type: `from_bits(to_bits(x)) == x`, `parse(x.to_string()) == x`, and `from_bits` of any value
/// under `2^BITS` is an operand or an error, never a panic.
pub trait Operand: Copy + PartialEq + fmt::Debug + fmt::Display + Sized + 'static {
    /// Width of the encoding.
    const BITS: u32;
    /// Name in the reference page.
    const NAME: &'static str;
    /// Forms of the text, for errors and the reference page.
    const FORMS: &'static str;
    /// Meaning, for the reference page.
    const PROSE: &'static str;
    /// Meaning of the bits, for the reference page.
    const ENCODING: &'static str;
    /// The words, if the operand is one of a list.
    const VALUES: &'static [WordInfo] = &[];
    /// The encoding, in the low [`BITS`](Self::BITS) bits.
    fn to_bits(self) -> u64;
    /// Decodes the low bits.
    fn from_bits(bits: u64) -> Result<Self, OperandError>;
    /// Reads the assembly text.
    fn parse(text: &str) -> Result<Self, OperandError>;
}

/// One word of an operand that is one of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordInfo {
    /// The encoding.
    pub bits: u64,
    /// The word in assembly text.
    pub word: &'static str,
    /// What it means.
    pub prose: &'static str,
}

/// Why bits or text are no operand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperandError {
    /// Encoded value without a meaning.
    #[error("{operand}: encoding {bits:#x} has no meaning")]
    Bits {
        /// Operand type.
        operand: &'static str,
        /// The offending bits.
        bits: u64,
    },
    /// Text that is not one of the forms.
    #[error("{operand}: cannot read `{text}`, expected {expected}")]
    Text {
        /// Operand type.
        operand: &'static str,
        /// What stood there.
        text: String,
        /// The forms.
        expected: &'static str,
    },
    /// A number outside its range.
    #[error("{operand}: {value} is outside {min}..={max}")]
    Range {
        /// Operand type.
        operand: &'static str,
        /// The value.
        value: i64,
        /// Smallest legal value.
        min: i64,
        /// Largest legal value.
        max: i64,
    },
}

fn bad_bits<T: Operand>(bits: u64) -> OperandError {
    OperandError::Bits { operand: T::NAME, bits }
}

fn bad_text<T: Operand>(text: &str) -> OperandError {
    OperandError::Text { operand: T::NAME, text: text.to_owned(), expected: T::FORMS }
}

/// Reads a decimal or `0x` number with an optional sign.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let magnitude = match digits.strip_prefix("0x") {
        // `from_str_radix` would take a second sign.
        Some(hex) if hex.starts_with(['+', '-']) => return None,
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn in_range<T: Operand>(value: i64, min: i64, max: i64) -> Result<i64, OperandError> {
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(OperandError::Range { operand: T::NAME, value, min, max })
    }
}

fn sign_extend(bits: u64, width: u32) -> i64 {
    ((bits << (64 - width)) as i64) >> (64 - width)
}
