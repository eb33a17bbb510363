//! `exp` and `log` in fixed point, correctly rounded and the same on any host: no mathematical library takes part.
//!
//! Ziv's method. A quick evaluation in IEEE doubles (additions and products only, never contracted, one division) has a
//! known error bound; if a rounding boundary lies within it, an evaluation with 120 fraction bits decides. The only exact
//! results are `exp(0) = 1` and `ln(1) = 0`, which are no boundaries, so ties do not occur; any other value is
//! transcendental. Among the 2^42 combinations of argument and formats the nearest approach to a boundary is expected to
//! be some 2^-42 of a step, while the slow path's error is below 2^-80 of a step.

use super::group::{LANES, Lanes};

/// 1.5 * 2^52: adding and subtracting it rounds a small double to an integer.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// `exp` in the lanes of `enable`; others are unspecified.
#[inline(always)]
pub(super) fn exp_lanes(a: &Lanes, from: u32, to: u32, enable: u64) -> Lanes {
    let mut result = Lanes::ZERO;
    let mut doubt = [0u8; LANES];
    // log2(e) / 2^from: the division by a power of two is exact.
    let scale = std::f64::consts::LOG2_E * power_of_two(-(from as i32));
    for ((result, doubt), a) in result.0.iter_mut().zip(&mut doubt).zip(a.0) {
        (*result, *doubt) = quick_exp(a, scale, to as i32);
    }
    settle(&mut result, &doubt, enable, |lane| slow_exp(a.0[lane], from, to));
    result
}

/// `log` in the lanes of `enable`; others are unspecified.
#[inline(always)]
pub(super) fn log_lanes(a: &Lanes, from: u32, to: u32, enable: u64) -> Lanes {
    let mut result = Lanes::ZERO;
    let mut doubt = [0u8; LANES];
    for ((result, doubt), a) in result.0.iter_mut().zip(&mut doubt).zip(a.0) {
        (*result, *doubt) = quick_log(a, from as i32, to as i32);
    }
    settle(&mut result, &doubt, enable, |lane| slow_log(a.0[lane], from, to));
    result
}

/// Lets `slow` decide the enabled lanes in doubt.
#[inline(always)]
fn settle(result: &mut Lanes, doubt: &[u8; LANES], enable: u64, slow: impl Fn(usize) -> i32) {
    if doubt.iter().fold(0, |any, d| any | d) == 0 {
        return;
    }
    for lane in (0..LANES).filter(|lane| doubt[*lane] != 0 && enable >> lane & 1 == 1) {
        result.0[lane] = slow(lane);
    }
}

/// `2^n` for a normal exponent.
#[inline(always)]
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// Rounds `value`, known up to `error`, to an integer and saturates it; 1 beside it if the error leaves it open.
#[inline(always)]
fn round(value: f64, error: f64) -> (i32, u8) {
    // Saturating before rounding changes nothing: the bounds lie two steps beyond the range of i32.
    let value = value.clamp(-2_147_483_650.0, 2_147_483_650.0);
    let whole = (value + TO_INTEGER) - TO_INTEGER;
    let rest = (value - whole).abs();
    // The bits of a double near TO_INTEGER count in ones.
    let whole = (whole + TO_INTEGER).to_bits() as i64 - TO_INTEGER.to_bits() as i64;
    (whole.clamp(i32::MIN as i64, i32::MAX as i64) as i32, (rest + error >= 0.5) as u8)
}

/// `exp(a / 2^from) * 2^to`, `scale = log2(e) / 2^from`.
///
/// Relative error: `t` is wrong by up to |t| * 2^-52.4 < 2^-46.8, since |t| <= 48 after the clamp; the polynomial's
/// remainder is below 2^-52 and its roundings below 2^-50. Together under 2^-46; 2^-44 is assumed.
#[inline(always)]
fn quick_exp(a: i32, scale: f64, to: i32) -> (i32, u8) {
    // Below 2^-35 the result is 0 in every format, above 2^32 it saturates; the clamp keeps either.
    let t = (a as f64 * scale).clamp(-40.0, 40.0);
    let n = (t + TO_INTEGER) - TO_INTEGER;
    let x = (t - n) * std::f64::consts::LN_2;
    let mut p = 1.0 / 479_001_600.0;
    for c in EXP_TAYLOR {
        p = p * x + c;
    }
    let exponent = (n + TO_INTEGER).to_bits() as i64 - TO_INTEGER.to_bits() as i64 + to as i64;
    // The limit keeps the error, and with it the doubt, of saturated results small.
    let value = (p * f64::from_bits(((1023 + exponent) as u64) << 52)).min(2_147_483_650.0);
    round(value, value * power_of_two(-44))
}

/// 1 / 11!, 1 / 10!, .. 1 / 0!.
const EXP_TAYLOR: [f64; 12] = [
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// `ln(a / 2^from) * 2^to`.
///
/// Absolute error before the factor 2^to: `n * ln(2)` with |n| <= 31 is wrong by up to 2^-48.5, the sum's rounding by
/// 2^-49, the series by 2^-52. Together under 2^-47; 2^-46 is assumed.
#[inline(always)]
fn quick_log(a: i32, from: i32, to: i32) -> (i32, u8) {
    // a = 2^e * m with m in 0.70..1.42: the constant moves the boundary of the exponent field from 1 to about sqrt(1/2).
    let bits = (a.max(1) as f64).to_bits() + (0x3ff0_0000_0000_0000 - 0x3fe6_a09e_0000_0000);
    let e = (bits >> 52) as i32 - 1023;
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + 0x3fe6_a09e_0000_0000);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 23.0;
    for c in ATANH_TAYLOR {
        p = p * z + c;
    }
    let ln = (e - from) as f64 * std::f64::consts::LN_2 + 2.0 * s * p;
    let factor = power_of_two(to);
    let (value, doubt) = round(ln * factor, factor * power_of_two(-46));
    if a > 0 { (value, doubt) } else { (i32::MIN, 0) }
}

/// 1 / 21, 1 / 19, .. 1 / 1.
const ATANH_TAYLOR: [f64; 11] = [
    1.0 / 21.0,
    1.0 / 19.0,
    1.0 / 17.0,
    1.0 / 15.0,
    1.0 / 13.0,
    1.0 / 11.0,
    1.0 / 9.0,
    1.0 / 7.0,
    1.0 / 5.0,
    1.0 / 3.0,
    1.0,
];

/// Fraction bits of the slow path.
const FRAC: u32 = 120;
/// 1 with 120 fraction bits.
const ONE: u128 = 1 << FRAC;
/// `ln(2)` with 120 fraction bits, rounded down: 0xb17217f7d1cf79abc9e3b39803f2f6 * 2^-120.
const LN_2: i128 = 0xb1_7217_f7d1_cf79_abc9_e3b3_9803_f2f6;

/// `(a * b) >> 120` of numbers whose product is below 2^248.
fn mul(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a0 * b0;
    let mid = a1 * b0 + (low >> 64);
    let mid2 = a0 * b1 + (mid & LOW);
    let high = a1 * b1 + (mid >> 64) + (mid2 >> 64);
    (high << (128 - FRAC)) | ((mid2 & LOW) >> (FRAC - 64))
}

/// Rounds `value`, with `frac` fraction bits, and saturates.
fn round_wide(value: i128, frac: u32) -> i32 {
    ((value + (1 << (frac - 1))) >> frac).clamp(i32::MIN as i128, i32::MAX as i128) as i32
}

/// `exp(a / 2^from) * 2^to` in fixed point.
fn slow_exp(a: i32, from: u32, to: u32) -> i32 {
    // exp(23) > 2^33 saturates and exp(-23) < 2^-33 is 0, whatever the format.
    if (a as i64) >= 23 << from {
        return i32::MAX;
    }
    if (a as i64) <= -(23 << from) {
        return 0;
    }
    let y = (a as i128) << (FRAC - from);
    let n = y.div_euclid(LN_2);
    let r = (y - n * LN_2) as u128;
    // exp(r), r < ln(2): 1 + r/1 * (1 + r/2 * (1 + r/3 * ..)); the 32nd term is below 2^-130.
    let exp = (1..=32).rev().fold(ONE, |sum, k| ONE + mul(r, sum) / k);
    // exp * 2^(n + to): below 2^(n + to + 1).
    match FRAC as i128 - n - to as i128 {
        ..=88 => i32::MAX,
        frac @ 89..=126 => round_wide(exp as i128, frac as u32),
        _ => 0,
    }
}

/// `ln(a / 2^from) * 2^to` in fixed point, `a > 0`.
fn slow_log(a: i32, from: u32, to: u32) -> i32 {
    let e = a.ilog2();
    let power = 1u128 << e;
    // ln(m) = 2 atanh((m - 1) / (m + 1)) with m = a / 2^e in 1..2, so that s < 1/3.
    let (num, den) = (a as u128 - power, a as u128 + power);
    let high = (num << 64) / den;
    let low = (((num << 64) % den) << 56) / den;
    let s = (high << 56) | low;
    let z = mul(s, s);
    // Terms fall by 9 each: the 41st is below 2^-128.
    let series = (0..=40).rev().fold(0, |sum, k| ONE / (2 * k + 1) + mul(z, sum));
    let ln = 2 * mul(s, series) as i128 + (e as i128 - from as i128) * LN_2;
    // |ln| < 22, so |ln| * 2^120 fits; the format's factor moves the point.
    round_wide(ln, FRAC - to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments spread over the whole range, denser towards 0.
    fn arguments() -> impl Iterator<Item = i32> {
        (0..80_000u32).map(|i| i.wrapping_mul(0x9e37_79b1) as i32 >> (i % 64).saturating_sub(32))
    }

    #[test]
    fn quick_results_without_doubt_are_those_of_the_slow_path() {
        let mut n_doubts = 0;
        for (from, to) in [(0, 0), (27, 31), (30, 30), (31, 31), (16, 16), (24, 8), (5, 31), (31, 0)] {
            let scale = std::f64::consts::LOG2_E * power_of_two(-(from as i32));
            for a in arguments() {
                let (exp, doubt) = quick_exp(a, scale, to as i32);
                assert!(doubt == 1 || exp == slow_exp(a, from, to), "exp of {a}, q{from} to q{to}");
                n_doubts += doubt as usize;
                let (log, doubt) = quick_log(a, from as i32, to as i32);
                assert!(a <= 0 || doubt == 1 || log == slow_log(a, from, to), "log of {a}, q{from} to q{to}");
                n_doubts += doubt as usize;
            }
        }
        assert!((1..1000).contains(&n_doubts), "{n_doubts} of 1,280,000 in doubt: rare, but the test sees some");
    }

    #[test]
    fn wide_products_keep_their_high_bits() {
        assert_eq!(mul(ONE, 12345), 12345);
        assert_eq!(mul(u128::MAX, ONE / 2), u128::MAX / 2);
        assert_eq!(mul(3 << 70, 5 << 100), 15 << 50);
        assert_eq!(mul((1 << 64) + 1, (1 << 64) + 1), 1 << 8);
    }
}
