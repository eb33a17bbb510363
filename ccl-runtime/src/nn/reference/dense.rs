//! Products: convolutions of one pixel, dense layers, products of activations, attention.

use ccl_golden::attention::{AttentionQuant, SoftmaxKind};
use ccl_golden::conv::{Window, qlinear_conv};
use ccl_golden::matmul::qlinear_matmul;
use ccl_golden::{Quant, QuantPer};
use ndarray::{Array1, Array2, Array3, Axis, s};

use super::reduce::table_scale;
use super::{float, plain, steps, store};
use crate::kernel::Linear;
use crate::value::{Fx, Scale};

/// QLinearConv of one pixel.
pub fn pointwise(x: &Array3<i8>, w: &Linear<i8>, y: &mut Array3<i8>, scale: Scale, zero_point: i32) {
    pointwise_of(x, w, y, &QuantPer::tensor(steps(float(scale), 0)), zero_point);
}

/// QLinearConv of one pixel, a scale for each output.
pub fn pointwise_per_channel<const S: usize>(
    x: &Array3<i8>,
    w: &Linear<i8>,
    scales: &Array1<i32>,
    y: &mut Array3<i8>,
    zero_point: i32,
) {
    let scales: Vec<f32> =
        scales.iter().take(y.dim().0).map(|s| (f64::from(*s) / f64::from(1u32 << S)) as f32).collect();
    pointwise_of(x, w, y, &QuantPer::channels(&scales, &[0]).expect("scales are positive"), zero_point);
}

fn pointwise_of(x: &Array3<i8>, w: &Linear<i8>, y: &mut Array3<i8>, qw: &QuantPer<i8>, zero_point: i32) {
    let x = x.view().insert_axis(Axis(0));
    let weights = w.weights.view().insert_axis(Axis(2)).insert_axis(Axis(3));
    let (bias, window) = (Some(w.bias.view()), Window::default());
    store(y, qlinear_conv(x, plain(), weights, qw, bias, steps(1.0, zero_point), &window, 1).expect("extents fit"));
}

/// QGemm with transposed weights.
pub fn dense(x: &Array2<i8>, w: &Linear<i8>, y: &mut Array2<i8>, scale: Scale, zero_point: i32) {
    let x = x.t().to_owned().insert_axis(Axis(2));
    let mut out = Array3::zeros((y.dim().1, y.dim().0, 1));
    pointwise(&x, w, &mut out, scale, zero_point);
    store(y, out.index_axis(Axis(2), 0).t().to_owned());
}

/// QLinearMatMul with the second factor transposed.
pub fn matmul_transposed(
    a: &Array2<i8>,
    b: &Array2<i8>,
    y: &mut Array2<i8>,
    scale: Scale,
    zero_points: (i32, i32, i32),
) {
    let b = b.t().to_owned().into_dyn();
    let (qa, qb) = (steps(float(scale), zero_points.0), steps(1.0, zero_points.1));
    let a = a.clone().into_dyn();
    store(y, qlinear_matmul(a.view(), qa, b.view(), &qb.into(), steps(1.0, zero_points.2)).expect("extents fit"));
}

/// QLinearMatMul with the second factor channel by channel.
pub fn matmul(a: &Array2<i8>, b: &Array3<i8>, y: &mut Array2<i8>, scale: Scale, zero_points: (i32, i32, i32)) {
    let rows = b.to_shape((b.dim().0, b.dim().1 * b.dim().2)).expect("planes are rows").to_owned();
    matmul_transposed(a, &rows, y, scale, zero_points);
}

/// Attention of one head, whose scores are quantised once.
#[expect(clippy::too_many_arguments, reason = "they are those of the kernel")]
pub fn attention_head<const P: usize, const R: usize>(
    q: &Array2<i8>,
    keys: &Array2<i8>,
    values: &Array3<i8>,
    table: &Array1<i32>,
    y: &mut Array2<i8>,
    scales: (Scale, Scale),
    probability: Fx<R>,
    inputs: (i32, i32, i32),
    zero_points: (i32, i32, i32),
) {
    let score_scale = table_scale(table, P);
    let probability_scale = (1.0 / probability.to_f64()) as f32;
    let score = steps(score_scale, zero_points.0);
    let quant = AttentionQuant {
        query: steps(float(scales.0) * score_scale, inputs.0),
        key: steps(1.0, inputs.1),
        value: steps(float(scales.1) / probability_scale, inputs.2),
        score,
        scaled: score,
        probability: steps(probability_scale, zero_points.1),
        output: steps(1.0, zero_points.2),
    };
    let values = values.slice(s![.., 0, ..keys.dim().0]).t().to_owned().into_dyn();
    let (q, keys) = (q.clone().into_dyn(), keys.clone().into_dyn());
    let one = (1i8, Quant::new(1.0, 0).expect("a scale"));
    let head = ccl_golden::attention::attention_head(q.view(), keys.view(), values.view(), one, SoftmaxKind::Float, &quant);
    store(y, head.expect("extents fit").output);
}
