//! Calls of functions, which are expanded where they stand, and written types with concrete extents.

use ccl_syntax::ast::*;
use ccl_syntax::check::Def;

use super::cx::{Cx, Frame};
use super::error::R;
use super::value::{Acc, Scalar, ScalarTy, Val, View};
use crate::kernel::ElemType;
use crate::tensor::{Kind, Order};

impl<'p> Cx<'p> {
    pub(super) fn call(&mut self, expr: &'p Expr, callee: &'p Path, args: &'p [Expr]) -> R<Val> {
        match self.unit().names.of(callee) {
            Some(Def::Builtin(row)) => self.builtin(row, expr, callee, args),
            _ => self.own_call(expr, callee, args),
        }
    }

    fn own_call(&mut self, expr: &'p Expr, callee: &'p Path, args: &'p [Expr]) -> R<Val> {
        let (unit, function) = match self.program.callee(self.frame().unit, callee) {
            Ok(found) => found,
            Err(error) => {
                return Err(super::error::Stop::Error(Box::new(error.at(&self.unit().module.file, self.span))));
            }
        };
        if args.len() != function.params.len() {
            let (name, wanted) = (&function.name.name.name, function.params.len());
            return self.fail(format!("`{name}` takes {wanted} arguments, {} given", args.len()), "");
        }
        let lends = args.iter().any(|arg| matches!(arg.kind, ExprKind::Ref { mutable: true, .. }));
        let mut vals = Vec::new();
        for arg in args {
            let val = self.expr(arg)?;
            // What is lent may change while the function reads what it was given.
            vals.push(match self.read_unless_lent(&val)? {
                Val::Pe(pe) if lends => Val::Pe(self.pinned(pe)),
                val => val,
            });
        }
        let consts = self.generic_args(function, callee, &vals)?;
        self.enter(unit, function, consts, vals, expr)
    }

    fn read_unless_lent(&mut self, val: &Val) -> R<Val> {
        match val {
            Val::Ref(_) => Ok(val.clone()),
            val => self.read(val),
        }
    }

    /// Runs the body of a function in a frame of its own.
    pub(super) fn enter(
        &mut self,
        unit: usize,
        function: &'p Fn,
        consts: Vec<(String, Scalar)>,
        args: Vec<Val>,
        at: &Expr,
    ) -> R<Val> {
        self.count_call()?;
        let n = self.slots.len();
        let file = self.frames.last().map_or("", |f| &*self.program.units[f.unit].module.file);
        let (name, line) = (&function.name.name.name, at.span.start.line);
        let called = format!("in `{name}`, called at {file}:{line}");
        let frame = Frame { unit, locals: Default::default(), consts: consts.into_iter().collect(), called };
        let region = self.region_of(unit, function);
        if region.is_some() {
            self.land_named()?;
            for arg in &args {
                if let Val::Ref(place) = arg {
                    self.materialise_place(place)?;
                }
            }
            self.open();
        }
        self.frames.push(frame);
        let result = self.deeper(|cx| {
            for (param, val) in function.params.iter().zip(args) {
                let is_ref = matches!(param.ty.kind, TyKind::Ref { .. });
                let lent = matches!(&param.ty.kind, TyKind::Ref { mutable: true, .. });
                let val = if is_ref { val } else { cx.owned(val, param.mutable, &param.name.name.name)? };
                let slot = cx.declare(&param.name, val);
                cx.slots[slot].written = param.mutable || lent;
            }
            cx.body_of(function)
        });
        let val = result?;
        let val = match self.read(&val)? {
            // The function's own variables go; nobody else refers to their buffers.
            Val::Lrm(mut lrm) => {
                lrm.fresh |= self.is_own(&lrm, n);
                Val::Lrm(lrm)
            }
            Val::Acc(acc) => Val::Acc(match self.settled(acc)? {
                Acc::Group { id, n: k, .. } => {
                    let fresh = self.slots[n..]
                        .iter()
                        .any(|s| matches!(&s.val, Val::Acc(Acc::Group { id: i, .. }) if *i == id));
                    Acc::Group {
                        id,
                        n: k,
                        fresh: fresh
                            || !self.slots[..n]
                                .iter()
                                .any(|s| matches!(&s.val, Val::Acc(Acc::Group { id: i, .. }) if *i == id)),
                    }
                }
                acc => acc,
            }),
            val => val,
        };
        self.frames.pop();
        self.slots.truncate(n);
        if let Some(name) = region {
            let body = self.close()?;
            self.push(crate::ir::OpKind::Region { name, body });
        }
        Ok(val)
    }

    fn is_own(&self, lrm: &super::value::Lrm, n: usize) -> bool {
        let super::value::Place::Buffer { id, .. } = &lrm.place else { return true };
        let same = |slot: &super::cx::Slot| matches!(&slot.val, Val::Lrm(super::value::Lrm { place: super::value::Place::Buffer { id: i, .. }, .. }) if i == id);
        !self.slots[..n].iter().any(same)
    }

    fn region_of(&self, unit: usize, function: &Fn) -> Option<String> {
        let item = self.program.units[unit].module.items.iter().find(|item| match &item.kind {
            ItemKind::Fn(f) => std::ptr::eq(f, function),
            _ => false,
        })?;
        item.attrs.iter().find_map(|attr| match &attr.kind {
            AttrKind::Region(name) => Some(name.clone()),
            _ => None,
        })
    }

    // ---- generic arguments ----

    /// Const arguments: as they are written, else as the types of the arguments tell them.
    fn generic_args(&mut self, function: &'p Fn, callee: &'p Path, args: &[Val]) -> R<Vec<(String, Scalar)>> {
        let mut known: Vec<(String, Scalar)> = Vec::new();
        let written = &callee.last().args;
        for (param, arg) in function.generics.iter().zip(written) {
            if !matches!(arg, GenericArg::Infer(_)) {
                let value = self.const_arg(arg)?;
                known.push((param.name.name.name.clone(), typed(&param.ty, value)));
            }
        }
        let names: Vec<&str> = function.generics.iter().map(|p| p.name.name.name.as_str()).collect();
        for (param, val) in function.params.iter().zip(args) {
            let mut found = Vec::new();
            self.infer(&param.ty, val, &names, &mut found);
            for (name, value) in found {
                if !known.iter().any(|(n, _)| *n == name) {
                    known.push((name, Scalar::usize(value)));
                }
            }
        }
        // What the checks have found out from the place of the call.
        let told = self.unit().types.generics_of(callee.id).map(<[_]>::to_vec).unwrap_or_default();
        for (name, extent) in names.iter().zip(told) {
            if !known.iter().any(|(n, _)| n == name)
                && let Some(value) = self.extent_value(&extent)
            {
                known.push(((*name).to_owned(), Scalar::usize(value)));
            }
        }
        for name in names {
            if !known.iter().any(|(n, _)| n == name) {
                let message = format!("`{name}` of `{}` follows from no argument", function.name.name.name);
                return self.fail(message, &format!("name it: `{}::<..>(..)`", function.name.name.name));
            }
        }
        Ok(known)
    }

    pub(super) fn extent_value(&self, extent: &ccl_syntax::check::types::Extent) -> Option<usize> {
        use ccl_syntax::check::types::Extent;
        match extent {
            Extent::Known(n) => usize::try_from(*n).ok(),
            Extent::Param(name) => {
                let value = self.frame().consts.get(name)?.as_known()?;
                usize::try_from(value).ok()
            }
            Extent::Unknown | Extent::Var(_) => None,
        }
    }

    /// Names of extents in a written type, from a value of the type.
    fn infer(&self, ty: &Ty, val: &Val, names: &[&str], found: &mut Vec<(String, usize)>) {
        let mut is = |arg: Option<&GenericArg>, value: usize| {
            if let Some(GenericArg::Ty(Ty { kind: TyKind::Path(path), .. })) = arg
                && let Some(name) = path.as_name()
                && names.contains(&name.name.as_str())
            {
                found.push((name.name.clone(), value));
            }
        };
        let val = match val {
            Val::Ref(place) => match self.place_val(place) {
                Ok(val) => val,
                Err(_) => return,
            },
            val => val.clone(),
        };
        match (&ty.kind, &val) {
            (TyKind::Ref { target, .. }, val) => self.infer(target, val, names, found),
            (TyKind::Path(path), val) => {
                let args = &path.last().args;
                match (path.last().name.name.as_str(), val) {
                    ("Lrm", Val::Lrm(lrm)) => {
                        is(args.get(1), lrm.n);
                        infer_fx(args.first(), lrm.elem, &mut is);
                    }
                    ("Acc", Val::Acc(acc)) => is(args.first(), Self::acc_n(acc)),
                    ("Q", Val::Pe(pe)) => infer_fx(args.first(), pe.elem, &mut is),
                    ("Q", Val::PeVar(elem, ..)) => infer_fx(args.first(), *elem, &mut is),
                    ("Fx", Val::Scalar(Scalar { ty: ScalarTy::Fx(f), .. })) => is(args.first(), *f as usize),
                    ("Weights", Val::Weights { n, .. }) => is(args.first(), *n),
                    ("Ocm" | "Ext", Val::Tensor(view)) => {
                        infer_fx(args.first(), view.elem, &mut is);
                        if let Some(GenericArg::Ty(Ty { kind: TyKind::Path(layout), .. })) = args.get(1) {
                            let dims = host_dims(view);
                            for (arg, dim) in layout.last().args.iter().zip(dims) {
                                is(Some(arg), dim);
                            }
                        }
                    }
                    _ => {}
                }
            }
            (TyKind::Array { elem, len }, Val::Array(parts)) => {
                if let ExprKind::Path(path) = &len.kind
                    && let Some(name) = path.as_name()
                    && names.contains(&name.name.as_str())
                {
                    found.push((name.name.clone(), parts.len()));
                }
                if let Some(part) = parts.first() {
                    self.infer(elem, part, names, found);
                }
            }
            (TyKind::Tuple(types), Val::Tuple(parts)) => {
                types.iter().zip(parts).for_each(|(ty, part)| self.infer(ty, part, names, found));
            }
            _ => {}
        }
    }

    /// A const argument as it is written.
    pub(super) fn const_arg(&mut self, arg: &'p GenericArg) -> R<Scalar> {
        match arg {
            GenericArg::Const(expr) => self.scalar(expr),
            GenericArg::Ty(Ty { kind: TyKind::Path(path), .. }) => self.named_const(path),
            _ => self.fail("a constant is wanted here", ""),
        }
    }
    pub(super) fn named_const(&mut self, path: &Path) -> R<Scalar> {
        let Some(name) = path.as_name() else { return self.fail(format!("`{}` is no constant", path.text()), "") };
        if let Some(value) = self.frame().consts.get(&name.name) {
            return Ok(value.clone());
        }
        match self.unit().consts.get(&name.name).and_then(super::expr::scalar_of) {
            Some(value) => Ok(value),
            None if name.name == "ROWS" => Ok(Scalar::usize(self.rows())),
            None if name.name == "COLS" => Ok(Scalar::usize(self.cols())),
            None => self.fail(format!("`{}` is no constant that is known here", name.name), ""),
        }
    }
    pub(super) fn extent_arg(&mut self, arg: &'p GenericArg) -> R<usize> {
        let value = self.const_arg(arg)?;
        self.known_usize(&value)
    }

    // ---- written types ----

    /// An element type.
    pub(super) fn elem_ty(&mut self, arg: &'p GenericArg) -> R<ElemType> {
        let GenericArg::Ty(ty) = arg else { return self.fail("an element type is wanted here", "") };
        let TyKind::Path(path) = &ty.kind else { return self.fail("an element type is wanted here", "") };
        let last = path.last();
        Ok(match last.name.name.as_str() {
            "bool" => ElemType::Bool,
            "i8" => ElemType::I8,
            "i16" => ElemType::I16,
            "i32" => ElemType::I32,
            "i64" => ElemType::I64,
            "u8" => ElemType::U8,
            "u16" => ElemType::U16,
            "Fx" => match last.args.first() {
                Some(bits) => {
                    let bits = self.extent_arg(bits)?;
                    if bits > 31 {
                        return self.fail(format!("{bits} fraction bits of 32"), "`Fx` has at most 31");
                    }
                    ElemType::Fx(bits as u8)
                }
                None => return self.fail("`Fx` without its fraction bits", "write `Fx<16>`"),
            },
            other => {
                return self
                    .fail(format!("PEs hold no `{other}`"), "elements are i8, i16, i32, i64, u8, u16, bool and Fx");
            }
        })
    }

    /// Element type and extent of `Lrm<T, N>`.
    pub(super) fn lrm_ty(&mut self, arg: &'p GenericArg) -> R<(ElemType, usize)> {
        if let GenericArg::Ty(Ty { kind: TyKind::Path(path), .. }) = arg
            && path.last().name.name == "Lrm"
            && let [elem, n] = path.last().args.as_slice()
        {
            return Ok((self.elem_ty(elem)?, self.extent_arg(n)?));
        }
        self.fail("a local buffer is wanted here", "write `Lrm<i8, 4>`")
    }

    /// Kind and extents of a layout.
    pub(super) fn layout_ty(&mut self, arg: &'p GenericArg) -> R<(Kind, [usize; 3])> {
        let GenericArg::Ty(Ty { kind: TyKind::Path(path), .. }) = arg else {
            return self.fail("a layout is wanted here", "");
        };
        let last = path.last();
        let mut n = Vec::new();
        for arg in &last.args {
            n.push(self.extent_arg(arg)?);
        }
        Ok(match (last.name.name.as_str(), n.as_slice()) {
            ("Planar", &[c, h, w]) => (Kind::Planar, [c, h, w]),
            ("Packed", &[c, h, w]) => (Kind::Packed, [c, h, w]),
            ("Tokens", &[n, d]) => (Kind::Tokens, [d, 1, n]),
            ("Vector", &[n]) => (Kind::Vector, [1, 1, n]),
            ("Stream", &[co, k]) => (Kind::Stream(Order::Mat4), [co, 1, k]),
            ("StreamDot", &[co, k]) => (Kind::Stream(Order::Dot), [co, 1, k]),
            ("StreamOuter", &[co, k]) => (Kind::Stream(Order::Outer), [co, 1, k]),
            (name, _) => return self.fail(format!("`{name}` is no layout"), ""),
        })
    }
}

/// A const argument as one of its parameter's type.
pub(super) fn typed(ty: &Ty, value: Scalar) -> Scalar {
    let int = match &ty.kind {
        TyKind::Path(path) => path.as_name().and_then(|name| IntTy::parse(&name.name)),
        _ => None,
    };
    match int {
        Some(int) => Scalar { ty: ScalarTy::Int(int), ..value },
        None => value,
    }
}

fn infer_fx(arg: Option<&GenericArg>, elem: ElemType, is: &mut dyn FnMut(Option<&GenericArg>, usize)) {
    if let (Some(GenericArg::Ty(Ty { kind: TyKind::Path(path), .. })), ElemType::Fx(bits)) = (arg, elem)
        && path.last().name.name == "Fx"
    {
        is(path.last().args.first(), bits as usize);
    }
}

/// Extents in the order in which a layout is written.
fn host_dims(view: &View) -> Vec<usize> {
    let [c, h, w] = view.dims;
    match view.kind {
        Kind::Planar | Kind::Packed => vec![c, h, w],
        Kind::Tokens => vec![w, c],
        Kind::Vector => vec![w],
        Kind::Stream(_) => vec![c, w],
    }
}
