//! Starting, granting, waiting for and retiring transfers: hazards, bytes and stalls in one place.
//!
//! Bytes move when it cannot be observed: what lands in local memory at the wait that retires it, what leaves it when it
//! is handed over, DMA and RAU at their start. The hazard rule makes any other moment give the same bytes.

use std::collections::VecDeque;
use std::ops::Range;

use super::array::{Array, Place, Source};
use super::engine::descriptor::{Copy2d, RandomAccess, Stream, Walk};
use super::engine::dma;
use super::engine::flow::{Blocked, FlowRun};
use super::engine::rau::{self, RauRun};
use super::hazard::Footprint;
use super::machine::{Fault, Machine};
use super::memory::ByteMemory;
use super::trap::{Access, Bytes, Memory, TrapCause};
use crate::image::LineTable;
use crate::isa::Class;
use crate::isa::operand::{DReg, Engine, Engines, Tiles, Token, Width};
use crate::profile::{Recorder, RegionRef, StallCause, Work};

type Outcome = Result<(), Fault>;

/// What a stall on an engine is charged to.
fn charged(engine: Engine) -> (Class, StallCause) {
    match engine {
        Engine::FlowIn => (Class::DataOcm, StallCause::Load),
        Engine::FlowOut => (Class::DataOcm, StallCause::Store),
        Engine::Broadcast => (Class::DataOcm, StallCause::Broadcast),
        Engine::Rau => (Class::DataOcm, StallCause::Rau),
        Engine::DmaIn => (Class::DataExternal, StallCause::DmaRead),
        Engine::DmaOut => (Class::DataExternal, StallCause::DmaWrite),
    }
}

/// How an engine touches on-chip memory.
fn ocm_access(engine: Engine, store: bool) -> Access {
    match engine {
        Engine::FlowOut | Engine::DmaIn => Access::Write,
        Engine::Rau if store => Access::Write,
        _ => Access::Read,
    }
}

/// How a flow touches local memory.
fn lrm_access(flow: Engine) -> Access {
    if flow == Engine::FlowIn { Access::Write } else { Access::Read }
}

impl Machine {
    fn stall_on(&mut self, engine: Engine, until: u64) {
        let (class, cause) = charged(engine);
        self.stall_until(until, class, cause);
    }

    fn token_free(&self, token: Token) -> Outcome {
        match self.tokens[token.get() as usize] {
            None => Ok(()),
            Some(engine) => {
                let since_pc = self.started_at(engine, token.get());
                Err(TrapCause::TokenBusy { token: token.get(), engine, since_pc }.into())
            }
        }
    }

    fn token_engine(&self, token: Token) -> Result<Engine, Fault> {
        self.tokens[token.get() as usize].ok_or_else(|| TrapCause::TokenIdle { token: token.get() }.into())
    }

    /// The instruction that started a live transfer.
    fn started_at(&self, engine: Engine, token: u8) -> u32 {
        match engine {
            Engine::FlowIn => self.flow_in.run(token).pc,
            Engine::FlowOut => self.flow_out.run(token).pc,
            Engine::Broadcast => self.broadcast.stream(self.broadcast.position(token)).pc,
            Engine::Rau => self.rau.as_ref().map_or(0, |r| r.pc),
            Engine::DmaIn => self.dma_in.run(token).pc,
            Engine::DmaOut => self.dma_out.run(token).pc,
        }
    }

    // ---- hazards ----

    /// The transfers in flight: engine, instruction, how they touch on-chip memory and where.
    fn in_flight(&self) -> impl Iterator<Item = (Engine, u32, Access, Footprint<'_>)> {
        let flows = |engine: Engine| {
            let list = if engine == Engine::FlowIn { &self.flow_in } else { &self.flow_out };
            list.runs()
                .map(move |(_, r)| (engine, r.pc, ocm_access(engine, false), Footprint::Walk(&r.walk, r.retired)))
        };
        let streams = self.broadcast.streams().filter(|s| s.token.is_some());
        let dmas = |engine: Engine| {
            let list = if engine == Engine::DmaIn { &self.dma_in } else { &self.dma_out };
            list.runs().map(move |r| (engine, r.pc, ocm_access(engine, false), Footprint::DmaOcm(&r.copy)))
        };
        flows(Engine::FlowIn)
            .chain(flows(Engine::FlowOut))
            .chain(streams.map(|s| (Engine::Broadcast, s.pc, Access::Read, Footprint::Stream(&s.stream))))
            .chain(
                self.rau
                    .iter()
                    .map(|r| (Engine::Rau, r.pc, ocm_access(Engine::Rau, r.store), Footprint::Random(&r.access))),
            )
            .chain(dmas(Engine::DmaIn))
            .chain(dmas(Engine::DmaOut))
    }

    /// Refuses a new transfer whose on-chip bytes meet those of one in flight, unless both only read.
    fn check_ocm(&self, engine: Engine, access: Access, footprint: &Footprint<'_>) -> Outcome {
        for (other, since_pc, other_access, other_footprint) in self.in_flight() {
            if access == Access::Read && other_access == Access::Read {
                continue;
            }
            if let Some(range) = footprint.meets(&other_footprint) {
                return Err(
                    TrapCause::EngineHazard { engine, access, memory: Memory::Ocm, range, other, since_pc }.into()
                );
            }
        }
        Ok(())
    }

    /// Refuses a scalar load of bytes that are landing in on-chip memory.
    pub(super) fn check_scalar_load(&self, address: u64) -> Outcome {
        let load = Footprint::Range(Bytes::new(address, address + 4));
        for (engine, since_pc, access, footprint) in self.in_flight() {
            if access == Access::Write
                && let Some(range) = load.meets(&footprint)
            {
                let access = Access::Read;
                return Err(TrapCause::Hazard { access, memory: Memory::Ocm, range, engine, since_pc }.into());
            }
        }
        Ok(())
    }

    /// Refuses an array access to local bytes in flight.
    #[inline]
    pub(super) fn check_marks(&self, access: Access, start: u32, len: u32) -> Outcome {
        if !self.marks.collides(access, start, len) {
            return Ok(());
        }
        let range = Bytes::new(start as u64, (start + len) as u64);
        let (engine, since_pc) = self.lrm_owner(access, range);
        Err(TrapCause::Hazard { access, memory: Memory::Lrm, range, engine, since_pc }.into())
    }

    /// Refuses a transfer of local bytes that another has in flight.
    fn check_lrm_slot(&self, engine: Engine, access: Access, start: u32, len: u32) -> Outcome {
        if !self.marks.collides(access, start, len) {
            return Ok(());
        }
        let range = Bytes::new(start as u64, (start + len) as u64);
        let (other, since_pc) = self.lrm_owner(access, range);
        Err(TrapCause::EngineHazard { engine, access, memory: Memory::Lrm, range, other, since_pc }.into())
    }

    /// The transfer that has marked a range of local memory.
    fn lrm_owner(&self, access: Access, range: Bytes) -> (Engine, u32) {
        let holds = |run: &FlowRun| {
            (run.retired..run.walk.tiles).any(|tile| {
                let start = run.walk.slot(tile) as u64;
                run.owns(tile) && Bytes::new(start, start + run.walk.elem as u64).overlaps(range)
            })
        };
        let inward = self.flow_in.runs().find(|(_, r)| holds(r)).map(|(_, r)| (Engine::FlowIn, r.pc));
        let outward = || self.flow_out.runs().find(|(_, r)| holds(r)).map(|(_, r)| (Engine::FlowOut, r.pc));
        let rau = || self.rau.as_ref().map(|r| (Engine::Rau, r.pc));
        let leaving = || if access == Access::Write { outward() } else { None };
        inward.or_else(leaving).or_else(rau).expect("every mark has a transfer")
    }

    // ---- flows ----

    pub(super) fn start_flow(&mut self, engine: Engine, desc: DReg, token: Token) -> Outcome {
        self.token_free(token)?;
        let walk = Walk::new(&self.descriptors[desc.get() as usize], engine, self.target.spec())?;
        let (now, timing) = (self.now, self.timing);
        let full = self.flows(engine).full_until(now, &timing);
        let full = full.map_err(|blocked| self.deadlock(engine, "starting another flow", blocked))?;
        self.stall_on(engine, full.unwrap_or(0));
        self.check_ocm(engine, ocm_access(engine, false), &Footprint::Walk(&walk, 0))?;
        let granted = match engine {
            _ if walk.ring == 0 => walk.buffers(),
            Engine::FlowIn => walk.ring.min(walk.buffers()),
            _ => 0,
        };
        let handed = 0..granted.checked_sub(1).map_or(0, |last| walk.buffer_tiles(last).end);
        self.check_slots(engine, &walk, handed.clone())?;
        self.wait_all_late();
        self.issue();
        self.recorder.touch_ocm(walk.ocm_range().end);
        let run = FlowRun::new(walk, self.current_pc(), self.recorder.current_region(), self.now, granted);
        self.hand_over(engine, &run.walk, handed)?;
        self.tokens[token.get() as usize] = Some(engine);
        self.flows(engine).start(token.get(), run);
        Ok(())
    }

    fn flows(&mut self, engine: Engine) -> &mut super::engine::flow::FlowEngine {
        if engine == Engine::FlowIn { &mut self.flow_in } else { &mut self.flow_out }
    }

    /// Refuses to hand the slots of tiles to a flow while another transfer has them.
    fn check_slots(&self, engine: Engine, walk: &Walk, mut tiles: Range<u32>) -> Outcome {
        tiles.try_for_each(|tile| self.check_lrm_slot(engine, lrm_access(engine), walk.slot(tile), walk.elem))
    }

    /// Hands the slots of tiles to a flow: marks them, and moves what leaves.
    fn hand_over(&mut self, engine: Engine, walk: &Walk, tiles: Range<u32>) -> Outcome {
        let access = lrm_access(engine);
        for tile in tiles.clone() {
            self.marks.mark(access, walk.slot(tile), walk.elem);
            self.recorder.touch_lrm((walk.slot(tile) + walk.elem) as u64);
        }
        if engine == Engine::FlowOut {
            self.flush()?;
            for tile in tiles {
                store_tile(&self.array, &mut self.ocm, walk, tile);
                self.watch_tile(walk, tile);
            }
        }
        Ok(())
    }

    pub(super) fn release_buffer(&mut self, token: Token) -> Outcome {
        self.grant_buffer(Engine::FlowIn, token)
    }

    pub(super) fn push_buffer(&mut self, token: Token) -> Outcome {
        self.wait_all_late();
        self.grant_buffer(Engine::FlowOut, token)
    }

    /// `release` and `push`: a buffer of the ring goes from the program to the flow.
    fn grant_buffer(&mut self, engine: Engine, token: Token) -> Outcome {
        let owner = self.token_engine(token)?;
        let wrong = |reason: &str| TrapCause::TokenUse { token: token.get(), engine: owner, reason: reason.to_owned() };
        if owner != engine {
            return Err(wrong("`release` is for flows in, `push` for flows out").into());
        }
        let run = self.flows(engine).run(token.get());
        let walk = run.walk.clone();
        if walk.ring == 0 {
            return Err(wrong("the flow has no ring").into());
        }
        // What is released was read, what is pushed is written into slots that an earlier buffer has left.
        let (given, tenant) = match engine {
            Engine::FlowIn => (run.released, Some(run.released)),
            _ => (run.granted, run.granted.checked_sub(walk.ring)),
        };
        if given >= walk.buffers() {
            return Err(wrong("every buffer of the walk has been handed over already").into());
        }
        if tenant.is_some_and(|buffer| run.retired < walk.buffer_tiles(buffer).end) {
            return Err(wrong("the buffer has not been waited for").into());
        }
        let next = if engine == Engine::FlowIn { given + walk.ring } else { given };
        if next < walk.buffers() {
            self.check_slots(engine, &walk, walk.buffer_tiles(next))?;
        }
        self.issue();
        if next < walk.buffers() {
            self.hand_over(engine, &walk, walk.buffer_tiles(next))?;
            let now = self.now;
            self.flows(engine).run_mut(token.get()).grant(now);
        }
        if engine == Engine::FlowIn {
            self.flow_in.run_mut(token.get()).released += 1;
            self.end_flow_if_finished(engine, token.get());
        }
        Ok(())
    }

    /// Frees the token of a flow whose tiles are retired and whose buffers are back.
    fn end_flow_if_finished(&mut self, engine: Engine, token: u8) {
        if self.flows(engine).run(token).is_finished(engine) {
            self.tokens[token as usize] = None;
            self.flows(engine).remove(token);
        }
    }

    /// Stalls until `tiles` of a flow are done and retires them.
    fn retire_flow(&mut self, engine: Engine, token: u8, tiles: u32) -> Outcome {
        let done = self.done_at(engine, token, tiles, "the wait")?;
        self.stall_on(engine, done);
        let run = self.flows(engine).run_mut(token);
        let fresh = run.retired..tiles.max(run.retired);
        run.retire(tiles);
        let walk = run.walk.clone();
        let access = lrm_access(engine);
        if engine == Engine::FlowIn && !fresh.is_empty() {
            self.flush()?;
            fresh.clone().for_each(|tile| load_tile(&mut self.array, &self.ocm, &walk, tile));
        }
        fresh.for_each(|tile| self.marks.unmark(access, walk.slot(tile), walk.elem));
        self.report_flows(engine);
        self.end_flow_if_finished(engine, token);
        Ok(())
    }

    /// Tells the profile of the flows that are fully timed, in the order of their starts.
    fn report_flows(&mut self, engine: Engine) {
        let timing = self.timing;
        let flows = if engine == Engine::FlowIn { &mut self.flow_in } else { &mut self.flow_out };
        for run in flows.to_report() {
            run.reported = true;
            let work = Work {
                start: run.turned(),
                end: run.end(),
                busy: run.busy(&timing),
                bytes: run.bytes,
                tiles: run.walk.tiles as u64,
            };
            report(&mut self.recorder, &self.lines, run.region, engine, work, run.pc);
        }
    }

    /// The fault of waiting for a tile whose buffer only the waiting program could grant.
    fn deadlock(&mut self, engine: Engine, waits: &str, (token, blocked): (u8, Blocked)) -> Fault {
        let run = self.flows(engine).run(token);
        let grant = if engine == Engine::FlowIn { "released" } else { "pushed" };
        let because = format!(
            "tile {} of {engine} t{token} (pc {}) needs buffer {} of its ring, which has not been {grant}",
            blocked.tile + 1,
            run.pc,
            blocked.buffer % run.walk.ring.max(1),
        );
        TrapCause::Deadlock { waits: waits.to_owned(), because }.into()
    }

    // ---- broadcast ----

    pub(super) fn start_broadcast(&mut self, desc: DReg, token: Token) -> Outcome {
        self.token_free(token)?;
        let stream = Stream::new(&self.descriptors[desc.get() as usize], self.target.spec())?;
        let limit = self.timing.broadcast_streams as usize;
        while self.broadcast.unfinished(self.now, &self.timing) >= limit {
            let ends = (0..self.broadcast.streams().count()).filter_map(|i| self.broadcast.done(i, &self.timing));
            let Some(until) = ends.filter(|end| *end > self.now).min() else {
                return Err(self.broadcast_deadlock("starting another broadcast"));
            };
            self.stall_on(Engine::Broadcast, until);
        }
        self.check_ocm(Engine::Broadcast, Access::Read, &Footprint::Stream(&stream))?;
        self.issue();
        self.recorder.touch_ocm(stream.ocm_range().end);
        self.tokens[token.get() as usize] = Some(Engine::Broadcast);
        let (pc, region) = (self.current_pc(), self.recorder.current_region());
        self.broadcast.start(stream, token.get(), pc, region, self.now);
        Ok(())
    }

    fn broadcast_deadlock(&self, waits: &str) -> Fault {
        let because = format!(
            "{} bytes of broadcast are left, more than the queue holds, and only the waiting program could take them",
            self.broadcast.left()
        );
        TrapCause::Deadlock { waits: waits.to_owned(), because }.into()
    }

    fn retire_broadcast(&mut self, token: u8) -> Outcome {
        let index = self.broadcast.position(token);
        let Some(end) = self.broadcast.done(index, &self.timing) else {
            return Err(self.broadcast_deadlock("the wait"));
        };
        self.stall_on(Engine::Broadcast, end);
        self.report_broadcasts(index);
        let run = self.broadcast.stream(index);
        let entries = run.stream.entries();
        let keep: VecDeque<[u8; 16]> = (run.taken..entries)
            .map(|entry| self.ocm.slice(run.stream.address(entry), 16).try_into().expect("sixteen bytes"))
            .collect();
        self.broadcast.retire(index, keep);
        self.tokens[token as usize] = None;
        Ok(())
    }

    /// Tells the profile of the streams up to `last`, which are all in the queue, in the order of their starts.
    fn report_broadcasts(&mut self, last: usize) {
        for index in 0..=last {
            let end = self.broadcast.done(index, &self.timing).expect("a later stream is done");
            let run = self.broadcast.stream_mut(index);
            if std::mem::replace(&mut run.reported, true) {
                continue;
            }
            let entries = run.stream.entries();
            let work = solid(run.issued, end, entries * Stream::ENTRY, entries);
            report(&mut self.recorder, &self.lines, run.region, Engine::Broadcast, work, run.pc);
        }
    }

    // ---- random access ----

    pub(super) fn start_rau(&mut self, desc: DReg, token: Token, store: bool) -> Outcome {
        self.token_free(token)?;
        let access = RandomAccess::new(&self.descriptors[desc.get() as usize], self.target.spec())?;
        if let Some(run) = &self.rau {
            return Err(TrapCause::RauBusy { token: run.token, since_pc: run.pc }.into());
        }
        let touch = ocm_access(Engine::Rau, store);
        self.check_ocm(Engine::Rau, touch, &Footprint::Random(&access))?;
        self.check_lrm_slot(Engine::Rau, Access::Read, access.index, 4)?;
        let data = if store { Access::Read } else { Access::Write };
        self.check_lrm_slot(Engine::Rau, data, access.data, access.elem)?;
        if let (Some(valid), false) = (access.valid, store) {
            self.check_lrm_slot(Engine::Rau, Access::Write, valid, 4)?;
        }
        self.wait_all_late();
        self.flush()?;
        self.issue();
        let rows = random_rows(&self.array, &access);
        if store {
            store_random(&self.array, &mut self.ocm, &access, &rows);
            self.watch_random(&access, &rows);
        } else {
            load_random(&mut self.array, &self.ocm, &access, &rows);
        }
        let mut indices: Vec<Vec<u32>> =
            rows.iter().map(|row| row.iter().filter_map(|(_, index)| *index).collect()).collect();
        let bytes = indices.iter().map(Vec::len).sum::<usize>() as u64 * access.elem as u64;
        let begun = self.now.max(self.rau_free_at);
        let end = begun + rau::access_cycles(indices.iter_mut(), &self.timing);
        self.rau_free_at = end;
        for (access, start, len) in rau_slots(&access, store) {
            self.marks.mark(access, start, len);
            self.recorder.touch_lrm((start + len) as u64);
        }
        self.recorder.touch_ocm(access.ocm_range().end);
        let (token, pc) = (token.get(), self.current_pc());
        let region = self.recorder.current_region();
        report(&mut self.recorder, &self.lines, region, Engine::Rau, solid(begun, end, bytes, 1), pc);
        self.rau = Some(RauRun { access, store, token, pc, begun, end });
        self.tokens[token as usize] = Some(Engine::Rau);
        Ok(())
    }

    fn retire_rau(&mut self) {
        let run = self.rau.take().expect("the token table names a live access");
        self.stall_on(Engine::Rau, run.end);
        for (access, start, len) in rau_slots(&run.access, run.store) {
            self.marks.unmark(access, start, len);
        }
        self.tokens[run.token as usize] = None;
    }

    // ---- DMA ----

    pub(super) fn start_dma(&mut self, engine: Engine, desc: DReg, token: Token) -> Outcome {
        self.token_free(token)?;
        let copy = Copy2d::new(&self.descriptors[desc.get() as usize], engine, self.target.spec())?;
        let ext = copy.ext_range();
        self.ext.check(ext.start as i64, ext.end - ext.start)?;
        let now = self.now;
        let timing = self.timing;
        let channel = if engine == Engine::DmaIn { &mut self.dma_in } else { &mut self.dma_out };
        let full = channel.full_until(now, &timing);
        self.stall_on(engine, full.unwrap_or(0));
        self.check_ocm(engine, ocm_access(engine, false), &Footprint::DmaOcm(&copy))?;
        self.check_ext(engine, &copy)?;
        self.issue();
        let bus = dma::bus_bytes(&copy, &timing);
        let cycles =
            if engine == Engine::DmaIn { self.target.ext_read_cycles(bus) } else { self.target.ext_write_cycles(bus) };
        copy_rows(engine, &copy, &mut self.ocm, &mut self.ext);
        self.watch_copy(engine, &copy);
        self.recorder.touch_ocm(copy.ocm_range().end);
        let (pc, now) = (self.current_pc(), self.now);
        let (bytes, rows) = (copy.bytes * copy.rows, copy.rows);
        let channel = if engine == Engine::DmaIn { &mut self.dma_in } else { &mut self.dma_out };
        let run = channel.start(copy, token.get(), pc, now, cycles, &timing);
        let region = self.recorder.current_region();
        let work = solid(run.begun, run.end, bytes, rows);
        report(&mut self.recorder, &self.lines, region, engine, work, pc);
        self.tokens[token.get() as usize] = Some(engine);
        Ok(())
    }

    /// Refuses external bytes that a transfer the other way has in flight.
    fn check_ext(&self, engine: Engine, copy: &Copy2d) -> Outcome {
        let access = if engine == Engine::DmaIn { Access::Read } else { Access::Write };
        let writers = self.dma_out.runs().map(|r| (Engine::DmaOut, r));
        let readers = self.dma_in.runs().filter(|_| access == Access::Write).map(|r| (Engine::DmaIn, r));
        for (other, run) in writers.chain(readers) {
            if let Some(range) = Footprint::DmaExt(copy).meets(&Footprint::DmaExt(&run.copy)) {
                let since_pc = run.pc;
                return Err(
                    TrapCause::EngineHazard { engine, access, memory: Memory::Ext, range, other, since_pc }.into()
                );
            }
        }
        Ok(())
    }

    fn retire_dma(&mut self, engine: Engine, token: u8) {
        let channel = if engine == Engine::DmaIn { &mut self.dma_in } else { &mut self.dma_out };
        let run = channel.remove(token);
        self.stall_on(engine, run.end);
        self.tokens[token as usize] = None;
    }

    // ---- waiting ----

    pub(super) fn wait_token(&mut self, token: Token, tiles: Tiles) -> Outcome {
        let engine = self.token_engine(token)?;
        let wrong = |reason: String| TrapCause::TokenUse { token: token.get(), engine, reason };
        let total = self.tiles_of(engine, token.get());
        let tiles = match tiles {
            Tiles::All => total,
            Tiles::Count(_) if !matches!(engine, Engine::FlowIn | Engine::FlowOut) => {
                return Err(wrong("only flows count tiles; use `wait t, all`".to_owned()).into());
            }
            Tiles::Count(n) if n > total => {
                return Err(wrong(format!("the walk has {total} tiles, the wait is for tile {n}")).into());
            }
            Tiles::Count(n) => n,
        };
        // As every instruction does, a wait stalls first and issues then.
        self.retire(engine, token.get(), tiles)?;
        self.issue();
        Ok(())
    }

    /// Tiles of a transfer; one if it is no flow.
    fn tiles_of(&self, engine: Engine, token: u8) -> u32 {
        match engine {
            Engine::FlowIn => self.flow_in.run(token).walk.tiles,
            Engine::FlowOut => self.flow_out.run(token).walk.tiles,
            _ => 1,
        }
    }

    fn retire(&mut self, engine: Engine, token: u8, tiles: u32) -> Outcome {
        match engine {
            Engine::FlowIn | Engine::FlowOut => self.retire_flow(engine, token, tiles),
            Engine::Broadcast => self.retire_broadcast(token),
            Engine::Rau => {
                self.retire_rau();
                Ok(())
            }
            Engine::DmaIn | Engine::DmaOut => {
                self.retire_dma(engine, token);
                Ok(())
            }
        }
    }

    /// When a transfer is done, a flow up to its tile `tiles`.
    fn done_at(&mut self, engine: Engine, token: u8, tiles: u32, waits: &str) -> Result<u64, Fault> {
        let timing = self.timing;
        match engine {
            Engine::FlowIn | Engine::FlowOut => {
                let done = self.flows(engine).done(token, tiles, &timing);
                done.map_err(|blocked| self.deadlock(engine, waits, blocked))
            }
            Engine::Broadcast => self
                .broadcast
                .done(self.broadcast.position(token), &timing)
                .ok_or_else(|| self.broadcast_deadlock(waits)),
            Engine::Rau => Ok(self.rau.as_ref().map_or(0, |r| r.end)),
            Engine::DmaIn => Ok(self.dma_in.run(token).end),
            Engine::DmaOut => Ok(self.dma_out.run(token).end),
        }
    }

    /// Waits for every transfer of the engines; the stall is charged to the one that ends last.
    pub(super) fn drain_engines(&mut self, engines: Engines) -> Outcome {
        let live: Vec<(u8, Engine)> = (0..16)
            .filter_map(|t| self.tokens[t as usize].map(|engine| (t, engine)))
            .filter(|(_, engine)| engines.contains(*engine))
            .collect();
        let mut last: Option<(u64, Engine)> = None;
        for (token, engine) in &live {
            let tiles = self.tiles_of(*engine, *token);
            let end = self.done_at(*engine, *token, tiles, "the drain")?;
            if last.is_none_or(|(at, _)| end > at) {
                last = Some((end, *engine));
            }
        }
        if let Some((end, engine)) = last {
            self.stall_on(engine, end);
        }
        for (token, engine) in live {
            if matches!(engine, Engine::FlowIn | Engine::FlowOut) {
                let run = self.flows(engine).run_mut(token);
                // Nothing lands any more, so no buffer needs to be given back.
                run.released = run.walk.buffers();
            }
            let tiles = self.tiles_of(engine, token);
            self.retire(engine, token, tiles)?;
        }
        self.issue();
        Ok(())
    }

    /// At `halt`: no transfer may be in flight and no broadcast unread.
    pub(super) fn check_all_retired(&self) -> Outcome {
        let live = self.tokens.iter().enumerate().find_map(|(token, engine)| Some((token as u8, (*engine)?)));
        if let Some((token, engine)) = live {
            let since_pc = self.started_at(engine, token);
            return Err(TrapCause::Unretired { engine, since_pc }.into());
        }
        match self.broadcast.left() {
            0 => Ok(()),
            left => Err(TrapCause::BroadcastLeft { left }.into()),
        }
    }
}

/// A transfer that kept its engine busy throughout.
fn solid(start: u64, end: u64, bytes: u64, tiles: u64) -> Work {
    Work { start, end, busy: end - start, bytes, tiles }
}

fn report(recorder: &mut Recorder, lines: &LineTable, region: RegionRef, engine: Engine, work: Work, pc: u32) {
    let label = match lines.lookup(pc) {
        Some((file, line)) if recorder.has_timeline() => format!("{file}:{line}"),
        None if recorder.has_timeline() => format!("pc {pc}"),
        _ => String::new(),
    };
    recorder.transfer_from(region, engine, work, &label);
}

/// Bytes of the longest row: 64 columns and both borders, in words.
const ROW_BYTES: usize = 4 * 128;

/// Copies one tile from on-chip memory into the array; elements outside the tensor become zeros.
fn load_tile(array: &mut Array, ocm: &ByteMemory, walk: &Walk, tile: u32) {
    let (origin, slot) = (walk.origin(tile), slot_place(walk, tile));
    let (first, count) = walk.columns();
    let elem = walk.elem as usize;
    let mut buffer = [0u8; ROW_BYTES];
    let bytes = &mut buffer[..count as usize * elem];
    for row in 0..walk.rows {
        let source = walk.row(origin, row);
        let from = ocm.slice(source.address, if source.count == 0 { 0 } else { row_len(&source, elem) });
        if source.count == count && source.stride as usize == elem {
            array.write_row(row as usize, first, slot, from);
            continue;
        }
        bytes.fill(0);
        if source.count > 0 {
            gather(&mut bytes[(source.col - first) as usize * elem..], from, source.stride as usize, elem);
        }
        array.write_row(row as usize, first, slot, bytes);
    }
}

/// Copies elements that lie `stride` apart in `from` side by side into `to`.
fn gather(to: &mut [u8], from: &[u8], stride: usize, elem: usize) {
    if stride == elem {
        to[..from.len()].copy_from_slice(from);
        return;
    }
    for (to, from) in to.chunks_exact_mut(elem).zip(from.chunks(stride)) {
        to.copy_from_slice(&from[..elem]);
    }
}

/// Copies one tile from the array into on-chip memory; elements outside the tensor are not written.
fn store_tile(array: &Array, ocm: &mut ByteMemory, walk: &Walk, tile: u32) {
    let (origin, slot) = (walk.origin(tile), slot_place(walk, tile));
    let elem = walk.elem as usize;
    let mut buffer = [0u8; ROW_BYTES];
    for row in 0..walk.rows {
        let target = walk.row(origin, row);
        if target.count == 0 {
            continue;
        }
        let to = ocm.slice_mut(target.address, row_len(&target, elem));
        if target.stride as usize == elem {
            array.read_row(row as usize, target.col, slot, to);
            continue;
        }
        let bytes = &mut buffer[..target.count as usize * elem];
        array.read_row(row as usize, target.col, slot, bytes);
        for (i, element) in bytes.chunks_exact(elem).enumerate() {
            to[i * target.stride as usize..][..elem].copy_from_slice(element);
        }
    }
}

/// The local bytes of a tile.
fn slot_place(walk: &Walk, tile: u32) -> Place {
    place(walk.slot(tile), walk.elem)
}

/// `bytes` of local memory as a place.
fn place(addr: u32, bytes: u32) -> Place {
    let width = match bytes {
        1 => Width::Byte,
        2 => Width::Half,
        _ => Width::Word,
    };
    Place { width, addr }
}

fn row_len(row: &super::engine::descriptor::TileRow, elem: usize) -> usize {
    (row.count as usize - 1) * row.stride as usize + elem
}

fn copy_rows(engine: Engine, copy: &Copy2d, ocm: &mut ByteMemory, ext: &mut ByteMemory) {
    let len = copy.bytes as usize;
    for row in 0..copy.rows {
        let (inside, outside) = (copy.ocm + row * copy.ocm_pitch, copy.ext + row * copy.ext_pitch);
        if engine == Engine::DmaIn {
            ocm.slice_mut(inside, len).copy_from_slice(ext.slice(outside, len));
        } else {
            ext.slice_mut(outside, len).copy_from_slice(ocm.slice(inside, len));
        }
    }
}

/// The enabled PEs of each row: column, and element index where that is valid.
type RandomRows = Vec<Vec<(i32, Option<u32>)>>;

fn random_rows(array: &Array, access: &RandomAccess) -> RandomRows {
    let geometry = array.geometry();
    let indices = array.read(Source::word(access.index));
    let request = |row: usize, col: usize| {
        let index = indices[row * geometry.full_cols() + geometry.border + col];
        let valid = index >= 0 && (index as u32) < access.limit;
        array.enabled(row, col as i32).then_some((col as i32, valid.then_some(index as u32)))
    };
    (0..geometry.rows).map(|row| (0..geometry.cols).filter_map(|col| request(row, col)).collect()).collect()
}

fn load_random(array: &mut Array, ocm: &ByteMemory, access: &RandomAccess, rows: &RandomRows) {
    let data = place(access.data, access.elem);
    for (row, requests) in rows.iter().enumerate() {
        for (col, index) in requests {
            let value = index.map_or(0, |index| {
                let bytes = ocm.slice(access.ocm + index as u64 * access.elem as u64, access.elem as usize);
                bytes.iter().rev().fold(0, |value, byte| value << 8 | *byte as i32)
            });
            array.set(row, *col, data, value);
            if let Some(valid) = access.valid {
                array.set(row, *col, Place::word(valid), index.is_some() as i32);
            }
        }
    }
}

fn store_random(array: &Array, ocm: &mut ByteMemory, access: &RandomAccess, rows: &RandomRows) {
    let (data, elem) = (place(access.data, access.elem), access.elem as usize);
    for (row, requests) in rows.iter().enumerate() {
        for (col, index) in requests.iter().filter_map(|(col, index)| Some((col, (*index)?))) {
            let value = array.get(row, *col, data);
            let at = access.ocm + index as u64 * elem as u64;
            ocm.slice_mut(at, elem).copy_from_slice(&value.to_le_bytes()[..elem]);
        }
    }
}

/// The bytes of local memory that an access has in flight.
fn rau_slots(access: &RandomAccess, store: bool) -> impl Iterator<Item = (Access, u32, u32)> {
    let data = if store { Access::Read } else { Access::Write };
    let valid = access.valid.filter(|_| !store).map(|valid| (Access::Write, valid, 4));
    [(Access::Read, access.index, 4), (data, access.data, access.elem)].into_iter().chain(valid)
}
