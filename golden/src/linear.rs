//! Between real numbers and 8-bit steps: quantise, dequantise, and the choice of parameters at run time.
//!
//! Requantisation of accumulators is in [`crate::requantize`].

use ndarray::{ArrayD, ArrayViewD, Axis};

use crate::error::{GoldenError, resolve_axis};
use crate::int8::Int8;
use crate::quant::{Quant, QuantPer};

/// Quantises one value: `sat(round_half_even(f(x / scale)) + zero_point)`.
///
/// A division: multiplying by the reciprocal differs on ties. Infinities saturate; not-a-number gives the smallest value,
/// as the vector code of ORT on x86-64 does.
///
/// # Units
/// `x` in real units.
/// # Source
/// `NUMERICS.md`, QuantizeLinear.
pub fn quantize<T: Int8>(x: f32, q: Quant<T>) -> T {
    let steps = x / q.scale();
    if steps.is_nan() {
        return T::saturate(T::MIN);
    }
    to_steps(steps, q.zero())
}

/// Dequantises one value: `f((q - zero_point) * scale)`.
///
/// # Source
/// `NUMERICS.md`, DequantizeLinear.
pub fn dequantize<T: Int8>(value: T, q: Quant<T>) -> f32 {
    (value.widen() - q.zero()) as f32 * q.scale()
}

/// Clamps to what is left of the type beside `zero`, rounds half to even, adds `zero`.
///
/// Clamping first keeps the conversion in range; as both bounds are integers it commutes with the rounding.
pub(crate) fn to_steps<T: Int8>(steps: f32, zero: i32) -> T {
    let low = (T::MIN - zero) as f32;
    let high = (T::MAX - zero) as f32;
    T::saturate(steps.clamp(low, high).round_ties_even() as i32 + zero)
}

/// Quantises a tensor.
///
/// # Shapes
/// Any; the result has the shape of `x`.
/// # Source
/// `NUMERICS.md`, QuantizeLinear.
pub fn quantize_linear<T: Int8>(x: ArrayViewD<f32>, q: Quant<T>) -> ArrayD<T> {
    x.mapv(|v| quantize(v, q))
}

/// Dequantises a tensor.
///
/// # Shapes
/// Any; the result has the shape of `x`.
/// # Source
/// `NUMERICS.md`, DequantizeLinear.
pub fn dequantize_linear<T: Int8>(x: ArrayViewD<T>, q: Quant<T>) -> ArrayD<f32> {
    x.mapv(|v| dequantize(v, q))
}

/// Quantises a tensor with one scale per slice of `axis`.
///
/// # Shapes
/// Any with at least one dimension; `q` serves the extent of `axis`; the result has the shape of `x`.
/// # Errors
/// [`GoldenError::Axis`], [`GoldenError::Extent`].
/// # Source
/// `NUMERICS.md`, QuantizeLinear; the ONNX operator with `axis`.
pub fn quantize_linear_axis<T: Int8>(
    x: ArrayViewD<f32>,
    axis: isize,
    q: &QuantPer<T>,
) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "QuantizeLinear";
    along_axis(OP, x, axis, q, |v, q| quantize(v, q))
}

/// Dequantises a tensor with one scale per slice of `axis`.
///
/// # Shapes
/// As [`quantize_linear_axis`].
/// # Errors
/// [`GoldenError::Axis`], [`GoldenError::Extent`].
/// # Source
/// `NUMERICS.md`, DequantizeLinear; the ONNX operator with `axis`.
pub fn dequantize_linear_axis<T: Int8>(
    x: ArrayViewD<T>,
    axis: isize,
    q: &QuantPer<T>,
) -> Result<ArrayD<f32>, GoldenError> {
    const OP: &str = "DequantizeLinear";
    along_axis(OP, x, axis, q, |v, q| dequantize(v, q))
}

/// Dequantises accumulators or biases, whose zero point is 0: `f(f(x) * scale)`.
///
/// # Shapes
/// Any; the result has the shape of `x`.
/// # Errors
/// [`GoldenError::ScaleInvalid`] unless `scale` is positive and finite.
/// # Source
/// The ONNX operator on int32; compared with ORT.
pub fn dequantize_linear_i32(x: ArrayViewD<i32>, scale: f32) -> Result<ArrayD<f32>, GoldenError> {
    Quant::new(scale, 0_i8)?;
    Ok(x.mapv(|v| v as f32 * scale))
}

/// Chooses uint8 parameters from the range of the data, extended to hold 0, and quantises with them.
///
/// `scale = (max - min) / 255`, 1 where that is 0; `zero_point = sat(round_half_even(-min / scale))`.
///
/// # Shapes
/// Any; the result has the shape of `x`.
/// # Errors
/// [`GoldenError::ScaleInvalid`] if the range is not finite or too small for a scale.
/// # Source
/// The ONNX operator DynamicQuantizeLinear; compared with ORT.
pub fn dynamic_quantize_linear(x: ArrayViewD<f32>) -> Result<(ArrayD<u8>, Quant<u8>), GoldenError> {
    let min = x.iter().fold(0.0_f32, |m, &v| m.min(v));
    let max = x.iter().fold(0.0_f32, |m, &v| m.max(v));
    let scale = if min == max { 1.0 } else { (max - min) / 255.0 };
    let zero_point = (0.0 - min / scale).clamp(0.0, 255.0).round_ties_even();
    let q = Quant::new(scale, zero_point as u8)?;
    Ok((quantize_linear(x, q), q))
}

/// Applies `f` with the parameters of each element's slice.
fn along_axis<A: Copy, T: Int8, B: Default + Clone>(
    op: &'static str,
    x: ArrayViewD<A>,
    axis: isize,
    q: &QuantPer<T>,
    f: impl Fn(A, Quant<T>) -> B,
) -> Result<ArrayD<B>, GoldenError> {
    let axis = resolve_axis(op, axis, x.ndim())?;
    q.check(op, x.shape()[axis])?;
    let mut y = ArrayD::from_elem(x.raw_dim(), B::default());
    for (channel, (mut y, x)) in y.axis_iter_mut(Axis(axis)).zip(x.axis_iter(Axis(axis))).enumerate() {
        y.zip_mut_with(&x, |y, &x| *y = f(x, q.at(channel)));
    }
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_even() {
        let q = Quant::new(0.5, 3_i8).unwrap();
        let got = [-0.75, -0.25, 0.25, 0.75, 1.25].map(|x| quantize(x, q));
        assert_eq!(got, [1, 3, 3, 5, 5]);
    }

    #[test]
    fn what_does_not_fit_saturates() {
        let q = Quant::new(0.001, -14_i8).unwrap();
        assert_eq!([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 3e38].map(|x| quantize(x, q)), [127, -128, -128, 127]);
    }

    #[test]
    fn every_value_survives_a_round_trip() {
        for scale in [1.0, 0.1, 3.7e-5, 12.5] {
            let q = Quant::new(scale, -7_i8).unwrap();
            assert!(crate::int8::all_values().all(|v| quantize(dequantize(v, q), q) == v), "{scale}");
        }
    }
}
