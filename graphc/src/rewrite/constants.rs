//! What depends on no input.

use std::collections::HashMap;
use std::sync::Arc;

use crate::golden::eval;
use crate::graph::{Graph, Node, NodeId, Tensor, ValueId};
use crate::rewrite::patch::Patch;

/// Elements that all constants of a graph may have after folding. A file of a few bytes can ask for much more, by Expand.
const MAX_ELEMENTS: usize = 1 << 27;

pub(super) fn find(graph: &Graph) -> Vec<Patch> {
    let constants = graph.values().iter().filter(|value| value.constant.is_some());
    let mut room = constants.fold(MAX_ELEMENTS, |room, value| room.saturating_sub(value.ty.len()));
    let mut known: HashMap<ValueId, Arc<Tensor>> = HashMap::new();
    let mut patches = Vec::new();
    for (i, node) in graph.nodes().iter().enumerate() {
        let n: usize = node.outputs.iter().map(|&id| graph.value(id).ty.len()).sum();
        let Some(results) = (n <= room).then(|| compute(graph, node, &known)).flatten() else { continue };
        room -= n;
        let results: Vec<_> = node.outputs.iter().copied().zip(results.into_iter().map(Arc::new)).collect();
        known.extend(results.iter().cloned());
        patches.push(Patch { removed: vec![NodeId(i as u32)], known: results, ..Patch::default() });
    }
    patches
}

/// The results of a node whose inputs are all known. One without a value, such as a division by 0, stays: the run names it.
fn compute(graph: &Graph, node: &Node, known: &HashMap<ValueId, Arc<Tensor>>) -> Option<Vec<Tensor>> {
    let mut arguments = Vec::with_capacity(node.inputs.len());
    for input in &node.inputs {
        arguments.push(match input {
            Some(id) => Some(&**known.get(id).or(graph.value(*id).constant.as_ref())?),
            None => None,
        });
    }
    eval(&node.op, &arguments).ok()
}
