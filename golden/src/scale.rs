//! A requantisation scale as the integer machine holds it: a 24-bit mantissa and a right shift.
//!
//! Exactly the numbers that float32 can hold, so no bit of a scale is lost. Fixed-point tensors are in [`crate::fixed`].

use crate::error::GoldenError;

/// Bits of a mantissa.
pub const MANTISSA_BITS: u32 = 24;

/// How a shift to the right rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest integer, ties to the even one: what ORT does.
    HalfEven,
    /// To the nearest integer, ties toward plus infinity: add half, then shift.
    HalfUp,
}

/// `mantissa * 2^-shift`, positive, with `mantissa` in `2^23..2^24` (smaller only for subnormal float32 values).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scale {
    mantissa: u32,
    shift: u8,
}

impl Scale {
    /// The scale that equals a float32 exactly.
    ///
    /// # Errors
    /// [`GoldenError::ScaleRange`] if `scale` is zero, negative, not a number or at least 2^8.
    /// # Source
    /// `NUMERICS.md`, "On the integer machine".
    pub fn from_f32(scale: f32) -> Result<Self, GoldenError> {
        if !(scale > 0.0 && scale < 256.0) {
            return Err(GoldenError::ScaleRange { scale });
        }
        let fraction = scale.to_bits() & 0x7f_ffff;
        let exponent = scale.to_bits() >> 23;
        // A subnormal number has no hidden bit and the exponent of the smallest normal one.
        let (mantissa, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 0x80_0000, exponent) };
        Ok(Scale { mantissa, shift: (150 - exponent) as u8 })
    }

    /// The scale with this mantissa and shift.
    ///
    /// # Errors
    /// [`GoldenError::Parameter`] if `mantissa` is 0 or has more than 24 bits, or `shift` is over 149;
    /// [`GoldenError::ScaleRange`] if the value is at least 2^8.
    pub fn new(mantissa: u32, shift: u8) -> Result<Self, GoldenError> {
        const OP: &str = "Scale";
        if mantissa == 0 || mantissa >> MANTISSA_BITS != 0 {
            let legal = "in 1..2^24";
            return Err(GoldenError::Parameter { op: OP, name: "mantissa", value: mantissa.into(), legal });
        }
        if shift > 149 {
            return Err(GoldenError::Parameter { op: OP, name: "shift", value: shift.into(), legal: "in 0..=149" });
        }
        let scale = Scale { mantissa, shift };
        let value = scale.to_f64();
        if value < 256.0 { Ok(scale) } else { Err(GoldenError::ScaleRange { scale: value as f32 }) }
    }

    /// The mantissa: at most 24 bits.
    pub fn mantissa(self) -> u32 {
        self.mantissa
    }

    /// Places that the product is shifted to the right.
    pub fn shift(self) -> u8 {
        self.shift
    }

    /// The value; exact.
    pub fn to_f64(self) -> f64 {
        f64::from(self.mantissa) * 2.0_f64.powi(-i32::from(self.shift))
    }

    /// The value as float32; exact for a scale from [`Self::from_f32`].
    pub fn to_f32(self) -> f32 {
        self.to_f64() as f32
    }

    /// `round(value * self)`: the full product, rounded once.
    ///
    /// # Units
    /// `value` in input steps, the result in output steps.
    /// # Source
    /// `NUMERICS.md`, "On the integer machine".
    pub fn apply(self, value: i64, rounding: Rounding) -> i64 {
        let product = i128::from(value) * i128::from(self.mantissa);
        round_shift(product, u32::from(self.shift), rounding) as i64
    }

    /// Trailing zero bits of the mantissa. Where there are many, products often are exact ties, and half-up shows.
    pub fn trailing_zeros(self) -> u32 {
        self.mantissa.trailing_zeros()
    }
}

/// `value / 2^shift`, rounded, for values below 2^120.
pub(crate) fn round_shift(value: i128, shift: u32, rounding: Rounding) -> i128 {
    if shift == 0 {
        return value;
    }
    if shift > 126 {
        return 0; // less than half
    }
    let floor = value >> shift;
    let rest = value - (floor << shift);
    let half = 1_i128 << (shift - 1);
    let up = match rounding {
        Rounding::HalfUp => rest >= half,
        Rounding::HalfEven => rest > half || (rest == half && floor & 1 == 1),
    };
    floor + i128::from(up)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_scales() {
        let scale = Scale::from_f32(0.5).unwrap();
        assert_eq!((scale.mantissa(), scale.shift()), (1 << 23, 24));
        let smallest = Scale::from_f32(f32::from_bits(1)).unwrap();
        assert_eq!((smallest.mantissa(), smallest.shift()), (1, 149));
        assert!(Scale::from_f32(256.0).is_err());
        assert!(Scale::from_f32(0.0).is_err());
        assert!(Scale::new(1 << 24, 30).is_err());
    }

    #[test]
    fn ties() {
        let half = Scale::from_f32(0.5).unwrap();
        let all = |r| [-3, -1, 1, 3, 5].map(|v| half.apply(v, r));
        assert_eq!(all(Rounding::HalfEven), [-2, 0, 0, 2, 2]);
        assert_eq!(all(Rounding::HalfUp), [-1, 0, 1, 2, 3]);
    }

    proptest! {
        #[test]
        fn no_bit_of_a_float_scale_is_lost(bits in 1_u32..0x4380_0000) {
            let value = f32::from_bits(bits);
            let scale = Scale::from_f32(value).unwrap();
            prop_assert_eq!(scale.to_f32(), value);
            prop_assert_eq!(Scale::new(scale.mantissa(), scale.shift()), Ok(scale));
        }

        #[test]
        fn product_is_rounded_once(value in any::<i32>(), bits in 0x3000_0000_u32..0x4380_0000) {
            let scale = Scale::from_f32(f32::from_bits(bits)).unwrap();
            let got = scale.apply(value.into(), Rounding::HalfEven);
            // The exact product has up to 55 bits; compare in integers: |2 * got * 2^shift - 2 * product| <= 2^shift.
            let product = i128::from(value) * i128::from(scale.mantissa());
            let error = 2 * (i128::from(got) * (1_i128 << scale.shift()) - product);
            prop_assert!(error.abs() <= 1_i128 << scale.shift());
        }
    }
}
