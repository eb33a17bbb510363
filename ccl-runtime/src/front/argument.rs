//! Arguments of names of the language, generic and by value.

use ccl_syntax::ast::*;
use ccl_syntax::check::types::{Elem, Type};

use super::cx::Cx;
use super::error::R;
use super::value::{Affine, Pe, ScalarTy, Val, View};
use crate::kernel::ElemType;
use crate::value::{Overflow, Rounding, Scale};

impl<'p> Cx<'p> {
    /// The fraction bits that a name's result has: written, or told by the checks.
    pub(super) fn fraction(&mut self, expr: &Expr, generics: &'p [GenericArg]) -> R<u8> {
        let bits = match generics.first() {
            Some(arg) if !matches!(arg, GenericArg::Infer(_)) => self.extent_arg(arg)?,
            _ => match self.unit().types.of(expr.id) {
                Some(Type::Pe(Elem::Fx(bits)) | Type::Scalar(Elem::Fx(bits))) => match self.extent_value(&bits.clone())
                {
                    Some(bits) => bits,
                    None => return self.open_generic(),
                },
                _ => return self.open_generic(),
            },
        };
        if bits > 31 {
            return self.fail(format!("{bits} fraction bits of 32"), "`Fx` has at most 31");
        }
        Ok(bits as u8)
    }
    pub(super) fn open_generic<T>(&self) -> R<T> {
        self.fail("a generic argument follows from nothing that is known here", "name it: `::<..>`")
    }
    pub(super) fn elem_generic(&mut self, expr: &Expr, generics: &'p [GenericArg]) -> R<ElemType> {
        match generics.first() {
            Some(arg) if !matches!(arg, GenericArg::Infer(_)) => self.elem_ty(arg),
            _ => match self.unit().types.of(expr.id) {
                Some(Type::Pe(elem)) => {
                    let elem = elem.clone();
                    self.checked_elem(&elem)
                }
                _ => self.open_generic(),
            },
        }
    }
    pub(super) fn checked_elem(&self, elem: &Elem) -> R<ElemType> {
        match elem {
            Elem::Bool => Ok(ElemType::Bool),
            Elem::Int(ty) => self.elem_of(ScalarTy::Int(*ty)),
            Elem::Fx(bits) => match self.extent_value(bits) {
                Some(bits) => Ok(ElemType::Fx(bits as u8)),
                None => self.open_generic(),
            },
            Elem::Literal(_) => Ok(ElemType::I32),
            Elem::Unknown | Elem::Var(_) => self.open_generic(),
        }
    }
    pub(super) fn extent_generic(&mut self, expr: &Expr, generics: &'p [GenericArg]) -> R<usize> {
        match generics.first() {
            Some(arg) if !matches!(arg, GenericArg::Infer(_)) => self.extent_arg(arg),
            _ => match self.unit().types.of(expr.id) {
                Some(Type::Weights(n) | Type::Acc(n) | Type::Lrm(_, n)) => match self.extent_value(&n.clone()) {
                    Some(n) => Ok(n),
                    None => self.open_generic(),
                },
                _ => self.open_generic(),
            },
        }
    }
    pub(super) fn lrm_generic(&mut self, expr: &Expr, generics: &'p [GenericArg]) -> R<(ElemType, usize)> {
        match generics.first() {
            Some(arg) if !matches!(arg, GenericArg::Infer(_)) => self.lrm_ty(arg),
            _ => match self.unit().types.of(expr.id).cloned() {
                Some(Type::Lrm(elem, n)) => self.checked_lrm(&elem, &n),
                Some(Type::Flow(of)) => match *of {
                    Type::Lrm(elem, n) => self.checked_lrm(&elem, &n),
                    _ => self.open_generic(),
                },
                _ => self.open_generic(),
            },
        }
    }
    fn checked_lrm(&self, elem: &Elem, n: &ccl_syntax::check::types::Extent) -> R<(ElemType, usize)> {
        match self.extent_value(n) {
            Some(n) => Ok((self.checked_elem(elem)?, n)),
            None => self.open_generic(),
        }
    }

    // ---- arguments ----

    pub(super) fn arg(&mut self, args: &'p [Expr], i: usize) -> R<Val> {
        let Some(arg) = args.get(i) else { return self.fail(format!("argument {} is missing", i + 1), "") };
        let val = self.expr(arg)?;
        self.read(&val)
    }
    pub(super) fn arg_scale(&mut self, args: &'p [Expr], i: usize) -> R<Scale> {
        match self.arg(args, i)? {
            Val::Scale(scale) => Ok(scale),
            other => self.wrong("a scale", &other),
        }
    }
    pub(super) fn arg_rounding(&mut self, args: &'p [Expr], i: usize) -> R<Rounding> {
        match self.arg(args, i)? {
            Val::Rounding(r) => Ok(r),
            other => self.wrong("a rounding", &other),
        }
    }
    pub(super) fn arg_overflow(&mut self, args: &'p [Expr], i: usize) -> R<Overflow> {
        match self.arg(args, i)? {
            Val::Overflow(o) => Ok(o),
            other => self.wrong("an overflow", &other),
        }
    }
    pub(super) fn arg_choice(&mut self, args: &'p [Expr], i: usize) -> R<&'static str> {
        match self.arg(args, i)? {
            Val::Choice(name) => Ok(name),
            other => self.wrong("a choice", &other),
        }
    }
    pub(super) fn arg_pe(&mut self, args: &'p [Expr], i: usize) -> R<Pe> {
        let val = self.arg(args, i)?;
        self.as_pe(&val, None)
    }
    pub(super) fn arg_usize(&mut self, args: &'p [Expr], i: usize) -> R<usize> {
        match self.arg(args, i)? {
            Val::Scalar(s) => self.known_usize(&s),
            other => self.wrong("a number", &other),
        }
    }
    pub(super) fn arg_i32(&mut self, args: &'p [Expr], i: usize) -> R<i32> {
        match self.arg(args, i)? {
            Val::Scalar(s) => {
                let v = self.must_be_known(&s)?;
                i32::try_from(v).map_or_else(|_| self.fail(format!("{v} in 32 bits"), ""), Ok)
            }
            other => self.wrong("a number", &other),
        }
    }
    pub(super) fn arg_sum(&mut self, args: &'p [Expr], i: usize) -> R<Affine> {
        match self.arg(args, i)? {
            Val::Scalar(s) => Ok(s.affine()),
            other => self.wrong("a scalar", &other),
        }
    }
    pub(super) fn arg_view(&mut self, args: &'p [Expr], i: usize) -> R<View> {
        match self.arg(args, i)? {
            Val::Tensor(view) => Ok(view),
            other => self.wrong("a tensor", &other),
        }
    }
    /// Two numbers, scalars both or per-PE values both.
    pub(super) fn two(&mut self, args: &'p [Expr], i: usize, j: usize) -> R<(Val, Val)> {
        let a = self.arg(args, i)?;
        let a = match a {
            Val::Pe(pe) if args.get(j).is_some_and(super::walk::has_effects) => Val::Pe(self.pinned(pe)),
            a => a,
        };
        Ok((a, self.arg(args, j)?))
    }
    pub(super) fn extreme(&mut self, least: bool, a: &Val, b: &Val) -> R<Val> {
        if let (Val::Scalar(a), Val::Scalar(b)) = (a, b) {
            return Ok(Val::Scalar(self.scalar_extreme(least, a, b)?));
        }
        let (a, b) = self.pair(a, b)?;
        Ok(Val::Pe(self.pe_extreme(least, a, b)?))
    }
}
