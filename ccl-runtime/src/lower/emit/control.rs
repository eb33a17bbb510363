//! Branches and loops.

use iss::builder::{Emit, Label, Num};
use iss::isa::Inst;
use iss::isa::operand::{self as operand, Cond, SReg, SSrc};

use super::{Emitter, alloc, sreg};
use crate::ir::range::trips;
use crate::ir::*;
use crate::lower::alloc::{Extra, used_in};
use crate::lower::fuse::negated;

impl Emitter<'_> {
    pub(super) fn jump_unless(&mut self, cond: Cond, a: SVal, b: SVal, to: Label) {
        self.jump_if(negated(cond), a, b, to);
    }

    pub(super) fn jump_if(&mut self, cond: Cond, a: SVal, b: SVal, to: Label) {
        let fits = |v: i32| i16::try_from(v).is_ok();
        let (cond, a, b) = match (a, b) {
            // At most one side goes through the temporary register.
            (SVal::Imm(x), SVal::Imm(y)) if !fits(y) && fits(x) => (swapped(cond), SVal::Imm(y), SVal::Imm(x)),
            (SVal::Imm(x), b @ SVal::Val(_)) => (swapped(cond), b, SVal::Imm(x)),
            other => (cond, other.0, other.1),
        };
        let (a, b) = match (a, b) {
            (SVal::Val(id), SVal::Imm(v)) if !fits(v) => {
                let b = self.in_reg(SVal::Imm(v));
                (sreg(self.reg(id)), operand::SSrc16::Reg(b))
            }
            (SVal::Imm(x), SVal::Imm(y)) if !fits(y) => {
                // Both are numbers beyond a branch's: the outcome is known.
                let (x, y) = if interp::cond_holds(cond, x, y) { (0, 0) } else { (0, 1) };
                let a = self.in_reg(SVal::Imm(x));
                return self.branch_inst(Cond::Eq, a, operand::SSrc16::Imm(y), to);
            }
            (a, SVal::Imm(v)) => (self.in_reg(a), operand::SSrc16::Imm(v)),
            (a, SVal::Val(id)) => (self.in_reg(a), operand::SSrc16::Reg(sreg(self.reg(id)))),
        };
        self.branch_inst(cond, a, b, to);
    }

    pub(super) fn branch_inst(&mut self, cond: Cond, a: SReg, b: operand::SSrc16, to: Label) {
        self.count_control();
        self.p.branch(cond, a, b, to);
    }

    pub(super) fn count_control(&mut self) {
        let classes = self.places.report.instructions.entry(self.regions.join("/")).or_default();
        *classes.entry(iss::isa::Class::Predication.word()).or_insert(0) += 1;
    }

    /// Code behind a label may be reached with other descriptors than what was emitted before it.
    pub(super) fn bind(&mut self, label: Label) {
        self.p.bind(label);
        self.held.clear();
    }

    pub(super) fn branch(&mut self, cond: Cond, a: SVal, b: SVal, then: &Block, els: &Block) {
        let (other, end) = (self.p.label(), self.p.label());
        self.jump_unless(cond, a, b, other);
        self.held.clear();
        self.block(then);
        if els.is_empty() {
            self.bind(other);
            // The second label is bound too, or the program would not finish.
            self.p.bind(end);
            return;
        }
        self.count_control();
        self.p.jump(end);
        self.bind(other);
        self.block(els);
        self.bind(end);
    }

    pub(super) fn enter_loop(&mut self, body: &Block) {
        let (first, last) = (self.pos, self.pos + alloc::count(body));
        if self.loops.is_empty() {
            self.resident_descriptors(body);
        }
        self.loops.push((first, last));
        self.held.clear();
    }
    pub(super) fn leave_loop(&mut self) {
        self.loops.pop();
        self.held.clear();
    }

    pub(super) fn for_loop(&mut self, op: &Op, var: Id, lo: SVal, hi: SVal, step: i32, body: &Block) {
        let counted = trips(lo, hi, step);
        let at = self.pos;
        if !alloc::hardware(&op.kind) {
            self.enter_loop(body);
            let v = sreg(self.reg(var));
            let a = self.ssrc(lo);
            self.inst(Inst::SMov { dst: v, a });
            let end = self.p.label();
            if counted.is_none_or(|n| n == 0) {
                self.jump_if(Cond::Ge, SVal::Val(var), hi, end);
            }
            let top = self.p.here();
            self.block(body);
            self.inst(Inst::SAdd { dst: v, a: v, b: SSrc::Imm(step) });
            self.jump_if(Cond::Lt, SVal::Val(var), hi, top);
            self.p.bind(end);
            self.leave_loop();
            return;
        }
        self.enter_loop(body);
        let used = used_in(body, var);
        let end = self.p.label();
        let trip_reg = counted.is_none().then(|| sreg(self.extra(Extra::Trips(at))));
        if let Some(r) = trip_reg {
            // Bounds live to the end of the loop, so that the variable may be set first.
            let hi = self.in_reg(hi);
            let b = self.ssrc(lo);
            self.inst(Inst::SSub { dst: r, a: hi, b });
        }
        if used {
            let dst = sreg(self.reg(var));
            let a = self.ssrc(lo);
            self.inst(Inst::SMov { dst, a });
        }
        self.count_control();
        match (trip_reg, counted) {
            (Some(r), _) => {
                self.p.loop_s(r, end);
            }
            (None, Some(n)) => {
                self.p.loop_i(Num::new(n as i64), end);
            }
            (None, None) => unreachable!("trips are counted or in a register"),
        }
        let start = self.p.pc();
        self.block(body);
        if used {
            let v = sreg(self.reg(var));
            self.inst(Inst::SAdd { dst: v, a: v, b: SSrc::Imm(step) });
        }
        if self.p.pc() == start {
            self.inst(Inst::Nop {});
        }
        self.p.bind(end);
        self.leave_loop();
    }

    pub(super) fn while_loop(&mut self, cond: Cond, a: SVal, b: SVal, bound: u32, body: &Block) {
        let n = sreg(self.extra(Extra::Trips(self.pos)));
        self.enter_loop(body);
        let (end, go) = (self.p.label(), self.p.label());
        self.inst(Inst::SMov { dst: n, a: SSrc::Imm(bound as i32) });
        let top = self.p.here();
        self.jump_unless(cond, a, b, end);
        self.branch_inst(Cond::Ne, n, operand::SSrc16::Imm(0), go);
        match self.p.name(&format!("more than {bound} trips")) {
            Ok(name) => self.inst(Inst::Trap { name }),
            Err(error) => self.unsupported(Loc::default(), error.to_string()),
        }
        self.p.bind(go);
        self.inst(Inst::SSub { dst: n, a: n, b: SSrc::Imm(1) });
        self.block(body);
        self.count_control();
        self.p.jump(top);
        self.p.bind(end);
        self.leave_loop();
    }
}

fn swapped(cond: Cond) -> Cond {
    match cond {
        Cond::Eq | Cond::Ne => cond,
        Cond::Lt => Cond::Gt,
        Cond::Le => Cond::Ge,
        Cond::Gt => Cond::Lt,
        Cond::Ge => Cond::Le,
        Cond::Ltu => Cond::Gtu,
        Cond::Leu => Cond::Geu,
        Cond::Gtu => Cond::Ltu,
        Cond::Geu => Cond::Leu,
    }
}
