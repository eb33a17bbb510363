//! The demonstration: the shipped networks on the simulator beside stored references, with pictures and a report.
//!
//! References are read from files. What computes labels here is the simulator alone.

pub mod segformer;

mod report;

pub use report::{DemoReport, VariantReport};
