//! The broadcast queue: streams feed it in the order of their start, MAC and ALU take from it.
//!
//! An entry enters one cycle after its predecessor, once the stream has started up and a slot of the queue is free. A
//! slot frees when its entry is taken, so the times follow from the last `broadcast_queue` takes, and are computed when
//! an entry is taken: there is no tick.

use std::collections::VecDeque;

use super::descriptor::Stream;
use crate::profile::RegionRef;
use crate::target::Timing;

/// A stream that was started and is not both taken and retired.
#[derive(Debug)]
pub struct StreamRun {
    /// What it reads.
    pub stream: Stream,
    /// Its token; `None` once retired.
    pub token: Option<u8>,
    /// Instruction that started it.
    pub pc: u32,
    /// Region in which it was started.
    pub region: RegionRef,
    /// Cycle at which it was issued.
    pub issued: u64,
    /// Entries taken.
    pub taken: u64,
    /// Entry of the whole queue's history at which it begins.
    first: u64,
    /// Cycle at which the last entry taken had entered.
    entered: u64,
    /// Whether the profile has it.
    pub reported: bool,
    /// What was left in the queue when the stream was retired: on-chip memory may change from then on.
    pub kept: VecDeque<[u8; 16]>,
}

/// The queue and its streams.
#[derive(Debug)]
pub struct BroadcastQueue {
    streams: VecDeque<StreamRun>,
    /// Cycles at which the last `depth` entries were taken, by entry number modulo depth.
    takes: Vec<u64>,
    /// Entries taken in all.
    taken: u64,
    /// Entries of all streams started.
    started: u64,
    /// Cycle at which the last entry taken had entered.
    entered: u64,
    /// Words taken of the head entry, 0..4.
    pub words: u8,
}

impl BroadcastQueue {
    /// An empty queue.
    pub fn new(timing: &Timing) -> Self {
        let takes = vec![0; timing.broadcast_queue as usize];
        Self { streams: VecDeque::new(), takes, taken: 0, started: 0, entered: 0, words: 0 }
    }

    /// The streams not yet taken and retired.
    pub fn streams(&self) -> impl Iterator<Item = &StreamRun> {
        self.streams.iter()
    }

    /// Puts a stream behind those already started.
    pub fn start(&mut self, stream: Stream, token: u8, pc: u32, region: RegionRef, issued: u64) {
        let first = self.started;
        self.started += stream.entries();
        let kept = VecDeque::new();
        let token = Some(token);
        let run = StreamRun { stream, token, pc, region, issued, taken: 0, first, entered: 0, reported: false, kept };
        self.streams.push_back(run);
    }

    /// The stream of the head entry, if any is left.
    pub fn head(&mut self) -> Option<&mut StreamRun> {
        self.streams.iter_mut().find(|s| s.taken < s.stream.entries())
    }

    /// Bytes that were started and not taken.
    pub fn left(&self) -> u64 {
        (self.started - self.taken) * Stream::ENTRY - self.words as u64 * 4
    }

    /// When entry `entry` of `stream` enters, its predecessor having entered at `before`; `None` if its slot is not free.
    fn enters(&self, stream: &StreamRun, entry: u64, before: u64, timing: &Timing) -> Option<u64> {
        let depth = self.takes.len() as u64;
        let number = stream.first + entry;
        // One entry a cycle; the engine turns to a stream when the last entry of its predecessor has entered.
        let mut started = before + 1;
        if entry == 0 {
            started = started.max(before.max(stream.issued) + timing.broadcast_start as u64);
        }
        match number.checked_sub(depth) {
            None => Some(started),
            Some(slot) if slot < self.taken => Some(started.max(self.takes[(slot % depth) as usize] + 1)),
            Some(_) => None,
        }
    }

    /// When the head entry has entered.
    pub fn head_ready(&self, timing: &Timing) -> Option<u64> {
        let stream = self.streams.iter().find(|s| s.taken < s.stream.entries())?;
        self.enters(stream, stream.taken, self.entered, timing)
    }

    /// Takes the head entry at `now`, which is not before it is ready.
    pub fn take(&mut self, now: u64, timing: &Timing) {
        self.entered = self.head_ready(timing).expect("the caller found an entry");
        let depth = self.takes.len() as u64;
        self.takes[(self.taken % depth) as usize] = now;
        self.taken += 1;
        self.words = 0;
        let entered = self.entered;
        let head = self.head().expect("the caller found an entry");
        head.taken += 1;
        head.entered = entered;
        let done = head.taken == head.stream.entries() && head.token.is_none();
        if done {
            self.streams.retain(|s| s.token.is_some() || s.taken < s.stream.entries());
        }
    }

    /// When the last entry of the `index`-th stream has entered; `None` if that needs takes that have not happened.
    pub fn done(&self, index: usize, timing: &Timing) -> Option<u64> {
        let last = &self.streams[index];
        if last.taken == last.stream.entries() {
            return Some(last.entered);
        }
        let mut entered = self.entered;
        for stream in self.streams.iter().take(index + 1) {
            for entry in stream.taken..stream.stream.entries() {
                entered = self.enters(stream, entry, entered, timing)?;
            }
        }
        Some(entered)
    }

    /// Index among the streams of the one with a token.
    pub fn position(&self, token: u8) -> usize {
        self.streams.iter().position(|s| s.token == Some(token)).expect("the token table names a live stream")
    }

    /// The `index`-th stream.
    pub fn stream(&self, index: usize) -> &StreamRun {
        &self.streams[index]
    }

    /// The `index`-th stream, to note that it was reported.
    pub fn stream_mut(&mut self, index: usize) -> &mut StreamRun {
        &mut self.streams[index]
    }

    /// Retires the `index`-th stream; `keep` are its entries still in the queue.
    pub fn retire(&mut self, index: usize, keep: VecDeque<[u8; 16]>) {
        let stream = &mut self.streams[index];
        stream.token = None;
        stream.kept = keep;
        self.streams.retain(|s| s.token.is_some() || s.taken < s.stream.entries());
    }

    /// Streams that at `now` have entries still to enter, oldest first.
    pub fn unfinished(&self, now: u64, timing: &Timing) -> usize {
        (0..self.streams.len()).filter(|i| self.done(*i, timing).is_none_or(|end| end > now)).count()
    }
}
