//! Native execution against formulas and loops of its own.

mod control;
mod kernels;
mod memory;
mod operations;
mod support;
