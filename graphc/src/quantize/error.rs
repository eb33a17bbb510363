//! What can go wrong with a quantisation.

use crate::golden::RunError;
use crate::import::ImportError;
use crate::quantize::samples::SampleError;

/// Why a network is not quantised.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// The float network is not accepted.
    #[error("the network is not accepted: {0}")]
    Import(#[source] ImportError),
    /// The network has quantised nodes.
    #[error("node `{node}` is {op}: the network is quantised already\n  help: give the float network it was made from")]
    Quantised {
        /// The node.
        node: String,
        /// Its operator.
        op: String,
    },
    /// There is nothing to calibrate with.
    #[error("there are no calibration inputs\n  help: give pictures or arrays, or draw some with `--synthetic N`")]
    NoSamples,
    /// A calibration input cannot be had.
    #[error("calibration input {label}: {source}")]
    Sample {
        /// Which.
        label: String,
        /// Why.
        source: SampleError,
    },
    /// The float network does not run on a calibration input.
    #[error("calibration input {label}: {source}")]
    Run {
        /// Which.
        label: String,
        /// Why.
        source: Box<RunError>,
    },
    /// An input has elements that no range holds.
    #[error(
        "calibration input {label}: `{tensor}` has elements that are infinite or no numbers\n  help: leave that input out"
    )]
    NotFinite {
        /// Which.
        label: String,
        /// The network's input.
        tensor: String,
    },
    /// A tensor has no range.
    #[error(
        "tensor `{tensor}` has no range: no number or infinite somewhere, or not among those given\n  help: exclude the nodes that give and read it, or calibrate on other inputs"
    )]
    NoRange {
        /// The tensor.
        tensor: String,
    },
    /// A constant has elements that no range holds.
    #[error("constant `{tensor}` has elements that are infinite or no numbers\n  help: export the network again")]
    Constant {
        /// The constant.
        tensor: String,
    },
    /// A weight with scales of channels is read by something else, which wants one scale.
    #[error(
        "weight `{tensor}` has a scale for each channel, and is read by a node that takes one for all\n  help: leave out `--per-channel`, or exclude that node"
    )]
    Shared {
        /// The weight.
        tensor: String,
    },
    /// An exclusion is neither an operator, nor a node, nor a pattern that matches one.
    #[error("exclusion `{pattern}` matches no operator type and no node{}", crate::names::suggest(.closest))]
    Exclusion {
        /// The exclusion.
        pattern: String,
        /// Names that are near.
        closest: Vec<String>,
    },
    /// An exclusion is no pattern.
    #[error("exclusion `{pattern}` is no pattern: {reason}")]
    Pattern {
        /// The exclusion.
        pattern: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// Nothing is left to quantise.
    #[error(
        "no node can be quantised: the network has {operators}\n  help: `graphc check` lists what is read; exclude less"
    )]
    Nothing {
        /// The operators it has.
        operators: String,
    },
    /// A percentile that means nothing.
    #[error("percentile {percent} is outside what makes a range, 50 to 100\n  help: 99.99 is a usual one")]
    Percentile {
        /// The percentile.
        percent: f64,
    },
    /// Scales of channels need an attribute that old opsets lack.
    #[error(
        "the network is written in opset {opset}, and QDQ with a scale for each channel needs 13\n  help: export in opset 13 or later, or use `--format qop`"
    )]
    Opset {
        /// The version.
        opset: i64,
    },
    /// The result is not accepted: names of the network clash with those of quantised tensors, or the fault is ours.
    #[error("the quantised network is not accepted: {0}")]
    Result(#[source] ImportError),
}
