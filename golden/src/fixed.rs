//! Fixed point: 32-bit integers with a number of fraction bits, after section 6 of `MACHINE.md`.
//!
//! These are the rules of the machine's instructions and of the tensors that are not 8-bit. For operators that ONNX Runtime
//! has too, the other modules win. The number of fraction bits of a value stands beside it, not in its type: the golden
//! function is the judge of a typed kernel and must not share its bookkeeping.

use ndarray::{ArrayD, ArrayViewD};

use crate::error::{GoldenError, checked_len};
use crate::int8::Int8;
use crate::quant::Quant;
use crate::scale::{Rounding, round_shift};

/// Fraction bits that a requantisation and a quantisation keep for the rounding.
pub const ROUNDING_BITS: u32 = 2;

/// Fraction bits of the intermediate sum of [`fx_qadd`].
pub const QADD_BITS: u32 = 16;

/// Multiplies: signed 64-bit product, arithmetic shift right by `shift` (left if negative), low 32 bits. No rounding, no
/// saturation.
///
/// # Units
/// With `fa` and `fb` fraction bits the result has `fa + fb - shift`. A shift beyond the word gives 0 or -1 to the right
/// and 0 to the left.
/// # Source
/// `MACHINE.md` section 6, multiply.
pub fn fx_mul(a: i32, b: i32, shift: i32) -> i32 {
    shifted(i64::from(a) * i64::from(b), shift) as i32
}

/// Divides: `(a << p) / b` in 64 bits, truncating toward zero, low 32 bits.
///
/// # Units
/// With `fa` and `fb` fraction bits the result has `fa - fb + p`.
/// # Errors
/// [`GoldenError::Parameter`] for a divisor of 0 or `p` over 32.
/// # Source
/// `MACHINE.md` section 6, divide.
pub fn fx_div(a: i32, b: i32, p: u32) -> Result<i32, GoldenError> {
    const OP: &str = "fx_div";
    if b == 0 {
        return Err(GoldenError::Parameter { op: OP, name: "b", value: 0, legal: "other than 0" });
    }
    if p > 32 {
        return Err(GoldenError::Parameter { op: OP, name: "p", value: p.into(), legal: "in 0..=32" });
    }
    // -2^31 << 32 is the smallest 64-bit integer, which divided by -1 wraps.
    Ok((i64::from(a) << p).wrapping_div(i64::from(b)) as i32)
}

/// Rounds to fewer fraction bits: add half, arithmetic shift right; ties toward plus infinity.
///
/// # Units
/// Takes `bits` fraction bits away; 0 changes nothing.
/// # Source
/// `MACHINE.md` section 6, round.
pub fn fx_round(value: i64, bits: u32) -> i64 {
    round_shift(i128::from(value), bits, Rounding::HalfUp) as i64
}

/// Fraction bits of a range: 31 less the bits of the integer part, which are 0 where all magnitudes are below 1, less
/// `guard_bits`.
///
/// # Errors
/// [`GoldenError::FloatParameter`] if a bound is not finite or its magnitude is 2^31 or more; [`GoldenError::Empty`] if
/// `low > high`; [`GoldenError::Parameter`] if the guard bits do not leave a fraction bit count of at least 0.
/// # Source
/// `MACHINE.md` section 6, "fraction bits of a range in 32 bits".
pub fn fraction_bits(low: f64, high: f64, guard_bits: u32) -> Result<u32, GoldenError> {
    const OP: &str = "fraction_bits";
    if low > high {
        return Err(GoldenError::Empty { op: OP, tensor: "range" });
    }
    let largest = low.abs().max(high.abs());
    if low.is_nan() || high.is_nan() || largest >= 2.0_f64.powi(31) {
        let (value, legal) = (if low.is_nan() { low } else { high }, "a magnitude below 2^31");
        return Err(GoldenError::FloatParameter { op: OP, name: "range", value, legal });
    }
    let integer_bits = u64::BITS - (largest as u64).leading_zeros();
    (31 - integer_bits).checked_sub(guard_bits).ok_or({
        let legal = "no more than the fraction bits";
        GoldenError::Parameter { op: OP, name: "guard bits", value: guard_bits.into(), legal }
    })
}

/// The fixed-point number nearest to a real one, ties to even, saturated to 32 bits; not-a-number gives 0.
///
/// # Units
/// `bits` fraction bits.
/// # Source
/// Ours: how the host makes constants and inputs.
pub fn fx_from_f64(value: f64, bits: u32) -> i32 {
    // A multiplication by a power of two is exact; the conversion saturates.
    (value * 2.0_f64.powi(bits as i32)).round_ties_even() as i32
}

/// The real number that a fixed-point one stands for; exact.
///
/// # Units
/// `bits` fraction bits.
pub fn fx_to_f64(value: i32, bits: u32) -> f64 {
    f64::from(value) * 2.0_f64.powi(-(bits as i32))
}

/// A positive fixed-point factor with its fraction bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor {
    /// The value times `2^bits`.
    pub value: i32,
    /// Fraction bits.
    pub bits: u32,
}

impl Factor {
    /// The factor nearest to a real number, with as many fraction bits as 32 bits hold.
    ///
    /// # Errors
    /// As [`fraction_bits`].
    /// # Source
    /// `MACHINE.md` section 6, "fraction bits of a range".
    pub fn of(value: f64) -> Result<Self, GoldenError> {
        let bits = fraction_bits(value, value, 0)?;
        Ok(Factor { value: fx_from_f64(value, bits), bits })
    }

    /// `value * self` in 64 bits, shifted to `out` fraction bits without rounding, where `value` has `bits`.
    fn apply(self, value: i64, bits: u32, out: u32) -> i64 {
        // Accumulators have up to 33 bits with their bias, the factor 31: the product fits.
        shifted(value * i64::from(self.value), (self.bits + bits) as i32 - out as i32)
    }
}

/// Requantises an accumulator: `(acc + bias) * multiplier` in 64 bits, shifted to 2 fraction bits without rounding, rounded
/// half up, zero point, clamp.
///
/// Cutting to 2 fraction bits first moves values just below a tie away from it, never across: it equals a single rounding.
///
/// # Units
/// `acc` and `bias` count steps of `s_x * s_w`; `multiplier` is `s_x * s_w / s_y`.
/// # Source
/// `MACHINE.md` section 6, requantise.
pub fn fx_requantize<T: Int8>(acc: i32, bias: i32, multiplier: Factor, zero_point: T) -> T {
    let quarters = multiplier.apply(i64::from(acc) + i64::from(bias), 0, ROUNDING_BITS);
    finish(quarters, ROUNDING_BITS, zero_point)
}

/// Quantises a fixed-point number: times `1 / scale`, shifted to 2 fraction bits, rounded half up, zero point, clamp.
///
/// # Units
/// `x` has `bits` fraction bits.
/// # Errors
/// As [`fraction_bits`], for a scale whose reciprocal does not fit.
/// # Source
/// `MACHINE.md` section 6, quantise, whose check values are a test here.
pub fn fx_quantize<T: Int8>(x: i32, bits: u32, q: Quant<T>) -> Result<T, GoldenError> {
    let reciprocal = Factor::of(1.0 / f64::from(q.scale()))?;
    Ok(finish(reciprocal.apply(i64::from(x), bits, ROUNDING_BITS), ROUNDING_BITS, q.zero_point()))
}

/// Dequantises to fixed point: `((x - zero_point) * scale) >> (f_scale - bits)`, low 32 bits, no rounding.
///
/// # Units
/// The result has `bits` fraction bits.
/// # Errors
/// As [`fraction_bits`], for a scale that does not fit.
/// # Source
/// `MACHINE.md` section 6, dequantise.
pub fn fx_dequantize<T: Int8>(x: T, q: Quant<T>, bits: u32) -> Result<i32, GoldenError> {
    let scale = Factor::of(f64::from(q.scale()))?;
    Ok(scale.apply(i64::from(x.widen() - q.zero()), 0, bits) as i32)
}

/// Adds quantised numbers: both brought to output steps with 16 fraction bits, summed, rounded half up, zero point, clamp.
///
/// # Errors
/// As [`fraction_bits`], for a ratio of scales that does not fit.
/// # Source
/// `MACHINE.md` section 6, quantised add.
pub fn fx_qadd<T: Int8>(a: T, qa: Quant<T>, b: T, qb: Quant<T>, qy: Quant<T>) -> Result<T, GoldenError> {
    let rescaled = |v: T, q: Quant<T>| {
        let ratio = Factor::of(f64::from(q.scale()) / f64::from(qy.scale()))?;
        Ok(ratio.apply(i64::from(v.widen() - q.zero()), 0, QADD_BITS))
    };
    Ok(finish(rescaled(a, qa)? + rescaled(b, qb)?, QADD_BITS, qy.zero_point()))
}

/// Layer normalisation of a fixed-point tensor over its last axis: exact 64-bit sums, `1 / sigma = exp(-ln(v) / 2)` in
/// float64, one rounding to the output's fraction bits.
///
/// What a kernel approaches with its 32-bit steps; those are the kernel's choice.
///
/// # Shapes
/// `x: [.., D]`; `gamma`, `beta: [D]`; the result has the shape of `x`.
/// # Units
/// `x` has `bits` fraction bits, the result `out_bits`; `epsilon` is in squares of real units.
/// # Errors
/// [`GoldenError::Rank`] for a scalar; [`GoldenError::Extent`] for `gamma` or `beta`; [`GoldenError::TooLarge`] if the sums
/// could overflow; [`GoldenError::FloatParameter`] if `epsilon` is negative or not finite.
/// # Source
/// `MACHINE.md` section 6, layer norm.
pub fn fx_layer_norm(
    x: ArrayViewD<i32>,
    bits: u32,
    gamma: &[f64],
    beta: &[f64],
    epsilon: f64,
    out_bits: u32,
) -> Result<ArrayD<i32>, GoldenError> {
    const OP: &str = "fx_layer_norm";
    let Some(&n_row) = x.shape().last() else {
        return Err(GoldenError::Rank { op: OP, tensor: "x", found: 0, expected: "at least 1" });
    };
    crate::error::expect_extent(OP, "gamma", gamma.len(), n_row)?;
    crate::error::expect_extent(OP, "beta", beta.len(), n_row)?;
    checked_len(OP, x.shape())?;
    if !(epsilon.is_finite() && epsilon >= 0.0) {
        let legal = "finite and at least 0";
        return Err(GoldenError::FloatParameter { op: OP, name: "epsilon", value: epsilon, legal });
    }
    let values: Vec<i32> = x.iter().copied().collect();
    let mut y = Vec::with_capacity(values.len());
    for row in values.chunks(n_row.max(1)) {
        let moments = Moments::of(row);
        let unit = 2.0_f64.powi(-(bits as i32));
        let inverse_sigma = (-0.5 * (moments.variance() * unit * unit + epsilon).ln()).exp();
        for (i, &v) in row.iter().enumerate() {
            let centred = moments.centred(v) * unit;
            // A row of equal elements with an epsilon of 0 has no deviation to scale.
            let normalised = if centred == 0.0 { 0.0 } else { centred * inverse_sigma };
            y.push(fx_from_f64(normalised * gamma[i] + beta[i], out_bits));
        }
    }
    Ok(ArrayD::from_shape_vec(x.raw_dim(), y).expect("one value per element"))
}

/// Sums of a row, exact.
struct Moments {
    n: i128,
    sum: i128,
    squares: i128,
}

impl Moments {
    fn of(row: &[i32]) -> Self {
        let wide = |&v: &i32| i128::from(v);
        Moments {
            n: row.len() as i128,
            sum: row.iter().map(wide).sum(),
            squares: row.iter().map(|v| wide(v) * wide(v)).sum(),
        }
    }

    fn variance(&self) -> f64 {
        (self.n * self.squares - self.sum * self.sum) as f64 / (self.n * self.n) as f64
    }

    fn centred(&self, v: i32) -> f64 {
        (self.n * i128::from(v) - self.sum) as f64 / self.n as f64
    }
}

/// Rounds away the fraction, adds the zero point, clamps.
fn finish<T: Int8>(value: i64, bits: u32, zero_point: T) -> T {
    let steps = fx_round(value, bits).saturating_add(i64::from(zero_point.widen()));
    T::saturate(steps.clamp(i64::from(T::MIN), i64::from(T::MAX)) as i32)
}

/// Arithmetic shift right, or left where `shift` is negative; bits shifted out are lost.
fn shifted(value: i64, shift: i32) -> i64 {
    match shift {
        0..64 => value >> shift,
        64.. => value >> 63,
        -63..0 => value << -shift,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;
    use proptest::prelude::*;

    use super::*;

    /// The check values of `MACHINE.md` section 6.
    #[test]
    fn quantise_check_values() {
        let q = Quant::new(0.018_658_448_f64 as f32, -14_i8).unwrap();
        let got = [-15.0, 1.4, 2.0, 3.4, 14.5, 15.5].map(|x| fx_quantize(fx_from_f64(x, 27), 27, q).unwrap());
        assert_eq!(got, [-128, 61, 93, 127, 127, 127]);
    }

    #[test]
    fn products_shift_and_wrap() {
        assert_eq!(fx_mul(3 << 16, 5 << 16, 16), 15 << 16);
        assert_eq!(fx_mul(-1, 1, 1), -1);
        assert_eq!(fx_mul(i32::MIN, i32::MIN, 0), 0);
        assert_eq!(fx_mul(i32::MIN, i32::MIN, 32), 1 << 30);
        assert_eq!(fx_mul(3, 5, -2), 60);
        assert_eq!((fx_mul(-3, 5, 70), fx_mul(3, 5, 70), fx_mul(3, 5, -64)), (-1, 0, 0));
    }

    #[test]
    fn quotients_truncate_toward_zero() {
        assert_eq!([fx_div(7, 2, 0), fx_div(-7, 2, 0), fx_div(7, -2, 0)], [Ok(3), Ok(-3), Ok(-3)]);
        assert_eq!(fx_div(1, 3, 16), Ok(21845));
        assert_eq!(fx_div(i32::MIN, -1, 32), Ok(0));
        assert!(fx_div(1, 0, 16).is_err());
        assert!(fx_div(1, 1, 33).is_err());
    }

    #[test]
    fn ties_round_up() {
        assert_eq!([-6, -5, -2, 2, 5, 6].map(|v| fx_round(v, 2)), [-1, -1, 0, 1, 1, 2]);
    }

    #[test]
    fn fraction_bits_of_ranges() {
        assert_eq!(fraction_bits(-0.99, 0.5, 0), Ok(31));
        assert_eq!(fraction_bits(-1.0, 0.5, 0), Ok(30));
        assert_eq!(fraction_bits(-15.0, 15.5, 0), Ok(27));
        assert_eq!(fraction_bits(-15.0, 16.0, 1), Ok(25));
        assert_eq!(fraction_bits(0.0, 2_147_483_647.0, 0), Ok(0));
        for (low, high, guard) in [(0.0, 2_147_483_648.0, 0), (f64::NAN, 1.0, 0), (2.0, 1.0, 0), (0.0, 1e9, 2)] {
            assert!(fraction_bits(low, high, guard).is_err(), "{low} {high}");
        }
    }

    #[test]
    fn sums_of_steps() {
        let q = |scale, zero_point: i8| Quant::new(scale, zero_point).unwrap();
        assert_eq!(fx_qadd(10, q(0.5, 0), 20, q(0.25, 4), q(1.0, -3)), Ok(6));
        assert_eq!(fx_qadd(127, q(1.0, -128), 127, q(1.0, -128), q(0.001, 0)), Ok(127));
        assert_eq!(fx_dequantize(-128_i8, q(0.5, 0), 16), Ok(-64 << 16));
        assert_eq!(fx_dequantize(3_i8, q(0.1, 0), 27), Ok(40_265_319));
    }

    #[test]
    fn layer_norm_of_known_rows() {
        let x = arr2(&[[1 << 16, 3 << 16], [5, 5]]).into_dyn();
        let y = fx_layer_norm(x.view(), 16, &[1.0, 2.0], &[0.0, 0.5], 0.0, 20).unwrap();
        assert_eq!(y, arr2(&[[-1 << 20, 5 << 19], [0, 1 << 19]]).into_dyn());
        assert!(fx_layer_norm(x.view(), 16, &[1.0], &[0.0, 0.5], 0.0, 20).is_err());
    }

    proptest! {
        #[test]
        fn product_equals_the_wide_formula(a: i32, b: i32, shift in 0_i32..63) {
            let exact = (i128::from(a) * i128::from(b)).div_euclid(1 << shift);
            prop_assert_eq!(fx_mul(a, b, shift), exact as i32);
        }

        #[test]
        fn two_fraction_bits_equal_one_rounding(acc: i32, bias in -1_000_000_i32..1_000_000, m in 0.000_01_f64..1.0) {
            let multiplier = Factor::of(m).unwrap();
            let product = (i128::from(acc) + i128::from(bias)) * i128::from(multiplier.value);
            let once = round_shift(product, multiplier.bits, Rounding::HalfUp) + 5;
            prop_assert_eq!(i128::from(fx_requantize::<i8>(acc, bias, multiplier, 5)), once.clamp(-128, 127));
        }

        #[test]
        fn quantise_follows_the_division(x: i32, scale in 0.001_f32..2.0) {
            let q = Quant::new(scale, -14_i8).unwrap();
            let exact = (fx_to_f64(x, 27) / f64::from(scale)).clamp(-200.0, 200.0) - 14.0;
            let got = f64::from(fx_quantize(x, 27, q).unwrap());
            prop_assert!((got - exact.clamp(-128.0, 127.0)).abs() <= 0.500_001);
        }
    }
}
