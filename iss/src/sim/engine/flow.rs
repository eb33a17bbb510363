//! Flows: when each tile lands or leaves, and which buffers of a ring the engine owns. Bytes are moved by the machine.

use std::collections::VecDeque;

use super::descriptor::{TileOrigin, Walk};
use crate::isa::operand::Engine;
use crate::profile::RegionRef;
use crate::target::Timing;

/// What a tile costs the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TileCost {
    /// Cycles, dead ones not counted.
    pub cycles: u64,
    /// Bytes moved; the zeros of a border are not.
    pub bytes: u64,
}

fn row_cost(walk: &Walk, origin: TileOrigin, row: u32, timing: &Timing) -> TileCost {
    let row = walk.row(origin, row);
    if row.count == 0 {
        return TileCost::default();
    }
    let bytes = row.count as u64 * walk.elem as u64;
    if walk.strided() && timing.flow_strided > 0 {
        // Columns outside the tensor are walked too: the row is one strided sequence.
        return TileCost { cycles: (walk.columns().1 as u64).div_ceil(timing.flow_strided as u64), bytes };
    }
    let span = row.span(walk.elem);
    let beat = timing.flow_beat as u64;
    TileCost { cycles: span.end.div_ceil(beat) - span.start / beat, bytes }
}

/// What a tile of a walk costs the engine.
pub fn tile_cost(walk: &Walk, tile: u32, timing: &Timing) -> TileCost {
    let origin = walk.origin(tile);
    (0..walk.rows).fold(TileCost::default(), |sum, row| {
        let cost = row_cost(walk, origin, row, timing);
        TileCost { cycles: sum.cycles + cost.cycles, bytes: sum.bytes + cost.bytes }
    })
}

/// Dead cycles that go with so many beats of an engine.
fn dead_cycles(beats: u64, timing: &Timing) -> u64 {
    match timing.flow_dead_cycle_in as u64 {
        0 | 1 => 0,
        every => beats / (every - 1),
    }
}

/// A flow that was started and not yet retired.
#[derive(Debug)]
pub struct FlowRun {
    /// Where it walks.
    pub walk: Walk,
    /// Instruction that started it.
    pub pc: u32,
    /// Cycle at which it was issued.
    pub issued: u64,
    /// When the engine turned to it, once its predecessor's end is known.
    turned: Option<u64>,
    /// End of each tile that is timed and not yet retired.
    ends: VecDeque<u64>,
    /// Tiles retired by waits.
    pub retired: u32,
    /// End of the last tile timed, or the end of the start-up.
    at: u64,
    /// Cycles of its tiles so far, dead ones included.
    moving: u64,
    /// Bytes of the tiles timed so far.
    pub bytes: u64,
    /// Region in which it was started.
    pub region: RegionRef,
    /// Whether the profile has it.
    pub reported: bool,
    /// Cycles at which buffers were released (in) or pushed (out), for buffers not yet reached.
    grants: VecDeque<u64>,
    /// Buffers of an inbound ring that the program has given back.
    pub released: u32,
    /// Buffers granted so far, those of the start included.
    pub granted: u32,
    /// Cycle of the grant in force.
    grant_in_force: u64,
    /// Buffers whose grant has been consumed.
    consumed: u32,
}

/// Why a tile cannot be timed: the buffer that was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The tile.
    pub tile: u32,
    /// Its buffer, counted from the start of the flow.
    pub buffer: u32,
}

impl FlowRun {
    /// A flow issued at `issued`. `granted` buffers are the engine's from the start.
    pub fn new(walk: Walk, pc: u32, region: RegionRef, issued: u64, granted: u32) -> Self {
        Self {
            walk,
            pc,
            region,
            reported: false,
            issued,
            turned: None,
            ends: VecDeque::new(),
            retired: 0,
            at: 0,
            moving: 0,
            bytes: 0,
            grants: VecDeque::new(),
            released: 0,
            granted,
            grant_in_force: issued,
            consumed: granted,
        }
    }

    /// Whether the engine owns the slot of a tile now.
    pub fn owns(&self, tile: u32) -> bool {
        tile >= self.retired && tile / self.walk.group < self.granted
    }

    /// Whether every tile is timed.
    pub fn is_timed(&self) -> bool {
        self.timed() == self.walk.tiles
    }

    /// Tiles whose end is known.
    fn timed(&self) -> u32 {
        self.retired + self.ends.len() as u32
    }

    /// Grants the next buffer at `cycle`.
    pub fn grant(&mut self, cycle: u64) {
        self.granted += 1;
        self.grants.push_back(cycle);
    }

    /// Times tiles until `tiles` are done; `beats` are those of the engine, which decide its dead cycles.
    fn advance(&mut self, tiles: u32, beats: &mut u64, timing: &Timing) -> Result<(), Blocked> {
        while self.timed() < tiles {
            let tile = self.timed();
            let buffer = tile / self.walk.group;
            if buffer >= self.granted {
                return Err(Blocked { tile, buffer });
            }
            while self.consumed <= buffer {
                self.grant_in_force = self.grants.pop_front().expect("a grant for each buffer granted after the start");
                self.consumed += 1;
            }
            let start = self.at.max(self.grant_in_force);
            let TileCost { cycles, bytes } = tile_cost(&self.walk, tile, timing);
            let dead = dead_cycles(*beats + cycles, timing) - dead_cycles(*beats, timing);
            *beats += cycles;
            self.moving += cycles + dead;
            self.bytes += bytes;
            self.at = start + cycles + dead;
            self.ends.push_back(self.at);
        }
        Ok(())
    }

    /// Retires tiles up to `tiles`, which must be timed; returns the cycle at which the last of them was done.
    pub fn retire(&mut self, tiles: u32) -> Option<u64> {
        let mut end = None;
        while self.retired < tiles {
            end = self.ends.pop_front();
            self.retired += 1;
        }
        end
    }

    /// Whether every tile is retired and, of an inbound ring, every buffer given back.
    pub fn is_finished(&self, engine: Engine) -> bool {
        let back = engine != Engine::FlowIn || self.walk.ring == 0 || self.released == self.walk.buffers();
        self.retired == self.walk.tiles && back
    }

    /// Cycles during which it kept the engine busy: start-up and beats, not the wait for buffers.
    pub fn busy(&self, timing: &Timing) -> u64 {
        timing.flow_start as u64 + self.moving
    }

    /// When the engine turned to it; known once it has been timed.
    pub fn turned(&self) -> u64 {
        self.turned.unwrap_or(self.issued)
    }

    /// End of the last tile timed.
    pub fn end(&self) -> u64 {
        self.at
    }
}

/// One direction of flows: runs in the order of their start.
#[derive(Debug, Default)]
pub struct FlowEngine {
    runs: VecDeque<(u8, FlowRun)>,
    /// Latest end of the flows that left the list.
    free_at: u64,
    /// Beats of every flow timed so far.
    beats: u64,
}

impl FlowEngine {
    /// The runs not yet retired, with their tokens.
    pub fn runs(&self) -> impl Iterator<Item = &(u8, FlowRun)> {
        self.runs.iter()
    }

    fn position(&self, token: u8) -> usize {
        self.runs.iter().position(|(t, _)| *t == token).expect("the token table names a live flow")
    }

    /// The run of a token.
    pub fn run(&self, token: u8) -> &FlowRun {
        &self.runs[self.position(token)].1
    }

    /// The runs that are fully timed and not yet in the profile, oldest first.
    pub fn to_report(&mut self) -> impl Iterator<Item = &mut FlowRun> {
        self.runs.iter_mut().map(|(_, run)| run).take_while(|run| run.is_timed()).filter(|run| !run.reported)
    }

    /// The run of a token, to grant buffers or retire tiles.
    pub fn run_mut(&mut self, token: u8) -> &mut FlowRun {
        let at = self.position(token);
        &mut self.runs[at].1
    }

    /// Puts a flow behind those already started.
    pub fn start(&mut self, token: u8, run: FlowRun) {
        self.runs.push_back((token, run));
    }

    /// The cycle at which `tiles` of the token's flow are done; 0 if they are retired.
    ///
    /// # Errors
    /// The token of the flow that can never proceed, and the buffer it lacks.
    pub fn done(&mut self, token: u8, tiles: u32, timing: &Timing) -> Result<u64, (u8, Blocked)> {
        let last = self.position(token);
        if tiles <= self.runs[last].1.retired {
            return Ok(0);
        }
        for i in 0..=last {
            self.turn_to(i, timing);
            let (t, run) = &mut self.runs[i];
            let until = if i == last { tiles } else { run.walk.tiles };
            run.advance(until, &mut self.beats, timing).map_err(|blocked| (*t, blocked))?;
        }
        let run = &self.runs[last].1;
        Ok(run.ends[(tiles - run.retired - 1) as usize])
    }

    /// Fixes when the engine turns to flow `i`, whose predecessors are fully timed.
    fn turn_to(&mut self, i: usize, timing: &Timing) {
        let before = if i == 0 { self.free_at } else { self.free_at.max(self.runs[i - 1].1.at) };
        let run = &mut self.runs[i].1;
        if run.turned.is_none() {
            let turned = before.max(run.issued);
            run.turned = Some(turned);
            run.at = turned + timing.flow_start as u64;
        }
    }

    /// The cycle at which the oldest of more than `depth` unfinished flows ends, if at `now` there are so many.
    pub fn full_until(&mut self, now: u64, timing: &Timing) -> Result<Option<u64>, (u8, Blocked)> {
        let depth = timing.flow_queue as usize;
        let Some(at) = self.runs.len().checked_sub(depth) else { return Ok(None) };
        let (token, tiles) = (self.runs[at].0, self.runs[at].1.walk.tiles);
        let end = self.done(token, tiles, timing)?;
        Ok((end > now).then_some(end))
    }

    /// Takes a flow whose tiles are all retired off the list.
    pub fn remove(&mut self, token: u8) -> FlowRun {
        let at = self.position(token);
        let (_, run) = self.runs.remove(at).expect("a position in the list");
        // Whatever was started later waits for it, and whatever was started earlier is done already.
        self.free_at = self.free_at.max(run.at);
        run
    }
}
