#![doc = include_str!("../README.md")]

pub mod asm;
pub mod bench;
pub mod builder;
pub mod calibrate;
pub mod image;
pub mod isa;
pub mod profile;
pub mod reference;
pub mod sim;
pub mod target;
#[doc(hidden)]
pub mod testing;
