//! Scalar sources and tile counts: a register or a number, a number or `all`.

use std::fmt;

use super::{Operand, OperandError, SReg, bad_bits, bad_text, in_range, number, sign_extend};

/// How many tiles a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiles {
    /// Until tile `n` (counted from 1) has landed or left.
    Count(u32),
    /// Until the whole transfer is done.
    All,
}

impl Tiles {
    const ALL_BITS: u64 = (1 << 24) - 1;

    /// Checks and makes a count.
    pub fn count(n: i64) -> Result<Self, OperandError> {
        in_range::<Self>(n, 0, Self::ALL_BITS as i64 - 1).map(|n| Tiles::Count(n as u32))
    }
}
impl fmt::Display for Tiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tiles::Count(n) => write!(f, "{n}"),
            Tiles::All => f.write_str("all"),
        }
    }
}
impl Operand for Tiles {
    const BITS: u32 = 24;
    const NAME: &'static str = "tiles";
    const FORMS: &'static str = "`0`..`16777214`, or `all`";
    const PROSE: &'static str =
        "`n`: until tile n, counted from 1, has landed or left; `all`: until the transfer is done.";
    const ENCODING: &'static str = "the number; all ones: `all`";
    fn to_bits(self) -> u64 {
        match self {
            Tiles::Count(n) => n as u64,
            Tiles::All => Self::ALL_BITS,
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        match bits {
            Self::ALL_BITS => Ok(Tiles::All),
            n if n < Self::ALL_BITS => Ok(Tiles::Count(n as u32)),
            _ => Err(bad_bits::<Self>(bits)),
        }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        if text == "all" {
            return Ok(Tiles::All);
        }
        Self::count(number(text).ok_or_else(|| bad_text::<Self>(text))?)
    }
}

/// A scalar source: a register or an immediate of `N` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarSrc<const N: u32> {
    /// A register.
    Reg(SReg),
    /// An immediate that fits `N` bits, signed.
    Imm(i32),
}
/// A register or a 32-bit immediate.
pub type SSrc = ScalarSrc<32>;
/// A register or a 16-bit immediate.
pub type SSrc16 = ScalarSrc<16>;

impl<const N: u32> ScalarSrc<N> {
    /// Checks and makes an immediate: `N` bits, signed. 32-bit ones may also be given unsigned, since addresses and masks
    /// read better so.
    pub fn imm(value: i64) -> Result<Self, OperandError> {
        let max = if N == 32 { u32::MAX as i64 } else { (1 << (N - 1)) - 1 };
        in_range::<Self>(value, -(1 << (N - 1)), max).map(|v| ScalarSrc::Imm(v as i32))
    }
}
impl<const N: u32> fmt::Display for ScalarSrc<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarSrc::Reg(r) => write!(f, "{r}"),
            ScalarSrc::Imm(v) => write!(f, "#{v}"),
        }
    }
}
impl<const N: u32> Operand for ScalarSrc<N> {
    const BITS: u32 = N + 1;
    const NAME: &'static str = if N == 32 { "scalar source" } else { "short scalar source" };
    const FORMS: &'static str =
        if N == 32 { "`s0`..`s31`, or `#-2147483648`..`#4294967295`" } else { "`s0`..`s31`, or `#-32768`..`#32767`" };
    const PROSE: &'static str = if N == 32 {
        "A scalar register or a 32-bit number; numbers over `#2147483647` are read as unsigned and printed as signed."
    } else {
        "A scalar register or a 16-bit signed number."
    };
    const ENCODING: &'static str = if N == 32 {
        "bit 32: immediate in bits 0..32, else register"
    } else {
        "bit 16: immediate in bits 0..16, else register"
    };
    fn to_bits(self) -> u64 {
        match self {
            ScalarSrc::Reg(r) => r.to_bits(),
            ScalarSrc::Imm(v) => 1 << N | (v as u64 & (u64::MAX >> (64 - N))),
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        if bits >> N & 1 == 1 {
            Ok(ScalarSrc::Imm(sign_extend(bits & (u64::MAX >> (64 - N)), N) as i32))
        } else {
            if bits > 31 {
                return Err(bad_bits::<Self>(bits));
            }
            SReg::from_bits(bits).map(ScalarSrc::Reg)
        }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        match text.strip_prefix('#') {
            Some(digits) => Self::imm(number(digits).ok_or_else(|| bad_text::<Self>(text))?),
            None => SReg::parse(text).map(ScalarSrc::Reg).map_err(|_| bad_text::<Self>(text)),
        }
    }
}
