//! Convolutions and poolings over windows.

use ccl_golden::QuantPer;
use ccl_golden::conv::{Window, qlinear_conv};
use ccl_golden::pool::{self, Pool, PoolDivisor, PoolExtent};
use ndarray::{Array1, Array3, Array4, Axis, concatenate};

use super::pointwise::real;
use super::{float, steps, store};
use crate::kernel::Linear;
use crate::value::{Fx, Scale};

/// How windows lie over an input, in (rows, columns).
#[derive(Clone, Copy)]
struct Walk {
    kernel: [usize; 2],
    stride: usize,
    dilation: [usize; 2],
    pad: (i32, i32),
}

impl Walk {
    /// The window that gives outputs of the wanted extents: what is missing below and at the right is padding.
    fn window(self, x: &Array3<i8>, y: &Array3<i8>) -> Window {
        let before = [self.pad.0 as usize, self.pad.1 as usize];
        let after = [0, 1].map(|axis| {
            let reach =
                (y.shape()[axis + 1] - 1) * self.stride + (self.kernel[axis] - 1) * self.dilation[axis] + 1;
            reach.saturating_sub(x.shape()[axis + 1] + before[axis])
        });
        Window {
            strides: [self.stride; 2],
            dilations: self.dilation,
            pads: [before[0], before[1], after[0], after[1]],
        }
    }
}

/// Channels filled up with zeros to a number.
fn filled(x: &Array3<i8>, channels: usize) -> Array3<i8> {
    let (c, h, w) = x.dim();
    let rest = Array3::zeros((channels.saturating_sub(c), h, w));
    concatenate(Axis(0), &[x.view(), rest.view()]).expect("planes of the same extents")
}

/// QLinearConv. In the biases of a kernel is what the zero point of `x` contributes; the operator adds it itself.
struct Conv {
    walk: Walk,
    weights: Array4<i8>,
    bias: Array1<i32>,
    groups: usize,
    scale: Scale,
    zero_points: (i32, i32),
}

impl Conv {
    fn run(&self, x: &Array3<i8>, y: &mut Array3<i8>) {
        let (n_outputs, in_group, ..) = self.weights.dim();
        let window = self.walk.window(x, y);
        let x = filled(x, in_group * self.groups);
        let sums = self.weights.map(|w| i32::from(*w)).sum_axis(Axis(3)).sum_axis(Axis(2)).sum_axis(Axis(1));
        let bias = Array1::from_shape_fn(n_outputs, |o| self.bias[o].wrapping_add(self.zero_points.0 * sums[o]));
        let (qx, qy) = (steps(float(self.scale), self.zero_points.0), steps(1.0, self.zero_points.1));
        let qw = QuantPer::tensor(steps(1.0, 0));
        let (x, w) = (x.view().insert_axis(Axis(0)), self.weights.view());
        let result = qlinear_conv(x, qx, w, &qw, Some(bias.view()), qy, &window, self.groups).expect("extents fit");
        let result = result.index_axis(Axis(0), 0).slice(ndarray::s![..y.dim().0, .., ..]).to_owned();
        store(y, result);
    }
}

/// Weights `[CO, taps * channels]`, tap by tap, as `[CO, channels, KH, KW]`.
fn by_taps(w: &Linear<i8>, [kh, kw]: [usize; 2], channels: usize) -> Array4<i8> {
    Array4::from_shape_fn((w.weights.nrows(), channels, kh, kw), |(o, c, ky, kx)| {
        w.weights[[o, (ky * kw + kx) * channels + c]]
    })
}

/// QLinearConv of groups of 4 channels, of which a depthwise stream uses the diagonal.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn depthwise<const KH: usize, const KW: usize>(
    x: &Array3<i8>,
    w: &Linear<i8>,
    y: &mut Array3<i8>,
    stride: usize,
    dilation: i32,
    pad: (i32, i32),
    scale: Scale,
    zero_points: (i32, i32),
) {
    let groups = x.dim().0.div_ceil(4);
    let (mut weights, mut bias) = (by_taps(w, [KH, KW], 4), w.bias.clone());
    let rest = 4 * groups - x.dim().0;
    weights.append(Axis(0), Array4::zeros((rest, 4, KH, KW)).view()).expect("weights of the same extents");
    bias.append(Axis(0), Array1::zeros(rest).view()).expect("a row of biases");
    let walk = Walk { kernel: [KH, KW], stride, dilation: [dilation as usize; 2], pad };
    Conv { walk, weights, bias, groups, scale, zero_points }.run(x, y);
}

/// [`depthwise`] of a window of 3 x 3, stride 1 and a border of 1.
pub fn depthwise3(x: &Array3<i8>, w: &Linear<i8>, y: &mut Array3<i8>, scale: Scale, zero_point: i32) {
    depthwise::<3, 3>(x, w, y, 1, 1, (1, 1), scale, (0, zero_point));
}

/// QLinearConv.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn conv_gather<const KH: usize, const KW: usize, const GROUPS: usize>(
    x: &Array3<i8>,
    w: &Linear<i8>,
    y: &mut Array3<i8>,
    stride: usize,
    dilation: (i32, i32),
    pad: (i32, i32),
    scale: Scale,
    zero_points: (i32, i32),
) {
    let weights = by_taps(w, [KH, KW], w.weights.ncols() / (KH * KW));
    let walk = Walk { kernel: [KH, KW], stride, dilation: [dilation.0 as usize, dilation.1 as usize], pad };
    Conv { walk, weights, bias: w.bias.clone(), groups: GROUPS, scale, zero_points }.run(x, y);
}

/// QLinearConv of weights that lie tap by tap; all biases of an output are added.
#[expect(clippy::too_many_arguments, reason = "those of the kernel")]
pub fn conv_by_taps<const KH: usize, const KW: usize>(
    x: &Array3<i8>,
    w: &Linear<i8>,
    y: &mut Array3<i8>,
    stride: usize,
    dilation: (i32, i32),
    pad: (i32, i32),
    scale: Scale,
    zero_point: i32,
) {
    let (co, ci) = (y.dim().0, x.dim().0);
    let weights =
        Array4::from_shape_fn((co, ci, KH, KW), |(o, c, ky, kx)| w.weights[[(ky * KW + kx) * co + o, c]]);
    let bias = Array1::from_shape_fn(co, |o| (0..KH * KW).fold(0i32, |sum, tap| sum.wrapping_add(w.bias[tap * co + o])));
    let walk = Walk { kernel: [KH, KW], stride, dilation: [dilation.0 as usize, dilation.1 as usize], pad };
    Conv { walk, weights, bias, groups: 1, scale, zero_points: (0, zero_point) }.run(x, y);
}

/// QLinearConv with a window of `TY * S` x `TX * S` and stride `S`.
pub fn conv_space_to_depth<const S: usize, const TY: usize, const TX: usize>(
    x: &Array3<i8>,
    w: &Linear<i8>,
    y: &mut Array3<i8>,
    pad: (i32, i32),
    scale: Scale,
    zero_points: (i32, i32),
) {
    let (co, ci) = (y.dim().0, x.dim().0);
    let weights = Array4::from_shape_fn((co, ci, TY * S, TX * S), |(o, c, ky, kx)| {
        let patch = ky / S * TX + kx / S;
        w.weights[[o, ((patch * ci + c) * S + ky % S) * S + kx % S]]
    });
    let pad = (pad.0 * S as i32, pad.1 * S as i32);
    let walk = Walk { kernel: [TY * S, TX * S], stride: S, dilation: [1; 2], pad };
    Conv { walk, weights, bias: w.bias.clone(), groups: 1, scale, zero_points }.run(x, y);
}

/// QLinearConv whose windows lie side by side.
pub fn conv_patches<const S: usize>(x: &Array3<i8>, w: &Linear<i8>, y: &mut Array3<i8>, scale: Scale, zero_point: i32) {
    let weights = by_taps(w, [S, S], x.dim().0);
    let walk = Walk { kernel: [S, S], stride: S, dilation: [1; 2], pad: (0, 0) };
    Conv { walk, weights, bias: w.bias.clone(), groups: 1, scale, zero_points: (0, zero_point) }.run(x, y);
}

/// [`conv_patches`].
pub fn conv_patches_near<const S: usize>(
    x: &Array3<i8>,
    w: &Linear<i8>,
    y: &mut Array3<i8>,
    scale: Scale,
    zero_point: i32,
) {
    conv_patches::<S>(x, w, y, scale, zero_point);
}

fn pool<const KH: usize, const KW: usize>(x: &Array3<i8>, y: &Array3<i8>, stride: usize, pad: (i32, i32)) -> Pool {
    let walk = Walk { kernel: [KH, KW], stride, dilation: [1; 2], pad };
    Pool {
        kernel: [KH, KW],
        window: walk.window(x, y),
        extent: PoolExtent::Floor,
        divisor: PoolDivisor::Inside,
    }
}

/// MaxPool.
pub fn max_pool<const KH: usize, const KW: usize>(
    x: &Array3<i8>,
    y: &mut Array3<i8>,
    stride: usize,
    pad: (i32, i32),
) {
    let of = pool::<KH, KW>(x, y, stride, pad);
    store(y, pool::max_pool(x.view().insert_axis(Axis(0)), &of).expect("extents fit"));
}

/// QLinearAveragePool.
pub fn average_pool<const KH: usize, const KW: usize>(
    x: &Array3<i8>,
    y: &mut Array3<i8>,
    stride: usize,
    pad: (i32, i32),
    ratio: Fx<24>,
    zero_points: (i32, i32),
) {
    let of = pool::<KH, KW>(x, y, stride, pad);
    let (qx, qy) = (steps(real(ratio) as f32, zero_points.0), steps(1.0, zero_points.1));
    store(y, pool::qlinear_average_pool(x.view().insert_axis(Axis(0)), qx, qy, &of).expect("extents fit"));
}

/// QLinearGlobalAveragePool.
pub fn global_average_pool(x: &Array3<i8>, y: &mut Array3<i8>, scale: Scale, zero_points: (i32, i32)) {
    let n = (x.dim().1 * x.dim().2) as f32;
    let (qx, qy) = (steps(float(scale) * n, zero_points.0), steps(1.0, zero_points.1));
    store(y, pool::qlinear_global_average_pool(x.view().insert_axis(Axis(0)), qx, qy).expect("extents fit"));
}
