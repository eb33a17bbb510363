//! What a kernel costs, as figures and as text for snapshots.

use std::fmt;

use iss::isa::Class;
use iss::isa::operand::Engine;
use iss::profile::Profile;

use crate::lower::KernelReport;

/// The cost of a run on the simulator. It depends on data only where a kernel branches on it or accesses memory at random.
///
/// Its text, one figure a line, is made for snapshots, in which a slower kernel shows in review:
/// `insta::assert_snapshot!(check(&KERNEL))`. `INSTA_UPDATE=always cargo test` accepts what kernels cost now; in this workspace
/// `cargo run -p ccl-tests --bin bless-costs` does, and prints which cycles moved from what to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Kernel.
    pub kernel: String,
    /// Product name of the target.
    pub target: String,
    /// Cycles of the run.
    pub total: u64,
    /// Cycles by class: charged, and of them issued.
    pub classes: Vec<(Class, u64, u64)>,
    /// Bytes moved and cycles busy, of each engine that was used.
    pub engines: Vec<(Engine, u64, u64)>,
    /// Local memory at the peak, bytes in each PE.
    pub lrm_peak_bytes: u32,
    /// On-chip memory at the peak, parameters included.
    pub ocm_peak_bytes: u32,
}

/// Classes whose issued cycles are arithmetic.
const ARITHMETIC: [Class; 4] = [Class::Mac, Class::Compute, Class::DataArray, Class::Predication];

impl Cost {
    /// The cost of a run of a compiled kernel.
    pub fn new(report: &KernelReport, profile: &Profile) -> Self {
        let table = &profile.root.inclusive;
        let classes = Class::ALL.iter().map(|c| (*c, table.class(*c).cycles, table.class(*c).issue_cycles));
        let engines = Engine::ALL.iter().map(|e| {
            let used = table.engine(*e);
            // A stream is busy while it waits for takers; what it needs is a cycle an entry of 16 bytes.
            let busy = if *e == Engine::Broadcast { used.bytes.div_ceil(16) } else { used.busy_cycles };
            (*e, used.bytes, busy)
        });
        Self {
            kernel: report.name.clone(),
            target: profile.target.clone(),
            total: profile.cycles,
            classes: classes.filter(|(_, cycles, _)| *cycles > 0).collect(),
            engines: engines.filter(|(_, bytes, _)| *bytes > 0).collect(),
            lrm_peak_bytes: report.lrm_peak_bytes,
            ocm_peak_bytes: report.ocm_peak_bytes,
        }
    }

    /// Cycles issued by the array and its control: multiply-accumulates, ALU, neighbours, predicates; no stalls.
    pub fn arithmetic(&self) -> u64 {
        self.classes.iter().filter(|(c, ..)| ARITHMETIC.contains(c)).map(|(.., issued)| issued).sum()
    }

    /// Cycles of the engine that has most to do.
    pub fn busiest_engine(&self) -> u64 {
        self.engines.iter().map(|(.., busy)| *busy).max().unwrap_or(0)
    }

    /// Cycles of the run for each cycle that arithmetic or the busiest engine needs: 1 if everything else is hidden.
    pub fn ratio(&self) -> f64 {
        self.total as f64 / self.arithmetic().max(self.busiest_engine()).max(1) as f64
    }
}

/// One figure a line, so that a difference shows what moved.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {} on {}", self.kernel, self.target)?;
        writeln!(
            f,
            "cycles {} ({:.3} of the bound {})",
            self.total,
            self.ratio(),
            self.arithmetic().max(self.busiest_engine())
        )?;
        for (class, cycles, issued) in &self.classes {
            writeln!(f, "  {:<14} {cycles:>10} cycles, {issued:>10} issued", class.word())?;
        }
        for (engine, bytes, busy) in &self.engines {
            writeln!(f, "  {:<14} {bytes:>10} bytes,  {busy:>10} busy", engine.to_string())?;
        }
        writeln!(f, "local memory   {:>10} bytes", self.lrm_peak_bytes)?;
        writeln!(f, "on-chip memory {:>10} bytes", self.ocm_peak_bytes)
    }
}
