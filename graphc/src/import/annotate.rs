//! Types of inner values, written back into a model for whoever shows it.

use crate::graph::Graph;
use crate::onnx::{Model, tensor};

/// The model with the types of all values that its nodes give; `graph` is what it was read to.
pub fn annotate(mut model: Model, graph: &Graph) -> Model {
    if let Some(proto) = &mut model.proto.graph {
        let inner = graph.values().iter().filter(|value| value.producer.is_some());
        proto.value_info = inner.map(|value| tensor::value_info(&value.name, &value.ty)).collect();
    }
    model
}
