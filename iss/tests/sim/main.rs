//! The simulator against independent models of what programs mean and of what they cost, and rule by rule.

mod debugger;
mod determinism;
mod function;
mod garbage;
mod generate;
mod harness;
mod hazards;
mod model;
mod timing;
mod traps;
mod watch;
