//! What the host does around the device: inputs become tensors of the device before a run, outputs come from them behind it.
//!
//! Nodes before the first and behind the last kernel run on golden operators, so that an input is quantised to the bit as in the graph.

use std::collections::HashMap;

use crate::golden::eval;
use crate::graph::{Graph, Tensor, Type, ValueId};
use crate::infer::InferError;
use crate::plan::Plan;
use crate::run::device;
use crate::run::entry::Tensors;

/// Why the host has no tensor for the device, or none from it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// An input is missing.
    #[error("input `{name}` ({ty}) is missing")]
    Missing {
        /// Its name.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// The network has no such input.
    #[error("the network has no input `{name}`; there are `{known}`")]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
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
    /// A node of the host has no result.
    #[error("node `{node}`, on the host: {source}")]
    Node {
        /// The node.
        node: String,
        /// Why.
        source: InferError,
    },
    /// A tensor of the device that the host cannot read or write, which is our fault.
    #[error("tensor `{tensor}` is none of the device, which is a fault of graphc")]
    NoBuffer {
        /// The tensor.
        tensor: String,
    },
}

/// Checks that each input of a network is there, in its type, and no other.
///
/// # Errors
/// [`HostError::Missing`], [`HostError::Unknown`], [`HostError::Type`].
pub fn check_inputs(graph: &Graph, inputs: &HashMap<String, Tensor>) -> Result<(), HostError> {
    let known = || graph.inputs().iter().map(|&id| graph.value(id));
    let mut names: Vec<&String> = inputs.keys().collect();
    names.sort();
    if let Some(name) = names.into_iter().find(|name| known().all(|value| value.name != **name)) {
        let known: Vec<&str> = known().map(|value| value.name.as_str()).collect();
        return Err(HostError::Unknown { name: name.clone(), known: known.join("`, `") });
    }
    for value in known() {
        let (name, ty) = (value.name.clone(), value.ty.clone());
        match inputs.get(&name) {
            None => return Err(HostError::Missing { name, ty }),
            Some(tensor) if tensor.ty() != ty => {
                return Err(HostError::Type { name, found: tensor.ty(), expected: ty });
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The tensors of the device that come from inputs.
///
/// # Errors
/// As [`check_inputs`]; a node before the first kernel without a result.
pub fn to_device(plan: &Plan, inputs: &HashMap<String, Tensor>) -> Result<Tensors, HostError> {
    check_inputs(&plan.graph, inputs)?;
    let mut tensors = Tensors::new();
    for id in plan.inputs() {
        let given = |id: ValueId| inputs.get(&plan.graph.value(id).name).cloned();
        let tensor = evaluate(&plan.graph, id, &given)?;
        let name = plan.graph.value(id).name.clone();
        let bytes = device::to_bytes(plan, id, &tensor).ok_or_else(|| HostError::NoBuffer { tensor: name.clone() })?;
        tensors.insert(name, bytes);
    }
    Ok(tensors)
}

/// The outputs of the network, by name and in their order, from the tensors of the device.
///
/// # Errors
/// An output whose tensor is not there; a node behind the last kernel without a result.
pub fn from_device(plan: &Plan, tensors: &Tensors) -> Result<Vec<(String, Tensor)>, HostError> {
    let given = |id: ValueId| {
        let view = plan.grouped.views.get(&id)?;
        device::from_bytes(plan, id, tensors.get(&plan.graph.value(view.root).name)?)
    };
    let output = |&id: &ValueId| Ok((plan.graph.value(id).name.clone(), evaluate(&plan.graph, id, &given)?));
    plan.graph.outputs().iter().map(output).collect()
}

/// A value by the nodes that lead to it from given ones.
pub(crate) fn evaluate(
    graph: &Graph,
    id: ValueId,
    given: &dyn Fn(ValueId) -> Option<Tensor>,
) -> Result<Tensor, HostError> {
    let value = graph.value(id);
    if let Some(tensor) = value.constant.as_deref() {
        return Ok(tensor.clone());
    }
    if let Some(tensor) = given(id) {
        return Ok(tensor);
    }
    let Some(node) = graph.producer(id) else { return Err(HostError::NoBuffer { tensor: value.name.clone() }) };
    let inputs = node.inputs.iter().map(|input| input.map(|id| evaluate(graph, id, given)).transpose());
    let inputs = inputs.collect::<Result<Vec<Option<Tensor>>, HostError>>()?;
    let views: Vec<Option<&Tensor>> = inputs.iter().map(Option::as_ref).collect();
    let results = eval(&node.op, &views).map_err(|source| HostError::Node { node: node.name.clone(), source })?;
    let place = node.outputs.iter().position(|&output| output == id);
    let result = place.and_then(|place| results.into_iter().nth(place));
    result.ok_or_else(|| HostError::NoBuffer { tensor: value.name.clone() })
}
