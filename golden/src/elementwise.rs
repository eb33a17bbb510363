//! Exact element-wise functions: minimum, maximum, clip, and the float32 arithmetic of ONNX.
//!
//! Each float32 function is one IEEE operation, so there is nothing to choose. Functions of one operand that are not exact
//! are in [`crate::unary`].

use ndarray::{ArrayD, ArrayViewD};

use crate::broadcast::map2;
use crate::error::GoldenError;

/// The smaller of two elements; not-a-number wins, as in ONNX.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Min; compared with ORT.
pub fn min<T: PartialOrd + Copy>(a: ArrayViewD<T>, b: ArrayViewD<T>) -> Result<ArrayD<T>, GoldenError> {
    map2("Min", a, b, |&a, &b| if a < b || is_nan(&a) { a } else { b })
}

/// The larger of two elements; not-a-number wins, as in ONNX.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Max; compared with ORT.
pub fn max<T: PartialOrd + Copy>(a: ArrayViewD<T>, b: ArrayViewD<T>) -> Result<ArrayD<T>, GoldenError> {
    map2("Max", a, b, |&a, &b| if a > b || is_nan(&a) { a } else { b })
}

/// Limits each element to `low..=high`; where `low > high` the result is `high`, as in ONNX.
///
/// # Shapes
/// Any; the result has the shape of `x`.
/// # Source
/// The ONNX operator Clip; compared with ORT.
pub fn clip<T: PartialOrd + Copy>(x: ArrayViewD<T>, low: Option<T>, high: Option<T>) -> ArrayD<T> {
    x.mapv(|v| {
        let v = low.filter(|&low| v < low).unwrap_or(v);
        high.filter(|&high| v > high).unwrap_or(v)
    })
}

/// Float32 sum, one rounding.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Add.
pub fn add(a: ArrayViewD<f32>, b: ArrayViewD<f32>) -> Result<ArrayD<f32>, GoldenError> {
    map2("Add", a, b, |a, b| a + b)
}

/// Float32 difference, one rounding.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Sub.
pub fn sub(a: ArrayViewD<f32>, b: ArrayViewD<f32>) -> Result<ArrayD<f32>, GoldenError> {
    map2("Sub", a, b, |a, b| a - b)
}

/// Float32 product, one rounding.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Mul.
pub fn mul(a: ArrayViewD<f32>, b: ArrayViewD<f32>) -> Result<ArrayD<f32>, GoldenError> {
    map2("Mul", a, b, |a, b| a * b)
}

/// Float32 quotient, one rounding.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Div.
pub fn div(a: ArrayViewD<f32>, b: ArrayViewD<f32>) -> Result<ArrayD<f32>, GoldenError> {
    map2("Div", a, b, |a, b| a / b)
}

/// True for the one kind of value that does not equal itself.
#[expect(clippy::eq_op, reason = "the definition of not-a-number, for any ordered type")]
fn is_nan<T: PartialOrd>(v: &T) -> bool {
    v != v
}

#[cfg(test)]
mod tests {
    use ndarray::arr1;

    use super::*;

    #[test]
    fn not_a_number_wins() {
        let (a, b) = (arr1(&[f32::NAN, 1.0, 2.0]).into_dyn(), arr1(&[0.0, f32::NAN, 1.0]).into_dyn());
        for y in [min(a.view(), b.view()).unwrap(), max(a.view(), b.view()).unwrap()] {
            assert!(y[0].is_nan() && y[1].is_nan() && !y[2].is_nan());
        }
    }

    #[test]
    fn crossed_limits_give_the_upper() {
        assert_eq!(clip(arr1(&[-5_i8, 0, 5]).into_dyn().view(), Some(3), Some(-3)), arr1(&[-3, -3, -3]).into_dyn());
        assert_eq!(clip(arr1(&[-5_i8, 0, 5]).into_dyn().view(), None, Some(0)), arr1(&[-5, 0, 0]).into_dyn());
    }
}
