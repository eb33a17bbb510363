//! Tests of kernels: arguments with corners, comparison of the three opinions, and cost as text.

pub mod cost;
pub mod input;
pub mod mismatch;
