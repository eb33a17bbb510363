//! Networks as the compiler sees them: values with types, nodes with typed operators, everything static.
//!
//! Knows no file format. A [`Graph`] is checked when it is made and does not change; [`crate::rewrite`] makes new ones.

mod build;
mod dtype;
pub mod op;
mod tensor;

use std::fmt;
use std::sync::Arc;

pub use build::{Builder, GraphError};
pub use dtype::{DType, Type};
pub use op::Op;
pub(crate) use tensor::each_tensor;
pub use tensor::{Element, MAX_ELEMENTS, MAX_RANK, Tensor, TensorView};

/// Index of a value in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(crate) u32);

/// Index of a node in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl ValueId {
    /// The index as a place in a list.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl NodeId {
    /// The index as a place in a list.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A tensor that flows between nodes.
#[derive(Debug, Clone)]
pub struct Value {
    /// Its name, unique in the graph.
    pub name: String,
    /// Element type and shape.
    pub ty: Type,
    /// Its value, where it is known before any input is.
    pub constant: Option<Arc<Tensor>>,
    /// The node that computes it; inputs and constants have none.
    pub producer: Option<NodeId>,
}

/// Where a node comes from, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The ONNX operator, or what a rewrite made.
    pub op_type: String,
    /// Its operator set; empty for ONNX's own.
    pub domain: String,
    /// The set's version in the file.
    pub opset: i64,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.domain.is_empty() {
            write!(f, "{}.", self.domain)?;
        }
        write!(f, "{}, opset {}", self.op_type, self.opset)
    }
}

/// An operation.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name in the file, or one made from operator and place.
    pub name: String,
    /// What it was in the file.
    pub origin: Origin,
    /// What it computes.
    pub op: Op,
    /// Data inputs, in the order of [`Op`]'s variant; one that is optional may be `None`.
    pub inputs: Vec<Option<ValueId>>,
    /// Outputs.
    pub outputs: Vec<ValueId>,
}

/// A network: static, acyclic, its nodes in an order in which they can run.
#[derive(Debug, Clone)]
pub struct Graph {
    name: String,
    values: Vec<Value>,
    nodes: Vec<Node>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

impl Graph {
    /// The network's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// All nodes, each after those whose outputs it reads.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Values that a run needs.
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// Values that a run gives.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// A value. Ids come from this graph.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// A node. Ids come from this graph.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The node that computes a value.
    pub fn producer(&self, id: ValueId) -> Option<&Node> {
        self.value(id).producer.map(|node| self.node(node))
    }

    /// The value of that name.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.values.iter().position(|v| v.name == name).map(|i| ValueId(i as u32))
    }

    /// For each value the nodes that read it, once per reading input, in order.
    pub fn readers(&self) -> Vec<Vec<NodeId>> {
        let mut readers = vec![Vec::new(); self.values.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            for input in node.inputs.iter().flatten() {
                readers[input.index()].push(NodeId(i as u32));
            }
        }
        readers
    }

    /// Types of a node's inputs.
    pub fn input_types(&self, node: &Node) -> Vec<Option<Type>> {
        node.inputs.iter().map(|input| input.map(|id| self.value(id).ty.clone())).collect()
    }
}
