//! Kernels from the text of the language: interpreter of the IR, simulator and a plain function agree.

#[path = "front/corpus.rs"]
mod corpus;
#[path = "front/costs.rs"]
mod costs;
#[path = "front/jumps.rs"]
mod jumps;
#[path = "front/kernels.rs"]
mod kernels;
#[path = "front/library.rs"]
mod library;
#[path = "front/random_access.rs"]
mod random_access;
mod support;
