//! Bodies: blocks and statements.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use super::{Cx, word};
use crate::ast::*;
use crate::check::types::Type;

/// The body of a function while it is emitted.
pub(super) struct Body<'a> {
    pub(super) cx: Cx<'a>,
    /// Variables that may be assigned.
    pub(super) variables: HashSet<u32>,
    /// Whether the expression at hand may assign while it is computed, so that variables are read where they stand.
    pub(super) assigns: bool,
    /// Whether it is a constant rather than a body: nothing of it is a value of a PE.
    pub(super) is_const: bool,
}

impl<'a> Body<'a> {
    pub(super) fn new(cx: Cx<'a>) -> Self {
        Self { cx, variables: HashSet::new(), assigns: false, is_const: false }
    }

    pub(super) fn function(&mut self, function: &Fn) -> TokenStream {
        let glue = self.cx.glue(function.body.span);
        // References are no values of their own.
        let by_value = function.params.iter().filter(|param| !matches!(param.ty.kind, TyKind::Ref { .. }));
        let bound: TokenStream = by_value.map(|param| self.parameter(param)).collect();
        function.params.iter().filter(|param| param.mutable).for_each(|param| {
            self.variables.insert(param.name.id.0);
        });
        let (stmts, tail) = self.contents(&function.body);
        let tail = tail.map(|tail| quote_spanned! { glue => __ccl_f.leave(#tail) });
        quote_spanned! { glue => {
            #[allow(unused_imports, reason = "methods that a body may not call")]
            use ::ccl_runtime::__rt::methods::*;
            let __ccl_f = ::ccl_runtime::__rt::scope();
            #bound
            #stmts
            #tail
        } }
    }

    fn parameter(&self, param: &Param) -> TokenStream {
        let name = self.cx.ident(&param.name.name);
        let span = name.span();
        let (mutable, bind) =
            if param.mutable { (Some(word("mut", span)), word("var", span)) } else { (None, word("bind", span)) };
        quote_spanned! { span => let #mutable #name = ::ccl_runtime::__rt::#bind(#name); }
    }

    /// Statements and value of a block, without a scope around them.
    fn contents(&mut self, block: &Block) -> (TokenStream, Option<TokenStream>) {
        let stmts = block.stmts.iter().map(|stmt| self.stmt(stmt)).collect();
        let tail = block.tail.as_ref().map(|tail| self.whole(tail));
        (stmts, tail)
    }

    /// `{ scope; .. }`.
    pub(super) fn block(&mut self, block: &Block) -> TokenStream {
        let glue = self.cx.glue(block.span);
        let (stmts, tail) = self.contents(block);
        if self.is_const {
            return quote_spanned! { glue => { #stmts #tail } };
        }
        let tail = tail.map(|tail| quote_spanned! { glue => __ccl_s.leave(#tail) });
        quote_spanned! { glue => { let __ccl_s = ::ccl_runtime::__rt::scope(); #stmts #tail } }
    }

    /// An expression that is no part of another.
    pub(super) fn whole(&mut self, value: &Expr) -> TokenStream {
        let outer = std::mem::replace(&mut self.assigns, may_assign(value));
        let out = self.expr(value);
        self.assigns = outer;
        out
    }

    fn stmt(&mut self, stmt: &Stmt) -> TokenStream {
        let span = self.cx.user(stmt.span);
        match &stmt.kind {
            StmtKind::Let { pattern, ty, value } => self.let_stmt(pattern, ty.as_ref(), value, span),
            StmtKind::Assign { op, place, value } => self.assign(*op, place, value),
            StmtKind::Expr(value) => self.expr_stmt(value),
            StmtKind::For { pattern, iter, body } => {
                let iter = self.whole(iter);
                let pattern = self.pattern(pattern);
                let body = self.block(body);
                quote_spanned! { span => for #pattern in #iter #body }
            }
            StmtKind::While { cond, body } => self.while_stmt(stmt, cond, body),
            StmtKind::Return(None) => quote_spanned! { span => return; },
            StmtKind::Return(Some(value)) => {
                let (value, name) = (self.whole(value), word("__ccl_f", self.cx.glue(stmt.span)));
                // The scope is that of the function's body, whose names are glue.
                quote_spanned! { span => return #name.leave(#value); }
            }
            StmtKind::Break => quote_spanned! { span => break; },
            StmtKind::Continue => quote_spanned! { span => continue; },
            StmtKind::Probe(values) => {
                let probes = values.iter().map(|value| {
                    let text = self.cx.string(&crate::print::print_expr(value), value.span);
                    let value = self.place(value);
                    quote_spanned! { span => ::ccl_runtime::__rt::probe(#text, &#value); }
                });
                probes.collect()
            }
            StmtKind::Assert { cond, text } => {
                let text = text.clone().unwrap_or_else(|| crate::print::print_expr(cond));
                let (text, cond) = (self.cx.string(&text, cond.span), self.whole(cond));
                quote_spanned! { span => ::ccl_runtime::__rt::assert(#cond, #text); }
            }
            StmtKind::Broken { .. } => TokenStream::new(),
        }
    }

    fn let_stmt(&mut self, pattern: &Pattern, ty: Option<&Ty>, value: &Expr, span: proc_macro2::Span) -> TokenStream {
        let is_variable = pattern.locals().iter().any(|local| local.mutable);
        let at = self.cx.user(value.span);
        let bind = word(if is_variable { "var" } else { "bind" }, at);
        let mut value = self.whole(value);
        if !matches!(pattern, Pattern::Ignore(_)) {
            value = quote_spanned! { at => ::ccl_runtime::__rt::#bind(#value) };
        }
        let ty = ty.map(|ty| {
            let ty = self.cx.ty(ty);
            quote_spanned! { span => : #ty }
        });
        let pattern = self.pattern(pattern);
        quote_spanned! { span => let #pattern #ty = #value; }
    }

    fn pattern(&mut self, pattern: &Pattern) -> TokenStream {
        let locals = pattern.locals().iter().map(|local| {
            let name = self.cx.ident(&local.name.name);
            if local.mutable {
                self.variables.insert(local.name.id.0);
            }
            let mutable = local.mutable.then(|| word("mut", name.span()));
            quote! { #mutable #name }
        });
        match pattern {
            Pattern::Name(_) => quote! { #(#locals)* },
            Pattern::Tuple(_) => quote! { ( #(#locals,)* ) },
            Pattern::Ignore(span) => {
                let underscore = word("_", self.cx.user(*span));
                quote! { #underscore }
            }
        }
    }

    fn assign(&mut self, op: Option<BinOp>, place: &Expr, value: &Expr) -> TokenStream {
        let span = self.cx.source.operator_span(place.span, value.span);
        let is_range =
            matches!(&place.kind, ExprKind::Index { index, .. } if matches!(index.kind, ExprKind::Range { .. }));
        let name = match op {
            None if is_range => "assign_range",
            None => "assign",
            Some(op) => assign_fn(op),
        };
        let name = word(name, span);
        let value = self.whole(value);
        let place = self.place(place);
        quote_spanned! { span => ::ccl_runtime::__rt::#name(#value, &mut #place); }
    }

    /// An expression as a statement: its value, if it has one, is dropped.
    fn expr_stmt(&mut self, value: &Expr) -> TokenStream {
        match &value.kind {
            ExprKind::If { .. } if !self.has_value(value) => self.if_stmt(value),
            ExprKind::Block(block) if block.tail.is_none() => self.block(block),
            _ => {
                let (span, value) = (self.cx.glue(value.span), self.whole(value));
                quote_spanned! { span => #value; }
            }
        }
    }

    /// Whether it has a value that is more than `()`.
    pub(super) fn has_value(&self, value: &Expr) -> bool {
        value.is_block_value() && !matches!(self.cx.checked.types.of(value.id), Some(Type::Tuple(of)) if of.is_empty())
    }

    /// `if` under a mask.
    pub(super) fn if_stmt(&mut self, value: &Expr) -> TokenStream {
        let ExprKind::If { cond, then, otherwise } = &value.kind else {
            return self.arm_stmt(value);
        };
        let glue = self.cx.glue(value.span);
        let (is_scalar, at) = (self.is_scalar(cond), self.cx.user(cond.span));
        let cond = self.whole(cond);
        let then = self.block(then);
        let otherwise = otherwise.as_ref().map(|branch| self.if_stmt(branch));
        if is_scalar {
            let otherwise = otherwise.map(|branch| quote_spanned! { glue => else { #branch } });
            let word = word("if", self.cx.user(value.span));
            return quote_spanned! { glue => #word #cond #then #otherwise };
        }
        let condition = quote_spanned! { at => ::ccl_runtime::__rt::branch(#cond) };
        let otherwise = otherwise.map(|branch| {
            quote_spanned! { glue =>
                if let Some(__ccl_m) = ::ccl_runtime::__rt::Branch::else_arm(&__ccl_b) { #branch }
            }
        });
        quote_spanned! { glue => {
            let __ccl_b = #condition;
            if let Some(__ccl_m) = ::ccl_runtime::__rt::Branch::then_arm(&__ccl_b) #then
            #otherwise
        } }
    }

    fn arm_stmt(&mut self, value: &Expr) -> TokenStream {
        match &value.kind {
            ExprKind::Block(block) => self.block(block),
            _ => self.whole(value),
        }
    }

    fn while_stmt(&mut self, stmt: &Stmt, cond: &Expr, body: &Block) -> TokenStream {
        let glue = self.cx.glue(stmt.span);
        let bound = stmt.attrs.iter().find_map(|attr| match &attr.kind {
            AttrKind::Bound(trips) => Some(self.cx.const_expr(trips)),
            _ => None,
        });
        let bound = bound.unwrap_or_else(|| quote_spanned! { glue => 0 });
        let at = self.cx.user(cond.span);
        let cond = self.whole(cond);
        let state = word("__ccl_w", glue);
        let step = quote_spanned! { at => #state.step(#cond) };
        let body = self.block(body);
        quote_spanned! { glue => {
            let mut #state = ::ccl_runtime::__rt::while_loop(#bound);
            while let Some(__ccl_m) = { let __ccl_s = ::ccl_runtime::__rt::scope(); #step } #body
        } }
    }
}

const fn assign_fn(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "add_assign",
        BinOp::Sub => "sub_assign",
        BinOp::Mul => "mul_assign",
        BinOp::Div => "div_assign",
        BinOp::Rem => "rem_assign",
        BinOp::BitAnd => "bitand_assign",
        BinOp::BitOr => "bitor_assign",
        BinOp::BitXor => "bitxor_assign",
        BinOp::Shl => "shl_assign",
        BinOp::Shr => "shr_assign",
        // The grammar has no others.
        _ => "assign",
    }
}

/// Whether computing it may assign a variable: it holds a block, an `if` or a `&mut`.
fn may_assign(value: &Expr) -> bool {
    let mut found = false;
    crate::check::sub_exprs(value, &mut |e| {
        found |= matches!(e.kind, ExprKind::Block(_) | ExprKind::If { .. } | ExprKind::Ref { mutable: true, .. });
    });
    found
}
