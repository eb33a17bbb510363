//! What the macro emits: for each function the native body and, beside it, a type of the same name that leads to the tree of the
//! block and to the function's signature; for each kernel its parameters and entries; for each instance a constant and its
//! checks. What it says about faults is a `compile_error!` at the user's token.
//!
//! Rewrites are the table of `ccl_runtime::__rt`. Tokens of the user keep their spans, so that what rustc says falls on them.
//! `item.rs` has functions, constants and imports, `ty.rs` types and paths, `body.rs` statements, `expr.rs` expressions,
//! `linked.rs` the type beside a function, `kernel.rs` what kernels have in addition, `reference.rs` what they are compared with,
//! `instance.rs` instances.
//!
//! A function with a finding keeps its signature, so that nothing else breaks, and loses its body but for rust-analyzer, which
//! completes in it. One whose signature has a finding is dropped.

mod body;
mod expr;
mod instance;
mod item;
mod kernel;
mod linked;
mod reference;
mod ty;

use proc_macro2::{Delimiter, Ident, Literal, Span as CompilerSpan, TokenStream, TokenTree};
use quote::quote;

use crate::ast::*;
use crate::check::{Checked, check};
use crate::code::Code;
use crate::diag::{Diag, Diags};
use crate::parse_tokens;
use crate::source::{Source, Span};

/// Expands the body of `ccl! { .. }`: nothing for nothing, a `compile_error!` at the user's token for each finding, and what is
/// sound as native Rust.
pub fn expand(tokens: TokenStream) -> TokenStream {
    let mut diags = Diags::default();
    let (module, source) = parse_tokens(tokens, &mut diags);
    let checked = check(&module, &mut diags);
    let measured = instance::measured(&module, &checked, &mut diags);
    let found = diags.take();
    let errors = found.iter().map(|diag| diag.to_compile_error(&source));
    let tree = crate::encode(&module);
    let cx = Cx { module: &module, source: &source, checked: &checked, found: &found, tree: &tree };
    let items = cx.items(&measured);
    quote! { #(#errors)* #items }
}

/// Expands `mod name { .. }` under `#[ccl]`: the module stays, its body is what [`expand`] makes of it.
pub fn expand_mod(tokens: TokenStream) -> TokenStream {
    let mut trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_mod = trees.iter().any(|tree| matches!(tree, TokenTree::Ident(word) if word == "mod"));
    let span = trees.first().map_or_else(CompilerSpan::call_site, TokenTree::span);
    match trees.last_mut() {
        Some(TokenTree::Group(group)) if is_mod && group.delimiter() == Delimiter::Brace => {
            let mut body = proc_macro2::Group::new(Delimiter::Brace, expand(group.stream()));
            body.set_span(group.span());
            *group = body;
            trees.into_iter().collect()
        }
        _ => {
            let message =
                format!("`#[ccl]` stands on a module with a body: `#[ccl] mod kernels {{ .. }}` [{}]", Code::Expected);
            quote::quote_spanned! { span => ::core::compile_error! { #message } }
        }
    }
}

/// What all of the expansion knows.
#[derive(Clone, Copy)]
struct Cx<'a> {
    module: &'a Module,
    source: &'a Source,
    checked: &'a Checked,
    found: &'a [Diag],
    /// The module, encoded.
    tree: &'a [u8],
}

/// What may be emitted of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Sound,
    /// The body has findings.
    BrokenBody,
    /// The signature has.
    BrokenSignature,
}

impl Cx<'_> {
    /// The user's own span: for what rustc may complain about.
    fn user(&self, span: Span) -> CompilerSpan {
        self.source.compiler_spans(span).0
    }
    /// The span of what no user has written: placed there, with names of its own.
    fn glue(&self, span: Span) -> CompilerSpan {
        self.user(span).resolved_at(CompilerSpan::mixed_site())
    }
    fn ident(&self, ident: &crate::ast::Ident) -> Ident {
        word(&ident.name, self.user(ident.span))
    }
    fn string(&self, text: &str, span: Span) -> Literal {
        let mut literal = Literal::string(text);
        literal.set_span(self.user(span));
        literal
    }

    fn health(&self, item: &Item, function: &Fn) -> Health {
        let body = function.body.span.start;
        let inside = self.found.iter().filter(|d| item.span.start <= d.span.start && d.span.start < item.span.end);
        let (mut health, mut unknown) = (Health::Sound, false);
        for diag in inside {
            // What is said at an output that nothing writes is about the body.
            let is_signature = diag.span.start < body && diag.code != Code::NeverWritten;
            health = if is_signature { Health::BrokenSignature } else { Health::BrokenBody };
            if health == Health::BrokenSignature {
                return health;
            }
        }
        crate::check::paths(&function.body, &mut |path| {
            unknown |= matches!(self.checked.names.of(path), Some(crate::check::Def::Unknown));
        });
        if unknown { Health::BrokenBody } else { health }
    }
}

/// An identifier or a keyword that begins a path.
fn word(name: &str, span: CompilerSpan) -> Ident {
    Ident::new(name, span)
}
