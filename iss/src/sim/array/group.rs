//! A group of 64 PEs: the unit of execution, small enough to stay in the host's inner caches. Its registers and its local
//! memory are one list of slots, so that every operand is a slot number.

use crate::isa::operand::Dir;

/// PEs of a group.
pub const LANES: usize = 64;
/// Lanes of the vector that host code handles at a time.
pub(super) const CHUNK: usize = 16;
/// Chunks of a group.
pub(super) const CHUNKS: usize = LANES / CHUNK;
/// Entries of a predicate stack.
pub const PREDICATE_DEPTH: usize = 32;

/// One 32-bit value in each PE of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Lanes(pub [i32; LANES]);

impl Lanes {
    /// Zero in every PE.
    pub const ZERO: Lanes = Lanes([0; LANES]);

    #[inline(always)]
    pub(super) fn chunk(&self, c: usize) -> &[i32; CHUNK] {
        &self.0.as_chunks().0[c]
    }
    #[inline(always)]
    pub(super) fn chunk_mut(&mut self, c: usize) -> &mut [i32; CHUNK] {
        &mut self.0.as_chunks_mut().0[c]
    }
}

/// Slot numbers: registers first, local memory behind them.
pub(super) mod slot {
    use super::Dir;

    /// Accumulator 0.
    pub const ACC: u32 = 0;
    /// Accumulators.
    pub const N_ACC: u32 = 16;
    /// Port of the north neighbour.
    pub const PORT: u32 = 16;
    /// Row numbers.
    pub const Q_ROW: u32 = 20;
    /// Column numbers.
    pub const Q_COL: u32 = 21;
    /// Word 0 of local memory.
    pub const LRM: u32 = 22;

    /// The port that the neighbour on side `dir` writes.
    pub const fn port(dir: Dir) -> u32 {
        PORT + dir as u32
    }
}

/// Predicate state of 64 PEs, one bit each. Invariant: `enable` and the stack hold live lanes only.
#[derive(Clone, Debug)]
pub(super) struct Predicates {
    /// PEs that execute.
    pub enable: u64,
    /// Predicate bits.
    pub pred: u64,
    /// PEs that exist.
    pub live: u64,
    /// Pushed enable bits.
    pub stack: [u64; PREDICATE_DEPTH],
    /// Entries in use.
    pub depth: usize,
}

impl Predicates {
    /// A group whose lanes `0..n_live` exist, all enabled.
    pub fn new(n_live: usize) -> Self {
        let live = if n_live >= LANES { u64::MAX } else { (1 << n_live) - 1 };
        Self { enable: live, pred: 0, live, stack: [0; PREDICATE_DEPTH], depth: 0 }
    }
    pub fn push(&mut self) {
        assert!(self.depth < PREDICATE_DEPTH, "the sequencer checks the depth of the predicate stack");
        self.stack[self.depth] = self.enable;
        self.depth += 1;
        self.enable &= self.pred;
    }
    pub fn flip(&mut self) {
        assert!(self.depth > 0, "the sequencer checks that an else has its push");
        self.enable = self.stack[self.depth - 1] & !self.enable;
    }
    pub fn pop(&mut self) {
        assert!(self.depth > 0, "the sequencer checks that a pop has its push");
        self.depth -= 1;
        self.enable = self.stack[self.depth];
    }
    /// The predicate bit of enabled PEs becomes that of `bits`.
    pub fn set_pred(&mut self, bits: u64) {
        self.pred = (self.pred & !self.enable) | (bits & self.enable);
    }
}
