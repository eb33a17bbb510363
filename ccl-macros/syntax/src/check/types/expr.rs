//! Expressions without calls and operators.

use super::Checker;
use super::fit::{Bindings, Coerce};
use super::scheme::forms;
use super::ty::{Elem, Extent, Type};
use crate::ast::*;
use crate::builtins::BuiltinKind;
use crate::check::names::Def;
use crate::code::Code;

impl<'a> Checker<'a, '_> {
    /// The type of an expression; `expected` is what its place wants, for what cannot be told otherwise.
    pub(super) fn expr(&mut self, expr: &'a Expr, expected: Option<&Type>) -> Type {
        let ty = match &expr.kind {
            ExprKind::Lit(lit) => self.lit(lit),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Unary { op, arg } => self.unary_expr(*op, arg, expected),
            ExprKind::Binary { op, lhs, rhs } => self.binary_expr(*op, lhs, rhs, expr),
            ExprKind::Cast { value, ty } => self.cast(value, ty),
            ExprKind::Call { callee, args } => self.call(callee, args, expected),
            ExprKind::Method { recv, name, generics, args } => self.method(recv, name, generics, args, expected),
            ExprKind::Field { base, member } => self.field(base, member),
            ExprKind::Index { base, index } => self.index(base, index),
            ExprKind::Range { start, end, .. } => self.range(start.as_deref(), end.as_deref()),
            ExprKind::Tuple(elems) => self.tuple(elems, expected),
            ExprKind::Array(elems) => self.array(elems, expected),
            ExprKind::Repeat { value, len } => {
                let elem = self.expr(value, None);
                Type::Array(Box::new(elem), self.extent(len))
            }
            ExprKind::Ref { mutable, target } => {
                let wanted = match expected {
                    Some(Type::Ref { target, .. }) => Some(&**target),
                    Some(Type::Unknown) => expected,
                    _ => None,
                };
                match self.expr(target, wanted) {
                    Type::Unknown => Type::Unknown,
                    ty => Type::Ref { mutable: *mutable, target: Box::new(ty) },
                }
            }
            ExprKind::Block(block) => self.block(block, expected),
            ExprKind::If { cond, then, otherwise } => self.if_expr(cond, then, otherwise.as_deref(), expected),
        };
        self.types.insert(expr.id.0, ty.clone());
        ty
    }

    fn lit(&mut self, lit: &Lit) -> Type {
        match lit {
            Lit::Int { suffix: Some(ty), .. } => Type::Scalar(Elem::Int(*ty)),
            Lit::Int { suffix: None, .. } => Type::Scalar(self.literals.open()),
            Lit::Bool(_) => Type::BOOL,
            // Only `fx` takes it, which the parser has seen to.
            Lit::Float(_) => Type::Unknown,
        }
    }

    fn path(&mut self, path: &'a Path) -> Type {
        match self.names.of(path) {
            Some(Def::Local(id) | Def::Param(id)) => match self.locals.get_mut(&id.0) {
                Some(local) => {
                    local.is_used = true;
                    local.ty.clone()
                }
                None => Type::Unknown,
            },
            Some(Def::ConstParam(id) | Def::Const(id)) => self.constant(id),
            Some(Def::Builtin(row)) if row.kind == BuiltinKind::Constant => {
                forms(row).first().and_then(|form| form.ret.clone()).unwrap_or(Type::Unknown)
            }
            _ => Type::Unknown,
        }
    }

    fn constant(&mut self, id: NodeId) -> Type {
        let item = self.items.get(&id.0).copied();
        match item.map(|item| &item.kind) {
            Some(ItemKind::Const { ty, .. }) => self.ty(ty),
            // A const parameter: its type is found through the function that declares it.
            _ => {
                let param = self.fns.values().flat_map(|f| &f.generics).find(|param| param.name.id.0 == id.0);
                let ty = param.map(|param| &param.ty);
                ty.map_or(Type::Unknown, |ty| self.ty(ty))
            }
        }
    }

    fn cast(&mut self, value: &'a Expr, ty: &'a Ty) -> Type {
        let to = self.ty(ty);
        let found = self.expr(value, None);
        if self.in_flight(&found, value.span, "what is cast") {
            return to;
        }
        match (&found, &to) {
            (Type::Unknown, _) | (_, Type::Unknown) => to,
            (Type::Scalar(Elem::Int(_) | Elem::Literal(_) | Elem::Bool), Type::Scalar(Elem::Int(_))) => to,
            (Type::Pe(_), _) => {
                let message = format!("`as {to}` of `{}`: `as` is for scalars", self.literals.shown(&found));
                let help = "per-PE values change width by `.widen::<T>()` and `.narrow::<T>(Saturate)`";
                self.push(Code::UnnamedNarrowing, value.span, message, help)
            }
            (_, Type::Scalar(Elem::Int(_))) => {
                let message = format!("`{}` cannot be cast to `{to}`", self.literals.shown(&found));
                self.push(Code::WrongType, value.span, message, "`as` is between scalar integers")
            }
            _ => {
                let message = format!("`as {to}`: `as` is between scalar integers");
                self.push(
                    Code::WrongType,
                    ty.span,
                    message,
                    "per-PE values change width by `widen` and `narrow`, formats by `rescale`",
                )
            }
        }
    }

    fn field(&mut self, base: &'a Expr, member: &'a Ident) -> Type {
        let found = self.expr(base, None);
        if self.in_flight(&found, base.span, "this value") {
            return Type::Unknown;
        }
        let Ok(number) = member.name.parse::<usize>() else { return Type::Unknown };
        match found.behind_refs() {
            Type::Unknown => Type::Unknown,
            Type::Tuple(parts) if number < parts.len() => parts[number].clone(),
            other => {
                let message = format!("`{}` has no member `{number}`", self.literals.shown(other));
                self.push(Code::WrongType, member.span, message, "numbered members are those of tuples")
            }
        }
    }

    fn index(&mut self, base: &'a Expr, index: &'a Expr) -> Type {
        let found = self.expr(base, None);
        let at = self.expr(index, None);
        if self.in_flight(&found, base.span, &format!("`{}`", crate::print::print_expr(base))) {
            return Type::Unknown;
        }
        let (elem, slice) = match found.behind_refs() {
            Type::Lrm(elem, _) => (Type::Pe(elem.clone()), Type::Lrm(elem.clone(), Extent::Unknown)),
            Type::Array(elem, _) => (shared(&found, elem), Type::Array(elem.clone(), Extent::Unknown)),
            Type::Unknown => return Type::Unknown,
            other => {
                let help = match other {
                    Type::Acc(_) => "an accumulator as a value is `.get(n)`",
                    Type::Tensor(_) => {
                        "a tensor is reached by flows: walk its `.tiles()` and `.fetch` them, or `gather`"
                    }
                    Type::Tuple(_) => "members of tuples are `.0`, `.1`",
                    _ => "elements are those of `Lrm<T, N>` and of arrays",
                };
                let message = format!("`{}` cannot be indexed", self.literals.shown(other));
                return self.push(Code::WrongType, base.span, message, help);
            }
        };
        let at_elem = match &at {
            Type::Range(elem) | Type::Scalar(elem) => elem.clone(),
            Type::Unknown => Elem::Unknown,
            Type::Pe(_) => {
                let message = "this index differs from PE to PE";
                return self.push(
                    Code::ScalarPerPe,
                    index.span,
                    message,
                    "a table at an index of each PE's own is `lookup(table, index)`",
                );
            }
            other => {
                let other = self.literals.shown(other);
                self.diags.error(Code::WrongType, index.span, format!("an index is a scalar, not `{other}`"));
                return elem;
            }
        };
        self.want(&Type::USIZE, &Type::Scalar(at_elem), index.span, "the index");
        if matches!(at, Type::Range(_)) { slice } else { elem }
    }

    fn range(&mut self, start: Option<&'a Expr>, end: Option<&'a Expr>) -> Type {
        let mut elem = self.literals.open();
        for bound in start.into_iter().chain(end) {
            let found = self.expr(bound, None);
            match &found {
                Type::Pe(_) => {
                    let message = "this bound differs from PE to PE, and a loop has one trip count";
                    self.push(
                        Code::PerPeControl,
                        bound.span,
                        message,
                        "loop to a scalar bound, with an `if` inside for the PEs that go on",
                    );
                    elem = Elem::Unknown;
                }
                Type::Scalar(Elem::Fx(_) | Elem::Bool) => {
                    self.diags.error(
                        Code::WrongType,
                        bound.span,
                        format!("a range is between integers, not `{found}`"),
                    );
                    elem = Elem::Unknown;
                }
                _ if self.want(&Type::Scalar(elem.clone()), &found, bound.span, "a bound of the range") => {}
                _ => elem = Elem::Unknown,
            }
        }
        Type::Range(elem)
    }

    fn tuple(&mut self, elems: &'a [Expr], expected: Option<&Type>) -> Type {
        let wanted = match expected {
            Some(Type::Tuple(parts)) => parts.as_slice(),
            _ => &[],
        };
        Type::Tuple(
            elems
                .iter()
                .enumerate()
                .map(|(i, elem)| {
                    let unknown = expected.filter(|ty| **ty == Type::Unknown);
                    self.expr(elem, wanted.get(i).or(unknown))
                })
                .collect(),
        )
    }

    fn array(&mut self, elems: &'a [Expr], expected: Option<&Type>) -> Type {
        let wanted = match expected {
            Some(Type::Array(elem, _)) => Some(&**elem),
            _ => None,
        };
        let mut ty = Type::Unknown;
        for elem in elems {
            let found = self.expr(elem, wanted);
            if ty == Type::Unknown {
                ty = found;
            } else {
                self.want(&ty, &found, elem.span, "an element of the array");
            }
        }
        Type::Array(Box::new(ty), Extent::Known(elems.len() as i128))
    }

    fn if_expr(
        &mut self,
        cond: &'a Expr,
        then: &'a Block,
        otherwise: Option<&'a Expr>,
        expected: Option<&Type>,
    ) -> Type {
        let is_per_pe = self.condition(cond, "the condition of `if`");
        if is_per_pe {
            self.masks.push(cond.span);
        }
        let first = self.block(then, expected);
        let second = otherwise.map(|branch| self.expr(branch, expected));
        if is_per_pe {
            self.masks.pop();
        }
        let place = |block: &Block| block.tail.as_ref().map_or(block.span, |tail| tail.span);
        let Some(second) = second else {
            self.want(&Type::UNIT, &first, place(then), "an `if` without `else`");
            return Type::UNIT;
        };
        let second_place = match otherwise.map(|branch| &branch.kind) {
            Some(ExprKind::Block(block)) => place(block),
            _ => otherwise.map_or(then.span, |branch| branch.span),
        };
        if is_per_pe {
            // Both branches were computed, and each PE takes its own.
            let spread = |ty: &Type| match ty {
                Type::Scalar(elem) => Type::Pe(elem.clone()),
                ty => ty.clone(),
            };
            let (first, second) = (spread(&first), spread(&second));
            self.want(&first, &second, second_place, "the other branch");
            return if first == Type::Unknown { second } else { first };
        }
        let fits = self.literals.fits(&first, &second, &mut Bindings::default(), Coerce::Rust);
        if !fits {
            // The scalar of the two is the one to change.
            match (&first, &second) {
                (Type::Scalar(_), Type::Pe(_)) => self.mismatch(&second, &first, place(then), "the other branch"),
                _ => self.mismatch(&first, &second, second_place, "the other branch"),
            }
            return Type::Unknown;
        }
        if first == Type::Unknown { second } else { first }
    }
}

/// The type of an element of what `of` refers to.
fn shared(of: &Type, elem: &Type) -> Type {
    match elem {
        Type::Tensor(tensor) => {
            let is_shared = tensor.is_shared || of.is_shared();
            Type::Tensor(super::Tensor { is_shared, ..tensor.clone() })
        }
        elem => elem.clone(),
    }
}
