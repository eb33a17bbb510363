//! Places on the chip for tensors between kernels: buffers that several of them have one after the other.
//!
//! Tensors that live at the same time are in different buffers, so that the compiler sees which transfers may run ahead of which.

use crate::emit::manifest::Boundary;

use super::Part;

/// A buffer, and the tensors in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Bytes of the largest one.
    pub bytes: usize,
    /// The tensors.
    pub tensors: Vec<Tenant>,
}

/// A tensor in a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its name.
    pub tensor: String,
    /// Its bytes.
    pub bytes: usize,
    /// The first kernel of its life, as the entry point counts them.
    pub first: usize,
    /// The last one; behind all kernels for what is written back.
    pub last: usize,
}

/// Buffers for all tensors that kernels of an entry point read and write.
pub(super) fn assign(part: &Part) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    let mut all: Vec<(&Boundary, (usize, usize))> = Vec::new();
    for (i, kernel) in part.kernels.iter().enumerate() {
        for boundary in kernel.inputs.iter().chain(&kernel.outputs) {
            match all.iter_mut().find(|(b, _)| b.tensor == boundary.tensor) {
                Some((_, life)) => life.1 = i,
                None => {
                    let first = if part.inputs.iter().any(|b| b.tensor == boundary.tensor) { 0 } else { i };
                    all.push((boundary, (first, i)));
                }
            }
        }
    }
    for (boundary, life) in &mut all {
        if part.outputs.iter().any(|b| b.tensor == boundary.tensor) {
            // Written back by the last kernel.
            life.1 = part.kernels.len();
        }
    }
    // The largest first: smaller ones fit where they have been.
    all.sort_by_key(|(boundary, life)| (std::cmp::Reverse(boundary.bytes), *life));
    for (boundary, (first, last)) in all {
        let tenant = Tenant { tensor: boundary.tensor.clone(), bytes: boundary.bytes, first, last };
        let apart = |other: &Tenant| other.last < first || last < other.first;
        match slots.iter_mut().find(|slot| slot.tensors.iter().all(apart)) {
            Some(slot) => slot.tensors.push(tenant),
            None => slots.push(Slot { bytes: boundary.bytes, tensors: vec![tenant] }),
        }
    }
    slots
}
