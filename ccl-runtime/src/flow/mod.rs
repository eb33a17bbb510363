//! Transfers: walks over tiles and flows in and out of the array, broadcast streams, random access, DMA.
//!
//! Natively a transfer happens when it is started. On the machine it is in flight until a wait; the rule that nobody touches what
//! is in flight makes both the same. Flows, streams and neighbour shifts take no notice of masks (the front end refuses them under a
//! condition of each PE); random access does, as the machine's.

pub(crate) mod dma;
mod random;
mod stream;
mod tile;
mod walk;

pub use dma::{Token, drain, prefetch, write_back};
pub use stream::{Broadcast, Weights, broadcast};
pub(crate) use tile::Transfer;
pub use tile::{Landing, Leaving, Tile};
pub use walk::{Tiles, Walk};

use crate::value::Value;

/// A transfer in flight; its value is readable once it has landed.
#[derive(Clone, Copy, Debug)]
#[must_use = "a flow lands at `.wait()`"]
pub struct Flow<T>(T);

impl<T> Flow<T> {
    pub(crate) const fn of(value: T) -> Self {
        Self(value)
    }

    /// Waits until the transfer has landed, and gives what it brought.
    pub fn wait(self) -> T {
        self.0
    }
}

impl<T: Value> Value for Flow<T> {
    fn bind(self) -> Self {
        Self(self.0.bind())
    }
    fn var(self) -> Self {
        Self(self.0.var())
    }
    fn read(self) -> Self {
        Self(self.0.read())
    }
    fn escape(&self, depth: u32) {
        self.0.escape(depth);
    }
    fn assign(&mut self, v: Self) {
        self.0.assign(v.0);
    }
}

/// Types that hold no per-PE value.
macro_rules! plain {
    ($($T:ty),*) => { $( impl Value for $T {} )* };
}
plain!(Tile, Walk, Token, Broadcast);
impl<const N: usize> Value for Weights<N> {}
