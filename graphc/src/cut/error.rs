//! Why there is no such part.

use crate::import::ImportError;
use crate::names::suggest;
use crate::onnx::tensor::TensorError;

/// Why a network cannot be cut so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// The model is not accepted.
    #[error("the network is not accepted: {0}")]
    Import(#[source] ImportError),
    /// No tensor has that name.
    #[error("{which} `{name}`: the network has no such tensor{}", suggest(.closest))]
    Unknown {
        /// Where the name was given.
        which: &'static str,
        /// The name.
        name: String,
        /// Names that are near.
        closest: Vec<String>,
    },
    /// The tensor is a constant.
    #[error("{which} `{name}` is a constant, and a part begins and ends at activations")]
    Constant {
        /// Where the name was given.
        which: &'static str,
        /// The name.
        name: String,
    },
    /// The tensor is an input.
    #[error("--to `{name}` is an input of the network: nothing computes it")]
    Input {
        /// The name.
        name: String,
    },
    /// The part would be empty.
    #[error("`{name}` is both where the part begins and where it ends")]
    Both {
        /// The tensor.
        name: String,
    },
    /// More inputs are needed.
    #[error("`{}` also depends on `{}`\n  help: add `--from {}`", .to.join("`, `"), .inputs.join("`, `"), .inputs.join(","))]
    Missing {
        /// The part's outputs.
        to: Vec<String>,
        /// Inputs of the network.
        inputs: Vec<String>,
    },
    /// An input is not needed.
    #[error("`{}` does not depend on --from `{name}`\n  help: leave it out, or cut at a later tensor", .to.join("`, `"))]
    Unused {
        /// The input.
        name: String,
        /// The part's outputs.
        to: Vec<String>,
    },
    /// There is no such layer.
    #[error("the network has no layer {n}: {found}")]
    Layer {
        /// The layer.
        n: usize,
        /// Which there are.
        found: String,
    },
    /// A constant cannot be read.
    #[error("initialiser `{name}`: {source}")]
    Tensor {
        /// The constant.
        name: String,
        /// What is wrong.
        source: TensorError,
    },
}
