//! Layer and batch normalisation.
//!
//! ORT's float32 layer normalisation depends on its summation order, so no formula equals it always. Here the sums are
//! exact and the rest is float64, which after the quantisation differs from ORT about 4 times in 1.6 million, by 1.

use ndarray::{ArrayD, ArrayView1, ArrayViewD, Axis};

use crate::error::{GoldenError, expect_extent, resolve_axis};
use crate::int8::Int8;
use crate::linear::quantize;
use crate::quant::Quant;

/// Layer normalisation of a quantised tensor, quantised again.
///
/// With `q = x - z_x`: exact integer sums `S` and `SS` of `q` and `q^2` over the `n` normalised elements,
/// `var = (n * SS - S^2) / n^2`, then `(q - S / n) * s_x / sqrt(var * s_x^2 + epsilon) * gamma + beta` in float64, rounded
/// to float32 once and quantised.
///
/// # Shapes
/// `x: [.., D, ..]`, normalised over `axis` and all that follow, `n` elements; `gamma`, `beta: [n]`, in row order; the
/// result has the shape of `x`.
/// # Errors
/// [`GoldenError::Axis`]; [`GoldenError::Extent`] for `gamma` or `beta`; [`GoldenError::FloatParameter`] for an `epsilon`
/// that is negative or not finite; [`GoldenError::TooLarge`] if the sums could overflow.
/// # Source
/// `NUMERICS.md`, LayerNormalization.
pub fn layer_norm_quantized<X: Int8, Y: Int8>(
    x: ArrayViewD<X>,
    qx: Quant<X>,
    axis: isize,
    gamma: ArrayView1<f32>,
    beta: Option<ArrayView1<f32>>,
    epsilon: f32,
    qy: Quant<Y>,
) -> Result<ArrayD<Y>, GoldenError> {
    let rows = Rows::new(x.shape(), axis, gamma, beta, epsilon)?;
    let scale = f64::from(qx.scale());
    let steps: Vec<i64> = x.iter().map(|v| i64::from(v.widen() - qx.zero())).collect();
    let mut y = Vec::with_capacity(steps.len());
    for row in steps.chunks(rows.n_row.max(1)) {
        let n = row.len() as i64;
        let sum: i64 = row.iter().sum();
        let squares: i64 = row.iter().map(|q| q * q).sum();
        let variance = (n * squares - sum * sum) as f64 / (n as f64 * n as f64);
        let inverse_sigma = 1.0 / (variance * scale * scale + f64::from(epsilon)).sqrt();
        for (i, q) in row.iter().enumerate() {
            let centred = (n * q - sum) as f64 / n as f64 * scale;
            y.push(quantize(rows.affine(i, centred * inverse_sigma), qy));
        }
    }
    Ok(ArrayD::from_shape_vec(x.raw_dim(), y).expect("one value per element"))
}

/// Layer normalisation of a float32 tensor, in float64 with one rounding at the end.
///
/// # Shapes
/// As [`layer_norm_quantized`].
/// # Errors
/// As [`layer_norm_quantized`].
/// # Source
/// The ONNX operator LayerNormalization.
pub fn layer_norm_f32(
    x: ArrayViewD<f32>,
    axis: isize,
    gamma: ArrayView1<f32>,
    beta: Option<ArrayView1<f32>>,
    epsilon: f32,
) -> Result<ArrayD<f32>, GoldenError> {
    let rows = Rows::new(x.shape(), axis, gamma, beta, epsilon)?;
    let values: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
    let mut y = Vec::with_capacity(values.len());
    for row in values.chunks(rows.n_row.max(1)) {
        let n = row.len() as f64;
        let mean = row.iter().sum::<f64>() / n;
        let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        let inverse_sigma = 1.0 / (variance + f64::from(epsilon)).sqrt();
        y.extend(row.iter().enumerate().map(|(i, v)| rows.affine(i, (v - mean) * inverse_sigma)));
    }
    Ok(ArrayD::from_shape_vec(x.raw_dim(), y).expect("one value per element"))
}

/// Batch normalisation with stored statistics, in float64 with one rounding at the end:
/// `(x - mean) / sqrt(variance + epsilon) * gamma + beta`.
///
/// # Shapes
/// `x: [N, C, ..]`; the four parameters `[C]`; the result has the shape of `x`.
/// # Errors
/// [`GoldenError::Axis`] for a tensor without channels; [`GoldenError::Extent`] for the parameters.
/// # Source
/// The ONNX operator BatchNormalization.
pub fn batch_norm_f32(
    x: ArrayViewD<f32>,
    gamma: ArrayView1<f32>,
    beta: ArrayView1<f32>,
    mean: ArrayView1<f32>,
    variance: ArrayView1<f32>,
    epsilon: f32,
) -> Result<ArrayD<f32>, GoldenError> {
    const OP: &str = "BatchNormalization";
    let axis = resolve_axis(OP, 1, x.ndim())?;
    for (what, list) in [("gamma", &gamma), ("beta", &beta), ("mean", &mean), ("variance", &variance)] {
        expect_extent(OP, what, list.len(), x.shape()[axis])?;
    }
    let mut y = x.to_owned();
    for (c, mut channel) in y.axis_iter_mut(Axis(axis)).enumerate() {
        let of = |list: &ArrayView1<f32>| f64::from(list[c]);
        let inverse_sigma = 1.0 / (of(&variance) + f64::from(epsilon)).sqrt();
        channel.mapv_inplace(|v| ((f64::from(v) - of(&mean)) * inverse_sigma * of(&gamma) + of(&beta)) as f32);
    }
    Ok(y)
}

/// The parameters of a layer normalisation, checked.
struct Rows<'a> {
    n_row: usize,
    gamma: ArrayView1<'a, f32>,
    beta: Option<ArrayView1<'a, f32>>,
}

impl<'a> Rows<'a> {
    fn new(
        shape: &[usize],
        axis: isize,
        gamma: ArrayView1<'a, f32>,
        beta: Option<ArrayView1<'a, f32>>,
        epsilon: f32,
    ) -> Result<Self, GoldenError> {
        const OP: &str = "LayerNormalization";
        let axis = resolve_axis(OP, axis, shape.len())?;
        let n_row: usize = shape[axis..].iter().product();
        if !(epsilon.is_finite() && epsilon >= 0.0) {
            let (value, legal) = (f64::from(epsilon), "finite and at least 0");
            return Err(GoldenError::FloatParameter { op: OP, name: "epsilon", value, legal });
        }
        if n_row > 1 << 22 {
            return Err(GoldenError::TooLarge { op: OP }); // n * SS would leave 63 bits
        }
        expect_extent(OP, "gamma", gamma.len(), n_row)?;
        if let Some(beta) = &beta {
            expect_extent(OP, "beta", beta.len(), n_row)?;
        }
        Ok(Rows { n_row, gamma, beta })
    }

    /// Scale and offset of element `i` of a row, rounded to float32.
    fn affine(&self, i: usize, normalised: f64) -> f32 {
        let offset = self.beta.map_or(0.0, |beta| f64::from(beta[i]));
        (normalised * f64::from(self.gamma[i]) + offset) as f32
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, ArrayD, IxDyn, arr1};

    use super::*;
    use crate::linear::dequantize_linear;

    #[test]
    fn constant_rows_give_beta() {
        let x = ArrayD::from_elem(IxDyn(&[2, 4]), -128_i8);
        let q = Quant::new(0.1, 5_i8).unwrap();
        let (gamma, beta) = (Array1::ones(4), arr1(&[0.0, 0.1, -0.2, 3.0]));
        let y = layer_norm_quantized(x.view(), q, -1, gamma.view(), Some(beta.view()), 1e-5, q).unwrap();
        assert_eq!(y.as_slice().unwrap(), &[5, 6, 3, 35, 5, 6, 3, 35]);
    }

    #[test]
    fn integer_and_float_agree_on_small_rows() {
        let x = ArrayD::from_shape_fn(IxDyn(&[7, 3, 5]), |i| (i[0] * 71 + i[1] * 37 + i[2] * 13) as u8 as i8);
        let (qx, qy) = (Quant::new(0.25, -3_i8).unwrap(), Quant::new(0.02, 11_i8).unwrap());
        let gamma = Array1::from_shape_fn(15, |i| 0.5 + 0.1 * i as f32);
        let quantized = layer_norm_quantized(x.view(), qx, 1, gamma.view(), None, 1e-6, qy).unwrap();
        let real = dequantize_linear(x.view(), qx);
        let float = layer_norm_f32(real.view(), 1, gamma.view(), None, 1e-6).unwrap();
        assert_eq!(quantized, float.mapv(|v| quantize(v, qy)));
    }

    #[test]
    fn misfits_are_errors() {
        let x = ArrayD::<f32>::zeros(IxDyn(&[2, 4]));
        let gamma = Array1::ones(3);
        let err = layer_norm_f32(x.view(), -1, gamma.view(), None, 1e-5).unwrap_err();
        assert_eq!(err.to_string(), "LayerNormalization: `gamma` is 3, expected 4");
        assert!(layer_norm_f32(x.view(), 2, gamma.view(), None, 1e-5).is_err());
    }
}
