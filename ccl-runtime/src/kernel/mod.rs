//! Kernels as data: where they come from, their signatures and parameters, instances on a machine, and tensors as the host holds
//! them. The macro fills all of it in; nothing here compiles or simulates.

pub mod args;
mod host;

mod instance;
mod parameter;
mod signature;
mod source;

mod budget;
mod text;

#[cfg(test)]
mod tests;

pub use args::{Access, ArgError, Argument, Arguments, ElemType, LayoutType, Memory, Param, ParamType, TensorType};
pub use budget::{LRM_RESERVE_BYTES, check_lrm, check_ocm};
pub use host::{HostElem, HostTensor, Linear};
pub use instance::{Entry, Kernel, NativeError, Reference};
pub use parameter::{HostLayout, Parameter};
#[doc(hidden)]
pub use parameter::{host, native, param, write_host, write_native};
pub use signature::{Field, Role, Signature, check_signature};
pub use source::{Link, Linked, Source};
