//! The array, the calibration and the command, in one program; `sim` has the machine as a whole.

mod array_model;
mod array_support;
mod array_transcendental;
mod calibration;
mod cli;
