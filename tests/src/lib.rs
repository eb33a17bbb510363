//! Tests that cross crates. `random` writes kernels and runs them several ways, `costs` compares snapshots of costs.

pub mod costs;
pub mod random;
