//! External memory.

use crate::tensor::view::View;
use crate::tensor::{Ext, Ocm, store};
use crate::value::Elem;

/// A transfer between memories, or of a scatter, in flight.
#[derive(Clone, Copy, Debug)]
#[must_use = "the transfer is in flight until `.wait()` or `drain()`"]
pub struct Token(pub(crate) ());

impl Token {
    /// Waits until the transfer has landed.
    pub fn wait(self) {}
}

/// Copies a view to another of the same layout.
pub(crate) fn copy(from: &View, to: &View) {
    store::copy((from.tensor, from.bytes()), (to.tensor, to.bytes()));
}

/// Starts a copy from external to on-chip memory.
pub fn prefetch<T: Elem, L>(from: &Ext<T, L>, to: &mut Ocm<T, L>) -> Token {
    copy(from.view_ref(), to.view_ref());
    Token(())
}

/// Starts a copy from on-chip to external memory.
pub fn write_back<T: Elem, L>(from: &Ocm<T, L>, to: &mut Ext<T, L>) -> Token {
    copy(from.view_ref(), to.view_ref());
    Token(())
}

/// Waits for everything in flight.
pub fn drain() {}
