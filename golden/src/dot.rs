//! The inner product that convolutions and matrix products share.

use crate::int8::Int8;

/// `value - zero`, which fits 16 bits for every 8-bit value and zero point.
pub(crate) fn centred<T: Int8>(value: T, zero: i32) -> i16 {
    (value.widen() - zero) as i16
}

/// Sum of products in wrapping 32 bits.
pub(crate) fn dot(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).fold(0_i32, |sum, (&a, &b)| sum.wrapping_add(i32::from(a) * i32::from(b)))
}

/// Adds `a` times each element of `b` to the float64 sums.
pub(crate) fn add_scaled(sums: &mut [f64], a: f64, b: &[f64]) {
    for (sum, &b) in sums.iter_mut().zip(b) {
        *sum += a * b;
    }
}
