//! The engines beside the instruction stream: what their descriptors mean and when their work is done.
//!
//! Timing only. Bytes are moved by `transfer.rs`, at the points where the hazard rule makes the moment unobservable.

pub mod broadcast;
pub mod descriptor;
pub mod dma;
pub mod flow;
pub mod rau;
