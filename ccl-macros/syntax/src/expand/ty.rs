//! Types, paths and generic arguments: names of the language get their full paths, everything else stays.

use proc_macro2::{Span as CompilerSpan, TokenStream};
use quote::{quote, quote_spanned};

use super::{Cx, word};
use crate::ast::*;
use crate::builtins::BuiltinKind;
use crate::check::Def;

impl Cx<'_> {
    pub(super) fn ty(&self, ty: &Ty) -> TokenStream {
        let span = self.user(ty.span);
        match &ty.kind {
            TyKind::Path(path) => self.path(path, false),
            TyKind::Ref { mutable, target } => {
                let (mutable, target) = (mutable.then(|| word("mut", span)), self.ty(target));
                quote_spanned! { span => & #mutable #target }
            }
            TyKind::Array { elem, len } => {
                let (elem, len) = (self.ty(elem), self.const_expr(len));
                quote_spanned! { span => [ #elem ; #len ] }
            }
            TyKind::Tuple(elems) => {
                let elems = elems.iter().map(|elem| self.ty(elem));
                quote_spanned! { span => ( #(#elems,)* ) }
            }
        }
    }

    /// A path; `turbofish` where it stands in an expression.
    pub(super) fn path(&self, path: &Path, turbofish: bool) -> TokenStream {
        let first = self.user(path.segments[0].name.span);
        let mut out = match self.checked.names.of(path) {
            Some(Def::Builtin(builtin)) if builtin.kind == BuiltinKind::Constant && is_extent(builtin.name) => {
                let name = word(&builtin.name.to_ascii_lowercase(), first);
                return quote_spanned! { first => ::ccl_runtime::__rt::#name() };
            }
            Some(Def::Builtin(builtin)) if builtin.kind != BuiltinKind::Scalar => self.prelude(first),
            _ => TokenStream::new(),
        };
        for (i, segment) in path.segments.iter().enumerate() {
            let name = self.ident(&segment.name);
            let span = name.span();
            let colons = (i > 0).then(|| quote_spanned! { span => :: });
            let args = self.generic_args(&segment.args, turbofish, span);
            out.extend(quote! { #colons #name #args });
        }
        out
    }

    /// The path of a function of the block or of another one as a type: without arguments, which the type has not.
    pub(super) fn type_of_fn(&self, path: &Path) -> TokenStream {
        if let [segment] = path.segments.as_slice()
            && self.module.fns().any(|(_, f)| f.name.name.name == segment.name.name)
        {
            return self.own_type(&segment.name);
        }
        let mut out = TokenStream::new();
        for (i, segment) in path.segments.iter().enumerate() {
            let name = self.ident(&segment.name);
            let colons = (i > 0).then(|| quote_spanned! { name.span() => :: });
            out.extend(quote! { #colons #name });
        }
        out
    }

    fn prelude(&self, span: CompilerSpan) -> TokenStream {
        quote_spanned! { span => ::ccl_runtime::prelude:: }
    }

    pub(super) fn generic_args(&self, args: &[GenericArg], turbofish: bool, span: CompilerSpan) -> TokenStream {
        if args.is_empty() {
            return TokenStream::new();
        }
        let colons = turbofish.then(|| quote_spanned! { span => :: });
        let args = args.iter().map(|arg| match arg {
            GenericArg::Ty(ty) => self.ty(ty),
            GenericArg::Infer(span) => {
                let underscore = word("_", self.user(*span));
                quote! { #underscore }
            }
            GenericArg::Const(value) => {
                let (at, tokens) = (self.user(value.span), self.const_expr(value));
                if crate::print::is_bare_arg(value) {
                    tokens
                } else {
                    quote_spanned! { at => { #tokens } }
                }
            }
        });
        quote_spanned! { span => #colons < #(#args),* > }
    }

    /// `<const A: usize, const B: usize>`.
    pub(super) fn generic_params(&self, function: &Fn) -> TokenStream {
        if function.generics.is_empty() {
            return TokenStream::new();
        }
        let params = function.generics.iter().map(|param| {
            let (name, ty) = (self.ident(&param.name.name), self.ty(&param.ty));
            quote_spanned! { name.span() => const #name: #ty }
        });
        quote! { < #(#params),* > }
    }

    /// `::<A, B>`.
    pub(super) fn generic_params_as_args(&self, function: &Fn) -> TokenStream {
        if function.generics.is_empty() {
            return TokenStream::new();
        }
        let names = function.generics.iter().map(|param| self.ident(&param.name.name));
        quote! { ::< #(#names),* > }
    }
}

/// The extents of the array, which are known in a session only.
fn is_extent(name: &str) -> bool {
    matches!(name, "ROWS" | "COLS")
}
