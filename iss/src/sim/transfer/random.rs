//! Random access: its start, its end.

use super::super::engine::descriptor::RandomAccess;
use super::super::engine::rau;
use super::super::engine::rau::RauRun;
use super::super::hazard::Footprint;
use super::super::machine::Machine;
use super::super::trap::{Access, TrapCause};
use super::bytes::{load_random, random_rows, rau_slots, store_random};
use super::{Outcome, ocm_access, report, solid};
use crate::isa::operand::{DReg, Engine, Token};

impl Machine {
    pub(in crate::sim) fn start_rau(&mut self, desc: DReg, token: Token, store: bool) -> Outcome {
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

    pub(super) fn retire_rau(&mut self) {
        let run = self.rau.take().expect("the token table names a live access");
        self.stall_on(Engine::Rau, run.end);
        for (access, start, len) in rau_slots(&run.access, run.store) {
            self.marks.unmark(access, start, len);
        }
        self.tokens[run.token as usize] = None;
    }
}
