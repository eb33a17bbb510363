//! Memory: how long buffers live within a kernel and across kernels, and how much of it that takes at most.

use std::collections::{BTreeMap, HashMap};

use crate::graph::ValueId;
use crate::plan::group::Grouped;
use crate::plan::kernel::Kernel;

/// A buffer that a kernel allocates: declared before one of its steps, gone behind another; both count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// The buffer.
    pub root: ValueId,
    /// The step before which it is declared.
    pub first: usize,
    /// The last step that uses it.
    pub last: usize,
}

/// The buffers of a kernel that nobody else sees, nested: of two, one holds the other, or they do not meet. Where lives
/// cross, the later one is declared earlier.
pub fn scopes(grouped: &Grouped, kernel: &Kernel) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = Vec::new();
    for (i, &step) in kernel.steps.iter().enumerate() {
        let root = grouped.steps[step].writes;
        let is_new = scopes.iter().all(|scope| scope.root != root);
        if is_new && !kernel.outputs.contains(&root) {
            let uses = |&s: &usize| {
                let step = &grouped.steps[s];
                step.writes == root || step.operands().iter().any(|x| x.view.root == root)
            };
            let last = kernel.steps.iter().rposition(uses).unwrap_or(i).max(i);
            scopes.push(Scope { root, first: i, last });
        }
    }
    while let Some((earlier, later)) = crossing(&scopes) {
        scopes[later].first = scopes[earlier].first;
    }
    scopes.sort_by_key(|s| (s.first, std::cmp::Reverse(s.last), s.root));
    scopes
}

/// Two buffers of which the one that begins first ends first while the other one lives.
fn crossing(scopes: &[Scope]) -> Option<(usize, usize)> {
    let pairs = (0..scopes.len()).flat_map(|a| (0..scopes.len()).map(move |b| (a, b)));
    pairs.into_iter().find(|&(a, b)| {
        let (a, b) = (scopes[a], scopes[b]);
        a.first < b.first && b.first <= a.last && a.last < b.last
    })
}

/// Bytes of a kernel's own buffers at most.
pub fn inner_peak(grouped: &Grouped, kernel: &Kernel) -> usize {
    let scopes = scopes(grouped, kernel);
    let at = |i: usize| scopes.iter().filter(|s| s.first <= i && i <= s.last).map(|s| bytes(grouped, s.root)).sum();
    (0..kernel.steps.len()).map(at).max().unwrap_or(0)
}

/// Where a buffer at a kernel boundary lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The first kernel that uses it.
    pub first: usize,
    /// The last one.
    pub last: usize,
    /// First byte.
    pub offset: usize,
    /// Bytes.
    pub bytes: usize,
}

/// Places for all buffers at kernel boundaries: the largest first, each in the smallest gap that takes it among those that
/// live at the same time.
pub fn places(grouped: &Grouped, kernels: &[Kernel], kept: &[ValueId]) -> BTreeMap<ValueId, Place> {
    let mut lives: HashMap<ValueId, (usize, usize)> = HashMap::new();
    for (i, kernel) in kernels.iter().enumerate() {
        for &root in kernel.inputs.iter().chain(&kernel.outputs) {
            let life = lives.entry(root).or_insert((i, i));
            life.1 = if kept.contains(&root) { kernels.len() } else { i };
        }
    }
    let mut order: Vec<ValueId> = lives.keys().copied().collect();
    order.sort_by_key(|&root| (std::cmp::Reverse(bytes(grouped, root)), root));
    let mut placed: BTreeMap<ValueId, Place> = BTreeMap::new();
    for root in order {
        let ((first, last), bytes) = (lives[&root], bytes(grouped, root).next_multiple_of(64));
        let mut meeting: Vec<Place> = placed.values().copied().filter(|p| p.first <= last && first <= p.last).collect();
        meeting.sort_by_key(|p| p.offset);
        placed.insert(root, Place { first, last, offset: best_fit(&meeting, bytes), bytes });
    }
    placed
}

/// The smallest gap between places that takes so many bytes, or behind them all.
fn best_fit(meeting: &[Place], bytes: usize) -> usize {
    let (mut end, mut best): (usize, Option<(usize, usize)>) = (0, None);
    for place in meeting {
        let gap = place.offset.saturating_sub(end);
        if gap >= bytes && best.is_none_or(|(size, _)| gap < size) {
            best = Some((gap, end));
        }
        end = end.max(place.offset + place.bytes);
    }
    best.map_or(end, |(_, offset)| offset)
}

/// Bytes of a buffer.
pub fn bytes(grouped: &Grouped, root: ValueId) -> usize {
    grouped.buffers.get(&root).map_or(0, |buffer| buffer.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_gap_that_takes_it() {
        let place = |offset, bytes| Place { first: 0, last: 0, offset, bytes };
        let meeting = [place(0, 64), place(192, 64), place(320, 64)];
        assert_eq!(best_fit(&meeting, 64), 256, "not the gap of 128 before it");
        assert_eq!(best_fit(&meeting, 128), 64);
        assert_eq!(best_fit(&meeting, 192), 384);
        assert_eq!(best_fit(&[], 64), 0);
    }
}
