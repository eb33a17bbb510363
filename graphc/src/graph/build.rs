//! Making graphs: one place that names values, infers types and checks the whole.

use std::collections::HashMap;
use std::sync::Arc;

use crate::graph::{Graph, Node, NodeId, Op, Origin, Tensor, Type, Value, ValueId};
use crate::infer::{InferError, infer};

/// Why a graph cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Two values have one name.
    #[error("value `{name}` is defined twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// A node's inputs do not suit it.
    #[error("node `{node}` ({origin}): {source}")]
    Node {
        /// The node.
        node: String,
        /// What it was in the file.
        origin: Box<Origin>,
        /// What is wrong.
        source: InferError,
    },
    /// There are more values than ids.
    #[error("the graph has too many values")]
    TooMany,
}

/// A graph in the making. Nodes are added after those whose outputs they read, so there is no way to write a cycle.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    values: Vec<Value>,
    names: HashMap<String, ValueId>,
    nodes: Vec<Node>,
    inputs: Vec<ValueId>,
}

impl Builder {
    /// Adds an input.
    ///
    /// # Errors
    /// [`GraphError::Twice`].
    pub fn input(&mut self, name: &str, ty: Type) -> Result<ValueId, GraphError> {
        let id = self.value(name, ty, None, None)?;
        self.inputs.push(id);
        Ok(id)
    }

    /// Adds a constant.
    ///
    /// # Errors
    /// [`GraphError::Twice`].
    pub fn constant(&mut self, name: &str, tensor: Arc<Tensor>) -> Result<ValueId, GraphError> {
        self.value(name, tensor.ty(), Some(tensor), None)
    }

    /// Adds a node and its outputs, whose types follow from the inputs. A name of an output that is empty gets one.
    ///
    /// # Errors
    /// [`GraphError::Node`] if the inputs do not suit the operator, [`GraphError::Twice`] for an output's name.
    pub fn node(
        &mut self,
        name: &str,
        origin: Origin,
        op: Op,
        inputs: Vec<Option<ValueId>>,
        outputs: &[&str],
    ) -> Result<Vec<ValueId>, GraphError> {
        let types: Vec<Option<Type>> = inputs.iter().map(|i| i.map(|i| self.values[i.index()].ty.clone())).collect();
        let fault = |source| GraphError::Node { node: name.to_owned(), origin: Box::new(origin.clone()), source };
        let types = infer(&op, &types).map_err(fault)?;
        if outputs.len() > types.len() {
            return Err(fault(InferError::Outputs { found: outputs.len(), most: types.len() }));
        }
        let node = NodeId(u32::try_from(self.nodes.len()).map_err(|_| GraphError::TooMany)?);
        let mut ids = Vec::with_capacity(types.len());
        for (i, ty) in types.into_iter().enumerate() {
            let unnamed = || format!("{name}:{i}");
            let name = outputs.get(i).filter(|name| !name.is_empty()).map_or_else(unnamed, |name| (*name).to_owned());
            ids.push(self.value(&name, ty, None, Some(node))?);
        }
        self.nodes.push(Node { name: name.to_owned(), origin, op, inputs, outputs: ids.clone() });
        Ok(ids)
    }

    /// The value of that name.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.names.get(name).copied()
    }

    /// A value that was added.
    pub fn get(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The graph that gives `outputs`.
    pub fn finish(self, name: &str, outputs: Vec<ValueId>) -> Graph {
        Graph { name: name.to_owned(), values: self.values, nodes: self.nodes, inputs: self.inputs, outputs }
    }

    fn value(
        &mut self,
        name: &str,
        ty: Type,
        constant: Option<Arc<Tensor>>,
        producer: Option<NodeId>,
    ) -> Result<ValueId, GraphError> {
        let id = ValueId(u32::try_from(self.values.len()).map_err(|_| GraphError::TooMany)?);
        if self.names.insert(name.to_owned(), id).is_some() {
            return Err(GraphError::Twice { name: name.to_owned() });
        }
        self.values.push(Value { name: name.to_owned(), ty, constant, producer });
        Ok(id)
    }
}
