//! Emitted kernels on the simulator: texts compiled as they stand, tensors carried from kernel to kernel, and what the run cost.

pub mod energy;
pub mod report;

pub mod device;
pub mod entry;
pub mod texts;

pub mod host;
pub mod program;

use crate::emit::manifest::Kernel;
use entry::Binding;

/// What the parameters of a kernel of a manifest stand for.
pub fn bindings(kernel: &Kernel) -> Vec<(String, Binding)> {
    let tensors = kernel.inputs.iter().chain(&kernel.outputs);
    let constants =
        kernel.constants.iter().map(|c| (c.parameter.clone(), Binding::Constants { offset: c.offset, bytes: c.bytes }));
    tensors.map(|b| (b.parameter.clone(), Binding::Tensor(b.tensor.clone()))).chain(constants).collect()
}
