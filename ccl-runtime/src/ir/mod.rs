//! The kernel IR: a structured, virtual form of the instruction set. Monomorphic and typed; virtual values and named
//! buffers instead of registers and addresses; loops, branches and predicated regions instead of jumps; flows, streams,
//! random accesses and DMA as asynchronous operations with tokens.
//!
//! [`types`] has the data, [`text`] its text ([`Module::parse`](types::Module::parse) and `Display`), [`build`] the
//! interface for front ends, [`verify`] the rules, [`peak`] what a function takes of on-chip memory, [`interp`] an interpreter with arithmetic of its own. Nothing here
//! knows instructions, registers or addresses: that is [`lower`](crate::lower).

pub mod build;
pub mod interp;
pub mod peak;
pub mod range;
pub mod text;
pub mod types;
pub mod verify;
pub mod visit;

pub use types::*;
