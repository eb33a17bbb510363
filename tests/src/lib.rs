//! Tests that cross crates: `random` writes kernels and runs them several ways, `costs` measures those of the library.

pub mod costs;
pub mod random;
