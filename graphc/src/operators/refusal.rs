//! Why a node is not accepted.

use crate::graph::DType;
use crate::infer::InferError;
use crate::onnx::tensor::TensorError;

/// What is wrong with a node, for the operator or the form it is written in.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The table does not have the operator.
    #[error("operator `{name}` is not known{}", if .domain.is_empty() { String::new() } else { format!(" in domain `{}`", .domain) })]
    Unknown {
        /// Its name.
        name: String,
        /// Its domain.
        domain: String,
    },
    /// The table has the operator, to say that it is not accepted.
    #[error("operator `{name}` is not accepted")]
    Operator {
        /// Its name.
        name: &'static str,
    },
    /// The operator set of the file does not have the operator.
    #[error("operator `{name}` exists from opset {since} on, and the file says {found}")]
    Opset {
        /// The operator.
        name: &'static str,
        /// First version that has it.
        since: i64,
        /// The file's version.
        found: i64,
    },
    /// An attribute is not of the kind that it should be.
    #[error("attribute `{name}` is not {expected}")]
    AttributeKind {
        /// The attribute.
        name: String,
        /// What it should be.
        expected: &'static str,
    },
    /// An attribute is missing.
    #[error("attribute `{name}` is missing")]
    AttributeMissing {
        /// The attribute.
        name: &'static str,
    },
    /// The operator has no such attribute.
    #[error("attribute `{name}` is not known")]
    AttributeUnknown {
        /// The attribute.
        name: String,
    },
    /// The value of an attribute, or of a constant input, is not accepted.
    #[error("`{name}` = {value} is not {legal}")]
    Value {
        /// The attribute or input.
        name: &'static str,
        /// Its value, as text.
        value: String,
        /// What is accepted.
        legal: String,
    },
    /// An input is missing.
    #[error("input `{name}` is missing")]
    Missing {
        /// The input, as ONNX names it.
        name: &'static str,
    },
    /// An input must be known when the network is compiled, and is not.
    #[error("input `{name}` is computed from the network's inputs, it must be a constant")]
    NotConstant {
        /// The input.
        name: &'static str,
    },
    /// A constant has other elements than it should.
    #[error("input `{name}` has elements of {found}, accepted are {accepted}")]
    DType {
        /// The input.
        name: &'static str,
        /// Its element type.
        found: DType,
        /// What is accepted.
        accepted: &'static str,
    },
    /// An output that is not computed is asked for.
    #[error("output {place} is asked for, only the first {given} can be given")]
    Output {
        /// Its place.
        place: usize,
        /// How many can be given.
        given: usize,
    },
    /// An axis is outside the tensor.
    #[error("`{name}` = {axis} is outside -{rank}..{rank}")]
    Axis {
        /// The attribute or input.
        name: &'static str,
        /// The axis.
        axis: i64,
        /// The rank.
        rank: usize,
    },
    /// A tensor in an attribute cannot be read.
    #[error("attribute `{name}`: {source}")]
    Tensor {
        /// The attribute.
        name: &'static str,
        /// What is wrong.
        source: TensorError,
    },
    /// The inputs do not suit the operator.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// The operator has no value for its constant inputs.
    #[error("its inputs are constants, and {0}")]
    Evaluate(ccl_golden::GoldenError),
}

impl From<ccl_golden::GoldenError> for Refusal {
    fn from(error: ccl_golden::GoldenError) -> Self {
        Refusal::Infer(InferError::Golden(error))
    }
}

impl Refusal {
    /// A value that is not accepted.
    pub(crate) fn value(name: &'static str, value: impl ToString, legal: impl Into<String>) -> Self {
        Refusal::Value { name, value: value.to_string(), legal: legal.into() }
    }
}
