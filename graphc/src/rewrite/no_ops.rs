//! Nodes that change nothing.

use crate::graph::{Graph, NodeId, Op};
use crate::rewrite::patch::{Input, NewNode, Patch};
use crate::rewrite::pattern::Matcher;

pub(super) fn find(graph: &Graph) -> Vec<Patch> {
    let matcher = Matcher::new(graph);
    matcher.nodes().filter_map(|(id, _)| drop_node(&matcher, id).or_else(|| join_reshapes(&matcher, id))).collect()
}

/// The node's readers read its input instead; outputs of the network keep their nodes, and so their names.
fn drop_node(matcher: &Matcher, id: NodeId) -> Option<Patch> {
    let node = matcher.graph.node(id);
    let (&[Some(x)], &[y]) = (&node.inputs[..], &node.outputs[..]) else { return None };
    let (before, after) = (&matcher.graph.value(x).ty, &matcher.graph.value(y).ty);
    let same = before == after && !matcher.is_output(y);
    let nothing = match &node.op {
        Op::Identity | Op::Reshape { .. } | Op::Cast(_) | Op::Expand { .. } | Op::Concat { .. } => same,
        Op::Transpose { permutation } => same && permutation.is_sorted(),
        Op::Slice { cuts } => same && cuts.iter().all(|cut| cut.step > 0),
        Op::Pad { before, after, .. } => same && before.iter().chain(after).all(|&n| n == 0),
        _ => false,
    };
    nothing.then(|| Patch { removed: vec![id], redirected: vec![(y, x)], ..Patch::default() })
}

/// Two Reshapes in a row are one.
fn join_reshapes(matcher: &Matcher, id: NodeId) -> Option<Patch> {
    let node = matcher.graph.node(id);
    let (Op::Reshape { .. }, &[Some(x)], &[y]) = (&node.op, &node.inputs[..], &node.outputs[..]) else { return None };
    let (first, _) = matcher.producer(x).filter(|(_, first)| matches!(first.op, Op::Reshape { .. }))?;
    matcher.only_reader(x)?;
    let source = matcher.graph.node(first).inputs.first().copied().flatten()?;
    let inputs = vec![Some(Input::Value(source))];
    let joined = NewNode { op: node.op.clone(), inputs, output: y, op_type: "Reshape".to_owned() };
    Some(Patch { removed: vec![first, id], added: vec![joined], ..Patch::default() })
}
