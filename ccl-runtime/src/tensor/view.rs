//! Addresses: which element of memory belongs to channel, row, column of a view.

use std::ops::Range;

use super::store::TensorId;
use crate::native::Cause;

/// How many outputs a stream interleaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "shapes of the MAC unit")]
pub enum Order {
    Dot,
    Mat4,
    Outer,
}

impl Order {
    /// Outputs of a step.
    pub const fn outputs(self) -> usize {
        match self {
            Order::Dot => 1,
            Order::Mat4 => 4,
            Order::Outer => 16,
        }
    }
    /// Inputs of a step.
    pub const fn inputs(self) -> usize {
        16 / self.outputs()
    }
    /// The shape for so many outputs.
    pub const fn of(outputs: usize) -> Option<Order> {
        match outputs {
            1 => Some(Order::Dot),
            4 => Some(Order::Mat4),
            16 => Some(Order::Outer),
            _ => None,
        }
    }
    /// Weights for `k` inputs of its outputs, filled up to whole steps.
    pub const fn weights(self, k: usize) -> usize {
        k.next_multiple_of(self.inputs()) * self.outputs()
    }
    /// Bytes of its outputs' biases, filled up to what a step takes.
    pub const fn bias_bytes(self) -> usize {
        (4 * self.outputs()).next_multiple_of(16)
    }
    /// Index among the weights of its outputs, of output `o` and input `k`.
    pub const fn weight(self, o: usize, k: usize) -> usize {
        let (step, rest) = (k / self.inputs(), k % self.inputs());
        step * 16 + o * self.inputs() + rest
    }
}

impl Order {
    /// The bytes of a stream: for each step's outputs their biases, then their weights; what fills up steps is 0.
    ///
    /// `weights` are `[outputs][inputs]` of `elem` bytes each, little-endian.
    pub(crate) fn pack(self, inputs: usize, elem: usize, weights: &[u8], bias: &[i32]) -> Vec<u8> {
        let group = self.bias_bytes() + self.weights(inputs) * elem;
        let mut bytes = vec![0; bias.len().div_ceil(self.outputs()) * group];
        for (o, bias) in bias.iter().enumerate() {
            let (own, lane) = (&mut bytes[o / self.outputs() * group..][..group], o % self.outputs());
            own[4 * lane..][..4].copy_from_slice(&bias.to_le_bytes());
            for k in 0..inputs {
                let from = &weights[(o * inputs + k) * elem..][..elem];
                own[self.bias_bytes() + self.weight(lane, k) * elem..][..elem].copy_from_slice(from);
            }
        }
        bytes
    }

    /// The weights, `[outputs][inputs]`, and the biases of a stream's bytes: the inverse of `pack`.
    pub(crate) fn unpack(self, [outputs, inputs]: [usize; 2], elem: usize, bytes: &[u8]) -> (Vec<u8>, Vec<i32>) {
        let group = self.bias_bytes() + self.weights(inputs) * elem;
        let (mut weights, mut bias) = (Vec::with_capacity(outputs * inputs * elem), Vec::with_capacity(outputs));
        for o in 0..outputs {
            let (own, lane) = (&bytes[o / self.outputs() * group..][..group], o % self.outputs());
            let word = own[4 * lane..].first_chunk().expect("a bias has four bytes");
            bias.push(i32::from_le_bytes(*word));
            for k in 0..inputs {
                weights.extend(&own[self.bias_bytes() + self.weight(lane, k) * elem..][..elem]);
            }
        }
        (weights, bias)
    }
}

/// Kinds of layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "see `layout`")]
pub enum Kind {
    Planar,
    Packed,
    Tokens,
    Vector,
    Stream(Order),
}

impl Kind {
    /// Name of the layout.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Planar => "`Planar`",
            Kind::Packed => "`Packed`",
            Kind::Tokens => "`Tokens`",
            Kind::Vector => "`Vector`",
            Kind::Stream(Order::Mat4) => "`Stream`",
            Kind::Stream(Order::Dot) => "`StreamDot`",
            Kind::Stream(Order::Outer) => "`StreamOuter`",
        }
    }

    /// Bytes of a tensor.
    pub const fn size_bytes(self, [c, h, w]: [usize; 3], elem: usize) -> usize {
        match self {
            Kind::Stream(order) => {
                let group = order.bias_bytes() + order.weights(w) * elem;
                c.div_ceil(order.outputs()) * group
            }
            _ => c.next_multiple_of(self.pack(elem)) * h * w * elem,
        }
    }

    /// Channels of a word.
    pub const fn pack(self, elem: usize) -> usize {
        match self {
            Kind::Packed | Kind::Tokens if elem < 4 => 4 / elem,
            _ => 1,
        }
    }
}

/// A change of the way in which a tensor is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// From a channel on.
    Channels(usize),
    /// From a row and column on.
    Roi(usize, usize),
    /// `S x S` elements become channels.
    SpaceToDepth(usize),
    /// The inverse.
    DepthToSpace(usize),
}

const MOST_STEPS: usize = 4;

/// Parts begin at multiples of so many bytes: what the broadcast brings at once.
pub(crate) const PART_ALIGN: usize = 16;

/// A tensor, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub(crate) tensor: TensorId,
    pub(crate) kind: Kind,
    /// Bytes of an element.
    pub(crate) elem: usize,
    /// Of the tensor's bytes the element with which the view begins.
    first: usize,
    /// Channels, rows, columns of the whole tensor.
    whole: [usize; 3],
    /// Of the view.
    pub(crate) dims: [usize; 3],
    steps: [Step; MOST_STEPS],
    n_steps: usize,
}

/// A row of a view: elements `first + step * x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub first: usize,
    pub step: usize,
}

impl View {
    pub(crate) fn whole(tensor: TensorId, kind: Kind, elem: usize, dims: [usize; 3]) -> Self {
        Self { tensor, kind, elem, first: 0, whole: dims, dims, steps: [Step::Channels(0); MOST_STEPS], n_steps: 0 }
    }

    /// Whether all its bytes lie together, in the order of its layout.
    pub(crate) fn is_whole(&self) -> bool {
        self.n_steps == 0
    }

    /// The bytes of the tensor from which its steps choose.
    pub(crate) fn bytes(&self) -> Range<usize> {
        let first = self.first * self.elem;
        first..first + self.kind.size_bytes(self.whole, self.elem)
    }

    /// The same bytes in another layout; behind `channels` those from the first channel on, as many as the layout has.
    #[track_caller]
    pub(crate) fn seen_as(self, kind: Kind, dims: [usize; 3]) -> Self {
        let ([_, h, w], pack) = (self.whole, self.kind.pack(self.elem));
        let mut channel = 0;
        for step in &self.steps[..self.n_steps] {
            let Step::Channels(first) = step else {
                Cause::Layout { layout: "a part of a tensor", wanted: "other layout" }.raise();
            };
            channel += first;
        }
        if !channel.is_multiple_of(pack) {
            Cause::NoMultiple { what: "the first channel of a view", extent: channel, by: pack }.raise();
        }
        let skipped = channel * h * w;
        let bytes = self.bytes().len().saturating_sub(skipped * self.elem);
        let wanted = kind.size_bytes(dims, self.elem);
        if wanted > bytes || (wanted < bytes && self.is_whole()) {
            Cause::ViewSize { wanted, bytes }.raise();
        }
        // The word's other channels are those of others.
        if wanted < bytes && !dims[0].is_multiple_of(kind.pack(self.elem)) {
            Cause::NoMultiple { what: "the channels of a view", extent: dims[0], by: kind.pack(self.elem) }.raise();
        }
        Self { first: self.first + skipped, ..Self::whole(self.tensor, kind, self.elem, dims) }
    }

    /// The tensor of elements of `elem` bytes that begins at a byte.
    #[track_caller]
    pub(crate) fn part(self, byte: usize, kind: Kind, elem: usize, dims: [usize; 3]) -> Self {
        let (own, end) = (self.bytes(), byte.saturating_add(kind.size_bytes(dims, elem)));
        if !self.is_whole() {
            Cause::Layout { layout: "a part of a tensor", wanted: "parts by bytes" }.raise();
        }
        if !(own.start + byte).is_multiple_of(PART_ALIGN) {
            Cause::NoMultiple { what: "the first byte of a part", extent: own.start + byte, by: PART_ALIGN }.raise();
        }
        if end > own.len() {
            Cause::Outside { what: "bytes", first: byte, end, extent: own.len() }.raise();
        }
        Self { first: (own.start + byte) / elem, ..Self::whole(self.tensor, kind, elem, dims) }
    }

    #[track_caller]
    fn with(mut self, step: Step, dims: [usize; 3]) -> Self {
        if matches!(self.kind, Kind::Stream(_)) {
            Cause::Layout { layout: self.kind.name(), wanted: "parts" }.raise();
        }
        if self.n_steps == MOST_STEPS {
            Cause::ViewDepth { most: MOST_STEPS }.raise();
        }
        self.steps[self.n_steps] = step;
        self.n_steps += 1;
        self.dims = dims;
        self
    }

    #[track_caller]
    pub(crate) fn channels(self, first: usize) -> Self {
        let [c, h, w] = self.dims;
        if first > c {
            Cause::Outside { what: "channels", first, end: first, extent: c }.raise();
        }
        self.with(Step::Channels(first), [c - first, h, w])
    }

    #[track_caller]
    pub(crate) fn roi(self, y: usize, x: usize, height: usize, width: usize) -> Self {
        let [c, h, w] = self.dims;
        for (what, first, len, extent) in [("rows", y, height, h), ("columns", x, width, w)] {
            if first + len > extent {
                Cause::Outside { what, first, end: first + len, extent }.raise();
            }
        }
        self.with(Step::Roi(y, x), [c, height, width])
    }

    #[track_caller]
    pub(crate) fn space_to_depth(self, s: usize) -> Self {
        let [c, h, w] = self.dims;
        for (what, extent) in [("space_to_depth: rows", h), ("space_to_depth: columns", w)] {
            if !extent.is_multiple_of(s) {
                Cause::NoMultiple { what, extent, by: s }.raise();
            }
        }
        self.with(Step::SpaceToDepth(s), [c * s * s, h / s, w / s])
    }

    #[track_caller]
    pub(crate) fn depth_to_space(self, s: usize) -> Self {
        let [c, h, w] = self.dims;
        if !c.is_multiple_of(s * s) {
            Cause::NoMultiple { what: "depth_to_space: channels", extent: c, by: s * s }.raise();
        }
        self.with(Step::DepthToSpace(s), [c / (s * s), h * s, w * s])
    }

    /// Element of memory.
    pub(crate) fn address(&self, mut c: usize, mut y: usize, mut x: usize) -> usize {
        for step in self.steps[..self.n_steps].iter().rev() {
            match *step {
                Step::Channels(first) => c += first,
                Step::Roi(y0, x0) => (y, x) = (y + y0, x + x0),
                Step::SpaceToDepth(s) => {
                    (y, x) = (y * s + c / s % s, x * s + c % s);
                    c /= s * s;
                }
                Step::DepthToSpace(s) => {
                    c = (c * s + y % s) * s + x % s;
                    (y, x) = (y / s, x / s);
                }
            }
        }
        let [_, h, w] = self.whole;
        let pack = self.kind.pack(self.elem);
        self.first + ((c / pack * h + y) * w + x) * pack + c % pack
    }

    /// A row, if its elements lie at equal distances.
    pub(crate) fn run(&self, c: usize, y: usize) -> Option<Run> {
        let mut step = self.kind.pack(self.elem);
        for s in &self.steps[..self.n_steps] {
            match s {
                Step::DepthToSpace(_) => return None,
                Step::SpaceToDepth(s) => step *= s,
                Step::Channels(_) | Step::Roi(..) => {}
            }
        }
        Some(Run { first: self.address(c, y, 0), step })
    }
}
