//! The two 8-bit element types, so that an operator is written once for both.
//!
//! Absent on purpose: arithmetic. Every operator widens to `i32` first and says itself how it comes back.

use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    impl Sealed for i8 {}
    impl Sealed for u8 {}
}

/// `i8` or `u8`: the element types of quantised tensors.
pub trait Int8: sealed::Sealed + Copy + Ord + Debug + Default + Send + Sync + 'static {
    /// Smallest value of the type.
    const MIN: i32;
    /// Largest value of the type.
    const MAX: i32;

    /// The value, widened.
    fn widen(self) -> i32;

    /// The nearest value of the type: clamps to `MIN..=MAX`.
    fn saturate(value: i32) -> Self;

    /// The eight bits, as an index into a table of 256.
    fn bits(self) -> u8;

    /// The value with these eight bits.
    fn from_bits(bits: u8) -> Self;
}

impl Int8 for i8 {
    const MIN: i32 = -128;
    const MAX: i32 = 127;

    fn widen(self) -> i32 {
        i32::from(self)
    }

    fn saturate(value: i32) -> Self {
        value.clamp(-128, 127) as i8
    }

    fn bits(self) -> u8 {
        self as u8
    }

    fn from_bits(bits: u8) -> Self {
        bits as i8
    }
}

impl Int8 for u8 {
    const MIN: i32 = 0;
    const MAX: i32 = 255;

    fn widen(self) -> i32 {
        i32::from(self)
    }

    fn saturate(value: i32) -> Self {
        value.clamp(0, 255) as u8
    }

    fn bits(self) -> u8 {
        self
    }

    fn from_bits(bits: u8) -> Self {
        bits
    }
}

/// All 256 values of the type, by their bits: the domain of a table.
pub fn all_values<T: Int8>() -> impl Iterator<Item = T> {
    (0..=255).map(T::from_bits)
}
