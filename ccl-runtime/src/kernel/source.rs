//! Where a kernel comes from: the tree of its `ccl!` block, and the blocks of the functions that it calls.

use super::signature::Signature;

/// One `ccl! { .. }` as the macro leaves it behind.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    module_path: &'static str,
    ast: &'static [u8],
    links: &'static [Link],
}

/// A function of another block that a block calls.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The path as the caller writes it, without generic arguments; an alias where it is imported under one.
    pub path: &'static str,
    /// The name of the function in its own block.
    pub function: &'static str,
    /// Its block.
    pub source: fn() -> &'static Source,
}

/// The type that stands beside every `fn` of a `ccl!` block and has its name, so that `use` brings both.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no function of a `ccl!` block",
    label = "kernels call functions of `ccl!` blocks only",
    note = "put the function into a `ccl! {{ .. }}` of its own module"
)]
pub trait Linked {
    /// What the function takes and returns, as written.
    const SIGNATURE: Signature;
    /// The block in which it stands.
    fn source() -> &'static Source;
}

/// A function that fills a slot: `#[stub(slot)]`. The macro implements it for the function's type once it has compared the
/// signatures.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fill the slot `{Slot}`",
    note = "write `#[stub(..)]` with the slot's path above the function"
)]
pub trait Fills<Slot: Linked>: Linked {}

impl Source {
    /// For the macro.
    #[doc(hidden)]
    pub const fn new(module_path: &'static str, ast: &'static [u8], links: &'static [Link]) -> Self {
        Self { module_path, ast, links }
    }

    /// The module in which the block stands.
    pub const fn module_path(&self) -> &'static str {
        self.module_path
    }

    /// The tree of the block, for `ccl_syntax::decode`.
    pub const fn ast(&self) -> &'static [u8] {
        self.ast
    }

    /// The functions of other blocks that it calls.
    pub const fn links(&self) -> &'static [Link] {
        self.links
    }

    /// The function of another block that is called as `path`.
    pub fn link(&self, path: &str) -> Option<&'static Link> {
        self.links.iter().find(|link| link.path == path)
    }
}

impl Link {
    /// For the macro.
    #[doc(hidden)]
    pub const fn of<L: Linked>(path: &'static str) -> Self {
        Self { path, function: L::SIGNATURE.name, source: L::source }
    }
}
