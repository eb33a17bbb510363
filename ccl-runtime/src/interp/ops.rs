//! Operators. Of scalars they are Rust's, with its checks; of per-PE values those of the native layer.

use ccl_syntax::ast::{BinOp, IntTy, UnOp};

use super::datum::{Datum, elem_of_int};
use super::error::{Cause, Evaluated};
use super::lanes::lanes;
use super::machine::Machine;
use crate::kernel::ElemType;
use crate::native::lane::{Binary, Cmp, Unary};
use crate::native::{Id, Lane};

/// The comparison, if it is one.
pub(super) const fn comparison(op: BinOp) -> Option<Cmp> {
    Some(match op {
        BinOp::Eq => Cmp::Eq,
        BinOp::Ne => Cmp::Ne,
        BinOp::Lt => Cmp::Lt,
        BinOp::Le => Cmp::Le,
        BinOp::Gt => Cmp::Gt,
        BinOp::Ge => Cmp::Ge,
        _ => return None,
    })
}

/// The operation of lanes, if PEs have it.
const fn binary(op: BinOp) -> Option<Binary> {
    Some(match op {
        BinOp::Add => Binary::Add,
        BinOp::Sub => Binary::Sub,
        BinOp::Mul => Binary::Mul,
        BinOp::BitAnd | BinOp::And => Binary::And,
        BinOp::BitOr | BinOp::Or => Binary::Or,
        BinOp::BitXor => Binary::Xor,
        _ => return None,
    })
}

/// The low bits of a value as one of the type: `as`.
pub(super) fn wrap(value: i128, ty: IntTy) -> i128 {
    let (bits, is_signed) = ty.bits();
    let shift = 128 - bits;
    if is_signed { value << shift >> shift } else { ((value << shift) as u128 >> shift) as i128 }
}

pub(super) fn is_in_range(value: i128, ty: IntTy) -> bool {
    let (least, most) = ty.range();
    (least..=most).contains(&value)
}

impl Machine<'_> {
    /// `a op b`.
    pub(super) fn binary(&mut self, op: BinOp, a: Datum, b: Datum) -> Evaluated {
        let (a, b) = if matches!(op, BinOp::Shl | BinOp::Shr) { (a, b) } else { self.alike(a, b) };
        match (&a, &b) {
            (Datum::Int(x, ty), Datum::Int(y, _)) => self.scalar(op, *x, *y, *ty),
            (Datum::Bool(x), Datum::Bool(y)) => self.logic(op, *x, *y),
            (Datum::Fx(x, bits), Datum::Fx(y, other)) if bits == other => {
                let of = |raw| Ok(Datum::Fx(raw, *bits));
                match (op, comparison(op)) {
                    (_, Some(cmp)) => Ok(Datum::Bool(cmp.of(x, y))),
                    (BinOp::Add, _) => of(x.wrapping_add(*y)),
                    (BinOp::Sub, _) => of(x.wrapping_sub(*y)),
                    _ => Err(self.no_operator(op, &a, &b)),
                }
            }
            (Datum::Acc(x), Datum::Acc(y)) if x.len() == y.len() && matches!(op, BinOp::Add | BinOp::Sub) => {
                let op = if op == BinOp::Add { Binary::Add } else { Binary::Sub };
                Ok(Datum::Acc(x.iter().zip(y).map(|(x, y)| i32::binary(op, *x, *y)).collect()))
            }
            (Datum::Pe(..), _) | (_, Datum::Pe(..)) => self.lanes(op, &a, &b),
            _ => Err(self.no_operator(op, &a, &b)),
        }
    }

    /// An untyped literal in a place whose type the front end does not know takes the type of what stands beside it.
    pub(super) fn alike(&self, a: Datum, b: Datum) -> (Datum, Datum) {
        let fitted = |scalar: &Datum, other: &Datum| match (scalar, other) {
            (Datum::Int(v, ty), Datum::Int(_, to)) if ty != to && *ty == IntTy::I32 => {
                is_in_range(*v, *to).then_some(Datum::Int(*v, *to))
            }
            (Datum::Int(v, ty), Datum::Pe(elem, _)) if elem_of_int(*ty) != Some(*elem) => {
                let to = IntTy::ALL.iter().find(|to| elem_of_int(**to) == Some(*elem))?;
                is_in_range(*v, *to).then_some(Datum::Int(*v, *to))
            }
            _ => None,
        };
        match (fitted(&a, &b), fitted(&b, &a)) {
            (Some(a), _) => (a, b),
            (None, Some(b)) => (a, b),
            (None, None) => (a, b),
        }
    }

    #[cold]
    pub(super) fn no_operator(&self, op: BinOp, a: &Datum, b: &Datum) -> super::error::Exit {
        self.stop(Cause::Operator { op: op.word().to_owned(), operands: format!("`{}` and `{}`", a.kind(), b.kind()) })
    }

    fn logic(&mut self, op: BinOp, a: bool, b: bool) -> Evaluated {
        Ok(Datum::Bool(match op {
            BinOp::And | BinOp::BitAnd => a & b,
            BinOp::Or | BinOp::BitOr => a | b,
            BinOp::BitXor => a ^ b,
            _ => match comparison(op) {
                Some(cmp) => cmp.of(a, b),
                None => return Err(self.no_operator(op, &Datum::Bool(a), &Datum::Bool(b))),
            },
        }))
    }

    /// Of scalars, with the checks of Rust.
    fn scalar(&mut self, op: BinOp, a: i128, b: i128, ty: IntTy) -> Evaluated {
        if let Some(cmp) = comparison(op) {
            return Ok(Datum::Bool(cmp.of(a, b)));
        }
        let text = || format!("{a} {} {b}", op.word());
        let bits = ty.bits().0;
        let value = match op {
            BinOp::Add => Some(a + b),
            BinOp::Sub => Some(a - b),
            BinOp::Mul => a.checked_mul(b),
            BinOp::Div | BinOp::Rem if b == 0 => return Err(self.stop(Cause::DivideByZero { text: text() })),
            BinOp::Div => Some(a / b),
            BinOp::Rem => Some(a % b),
            BinOp::BitAnd => Some(a & b),
            BinOp::BitOr => Some(a | b),
            BinOp::BitXor => Some(a ^ b),
            BinOp::Shl if (0..bits as i128).contains(&b) => Some(wrap(a << b, ty)),
            BinOp::Shr if (0..bits as i128).contains(&b) => Some(a >> b),
            BinOp::Shl | BinOp::Shr => None,
            _ => return Err(self.no_operator(op, &Datum::Int(a, ty), &Datum::Int(b, ty))),
        };
        self.int(value, ty, text)
    }

    /// A scalar that must be in the range of its type.
    pub(super) fn int(&self, value: Option<i128>, ty: IntTy, text: impl FnOnce() -> String) -> Evaluated {
        match value {
            Some(value) if is_in_range(value, ty) => Ok(Datum::Int(value, ty)),
            _ => Err(self.stop(Cause::Overflow { text: text(), ty: ty.word() })),
        }
    }

    /// Where either side is a per-PE value.
    fn lanes(&mut self, op: BinOp, a: &Datum, b: &Datum) -> Evaluated {
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            return self.shift_bits(op, a, b);
        }
        let (Some((elem, x)), Some((other, y))) = (a.spread(), b.spread()) else {
            return Err(self.no_operator(op, a, b));
        };
        if elem != other {
            return Err(self.no_operator(op, a, b));
        }
        if let Some(cmp) = comparison(op) {
            return Ok(Datum::Pe(ElemType::Bool, lanes!(elem, L => L::compare(cmp, x, y))));
        }
        let takes = match (op, elem) {
            (BinOp::And | BinOp::Or, _) => elem == ElemType::Bool,
            (BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor, _) => !matches!(elem, ElemType::Fx(_)),
            (BinOp::Mul, ElemType::Fx(_)) => false,
            _ => elem != ElemType::Bool,
        };
        match binary(op).filter(|_| takes) {
            Some(op) => Ok(Datum::Pe(elem, lanes!(elem, L => L::binary(op, x, y)))),
            None => Err(self.no_operator(op, a, b)),
        }
    }

    /// `<<` and `>>`.
    fn shift_bits(&mut self, op: BinOp, a: &Datum, b: &Datum) -> Evaluated {
        let Some((elem, x)) = a.spread().filter(|(elem, _)| *elem != ElemType::Bool) else {
            return Err(self.no_operator(op, a, b));
        };
        let left = op == BinOp::Shl;
        let id: Id = match b {
            Datum::Int(n, _) => lanes!(elem, L => L::shift_by(x, left, *n as u32)),
            Datum::Pe(ElemType::I32, n) => lanes!(elem, L => L::shift_lanes(x, left, *n)),
            _ => return Err(self.no_operator(op, a, b)),
        };
        Ok(Datum::Pe(elem, id))
    }

    /// `op a`.
    pub(super) fn unary(&mut self, op: UnOp, a: Datum) -> Evaluated {
        match (op, &a) {
            (UnOp::Neg, Datum::Int(v, ty)) => self.int(Some(-v), *ty, || format!("-({v})")),
            (UnOp::Not, Datum::Int(v, ty)) => Ok(Datum::Int(wrap(!v, *ty), *ty)),
            (UnOp::Not, Datum::Bool(v)) => Ok(Datum::Bool(!v)),
            (UnOp::Neg, Datum::Fx(raw, bits)) => Ok(Datum::Fx(raw.wrapping_neg(), *bits)),
            (UnOp::Neg, Datum::Pe(elem, id)) if *elem != ElemType::Bool => {
                Ok(Datum::Pe(*elem, lanes!(*elem, L => L::unary(Unary::Neg, *id))))
            }
            (UnOp::Not, Datum::Pe(elem, id)) if !matches!(elem, ElemType::Fx(_)) => {
                Ok(Datum::Pe(*elem, lanes!(*elem, L => L::unary(Unary::Not, *id))))
            }
            _ => Err(self.stop(Cause::Operator { op: op.word().to_owned(), operands: format!("`{}`", a.kind()) })),
        }
    }

    /// The lesser or the greater.
    pub(super) fn extreme(&mut self, is_max: bool, a: Datum, b: Datum) -> Evaluated {
        let (a, b) = self.alike(a, b);
        let pick = |first_is_less: bool, a: Datum, b: Datum| if first_is_less == is_max { b } else { a };
        match (&a, &b) {
            (Datum::Int(x, s), Datum::Int(y, t)) if s == t => {
                let less = x < y;
                Ok(pick(less, a, b))
            }
            (Datum::Fx(x, s), Datum::Fx(y, t)) if s == t => {
                let less = x < y;
                Ok(pick(less, a, b))
            }
            _ => match (a.spread(), b.spread()) {
                (Some((elem, x)), Some((other, y))) if elem == other && elem != ElemType::Bool => {
                    let op = if is_max { Binary::Max } else { Binary::Min };
                    Ok(Datum::Pe(elem, lanes!(elem, L => L::binary(op, x, y))))
                }
                _ => {
                    let op = if is_max { "max" } else { "min" };
                    let operands = format!("`{}` and `{}`", a.kind(), b.kind());
                    Err(self.stop(Cause::Operator { op: op.to_owned(), operands }))
                }
            },
        }
    }

    pub(super) fn absolute(&mut self, a: Datum) -> Evaluated {
        match &a {
            // The least number stays, as the native function says.
            Datum::Int(v, ty) => Ok(Datum::Int(wrap(v.abs(), *ty), *ty)),
            Datum::Fx(raw, bits) => Ok(Datum::Fx(raw.wrapping_abs(), *bits)),
            Datum::Pe(elem, id) if *elem != ElemType::Bool => {
                Ok(Datum::Pe(*elem, lanes!(*elem, L => L::unary(Unary::Abs, *id))))
            }
            _ => Err(self.stop(Cause::Operator { op: "abs".to_owned(), operands: format!("`{}`", a.kind()) })),
        }
    }
}
