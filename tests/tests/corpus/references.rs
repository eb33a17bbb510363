//! What the kernels of the corpus must give: plain loops over arrays of the host.

use ccl_runtime::kernel::Linear;
use ccl_runtime::prelude::{Fx, Scale};
use ndarray::{Array1, Array2, Array3};

/// `round_half_even(v * scale)` to int8.
fn requantised(v: i64, scale: Scale) -> i8 {
    let (p, d) = (v as i128 * scale.mantissa as i128, 1i128 << scale.shift);
    let (floor, rest) = (p.div_euclid(d), p.rem_euclid(d));
    (floor + (2 * rest > d || (2 * rest == d && floor & 1 == 1)) as i128).clamp(-128, 127) as i8
}

fn factor(scale: Scale) -> f64 {
    scale.mantissa as f64 / 2f64.powi(scale.shift)
}

/// The sum of the products for output `o`, of 32 bits.
fn product(inputs: impl Iterator<Item = i8>, w: &Linear<i8>, o: usize) -> i64 {
    let sum = inputs.zip(w.weights.row(o)).map(|(a, w)| a as i32 * *w as i32).fold(w.bias[o], i32::wrapping_add);
    sum as i64
}

pub(crate) fn add(a: &Array3<i8>, b: &Array3<i8>, y: &mut Array3<i8>, scale_a: Scale, scale_b: Scale) {
    let fixed = |v: i8, s: Scale| ((v as i64 * s.mantissa as i64) >> (s.shift - 16)) as i32;
    for ((a, b), y) in a.iter().zip(b).zip(y) {
        *y = requantised((fixed(*a, scale_a) + fixed(*b, scale_b)) as i64, Scale::new(1, 16));
    }
}

pub(crate) fn argmax(x: &Array3<i8>, labels: &mut Array3<u8>) {
    for ((_, y, col), label) in labels.indexed_iter_mut() {
        *label = (0..x.dim().0).rev().max_by_key(|c| x[[*c, y, col]]).expect("a channel") as u8;
    }
}

pub(crate) fn conv<const KH: usize, const KW: usize, const STRIDE: usize, const DILATION: usize>(
    x: &Array3<i8>,
    w: &Linear<i8>,
    y: &mut Array3<i8>,
    pad_y: i32,
    pad_x: i32,
    scale: Scale,
) {
    let ci = x.dim().0;
    for ((o, row, col), y) in y.indexed_iter_mut() {
        let taps = (0..KH * KW * ci).map(|k| {
            let (tap, c) = (k / ci, k % ci);
            let row = (row * STRIDE + tap / KW * DILATION) as i32 - pad_y;
            let col = (col * STRIDE + tap % KW * DILATION) as i32 - pad_x;
            x.get([c, row as usize, col as usize]).copied().unwrap_or(0)
        });
        *y = requantised(product(taps, w, o), scale);
    }
}

pub(crate) fn pointwise(x: &Array3<i8>, w: &Linear<i8>, y: &mut Array3<i8>, scale: Scale) {
    conv::<1, 1, 1, 1>(x, w, y, 0, 0, scale);
}

pub(crate) fn patch_embed(x: &Array3<i8>, w: &Linear<i8>, y: &mut Array3<i8>, scale: Scale) {
    for ((o, row, col), y) in y.indexed_iter_mut() {
        let window = (0..64 * x.dim().0).map(|k| x[[k / 64, row * 8 + k / 8 % 8, col * 8 + k % 8]]);
        *y = requantised(product(window, w, o), scale);
    }
}

pub(crate) fn dense(x: &Array2<i8>, w: &Linear<i8>, y: &mut Array2<i8>, scale: Scale) {
    for ((n, o), y) in y.indexed_iter_mut() {
        *y = requantised(product(x.row(n).iter().copied(), w, o), scale);
    }
}

pub(crate) fn depthwise(x: &Array3<i8>, w: &Array1<i16>, y: &mut Array3<i8>, scale: Scale) {
    for ((c, row, col), y) in y.indexed_iter_mut() {
        let own = |i: usize| w[c * 11 + i];
        let mut sum = (own(0) as u16 as i32) | ((own(1) as i32) << 16);
        for (ky, kx) in (0..3).flat_map(|ky| (0..3).map(move |kx| (ky, kx))) {
            let tap = x.get([c, (row + ky).wrapping_sub(1), (col + kx).wrapping_sub(1)]).copied().unwrap_or(0);
            sum = sum.wrapping_add(tap as i32 * own(2 + kx * 3 + ky) as i32);
        }
        *y = requantised(sum as i64, scale);
    }
}

pub(crate) fn unary(x: &Array3<i8>, table: &Array1<i8>, y: &mut Array3<i8>) {
    // The index -128 counts as 128.
    y.zip_mut_with(x, |y, x| *y = table[*x as u8 as usize]);
}

pub(crate) fn max_pool(x: &Array3<i8>, y: &mut Array3<i8>) {
    for ((c, row, col), y) in y.indexed_iter_mut() {
        let window =
            (0..9).filter_map(|i| x.get([c, (2 * row + i / 3).wrapping_sub(1), (2 * col + i % 3).wrapping_sub(1)]));
        *y = *window.max().expect("the centre is inside");
    }
}

pub(crate) fn residual<const N: usize>(x: &mut [Array3<i8>; N], skip: &[Array3<i8>; N], out: &mut [Array3<i8>; N]) {
    for ((x, skip), out) in x.iter_mut().zip(skip).zip(out) {
        x.zip_mut_with(skip, |x, skip| *x = x.saturating_add(*skip));
        out.assign(x);
    }
}

pub(crate) fn layer_norm(
    x: &Array3<i8>,
    gamma_beta: &Array1<i32>,
    y: &mut Array3<i8>,
    _per_channel: Fx<24>,
    out: Scale,
) {
    let n = x.dim().0 as f64;
    for ((c, row, col), y) in y.indexed_iter_mut() {
        let pixel = |c: usize| x[[c, row, col]] as f64;
        let mean = (0..x.dim().0).map(pixel).sum::<f64>() / n;
        let variance = (0..x.dim().0).map(|c| (pixel(c) - mean).powi(2)).sum::<f64>() / n;
        let [gamma, beta] = [0, 1].map(|i| gamma_beta[2 * c + i] as f64 / f64::from(1 << 20));
        let normal = (pixel(c) - mean) / variance.sqrt() * gamma + beta;
        *y = (normal * factor(out)).round().clamp(-128.0, 127.0) as i8;
    }
}

pub(crate) fn softmax(x: &Array2<i32>, y: &mut Array2<i8>, scale: Scale) {
    for (x, mut y) in x.outer_iter().zip(y.outer_iter_mut()) {
        let top = *x.iter().max().expect("a key");
        let e = x.mapv(|x| (x.wrapping_sub(top) as f64 * factor(scale)).exp());
        y.zip_mut_with(&(&e / e.sum()), |y, p| *y = (p * 127.0).round() as i8);
    }
}

pub(crate) fn resize_linear(x: &Array3<i8>, y: &mut Array3<i8>, step_y: Fx<12>, step_x: Fx<12>) {
    let (_, h, w) = x.dim();
    for ((_, row, col), y) in y.indexed_iter_mut() {
        let at = |i: usize, step: Fx<12>| ((i as f64 + 0.5) * step.to_f64() - 0.5).max(0.0);
        let (py, px) = (at(row, step_y), at(col, step_x));
        let (iy, ix) = (py as usize, px as usize);
        let line = |r: usize| {
            let (left, right) = (x[[0, r, ix]] as f64, x[[0, r, (ix + 1).min(w - 1)]] as f64);
            left + (right - left) * px.fract()
        };
        let (top, bottom) = (line(iy), line((iy + 1).min(h - 1)));
        *y = (top + (bottom - top) * py.fract()).round() as i8;
    }
}
