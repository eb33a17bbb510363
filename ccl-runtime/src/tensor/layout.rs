//! Layouts: where the elements of a tensor lie in memory.

use super::view::{Kind, Order};
use crate::native::Lane;

/// A layout, the second argument of a tensor type.
#[diagnostic::on_unimplemented(message = "`{Self}` is no layout of a tensor")]
pub trait Layout: 'static {
    #[doc(hidden)]
    const KIND: Kind;
    /// Channels, rows, columns; of streams outputs, 1, inputs.
    const DIMS: [usize; 3];
}

macro_rules! layouts {
    ($( $(#[$doc:meta])* $Name:ident<$($N:ident),*> = $kind:expr, [$c:expr, $h:expr, $w:expr]; )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $Name<$(const $N: usize),*> {}
        impl<$(const $N: usize),*> Layout for $Name<$($N),*> {
            const KIND: Kind = $kind;
            const DIMS: [usize; 3] = [$c, $h, $w];
        }
    )*
        /// The layout of that name with these extents: its kind; channels, rows, columns.
        #[allow(non_snake_case, reason = "extents are named as in the types")]
        pub(crate) fn named(name: &str, extents: &[usize]) -> Option<(Kind, [usize; 3])> {
            match (name, extents) {
                $( (stringify!($Name), &[$($N),*]) => Some(($kind, [$c, $h, $w])), )*
                _ => None,
            }
        }
    };
}

layouts! {
    /// `[C][H][W]`.
    Planar<C, H, W> = Kind::Planar, [C, H, W];
    /// `[C/4][H][W][4]`: a flow hands each PE a word of 4 channels. Wider elements go as many to a word as fit.
    Packed<C, H, W> = Kind::Packed, [C, H, W];
    /// `N` tokens of `D` features, a token a PE: `[D/4][N][4]`.
    Tokens<N, D> = Kind::Tokens, [D, 1, N];
    /// `N` elements in a row: tables, biases.
    Vector<N> = Kind::Vector, [1, 1, N];
    /// Biases and weights in the order in which `bias::<4>` and `take::<4>` consume them: for 4 outputs 4 biases of 32 bit, then
    /// `K` inputs by fours (16 weights, output by output).
    Stream<CO, K> = Kind::Stream(Order::Mat4), [CO, 1, K];
    /// As [`Stream`] for `take::<1>`: for one output its bias, filled up to 16 bytes, then `K` inputs by sixteens.
    StreamDot<CO, K> = Kind::Stream(Order::Dot), [CO, 1, K];
    /// As [`Stream`] for `take::<16>`: for 16 outputs 16 biases, then `K` inputs one by one.
    StreamOuter<CO, K> = Kind::Stream(Order::Outer), [CO, 1, K];
}

/// Bytes of a tensor of `L` with elements of `T`.
pub(crate) fn size_bytes<T: Lane, L: Layout>() -> usize {
    L::KIND.size_bytes(L::DIMS, T::BYTES)
}
