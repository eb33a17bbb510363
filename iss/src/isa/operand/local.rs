//! Local memory as an operand, and what an array instruction writes.

use std::fmt;

use super::{Acc, Operand, OperandError, bad_bits, in_range, number};

/// Width of an access to local memory. Narrow reads are sign-extended; narrow writes leave the other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Width {
    /// 32 bit.
    Word = 0,
    /// 16 bit.
    Half = 1,
    /// 8 bit.
    Byte = 2,
}

impl Width {
    /// Bytes of an access.
    pub const fn bytes(self) -> u32 {
        [4, 2, 1][self as usize]
    }
    pub(super) const fn suffix(self) -> &'static str {
        ["", ".h", ".b"][self as usize]
    }
    pub(super) const fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            0 => Some(Width::Word),
            1 => Some(Width::Half),
            2 => Some(Width::Byte),
            _ => None,
        }
    }
}

/// An address in local memory, the same in every PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lrm {
    /// `[addr]`: byte address 0..4096, a multiple of the width.
    Abs {
        /// Access width.
        width: Width,
        /// Byte address.
        addr: u16,
    },
    /// `[sN+offset]`: a scalar register `s0`..`s7` plus a byte offset, a multiple of the width, at most 511 widths.
    Rel {
        /// Access width.
        width: Width,
        /// Number of the base register, 0..8.
        base: u8,
        /// Byte offset.
        offset: u16,
    },
}

impl Lrm {
    const EXPECTED: &'static str =
        "`[addr]` or `[s0+offset]` to `[s7+offset]` with `.h` or `.b` behind for half-words and bytes";

    /// A word at a byte address.
    pub fn word(addr: u32) -> Result<Self, OperandError> {
        Self::abs(Width::Word, addr)
    }
    /// A byte at a byte address.
    pub fn byte(addr: u32) -> Result<Self, OperandError> {
        Self::abs(Width::Byte, addr)
    }
    /// Checks and makes an absolute address.
    pub fn abs(width: Width, addr: u32) -> Result<Self, OperandError> {
        Self::check(width, addr, 4096)?;
        Ok(Lrm::Abs { width, addr: addr as u16 })
    }
    /// Checks and makes an address relative to `s{base}`.
    pub fn rel(width: Width, base: u32, offset: u32) -> Result<Self, OperandError> {
        in_range::<Self>(base as i64, 0, 7)?;
        Self::check(width, offset, 512 * width.bytes())?;
        Ok(Lrm::Rel { width, base: base as u8, offset: offset as u16 })
    }
    fn check(width: Width, at: u32, end: u32) -> Result<(), OperandError> {
        in_range::<Self>(at as i64, 0, end as i64 - width.bytes() as i64)?;
        if !at.is_multiple_of(width.bytes()) {
            let text = format!("{at}{}", width.suffix());
            return Err(OperandError::Text { operand: Self::NAME, text, expected: "an address aligned to its width" });
        }
        Ok(())
    }
    /// Access width.
    pub const fn width(self) -> Width {
        match self {
            Lrm::Abs { width, .. } | Lrm::Rel { width, .. } => width,
        }
    }
    pub(super) fn parse_opt(text: &str) -> Option<Result<Self, OperandError>> {
        let rest = text.strip_prefix('[')?;
        let (inner, suffix) = rest.split_once(']')?;
        let width = [Width::Word, Width::Half, Width::Byte].into_iter().find(|w| w.suffix() == suffix)?;
        Some(match inner.strip_prefix('s') {
            Some(based) => {
                let (base, offset) = based.split_once('+').unwrap_or((based, "0"));
                Self::rel(width, u32::try_from(number(base)?).ok()?, u32::try_from(number(offset)?).ok()?)
            }
            None => Self::abs(width, u32::try_from(number(inner)?).ok()?),
        })
    }
}
impl fmt::Display for Lrm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lrm::Abs { width, addr } => write!(f, "[{addr}]{}", width.suffix()),
            Lrm::Rel { width, base, offset } => write!(f, "[s{base}+{offset}]{}", width.suffix()),
        }
    }
}
impl Operand for Lrm {
    const BITS: u32 = 15;
    const NAME: &'static str = "local memory";
    const FORMS: &'static str = Lrm::EXPECTED;
    const PROSE: &'static str = "Local memory at a byte address 0..4096, the same in every PE, or at the address in `s0`..`s7` plus up to 511 widths. \
         A multiple of the width. Without a suffix a word, `.h` a half-word, `.b` a byte.";
    const ENCODING: &'static str = "bit 14: based; bits 12..14: width (0 word, 1 half-word, 2 byte); bits 0..12: byte address, or \
         bits 9..12: base register and bits 0..9: offset in widths";
    fn to_bits(self) -> u64 {
        match self {
            Lrm::Abs { width, addr } => (width as u64) << 12 | addr as u64,
            Lrm::Rel { width, base, offset } => {
                1 << 14 | (width as u64) << 12 | (base as u64) << 9 | (offset as u32 / width.bytes()) as u64
            }
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        let width = Width::from_bits(bits >> 12 & 3).ok_or_else(|| bad_bits::<Self>(bits))?;
        let made = if bits >> 14 & 1 == 1 {
            Self::rel(width, (bits >> 9 & 7) as u32, (bits & 511) as u32 * width.bytes())
        } else {
            Self::abs(width, (bits & 0xfff) as u32)
        };
        made.map_err(|_| bad_bits::<Self>(bits))
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        Self::parse_opt(text).unwrap_or_else(|| {
            Err(OperandError::Text { operand: Self::NAME, text: text.to_owned(), expected: Self::EXPECTED })
        })
    }
}

/// Where an array instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dst {
    /// Local memory.
    Lrm(Lrm),
    /// An accumulator.
    Acc(Acc),
}
impl From<Lrm> for Dst {
    fn from(lrm: Lrm) -> Self {
        Dst::Lrm(lrm)
    }
}
impl From<Acc> for Dst {
    fn from(acc: Acc) -> Self {
        Dst::Acc(acc)
    }
}
impl fmt::Display for Dst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dst::Lrm(lrm) => lrm.fmt(f),
            Dst::Acc(acc) => acc.fmt(f),
        }
    }
}
impl Operand for Dst {
    const BITS: u32 = 16;
    const NAME: &'static str = "destination";
    const FORMS: &'static str =
        "`[addr]` or `[s0+offset]` with `.h` or `.b` behind for half-words and bytes, or `a0`..`a15`";
    const PROSE: &'static str =
        "Local memory in any width, or an accumulator. Narrow writes leave the other lanes of the word.";
    const ENCODING: &'static str = "bit 15 clear: local memory in bits 0..15; set: accumulator in bits 0..4";
    fn to_bits(self) -> u64 {
        match self {
            Dst::Lrm(lrm) => lrm.to_bits(),
            Dst::Acc(acc) => 1 << 15 | acc.to_bits(),
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        match bits >> 15 {
            0 => Lrm::from_bits(bits).map(Dst::Lrm),
            _ if bits & 0x7ff0 == 0 => Acc::from_bits(bits & 15).map(Dst::Acc),
            _ => Err(bad_bits::<Self>(bits)),
        }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        if text.starts_with('a') { Acc::parse(text).map(Dst::Acc) } else { Lrm::parse(text).map(Dst::Lrm) }
    }
}
