//! Running a network.

use std::collections::HashMap;
use std::sync::Arc;

use crate::golden::eval;
use crate::graph::{Graph, Node, Origin, Tensor, Type, ValueId};
use crate::infer::InferError;

/// Why a run gives nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An input is missing.
    #[error("input `{name}` ({ty}) is missing")]
    Missing {
        /// Its name.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// The network has no such input.
    #[error("the network has no input `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// An input has another type.
    #[error("input `{name}` is {found}, expected {expected}")]
    Type {
        /// Its name.
        name: String,
        /// Its type as given.
        found: Type,
        /// Its type in the network.
        expected: Type,
    },
    /// The tensors that are alive at once take too much memory.
    #[error(
        "node `{node}`: with its results {bytes} bytes would be alive at once, and at most {MAX_LIVE_BYTES} may be"
    )]
    TooLarge {
        /// The node.
        node: String,
        /// Bytes.
        bytes: usize,
    },
    /// A node has no value for its inputs.
    #[error("node `{node}` ({origin}): {source}")]
    Node {
        /// The node.
        node: String,
        /// What it was in the file.
        origin: Box<Origin>,
        /// What is wrong.
        source: InferError,
    },
}

/// Bytes of tensors that a run may hold at once, constants aside.
pub const MAX_LIVE_BYTES: usize = 1 << 32;

/// Which tensors a run keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All of them.
    All,
    /// The network's outputs; others are freed when their last reader has run.
    Outputs,
}

/// The tensors of a run.
#[derive(Debug, Clone)]
pub struct Run {
    values: Vec<Option<Arc<Tensor>>>,
}

impl Run {
    /// A tensor that was kept. Ids come from the graph that ran.
    pub fn get(&self, id: ValueId) -> Option<&Arc<Tensor>> {
        self.values[id.index()].as_ref()
    }
}

/// Runs a network on named inputs.
///
/// # Errors
/// [`RunError`] if an input is missing, unknown or of another type, or if a node has no value for its inputs.
pub fn run(graph: &Graph, inputs: &HashMap<String, Tensor>, keep: Keep) -> Result<Run, RunError> {
    run_observed(graph, inputs, keep, |_, _| {})
}

/// Runs a network as [`run`] does, and shows each tensor that a node gives before it may be freed.
///
/// # Errors
/// As [`run`].
pub fn run_observed(
    graph: &Graph,
    inputs: &HashMap<String, Tensor>,
    keep: Keep,
    mut observe: impl FnMut(ValueId, &Tensor),
) -> Result<Run, RunError> {
    let mut run = Run { values: graph.values().iter().map(|v| v.constant.clone()).collect() };
    set_inputs(graph, inputs, &mut run)?;
    check_memory(graph, keep)?;
    let mut reads_left = reads(graph);
    for node in graph.nodes() {
        step(graph, node, &mut run)?;
        for &id in &node.outputs {
            if let Some(tensor) = run.get(id) {
                observe(id, tensor);
            }
        }
        if keep == Keep::Outputs {
            for id in node.inputs.iter().flatten() {
                reads_left[id.index()] -= 1;
                if reads_left[id.index()] == 0 {
                    run.values[id.index()] = None;
                }
            }
        }
    }
    Ok(run)
}

/// For each value the inputs that read it, and one more for an output of the network.
fn reads(graph: &Graph) -> Vec<usize> {
    let mut reads: Vec<usize> = graph.readers().iter().map(Vec::len).collect();
    for &output in graph.outputs() {
        reads[output.index()] += 1;
    }
    reads
}

/// Adds up what a run will hold, before it asks for any of it.
fn check_memory(graph: &Graph, keep: Keep) -> Result<(), RunError> {
    let bytes = |id: ValueId| graph.value(id).ty.len() * graph.value(id).ty.dtype.bytes();
    let mut live: usize = graph.inputs().iter().map(|&id| bytes(id)).sum();
    let mut reads_left = reads(graph);
    for node in graph.nodes() {
        live += node.outputs.iter().map(|&id| bytes(id)).sum::<usize>();
        if live > MAX_LIVE_BYTES {
            return Err(RunError::TooLarge { node: node.name.clone(), bytes: live });
        }
        for &id in node.inputs.iter().flatten().filter(|_| keep == Keep::Outputs) {
            reads_left[id.index()] -= 1;
            if reads_left[id.index()] == 0 && graph.value(id).constant.is_none() {
                live -= bytes(id);
            }
        }
    }
    Ok(())
}

/// Checks that these are the inputs of a network.
///
/// # Errors
/// [`RunError`] if one is missing, unknown or of another type.
pub fn check_inputs(graph: &Graph, inputs: &HashMap<String, Tensor>) -> Result<(), RunError> {
    let mut names: Vec<_> = inputs.keys().collect();
    names.sort();
    for name in names {
        if !graph.inputs().iter().any(|&id| graph.value(id).name == *name) {
            return Err(RunError::Unknown { name: name.clone() });
        }
    }
    for &id in graph.inputs() {
        let value = graph.value(id);
        let missing = || RunError::Missing { name: value.name.clone(), ty: value.ty.clone() };
        let tensor = inputs.get(&value.name).ok_or_else(missing)?;
        if tensor.ty() != value.ty {
            let (name, found, expected) = (value.name.clone(), tensor.ty(), value.ty.clone());
            return Err(RunError::Type { name, found, expected });
        }
    }
    Ok(())
}

fn set_inputs(graph: &Graph, inputs: &HashMap<String, Tensor>, run: &mut Run) -> Result<(), RunError> {
    check_inputs(graph, inputs)?;
    for &id in graph.inputs() {
        run.values[id.index()] = inputs.get(&graph.value(id).name).cloned().map(Arc::new);
    }
    Ok(())
}

fn step(graph: &Graph, node: &Node, run: &mut Run) -> Result<(), RunError> {
    let fault = |source| RunError::Node { node: node.name.clone(), origin: Box::new(node.origin.clone()), source };
    let arguments: Vec<Option<&Tensor>> =
        node.inputs.iter().map(|input| input.and_then(|id| run.values[id.index()].as_deref())).collect();
    let results = eval(&node.op, &arguments).map_err(fault)?;
    for (&id, tensor) in node.outputs.iter().zip(results) {
        let expected = &graph.value(id).ty;
        assert_eq!(&tensor.ty(), expected, "the golden value of `{}` has the inferred type", graph.value(id).name);
        run.values[id.index()] = Some(Arc::new(tensor));
    }
    Ok(())
}
