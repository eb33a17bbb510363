//! Who wrote a byte: the transfers that stored it, the PE that it came from, and what that PE computed before.

use super::engine::descriptor::{Copy2d, RandomAccess, Walk};
use super::machine::Machine;
use super::run::{SimError, Simulator, StopAt, Stopped};
use crate::image::Space;
use crate::isa::operand::Engine;

/// A transfer that wrote the watched byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Instruction that handed the data to the engine.
    pub pc: u32,
    /// Cycle at which it was handed over.
    pub cycle: u64,
    /// The engine.
    pub engine: Engine,
    /// Row and column of the PE whose local memory held it; not of DMA.
    pub pe: Option<(usize, i32)>,
    /// Its address there.
    pub local: Option<u32>,
}

/// An instruction of the array as one PE saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Place in the program.
    pub pc: u32,
    /// Source line.
    pub line: Option<(String, u32)>,
    /// The instruction.
    pub text: String,
    /// What its destination held afterwards.
    pub value: i32,
}

/// A watched byte, and what wrote it so far.
#[derive(Debug)]
pub(super) struct Watch {
    space: Space,
    address: u64,
    writes: Vec<Write>,
}

/// Writes that are kept: the last of them is of interest.
const MOST_WRITES: usize = 64;

impl Watch {
    pub(super) fn new(space: Space, address: u64) -> Self {
        Self { space, address, writes: Vec::new() }
    }

    fn record(&mut self, write: Write) {
        if self.writes.len() == MOST_WRITES {
            self.writes.remove(0);
        }
        self.writes.push(write);
    }
}

impl Machine {
    fn write(&self, engine: Engine, pe: Option<(usize, i32)>, local: Option<u32>) -> Write {
        Write { pc: self.current_pc(), cycle: self.now, engine, pe, local }
    }

    /// The address that is watched in a memory.
    fn watched(&self, space: Space) -> Option<u64> {
        self.watch.as_ref().filter(|w| w.space == space).map(|w| w.address)
    }

    pub(super) fn watch_tile(&mut self, walk: &Walk, tile: u32) {
        let Some(address) = self.watched(Space::Ocm) else { return };
        let (origin, elem) = (walk.origin(tile), walk.elem as u64);
        let found = (0..walk.rows).find_map(|r| {
            let row = walk.row(origin, r);
            let along = address.checked_sub(row.address).filter(|_| row.count > 0)?;
            let (i, rest) = (along / row.stride as u64, along % row.stride as u64);
            (i < row.count as u64 && rest < elem).then(|| ((r as usize, row.col + i as i32), rest))
        });
        if let Some((pe, byte)) = found {
            let write = self.write(Engine::FlowOut, Some(pe), Some(walk.slot(tile) + byte as u32));
            self.watch.as_mut().expect("something is watched").record(write);
        }
    }

    pub(super) fn watch_random(&mut self, access: &RandomAccess, rows: &[Vec<(i32, Option<u32>)>]) {
        let Some(address) = self.watched(Space::Ocm) else { return };
        let elem = access.elem as u64;
        let Some(along) = address.checked_sub(access.ocm) else { return };
        let mut requests =
            rows.iter().enumerate().flat_map(|(r, row)| row.iter().map(move |(c, index)| (r, *c, *index)));
        // Of equal indices the last one stays.
        let last = requests.rfind(|(.., index)| index.is_some_and(|i| i as u64 == along / elem));
        if let Some((row, col, _)) = last {
            let write = self.write(Engine::Rau, Some((row, col)), Some(access.data + (along % elem) as u32));
            self.watch.as_mut().expect("something is watched").record(write);
        }
    }

    pub(super) fn watch_copy(&mut self, engine: Engine, copy: &Copy2d) {
        let (space, start, pitch) = match engine {
            Engine::DmaIn => (Space::Ocm, copy.ocm, copy.ocm_pitch),
            _ => (Space::Ext, copy.ext, copy.ext_pitch),
        };
        let Some(address) = self.watched(space) else { return };
        let inside = |row: u64| (start + row * pitch..start + row * pitch + copy.bytes).contains(&address);
        if (0..copy.rows).any(inside) {
            let write = self.write(engine, None, None);
            self.watch.as_mut().expect("something is watched").record(write);
        }
    }
}

impl Simulator {
    /// Records from now on what writes a byte of a buffer. One byte at a time is watched.
    ///
    /// # Errors
    /// [`SimError::NotStarted`]; [`SimError::NoParam`]; [`SimError::Look`] for a byte behind the end.
    pub fn watch(&mut self, buffer: &str, offset: u64) -> Result<(), SimError> {
        let (space, address, len) = self.place_of(buffer)?;
        if offset >= len {
            let reason = format!("the buffer has {len} bytes");
            return Err(SimError::Look { operand: format!("{buffer}[{offset}]"), reason });
        }
        self.machine_mut()?.watch = Some(Watch::new(space, address + offset));
        Ok(())
    }

    /// What wrote the watched byte, the last write last; of many the last ones.
    pub fn writes(&self) -> &[Write] {
        self.machine_ref().and_then(|m| m.watch.as_ref()).map_or(&[], |w| &w.writes)
    }

    /// Runs from where the program stands to `write` and gives the last `most` instructions before it that wrote local memory
    /// or accumulators, as the PE of the write saw them.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn history(&mut self, write: &Write, most: usize) -> Result<Vec<Operation>, SimError> {
        let Some((row, col)) = write.pe else { return Ok(Vec::new()) };
        // Stepping is slow; what is kept issues in not much more cycles than there are operations.
        let from = write.cycle.saturating_sub(8 * most as u64);
        if self.run_until(&StopAt::Cycle(from))? == Stopped::Halt {
            return Ok(Vec::new());
        }
        let mut kept = std::collections::VecDeque::new();
        while self.cycle() < write.cycle {
            let Some(pc) = self.pc() else { break };
            if !matches!(self.step()?, Stopped::At { .. }) {
                break;
            }
            kept.extend(self.operation(pc, row, col));
            if kept.len() > most {
                kept.pop_front();
            }
        }
        Ok(kept.into())
    }

    fn operation(&mut self, pc: u32, row: usize, col: i32) -> Option<Operation> {
        let inst = self.machine_ref()?.inst_at(pc)?;
        // A destination in flight, or moved away by now, has no value to show.
        let value = self.value(inst.destination()?.into()).ok()?.get(row, col as isize)?;
        let line = self.machine_ref()?.lines.lookup(pc).map(|(file, line)| (file.to_owned(), line));
        Some(Operation { pc, line, text: inst.to_string(), value })
    }
}
