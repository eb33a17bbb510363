//! Calls: the forms of the table, the functions of the block, and what may not be called where.

use std::collections::{HashMap, HashSet};

use super::Checker;
use super::fit::{Bindings, Coerce, Unbound};
use super::scheme::{Form, Pattern, forms};
use super::ty::{Elem, Extent, Layout, Parts, Tensor, Type};
use crate::ast::*;
use crate::builtins::{BUILTINS, Builtin, BuiltinKind};
use crate::check::names::{Def, Names};
use crate::code::Code;
use crate::diag::Diag;
use crate::source::Span;

/// Names that move data between PEs or start an engine for the whole array. Random access is not among them: it skips the
/// PEs that are disabled.
const TALKS: &[&str] = &["fetch", "store", "broadcast", "fill", "shift", "reduce", "prefetch", "write_back", "drain"];

/// A method of scalars and constants.
const SCALAR_METHODS: &[&str] =
    &["min", "max", "abs", "clamp", "div_ceil", "next_multiple_of", "ilog2", "pow", "is_power_of_two"];

impl<'a> Checker<'a, '_> {
    pub(super) fn call(&mut self, callee: &'a Path, args: &'a [Expr], expected: Option<&Type>) -> Type {
        let def = self.names.of(callee);
        match def {
            Some(Def::Builtin(row)) if matches!(row.kind, BuiltinKind::Function | BuiltinKind::Associated) => {
                let is_associated = row.kind == BuiltinKind::Associated;
                let generics = if is_associated { &callee.segments[0].args } else { &callee.last().args };
                let site = Site { name: &callee.last().name, span: callee.span, generics, args };
                self.builtin(row, &site, expected)
            }
            Some(Def::Fn(id)) => self.own(id, callee, args),
            _ => {
                for arg in args {
                    self.expr(arg, Some(&Type::Unknown));
                }
                Type::Unknown
            }
        }
    }

    /// A function of the language.
    fn builtin(&mut self, row: &'static Builtin, site: &Site<'a>, expected: Option<&Type>) -> Type {
        self.may_talk(row.name, site.span, TALKS.contains(&row.name));
        let forms = forms(row);
        // The first argument tells the forms apart.
        let first = match (forms.len(), site.args.first()) {
            (2.., Some(arg)) => Some(self.expr(arg, None)),
            _ => None,
        };
        let fits = |this: &mut Self, form: &&Form| match (&first, form.params.first()) {
            (Some(found), Some((_, Some(wanted)))) => {
                this.literals.fits(wanted, found, &mut Bindings::default(), Coerce::Language)
            }
            _ => true,
        };
        let form = forms.iter().find(|form| fits(self, form)).unwrap_or(&forms[0]);
        match self.apply(form, row.name, site, expected, &mut Bindings::default(), first) {
            // A broadcast knows its tensor.
            Type::Broadcast(_) => {
                match site.args.first().and_then(|arg| self.types.get(&arg.id.0)).map(Type::behind_refs) {
                    Some(Type::Tensor(tensor)) => Type::Broadcast(Some(tensor.clone())),
                    _ => Type::Broadcast(None),
                }
            }
            ty => ty,
        }
    }

    /// The result of a form with its arguments; the names of its receiver are bound already.
    fn apply(
        &mut self,
        form: &'static Form,
        name: &str,
        site: &Site<'a>,
        expected: Option<&Type>,
        names: &mut Bindings,
        first: Option<Type>,
    ) -> Type {
        self.generics(form, site.generics, names);
        if name == "fx" {
            self.fits_format(site);
        }
        let mut is_fine = true;
        // An error elsewhere may be why a generic argument is not known.
        let mut is_told = expected != Some(&Type::Unknown);
        let mut first = first;
        for (i, arg) in site.args.iter().enumerate() {
            let wanted = form.params.get(i).and_then(|(_, ty)| ty.as_ref());
            let shown = wanted.map(|ty| ty.map(names).map(&Unbound));
            let found = match first.take() {
                Some(found) => found,
                None => self.expr(arg, shown.as_ref()),
            };
            is_told &= found != Type::Unknown;
            let Some(wanted) = wanted.filter(|_| site.args.len() == form.params.len()) else { continue };
            let before = wanted.map(names);
            if !self.literals.fits(wanted, &found, names, Coerce::Language) {
                let what = format!("`{}` of `{name}`", form.params[i].0);
                self.mismatch(&before, &found, arg.span, &what);
                is_fine = false;
            }
        }
        // `splat` and `filled` spread a scalar.
        let wants_scalar = !matches!(form.ret, Some(Type::Var(_)));
        if wants_scalar && names.is_per_pe {
            let message = format!("`{name}` takes a scalar, and this is a value of every PE already");
            let span = site.args.first().map_or(site.span, |arg| arg.span);
            return self.push(Code::ScalarPerPe, span, message, "use the value as it is");
        }
        let elem = names.elems.get("T").map(|elem| self.literals.find(elem));
        if let (true, Some(Elem::Int(ty @ (IntTy::Usize | IntTy::U64 | IntTy::U32)))) = (wants_scalar, &elem) {
            let message = format!("`{name}` of `{}`: PEs hold no values of this type", ty.word());
            return self.push(Code::NoElement, site.span, message, "cast the scalar first: `.. as i32`");
        }
        if let Some(elem) = elem.filter(|_| is_fine)
            && !self.takes(name, &elem, site.span)
        {
            return Type::Unknown;
        }
        let Some(ret) = &form.ret else { return Type::Unknown };
        if let Some(expected) = expected
            && is_fine
        {
            // Generic arguments that were left out may follow from the place.
            self.infer(form, ret, expected, names);
        }
        if is_fine
            && is_told
            && site.generics.is_empty()
            && site.args.len() == form.params.len()
            && !self.all_known(form, name, site.span, names)
        {
            return Type::Unknown;
        }
        ret.map(names).map(&Unbound)
    }

    /// Whether a name takes values of an element type, beyond what its signature says.
    fn takes(&mut self, name: &str, elem: &Elem, span: Span) -> bool {
        let is_wide = *elem == Elem::Int(IntTy::I64);
        let (holds, help) = match (name, elem) {
            ("min" | "max" | "clamp" | "abs", Elem::Bool) => (false, "conditions are combined by `&&` and `||`"),
            ("shr_round", Elem::Fx(_)) => (false, "`rescale` and `round` say how they round; `raw` gives the bits"),
            ("shr_round" | "narrow" | "dequantize", Elem::Bool) => {
                (false, "a number of a condition is `.widen::<i32>()`")
            }
            ("dequantize", Elem::Fx(_)) => (false, "a format changes by `rescale`"),
            ("dequantize", _) if is_wide => (false, "narrow the sum first: `.narrow::<i32>(Saturate)`"),
            _ => (true, ""),
        };
        if !holds {
            self.push(Code::WrongOperand, span, format!("`{name}` does not take values of `{elem}`"), help);
        }
        holds
    }

    /// Generic arguments may be left out where the arguments or the place tell them.
    fn all_known(&mut self, form: &Form, name: &str, span: Span, names: &Bindings) -> bool {
        let open: Vec<&str> = form.generics.iter().filter_map(|pattern| is_open(pattern, names)).collect();
        if open.is_empty() {
            return true;
        }
        let message =
            format!("`{}` of `{name}` follows neither from its arguments nor from its place", open.join("`, `"));
        let help = match name {
            "new" | "zero" | "filled" => "name it before the function: `Lrm::<i8, 4>::new()`".to_owned(),
            _ => format!("name it: `{name}::<..>(..)`"),
        };
        self.push(Code::OpenGeneric, span, message, help);
        false
    }

    /// Binds generic arguments that were left out from the type that the place wants.
    fn infer(&mut self, form: &Form, ret: &Type, expected: &Type, names: &mut Bindings) {
        let is_open = form.generics.iter().any(|pattern| is_open(pattern, names).is_some());
        if is_open {
            self.literals.fits(ret, expected, names, Coerce::Rust);
        }
    }

    fn generics(&mut self, form: &Form, args: &'a [GenericArg], names: &mut Bindings) {
        for (pattern, arg) in form.generics.iter().zip(args) {
            match pattern {
                Pattern::Elem(name) => {
                    let elem = self.elem_arg(arg);
                    names.elems.insert(name, elem);
                }
                Pattern::Layout(name) => {
                    let layout = self.layout_arg(arg);
                    names.layouts.insert(name, layout);
                }
                Pattern::Extent(name) => {
                    // The names of the table: `F` counts fraction bits.
                    let extent = if *name == "F" { self.fraction_arg(arg) } else { self.extent_arg(arg) };
                    names.extents.insert((*name).to_owned(), extent);
                }
                Pattern::Type(wanted) => {
                    let GenericArg::Ty(ty) = arg else { continue };
                    let found = self.ty(ty);
                    if !self.literals.fits(wanted, &found, names, Coerce::Rust) {
                        self.mismatch(wanted, &found, ty.span, "the generic argument");
                    }
                }
            }
        }
    }

    /// A function of the block.
    fn own(&mut self, id: NodeId, callee: &'a Path, args: &'a [Expr]) -> Type {
        let function = self.fns[&id.0];
        self.may_talk(&function.name.name.name, callee.span, self.talking.contains(&id.0));
        let mut names = Bindings::default();
        for (param, arg) in function.generics.iter().zip(&callee.last().args) {
            let extent = self.extent_arg(arg);
            names.extents.insert(param.name.name.name.clone(), extent);
        }
        let params: HashSet<&str> = function.generics.iter().map(|p| p.name.name.name.as_str()).collect();
        for (i, arg) in args.iter().enumerate() {
            // A wrong number of arguments has been reported, and which of them is missing is not known.
            let Some(param) = function.params.get(i).filter(|_| args.len() == function.params.len()) else {
                self.expr(arg, None);
                continue;
            };
            let wanted = self.ty(&param.ty).map(&Generic(&params));
            let shown = wanted.map(&names).map(&Unbound);
            let found = self.expr(arg, Some(&shown));
            let before = wanted.map(&names);
            if !self.literals.fits(&wanted, &found, &mut names, Coerce::Rust) {
                let what = format!("`{}` of `{}`", param.name.name.name, function.name.name.name);
                self.mismatch(&before, &found, arg.span, &what);
            }
        }
        let given = function.generics.iter().map(|param| {
            let given = names.extents.get(&param.name.name.name);
            given.cloned().unwrap_or(Extent::Unknown)
        });
        self.generics.insert(callee.id.0, given.collect());
        match &function.ret {
            Some(ret) => self.ty(ret).map(&Generic(&params)).map(&names).map(&Unbound),
            None => Type::UNIT,
        }
    }

    pub(super) fn method(
        &mut self,
        on: &'a Expr,
        name: &'a Ident,
        generics: &'a [GenericArg],
        args: &'a [Expr],
        expected: Option<&Type>,
    ) -> Type {
        let of = self.expr(on, None);
        let site = Site { name, span: name.span, generics, args };
        let found = match self.literals.shown(of.behind_refs()) {
            Type::Unknown => None,
            ty => Some(ty),
        };
        let rows: Vec<&'static Builtin> =
            BUILTINS.iter().filter(|row| row.kind == BuiltinKind::Method && row.name == name.name).collect();
        let Some(found) = found else {
            self.may_talk(&name.name, name.span, TALKS.contains(&name.name.as_str()));
            for arg in args {
                self.expr(arg, Some(&Type::Unknown));
            }
            return Type::Unknown;
        };
        if let (Type::Scalar(elem), true) = (&found, SCALAR_METHODS.contains(&name.name.as_str())) {
            return self.scalar_method(elem, name, args);
        }
        for row in &rows {
            let form = &forms(row)[0];
            for owner in &form.owners {
                let mut names = Bindings::default();
                if !self.literals.fits(owner, &found, &mut names, Coerce::Rust) {
                    continue;
                }
                self.may_talk(row.name, name.span, TALKS.contains(&row.name));
                // A generic argument hides the receiver's name.
                for pattern in &form.generics {
                    match pattern {
                        Pattern::Extent(name) => _ = names.extents.remove(*name),
                        Pattern::Layout(name) => _ = names.layouts.remove(name),
                        Pattern::Elem(_) | Pattern::Type(_) => {}
                    }
                }
                let recv = match found {
                    Type::Tensor(tensor) => {
                        Type::Tensor(Tensor { is_shared: tensor.is_shared || of.is_shared(), ..tensor })
                    }
                    found => found,
                };
                let ty = self.applied_method(form, (on, &recv), &site, expected, names);
                if row.name == "store" {
                    self.whole_chunk(on, &recv, &site);
                }
                return ty;
            }
        }
        for arg in args {
            self.expr(arg, None);
        }
        self.wrong_receiver(&rows, &found, on, name)
    }

    fn applied_method(
        &mut self,
        form: &'static Form,
        (on, recv): (&'a Expr, &Type),
        site: &Site<'a>,
        expected: Option<&Type>,
        mut names: Bindings,
    ) -> Type {
        let tensor = match recv {
            Type::Tensor(t) | Type::Walk(Some(t)) | Type::Tile(Some(t)) | Type::Broadcast(Some(t)) => Some(t.clone()),
            _ => None,
        };
        let what = site.name.name.as_str();
        let ty = self.apply(form, what, site, expected, &mut names, None);
        match (what, &tensor) {
            ("fetch", Some(tensor)) => self.fetched(tensor, &ty, site),
            ("store", _) => self.stored(tensor.as_ref(), on, site),
            ("stride" | "pipelined", _) => self.at_least_one(what, site),
            ("take", Some(tensor)) => self.taken(tensor, &ty, site),
            ("widen" | "narrow", _) => self.changed_width(what, recv, &ty, site.span),
            _ => {}
        }
        match (ty, form.ret.as_ref()) {
            (_, None) => recv.clone(),
            (Type::Walk(_), _) => Type::Walk(tensor),
            (Type::Tile(_), _) => Type::Tile(tensor),
            // A view of a tensor is as shared as the tensor.
            (Type::Tensor(view), _) => Type::Tensor(Tensor { is_shared: tensor.is_some_and(|t| t.is_shared), ..view }),
            (Type::Range(_), _) => recv.clone(),
            (Type::Unknown, _) if matches!(recv, Type::Token) => Type::UNIT,
            (ty, _) => ty,
        }
    }

    /// Methods of scalars: the standard library's.
    fn scalar_method(&mut self, elem: &Elem, name: &'a Ident, args: &'a [Expr]) -> Type {
        let own = Type::Scalar(elem.clone());
        for arg in args {
            let wanted = if name.name == "pow" { Type::Scalar(Elem::Int(IntTy::U32)) } else { own.clone() };
            let found = self.expr(arg, Some(&wanted));
            self.want(&wanted, &found, arg.span, &format!("the argument of `{}`", name.name));
        }
        match name.name.as_str() {
            "is_power_of_two" => Type::BOOL,
            "ilog2" => Type::Scalar(Elem::Int(IntTy::U32)),
            _ => own,
        }
    }

    fn wrong_receiver(&mut self, rows: &[&'static Builtin], found: &Type, recv: &Expr, name: &Ident) -> Type {
        let text = crate::print::print_expr(recv);
        if let Type::Flow(_) = found {
            self.in_flight(found, recv.span, &format!("`{text}`"));
            return Type::Unknown;
        }
        // That nothing has such a method has been reported.
        if rows.is_empty() && !SCALAR_METHODS.contains(&name.name.as_str()) {
            return Type::Unknown;
        }
        let found = self.literals.shown(found);
        let owners: Vec<&str> = rows.iter().map(|row| row.owner).collect();
        let message = match owners.as_slice() {
            [] => format!("`{}` is a method of scalars, and `{text}` is `{found}`", name.name),
            owners => format!("`{}` is a method of `{}`, and `{text}` is `{found}`", name.name, owners.join("`, `")),
        };
        let help = match (&found, name.name.as_str()) {
            (Type::Pe(_) | Type::Scalar(_), "min" | "max" | "abs" | "clamp") => {
                Some(format!("there is the function `{}(..)`", name.name))
            }
            (Type::Scalar(_), "widen" | "narrow") => Some("scalars are cast: `.. as T`".into()),
            (Type::Tensor(t), _) if t.memory == super::Memory::Ext => {
                Some("only DMA reaches external memory: `prefetch` it into an `Ocm` first".into())
            }
            (Type::Tensor(_), "fetch" | "store") => Some("walk its tiles: `for t in x.tiles()`, or `x.at(t)`".into()),
            (Type::Lrm(..), _) => Some("single values are its elements: `[index]`".into()),
            (Type::Acc(_), _) => Some("`requant` brings accumulators to int8; one as a value is `.get(n)`".into()),
            _ => None,
        };
        let diag = Diag::new(Code::WrongReceiver, name.span, message);
        self.diags.push(match help {
            Some(help) => diag.help(help),
            None => diag,
        });
        Type::Unknown
    }

    fn fetched(&mut self, tensor: &Tensor, flow: &Type, site: &Site<'a>) {
        let Type::Flow(of) = flow else { return };
        let Type::Lrm(elem, n) = &**of else { return };
        let span = site.generics.first().map_or(site.span, |arg| match arg {
            GenericArg::Ty(ty) => ty.span,
            _ => site.span,
        });
        if !self.literals.elem(&tensor.elem, elem) {
            let message = format!("a flow of `{}` elements cannot land in `{of}`", tensor.elem);
            let help = format!("fetch `Lrm<{}, {n}>` and convert it in the PEs", tensor.elem);
            self.push(Code::FlowShape, span, message, help);
        }
    }

    fn stored(&mut self, tensor: Option<&Tensor>, on: &'a Expr, site: &Site<'a>) {
        let Some(arg) = site.args.first() else { return };
        let Some(value) = self.types.get(&arg.id.0).cloned() else { return };
        if self.in_flight(&value, arg.span, "the value") {
            return;
        }
        let elem = match value.behind_refs() {
            Type::Unknown => return,
            Type::Pe(elem) | Type::Lrm(elem, _) => elem.clone(),
            other => {
                let wanted = tensor.map_or(Elem::Unknown, |tensor| tensor.elem.clone());
                self.mismatch(&Type::Pe(wanted), &other.clone(), arg.span, "what is stored");
                return;
            }
        };
        let Some(tensor) = tensor else { return };
        if tensor.is_shared {
            let message = "a tensor that is lent by `&` is only read";
            self.push(Code::Immutable, site.span, message, format!("declare the tensor as `&mut {tensor}`"));
            return;
        }
        if !self.literals.elem(&tensor.elem, &elem) {
            let elem = self.literals.find(&elem);
            let message = format!("`{}` cannot leave into a tensor of `{}`", self.literals.shown(&value), tensor.elem);
            let narrows = matches!((elem.bits(), tensor.elem.bits()), (Some((a, _)), Some((b, _))) if a > b);
            let help = match narrows {
                true => format!("narrow it first and name the overflow: `.narrow::<{}>(Saturate)`", tensor.elem),
                false => format!("store a value of `{}`, or change the tensor's type", tensor.elem),
            };
            self.push(Code::FlowShape, arg.span, message, help);
            return;
        }
        if let (Type::Lrm(_, Extent::Known(n)), Some(Extent::Known(c))) = (value.behind_refs(), tensor.channels())
            && let Some((by, bx)) = self.patch(on)
            && *n > c.saturating_mul(by).saturating_mul(bx)
        {
            let message = match (by, bx) {
                (1, 1) => format!("{n} channels cannot leave into a tensor of {c}"),
                _ => format!("{n} elements cannot leave into a tensor of {c} channels by patches of {by} x {bx}"),
            };
            self.push(Code::FlowShape, arg.span, message, "store as many channels as there are, or `slice` them");
        }
    }

    /// A step or a number of instances.
    fn at_least_one(&mut self, what: &str, site: &Site<'a>) {
        if let Some(arg) = site.args.first()
            && self.extent(arg) == Extent::Known(0)
        {
            let help = "`1` is neighbouring elements, one instance";
            self.push(Code::WrongOperand, arg.span, format!("`{what}` of 0"), help);
        }
    }

    /// The number of an `fx::<F>(..)` has to be one of the format's.
    fn fits_format(&mut self, site: &Site<'a>) {
        let (Some(arg), Some(bits)) = (site.args.first(), site.generics.first()) else { return };
        let (Some(number), Extent::Known(bits)) = (literal(arg), self.extent_arg(bits)) else { return };
        if !(0..=31).contains(&bits) {
            return;
        }
        let scaled = (number * f64::from(1u32 << bits)).round_ties_even();
        if !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&scaled) {
            let message = format!("`{}` is no `Fx<{bits}>`", crate::print::print_expr(arg));
            let most = 2f64.powi(31 - bits as i32);
            self.push(Code::FractionBits, arg.span, message, format!("its numbers are from -{most} to below {most}"));
        }
    }

    /// Rows and columns that each PE has of a channel at a place, if all that makes the place can be seen.
    fn patch(&mut self, place: &'a Expr) -> Option<(i128, i128)> {
        match &place.kind {
            ExprKind::Method { name, generics, .. } if name.name == "block" => match generics.as_slice() {
                [by, bx] => match (self.extent_arg(by), self.extent_arg(bx)) {
                    (Extent::Known(by), Extent::Known(bx)) => Some((by, bx)),
                    _ => None,
                },
                _ => None,
            },
            ExprKind::Method { name, args, .. } if name.name == "at" => self.patch(args.first()?),
            ExprKind::Method { recv, .. } => self.patch(recv),
            ExprKind::Path(path) => {
                let Some(Def::Local(id)) = self.names.of(path) else { return None };
                self.loops.iter().find(|l| l.tile == Some(id.0)).and_then(|l| (!l.is_block).then_some((1, 1)))
            }
            _ => None,
        }
    }

    fn taken(&mut self, tensor: &Tensor, weights: &Type, site: &Site<'a>) {
        let (Type::Weights(Extent::Known(n)), Layout::Named(layout, _)) = (weights, &tensor.layout) else { return };
        let (step, right) = match *layout {
            "StreamDot" => (1, true),
            "Stream" => (4, true),
            "StreamOuter" => (16, true),
            _ => (0, false),
        };
        if right && step != *n {
            let wanted = match n {
                1 => "StreamDot",
                4 => "Stream",
                _ => "StreamOuter",
            };
            let message = format!("`take::<{n}>` from a tensor in `{layout}`, whose bytes lie for `take::<{step}>`");
            let help = format!("take `{step}` outputs at a time, or lay the tensor out as `{wanted}`");
            self.push(Code::FlowShape, site.span, message, help);
        }
    }

    /// `widen` is to a type that holds every value, `narrow` to one that does not.
    fn changed_width(&mut self, what: &str, recv: &Type, to: &Type, span: Span) {
        let (Type::Pe(from), Type::Pe(to)) = (recv, to) else { return };
        let from = self.literals.find(from);
        let (a, b) = match (&from, to) {
            (Elem::Fx(_), _) | (_, Elem::Fx(_)) => {
                let message = format!("`{what}` is between integers, not `Q<{from}>` and `Q<{to}>`");
                let help = "a format changes by `rescale`; `round` and `raw` give integers";
                self.push(Code::WrongReceiver, span, message, help);
                return;
            }
            (Elem::Bool | Elem::Int(_), Elem::Bool) => {
                let message = format!("`{what}` to `bool`: a condition is no number");
                self.push(Code::WrongReceiver, span, message, "compare it: `x != 0`");
                return;
            }
            (Elem::Int(a), Elem::Int(b)) => (*a, *b),
            _ => return,
        };
        let holds = a.range().0 >= b.range().0 && a.range().1 <= b.range().1;
        if what == "widen" && !holds {
            let message = match b.bits().0 < a.bits().0 {
                true => format!("`widen` from `{from}` to the narrower `{to}`"),
                false => format!("`widen` from `{from}` to `{to}`, which does not hold every `{from}`"),
            };
            self.push(Code::UnnamedNarrowing, span, message, format!("name the overflow: `.narrow::<{to}>(Saturate)`"));
        } else if what == "narrow" && holds && a != b {
            let message = format!("`narrow` from `{from}` to the wider `{to}`");
            self.push(Code::WrongReceiver, span, message, format!("write `.widen::<{to}>()`"));
        }
    }

    /// Communication does not stand under a condition of each PE.
    fn may_talk(&mut self, name: &str, span: Span, talks: bool) {
        let Some(mask) = self.masks.last().copied().filter(|_| talks) else { return };
        let why = match name {
            "shift" | "reduce" => "a neighbour may be disabled",
            "fetch" | "store" | "fill" | "broadcast" | "prefetch" | "write_back" | "drain" => {
                "an engine serves the whole array, whatever the condition says"
            }
            _ => "it exchanges data between PEs or with an engine",
        };
        let message = format!("`{name}` under a condition that differs from PE to PE: {why}");
        let diag = Diag::new(Code::TalkInBranch, span, message)
            .note_at(mask, "the condition; both branches run, each for its PEs")
            .help("move it out of the `if`, and `select` what each PE makes of it");
        self.diags.push(diag);
    }
}

/// The value of a literal, with its sign.
fn literal(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Lit(Lit::Float(text)) => text.parse().ok(),
        ExprKind::Unary { op: UnOp::Neg, arg } => literal(arg).map(|number| -number),
        _ => None,
    }
}

/// The name of a generic argument that is not known, if it is one.
fn is_open(pattern: &Pattern, names: &Bindings) -> Option<&'static str> {
    let (name, is_known) = match pattern {
        Pattern::Elem(name) => (*name, names.elems.contains_key(name)),
        Pattern::Extent(name) => (*name, names.extents.contains_key(*name)),
        Pattern::Layout(name) => (*name, names.layouts.contains_key(name)),
        Pattern::Type(Type::Lrm(Elem::Var(elem), _)) => ("Lrm<T, N>", names.elems.contains_key(elem)),
        Pattern::Type(_) => return None,
    };
    (!is_known).then_some(name)
}

/// A call as it stands in the text.
pub(super) struct Site<'a> {
    name: &'a Ident,
    pub(super) span: Span,
    generics: &'a [GenericArg],
    pub(super) args: &'a [Expr],
}

/// The const parameters of a function as names to be bound by a call.
struct Generic<'a>(&'a HashSet<&'a str>);

impl Parts for Generic<'_> {
    fn elem(&self, elem: &Elem) -> Elem {
        match elem {
            Elem::Fx(bits) => Elem::Fx(self.extent(bits)),
            elem => elem.clone(),
        }
    }
    fn extent(&self, extent: &Extent) -> Extent {
        match extent {
            Extent::Param(name) if self.0.contains(name.as_str()) => Extent::Var(name.clone()),
            extent => extent.clone(),
        }
    }
}

/// The functions of a module that communicate, themselves or by what they call.
pub(super) fn talking(module: &Module, names: &Names) -> HashSet<u32> {
    let mut callers: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut open = Vec::new();
    for (_, function) in module.fns() {
        let id = function.name.id.0;
        let mut talks = false;
        super::super::walk::exprs(&function.body, &mut |expr| match &expr.kind {
            ExprKind::Call { callee, .. } => match names.of(callee) {
                Some(Def::Builtin(row)) => talks |= TALKS.contains(&row.name),
                Some(Def::Fn(callee)) => callers.entry(callee.0).or_default().push(id),
                _ => {}
            },
            ExprKind::Method { name, .. } => talks |= TALKS.contains(&name.name.as_str()),
            _ => {}
        });
        if talks {
            open.push(id);
        }
    }
    let mut talking = HashSet::new();
    while let Some(id) = open.pop() {
        if talking.insert(id) {
            open.extend(callers.get(&id).into_iter().flatten());
        }
    }
    talking
}
