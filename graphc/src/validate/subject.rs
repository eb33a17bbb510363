//! What is validated: an implementation that can run the whole network, and parts of it on given tensors.

use std::collections::HashMap;
use std::sync::Arc;

use crate::golden::{Keep, RunError, eval, run};
use crate::graph::{Graph, Node, Tensor, ValueId};
use crate::validate::values::{Named, Values};

/// A part of a network that an implementation computes at once: a node, or nodes that it merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Names of its nodes in the ONNX file, in order.
    pub nodes: Vec<String>,
    /// Nodes before it whose results are the same memory, so that what holds for them holds for it.
    pub shares: Vec<String>,
    /// The tensors that show its results, by their names in the file.
    pub outputs: Vec<String>,
}

/// Why a part has no results on its own.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SubjectError {
    /// The reference does not show an input.
    #[error("{by} does not show its input `{tensor}`")]
    Hidden {
        /// The reference.
        by: String,
        /// The tensor.
        tensor: String,
    },
    /// It does not run.
    #[error("{reason}")]
    Run {
        /// Why.
        reason: String,
    },
}

/// An implementation under test, after a run on its own inputs.
pub trait Subject: Values {
    /// The network in parts, in order.
    fn units(&self) -> Vec<Unit>;

    /// The outputs of a part, in the order of [`Unit::outputs`], on the reference's inputs.
    ///
    /// # Errors
    /// [`SubjectError`].
    fn isolated(&self, unit: &Unit, reference: &dyn Values) -> Result<Vec<Arc<Tensor>>, SubjectError>;
}

/// The golden executor.
#[derive(Debug, Clone)]
pub struct Golden<'a> {
    graph: &'a Graph,
    nodes: HashMap<&'a str, &'a Node>,
    values: Named,
}

impl<'a> Golden<'a> {
    /// Runs the network.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run(graph: &'a Graph, inputs: &HashMap<String, Tensor>) -> Result<Self, RunError> {
        let run = run(graph, inputs, Keep::All)?;
        let nodes = graph.nodes().iter().map(|node| (node.name.as_str(), node)).collect();
        Ok(Golden { graph, nodes, values: Named::golden(graph, &run) })
    }

    /// A node's input as the reference has it; constants are the graph's own.
    fn input(&self, id: ValueId, reference: &dyn Values) -> Result<Arc<Tensor>, SubjectError> {
        let value = self.graph.value(id);
        let hidden = || SubjectError::Hidden { by: reference.label().to_owned(), tensor: value.name.clone() };
        value.constant.clone().or_else(|| reference.tensor(&value.name)).ok_or_else(hidden)
    }
}

impl Values for Golden<'_> {
    fn label(&self) -> &str {
        self.values.label()
    }

    fn tensor(&self, name: &str) -> Option<Arc<Tensor>> {
        self.values.tensor(name)
    }
}

impl Subject for Golden<'_> {
    fn units(&self) -> Vec<Unit> {
        let name = |id: &ValueId| self.graph.value(*id).name.clone();
        let unit = |node: &Node| Unit {
            nodes: vec![node.name.clone()],
            shares: Vec::new(),
            outputs: node.outputs.iter().map(name).collect(),
        };
        self.graph.nodes().iter().map(unit).collect()
    }

    fn isolated(&self, unit: &Unit, reference: &dyn Values) -> Result<Vec<Arc<Tensor>>, SubjectError> {
        let node = self.nodes[unit.nodes[0].as_str()];
        let inputs = node.inputs.iter().map(|id| id.map(|id| self.input(id, reference)).transpose());
        let inputs: Vec<Option<Arc<Tensor>>> = inputs.collect::<Result<_, _>>()?;
        let views: Vec<Option<&Tensor>> = inputs.iter().map(Option::as_deref).collect();
        let results = eval(&node.op, &views).map_err(|e| SubjectError::Run { reason: e.to_string() })?;
        Ok(results.into_iter().map(Arc::new).collect())
    }
}
