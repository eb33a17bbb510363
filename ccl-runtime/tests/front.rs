//! Kernels from the text of the language: interpreter of the IR, simulator and a plain function agree.

#[path = "front/costs.rs"]
mod costs;
#[path = "front/jumps.rs"]
mod jumps;
#[path = "front/kernels.rs"]
mod kernels;
#[path = "front/library.rs"]
mod library;
mod support;
