//! Nodes that are words: operators and integer types.

use crate::encode::{DecodeError, Node, Reader, Writer};

/// Declares an enum of words: each variant has a tag and a text.
macro_rules! words {
    ($( $(#[$doc:meta])* enum $E:ident { $( $tag:literal $V:ident = $word:literal ),* $(,)? } )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $E { $( #[doc = concat!("`", $word, "`.")] $V, )* }

        impl $E {
            /// All of them.
            pub const ALL: &'static [Self] = &[ $( Self::$V, )* ];

            /// The text.
            pub const fn word(self) -> &'static str {
                match self { $( Self::$V => $word, )* }
            }
        }
        impl Node for $E {
            fn write(&self, w: &mut Writer) {
                w.byte(match self { $( Self::$V => $tag, )* });
            }
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                match r.byte()? { $( $tag => Ok(Self::$V), )* tag => Err(DecodeError::Tag { node: stringify!($E), tag }) }
            }
            fn number(&mut self, _: &mut u32) {}
        }
    )* };
}

words! {
    /// How an integer is written: its prefix.
    enum Base { 0 Dec = "", 1 Hex = "0x", 2 Oct = "0o", 3 Bin = "0b" }
    /// Unary operators.
    enum UnOp { 0 Neg = "-", 1 Not = "!", 2 Deref = "*" }
    /// Binary operators.
    enum BinOp {
        0 Or = "||", 1 And = "&&",
        2 Eq = "==", 3 Ne = "!=", 4 Lt = "<", 5 Le = "<=", 6 Gt = ">", 7 Ge = ">=",
        8 BitOr = "|", 9 BitXor = "^", 10 BitAnd = "&", 11 Shl = "<<", 12 Shr = ">>",
        13 Add = "+", 14 Sub = "-", 15 Mul = "*", 16 Div = "/", 17 Rem = "%",
    }
    /// Integer types.
    enum IntTy {
        0 I8 = "i8", 1 I16 = "i16", 2 I32 = "i32", 3 I64 = "i64",
        4 U8 = "u8", 5 U16 = "u16", 6 U32 = "u32", 7 U64 = "u64", 8 Usize = "usize",
    }
}

impl BinOp {
    /// How tightly it binds; higher is tighter.
    pub const fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => 3,
            Self::BitOr => 4,
            Self::BitXor => 5,
            Self::BitAnd => 6,
            Self::Shl | Self::Shr => 7,
            Self::Add | Self::Sub => 8,
            Self::Mul | Self::Div | Self::Rem => 9,
        }
    }
    /// Whether it compares; comparisons do not chain.
    pub const fn is_comparison(self) -> bool {
        self.precedence() == 3
    }
    /// Whether `place op= value` exists.
    pub const fn assigns(self) -> bool {
        self.precedence() > 3
    }
}

impl IntTy {
    /// Width in bits, and whether it has a sign.
    pub const fn bits(self) -> (u32, bool) {
        match self {
            Self::I8 => (8, true),
            Self::I16 => (16, true),
            Self::I32 => (32, true),
            Self::I64 => (64, true),
            Self::U8 => (8, false),
            Self::U16 => (16, false),
            Self::U32 => (32, false),
            Self::U64 | Self::Usize => (64, false),
        }
    }
    /// Smallest and largest value.
    pub const fn range(self) -> (i128, i128) {
        match self.bits() {
            (bits, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (bits, false) => (0, (1 << bits) - 1),
        }
    }
    /// The type named `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|ty| ty.word() == name)
    }
}
