//! Conversion between element types.

use ndarray::{ArrayD, ArrayViewD};

/// A value of another element type, by ONNX's Cast: to an integer by truncation toward zero, between integers by the low
/// bits, to `bool` by "is not 0" (not-a-number is true).
///
/// ONNX leaves a float outside an integer's range undefined; here it saturates and not-a-number gives 0.
pub trait CastTo<T> {
    /// The converted value.
    fn cast(self) -> T;
}

macro_rules! by_as { ($($From:ty => $($To:ty),*;)*) => { $($(
    impl CastTo<$To> for $From {
        fn cast(self) -> $To {
            self as $To
        }
    }
)*)* } }

by_as! {
    f32 => f32, i8, u8, i32, i64;
    i8 => f32, i8, u8, i32, i64;
    u8 => f32, i8, u8, i32, i64;
    i32 => f32, i8, u8, i32, i64;
    i64 => f32, i8, u8, i32, i64;
}

macro_rules! truth { ($($T:ty),*) => { $(
    impl CastTo<bool> for $T {
        fn cast(self) -> bool {
            self != (0 as $T)
        }
    }

    impl CastTo<$T> for bool {
        fn cast(self) -> $T {
            u8::from(self) as $T
        }
    }
)* } }

truth!(f32, i8, u8, i32, i64);

impl CastTo<bool> for bool {
    fn cast(self) -> bool {
        self
    }
}

/// Converts a tensor.
///
/// # Shapes
/// Any; the result has the shape of `x`.
/// # Source
/// The ONNX operator Cast.
pub fn cast<A: CastTo<B> + Copy, B: Clone>(x: ArrayViewD<A>) -> ArrayD<B> {
    x.mapv(CastTo::cast)
}

#[cfg(test)]
mod tests {
    use ndarray::arr1;

    use super::*;

    #[test]
    fn rules_of_conversion() {
        let x = arr1(&[-1.75_f32, 2.5, 1e30, f32::NAN, 0.0]).into_dyn();
        assert_eq!(cast::<f32, i32>(x.view()), arr1(&[-1, 2, i32::MAX, 0, 0]).into_dyn());
        assert_eq!(cast::<f32, bool>(x.view()), arr1(&[true, true, true, true, false]).into_dyn());
        let wide = arr1(&[300_i64, -1, i64::MIN]).into_dyn();
        assert_eq!(cast::<i64, u8>(wide.view()), arr1(&[44, 255, 0]).into_dyn());
        assert_eq!(cast::<bool, f32>(arr1(&[true, false]).into_dyn().view()), arr1(&[1.0, 0.0]).into_dyn());
    }
}
