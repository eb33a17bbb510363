//! What each instruction does: scalar and control effects at once, array effects as micro-ops in the trace, transfers
//! through `transfer`. One method per row of the table.

use super::array::{BinaryOp, Dest, Mac, MacWidth, Place, Source, Uop};
use super::engine::descriptor::{Descriptor, Stream};
use super::machine::{Fault, Late, Machine, ProbeRecord};
use super::trap::{Access, Memory, TrapCause};
use crate::isa::operand::*;
use crate::isa::{Class, Exec};
use crate::profile::StallCause;

type Outcome = Result<(), Fault>;

fn holds(cond: Cond, a: i32, b: i32) -> bool {
    let (ua, ub) = (a as u32, b as u32);
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Lt => a < b,
        Cond::Le => a <= b,
        Cond::Gt => a > b,
        Cond::Ge => a >= b,
        Cond::Ltu => ua < ub,
        Cond::Leu => ua <= ub,
        Cond::Gtu => ua > ub,
        Cond::Geu => ua >= ub,
    }
}

impl Machine {
    // ---- operands ----

    #[inline(always)]
    fn scalar_src<const N: u32>(&mut self, src: ScalarSrc<N>) -> i32 {
        match src {
            ScalarSrc::Reg(r) => self.scalar(r),
            ScalarSrc::Imm(v) => v,
        }
    }

    /// A scalar operation of two sources.
    #[inline(always)]
    fn scalar_op(&mut self, dst: SReg, a: SReg, b: SSrc, f: impl FnOnce(i32, i32) -> i32) -> Outcome {
        let a = self.scalar(a);
        let b = self.scalar_src(b);
        // A load still under way to the destination would land on top of the result.
        self.scalar(dst);
        self.issue();
        self.set_scalar(dst, f(a, b));
        Ok(())
    }

    /// The byte address of `len` bytes of local memory, checked against its size and the transfers in flight.
    #[inline(always)]
    fn lrm(&mut self, at: Lrm, len: u32, align: u32, access: Access) -> Result<u32, Fault> {
        let address = match at {
            Lrm::Abs { addr, .. } => addr as i64,
            Lrm::Rel { base, offset, .. } => {
                self.scalar(SReg::new(base as i64).expect("a base is a register")) as i64 + offset as i64
            }
        };
        let start = self.lrm_address(address, len, align, access)?;
        if self.late_until > self.now {
            self.wait_late(|late| matches!(late, Late::Lrm { start: s, end } if s < start + len && start < end));
        }
        self.recorder.touch_lrm((start + len) as u64);
        Ok(start)
    }

    /// An address of local memory, checked.
    #[inline(always)]
    fn lrm_address(&self, address: i64, len: u32, align: u32, access: Access) -> Result<u32, Fault> {
        let size = self.target.spec().lrm_bytes;
        if address < 0 || address + len as i64 > size as i64 {
            return Err(
                TrapCause::Address { memory: Memory::Lrm, address, bytes: len as u64, size: size as u64 }.into()
            );
        }
        let start = address as u32;
        if !start.is_multiple_of(align) {
            return Err(TrapCause::Alignment { memory: Memory::Lrm, address, align }.into());
        }
        if self.marks.any() {
            self.check_marks(access, start, len)?;
        }
        Ok(start)
    }

    #[inline(always)]
    fn acc(&mut self, acc: Acc, count: u8) -> u8 {
        if self.late_until > self.now {
            self.wait_late(|late| matches!(late, Late::Acc(n) if (acc.get()..acc.get() + count).contains(&n)));
        }
        acc.get()
    }

    #[inline(always)]
    fn place(&mut self, at: Lrm, access: Access) -> Result<Place, Fault> {
        let width = at.width();
        let addr = self.lrm(at, width.bytes(), width.bytes(), access)?;
        Ok(Place { width, addr })
    }

    #[inline(always)]
    fn source(&mut self, src: Src) -> Result<Source, Fault> {
        Ok(match src {
            Src::Lrm(at) => Source::Lrm(self.place(at, Access::Read)?),
            Src::Imm(v) => Source::Splat(v as i32),
            Src::Acc(acc) => Source::Acc(self.acc(acc, 1)),
            Src::Port(dir) => Source::Port(dir),
            Src::Scalar(r) => Source::Splat(self.scalar(r)),
            Src::Broadcast(read) => Source::Splat(self.take_broadcast_lane(read)?),
            Src::QRow => Source::QRow,
            Src::QCol => Source::QCol,
        })
    }

    /// Two sources; the broadcast queue is read last, when every other operand is there.
    #[inline(always)]
    fn sources(&mut self, a: Src, b: Src) -> Result<(Source, Source), Fault> {
        if matches!(a, Src::Broadcast(_)) {
            let b = self.source(b)?;
            Ok((self.source(a)?, b))
        } else {
            let a = self.source(a)?;
            Ok((a, self.source(b)?))
        }
    }

    #[inline(always)]
    fn destination(&mut self, dst: Dst) -> Result<Dest, Fault> {
        Ok(match dst {
            Dst::Acc(acc) => Dest::Acc(self.acc(acc, 1)),
            Dst::Lrm(at) => Dest::Lrm(self.place(at, Access::Write)?),
        })
    }

    #[inline(always)]
    fn push_uop(&mut self, uop: Uop) -> Outcome {
        self.issue();
        self.trace.push(uop);
        self.bound_trace()
    }

    #[inline(always)]
    fn alu(&mut self, op: BinaryOp, dst: Dst, a: Src, b: Src) -> Outcome {
        let dst = self.destination(dst)?;
        let (a, b) = self.sources(a, b)?;
        self.push_uop(Uop::Binary { op, dst, a, b })
    }

    /// `exp` and `log`: the result comes late.
    fn transcendental(&mut self, dst: Dst, a: Src, make: impl FnOnce(Dest, Source) -> Uop) -> Outcome {
        let to = self.destination(dst)?;
        let a = self.source(a)?;
        let late = match to {
            Dest::Acc(n) => Late::Acc(n),
            Dest::Lrm(Place { width, addr }) => Late::Lrm { start: addr, end: addr + width.bytes() },
        };
        let ready = self.now + self.timing.transcendental_latency as u64;
        self.push_uop(make(to, a))?;
        self.expect_late(late, ready);
        Ok(())
    }

    // ---- the broadcast queue ----

    /// Waits until the head entry of the broadcast queue is there.
    fn wait_broadcast(&mut self) -> Outcome {
        let ready = self.broadcast.head_ready(&self.timing).ok_or(TrapCause::BroadcastEmpty)?;
        self.stall_until(ready, Class::DataOcm, StallCause::Broadcast);
        Ok(())
    }

    /// The head entry's bytes.
    fn head_entry(&mut self) -> [u8; 16] {
        let head = self.broadcast.head().expect("the caller waited for an entry");
        if let Some(kept) = head.kept.front() {
            return *kept;
        }
        let address = head.stream.address(head.taken);
        self.ocm.slice(address, Stream::ENTRY as usize).try_into().expect("sixteen bytes")
    }

    fn take_entry(&mut self) {
        let head = self.broadcast.head().expect("the caller waited for an entry");
        head.kept.pop_front();
        self.broadcast.take(self.now, &self.timing);
    }

    /// Takes a whole entry for the MAC unit.
    fn take_broadcast(&mut self) -> Result<[u8; 16], Fault> {
        if self.broadcast.words != 0 {
            return Err(TrapCause::BroadcastMisaligned { read: self.broadcast.words }.into());
        }
        self.wait_broadcast()?;
        let entry = self.head_entry();
        self.take_entry();
        Ok(entry)
    }

    /// Reads a lane of the head word, and takes the word if asked to.
    fn take_broadcast_lane(&mut self, read: BroadcastRead) -> Result<i32, Fault> {
        self.wait_broadcast()?;
        let entry = self.head_entry();
        let at = self.broadcast.words as usize * 4;
        let word = i32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes"));
        let value = match read.width {
            Width::Word => word,
            Width::Half => (word >> (read.lane * 16)) as i16 as i32,
            Width::Byte => (word >> (read.lane * 8)) as i8 as i32,
        };
        if read.pop {
            if self.broadcast.words == 3 {
                self.take_entry();
            } else {
                self.broadcast.words += 1;
            }
        }
        Ok(value)
    }

    /// A MAC step of any width and shape.
    #[inline(always)]
    fn mac(&mut self, width: MacWidth, shape: MacShape, acc: Acc, a: Lrm) -> Outcome {
        let elem = if width == MacWidth::W8x8 { 1 } else { 2 };
        let (len, align, accs) = match shape {
            MacShape::Dot => (16 * elem, 16, 1),
            MacShape::Mat4 => (4 * elem, 4, 4),
            MacShape::Outer => (elem, elem, 16),
        };
        let addr = self.lrm(a, len, align, Access::Read)?;
        let acc = self.acc(acc, accs);
        let mut weights = [0; 32];
        let weights = &mut weights[..width.weight_bytes()];
        for entry in weights.chunks_exact_mut(Stream::ENTRY as usize) {
            entry.copy_from_slice(&self.take_broadcast()?);
        }
        self.recorder.mac_products(16 * self.target.pes() as u64);
        self.issue();
        self.trace.push_mac(Mac { width, shape, acc, addr }, weights);
        self.bound_trace()
    }

    // ---- names ----

    pub(super) fn name(&self, id: NameId) -> String {
        self.names.get(id.get() as usize).cloned().unwrap_or_else(|| id.to_string())
    }
}

macro_rules! scalar_rows {
    ($($name:ident($a:ident, $b:ident) $f:expr;)*) => { $(
        #[inline(always)]
        fn $name(&mut self, dst: SReg, a: SReg, b: SSrc) -> Outcome {
            self.scalar_op(dst, a, b, |$a, $b| $f)
        }
    )* };
}

macro_rules! alu_rows {
    ($($name:ident = $op:ident;)*) => { $(
        #[inline(always)]
        fn $name(&mut self, dst: Dst, a: Src, b: Src) -> Outcome {
            self.alu(BinaryOp::$op, dst, a, b)
        }
    )* };
}

impl Exec for Machine {
    type Outcome = Outcome;

    fn halt(&mut self) -> Outcome {
        self.check_all_retired()?;
        self.issue();
        self.flush()?;
        self.halted = true;
        Ok(())
    }
    fn nop(&mut self) -> Outcome {
        self.issue();
        Ok(())
    }
    fn jump(&mut self, to: CodeAddr) -> Outcome {
        self.branch_to(to.get())?;
        self.issue();
        Ok(())
    }
    fn branch(&mut self, cond: Cond, a: SReg, b: SSrc16, to: CodeAddr) -> Outcome {
        let a = self.scalar(a);
        let b = self.scalar_src(b);
        if holds(cond, a, b) {
            self.branch_to(to.get())?;
            self.issue();
        } else {
            self.issue_for(self.timing.branch_not_taken);
        }
        Ok(())
    }
    fn call(&mut self, to: CodeAddr) -> Outcome {
        Machine::call(self, to.get())?;
        self.issue();
        Ok(())
    }
    fn ret(&mut self) -> Outcome {
        Machine::ret(self)?;
        self.issue();
        Ok(())
    }
    fn loop_i(&mut self, trips: Trips, end: CodeAddr) -> Outcome {
        self.enter_loop(trips.get(), end.get())?;
        self.issue();
        Ok(())
    }
    fn loop_s(&mut self, trips: SReg, end: CodeAddr) -> Outcome {
        let trips = self.scalar(trips).max(0) as u32;
        self.enter_loop(trips, end.get())?;
        self.issue();
        Ok(())
    }
    fn trap(&mut self, name: NameId) -> Outcome {
        Err(TrapCause::Program { message: self.name(name) }.into())
    }

    fn s_mov(&mut self, dst: SReg, a: SSrc) -> Outcome {
        let a = self.scalar_src(a);
        self.scalar(dst);
        self.issue();
        self.set_scalar(dst, a);
        Ok(())
    }
    scalar_rows! {
        s_add(a, b) a.wrapping_add(b);
        s_sub(a, b) a.wrapping_sub(b);
        s_mul(a, b) a.wrapping_mul(b);
        s_and(a, b) a & b;
        s_or(a, b) a | b;
        s_xor(a, b) a ^ b;
        s_shl(a, b) a.wrapping_shl(b as u32);
        s_shr(a, b) (a as u32).wrapping_shr(b as u32) as i32;
        s_sar(a, b) a.wrapping_shr(b as u32);
        s_min(a, b) a.min(b);
        s_max(a, b) a.max(b);
    }
    fn s_set(&mut self, dst: SReg, cond: Cond, a: SReg, b: SSrc) -> Outcome {
        self.scalar_op(dst, a, b, |a, b| holds(cond, a, b) as i32)
    }
    fn s_load(&mut self, dst: SReg, base: SReg, offset: SSrc) -> Outcome {
        let address = self.scalar(base) as u32 as i64 + self.scalar_src(offset) as i64;
        self.scalar(dst);
        self.ocm.check(address, 4)?;
        if address % 4 != 0 {
            return Err(TrapCause::Alignment { memory: Memory::Ocm, address, align: 4 }.into());
        }
        self.check_scalar_load(address as u64)?;
        let ready = self.now + self.timing.scalar_load_latency as u64;
        self.issue();
        self.recorder.touch_ocm(address as u64 + 4);
        let value = self.ocm.word(address as u64);
        self.set_scalar_late(dst, value, ready, Class::DataOcm);
        Ok(())
    }

    fn p_push(&mut self) -> Outcome {
        let depth = self.timing.predicate_depth;
        if self.predicates >= depth {
            return Err(TrapCause::StackOverflow { stack: "predicate", depth }.into());
        }
        self.predicates += 1;
        self.push_uop(Uop::Push)
    }
    fn p_else(&mut self) -> Outcome {
        if self.predicates == 0 {
            return Err(TrapCause::StackUnderflow { stack: "predicate" }.into());
        }
        self.push_uop(Uop::Else)
    }
    fn p_pop(&mut self) -> Outcome {
        if self.predicates == 0 {
            return Err(TrapCause::StackUnderflow { stack: "predicate" }.into());
        }
        self.predicates -= 1;
        self.push_uop(Uop::Pop)
    }
    fn p_disable(&mut self) -> Outcome {
        self.push_uop(Uop::Disable)
    }
    fn p_enable(&mut self) -> Outcome {
        self.push_uop(Uop::Enable)
    }
    fn p_any(&mut self, dst: SReg) -> Outcome {
        self.scalar(dst);
        self.flush()?;
        let any = self.array.any();
        let ready = self.now + self.timing.any_latency as u64;
        self.issue();
        self.set_scalar_late(dst, any as i32, ready, Class::Predication);
        Ok(())
    }

    fn mov(&mut self, dst: Dst, a: Src) -> Outcome {
        let dst = self.destination(dst)?;
        let a = self.source(a)?;
        self.push_uop(Uop::Mov { dst, a })
    }
    alu_rows! {
        add = Add;
        sub = Sub;
        and = And;
        or = Or;
        xor = Xor;
        shl = Shl;
        shr = Shr;
        sar = Sar;
        min = Min;
        max = Max;
    }
    fn abs(&mut self, dst: Dst, a: Src) -> Outcome {
        let dst = self.destination(dst)?;
        let a = self.source(a)?;
        self.push_uop(Uop::Abs { dst, a })
    }
    fn clip(&mut self, dst: Dst, a: Src, lo: Bound, hi: Bound) -> Outcome {
        let dst = self.destination(dst)?;
        let a = self.source(a)?;
        self.push_uop(Uop::Clip { dst, a, lo: lo.get(), hi: hi.get() })
    }
    fn cmp(&mut self, cond: Cond, a: Src, b: Src) -> Outcome {
        let (a, b) = self.sources(a, b)?;
        self.push_uop(Uop::Cmp { cond, a, b })
    }
    fn set(&mut self, cond: Cond, dst: Dst, a: Src, b: Src) -> Outcome {
        let dst = self.destination(dst)?;
        let (a, b) = self.sources(a, b)?;
        self.push_uop(Uop::Set { cond, dst, a, b })
    }
    fn sel(&mut self, dst: Dst, a: Src, b: Src) -> Outcome {
        let dst = self.destination(dst)?;
        let (a, b) = self.sources(a, b)?;
        self.push_uop(Uop::Sel { dst, a, b })
    }
    fn lut(&mut self, dst: Dst, idx: Src, table: Lrm, bits: TableBits) -> Outcome {
        let dst = self.destination(dst)?;
        let width = table.width();
        let base = self.lrm(table, width.bytes() << bits.get(), width.bytes(), Access::Read)?;
        let idx = self.source(idx)?;
        self.push_uop(Uop::Lut { dst, idx, table: Place { width, addr: base }, bits: bits.get() })
    }
    fn fx_mul(&mut self, dst: Dst, a: Src, b: Src, shift: Shift) -> Outcome {
        let dst = self.destination(dst)?;
        let (a, b) = self.sources(a, b)?;
        self.push_uop(Uop::FxMul { dst, a, b, shift: shift.get() })
    }
    fn fx_div(&mut self, dst: Dst, a: Src, b: Src, frac: Frac) -> Outcome {
        let dst = self.destination(dst)?;
        let (a, b) = self.sources(a, b)?;
        // Run at once, so that a zero divisor stops the run at this instruction.
        self.trace.push(Uop::FxDiv { dst, a, b, frac: frac.get() });
        self.flush()?;
        self.issue();
        Ok(())
    }
    fn exp(&mut self, dst: Dst, a: Src, from: Frac, to: Frac) -> Outcome {
        self.transcendental(dst, a, |dst, a| Uop::Exp { dst, a, from: from.get(), to: to.get() })
    }
    fn log(&mut self, dst: Dst, a: Src, from: Frac, to: Frac) -> Outcome {
        self.transcendental(dst, a, |dst, a| Uop::Log { dst, a, from: from.get(), to: to.get() })
    }
    fn exp_iter(&mut self, dst: Dst, a: Src, from: Frac, to: Frac) -> Outcome {
        let dst = self.destination(dst)?;
        let a = self.source(a)?;
        self.push_uop(Uop::Exp { dst, a, from: from.get(), to: to.get() })
    }

    fn send(&mut self, to: Dirs, a: Src) -> Outcome {
        let a = self.source(a)?;
        self.issue();
        self.flush()?;
        self.array.send(to, a);
        Ok(())
    }

    #[inline(always)]
    fn mac8(&mut self, shape: MacShape, acc: Acc, a: Lrm) -> Outcome {
        self.mac(MacWidth::W8x8, shape, acc, a)
    }
    fn mac16x8(&mut self, shape: MacShape, acc: Acc, a: Lrm) -> Outcome {
        self.mac(MacWidth::W16x8, shape, acc, a)
    }
    fn mac16(&mut self, shape: MacShape, acc: Acc, a: Lrm) -> Outcome {
        self.mac(MacWidth::W16x16, shape, acc, a)
    }

    fn d_clear(&mut self, desc: DReg) -> Outcome {
        self.issue();
        self.descriptors[desc.get() as usize] = Descriptor::default();
        Ok(())
    }
    fn d_set(&mut self, desc: DReg, field: Field, value: SSrc) -> Outcome {
        let value = self.scalar_src(value);
        self.issue();
        self.descriptors[desc.get() as usize].set(field, value);
        Ok(())
    }
    fn flow_in(&mut self, desc: DReg, token: Token) -> Outcome {
        self.start_flow(Engine::FlowIn, desc, token)
    }
    fn flow_out(&mut self, desc: DReg, token: Token) -> Outcome {
        self.start_flow(Engine::FlowOut, desc, token)
    }
    fn bcast(&mut self, desc: DReg, token: Token) -> Outcome {
        self.start_broadcast(desc, token)
    }
    fn rau_load(&mut self, desc: DReg, token: Token) -> Outcome {
        self.start_rau(desc, token, false)
    }
    fn rau_store(&mut self, desc: DReg, token: Token) -> Outcome {
        self.start_rau(desc, token, true)
    }
    fn dma_in(&mut self, desc: DReg, token: Token) -> Outcome {
        self.start_dma(Engine::DmaIn, desc, token)
    }
    fn dma_out(&mut self, desc: DReg, token: Token) -> Outcome {
        self.start_dma(Engine::DmaOut, desc, token)
    }
    fn wait(&mut self, token: Token, tiles: Tiles) -> Outcome {
        self.wait_token(token, tiles)
    }
    fn wait_s(&mut self, token: Token, tiles: SReg) -> Outcome {
        let tiles = self.scalar(tiles).max(0) as u32;
        self.wait_token(token, Tiles::Count(tiles))
    }
    fn release(&mut self, token: Token) -> Outcome {
        self.release_buffer(token)
    }
    fn push(&mut self, token: Token) -> Outcome {
        self.push_buffer(token)
    }
    fn drain(&mut self, engines: Engines) -> Outcome {
        self.drain_engines(engines)
    }

    fn region(&mut self, name: NameId) -> Outcome {
        // The recorder also bounds how many different paths of regions a run may have.
        let entered = self.recorder.enter(&self.name(name), self.now);
        entered.map_err(|error| TrapCause::Regions { reason: error.to_string() })?;
        self.regions.push(name);
        self.issue();
        Ok(())
    }
    fn region_end(&mut self) -> Outcome {
        self.recorder.leave(self.now).map_err(|error| TrapCause::Regions { reason: error.to_string() })?;
        self.regions.pop();
        self.issue();
        Ok(())
    }
    fn probe(&mut self, name: NameId, a: Src) -> Outcome {
        if !self.options.probes || self.probes.len() >= self.options.max_probes {
            self.issue();
            return Ok(());
        }
        let a = self.marker_source(a)?;
        self.issue();
        self.flush()?;
        self.probes.push(ProbeRecord {
            name: self.name(name),
            pc: self.current_pc(),
            cycle: self.now,
            grid: self.grid_of(a),
            enabled: self.array.enabled_core(),
            is_scalar: matches!(a, Source::Splat(_)),
        });
        Ok(())
    }
    fn assert(&mut self, name: NameId, a: Src) -> Outcome {
        if self.options.assertions {
            let a = self.marker_source(a)?;
            self.flush()?;
            if let Some((row, col)) = self.array.first_enabled_zero(a) {
                let name = self.name(name);
                return Err(TrapCause::Assertion { name, row: row as u32, col: col as i32 }.into());
            }
        }
        self.issue();
        Ok(())
    }
}

impl Machine {
    /// The source of a marker or of somebody who looks: read without waiting and without a trace in the profile, so that
    /// looking changes nothing.
    ///
    /// # Panics
    /// If it is the broadcast queue, which no marker may read.
    pub(super) fn marker_source(&self, src: Src) -> Result<Source, Fault> {
        let scalar = |reg: u8| self.scalars[reg as usize];
        Ok(match src {
            Src::Lrm(at) => {
                let address = match at {
                    Lrm::Abs { addr, .. } => addr as i64,
                    Lrm::Rel { base, offset, .. } => scalar(base) as i64 + offset as i64,
                };
                let width = at.width();
                let addr = self.lrm_address(address, width.bytes(), width.bytes(), Access::Read)?;
                Source::Lrm(Place { width, addr })
            }
            Src::Imm(v) => Source::Splat(v as i32),
            Src::Acc(acc) => Source::Acc(acc.get()),
            Src::Port(dir) => Source::Port(dir),
            Src::Scalar(r) => Source::Splat(scalar(r.get())),
            Src::Broadcast(_) => panic!("a marker may not read the broadcast queue"),
            Src::QRow => Source::QRow,
            Src::QCol => Source::QCol,
        })
    }
}
