//! DMA: its start, its end.

use super::super::engine::descriptor::Copy2d;
use super::super::engine::dma;
use super::super::hazard::Footprint;
use super::super::machine::Machine;
use super::super::trap::{Access, Memory, TrapCause};
use super::bytes::copy_rows;
use super::{Outcome, ocm_access, report, solid};
use crate::isa::operand::{DReg, Engine, Token};

impl Machine {
    pub(in crate::sim) fn start_dma(&mut self, engine: Engine, desc: DReg, token: Token) -> Outcome {
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

    pub(super) fn retire_dma(&mut self, engine: Engine, token: u8) {
        let channel = if engine == Engine::DmaIn { &mut self.dma_in } else { &mut self.dma_out };
        let run = channel.remove(token);
        self.stall_on(engine, run.end);
        self.tokens[token as usize] = None;
    }
}
