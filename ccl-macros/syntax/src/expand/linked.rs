//! The type beside a function, which leads to the block and the signature, and the block itself.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Ident, TokenStream};
use quote::{quote, quote_spanned};

use super::{Cx, Health, word};
use crate::ast::*;
use crate::check::Def;

impl Cx<'_> {
    /// The uninhabited type that has the name of the function.
    pub(super) fn linked(&self, item: &Item, function: &Fn) -> TokenStream {
        let (name, vis) = (self.ident(&function.name.name), self.vis(item));
        let (glue, signature) = (self.glue(function.name.name.span), self.signature(function));
        let source = self.source_name();
        let contracts = item.attrs.iter().filter_map(|attr| match &attr.kind {
            AttrKind::Overrides(path) => Some(self.contract(path, "Override", &name)),
            AttrKind::Stub(path) => {
                let (contract, of) = (self.contract(path, "Stub", &name), self.type_of_fn(path));
                let span = self.glue(path.span);
                Some(quote_spanned! { span => #contract impl ::ccl_runtime::kernel::Fills<#of> for #name {} })
            }
            _ => None,
        });
        quote_spanned! { glue =>
            #[doc(hidden)]
            #[allow(non_camel_case_types, dead_code, missing_debug_implementations, reason = "it stands for a function")]
            #vis enum #name {}
            impl ::ccl_runtime::kernel::Linked for #name {
                const SIGNATURE: ::ccl_runtime::kernel::Signature = #signature;
                fn source() -> &'static ::ccl_runtime::kernel::Source {
                    &#source
                }
            }
            #(#contracts)*
        }
    }

    /// Compares the signature with that of what it replaces.
    fn contract(&self, path: &Path, role: &str, name: &Ident) -> TokenStream {
        let (span, last) = self.source.compiler_spans(path.span);
        let (role, of) = (word(role, span), self.type_of_fn(path));
        let linked = quote_spanned! { span => ::ccl_runtime::kernel::Linked };
        let args = quote_spanned! { span =>
            ::ccl_runtime::kernel::Role::#role, <#name as #linked>::SIGNATURE, <#of as #linked>::SIGNATURE
        };
        // rustc marks a call from its first token to its last.
        let mut args = Group::new(Delimiter::Parenthesis, args);
        args.set_span(last);
        quote_spanned! { span => const _: () = ::ccl_runtime::kernel::check_signature #args; }
    }

    fn signature(&self, function: &Fn) -> TokenStream {
        let field = |name: &str, ty: &Ty| {
            let ty = one_line(&crate::print::print_ty(ty));
            quote! { ::ccl_runtime::kernel::Field { name: #name, ty: #ty } }
        };
        let name = &function.name.name.name;
        let consts = function.generics.iter().map(|param| field(&param.name.name.name, &param.ty));
        let params = function.params.iter().map(|param| field(&param.name.name.name, &param.ty));
        let result = function.ret.as_ref().map_or_else(|| "()".into(), |ty| one_line(&crate::print::print_ty(ty)));
        quote! { ::ccl_runtime::kernel::Signature {
            name: #name,
            consts: &[#(#consts),*],
            params: &[#(#params),*],
            result: #result,
        } }
    }

    /// Functions of a module have names of their own, so that of the first one makes the block's name unique.
    pub(super) fn source_name(&self) -> Ident {
        let first = self.module.fns().next().map_or("", |(_, function)| function.name.name.name.as_str());
        let span = self.module.items.first().map_or_else(proc_macro2::Span::call_site, |item| self.user(item.span));
        word(&format!("__CCL_SOURCE_OF_{first}"), span)
    }

    /// The tree of the block.
    pub(super) fn block_source(&self) -> TokenStream {
        if !self.module.fns().any(|(item, function)| self.health(item, function) != Health::BrokenSignature) {
            return TokenStream::new();
        }
        let (name, tree) = (self.source_name(), crate::encode_literal(self.module));
        let links = self.links().into_iter().map(|(text, path)| {
            let (span, linked) = (self.user(path.span), self.type_of_fn(path));
            quote_spanned! { span => ::ccl_runtime::kernel::Link::of::<#linked>(#text) }
        });
        let glue = name.span().resolved_at(proc_macro2::Span::mixed_site());
        quote_spanned! { glue =>
            #[doc(hidden)]
            #[allow(non_upper_case_globals, dead_code, reason = "named after a function")]
            static #name: ::ccl_runtime::kernel::Source =
                ::ccl_runtime::kernel::Source::new(::core::module_path!(), #tree, &[#(#links),*]);
        }
    }

    /// The functions of other blocks that sound functions call, by their paths as written.
    fn links(&self) -> BTreeMap<String, &Path> {
        let mut links = BTreeMap::new();
        for (item, function) in self.module.fns() {
            if self.health(item, function) != Health::Sound {
                continue;
            }
            crate::check::exprs(&function.body, &mut |expr| {
                if let ExprKind::Call { callee, .. } = &expr.kind
                    && let Some(Def::Import(_) | Def::External) = self.checked.names.of(callee)
                {
                    links.entry(callee.text()).or_insert(callee);
                }
            });
        }
        links
    }
}

/// A printed type on one line, however long it is.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace("< ", "<").replace(", >", ">").replace("( ", "(").replace(", )", ")")
}
