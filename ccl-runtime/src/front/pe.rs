//! Per-PE arithmetic at the widths of the language on lanes of 32 bits. A value is wrapped only where it may have left its
//! width and somebody needs more than its low bits.

use ccl_syntax::ast::{BinOp, UnOp};
use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::R;
use super::scalar::cond_of;
use super::value::{Number, Pe, Scalar, ScalarTy, Val};
use crate::ir::range::alu_range;
use crate::ir::{self, AluOp, Dst, Elem, ElemRef, Fmt, Index, OpKind, Src, Type};
use crate::kernel::ElemType;
use crate::value::Overflow;

pub(super) const WORD: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);

/// How an element lies in local memory; of 64 bits its words.
pub(super) fn stored(elem: ElemType) -> Elem {
    match elem {
        ElemType::Bool | ElemType::I8 | ElemType::U8 => Elem::I8,
        ElemType::I16 | ElemType::U16 => Elem::I16,
        ElemType::I32 | ElemType::I64 | ElemType::Fx(_) => Elem::I32,
    }
}

fn within((lo, hi): (i128, i128), range: (i64, i64)) -> bool {
    lo >= range.0 as i128 && hi <= range.1 as i128
}

impl Cx<'_> {
    // ---- single operations ----

    /// An operation on words.
    pub(super) fn alu(&mut self, op: AluOp, a: Src, b: Src) -> Src {
        if let (Src::Imm(x), true) = (a, matches!(b, Src::Imm(_)) || !op.binary()) {
            let y = if let Src::Imm(y) = b { y } else { 0 };
            if let Some(v) = ir::interp::alu(op, x, y) {
                return Src::Imm(v);
            }
        }
        let dst = self.b.value("t", Type::Q(Fmt::I32));
        self.push(OpKind::Alu { op, dst: Dst::Def(dst), a, b });
        Src::Val(dst)
    }
    pub(super) fn bin(&mut self, op: ir::BinOp, a: Src, b: impl Into<Src>) -> Src {
        let b = b.into();
        match (op, b) {
            (ir::BinOp::Add | ir::BinOp::Sub | ir::BinOp::Shl | ir::BinOp::Sar | ir::BinOp::Or, Src::Imm(0)) => a,
            (ir::BinOp::And, Src::Imm(-1)) => a,
            _ => self.alu(AluOp::Bin(op), a, b),
        }
    }
    pub(super) fn mul(&mut self, a: Src, b: impl Into<Src>, shift: i8) -> Src {
        let b = b.into();
        if b == Src::Imm(1) && shift == 0 { a } else { self.alu(AluOp::FxMul(shift), a, b) }
    }
    pub(super) fn set(&mut self, cond: Cond, a: Src, b: impl Into<Src>) -> Src {
        self.alu(AluOp::Set(cond), a, b.into())
    }
    pub(super) fn sel(&mut self, cond: Cond, [x, y, t, f]: [Src; 4]) -> Src {
        if let (Src::Imm(x), Src::Imm(y)) = (x, y) {
            return if ir::interp::cond_holds(cond, x, y) { t } else { f };
        }
        if t == f {
            return t;
        }
        let dst = self.b.value("t", Type::Q(Fmt::I32));
        self.push(OpKind::Sel { dst: Dst::Def(dst), cond, x, y, t, f });
        Src::Val(dst)
    }
    /// A copy that no assignment changes.
    pub(super) fn copy(&mut self, a: Src) -> Src {
        let dst = self.b.value("v", Type::Q(Fmt::I32));
        self.push(OpKind::Alu { op: AluOp::Mov, dst: Dst::Def(dst), a, b: Src::Imm(0) });
        Src::Val(dst)
    }
    pub(super) fn clip(&mut self, a: Src, lo: i64, hi: i64) -> Src {
        if (-2048..=2047).contains(&lo) && (-2048..=2047).contains(&hi) && lo <= hi {
            return self.alu(AluOp::Clip(lo as i16, hi as i16), a, Src::Imm(0));
        }
        let a = self.bin(ir::BinOp::Max, a, lo as i32);
        self.bin(ir::BinOp::Min, a, hi as i32)
    }

    // ---- values ----

    /// The value itself, where only its low bits were at hand.
    pub(super) fn exact(&mut self, a: Pe) -> Pe {
        if a.exact {
            return a;
        }
        let lo = match a.elem {
            ElemType::I8 | ElemType::I16 => {
                // A byte or half-word of local memory sign-extends when it is read: the wrap costs nothing there.
                let elem = stored(a.elem);
                let buf = self.b.value("w", Type::Lrm { elem, n: 1, ring: 1 });
                self.push(OpKind::Lrm { dst: buf, align: 1 });
                let place = ElemRef { buf, view: elem, index: Index::Const, at: 0 };
                self.push(OpKind::Alu { op: AluOp::Mov, dst: Dst::Elem(place), a: a.lo, b: Src::Imm(0) });
                self.copy(Src::Elem(place))
            }
            ElemType::U8 => self.bin(ir::BinOp::And, a.lo, 0xff),
            ElemType::U16 => self.bin(ir::BinOp::And, a.lo, 0xffff),
            ElemType::Bool | ElemType::I32 | ElemType::I64 | ElemType::Fx(_) => a.lo,
        };
        Pe { lo, exact: true, range: a.elem.range(), ..a }
    }

    /// A value of so many bits of which `lo` has the low ones right.
    pub(super) fn wrapped(elem: ElemType, lo: Src, range: (i128, i128)) -> Pe {
        let of = elem.range();
        if within(range, of) {
            return Pe { elem, lo, hi: None, range: (range.0 as i64, range.1 as i64), exact: true };
        }
        let is_word = matches!(elem, ElemType::I32 | ElemType::Fx(_));
        Pe { elem, lo, hi: None, range: of, exact: is_word }
    }

    /// A scalar in every PE.
    pub(super) fn spread(&mut self, s: &Scalar, like: Option<ElemType>) -> R<Pe> {
        let elem = match (s.ty, like) {
            (ScalarTy::Open, Some(elem)) => elem,
            (ScalarTy::Open, None) => ElemType::I32,
            (ty, _) => self.elem_of(ty)?,
        };
        match &s.number {
            Number::Known(v) => {
                let (lo, hi) = elem.range();
                match i64::try_from(*v) {
                    Ok(v) if (lo..=hi).contains(&v) => Ok(Pe::number(elem, v)),
                    _ => self.fail(format!("{v} is outside {lo}..={hi}, the range of `{elem}`"), "take a wider type"),
                }
            }
            Number::Run(sum) => {
                let (range, lo) = ((sum.range.lo, sum.range.hi), self.sval(sum));
                let lo = match lo {
                    ir::SVal::Imm(v) => Src::Imm(v),
                    ir::SVal::Val(id) => Src::Val(id),
                };
                Ok(Pe::ranged(elem, lo, range))
            }
        }
    }

    /// The element type of PEs that a scalar type is.
    pub(super) fn elem_of(&self, ty: ScalarTy) -> R<ElemType> {
        use ccl_syntax::ast::IntTy;
        Ok(match ty {
            ScalarTy::Bool => ElemType::Bool,
            ScalarTy::Fx(f) => ElemType::Fx(f),
            ScalarTy::Open => ElemType::I32,
            ScalarTy::Int(ty) => match ty {
                IntTy::I8 => ElemType::I8,
                IntTy::I16 => ElemType::I16,
                IntTy::I32 => ElemType::I32,
                IntTy::I64 => ElemType::I64,
                IntTy::U8 => ElemType::U8,
                IntTy::U16 => ElemType::U16,
                IntTy::U32 | IntTy::U64 | IntTy::Usize => {
                    return self.fail(format!("PEs hold no values of `{}`", ty.word()), "cast the scalar: `.. as i32`");
                }
            },
        })
    }

    /// Two operands, one of which may be a scalar, at the type of the other.
    pub(super) fn pair(&mut self, a: &Val, b: &Val) -> R<(Pe, Pe)> {
        let like = match (a, b) {
            (Val::Pe(pe), _) | (_, Val::Pe(pe)) => Some(pe.elem),
            (Val::Scalar(s), _) if s.ty != ScalarTy::Open => Some(self.elem_of(s.ty)?),
            (_, Val::Scalar(s)) if s.ty != ScalarTy::Open => Some(self.elem_of(s.ty)?),
            _ => None,
        };
        let (a, b) = (self.as_pe(a, like)?, self.as_pe(b, like)?);
        if a.elem != b.elem {
            return self.fail(
                format!("`Q<{}>` and `Q<{}>` do not go together", a.elem, b.elem),
                "`widen`, `narrow` and `rescale` change the type of a value",
            );
        }
        Ok((a, b))
    }

    pub(super) fn as_pe(&mut self, val: &Val, like: Option<ElemType>) -> R<Pe> {
        match val {
            Val::Pe(pe) => Ok(*pe),
            Val::Scalar(s) => self.spread(s, like),
            Val::Ref(_) | Val::PeVar(..) | Val::ScalarVar(..) => {
                let val = self.read(val)?;
                self.as_pe(&val, like)
            }
            other => self.wrong("a per-PE value", other),
        }
    }

    /// `a op b`.
    pub(super) fn pe_binary(&mut self, op: BinOp, a: Pe, b: Pe) -> R<Pe> {
        if op.is_comparison() {
            return self.pe_compare(op, a, b);
        }
        if a.elem == ElemType::I64 {
            return self.wide_binary(op, a, b);
        }
        let elem = a.elem;
        let (x, y) = ((a.range.0 as i128, a.range.1 as i128), (b.range.0 as i128, b.range.1 as i128));
        let known = a.exact && b.exact;
        let corners = |f: fn(i128, i128) -> i128| {
            let all = [f(x.0, y.0), f(x.0, y.1), f(x.1, y.0), f(x.1, y.1)];
            let (lo, hi) = (all.iter().min().copied(), all.iter().max().copied());
            (lo.expect("four corners"), hi.expect("four corners"))
        };
        const FAR: (i128, i128) = (i128::MIN, i128::MAX);
        let (lo, range) = match op {
            BinOp::Add => (self.bin(ir::BinOp::Add, a.lo, b.lo), corners(|a, b| a + b)),
            BinOp::Sub => (self.bin(ir::BinOp::Sub, a.lo, b.lo), (x.0 - y.1, x.1 - y.0)),
            BinOp::Mul => (self.mul(a.lo, b.lo, 0), corners(|a, b| a * b)),
            BinOp::BitAnd | BinOp::And | BinOp::BitOr | BinOp::Or | BinOp::BitXor => {
                let op = match op {
                    BinOp::BitAnd | BinOp::And => ir::BinOp::And,
                    BinOp::BitOr | BinOp::Or => ir::BinOp::Or,
                    _ => ir::BinOp::Xor,
                };
                let range = alu_range(AluOp::Bin(op), a.range, b.range);
                let of = elem.range();
                // Bits of values within a type are within it.
                let range = (range.0.max(of.0) as i128, range.1.min(of.1) as i128);
                (self.bin(op, a.lo, b.lo), range)
            }
            _ => {
                return self.fail(
                    format!("`{}` of per-PE values", op.word()),
                    "PEs do not divide: multiply by a reciprocal, `fx_div` is 82 cycles, powers of two are `>>`",
                );
            }
        };
        Ok(Self::wrapped(elem, lo, if known { range } else { FAR }))
    }

    fn pe_compare(&mut self, op: BinOp, a: Pe, b: Pe) -> R<Pe> {
        let (a, b) = (self.exact(a), self.exact(b));
        if a.elem == ElemType::I64 && (a.hi.is_some() || b.hi.is_some()) {
            return self.wide_compare(op, a, b);
        }
        let lo = self.set(cond_of(op), a.lo, b.lo);
        let known = if let Src::Imm(v) = lo { (v as i64, v as i64) } else { (0, 1) };
        Ok(Pe::ranged(ElemType::Bool, lo, known))
    }

    /// `-a`, `!a`.
    pub(super) fn pe_unary(&mut self, op: UnOp, a: Pe) -> R<Pe> {
        match (op, a.elem) {
            (UnOp::Deref, _) => Ok(a),
            (UnOp::Neg, _) => self.pe_binary(BinOp::Sub, Pe::number(a.elem, 0), a),
            (UnOp::Not, ElemType::Bool) => Ok(Pe::new(ElemType::Bool, self.bin(ir::BinOp::Xor, a.lo, 1))),
            (UnOp::Not, ElemType::I64) => {
                let minus_one = Pe::number(ElemType::I64, -1);
                self.pe_binary(BinOp::Sub, minus_one, a)
            }
            (UnOp::Not, elem) => {
                let ones = if elem.range().0 < 0 { -1 } else { elem.range().1 as i32 };
                let (lo, hi) = a.range;
                let range = if ones == -1 { (-1 - hi, -1 - lo) } else { (ones as i64 - hi, ones as i64 - lo) };
                let lo = self.bin(ir::BinOp::Xor, a.lo, ones);
                Ok(Pe { lo, range, ..a })
            }
        }
    }

    /// `a << n`, `a >> n`: in 32 bits (64 of `i64`), by `n` modulo that.
    pub(super) fn pe_shift(&mut self, left: bool, a: Pe, n: &Val) -> R<Pe> {
        if a.elem == ElemType::I64 {
            return match n {
                Val::Scalar(n) if n.as_known().is_some() => {
                    let n = (self.must_be_known(n)? & 63) as u32;
                    self.wide_shift(left, a, n)
                }
                n => {
                    let n = self.as_pe(n, Some(ElemType::I32))?;
                    let n = self.exact(n);
                    self.wide_shift_lanes(left, a, n.lo)
                }
            };
        }
        let by = match n {
            Val::Scalar(s) => match s.as_known() {
                Some(v) => Pe::number(ElemType::I32, (v & 31) as i64),
                None => self.spread(&Scalar { ty: ScalarTy::Int(ccl_syntax::ast::IntTy::I32), ..s.clone() }, None)?,
            },
            other => self.as_pe(other, None)?,
        };
        let by = self.exact(by);
        if left {
            let (range, lo) = (a.range, self.bin(ir::BinOp::Shl, a.lo, by.lo));
            let range = match by.as_known().filter(|_| a.exact) {
                Some(n) => ((range.0 as i128) << n, (range.1 as i128) << n),
                None => (i128::MIN, i128::MAX),
            };
            return Ok(Self::wrapped(a.elem, lo, range));
        }
        let a = self.exact(a);
        let lo = self.bin(ir::BinOp::Sar, a.lo, by.lo);
        let range = match by.as_known() {
            Some(n) => (a.range.0 >> n, a.range.1 >> n),
            None => (a.range.0.min(0), a.range.1.max(0)),
        };
        Ok(Pe { lo, range, ..a })
    }

    /// The lesser or greater of two.
    pub(super) fn pe_extreme(&mut self, least: bool, a: Pe, b: Pe) -> R<Pe> {
        let (a, b) = (self.exact(a), self.exact(b));
        if a.elem == ElemType::I64 && (a.hi.is_some() || b.hi.is_some()) {
            let less = self.wide_compare(BinOp::Lt, a, b)?;
            return if least { self.blend(less, a, b) } else { self.blend(less, b, a) };
        }
        let (op, range) = match least {
            true => (ir::BinOp::Min, (a.range.0.min(b.range.0), a.range.1.min(b.range.1))),
            false => (ir::BinOp::Max, (a.range.0.max(b.range.0), a.range.1.max(b.range.1))),
        };
        Ok(Pe { lo: self.bin(op, a.lo, b.lo), range, ..a })
    }

    /// Absolute value; the least number stays.
    pub(super) fn pe_abs(&mut self, a: Pe) -> R<Pe> {
        let a = self.exact(a);
        if a.elem == ElemType::I64 && a.hi.is_some() {
            let zero = Pe::number(ElemType::I64, 0);
            let negative = self.wide_compare(BinOp::Lt, a, zero)?;
            let minus = self.wide_binary(BinOp::Sub, zero, a)?;
            return self.blend(negative, minus, a);
        }
        if a.range.0 >= 0 {
            return Ok(a);
        }
        let lo = self.alu(AluOp::Abs, a.lo, Src::Imm(0));
        let hi = (a.range.0 as i128).abs().max(a.range.1 as i128);
        Ok(Self::wrapped(a.elem, lo, (0, hi)))
    }

    /// `x` moved into `lo..=hi`.
    pub(super) fn pe_clamp(&mut self, x: Pe, lo: Pe, hi: Pe) -> R<Pe> {
        if let (Some(l), Some(h)) = (lo.as_known(), hi.as_known())
            && l <= h
            && x.elem != ElemType::I64
        {
            let x = self.exact(x);
            if x.range.0 >= l && x.range.1 <= h {
                return Ok(x);
            }
            let range = (x.range.0.clamp(l, h), x.range.1.clamp(l, h));
            return Ok(Pe { lo: self.clip(x.lo, l, h), range, ..x });
        }
        let x = self.pe_extreme(false, x, lo)?;
        self.pe_extreme(true, x, hi)
    }

    /// `a` where the condition holds, else `b`.
    pub(super) fn blend(&mut self, c: Pe, a: Pe, b: Pe) -> R<Pe> {
        if let Some(c) = c.as_known() {
            return Ok(if c != 0 { a } else { b });
        }
        if a.hi.is_some() || b.hi.is_some() {
            let (a, b) = (self.both_words(a), self.both_words(b));
            let lo = self.sel(Cond::Ne, [c.lo, Src::Imm(0), a.0, b.0]);
            let hi = self.sel(Cond::Ne, [c.lo, Src::Imm(0), a.1, b.1]);
            return Ok(Pe { elem: ElemType::I64, lo, hi: Some(hi), range: ElemType::I64.range(), exact: true });
        }
        let exact = a.exact && b.exact;
        let range = if exact { (a.range.0.min(b.range.0), a.range.1.max(b.range.1)) } else { a.elem.range() };
        Ok(Pe { lo: self.sel(Cond::Ne, [c.lo, Src::Imm(0), a.lo, b.lo]), hi: None, range, exact, elem: a.elem })
    }

    /// The same value in a wider type.
    pub(super) fn pe_widen(&mut self, a: Pe, to: ElemType) -> Pe {
        Pe { elem: to, ..self.exact(a) }
    }

    /// The value in a narrower type.
    pub(super) fn pe_narrow(&mut self, a: Pe, to: ElemType, overflow: Overflow) -> R<Pe> {
        let range = (a.range.0 as i128, a.range.1 as i128);
        if to == ElemType::I64 {
            return Ok(self.pe_widen(a, to));
        }
        if overflow == Overflow::Wrap {
            let lo = if a.exact && a.hi.is_none() { range } else { (i128::MIN, i128::MAX) };
            return Ok(Self::wrapped(to, a.lo, lo));
        }
        let a = if a.hi.is_some() { self.wide_to_word(a) } else { self.exact(a) };
        let (lo, hi) = (to.range().0.max(a.elem.range().0), to.range().1.min(a.elem.range().1));
        let clamped = (a.range.0.clamp(lo, hi), a.range.1.clamp(lo, hi));
        let word = match (a.range.0 < lo, a.range.1 > hi) {
            (false, false) => a.lo,
            (true, false) => self.bin(ir::BinOp::Max, a.lo, lo as i32),
            (false, true) => self.bin(ir::BinOp::Min, a.lo, hi as i32),
            (true, true) => self.clip(a.lo, lo, hi),
        };
        Ok(Pe::ranged(to, word, clamped))
    }
}
