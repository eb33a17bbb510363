//! Types of an instance: what the front end knows, with the numbers of the const parameters at hand.

use ccl_syntax::ast::{Expr, ExprKind, GenericArg, IntTy, NodeId, Ty, TyKind};
use ccl_syntax::check::types::{Elem, Extent, Layout, Memory as CheckedMemory, Type};

use super::datum::{Datum, elem_of_int};
use super::error::{Cause, Evaluated};
use super::machine::Machine;
use crate::kernel::{ElemType, LayoutType, Memory};
use crate::tensor::layout;

/// Most fraction bits of a number.
pub(super) const MOST_BITS: usize = 31;

impl<'a> Machine<'a> {
    /// The type of an expression or binding, as far as the front end knows it.
    pub(super) fn type_of(&self, id: NodeId) -> Option<&'a Type> {
        self.frame.unit.checked.types.of(id)
    }

    /// A name of an extent.
    fn named(&self, name: &str) -> Option<i128> {
        if let Some(Datum::Int(v, _)) = self.frame.consts.get(name) {
            return Some(*v);
        }
        match name {
            "ROWS" => Some(crate::__rt::rows() as i128),
            "COLS" => Some(crate::__rt::cols() as i128),
            _ => self.frame.unit.constants.get(name)?.as_int(),
        }
    }

    pub(super) fn extent(&self, extent: &Extent) -> Option<usize> {
        let n = match extent {
            Extent::Known(n) => *n,
            Extent::Param(name) => self.named(name)?,
            Extent::Unknown | Extent::Var(_) => return None,
        };
        usize::try_from(n).ok()
    }

    pub(super) fn elem(&self, elem: &Elem) -> Option<ElemType> {
        match elem {
            Elem::Bool => Some(ElemType::Bool),
            Elem::Int(ty) => elem_of_int(*ty),
            Elem::Fx(bits) => self.extent(bits).filter(|bits| *bits <= MOST_BITS).map(|bits| ElemType::Fx(bits as u8)),
            Elem::Unknown | Elem::Literal(_) | Elem::Var(_) => None,
        }
    }

    pub(super) fn layout(&self, layout: &Layout) -> Option<LayoutType> {
        let Layout::Named(name, extents) = layout else { return None };
        let extents: Vec<usize> = extents.iter().map(|extent| self.extent(extent)).collect::<Option<_>>()?;
        let (kind, dims) = layout::named(name, &extents)?;
        Some(LayoutType { kind, dims })
    }

    /// Bytes of a tensor; none where they are more than memories have.
    pub(super) fn size_bytes(&self, layout: &LayoutType, elem: ElemType) -> Option<usize> {
        let mut product = 64usize;
        for extent in layout.dims {
            product = product.checked_mul(extent.checked_add(16)?)?;
        }
        Some(layout.size_bytes(elem))
    }

    // ---- generic arguments as they are written ----

    pub(super) fn extent_arg(&mut self, arg: &'a GenericArg) -> Evaluated<Option<usize>> {
        let call = self.here();
        let n = self.written_extent(arg)?;
        // What follows is about the call.
        self.return_to(call);
        Ok(n)
    }

    fn written_extent(&mut self, arg: &'a GenericArg) -> Evaluated<Option<usize>> {
        let value = match arg {
            GenericArg::Const(value) => Some(self.eval(value)?),
            GenericArg::Ty(Ty { kind: TyKind::Path(path), span }) => match path.as_name() {
                Some(name) => match self.named(&name.name) {
                    Some(v) => Some(Datum::Int(v, IntTy::Usize)),
                    None => self.external_constant(&[name.name.as_str()], *span)?,
                },
                None => None,
            },
            GenericArg::Ty(_) | GenericArg::Infer(_) => None,
        };
        match value {
            Some(Datum::Int(n, _)) => match usize::try_from(n) {
                Ok(n) => Ok(Some(n)),
                Err(_) => Err(self.stop(Cause::Overflow { text: n.to_string(), ty: "usize" })),
            },
            _ => Ok(None),
        }
    }

    /// Element type of a generic argument.
    pub(super) fn elem_arg(&mut self, arg: &'a GenericArg) -> Evaluated<Option<ElemType>> {
        let GenericArg::Ty(Ty { kind: TyKind::Path(path), .. }) = arg else { return Ok(None) };
        let last = path.last();
        Ok(match (last.name.name.as_str(), last.args.as_slice()) {
            ("bool", []) => Some(ElemType::Bool),
            ("Fx", [bits]) => {
                let bits = self.extent_arg(bits)?.filter(|bits| *bits <= MOST_BITS);
                bits.map(|bits| ElemType::Fx(bits as u8))
            }
            (name, []) => IntTy::parse(name).and_then(elem_of_int),
            _ => None,
        })
    }

    /// Layout of a generic argument.
    pub(super) fn layout_arg(&mut self, arg: &'a GenericArg) -> Evaluated<Option<LayoutType>> {
        let GenericArg::Ty(Ty { kind: TyKind::Path(path), .. }) = arg else { return Ok(None) };
        let mut extents = Vec::new();
        for arg in &path.last().args {
            extents.push(self.extent_arg(arg)?.unwrap_or(usize::MAX));
        }
        Ok(layout::named(&path.last().name.name, &extents).map(|(kind, dims)| LayoutType { kind, dims }))
    }

    /// `Lrm<T, N>` as a generic argument.
    pub(super) fn lrm_arg(&mut self, arg: &'a GenericArg) -> Evaluated<Option<(ElemType, usize)>> {
        let GenericArg::Ty(Ty { kind: TyKind::Path(path), .. }) = arg else { return Ok(None) };
        match path.last().args.as_slice() {
            [elem, n] => Ok(self.elem_arg(elem)?.zip(self.extent_arg(n)?)),
            _ => Ok(None),
        }
    }

    // ---- what a call's generic argument is, written or from its place ----

    #[cold]
    fn open<T>(&self, what: &str) -> Evaluated<T> {
        Err(self.stop(Cause::Open { what: what.to_owned() }))
    }

    /// The element type that a call gives: its only generic argument, or that of its result.
    pub(super) fn result_elem(&mut self, expr: &'a Expr, generics: &'a [GenericArg]) -> Evaluated<ElemType> {
        if let [arg, ..] = generics
            && let Some(elem) = self.elem_arg(arg)?
        {
            return Ok(elem);
        }
        let elem = match self.type_of(expr.id) {
            Some(Type::Pe(elem) | Type::Scalar(elem)) => self.elem(elem),
            _ => None,
        };
        elem.map_or_else(|| self.open("T"), Ok)
    }

    /// The fraction bits that a call gives.
    pub(super) fn result_bits(&mut self, expr: &'a Expr, generics: &'a [GenericArg]) -> Evaluated<usize> {
        let written = match generics {
            [arg, ..] => self.extent_arg(arg)?,
            [] => None,
        };
        let bits = match (written, self.type_of(expr.id)) {
            (Some(bits), _) => Some(bits),
            (None, Some(Type::Pe(Elem::Fx(bits)) | Type::Scalar(Elem::Fx(bits)))) => self.extent(bits),
            _ => None,
        };
        let Some(bits) = bits else { return self.open("F") };
        self.within("the number of fraction bits", bits as i128, 0, MOST_BITS as i128)?;
        Ok(bits)
    }

    /// The number that a call is given as a generic argument.
    pub(super) fn result_extent(&mut self, expr: &'a Expr, generics: &'a [GenericArg]) -> Evaluated<usize> {
        if let [arg, ..] = generics
            && let Some(n) = self.extent_arg(arg)?
        {
            return Ok(n);
        }
        let n = match self.type_of(expr.id).map(Type::behind_refs) {
            Some(Type::Lrm(_, n) | Type::Acc(n) | Type::Weights(n)) => self.extent(n),
            _ => None,
        };
        n.map_or_else(|| self.open("N"), Ok)
    }

    /// The buffer that a call gives, by itself or as a flow.
    pub(super) fn result_lrm(&mut self, expr: &'a Expr, generics: &'a [GenericArg]) -> Evaluated<(ElemType, usize)> {
        let written = match generics {
            [elem, n] => self.elem_arg(elem)?.zip(self.extent_arg(n)?),
            [arg] => self.lrm_arg(arg)?,
            _ => None,
        };
        let of = match (written, self.type_of(expr.id)) {
            (Some(of), _) => Some(of),
            (None, Some(Type::Lrm(elem, n))) => self.elem(elem).zip(self.extent(n)),
            (None, Some(Type::Flow(of))) => match &**of {
                Type::Lrm(elem, n) => self.elem(elem).zip(self.extent(n)),
                _ => None,
            },
            _ => None,
        };
        of.map_or_else(|| self.open("Lrm<T, N>"), Ok)
    }

    /// The tensor that `Ocm::new` gives.
    pub(super) fn result_tensor(
        &mut self,
        expr: &'a Expr,
        generics: &'a [GenericArg],
    ) -> Evaluated<(Memory, ElemType, LayoutType)> {
        if let [elem, layout] = generics
            && let Some((elem, layout)) = self.elem_arg(elem)?.zip(self.layout_arg(layout)?)
        {
            return Ok((Memory::Ocm, elem, layout));
        }
        let of = match self.type_of(expr.id) {
            Some(Type::Tensor(t)) => {
                self.elem(&t.elem).zip(self.layout(&t.layout)).map(|(e, l)| (memory(t.memory), e, l))
            }
            _ => None,
        };
        of.map_or_else(|| self.open("Ocm<T, L>"), Ok)
    }

    /// Checks a number that the native layer takes.
    pub(super) fn within(&self, what: &'static str, value: i128, least: i128, most: i128) -> Evaluated<()> {
        match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(self.stop(Cause::Range { what, value, least, most })),
        }
    }

    /// Integer type of a literal or cast, as far as the front end knows it.
    pub(super) fn int_type(&self, expr: &Expr) -> Option<IntTy> {
        match self.type_of(expr.id) {
            Some(Type::Scalar(Elem::Int(ty)) | Type::Pe(Elem::Int(ty)) | Type::Range(Elem::Int(ty))) => Some(*ty),
            _ => match &expr.kind {
                ExprKind::Cast { ty: Ty { kind: TyKind::Path(path), .. }, .. } => IntTy::parse(&path.text()),
                _ => None,
            },
        }
    }
}

pub(super) const fn memory(memory: CheckedMemory) -> Memory {
    match memory {
        CheckedMemory::Ocm => Memory::Ocm,
        CheckedMemory::Ext => Memory::Ext,
    }
}
