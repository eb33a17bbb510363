//! Where tiles land. Two fetches of tensors of one shape, one right after the other, become one flow whose tiles alternate: an engine
//! serves one flow after the other, and a walk pays for the start of each. A tile that is assigned to a part of a buffer
//! lands there itself.

use super::cx::Cx;
use super::error::{Plan, R, Stop};
use super::value::{Lrm, Place};
use crate::ir::visit::OperandMut;
use crate::ir::{Dst, Id, Index, Op, OpKind, Src, Type, Walk, visit};

/// Bytes of a buffer, from the first to the one behind the last.
pub(super) type Bytes = (i64, i64);

/// Trips of a loop that is unrolled so that what it fetches lands where it is wanted.
const FEW: u64 = 32;

impl Cx<'_> {
    /// Lets the fetch before bring the tile of this one too: the number of that transfer, its buffer and the first byte there. Both are
    /// of a tile each and differ in nothing but their tensors; `alloc` is the buffer of this one, which goes.
    pub(super) fn paired(&mut self, walk: &Walk, alloc: Id) -> Option<(usize, Id, usize)> {
        let block = self.b.innermost();
        let at = block.iter().rposition(|op| !matches!(op.kind, OpKind::Lrm { .. } | OpKind::Scalar { .. }))?;
        let OpKind::Flow { out: false, dst: token, walk: first } = &block[at].kind else { return None };
        let (token, mut both) = (*token, (**first).clone());
        let alike = both == Walk { buf: both.buf, at: both.at, lrm: both.lrm, ..walk.clone() };
        if !alike || both.second.is_some() || both.tiles() != 1 || both.slot != 0 {
            return None;
        }
        let i = self.flying_as(token)?;
        let (buf, unit) = (both.lrm, both.elem.bytes());
        (both.second, both.slot_step) = (Some((walk.buf, walk.at)), unit);
        let Type::Lrm { elem, n, ring } = self.b.func().ty(buf) else { return None };
        if n * elem.bytes() != unit.next_multiple_of(4) {
            return None;
        }
        let bytes = (2 * unit).next_multiple_of(4);
        self.b.retype(buf, Type::Lrm { elem, n: bytes / elem.bytes(), ring });
        let block = self.b.innermost();
        // What computes the second origin stands before the flow.
        let mut flow = block.remove(at);
        flow.kind = OpKind::Flow { out: false, dst: token, walk: Box::new(both) };
        block.retain(|op| !matches!(op.kind, OpKind::Lrm { dst, .. } if dst == alloc));
        block.push(flow);
        self.shared.push(buf);
        Some((i, buf, unit as usize))
    }

    /// Lets a tile that was fetched into `from`, which nothing but this assignment refers to, land in `to`; whether it does.
    pub(super) fn lands_in(&mut self, to: &Lrm, from: &Lrm) -> R<bool> {
        let (Place::Buffer { id: there, first }, Place::Buffer { id: here, first: origin }) = (&to.place, &from.place)
        else {
            return Ok(false);
        };
        let (there, here, bytes) = (*there, *here, from.elem.bytes() as i64);
        let own = from.fresh && origin.as_known() == Some(0) && to.n == from.n && from.elem.bytes() == to.elem.bytes();
        if !own || self.masks > 0 || [there, here].iter().any(|id| self.shared.contains(id)) {
            return Ok(false);
        }
        if !self.b.innermost().iter().any(|op| fetches(&op.kind, here)) {
            return Ok(false);
        }
        let Some(first) = first.as_known() else {
            return match self.loop_of(first) {
                Some(key) if self.trips.get(&key).is_some_and(|n| *n <= FEW) => Err(Stop::Replan(key, Plan::Whole)),
                _ => Ok(false),
            };
        };
        let range = (first * bytes, (first + from.n as i64) * bytes);
        let overlaps = |(buf, part): &(Id, Bytes)| *buf == there && part.0 < range.1 && range.0 < part.1;
        if self.landing.iter().any(overlaps) {
            return Ok(false);
        }
        let Some((flow, alloc)) = self.fetched_alone(here, there, range) else { return Ok(false) };
        let block = self.b.innermost();
        let OpKind::Flow { walk, .. } = &mut block[flow].kind else { return Ok(false) };
        if range.0 % walk.elem.bytes() as i64 != 0 {
            return Ok(false);
        }
        (walk.lrm, walk.slot) = (there, range.0 as u32);
        block.remove(alloc);
        self.landing.push((there, range));
        Ok(true)
    }

    /// Where the block's flow into a buffer stands, and the buffer's allocation, if nothing else in the block refers to it, nothing
    /// behind the flow to `other`, and before it nothing to the bytes of `other` where it would land: a pipelined flow is ahead of
    /// what stands before it.
    fn fetched_alone(&mut self, buf: Id, other: Id, range: Bytes) -> Option<(usize, usize)> {
        if self.flying.iter().any(|f| f.leaves(other)) {
            return None;
        }
        let block = self.b.innermost();
        let alloc = block.iter().position(|op| matches!(op.kind, OpKind::Lrm { dst, .. } if dst == buf))?;
        let flow = block.iter().position(|op| fetches(&op.kind, buf))?;
        let quiet = |kind: &OpKind| matches!(kind, OpKind::Lrm { .. } | OpKind::Scalar { .. } | OpKind::Wait { .. });
        let home = block.iter().position(|op| matches!(op.kind, OpKind::Lrm { dst, .. } if dst == other))?;
        if home > flow || !block[home + 1..flow].iter().all(|op| fetches(&op.kind, other) || is_apart(op, other, range))
        {
            return None;
        }
        let behind = block[flow + 1..].iter().all(|op| match &op.kind {
            OpKind::Flow { out: false, walk, .. } => walk.lrm != buf,
            OpKind::Lrm { dst, .. } => *dst != other,
            kind => quiet(kind),
        });
        let mut n_uses = 0;
        visit::walk(block, &mut |op| n_uses += uses(op, buf));
        // Its allocation and the flow.
        (behind && n_uses == 2).then_some((flow, alloc))
    }
}

/// How often an operation itself names a value.
fn uses(op: &Op, id: Id) -> usize {
    let mut n = 0;
    op.kind.clone().map_ids(&mut |of| {
        n += usize::from(of == id);
        of
    });
    n
}

/// Whether an operation surely leaves some bytes of a buffer alone: it does not name it, or only elements elsewhere.
fn is_apart(op: &Op, buf: Id, range: Bytes) -> bool {
    if !matches!(op.kind, OpKind::Alu { .. } | OpKind::Sel { .. }) {
        let mut n = uses(op, buf);
        op.kind.blocks().into_iter().for_each(|block| visit::walk(block, &mut |op| n += uses(op, buf)));
        return n == 0;
    }
    let mut apart = true;
    op.kind.clone().operands_mut(&mut |operand| {
        if let OperandMut::Src(Src::Elem(e)) | OperandMut::Dst(Dst::Elem(e)) = operand
            && e.buf == buf
        {
            let first = e.at as i64 * e.view.bytes() as i64;
            apart &= e.index == Index::Const && (first >= range.1 || first + e.view.bytes() as i64 <= range.0);
        }
    });
    apart
}

/// Whether an operation starts a flow into a buffer.
fn fetches(kind: &OpKind, buf: Id) -> bool {
    matches!(kind, OpKind::Flow { out: false, walk, .. } if walk.lrm == buf)
}
