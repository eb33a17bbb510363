//! Resizing by interpolation between neighbours or by the nearest one.
//!
//! Coordinates are float32 in the order of ORT's operations, since a coordinate that falls on a pixel in one order may fall
//! beside it in another. Anti-aliasing and cubic interpolation are absent.

use ndarray::{ArrayD, ArrayViewD, IxDyn};

use crate::error::{GoldenError, checked_len, expect_extent};
use crate::int8::Int8;

/// Which point of the input an output pixel stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coordinates {
    /// `(i + 0.5) / scale - 0.5`: pixel centres.
    HalfPixel,
    /// As `HalfPixel`, but 0 where the output extent is 1.
    PytorchHalfPixel,
    /// `i / scale`.
    Asymmetric,
    /// `i * (in - 1) / (out - 1)`: corners meet.
    AlignCorners,
}

/// Which neighbour is nearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nearest {
    /// The nearer one; the lower of two that are equally near.
    RoundPreferFloor,
    /// The nearer one; the upper of two that are equally near.
    RoundPreferCeil,
    /// The lower.
    Floor,
    /// The upper.
    Ceil,
}

/// Output extents and scales of every axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Resize {
    sizes: Vec<usize>,
    scales: Vec<f32>,
    coordinates: Coordinates,
}

impl Resize {
    /// By scales: extents are `floor(in * scale)`.
    ///
    /// # Shapes
    /// `input` and `scales`: one entry per axis.
    /// # Errors
    /// [`GoldenError::Extent`]; [`GoldenError::FloatParameter`] for a scale that is not positive and finite;
    /// [`GoldenError::TooLarge`].
    pub fn by_scales(input: &[usize], scales: &[f32], coordinates: Coordinates) -> Result<Self, GoldenError> {
        const OP: &str = "Resize";
        expect_extent(OP, "scales", scales.len(), input.len())?;
        for &scale in scales {
            if !(scale.is_finite() && scale > 0.0) {
                let (value, legal) = (f64::from(scale), "positive and finite");
                return Err(GoldenError::FloatParameter { op: OP, name: "scale", value, legal });
            }
        }
        let sizes: Vec<usize> = input.iter().zip(scales).map(|(&n, s)| (n as f32 * s) as usize).collect();
        checked_len(OP, &sizes)?;
        Ok(Resize { sizes, scales: scales.to_vec(), coordinates })
    }

    /// To sizes: scales are `f(out / in)`.
    ///
    /// # Shapes
    /// `input` and `sizes`: one entry per axis.
    /// # Errors
    /// [`GoldenError::Extent`]; [`GoldenError::Empty`] for an empty input whose output is not; [`GoldenError::TooLarge`].
    pub fn to_sizes(input: &[usize], sizes: &[usize], coordinates: Coordinates) -> Result<Self, GoldenError> {
        const OP: &str = "Resize";
        expect_extent(OP, "sizes", sizes.len(), input.len())?;
        checked_len(OP, sizes)?;
        if checked_len(OP, input)? == 0 {
            return Err(GoldenError::Empty { op: OP, tensor: "x" });
        }
        let scales = input.iter().zip(sizes).map(|(&n, &m)| m as f32 / n as f32).collect();
        Ok(Resize { sizes: sizes.to_vec(), scales, coordinates })
    }

    /// Extents of the result.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// How output indices become input coordinates.
    pub fn coordinates(&self) -> Coordinates {
        self.coordinates
    }

    /// The input coordinate of output index `i`.
    fn coordinate(&self, axis: usize, i: usize, n_in: usize) -> f32 {
        let (i, scale, n_out) = (i as f32, self.scales[axis], self.sizes[axis]);
        let half_pixel = (i + 0.5) / scale - 0.5;
        match self.coordinates {
            Coordinates::HalfPixel => half_pixel,
            Coordinates::PytorchHalfPixel => {
                if n_out > 1 {
                    half_pixel
                } else {
                    0.0
                }
            }
            Coordinates::Asymmetric => i / scale,
            Coordinates::AlignCorners => {
                if n_out == 1 {
                    0.0
                } else {
                    i * (n_in - 1) as f32 / (n_out - 1) as f32
                }
            }
        }
    }

    /// The two neighbours of each output index and the weights of both.
    fn taps(&self, axis: usize, n_in: usize) -> Vec<Tap> {
        let tap = |i: usize| {
            let at = self.coordinate(axis, i, n_in).clamp(0.0, (n_in - 1) as f32);
            let low = (at as usize).min(n_in - 1);
            let high = (low + 1).min(n_in - 1);
            // At the last pixel both neighbours are the same one, and each counts half.
            let (above, below) = if low == high { (0.5, 0.5) } else { (at - low as f32, high as f32 - at) };
            Tap { low, high, weight_low: below, weight_high: above }
        };
        (0..self.sizes[axis]).map(tap).collect()
    }

    /// The nearest neighbour of each output index.
    fn nearest(&self, axis: usize, n_in: usize, nearest: Nearest) -> Vec<usize> {
        let pick = |i: usize| {
            let at = self.coordinate(axis, i, n_in);
            let index = match nearest {
                Nearest::RoundPreferFloor => (at - 0.5).ceil(),
                Nearest::RoundPreferCeil => (at + 0.5).floor(),
                Nearest::Floor => at.floor(),
                Nearest::Ceil => at.ceil(),
            };
            index.clamp(0.0, (n_in - 1) as f32) as usize
        };
        (0..self.sizes[axis]).map(pick).collect()
    }

    /// `Ok` if this was made for tensors of this shape that are not empty.
    fn check(&self, shape: &[usize]) -> Result<(), GoldenError> {
        const OP: &str = "Resize";
        expect_extent(OP, "rank of x", shape.len(), self.sizes.len())?;
        if shape.contains(&0) { Err(GoldenError::Empty { op: OP, tensor: "x" }) } else { Ok(()) }
    }
}

/// Two neighbours along an axis.
struct Tap {
    low: usize,
    high: usize,
    weight_low: f32,
    weight_high: f32,
}

/// Interpolates the last two axes of a float32 tensor: four taps in float32, summed row by row.
///
/// # Shapes
/// `x: [.., H, W]`; leading extents must not change; returns `resize.sizes()`.
/// # Errors
/// [`GoldenError::Rank`] below 2; [`GoldenError::Extent`] if a leading extent changes; [`GoldenError::Empty`].
/// # Source
/// `NUMERICS.md`, Resize linear.
pub fn resize_linear_f32(x: ArrayViewD<f32>, resize: &Resize) -> Result<ArrayD<f32>, GoldenError> {
    interpolate(x, resize, |v| v, |v| v)
}

/// Interpolates the last two axes of an 8-bit tensor: as [`resize_linear_f32`], then **truncated toward zero**, not rounded.
///
/// # Shapes
/// As [`resize_linear_f32`].
/// # Errors
/// As [`resize_linear_f32`].
/// # Source
/// `NUMERICS.md`, Resize linear; the truncation is ORT's.
pub fn resize_linear<T: Int8>(x: ArrayViewD<T>, resize: &Resize) -> Result<ArrayD<T>, GoldenError> {
    interpolate(x, resize, |v| v.widen() as f32, |v| T::saturate(v as i32))
}

fn interpolate<T: Copy>(
    x: ArrayViewD<T>,
    resize: &Resize,
    widen: impl Fn(T) -> f32,
    narrow: impl Fn(f32) -> T,
) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "Resize";
    let rank = x.ndim();
    if rank < 2 {
        return Err(GoldenError::Rank { op: OP, tensor: "x", found: rank, expected: "at least 2" });
    }
    resize.check(x.shape())?;
    for (&found, &expected) in resize.sizes.iter().zip(x.shape()).take(rank - 2) {
        expect_extent(OP, "leading extent", found, expected)?;
    }
    if resize.sizes.contains(&0) {
        return Ok(empty(&resize.sizes));
    }
    let rows = resize.taps(rank - 2, x.shape()[rank - 2]);
    let columns = resize.taps(rank - 1, x.shape()[rank - 1]);
    Ok(ArrayD::from_shape_fn(IxDyn(&resize.sizes), |at| {
        let (row, column) = (&rows[at[rank - 2]], &columns[at[rank - 1]]);
        let mut index = at.clone();
        let mut value = |y: usize, x_at: usize| {
            (index[rank - 2], index[rank - 1]) = (y, x_at);
            widen(x[&index])
        };
        let upper_left = column.weight_low * row.weight_low * value(row.low, column.low);
        let upper_right = column.weight_high * row.weight_low * value(row.low, column.high);
        let lower_left = column.weight_low * row.weight_high * value(row.high, column.low);
        let lower_right = column.weight_high * row.weight_high * value(row.high, column.high);
        narrow(upper_left + upper_right + lower_left + lower_right)
    }))
}

/// Takes the nearest neighbour along every axis.
///
/// # Shapes
/// `x`: any shape without an extent of 0; returns `resize.sizes()`.
/// # Errors
/// [`GoldenError::Extent`] if `resize` was made for another rank; [`GoldenError::Empty`].
/// # Source
/// The ONNX operator Resize, mode `nearest`; compared with ORT.
pub fn resize_nearest<T: Copy>(x: ArrayViewD<T>, resize: &Resize, nearest: Nearest) -> Result<ArrayD<T>, GoldenError> {
    resize.check(x.shape())?;
    if resize.sizes.contains(&0) {
        return Ok(empty(&resize.sizes));
    }
    let sources: Vec<_> = (0..x.ndim()).map(|axis| resize.nearest(axis, x.shape()[axis], nearest)).collect();
    Ok(ArrayD::from_shape_fn(IxDyn(&resize.sizes), |at| {
        let mut index = at.clone();
        for (axis, source) in sources.iter().enumerate() {
            index[axis] = source[at[axis]];
        }
        x[&index]
    }))
}

/// A tensor without elements, one of whose extents may still be large.
fn empty<T>(shape: &[usize]) -> ArrayD<T> {
    ArrayD::from_shape_vec(IxDyn(shape), Vec::new()).expect("an extent is 0")
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    #[test]
    fn eight_bit_values_are_truncated() {
        let x = arr2(&[[-3_i8, 0, 2]]).into_dyn();
        let resize = Resize::by_scales(&[1, 3], &[1.0, 2.0], Coordinates::HalfPixel).unwrap();
        // Exact: -3, -2.25, -0.75, 0.5, 1.5, 2.
        assert_eq!(resize_linear(x.view(), &resize), Ok(arr2(&[[-3, -2, 0, 0, 1, 2]]).into_dyn()));
    }

    #[test]
    fn scales_of_one_change_nothing() {
        let x = ArrayD::from_shape_fn(IxDyn(&[2, 3, 4]), |i| (i[0] * 100 + i[1] * 10 + i[2]) as u8);
        for coordinates in [Coordinates::HalfPixel, Coordinates::Asymmetric, Coordinates::AlignCorners] {
            let resize = Resize::to_sizes(x.shape(), x.shape(), coordinates).unwrap();
            assert_eq!(resize_linear(x.view(), &resize).as_ref(), Ok(&x));
            assert_eq!(resize_nearest(x.view(), &resize, Nearest::RoundPreferFloor).as_ref(), Ok(&x));
        }
    }

    #[test]
    fn misfits_are_errors() {
        let x = ArrayD::<u8>::zeros(IxDyn(&[2, 3]));
        assert!(Resize::by_scales(x.shape(), &[1.0], Coordinates::HalfPixel).is_err());
        assert!(Resize::by_scales(x.shape(), &[1.0, f32::NAN], Coordinates::HalfPixel).is_err());
        assert!(matches!(
            Resize::by_scales(x.shape(), &[1e30, 1e30], Coordinates::HalfPixel),
            Err(GoldenError::TooLarge { .. })
        ));
        let other = Resize::to_sizes(&[1, 2, 3], &[1, 4, 6], Coordinates::HalfPixel).unwrap();
        assert!(resize_nearest(x.view(), &other, Nearest::Floor).is_err());
        let batch = Resize::to_sizes(&[2, 3, 4], &[4, 3, 4], Coordinates::HalfPixel).unwrap();
        assert!(resize_linear(ArrayD::<u8>::zeros(IxDyn(&[2, 3, 4])).view(), &batch).is_err());
    }
}
