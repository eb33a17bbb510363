//! Micro-ops: array instructions with every address and uniform value resolved. Their meaning stands in `isa/table.rs`;
//! how they run, in `exec.rs`.

use crate::isa::operand::{Cond, Dir, MacShape, Width};

/// A place in local memory, the same in every PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Access width. Narrow reads are sign-extended, narrow writes keep the other lanes of the word.
    pub width: Width,
    /// Byte address, a multiple of the width.
    pub addr: u32,
}

impl Place {
    /// The word at a byte address.
    pub const fn word(addr: u32) -> Self {
        Self { width: Width::Word, addr }
    }
    /// The half-word at a byte address.
    pub const fn half(addr: u32) -> Self {
        Self { width: Width::Half, addr }
    }
    /// The byte at a byte address.
    pub const fn byte(addr: u32) -> Self {
        Self { width: Width::Byte, addr }
    }
}

/// What a micro-op reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Local memory.
    Lrm(Place),
    /// One value for every PE: an immediate, a scalar register or broadcast data.
    Splat(i32),
    /// Accumulator 0..16.
    Acc(u8),
    /// The port that the neighbour on that side writes.
    Port(Dir),
    /// Row of the PE.
    QRow,
    /// Column of the PE, negative in the west border.
    QCol,
}

impl Source {
    /// The word at a byte address.
    pub const fn word(addr: u32) -> Self {
        Self::Lrm(Place::word(addr))
    }
}

/// Where a micro-op writes, in enabled PEs only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dest {
    /// Local memory.
    Lrm(Place),
    /// Accumulator 0..16.
    Acc(u8),
}

impl Dest {
    /// The word at a byte address.
    pub const fn word(addr: u32) -> Self {
        Self::Lrm(Place::word(addr))
    }
}

/// A two-operand ALU operation; shift counts are taken modulo 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Wrapping sum.
    Add,
    /// Wrapping difference.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Left shift.
    Shl,
    /// Right shift, zeros shifted in.
    Shr,
    /// Right shift, the sign shifted in.
    Sar,
    /// Signed minimum.
    Min,
    /// Signed maximum.
    Max,
}

impl BinaryOp {
    /// Every operation.
    pub const ALL: [BinaryOp; 10] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::Shl,
        BinaryOp::Shr,
        BinaryOp::Sar,
        BinaryOp::Min,
        BinaryOp::Max,
    ];
}

/// One resolved array instruction other than a MAC, whose weights travel beside it (see [`Mac`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the fields are the operands of isa/table.rs under the same names")]
pub enum Uop {
    /// `dst = a`.
    Mov { dst: Dest, a: Source },
    /// Absolute value; -2^31 stays.
    Abs { dst: Dest, a: Source },
    /// `dst = a op b`.
    Binary { op: BinaryOp, dst: Dest, a: Source, b: Source },
    /// `dst = min(max(a, lo), hi)`.
    Clip { dst: Dest, a: Source, lo: i16, hi: i16 },
    /// The predicate bit of enabled PEs becomes `a cond b`.
    Cmp { cond: Cond, a: Source, b: Source },
    /// `dst = 1` if `a cond b`, else 0.
    Set { cond: Cond, dst: Dest, a: Source, b: Source },
    /// `dst = a` where the predicate bit is set, else `b`.
    Sel { dst: Dest, a: Source, b: Source },
    /// `dst = table[idx & (2^bits - 1)]`; element width that of `table`, which must lie in local memory as a whole.
    Lut { dst: Dest, idx: Source, table: Place, bits: u8 },
    /// `dst = low32((a * b) >> shift)`, shift in -31..=63, negative to the left.
    FxMul { dst: Dest, a: Source, b: Source, shift: i8 },
    /// `dst = low32((a << frac) / b)`, truncating; frac in 0..=31. A lane with a zero divisor is a fault and keeps `dst`.
    FxDiv { dst: Dest, a: Source, b: Source, frac: u8 },
    /// `dst = round(exp(a / 2^from) * 2^to)`, saturated; from and to in 0..=31. Also serves `exp_iter`.
    Exp { dst: Dest, a: Source, from: u8, to: u8 },
    /// `dst = round(ln(a / 2^from) * 2^to)`, saturated, -2^31 for `a <= 0`; from and to in 0..=31.
    Log { dst: Dest, a: Source, from: u8, to: u8 },
    /// Pushes the enable bit, then disables PEs whose predicate bit is clear.
    Push,
    /// `enable = top & !enable`.
    Else,
    /// Restores the enable bit of the innermost push.
    Pop,
    /// Disables the PEs whose predicate bit is set.
    Disable,
    /// Enables every PE.
    Enable,
}

/// Element and weight widths of a MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MacWidth {
    /// int8 elements, 16 int8 weights.
    W8x8,
    /// int16 elements, 16 int8 weights.
    W16x8,
    /// int16 elements, 16 int16 weights, little-endian.
    W16x16,
}

impl MacWidth {
    /// Bytes of weights that one MAC takes.
    pub const fn weight_bytes(self) -> usize {
        match self {
            MacWidth::W8x8 | MacWidth::W16x8 => 16,
            MacWidth::W16x16 => 32,
        }
    }
}

/// One MAC step of the core array: 16 products, wrapping sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mac {
    /// Element and weight widths.
    pub width: MacWidth,
    /// How the products meet.
    pub shape: MacShape,
    /// First accumulator: `dot` one, `mat4` four from here on, `outer` sixteen from `a0`.
    pub acc: u8,
    /// Byte address of the elements: a multiple of 4 (`dot`, `mat4`) or of the element (`outer`).
    pub addr: u32,
}
