//! Multiply-accumulate: the elements of a buffer with weights from a broadcast.

use super::lrm::{Acc, Elements};
use super::view::Order;
use crate::flow::Weights;
use crate::native::{Id, lane::Lane, simd, state};
use crate::value::{Elem, Q};

/// Element types that the MAC unit takes: `i8`, `i16`.
#[diagnostic::on_unimplemented(
    message = "the MAC unit does not take `{Self}`",
    note = "it multiplies `i8` and `i16`: `x.narrow::<i8>(Saturate)`"
)]
pub trait MacElem: Elem {
    #[doc(hidden)]
    fn products(a: &[Id], weights: &Taken, out: &mut [Id]);
}

/// Weights of some inputs and `order.outputs()` outputs, as they stand in memory.
#[derive(Debug)]
pub struct Taken {
    pub(crate) order: Order,
    /// Bytes of a weight.
    pub(crate) elem: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Taken {
    fn weight(&self, o: usize, k: usize) -> i32 {
        let bytes = &self.bytes[self.order.weight(o, k) * self.elem..];
        if self.elem == 1 { bytes[0] as i8 as i32 } else { i16::from_bytes(&bytes[..2]) as i32 }
    }

    /// Int8 weights as the dot products want them.
    fn words(&self, n_inputs: usize, n_outputs: usize) -> Vec<u32> {
        let n_words = n_inputs.div_ceil(4);
        let mut words = vec![0; n_outputs * n_words];
        for (o, words) in words.chunks_exact_mut(n_words.max(1)).enumerate() {
            for k in 0..n_inputs {
                words[k / 4] |= (self.weight(o, k) as u8 as u32) << (8 * (k % 4));
            }
        }
        words
    }
}

/// Sums in wide lanes.
fn sums<L: Lane + Into<i32>>(a: &[&[L]], weights: &Taken, out: &mut [&mut [i32]], n_lanes: usize) {
    for (o, out) in out.iter_mut().enumerate() {
        out[..n_lanes].fill(0);
        for (k, a) in a.iter().enumerate() {
            let weight = weights.weight(o, k);
            for (out, a) in out[..n_lanes].iter_mut().zip(*a) {
                *out = out.wrapping_add((*a).into().wrapping_mul(weight));
            }
        }
    }
}

/// Runs `sum` over the array's lanes; those of the border, which has no MAC unit, become 0.
fn accumulate<L: Lane>(a: &[Id], out: &mut [Id], sum: impl FnOnce(&[&[L]], &mut [&mut [i32]], usize)) {
    state::with(|s| {
        let mut buffers: Vec<_> = out.iter().map(|_| s.buffer::<i32>()).collect();
        let core = s.geometry.core();
        let a: Vec<&[L]> = a.iter().map(|id| s.lanes(*id)).collect();
        let mut lanes: Vec<&mut [i32]> = buffers.iter_mut().map(|b| &mut b.lanes[..]).collect();
        sum(&a, &mut lanes, core);
        for lanes in lanes {
            lanes[core..].fill(0);
        }
        for (id, buffer) in out.iter_mut().zip(buffers) {
            *id = s.add(buffer);
        }
    });
}

impl MacElem for i8 {
    fn products(a: &[Id], weights: &Taken, out: &mut [Id]) {
        if weights.elem == 1 {
            let words = weights.words(a.len(), out.len());
            accumulate::<i8>(a, out, |a, out, core| simd::dot_i8(simd::level(), a, &words, out, core));
        } else {
            accumulate::<i8>(a, out, |a, out, core| sums(a, weights, out, core));
        }
    }
}
impl MacElem for i16 {
    fn products(a: &[Id], weights: &Taken, out: &mut [Id]) {
        accumulate::<i16>(a, out, |a, out, core| sums(a, weights, out, core));
    }
}

/// Sum over the elements of `a` of element times weight, for `N` outputs, wrapping.
///
/// Takes from the stream the weights of as many inputs as `a` has elements.
#[track_caller]
pub fn mac<T: MacElem, const N: usize>(a: impl Elements<T>, weights: Weights<N>) -> Acc<N> {
    let a = a.elements();
    let taken = weights.inputs(a.len());
    let mut out = [Q::of(Id::NONE); N];
    T::products(simd::ids(a), &taken, simd::ids_mut(&mut out));
    Acc::of(out)
}
