//! The buffer between sequencer and executor: micro-ops lowered to a flat form that a group can run without looking
//! anything up. Runs of MACs are collected in `mac.rs` and appear here as one operation.

use crate::isa::operand::{Cond, Width};

use super::group::slot;
use super::mac::MacPlan;
use super::uop::{BinaryOp, Dest, Mac, Place, Source, Uop};

/// How a slot is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mode {
    /// The whole word.
    Word,
    /// No slot: the number itself in every lane.
    Splat,
    /// A narrow lane of the word.
    Narrow,
}

/// A lowered operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    /// Slot number, or the value of a splat.
    pub at: u32,
    /// How.
    pub mode: Mode,
    /// Narrow: position of the lane's lowest bit in the word.
    pub low: u8,
    /// Narrow: width of the lane in bits.
    pub bits: u8,
}

impl Operand {
    const fn word(at: u32) -> Self {
        Self { at, mode: Mode::Word, low: 0, bits: 32 }
    }
    const fn splat(value: i32) -> Self {
        Self { at: value as u32, mode: Mode::Splat, low: 0, bits: 32 }
    }
    fn place(place: Place) -> Self {
        debug_assert!(place.addr.is_multiple_of(place.width.bytes()), "an access is aligned to its width");
        let at = slot::LRM + place.addr / 4;
        match place.width {
            Width::Word => Self::word(at),
            Width::Half => Self { at, mode: Mode::Narrow, low: (place.addr as u8 & 2) * 8, bits: 16 },
            Width::Byte => Self { at, mode: Mode::Narrow, low: (place.addr as u8 & 3) * 8, bits: 8 },
        }
    }
    fn acc(acc: u8) -> Self {
        assert!((acc as u32) < slot::N_ACC, "there are 16 accumulators");
        Self::word(slot::ACC + acc as u32)
    }
}
impl From<Source> for Operand {
    fn from(source: Source) -> Self {
        match source {
            Source::Lrm(place) => Self::place(place),
            Source::Splat(value) => Self::splat(value),
            Source::Acc(acc) => Self::acc(acc),
            Source::Port(dir) => Self::word(slot::port(dir)),
            Source::QRow => Self::word(slot::Q_ROW),
            Source::QCol => Self::word(slot::Q_COL),
        }
    }
}
impl From<Dest> for Operand {
    fn from(dest: Dest) -> Self {
        match dest {
            Dest::Lrm(place) => Self::place(place),
            Dest::Acc(acc) => Self::acc(acc),
        }
    }
}

/// What a lowered operation does with its operands `a`, `b` and its parameter `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Mov,
    Abs,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Sar,
    Min,
    Max,
    /// `b` is the lower bound, `x` the upper.
    Clip,
    /// Comparisons: `x` is 0, or -1 to negate.
    CmpEq,
    CmpGt,
    CmpGtu,
    SetEq,
    SetGt,
    SetGtu,
    Sel,
    /// Look-up of words, half-words, bytes: `x` is the byte address of the table, `b` the index mask.
    LutWord,
    LutHalf,
    LutByte,
    /// Products shifted left by `x`; right by `x` in 0..32; right by 32 + `x`.
    MulLeft,
    MulLow,
    MulHigh,
    /// `x` is the number of fraction bits.
    Div,
    /// `x` is `from | to << 8`.
    Exp,
    Log,
    Push,
    Else,
    Pop,
    Disable,
    Enable,
    /// Blocks `x` to `x + b` (a splat) of the MAC plan.
    Mac,
}

/// A lowered operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    pub kind: Kind,
    pub dst: Operand,
    pub a: Operand,
    pub b: Operand,
    pub x: i32,
}

impl Code {
    const NONE: Operand = Operand::splat(0);

    fn control(kind: Kind) -> Self {
        Self { kind, dst: Self::NONE, a: Self::NONE, b: Self::NONE, x: 0 }
    }
    fn compare(kinds: [Kind; 3], cond: Cond, dst: Operand, a: Operand, b: Operand) -> Self {
        let [eq, gt, gtu] = kinds;
        let (kind, swap, negate) = match cond {
            Cond::Eq => (eq, false, false),
            Cond::Ne => (eq, false, true),
            Cond::Lt => (gt, true, false),
            Cond::Le => (gt, false, true),
            Cond::Gt => (gt, false, false),
            Cond::Ge => (gt, true, true),
            Cond::Ltu => (gtu, true, false),
            Cond::Leu => (gtu, false, true),
            Cond::Gtu => (gtu, false, false),
            Cond::Geu => (gtu, true, true),
        };
        let (a, b) = if swap { (b, a) } else { (a, b) };
        Self { kind, dst, a, b, x: -(negate as i32) }
    }
    fn lower(uop: Uop) -> Self {
        let make =
            |kind, dst: Dest, a: Source, b: Source, x| Self { kind, dst: dst.into(), a: a.into(), b: b.into(), x };
        let none = Source::Splat(0);
        match uop {
            Uop::Mov { dst, a } => make(Kind::Mov, dst, a, none, 0),
            Uop::Abs { dst, a } => make(Kind::Abs, dst, a, none, 0),
            Uop::Binary { op, dst, a, b } => make(binary_kind(op), dst, a, b, 0),
            Uop::Clip { dst, a, lo, hi } => make(Kind::Clip, dst, a, Source::Splat(lo as i32), hi as i32),
            Uop::Cmp { cond, a, b } => {
                let kinds = [Kind::CmpEq, Kind::CmpGt, Kind::CmpGtu];
                Self::compare(kinds, cond, Self::NONE, a.into(), b.into())
            }
            Uop::Set { cond, dst, a, b } => {
                Self::compare([Kind::SetEq, Kind::SetGt, Kind::SetGtu], cond, dst.into(), a.into(), b.into())
            }
            Uop::Sel { dst, a, b } => make(Kind::Sel, dst, a, b, 0),
            Uop::Lut { dst, idx, table, bits } => {
                assert!(bits <= 12, "a table has at most 4096 entries");
                let kind = [Kind::LutWord, Kind::LutHalf, Kind::LutByte][table.width as usize];
                make(kind, dst, idx, Source::Splat((1 << bits) - 1), table.addr as i32)
            }
            Uop::FxMul { dst, a, b, shift } => match shift as i32 {
                s @ -31..0 => make(Kind::MulLeft, dst, a, b, -s),
                s @ 0..32 => make(Kind::MulLow, dst, a, b, s),
                s @ 32..64 => make(Kind::MulHigh, dst, a, b, s - 32),
                s => panic!("fx_mul shifts by -31..=63, not {s}"),
            },
            Uop::FxDiv { dst, a, b, frac } => make(Kind::Div, dst, a, b, format_bits(frac)),
            Uop::Exp { dst, a, from, to } => make(Kind::Exp, dst, a, none, format_bits(from) | format_bits(to) << 8),
            Uop::Log { dst, a, from, to } => make(Kind::Log, dst, a, none, format_bits(from) | format_bits(to) << 8),
            Uop::Push => Self::control(Kind::Push),
            Uop::Else => Self::control(Kind::Else),
            Uop::Pop => Self::control(Kind::Pop),
            Uop::Disable => Self::control(Kind::Disable),
            Uop::Enable => Self::control(Kind::Enable),
        }
    }
}

fn format_bits(bits: u8) -> i32 {
    assert!(bits < 32, "a fixed-point format has 0..=31 fraction bits");
    bits as i32
}

const fn binary_kind(op: BinaryOp) -> Kind {
    match op {
        BinaryOp::Add => Kind::Add,
        BinaryOp::Sub => Kind::Sub,
        BinaryOp::And => Kind::And,
        BinaryOp::Or => Kind::Or,
        BinaryOp::Xor => Kind::Xor,
        BinaryOp::Shl => Kind::Shl,
        BinaryOp::Shr => Kind::Shr,
        BinaryOp::Sar => Kind::Sar,
        BinaryOp::Min => Kind::Min,
        BinaryOp::Max => Kind::Max,
    }
}

/// A linear run of micro-ops, filled by the sequencer and executed by [`Array::run`](super::Array::run).
///
/// A zero divisor is reported after the whole buffer ran, so an `fx_div` must be the last micro-op of its buffer if the
/// state is to be precise.
#[derive(Clone, Debug, Default)]
pub struct TraceBuffer {
    pub(super) code: Vec<Code>,
    pub(super) macs: MacPlan,
    n_uops: usize,
    /// Index in `code` and micro-op number of each division.
    divisions: Vec<(usize, usize)>,
    /// Estimated host time on one core, in cycles per group: decides whether threads pay.
    cycles: usize,
}

impl TraceBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }
    /// Micro-ops held, MACs included.
    pub fn len(&self) -> usize {
        self.n_uops
    }
    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.n_uops == 0
    }
    /// Forgets everything, keeps the allocations.
    pub fn clear(&mut self) {
        self.code.clear();
        self.macs.clear();
        self.divisions.clear();
        (self.n_uops, self.cycles) = (0, 0);
    }
    /// Appends a micro-op.
    ///
    /// # Panics
    /// If a field is outside the range that [`Uop`] states. Addresses are checked when the buffer runs.
    pub fn push(&mut self, uop: Uop) {
        self.close_macs();
        let code = Code::lower(uop);
        self.cycles += cycles_of(code.kind);
        if code.kind == Kind::Div {
            self.divisions.push((self.code.len(), self.n_uops));
        }
        self.n_uops += 1;
        self.code.push(code);
    }
    /// Appends a MAC with its weights, as they leave the broadcast queue: 16 bytes, or 32 for int16 weights.
    ///
    /// # Panics
    /// If `weights` has another length or the MAC names accumulators that do not exist.
    pub fn push_mac(&mut self, mac: Mac, weights: &[u8]) {
        if !self.macs.accepts(mac.width) {
            self.close_macs();
        }
        self.macs.add(mac, weights);
        self.cycles += 16;
        self.n_uops += 1;
    }
    /// Number of the micro-op at an index of `code` that holds a division.
    pub(super) fn division(&self, code_idx: usize) -> usize {
        let at = self.divisions.binary_search_by_key(&code_idx, |d| d.0).expect("only divisions fault");
        self.divisions[at].1
    }
    /// Estimated host cycles per group.
    pub(super) fn cycles(&self) -> usize {
        self.cycles
    }
    /// Turns the MACs collected since the last other micro-op into one operation.
    pub(super) fn close_macs(&mut self) {
        if let Some(blocks) = self.macs.close() {
            let n_blocks = Operand::splat(blocks.len() as i32);
            self.code.push(Code { b: n_blocks, x: blocks.start as i32, ..Code::control(Kind::Mac) });
        }
    }
}

fn cycles_of(kind: Kind) -> usize {
    match kind {
        Kind::LutWord | Kind::LutHalf | Kind::LutByte => 150,
        Kind::Div => 800,
        Kind::Exp | Kind::Log => 500,
        _ => 20,
    }
}
