//! The type beside a function, which leads to the block and the signature, and the block itself.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, Ident, TokenStream};
use quote::{quote, quote_spanned};

use super::{Cx, Health, word};
use crate::ast::*;
use crate::check::Def;
use crate::print::print_ty_line;

impl Cx<'_> {
    /// The uninhabited type that has the name of the function. It is declared in modules of its own and imported by a glob, so that
    /// of two functions of one name rustc reports the functions alone. rustc's texts show the inner module: it has no tag.
    pub(super) fn linked(&self, item: &Item, function: &Fn) -> TokenStream {
        let (name, vis) = (self.ident(&function.name.name), self.vis(item));
        let (glue, signature) = (self.glue(function.name.name.span), self.signature(function));
        let (source, own) = (self.source_name(), self.own_type(&function.name.name));
        let (outer, inner) = self.modules_of_type(&function.name.name);
        let contracts = item.attrs.iter().filter_map(|attr| match &attr.kind {
            AttrKind::Overrides(path) => Some(self.contract(path, "Override", &own)),
            AttrKind::Stub(path) => {
                let (contract, of) = (self.contract(path, "Stub", &own), self.type_of_fn(path));
                let span = self.glue(path.span);
                Some(quote_spanned! { span => #contract impl ::ccl_runtime::kernel::Fills<#of> for #own {} })
            }
            _ => None,
        });
        quote_spanned! { glue =>
            #[doc(hidden)]
            mod #outer {
                pub mod #inner {
                    #[doc(hidden)]
                    #[allow(non_camel_case_types, dead_code, unreachable_pub, missing_docs, missing_debug_implementations,
                        reason = "it stands for a function")]
                    pub enum #name {}
                }
            }
            #[doc(hidden)]
            #[allow(unused_imports, ambiguous_glob_reexports, reason = "for other blocks")]
            #vis use #outer::#inner::*;
            impl ::ccl_runtime::kernel::Linked for #own {
                const SIGNATURE: ::ccl_runtime::kernel::Signature = #signature;
                fn source() -> &'static ::ccl_runtime::kernel::Source {
                    &#source
                }
            }
            #(#contracts)*
        }
    }

    /// `__ccl_name_tag`, since other blocks may have a function of the name, and `ccl_name`.
    fn modules_of_type(&self, name: &crate::ast::Ident) -> (Ident, Ident) {
        let span = self.glue(name.span);
        (word(&format!("__ccl_{}_{}", name.name, self.tag()), span), word(&format!("ccl_{}", name.name), span))
    }
    /// The type beside a function of the block that has this name.
    pub(super) fn own_type(&self, name: &crate::ast::Ident) -> TokenStream {
        let ((outer, inner), name) = (self.modules_of_type(name), self.ident(name));
        quote_spanned! { outer.span() => #outer::#inner::#name }
    }
    /// Tells the block from others of its module: the checksum of its tree with all places.
    fn tag(&self) -> String {
        self.tree.last_chunk().map_or_else(String::new, |sum: &[u8; 4]| format!("{:08x}", u32::from_le_bytes(*sum)))
    }

    /// Compares the signature with that of what it replaces.
    fn contract(&self, path: &Path, role: &str, name: &TokenStream) -> TokenStream {
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
            let ty = print_ty_line(ty);
            quote! { ::ccl_runtime::kernel::Field { name: #name, ty: #ty } }
        };
        let name = &function.name.name.name;
        let consts = function.generics.iter().map(|param| field(&param.name.name.name, &param.ty));
        let params = function.params.iter().map(|param| field(&param.name.name.name, &param.ty));
        let result = function.ret.as_ref().map_or_else(|| "()".into(), print_ty_line);
        quote! { ::ccl_runtime::kernel::Signature {
            name: #name,
            consts: &[#(#consts),*],
            params: &[#(#params),*],
            result: #result,
        } }
    }

    pub(super) fn source_name(&self) -> Ident {
        let span = self.module.items.first().map_or_else(proc_macro2::Span::call_site, |item| self.user(item.span));
        word(&format!("__CCL_SOURCE_{}", self.tag()), span)
    }

    /// The tree of the block.
    pub(super) fn block_source(&self) -> TokenStream {
        if !self.module.fns().any(|(item, function)| self.health(item, function) != Health::BrokenSignature) {
            return TokenStream::new();
        }
        let (name, tree) = (self.source_name(), proc_macro2::Literal::byte_string(self.tree));
        let links = self.links().into_iter().map(|(text, path)| {
            let (span, linked) = (self.user(path.span), self.type_of_fn(path));
            quote_spanned! { span => ::ccl_runtime::kernel::Link::of::<#linked>(#text) }
        });
        let glue = name.span().resolved_at(proc_macro2::Span::mixed_site());
        quote_spanned! { glue =>
            #[doc(hidden)]
            #[allow(non_upper_case_globals, dead_code, reason = "named after its tree")]
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
