//! Softmax: ORT's integer kernel with its table, and the float function before a quantisation.
//!
//! The two differ by up to 0.17 % of the elements, so a caller says which it means.

use ndarray::{ArrayD, ArrayViewD, Axis, Zip};

use crate::error::{GoldenError, resolve_axis};
use crate::float32;
use crate::int8::Int8;
use crate::linear::{dequantize, quantize};
use crate::quant::Quant;

/// Softmax of a quantised tensor, by ORT's algorithm.
///
/// A table of 256 float32 values `exp((i - 255 + b) * s_x)`, `b = max(0, ln(FLT_MAX / D) - 5) / s_x`, worked out in
/// float64. In each row of `D` elements the index is shifted so that the maximum meets the last entry; the entries are
/// summed in float32 from left to right; `y = round_half_even(f(f(e * floor(1 / s_y)) / sum)) + z_y`, saturated.
///
/// # Shapes
/// `x: [.., D, ..]` with `D` along `axis`; the result has the same shape. For opset 12 and older the caller reshapes to
/// two dimensions first.
/// # Errors
/// [`GoldenError::Axis`].
/// # Source
/// `NUMERICS.md`, QLinearSoftmax; the `com.microsoft` operator.
pub fn qlinear_softmax<X: Int8, Y: Int8>(
    x: ArrayViewD<X>,
    qx: Quant<X>,
    axis: isize,
    qy: Quant<Y>,
) -> Result<ArrayD<Y>, GoldenError> {
    let axis = resolve_axis("QLinearSoftmax", axis, x.ndim())?;
    let table = exponentials(x.shape()[axis], qx.scale());
    let unit = (1.0 / qy.scale()).floor();
    let mut y = ArrayD::from_elem(x.raw_dim(), Y::default());
    Zip::from(y.lanes_mut(Axis(axis))).and(x.lanes(Axis(axis))).for_each(|mut y, x| {
        let largest = x.iter().map(|v| v.widen()).max().unwrap_or(0);
        let entry = |v: &X| table[(v.widen() + 255 - largest) as usize];
        let sum = x.iter().fold(0.0_f32, |sum, v| sum + entry(v));
        y.zip_mut_with(&x, |y, v| {
            let steps = (entry(v) * unit / sum).round_ties_even();
            *y = Y::saturate((steps as i32).saturating_add(qy.zero()));
        });
    });
    Ok(y)
}

/// The table of [`qlinear_softmax`] for rows of `n_row` elements: entry 255 is for the maximum of a row.
fn exponentials(n_row: usize, x_scale: f32) -> [f32; 256] {
    let headroom = (f64::from(f32::MAX) / n_row as f64).ln() - 5.0;
    let offset = headroom.max(0.0) / f64::from(x_scale);
    std::array::from_fn(|i| ((i as f64 - 255.0 + offset) * f64::from(x_scale)).exp() as f32)
}

/// Softmax of a float32 tensor, in ORT's order: `exp(x - max)` by its polynomial, times the reciprocal of the sum.
///
/// # Shapes
/// `x: [.., D, ..]` with `D` along `axis`; the result has the same shape.
/// # Errors
/// [`GoldenError::Axis`].
/// # Source
/// The ONNX operator Softmax; the order is [`crate::float32`]'s.
pub fn softmax_f32(x: ArrayViewD<f32>, axis: isize) -> Result<ArrayD<f32>, GoldenError> {
    let axis = resolve_axis("Softmax", axis, x.ndim())?;
    let mut y = x.to_owned();
    for mut row in y.lanes_mut(Axis(axis)) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row.mapv_inplace(|v| float32::exp(v - largest));
        let factor = 1.0 / float32::sum_of_exponentials(row.iter().copied());
        row.mapv_inplace(|v| v * factor);
    }
    Ok(y)
}

/// Softmax between DequantizeLinear and QuantizeLinear: `Q(softmax(DQ(x)))`, as networks have it that keep Softmax in
/// float.
///
/// # Shapes
/// As [`softmax_f32`].
/// # Errors
/// [`GoldenError::Axis`].
/// # Source
/// `NUMERICS.md`, QuantizeLinear; the bar there for softmax is 1 in 1,000 by 1.
pub fn softmax_quantized<X: Int8, Y: Int8>(
    x: ArrayViewD<X>,
    qx: Quant<X>,
    axis: isize,
    qy: Quant<Y>,
) -> Result<ArrayD<Y>, GoldenError> {
    let real = x.mapv(|v| dequantize(v, qx));
    Ok(softmax_f32(real.view(), axis)?.mapv(|v| quantize(v, qy)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_elements_share_the_whole() {
        let (qx, qy) = (Quant::new(0.1, -3_i8).unwrap(), Quant::new(1.0 / 255.0, 0_u8).unwrap());
        for n in [1, 5, 85, 255] {
            let x = ArrayD::from_elem(ndarray::IxDyn(&[n]), 7_i8);
            let y = qlinear_softmax(x.view(), qx, 0, qy).unwrap();
            assert!(y.iter().all(|&v| usize::from(v) == 255 / n), "{n}");
        }
    }

    #[test]
    fn a_row_does_not_depend_on_its_offset() {
        let (qx, qy) = (Quant::new(0.07, 0_u8).unwrap(), Quant::new(1.0 / 256.0, -128_i8).unwrap());
        let row = |first: u8| ArrayD::from_shape_fn(ndarray::IxDyn(&[9]), |i| first + 5 * i[0] as u8);
        let at = |first: u8| qlinear_softmax(row(first).view(), qx, -1, qy).unwrap();
        assert_eq!(at(0), at(200));
    }

    #[test]
    fn table_ends_below_infinity() {
        for scale in [1e-6, 0.1, 30.0] {
            for n in [1, 1000, 1 << 24] {
                let table = exponentials(n, scale);
                assert!(table[255] * (n as f32) < f32::INFINITY, "{scale} {n}");
            }
        }
    }
}
