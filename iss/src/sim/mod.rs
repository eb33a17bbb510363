//! The simulator: functional state and timing.

pub mod array;
