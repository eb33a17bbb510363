//! Starting, granting, waiting for and retiring transfers: hazards, bytes and stalls in one place.
//!
//! Bytes move when it cannot be observed: what lands in local memory at the wait that retires it, what leaves it when it
//! is handed over, DMA and RAU at their start. The hazard rule makes any other moment give the same bytes.

mod broadcast;
mod bytes;
mod dma;
mod flow;
mod random;

use super::engine::flow::FlowRun;
use super::hazard::Footprint;
use super::machine::{Fault, Machine};
use super::trap::{Access, Bytes, Memory, TrapCause};
use crate::image::LineTable;
use crate::isa::Class;
use crate::isa::operand::{Engine, Engines, Tiles, Token};
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
