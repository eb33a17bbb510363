//! What depends on no input.

use std::sync::Arc;

use crate::golden::eval;
use crate::graph::{Graph, Tensor};
use crate::rewrite::patch::Patch;
use crate::rewrite::pattern::Matcher;

/// Elements that a folded constant may have: weights are smaller, and a repeated constant is better repeated when it runs.
const MAX_FOLDED: usize = 1 << 24;

pub(super) fn find(graph: &Graph) -> Vec<Patch> {
    let matcher = Matcher::new(graph);
    let patches = matcher.nodes().filter_map(|(id, node)| {
        let values: Vec<_> = node.inputs.iter().map(|input| input.map(|id| graph.value(id))).collect();
        let known = values.iter().flatten().all(|value| value.constant.is_some());
        let n: usize = node.outputs.iter().map(|&id| graph.value(id).ty.len()).sum();
        if !known || n > MAX_FOLDED {
            return None;
        }
        let arguments: Vec<Option<&Tensor>> =
            values.iter().map(|value| value.and_then(|value| value.constant.as_deref())).collect();
        // A node without a value, such as a division by 0, stays: the run names it.
        let results = eval(&node.op, &arguments).ok()?;
        let known = node.outputs.iter().copied().zip(results.into_iter().map(Arc::new)).collect();
        Some(Patch { removed: vec![id], known, ..Patch::default() })
    });
    patches.collect()
}
