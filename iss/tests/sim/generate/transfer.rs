//! Random transfers: every field of every descriptor, single tiles and walks, rings, streams, random accesses, DMA.

use iss::builder::{BroadcastDesc, Desc, DmaDesc, Emit, FlowDesc, RauDesc, Value, s};
use iss::isa::operand::*;

use super::{EXT_BYTES, Generator, Held, Live, Place};

/// What a flow's descriptor was given.
struct Made {
    desc: FlowDesc,
    tiles: u32,
    ocm: Held,
    elem: u32,
}

impl Generator {
    pub(super) fn transfer_item(&mut self, place: Place) {
        match self.below(10) {
            0..=2 => self.flow_item(Engine::FlowIn),
            3..=4 => self.flow_item(Engine::FlowOut),
            5..=6 => self.rau_item(),
            7 => self.dma_item(Engine::DmaIn),
            8 => self.dma_item(Engine::DmaOut),
            _ => self.broadcast_item(place),
        }
    }

    /// Sets a descriptor register, in any order, from numbers and registers.
    fn describe(&mut self, desc: &impl Desc) -> DReg {
        let reg = DReg::new(self.below(8) as i64).expect("a descriptor");
        self.p.d_clear(reg);
        let mut fields = desc.fields();
        while !fields.is_empty() {
            let at = self.below(fields.len() as u32) as usize;
            let (field, value) = fields.swap_remove(at);
            let Value::Imm(number) = value else { unreachable!("the generator sets numbers") };
            if number == 0 && self.chance(90) {
                continue;
            }
            if self.chance(15) {
                self.p.s_mov(s(18), number).d_set(reg, field, s(18));
            } else {
                self.p.d_set(reg, field, number);
            }
        }
        reg
    }

    fn push_live(&mut self, token: u8, engine: Engine, tiles: u32, lrm: Vec<Held>, ocm: Vec<Held>, ext: Vec<Held>) {
        self.live.push(Live { token, engine, tiles, lrm, ocm, ext });
    }

    /// A walk over a random tensor in on-chip memory, without its local addresses.
    fn walk(&mut self, engine: Engine, max_tiles: u32) -> Option<Made> {
        let inward = engine == Engine::FlowIn;
        let elem = self.pick(&[1, 1, 2, 4]);
        let (width, height) = (1 + self.below(2 * self.cols), 1 + self.below(2 * self.rows));
        let planes = 1 + self.below(3);
        let row_pitch = width * elem + if self.chance(50) { 0 } else { self.below(40) };
        let plane_pitch = height * row_pitch + if self.chance(50) { 0 } else { self.below(70) };
        let align = self.pick(&[1, 4, 32]);
        let base = self.ocm_range(planes * plane_pitch, align, !inward)?;
        let halo = if inward && self.chance(50) { self.below(self.border + 1) } else { 0 };
        let (rows, cols) = if self.chance(60) {
            (self.rows, self.cols)
        } else {
            let extra = if inward && self.chance(30) { self.border - halo } else { 0 };
            (1 + self.below(self.rows), 1 + self.below(self.cols + extra))
        };
        let mut trips = [1; 4];
        for n in &mut trips {
            *n = 1 + self.below(3);
        }
        while trips.iter().product::<u32>() > max_tiles {
            let at = self.below(4) as usize;
            trips[at] = 1;
        }
        let mut dp = [0; 4];
        // One loop may go through the planes, up or down.
        let over_planes = self.below(4) as usize;
        let mut first_plane = 0;
        if trips[over_planes] <= planes {
            dp[over_planes] = 1;
            if self.chance(30) {
                dp[over_planes] = -1;
                first_plane = planes - 1;
            }
        }
        let by = |g: &mut Self, reach: u32| {
            if g.chance(40) { 0 } else { g.range(-(reach as i32), reach as i32) }
        };
        let dx: [i32; 4] = std::array::from_fn(|_| by(self, self.cols));
        let dy: [i32; 4] = std::array::from_fn(|_| by(self, self.rows));
        let step = |g: &mut Self| if g.chance(60) { 1 } else { 1 + g.below(4) };
        let desc = FlowDesc::default()
            .ocm(base + first_plane * plane_pitch)
            .elem(elem)
            .width(width)
            .height(height)
            .row_pitch(row_pitch)
            .plane_pitch(plane_pitch)
            .x0(if self.chance(50) { 0 } else { self.range(-6, width as i32) })
            .y0(if self.chance(50) { 0 } else { self.range(-4, height as i32) })
            .col_step(step(self))
            .row_step(step(self))
            .rows(rows)
            .cols(cols)
            .halo(halo);
        let desc = desc.n0(trips[0]).n1(trips[1]).n2(trips[2]).n3(trips[3]);
        let desc = desc.dx0(dx[0]).dx1(dx[1]).dx2(dx[2]).dx3(dx[3]);
        let desc = desc.dy0(dy[0]).dy1(dy[1]).dy2(dy[2]).dy3(dy[3]);
        let desc = desc.dp0(dp[0]).dp1(dp[1]).dp2(dp[2]).dp3(dp[3]);
        let ocm = Held { start: base, end: base + planes * plane_pitch, writes: !inward };
        Some(Made { desc, tiles: trips.iter().product(), ocm, elem })
    }

    fn flow_item(&mut self, engine: Engine) {
        let inward = engine == Engine::FlowIn;
        let blocked = if inward { self.ring_in } else { self.ring_out };
        let (false, Some(token)) = (blocked, self.free_token()) else { return };
        let Some(Made { desc, tiles, ocm, elem }) = self.walk(engine, 8) else { return };
        let step = if self.chance(20) { 0 } else { elem * (1 + self.below(3)) };
        let len = (tiles - 1) * step + elem;
        let Some(slot) = self.lrm_slot(len, elem, inward) else { return };
        let d = self.describe(&desc.lrm(slot).lrm_step(step));
        self.start(engine, d, token);
        let lrm = Held { start: slot, end: slot + len, writes: inward };
        self.push_live(token, engine, tiles, vec![lrm], vec![ocm], vec![]);
    }

    fn start(&mut self, engine: Engine, d: DReg, token: u8) {
        let t = Token::new(token as i64).expect("a token");
        match engine {
            Engine::FlowIn => self.p.flow_in(d, t),
            Engine::FlowOut => self.p.flow_out(d, t),
            Engine::Broadcast => self.p.bcast(d, t),
            Engine::DmaIn => self.p.dma_in(d, t),
            Engine::DmaOut => self.p.dma_out(d, t),
            Engine::Rau => unreachable!("it has two instructions"),
        };
    }

    // ---- rings ----

    /// A descriptor with a ring, and the local bytes of each of its buffers.
    fn ring(&mut self, engine: Engine) -> Option<(Made, u32, Vec<Held>)> {
        let inward = engine == Engine::FlowIn;
        let mut made = self.walk(engine, 9)?;
        let (ring, group) = (1 + self.below(3), 1 + self.below(3));
        let step = made.elem * (1 + self.below(2));
        let span = (group - 1) * step + made.elem;
        let ring_step = span.next_multiple_of(made.elem) + made.elem * self.below(2);
        let slot = self.lrm_slot((ring - 1) * ring_step + span, made.elem, inward)?;
        made.desc = made.desc.lrm(slot).lrm_step(step).group(group).ring(ring).ring_step(ring_step);
        let buffer = |i| Held { start: slot + i * ring_step, end: slot + i * ring_step + span, writes: inward };
        Some((made, group, (0..ring).map(buffer).collect()))
    }

    /// A flow into a ring: each buffer is waited for, used and released.
    pub(super) fn ring_in_item(&mut self, place: Place) {
        let (false, Some(token)) = (self.ring_in, self.free_token()) else { return };
        let Some((made, group, buffers)) = self.ring(Engine::FlowIn) else { return };
        let ring = buffers.len() as u32;
        let d = self.describe(&made.desc);
        self.start(Engine::FlowIn, d, token);
        self.ring_in = true;
        self.push_live(token, Engine::FlowIn, 0, buffers.clone(), vec![made.ocm], vec![]);
        let t = Token::new(token as i64).expect("a token");
        let n = made.tiles.div_ceil(group);
        // Buffers may be released later than they are waited for.
        let lag = self.below(ring);
        for b in 0..n + lag {
            if b < n {
                self.p.wait(t, ((b + 1) * group).min(made.tiles));
                self.ring_slots(token, &buffers, (b + 1).saturating_sub(lag.min(b + 1)), b + 1, n);
            }
            let quiet = self.words == 0 || self.words_depth != place.depth;
            for _ in 0..self.below(3) {
                self.alu(quiet);
            }
            if let Some(released) = b.checked_sub(lag) {
                self.p.release(t);
                self.ring_slots(token, &buffers, released + 1, (b + 1).min(n), n);
            }
        }
        let at = self.live.iter().position(|l| l.token == token).expect("it was put there");
        self.live.remove(at);
        self.ring_in = false;
    }

    /// Of a ring, the buffers `first..end` are the program's; the others are held as far as they have tiles.
    fn ring_slots(&mut self, token: u8, buffers: &[Held], first: u32, end: u32, n: u32) {
        let ring = buffers.len() as u32;
        let ours = |i: u32| (first..end).any(|b| b % ring == i);
        let used = |i: u32| (end..n).any(|b| b % ring == i);
        let held = (0..ring).filter(|i| !ours(*i) && used(*i)).map(|i| buffers[i as usize]).collect();
        self.live.iter_mut().find(|l| l.token == token).expect("it is live").lrm = held;
    }

    /// A flow out of a ring: each buffer is filled and pushed, once what it held has left.
    pub(super) fn ring_out_item(&mut self, place: Place) {
        let (false, Some(token)) = (self.ring_out, self.free_token()) else { return };
        let Some((made, group, buffers)) = self.ring(Engine::FlowOut) else { return };
        let ring = buffers.len() as u32;
        let d = self.describe(&made.desc);
        self.start(Engine::FlowOut, d, token);
        self.ring_out = true;
        // The whole ring counts as held, but for the buffer in hand.
        self.push_live(token, Engine::FlowOut, 0, vec![], vec![made.ocm], vec![]);
        let t = Token::new(token as i64).expect("a token");
        for b in 0..made.tiles.div_ceil(group) {
            if let Some(tenant) = b.checked_sub(ring) {
                self.p.wait(t, ((tenant + 1) * group).min(made.tiles));
            }
            let inside = |i: u32| (b + 1).saturating_sub(ring) <= i && i < b;
            let held = (0..b).filter(|i| inside(*i)).map(|i| buffers[(i % ring) as usize]).collect();
            self.live.iter_mut().find(|l| l.token == token).expect("it is live").lrm = held;
            let quiet = self.words == 0 || self.words_depth != place.depth;
            for _ in 0..self.below(3) {
                self.alu(quiet);
            }
            self.p.push(t);
            self.live.iter_mut().find(|l| l.token == token).expect("it is live").lrm.push(buffers[(b % ring) as usize]);
        }
        self.p.wait(t, Tiles::All);
        let at = self.live.iter().position(|l| l.token == token).expect("it was put there");
        self.live.remove(at);
        self.ring_out = false;
    }

    // ---- the others ----

    fn rau_item(&mut self) {
        if self.live.iter().any(|l| l.engine == Engine::Rau) {
            return;
        }
        let store = self.chance(40);
        let elem = self.pick(&[1, 2, 4]);
        let limit = 1 + self.below(200);
        let (Some(token), Some(base)) = (self.free_token(), self.ocm_range(limit * elem, 4, store)) else { return };
        let Some(index) = self.lrm_slot(4, 4, true) else { return };
        let Some(data) = self.lrm_slot(elem, elem, !store).filter(|at| at + elem <= index || index + 4 <= *at) else {
            return;
        };
        let valid = self.lrm_slot(4, 4, true);
        let apart = |at: &u32| (at + 4 <= data || data + elem <= *at) && *at != index;
        let valid = valid.filter(|at| apart(at) && (!store || self.rng.once_in(2)) && self.rng.below(3) > 0);
        // Indices that differ, repeat, and go astray on either side.
        let word = |at: u32| Dst::Lrm(Lrm::word(at).expect("aligned"));
        let src = |at: u32| Src::Lrm(Lrm::word(at).expect("aligned"));
        match self.below(4) {
            0 => {
                self.p.mov(word(index), Src::QCol);
            }
            1 => {
                self.p.fx_mul(word(index), Src::QRow, Src::QCol, 1);
            }
            2 => {
                self.p.sub(word(index), Src::QRow, 2);
            }
            _ => {
                self.p.fx_mul(word(index), Src::QRow, self.cols as i32, 0);
                self.p.add(word(index), src(index), Src::QCol);
            }
        }
        let desc = RauDesc::default().ocm(base).elem(elem).lrm(index).data(data).limit(limit);
        let d = self.describe(&desc.valid(valid.map_or(0, |at| at + 1)));
        let t = Token::new(token as i64).expect("a token");
        if store {
            self.p.rau_store(d, t);
        } else {
            self.p.rau_load(d, t);
        }
        let mut lrm = vec![Held { start: index, end: index + 4, writes: false }];
        lrm.push(Held { start: data, end: data + elem, writes: !store });
        lrm.extend(valid.map(|at| Held { start: at, end: at + 4, writes: true }));
        let ocm = Held { start: base, end: base + limit * elem, writes: store };
        self.push_live(token, Engine::Rau, 0, lrm, vec![ocm], vec![]);
    }

    fn dma_item(&mut self, engine: Engine) {
        let inward = engine == Engine::DmaIn;
        let (bytes, rows) = (1 + self.below(200), 1 + self.below(4));
        let pitch = |g: &mut Self, target: bool| {
            // Only a source's rows may share bytes.
            if !target && g.chance(30) { g.below(bytes) } else { bytes + g.below(60) }
        };
        let (ocm_pitch, ext_pitch) = (pitch(self, inward), pitch(self, !inward));
        let (ocm_len, ext_len) = ((rows - 1) * ocm_pitch + bytes, (rows - 1) * ext_pitch + bytes);
        let (Some(token), Some(ocm)) = (self.free_token(), self.ocm_range(ocm_len, 1, inward)) else { return };
        let Some(ext) = self.find(|l| &l.ext, 0, EXT_BYTES, ext_len, 1, !inward) else { return };
        let n0 = if rows == 1 && self.chance(50) { 0 } else { rows };
        let desc = DmaDesc::default().ocm(ocm).row_pitch(ocm_pitch).n0(n0).ext(ext).bytes(bytes).ext_pitch(ext_pitch);
        let d = self.describe(&desc);
        self.start(engine, d, token);
        let ocm = Held { start: ocm, end: ocm + ocm_len, writes: inward };
        let ext = Held { start: ext, end: ext + ext_len, writes: !inward };
        self.push_live(token, engine, 0, vec![], vec![ocm], vec![ext]);
    }

    /// A stream of `inner * outer` entries, strided either way; whether it was started.
    fn stream(&mut self, inner: u32, outer: u32, place: Place) -> bool {
        let (dx0, dx1) = (16 * self.range(-2, 3), 16 * self.range(-4, 6));
        let low = dx0.min(0) * (inner as i32 - 1) + dx1.min(0) * (outer as i32 - 1);
        let high = dx0.max(0) * (inner as i32 - 1) + dx1.max(0) * (outer as i32 - 1) + 16;
        let (Some(token), Some(at)) = (self.free_token(), self.ocm_range((high - low) as u32, 16, false)) else {
            return false;
        };
        let desc = BroadcastDesc::default().ocm(at as i32 - low).n0(inner).dx0(dx0).n1(outer).dx1(dx1);
        let d = self.describe(&desc);
        self.start(Engine::Broadcast, d, token);
        let ocm = Held { start: at, end: at + (high - low) as u32, writes: false };
        self.push_live(token, Engine::Broadcast, 0, vec![], vec![ocm], vec![]);
        self.words += 4 * inner * outer;
        self.words_depth = place.depth;
        true
    }

    pub(super) fn broadcast_item(&mut self, place: Place) {
        let (inner, outer) = (1 + self.below(5), 1 + self.below(4));
        let same = self.words == 0 || self.words_depth == place.depth;
        // Streams that fit the queue together block nobody; a longer one is read at once, so that no wait meets it.
        if !same || (self.words > 0 && self.words + 4 * inner * outer > 32) || !self.stream(inner, outer, place) {
            return;
        }
        if self.words > 32 {
            self.drink(self.words - 4 * self.words.min(8));
        }
    }

    /// The usual kernel: a stream of weights and a loop of MACs that takes them.
    pub(super) fn mac_loop(&mut self, place: Place) {
        let (trips, macs) = (1 + self.below(5), 1 + self.below(3));
        if place.loops == 2 || self.words > 0 {
            return;
        }
        // A loop's body may find nothing to read; every step takes exactly one entry, so moves stand in.
        if !self.stream(macs, trips, place) {
            return;
        }
        let end = self.p.label();
        self.p.loop_i(trips, end);
        for _ in 0..macs {
            let kind = self.below(2);
            self.mac_of(kind);
            self.words += 4;
            self.alu(true);
        }
        self.p.bind(end);
        self.words = 0;
    }
}
