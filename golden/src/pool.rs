//! Pooling over windows and over whole planes.
//!
//! The walk of the windows is [`crate::conv::Window`]'s. One-dimensional pooling is two-dimensional with a height of 1.

use ndarray::{Array4, ArrayView2, ArrayView4, Axis};

use crate::conv::Window;
use crate::error::{GoldenError, checked_len};
use crate::int8::Int8;
use crate::linear::{dequantize, to_steps};
use crate::quant::Quant;
use crate::requantize::requantize_value;

/// How a pooling walks and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Extent of the window in rows and columns.
    pub kernel: [usize; 2],
    /// The walk.
    pub window: Window,
    /// Whether a last window that leaves the padded input still counts.
    pub extent: PoolExtent,
    /// Whether an average divides by the padding too.
    pub divisor: PoolDivisor,
}

/// Rounding of the output's extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolExtent {
    /// Windows that fit: ONNX `ceil_mode = 0`.
    Floor,
    /// Also a window that begins inside the input or the padding before it: `ceil_mode = 1`.
    Ceil,
}

/// What an average divides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolDivisor {
    /// Taps inside the input: ONNX `count_include_pad = 0`.
    Inside,
    /// All taps of the kernel: `count_include_pad = 1`.
    Kernel,
}

impl Pool {
    /// A pooling of adjacent taps without padding, stepping by `strides`.
    pub fn new(kernel: [usize; 2], strides: [usize; 2]) -> Self {
        let window = Window { strides, ..Window::default() };
        Pool { kernel, window, extent: PoolExtent::Floor, divisor: PoolDivisor::Inside }
    }

    /// Output extents.
    ///
    /// # Errors
    /// As [`Window::output`].
    pub fn output(&self, op: &'static str, input: [usize; 2]) -> Result<[usize; 2], GoldenError> {
        // Every tap of a window is visited, those in the padding too.
        checked_len(op, &self.kernel)?;
        let mut output = self.window.output(op, input, self.kernel)?;
        if self.extent == PoolExtent::Ceil {
            for (axis, n) in output.iter_mut().enumerate() {
                let (window, padded) = self.window.extents(op, input, self.kernel, axis)?;
                let stride = self.window.strides[axis];
                *n = (padded - window).div_ceil(stride) + 1;
                if (*n - 1) * stride >= input[axis] + self.window.pads[axis] {
                    *n -= 1;
                }
            }
        }
        Ok(output)
    }

    /// Elements of `plane` under the window at `(oy, ox)`, in row order; taps outside are left out.
    fn taps<T: Copy>(&self, plane: ArrayView2<T>, oy: usize, ox: usize) -> impl Iterator<Item = T> {
        let (height, width) = plane.dim();
        let (pool, [kh, kw]) = (*self, self.kernel);
        let rows = (0..kh).filter_map(move |ky| pool.window.source(0, oy, ky, height));
        rows.flat_map(move |iy| {
            (0..kw).filter_map(move |kx| pool.window.source(1, ox, kx, width)).map(move |ix| (iy, ix))
        })
        .map(move |at| plane[at])
    }

    /// Taps that an average divides by.
    fn count<T: Copy>(&self, plane: ArrayView2<T>, oy: usize, ox: usize) -> usize {
        match self.divisor {
            PoolDivisor::Inside => self.taps(plane, oy, ox).count(),
            PoolDivisor::Kernel => self.kernel[0] * self.kernel[1],
        }
    }
}

/// The largest element of each window; padding never is one.
///
/// # Shapes
/// `x: [N, C, H, W]`; returns `[N, C, OH, OW]`.
/// # Errors
/// As [`Window::output`]; [`GoldenError::Empty`] for a window that lies in the padding altogether.
/// # Source
/// The ONNX operator MaxPool; compared with ORT.
pub fn max_pool<T: PartialOrd + Copy>(x: ArrayView4<T>, pool: &Pool) -> Result<Array4<T>, GoldenError> {
    const OP: &str = "MaxPool";
    over_windows(OP, x, pool, |plane, oy, ox| {
        let taps = pool.taps(plane, oy, ox);
        taps.reduce(|a, b| if b > a { b } else { a }).ok_or(GoldenError::Empty { op: OP, tensor: "window" })
    })
}

/// The average of each window: dequantised, summed in float32 in row order, divided, and quantised as
/// `sat(round_half_even(f(f(v / s_y) + z_y)))`, with the zero point inside the rounding, unlike QuantizeLinear.
///
/// # Shapes
/// `x: [N, C, H, W]`; returns `[N, C, OH, OW]`.
/// # Errors
/// As [`Window::output`]; [`GoldenError::Empty`] for a window that lies in the padding altogether.
/// # Source
/// `NUMERICS.md`, QLinearAveragePool; the place of the zero point is ORT's, found by comparison.
pub fn qlinear_average_pool<X: Int8, Y: Int8>(
    x: ArrayView4<X>,
    qx: Quant<X>,
    qy: Quant<Y>,
    pool: &Pool,
) -> Result<Array4<Y>, GoldenError> {
    let real = x.mapv(|v| dequantize(v, qx));
    let averages = average(real.view(), pool, "QLinearAveragePool")?;
    Ok(averages.mapv(|v| quantize_inside(v, qy)))
}

/// The average of each window of a float32 tensor, summed in float32 in row order.
///
/// # Shapes
/// `x: [N, C, H, W]`; returns `[N, C, OH, OW]`.
/// # Errors
/// As [`qlinear_average_pool`].
/// # Source
/// The ONNX operator AveragePool.
pub fn average_pool_f32(x: ArrayView4<f32>, pool: &Pool) -> Result<Array4<f32>, GoldenError> {
    average(x, pool, "AveragePool")
}

/// The average of each plane: `requantise(sum(x - z_x), f(s_x / f(s_y * N)), z_y)` with an exact sum of the `N` elements.
///
/// # Shapes
/// `x: [N, C, H, W]`; returns `[N, C, 1, 1]`.
/// # Errors
/// [`GoldenError::Empty`] for planes without elements; [`GoldenError::TooLarge`] for planes whose sum could leave 32 bits.
/// # Source
/// `NUMERICS.md`, QLinearGlobalAveragePool; the `com.microsoft` operator.
pub fn qlinear_global_average_pool<X: Int8, Y: Int8>(
    x: ArrayView4<X>,
    qx: Quant<X>,
    qy: Quant<Y>,
) -> Result<Array4<Y>, GoldenError> {
    const OP: &str = "QLinearGlobalAveragePool";
    let (images, channels, height, width) = x.dim();
    let n_plane = checked_len(OP, &[height, width])?;
    if n_plane == 0 {
        return Err(GoldenError::Empty { op: OP, tensor: "plane" });
    }
    if n_plane > 1 << 23 {
        return Err(GoldenError::TooLarge { op: OP });
    }
    let scale = qx.scale() / (qy.scale() * n_plane as f32);
    Ok(Array4::from_shape_fn((images, channels, 1, 1), |(n, c, ..)| {
        let plane = x.index_axis(Axis(0), n).index_axis_move(Axis(0), c);
        let sum = plane.iter().map(|v| v.widen() - qx.zero()).sum();
        requantize_value(sum, scale, qy.zero_point())
    }))
}

/// `sat(round_half_even(f(f(v / scale) + zero_point)))`: unlike QuantizeLinear with the zero point inside the rounding, which
/// differs on ties where the zero point is odd.
fn quantize_inside<T: Int8>(v: f32, q: Quant<T>) -> T {
    to_steps(v / q.scale() + q.zero() as f32, 0)
}

fn average(x: ArrayView4<f32>, pool: &Pool, op: &'static str) -> Result<Array4<f32>, GoldenError> {
    over_windows(op, x, pool, |plane, oy, ox| {
        let count = pool.count(plane, oy, ox);
        if count == 0 {
            return Err(GoldenError::Empty { op, tensor: "window" });
        }
        Ok(pool.taps(plane, oy, ox).fold(0.0_f32, |sum, v| sum + v) / count as f32)
    })
}

/// Applies `f` to every window of every plane.
fn over_windows<T: Copy, Y: Copy>(
    op: &'static str,
    x: ArrayView4<T>,
    pool: &Pool,
    f: impl Fn(ArrayView2<T>, usize, usize) -> Result<Y, GoldenError>,
) -> Result<Array4<Y>, GoldenError> {
    let (images, channels, height, width) = x.dim();
    let [oh, ow] = pool.output(op, [height, width])?;
    let mut y = Vec::with_capacity(checked_len(op, &[images, channels, oh, ow])?);
    for image in x.outer_iter() {
        for plane in image.outer_iter() {
            for (oy, ox) in ndarray::indices((oh, ow)) {
                y.push(f(plane, oy, ox)?);
            }
        }
    }
    Ok(Array4::from_shape_vec((images, channels, oh, ow), y).expect("one value per window"))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn padding_is_no_maximum_and_no_divisor() {
        let x = array![[[[-3_i8, -5], [-7, -9]]]];
        let window = Window { strides: [2, 2], pads: [1, 1, 1, 1], ..Window::default() };
        let pool = Pool { window, ..Pool::new([2, 2], [2, 2]) };
        assert_eq!(max_pool(x.view(), &pool), Ok(x.clone()));
        let q = Quant::new(1.0, 0_i8).unwrap();
        assert_eq!(qlinear_average_pool(x.view(), q, q, &pool), Ok(x.clone()));
        let whole = Pool { divisor: PoolDivisor::Kernel, ..pool };
        assert_eq!(qlinear_average_pool(x.view(), q, q, &whole), Ok(array![[[[-1, -1], [-2, -2]]]]));
    }

    #[test]
    fn ceil_mode_drops_a_window_that_starts_beyond_the_input() {
        let pool = |pads, extent| Pool {
            window: Window { strides: [3, 2], pads, ..Window::default() },
            extent,
            ..Pool::new([1, 2], [1, 1])
        };
        assert_eq!(pool([0, 0, 0, 0], PoolExtent::Floor).output("t", [4, 5]), Ok([2, 2]));
        assert_eq!(pool([0, 0, 0, 0], PoolExtent::Ceil).output("t", [4, 5]), Ok([2, 3]));
        assert_eq!(pool([0, 0, 1, 0], PoolExtent::Ceil).output("t", [4, 5]), Ok([2, 3]));
    }

    #[test]
    fn windows_in_the_padding_are_errors() {
        let window = Window { pads: [2, 0, 0, 0], ..Window::default() };
        let pool = Pool { window, ..Pool::new([1, 1], [1, 1]) };
        assert!(matches!(max_pool(array![[[[1_i8]]]].view(), &pool), Err(GoldenError::Empty { .. })));
    }
}
