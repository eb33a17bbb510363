//! Places on the chip for tensors between kernels: buffers that several of them have one after the other.
//!
//! Tensors that live at the same time are in different buffers, so that the compiler sees which transfers may run ahead of which.

use crate::emit::manifest::Boundary;

use super::Part;

/// A buffer, and the tensors in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    /// Bytes of the largest one.
    pub bytes: usize,
    /// Names of tensors.
    pub tensors: Vec<String>,
    /// First and last kernel of each.
    lives: Vec<(usize, usize)>,
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
    for (boundary, life) in all {
        let apart = |other: &(usize, usize)| other.1 < life.0 || life.1 < other.0;
        let name = boundary.tensor.clone();
        match slots.iter_mut().find(|slot| slot.lives.iter().all(apart)) {
            Some(slot) => {
                slot.tensors.push(name);
                slot.lives.push(life);
            }
            None => slots.push(Slot { bytes: boundary.bytes, tensors: vec![name], lives: vec![life] }),
        }
    }
    slots
}
