//! Where tensors come from: a run of the network by one implementation, asked by name.

use std::collections::HashMap;
use std::sync::Arc;

use crate::golden::Run;
use crate::graph::{Graph, Tensor, Value, ValueId};

/// The tensors of one run of a network.
pub trait Values {
    /// Who computed them, for reports.
    fn label(&self) -> &str;

    /// The tensor of that name in the ONNX file, if the run shows it.
    fn tensor(&self, name: &str) -> Option<Arc<Tensor>>;
}

/// Tensors by name.
#[derive(Debug, Clone, Default)]
pub struct Named {
    label: String,
    tensors: HashMap<String, Arc<Tensor>>,
}

impl Named {
    /// Tensors of a run.
    pub fn new(label: impl Into<String>, tensors: HashMap<String, Arc<Tensor>>) -> Self {
        Named { label: label.into(), tensors }
    }

    /// All tensors that a golden run kept.
    pub fn golden(graph: &Graph, run: &Run) -> Self {
        let kept = |(i, value): (usize, &Value)| Some((value.name.clone(), Arc::clone(run.get(ValueId(i as u32))?)));
        Named::new("golden", graph.values().iter().enumerate().filter_map(kept).collect())
    }
}

impl Values for Named {
    fn label(&self) -> &str {
        &self.label
    }

    fn tensor(&self, name: &str) -> Option<Arc<Tensor>> {
        self.tensors.get(name).cloned()
    }
}
