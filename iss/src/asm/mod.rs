//! Assembler and disassembler.
//!
#![doc = include_str!("../../docs/assembly.md")]

mod assemble;
mod directive;
mod disassemble;
mod error;
mod line;

pub use assemble::{assemble, assemble_file};
pub use disassemble::{Style, disassemble, disassemble_with};
pub use error::{AsmCause, AsmError, AsmErrors};

#[cfg(test)]
mod tests;
