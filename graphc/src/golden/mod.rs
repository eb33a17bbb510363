//! The golden executor: whole networks in the plain scalar operators of `ccl-golden`, with every intermediate tensor.

mod eval;
mod float;
mod quantized;
mod run;

pub use eval::eval;
pub use run::{Keep, MAX_LIVE_BYTES, Run, RunError, check_inputs, run, run_observed};
