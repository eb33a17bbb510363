//! What the macro emits. For now the diagnostics; the native body, the encoded tree, the signature and the checks of each
//! instance follow when types are known.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::check::check;
use crate::code::Code;
use crate::diag::Diags;
use crate::parse_tokens;

/// Expands the body of `ccl! { .. }`: nothing for nothing, a `compile_error!` at the user's token for each finding.
pub fn expand(tokens: TokenStream) -> TokenStream {
    let mut diags = Diags::default();
    let (module, source) = parse_tokens(tokens, &mut diags);
    check(&module, &mut diags);
    diags.to_compile_errors(&source)
}

/// Expands `mod name { .. }` under `#[ccl]`: the module stays, its body is what [`expand`] makes of it.
pub fn expand_mod(tokens: TokenStream) -> TokenStream {
    let mut trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_mod = trees.iter().any(|tree| matches!(tree, TokenTree::Ident(word) if word == "mod"));
    let span = trees.first().map_or_else(proc_macro2::Span::call_site, TokenTree::span);
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
