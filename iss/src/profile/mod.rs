//! Where the cycles of a run went: recording, the finished profile, its text and its timeline. Nothing here simulates.
//!
//! A [`Recorder`] is what the simulator calls; [`Recorder::finish`] gives a [`Profile`]. Each cycle is charged to
//! exactly one [`Class`](crate::isa::Class), by an issue or by a stall, so the six classes of the run and of every
//! region add up.

mod cause;
mod counters;
mod recorder;

mod data;
mod diff;
mod error;
pub mod figure;
mod text;
mod timeline;
mod trace;

pub use cause::StallCause;
pub use data::{ClassUse, EngineUse, Profile, Region, Table};
pub use diff::{Change, Diff, RegionChange};
pub use error::ProfileError;
pub(crate) use figure::grouped;
pub use recorder::{Recorder, RegionName, RegionRef, Work};
pub use text::{Bars, TextOptions};
pub use timeline::{Dropped, RegionSpan, StallSpan, Timeline, TransferSpan};

#[cfg(test)]
mod tests;
