//! Dense layer, depthwise convolution, table and dense layer in a row become one step: nothing else sees the hidden channels.

use crate::graph::{Graph, NodeId, Op, ValueId};
use crate::plan::group::Grouped;
use crate::plan::step::{Dense, Kind, Step};

/// Joins every such row.
pub fn join(graph: &Graph, mut grouped: Grouped) -> Grouped {
    let mut i = 0;
    while i < grouped.steps.len() {
        if let Some((joined, members)) = row(graph, &grouped, i) {
            let last = members[3];
            grouped.steps[last] = joined;
            for &member in members[..3].iter().rev() {
                grouped.steps.remove(member);
            }
        } else {
            i += 1;
        }
    }
    grouped
}

/// The row that begins with a step, and its members.
fn row(graph: &Graph, grouped: &Grouped, first: usize) -> Option<(Step, [usize; 4])> {
    let steps = &grouped.steps;
    let Kind::Dense(expand @ Dense { residual: None, .. }) = &steps[first].kind else { return None };
    let second = only_reader(graph, grouped, first)?;
    let third = only_reader(graph, grouped, second)?;
    let fourth = only_reader(graph, grouped, third)?;
    let (Kind::Conv { node: depthwise, .. }, Kind::Table { node: table, .. }, Kind::Dense(project)) =
        (&steps[second].kind, &steps[third].kind, &steps[fourth].kind)
    else {
        return None;
    };
    let other_reads = project.residual.as_ref().is_some_and(|(_, x)| x.view.root == steps[third].writes);
    if !is_depthwise(graph, *depthwise) || project.x.view.root != steps[third].writes || other_reads {
        return None;
    }
    let hidden: [ValueId; 3] = [steps[first].writes, steps[second].writes, steps[third].writes];
    let members = [first, second, third, fourth];
    let step = Step {
        kind: Kind::MixFfn {
            expand: expand.clone(),
            depthwise: *depthwise,
            table: *table,
            project: project.clone(),
            hidden,
        },
        nodes: members.iter().flat_map(|&i| steps[i].nodes.iter().copied()).collect(),
        writes: steps[fourth].writes,
        macs: members.iter().map(|&i| steps[i].macs).sum(),
    };
    Some((step, members))
}

/// The one step that reads what a step writes, if the network does not give it out.
pub(super) fn only_reader(graph: &Graph, grouped: &Grouped, of: usize) -> Option<usize> {
    let steps = &grouped.steps;
    let root = steps[of].writes;
    let mut readers = (of + 1..steps.len()).filter(|&i| steps[i].operands().iter().any(|x| x.view.root == root));
    let one = readers.next()?;
    let is_output = graph.outputs().iter().any(|id| grouped.views.get(id).is_some_and(|view| view.root == root));
    (readers.next().is_none() && !is_output).then_some(one)
}

fn is_depthwise(graph: &Graph, node: NodeId) -> bool {
    let node = graph.node(node);
    let Op::QLinearConv { conv, x, .. } = &node.op else { return false };
    // A border of zeros is one of the tensor's only without a zero point.
    if x.zero != 0 {
        return false;
    }
    let channels = node.inputs[0].and_then(|x| graph.value(x).ty.shape.get(1).copied());
    channels == Some(conv.groups) && conv.groups > 1
}
