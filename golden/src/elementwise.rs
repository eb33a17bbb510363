//! Exact element-wise functions: minimum, maximum, clip, and the arithmetic of ONNX on float32 and wide integers.
//!
//! Each float32 function but the power is one IEEE operation, so there is nothing to choose. Functions of one operand that
//! are not exact are in [`crate::unary`].

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

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
}

/// Element types of ONNX's arithmetic: float32, one rounding each, and wide integers, which wrap.
pub trait Arithmetic: sealed::Sealed + Copy + PartialEq + Default {
    /// `self + other`.
    fn sum(self, other: Self) -> Self;
    /// `self - other`.
    fn difference(self, other: Self) -> Self;
    /// `self * other`.
    fn product(self, other: Self) -> Self;
    /// `self / other`, integers truncating toward zero; `None` for an integer divided by 0.
    fn quotient(self, other: Self) -> Option<Self>;
    /// `self` to the power `other`: float32 squares and cubes by products, else by way of float64.
    fn power(self, other: Self) -> Self;
}

impl Arithmetic for f32 {
    fn sum(self, other: f32) -> f32 {
        self + other
    }

    fn difference(self, other: f32) -> f32 {
        self - other
    }

    fn product(self, other: f32) -> f32 {
        self * other
    }

    fn quotient(self, other: f32) -> Option<f32> {
        Some(self / other)
    }

    fn power(self, other: f32) -> f32 {
        match other {
            2.0 => self * self,
            3.0 => self * self * self,
            _ => f64::from(self).powf(f64::from(other)) as f32,
        }
    }
}

macro_rules! integer { ($($T:ty),*) => { $(
    impl Arithmetic for $T {
        fn sum(self, other: $T) -> $T {
            self.wrapping_add(other)
        }

        fn difference(self, other: $T) -> $T {
            self.wrapping_sub(other)
        }

        fn product(self, other: $T) -> $T {
            self.wrapping_mul(other)
        }

        fn quotient(self, other: $T) -> Option<$T> {
            (other != 0).then(|| self.wrapping_div(other))
        }

        fn power(self, other: $T) -> $T {
            (self as f64).powf(other as f64) as $T
        }
    }
)* } }

integer!(i32, i64);

/// Sum.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Add.
pub fn add<T: Arithmetic>(a: ArrayViewD<T>, b: ArrayViewD<T>) -> Result<ArrayD<T>, GoldenError> {
    map2("Add", a, b, |a, &b| a.sum(b))
}

/// Difference.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Sub.
pub fn sub<T: Arithmetic>(a: ArrayViewD<T>, b: ArrayViewD<T>) -> Result<ArrayD<T>, GoldenError> {
    map2("Sub", a, b, |a, &b| a.difference(b))
}

/// Product.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Mul.
pub fn mul<T: Arithmetic>(a: ArrayViewD<T>, b: ArrayViewD<T>) -> Result<ArrayD<T>, GoldenError> {
    map2("Mul", a, b, |a, &b| a.product(b))
}

/// Quotient; integers truncate toward zero.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`]; [`GoldenError::Parameter`] for an integer divided by 0.
/// # Source
/// The ONNX operator Div.
pub fn div<T: Arithmetic>(a: ArrayViewD<T>, b: ArrayViewD<T>) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "Div";
    let zero = GoldenError::Parameter { op: OP, name: "divisor", value: 0, legal: "other than 0 for integers" };
    if b.iter().any(|&b| T::default().quotient(b).is_none()) {
        return Err(zero);
    }
    map2(OP, a, b, |a, &b| a.quotient(b).unwrap_or_default())
}

/// Power. Float32 squares and cubes are products in float32, as in ORT; other powers go by way of float64, rounded once, and
/// integers likewise, truncated and saturated.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Pow.
pub fn pow<T: Arithmetic>(a: ArrayViewD<T>, b: ArrayViewD<T>) -> Result<ArrayD<T>, GoldenError> {
    map2("Pow", a, b, |a, &b| a.power(b))
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
    #[test]
    fn integers_wrap_and_truncate() {
        let (a, b) = (arr1(&[i64::MIN, -7, 7]).into_dyn(), arr1(&[-1_i64, 2, -2]).into_dyn());
        assert_eq!(div(a.view(), b.view()), Ok(arr1(&[i64::MIN, -3, -3]).into_dyn()));
        assert_eq!(sub(a.view(), arr1(&[1_i64]).into_dyn().view()).unwrap()[0], i64::MAX);
        assert!(div(a.view(), arr1(&[0_i64]).into_dyn().view()).is_err());
        assert_eq!(
            pow(arr1(&[-3_i32, 2]).into_dyn().view(), arr1(&[3]).into_dyn().view()),
            Ok(arr1(&[-27, 8]).into_dyn())
        );
    }

    #[test]
    fn powers() {
        let (a, b) = (arr1(&[1.1_f32, 2.0, -8.0, 9.0]).into_dyn(), arr1(&[2.0_f32, -1.0, 1.0 / 3.0, 0.5]).into_dyn());
        let y = pow(a.view(), b.view()).unwrap();
        assert_eq!((y[0], y[1], y[3]), (1.1_f32 * 1.1, 0.5, 3.0));
        assert!(y[2].is_nan());
    }
}
