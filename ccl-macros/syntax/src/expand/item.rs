//! Functions, constants, imports.

use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};

use super::body::Body;
use super::instance::Measured;
use super::{Cx, Health, word};
use crate::ast::*;
use crate::diag::Diags;
use crate::eval::{Evaluator, Value};
use crate::source::Span;

impl Cx<'_> {
    pub(super) fn items(&self, measured: &[Measured]) -> TokenStream {
        let mut out = TokenStream::new();
        for item in &self.module.items {
            out.extend(match &item.kind {
                ItemKind::Const { name, ty, value } => match item.instance_target() {
                    Some(target) => self.instance(item, name, value, target, measured),
                    None if crate::check::is_kernel(ty) => TokenStream::new(),
                    None => self.constant(item, name, ty, value),
                },
                ItemKind::Fn(function) => self.function(item, function),
                ItemKind::Use(tree) => self.import(item, tree),
                ItemKind::Broken { .. } => TokenStream::new(),
            });
        }
        out.extend(self.block_source());
        out
    }

    // ---- what items share ----

    pub(super) fn vis(&self, item: &Item) -> TokenStream {
        // What rustc says of an item begins here; the item itself begins at its attributes.
        let span = self.user(item.name().map_or(item.span, |name| name.name.span));
        let public = word("pub", span);
        match item.vis {
            Vis::Private => TokenStream::new(),
            Vis::Public => quote! { #public },
            Vis::Crate => quote_spanned! { span => #public(crate) },
            Vis::Super => quote_spanned! { span => #public(super) },
        }
    }

    pub(super) fn docs(&self, item: &Item) -> TokenStream {
        let lines = item.attrs.iter().filter_map(|attr| match &attr.kind {
            AttrKind::Doc(text) => {
                let (span, text) = (self.user(attr.span), self.string(text, attr.span));
                Some(quote_spanned! { span => #[doc = #text] })
            }
            _ => None,
        });
        quote! { #(#lines)* }
    }

    // ---- imports ----

    fn import(&self, item: &Item, tree: &UseTree) -> TokenStream {
        let (vis, tree, span) = (self.vis(item), self.use_tree(tree), self.user(item.span));
        quote_spanned! { span => #vis use #tree; }
    }

    fn use_tree(&self, tree: &UseTree) -> TokenStream {
        let prefix = tree.prefix.iter().map(|name| {
            let name = self.ident(name);
            quote_spanned! { name.span() => #name:: }
        });
        let end = match &tree.end {
            UseEnd::Name { name, alias, .. } => {
                let name = self.ident(name);
                let alias = alias.as_ref().map(|alias| {
                    let alias = self.ident(alias);
                    quote_spanned! { alias.span() => as #alias }
                });
                quote! { #name #alias }
            }
            UseEnd::Group(trees) => {
                let trees = trees.iter().map(|tree| self.use_tree(tree));
                quote! { { #(#trees),* } }
            }
        };
        quote! { #(#prefix)* #end }
    }

    // ---- constants ----

    fn constant(&self, item: &Item, name: &Binding, ty: &Ty, value: &Expr) -> TokenStream {
        let (docs, vis) = (self.docs(item), self.vis(item));
        let value = if is_plain(value) && !self.has_findings(item.span) {
            self.const_expr(value)
        } else {
            let mut said = Diags::default();
            let evaluated = Evaluator::new(self.module, &mut said).constant(&name.name.name);
            said.take();
            match evaluated {
                Some(Ok(known)) => self.value(&known, value.span),
                // What the front end refuses is reported; what it does not know, rustc may.
                _ if self.has_findings(item.span) => return TokenStream::new(),
                _ => self.const_expr(value),
            }
        };
        let (name, ty, span) = (self.ident(&name.name), self.ty(ty), self.user(item.span));
        quote_spanned! { span => #docs #vis const #name: #ty = #value; }
    }

    pub(super) fn has_findings(&self, span: Span) -> bool {
        self.found.iter().any(|d| span.start <= d.span.start && d.span.start < span.end)
    }

    fn value(&self, value: &Value, span: Span) -> TokenStream {
        let at = self.user(span);
        match value {
            Value::Int { value, .. } => {
                let minus = (*value < 0).then(|| quote_spanned! { at => - });
                let mut literal = Literal::u128_unsuffixed(value.unsigned_abs());
                literal.set_span(at);
                quote! { #minus #literal }
            }
            Value::Bool(value) => {
                let value = word(if *value { "true" } else { "false" }, at);
                quote! { #value }
            }
            Value::Array(elems) => {
                let elems = elems.iter().map(|elem| self.value(elem, span));
                quote_spanned! { at => [ #(#elems),* ] }
            }
        }
    }

    // ---- functions ----

    fn function(&self, item: &Item, function: &Fn) -> TokenStream {
        let health = self.health(item, function);
        if health == Health::BrokenSignature {
            return TokenStream::new();
        }
        let (docs, vis, span) = (self.docs(item), self.vis(item), self.user(function.name.name.span));
        let (name, generics) = (self.ident(&function.name.name), self.generic_params(function));
        let params = function.params.iter().map(|param| {
            let (name, ty) = (self.ident(&param.name.name), self.ty(&param.ty));
            quote_spanned! { name.span() => #name: #ty }
        });
        let result = function.ret.as_ref().map(|ty| {
            let (at, ty) = (self.user(ty.span), self.ty(ty));
            quote_spanned! { at => -> #ty }
        });
        let inline = item.attrs.iter().find(|attr| matches!(attr.kind, AttrKind::Inline)).map(|attr| {
            let at = self.user(attr.span);
            quote_spanned! { at => #[inline] }
        });
        let body = Body::new(*self).function(function);
        let glue = self.glue(function.body.span);
        let body = match health {
            // Only an editor sees a body with findings: rustc would repeat them in its own words.
            Health::BrokenBody => quote_spanned! { glue => {
                #[cfg(not(rust_analyzer))]
                return ::ccl_runtime::__rt::broken();
                #[cfg(rust_analyzer)]
                #body
            } },
            _ => body,
        };
        let allow = self.allow(health, span);
        let linked = self.linked(item, function);
        let params = quote! { ( #(#params),* ) #result };
        if !item.is_kernel() {
            return quote_spanned! { span => #docs #inline #allow #vis fn #name #generics #params #body #linked };
        }
        // The entries of a kernel call the function of their own block, whatever else has its name.
        let (own, kernel) = (self.own_type(&function.name.name), self.kernel(item, function, health));
        let args = self.generic_params_as_args(function);
        let values = function.params.iter().map(|param| self.ident(&param.name.name));
        quote_spanned! { span =>
            #docs #inline #[allow(clippy::all, dead_code, unused_qualifications, reason = "instances call what it calls")]
            #vis fn #name #generics #params { #own::__body #args ( #(#values),* ) }
            #linked
            impl #own {
                #[doc(hidden)] #inline #allow
                pub fn __body #generics #params #body
            }
            #kernel
        }
    }

    /// What lints say of rewritten text is not about the user's.
    fn allow(&self, health: Health, span: proc_macro2::Span) -> TokenStream {
        let broken = (health != Health::Sound)
            .then(|| quote_spanned! { span => #[allow(unused, unexpected_cfgs, reason = "the body has errors")] });
        quote_spanned! { span =>
            #[allow(clippy::all, unused_parens, unused_braces, unused_qualifications, reason = "rewritten by `ccl!`")]
            #broken
        }
    }
}

/// Whether rustc evaluates it as it stands: the functions of the language are not all `const`.
fn is_plain(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Lit(_) | ExprKind::Path(_) => true,
        ExprKind::Unary { arg: of, .. } | ExprKind::Cast { value: of, .. } => is_plain(of),
        ExprKind::Binary { lhs, rhs, .. } => is_plain(lhs) && is_plain(rhs),
        ExprKind::Array(of) | ExprKind::Tuple(of) => of.iter().all(is_plain),
        ExprKind::Repeat { value, len } => is_plain(value) && is_plain(len),
        ExprKind::Index { base, index } => is_plain(base) && is_plain(index),
        _ => false,
    }
}
