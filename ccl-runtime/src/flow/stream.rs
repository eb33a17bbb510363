//! Broadcast streams: the same bytes to every PE, in the order consumed.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use crate::native::state::Tag;
use crate::native::{Cause, Lane};
use crate::tensor::mac::Taken;
use crate::tensor::view::{Kind, Order, PART_ALIGN, View};
use crate::tensor::{Acc, Lrm, Ocm, store, store::TensorId};
use crate::value::{Elem, Q, splat};

#[derive(Debug)]
struct Progress {
    tensor: TensorId,
    /// Bytes of a weight.
    elem: usize,
    /// Of the tensor's bytes those that are broadcast.
    bytes: Range<usize>,
    /// Of them the one that comes next.
    at: usize,
    /// Of weights in stream order.
    ordered: Option<Ordered>,
}

#[derive(Clone, Copy, Debug)]
struct Ordered {
    order: Order,
    /// Outputs, where steps of 16 bytes lie apart: as many words from one step to the next.
    tokens: Option<usize>,
    /// Inputs of an output.
    k: usize,
    /// Bytes of the biases of the outputs of a step, and of their weights too.
    biases: usize,
    group: usize,
}

/// A broadcast in progress.
#[derive(Debug)]
pub struct Broadcast(Rc<RefCell<Progress>>);

/// Weights of `N` outputs, as the operand of [`mac`](crate::tensor::mac), which takes them from the stream.
#[derive(Debug)]
pub struct Weights<const N: usize>(Rc<RefCell<Progress>>);

/// A tensor on its way to every PE, in the order of memory.
#[track_caller]
pub fn broadcast<T: Elem, L>(tensor: &Ocm<T, L>) -> Broadcast {
    let view = tensor.view_ref();
    if !view.is_whole() {
        Cause::Layout { layout: "a part of a tensor", wanted: "order in which it could be broadcast" }.raise();
    }
    let ordered = Ordered::of(view);
    let bytes = view.bytes();
    if !bytes.start.is_multiple_of(PART_ALIGN) {
        Cause::NoMultiple { what: "the first byte of a broadcast", extent: bytes.start, by: PART_ALIGN }.raise();
    }
    Broadcast(Rc::new(RefCell::new(Progress { tensor: view.tensor, elem: view.elem, bytes, at: 0, ordered })))
}

impl Progress {
    /// Takes the next `n` bytes.
    #[track_caller]
    fn bytes(&mut self, n: usize) -> Vec<u8> {
        let (at, len) = (self.at, self.bytes.len());
        if at + n > len {
            Cause::StreamEnd { at, wanted: n, len }.raise();
        }
        self.at += n;
        let strided = self.ordered.filter(|ordered| ordered.tokens.is_some());
        store::read(self.tensor, |bytes| {
            let bytes = &bytes[self.bytes.clone()];
            match strided {
                Some(ordered) => (at..at + n).map(|at| bytes[ordered.address(at)]).collect(),
                None => bytes[at..at + n].to_vec(),
            }
        })
    }

    #[track_caller]
    fn check_outputs(&self, n_outputs: usize) {
        if let Some(ordered) = self.ordered.filter(|ordered| ordered.order.outputs() != n_outputs) {
            Cause::StreamOrder { taken: n_outputs, laid_out: ordered.order.outputs() }.raise();
        }
    }
}

impl Ordered {
    /// The order in which a tensor serves the MAC unit, if it does.
    fn of(view: &View) -> Option<Ordered> {
        let [c, h, w] = view.dims;
        let (order, k, biases) = match view.kind {
            Kind::Stream(order) => (order, w, order.bias_bytes()),
            // 16 bytes are 4 tokens of 4 features.
            Kind::Tokens if view.elem == 1 && w % 4 == 0 && c % 4 == 0 => (Order::Mat4, c, 0),
            // 16 bytes are 16 places of a channel.
            Kind::Planar if view.elem == 1 && h * w % 16 == 0 => (Order::Dot, h * w, 0),
            _ => return None,
        };
        let tokens = (view.kind == Kind::Tokens).then_some(w);
        Some(Ordered { order, tokens, k, biases, group: biases + order.weights(k) * view.elem })
    }

    /// Where byte `at` of the stream lies in memory.
    fn address(&self, at: usize) -> usize {
        let Some(n_tokens) = self.tokens else { return at };
        let (step, n_steps) = (at / 16, self.group / 16);
        (step % n_steps * n_tokens + step / n_steps * 4) * 4 + at % 16
    }

    /// Inputs whose weights lie before byte `at` of a group; none before the biases have been taken.
    fn inputs_before(&self, at: usize, elem: usize) -> usize {
        let step = 16 * elem;
        (at.saturating_sub(self.biases) / step * self.order.inputs()).min(self.k)
    }
}

impl Broadcast {
    /// The weights of the next `N` outputs, whose biases have been taken. They leave the stream as they are multiplied.
    #[track_caller]
    pub fn take<const N: usize>(&mut self) -> Weights<N> {
        const { assert!(Order::of(N).is_some(), "`take::<N>()`: the MAC unit has 1, 4 or 16 outputs") }
        self.0.borrow().check_outputs(N);
        Weights(Rc::clone(&self.0))
    }

    /// The 32-bit biases of the next `N` outputs; they lie before the weights.
    #[track_caller]
    pub fn bias<const N: usize>(&mut self) -> Acc<N> {
        let bytes = {
            let mut p = self.0.borrow_mut();
            p.check_outputs(N);
            let wanted = p.ordered.map_or(4 * N, |ordered| ordered.biases);
            if let Some(ordered) = p.ordered {
                if ordered.biases == 0 {
                    Cause::Layout { layout: "activations", wanted: "biases" }.raise();
                }
                let at = p.at % ordered.group;
                if at != 0 {
                    let done = ordered.inputs_before(at, p.elem);
                    Cause::StreamInputs { done, k: ordered.k, what: "biases are taken" }.raise();
                }
            }
            p.bytes(wanted)
        };
        Acc::of(std::array::from_fn(|i| splat(i32::from_bytes(&bytes[4 * i..][..4]))))
    }

    /// The next element, the same in every PE. Elements of any type follow each other without gaps.
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "the language calls it so")]
    pub fn next<T: Elem>(&mut self) -> Q<T> {
        let bytes = self.0.borrow_mut().bytes(T::Lane::BYTES);
        Q::of(T::Lane::splat(T::Lane::from_bytes(&bytes)))
    }

    /// The next elements into local memory: how a table comes to the PEs.
    #[track_caller]
    pub fn fill<B: Fill>(&mut self) -> B {
        B::fill(&self.0.borrow_mut().bytes(B::BYTES))
    }
}

impl<const N: usize> Weights<N> {
    /// Takes the weights of the next `n` inputs.
    #[track_caller]
    pub(crate) fn inputs(&self, n: usize) -> Taken {
        let order = Order::of(N).expect("`take` has checked it");
        let mut p = self.0.borrow_mut();
        let elem = if p.ordered.is_some() || matches!(p.elem, 1 | 2) { p.elem } else { 1 };
        let wanted = order.weights(n) * elem;
        if let Some(ordered) = p.ordered {
            let at = p.at % ordered.group;
            if at < ordered.biases && wanted > 0 {
                Cause::StreamBiases { outputs: N }.raise();
            }
            if at + wanted > ordered.group {
                let done = ordered.inputs_before(at, elem) + n;
                Cause::StreamInputs { done, k: ordered.k, what: "the layout ends" }.raise();
            }
        }
        Taken { order, elem, bytes: p.bytes(wanted) }
    }
}

/// What [`Broadcast::fill`] makes: `Lrm<T, N>`.
#[diagnostic::on_unimplemented(message = "`{Self}` is no local buffer", note = "write `fill::<Lrm<i8, 256>>()`")]
pub trait Fill {
    #[doc(hidden)]
    const BYTES: usize;
    #[doc(hidden)]
    fn fill(bytes: &[u8]) -> Self;
}
impl<T: Elem, const N: usize> Fill for Lrm<T, N> {
    const BYTES: usize = N * T::Lane::BYTES;
    fn fill(bytes: &[u8]) -> Self {
        debug_assert_ne!(T::Lane::TAG, Tag::Bool, "no tensor of `bool` is declared");
        let mut elements = bytes.chunks_exact(T::Lane::BYTES);
        Lrm::of(std::array::from_fn(|_| {
            let bytes = elements.next().expect("as many bytes as the buffer has elements");
            let mut id = [crate::native::Id::NONE];
            T::Lane::allocate(T::Lane::from_bytes(bytes), &mut id);
            Q::of(id[0])
        }))
    }
}
