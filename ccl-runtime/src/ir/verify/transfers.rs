//! What is checked when a transfer starts.

use super::{Flight, Ring, Stream, Verifier};
use crate::ir::types::*;

impl Verifier<'_> {
    pub(super) fn bcast(&mut self, dst: Id, (buf, at): (Id, SVal), (n0, step0): (u32, i32), (n1, step1): (u32, i32)) {
        let limit = (1 << 24) - 2;
        if n0 == 0 || n1 == 0 || n0 > limit || n1 > limit {
            return self.say("a stream has 1..=16777214 entries a level");
        }
        if step0 % 16 != 0 || step1 % 16 != 0 {
            self.say("entries stand at multiples of 16 bytes");
        }
        let (a, b) = (step0 as i64 * (n0 as i64 - 1), step1 as i64 * (n1 as i64 - 1));
        self.inside(buf, at, a.min(0) + b.min(0), a.max(0) + b.max(0) + 16, 16);
        if self.wheres > 0 {
            self.say("a stream is started inside `where`");
        }
        if let Some(token) = self.flights.iter().find(|f| f.memory.contains(&(buf, true))).map(|f| f.token) {
            let token = self.name(token);
            self.say(format!("what is broadcast is being written\nhelp: `wait {token}` first"));
        }
        let most = self.target.map_or(2, |t| t.spec().timing.broadcast_streams as usize);
        if self.streams.iter().filter(|s| s.left > 0).count() >= most {
            self.say(format!("{most} streams are not consumed yet, and no more can be started"));
        }
        let words = 4 * n0 as u64 * n1 as u64;
        self.streams.push(Stream { id: dst, block: self.block, buf, words, left: words });
    }

    pub(super) fn rau(&mut self, token: Id, access: &Access, index: &ElemRef, data: &ElemRef, valid: Option<&ElemRef>) {
        let &Access { store, buf, at, elem, limit } = access;
        self.inside(buf, at, 0, limit as i64 * elem.bytes() as i64, 1);
        if limit == 0 || limit > i32::MAX as u32 {
            self.say("a random access addresses at least one element");
        }
        if self.flights.iter().any(|f| f.rau) {
            self.say("one random access at a time\nhelp: wait for the other first");
        }
        let mut lrm = Vec::new();
        let places = [Some((index, Elem::I32, false)), Some((data, elem, !store)), valid.map(|v| (v, Elem::I32, true))];
        for (e, width, landing) in places.into_iter().flatten() {
            if e.index != Index::Const || e.view != width {
                self.say(format!("a random access takes constant places: `.{}` here", width.letter()));
            }
            self.elem(e, width.bytes(), width.bytes(), landing);
            if matches!(self.f.ty(e.buf), Type::Lrm { ring: 2.., .. }) {
                self.say("a random access takes no ring");
            }
            let lo = e.at as i64 * e.view.bytes() as i64;
            lrm.push((e.buf, lo, lo + width.bytes() as i64, landing));
        }
        let overlap = |i: usize, j: usize| {
            let ((b, l, h, x), (c, m, k, y)) = (lrm[i], lrm[j]);
            b == c && l < k && m < h && (x || y)
        };
        if (0..lrm.len()).any(|i| (0..i).any(|j| overlap(i, j))) {
            self.say("index, data and valid word share bytes");
        }
        let memory = vec![self.fly_memory(buf, store)];
        let block = self.block;
        self.start(Flight { token, block, lrm, memory, flow: None, rau: true, ring: None });
    }

    pub(super) fn restart(&mut self, out: bool, token: Id, w: &Walk) {
        let name = self.name(token);
        if self.f.ty(token) != Type::Flow {
            return self.say(format!("{name} is no flow"));
        }
        if self.flights.iter().any(|f| f.token == token) {
            return self.say(format!("{name} is in flight\nhelp: `wait {name}` first"));
        }
        if !self.reaches(token) {
            return self.say(format!("{name} is started under a condition or in a loop without a constant count"));
        }
        if w.group > 0 {
            return self.say("a flow of a ring is not started again");
        }
        self.flow(out, token, w);
        // It ends in the block of its token.
        if let (Some((block, _)), Some(flight)) = (self.owners.get(&token), self.flights.last_mut())
            && flight.token == token
        {
            flight.block = *block;
        }
    }

    pub(super) fn flow(&mut self, out: bool, token: Id, w: &Walk) {
        const STEP: i64 = 1 << 24;
        for s in [w.x0, w.y0] {
            self.scalar(s);
            let r = self.ranges.sval(s);
            if r.lo < -STEP || r.hi > STEP {
                self.say("an origin is not known to lie within 2^24");
            }
        }
        let loops_fit = w
            .loops
            .iter()
            .all(|l| l.n as i64 <= STEP - 2 && [l.dx, l.dy, l.dp].into_iter().all(|d| (d as i64).abs() <= STEP));
        if w.loops.len() > 4 || !loops_fit || w.loops.iter().any(|l| l.n == 0) {
            return self.say("a walk has up to four loops, their trips and steps below 2^24");
        }
        let tensors = if w.second.is_some() { 2u64 } else { 1 };
        let tiles = w.loops.iter().try_fold(tensors, |n, l| n.checked_mul(l.n as u64)).unwrap_or(u64::MAX);
        if w.second.is_some() {
            // The engine walks from one tensor to the other by a loop over planes of one byte.
            let far = w.loops.iter().any(|l| (l.dp as i64 * w.plane as i64).abs() > STEP);
            if out || w.loops.len() > 3 || far {
                return self
                    .say("a walk over two tensors flows in, has up to three loops, and steps of at most 2^24 bytes");
            }
        }
        if tiles > STEP as u64 - 2 {
            return self.say("a walk has fewer than 2^24 tiles");
        }
        let sizes = [w.width, w.height, w.col_step, w.row_step, w.rows, w.cols];
        if sizes.iter().any(|n| *n == 0 || *n as i64 > STEP) {
            return self.say("extents and steps of a walk are at least 1 and at most 2^24");
        }
        if let Some(t) = self.target {
            let (rows, cols, border) = (t.spec().rows, t.spec().cols, t.spec().border);
            let border = if out { 0 } else { border };
            if w.rows > rows || w.halo > border || w.cols > cols + border - w.halo {
                let (h, product) = (w.halo, t.spec().product.clone());
                self.say(format!(
                    "a {}x{} tile with halo {h} does not fit the {rows}x{cols} array of {product} with {border} border columns",
                    w.rows, w.cols
                ));
            }
        }
        if out && w.halo > 0 {
            self.say("a flow out has no halo");
        }
        let planes = w.loops.iter().fold((0i64, 0i64), |(lo, hi), l| {
            let far = l.dp as i64 * (l.n as i64 - 1);
            (lo + far.min(0), hi + far.max(0))
        });
        let plane = |n: i64| n.saturating_mul(w.plane as i64);
        let last = (w.height as i64 - 1) * w.pitch as i64 + w.width as i64 * w.elem.bytes() as i64;
        self.inside(w.buf, w.at, plane(planes.0), plane(planes.1).saturating_add(last), 1);
        if let Some((buf, at)) = w.second {
            self.inside(buf, at, plane(planes.0), plane(planes.1).saturating_add(last), 1);
        }
        let busy = self.flights.iter().any(|f| f.flow == Some(out) && (f.ring.is_some() || w.group > 0));
        if busy {
            self.say(
                "a flow of a ring and another of its direction would run at once: the later waits for the earlier",
            );
        }
        let Type::Lrm { ring, .. } = self.f.ty(w.lrm) else {
            return self.say("a flow lands in a local buffer");
        };
        if (ring > 1) != (w.group > 0) {
            self.say("a ring's flow, and only it, has a group: the tiles of an instance");
        }
        let e = w.elem.bytes() as i64;
        if !w.slot.is_multiple_of(w.elem.bytes()) || !w.slot_step.is_multiple_of(w.elem.bytes()) {
            self.say(format!("slots stand at multiples of the element's {e} bytes"));
        }
        let per_buffer = if w.group > 0 { (w.group as u64).min(tiles) } else { tiles };
        if per_buffer > 1 && (w.slot_step as i64) < e {
            self.say(format!("{per_buffer} tiles land in one slot\nhelp: `slot {e}`"));
        }
        let (lo, hi) = (w.slot as i64, w.slot as i64 + (per_buffer as i64 - 1) * w.slot_step as i64 + e);
        let ring = if w.group > 0 {
            if !tiles.is_multiple_of(w.group as u64) {
                self.say(format!("{tiles} tiles are no whole number of groups of {}", w.group));
            }
            if w.group > 1 << 16 {
                self.say("a group has at most 65536 tiles");
            }
            Some(Ring { buf: w.lrm, held: false, taken: 0, total: tiles / w.group as u64 })
        } else {
            None
        };
        let mut memory = vec![self.fly_memory(w.buf, out)];
        if let Some((buf, _)) = w.second {
            memory.push(self.fly_memory(buf, false));
        }
        let lrm = if ring.is_some() {
            if let Type::Lrm { elem, n, .. } = self.f.ty(w.lrm)
                && hi > n as i64 * elem.bytes() as i64
            {
                self.say(format!("an instance takes {hi} bytes, more than the ring's buffer has"));
            }
            if self.flights.iter().any(|f| f.ring.is_some_and(|r| r.buf == w.lrm)) {
                self.say("the ring already serves a flow");
            }
            Vec::new()
        } else {
            vec![self.fly_lrm(w.lrm, lo, hi, !out)]
        };
        let block = self.block;
        self.start(Flight { token, block, lrm, memory, flow: Some(out), rau: false, ring });
    }
}

/// The on-chip side of a random access.
pub(super) struct Access {
    pub store: bool,
    pub buf: Id,
    pub at: SVal,
    pub elem: Elem,
    pub limit: u32,
}
