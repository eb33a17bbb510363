//! The state of a run: an arena of lane vectors, the scopes that own them, the stack of masks, peaks and probes.
//!
//! **Ownership.** A handle ([`Id`]) is a slot and its generation. A slot belongs to a scope, and is free when the scope ends,
//! unless it was handed to the scope around ([`State::escape`]). It is in one of three states:
//!
//! - *fresh*: the result of an operation, which no name refers to yet;
//! - *bound*: named, never written again, so any number of copies of the handle may exist;
//! - *home*: the storage of one variable, written in place. Binding a home to another name copies it, so that no two names
//!   share one; writing gives it a new generation, so that a handle read before the write and used after it is found.
//!
//! A generation that does not fit is a bug of the expansion, not of the kernel, and panics.

use std::cell::RefCell;

use super::geometry::Geometry;
use super::lane::Lane;
use super::probe::{Probe, Probes};

/// Handle of a lane vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id {
    slot: u32,
    generation: u32,
}

impl Id {
    /// A placeholder, which no vector has.
    pub(crate) const NONE: Id = Id { slot: u32::MAX, generation: 0 };
}

/// How the rows of a fetched buffer lie around the PE's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    /// Rows.
    pub n: u16,
    /// Of them above the PE's own.
    pub above: u16,
}

impl Rows {
    pub const ONE: Rows = Rows { n: 1, above: 0 };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Fresh,
    Bound,
    Home,
}

struct Slot<L> {
    lanes: Vec<L>,
    generation: u32,
    depth: u32,
    standing: Standing,
    rows: Rows,
    /// Bytes that it counts as local memory of a PE.
    lrm_bytes: u16,
}

/// The vectors of one lane type.
pub struct Pool<L> {
    slots: Vec<Slot<L>>,
    free: Vec<u32>,
}

impl<L> Default for Pool<L> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

macro_rules! pools {
    ($( $field:ident: $L:ty = $Tag:ident ),*) => {
        /// Which pool a slot is in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Tag { $( #[doc = stringify!($L)] $Tag ),* }

        /// One pool a lane type.
        #[derive(Default)]
        pub struct Pools { $( pub(crate) $field: Pool<$L> ),* }

        impl Pools {
            /// Frees a slot of a scope that ends, unless it escaped: then `false`.
            fn release(&mut self, tag: Tag, slot: u32, depth: u32, lrm: &mut usize) -> bool {
                match tag { $( Tag::$Tag => self.$field.release(slot, depth, lrm) ),* }
            }
        }
    };
}
pools! { i8: i8 = I8, i16: i16 = I16, i32: i32 = I32, i64: i64 = I64, u8: u8 = U8, u16: u16 = U16, bool: bool = Bool }

impl<L> Pool<L> {
    fn release(&mut self, slot: u32, depth: u32, lrm: &mut usize) -> bool {
        let s = &mut self.slots[slot as usize];
        if s.depth < depth {
            return false;
        }
        s.generation = s.generation.wrapping_add(1);
        *lrm -= s.lrm_bytes as usize;
        s.lrm_bytes = 0;
        self.free.push(slot);
        true
    }

    #[inline]
    fn slot(&self, id: Id) -> &Slot<L> {
        let slot = &self.slots[id.slot as usize];
        if slot.generation != id.generation {
            stale();
        }
        slot
    }

    #[inline]
    fn slot_mut(&mut self, id: Id) -> &mut Slot<L> {
        let slot = &mut self.slots[id.slot as usize];
        if slot.generation != id.generation {
            stale();
        }
        slot
    }
}

#[cold]
fn stale() -> ! {
    panic!(
        "internal error: a value was used after the end of its block, or after the variable that it was read from changed; \
         the expansion of the kernel should have bound it"
    )
}

/// The PEs that are enabled.
pub(crate) struct Mask {
    pub lanes: Vec<bool>,
    /// Whether any PE of the array, not the border, is enabled.
    pub any_core: bool,
    /// Whether any is, border included.
    pub any: bool,
}

/// Peaks of a run, in bytes. What the budget checks compute is decisive; this counts what was really live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Declared and fetched buffers in the local memory of a PE.
    pub lrm_bytes: usize,
    /// Tensors that the kernel allocated in on-chip memory.
    pub ocm_bytes: usize,
    /// Lane vectors that the host held at the end, a measure of leaks.
    pub vectors: usize,
}

/// The state of a run.
pub struct State {
    pub(crate) geometry: Geometry,
    pub(crate) pools: Pools,
    kernel: String,
    /// Slots in the order of their allocation, to release the newest first.
    log: Vec<(Tag, u32)>,
    /// Where in the log each scope begins.
    frames: Vec<usize>,
    pub(crate) masks: Vec<Mask>,
    lrm_bytes: usize,
    ocm_bytes: usize,
    held_bytes: usize,
    usage: Usage,
    probes: Probes,
    probed: Vec<Probe>,
}

/// A buffer to be filled, and the slot that it will be in.
pub(crate) struct Buffer<L> {
    slot: u32,
    pub lanes: Vec<L>,
}

impl State {
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            pools: Pools::default(),
            kernel: String::new(),
            log: Vec::new(),
            frames: Vec::new(),
            masks: Vec::new(),
            lrm_bytes: 0,
            ocm_bytes: 0,
            held_bytes: 0,
            usage: Usage::default(),
            probes: Probes::Off,
            probed: Vec::new(),
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    pub(crate) fn probed(&self) -> &[Probe] {
        &self.probed
    }

    pub(crate) fn set_probes(&mut self, probes: Probes) {
        self.probes = probes;
    }

    pub(crate) fn probes(&self) -> Probes {
        self.probes
    }

    pub(crate) fn record(&mut self, probe: Probe) {
        self.probed.push(probe);
    }

    /// Bytes of all vectors that the host holds, free ones included.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Whether a vector is the storage of a variable, so that it may be assigned.
    pub(crate) fn is_home<L: Lane>(&self, id: Id) -> bool {
        L::pool(&self.pools).slot(id).standing == Standing::Home
    }

    /// A vector to fill; its contents are arbitrary.
    #[inline]
    pub(crate) fn buffer<L: Lane>(&mut self) -> Buffer<L> {
        let padded = self.geometry.padded();
        let pool = L::pool_mut(&mut self.pools);
        let slot = pool.free.pop().unwrap_or_else(|| {
            self.held_bytes += padded * L::BYTES;
            pool.slots.push(Slot {
                lanes: vec![L::default(); padded],
                generation: 0,
                depth: 0,
                standing: Standing::Fresh,
                rows: Rows::ONE,
                lrm_bytes: 0,
            });
            (pool.slots.len() - 1) as u32
        });
        Buffer { slot, lanes: std::mem::take(&mut pool.slots[slot as usize].lanes) }
    }

    /// Makes a filled vector a fresh value of the innermost scope.
    #[inline]
    pub(crate) fn add<L: Lane>(&mut self, buffer: Buffer<L>) -> Id {
        let depth = self.frames.len() as u32;
        let slot = &mut L::pool_mut(&mut self.pools).slots[buffer.slot as usize];
        slot.lanes = buffer.lanes;
        slot.depth = depth;
        slot.standing = Standing::Fresh;
        slot.rows = Rows::ONE;
        let id = Id { slot: buffer.slot, generation: slot.generation };
        self.log.push((L::TAG, id.slot));
        id
    }

    /// Counts a vector as local memory.
    pub(crate) fn count_lrm<L: Lane>(&mut self, id: Id) {
        L::pool_mut(&mut self.pools).slot_mut(id).lrm_bytes = L::BYTES as u16;
        self.lrm_bytes += L::BYTES;
        self.usage.lrm_bytes = self.usage.lrm_bytes.max(self.lrm_bytes);
    }

    pub(crate) fn count_ocm(&mut self, bytes: usize) {
        self.ocm_bytes += bytes;
        self.usage.ocm_bytes = self.usage.ocm_bytes.max(self.ocm_bytes);
    }

    pub(crate) fn discount_ocm(&mut self, bytes: usize) {
        // A tensor of an earlier run may be dropped in this one.
        self.ocm_bytes = self.ocm_bytes.saturating_sub(bytes);
    }

    #[inline]
    pub(crate) fn lanes<L: Lane>(&self, id: Id) -> &[L] {
        &L::pool(&self.pools).slot(id).lanes
    }

    pub(crate) fn rows<L: Lane>(&self, id: Id) -> Rows {
        L::pool(&self.pools).slot(id).rows
    }

    pub(crate) fn set_rows<L: Lane>(&mut self, id: Id, rows: Rows) {
        L::pool_mut(&mut self.pools).slot_mut(id).rows = rows;
    }

    /// A copy, fresh.
    pub(crate) fn copy<L: Lane>(&mut self, id: Id) -> Id {
        let mut out = self.buffer::<L>();
        let rows = self.rows::<L>(id);
        out.lanes.copy_from_slice(self.lanes::<L>(id));
        let id = self.add(out);
        self.set_rows::<L>(id, rows);
        id
    }

    /// Gives the value a name that is never written.
    pub(crate) fn bind<L: Lane>(&mut self, id: Id) -> Id {
        let slot = L::pool_mut(&mut self.pools).slot_mut(id);
        let id = match slot.standing {
            Standing::Home => self.copy::<L>(id),
            Standing::Bound => return id,
            Standing::Fresh => id,
        };
        L::pool_mut(&mut self.pools).slot_mut(id).standing = Standing::Bound;
        id
    }

    /// Makes the value the first one of a variable of the innermost scope.
    pub(crate) fn home<L: Lane>(&mut self, id: Id) -> Id {
        let depth = self.frames.len() as u32;
        let slot = L::pool_mut(&mut self.pools).slot_mut(id);
        let id = if slot.standing == Standing::Fresh && slot.depth == depth { id } else { self.copy::<L>(id) };
        L::pool_mut(&mut self.pools).slot_mut(id).standing = Standing::Home;
        id
    }

    /// The present value of a variable, which later writes leave as it is.
    pub(crate) fn read<L: Lane>(&mut self, id: Id) -> Id {
        if L::pool(&self.pools).slot(id).standing == Standing::Home { self.copy::<L>(id) } else { id }
    }

    /// Hands a value of an inner scope to the scope `depth`.
    pub(crate) fn escape<L: Lane>(&mut self, id: Id, depth: u32) {
        let slot = L::pool_mut(&mut self.pools).slot_mut(id);
        if slot.depth > depth {
            slot.depth = depth;
            slot.standing = Standing::Bound;
        }
    }

    /// Writes a variable where PEs are enabled.
    pub(crate) fn assign<L: Lane>(&mut self, place: &mut Id, value: Id) {
        let pool = L::pool_mut(&mut self.pools);
        pool.slot(value);
        let slot = pool.slot_mut(*place);
        assert!(
            slot.standing == Standing::Home,
            "internal error: the expansion did not make a variable of what is assigned"
        );
        if value.slot == place.slot {
            return;
        }
        slot.generation = slot.generation.wrapping_add(1);
        let mut lanes = std::mem::take(&mut slot.lanes);
        place.generation = slot.generation;
        // Even a fresh vector is copied, not taken: `[splat(0); 2]` has two handles of one.
        let from = &pool.slots[value.slot as usize].lanes;
        match self.masks.last() {
            None => lanes.copy_from_slice(from),
            Some(mask) => super::lane::blend(&mask.lanes, from, &mut lanes),
        }
        pool.slots[place.slot as usize].lanes = lanes;
    }

    /// Whether scalars are written: no mask, or one with a PE of the array.
    #[inline]
    pub(crate) fn scalars_enabled(&self) -> bool {
        self.masks.last().is_none_or(|mask| mask.any_core)
    }

    /// Disables the PEs where `condition` is `on` not, on top of what is disabled already.
    pub(crate) fn push_mask(&mut self, condition: &[bool], on: bool) {
        let mut lanes: Vec<bool> = condition.iter().map(|c| *c == on).collect();
        if let Some(outer) = self.masks.last() {
            lanes.iter_mut().zip(&outer.lanes).for_each(|(lane, outer)| *lane &= *outer);
        }
        let any_core = lanes[..self.geometry.core()].contains(&true);
        let any = lanes[..self.geometry.lanes()].contains(&true);
        self.masks.push(Mask { lanes, any_core, any });
    }

    /// First PE of the array that is enabled and where `test` holds of the lane.
    pub(crate) fn first_core(&self, test: impl Fn(usize) -> bool) -> Option<(usize, usize)> {
        let mask = self.masks.last();
        let enabled = |lane: usize| mask.is_none_or(|mask| mask.lanes[lane]);
        let lane = (0..self.geometry.core()).find(|lane| enabled(*lane) && test(*lane))?;
        Some((lane / self.geometry.cols, lane % self.geometry.cols))
    }

    pub(crate) fn open(&mut self) -> usize {
        self.frames.push(self.log.len());
        self.frames.len()
    }

    /// Ends the scope `depth` and what a panic may have left open in it.
    pub(crate) fn close(&mut self, depth: usize) {
        while self.frames.len() >= depth {
            let start = self.frames.pop().expect("the loop condition says so");
            let depth = self.frames.len() as u32 + 1;
            let mut kept = start;
            for at in start..self.log.len() {
                let (tag, slot) = self.log[at];
                if !self.pools.release(tag, slot, depth, &mut self.lrm_bytes) {
                    self.log[kept] = (tag, slot);
                    kept += 1;
                }
            }
            self.log.truncate(kept);
        }
    }
}

thread_local! {
    static STATE: RefCell<Option<Box<State>>> = const { RefCell::new(None) };
}

/// Runs `f` on the state of the session that the thread is in.
#[track_caller]
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with_borrow_mut(|state| match state {
        Some(state) => f(state),
        None => panic!("per-PE values exist inside `Session::run` only"),
    })
}

/// As [`with`]; nothing outside of a session.
pub(crate) fn try_with<R>(f: impl FnOnce(&mut State) -> R) -> Option<R> {
    STATE.try_with(|state| state.try_borrow_mut().ok()?.as_mut().map(|state| f(state))).ok().flatten()
}

pub(crate) fn kernel_name() -> Option<String> {
    // A fault may be raised while the state is in use.
    STATE.with(|state| match state.try_borrow() {
        Ok(state) => state.as_ref().map(|state| state.kernel.clone()),
        Err(_) => Some("?".to_owned()),
    })
}

pub(crate) fn enter(mut state: Box<State>, kernel: &str) {
    kernel.clone_into(&mut state.kernel);
    state.usage = Usage::default();
    state.ocm_bytes = 0;
    state.probed.clear();
    state.open();
    STATE.with_borrow_mut(|current| {
        assert!(current.is_none(), "a session runs on this thread already");
        *current = Some(state);
    });
}

pub(crate) fn leave() -> Box<State> {
    let mut state = STATE.take().expect("the run has entered its session");
    state.masks.clear();
    let p = &state.pools;
    state.usage.vectors = p.i8.slots.len()
        + p.i16.slots.len()
        + p.i32.slots.len()
        + p.i64.slots.len()
        + p.u8.slots.len()
        + p.u16.slots.len()
        + p.bool.slots.len();
    state.close(1);
    state
}
