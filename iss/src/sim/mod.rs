//! The simulator: a program image, its inputs, and a run that can be stopped anywhere.
//!
//! Function and timing go together: every instruction is issued, stalled and charged by the rules of the target's
//! parameters, and every byte in flight is watched. The same image and inputs give the same bytes and the same cycles on
//! any host, SIMD path and number of threads.
//!
//! Absent on purpose: the simulator knows no kernel, no tensor and no compiler, and shares no arithmetic with them.

pub mod array;
pub mod engine;
mod exec;
mod grid;
mod hazard;
mod machine;
mod memory;
mod options;
mod run;
mod trace_file;
mod transfer;
mod trap;
mod watch;

pub use array::SimdPath;
pub use grid::Grid;
pub use machine::ProbeRecord;
pub use options::Options;
pub use run::{Arg, SimError, Simulator, StopAt, Stopped};
pub use trace_file::TraceWriter;
pub use trap::{Access, Bytes, Memory, Trap, TrapCause};
pub use watch::{Operation, Write};
