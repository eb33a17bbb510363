//! Validation: every node of a network beside a reference, on the reference's inputs (isolated) and after the whole network
//! (accumulated). A failing node is written as a model of its own.
//!
//! Knows implementations only as [`Subject`] and [`Values`].

mod bar;
mod compare;
mod expose;
#[cfg(feature = "ort")]
pub mod ort;
mod picture;
mod report;
mod reproduce;
mod simulator;
mod subject;
mod values;

pub use bar::Bar;
pub use compare::{compare, compare_tensors};
pub use expose::{single_node, with_all_outputs};
pub use picture::picture;
pub use report::{Accumulated, Difference, Isolated, NodeResult, Status, Summary, Validation};
pub use reproduce::{Reproducer, reproduce};
pub use simulator::{SimulateError, Simulated, Stepwise};
pub use subject::{Golden, Subject, SubjectError, Unit};
pub use values::{Named, Values};
