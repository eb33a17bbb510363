//! Expressions.

use std::str::FromStr;

use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};

use super::body::Body;
use super::{Cx, word};
use crate::ast::*;
use crate::check::Def;
use crate::check::types::Type;

impl Cx<'_> {
    /// A constant expression, as it stands.
    pub(super) fn const_expr(&self, value: &Expr) -> TokenStream {
        Body { is_const: true, ..Body::new(*self) }.expr(value)
    }
}

impl Body<'_> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, value: &Expr) -> TokenStream {
        let span = self.cx.user(value.span);
        match &value.kind {
            ExprKind::Path(_) | ExprKind::Index { .. } | ExprKind::Field { .. } => {
                let place = self.place(value);
                if self.assigns && self.is_variable(value) && self.is_copied(value) {
                    quote_spanned! { span => ::ccl_runtime::__rt::read(#place) }
                } else {
                    place
                }
            }
            ExprKind::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs),
            ExprKind::If { .. } if !self.has_value(value) => {
                let value = self.if_stmt(value);
                quote! { { #value } }
            }
            ExprKind::If { cond, then, otherwise } => self.if_value(value, cond, then, otherwise.as_deref()),
            ExprKind::Block(block) => self.block(block),
            _ => self.plain(value),
        }
    }

    /// An operand: in parentheses unless it is atomic.
    fn operand(&mut self, value: &Expr) -> TokenStream {
        let tokens = self.expr(value);
        let is_atomic = match &value.kind {
            ExprKind::Lit(_)
            | ExprKind::Path(_)
            | ExprKind::Call { .. }
            | ExprKind::Method { .. }
            | ExprKind::Field { .. }
            | ExprKind::Index { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Array(_)
            | ExprKind::Repeat { .. } => true,
            ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Range { .. }
            | ExprKind::Ref { .. }
            | ExprKind::Block(_)
            | ExprKind::If { .. } => false,
        };
        if is_atomic {
            return tokens;
        }
        let span = self.cx.user(value.span);
        quote_spanned! { span => (#tokens) }
    }

    /// An expression that is a place where it can be: not copied, so that methods and `&` reach what it names.
    pub(super) fn place(&mut self, value: &Expr) -> TokenStream {
        let span = self.cx.user(value.span);
        match &value.kind {
            ExprKind::Path(path) => self.cx.path(path, true),
            ExprKind::Index { base, index } => {
                let base = self.place_operand(base);
                let index = self.expr(index);
                quote_spanned! { span => #base[#index] }
            }
            ExprKind::Field { base, member } => {
                let base = self.place_operand(base);
                let at = self.cx.user(member.span);
                let member = match Literal::from_str(&member.name) {
                    Ok(mut number) => {
                        number.set_span(at);
                        quote! { #number }
                    }
                    Err(_) => {
                        let name = self.cx.ident(member);
                        quote! { #name }
                    }
                };
                quote_spanned! { span => #base.#member }
            }
            ExprKind::Unary { op: UnOp::Deref, arg } => {
                let arg = self.place_operand(arg);
                quote_spanned! { span => (*#arg) }
            }
            _ => self.operand(value),
        }
    }

    fn place_operand(&mut self, value: &Expr) -> TokenStream {
        match &value.kind {
            ExprKind::Path(_) | ExprKind::Index { .. } | ExprKind::Field { .. } => self.place(value),
            _ => self.operand(value),
        }
    }

    /// What has no rewrite of its own.
    fn plain(&mut self, value: &Expr) -> TokenStream {
        let span = self.cx.user(value.span);
        match &value.kind {
            ExprKind::Lit(lit) => self.literal(lit, value),
            ExprKind::Unary { op, arg } => {
                let arg = self.operand(arg);
                match op {
                    UnOp::Neg => quote_spanned! { span => -#arg },
                    UnOp::Not => quote_spanned! { span => !#arg },
                    UnOp::Deref => quote_spanned! { span => *#arg },
                }
            }
            ExprKind::Binary { op, lhs, rhs } => self.operator(*op, lhs, rhs),
            ExprKind::Cast { value: of, ty } => {
                let (of, ty) = (self.operand(of), self.cx.ty(ty));
                quote_spanned! { span => #of as #ty }
            }
            ExprKind::Call { callee, args } => {
                let callee = self.cx.path(callee, true);
                let args = args.iter().map(|arg| self.expr(arg)).collect::<Vec<_>>();
                quote_spanned! { span => #callee(#(#args),*) }
            }
            ExprKind::Method { recv, name, generics, args } => {
                let recv = if self.is_value(recv) { self.operand(recv) } else { self.place_operand(recv) };
                let name = self.cx.ident(name);
                let generics = self.cx.generic_args(generics, true, name.span());
                let args = args.iter().map(|arg| self.expr(arg)).collect::<Vec<_>>();
                quote_spanned! { span => #recv.#name #generics(#(#args),*) }
            }
            ExprKind::Range { start, end, inclusive } => {
                let start = start.as_ref().map(|start| self.operand(start));
                let end = end.as_ref().map(|end| self.operand(end));
                if *inclusive {
                    quote_spanned! { span => #start..=#end }
                } else {
                    quote_spanned! { span => #start..#end }
                }
            }
            ExprKind::Tuple(elems) => {
                let elems = elems.iter().map(|elem| self.expr(elem)).collect::<Vec<_>>();
                quote_spanned! { span => (#(#elems,)*) }
            }
            ExprKind::Array(elems) => {
                let elems = elems.iter().map(|elem| self.expr(elem)).collect::<Vec<_>>();
                quote_spanned! { span => [#(#elems),*] }
            }
            ExprKind::Repeat { value, len } => {
                let (value, len) = (self.expr(value), self.cx.const_expr(len));
                quote_spanned! { span => [#value; #len] }
            }
            ExprKind::Ref { mutable, target } => {
                let mutable = mutable.then(|| word("mut", span));
                let target = self.place(target);
                quote_spanned! { span => &#mutable #target }
            }
            ExprKind::Path(_) | ExprKind::Index { .. } | ExprKind::Field { .. } => self.place(value),
            ExprKind::If { .. } | ExprKind::Block(_) => self.expr(value),
        }
    }

    fn literal(&self, lit: &Lit, value: &Expr) -> TokenStream {
        let (span, text) = (self.cx.user(value.span), crate::print::lit_text(lit));
        if let Lit::Bool(_) = lit {
            let value = word(&text, span);
            return quote! { #value };
        }
        match Literal::from_str(&text) {
            Ok(mut literal) => {
                literal.set_span(span);
                quote! { #literal }
            }
            Err(_) => quote_spanned! { span => 0 },
        }
    }

    fn binary(&mut self, op: BinOp, lhs: &Expr, rhs: &Expr) -> TokenStream {
        let is_logic = matches!(op, BinOp::And | BinOp::Or);
        if !(op.is_comparison() || is_logic) || (self.is_scalar(lhs) && self.is_scalar(rhs)) {
            return self.operator(op, lhs, rhs);
        }
        let span = self.cx.source.operator_span(lhs.span, rhs.span);
        let name = word(rewritten(op), span);
        let (lhs, rhs) = (self.expr(lhs), self.expr(rhs));
        if is_logic {
            quote_spanned! { span => ::ccl_runtime::__rt::#name(#lhs, || #rhs) }
        } else {
            quote_spanned! { span => ::ccl_runtime::__rt::#name(#lhs, #rhs) }
        }
    }

    /// An operator that stays.
    fn operator(&mut self, op: BinOp, lhs: &Expr, rhs: &Expr) -> TokenStream {
        let span = self.cx.source.operator_span(lhs.span, rhs.span);
        let (lhs, rhs) = (self.operand(lhs), self.operand(rhs));
        let mut tokens = TokenStream::from_str(op.word()).unwrap_or_default();
        tokens = tokens
            .into_iter()
            .map(|mut token| {
                token.set_span(span);
                token
            })
            .collect();
        quote! { #lhs #tokens #rhs }
    }

    fn if_value(&mut self, value: &Expr, cond: &Expr, then: &Block, otherwise: Option<&Expr>) -> TokenStream {
        let glue = self.cx.glue(value.span);
        let (is_scalar, at) = (self.is_scalar(cond), self.cx.user(cond.span));
        let cond = self.whole(cond);
        let then = self.block(then);
        let otherwise = match otherwise {
            Some(Expr { kind: ExprKind::Block(block), .. }) => self.block(block),
            Some(branch) => {
                let branch = self.whole(branch);
                quote_spanned! { glue => { #branch } }
            }
            None => quote_spanned! { glue => {} },
        };
        if is_scalar {
            let word = word("if", self.cx.user(value.span));
            return quote_spanned! { glue => #word #cond #then else #otherwise };
        }
        let condition = quote_spanned! { at => ::ccl_runtime::__rt::branch(#cond) };
        let joined = {
            let at = self.cx.user(value.span);
            let names = [word("__ccl_b", glue), word("__ccl_t", glue), word("__ccl_e", glue)];
            quote_spanned! { at => ::ccl_runtime::__rt::join(#(#names),*) }
        };
        quote_spanned! { glue => {
            let __ccl_b = #condition;
            let __ccl_t = match ::ccl_runtime::__rt::Branch::then_value(&__ccl_b) {
                Some(__ccl_m) => Some(#then),
                None => None,
            };
            let __ccl_e = match ::ccl_runtime::__rt::Branch::else_value(&__ccl_b) {
                Some(__ccl_m) => Some(#otherwise),
                None => None,
            };
            #joined
        } }
    }

    // ---- what the checks know ----

    fn type_of(&self, value: &Expr) -> Option<&Type> {
        self.cx.checked.types.of(value.id)
    }

    /// Whether it is one value in the control unit for certain.
    pub(super) fn is_scalar(&self, value: &Expr) -> bool {
        self.is_const || matches!(self.type_of(value), Some(Type::Scalar(_)))
    }

    /// Whether a method takes it by value.
    fn is_value(&self, value: &Expr) -> bool {
        matches!(self.type_of(value), Some(Type::Scalar(_) | Type::Pe(_) | Type::Acc(_)))
    }

    /// Whether it names a variable or a part of one.
    fn is_variable(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Path(path) => match self.cx.checked.names.of(path) {
                Some(Def::Local(id) | Def::Param(id)) => self.variables.contains(&id.0),
                _ => false,
            },
            ExprKind::Index { base, .. } | ExprKind::Field { base, .. } => self.is_variable(base),
            _ => false,
        }
    }

    fn is_copied(&self, value: &Expr) -> bool {
        fn copied(ty: &Type) -> bool {
            match ty {
                Type::Scalar(_) | Type::Pe(_) | Type::Lrm(..) | Type::Acc(_) => true,
                Type::Array(of, _) => copied(of),
                Type::Tuple(of) => of.iter().all(copied),
                _ => false,
            }
        }
        let is_range =
            matches!(&value.kind, ExprKind::Index { index, .. } if matches!(index.kind, ExprKind::Range { .. }));
        !is_range && self.type_of(value).is_some_and(copied)
    }
}

const fn rewritten(op: BinOp) -> &'static str {
    match op {
        BinOp::Or => "or",
        BinOp::And => "and",
        BinOp::Eq => "eq",
        BinOp::Ne => "ne",
        BinOp::Lt => "lt",
        BinOp::Le => "le",
        BinOp::Gt => "gt",
        _ => "ge",
    }
}
