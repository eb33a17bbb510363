//! How a program is run: limits, host resources, what is recorded. Nothing here changes results or cycles.

use super::array::SimdPath;

/// Limits and switches of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Cycles after which the run is stopped.
    pub max_cycles: u64,
    /// Instructions after which the run is stopped; a program of markers alone takes no cycles.
    pub max_instructions: u64,
    /// External memory that constants and buffers may take, in bytes.
    pub max_ext_bytes: u64,
    /// Values that probes may record, in all.
    pub max_probes: usize,
    /// Whether `probe` records.
    pub probes: bool,
    /// Whether `assert` checks.
    pub assertions: bool,
    /// Events of each kind that the profile's timeline keeps; 0: no timeline.
    pub timeline: usize,
    /// Host instructions to use; the best available if `None`.
    pub simd: Option<SimdPath>,
    /// Host threads to use; one per core if `None`.
    pub threads: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_cycles: 2_000_000_000,
            max_instructions: 500_000_000,
            max_ext_bytes: 1 << 30,
            max_probes: 10_000,
            probes: true,
            assertions: true,
            timeline: 0,
            simd: None,
            threads: None,
        }
    }
}
