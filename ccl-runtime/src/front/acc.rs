//! Accumulators: products go where they are added, biases straight from the stream into them.

use std::rc::Rc;

use iss::isa::operand::MacShape;

use super::cx::Cx;
use super::error::R;
use super::value::{Acc, Affine, Lrm, Pe, Place};
use crate::ir::{AluOp, Dst, Elem, ElemRef, Id, Index, LoopAttr, MacWidth, OpKind, SVal, Src, Type};
use crate::kernel::ElemType;

/// MAC steps of one output group that are not looped over.
const STRAIGHT: u64 = 80;

impl Cx<'_> {
    fn new_group(&mut self, n: usize) -> R<Id> {
        if ![1, 4, 16].contains(&n) {
            return self.fail(format!("{n} accumulators in a group"), "the MAC unit has 1, 4 or 16 outputs");
        }
        let id = self.b.value("acc", Type::Acc(n as u8));
        self.push(OpKind::Acc { dst: id });
        Ok(id)
    }
    fn set_acc(&mut self, id: Id, k: usize, a: Src) {
        self.push(OpKind::Alu { op: AluOp::Mov, dst: Dst::Acc(id, k as u8), a, b: Src::Imm(0) });
    }

    pub(super) fn acc_n(acc: &Acc) -> usize {
        match acc {
            Acc::Group { n, .. } | Acc::Bias { n, .. } | Acc::Mac { n, .. } => *n,
            Acc::Lanes(lanes) => lanes.len(),
        }
    }

    /// Accumulators or values: what comes from a stream is taken now.
    pub(super) fn settled(&mut self, acc: Acc) -> R<Acc> {
        match acc {
            Acc::Bias { stream, n } => {
                let id = self.new_group(n)?;
                self.stream_bias(stream, n, |cx, i, word| {
                    cx.set_acc(id, i, word);
                    Ok(())
                })?;
                Ok(Acc::Group { id, n, fresh: true })
            }
            Acc::Mac { a, stream, n } => {
                let id = self.new_group(n)?;
                (0..n).for_each(|i| self.set_acc(id, i, Src::Imm(0)));
                self.multiply(id, &a, stream, n)?;
                Ok(Acc::Group { id, n, fresh: true })
            }
            acc => Ok(acc),
        }
    }

    /// A group that may be added to.
    pub(super) fn own_group(&mut self, acc: Acc) -> R<Id> {
        match self.settled(acc)? {
            Acc::Group { id, fresh: true, .. } => Ok(id),
            other => {
                let values = self.acc_values(&other)?;
                let id = self.new_group(values.len())?;
                for (i, value) in values.iter().enumerate() {
                    self.set_acc(id, i, value.lo);
                }
                Ok(id)
            }
        }
    }

    /// The accumulators as values of now.
    pub(super) fn acc_values(&mut self, acc: &Acc) -> R<Vec<Pe>> {
        match self.settled(acc.clone())? {
            Acc::Group { id, n, .. } => {
                Ok((0..n).map(|k| Pe::new(ElemType::I32, self.copy(Src::Acc(id, k as u8)))).collect())
            }
            Acc::Lanes(lanes) => Ok(lanes.to_vec()),
            Acc::Bias { .. } | Acc::Mac { .. } => unreachable!("what is settled is in accumulators or values"),
        }
    }

    /// `a + b`, where `a` may be written if nobody else refers to it.
    pub(super) fn acc_add(&mut self, a: Acc, b: Acc) -> R<Acc> {
        if Self::acc_n(&a) != Self::acc_n(&b) {
            return self.fail("unlike numbers of accumulators", "");
        }
        match (a, b) {
            (a, Acc::Mac { a: of, stream, n }) => {
                let id = self.own_group(a)?;
                self.multiply(id, &of, stream, n)?;
                Ok(Acc::Group { id, n, fresh: true })
            }
            (Acc::Group { id, n, fresh: true }, b) => {
                self.add_into(id, b)?;
                Ok(Acc::Group { id, n, fresh: true })
            }
            (a, Acc::Group { id, n, fresh: true }) => {
                self.add_into(id, a)?;
                Ok(Acc::Group { id, n, fresh: true })
            }
            (a, b) => {
                let (x, y) = (self.acc_values(&a)?, self.acc_values(&b)?);
                let mut sums = Vec::new();
                for (x, y) in x.into_iter().zip(y) {
                    sums.push(self.pe_binary(ccl_syntax::ast::BinOp::Add, x, y)?);
                }
                Ok(Acc::Lanes(Rc::new(sums)))
            }
        }
    }

    /// Adds to a group in place.
    pub(super) fn add_into(&mut self, id: Id, b: Acc) -> R<()> {
        let add = |cx: &mut Self, i: usize, word: Src| {
            let k = i as u8;
            let op = AluOp::Bin(crate::ir::BinOp::Add);
            cx.push(OpKind::Alu { op, dst: Dst::Acc(id, k), a: Src::Acc(id, k), b: word });
            Ok(())
        };
        match b {
            Acc::Mac { a, stream, n } => self.multiply(id, &a, stream, n),
            Acc::Bias { stream, n } => self.stream_bias(stream, n, add),
            other => {
                let values = self.acc_values(&other)?;
                values.iter().enumerate().try_for_each(|(i, value)| add(self, i, value.lo))
            }
        }
    }

    /// Adds the products of a buffer's elements and a stream's weights to accumulators.
    fn multiply(&mut self, acc: Id, a: &Lrm, stream: usize, n: usize) -> R<()> {
        let width = match (a.elem, self.streams[stream].elem) {
            (ElemType::I8, 1) => MacWidth::W8,
            (ElemType::I16, 1) => MacWidth::W16x8,
            (ElemType::I16, 2) => MacWidth::W16,
            (elem, weight) => {
                return self.fail(
                    format!("the MAC unit multiplies no `{elem}` with weights of {weight} bytes"),
                    "it takes i8 x i8, i16 x i8, i16 x i16: widen the elements to `i16`",
                );
            }
        };
        let shape = match n {
            1 => MacShape::Dot,
            4 => MacShape::Mat4,
            _ => MacShape::Outer,
        };
        let (per_step, bytes) = ((16 / n) as i64, a.elem.bytes());
        let mut a = a.clone();
        if let Place::Buffer { id, .. } = &a.place
            && self.shared.contains(id)
        {
            // What fills it up to a step would lie on the other tensor's tile.
            a = self.own_copy(&Lrm { fresh: false, ..a }, "factors")?;
        }
        let a = &a;
        let (buf, first) = self.in_buffer(a, "factors")?;
        let (view, unit) = match shape {
            MacShape::Outer => (super::pe::stored(a.elem), 1),
            _ => (Elem::I32, 4 / bytes as i64),
        };
        let align = per_step as usize * bytes;
        if shape != MacShape::Outer {
            if !first.multiple_of(per_step as usize) {
                let message = format!("elements for `mac` that do not begin at a multiple of {per_step}");
                return self.fail(message, "slice buffers at multiples of the MAC step's inputs");
            }
            let most = self.aligns.entry(buf).or_insert(1);
            *most = (*most).max(align.min(16) as u32);
            self.fill_up(buf, &first, a, per_step as usize)?;
        }
        let base = match first.divided(unit) {
            Some(base) => base,
            None => self.scalar_op(crate::ir::SOp::Sar, &first, &Affine::number(unit.trailing_zeros().into())),
        };
        let steps = self.stream_weights(stream, n, a.n)?;
        let id = self.reading(stream)?;
        let step = |cx: &mut Self, i: &Affine| {
            let a = cx.element(buf, view, &base.plus(&i.times(per_step / unit)));
            cx.push(OpKind::Mac { width, shape, acc, at: 0, a, stream: id });
            Ok(())
        };
        if steps <= STRAIGHT {
            return (0..steps).try_for_each(|i| step(self, &Affine::number(i as i64)));
        }
        self.mac_loop(steps, step)
    }

    fn mac_loop(&mut self, steps: u64, mut step: impl FnMut(&mut Self, &Affine) -> R<()>) -> R<()> {
        let by = 32;
        let whole = steps / by * by;
        let var = self.b.value("k", Type::Scalar);
        self.ranges.insert(var, crate::ir::range::Range { lo: 0, hi: (whole - by) as i64, zeros: 5 });
        self.open();
        let base = self.variable(var);
        for j in 0..by {
            step(self, &base.add(j as i64))?;
        }
        let body = self.close()?;
        let (lo, hi) = (SVal::Imm(0), SVal::Imm(whole as i32));
        self.push(OpKind::For { var, lo, hi, step: by as i32, attr: LoopAttr::default(), body });
        (whole..steps).try_for_each(|i| step(self, &Affine::number(i as i64)))
    }

    /// Makes room behind the elements for what the last MAC step reads, and writes zeros there.
    fn fill_up(&mut self, buf: Id, first: &Affine, a: &Lrm, per_step: usize) -> R<()> {
        if a.n.is_multiple_of(per_step) {
            return Ok(());
        }
        let Place::Buffer { .. } = a.place else { return Ok(()) };
        let Some(first) = first.as_known() else {
            return self.fail("a slice for `mac` whose length is no whole number of steps", "slice whole steps");
        };
        let (elem, bytes) = (super::pe::stored(a.elem), a.elem.bytes());
        let (begin, end) = ((first as usize + a.n) * bytes, (first as usize + a.n.next_multiple_of(per_step)) * bytes);
        let Type::Lrm { n, ring, .. } = self.b.func().ty(buf) else { return Ok(()) };
        let room = (n * elem.bytes()) as usize;
        if end > room {
            self.b.retype(buf, Type::Lrm { elem, n: (end / bytes) as u32, ring });
        }
        if !begin.is_multiple_of(4) && begin.next_multiple_of(4) == room {
            self.partial.push(buf);
        }
        for word in begin.div_ceil(4)..end / 4 {
            let place = ElemRef { buf, view: Elem::I32, index: Index::Const, at: word as i32 };
            self.store_word(place, Src::Imm(0));
        }
        Ok(())
    }
}
