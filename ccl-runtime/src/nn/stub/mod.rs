//! Attention stubs: the places of an attention that users fill by functions of their own.
//!
//! A **slot** is a function whose body is the plain way; its signature is the contract. A **stub** is a function of the same
//! signature with `#[stub(slot)]`: the build compares the two field by field, and the stub's type implements
//! [`Fills`] for the slot, so that [`PostProjection`] and [`WholeHead`] are what it is known by.
//!
//! | slot | gets | gives |
//! | --- | --- | --- |
//! | [`post_projection`] | the projected row of each query, in local memory | the row that is stored |
//! | [`whole_head`] | the query of each PE in local memory, keys and values on the chip in chunks | the row of each query |
//!
//! Both also get `partition`, the number of the tile of queries, and `head`, and as const parameters
//!
//! - `SCRATCH`: bytes of local memory in each PE that the stub may allocate;
//! - `IN_MANTISSA`, `IN_SHIFT`: the step of the input, `IN_MANTISSA * 2^-IN_SHIFT`, 24 bits and a shift: of the projected row, or
//!   of the scores, the division by the root of `D` included;
//! - `OUT_MANTISSA`, `OUT_SHIFT`: what a step of the output divides by, as [`quantize`](crate::prelude::quantize) takes it: `1 / s_y`,
//!   or `s_v / s_y` of a whole head.
//!
//! # Composing a kernel with a stub
//! In a crate, a kernel names what it calls: `use crate::mine::keep_positive as post_projection;` above its text. A kernel whose text
//! is not yours takes the stub when it is compiled: [`Instance::fill`](crate::kernel::Instance::fill) for a stub of the crate,
//! [`Instance::fill_from`](crate::kernel::Instance::fill_from) for one that was read from a file. Both change what the simulator and the
//! interpreter run. `graphc --attention-stubs FILE.rs` emits kernels that call the stub, with the exact steps and the head; the call
//! inside [`attention_head`](crate::nn::attention::attention_head) knows neither and says steps of 1 and head 0.
//!
//! # Supplied stubs
//! The slots themselves; [`online_softmax`], whose local memory does not grow with the number of keys; [`projection_cost_only`] and
//! [`head_cost_only`], which only move the data, so that the difference of two costs is what the arithmetic of a step takes.
//! [`stub_conformance!`](crate::stub_conformance) makes the tests of a stub, of these too.

pub mod slots;
pub mod online;
pub mod cost_only;
pub mod kernels;

pub use cost_only::{head_cost_only, projection_cost_only};
pub use kernels::{attention_by_slot, project_by_slot};
pub use online::online_softmax;
pub use slots::{post_projection, whole_head};

use crate::kernel::Fills;

/// What fills [`post_projection`].
pub trait PostProjection: Fills<post_projection> {}
impl<S: Fills<post_projection>> PostProjection for S {}

/// What fills [`whole_head`].
pub trait WholeHead: Fills<whole_head> {}
impl<S: Fills<whole_head>> WholeHead for S {}
