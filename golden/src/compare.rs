//! What two tensors have in common: the figures of a comparison report.

use ndarray::ArrayViewD;

use crate::error::GoldenError;

/// Differences between a tensor and its reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Elements compared.
    pub total: usize,
    /// Elements that are not equal.
    pub mismatches: usize,
    /// Index of the first of them in row order.
    pub first: Option<Vec<usize>>,
    /// Largest magnitude of a difference.
    pub max_abs_err: f64,
    /// Index of the first element that differs so much; `None` where all are equal.
    pub max_err_index: Option<Vec<usize>>,
    /// Root of the mean square difference; 0 for empty tensors.
    pub rmse: f64,
    /// `max - min` of the reference: the peak of [`Self::psnr_float`].
    pub range: f64,
    /// Largest magnitude of a finite element of the reference.
    pub largest: f64,
}

impl Comparison {
    /// Peak signal to noise ratio in decibels, `10 log10(peak^2 / MSE)`; infinite where nothing differs.
    ///
    /// # Source
    /// `NUMERICS.md`, last paragraph.
    pub fn psnr(&self, peak: f64) -> f64 {
        if self.rmse == 0.0 { f64::INFINITY } else { 20.0 * (peak / self.rmse).log10() }
    }

    /// [`Self::psnr`] for 8-bit tensors, whose peak is 255.
    pub fn psnr_int8(&self) -> f64 {
        self.psnr(255.0)
    }

    /// [`Self::psnr`] for float and fixed-point tensors, whose peak is `max - min` of the reference.
    pub fn psnr_float(&self) -> f64 {
        self.psnr(self.range)
    }

    /// True if at most one in `per` elements differs, and none by more than `by`.
    pub fn within(&self, per: usize, by: f64) -> bool {
        self.mismatches.saturating_mul(per) <= self.total && self.max_abs_err <= by
    }
}

/// An element type that can be compared.
pub trait Measure: Copy + PartialEq {
    /// The value as float64; exact for all types but `i64`.
    fn to_f64(self) -> f64;
}

macro_rules! measure { ($($T:ty),*) => { $(
    impl Measure for $T {
        fn to_f64(self) -> f64 {
            self as f64
        }
    }
)* } }

measure!(i8, u8, i16, i32, i64, f32, f64);

/// Compares a tensor with its reference, element by element. Two not-a-numbers count as equal, and one alone as an
/// infinite difference.
///
/// # Shapes
/// Any, the same for both.
/// # Errors
/// [`GoldenError::Shape`] if the shapes differ.
pub fn compare<T: Measure>(got: ArrayViewD<T>, reference: ArrayViewD<T>) -> Result<Comparison, GoldenError> {
    if got.shape() != reference.shape() {
        let (found, expected) = (got.shape().to_vec(), reference.shape().to_vec());
        return Err(GoldenError::Shape { op: "compare", found, expected });
    }
    let mut result = Comparison {
        total: got.len(),
        mismatches: 0,
        first: None,
        max_abs_err: 0.0,
        max_err_index: None,
        rmse: 0.0,
        range: 0.0,
        largest: 0.0,
    };
    let (mut squares, mut low, mut high) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
    for ((index, &a), &b) in got.indexed_iter().zip(reference) {
        let (x, y) = (a.to_f64(), b.to_f64());
        (low, high) = (low.min(y), high.max(y));
        if y.is_finite() {
            result.largest = result.largest.max(y.abs());
        }
        if a == b || (x.is_nan() && y.is_nan()) {
            continue;
        }
        let difference = (x - y).abs();
        let error = if difference.is_nan() { f64::INFINITY } else { difference };
        result.mismatches += 1;
        result.first.get_or_insert_with(|| ndarray::Dimension::slice(&index).to_vec());
        if error > result.max_abs_err {
            result.max_abs_err = error;
            result.max_err_index = Some(ndarray::Dimension::slice(&index).to_vec());
        }
        squares += error * error;
    }
    if result.total > 0 {
        result.rmse = (squares / result.total as f64).sqrt();
        result.range = high - low;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use ndarray::{arr1, arr2};

    use super::*;

    #[test]
    fn figures_of_a_small_difference() {
        let (a, b) = (arr2(&[[1_i8, 2], [3, 7]]).into_dyn(), arr2(&[[1_i8, 1], [3, 4]]).into_dyn());
        let c = compare(a.view(), b.view()).unwrap();
        assert_eq!((c.total, c.mismatches, c.max_abs_err), (4, 2, 3.0));
        assert_eq!((c.first.clone(), c.max_err_index.clone()), (Some(vec![0, 1]), Some(vec![1, 1])));
        assert!((c.rmse - 2.5_f64.sqrt()).abs() < 1e-15);
        assert!((c.psnr_int8() - 10.0 * (255.0 * 255.0 / 2.5_f64).log10()).abs() < 1e-12);
        assert_eq!((c.range, c.largest), (3.0, 4.0));
        assert!(c.within(2, 3.0) && !c.within(3, 3.0) && !c.within(2, 2.0));
    }

    #[test]
    fn equal_tensors_have_infinite_psnr() {
        let a = arr1(&[f32::NAN, 0.0, -0.0]).into_dyn();
        let c = compare(a.view(), a.view()).unwrap();
        assert_eq!((c.mismatches, c.first.clone(), c.psnr_float()), (0, None, f64::INFINITY));
        let c = compare(a.view(), arr1(&[1.0, 0.0, 0.0]).into_dyn().view()).unwrap();
        assert_eq!((c.mismatches, c.max_abs_err), (1, f64::INFINITY));
        assert!(compare(a.view(), arr1(&[1.0]).into_dyn().view()).is_err());
    }
}
