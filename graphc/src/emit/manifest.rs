//! The manifest: what a folder of kernels holds, for whoever runs them.

use serde::{Deserialize, Serialize};

use crate::emit::constants::Elem;
use crate::stub::Slot;

/// A tensor at a kernel's boundary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Boundary {
    /// The parameter.
    pub parameter: String,
    /// The tensor's name in the graph.
    pub tensor: String,
    /// Element type, as kernels write it.
    pub elem: String,
    /// Layout, as kernels write it.
    pub layout: String,
    /// First byte among the tensors at boundaries.
    pub offset: usize,
    /// Bytes.
    pub bytes: usize,
    /// Real units a step, where it is quantised.
    pub scale: Option<f32>,
    /// The value that stands for 0.
    pub zero_point: Option<i32>,
}

/// A constant of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// The parameter.
    pub parameter: String,
    /// Element type.
    pub elem: Elem,
    /// Layout, as kernels write it.
    pub layout: String,
    /// First byte in the blob.
    pub offset: usize,
    /// Bytes.
    pub bytes: usize,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name: the function; the instance in capitals.
    pub name: String,
    /// Its file.
    pub file: String,
    /// Multiply-accumulate steps.
    pub macs: u64,
    /// Bytes of on-chip memory at most.
    pub ocm_bytes: usize,
    /// Tensors that it reads, in the order of its parameters.
    pub inputs: Vec<Boundary>,
    /// Constants, in the order of its parameters.
    pub constants: Vec<Constant>,
    /// Tensors that it writes, in the order of its parameters.
    pub outputs: Vec<Boundary>,
}

/// An entry point: a text of its own that calls kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name: the function; the instance in capitals.
    pub name: String,
    /// Its file.
    pub file: String,
    /// Its kernels, in the order of its calls.
    pub kernels: Vec<String>,
    /// Tensors in external memory that it reads, in the order of its parameters.
    pub inputs: Vec<Boundary>,
    /// The parameter with the constants of all kernels, where there are any.
    pub constants: Option<String>,
    /// Tensors in external memory that it writes, in the order of its parameters.
    pub outputs: Vec<Boundary>,
}

/// An attention stub that kernels call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stub {
    /// Its file.
    pub file: String,
    /// Its function.
    pub function: String,
    /// What it takes over.
    pub slot: Slot,
    /// The kernels that call it.
    pub kernels: Vec<String>,
}

/// An input or output of the network, and the tensor of the device that it becomes or comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// Its name in the graph.
    pub name: String,
    /// Its type in the graph.
    pub r#type: String,
    /// The tensor of the device.
    pub tensor: String,
}

/// A folder of kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format.
    pub version: u32,
    /// The network.
    pub network: String,
    /// The machine.
    pub target: String,
    /// Inputs of the network.
    pub inputs: Vec<Port>,
    /// Outputs of the network.
    pub outputs: Vec<Port>,
    /// Kernels, in the order in which they run.
    pub kernels: Vec<Kernel>,
    /// The attention stub, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stub: Option<Stub>,
    /// Bytes of the blob of constants.
    pub constant_bytes: usize,
    /// Bytes of on-chip memory at most.
    pub ocm_bytes: usize,
    /// What is slow or inexact, and why.
    pub notes: Vec<String>,
}
