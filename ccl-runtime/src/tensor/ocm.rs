//! Tensors in on-chip and external memory.

use std::marker::PhantomData;

use super::layout::{Layout, Stream, StreamDot, StreamOuter, Tokens, Vector, size_bytes};
use super::store::{self, Owned, TensorId};
use super::view::{Kind, View};
use crate::native::Lane;
use crate::value::{Elem, Value};

/// The layout of a view whose extents are not in its type.
#[derive(Clone, Copy, Debug)]
pub enum Dyn {}

/// Tensor in on-chip memory; flows, broadcasts, the RAU and DMA reach it.
#[derive(Debug)]
pub struct Ocm<T, L> {
    view: View,
    /// Absent of a view.
    owned: Option<Owned>,
    types: PhantomData<(T, L)>,
}

/// Tensor in external memory; only DMA reaches it.
#[derive(Debug)]
pub struct Ext<T, L> {
    view: View,
    /// Absent of a view.
    owned: Option<Owned>,
    types: PhantomData<(T, L)>,
}

fn view_of<T: Elem, L: Layout>(owned: &Owned) -> View {
    View::whole(owned.id(), L::KIND, T::Lane::BYTES, L::DIMS)
}

/// Elements in the order of memory.
fn from_memory<T: Elem>(values: &[T]) -> Vec<u8> {
    let size = T::Lane::BYTES;
    let mut bytes = vec![0; values.len() * size];
    for (v, to) in values.iter().zip(bytes.chunks_exact_mut(size)) {
        v.to_lane().put_bytes(to);
    }
    bytes
}

/// Elements by channel, row, column (tokens: by token, feature) into the order of memory; what fills up words is 0.
fn from_logical<T: Elem, L: Layout>(values: &[T]) -> Vec<u8> {
    let size = T::Lane::BYTES;
    let mut bytes = vec![0; size_bytes::<T::Lane, L>()];
    let addresses = logical_order(&View::whole(TensorId::NONE, L::KIND, size, L::DIMS));
    assert_eq!(values.len(), addresses.len(), "as many values as the tensor has elements");
    for (v, at) in values.iter().zip(addresses) {
        v.to_lane().put_bytes(&mut bytes[at * size..][..size]);
    }
    bytes
}

/// Addresses by channel, row, column; of tokens by token and feature.
fn logical_order(view: &View) -> Vec<usize> {
    assert!(!matches!(view.kind, Kind::Stream(_)), "a stream has no order but that of memory: use `from_weights`");
    let [c, h, w] = view.dims;
    if view.kind == Kind::Tokens {
        return (0..w).flat_map(|x| (0..c).map(move |c| view.address(c, 0, x))).collect();
    }
    (0..c).flat_map(|c| (0..h).flat_map(move |y| (0..w).map(move |x| view.address(c, y, x)))).collect()
}

fn to_logical<T: Elem>(view: &View) -> Vec<T> {
    let (size, addresses) = (view.elem, logical_order(view));
    store::read(view.tensor, |bytes| {
        addresses.into_iter().map(|at| T::from_lane(T::Lane::from_bytes(&bytes[at * size..][..size]))).collect()
    })
}

fn to_memory<T: Elem>(view: &View) -> Vec<T> {
    store::read(view.tensor, |bytes| {
        bytes.chunks_exact(view.elem).map(|b| T::from_lane(T::Lane::from_bytes(b))).collect()
    })
}

/// Constructors and readers that both memories have.
macro_rules! memory {
    ($Memory:ident, $on_chip:expr, |$owned:ident| $make:expr) => {
        impl<T: Elem, L: Layout> $Memory<T, L> {
            fn from_bytes_vec(bytes: Vec<u8>) -> Self {
                let $owned = Owned::new(bytes, $on_chip);
                $make
            }

            /// A tensor of zeros; in a kernel contents are undefined until written.
            #[allow(clippy::new_without_default, reason = "the language has no `Default`")]
            pub fn new() -> Self {
                Self::from_bytes_vec(vec![0; size_bytes::<T::Lane, L>()])
            }

            /// A tensor from its elements by channel, row, column; of tokens by token and feature.
            ///
            /// # Panics
            /// If there are more or fewer than the layout says, or for a stream.
            pub fn from_logical(values: &[T]) -> Self {
                Self::from_bytes_vec(from_logical::<T, L>(values))
            }

            /// A tensor from its elements in the order of memory.
            ///
            /// # Panics
            /// If there are more or fewer than the layout says.
            pub fn from_memory(values: &[T]) -> Self {
                Self::from_bytes(&from_memory(values))
            }

            /// A tensor from its bytes.
            ///
            /// # Panics
            /// If there are more or fewer than the layout says.
            pub fn from_bytes(bytes: &[u8]) -> Self {
                assert_eq!(bytes.len(), size_bytes::<T::Lane, L>(), "as many bytes as the layout says");
                Self::from_bytes_vec(bytes.to_vec())
            }

            /// Bytes in memory.
            pub fn size_bytes() -> usize {
                size_bytes::<T::Lane, L>()
            }
        }

        impl<T: Elem, L> $Memory<T, L> {
            /// The elements by channel, row, column; of tokens by token and feature.
            ///
            /// # Panics
            /// For a stream, which has no order but that of memory.
            pub fn to_logical(&self) -> Vec<T> {
                to_logical(&self.view)
            }

            /// The elements in the order of memory, of the whole tensor.
            pub fn to_memory(&self) -> Vec<T> {
                to_memory(&self.view)
            }

            /// The bytes of the whole tensor.
            pub fn to_bytes(&self) -> Vec<u8> {
                store::read(self.view.tensor, <[u8]>::to_vec)
            }

            pub(crate) fn view_ref(&self) -> &View {
                &self.view
            }

            /// Whether its bytes go when it is dropped.
            pub fn is_owner(&self) -> bool {
                self.owned.is_some()
            }
        }

        impl<const N: usize> $Memory<i8, Vector<N>> {
            /// The tensor of this element type and layout that begins at a byte, a multiple of 16: constants of many kinds come
            /// as one blob.
            #[track_caller]
            pub fn part<T: Elem, L: Layout>(&self, byte: usize) -> $Memory<T, L> {
                let view = self.view.part(byte, L::KIND, T::Lane::BYTES, L::DIMS);
                $Memory { view, owned: None, types: PhantomData }
            }
        }

        impl<T, L> Value for $Memory<T, L> {}
    };
}
memory!(Ocm, true, |owned| Self { view: view_of::<T, L>(&owned), owned: Some(owned), types: PhantomData });
memory!(Ext, false, |owned| Self { view: view_of::<T, L>(&owned), owned: Some(owned), types: PhantomData });

/// Puts biases and weights into the order of a stream; what fills up steps is 0.
macro_rules! streams {
    ($($Layout:ident),*) => { $(
        impl<T: Elem, const CO: usize, const K: usize> Ocm<T, $Layout<CO, K>> {
            /// A stream from weights `[CO][K]` and a bias for each output.
            ///
            /// # Panics
            /// If there are more or fewer, or if the weights are not of 8 or 16 bits.
            pub fn from_weights(weights: &[T], bias: &[i32]) -> Self {
                Self::from_bytes(&stream_bytes::<T, $Layout<CO, K>>(weights, bias))
            }
        }
        impl<T: Elem, const CO: usize, const K: usize> Ext<T, $Layout<CO, K>> {
            /// A stream from weights `[CO][K]` and a bias for each output.
            ///
            /// # Panics
            /// If there are more or fewer, or if the weights are not of 8 or 16 bits.
            pub fn from_weights(weights: &[T], bias: &[i32]) -> Self {
                Self::from_bytes(&stream_bytes::<T, $Layout<CO, K>>(weights, bias))
            }
        }
    )* };
}
streams!(Stream, StreamDot, StreamOuter);

fn stream_bytes<T: Elem, L: Layout>(weights: &[T], bias: &[i32]) -> Vec<u8> {
    let ([co, _, k], size) = (L::DIMS, T::Lane::BYTES);
    let Kind::Stream(order) = L::KIND else { unreachable!("implemented for streams only") };
    assert!(size <= 2, "weights have 8 or 16 bits");
    assert_eq!((weights.len(), bias.len()), (co * k, co), "`CO * K` weights and `CO` biases");
    order.pack(k, size, &from_memory(weights), bias)
}

impl<T: Elem, L> Ocm<T, L> {
    const fn seen<M>(view: View) -> Ocm<T, M> {
        Ocm { view, owned: None, types: PhantomData }
    }

    /// A view of a tensor that someone else owns.
    pub(crate) const fn of_view(view: View) -> Self {
        Self { view, owned: None, types: PhantomData }
    }

    /// Planes from channel `first` on.
    #[track_caller]
    pub fn channels(&self, first: usize) -> Ocm<T, Dyn> {
        Self::seen(self.view.channels(first))
    }

    /// Region of interest: `height` x `width` from row `y` and column `x` on.
    #[track_caller]
    pub fn roi(&self, y: usize, x: usize, height: usize, width: usize) -> Ocm<T, Dyn> {
        Self::seen(self.view.roi(y, x, height, width))
    }

    /// The same bytes seen as `C * S * S` channels of `H / S` x `W / S`: channel `(c * S + dy) * S + dx`.
    #[track_caller]
    pub fn space_to_depth<const S: usize>(&self) -> Ocm<T, Dyn> {
        Self::seen(self.view.space_to_depth(S))
    }

    /// The inverse of [`space_to_depth`](Self::space_to_depth).
    #[track_caller]
    pub fn depth_to_space<const S: usize>(&self) -> Ocm<T, Dyn> {
        Self::seen(self.view.depth_to_space(S))
    }

    /// The same bytes in another layout of the same size; behind [`channels`](Self::channels) those from the first channel on, as
    /// many as the layout has.
    #[track_caller]
    pub fn view<M: Layout>(&self) -> Ocm<T, M> {
        Self::seen(self.view.seen_as(M::KIND, M::DIMS))
    }
}

impl<T: Elem, const N: usize, const D: usize> Ocm<T, Tokens<N, D>> {
    /// Tokens `first..first + n`.
    #[track_caller]
    pub fn tokens(&self, first: usize, n: usize) -> Ocm<T, Dyn> {
        Self::seen(self.view.roi(0, first, 1, n))
    }
}

impl<T: Elem, const N: usize> Ocm<T, Vector<N>> {
    /// A vector from its elements.
    ///
    /// # Panics
    /// If there are more or fewer than `N`.
    pub fn from_elements(values: &[T]) -> Self {
        Self::from_memory(values)
    }
}
