//! Joining quantised tensors whose parameters differ.
//!
//! Tensors with equal parameters, and all other element types, are joined by [`crate::moves::concat`].

use ndarray::{ArrayD, ArrayViewD};

use crate::error::GoldenError;
use crate::int8::Int8;
use crate::moves;
use crate::quant::Quant;
use crate::unary::qlinear_unary;

/// Joins quantised tensors along an axis, each brought to the output's parameters by `Q(DQ(x))`.
///
/// # Shapes
/// `inputs`: at least one, equal but for the extent of `axis`; returns their concatenation.
/// # Errors
/// [`GoldenError::Empty`] without inputs, [`GoldenError::Axis`], [`GoldenError::Shape`].
/// # Source
/// `NUMERICS.md`, QLinearConcat.
pub fn qlinear_concat<T: Int8>(
    inputs: &[(ArrayViewD<T>, Quant<T>)],
    axis: isize,
    qy: Quant<T>,
) -> Result<ArrayD<T>, GoldenError> {
    let converted: Vec<_> = inputs.iter().map(|(x, qx)| qlinear_unary(x.view(), *qx, qy, |v| v)).collect();
    let views: Vec<_> = converted.iter().map(|x| x.view()).collect();
    moves::concat(&views, axis)
}
