//! A float network as the quantiser reads it: each node of the graph beside what the file says of it.

use std::collections::HashMap;

use crate::graph::{DType, Graph, Node, Op, Tensor, Value, ValueId};
use crate::onnx::Model;
use crate::onnx::proto::NodeProto;
use crate::quantize::{QuantizeError, fold};

/// A node, in both forms.
#[derive(Debug, Clone)]
pub(super) struct Site<'a> {
    /// As the graph has it.
    pub node: &'a Node,
    /// As the file has it, with all its inputs and attributes.
    pub proto: NodeProto,
}

/// A float network.
pub(super) struct Network<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// Its nodes, in an order in which they can run, without those that do nothing or became part of others.
    pub sites: Vec<Site<'a>>,
    /// Version of ONNX's own operators.
    pub opset: i64,
    ids: HashMap<&'a str, ValueId>,
    /// Constants that are not the graph's.
    folded: HashMap<String, Tensor>,
    n_readers: HashMap<String, usize>,
}

impl<'a> Network<'a> {
    /// The network of a model and the graph it was read to.
    pub fn new(model: &'a Model, graph: &'a Graph) -> Result<Self, QuantizeError> {
        let nodes = model.proto.graph.iter().flat_map(|graph| &graph.node);
        let mut by_output = HashMap::new();
        for proto in nodes {
            by_output.extend(proto.output.iter().filter(|name| !name.is_empty()).map(|name| (name.as_str(), proto)));
        }
        let mut sites = Vec::with_capacity(graph.nodes().len());
        let mut same = HashMap::new();
        for node in graph.nodes() {
            let proto = node.outputs.iter().find_map(|&id| by_output.get(graph.value(id).name.as_str()).copied());
            // A node none of whose outputs has a name computes nothing that is read.
            let Some(proto) = proto else { continue };
            if is_quantised(&node.origin.op_type) {
                return Err(QuantizeError::Quantised { node: node.name.clone(), op: node.origin.op_type.clone() });
            }
            let mut proto = proto.clone();
            for name in &mut proto.input {
                if let Some(source) = same.get(name) {
                    *name = String::clone(source);
                }
            }
            if does_nothing(graph, node) {
                same.insert(proto.output[0].clone(), proto.input[0].clone());
            } else {
                sites.push(Site { node, proto });
            }
        }
        let folded = fold::batch_norms(graph, &mut sites);
        let ids = graph.values().iter().enumerate().map(|(i, v)| (v.name.as_str(), ValueId(i as u32))).collect();
        let mut n_readers = HashMap::new();
        let read = sites.iter().flat_map(|site: &Site| &site.proto.input).filter(|name| !name.is_empty());
        for name in read.chain(graph.outputs().iter().map(|&id| &graph.value(id).name)) {
            *n_readers.entry(name.clone()).or_insert(0) += 1;
        }
        let opset = model.proto.opset_import.iter().find(|set| set.domain.is_empty() || set.domain == "ai.onnx");
        Ok(Network { graph, sites, folded, opset: opset.map_or(0, |set| set.version), ids, n_readers })
    }

    /// A value by its name.
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.ids.get(name).map(|&id| self.graph.value(id))
    }

    /// A constant by its name.
    pub fn constant(&self, name: &str) -> Option<&Tensor> {
        self.folded.get(name).or_else(|| self.value(name)?.constant.as_deref())
    }

    /// Whether a value is of float32.
    pub fn is_float(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value.ty.dtype == DType::F32)
    }

    /// Whether it is an output of the network.
    pub fn is_output(&self, name: &str) -> bool {
        self.graph.outputs().iter().any(|&id| self.graph.value(id).name == name)
    }

    /// Inputs that read a value, and 1 more for an output of the network.
    pub fn n_readers(&self, name: &str) -> usize {
        self.n_readers.get(name).copied().unwrap_or(0)
    }
}

/// Whether a node gives its input as it is, under a name that the network does not give out. Conversions between the floats of
/// files are among them: all are read as float32.
fn does_nothing(graph: &Graph, node: &Node) -> bool {
    let is_output = node.outputs.iter().any(|id| graph.outputs().contains(id));
    let dtype_of = |id: ValueId| graph.value(id).ty.dtype;
    let same = match node.op {
        Op::Identity => true,
        Op::Cast(dtype) => node.inputs.first().copied().flatten().is_some_and(|id| dtype_of(id) == dtype),
        _ => false,
    };
    same && !is_output && node.outputs.len() == 1
}

fn is_quantised(op: &str) -> bool {
    const OTHERS: [&str; 5] = ["QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QGemm", "ConvInteger"];
    op.starts_with("QLinear") || op == "MatMulInteger" || OTHERS.contains(&op)
}
