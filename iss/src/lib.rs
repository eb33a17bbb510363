//! The machine: target description, instruction set, program image, simulator and profile of an array processor.

pub mod isa;
pub mod sim;
pub mod target;
