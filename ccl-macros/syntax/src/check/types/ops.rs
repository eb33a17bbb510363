//! Operators: a scalar meets a per-PE value in any of them, and is spread.

use super::Checker;
use super::ty::{Elem, Type};
use crate::ast::*;
use crate::code::Code;
use crate::diag::Diag;
use crate::source::Span;

impl<'a> Checker<'a, '_> {
    pub(super) fn unary_expr(&mut self, op: UnOp, arg: &'a Expr, expected: Option<&Type>) -> Type {
        let found = self.expr(arg, expected.filter(|_| op != UnOp::Deref));
        if self.in_flight(&found, arg.span, "the operand") {
            return Type::Unknown;
        }
        let elem = match &found {
            Type::Scalar(elem) | Type::Pe(elem) => Some(self.literals.find(elem)),
            _ => None,
        };
        match (op, elem, &found) {
            (_, _, Type::Unknown) | (_, Some(Elem::Unknown), _) => found,
            (UnOp::Deref, _, Type::Ref { target, .. }) => (**target).clone(),
            (UnOp::Not, Some(Elem::Bool | Elem::Int(_) | Elem::Literal(_)), _) => found,
            (UnOp::Neg, Some(Elem::Int(ty)), _) if !ty.bits().1 => self.push(
                Code::WrongOperand,
                arg.span,
                format!("`-` of `{found}`, which has no sign"),
                "make it a signed type first",
            ),
            (UnOp::Neg, Some(Elem::Int(_) | Elem::Literal(_) | Elem::Fx(_)), _) => found,
            _ => {
                let message = format!("`{}` does not take `{}`", op.word(), self.literals.shown(&found));
                self.diags.error(Code::WrongOperand, arg.span, message);
                Type::Unknown
            }
        }
    }

    pub(super) fn binary_expr(&mut self, op: BinOp, lhs: &'a Expr, rhs: &'a Expr, expr: &'a Expr) -> Type {
        // Chains are long and lean to the left; a level of the stack each would be too many.
        let mut chain = vec![(op, rhs, expr)];
        let mut first = lhs;
        while let ExprKind::Binary { op, lhs, rhs } = &first.kind {
            chain.push((*op, rhs, first));
            first = lhs;
        }
        let mut left = (self.expr(first, None), first.span);
        for (op, rhs, expr) in chain.into_iter().rev() {
            let right = self.expr(rhs, None);
            let ty = self.binary(op, (&left.0, left.1), (&right, rhs.span), expr.span);
            self.types.insert(expr.id.0, ty.clone());
            left = (ty, expr.span);
        }
        left.0
    }

    /// The type of `left op right`.
    pub(super) fn binary(&mut self, op: BinOp, left: (&Type, Span), right: (&Type, Span), span: Span) -> Type {
        for (ty, span) in [left, right] {
            if self.in_flight(ty, span, &format!("an operand of `{}`", op.word())) {
                return Type::Unknown;
            }
        }
        let (a, b) = (left.0, right.0);
        let (a_elem, b_elem, is_per_pe) = match (a, b) {
            (Type::Unknown, _) | (_, Type::Unknown) => return Type::Unknown,
            (Type::Acc(n), Type::Acc(m)) if op == BinOp::Add => {
                if !super::fit::extents(n, m) {
                    self.diags.error(Code::WrongOperand, span, format!("`{a} + {b}`: unlike numbers of accumulators"));
                    return Type::Unknown;
                }
                return a.clone();
            }
            (Type::Scalar(a), Type::Scalar(b)) => (a, b, false),
            (Type::Scalar(a) | Type::Pe(a), Type::Scalar(b) | Type::Pe(b)) => (a, b, true),
            _ => return self.no_operator(op, a, b, span),
        };
        let (x, y) = (self.literals.find(a_elem), self.literals.find(b_elem));
        let of = |elem: Elem| if is_per_pe { Type::Pe(elem) } else { Type::Scalar(elem) };
        if x == Elem::Unknown || y == Elem::Unknown {
            return of(if op.is_comparison() || op.precedence() < 3 { Elem::Bool } else { Elem::Unknown });
        }
        let is_int = |elem: &Elem| matches!(elem, Elem::Int(_) | Elem::Literal(_));
        match op {
            BinOp::Or | BinOp::And if x == Elem::Bool && y == Elem::Bool => of(Elem::Bool),
            BinOp::Shl | BinOp::Shr if x != Elem::Bool && is_int(&y) => self.shift(op, (a, x), (b, &y), right.1, span),
            BinOp::Or | BinOp::And | BinOp::Shl | BinOp::Shr => self.no_operator(op, a, b, span),
            BinOp::Eq | BinOp::Ne if x == Elem::Bool && y == Elem::Bool => of(Elem::Bool),
            BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor if x == Elem::Bool && y == Elem::Bool => of(Elem::Bool),
            _ if x == Elem::Bool || y == Elem::Bool => self.no_operator(op, a, b, span),
            _ if !self.literals.elem(&x, &y) => self.unlike(op, (a, &x), (b, &y), right.1, span),
            BinOp::Mul | BinOp::Div if matches!(x, Elem::Fx(_)) => {
                let (what, name) = if op == BinOp::Mul { ("product", "fx_mul") } else { ("quotient", "fx_div") };
                let message = format!("`{a} {} {b}`: a {what} of fixed-point numbers names its format", op.word());
                let Elem::Fx(bits) = &x else { return Type::Unknown };
                self.push(Code::WrongOperand, span, message, format!("write `{name}::<{bits}>(a, b)`"))
            }
            BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor if matches!(x, Elem::Fx(_)) => {
                self.no_operator(op, a, b, span)
            }
            BinOp::Div | BinOp::Rem if is_per_pe => {
                let message = format!("`{}` of `{}` and `{}`: PEs do not divide", op.word(), a, self.literals.shown(b));
                let help = "multiply by a reciprocal, shift by `>>`, or take `fx_div`, which is 82 cycles";
                self.push(Code::PerPeDivision, span, message, help)
            }
            BinOp::Rem if matches!(x, Elem::Fx(_)) => self.no_operator(op, a, b, span),
            _ if op.is_comparison() => of(Elem::Bool),
            _ => of(self.literals.find(&x)),
        }
    }

    /// A shift: scalars by scalars, values of PEs by a scalar or by a `Q<i32>`.
    fn shift(&mut self, op: BinOp, (a, x): (&Type, Elem), (b, y): (&Type, &Elem), b_span: Span, span: Span) -> Type {
        match (a, b) {
            (Type::Scalar(Elem::Fx(_)), Type::Scalar(_)) => self.no_operator(op, a, b, span),
            (Type::Scalar(_), Type::Scalar(_)) => Type::Scalar(x),
            (Type::Scalar(_), _) => {
                let message =
                    format!("`{}` of the scalar `{}` by a number of each PE", op.word(), self.literals.shown(a));
                self.push(Code::ShiftAmount, span, message, "spread what is shifted: `splat(..)`")
            }
            (_, Type::Pe(_)) if !self.literals.elem(y, &Elem::Int(IntTy::I32)) => {
                let message = format!("a shift by `{}`", self.literals.shown(b));
                self.push(Code::ShiftAmount, b_span, message, "amounts of each PE are `Q<i32>`: `.widen::<i32>()`")
            }
            _ => Type::Pe(x),
        }
    }

    fn no_operator(&mut self, op: BinOp, a: &Type, b: &Type, span: Span) -> Type {
        let (a, b) = (self.literals.shown(a), self.literals.shown(b));
        let diag = Diag::new(Code::WrongOperand, span, format!("`{}` does not take `{a}` and `{b}`", op.word()));
        let help = match (a.behind_refs(), b.behind_refs()) {
            (Type::Lrm(..), _) | (_, Type::Lrm(..)) => Some("operators take single values: loop over the elements"),
            (Type::Acc(_), _) | (_, Type::Acc(_)) => {
                Some("accumulators are added to accumulators; one as a value is `.get(n)`")
            }
            (Type::Scalar(Elem::Int(_)) | Type::Pe(Elem::Int(_)), _) if matches!(op, BinOp::And | BinOp::Or) => {
                Some("conditions come from comparisons; bits are combined by `&` and `|`")
            }
            _ => None,
        };
        self.diags.push(match help {
            Some(help) => diag.help(help),
            None => diag,
        });
        Type::Unknown
    }

    /// Operands of unlike element types.
    fn unlike(&mut self, op: BinOp, a: (&Type, &Elem), b: (&Type, &Elem), b_span: Span, span: Span) -> Type {
        let (a_ty, b_ty) = (self.literals.shown(a.0), self.literals.shown(b.0));
        let message = format!("`{}` of `{a_ty}` and `{b_ty}`", op.word());
        let is_scalar = matches!((&a_ty, &b_ty), (Type::Scalar(_), Type::Scalar(_)));
        match (a.1, b.1) {
            (Elem::Fx(m), Elem::Fx(n)) => {
                let message = format!("{message}: {m} and {n} fraction bits");
                let help = format!("bring the right side to the left's format: `.rescale::<{m}>(HalfEven, Saturate)`");
                self.push(Code::UnlikeFractionBits, b_span, message, help)
            }
            (Elem::Fx(bits), _) | (_, Elem::Fx(bits)) => {
                let help = format!(
                    "a constant of this format is `fx::<{bits}>(..)`, bits taken as a number `fx_raw::<{bits}>(..)`"
                );
                self.push(Code::WrongOperand, span, message, help)
            }
            (Elem::Int(m), Elem::Int(n)) => {
                let wide = if m.bits().0 >= n.bits().0 { m } else { n };
                let help = match is_scalar {
                    true => format!("write `.. as {}`", wide.word()),
                    false => {
                        format!("values keep their width; write `.widen::<{}>()`, or `as` of a scalar", wide.word())
                    }
                };
                self.push(Code::WrongOperand, span, message, help)
            }
            _ => self.no_operator(op, a.0, b.0, span),
        }
    }
}
