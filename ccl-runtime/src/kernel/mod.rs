//! Kernels as data: their parameters, and tensors as the host holds them.

pub mod args;
mod host;
pub mod instance;
#[cfg(test)]
mod tests;

pub use args::{Access, ArgError, Argument, Arguments, ElemType, LayoutType, Memory, Param, ParamType, TensorType};
pub use host::{HostTensor, Linear};
pub use instance::{CompiledKernel, Instance, InstanceError, Outcome, Registry};
