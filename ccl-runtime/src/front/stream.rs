//! Broadcast streams: which bytes have been taken, in the order of the layout and in that of the engine; what the text leaves is
//! not broadcast.

use super::cx::Cx;
use super::error::R;
use super::pe::stored;
use super::value::{Affine, Lrm, Pe, Place, Val, View};
use crate::ir::{self, Elem, Id, OpKind, SVal, Src, Type};
use crate::kernel::ElemType;
use crate::tensor::{Kind, Order, PART_ALIGN};

/// Weights in an order: biases, then weights, for the outputs of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered {
    pub order: Order,
    /// Inputs of an output.
    pub k: usize,
    /// Bytes of the weights of a step's outputs.
    pub weights: u64,
    /// Bytes of biases and weights.
    pub group: u64,
    /// Bytes of the biases of a step's outputs; 0 of activations.
    pub biases: u64,
    /// Of activations token by token: bytes from one MAC step to the next.
    pub stride: Option<i32>,
}

/// A stream under way.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// The stream of the IR, once something is read.
    pub id: Option<Id>,
    buf: Id,
    /// Byte of the buffer with which the tensor begins.
    origin: u64,
    /// Byte of the tensor that the stream of the IR begins with, and bytes of it that are passed over.
    start: u64,
    lead: u64,
    /// The block, inside that of its start, in which it is read last; 0 in that itself.
    last: u32,
    /// Bytes of a weight.
    pub elem: u64,
    pub len: u64,
    pub ordered: Option<Ordered>,
    /// Bytes taken, of the tensor.
    pub at: u64,
    /// Bytes taken from the engine's queue.
    pub popped: u64,
    /// Blocks around its start.
    pub depth: usize,
    /// Where it is started: unit, line, column.
    pub place: (usize, u32, u32),
    /// Whether the engine brings biases too.
    pub biased: bool,
    /// Whether it has ended with its block.
    pub over: bool,
}

impl Cx<'_> {
    /// `broadcast(tensor)`.
    pub(super) fn broadcast(&mut self, view: &View) -> R<Val> {
        if !view.steps.is_empty() {
            return self.fail("a part of a tensor is broadcast", "broadcast whole tensors: declare the part as one");
        }
        if view.is_external {
            return self.fail("external memory is not broadcast", "`prefetch` it into an `Ocm` first");
        }
        // Where it is a sum over a loop's variable, the loop is laid out.
        let origin = self.sum_known(&view.at)? as u64;
        if !origin.is_multiple_of(PART_ALIGN as u64) {
            return self.fail(
                format!("a broadcast that begins at no multiple of {PART_ALIGN} bytes"),
                "take channels whose planes are multiples of 16 bytes, or copy them to a tensor of their own",
            );
        }
        self.land_tensor(view.buf)?;
        let elem = view.elem.bytes() as u64;
        let ordered = match view.kind {
            Kind::Stream(order) => {
                let k = view.dims[2];
                let (weights, biases) = (order.weights(k) as u64 * elem, order.bias_bytes() as u64);
                Some(Ordered { order, k, weights, group: weights + biases, biases, stride: None })
            }
            _ => Self::activations(view),
        };
        let place = (self.frame().unit, self.span.start.line, self.span.start.col);
        let biased = ordered.is_none_or(|o| o.biases == 0) || self.learnt.biased.contains(&place);
        let (depth, len) = (self.b.depth(), view.bytes() as u64);
        let (id, buf, over) = (None, view.buf, false);
        let (start, lead, last, at, popped) = (0, 0, 0, 0, 0);
        self.streams.push(Stream {
            id,
            buf,
            origin,
            start,
            lead,
            last,
            elem,
            len,
            ordered,
            at,
            popped,
            depth,
            place,
            biased,
            over,
        });
        Ok(Val::Broadcast(self.streams.len() - 1))
    }

    /// The stream of the IR from which is read now. It starts where the first word is read, in the block of the `broadcast`, after
    /// the others have come to their end: entries of several streams come one stream after the other.
    pub(super) fn reading(&mut self, s: usize) -> R<Id> {
        let (depth, over) = (self.streams[s].depth, self.streams[s].over);
        if over {
            return self
                .fail("a broadcast is read after the end of the block that starts it", "start it where it is read");
        }
        let inner = self.serials.get(depth).copied().unwrap_or(0);
        self.streams[s].last = inner;
        if let Some(id) = self.streams[s].id {
            return Ok(id);
        }
        for other in 0..self.streams.len() {
            let (id, depth, last) = (self.streams[other].id, self.streams[other].depth, self.streams[other].last);
            if id.is_none() || self.streams[other].over {
                continue;
            }
            if depth < self.serials.len() && last == self.serials[depth] {
                return self.fail(
                    "a trip reads two broadcasts from outside in turn, and entries come one broadcast after the other",
                    "start one of them inside, or read it into a buffer before: `broadcast(..).fill::<Lrm<..>>()`",
                );
            }
            self.in_outer(depth, |cx| cx.end_stream(other))?;
        }
        let id = self.b.value("stream", Type::Stream);
        let stream = &mut self.streams[s];
        // Entries are whole: what was read before comes again, and is passed over.
        let lead = stream.at % 16;
        if let (Some(ordered), false) = (stream.ordered, stream.biased)
            && !stream.at.is_multiple_of(ordered.group)
        {
            self.learnt.biased.push(stream.place);
            return Err(super::error::Stop::Restart);
        }
        let mut start = stream.at - lead;
        if let Some(Ordered { stride: Some(_), group, .. }) = stream.ordered {
            if !stream.at.is_multiple_of(group) {
                return self.fail(
                    "a broadcast of tokens is read on within a group, after another broadcast",
                    "read one broadcast to the end of its group first",
                );
            }
            start = stream.at / group * 16;
        }
        let stream = &mut self.streams[s];
        (stream.id, stream.start, stream.lead, stream.popped) = (Some(id), start, lead, lead);
        let (buf, at) = (stream.buf, SVal::Imm(0));
        self.in_outer(depth, |cx| {
            cx.push(OpKind::Bcast { dst: id, buf, at, n0: 0, step0: 16, n1: 1, step1: 0 });
            cx.discard(id, lead / 4)
        })?;
        Ok(id)
    }

    /// The order in which activations are weights, if they can be.
    fn activations(view: &View) -> Option<Ordered> {
        let [channels, rows, columns] = view.dims;
        let (order, k, stride) = match view.kind {
            // 16 bytes are 4 tokens of 4 features.
            Kind::Tokens if columns % 4 == 0 && channels % 4 == 0 => {
                (Order::Mat4, channels, Some(i32::try_from(4 * columns).ok()?))
            }
            // 16 bytes are 16 places of a channel.
            Kind::Planar if rows * columns % 16 == 0 => (Order::Dot, rows * columns, None),
            _ => return None,
        };
        let group = order.weights(k) as u64;
        (view.elem.bytes() == 1).then_some(Ordered { order, k, weights: group, group, biases: 0, stride })
    }

    /// Advances a stream and the engine's queue.
    fn advance(&mut self, s: usize, bytes: u64, popped: u64) -> R<()> {
        let stream = &mut self.streams[s];
        stream.at += bytes;
        stream.popped += popped;
        let (at, len) = (stream.at, stream.len);
        if at > len {
            return self.fail(format!("{at} bytes are taken from a broadcast of {len}"), "take what the tensor holds");
        }
        if self.masks > 0 {
            return self.fail(
                "a broadcast is read under a condition that differs from PE to PE",
                "read it before the `if`: it reaches all PEs",
            );
        }
        Ok(())
    }

    fn lane(stream: Id, view: Elem, lane: u8, pop: bool) -> Src {
        Src::Stream { stream, view, lane, pop }
    }

    /// The next element of so many bytes, as it lies in the low bits of a word.
    fn pop(&mut self, s: usize, bytes: u64) -> R<Src> {
        let id = self.reading(s)?;
        let offset = self.streams[s].popped % 4;
        self.advance(s, bytes, bytes)?;
        let end = offset + bytes;
        if bytes == 4 && offset == 0 {
            return Ok(self.copy(Self::lane(id, Elem::I32, 0, true)));
        }
        if end <= 4 && offset.is_multiple_of(bytes) {
            let view = Elem::of_bytes(bytes as u32).expect("elements have 1, 2 or 4 bytes");
            return Ok(self.copy(Self::lane(id, view, (offset / bytes) as u8, end == 4)));
        }
        // It lies in two words, or across a half: byte by byte.
        let mut word = Src::Imm(0);
        for i in 0..bytes {
            let at = (offset + i) % 4;
            let byte = self.copy(Self::lane(id, Elem::I8, at as u8, at == 3));
            let byte = if i + 1 == bytes { byte } else { self.bin(ir::BinOp::And, byte, 0xff) };
            let byte = self.bin(ir::BinOp::Shl, byte, 8 * i as i32);
            word = if i == 0 { byte } else { self.bin(ir::BinOp::Or, word, byte) };
        }
        Ok(word)
    }

    /// `next::<T>()`.
    pub(super) fn stream_next(&mut self, s: usize, elem: ElemType) -> R<Pe> {
        if elem == ElemType::I64 {
            let (lo, hi) = (self.pop(s, 4)?, self.pop(s, 4)?);
            return Ok(Pe { elem, lo, hi: Some(hi), range: elem.range(), exact: true });
        }
        let lo = self.pop(s, elem.bytes() as u64)?;
        let signed = elem.range().0 < 0 || elem == ElemType::Bool;
        Ok(Pe { elem, lo, hi: None, range: elem.range(), exact: signed })
    }

    /// `fill::<Lrm<T, N>>()`.
    pub(super) fn stream_fill(&mut self, s: usize, elem: ElemType, n: usize) -> R<Lrm> {
        let lrm = self.new_lrm("table", elem, n)?;
        let Place::Buffer { id: buf, .. } = lrm.place else { unreachable!("new buffers are buffers") };
        let (bytes, stream) = ((n * elem.bytes()) as u64, self.reading(s)?);
        if self.streams[s].popped.is_multiple_of(4) {
            let words = (bytes / 4) as usize;
            self.each(words, |cx, i| {
                let place = cx.element(buf, Elem::I32, i);
                cx.store_word(place, Self::lane(stream, Elem::I32, 0, true));
                Ok(())
            })?;
            self.advance(s, bytes / 4 * 4, bytes / 4 * 4)?;
            let (view, size) = (stored(elem), elem.bytes() as u64);
            for i in bytes / 4 * 4 / size..bytes / size {
                let word = self.pop(s, size)?;
                let place = self.element(buf, view, &Affine::number(i as i64));
                self.store_word(place, word);
            }
            return Ok(lrm);
        }
        for i in 0..n {
            let value = self.stream_next(s, elem)?;
            self.write(&lrm, &Affine::number(i as i64), value)?;
        }
        Ok(lrm)
    }

    /// Words of the queue that nobody wants.
    fn discard(&mut self, id: Id, words: u64) -> R<()> {
        self.each(words as usize, |cx, _| {
            cx.copy(Self::lane(id, Elem::I32, 0, true));
            Ok(())
        })
    }

    /// The biases of the next `n` outputs, each given to `f` as a source that is read once.
    pub(super) fn stream_bias(
        &mut self,
        s: usize,
        n: usize,
        mut f: impl FnMut(&mut Self, usize, Src) -> R<()>,
    ) -> R<()> {
        if !self.streams[s].biased {
            // Without biases the engine steps over them; with them, the kernel is begun anew.
            self.learnt.biased.push(self.streams[s].place);
            return Err(super::error::Stop::Restart);
        }
        let id = self.reading(s)?;
        let mut filling = 0;
        if let Some(ordered) = self.streams[s].ordered {
            if !self.streams[s].at.is_multiple_of(ordered.group) {
                let done = (self.streams[s].at % ordered.group).saturating_sub(ordered.biases);
                return self.fail(
                    format!("biases are taken {done} bytes into the weights of a step's outputs"),
                    "biases come before the weights: `let mut acc = w.bias::<N>(); acc += mac(a, w.take::<N>());`",
                );
            }
            if ordered.order.outputs() != n {
                let of = ordered.order.outputs();
                return self.fail(format!("`bias::<{n}>` of a stream laid out for {of} outputs"), "take as many");
            }
            if ordered.biases == 0 {
                return self.fail("activations have no biases", "multiply them alone: `mac(a, w.take::<N>())`");
            }
            filling = ordered.biases / 4 - n as u64;
        } else if !self.streams[s].popped.is_multiple_of(4) {
            return self.fail("32-bit biases that do not stand at whole words", "fill the tensor up to words");
        }
        for i in 0..n {
            f(self, i, Self::lane(id, Elem::I32, 0, true))?;
        }
        let bytes = 4 * (n as u64 + filling);
        self.discard(id, filling)?;
        self.advance(s, bytes, bytes)
    }

    /// Begins the weights for `n` inputs of `outputs` outputs: how many MAC steps they are.
    pub(super) fn stream_weights(&mut self, s: usize, outputs: usize, n: usize) -> R<u64> {
        let Some(order) = Order::of(outputs) else {
            return self.fail(format!("`take::<{outputs}>()`"), "the MAC unit has 1, 4 or 16 outputs");
        };
        let id = self.reading(s)?;
        let stream = self.streams[s].clone();
        let steps = n.div_ceil(order.inputs()) as u64;
        let wanted = order.weights(n) as u64 * stream.elem.min(2);
        if let Some(ordered) = stream.ordered {
            if ordered.order != order {
                let of = ordered.order.outputs();
                return self.fail(format!("`take::<{outputs}>` of a stream laid out for {of} outputs"), "take as many");
            }
            if stream.at.is_multiple_of(ordered.group) {
                // Biases that nobody took are passed over.
                let bias = ordered.biases;
                if stream.biased {
                    self.discard(id, bias / 4)?;
                }
                self.advance(s, bias, if stream.biased { bias } else { 0 })?;
            }
            let bias = ordered.biases;
            if self.streams[s].at % ordered.group + wanted > ordered.group
                || (self.streams[s].at % ordered.group) < bias
            {
                let message = format!("weights of {n} more inputs, where the layout has {} an output", ordered.k);
                return self.fail(message, "multiply as many elements as the layout has inputs");
            }
        }
        if !self.streams[s].popped.is_multiple_of(16) {
            return self.fail("weights that do not stand at multiples of 16 bytes", "fill the tensor up to 16 bytes");
        }
        self.advance(s, wanted, wanted)?;
        Ok(steps)
    }

    /// What trips of a loop take after its first, when one took what was taken since `before`.
    pub(super) fn stream_trips(&mut self, before: &[Stream], trips: u64) -> R<Result<(), u64>> {
        for (s, old) in before.iter().enumerate() {
            let new = self.streams[s].clone();
            let from = if new.id == old.id { old.popped } else { new.lead };
            let (bytes, popped) = (new.at - old.at, new.popped - from);
            if bytes == 0 || trips == 1 {
                continue;
            }
            if !popped.is_multiple_of(4) {
                return Ok(Err(if popped.is_multiple_of(2) { 2 } else { 4 }));
            }
            if let Some(ordered) = new.ordered.filter(|o| o.biases > 0) {
                let phase = old.at % ordered.group;
                let inside = phase > 0 && phase + bytes * trips <= ordered.group;
                if !inside && !bytes.is_multiple_of(ordered.group) {
                    return Ok(Err(0));
                }
            }
            self.advance(s, bytes * (trips - 1), popped * (trips - 1))?;
        }
        Ok(Ok(()))
    }

    /// Ends the streams of a block.
    pub(super) fn end_streams(&mut self, depth: usize) -> R<()> {
        for s in 0..self.streams.len() {
            if self.streams[s].depth == depth && !self.streams[s].over {
                self.end_stream(s)?;
                self.streams[s].over = true;
            }
        }
        Ok(())
    }

    /// Ends a stream in its block: it brings what was taken, the rest of an entry is dropped.
    fn end_stream(&mut self, s: usize) -> R<()> {
        let stream = self.streams[s].clone();
        let Some(id) = stream.id else { return Ok(()) };
        self.streams[s].id = None;
        if !stream.popped.is_multiple_of(4) {
            self.copy(Self::lane(id, Elem::I8, 3, true));
        }
        let words = stream.popped.div_ceil(4);
        let mut entries = words.div_ceil(4);
        let (mut at, mut n0, mut n1, mut step0, mut step1) = (stream.origin + stream.start, entries, 1, 16, 0);
        if let (Some(ordered), false) = (stream.ordered, stream.biased) {
            let per_group = ordered.weights / 16;
            n1 = entries.div_ceil(per_group.max(1)).max(1);
            (n0, step1) = (per_group, ordered.group as i32);
            at += ordered.biases;
            if n1 == 1 {
                step1 = 0;
            }
            entries = n0 * n1;
        }
        if let Some(Ordered { stride: Some(stride), group, .. }) = stream.ordered {
            let per_group = group / 16;
            (n0, n1, step0) = (per_group.min(entries), entries.div_ceil(per_group).max(1), stride);
            if n1 > 1 {
                step1 = 16;
            }
            entries = n0 * n1;
        }
        self.discard(id, entries * 4 - words)?;
        let block = self.b.innermost();
        let start = block.iter().position(|op| matches!(op.kind, OpKind::Bcast { dst, .. } if dst == id));
        let Some(start) = start else { return Ok(()) };
        if let OpKind::Bcast { at: a, n0: n, n1: m, step0: s0, step1: s1, .. } = &mut block[start].kind {
            (*a, *n, *m, *s0, *s1) = (SVal::Imm(at as i32), n0 as u32, n1 as u32, step0, step1);
        }
        Ok(())
    }
}
