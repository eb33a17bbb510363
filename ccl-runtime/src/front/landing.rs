//! Where tiles land. Two fetches of tensors of one shape, one right after the other, become one flow whose tiles alternate: an engine
//! serves one flow after the other, and a walk pays for the start of each. A tile that is assigned to a part of a buffer
//! lands there itself.

use super::cx::Cx;
use super::error::{Plan, R, Stop};
use super::value::{Lrm, Place};
use crate::ir::{Id, OpKind, Type, Walk, visit};

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
        let Some((flow, alloc)) = self.fetched_alone(here, there) else { return Ok(false) };
        let Some(first) = first.as_known() else {
            return match self.loop_of(first) {
                Some(key) if self.trips.get(&key).is_some_and(|n| *n <= FEW) => Err(Stop::Replan(key, Plan::Whole)),
                _ => Ok(false),
            };
        };
        let block = self.b.innermost();
        let OpKind::Flow { walk, .. } = &mut block[flow].kind else { return Ok(false) };
        if (first * bytes) % walk.elem.bytes() as i64 != 0 {
            return Ok(false);
        }
        (walk.lrm, walk.slot) = (there, (first * bytes) as u32);
        block.remove(alloc);
        self.landing.push(there);
        Ok(true)
    }

    /// Where the block's flow into a buffer stands, and the buffer's allocation, if nothing else in the block refers to it, nothing
    /// behind the flow to `other`, and no loop lies between `other` and the flow.
    fn fetched_alone(&mut self, buf: Id, other: Id) -> Option<(usize, usize)> {
        if self.homes.get(&other) != Some(&self.open_loops.len()) || self.flying.iter().any(|f| f.leaves(other)) {
            return None;
        }
        let block = self.b.innermost();
        let alloc = block.iter().position(|op| matches!(op.kind, OpKind::Lrm { dst, .. } if dst == buf))?;
        let flow = block.iter().position(|op| match &op.kind {
            OpKind::Flow { out: false, walk, .. } => walk.lrm == buf,
            _ => false,
        })?;
        let quiet = |kind: &OpKind| matches!(kind, OpKind::Lrm { .. } | OpKind::Scalar { .. } | OpKind::Wait { .. });
        let behind = block[flow + 1..].iter().all(|op| match &op.kind {
            OpKind::Flow { out: false, walk, .. } => walk.lrm != buf,
            OpKind::Lrm { dst, .. } => *dst != other,
            kind => quiet(kind),
        });
        let mut n_uses = 0;
        visit::walk(block, &mut |op| {
            op.kind.clone().map_ids(&mut |id| {
                n_uses += usize::from(id == buf);
                id
            })
        });
        // Its allocation and the flow.
        (behind && n_uses == 2).then_some((flow, alloc))
    }
}
