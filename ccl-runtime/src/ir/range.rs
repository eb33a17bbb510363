//! What is known of scalars: an interval and a power of two that divides, from constants, loop bounds and the promises of
//! parameters. Conservative: a scalar variable may hold anything.

use super::types::*;
use super::visit;

/// What is known of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Smallest value.
    pub lo: i64,
    /// Largest value.
    pub hi: i64,
    /// `2^zeros` divides the value.
    pub zeros: u32,
}

impl Range {
    /// Nothing is known.
    pub const FULL: Range = Range { lo: i32::MIN as i64, hi: i32::MAX as i64, zeros: 0 };
    /// One value.
    pub const fn of(value: i64) -> Self {
        Range { lo: value, hi: value, zeros: if value == 0 { 31 } else { value.trailing_zeros() } }
    }
    /// An interval.
    pub const fn between(lo: i64, hi: i64) -> Self {
        Range { lo, hi, zeros: 0 }
    }
    /// The same, or nothing known if the value may have wrapped.
    fn fitted(self) -> Self {
        if self.lo < Self::FULL.lo || self.hi > Self::FULL.hi {
            // Wrapping keeps divisibility by small powers of two.
            Range { zeros: self.zeros.min(31), ..Self::FULL }
        } else {
            self
        }
    }
    /// Sum.
    pub fn plus(self, other: Self) -> Self {
        Range {
            lo: self.lo.saturating_add(other.lo),
            hi: self.hi.saturating_add(other.hi),
            zeros: self.zeros.min(other.zeros),
        }
    }
    /// Product.
    pub fn times(self, other: Self) -> Self {
        let [a, b, c, d] = [self.lo, self.hi, other.lo, other.hi];
        let all = [a.saturating_mul(c), a.saturating_mul(d), b.saturating_mul(c), b.saturating_mul(d)];
        let (lo, hi) = (all.into_iter().min().unwrap_or(0), all.into_iter().max().unwrap_or(0));
        Range { lo, hi, zeros: (self.zeros + other.zeros).min(31) }
    }
    /// Whether the value is always a multiple of `n`, a power of two.
    pub fn multiple_of(self, n: u32) -> bool {
        n <= 1 || (self.lo == self.hi && self.lo % n as i64 == 0) || self.zeros >= n.trailing_zeros()
    }
}

/// What is known of every scalar of a function.
#[derive(Clone, Debug)]
pub struct Ranges(Vec<Range>);

impl Ranges {
    /// Looks at a function.
    pub fn of(f: &Func) -> Self {
        let mut ranges = Ranges(vec![Range::FULL; f.values.len()]);
        for p in &f.params {
            if let (Type::Scalar, Some((lo, hi))) = (f.ty(p.id), p.range) {
                ranges.0[p.id.0 as usize] = Range::between(lo as i64, hi as i64);
            }
        }
        visit::walk(&f.body, &mut |op| ranges.see(op));
        ranges
    }
    /// What is known of an operand.
    pub fn sval(&self, s: SVal) -> Range {
        match s {
            SVal::Imm(v) => Range::of(v as i64),
            SVal::Val(id) => self.0[id.0 as usize],
        }
    }
    /// What is known of a value.
    pub fn id(&self, id: Id) -> Range {
        self.0[id.0 as usize]
    }
    fn see(&mut self, op: &Op) {
        let (id, range) = match op.kind {
            OpKind::Scalar { op, dst: SDst::Def(id), a, b } => {
                let (a, b) = (self.sval(a), self.sval(b));
                let constant = (b.lo == b.hi).then_some(b.lo);
                let range = match (op, constant) {
                    (SOp::Mov, _) => a,
                    (SOp::Add, _) => a.plus(b),
                    (SOp::Sub, _) => Range { lo: a.lo - b.hi, hi: a.hi - b.lo, zeros: a.zeros.min(b.zeros) },
                    (SOp::Mul, _) => a.times(b),
                    (SOp::And, Some(mask)) if mask >= 0 => {
                        Range { lo: 0, hi: mask, zeros: a.zeros.max(Range::of(mask).zeros) }
                    }
                    (SOp::Shl, Some(n @ 0..=31)) => a.times(Range::of(1 << n)),
                    (SOp::Sar, Some(n @ 0..=31)) => Range::between(a.lo >> n, a.hi >> n),
                    (SOp::Shr, Some(n @ 0..=31)) if a.lo >= 0 => Range::between(a.lo >> n, a.hi >> n),
                    (SOp::Min, _) => Range { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi), zeros: a.zeros.min(b.zeros) },
                    (SOp::Max, _) => Range { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi), zeros: a.zeros.min(b.zeros) },
                    _ => Range::FULL,
                };
                (id, range.fitted())
            }
            OpKind::ScalarSet { dst: SDst::Def(id), .. } | OpKind::Any { dst: id, .. } => (id, Range::between(0, 1)),
            OpKind::For { var, lo, hi, step, .. } => {
                let (lo, hi) = (self.sval(lo), self.sval(hi));
                let zeros = lo.zeros.min(Range::of(step as i64).zeros);
                // The last value is short of the bound by what the step leaves over.
                let last = if lo.lo == lo.hi && hi.lo == hi.hi && step > 0 && hi.lo > lo.lo {
                    lo.lo + (hi.lo - 1 - lo.lo) / step as i64 * step as i64
                } else {
                    hi.hi - 1
                };
                (var, Range { lo: lo.lo, hi: last.max(lo.lo), zeros })
            }
            _ => return,
        };
        self.0[id.0 as usize] = range;
    }
}

/// Trips of a counted loop whose bounds are numbers.
pub fn trips(lo: SVal, hi: SVal, step: i32) -> Option<u64> {
    match (lo, hi) {
        (SVal::Imm(lo), SVal::Imm(hi)) if step > 0 => {
            Some(((hi as i64 - lo as i64).max(0) as u64).div_ceil(step as u64))
        }
        _ => None,
    }
}

/// The interval of a per-PE source.
pub fn src_range(f: &Func, ranges: &Ranges, src: &Src) -> (i64, i64) {
    match src {
        Src::Val(id) => match f.ty(*id) {
            Type::Q(fmt) | Type::Var(fmt) => fmt.range(),
            _ => (ranges.id(*id).lo, ranges.id(*id).hi),
        },
        Src::Imm(v) => (*v as i64, *v as i64),
        Src::Elem(e) => e.view.fmt().range(),
        Src::Stream { view, .. } => view.fmt().range(),
        Src::QRow => (0, 63),
        Src::QCol => (-64, 127),
        Src::Acc(..) | Src::Port(_) => Fmt::I32.range(),
    }
}

/// The interval of an operation's result; the whole of 32 bits where it may wrap.
pub fn alu_range(op: AluOp, a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    let full = Fmt::I32.range();
    let fit = |(lo, hi): (i64, i64)| if lo < full.0 || hi > full.1 { full } else { (lo, hi) };
    let corners = |f: &dyn Fn(i64, i64) -> i64| {
        let all = [f(a.0, b.0), f(a.0, b.1), f(a.1, b.0), f(a.1, b.1)];
        (*all.iter().min().expect("four"), *all.iter().max().expect("four"))
    };
    let shift = (b.0 == b.1 && (0..32).contains(&b.0)).then_some(b.0);
    let non_negative = a.0 >= 0 && b.0 >= 0;
    // An interval that holds every value of as many bits.
    let bits = |v: i64| (v.max(0) as u64 + 1).next_power_of_two() as i64 - 1;
    match op {
        AluOp::Mov => a,
        AluOp::Abs if a.0 > full.0 => (
            if a.0 > 0 {
                a.0
            } else if a.1 < 0 {
                -a.1
            } else {
                0
            },
            a.0.abs().max(a.1.abs()),
        ),
        AluOp::Clip(lo, hi) => (a.0.clamp(lo as i64, hi as i64), a.1.clamp(lo as i64, hi as i64)),
        AluOp::Set(_) => (0, 1),
        AluOp::Bin(BinOp::Add) => fit((a.0 + b.0, a.1 + b.1)),
        AluOp::Bin(BinOp::Sub) => fit((a.0 - b.1, a.1 - b.0)),
        AluOp::Bin(BinOp::Min) => (a.0.min(b.0), a.1.min(b.1)),
        AluOp::Bin(BinOp::Max) => (a.0.max(b.0), a.1.max(b.1)),
        AluOp::Bin(BinOp::And) if b.0 >= 0 => (0, b.1),
        AluOp::Bin(BinOp::And) if a.0 >= 0 => (0, a.1),
        AluOp::Bin(BinOp::Or | BinOp::Xor) if non_negative => (0, bits(a.1.max(b.1))),
        AluOp::Bin(BinOp::Shl) if shift.is_some() => fit(corners(&|a, b| a << b)),
        AluOp::Bin(BinOp::Sar) if shift.is_some() => corners(&|a, b| a >> b),
        AluOp::Bin(BinOp::Shr) if shift.is_some() && a.0 >= 0 => corners(&|a, b| a >> b),
        AluOp::FxMul(s) if s >= 0 => fit(corners(&|a, b| ((a as i128 * b as i128) >> s) as i64)),
        _ => full,
    }
}
