//! Scalars: sums of loop variables stay sums, so that indices and origins reach the lowering in a form that it can count with.

use ccl_syntax::ast::{BinOp, IntTy, UnOp};
use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::R;
use super::value::{Affine, Number, Scalar, ScalarTy};
use crate::ir::range::Range;
use crate::ir::{Id, OpKind, SDst, SOp, SVal, Type};

impl Affine {
    pub fn number(v: i64) -> Self {
        Affine { terms: Vec::new(), constant: v, range: Range::of(v) }
    }
    pub fn as_known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
    pub fn plus(&self, other: &Affine) -> Self {
        let mut sum = self.clone();
        sum.constant += other.constant;
        for (id, k) in &other.terms {
            match sum.terms.iter_mut().find(|(i, _)| i == id) {
                Some((_, have)) => *have += k,
                None => sum.terms.push((*id, *k)),
            }
        }
        sum.terms.retain(|(_, k)| *k != 0);
        sum.range = self.range.plus(other.range);
        if sum.terms.is_empty() {
            sum.range = Range::of(sum.constant);
        }
        sum
    }
    pub fn add(&self, v: i64) -> Self {
        self.plus(&Affine::number(v))
    }
    pub fn times(&self, k: i64) -> Self {
        if k == 0 {
            return Affine::number(0);
        }
        let terms = self.terms.iter().map(|(id, f)| (*id, f * k)).collect();
        Affine { terms, constant: self.constant * k, range: self.range.times(Range::of(k)) }
    }
    /// The quotient, where it is a sum too.
    pub fn divided(&self, d: i64) -> Option<Self> {
        let even = self.constant % d == 0 && self.terms.iter().all(|(_, k)| k % d == 0);
        even.then(|| Affine {
            terms: self.terms.iter().map(|(id, k)| (*id, k / d)).collect(),
            constant: self.constant / d,
            range: Range {
                lo: self.range.lo.div_euclid(d),
                hi: self.range.hi.div_euclid(d),
                zeros: self.range.zeros.saturating_sub((d as u64).trailing_zeros()),
            },
        })
    }
    /// Whether it is always a multiple of a number.
    pub fn multiple_of(&self, n: usize) -> bool {
        let n64 = n as i64;
        n <= 1
            || (self.constant % n64 == 0 && self.terms.iter().all(|(_, k)| k % n64 == 0))
            || (n.is_power_of_two() && self.range.multiple_of(n as u32))
    }
}

impl Scalar {
    pub fn run(ty: ScalarTy, sum: Affine) -> Self {
        match sum.as_known() {
            Some(v) => Scalar::known(ty, v.into()),
            None => Scalar { ty, number: Number::Run(sum) },
        }
    }
    /// As a sum.
    pub fn affine(&self) -> Affine {
        match &self.number {
            Number::Known(v) => Affine::number(*v as i64),
            Number::Run(sum) => sum.clone(),
        }
    }
}

/// Bits and sign of a scalar type.
fn bits(ty: ScalarTy) -> (u32, bool) {
    match ty {
        ScalarTy::Bool => (1, false),
        ScalarTy::Int(ty) => ty.bits(),
        ScalarTy::Fx(_) => (32, true),
        ScalarTy::Open => (64, true),
    }
}

/// The low bits of a number.
pub(super) fn wrap(value: i128, bits: u32, signed: bool) -> i128 {
    let shift = 128 - bits;
    if signed { value << shift >> shift } else { ((value << shift) as u128 >> shift) as i128 }
}

impl Cx<'_> {
    /// The type of two scalars together.
    fn common(&self, a: ScalarTy, b: ScalarTy) -> R<ScalarTy> {
        match (a, b) {
            (ScalarTy::Open, ty) | (ty, ScalarTy::Open) => Ok(ty),
            (a, b) if a == b => Ok(a),
            _ => self.fail("scalars of unlike types meet", "cast one of them: `.. as i32`"),
        }
    }

    fn in_type(&self, ty: ScalarTy, value: i128) -> R<Scalar> {
        match ty {
            ScalarTy::Int(of) if !(of.range().0..=of.range().1).contains(&value) => {
                let (lo, hi) = of.range();
                self.fail(format!("{value} is outside {lo}..={hi}, the range of `{}`", of.word()), "take a wider type")
            }
            ScalarTy::Fx(_) => Ok(Scalar::known(ty, wrap(value, 32, true))),
            _ => Ok(Scalar::known(ty, value)),
        }
    }

    /// `a op b`.
    pub(super) fn scalar_binary(&mut self, op: BinOp, a: &Scalar, b: &Scalar) -> R<Scalar> {
        let is_shift = matches!(op, BinOp::Shl | BinOp::Shr);
        let ty = if is_shift { a.ty } else { self.common(a.ty, b.ty)? };
        if let (Some(x), Some(y)) = (a.as_known(), b.as_known()) {
            return self.fold(op, ty, x, y);
        }
        if op.is_comparison() {
            return self.scalar_compare(op, a, b);
        }
        let (x, y) = (a.affine(), b.affine());
        let sum = match (op, x.as_known(), y.as_known()) {
            (BinOp::Add, ..) => x.plus(&y),
            (BinOp::Sub, ..) => x.plus(&y.times(-1)),
            (BinOp::Mul, _, Some(k)) => x.times(k),
            (BinOp::Mul, Some(k), _) => y.times(k),
            (BinOp::Shl, _, Some(n @ 0..=30)) => x.times(1 << n),
            (BinOp::Div, _, Some(d)) if d > 0 && x.divided(d).is_some() => x.divided(d).expect("the guard has seen it"),
            (BinOp::Rem, _, Some(d)) if d > 0 && x.multiple_of(d as usize) => Affine::number(0),
            (BinOp::Rem, _, Some(d)) if d > 0 && x.range.lo >= 0 && x.range.hi < d => x,
            (BinOp::Div, _, Some(d)) if d > 0 && (d as u64).is_power_of_two() && x.range.lo >= 0 => {
                self.scalar_op(SOp::Sar, &x, &Affine::number(d.trailing_zeros().into()))
            }
            (BinOp::Rem, _, Some(d)) if d > 0 && (d as u64).is_power_of_two() && x.range.lo >= 0 => {
                self.scalar_op(SOp::And, &x, &Affine::number(d - 1))
            }
            (BinOp::Mul, ..) => self.scalar_op(SOp::Mul, &x, &y),
            (BinOp::BitAnd | BinOp::And, ..) => self.scalar_op(SOp::And, &x, &y),
            (BinOp::BitOr | BinOp::Or, ..) => self.scalar_op(SOp::Or, &x, &y),
            (BinOp::BitXor, ..) => self.scalar_op(SOp::Xor, &x, &y),
            (BinOp::Shl, ..) => self.scalar_op(SOp::Shl, &x, &y),
            (BinOp::Shr, ..) => self.scalar_op(SOp::Sar, &x, &y),
            _ => {
                self.must_be_known(a)?;
                self.must_be_known(b)?;
                return self.fail(
                    format!("`{}` of scalars that are only known when the kernel runs", op.word()),
                    "the control unit divides by powers of two alone; take constants, or count a variable along",
                );
            }
        };
        Ok(Scalar::run(ty, sum))
    }

    fn fold(&self, op: BinOp, ty: ScalarTy, x: i128, y: i128) -> R<Scalar> {
        let value = match op {
            BinOp::Eq => return Ok(Scalar::bool(x == y)),
            BinOp::Ne => return Ok(Scalar::bool(x != y)),
            BinOp::Lt => return Ok(Scalar::bool(x < y)),
            BinOp::Le => return Ok(Scalar::bool(x <= y)),
            BinOp::Gt => return Ok(Scalar::bool(x > y)),
            BinOp::Ge => return Ok(Scalar::bool(x >= y)),
            BinOp::Add => x.checked_add(y),
            BinOp::Sub => x.checked_sub(y),
            BinOp::Mul => x.checked_mul(y),
            BinOp::Div | BinOp::Rem if y == 0 => return self.fail("division by zero", "guard it with an `if`"),
            BinOp::Div => x.checked_div(y),
            BinOp::Rem => x.checked_rem(y),
            BinOp::BitAnd | BinOp::And => Some(x & y),
            BinOp::BitOr | BinOp::Or => Some(x | y),
            BinOp::BitXor => Some(x ^ y),
            BinOp::Shl | BinOp::Shr => {
                let (width, signed) = bits(ty);
                if !(0..i128::from(width)).contains(&y) {
                    return self.fail(format!("a shift of {width} bits by {y}"), "shift by less than the width");
                }
                Some(if op == BinOp::Shr { x >> y } else { wrap(x << y, width, signed) })
            }
        };
        match value {
            Some(value) => self.in_type(ty, value),
            None => self.fail("larger than any integer type", "take smaller numbers"),
        }
    }

    fn scalar_compare(&mut self, op: BinOp, a: &Scalar, b: &Scalar) -> R<Scalar> {
        let difference = a.affine().plus(&b.affine().times(-1));
        let (lo, hi) = (difference.range.lo, difference.range.hi);
        let decided = match op {
            BinOp::Lt if hi < 0 => Some(true),
            BinOp::Lt if lo >= 0 => Some(false),
            BinOp::Le if hi <= 0 => Some(true),
            BinOp::Le if lo > 0 => Some(false),
            BinOp::Gt if lo > 0 => Some(true),
            BinOp::Gt if hi <= 0 => Some(false),
            BinOp::Ge if lo >= 0 => Some(true),
            BinOp::Ge if hi < 0 => Some(false),
            BinOp::Eq if lo > 0 || hi < 0 => Some(false),
            BinOp::Ne if lo > 0 || hi < 0 => Some(true),
            _ => None,
        };
        if let Some(value) = decided {
            return Ok(Scalar::bool(value));
        }
        let (x, y) = (self.sval(&a.affine()), self.sval(&b.affine()));
        let dst = self.scalar_value("c", &[x, y], Range::between(0, 1));
        self.push(OpKind::ScalarSet { cond: cond_of(op), dst: SDst::Def(dst), a: x, b: y });
        Ok(Scalar::run(ScalarTy::Bool, self.variable(dst)))
    }

    /// `-a`, `!a`.
    pub(super) fn scalar_unary(&mut self, op: UnOp, a: &Scalar) -> R<Scalar> {
        match (op, &a.number, a.ty) {
            (UnOp::Neg, Number::Known(v), ty) => self.in_type(ty, -v),
            (UnOp::Neg, Number::Run(sum), ty) => Ok(Scalar::run(ty, sum.times(-1))),
            (UnOp::Not, Number::Known(v), ScalarTy::Bool) => Ok(Scalar::bool(*v == 0)),
            (UnOp::Not, Number::Known(v), ty) => {
                let (width, signed) = bits(ty);
                Ok(Scalar::known(ty, wrap(!v, width, signed)))
            }
            (UnOp::Not, Number::Run(sum), ty) => {
                let ones = Affine::number(if ty == ScalarTy::Bool { 1 } else { -1 });
                Ok(Scalar::run(ty, self.scalar_op(SOp::Xor, sum, &ones)))
            }
            (UnOp::Deref, ..) => Ok(a.clone()),
        }
    }

    /// `a as T`.
    pub(super) fn scalar_cast(&mut self, a: &Scalar, to: IntTy) -> R<Scalar> {
        let ty = ScalarTy::Int(to);
        match &a.number {
            Number::Known(v) => Ok(Scalar::known(ty, wrap(*v, to.bits().0, to.bits().1))),
            Number::Run(sum) => {
                let (lo, hi) = to.range();
                if i128::from(sum.range.lo) >= lo && i128::from(sum.range.hi) <= hi || to.bits().0 >= 32 {
                    return Ok(Scalar { ty, number: a.number.clone() });
                }
                let n = Affine::number((32 - to.bits().0).into());
                let up = self.scalar_op(SOp::Shl, sum, &n);
                let op = if to.bits().1 { SOp::Sar } else { SOp::Shr };
                let mut back = self.scalar_op(op, &up, &n);
                back.range = Range::between(lo as i64, hi as i64);
                Ok(Scalar::run(ty, back))
            }
        }
    }

    /// The lesser or greater of two.
    pub(super) fn scalar_extreme(&mut self, least: bool, a: &Scalar, b: &Scalar) -> R<Scalar> {
        let ty = self.common(a.ty, b.ty)?;
        if let (Some(x), Some(y)) = (a.as_known(), b.as_known()) {
            return Ok(Scalar::known(ty, if least { x.min(y) } else { x.max(y) }));
        }
        let (x, y) = (a.affine(), b.affine());
        if x.range.hi <= y.range.lo || y.range.hi <= x.range.lo {
            let x_less = x.range.hi <= y.range.lo;
            return Ok(Scalar { ty, number: if x_less == least { a.number.clone() } else { b.number.clone() } });
        }
        let op = if least { SOp::Min } else { SOp::Max };
        Ok(Scalar::run(ty, self.scalar_op(op, &x, &y)))
    }

    /// A scalar operation of the IR.
    pub(super) fn scalar_op(&mut self, op: SOp, a: &Affine, b: &Affine) -> Affine {
        let (x, y) = (self.sval(a), self.sval(b));
        let known = b.as_known();
        let range = match (op, known) {
            (SOp::And, Some(mask)) if mask >= 0 => Range::between(0, mask),
            (SOp::Sar, Some(n @ 0..=31)) => Range::between(a.range.lo >> n, a.range.hi >> n),
            (SOp::Shr, Some(n @ 0..=31)) if a.range.lo >= 0 => Range::between(a.range.lo >> n, a.range.hi >> n),
            (SOp::Min, _) => Range::between(a.range.lo.min(b.range.lo), a.range.hi.min(b.range.hi)),
            (SOp::Max, _) => Range::between(a.range.lo.max(b.range.lo), a.range.hi.max(b.range.hi)),
            (SOp::Mul, _) => a.range.times(b.range),
            (SOp::Or | SOp::Xor | SOp::And, _) if within_bool(a) && within_bool(b) => Range::between(0, 1),
            _ => Range::FULL,
        };
        let dst = self.scalar_value("s", &[x, y], range);
        self.push(OpKind::Scalar { op, dst: SDst::Def(dst), a: x, b: y });
        self.variable(dst)
    }

    /// A scalar of the IR that depends on others.
    pub(super) fn scalar_value(&mut self, name: &str, from: &[SVal], range: Range) -> Id {
        let id = self.b.value(name, Type::Scalar);
        self.ranges.insert(id, range);
        let ids: Vec<Id> = from.iter().filter_map(|s| if let SVal::Val(id) = s { Some(*id) } else { None }).collect();
        self.depends(id, &ids);
        id
    }

    /// A scalar of the IR as a sum.
    pub(super) fn variable(&self, id: Id) -> Affine {
        let range = self.ranges.get(&id).copied().unwrap_or(Range::FULL);
        Affine { terms: vec![(id, 1)], constant: 0, range }
    }

    /// A sum as an operand: its operations are emitted once a block.
    pub(super) fn sval(&mut self, sum: &Affine) -> SVal {
        if let Some(v) = sum.as_known() {
            return SVal::Imm(v as i32);
        }
        if let ([(id, 1)], 0) = (sum.terms.as_slice(), sum.constant) {
            return SVal::Val(*id);
        }
        let key = (sum.terms.clone(), sum.constant);
        if let Some(id) = self.sums.iter().rev().find_map(|known| known.get(&key)) {
            return SVal::Val(*id);
        }
        let mut total: Option<SVal> = None;
        let mut range = Range::of(0);
        for (id, k) in &sum.terms {
            let of = self.ranges.get(id).copied().unwrap_or(Range::FULL);
            let part_range = of.times(Range::of(*k));
            let part = match *k {
                1 => SVal::Val(*id),
                k => {
                    let dst = self.scalar_value("m", &[SVal::Val(*id)], part_range);
                    let (a, b) = (SVal::Val(*id), SVal::Imm(k as i32));
                    self.push(OpKind::Scalar { op: SOp::Mul, dst: SDst::Def(dst), a, b });
                    SVal::Val(dst)
                }
            };
            range = range.plus(part_range);
            total = Some(match total {
                None => part,
                Some(before) => {
                    let dst = self.scalar_value("p", &[before, part], range);
                    self.push(OpKind::Scalar { op: SOp::Add, dst: SDst::Def(dst), a: before, b: part });
                    SVal::Val(dst)
                }
            });
        }
        let total = total.expect("a sum that is no number has a term");
        let result = if sum.constant == 0 {
            total
        } else {
            let dst = self.scalar_value("p", &[total], sum.range);
            let b = SVal::Imm(sum.constant as i32);
            self.push(OpKind::Scalar { op: SOp::Add, dst: SDst::Def(dst), a: total, b });
            SVal::Val(dst)
        };
        if let (SVal::Val(id), Some(known)) = (result, self.sums.last_mut()) {
            known.insert(key, id);
        }
        result
    }
}

fn within_bool(a: &Affine) -> bool {
    a.range.lo >= 0 && a.range.hi <= 1
}

/// The condition of a comparison.
pub(super) fn cond_of(op: BinOp) -> Cond {
    match op {
        BinOp::Eq => Cond::Eq,
        BinOp::Ne => Cond::Ne,
        BinOp::Lt => Cond::Lt,
        BinOp::Le => Cond::Le,
        BinOp::Gt => Cond::Gt,
        _ => Cond::Ge,
    }
}
