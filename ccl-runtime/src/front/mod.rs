//! From the checked tree of the language to the kernel IR: the functions of a kernel are run on values that are known, or are
//! handles on values of the IR, and what cannot be done now is emitted.
//!
//! - [`program`] has blocks with their names, types and constants, and what their paths mean;
//! - `value` is what names stand for, `cx` the state, `stmt`, `expr`, `call`, `builtin` walk the tree, `control` is loops, branches,
//!   masks, `jump` leaves them early;
//! - [`stub`] says which slot a function fills, and compares the signatures;
//! - `scalar` keeps sums of loop variables, `pe`, `wide`, `round` are arithmetic of PEs, `neighbour` shifts and reductions;
//! - `lrm`, `acc`, `stream` are local memory, accumulators, broadcasts; `tile`, `geometry`, `transfer`, `landing` walks and flows.
//!
//! Absent on purpose: optimisation. The lowering folds moves into operands, pipelines, unrolls short loops and schedules; here
//! only what the text alone tells is used: const arguments, scalar arguments, ranges of values, which loop has to be unrolled.

mod acc;
mod argument;
mod branch;
mod budget;
mod builtin;
mod call;
mod control;
mod cx;
mod error;
mod expr;
mod finish;
mod geometry;
mod jump;
mod landing;
mod lrm;
mod method;
mod neighbour;
mod pe;
pub mod program;
mod round;
mod scalar;
mod stmt;
mod stream;
pub mod stub;
mod tile;
mod transfer;
mod value;
mod variable;
mod walk;
mod walk_loop;
mod wide;

pub use error::FrontError;
pub use finish::{Elaborated, IrTensor, elaborate, params};
pub use program::Markers;
