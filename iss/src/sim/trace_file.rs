//! The trace of a run: a line for each instruction issued.

use std::io::{self, Write};

use super::machine::Machine;
use super::run::Hooks;

/// Writes `cycle stall pc instruction ; line` for each instruction that issues; `cycle` is when it may first issue,
/// `stall` how long it waited.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    out: W,
    /// Stalls before the instruction at hand.
    charged: u64,
    failed: Option<io::Error>,
}

impl<W: Write> TraceWriter<W> {
    /// A trace into `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, charged: 0, failed: None }
    }

    /// Flushes, and reports the first error of the whole trace.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn line(&mut self, machine: &Machine, pc: u32, cycle: u64) -> io::Result<()> {
        let Some(inst) = machine.inst_at(pc) else { return Ok(()) };
        let stall = machine.stalled - self.charged;
        write!(self.out, "{cycle:>10} {stall:>6} {pc:>6}  {inst}")?;
        if let Some((file, line)) = machine.lines.lookup(pc) {
            write!(self.out, "  ; {file}:{line}")?;
        }
        writeln!(self.out)
    }
}

impl<W: Write> Hooks for TraceWriter<W> {
    const ACTIVE: bool = true;
    fn before(&mut self, machine: &Machine) -> bool {
        self.charged = machine.stalled;
        self.failed.is_some()
    }
    fn after(&mut self, machine: &Machine, pc: u32, cycle: u64) {
        self.failed = self.line(machine, pc, cycle).err();
    }
}
