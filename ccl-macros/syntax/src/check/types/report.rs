//! What is said where a value does not fit.

use super::Checker;
use super::fit::{Bindings, Coerce};
use super::scheme::choices;
use super::ty::{Elem, Type};
use crate::ast::IntTy;
use crate::code::Code;
use crate::diag::Diag;
use crate::source::Span;

impl Checker<'_, '_> {
    pub(super) fn push(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) -> Type {
        self.diags.push(Diag::new(code, span, message).help(help));
        Type::Unknown
    }

    /// Reports `found` where `wanted` should stand, unless it fits as in Rust.
    pub(super) fn want(&mut self, wanted: &Type, found: &Type, span: Span, what: &str) -> bool {
        let fits = self.literals.fits(wanted, found, &mut Bindings::default(), Coerce::Rust);
        if !fits {
            self.mismatch(wanted, found, span, what);
        }
        fits
    }

    /// A value in flight used as if it had landed.
    pub(super) fn in_flight(&mut self, found: &Type, span: Span, what: &str) -> bool {
        let Type::Flow(of) = found.behind_refs() else { return false };
        let message = format!("{what} is still in flight: `Flow<{of}>` is no data");
        self.push(Code::ReadBeforeLanding, span, message, format!("wait for it: `.wait()` gives the `{of}`"));
        true
    }

    pub(super) fn mismatch(&mut self, wanted: &Type, found: &Type, span: Span, what: &str) {
        let (wanted, found) = (self.literals.shown(wanted), self.literals.shown(found));
        if !matches!(wanted.behind_refs(), Type::Flow(_)) && self.in_flight(&found, span, what) {
            return;
        }
        let message = format!("{what}: expected `{wanted}`, found `{found}`");
        let (code, help) = self.why(&wanted, &found);
        let diag = Diag::new(code, span, message);
        self.diags.push(match help {
            Some(help) => diag.help(help),
            None => diag,
        });
    }

    /// What kind of mismatch it is, and what mends it.
    fn why(&mut self, wanted: &Type, found: &Type) -> (Code, Option<String>) {
        match (wanted, found) {
            (Type::Pe(to) | Type::Scalar(to), Type::Pe(Elem::Fx(from)) | Type::Scalar(Elem::Fx(from))) if matches!(to, Elem::Fx(to) if to != from) =>
            {
                let Elem::Fx(to) = to else { return (Code::UnlikeFractionBits, None) };
                (Code::UnlikeFractionBits, Some(format!("write `.rescale::<{to}>(HalfEven, Saturate)`")))
            }
            (Type::Pe(to), Type::Scalar(from)) if self.literals.elem(to, from) => {
                (Code::ScalarPerPe, Some("write `splat(..)`: the scalar in every PE".into()))
            }
            (Type::Pe(Elem::Fx(bits)), Type::Scalar(Elem::Literal(_) | Elem::Int(_)))
            | (Type::Scalar(Elem::Fx(bits)), Type::Scalar(Elem::Literal(_) | Elem::Int(_))) => {
                (Code::WrongType, Some(format!("a constant of this format is `fx::<{bits}>(..)`")))
            }
            (Type::Pe(Elem::Fx(bits)), Type::Pe(Elem::Int(_))) => (
                Code::WrongType,
                Some(format!("`fx_raw::<{bits}>(..)` takes bits as a number, `dequantize` a quantised value")),
            ),
            (Type::Scalar(Elem::Bool), Type::Pe(Elem::Bool)) => {
                (Code::ScalarPerPe, Some("ask the array: `any(..)` or `all(..)`".into()))
            }
            (Type::Scalar(_), Type::Pe(_)) => (
                Code::ScalarPerPe,
                Some("a scalar cannot hold one value for each PE; only `any` and `all` ask the array".into()),
            ),
            (Type::Pe(to @ Elem::Int(_)), Type::Pe(from @ Elem::Int(_)))
            | (Type::Lrm(to @ Elem::Int(_), _), Type::Lrm(from @ Elem::Int(_), _)) => {
                let narrows = to.bits().map(|b| b.0) < from.bits().map(|b| b.0);
                match (narrows, wanted) {
                    (true, Type::Pe(_)) => {
                        (Code::UnnamedNarrowing, Some(format!("name the overflow: `.narrow::<{to}>(Saturate)`")))
                    }
                    (false, Type::Pe(_)) => (Code::WrongType, Some(format!("write `.widen::<{to}>()`"))),
                    _ => (Code::WrongType, None),
                }
            }
            (Type::Pe(Elem::Int(IntTy::I32)), Type::Pe(Elem::Fx(_))) => {
                (Code::WrongType, Some("`.raw()` gives the bits, `.round(HalfEven)` the nearest integer".into()))
            }
            (Type::Scalar(Elem::Int(to)), Type::Scalar(Elem::Int(_))) => {
                (Code::WrongType, Some(format!("write `.. as {}`", to.word())))
            }
            (Type::Lrm(..) | Type::Pe(_), Type::Acc(_)) => (
                Code::UnnamedNarrowing,
                Some("`requant(acc, scale, HalfEven, Saturate)` brings accumulators to int8".into()),
            ),
            (Type::Pe(_), Type::Lrm(..)) => (Code::WrongType, Some("one of its elements is `[index]`".into())),
            (Type::Ref { mutable, target }, found)
                if self.literals.fits(target, found, &mut Bindings::default(), Coerce::Rust) =>
            {
                (Code::WrongType, Some(format!("lend it: `&{}..`", if *mutable { "mut " } else { "" })))
            }
            (Type::Choice(name), _) => {
                let names = choices(name);
                (Code::WrongType, (!names.is_empty()).then(|| format!("there are `{}`", names.join("`, `"))))
            }
            _ => (Code::WrongType, None),
        }
    }
}
