//! External memory.

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

/// Starts a copy from external to on-chip memory.
pub fn prefetch<T: Elem, L>(from: &Ext<T, L>, to: &mut Ocm<T, L>) -> Token {
    store::copy(from.view_ref().tensor, to.view_ref().tensor);
    Token(())
}

/// Starts a copy from on-chip to external memory.
pub fn write_back<T: Elem, L>(from: &Ocm<T, L>, to: &mut Ext<T, L>) -> Token {
    store::copy(from.view_ref().tensor, to.view_ref().tensor);
    Token(())
}

/// Waits for everything in flight.
pub fn drain() {}
