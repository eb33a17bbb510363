//! Questions that rewrites ask of a graph.

use std::collections::HashSet;

use crate::graph::op::Binary;
use crate::graph::{Graph, Node, NodeId, Op, TensorView, ValueId};

/// A graph with the readers of its values.
pub(crate) struct Matcher<'a> {
    pub graph: &'a Graph,
    readers: Vec<Vec<NodeId>>,
    outputs: HashSet<ValueId>,
}

impl<'a> Matcher<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        Matcher { graph, readers: graph.readers(), outputs: graph.outputs().iter().copied().collect() }
    }

    /// Nodes with their ids.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &'a Node)> {
        self.graph.nodes().iter().enumerate().map(|(i, node)| (NodeId(i as u32), node))
    }

    /// The node that defines a value.
    pub fn producer(&self, id: ValueId) -> Option<(NodeId, &'a Node)> {
        self.graph.value(id).producer.map(|node| (node, self.graph.node(node)))
    }

    /// Nodes that read a value.
    pub fn readers(&self, id: ValueId) -> &[NodeId] {
        &self.readers[id.index()]
    }

    /// Whether a value is an output of the network.
    pub fn is_output(&self, id: ValueId) -> bool {
        self.outputs.contains(&id)
    }

    /// The one reader of a value that is no output of the network.
    pub fn only_reader(&self, id: ValueId) -> Option<(NodeId, &'a Node)> {
        match self.readers(id) {
            &[one] if !self.is_output(id) => Some((one, self.graph.node(one))),
            _ => None,
        }
    }

    /// The two operands of a two-operand node of this kind.
    pub fn operands(&self, node: &Node, kind: Binary) -> Option<(ValueId, ValueId)> {
        match (&node.op, &node.inputs[..]) {
            (Op::Binary(found), &[Some(a), Some(b)]) if *found == kind => Some((a, b)),
            _ => None,
        }
    }

    /// The operand of a two-operand node that is not `one`.
    pub fn other(&self, node: &Node, kind: Binary, one: ValueId) -> Option<ValueId> {
        match self.operands(node, kind)? {
            (a, b) if a == one => Some(b),
            (a, b) if b == one => Some(a),
            _ => None,
        }
    }

    /// The value of a constant of one float32.
    pub fn scalar(&self, id: ValueId) -> Option<f32> {
        let view = self.graph.value(id).constant.as_ref()?.view::<f32>()?;
        if view.len() == 1 { view.iter().next().copied() } else { None }
    }

    /// Whether a value is a constant of one float32 that is `expected` but for its last bits.
    pub fn is_scalar(&self, id: ValueId, expected: f64) -> bool {
        self.scalar(id).is_some_and(|v| (f64::from(v) - expected).abs() <= expected.abs() * 1e-6)
    }
}
