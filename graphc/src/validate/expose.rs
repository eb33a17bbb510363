//! Models made from a model: with every intermediate tensor as an output, or of a single node.

use crate::graph::{Tensor, Type};
use crate::onnx::proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
use crate::onnx::tensor::{self, TensorError};
use crate::onnx::{Folder, Model, external};

/// The model with every tensor that a node gives as an output of the graph, and with its external data inside.
///
/// # Errors
/// [`TensorError`] for external data that cannot be read.
pub fn with_all_outputs(model: &Model) -> Result<ModelProto, TensorError> {
    let mut proto = model.proto.clone();
    let Some(graph) = &mut proto.graph else { return Ok(proto) };
    let attributes = graph.node.iter_mut().flat_map(|node| &mut node.attribute);
    let tensors = attributes.filter_map(|attribute| attribute.t.as_deref_mut());
    for tensor in graph.initializer.iter_mut().chain(tensors) {
        external::inline(tensor, &model.folder)?;
    }
    let mut known: std::collections::HashSet<String> = graph.output.iter().map(|o| o.name.clone()).collect();
    for name in graph.node.iter().flat_map(|node| &node.output) {
        if !name.is_empty() && known.insert(name.clone()) {
            graph.output.push(ValueInfoProto { name: name.clone(), r#type: None });
        }
    }
    Ok(proto)
}

/// A model of one node of `model`: `data` become its inputs, `constants` its initialisers.
pub fn single_node(model: &Model, node: &NodeProto, data: &[(&str, Type)], constants: &[(&str, &Tensor)]) -> Model {
    let input = |(name, ty): &(&str, Type)| tensor::value_info(name, ty);
    let outputs = node.output.iter().filter(|name| !name.is_empty());
    let graph = GraphProto {
        name: node.name.clone(),
        node: vec![node.clone()],
        initializer: constants.iter().map(|(name, value)| tensor::proto(name, value)).collect(),
        input: data.iter().map(input).collect(),
        output: outputs.map(|name| ValueInfoProto { name: name.clone(), r#type: None }).collect(),
        value_info: Vec::new(),
        sparse_initializer: Vec::new(),
    };
    let proto = ModelProto { graph: Some(graph), ..model.proto.clone() };
    Model { proto, folder: Folder::none() }
}
