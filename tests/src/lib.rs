//! Tests that cross crates: `random` writes kernels and runs them several ways, `costs` measures those of the library,
//! `cost_diff` compares snapshots of costs, `bless` accepts them.

pub mod bless;
pub mod cost_diff;
pub mod costs;
pub mod random;
