//! The entry points of `ccl!` for the compiler. Tokens in, tokens out: everything else is in `ccl-syntax`, where ordinary tests
//! reach it. Use it through `ccl_runtime`, to which its expansion refers.

use proc_macro::TokenStream;

/// Kernels: `ccl! { .. }`. `ccl_runtime` documents the language.
#[proc_macro]
pub fn ccl(tokens: TokenStream) -> TokenStream {
    ccl_syntax::expand(tokens.into()).into()
}

/// Kernels in a module: `#[ccl] mod kernels { .. }`, which expands as `mod kernels { ccl! { .. } }` does.
#[proc_macro_attribute]
pub fn ccl_module(_: TokenStream, tokens: TokenStream) -> TokenStream {
    ccl_syntax::expand_mod(tokens.into()).into()
}
