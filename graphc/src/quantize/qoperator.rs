//! The QOperator form, laid out as ONNX Runtime's quantiser lays it out: a node whose operator has an 8-bit form gets it, a node
//! that moves elements moves 8-bit ones where it can, and between both and what stays in float stand QuantizeLinear and
//! DequantizeLinear, each tensor's once.

use std::collections::{HashMap, HashSet};

use crate::graph::DType;
use crate::graph::op::QParam;
use crate::onnx::proto::NodeProto;
use crate::operators::Domain;
use crate::quantize::network::{Network, Site};
use crate::quantize::operators::Role;
use crate::quantize::parameters::Parameters;
use crate::quantize::select::{Choice, Selection};
use crate::quantize::writer::{Outcome, Writer, Written, copied, float_of, int, int_of, node};
use crate::quantize::{Options, QuantizeError};

/// An 8-bit tensor: its name, and those of its scale and zero point.
#[derive(Debug, Clone, PartialEq)]
struct Quantised {
    name: String,
    scale: String,
    zero: String,
    q: QParam,
}

impl Quantised {
    fn operands(&self) -> [String; 3] {
        [self.name.clone(), self.scale.clone(), self.zero.clone()]
    }
}

/// Writes a network.
pub(super) fn write(
    network: &Network,
    selection: &Selection,
    parameters: &Parameters,
    options: &Options,
) -> Result<Written, QuantizeError> {
    let mut form = Form {
        network,
        parameters,
        options,
        writer: Writer::new(network),
        quantised: HashMap::new(),
        floats: network.graph.inputs().iter().map(|&id| network.graph.value(id).name.clone()).collect(),
        renamed: HashMap::new(),
    };
    for (site, choice) in selection.of(network) {
        let outcome = match choice {
            Choice::Quantise(role) => form.node(site, role)?,
            _ => form.float(site)?,
        };
        form.writer.outcome(outcome);
    }
    for &id in network.graph.outputs() {
        form.output(&network.graph.value(id).name)?;
    }
    Ok(form.writer.finish())
}

struct Form<'a> {
    network: &'a Network<'a>,
    parameters: &'a Parameters,
    options: &'a Options,
    writer: Writer<'a>,
    /// Tensors of the float network that are there in 8 bits.
    quantised: HashMap<String, Quantised>,
    /// Those that are there in float.
    floats: HashSet<String>,
    /// Names under which float tensors at the ends of the network stand, where they are to be of 8 bits.
    renamed: HashMap<String, String>,
}

impl Form<'_> {
    fn node(&mut self, site: &Site, role: Role) -> Result<Outcome, QuantizeError> {
        match role {
            Role::Conv => self.conv(site),
            Role::MatMul => self.matmul(site),
            Role::Gemm => self.gemm(site),
            Role::Binary => self.binary(site),
            Role::Concat => self.concat(site),
            Role::Unary => self.unary(site, None, Vec::new()),
            Role::Softmax => {
                let q = QParam { scale: 1.0 / 256.0, zero: -128, dtype: DType::I8 };
                self.unary(site, Some(q), vec![int("opset", self.network.opset)])
            }
            Role::GlobalAveragePool if self.reaches_quantised(site)? => {
                self.unary(site, None, vec![int("channels_last", 0)])
            }
            Role::Clamp if self.is_quantised(site) => self.clamp(site),
            Role::Moves if has_8_bit_form(site, self.network.opset) && self.reaches_quantised(site)? => {
                Ok(self.moves(site))
            }
            Role::Index if self.reaches_quantised(site)? => Ok(self.index(site)),
            _ => self.float(site),
        }
    }

    fn is_quantised(&self, site: &Site) -> bool {
        self.quantised.contains_key(&site.proto.input[0])
    }

    /// Whether the input of a node that moves elements is of 8 bits, or is brought to them.
    fn reaches_quantised(&mut self, site: &Site) -> Result<bool, QuantizeError> {
        let x = &site.proto.input[0];
        if self.options.compilable && self.network.constant(x).is_none() {
            self.as_quantised(x)?;
        }
        Ok(self.is_quantised(site))
    }

    fn conv(&mut self, site: &Site) -> Result<Outcome, QuantizeError> {
        let is_constant = self.network.constant(&site.proto.input[1]).is_some();
        let x = self.as_quantised(&site.proto.input[0])?;
        let (w, weight) = if is_constant {
            let axis = self.options.per_channel.then_some(0);
            let (names, weight) = self.writer.weight_of(site, axis, x.q.scale)?;
            ([names.elements, names.scale, names.zero], Some(weight))
        } else {
            (self.as_quantised(&site.proto.input[1])?.operands(), None)
        };
        let mut inputs = [x.operands(), w].concat();
        let bias = site.proto.input.get(2).filter(|name| !name.is_empty());
        let bias = match (bias, &weight) {
            (Some(name), Some(weight)) => Some(self.writer.bias(name, 1.0, x.q.scale, weight)?),
            // A bias beside weights that are computed has no scale beforehand.
            (Some(_), None) => return self.float(site),
            (None, _) => None,
        };
        inputs.extend(self.result(site, None)?);
        inputs.extend(bias.map(|names| names.elements));
        self.quantised_node(site, "QLinearConv", Domain::Onnx, inputs, site.proto.attribute.clone());
        Ok(Outcome::Quantised)
    }

    fn matmul(&mut self, site: &Site) -> Result<Outcome, QuantizeError> {
        let mut inputs = self.as_quantised(&site.proto.input[0])?.operands().to_vec();
        let b = &site.proto.input[1];
        let per_column = self.options.per_channel && self.network.constant(b).is_some_and(|b| b.shape().len() == 2);
        if per_column {
            let (names, _) = self.writer.weight(b, Some(1), |_| 0.0)?;
            inputs.extend([names.elements, names.scale, names.zero]);
        } else {
            inputs.extend(self.as_quantised(b)?.operands());
        }
        inputs.extend(self.result(site, None)?);
        self.quantised_node(site, "QLinearMatMul", Domain::Onnx, inputs, Vec::new());
        Ok(Outcome::Quantised)
    }

    fn gemm(&mut self, site: &Site) -> Result<Outcome, QuantizeError> {
        if self.network.constant(&site.proto.input[1]).is_none() {
            return self.float(site);
        }
        let x = self.as_quantised(&site.proto.input[0])?;
        let by_row = int_of(&site.proto, "transB").unwrap_or(0) != 0;
        let axis = self.options.per_channel.then_some(usize::from(!by_row));
        let alpha = float_of(&site.proto, "alpha").unwrap_or(1.0);
        let (w, weight) = self.writer.weight_of(site, axis, alpha * x.q.scale)?;
        let mut inputs = [x.operands(), [w.elements, w.scale, w.zero]].concat();
        let bias = match site.proto.input.get(2).filter(|name| !name.is_empty()) {
            Some(name) => {
                let beta = float_of(&site.proto, "beta").unwrap_or(1.0);
                self.writer.bias(name, beta, alpha * x.q.scale, &weight)?.elements
            }
            None => String::new(),
        };
        inputs.push(bias);
        inputs.extend(self.result(site, None)?);
        let attributes = site.proto.attribute.iter().filter(|a| a.name != "beta").cloned().collect();
        self.quantised_node(site, "QGemm", Domain::Microsoft, inputs, attributes);
        Ok(Outcome::Quantised)
    }

    fn binary(&mut self, site: &Site) -> Result<Outcome, QuantizeError> {
        let mut inputs = self.as_quantised(&site.proto.input[0])?.operands().to_vec();
        inputs.extend(self.as_quantised(&site.proto.input[1])?.operands());
        inputs.extend(self.result(site, None)?);
        self.quantised_node(site, &qlinear(site), Domain::Microsoft, inputs, site.proto.attribute.clone());
        Ok(Outcome::Quantised)
    }

    fn concat(&mut self, site: &Site) -> Result<Outcome, QuantizeError> {
        let mut parts = Vec::new();
        for name in &site.proto.input {
            parts.extend(self.as_quantised(name)?.operands());
        }
        let inputs = [self.result(site, None)?.to_vec(), parts].concat();
        self.quantised_node(site, &qlinear(site), Domain::Microsoft, inputs, site.proto.attribute.clone());
        Ok(Outcome::Quantised)
    }

    /// An operator with one input; `q` where its results have a range of their own.
    fn unary(
        &mut self,
        site: &Site,
        q: Option<QParam>,
        more: Vec<crate::onnx::proto::AttributeProto>,
    ) -> Result<Outcome, QuantizeError> {
        let mut inputs = self.as_quantised(&site.proto.input[0])?.operands().to_vec();
        inputs.extend(self.result(site, q)?);
        let attributes = [site.proto.attribute.clone(), more].concat();
        self.quantised_node(site, &qlinear(site), Domain::Microsoft, inputs, attributes);
        Ok(Outcome::Quantised)
    }

    /// Relu and Clip: the saturation of their input, or float.
    fn clamp(&mut self, site: &Site) -> Result<Outcome, QuantizeError> {
        let (input, output) = (&site.proto.input[0], &site.proto.output[0]);
        if !self.parameters.saturates(self.network, input) {
            return self.float(site);
        }
        self.quantised.insert(output.clone(), self.quantised[input].clone());
        Ok(Outcome::Absorbed)
    }

    /// A node that moves elements, on 8-bit ones.
    fn moves(&mut self, site: &Site) -> Outcome {
        let x = self.quantised[&site.proto.input[0]].clone();
        let mut proto = copied(site);
        proto.input[0] = x.name.clone();
        for name in &site.proto.input[1..] {
            self.writer.float_constant(name);
            self.as_float(name);
        }
        if proto.op_type == "Pad" {
            pad_with_zero_point(&mut proto, &x.zero);
        }
        for output in proto.output.iter_mut().filter(|name| !name.is_empty()) {
            let name = format!("{output}_quantized");
            self.writer.store_alike(output, &name, x.q);
            self.quantised.insert(output.clone(), Quantised { name: name.clone(), ..x.clone() });
            *output = name;
        }
        self.writer.push(proto);
        Outcome::Moves
    }

    /// A node that gives indices, of 8-bit elements.
    fn index(&mut self, site: &Site) -> Outcome {
        let mut proto = copied(site);
        proto.input[0] = self.quantised[&site.proto.input[0]].name.clone();
        self.floats.extend(site.proto.output.iter().cloned());
        self.writer.push(proto);
        Outcome::Moves
    }

    /// A node as it is.
    fn float(&mut self, site: &Site) -> Result<Outcome, QuantizeError> {
        let mut proto = copied(site);
        for name in &mut proto.input {
            self.as_float(name);
            if self.options.compilable && self.is_float_input(name) {
                self.dequantised_input(name)?;
            }
            *name = self.renamed.get(name).unwrap_or(name).clone();
        }
        for name in &mut proto.output {
            self.floats.insert(name.clone());
            if self.options.compilable && self.network.is_output(name) && self.network.is_float(name) {
                let renamed = format!("{name}_QuantizeLinear_Input");
                self.renamed.insert(name.clone(), renamed.clone());
                *name = renamed;
            }
        }
        self.writer.push(proto);
        Ok(Outcome::Float)
    }

    fn is_float_input(&self, name: &str) -> bool {
        let is_input = || self.network.value(name).is_some_and(|v| v.producer.is_none() && v.constant.is_none());
        self.network.is_float(name) && is_input()
    }

    /// Brings an input of the network to 8 bits and back, once.
    fn dequantised_input(&mut self, name: &str) -> Result<(), QuantizeError> {
        if !self.renamed.contains_key(name) {
            let operands = self.as_quantised(name)?.operands().to_vec();
            let (op, renamed) = ("DequantizeLinear", format!("{name}_DequantizeLinear_Output"));
            self.writer.push(node(op, "", format!("{name}_{op}"), operands, renamed.clone()));
            self.renamed.insert(name.to_owned(), renamed);
        }
        Ok(())
    }

    /// Brings an output of the network to float, through 8 bits where it is to be of them.
    fn output(&mut self, name: &str) -> Result<(), QuantizeError> {
        if self.renamed.contains_key(name) && !self.is_float_input(name) {
            let operands = self.as_quantised(name)?.operands().to_vec();
            let op = "DequantizeLinear";
            self.writer.push(node(op, "", format!("{name}_{op}"), operands, name.to_owned()));
        }
        self.as_float(name);
        Ok(())
    }

    /// Brings a tensor to float, if it is not.
    fn as_float(&mut self, name: &str) {
        if name.is_empty() || self.floats.contains(name) {
            return;
        }
        self.floats.insert(name.to_owned());
        if self.network.constant(name).is_some() {
            self.writer.float_constant(name);
        } else if let Some(x) = self.quantised.get(name) {
            let inputs = x.operands().to_vec();
            let op = "DequantizeLinear";
            self.writer.push(node(op, "", format!("{name}_{op}"), inputs, name.to_owned()));
        }
    }

    /// Brings a tensor to 8 bits, if it is not.
    fn as_quantised(&mut self, name: &str) -> Result<Quantised, QuantizeError> {
        if let Some(known) = self.quantised.get(name) {
            return Ok(known.clone());
        }
        let quantised = if self.network.constant(name).is_some() {
            let (names, weight) = self.writer.weight(name, None, |_| 0.0)?;
            let q = QParam { scale: weight.scales[0], zero: 0, dtype: DType::I8 };
            // A weight with a scale for each channel serves its product alone.
            if weight.axis.is_some() {
                return Err(QuantizeError::Shared { tensor: name.to_owned() });
            }
            Quantised { name: names.elements, scale: names.scale, zero: names.zero, q }
        } else {
            let q = self.parameters.of(name)?;
            let stored = format!("{name}_quantized");
            let (scale, zero) = self.writer.store(name, &stored, q);
            // An input goes to 8 bits from its own name, an output of float nodes from the one that it has there.
            let from = self.renamed.get(name).filter(|_| !self.is_float_input(name)).map_or(name, String::as_str);
            let inputs = vec![from.to_owned(), scale.clone(), zero.clone()];
            let op = "QuantizeLinear";
            self.writer.push(node(op, "", format!("{name}_{op}"), inputs, stored.clone()));
            Quantised { name: stored, scale, zero, q }
        };
        self.quantised.insert(name.to_owned(), quantised.clone());
        Ok(quantised)
    }

    /// Says that the result of a node is of 8 bits, and returns its scale and zero point as inputs.
    fn result(&mut self, site: &Site, q: Option<QParam>) -> Result<[String; 2], QuantizeError> {
        let output = &site.proto.output[0];
        let q = q.map_or_else(|| self.parameters.of(output), Ok)?;
        let name = format!("{output}_quantized");
        let (scale, zero) = self.writer.store(output, &name, q);
        let operands = [scale.clone(), zero.clone()];
        self.quantised.insert(output.clone(), Quantised { name, scale, zero, q });
        Ok(operands)
    }

    fn quantised_node(
        &mut self,
        site: &Site,
        op: &str,
        domain: Domain,
        inputs: Vec<String>,
        attribute: Vec<crate::onnx::proto::AttributeProto>,
    ) {
        let output = format!("{}_quantized", site.proto.output[0]);
        let name = format!("{}_quant", site.node.name);
        self.writer.push(NodeProto { attribute, ..node(op, domain.name(), name, inputs, output) });
    }
}

fn qlinear(site: &Site) -> String {
    format!("QLinear{}", site.proto.op_type)
}

/// Whether an operator that moves elements takes 8-bit ones in this opset.
fn has_8_bit_form(site: &Site, opset: i64) -> bool {
    let constant_pad = || site.proto.input.get(2).is_none_or(String::is_empty);
    match site.proto.op_type.as_str() {
        "MaxPool" => opset >= 12 && site.proto.output.len() == 1,
        "Pad" => constant_pad(),
        _ => true,
    }
}

/// Pads with what stands for 0.
fn pad_with_zero_point(proto: &mut NodeProto, zero: &str) {
    let is_constant = proto.attribute.iter().find(|a| a.name == "mode").is_none_or(|a| &a.s[..] == b"constant");
    if is_constant {
        proto.input.resize(proto.input.len().max(3), String::new());
        proto.input[2] = zero.to_owned();
    }
}
