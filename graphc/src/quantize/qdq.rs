//! The QDQ form, laid out as ONNX Runtime's quantiser lays it out: the float operators stay, and behind each tensor that is to be
//! of 8 bits stands a pair of QuantizeLinear and DequantizeLinear; constants are stored in 8 bits behind a DequantizeLinear.

use std::collections::{HashMap, HashSet};

use crate::graph::op::QParam;
use crate::onnx::proto::NodeProto;
use crate::quantize::constants::Weight;
use crate::quantize::network::{Network, Site};
use crate::quantize::operators::Role;
use crate::quantize::parameters::Parameters;
use crate::quantize::select::{Choice, Selection};
use crate::quantize::writer::{Names, Outcome, Writer, Written, copied, int, int_of, node};
use crate::quantize::{Options, QuantizeError};

/// Writes a network.
pub(super) fn write(
    network: &Network,
    selection: &Selection,
    parameters: &Parameters,
    options: &Options,
) -> Result<Written, QuantizeError> {
    let per_axis_from = 13;
    if options.per_channel && network.opset < per_axis_from {
        return Err(QuantizeError::Opset { opset: network.opset });
    }
    let mut form = Form {
        network,
        parameters,
        options,
        writer: Writer::new(network),
        pairs: HashMap::new(),
        constants: HashMap::new(),
        decided: HashSet::new(),
    };
    for (site, choice) in selection.of(network) {
        let outcome = match choice {
            Choice::Quantise(role) => form.mark(site, role)?,
            _ => Outcome::Float,
        };
        form.writer.outcome(outcome);
    }
    form.write_all();
    Ok(form.writer.finish())
}

/// Scale and zero point of a pair: its tensor's own, or another's that its elements come from.
#[derive(Debug, Clone)]
struct Pair {
    q: QParam,
    of: String,
}

struct Form<'a> {
    network: &'a Network<'a>,
    parameters: &'a Parameters,
    options: &'a Options,
    writer: Writer<'a>,
    /// Tensors with a pair behind them.
    pairs: HashMap<String, Pair>,
    /// Constants in 8 or 32 bits, by place of the node and name, or for all nodes.
    constants: HashMap<(Option<String>, String), Dequantised>,
    decided: HashSet<String>,
}

/// A constant behind a DequantizeLinear.
#[derive(Debug, Clone)]
struct Dequantised {
    names: Names,
    axis: Option<usize>,
    output: String,
}

impl Form<'_> {
    /// Marks the tensors of a node that are to be of 8 bits.
    fn mark(&mut self, site: &Site, role: Role) -> Result<Outcome, QuantizeError> {
        let input = &site.proto.input;
        match role {
            Role::Conv | Role::Between if site.proto.op_type != "LayerNormalization" => {
                let axis = if site.proto.op_type == "Conv" { 0 } else { 1 };
                self.product(site, axis)?;
            }
            Role::Gemm => {
                let by_row = int_of(&site.proto, "transB").unwrap_or(0) != 0;
                self.product(site, usize::from(!by_row))?;
            }
            Role::MatMul => {
                for name in input {
                    let is_matrix = self.network.constant(name).is_some_and(|w| w.shape().len() == 2);
                    self.operand(name, (self.options.per_channel && is_matrix).then_some(1))?;
                }
            }
            // Scale and offset of a norm stay in float: few elements, and each of them counts for a whole column.
            Role::Between => self.activation(&input[0])?,
            Role::Moves => return Ok(self.moves(site)),
            Role::Clamp | Role::GlobalAveragePool if !self.pairs.contains_key(&input[0]) => return Ok(Outcome::Float),
            Role::Clamp => {} // its limits are no tensors
            Role::Index => {
                let quantised = self.pairs.contains_key(&input[0]);
                return Ok(if quantised { Outcome::Moves } else { Outcome::Float });
            }
            _ => {
                for name in input.iter().filter(|name| self.network.is_float(name)) {
                    self.operand(name, None)?;
                }
            }
        }
        self.activation(&site.proto.output[0])?;
        Ok(Outcome::Quantised)
    }

    /// x, w and bias of a product.
    fn product(&mut self, site: &Site, axis: usize) -> Result<(), QuantizeError> {
        let input = &site.proto.input;
        self.activation(&input[0])?;
        if self.network.constant(&input[1]).is_none() {
            return self.activation(&input[1]);
        }
        // Without a pair x is a constant, and stays in float.
        let x_scale = self.pairs.get(&input[0]).map_or(1.0, |pair| pair.q.scale);
        let axis = self.options.per_channel.then_some(axis);
        let (names, weight) = self.writer.weight_of(site, axis, x_scale)?;
        self.weight(&input[1], names, &weight);
        let bias = input.get(2).filter(|name| self.network.constant(name).is_some());
        if let Some(name) = bias.filter(|_| axis != Some(1) || site.proto.op_type != "ConvTranspose") {
            let names = self.writer.bias(name, 1.0, x_scale, &weight)?;
            self.writer.bias_parameters(&names, x_scale, &weight);
            let axis = weight.axis.map(|_| 0);
            let output = format!("{}_DequantizeLinear_Output", names.elements.trim_end_matches("_quantized"));
            self.constants.insert((Some(site.node.name.clone()), name.clone()), Dequantised { names, axis, output });
        }
        Ok(())
    }

    fn operand(&mut self, name: &str, axis: Option<usize>) -> Result<(), QuantizeError> {
        if self.network.constant(name).is_some() {
            let (names, weight) = self.writer.weight(name, axis, |_| 0.0)?;
            self.weight(name, names, &weight);
            Ok(())
        } else {
            self.activation(name)
        }
    }

    fn weight(&mut self, name: &str, names: Names, weight: &Weight) {
        let output = format!("{name}_DequantizeLinear_Output");
        let dequantised = Dequantised { names, axis: weight.axis, output };
        self.constants.entry((None, name.to_owned())).or_insert(dequantised);
    }

    fn activation(&mut self, name: &str) -> Result<(), QuantizeError> {
        if self.network.constant(name).is_none() && !self.pairs.contains_key(name) {
            let pair = Pair { q: self.parameters.of(name)?, of: name.to_owned() };
            self.pairs.insert(name.to_owned(), pair);
        }
        Ok(())
    }

    /// The results of moving 8-bit elements have their scale.
    fn moves(&mut self, site: &Site) -> Outcome {
        let Some(pair) = self.pairs.get(&site.proto.input[0]).cloned() else { return Outcome::Float };
        if site.proto.op_type == "Pad" && site.proto.input.get(2).is_some_and(|name| !name.is_empty()) {
            return Outcome::Float;
        }
        for name in site.proto.output.iter().filter(|name| !name.is_empty()) {
            self.pairs.entry(name.clone()).or_insert_with(|| pair.clone());
        }
        Outcome::Moves
    }

    /// Writes the nodes, and the pairs behind what they give.
    fn write_all(&mut self) {
        for &id in self.network.graph.inputs() {
            let name = self.network.graph.value(id).name.clone();
            self.pair(&name);
        }
        for site in &self.network.sites {
            let mut proto = copied(site);
            for name in &mut proto.input {
                *name = self.source(&site.node.name, name);
            }
            for name in &mut proto.output {
                if self.pairs.contains_key(name) && self.network.is_output(name) {
                    *name = format!("{name}_QuantizeLinear_Input");
                }
            }
            self.writer.push(proto);
            for name in &site.proto.output {
                self.pair(name);
            }
        }
    }

    /// What a node reads in the place of a tensor of the float network.
    fn source(&mut self, reader: &str, name: &str) -> String {
        if self.pairs.contains_key(name) {
            let is_output = self.network.is_output(name);
            return if is_output { name.to_owned() } else { format!("{name}_DequantizeLinear_Output") };
        }
        let own = self.constants.get(&(Some(reader.to_owned()), name.to_owned()));
        let Some(constant) = own.or_else(|| self.constants.get(&(None, name.to_owned()))).cloned() else {
            self.writer.float_constant(name);
            return name.to_owned();
        };
        if self.decided.insert(constant.output.clone()) {
            let Names { elements, scale, zero } = constant.names;
            let op = "DequantizeLinear";
            let node_name = constant.output.trim_end_matches("_Output").to_owned();
            let attribute = constant.axis.map(|axis| int("axis", axis as i64)).into_iter().collect();
            let dequantise = node(op, "", node_name, vec![elements, scale, zero], constant.output.clone());
            self.writer.push(NodeProto { attribute, ..dequantise });
        }
        constant.output
    }

    /// The pair behind a tensor, if there is one.
    fn pair(&mut self, name: &str) {
        let Some(Pair { q, of }) = self.pairs.get(name).cloned() else { return };
        let is_output = self.network.is_output(name);
        let stored = format!("{name}_QuantizeLinear_Output");
        let (scale, zero) = if of == name {
            self.writer.store(name, &stored, q)
        } else {
            self.writer.store_alike(name, &stored, q);
            (format!("{of}_scale"), format!("{of}_zero_point"))
        };
        let (float, output) = if is_output {
            (format!("{name}_QuantizeLinear_Input"), name.to_owned())
        } else {
            (name.to_owned(), format!("{name}_DequantizeLinear_Output"))
        };
        for (op, from, to) in [("QuantizeLinear", float, stored.clone()), ("DequantizeLinear", stored, output)] {
            let inputs = vec![from, scale.clone(), zero.clone()];
            self.writer.push(node(op, "", format!("{name}_{op}"), inputs, to));
        }
    }
}
