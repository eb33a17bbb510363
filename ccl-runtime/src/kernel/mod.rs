//! Kernels as data: their parameters, and tensors as the host holds them.

pub mod args;
mod host;
#[cfg(test)]
mod tests;

pub use args::{Access, ArgError, Argument, Arguments, ElemType, LayoutType, Memory, Param, ParamType, TensorType};
pub use host::{HostTensor, Linear};
