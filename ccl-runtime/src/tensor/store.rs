//! The bytes of tensors, kept by thread; a tensor outlives the runs in which it is used.

use std::cell::RefCell;
use std::ops::Range;

use crate::native::state;

/// Handle of a tensor's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorId {
    slot: u32,
    generation: u32,
}

impl TensorId {
    /// A placeholder, which no tensor has.
    pub(crate) const NONE: TensorId = TensorId { slot: u32::MAX, generation: 0 };
}

#[derive(Default)]
struct Slot {
    bytes: Vec<u8>,
    generation: u32,
}

#[derive(Default)]
struct Store {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

thread_local! {
    static STORE: RefCell<Store> = RefCell::default();
}

/// Ownership of a tensor's bytes; they go when it is dropped.
#[derive(Debug)]
pub(crate) struct Owned {
    id: TensorId,
    /// Bytes that the session counts.
    counted: usize,
    /// The bytes belong to a thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Owned {
    pub(crate) fn new(bytes: Vec<u8>, on_chip: bool) -> Self {
        let counted = if on_chip { bytes.len() } else { 0 };
        // Outside of a session nobody counts.
        let counted = state::try_with(|s| s.count_ocm(counted)).map_or(0, |()| counted);
        let id = STORE.with_borrow_mut(|store| {
            let slot = store.free.pop().unwrap_or_else(|| {
                store.slots.push(Slot::default());
                (store.slots.len() - 1) as u32
            });
            let s = &mut store.slots[slot as usize];
            s.bytes = bytes;
            TensorId { slot, generation: s.generation }
        });
        Self { id, counted, _thread: std::marker::PhantomData }
    }

    pub(crate) fn id(&self) -> TensorId {
        self.id
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.counted > 0 {
            state::try_with(|s| s.discount_ocm(self.counted));
        }
        // While a thread ends, its store may be gone already.
        let _ = STORE.try_with(|store| {
            let mut store = store.borrow_mut();
            let s = &mut store.slots[self.id.slot as usize];
            s.bytes = Vec::new();
            s.generation += 1;
            store.free.push(self.id.slot);
        });
    }
}

fn slot(store: &mut Store, id: TensorId) -> &mut Vec<u8> {
    let slot = &mut store.slots[id.slot as usize];
    assert_eq!(slot.generation, id.generation, "a view, tile or broadcast is used after its tensor was released");
    &mut slot.bytes
}

/// Reads a tensor.
#[track_caller]
pub(crate) fn read<R>(id: TensorId, f: impl FnOnce(&[u8]) -> R) -> R {
    STORE.with_borrow_mut(|store| f(slot(store, id)))
}

/// Writes a tensor.
#[track_caller]
pub(crate) fn write<R>(id: TensorId, f: impl FnOnce(&mut [u8]) -> R) -> R {
    STORE.with_borrow_mut(|store| f(slot(store, id)))
}

/// Copies bytes of one tensor to as many of another.
pub(crate) fn copy((from, bytes): (TensorId, Range<usize>), (to, place): (TensorId, Range<usize>)) {
    STORE.with_borrow_mut(|store| {
        let bytes = slot(store, from)[bytes].to_vec();
        slot(store, to)[place].copy_from_slice(&bytes);
    });
}
