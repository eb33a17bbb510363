//! Sums, products and other two-operand functions of quantised tensors, with broadcasting.
//!
//! ORT has integer kernels for the sum and the product; anything else (difference, quotient) stays in float32 between
//! DequantizeLinear and QuantizeLinear, which [`qlinear_binary`] states.

use ndarray::{ArrayD, ArrayViewD};

use crate::broadcast::map2;
use crate::error::GoldenError;
use crate::int8::Int8;
use crate::linear::{dequantize, quantize, to_steps};
use crate::quant::Quant;

/// Adds quantised tensors.
///
/// `r_a = f(s_a / s_c)`, `r_b = f(s_b / s_c)`, `c = f(z_c - f(fma(r_a, z_a, f(r_b * z_b))))`; the result is
/// `sat(round_half_even(fma(a, r_a, fma(b, r_b, c))))`: the zero point is inside before rounding.
///
/// The formula is not symmetric, and ORT exchanges `a` and `b` in it where `a` is the one that is repeated along the
/// innermost axis longer than 1, and where each tensor has one element.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// `NUMERICS.md`, QLinearAdd; the exchange is ORT's, found by comparison.
pub fn qlinear_add<T: Int8>(
    a: ArrayViewD<T>,
    qa: Quant<T>,
    b: ArrayViewD<T>,
    qb: Quant<T>,
    qc: Quant<T>,
) -> Result<ArrayD<T>, GoldenError> {
    if first_is_repeated(a.shape(), b.shape()) { sum(b, qb, a, qa, qc) } else { sum(a, qa, b, qb, qc) }
}

/// The sum in the order of its operands.
fn sum<T: Int8>(
    a: ArrayViewD<T>,
    qa: Quant<T>,
    b: ArrayViewD<T>,
    qb: Quant<T>,
    qc: Quant<T>,
) -> Result<ArrayD<T>, GoldenError> {
    let ratio_a = qa.scale() / qc.scale();
    let ratio_b = qb.scale() / qc.scale();
    let zeros = ratio_a.mul_add(qa.zero() as f32, ratio_b * qb.zero() as f32);
    let fixed = qc.zero() as f32 - zeros;
    map2("QLinearAdd", a, b, |a, b| {
        let sum = (a.widen() as f32).mul_add(ratio_a, (b.widen() as f32).mul_add(ratio_b, fixed));
        to_steps(sum, 0)
    })
}

/// True if the first of two broadcast tensors has one element along the innermost axis where either has more.
fn first_is_repeated(a: &[usize], b: &[usize]) -> bool {
    let extent = |shape: &[usize], from_back: usize| shape.iter().rev().nth(from_back).copied().unwrap_or(1);
    let mut axes = (0..a.len().max(b.len())).map(|i| (extent(a, i), extent(b, i)));
    axes.find(|&(a, b)| a > 1 || b > 1).is_none_or(|(a, _)| a == 1)
}

/// Multiplies quantised tensors.
///
/// `p = (a - z_a) * (b - z_b)` in integers, `sat(round_half_even(f(f(f(p) * f(f(s_a * s_b) / s_c)) + z_c)))`: the zero
/// point is inside before rounding.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// `NUMERICS.md`, QLinearMul.
pub fn qlinear_mul<T: Int8>(
    a: ArrayViewD<T>,
    qa: Quant<T>,
    b: ArrayViewD<T>,
    qb: Quant<T>,
    qc: Quant<T>,
) -> Result<ArrayD<T>, GoldenError> {
    let scale = qa.scale() * qb.scale() / qc.scale();
    let zero = qc.zero() as f32;
    map2("QLinearMul", a, b, |a, b| {
        let product = (a.widen() - qa.zero()) * (b.widen() - qb.zero());
        to_steps(product as f32 * scale + zero, 0)
    })
}

/// Subtracts quantised tensors: `Q(f(DQ(a) - DQ(b)))`. ORT has no integer kernel for it.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Sub between DequantizeLinear and QuantizeLinear; compared with ORT.
pub fn qlinear_sub<A: Int8, B: Int8, C: Int8>(
    a: ArrayViewD<A>,
    qa: Quant<A>,
    b: ArrayViewD<B>,
    qb: Quant<B>,
    qc: Quant<C>,
) -> Result<ArrayD<C>, GoldenError> {
    qlinear_binary("Sub", a, qa, b, qb, qc, |a, b| a - b)
}

/// Divides quantised tensors: `Q(f(DQ(a) / DQ(b)))`. A quotient 0 / 0 is not a number and quantises to the smallest value.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Div between DequantizeLinear and QuantizeLinear; compared with ORT.
pub fn qlinear_div<A: Int8, B: Int8, C: Int8>(
    a: ArrayViewD<A>,
    qa: Quant<A>,
    b: ArrayViewD<B>,
    qb: Quant<B>,
    qc: Quant<C>,
) -> Result<ArrayD<C>, GoldenError> {
    qlinear_binary("Div", a, qa, b, qb, qc, |a, b| a / b)
}

/// Any float32 function of two quantised tensors: `Q(f(DQ(a), DQ(b)))`.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`], naming `op`.
/// # Source
/// `NUMERICS.md`, QuantizeLinear and DequantizeLinear.
pub fn qlinear_binary<A: Int8, B: Int8, C: Int8>(
    op: &'static str,
    a: ArrayViewD<A>,
    qa: Quant<A>,
    b: ArrayViewD<B>,
    qb: Quant<B>,
    qc: Quant<C>,
    f: impl Fn(f32, f32) -> f32,
) -> Result<ArrayD<C>, GoldenError> {
    map2(op, a, b, |&a, &b| quantize(f(dequantize(a, qa), dequantize(b, qb)), qc))
}

#[cfg(test)]
mod tests {
    use ndarray::arr1;

    use super::*;

    #[test]
    fn zero_point_before_or_after_rounding_matters_on_ties() {
        let q = |scale, zero_point: i8| Quant::new(scale, zero_point).unwrap();
        let (a, b) = (arr1(&[1_i8, 3, 5]).into_dyn(), arr1(&[0_i8]).into_dyn());
        // 0.5 + 1, 1.5 + 1, 2.5 + 1 round to even as 1.5, 2.5, 3.5 do; adding 1 after rounding would give 1, 3, 3.
        let sum = qlinear_add(a.view(), q(0.5, 0), b.view(), q(1.0, 0), q(1.0, 1)).unwrap();
        assert_eq!(sum, arr1(&[2, 2, 4]).into_dyn());
        let one = arr1(&[1_i8]).into_dyn();
        let product = qlinear_mul(a.view(), q(0.5, 0), one.view(), q(1.0, 0), q(1.0, 1)).unwrap();
        assert_eq!(product, arr1(&[2, 2, 4]).into_dyn());
        assert!(!first_is_repeated(&[3], &[1]) && first_is_repeated(&[3, 1], &[2]) && first_is_repeated(&[1], &[]));
        let difference = qlinear_sub(a.view(), q(0.5, 0), b.view(), q(1.0, 0), q(1.0, 1_i8)).unwrap();
        assert_eq!(difference, arr1(&[1, 3, 3]).into_dyn());
    }
}
