//! What looks at all channels of a pixel: softmax, layer norm, arg-max.

use ccl_golden::argmax::Tie;
use ccl_golden::{linear, norm, softmax as operators};
use ndarray::{Array1, Array2, Array3};

use super::pointwise::real;
use super::{any, float, steps, store};
use crate::value::{Fx, Scale};

/// The step of scores of which a table holds the exponentials: from the entry that is nearest to 1/4, which says most.
pub(super) fn table_scale(table: &Array1<i32>, fraction: usize) -> f32 {
    let one = f64::from(1u32 << fraction);
    let (d, e) = (1..256).map(|d| (d, f64::from(table[d]) / one)).min_by(|a, b| {
        (a.1 - 0.25).abs().total_cmp(&(b.1 - 0.25).abs())
    }).expect("a table has entries");
    (-e.ln() / d as f64) as f32
}

/// Softmax between DequantizeLinear and QuantizeLinear.
pub fn softmax<const P: usize, const R: usize>(
    x: &Array2<i8>,
    table: &Array1<i32>,
    y: &mut Array2<i8>,
    per_step: Fx<R>,
    zero_point: i32,
) {
    let (qx, qy) = (steps(table_scale(table, P), 0), steps((1.0 / real(per_step)) as f32, zero_point));
    store(y, operators::softmax_quantized(x.clone().into_dyn().view(), qx, -1, qy).expect("there is an axis"));
}

/// Softmax of 32-bit scores, and QuantizeLinear.
pub fn softmax_wide<const R: usize>(
    x: &Array2<i32>,
    y: &mut Array2<i8>,
    scale: Scale,
    per_step: Fx<R>,
    zero_point: i32,
) {
    let scores = linear::dequantize_linear_i32(x.clone().into_dyn().view(), float(scale)).expect("a scale");
    let e = operators::softmax_f32(scores.view(), -1).expect("there is an axis");
    store(y, linear::quantize_linear(e.view(), steps((1.0 / real(per_step)) as f32, zero_point)));
}

/// LayerNormalization over channels, and QuantizeLinear.
pub fn layer_norm<const G: usize, const E: usize, const A: usize, const M: usize>(
    x: &Array3<i8>,
    parameters: &Array1<i32>,
    y: &mut Array3<i8>,
    epsilon: Fx<E>,
) {
    let channels = x.dim().0;
    let number = |i: usize, fraction: usize| (f64::from(parameters[i]) / f64::from(1u32 << fraction)) as f32;
    let gamma = Array1::from_shape_fn(channels, |c| number(2 * c, G));
    let beta = Array1::from_shape_fn(channels, |c| number(2 * c + 1, M) - 0.5);
    let epsilon = real(epsilon) * f64::from(1u32 << A) / (channels * channels) as f64;
    let pixels = x.view().permuted_axes([1, 2, 0]).as_standard_layout().into_owned().into_dyn();
    let q = steps(1.0, 0);
    let normal = norm::layer_norm_quantized(pixels.view(), q, -1, gamma.view(), Some(beta.view()), epsilon as f32, q);
    let normal = normal.expect("extents fit").permuted_axes(vec![2, 0, 1]);
    store(y, normal);
}

/// LayerNormalization over channels, in fixed point.
pub fn layer_norm_fixed<const G: usize, const E: usize, const A: usize, const F: usize>(
    x: &Array3<i8>,
    parameters: &Array1<i32>,
    y: &mut Array3<i32>,
    epsilon: Fx<E>,
) {
    let channels = x.dim().0;
    let number = |i: usize, fraction: usize| (f64::from(parameters[i]) / f64::from(1u32 << fraction)) as f32;
    let gamma = Array1::from_shape_fn(channels, |c| number(2 * c, G));
    let beta = Array1::from_shape_fn(channels, |c| number(2 * c + 1, F));
    let epsilon = real(epsilon) * f64::from(1u32 << A) / (channels * channels) as f64;
    let pixels = x.view().permuted_axes([1, 2, 0]).mapv(f32::from).into_dyn();
    let normal = norm::layer_norm_f32(pixels.view(), -1, gamma.view(), Some(beta.view()), epsilon as f32);
    let normal = normal.expect("extents fit").permuted_axes(vec![2, 0, 1]);
    store(y, normal.mapv(|v| (f64::from(v) * f64::from(1u32 << F)).round() as i32));
}

/// LayerNormalization of a LayerNormalization in float, and QuantizeLinear.
pub fn layer_norm_twice<
    const G: usize,
    const E: usize,
    const A: usize,
    const B: usize,
    const F: usize,
    const V: usize,
    const M: usize,
>(
    x: &Array3<i8>,
    parameters: &Array1<i32>,
    y: &mut Array3<i8>,
    epsilon: Fx<E>,
    added: Fx<V>,
) {
    let channels = x.dim().0;
    let number = |i: usize, fraction: usize| (f64::from(parameters[i]) / f64::from(1u32 << fraction)) as f32;
    let every_other = |first: usize, fraction: usize, less: f32| {
        Array1::from_shape_fn(channels, |c| number(first + 2 * c, fraction) - less)
    };
    let (gamma, beta) = (every_other(0, B, 0.0), every_other(1, F, 0.0));
    let pixels = x.view().permuted_axes([1, 2, 0]).mapv(f32::from).into_dyn();
    let of_first = real(epsilon) * f64::from(1u32 << A) / (channels * channels) as f64;
    let first = norm::layer_norm_f32(pixels.view(), -1, gamma.view(), Some(beta.view()), of_first as f32);
    let (gamma, beta) = (every_other(2 * channels, G, 0.0), every_other(2 * channels + 1, M, 0.5));
    let of_second = (real(added) / channels as f64) as f32;
    let first = first.expect("extents fit");
    let second = norm::layer_norm_f32(first.view(), -1, gamma.view(), Some(beta.view()), of_second);
    let second = linear::quantize_linear(second.expect("extents fit").view(), steps(1.0, 0));
    store(y, second.permuted_axes(vec![2, 0, 1]));
}

/// ArgMax, of equal ones the first.
pub fn argmax(x: &Array3<i8>, labels: &mut Array3<u8>) {
    let labels_of = ccl_golden::argmax::argmax(any(x).view(), 0, Tie::First).expect("there are channels");
    store(labels, labels_of.mapv(|label| label as u8));
}
