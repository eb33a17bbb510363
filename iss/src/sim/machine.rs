//! The state of a run and its clock: registers, memories, array, engines, and the loop that issues instructions.
//!
//! The array is not run instruction by instruction: micro-ops with resolved addresses collect in a trace and are run
//! group by group when something must see their results (`flush`). Cycles are exact all the same, since they depend on
//! array data only through the any-PE test and RAU indices, and both flush.

use super::array::{Array, Geometry, SimdPath, TraceBuffer};
use super::engine::broadcast::BroadcastQueue;
use super::engine::descriptor::Descriptor;
use super::engine::dma::DmaChannel;
use super::engine::flow::FlowEngine;
use super::engine::rau::RauRun;
use super::hazard::LrmMarks;
use super::memory::ByteMemory;
use super::options::Options;
use super::trap::{Memory, TrapCause};
use crate::image::{Image, LineTable};
use crate::isa::operand::{Engine, NameId, SReg};
use crate::isa::{Class, Inst};
use crate::profile::{Recorder, StallCause};
use crate::target::{Target, Timing};

/// A fault on its way to becoming a trap report. Boxed, so that the fast path returns one word.
pub type Fault = Box<TrapCause>;

/// Micro-ops after which the trace is run even if nothing asks for its results.
const TRACE_LIMIT: usize = 8192;

/// An instruction with what the issue loop needs of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub inst: Inst,
    cycles: u32,
    class: Class,
}

/// A hardware loop that is running.
#[derive(Clone, Copy, Debug)]
struct LoopFrame {
    start: u32,
    end: u32,
    left: u32,
}

#[derive(Clone, Copy, Debug)]
struct CallFrame {
    back: u32,
    /// Loops that the caller had running.
    loops: usize,
}

/// A register or local bytes whose value comes later than its instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Late {
    Lrm { start: u32, end: u32 },
    Acc(u8),
}

/// A value that `probe` recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeRecord {
    /// The probe's name.
    pub name: String,
    /// Instruction that recorded it.
    pub pc: u32,
    /// Cycle.
    pub cycle: u64,
    /// The values of the PEs.
    pub grid: super::grid::Grid,
    /// Whether each PE of the array was enabled, row by row, without the border.
    pub enabled: Vec<bool>,
    /// Whether it was a scalar or an immediate, which all PEs see alike.
    pub is_scalar: bool,
}

#[derive(Debug)]
pub struct Machine {
    pub(super) target: Target,
    pub(super) timing: Timing,
    pub(super) code: Vec<Op>,
    pub(super) names: Vec<String>,
    pub(super) lines: LineTable,
    pub(super) options: Options,

    pub(super) pc: u32,
    next_pc: u32,
    /// Cycle at which the next instruction may issue.
    pub(super) now: u64,
    pub(super) executed: u64,
    /// Cycles of stalls so far.
    pub(super) stalled: u64,
    op: Op,
    pub(super) scalars: [i32; 32],
    /// Scalars that come late: cycle from which each may be read, and the class that a wait for it is charged to.
    scalar_ready: [(u64, Class); 32],
    scalars_late_until: u64,
    late: Vec<(Late, u64)>,
    pub(super) late_until: u64,
    calls: Vec<CallFrame>,
    loops: Vec<LoopFrame>,
    /// End of the innermost loop of this call, or a pc that is never reached.
    loop_end: u32,
    pub(super) predicates: u32,

    pub(super) array: Array,
    /// Whether the border columns execute: in a program that cannot see them they do not, and are not shown.
    pub(super) borders: bool,
    pub(super) trace: TraceBuffer,
    pub(super) ocm: ByteMemory,
    pub(super) ext: ByteMemory,
    pub(super) descriptors: [Descriptor; 8],
    pub(super) tokens: [Option<Engine>; 16],
    pub(super) flow_in: FlowEngine,
    pub(super) flow_out: FlowEngine,
    pub(super) broadcast: BroadcastQueue,
    pub(super) rau: Option<RauRun>,
    pub(super) rau_free_at: u64,
    pub(super) dma_in: DmaChannel,
    pub(super) dma_out: DmaChannel,
    pub(super) marks: LrmMarks,

    pub(super) recorder: Recorder,
    /// Names of the open regions.
    pub(super) regions: Vec<NameId>,
    pub(super) probes: Vec<ProbeRecord>,
    /// A byte of which every write is recorded.
    pub(super) watch: Option<super::watch::Watch>,
    pub(super) halted: bool,
}

const NO_LOOP: u32 = u32::MAX;

impl Machine {
    pub(super) fn new(image: &Image, options: Options, ext_bytes: usize) -> Self {
        let target = image.target().clone();
        let code: Vec<Op> = image
            .decode()
            .into_iter()
            .map(|inst| Op { inst, cycles: target.cycles(inst.cost()), class: inst.class() })
            .collect();
        let spec = target.spec();
        let geometry = Geometry { rows: spec.rows as usize, cols: spec.cols as usize, border: spec.border as usize };
        let mut array = Array::new(geometry, spec.lrm_bytes as usize);
        array.set_path(options.simd.unwrap_or_else(SimdPath::detect));
        array.set_threads(
            options.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get())),
        );
        let borders = spec.border > 0 && code.iter().any(|op| reads_border(&op.inst));
        array.set_borders(borders);
        let recorder = Recorder::new(&target);
        let recorder = match options.timeline {
            0 => recorder,
            cap => recorder.with_timeline(cap),
        };
        Self {
            timing: spec.timing,
            pc: 0,
            next_pc: 0,
            now: 0,
            executed: 0,
            stalled: 0,
            op: Op { inst: Inst::Nop {}, cycles: 1, class: Class::Compute },
            scalars: [0; 32],
            scalar_ready: [(0, Class::Compute); 32],
            scalars_late_until: 0,
            late: Vec::new(),
            late_until: 0,
            calls: Vec::new(),
            loops: Vec::new(),
            loop_end: NO_LOOP,
            predicates: 0,
            array,
            borders,
            trace: TraceBuffer::default(),
            ocm: ByteMemory::new(Memory::Ocm, spec.ocm_bytes as usize),
            ext: ByteMemory::new(Memory::Ext, ext_bytes),
            descriptors: [Descriptor::default(); 8],
            tokens: [None; 16],
            flow_in: FlowEngine::default(),
            flow_out: FlowEngine::default(),
            broadcast: BroadcastQueue::new(&spec.timing),
            rau: None,
            rau_free_at: 0,
            dma_in: DmaChannel::default(),
            dma_out: DmaChannel::default(),
            marks: LrmMarks::new(spec.lrm_bytes as usize),
            recorder,
            regions: Vec::new(),
            probes: Vec::new(),
            watch: None,
            halted: false,
            code,
            names: image.names().to_vec(),
            lines: image.lines().clone(),
            options,
            target,
        }
    }

    /// Issues the instruction at `pc`; afterwards `pc` is the next one.
    #[inline(always)]
    pub(super) fn issue_next(&mut self) -> Result<(), Fault> {
        let Some(op) = self.code.get(self.pc as usize) else { return Err(TrapCause::FellOffTheEnd.into()) };
        self.op = *op;
        self.next_pc = self.pc + 1;
        self.op.inst.execute(self)?;
        self.executed += 1;
        while self.next_pc == self.loop_end {
            self.end_of_loop_body();
        }
        self.pc = self.next_pc;
        Ok(())
    }

    /// Charges the issue of the current instruction.
    #[inline(always)]
    pub(super) fn issue(&mut self) {
        self.issue_for(self.op.cycles);
    }

    /// Charges the issue of the current instruction at a cost that its outcome decides.
    #[inline(always)]
    pub(super) fn issue_for(&mut self, cycles: u32) {
        self.recorder.issue(self.op.class, cycles);
        self.now += cycles as u64;
    }

    /// Lets the clock run to `until`, charged to what is waited for.
    #[inline]
    pub(super) fn stall_until(&mut self, until: u64, class: Class, cause: StallCause) {
        if until > self.now {
            self.recorder.stall(class, cause, until - self.now);
            self.stalled += until - self.now;
            self.now = until;
        }
    }

    /// The pc of the instruction being issued.
    pub(super) fn current_pc(&self) -> u32 {
        self.pc
    }

    // ---- control flow ----

    /// Continues at `to`, which must stay in the body of the innermost hardware loop.
    pub(super) fn branch_to(&mut self, to: u32) -> Result<(), Fault> {
        if self.loop_end != NO_LOOP {
            let LoopFrame { start, end, .. } = *self.loops.last().expect("a loop end has a loop");
            if !(start..=end).contains(&to) {
                return Err(TrapCause::LoopEscape { to, start, end }.into());
            }
        }
        self.next_pc = to;
        Ok(())
    }

    pub(super) fn call(&mut self, to: u32) -> Result<(), Fault> {
        let depth = self.timing.call_depth;
        if self.calls.len() as u32 >= depth {
            return Err(TrapCause::StackOverflow { stack: "call", depth }.into());
        }
        self.calls.push(CallFrame { back: self.next_pc, loops: self.loops.len() });
        self.loop_end = NO_LOOP;
        self.next_pc = to;
        Ok(())
    }

    pub(super) fn ret(&mut self) -> Result<(), Fault> {
        let Some(frame) = self.calls.pop() else { return Err(TrapCause::StackUnderflow { stack: "call" }.into()) };
        if self.loops.len() > frame.loops {
            return Err(TrapCause::ReturnInLoop.into());
        }
        self.next_pc = frame.back;
        self.find_loop_end();
        Ok(())
    }

    pub(super) fn enter_loop(&mut self, trips: u32, end: u32) -> Result<(), Fault> {
        let depth = self.timing.loop_depth;
        let start = self.next_pc;
        debug_assert!(end > start, "the image was checked: a loop ends behind its first instruction");
        if trips == 0 {
            return self.branch_to(end);
        }
        if self.loops.len() as u32 >= depth {
            return Err(TrapCause::StackOverflow { stack: "loop", depth }.into());
        }
        self.loops.push(LoopFrame { start, end, left: trips - 1 });
        self.loop_end = end;
        Ok(())
    }

    #[inline]
    fn end_of_loop_body(&mut self) {
        let frame = self.loops.last_mut().expect("a loop end has a loop");
        if frame.left > 0 {
            frame.left -= 1;
            self.next_pc = frame.start;
            // The body is not empty, so its start is not its end.
            return;
        }
        self.loops.pop();
        self.find_loop_end();
    }

    fn find_loop_end(&mut self) {
        let outer = self.calls.last().map_or(0, |frame| frame.loops);
        self.loop_end = if self.loops.len() > outer { self.loops[self.loops.len() - 1].end } else { NO_LOOP };
    }

    // ---- late results ----

    /// The value of a scalar register, waiting until it is there.
    #[inline(always)]
    pub(super) fn scalar(&mut self, reg: SReg) -> i32 {
        if self.scalars_late_until > self.now {
            let (ready, class) = self.scalar_ready[reg.get() as usize];
            self.stall_until(ready, class, StallCause::Scalar);
        }
        self.scalars[reg.get() as usize]
    }

    /// Writes a scalar.
    #[inline(always)]
    pub(super) fn set_scalar(&mut self, reg: SReg, value: i32) {
        self.scalars[reg.get() as usize] = value;
    }

    /// The value of a scalar that the current instruction delivers `latency` cycles after its issue at `issued`.
    pub(super) fn set_scalar_late(&mut self, reg: SReg, value: i32, ready: u64, class: Class) {
        self.scalars[reg.get() as usize] = value;
        self.scalar_ready[reg.get() as usize] = (ready, class);
        self.scalars_late_until = self.scalars_late_until.max(ready);
    }

    /// Notes that a result of the array comes at `ready`.
    pub(super) fn expect_late(&mut self, late: Late, ready: u64) {
        self.late.retain(|(_, at)| *at > self.now);
        self.late.push((late, ready));
        self.late_until = self.late_until.max(ready);
    }

    /// Waits for late results that the predicate names.
    pub(super) fn wait_late(&mut self, touches: impl Fn(Late) -> bool) {
        let until = self.late.iter().filter(|(late, _)| touches(*late)).map(|(_, at)| *at).max().unwrap_or(0);
        self.stall_until(until, Class::Compute, StallCause::Latency);
    }

    /// Waits for every late result of the array: an engine is about to read local memory.
    pub(super) fn wait_all_late(&mut self) {
        if self.late_until > self.now {
            self.wait_late(|_| true);
        }
    }

    // ---- the array ----

    /// Runs what the trace holds.
    pub(super) fn flush(&mut self) -> Result<(), Fault> {
        if self.trace.is_empty() {
            return Ok(());
        }
        let outcome = self.array.run(&mut self.trace);
        self.trace.clear();
        outcome.map_err(|fault| TrapCause::Division { row: fault.row as u32, col: fault.col }.into())
    }

    /// Runs the trace if it has grown long.
    #[inline(always)]
    pub(super) fn bound_trace(&mut self) -> Result<(), Fault> {
        if self.trace.len() >= TRACE_LIMIT { self.flush() } else { Ok(()) }
    }
}

/// Whether an instruction can make the border columns matter.
fn reads_border(inst: &Inst) -> bool {
    use crate::isa::operand::{Field, ScalarSrc};
    match inst {
        Inst::Send { .. } => true,
        Inst::DSet { field: Field::Halo, value, .. } => *value != ScalarSrc::Imm(0),
        _ => false,
    }
}
