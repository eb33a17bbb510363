#![doc = include_str!("../README.md")]

pub mod source;

pub mod code;
pub mod diag;

pub mod ast;
pub mod builtins;
mod parse;
mod subset;

pub mod check;
pub mod eval;

mod encode;
mod expand;
mod print;

use proc_macro2::TokenStream;

pub use ast::Module;
pub use check::{Budget, Buffer, Most, Needs, Unmasked, check, check_budget, measure};
pub use code::errors_page;
pub use diag::{Code, Diag, Diags};
pub use encode::{DecodeError, VERSION, decode, encode};
pub use expand::{expand, expand_mod};
pub use parse::file::{File, FileBlock};
pub use parse::{MAX_DEPTH, MAX_HEIGHT};
pub use print::{print, print_expr, print_ty, print_ty_line};
pub use source::{Pos, Source, Span};
pub use subset::{ALLOWED, Allowed, Refused, RefusedInfo, subset_page};

/// Reads the body of a `ccl! { .. }`. Never fails: what cannot be read is in `diags` and is left out of the tree.
pub fn parse_tokens(tokens: TokenStream, diags: &mut Diags) -> (Module, Source) {
    let (tokens, source) = parse::token::from_stream(tokens);
    let mut module = Module { file: source.name.clone(), items: parse::items(&tokens, diags) };
    module.renumber();
    (module, source)
}

/// Reads items from text without a block around them.
pub fn parse_items(name: &str, text: &str, diags: &mut Diags) -> (Module, Source) {
    let source = Source::file(name, text);
    let lexed = parse::lex::lex(text, parse::lex::Text::Items, diags);
    let mut module = Module { file: source.name.clone(), items: parse::items(&lexed.tokens, diags) };
    module.renumber();
    (module, source)
}

/// Reads a `.rs` file with `ccl! { .. }` blocks and `#[ccl] mod`s in it.
pub fn parse_file(name: &str, text: &str, diags: &mut Diags) -> File {
    // A byte order mark is no part of the text.
    parse::file::file(name, text.strip_prefix('\u{feff}').unwrap_or(text), diags)
}
