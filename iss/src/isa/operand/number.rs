//! Operands that are one number in a range: registers, tokens, shifts, addresses, names.

use std::fmt;

use super::{Operand, OperandError, bad_bits, bad_text, in_range, number, sign_extend};

/// Operands that are one number in a range: text is the number behind a prefix.
macro_rules! numeric_operand {
    ($( $(#[doc = $doc:literal])* $Ty:ident($repr:ty): $bits:literal bits, $min:literal..=$max:literal, prefix $prefix:literal,
        $name:literal; )*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Ty($repr);

        impl $Ty {
            /// Smallest legal value.
            pub const MIN: $repr = $min;
            /// Largest legal value.
            pub const MAX: $repr = $max;

            /// Checks the range.
            pub fn new(value: i64) -> Result<Self, OperandError> {
                in_range::<Self>(value, $min, $max).map(|v| Self(v as $repr))
            }
            /// The number.
            pub const fn get(self) -> $repr {
                self.0
            }
        }
        impl fmt::Display for $Ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl Operand for $Ty {
            const BITS: u32 = $bits;
            const NAME: &'static str = $name;
            const FORMS: &'static str = concat!("`", $prefix, $min, "`..`", $prefix, $max, "`");
            const PROSE: &'static str = concat!($($doc),*).trim_ascii();
            const ENCODING: &'static str = if $min < 0i64 { "the number, two's complement" } else { "the number" };
            fn to_bits(self) -> u64 {
                (self.0 as i64 as u64) & (u64::MAX >> (64 - $bits))
            }
            fn from_bits(bits: u64) -> Result<Self, OperandError> {
                let value = if $min < 0i64 { sign_extend(bits, $bits) } else { bits as i64 };
                Self::new(value).map_err(|_| bad_bits::<Self>(bits))
            }
            fn parse(text: &str) -> Result<Self, OperandError> {
                let digits = text.strip_prefix($prefix).ok_or_else(|| bad_text::<Self>(text))?;
                Self::new(number(digits).ok_or_else(|| bad_text::<Self>(text))?)
            }
        }
    )* };
}

numeric_operand! {
    /// Scalar register, 32 bit.
    SReg(u8): 5 bits, 0..=31, prefix "s", "scalar";
    /// Token of a running transfer.
    Token(u8): 4 bits, 0..=15, prefix "t", "token";
    /// Descriptor register.
    DReg(u8): 3 bits, 0..=7, prefix "d", "descriptor";
    /// Accumulator. `mat4` takes the four from a multiple of 4 on, `outer` all sixteen from `a0`.
    Acc(u8): 4 bits, 0..=15, prefix "a", "accumulator";
    /// Right shift of a 64-bit product; negative shifts left.
    Shift(i8): 7 bits, -31..=63, prefix "", "shift";
    /// Fraction bits of a 32-bit fixed-point number.
    Frac(u8): 5 bits, 0..=31, prefix "q", "fraction";
    /// `n`: a table of 2^n entries.
    TableBits(u8): 4 bits, 0..=12, prefix "", "table size";
    /// Bound of a clip.
    Bound(i16): 12 bits, -2048..=2047, prefix "#", "bound";
    /// Index of an instruction. The assembler also takes a label: `@name`.
    CodeAddr(u32): 24 bits, 0..=16777215, prefix "@", "code address";
    /// Iterations of a loop.
    Trips(u32): 24 bits, 0..=16777215, prefix "", "trip count";
    /// Entry of the image's name table: region, probe, assertion, message of a trap. The assembler also takes the name: `"conv"`.
    NameId(u16): 16 bits, 0..=65535, prefix "%", "name";
}

impl serde::Serialize for SReg {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> serde::Deserialize<'de> for SReg {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        SReg::parse(&text).map_err(serde::de::Error::custom)
    }
}
