//! Calls of functions, of this block and of others: their const arguments, their frames.

use std::collections::HashMap;

use ccl_syntax::ast::{Expr, Fn, IntTy, Path, Ty, TyKind};
use ccl_syntax::builtins::BuiltinKind;
use ccl_syntax::check::Def;
use ccl_syntax::check::types::{Elem, Extent, Layout, Type};

use super::datum::Datum;
use super::error::{Cause, Evaluated, Exit};
use super::machine::{Frame, Machine};
use super::unit::Unit;
use crate::kernel::{ElemType, LayoutType};

impl<'a> Machine<'a> {
    pub(super) fn call_expr(&mut self, expr: &'a Expr, callee: &'a Path, args: &'a [Expr]) -> Evaluated {
        let unit = self.frame.unit;
        match unit.checked.names.of(callee) {
            Some(Def::Builtin(row)) if matches!(row.kind, BuiltinKind::Function | BuiltinKind::Associated) => {
                self.builtin(row, expr, callee, args)
            }
            Some(Def::Fn(id)) => {
                let function = unit.module.fns().map(|(_, f)| f).find(|f| f.name.id.0 == id.0);
                let function = function.ok_or_else(|| self.stop(Cause::Unknown { name: callee.text() }))?;
                self.user_call(unit, function, callee, args)
            }
            Some(Def::Import(_) | Def::External) => {
                let names: Vec<&str> = callee.segments.iter().map(|s| s.name.name.as_str()).collect();
                let found = self.linker.find(unit, &names);
                match found.and_then(|(unit, name)| Some((unit, unit.function(&name)?))) {
                    Some((unit, function)) => self.user_call(unit, function, callee, args),
                    None => Err(self.stop(Cause::NotLoaded { path: callee.text() })),
                }
            }
            _ => Err(self.stop(Cause::Unknown { name: callee.text() })),
        }
    }

    fn user_call(&mut self, unit: &'a Unit, function: &'a Fn, callee: &'a Path, args: &'a [Expr]) -> Evaluated {
        let values = self.each(args)?;
        self.at(callee.span);
        if values.len() != function.params.len() {
            let found = format!("{} arguments", values.len());
            return Err(self.stop(Cause::Type { wanted: format!("{} arguments", function.params.len()), found }));
        }
        let consts = self.const_args(unit, function, callee, &values)?;
        self.call(unit, function, consts, values)
    }

    /// The const arguments of a call: written, found by the front end, or told by what is passed.
    fn const_args(
        &mut self,
        unit: &'a Unit,
        function: &'a Fn,
        callee: &'a Path,
        values: &[Datum],
    ) -> Evaluated<HashMap<String, Datum>> {
        let mut told = HashMap::new();
        for (param, value) in function.params.iter().zip(values) {
            if let Some(ty) = unit.checked.types.of(param.name.id) {
                self.tell(ty, value, &mut told)?;
            }
        }
        let mut consts = HashMap::new();
        for (i, param) in function.generics.iter().enumerate() {
            let written = match callee.last().args.get(i) {
                Some(arg) => self.const_arg(arg)?,
                None => None,
            };
            let found = self.frame.unit.checked.types.generics_of(callee.id).and_then(|given| given.get(i));
            let name = &param.name.name.name;
            let value = match (written, found.and_then(|extent| self.extent(extent)), told.get(name)) {
                (Some(value), ..) => Some(value),
                (None, Some(n), _) => Some(Datum::usize(n)),
                (None, None, told) => told.map(|n| Datum::usize(*n)),
            };
            let Some(value) = value else { return Err(self.stop(Cause::Open { what: name.clone() })) };
            consts.insert(name.clone(), self.typed_const(value, &param.ty)?);
        }
        Ok(consts)
    }

    /// A const argument as it is written.
    fn const_arg(&mut self, arg: &'a ccl_syntax::ast::GenericArg) -> Evaluated<Option<Datum>> {
        use ccl_syntax::ast::GenericArg;
        match arg {
            GenericArg::Const(value) => self.eval(value).map(Some),
            GenericArg::Ty(Ty { kind: TyKind::Path(path), span }) => match path.as_name() {
                Some(name) => match self.frame.consts.get(&name.name) {
                    Some(value) => Ok(Some(value.clone())),
                    None if self.frame.unit.constant(&name.name).is_some() => self.constant(&name.name).map(Some),
                    None => match self.extent_arg(arg)? {
                        Some(n) => Ok(Some(Datum::usize(n))),
                        None => self.external_constant(&[name.name.as_str()], *span),
                    },
                },
                None => Ok(None),
            },
            GenericArg::Ty(_) | GenericArg::Infer(_) => Ok(None),
        }
    }

    /// A const argument in the type of its parameter.
    pub(super) fn typed_const(&self, value: Datum, ty: &Ty) -> Evaluated {
        let wanted = match &ty.kind {
            TyKind::Path(path) => path.text(),
            _ => String::new(),
        };
        match (&value, IntTy::parse(&wanted)) {
            (Datum::Int(v, _), Some(ty)) => self.int(Some(*v), ty, || v.to_string()),
            (Datum::Bool(_), None) if wanted == "bool" => Ok(value),
            _ => Err(self.wrong(format!("`{wanted}`"), &value)),
        }
    }

    /// Runs a function.
    pub(super) fn call(
        &mut self,
        unit: &'a Unit,
        function: &'a Fn,
        consts: HashMap<String, Datum>,
        values: Vec<Datum>,
    ) -> Evaluated {
        self.nested(|m| {
            let mark = m.mark();
            let outer = std::mem::replace(&mut m.frame, Frame::new(unit, consts));
            for (param, value) in function.params.iter().zip(values) {
                let value = m.settled(value, m.type_of(param.name.id));
                m.declare(param.name.id, param.mutable, value);
            }
            let result = m.statements(&function.body);
            m.release(mark);
            let inner = std::mem::replace(&mut m.frame, outer);
            match result {
                Ok(value) => Ok(inner.scope.leave(value)),
                Err(Exit::Return(value)) => Ok(*value),
                Err(exit) => Err(exit),
            }
        })
    }

    /// What a value tells of the const parameters in its type.
    fn tell(&mut self, ty: &Type, value: &Datum, told: &mut HashMap<String, usize>) -> Evaluated<()> {
        let mut bind = |extent: &Extent, n: usize| {
            if let Extent::Param(name) = extent {
                told.entry(name.clone()).or_insert(n);
            }
        };
        let mut bits = |elem: &Elem, found: ElemType| {
            if let (Elem::Fx(extent), ElemType::Fx(n)) = (elem, found) {
                bind(extent, n as usize);
            }
        };
        match (ty, value) {
            (Type::Scalar(elem), Datum::Fx(_, n)) => bits(elem, ElemType::Fx(*n)),
            (Type::Pe(elem), Datum::Pe(found, _)) => bits(elem, *found),
            (Type::Lrm(elem, n), Datum::Lrm(found, ids)) => {
                bits(elem, *found);
                bind(n, ids.len());
            }
            (Type::Acc(n), Datum::Acc(ids)) => bind(n, ids.len()),
            (Type::Tensor(t), Datum::Tensor(found)) => {
                bits(&t.elem, found.elem);
                if let Layout::Named(_, extents) = &t.layout {
                    let layout = LayoutType { kind: found.view.kind, dims: found.view.dims };
                    extents.iter().zip(layout.host_dims()).for_each(|(extent, n)| bind(extent, n));
                }
            }
            (Type::Flow(ty), Datum::Flow(value)) => self.tell(ty, value, told)?,
            (Type::Tuple(types), Datum::Tuple(values)) => {
                for (ty, value) in types.iter().zip(values) {
                    self.tell(ty, value, told)?;
                }
            }
            (Type::Array(ty, n), Datum::Array(values)) => {
                bind(n, values.len());
                if let Some(value) = values.first() {
                    self.tell(ty, value, told)?;
                }
            }
            (ty, Datum::Ref(_)) => {
                let value = self.strip(value.clone())?;
                self.tell(ty.behind_refs(), &value, told)?;
            }
            (Type::Ref { target, .. }, value) => self.tell(target, value, told)?,
            _ => {}
        }
        Ok(())
    }
}
