//! The array: state of all PEs and its execution on the host.
//!
//! A sequencer elsewhere executes scalar code, resolves addresses and appends micro-ops to a [`TraceBuffer`];
//! [`Array::run`] executes the buffer group by group, 64 PEs at a time, so that a group's memory stays in the host's inner
//! caches. What passes between PEs or leaves the array (sends, any-PE tests, engines, the debugger) happens between runs.
//!
//! Nothing here knows of time, of instructions' encoding or of on-chip memory. Results are the same on every
//! [`SimdPath`] and for any number of threads.

mod access;
mod exec;
mod geometry;
mod group;
pub mod kernels;
mod mac;
#[cfg(not(target_arch = "x86_64"))]
mod portable;
mod send;
mod simd;
mod trace;
mod transcendental;
mod uop;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use geometry::Geometry;
pub use group::{LANES, Lanes, PREDICATE_DEPTH};
pub use simd::{SimdPath, UnknownPath};
pub use trace::TraceBuffer;
pub use uop::{BinaryOp, Dest, Mac, MacWidth, Place, Source, Uop};

use geometry::Part;
#[cfg(not(target_arch = "x86_64"))]
use portable::Host;
#[cfg(target_arch = "x86_64")]
use x86::Host;

/// Estimated host cycles of a run, over all groups, from which on several threads pay. With two cores a run of 200 mixed
/// ALU operations (64,000) was as fast on two threads as on one, a run of 400 took two thirds of the time.
const THREAD_CYCLES: usize = 100_000;

/// A zero divisor in an enabled PE. The other PEs have executed the micro-op, and all have executed the whole buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("division by zero in PE ({row}, {col})")]
pub struct DivisionFault {
    /// Number of the micro-op within the buffer.
    pub uop_index: usize,
    /// Row of the first such PE, row-major over array and border.
    pub row: usize,
    /// Its column, negative in the west border.
    pub col: i32,
}

/// The array with its border columns.
#[derive(Clone, Debug)]
pub struct Array {
    geometry: Geometry,
    core: Part,
    border: Part,
    /// Whether border PEs execute.
    borders: bool,
    host: Host,
    n_threads: usize,
    send: send::Scratch,
}

impl Array {
    /// An array of zeros with every PE enabled, on the fastest path of the host and one thread.
    ///
    /// # Panics
    /// If a size is zero or `lrm_bytes` is not a multiple of 4.
    pub fn new(geometry: Geometry, lrm_bytes: usize) -> Self {
        assert!(geometry.rows > 0 && geometry.cols > 0, "an array has at least one PE");
        assert!(lrm_bytes > 0 && lrm_bytes.is_multiple_of(4), "local memory consists of words");
        let n_words = lrm_bytes / 4;
        Self {
            geometry,
            core: Part::new(geometry, false, n_words),
            border: Part::new(geometry, true, n_words),
            borders: geometry.border > 0,
            host: Host::new(SimdPath::detect()),
            n_threads: 1,
            send: send::Scratch::default(),
        }
    }
    /// Sizes.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }
    /// Sets the path.
    ///
    /// # Panics
    /// If the host lacks its instructions; see [`SimdPath::available`].
    pub fn set_path(&mut self, path: SimdPath) {
        self.host = Host::new(path);
    }
    /// The path in use.
    pub fn path(&self) -> SimdPath {
        self.host.path()
    }
    /// Sets how many threads long runs may use. With 1 no thread pool is touched.
    pub fn set_threads(&mut self, n_threads: usize) {
        self.n_threads = n_threads.max(1);
    }
    /// Whether border PEs execute and send. Off, they keep their state, and moves end at the core's edge: for programs
    /// without neighbour traffic, whose border cannot be seen. Predicates of the border then lag behind.
    pub fn set_borders(&mut self, on: bool) {
        self.borders = on && self.geometry.border > 0;
    }
    /// Executes a buffer. The buffer can be run again.
    ///
    /// # Errors
    /// The first division by zero; see [`DivisionFault`] for the state it leaves.
    ///
    /// # Panics
    /// If an address is outside local memory or the predicate stack over- or underflows: the sequencer's checks.
    pub fn run(&mut self, trace: &mut TraceBuffer) -> Result<(), DivisionFault> {
        trace.close_macs();
        if trace.code.is_empty() {
            return Ok(());
        }
        let trace = &*trace;
        let host = self.host;
        let n_groups = self.core.n_groups() + if self.borders { self.border.n_groups() } else { 0 };
        let mut faults = Vec::new();
        if self.n_threads > 1 && trace.cycles() * n_groups >= THREAD_CYCLES {
            let mut shares = self.shares(n_groups.div_ceil(self.n_threads));
            faults = run_threads(host, &mut shares, trace);
        } else {
            let Self { core, border, .. } = self;
            host.run_groups(&mut share_of(core, false), trace, &mut faults);
            if self.borders {
                host.run_groups(&mut share_of(border, true), trace, &mut faults);
            }
        }
        first_fault(self.geometry, trace, &faults).map_or(Ok(()), Err)
    }
    /// The groups that execute, in shares of at most `n` groups.
    fn shares(&mut self, n: usize) -> Vec<exec::Share<'_>> {
        let parts = [(false, &mut self.core), (true, &mut self.border)];
        let parts = parts.into_iter().take(1 + self.borders as usize);
        let shares = parts.flat_map(|(border, part)| {
            let (stride, n_slots) = (part.stride, part.n_slots);
            let groups = part.mem.chunks_mut(n * stride).zip(part.preds.chunks_mut(n));
            groups.enumerate().map(move |(i, (mem, preds))| exec::Share {
                border,
                first: i * n,
                mem,
                stride,
                n_slots,
                preds,
            })
        });
        shares.collect()
    }
    /// Whether the predicate bit of any enabled PE of the core array is set.
    pub fn any(&self) -> bool {
        self.core.preds.iter().any(|p| p.enable & p.pred != 0)
    }
}

/// All groups of a part.
fn share_of(part: &mut Part, border: bool) -> exec::Share<'_> {
    let Part { mem, stride, n_slots, preds, .. } = part;
    exec::Share { border, first: 0, mem, stride: *stride, n_slots: *n_slots, preds }
}

/// Runs shares in parallel.
fn run_threads(host: Host, shares: &mut [exec::Share<'_>], trace: &TraceBuffer) -> Vec<exec::GroupFault> {
    use rayon::prelude::*;

    let run = |share: &mut exec::Share<'_>| {
        let mut faults = Vec::new();
        host.run_groups(share, trace, &mut faults);
        faults
    };
    shares.par_iter_mut().flat_map_iter(run).collect()
}

/// The fault of the first micro-op and, in it, of the first PE.
fn first_fault(geometry: Geometry, trace: &TraceBuffer, faults: &[exec::GroupFault]) -> Option<DivisionFault> {
    let lanes = faults.iter().flat_map(|fault| {
        (0..LANES).filter(|lane| fault.lanes >> lane & 1 == 1).map(|lane| {
            let (row, col) = geometry.position(fault.border, fault.group * LANES + lane);
            (fault.code_idx, row, col)
        })
    });
    let (code_idx, row, col) = lanes.min()?;
    Some(DivisionFault { uop_index: trace.division(code_idx), row, col })
}
