//! Transposed convolution: each input element adds a scaled kernel to the output.

use ndarray::{Array4, ArrayView1, ArrayView4};

use crate::conv::Window;
use crate::error::{GoldenError, checked_len, expect_extent};

const OP: &str = "ConvTranspose";

/// Output extents: `(in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - pads`.
///
/// # Errors
/// [`GoldenError::Parameter`] for a stride, dilation or kernel extent of 0; [`GoldenError::Window`] if the pads take all;
/// [`GoldenError::TooLarge`] where extents overflow.
pub fn conv_transpose_output(
    window: &Window,
    input: [usize; 2],
    kernel: [usize; 2],
    output_padding: [usize; 2],
) -> Result<[usize; 2], GoldenError> {
    let mut output = [0; 2];
    for (axis, n) in output.iter_mut().enumerate() {
        let (stride, dilation) = (window.strides[axis], window.dilations[axis]);
        for (name, value) in [("stride", stride), ("dilation", dilation), ("kernel", kernel[axis])] {
            if value == 0 {
                return Err(GoldenError::Parameter { op: OP, name, value: 0, legal: "at least 1" });
            }
        }
        if input[axis] == 0 {
            return Err(GoldenError::Empty { op: OP, tensor: "x" });
        }
        let reach = (input[axis] - 1).checked_mul(stride);
        let span = (kernel[axis] - 1).checked_mul(dilation).and_then(|k| k.checked_add(1));
        let span = span.and_then(|k| k.checked_add(output_padding[axis]));
        let pads = window.pads[axis].checked_add(window.pads[axis + 2]);
        let full = reach.zip(span).and_then(|(reach, span)| reach.checked_add(span));
        let (Some(full), Some(pads)) = (full, pads) else { return Err(GoldenError::TooLarge { op: OP }) };
        *n = full.checked_sub(pads).filter(|&n| n > 0).ok_or(GoldenError::Window {
            op: OP,
            window: pads,
            padded: full,
        })?;
    }
    Ok(output)
}

/// Transposed convolution of float32 tensors, in float64 with one rounding at the end.
///
/// # Shapes
/// `x: [N, C, H, W]`, `w: [C, M / groups, KH, KW]`, `bias: [M]`; returns `[N, M, OH, OW]` of [`conv_transpose_output`].
/// # Errors
/// [`GoldenError`] if shapes do not fit together or `groups` does not divide `C`.
/// # Source
/// The ONNX operator ConvTranspose.
pub fn conv_transpose_f32(
    x: ArrayView4<f32>,
    w: ArrayView4<f32>,
    bias: Option<ArrayView1<f32>>,
    window: &Window,
    output_padding: [usize; 2],
    groups: usize,
) -> Result<Array4<f32>, GoldenError> {
    let (n_images, n_in, height, width) = x.dim();
    let (w_in, m_per_group, kh, kw) = w.dim();
    if groups == 0 || !n_in.is_multiple_of(groups) {
        let legal = "a divisor of the input channels";
        return Err(GoldenError::Parameter { op: OP, name: "groups", value: groups as i64, legal });
    }
    expect_extent(OP, "input channels", n_in, w_in)?;
    let n_out = m_per_group.checked_mul(groups).ok_or(GoldenError::TooLarge { op: OP })?;
    if let Some(bias) = &bias {
        expect_extent(OP, "bias", bias.len(), n_out)?;
    }
    let [oh, ow] = conv_transpose_output(window, [height, width], [kh, kw], output_padding)?;
    checked_len(OP, &[n_images, n_out, oh, ow])?;
    let mut y = Array4::from_shape_fn((n_images, n_out, oh, ow), |(_, m, ..)| bias.map_or(0.0, |b| f64::from(b[m])));
    // Output index that tap `tap` of input `i` reaches.
    let reached = |axis: usize, i: usize, tap: usize, extent: usize| {
        let full = i * window.strides[axis] + tap * window.dilations[axis];
        full.checked_sub(window.pads[axis]).filter(|&o| o < extent)
    };
    for ((n, c, iy, ix), &value) in x.indexed_iter() {
        let first = c / (n_in / groups) * m_per_group;
        for ((m, ky, kx), &weight) in w.index_axis(ndarray::Axis(0), c).indexed_iter() {
            if let (Some(oy), Some(ox)) = (reached(0, iy, ky, oh), reached(1, ix, kx, ow)) {
                y[[n, first + m, oy, ox]] += f64::from(value) * f64::from(weight);
            }
        }
    }
    Ok(y.mapv(|v| v as f32))
}

#[cfg(test)]
mod tests {
    use ndarray::{array, aview1};

    use super::*;
    use crate::conv::conv_f32;

    #[test]
    fn kernels_add_where_they_overlap() {
        let x = array![[[[1.0_f32, 2.0]]]];
        let w = array![[[[1.0_f32, 10.0, 100.0]]]];
        let window = Window { strides: [1, 2], ..Window::default() };
        let y = conv_transpose_f32(x.view(), w.view(), Some(aview1(&[0.5])), &window, [0, 1], 1).unwrap();
        assert_eq!(y, array![[[[1.5, 10.5, 102.5, 20.5, 200.5, 0.5]]]]);
    }

    /// `<conv(x, w), y> = <x, conv_transpose(y, w)>`, which defines the transposed map.
    #[test]
    fn is_the_transpose_of_the_convolution() {
        let window = Window { strides: [2, 1], dilations: [1, 2], pads: [1, 0, 0, 2] };
        let x = Array4::from_shape_fn((1, 4, 5, 6), |(_, c, y, x)| ((c * 7 + y * 3 + x * 5) % 11) as f32 - 5.0);
        let w = Array4::from_shape_fn((6, 2, 2, 3), |(m, c, y, x)| ((m * 5 + c * 3 + y + x * 2) % 7) as f32 - 3.0);
        let forward = conv_f32(x.view(), w.view(), None, &window, 2).unwrap();
        let y = Array4::from_shape_fn(forward.dim(), |(_, c, y, x)| ((c + y * 2 + x) % 5) as f32 - 2.0);
        let back = conv_transpose_f32(y.view(), w.view(), None, &window, [0, 0], 2).unwrap();
        assert_eq!(back.dim(), x.dim());
        let product = |a: &Array4<f32>, b: &Array4<f32>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        assert_eq!(product(&forward, &y), product(&x, &back));
    }

    #[test]
    fn misfits_are_errors() {
        let (x, w) = (Array4::<f32>::zeros((1, 2, 2, 2)), Array4::<f32>::zeros((2, 1, 1, 1)));
        let call = |window: &Window, groups| conv_transpose_f32(x.view(), w.view(), None, window, [0, 0], groups);
        assert!(call(&Window::default(), 2).is_ok());
        assert!(call(&Window::default(), 3).is_err());
        assert!(call(&Window { strides: [usize::MAX; 2], ..Window::default() }, 1).is_err());
        assert!(call(&Window { pads: [1, 0, 1, 0], ..Window::default() }, 1).is_err());
    }
}
