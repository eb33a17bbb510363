//! Calls and members: functions, methods, and how many arguments they take.

use super::{Def, Resolver};
use crate::ast::*;
use crate::builtins::{BUILTINS, Builtin, BuiltinKind, named, nearest};
use crate::code::Code;
use crate::diag::Diag;
use crate::source::Span;

/// Methods of scalars and constants, beside those of the table: the standard library's.
const SCALAR_METHODS: &[(&str, usize)] = &[
    ("min", 1),
    ("max", 1),
    ("abs", 0),
    ("clamp", 2),
    ("div_ceil", 1),
    ("next_multiple_of", 1),
    ("ilog2", 0),
    ("pow", 1),
    ("is_power_of_two", 0),
];

impl<'a> Resolver<'a, '_> {
    pub(super) fn call(&mut self, callee: &'a Path, n_args: usize) {
        let name = callee.text();
        let n_generics = callee.last().args.len();
        match self.path(callee) {
            Def::Fn(id) => {
                let Some(index) = self.fns.iter().position(|f| f.name.id.0 == id.0) else { return };
                let function = self.fns[index];
                self.calls.push((self.caller, index, callee.span));
                let wanted = (function.params.len(), function.generics.len());
                let declared = function.name.name.span;
                self.count(&name, callee.span, (n_args, n_generics), wanted, Some(declared), None);
            }
            Def::Builtin(builtin) => match builtin.arity() {
                Some(wanted) if builtin.kind != BuiltinKind::Method => {
                    // `Lrm::<i8, 4>::new`: the arguments belong to the type.
                    let given = if builtin.kind == BuiltinKind::Associated {
                        callee.segments[0].args.len()
                    } else {
                        n_generics
                    };
                    self.count(&name, callee.span, (n_args, given), wanted, None, Some(builtin.signature));
                }
                _ => {
                    let message = format!("`{name}` is no function");
                    let help = format!("it means `{}`", builtin.signature);
                    self.diags.push(Diag::new(Code::WrongKind, callee.span, message).help(help));
                }
            },
            def @ (Def::Local(_) | Def::Param(_) | Def::ConstParam(_) | Def::Const(_)) => {
                let what = if matches!(def, Def::Const(_)) { "constant" } else { "value" };
                let message = format!("`{name}` is a {what}, not a function");
                self.diags.error(Code::WrongKind, callee.span, message);
            }
            Def::Import(_) | Def::External | Def::Unknown => {}
        }
    }

    /// Checks the counts (arguments, generic arguments) of a call.
    fn count(
        &mut self,
        name: &str,
        span: Span,
        given: (usize, usize),
        wanted: (usize, usize),
        declared: Option<Span>,
        signature: Option<&str>,
    ) {
        let message = if given.0 != wanted.0 {
            format!("`{name}` takes {}, {} given", counted(wanted.0, "argument"), given.0)
        } else if given.1 != wanted.1 && given.1 != 0 {
            format!("`{name}` takes {}, {} given", counted(wanted.1, "generic argument"), given.1)
        } else {
            return;
        };
        let mut diag = Diag::new(Code::ArgumentCount, span, message);
        if let Some(declared) = declared {
            diag = diag.note_at(declared, format!("`{name}` is declared here"));
        }
        if let Some(signature) = signature {
            diag = diag.help(format!("it is `{signature}`"));
        }
        self.diags.push(diag);
    }

    pub(super) fn method(&mut self, name: &'a Ident, n_generics: usize, n_args: usize) {
        let rows: Vec<&Builtin> =
            BUILTINS.iter().filter(|b| b.kind == BuiltinKind::Method && b.name == name.name).collect();
        let scalar = SCALAR_METHODS.iter().find(|(method, _)| *method == name.name);
        if rows.is_empty() && scalar.is_none() {
            let methods = BUILTINS.iter().filter(|b| b.kind == BuiltinKind::Method).map(|b| b.name);
            let diag = Diag::new(Code::UnknownMethod, name.span, format!("no type has a method `{}`", name.name));
            let near = nearest(&name.name, methods.chain(SCALAR_METHODS.iter().map(|(name, _)| *name)));
            let functions = BUILTINS.iter().filter(|b| b.kind == BuiltinKind::Function).map(|b| b.name);
            let function = nearest(&name.name, functions).and_then(|name| named(name, &[BuiltinKind::Function]));
            self.diags.push(match (near, function) {
                (Some(near), _) => diag.help(format!("did you mean `{near}`?")),
                (None, Some(function)) => diag.help(format!("there is the function `{}`", function.signature)),
                (None, None) => diag,
            });
            return;
        }
        let fits = |b: &&Builtin| b.arity().is_some_and(|(p, g)| p == n_args && (n_generics == 0 || g == n_generics));
        if rows.iter().any(fits) || scalar.is_some_and(|(_, n)| *n == n_args && n_generics == 0) {
            return;
        }
        let (wanted, signature) = match (rows.first(), scalar) {
            (Some(row), _) => (row.arity().unwrap_or_default(), Some(row.signature)),
            (None, Some((_, n))) => ((*n, 0), None),
            (None, None) => unreachable!("one of them was found"),
        };
        self.count(&name.name, name.span, (n_args, n_generics), wanted, None, signature);
    }

    pub(super) fn member(&mut self, member: &'a Ident) {
        if member.name.starts_with(|c: char| c.is_ascii_digit()) {
            return;
        }
        let methods = BUILTINS.iter().filter(|b| b.kind == BuiltinKind::Method);
        let diag = Diag::new(Code::UnknownField, member.span, format!("there is no member `{}`", member.name));
        let diag = match nearest(&member.name, methods.clone().map(|b| b.name)) {
            Some(near) if near == member.name => {
                let row = methods.clone().find(|b| b.name == near).expect("it came from there");
                diag.help(format!("it is a method: `.{}`", row.signature))
            }
            Some(near) => diag.help(format!("did you mean the method `{near}`?")),
            None => {
                let starts = methods.map(|b| b.name).filter(|name| name.starts_with(&member.name));
                let mut starts: Vec<&str> = starts.collect();
                starts.dedup();
                match starts.as_slice() {
                    [] => diag.help("tuples have numbered members: `.0`"),
                    names => diag.help(format!("methods that begin so: `{}`", names.join("`, `"))),
                }
            }
        };
        self.diags.push(diag);
    }
}

/// `1 argument`, `2 arguments`.
pub(super) fn counted(n: usize, what: &str) -> String {
    match n {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
