//! Types as they are written: from the tree to [`Type`].

use super::Checker;
use super::scheme::layout_name;
use super::ty::{Elem, Extent, Layout, Memory, Tensor, Type};
use crate::ast::*;
use crate::builtins::BuiltinKind;
use crate::check::names::Def;
use crate::code::Code;

/// Most fraction bits of `Fx`.
const MAX_FRACTION: i128 = 31;

impl<'a> Checker<'a, '_> {
    /// A written type. What names say about it has been reported.
    pub(super) fn ty(&mut self, ty: &'a Ty) -> Type {
        match &ty.kind {
            TyKind::Ref { mutable, target } => Type::Ref { mutable: *mutable, target: Box::new(self.ty(target)) },
            TyKind::Array { elem, len } => Type::Array(Box::new(self.ty(elem)), self.extent(len)),
            TyKind::Tuple(elems) => Type::Tuple(elems.iter().map(|elem| self.ty(elem)).collect()),
            TyKind::Path(path) => self.named_ty(path),
        }
    }

    fn named_ty(&mut self, path: &'a Path) -> Type {
        let Some(Def::Builtin(row)) = self.names.of(path) else { return Type::Unknown };
        let args = path.last().args.as_slice();
        match (row.name, args) {
            ("Q", [elem]) => Type::Pe(self.elem_arg(elem)),
            ("Lrm", [elem, n]) => Type::Lrm(self.elem_arg(elem), self.extent_arg(n)),
            ("Acc", [n]) => Type::Acc(self.extent_arg(n)),
            ("Weights", [n]) => Type::Weights(self.extent_arg(n)),
            ("Fx", [bits]) => Type::Scalar(Elem::Fx(self.fraction_arg(bits))),
            ("Ocm", [elem, layout]) => Type::Tensor(self.tensor(Memory::Ocm, elem, layout)),
            ("Ext", [elem, layout]) => Type::Tensor(self.tensor(Memory::Ext, elem, layout)),
            ("Flow", [GenericArg::Ty(of)]) => Type::Flow(Box::new(self.ty(of))),
            ("Walk", []) => Type::Walk(None),
            ("Tile", []) => Type::Tile(None),
            ("Token", []) => Type::Token,
            ("Broadcast", []) => Type::Broadcast(None),
            ("Scale", []) => Type::Scale,
            ("Kernel", []) => Type::Kernel,
            ("bool", []) => Type::BOOL,
            (name, []) if row.kind == BuiltinKind::Scalar => {
                IntTy::parse(name).map_or(Type::Unknown, |ty| Type::Scalar(Elem::Int(ty)))
            }
            _ => Type::Unknown,
        }
    }

    fn tensor(&mut self, memory: Memory, elem: &'a GenericArg, layout: &'a GenericArg) -> Tensor {
        Tensor { memory, elem: self.elem_arg(elem), layout: self.layout_arg(layout), is_shared: false }
    }

    pub(super) fn elem_arg(&mut self, arg: &'a GenericArg) -> Elem {
        match arg {
            GenericArg::Ty(ty) => match self.ty(ty) {
                Type::Scalar(Elem::Int(int @ (IntTy::Usize | IntTy::U64 | IntTy::U32))) => {
                    let message = format!("`{}` is no element: PEs hold no values of this type", int.word());
                    self.push(
                        Code::NoElement,
                        ty.span,
                        message,
                        "`i32` is the width of the ALU, `i64` a pair of words",
                    );
                    Elem::Unknown
                }
                Type::Scalar(elem) => elem,
                Type::Unknown => Elem::Unknown,
                other => {
                    self.diags.error(Code::WrongType, ty.span, format!("`{other}` is no type of an element"));
                    Elem::Unknown
                }
            },
            _ => Elem::Unknown,
        }
    }

    pub(super) fn layout_arg(&mut self, arg: &'a GenericArg) -> Layout {
        let GenericArg::Ty(Ty { kind: TyKind::Path(path), .. }) = arg else { return Layout::Unknown };
        match self.names.of(path) {
            Some(Def::Builtin(row)) if row.kind == BuiltinKind::Layout => {
                let name = layout_name(row.name).expect("its kind says so");
                Layout::Named(name, path.last().args.iter().map(|arg| self.extent_arg(arg)).collect())
            }
            _ => Layout::Unknown,
        }
    }

    pub(super) fn extent_arg(&mut self, arg: &'a GenericArg) -> Extent {
        match arg {
            GenericArg::Const(value) => self.extent(value),
            GenericArg::Ty(Ty { kind: TyKind::Path(path), .. }) => self.named_extent(path),
            _ => Extent::Unknown,
        }
    }

    /// The fraction bits of a format.
    pub(super) fn fraction_arg(&mut self, arg: &'a GenericArg) -> Extent {
        let bits = self.extent_arg(arg);
        if !matches!(bits, Extent::Known(bits) if bits > MAX_FRACTION) {
            return bits;
        }
        let span = match arg {
            GenericArg::Const(value) => value.span,
            GenericArg::Ty(ty) => ty.span,
            GenericArg::Infer(span) => *span,
        };
        let message = format!("{bits} fraction bits, and `Fx` has 32 bits with its sign");
        self.push(Code::FractionBits, span, message, format!("at most {MAX_FRACTION} are behind the point"));
        Extent::Unknown
    }

    /// An extent, which is a const parameter alone or a constant.
    pub(super) fn extent(&mut self, value: &'a Expr) -> Extent {
        match &value.kind {
            ExprKind::Path(path) => self.named_extent(path),
            _ => self.consts.eval(value).ok().and_then(|v| v.as_int()).map_or(Extent::Unknown, Extent::Known),
        }
    }

    fn named_extent(&mut self, path: &'a Path) -> Extent {
        let Some(name) = path.as_name() else { return Extent::Unknown };
        match self.names.of(path) {
            Some(Def::ConstParam(_) | Def::Builtin(_)) => Extent::Param(name.name.clone()),
            Some(Def::Const(_)) => {
                let value = self.consts.constant(&name.name).and_then(Result::ok).and_then(|v| v.as_int());
                value.map_or(Extent::Unknown, Extent::Known)
            }
            _ => Extent::Unknown,
        }
    }
}
