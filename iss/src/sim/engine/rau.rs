//! The random access unit: how long a set of accesses takes.

use crate::target::Timing;

use super::descriptor::RandomAccess;

/// An access that was started and not yet retired.
#[derive(Debug)]
pub struct RauRun {
    /// What it addresses.
    pub access: RandomAccess,
    /// Whether it stores.
    pub store: bool,
    /// Its token.
    pub token: u8,
    /// Instruction that started it.
    pub pc: u32,
    /// Cycle at which the unit turned to it.
    pub begun: u64,
    /// Cycle at which it is done.
    pub end: u64,
}

/// Cycles of an access: `rows` holds the element indices of the active PEs, row by row.
pub fn access_cycles<'a>(rows: impl Iterator<Item = &'a mut Vec<u32>>, timing: &Timing) -> u64 {
    let row_cycles = |indices: &mut Vec<u32>| {
        if indices.is_empty() {
            return 0;
        }
        if timing.rau_merges == 1 {
            indices.sort_unstable();
            indices.dedup();
        }
        timing.rau_row as u64 + (indices.len() as u64).div_ceil(timing.rau_accesses as u64)
    };
    rows.map(row_cycles).sum::<u64>() + timing.rau_tail as u64
}
