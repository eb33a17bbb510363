//! Convolutions of quantised tensors: any kernel, stride, dilation, padding and groups, depthwise included.
//!
//! A 1-D convolution is a 2-D one with a height of 1. `auto_pad` is resolved by the caller. What the windows of a
//! convolution and of a pooling have in common is in [`Window`].

use ndarray::{Array2, Array3, Array4, ArrayView1, ArrayView3, ArrayView4, Axis, s};

use crate::dot::{add_scaled, centred, dot};
use crate::error::{GoldenError, checked_len, expect_extent};
use crate::int8::Int8;
use crate::quant::{Quant, QuantPer};
use crate::requantize::{requantize_scale, requantize_value};

/// How a window walks over an image, in elements, rows before columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Steps between windows.
    pub strides: [usize; 2],
    /// Steps between the taps of one window.
    pub dilations: [usize; 2],
    /// Padding: top, left, bottom, right, as ONNX orders it.
    pub pads: [usize; 4],
}

impl Default for Window {
    fn default() -> Self {
        Window { strides: [1; 2], dilations: [1; 2], pads: [0; 4] }
    }
}

impl Window {
    /// Output extents of a `kernel` over an `input`, rounded down.
    ///
    /// # Errors
    /// [`GoldenError::Parameter`] for a stride, dilation or kernel extent of 0; [`GoldenError::Window`] if the kernel
    /// does not fit; [`GoldenError::TooLarge`] where extents overflow.
    pub fn output(&self, op: &'static str, input: [usize; 2], kernel: [usize; 2]) -> Result<[usize; 2], GoldenError> {
        let mut output = [0; 2];
        for (axis, n) in output.iter_mut().enumerate() {
            let (window, padded) = self.extents(op, input, kernel, axis)?;
            *n = (padded - window) / self.strides[axis] + 1;
        }
        Ok(output)
    }

    /// Extent of the dilated kernel and of the padded input along an axis.
    pub(crate) fn extents(
        &self,
        op: &'static str,
        input: [usize; 2],
        kernel: [usize; 2],
        axis: usize,
    ) -> Result<(usize, usize), GoldenError> {
        let positive = "at least 1";
        for (name, value) in
            [("stride", self.strides[axis]), ("dilation", self.dilations[axis]), ("kernel", kernel[axis])]
        {
            if value == 0 {
                return Err(GoldenError::Parameter { op, name, value: 0, legal: positive });
            }
        }
        let too_large = GoldenError::TooLarge { op };
        let window = (kernel[axis] - 1).checked_mul(self.dilations[axis]).and_then(|w| w.checked_add(1));
        let padded = input[axis].checked_add(self.pads[axis]).and_then(|p| p.checked_add(self.pads[axis + 2]));
        let (Some(window), Some(padded)) = (window, padded) else { return Err(too_large) };
        if window > padded || input[axis] == 0 {
            return Err(GoldenError::Window { op, window, padded });
        }
        Ok((window, padded))
    }

    /// Input index under tap `tap` of window `position` along an axis; `None` in the padding.
    pub(crate) fn source(&self, axis: usize, position: usize, tap: usize, extent: usize) -> Option<usize> {
        let padded = position * self.strides[axis] + tap * self.dilations[axis];
        padded.checked_sub(self.pads[axis]).filter(|&i| i < extent)
    }
}

/// Convolves quantised tensors, with the bias added to the accumulators, and requantises.
///
/// `acc = sum((x - zp_x) * (w - zp_w)) + bias` in wrapping 32 bits, padding counting as `zp_x`; then
/// [`requantize_value`] with `f(f(s_x * s_w) / s_y)`.
///
/// # Shapes
/// `x: [N, C, H, W]`, `w: [M, C / groups, KH, KW]`, `qw` for 1 or `M` channels, `bias: [M]`; returns `[N, M, OH, OW]`.
/// # Units
/// `bias` counts steps of `s_x * s_w`.
/// # Errors
/// [`GoldenError`] if shapes do not fit together, `groups` does not divide `C` and `M`, or the kernel does not fit.
/// # Source
/// `NUMERICS.md`, QLinearConv.
#[expect(clippy::too_many_arguments, reason = "the operands of the ONNX operator")]
pub fn qlinear_conv<X: Int8, W: Int8, Y: Int8>(
    x: ArrayView4<X>,
    qx: Quant<X>,
    w: ArrayView4<W>,
    qw: &QuantPer<W>,
    bias: Option<ArrayView1<i32>>,
    qy: Quant<Y>,
    window: &Window,
    groups: usize,
) -> Result<Array4<Y>, GoldenError> {
    const OP: &str = "QLinearConv";
    let n_out = w.dim().0;
    qw.check(OP, n_out)?;
    if let Some(bias) = &bias {
        expect_extent(OP, "bias", bias.len(), n_out)?;
    }
    let acc = accumulate(OP, x, qx.zero(), w, &qw.zeros(n_out), window, groups)?;
    let mut y = Array4::default(acc.raw_dim());
    for (m, (mut y, acc)) in y.axis_iter_mut(Axis(1)).zip(acc.axis_iter(Axis(1))).enumerate() {
        let scale = requantize_scale(qx.scale(), qw.at(m).scale(), qy.scale());
        let bias = bias.map_or(0, |b| b[m]);
        y.zip_mut_with(&acc, |y, a| *y = requantize_value(a.wrapping_add(bias), scale, qy.zero_point()));
    }
    Ok(y)
}

/// Convolves to accumulators.
///
/// # Shapes
/// As [`qlinear_conv`]; `w_zero: [1]` or `[M]`.
/// # Errors
/// As [`qlinear_conv`].
/// # Source
/// The ONNX operator ConvInteger; compared with ORT.
pub fn conv_integer<X: Int8, W: Int8>(
    x: ArrayView4<X>,
    x_zero: X,
    w: ArrayView4<W>,
    w_zero: &[W],
    window: &Window,
    groups: usize,
) -> Result<Array4<i32>, GoldenError> {
    const OP: &str = "ConvInteger";
    let n_out = w.dim().0;
    let zeros: Vec<i32> = match w_zero {
        [one] => vec![one.widen(); n_out],
        many => many.iter().map(|z| z.widen()).collect(),
    };
    expect_extent(OP, "weight zero points", zeros.len(), n_out)?;
    accumulate(OP, x, x_zero.widen(), w, &zeros, window, groups)
}

/// The sums of products, without bias.
fn accumulate<X: Int8, W: Int8>(
    op: &'static str,
    x: ArrayView4<X>,
    x_zero: i32,
    w: ArrayView4<W>,
    w_zeros: &[i32],
    window: &Window,
    groups: usize,
) -> Result<Array4<i32>, GoldenError> {
    let (n_images, n_in, height, width) = x.dim();
    let (n_out, n_per_group, kh, kw) = w.dim();
    if groups == 0 || !n_out.is_multiple_of(groups) {
        let legal = "a divisor of the output channels";
        return Err(GoldenError::Parameter { op, name: "groups", value: groups as i64, legal });
    }
    let n_expected = n_per_group.checked_mul(groups).ok_or(GoldenError::TooLarge { op })?;
    expect_extent(op, "input channels", n_in, n_expected)?;
    let [oh, ow] = window.output(op, [height, width], [kh, kw])?;
    checked_len(op, &[n_images, n_out, oh, ow])?;

    let weights = Array2::from_shape_fn((n_out, n_per_group * kh * kw), |(m, k)| {
        let (c, ky, kx) = (k / (kh * kw), k / kw % kh, k % kw);
        centred(w[[m, c, ky, kx]], w_zeros[m])
    });
    let mut acc = Array4::zeros((n_images, n_out, oh, ow));
    let mut taps = vec![0; n_per_group * kh * kw];
    for (n, group) in ndarray::indices((n_images, groups)) {
        let inputs = x.slice(s![n, group * n_per_group..(group + 1) * n_per_group, .., ..]);
        let outputs = group * (n_out / groups)..(group + 1) * (n_out / groups);
        for (oy, ox) in ndarray::indices((oh, ow)) {
            gather(&mut taps, inputs, [oy, ox], [kh, kw], window, x_zero);
            for m in outputs.clone() {
                let weights = weights.row(m).to_slice().expect("weights are in row order");
                acc[[n, m, oy, ox]] = dot(&taps, weights);
            }
        }
    }
    Ok(acc)
}

/// What the taps of one window see, channel by channel; padding, which is the zero point, counts 0.
fn gather<X: Int8>(
    taps: &mut [i16],
    inputs: ArrayView3<X>,
    [oy, ox]: [usize; 2],
    [kh, kw]: [usize; 2],
    window: &Window,
    zero: i32,
) {
    let (_, height, width) = inputs.dim();
    for ky in 0..kh {
        let iy = window.source(0, oy, ky, height);
        for kx in 0..kw {
            let at = iy.zip(window.source(1, ox, kx, width));
            for (c, channel) in inputs.outer_iter().enumerate() {
                taps[(c * kh + ky) * kw + kx] = at.map_or(0, |(iy, ix)| centred(channel[[iy, ix]], zero));
            }
        }
    }
}

/// Convolves float32 tensors, in float64 with one rounding at the end.
///
/// Not bit-equal to ORT, whose float32 summation order is its own; a bound for what a float network should give.
///
/// # Shapes
/// As [`qlinear_conv`].
/// # Errors
/// As [`qlinear_conv`].
/// # Source
/// The ONNX operator Conv.
pub fn conv_f32(
    x: ArrayView4<f32>,
    w: ArrayView4<f32>,
    bias: Option<ArrayView1<f32>>,
    window: &Window,
    groups: usize,
) -> Result<Array4<f32>, GoldenError> {
    const OP: &str = "Conv";
    let (n_images, n_in, height, width) = x.dim();
    let (n_out, n_per_group, kh, kw) = w.dim();
    if groups == 0 || !n_out.is_multiple_of(groups) {
        let legal = "a divisor of the output channels";
        return Err(GoldenError::Parameter { op: OP, name: "groups", value: groups as i64, legal });
    }
    let n_expected = n_per_group.checked_mul(groups).ok_or(GoldenError::TooLarge { op: OP })?;
    expect_extent(OP, "input channels", n_in, n_expected)?;
    if let Some(bias) = &bias {
        expect_extent(OP, "bias", bias.len(), n_out)?;
    }
    let [oh, ow] = window.output(OP, [height, width], [kh, kw])?;
    checked_len(OP, &[n_images, n_out, oh, ow])?;
    let m_per_group = n_out / groups;
    // [groups, taps, outputs of the group], so that a tap meets the weights of all outputs in one row.
    let weights = Array3::from_shape_fn((groups, n_per_group * kh * kw, m_per_group), |(group, k, m)| {
        let (c, ky, kx) = (k / (kh * kw), k / kw % kh, k % kw);
        f64::from(w[[group * m_per_group + m, c, ky, kx]])
    });
    let mut y = Array4::zeros((n_images, n_out, oh, ow));
    let mut sums = vec![0.0; m_per_group];
    for (n, group) in ndarray::indices((n_images, groups)) {
        let first_out = group * m_per_group;
        for (oy, ox) in ndarray::indices((oh, ow)) {
            for (m, sum) in sums.iter_mut().enumerate() {
                *sum = bias.map_or(0.0, |b| f64::from(b[first_out + m]));
            }
            for (c, ky, kx) in ndarray::indices((n_per_group, kh, kw)) {
                let at = (window.source(0, oy, ky, height), window.source(1, ox, kx, width));
                if let (Some(iy), Some(ix)) = at {
                    let weights = weights.slice(s![group, (c * kh + ky) * kw + kx, ..]);
                    let value = f64::from(x[[n, group * n_per_group + c, iy, ix]]);
                    add_scaled(&mut sums, value, weights.to_slice().expect("weights are in row order"));
                }
            }
            for (m, &sum) in sums.iter().enumerate() {
                y[[n, first_out + m, oy, ox]] = sum as f32;
            }
        }
    }
    Ok(y)
}

#[cfg(test)]
mod tests {
    use ndarray::{array, aview1};

    use super::*;

    fn q<T: Int8>(scale: f32, zero_point: T) -> Quant<T> {
        Quant::new(scale, zero_point).unwrap()
    }

    /// The definition, tap by tap, for one output.
    fn by_hand(x: &Array4<i8>, zx: i32, w: &Array4<i8>, at: [usize; 4], window: &Window, groups: usize) -> i32 {
        let [n, m, oy, ox] = at;
        let first = m / (w.dim().0 / groups) * w.dim().1;
        let mut acc = 0;
        for ((c, ky, kx), &weight) in w.index_axis(Axis(0), m).indexed_iter() {
            let iy = (oy * window.strides[0] + ky * window.dilations[0]) as isize - window.pads[0] as isize;
            let ix = (ox * window.strides[1] + kx * window.dilations[1]) as isize - window.pads[1] as isize;
            if let Some(&v) = x.get((n, first + c, iy as usize, ix as usize)) {
                acc += (i32::from(v) - zx) * i32::from(weight);
            }
        }
        acc
    }

    #[test]
    fn gathered_taps_equal_the_definition() {
        let x = Array4::from_shape_fn((2, 4, 7, 9), |(n, c, y, x)| (n * 91 + c * 37 + y * 53 + x * 29) as u8 as i8);
        for (groups, kernel) in [(1, (3, 2)), (2, (1, 5)), (4, (3, 3))] {
            let w = Array4::from_shape_fn((4, 4 / groups, kernel.0, kernel.1), |(m, c, y, x)| {
                (m * 71 + c * 13 + y * 101 + x * 7) as u8 as i8
            });
            let window = Window { strides: [2, 3], dilations: [2, 1], pads: [3, 1, 0, 4] };
            let acc = conv_integer(x.view(), -5, w.view(), &[0], &window, groups).unwrap();
            for ((n, m, oy, ox), &got) in acc.indexed_iter() {
                assert_eq!(got, by_hand(&x, -5, &w, [n, m, oy, ox], &window, groups));
            }
        }
    }

    #[test]
    fn views_in_any_order_give_the_same() {
        let x = Array4::from_shape_fn((1, 5, 6, 3), |(_, y, x, c)| (y * 41 + x * 17 + c * 5) as u8);
        let w = Array4::from_shape_fn((2, 3, 3, 3), |(m, c, y, x)| (m * 7 + c * 11 + y * 3 + x) as i8);
        let view = x.view().permuted_axes([0, 3, 1, 2]);
        let call = |x| conv_integer(x, 7, w.view(), &[1, 2], &Window::default(), 1).unwrap();
        assert_eq!(call(view), call(view.to_owned().as_standard_layout().view()));
    }

    #[test]
    fn bias_is_added_before_the_scale() {
        let x = array![[[[2_i8]]]];
        let w = array![[[[3_i8]]]];
        let bias = aview1(&[-16]);
        let y = qlinear_conv(
            x.view(),
            q(0.5, 0),
            w.view(),
            &q(0.5, 0).into(),
            Some(bias),
            q(0.5, 10_i8),
            &Window::default(),
            1,
        );
        assert_eq!(y.unwrap(), array![[[[5]]]]);
    }

    #[test]
    fn misfits_are_errors() {
        let x = Array4::<i8>::zeros((1, 4, 3, 3));
        let w = Array4::<i8>::zeros((4, 3, 1, 1));
        let call = |window: &Window, groups| conv_integer(x.view(), 0, w.view(), &[0], window, groups);
        let err = call(&Window::default(), 1).unwrap_err();
        assert_eq!(err.to_string(), "ConvInteger: `input channels` is 4, expected 3");
        assert!(call(&Window::default(), 0).is_err());
        let x = Array4::<i8>::zeros((1, 3, 3, 3));
        let w = Array4::<i8>::zeros((4, 3, 5, 1));
        let call = |window: &Window| conv_integer(x.view(), 0, w.view(), &[0], window, 1).unwrap_err();
        assert_eq!(call(&Window::default()), GoldenError::Window { op: "ConvInteger", window: 5, padded: 3 });
        assert!(matches!(call(&Window { strides: [0, 1], ..Window::default() }), GoldenError::Parameter { .. }));
        let huge = Window { dilations: [usize::MAX, 1], ..Window::default() };
        assert!(matches!(call(&huge), GoldenError::TooLarge { .. }));
    }
}
