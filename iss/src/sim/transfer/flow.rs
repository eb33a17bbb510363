//! Flows: granting, retiring and reporting their tiles.

use std::ops::Range;

use super::super::engine::descriptor::Walk;
use super::super::engine::flow::{Blocked, FlowRun};
use super::super::hazard::Footprint;
use super::super::machine::{Fault, Machine};
use super::super::trap::TrapCause;
use super::bytes::{load_tile, store_tile};
use super::{Outcome, lrm_access, ocm_access, report};
use crate::isa::operand::{DReg, Engine, Token};
use crate::profile::Work;

impl Machine {
    pub(in crate::sim) fn start_flow(&mut self, engine: Engine, desc: DReg, token: Token) -> Outcome {
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

    pub(super) fn flows(&mut self, engine: Engine) -> &mut super::super::engine::flow::FlowEngine {
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

    pub(in crate::sim) fn release_buffer(&mut self, token: Token) -> Outcome {
        self.grant_buffer(Engine::FlowIn, token)
    }

    pub(in crate::sim) fn push_buffer(&mut self, token: Token) -> Outcome {
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
    pub(super) fn retire_flow(&mut self, engine: Engine, token: u8, tiles: u32) -> Outcome {
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
    pub(super) fn deadlock(&mut self, engine: Engine, waits: &str, (token, blocked): (u8, Blocked)) -> Fault {
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
}
