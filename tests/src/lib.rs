//! Tests that cross crates. `random` writes kernels and runs them several ways.

pub mod random;
