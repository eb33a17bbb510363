//! The quantiser: a float network to 8 bits, in the QOperator or the QDQ form of ONNX Runtime's own quantiser, from ranges that
//! the golden executor observes on calibration inputs.
//!
//! ```text
//! network ── select ── calibrate ── ranges ── parameters ── qoperator, qdq ── summary
//!                      samples,                constants
//!                      histogram
//! ```
//!
//! Names, layout and arithmetic of the result are those of ONNX Runtime's quantiser, so that results can be compared. Absent on
//! purpose: ONNX Runtime itself, and anything that changes the network beyond its quantisation.

mod calibrate;
mod constants;
mod error;
mod fold;
mod histogram;
mod network;
mod operators;
mod parameters;
mod qdq;
mod qoperator;
mod quality;
pub mod ranges;
pub mod samples;
mod select;
mod summary;
mod writer;

use std::collections::BTreeMap;

use prost::Message;

use crate::graph::Graph;
use crate::import::{self, annotate, import};
use crate::onnx::Model;
use crate::onnx::proto::{ModelProto, OperatorSetIdProto};
use crate::operators::Domain;

pub use error::QuantizeError;
pub use parameters::Scheme;
pub use ranges::Ranges;
pub use samples::{Inputs, Samples, Synthetic};
pub use select::DEFAULT_EXCLUSIONS;
pub use summary::{OperatorCount, Scales, Summary, TensorQuality};

use network::Network;
use parameters::Parameters;
use select::Selection;
use writer::Written;

/// How a quantised network is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Operators on 8-bit tensors: QLinearConv, QLinearMatMul, `com.microsoft` QLinearAdd and others.
    #[default]
    QOperator,
    /// Float operators between QuantizeLinear and DequantizeLinear.
    Qdq,
}

/// What of the observed values a range covers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Method {
    /// All of them.
    #[default]
    MinMax,
    /// This percentage of them, from a histogram of 2048 bins.
    Percentile(f64),
    /// As many as lose least information (Kullback-Leibler divergence) when 2048 bins of magnitudes become 128.
    Entropy,
}

/// What the user decides about a quantisation.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The form of the result.
    pub format: Format,
    /// How ranges follow from calibration.
    pub method: Method,
    /// Whether activations have zero points. Weights never have.
    pub activations: Scheme,
    /// Whether weights of products have a scale for each output.
    pub per_channel: bool,
    /// Nodes that stay in float: operator types, names of nodes, or patterns of names with `*` and `?`.
    pub exclude: Vec<String>,
    /// Whether more is brought to 8 bits than need be, as the compiler wants it: inputs and outputs of the network even where only
    /// float nodes touch them, and what nodes move or choose from. The QDQ form does not know this.
    pub compilable: bool,
    /// Extents of dynamic dimensions, by name.
    pub dims: BTreeMap<String, usize>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            format: Format::QOperator,
            method: Method::MinMax,
            activations: Scheme::Symmetric,
            per_channel: false,
            exclude: DEFAULT_EXCLUSIONS.map(str::to_owned).to_vec(),
            compilable: false,
            dims: BTreeMap::new(),
        }
    }
}

/// A quantised network.
#[derive(Debug, Clone)]
pub struct Quantised {
    /// The network, with all its constants inside.
    pub model: Model,
    /// Range of every float tensor of the float network, constants included.
    pub ranges: Ranges,
    /// What became of it.
    pub summary: Summary,
}

/// What a quantisation is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many of so many runs of the float network are done.
    Calibrating {
        /// Done.
        done: usize,
        /// Of.
        total: usize,
    },
    /// The result is being written.
    Writing,
    /// Both networks run once to be compared.
    Comparing,
}

/// Quantises a float network.
///
/// # Errors
/// [`QuantizeError`] if the model is not accepted or quantised already, if there are no inputs or unsuitable ones, if a pattern
/// matches nothing, or if nothing is left to quantise.
pub fn quantize(model: &Model, inputs: &dyn Samples, options: &Options) -> Result<Quantised, QuantizeError> {
    quantize_observed(model, inputs, options, &|_| {})
}

/// Quantises as [`quantize`] does, and says how far it is, from several threads.
///
/// # Errors
/// As [`quantize`].
pub fn quantize_observed(
    model: &Model,
    inputs: &dyn Samples,
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Quantised, QuantizeError> {
    check_options(options)?;
    let graph = import_float(model, options)?;
    let network = Network::new(model, &graph)?;
    let selection = Selection::new(&network, options)?;
    let ranges = calibrate::calibrate(&graph, inputs, options, progress)?;
    progress(Progress::Writing);
    let result = write(model, &network, &selection, &ranges, options)?;
    progress(Progress::Comparing);
    let quality = quality::compare(&graph, &result.graph, &result.written, inputs)?;
    Ok(finish(model, &network, &selection, ranges, result, (quality, inputs.count())))
}

/// Quantises a float network with ranges that are known, such as those of an earlier calibration. The summary has no figures of
/// quality, since nothing is run.
///
/// # Errors
/// [`QuantizeError::NoRange`] for a tensor that needs one, and as [`quantize`].
pub fn quantize_from_ranges(model: &Model, ranges: Ranges, options: &Options) -> Result<Quantised, QuantizeError> {
    let graph = import_float(model, options)?;
    let network = Network::new(model, &graph)?;
    let selection = Selection::new(&network, options)?;
    let result = write(model, &network, &selection, &ranges, options)?;
    Ok(finish(model, &network, &selection, ranges, result, (Vec::new(), 0)))
}

fn import_float(model: &Model, options: &Options) -> Result<Graph, QuantizeError> {
    let options = import::Options { dims: options.dims.clone() };
    import(model, &options).into_graph().map_err(QuantizeError::Import)
}

fn check_options(options: &Options) -> Result<(), QuantizeError> {
    match options.method {
        Method::Percentile(percent) if !(percent > 50.0 && percent <= 100.0) => {
            Err(QuantizeError::Percentile { percent })
        }
        _ => Ok(()),
    }
}

/// A network as it was written, and as it is read again.
struct Draft {
    model: Model,
    graph: Graph,
    written: Written,
}

fn write(
    model: &Model,
    network: &Network,
    selection: &Selection,
    ranges: &Ranges,
    options: &Options,
) -> Result<Draft, QuantizeError> {
    let parameters = Parameters::new(network, selection, ranges, options);
    let written = match options.format {
        Format::QOperator => qoperator::write(network, selection, &parameters, options)?,
        Format::Qdq => qdq::write(network, selection, &parameters, options)?,
    };
    let mut opset_import = model.proto.opset_import.clone();
    let contributed = Domain::Microsoft.name();
    let uses = written.graph.node.iter().any(|node| node.domain == contributed);
    if uses && !opset_import.iter().any(|set| set.domain == contributed) {
        opset_import.push(OperatorSetIdProto { domain: contributed.to_owned(), version: 1 });
    }
    let result = Model::from(ModelProto {
        ir_version: model.proto.ir_version.max(MIN_IR_VERSION),
        producer_name: "graphc".to_owned(),
        graph: Some(written.graph.clone()),
        opset_import,
        functions: Vec::new(),
    });
    let graph = import(&result, &import::Options::default()).into_graph().map_err(QuantizeError::Result)?;
    Ok(Draft { model: annotate(result, &graph), graph, written })
}

fn finish(
    model: &Model,
    network: &Network,
    selection: &Selection,
    ranges: Ranges,
    result: Draft,
    (quality, n_inputs): (Vec<quality::Quality>, usize),
) -> Quantised {
    let Draft { model: quantised, written, .. } = result;
    let bytes = (model.proto.encoded_len(), quantised.proto.encoded_len());
    let summary = Summary::new(network, selection, &written, quality, bytes, n_inputs);
    Quantised { model: quantised, ranges, summary }
}

/// The version from which on initialisers need not be listed as inputs.
const MIN_IR_VERSION: i64 = 4;
