//! The machine: target description, instruction set, program image, simulator and profile of an array processor.

pub mod asm;
pub mod builder;
pub mod calibrate;
pub mod image;
pub mod isa;
pub mod profile;
pub mod sim;
pub mod target;
#[doc(hidden)]
pub mod testing;
