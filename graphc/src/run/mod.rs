//! Emitted kernels on the simulator: texts compiled as they stand, tensors carried from kernel to kernel, and what the run cost.

pub mod report;
