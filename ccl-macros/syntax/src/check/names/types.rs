//! Types, generic arguments and extents.

use super::calls::counted;
use super::{Def, Resolver};
use crate::ast::*;
use crate::builtins::{BuiltinKind, TYPE_KINDS, named};
use crate::code::Code;
use crate::diag::Diag;

impl<'a> Resolver<'a, '_> {
    pub(super) fn ty(&mut self, ty: &'a Ty) {
        match &ty.kind {
            TyKind::Path(path) => self.type_path(path),
            TyKind::Ref { target, .. } => self.ty(target),
            TyKind::Array { elem, len } => {
                self.ty(elem);
                self.extent(len);
            }
            TyKind::Tuple(elems) => elems.iter().for_each(|elem| self.ty(elem)),
        }
    }

    fn type_path(&mut self, path: &'a Path) {
        path.segments.iter().for_each(|segment| self.generic_args(&segment.args));
        let def = match path.segments.as_slice() {
            [segment] => self.single_type(&segment.name, segment.args.len()),
            [first, ..] if first.name.name.starts_with(char::is_uppercase) => {
                self.unknown(&first.name, "type", TYPE_KINDS, Code::UnknownName)
            }
            _ => Def::External,
        };
        self.names.defs.insert(path.id.0, def);
    }

    fn single_type(&mut self, name: &'a Ident, n_args: usize) -> Def {
        if let Some(builtin) = named(&name.name, TYPE_KINDS) {
            let wanted = type_arity(builtin.name);
            if n_args != wanted {
                let message = format!("`{}` takes {}, {n_args} given", name.name, counted(wanted, "generic argument"));
                let help = format!("it is `{}`", builtin.signature);
                self.diags.push(Diag::new(Code::ArgumentCount, name.span, message).help(help));
            }
            return Def::Builtin(builtin);
        }
        match self.find(&name.name).map(|entry| entry.def) {
            Some(def @ (Def::Import(_) | Def::Unknown)) => def,
            Some(_) => {
                self.diags.error(Code::WrongKind, name.span, format!("`{}` is a value, not a type", name.name));
                Def::Unknown
            }
            None => self.unknown(name, "type", TYPE_KINDS, Code::UnknownName),
        }
    }

    pub(super) fn generic_args(&mut self, args: &'a [GenericArg]) {
        for arg in args {
            match arg {
                GenericArg::Infer(_) => {}
                GenericArg::Const(value) => self.extent(value),
                GenericArg::Ty(ty) => match &ty.kind {
                    // A single name may be a value: a const parameter or a constant.
                    TyKind::Path(path)
                        if path.as_name().is_some_and(|n| {
                            named(&n.name, TYPE_KINDS).is_none()
                                && (self.find(&n.name).is_some() || is_constant(&n.name))
                        }) =>
                    {
                        let name = path.as_name().expect("the guard says so");
                        let def = self.single(name);
                        self.names.defs.insert(path.id.0, def);
                        if let Def::Local(_) | Def::Param(_) | Def::Fn(_) = def {
                            let message = format!("`{}` is no constant, so it is no generic argument", name.name);
                            self.diags.error(Code::WrongKind, name.span, message);
                        }
                    }
                    _ => self.ty(ty),
                },
            }
        }
    }

    /// An extent or other constant argument: a const parameter stands alone or not at all, as stable Rust wants it.
    pub(super) fn extent(&mut self, value: &'a Expr) {
        let before = self.const_param_uses;
        self.expr(value);
        let is_bare = matches!(&value.kind, ExprKind::Path(path) if path.as_name().is_some());
        if self.const_param_uses > before && !is_bare {
            let message = format!("`{}` is computed from a const parameter", crate::print::print_expr(value));
            let diag = Diag::new(Code::DerivedExtent, value.span, message)
                .help("make it a const parameter of its own and state with `assert!` how they hang together");
            self.diags.push(diag);
        }
    }
}

/// Number of generic arguments of a type of the language.
pub(super) fn type_arity(name: &str) -> usize {
    let signature = named(name, TYPE_KINDS).map_or("", |builtin| builtin.signature);
    signature.split_once('<').map_or(0, |(_, args)| args.split(',').count())
}

fn is_constant(name: &str) -> bool {
    named(name, &[BuiltinKind::Constant]).is_some()
}
