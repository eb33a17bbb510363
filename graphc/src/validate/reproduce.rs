//! The smallest thing that shows a failing node: a model of that node alone, and the tensors that it read.

use std::path::Path;
use std::sync::Arc;

use prost::Message;

use crate::files::write_whole;
use crate::graph::{Graph, Tensor};
use crate::import::NodeReport;
use crate::npy::{self, NpyError};
use crate::onnx::Model;
use crate::onnx::proto::ModelProto;
use crate::validate::expose::single_node;
use crate::validate::values::Values;

/// A node by itself.
#[derive(Debug, Clone)]
pub struct Reproducer {
    /// The model of the node.
    pub model: ModelProto,
    /// The tensors that it reads, as the reference has them.
    pub inputs: Vec<(String, Arc<Tensor>)>,
    /// What the reference makes of them.
    pub expected: Vec<(String, Arc<Tensor>)>,
}

/// A node of the model by itself, with the reference's tensors; `None` if the reference does not show what it reads.
pub fn reproduce(model: &Model, graph: &Graph, node: &NodeReport, reference: &dyn Values) -> Option<Reproducer> {
    let proto = model.proto.graph.as_ref()?.node.get(node.index)?;
    let (mut constants, mut inputs) = (Vec::new(), Vec::new());
    for name in proto.input.iter().filter(|name| !name.is_empty()) {
        if constants.iter().chain(&inputs).any(|(known, _)| known == name) {
            continue;
        }
        match graph.find(name).and_then(|id| graph.value(id).constant.clone()) {
            Some(value) => constants.push((name.clone(), value)),
            None => inputs.push((name.clone(), reference.tensor(name)?)),
        }
    }
    let data: Vec<_> = inputs.iter().map(|(name, value)| (name.as_str(), value.ty())).collect();
    let known: Vec<_> = constants.iter().map(|(name, value)| (name.as_str(), value.as_ref())).collect();
    let expected = node.tensors.iter().filter_map(|name| Some((name.clone(), reference.tensor(name)?))).collect();
    Some(Reproducer { model: single_node(model, proto, &data, &known).proto, inputs, expected })
}

impl Reproducer {
    /// Writes `model.onnx`, each input as `NAME.npy` and each expected output as `NAME.expected.npy`. Returns the command that
    /// shows the difference again.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, folder: &Path) -> Result<String, NpyError> {
        std::fs::create_dir_all(folder)?;
        let model = folder.join("model.onnx");
        write_whole(&model, &self.model.encode_to_vec())?;
        let mut command = format!("graphc validate {}", model.display());
        for (name, tensor) in &self.inputs {
            let path = folder.join(format!("{}.npy", npy::file_stem(name)));
            npy::write(&path, tensor)?;
            command += &format!(" --input '{name}={}'", path.display());
        }
        for (name, tensor) in &self.expected {
            npy::write(&folder.join(format!("{}.expected.npy", npy::file_stem(name))), tensor)?;
        }
        Ok(command)
    }
}
