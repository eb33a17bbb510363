//! Convolutions of quantised tensors: any kernel, stride, dilation, padding and groups, depthwise included.
//!
//! A 1-D convolution is a 2-D one with a height of 1. `auto_pad` is resolved by the caller. What the windows of a
//! convolution and of a pooling have in common is in [`Window`].

use ndarray::{Array2, Array4, ArrayView1, ArrayView3, ArrayView4, ArrayViewMut2, Axis};

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

    let centred = x.as_standard_layout().mapv(|v| v.widen() - x_zero);
    let mut acc = Array4::zeros((n_images, n_out, oh, ow));
    for (image, mut acc) in centred.outer_iter().zip(acc.outer_iter_mut()) {
        for (m, plane) in acc.outer_iter_mut().enumerate() {
            let first = m / (n_out / groups) * n_per_group;
            let inputs = image.slice(ndarray::s![first..first + n_per_group, .., ..]);
            let weights = w.index_axis(Axis(0), m).mapv(|v| v.widen() - w_zeros[m]);
            accumulate_plane(plane, inputs, weights.view(), window);
        }
    }
    Ok(acc)
}

/// One output channel of one image: adds tap after tap to the whole plane.
fn accumulate_plane(mut plane: ArrayViewMut2<i32>, inputs: ArrayView3<i32>, weights: ArrayView3<i32>, window: &Window) {
    let (_, height, width) = inputs.dim();
    let n_columns = plane.dim().1;
    for ((c, ky, kx), &weight) in weights.indexed_iter() {
        // Output columns whose tap lies inside the image; the others read padding, which is the zero point.
        let inside = |&ox: &usize| window.source(1, ox, kx, width).is_some();
        let Some(first) = (0..n_columns).find(inside) else { continue };
        let start = window.source(1, first, kx, width).unwrap_or(0);
        for (oy, mut row) in plane.outer_iter_mut().enumerate() {
            let Some(iy) = window.source(0, oy, ky, height) else { continue };
            let source = inputs.index_axis(Axis(0), c).index_axis_move(Axis(0), iy);
            let source = source.as_slice().expect("images are in row order");
            let row = row.as_slice_mut().expect("planes are in row order");
            // The image ends where the padding on the right begins, so the shorter of the two ends the row.
            for (acc, &x) in row[first..].iter_mut().zip(source[start..].iter().step_by(window.strides[1])) {
                *acc = acc.wrapping_add(x.wrapping_mul(weight));
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
    let weights = w.mapv(f64::from);
    let mut y = Array4::zeros((n_images, n_out, oh, ow));
    for (image, mut y) in x.outer_iter().zip(y.outer_iter_mut()) {
        let image = image.mapv(f64::from);
        for (m, mut plane) in y.outer_iter_mut().enumerate() {
            let first = m / (n_out / groups) * n_per_group;
            let start = bias.map_or(0.0, |b| f64::from(b[m]));
            let mut sums = Array2::from_elem((oh, ow), start);
            for ((c, ky, kx), &weight) in weights.index_axis(Axis(0), m).indexed_iter() {
                for ((oy, ox), sum) in sums.indexed_iter_mut() {
                    let at = (window.source(0, oy, ky, height), window.source(1, ox, kx, width));
                    if let (Some(iy), Some(ix)) = at {
                        *sum += image[[first + c, iy, ix]] * weight;
                    }
                }
            }
            plane.zip_mut_with(&sums, |y, &s| *y = s as f32);
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
    fn plane_order_equals_the_definition() {
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
