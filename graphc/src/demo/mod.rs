//! The demonstrations: the shipped networks on the simulator beside stored references, with pictures and reports.
//!
//! References are read from files. What computes labels here is the simulator alone.

pub mod detr;
pub mod segformer;

mod report;

pub use report::{DemoReport, VariantReport};
