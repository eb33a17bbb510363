//! Layers with their biases and residuals, each stage by its operator.

use ccl_golden::binary::qlinear_add;
use ndarray::{Array1, Array2, Array3, Axis, concatenate, s};

use super::{add, depthwise3, float, layer_norm, pointwise, resize_linear, steps, store, to_planar_with_rows, unary};
use crate::kernel::Linear;
use crate::value::{Fx, Scale};

/// QLinearMatMul over channels, and QLinearAdd of an addend for each: 21 fraction bits of steps of the sum.
fn layer(x: &Array3<i8>, w: &Linear<i8>, n_outputs: usize, scales: (Scale, Scale)) -> Array3<i8> {
    let plain = Linear { weights: w.weights.clone(), bias: Array1::zeros(w.bias.len()) };
    layer_around(x, &plain, w.bias.as_slice().expect("one row"), n_outputs, scales, 0)
}

/// As [`layer`], the addends apart; the product has a zero point.
fn layer_around(
    x: &Array3<i8>,
    w: &Linear<i8>,
    addends: &[i32],
    n_outputs: usize,
    scales: (Scale, Scale),
    zero_point: i32,
) -> Array3<i8> {
    let (_, height, width) = x.dim();
    let mut product = Array3::zeros((n_outputs, height, width));
    pointwise(x, w, &mut product, scales.0, zero_point);
    for (mut channel, addend) in product.axis_iter_mut(Axis(0)).zip(addends) {
        // The addend is one step of its own size.
        let size = (f64::from(*addend).abs() / f64::from(1u32 << 21)) as f32;
        let (one, size) = if *addend == 0 { (0, 1.0) } else { (addend.signum() as i8, size) };
        let addends = Array2::from_elem(channel.dim(), one).into_dyn();
        let product = channel.to_owned().into_dyn();
        let of_product = steps(float(scales.1), zero_point);
        let sum = qlinear_add(product.view(), of_product, addends.view(), steps(size, 0), steps(1.0, 0));
        channel.iter_mut().zip(sum.expect("equal extents")).for_each(|(y, v)| *y = v);
    }
    product
}

/// Tokens as channels of one column of pixels.
fn columns(x: &Array2<i8>) -> Array3<i8> {
    x.t().to_owned().insert_axis(Axis(2))
}

/// QLinearMatMul and QLinearAdd.
pub fn dense_bias(x: &Array2<i8>, w: &Linear<i8>, y: &mut Array2<i8>, scales: (Scale, Scale)) {
    let sum = layer(&columns(x), w, y.dim().1, scales);
    store(y, sum.index_axis(Axis(2), 0).t().to_owned());
}

/// QLinearMatMul and QLinearAdd with zero points; the last four weights of an output are its addend.
pub fn dense_bias_around(
    x: &Array2<i8>,
    w: &Linear<i8>,
    y: &mut Array2<i8>,
    scales: (Scale, Scale),
    zero_point: i32,
) {
    let (n_inputs, n_weights) = (x.ncols(), w.weights.ncols());
    let word = |o: usize| i32::from_le_bytes(std::array::from_fn(|i| w.weights[[o, n_weights - 4 + i]] as u8));
    let addends: Vec<i32> = (0..w.weights.nrows()).map(word).collect();
    let layer = Linear { weights: w.weights.slice(s![.., ..n_inputs]).to_owned(), bias: w.bias.clone() };
    let sum = layer_around(&columns(x), &layer, &addends, y.dim().1, scales, zero_point);
    store(y, sum.index_axis(Axis(2), 0).t().to_owned());
}

/// QLinearMatMul, QLinearAdd of biases and of the residual.
pub fn dense_bias_residual(
    x: &Array2<i8>,
    w: &Linear<i8>,
    skip: &Array2<i8>,
    y: &mut Array2<i8>,
    scales: (Scale, Scale),
    residual: (Scale, Scale),
) {
    let layer = layer(&columns(x), w, y.dim().1, scales);
    let mut sum = Array3::zeros(layer.dim());
    add(&layer, &columns(skip), &mut sum, residual, (0, 0, 0));
    store(y, sum.index_axis(Axis(2), 0).t().to_owned());
}

/// Queries, keys and values, stage by stage.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn projections(
    x: &Array3<i8>,
    positions: &Array3<i8>,
    query: &Linear<i8>,
    key: &Linear<i8>,
    value: &Linear<i8>,
    q: &mut Array3<i8>,
    k: &mut Array3<i8>,
    v: &mut Array3<i8>,
    steps: (Scale, Scale),
    query_scales: (Scale, Scale),
    key_scales: (Scale, Scale),
    value_scales: (Scale, Scale),
) {
    let mut sum = Array3::zeros(x.dim());
    add(x, positions, &mut sum, steps, (0, 0, 0));
    let n_outputs = q.dim().0;
    store(q, layer(&sum, query, n_outputs, query_scales));
    store(k, layer(&sum, key, n_outputs, key_scales));
    to_planar_with_rows(&layer(x, value, n_outputs, value_scales), v);
}

/// The feed-forward block of a transformer, stage by stage.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn ffn_table(
    x: &Array2<i8>,
    skip: &Array2<i8>,
    expand: &Linear<i8>,
    table: &Array1<i8>,
    project: &Linear<i8>,
    y: &mut Array2<i8>,
    expand_scales: (Scale, Scale),
    project_scales: (Scale, Scale),
    residual: (Scale, Scale),
) {
    let hidden = layer(&columns(x), expand, expand.weights.nrows(), expand_scales);
    let mut gated = Array3::zeros(hidden.dim());
    unary(&hidden, table, &mut gated);
    let gated = gated.index_axis(Axis(2), 0).t().to_owned();
    dense_bias_residual(&gated, project, skip, y, project_scales, residual);
}

/// As [`ffn_table`], with the table of a ReLU.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn ffn_relu(
    x: &Array2<i8>,
    skip: &Array2<i8>,
    expand: &Linear<i8>,
    project: &Linear<i8>,
    y: &mut Array2<i8>,
    expand_scales: (Scale, Scale),
    project_scales: (Scale, Scale),
    residual: (Scale, Scale),
) {
    let table = Array1::from_shape_fn(256, |v| (v as u8 as i8).max(0));
    ffn_table(x, skip, expand, &table, project, y, expand_scales, project_scales, residual);
}

/// As [`dense_bias_residual`], and LayerNormalization.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn dense_bias_residual_norm<const G: usize, const E: usize, const A: usize, const M: usize>(
    x: &Array2<i8>,
    w: &Linear<i8>,
    skip: &Array2<i8>,
    parameters: &Array1<i32>,
    y: &mut Array2<i8>,
    scales: (Scale, Scale),
    residual: (Scale, Scale),
    epsilon: Fx<E>,
) {
    let mut sum = Array2::zeros(y.dim());
    dense_bias_residual(x, w, skip, &mut sum, scales, residual);
    normalise::<G, E, A, M>(&sum, parameters, y, epsilon);
}

/// As [`ffn_relu`], whose residual is its input, and LayerNormalization.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn ffn_relu_norm<const G: usize, const E: usize, const A: usize, const M: usize>(
    x: &Array2<i8>,
    expand: &Linear<i8>,
    project: &Linear<i8>,
    parameters: &Array1<i32>,
    y: &mut Array2<i8>,
    expand_scales: (Scale, Scale),
    project_scales: (Scale, Scale),
    residual: (Scale, Scale),
    epsilon: Fx<E>,
) {
    let mut sum = Array2::zeros(y.dim());
    ffn_relu(x, x, expand, project, &mut sum, expand_scales, project_scales, residual);
    normalise::<G, E, A, M>(&sum, parameters, y, epsilon);
}

/// LayerNormalization of tokens.
fn normalise<const G: usize, const E: usize, const A: usize, const M: usize>(
    x: &Array2<i8>,
    parameters: &Array1<i32>,
    y: &mut Array2<i8>,
    epsilon: Fx<E>,
) {
    let mut normal = columns(y);
    layer_norm::<G, E, A, M>(&columns(x), parameters, &mut normal, epsilon);
    store(y, normal.index_axis(Axis(2), 0).t().to_owned());
}

/// The feed-forward block of a SegFormer, stage by stage.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn mix_ffn(
    x: &Array3<i8>,
    skip: &Array3<i8>,
    expand: &Linear<i8>,
    depthwise: &Linear<i8>,
    table: &Array1<i8>,
    project: &Linear<i8>,
    y: &mut Array3<i8>,
    are_added: bool,
    expand_scales: (Scale, Scale),
    depthwise_scale: Scale,
    project_scales: (Scale, Scale),
    residual: (Scale, Scale),
) {
    let dense = |x: &Array3<i8>, w: &Linear<i8>, scales: (Scale, Scale)| {
        let n_outputs = w.weights.nrows();
        if are_added {
            return layer(x, w, n_outputs, scales);
        }
        let mut out = Array3::zeros((n_outputs, x.dim().1, x.dim().2));
        pointwise(x, w, &mut out, scales.0, 0);
        out
    };
    let hidden = dense(x, expand, expand_scales);
    let (mut mixed, mut gated) = (Array3::zeros(hidden.dim()), Array3::zeros(hidden.dim()));
    depthwise3(&hidden, depthwise, &mut mixed, depthwise_scale, 0);
    unary(&mixed, table, &mut gated);
    add(&dense(&gated, project, project_scales), skip, y, residual, (0, 0, 0));
}

/// The decode head of a SegFormer, stage by stage.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn decode_head(
    x1: &Array3<i8>,
    x2: &Array3<i8>,
    x4: &Array3<i8>,
    x8: &Array3<i8>,
    project1: &Linear<i8>,
    project2: &Linear<i8>,
    project4: &Linear<i8>,
    project8: &Linear<i8>,
    tables: &Array1<i8>,
    fuse: &Linear<i8>,
    gate: &Array1<i8>,
    classify: &Linear<i8>,
    y: &mut Array3<i8>,
    scales1: (Scale, Scale),
    scales2: (Scale, Scale),
    scales4: (Scale, Scale),
    scales8: (Scale, Scale),
    fuse_scale: Scale,
    classify_scale: Scale,
) {
    let (_, height, width) = x1.dim();
    let zeros = |channels: usize| Array3::zeros((channels, height, width));
    let levels =
        [(x8, project8, scales8), (x4, project4, scales4), (x2, project2, scales2), (x1, project1, scales1)];
    let parts = levels.into_iter().enumerate().map(|(i, (x, w, scales))| {
        let (mut enlarged, mut part) = (zeros(w.weights.nrows()), zeros(w.weights.nrows()));
        resize_linear(&layer(x, w, w.weights.nrows(), scales), &mut enlarged);
        unary(&enlarged, &tables.slice(s![256 * i..256 * (i + 1)]).to_owned(), &mut part);
        part
    });
    let parts: Vec<Array3<i8>> = parts.collect();
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    let all = concatenate(Axis(0), &views).expect("equal extents");
    let (mut fused, mut gated) = (zeros(fuse.weights.nrows()), zeros(fuse.weights.nrows()));
    pointwise(&all, fuse, &mut fused, fuse_scale, 0);
    unary(&fused, gate, &mut gated);
    pointwise(&gated, classify, y, classify_scale, 0);
}
