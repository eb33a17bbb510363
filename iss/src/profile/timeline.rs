//! What happened when: the events of a run, if they were asked for. Each kind has the same cap, so that a flood of one
//! drops none of the others; what is dropped is counted.

use serde::{Deserialize, Serialize};

use super::StallCause;
use crate::isa::Class;
use crate::isa::operand::Engine;

/// The events of a run, each kind in order of recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Most events of one kind.
    pub cap: usize,
    /// Regions, in order of entry.
    pub regions: Vec<RegionSpan>,
    /// Transfers.
    pub transfers: Vec<TransferSpan>,
    /// Stalls; adjacent ones of one class and cause are one.
    pub stalls: Vec<StallSpan>,
    /// Events that no longer fitted.
    pub dropped: Dropped,
}

/// Events beyond the cap, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Regions.
    pub regions: u64,
    /// Transfers.
    pub transfers: u64,
    /// Stalls.
    pub stalls: u64,
}

/// One stay in a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionSpan {
    /// Name.
    pub name: String,
    /// Regions around it.
    pub depth: usize,
    /// Cycle of entry.
    pub start: u64,
    /// Cycle of leaving.
    pub end: u64,
}

/// One transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferSpan {
    /// Engine.
    pub engine: Engine,
    /// What it moves, for people.
    pub label: String,
    /// Cycle at which the engine began.
    pub start: u64,
    /// Cycle at which the last byte had moved.
    pub end: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Tiles moved.
    pub tiles: u64,
}

/// One stall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallSpan {
    /// Class that was charged.
    pub class: Class,
    /// What was waited for.
    pub cause: StallCause,
    /// First cycle.
    pub start: u64,
    /// Cycle after the last.
    pub end: u64,
}

impl Timeline {
    pub(super) fn new(cap: usize) -> Self {
        Self { cap, ..Self::default() }
    }

    /// Opens a region's span. The index is given back to [`leave`](Self::leave); `None` if it was dropped.
    pub(super) fn enter(&mut self, name: &str, depth: usize, start: u64) -> Option<usize> {
        let span = RegionSpan { name: name.to_owned(), depth, start, end: start };
        push(&mut self.regions, &mut self.dropped.regions, self.cap, span).then(|| self.regions.len() - 1)
    }

    pub(super) fn leave(&mut self, index: usize, end: u64) {
        self.regions[index].end = end;
    }

    pub(super) fn transfer(&mut self, span: TransferSpan) {
        push(&mut self.transfers, &mut self.dropped.transfers, self.cap, span);
    }

    pub(super) fn stall(&mut self, class: Class, cause: StallCause, start: u64, end: u64) {
        match self.stalls.last_mut() {
            Some(last) if last.end == start && (last.class, last.cause) == (class, cause) => last.end = end,
            _ => {
                push(&mut self.stalls, &mut self.dropped.stalls, self.cap, StallSpan { class, cause, start, end });
            }
        }
    }
}

/// Adds `event` or counts it as dropped.
fn push<T>(events: &mut Vec<T>, dropped: &mut u64, cap: usize, event: T) -> bool {
    let fits = events.len() < cap;
    if fits {
        events.push(event);
    } else {
        *dropped += 1;
    }
    fits
}
