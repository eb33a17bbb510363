//! Tests of kernels: arguments with corners, comparison of the three opinions, and cost as text.

pub mod check;
pub mod cost;
pub mod input;
pub mod mismatch;
pub mod probe;
pub mod stub;
mod subject;

pub use check::{Bar, Check, check};
pub use cost::Cost;
pub use probe::Probed;
