//! What each kernel of the library must give: a plain function with the kernel's parameters in host form, which arranges them for
//! an operator of `ccl-golden`. Nothing here is arithmetic of a kernel, and nothing of a kernel is used here.
//!
//! Operators round with float32 scales; a kernel's scale has the same 24 bits, so it is one of the operators' scales and the
//! other scales are 1.
//!
//! # Panics
//! All of them panic where an operator refuses its operands, which a kernel of consistent extents never gives it.

mod dense;
mod fused;
mod moves;
mod pointwise;
mod reduce;
mod resize;
mod stub;
mod windows;

pub use dense::*;
pub use fused::*;
pub use moves::*;
pub use pointwise::*;
pub use reduce::*;
pub use resize::*;
pub use stub::*;
pub use windows::*;

use ccl_golden::Quant;
use ndarray::{Array3, ArrayD, Dimension};

use crate::value::Scale;

/// The scale as float32, which holds its 24 bits.
fn float(scale: Scale) -> f32 {
    scale.to_f64() as f32
}

/// Steps of `scale`.
fn steps(scale: f32, zero_point: i32) -> Quant<i8> {
    Quant::new(scale, zero_point as i8).expect("a scale is positive")
}

/// Steps of 1 without a zero point.
fn plain() -> Quant<i8> {
    steps(1.0, 0)
}

/// Stores the result of an operator in an output, whose elements it has in the same order.
fn store<T: Clone, D: Dimension, E: Dimension>(y: &mut ndarray::Array<T, D>, result: ndarray::Array<T, E>) {
    assert_eq!(y.len(), result.len(), "an operator gives what the kernel stores");
    y.iter_mut().zip(result).for_each(|(y, v)| *y = v);
}

/// A tensor of any rank.
fn any<T: Clone>(x: &Array3<T>) -> ArrayD<T> {
    x.clone().into_dyn()
}
