//! What `ccl!` kernels link to: the values ([`value`]), memories ([`tensor`]) and transfers ([`flow`]) on which the body of a
//! kernel runs as plain Rust, in sessions ([`native`]); the kernel IR ([`ir`]) and its lowering to images of the array
//! processor ([`lower`]).
//!
//! ```
//! use ccl_runtime::native::Session;
//! use ccl_runtime::prelude::*;
//!
//! let x = Ocm::<i8, Planar<1, 5, 7>>::from_logical(&[3; 35]);
//! let y = Ocm::<i8, Planar<1, 5, 7>>::new();
//! let mut session = Session::new(&iss::target::QC_N);
//! session.run("double", || {
//!     for t in x.tiles() {
//!         let a = t.fetch::<Lrm<i8, 1>>().wait();
//!         y.at(t).store(a[0] + a[0]);
//!     }
//! })?;
//! assert_eq!(y.to_logical(), [6; 35]);
//! # Ok::<(), ccl_runtime::native::Fault>(())
//! ```
//!
#![doc = include_str!("../README.md")]

// `ccl!` expands to paths that begin with `::ccl_runtime`, here as elsewhere.
extern crate self as ccl_runtime;

pub use ccl_macros::ccl;

/// The attribute form of [`ccl!`]: `#[ccl] mod kernels { .. }`. It has a place of its own, since both have one name.
pub mod attr {
    pub use ccl_macros::ccl_module as ccl;
}

/// The machines that `#[instance(target = ..)]` names.
pub mod target {
    pub use iss::target::*;
}

#[doc = include_str!("guide.md")]
pub mod guide {}

#[doc(hidden)]
pub mod __rt;
pub mod flow;
pub mod front;
pub mod interp;
pub mod ir;
pub mod kernel;
pub mod lower;
pub mod native;
#[rustfmt::skip] // In reading order.
pub mod nn;
pub mod tensor;
pub mod testing;
pub mod value;

/// Every name of the language: what the body of a kernel sees.
pub mod prelude {
    pub use crate::flow::{Broadcast, Flow, Tile, Token, Walk, Weights, broadcast, drain, prefetch, write_back};
    pub use crate::kernel::Kernel;
    pub use crate::tensor::layout::{Packed, Planar, Stream, StreamDot, StreamOuter, Tokens, Vector};
    pub use crate::tensor::{Acc, Ext, Lrm, Ocm, Slices, lookup, mac};
    pub use crate::value::Axis::{self, Array, Column, Row};
    pub use crate::value::Direction::{self, East, North, South, West};
    pub use crate::value::Overflow::{self, Saturate, Wrap};
    pub use crate::value::Reduction::{self, Max, Min, Sum};
    pub use crate::value::Rounding::{self, Floor, HalfEven, HalfUp, TowardZero};
    pub use crate::value::extent::{div_ceil, is_power_of_two, log2, next_multiple_of, pow};
    pub use crate::value::{
        Fx, Q, Scale, abs, all, any, clamp, dequantize, exp, fx, fx_div, fx_mul, fx_raw, ln, max, min, q_col, q_row,
        quantize, reduce, requant, select, shift, splat,
    };
}

/// The examples of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct ProjectReadme;
