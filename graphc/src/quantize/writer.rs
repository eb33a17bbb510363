//! The network that is being written: its nodes, its constants, and which tensor of it stands for which of the float network.

use std::collections::{HashMap, HashSet};

use crate::graph::op::QParam;
use crate::graph::{DType, Tensor};
use crate::onnx::proto::{AttributeProto, GraphProto, NodeProto, attribute_kind, data_type};
use crate::onnx::tensor;
use crate::quantize::QuantizeError;
use crate::quantize::constants::{Weight, bias, least_weight_scale, numbers, weight};
use crate::quantize::network::{Network, Site};

/// What became of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It computes on 8-bit tensors.
    Quantised,
    /// It moves or chooses 8-bit elements.
    Moves,
    /// It is left out: the saturation of its input does what it did.
    Absorbed,
    /// It is in float.
    Float,
}

/// An 8-bit tensor of the result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stored {
    /// The float tensor that it stands for.
    pub float: String,
    /// Its name.
    pub name: String,
    /// Scale and zero point.
    pub q: QParam,
}

/// The network that was written.
pub(super) struct Written {
    /// The messages.
    pub graph: GraphProto,
    /// Its 8-bit activations.
    pub stored: Vec<Stored>,
    /// What became of each site.
    pub outcomes: Vec<Outcome>,
}

/// Names of a quantised constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    pub elements: String,
    pub scale: String,
    pub zero: String,
}

/// A network that is being written.
pub(super) struct Writer<'a> {
    network: &'a Network<'a>,
    nodes: Vec<NodeProto>,
    written: Written,
    constants: HashSet<String>,
    weights: HashMap<String, (Names, Weight)>,
    biases: HashMap<String, String>,
}

impl<'a> Writer<'a> {
    pub fn new(network: &'a Network<'a>) -> Self {
        let written = Written { graph: GraphProto::default(), stored: Vec::new(), outcomes: Vec::new() };
        Writer {
            network,
            nodes: Vec::new(),
            written,
            constants: HashSet::new(),
            weights: HashMap::new(),
            biases: HashMap::new(),
        }
    }

    pub fn outcome(&mut self, outcome: Outcome) {
        self.written.outcomes.push(outcome);
    }

    pub fn push(&mut self, node: NodeProto) {
        self.nodes.push(node);
    }

    /// Adds a constant, once.
    pub fn constant(&mut self, name: &str, value: &Tensor) {
        if self.constants.insert(name.to_owned()) {
            self.written.graph.initializer.push(tensor::proto(name, value));
        }
    }

    /// Adds a constant of the float network as it is, if the name is one.
    pub fn float_constant(&mut self, name: &str) {
        if let Some(value) = self.network.constant(name) {
            self.constant(name, value);
        }
    }

    /// Says that an 8-bit tensor stands for a float one, and returns the names of its scale and zero point.
    pub fn store(&mut self, float: &str, name: &str, q: QParam) -> (String, String) {
        self.written.stored.push(Stored { float: float.to_owned(), name: name.to_owned(), q });
        self.parameters(float, &[q.scale], &[q.zero], q.dtype)
    }

    /// Says that an 8-bit tensor stands for a float one, with the scale and zero point of another.
    pub fn store_alike(&mut self, float: &str, name: &str, q: QParam) {
        self.written.stored.push(Stored { float: float.to_owned(), name: name.to_owned(), q });
    }

    fn parameters(&mut self, name: &str, scales: &[f32], zeros: &[i32], dtype: DType) -> (String, String) {
        let (scale, zero) = (format!("{name}_scale"), format!("{name}_zero_point"));
        let zeros = match numbers(zeros) {
            Tensor::I32(zeros) if dtype == DType::I8 => zeros.mapv(|v| v as i8).into(),
            zeros => zeros,
        };
        self.constant(&scale, &numbers(scales));
        self.constant(&zero, &zeros);
        (scale, zero)
    }

    /// A constant in 8 bits, the first time with the scales that are asked for.
    pub fn weight(
        &mut self,
        name: &str,
        axis: Option<usize>,
        least: impl Fn(usize) -> f64,
    ) -> Result<(Names, Weight), QuantizeError> {
        if let Some(known) = self.weights.get(name) {
            return Ok(known.clone());
        }
        let no_constant = || QuantizeError::Constant { tensor: name.to_owned() };
        let quantised = weight(name, self.network.constant(name).ok_or_else(no_constant)?, axis, least)?;
        let zeros = vec![0; quantised.scales.len()];
        let (scale, zero) = self.parameters(name, &quantised.scales, &zeros, DType::I8);
        let mut elements = format!("{name}_quantized");
        if self.constants.contains(&elements) {
            elements = format!("{name}_8_quantized"); // it is the bias of a product too
        }
        self.constant(&elements, &quantised.elements);
        let known = (Names { elements, scale, zero }, quantised);
        self.weights.insert(name.to_owned(), known.clone());
        Ok(known)
    }

    /// The weight of a product whose bias is known, with scales with which the bias fits.
    pub fn weight_of(
        &mut self,
        site: &Site,
        axis: Option<usize>,
        x_scale: f32,
    ) -> Result<(Names, Weight), QuantizeError> {
        let bias = site.proto.input.get(2).and_then(|name| self.network.constant(name));
        let bias = bias.and_then(Tensor::to_vec::<f32>).unwrap_or_default();
        let largest = bias.iter().fold(0.0_f32, |a, v| a.max(v.abs()));
        let least = |i: usize| {
            let steps = if axis.is_some() { bias.get(i).copied().unwrap_or(0.0) } else { largest };
            least_weight_scale(steps, x_scale)
        };
        self.weight(&site.proto.input[1], axis, least)
    }

    /// A bias in 32 bits: names of elements, scales and zero points. One that two products share is written for each pair of
    /// scales.
    pub fn bias(&mut self, name: &str, factor: f32, x_scale: f32, weight: &Weight) -> Result<Names, QuantizeError> {
        let no_floats = || QuantizeError::Constant { tensor: name.to_owned() };
        let constant = self.network.constant(name).ok_or_else(no_floats)?;
        let (elements, scales) = bias(constant, factor, x_scale, &weight.scales).ok_or_else(no_floats)?;
        let key = format!("{name} {scales:?}");
        let n_known = self.biases.len();
        let stem = self.biases.entry(key).or_insert_with(|| {
            let plain = format!("{name}_quantized");
            if self.constants.contains(&plain) { format!("{name}_{n_known}_quantized") } else { plain }
        });
        let stem = stem.clone();
        self.constant(&stem, &elements);
        Ok(Names { scale: format!("{stem}_scale"), zero: format!("{stem}_zero_point"), elements: stem })
    }

    /// Scale and zero point of a bias, for a DequantizeLinear.
    pub fn bias_parameters(&mut self, names: &Names, x_scale: f32, weight: &Weight) {
        let scales: Vec<f32> = weight.scales.iter().map(|s| x_scale * s).collect();
        self.constant(&names.scale, &numbers(&scales));
        self.constant(&names.zero, &numbers(&vec![0_i32; scales.len()]));
    }

    /// The network, with the inputs and outputs of the float one.
    pub fn finish(mut self) -> Written {
        let graph = self.network.graph;
        let info = |id: &crate::graph::ValueId| tensor::value_info(&graph.value(*id).name, &graph.value(*id).ty);
        for &id in graph.outputs() {
            self.float_constant(&graph.value(id).name);
        }
        self.written.graph.name = graph.name().to_owned();
        self.written.graph.input = graph.inputs().iter().map(info).collect();
        self.written.graph.output = graph.outputs().iter().map(info).collect();
        self.written.graph.node = self.nodes;
        self.written
    }
}

/// A node.
pub(super) fn node(op: &str, domain: &str, name: String, input: Vec<String>, output: String) -> NodeProto {
    NodeProto {
        input,
        output: vec![output],
        name,
        op_type: op.to_owned(),
        attribute: Vec::new(),
        domain: domain.to_owned(),
    }
}

/// A node of the float network with its unique name. A conversion to a wider or narrower float is one to float32, as which all
/// are read.
pub(super) fn copied(site: &Site) -> NodeProto {
    let mut proto = NodeProto { name: site.node.name.clone(), ..site.proto.clone() };
    if proto.op_type == "Cast" {
        let is_float = |a: &&mut AttributeProto| {
            let floats = [data_type::FLOAT16, data_type::BFLOAT16, data_type::DOUBLE].map(i64::from);
            a.name == "to" && floats.contains(&a.i)
        };
        proto.attribute.iter_mut().filter(is_float).for_each(|a| a.i = i64::from(data_type::FLOAT));
    }
    proto
}

/// An integer attribute.
pub(super) fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), i, kind: attribute_kind::INT, ..Default::default() }
}

/// An integer attribute of a node.
pub(super) fn int_of(proto: &NodeProto, name: &str) -> Option<i64> {
    proto.attribute.iter().find(|a| a.name == name).map(|a| a.i)
}

/// A float attribute of a node.
pub(super) fn float_of(proto: &NodeProto, name: &str) -> Option<f32> {
    proto.attribute.iter().find(|a| a.name == name).map(|a| a.f)
}
