//! The assembly language: whole images as text, and text as images.
//!
//! `assemble(disassemble(image)) == image` for every image. The text is a line each, `;` starts a comment:
//!
//! ```text
//! .target QC-U_1d7_16MB_4kB_128GBps_128GBps_16_OFF_x1_x1   ; long or short form, at most once; QC-U if absent
//! .name "conv"                         ; fixes the order of the name table; names are else numbered as they appear
//! .file "kernel.rs"                    ; likewise for files
//! .const 00ff10                        ; appends constants, hexadecimal
//! .entry main                          ; starts at the next instruction, or `.entry main @label`
//! .param x ext in 196608 s8            ; ext or ocm; in, out or inout; length in bytes; register with the address
//! .param n scalar s9
//! .constants_reg s10                   ; register with the address of the constants
//! .loc "kernel.rs" 12                  ; source line of what follows; `.loc none` ends it
//! top:                                 ; a label, also before an instruction on the same line
//!     region "conv"                    ; names are quoted, or numbered: %0
//!     add a0, [16], #1
//!     jump @top                        ; labels as @name, instructions as @12
//! ```
//!
//! Words may be quoted, and must be if they have other characters than letters, digits and `_.$-/+`; in quotes `\"` and `\\`
//! stand for themselves. Memory is bounded by a multiple of the text's length and by what an image can hold.

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
