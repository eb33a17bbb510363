//! Layer and batch normalisation.
//!
//! Layer normalisation sums in the order of ORT on a host with AVX-512, and equals it to the bit.

use ndarray::{ArrayD, ArrayView1, ArrayViewD, Axis};

use crate::error::{GoldenError, expect_extent, resolve_axis};
use crate::float32;
use crate::int8::Int8;
use crate::linear::{dequantize, quantize};
use crate::quant::Quant;

/// Layer normalisation of a quantised tensor, quantised again: `Q(layer_norm_f32(DQ(x)))`.
///
/// # Shapes
/// `x: [.., D, ..]`, normalised over `axis` and all that follow, `n` elements; `gamma`, `beta: [n]`, in row order; the
/// result has the shape of `x`.
/// # Errors
/// [`GoldenError::Axis`]; [`GoldenError::Extent`] for `gamma` or `beta`; [`GoldenError::FloatParameter`] for an `epsilon`
/// that is negative or not finite.
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
    let real = x.mapv(|v| dequantize(v, qx));
    Ok(layer_norm_f32(real.view(), axis, gamma, beta, epsilon)?.mapv(|v| quantize(v, qy)))
}

/// Layer normalisation of a float32 tensor, in ORT's order: `fma((x - mean) * (1 / sigma), gamma, beta)`. Rows of fewer than
/// 8 elements, for which ORT has another order, are in float64 with one rounding at the end.
///
/// # Shapes
/// As [`layer_norm_quantized`].
/// # Errors
/// As [`layer_norm_quantized`].
/// # Source
/// The ONNX operator LayerNormalization; the order is [`crate::float32`]'s.
pub fn layer_norm_f32(
    x: ArrayViewD<f32>,
    axis: isize,
    gamma: ArrayView1<f32>,
    beta: Option<ArrayView1<f32>>,
    epsilon: f32,
) -> Result<ArrayD<f32>, GoldenError> {
    let rows = Rows::new(x.shape(), axis, gamma, beta, epsilon)?;
    let values: Vec<f32> = x.iter().copied().collect();
    let mut y = Vec::with_capacity(values.len());
    for row in values.chunks(rows.n_row.max(1)) {
        if row.len() < 8 { rows.short(row, &mut y) } else { rows.long(row, &mut y) }
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
    epsilon: f32,
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
        expect_extent(OP, "gamma", gamma.len(), n_row)?;
        if let Some(beta) = &beta {
            expect_extent(OP, "beta", beta.len(), n_row)?;
        }
        Ok(Rows { n_row, gamma, beta, epsilon })
    }

    fn long(&self, row: &[f32], y: &mut Vec<f32>) {
        let (mean, inverse) = float32::mean_and_inverse_deviation(row, self.epsilon);
        y.extend(row.iter().enumerate().map(|(i, v)| {
            let normal = (v - mean) * inverse;
            self.beta.map_or(normal * self.gamma[i], |beta| normal.mul_add(self.gamma[i], beta[i]))
        }));
    }

    fn short(&self, row: &[f32], y: &mut Vec<f32>) {
        let n = row.len() as f64;
        let wide = || row.iter().map(|&v| f64::from(v));
        let mean = wide().sum::<f64>() / n;
        let variance = wide().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        let inverse = 1.0 / (variance + f64::from(self.epsilon)).sqrt();
        y.extend(wide().enumerate().map(|(i, v)| {
            let offset = self.beta.map_or(0.0, |beta| f64::from(beta[i]));
            ((v - mean) * inverse * f64::from(self.gamma[i]) + offset) as f32
        }));
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, ArrayD, IxDyn, arr1};

    use super::*;

    #[test]
    fn constant_rows_give_beta() {
        let x = ArrayD::from_elem(IxDyn(&[2, 4]), -128_i8);
        let q = Quant::new(0.1, 5_i8).unwrap();
        let (gamma, beta) = (Array1::ones(4), arr1(&[0.0, 0.1, -0.2, 3.0]));
        let y = layer_norm_quantized(x.view(), q, -1, gamma.view(), Some(beta.view()), 1e-5, q).unwrap();
        assert_eq!(y.as_slice().unwrap(), &[5, 6, 3, 35, 5, 6, 3, 35]);
    }

    #[test]
    fn short_and_long_rows_are_close_to_float64() {
        for n in [3, 7, 8, 13, 160] {
            let x = ArrayD::from_shape_fn(IxDyn(&[5, n]), |i| ((i[0] * 71 + i[1] * 37) % 101) as f32 * 0.25);
            let (gamma, beta) = (Array1::from_shape_fn(n, |i| 0.5 + 0.1 * i as f32), Array1::from_elem(n, 0.125));
            let y = layer_norm_f32(x.view(), 1, gamma.view(), Some(beta.view()), 1e-6).unwrap();
            for (x, y) in x.rows().into_iter().zip(y.rows()) {
                let mean = x.iter().map(|&v| f64::from(v)).sum::<f64>() / n as f64;
                let variance = x.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / n as f64;
                for i in 0..n {
                    let exact = (f64::from(x[i]) - mean) / (variance + 1e-6).sqrt() * f64::from(gamma[i]) + 0.125;
                    assert!((f64::from(y[i]) - exact).abs() < 1e-5 * exact.abs().max(1.0), "{n}: {} {exact}", y[i]);
                }
            }
        }
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
