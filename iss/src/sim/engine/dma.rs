//! DMA: one channel each way; transfers are served in order, their latencies overlap.

use std::collections::VecDeque;

use super::descriptor::Copy2d;
use crate::target::Timing;

/// A transfer that was started and not yet retired.
#[derive(Debug)]
pub struct DmaRun {
    /// What it copies.
    pub copy: Copy2d,
    /// Its token.
    pub token: u8,
    /// Instruction that started it.
    pub pc: u32,
    /// Cycle at which its first byte moves.
    pub begun: u64,
    /// Cycle at which its last byte has moved.
    pub end: u64,
}

/// One direction.
#[derive(Debug, Default)]
pub struct DmaChannel {
    runs: VecDeque<DmaRun>,
    /// Ends of the transfers that are unfinished or were so lately, oldest first.
    ends: VecDeque<u64>,
    /// End of the last transfer.
    free_at: u64,
}

/// Bytes that a transfer occupies on the external bus: each row in whole bursts.
pub fn bus_bytes(copy: &Copy2d, timing: &Timing) -> u64 {
    copy.bytes.next_multiple_of(timing.dma_burst as u64) * copy.rows
}

impl DmaChannel {
    /// The transfers not yet retired.
    pub fn runs(&self) -> impl Iterator<Item = &DmaRun> {
        self.runs.iter()
    }

    /// The cycle at which the oldest of too many unfinished transfers ends, if at `now` there are so many.
    pub fn full_until(&mut self, now: u64, timing: &Timing) -> Option<u64> {
        while self.ends.front().is_some_and(|end| *end <= now) {
            self.ends.pop_front();
        }
        let excess = self.ends.len().checked_sub(timing.dma_queue as usize)?;
        Some(self.ends[excess])
    }

    /// Starts a transfer whose bus time is `cycles`.
    pub fn start(&mut self, copy: Copy2d, token: u8, pc: u32, now: u64, cycles: u64, timing: &Timing) -> &DmaRun {
        let begun = self.free_at.max(now + timing.dma_latency as u64);
        let end = begun + cycles;
        self.free_at = end;
        self.ends.push_back(end);
        self.runs.push_back(DmaRun { copy, token, pc, begun, end });
        self.runs.back().expect("it was just put there")
    }

    /// The transfer of a token.
    pub fn run(&self, token: u8) -> &DmaRun {
        self.runs.iter().find(|r| r.token == token).expect("the token table names a live transfer")
    }

    /// Takes the transfer of a token off the list.
    pub fn remove(&mut self, token: u8) -> DmaRun {
        let at = self.runs.iter().position(|r| r.token == token).expect("the token table names a live transfer");
        self.runs.remove(at).expect("a position in the list")
    }
}
