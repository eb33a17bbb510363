//! Broadcasts: the queue of their words.

use std::collections::VecDeque;

use super::super::engine::descriptor::Stream;
use super::super::hazard::Footprint;
use super::super::machine::{Fault, Machine};
use super::super::trap::{Access, TrapCause};
use super::{Outcome, report, solid};
use crate::isa::operand::{DReg, Engine, Token};

impl Machine {
    pub(in crate::sim) fn start_broadcast(&mut self, desc: DReg, token: Token) -> Outcome {
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

    pub(super) fn broadcast_deadlock(&self, waits: &str) -> Fault {
        let because = format!(
            "{} bytes of broadcast are left, more than the queue holds, and only the waiting program could take them",
            self.broadcast.left()
        );
        TrapCause::Deadlock { waits: waits.to_owned(), because }.into()
    }

    pub(super) fn retire_broadcast(&mut self, token: u8) -> Outcome {
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
}
