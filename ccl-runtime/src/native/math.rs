//! The arithmetic of one lane, in integers. Written from the specification of the machine, not from the simulator.

use crate::value::Rounding;

/// `round(p / 2^shift)` where `1 <= shift <= 62` and `|p| < 2^62`.
#[inline(always)]
pub(crate) fn shift_round(p: i64, shift: u32, rounding: Rounding) -> i64 {
    let half = 1i64 << (shift - 1);
    match rounding {
        // The bit that becomes the lowest tips a tie to the even side.
        Rounding::HalfEven => (p + (half - 1) + ((p >> shift) & 1)) >> shift,
        Rounding::HalfUp => (p + half) >> shift,
        Rounding::Floor => p >> shift,
        Rounding::TowardZero => (p + ((p >> 63) & ((1 << shift) - 1))) >> shift,
    }
}

/// `round(p / 2^shift)` for any shift; a negative one multiplies. Saturated to 64 bit, which no caller can tell from more.
pub(crate) fn shift_round_any(p: i64, shift: i32, rounding: Rounding) -> i64 {
    let p = p as i128;
    let rounded = match shift {
        ..=0 => p << (-shift).min(63),
        // Nothing is left of 64 bits but the sign; 100 keeps that, and half of 2^100 is out of reach.
        1.. => {
            let shift = shift.min(100);
            let (floor, rest) = (p >> shift, p & ((1 << shift) - 1));
            let half = 1i128 << (shift - 1);
            let up = match rounding {
                Rounding::HalfEven => rest > half || (rest == half && floor & 1 == 1),
                Rounding::HalfUp => rest >= half,
                Rounding::Floor => false,
                Rounding::TowardZero => p < 0 && rest != 0,
            };
            floor + up as i128
        }
    };
    rounded.clamp(i64::MIN as i128, i64::MAX as i128) as i64
}

/// `low32((a * b) >> shift)`, left where the shift is negative.
#[inline(always)]
pub(crate) fn fx_mul(a: i32, b: i32, shift: i32) -> i32 {
    let product = a as i64 * b as i64;
    if shift >= 0 { (product >> shift.min(63)) as i32 } else { product.checked_shl(-shift as u32).unwrap_or(0) as i32 }
}

/// `low32((a << frac) / b)`, toward zero; 0 for a zero divisor.
pub(crate) fn fx_div(a: i32, b: i32, frac: u32) -> i32 {
    if b == 0 { 0 } else { ((a as i64) << frac).wrapping_div(b as i64) as i32 }
}

/// Fraction bits of the slow paths.
const Q: u32 = 120;
/// `ln 2` with 120 fraction bits.
const LN_2: i128 = 0xb1_7217_f7d1_cf79_abc9_e3b3_9803_f2f6;
/// What the fast paths may be off by, relative to the result; the libraries of all hosts are better than 2^-48.
const FAST_ERROR: f64 = 1.0 / (1u64 << 44) as f64;

/// `round(exp(x / 2^from) * 2^to)`, saturated to 32 bit.
pub(crate) fn exp(x: i32, from: u32, to: u32) -> i32 {
    if x == 0 {
        return saturate(1 << to);
    }
    let fast = (x as f64 * power(-(from as i32))).exp() * power(to as i32);
    if fast > 4294967296.0 {
        return i32::MAX;
    }
    round_if_clear(fast, fast * FAST_ERROR).unwrap_or_else(|| exp_exact(x, from, to))
}

/// `round(ln(x / 2^from) * 2^to)`, saturated to 32 bit; the least number for `x <= 0`.
pub(crate) fn ln(x: i32, from: u32, to: u32) -> i32 {
    if x <= 0 {
        return i32::MIN;
    }
    if x as i64 == 1 << from {
        return 0;
    }
    // Near 1 the logarithm of the quotient loses nothing: the quotient is exact.
    let fast = (x as f64 * power(-(from as i32))).ln() * power(to as i32);
    round_if_clear(fast, fast.abs() * FAST_ERROR).unwrap_or_else(|| ln_exact(x, from, to))
}

/// The nearest integer, if `value` is farther than `error` from the middle between two.
fn round_if_clear(value: f64, error: f64) -> Option<i32> {
    let (low, high) = ((value - error + 0.5).floor(), (value + error + 0.5).floor());
    (low == high).then_some(low as i32)
}

/// `2^n`.
fn power(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

fn saturate(v: i64) -> i32 {
    v.clamp(i32::MIN as i64, i32::MAX as i64) as i32
}

/// [`exp`] in fixed point, with 2^-110 of error before the last step. No argument but 0 has a result in the middle between two
/// numbers, and 2^-110 is far below the distance that 2^42 arguments and formats leave.
fn exp_exact(x: i32, from: u32, to: u32) -> i32 {
    // Beyond +-46 every format is saturated or 0.
    if (x as i64) >= 46i64 << from {
        return i32::MAX;
    }
    if (x as i64) <= -(46i64 << from) {
        return 0;
    }
    let x = (x as i128) << (Q - from);
    let k = x.div_euclid(LN_2);
    let e = exp_unit(x - k * LN_2);
    saturate_128(round_128(e, Q as i32 - k as i32 - to as i32))
}

/// [`ln`] in fixed point.
fn ln_exact(x: i32, from: u32, to: u32) -> i32 {
    let top = 31 - x.leading_zeros();
    let m = (x as i128) << (Q - top);
    let guess = (x as f64 * power(-(top as i32))).ln();
    let y = ((guess * power(60)) as i128) << (Q - 60);
    // One step of Halley's iteration cubes the error of a double: y + 2 (m - e^y) / (m + e^y).
    let e = exp_unit(y);
    let y = y + ((((m - e) << 45) / ((m + e) >> 46)) << (Q - 91 + 1));
    let ln = y + (top as i128 - from as i128) * LN_2;
    saturate_128(round_128(ln, Q as i32 - to as i32))
}

/// `exp(r)` for `0 <= r < 1`, all with [`Q`] fraction bits.
fn exp_unit(r: i128) -> i128 {
    let (mut sum, mut term, mut n) = (1i128 << Q, 1i128 << Q, 1);
    while term != 0 {
        term = mul_q(term, r) / n;
        sum += term;
        n += 1;
    }
    sum
}

/// Product of two numbers of [`Q`] fraction bits, neither negative, both under 4.
fn mul_q(a: i128, b: i128) -> i128 {
    let (a, b) = (a as u128, b as u128);
    let (ah, al, bh, bl) = (a >> 64, a & (u64::MAX as u128), b >> 64, b & (u64::MAX as u128));
    let mid = ah * bl + ((al * bl) >> 64);
    let (mid, carry) = mid.overflowing_add(al * bh);
    // The product is high * 2^128 + (mid's low half) * 2^64 + ..
    let high = ah * bh + (mid >> 64) + ((carry as u128) << 64);
    ((high << (128 - Q)) | ((mid & (u64::MAX as u128)) >> (Q - 64))) as i128
}

/// To the nearest; ties cannot occur.
fn round_128(v: i128, shift: i32) -> i128 {
    if shift <= 0 { v << -shift } else { ((v >> (shift - 1).min(126)) + 1) >> 1 }
}

fn saturate_128(v: i128) -> i32 {
    v.clamp(i32::MIN as i128, i32::MAX as i128) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of numbers without pattern.
    fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut s = seed;
        move || {
            s = s.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = s;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    #[test]
    fn ln_2_is_the_sum_of_its_series() {
        // ln 2 = 2 artanh(1/3), with six more bits than are kept.
        let (mut sum, mut power, mut n) = (0i128, (2i128 << 125) / 3, 1);
        while power != 0 {
            sum += power / n;
            power /= 9;
            n += 2;
        }
        assert!((sum - (LN_2 << 5)).abs() < 1 << 7, "{sum:x}");
    }

    #[test]
    fn slow_path_product_is_the_schoolbook_one() {
        let mut next = random(5);
        for _ in 0..10_000 {
            let mut number = || ((next() as i128 & 0x00ff_ffff_ffff_ffff) << 64) | next() as i128;
            let (a, b) = (number(), number());
            let mut digits = [0u64; 9];
            for i in 0..4 {
                for j in 0..4 {
                    let digit = |v: i128, n: usize| (v >> (32 * n)) as u64 & 0xffff_ffff;
                    let mut carry = digit(a, i) * digit(b, j);
                    for digit in &mut digits[i + j..] {
                        let sum = *digit + (carry & 0xffff_ffff);
                        *digit = sum & 0xffff_ffff;
                        carry = (carry >> 32) + (sum >> 32);
                    }
                }
            }
            // Bits 120.. of the product.
            let bits = |n: usize, shift: u32| (digits[n] as i128) << shift;
            let expected = bits(3, 0) >> 24 | bits(4, 8) | bits(5, 40) | bits(6, 72) | bits(7, 104);
            assert_eq!(mul_q(a, b), expected, "{a:x} {b:x}");
        }
    }

    #[test]
    fn shift_round_is_the_formula() {
        let mut next = random(1);
        let all = [Rounding::HalfEven, Rounding::HalfUp, Rounding::Floor, Rounding::TowardZero];
        for i in 0..200_000 {
            let shift = (next() % 62 + 1) as u32;
            let mut p = (next() as i64) >> 2 >> (next() % 60);
            if i % 3 == 0 {
                // A tie.
                p = ((p >> shift) << shift) + (1 << (shift - 1));
            }
            for rounding in all {
                let d = 1i128 << shift;
                let (floor, rest) = ((p as i128).div_euclid(d), (p as i128).rem_euclid(d));
                let expected = match rounding {
                    Rounding::Floor => floor,
                    Rounding::TowardZero => p as i128 / d,
                    Rounding::HalfUp => (2 * p as i128 + d).div_euclid(2 * d),
                    Rounding::HalfEven if 2 * rest == d => floor + floor.rem_euclid(2),
                    Rounding::HalfEven => floor + (2 * rest > d) as i128,
                };
                assert_eq!(shift_round(p, shift, rounding) as i128, expected, "{p} {shift} {rounding:?}");
                assert_eq!(shift_round_any(p, shift as i32, rounding) as i128, expected);
            }
        }
        assert_eq!(shift_round_any(-1, 200, Rounding::Floor), -1);
        assert_eq!(shift_round_any(-1, 200, Rounding::HalfEven), 0);
        assert_eq!(shift_round_any(3, -4, Rounding::Floor), 48);
        assert_eq!(shift_round_any(3, -63, Rounding::Floor), i64::MAX);
    }

    #[test]
    fn exp_slow_path_agrees_with_the_fast_one_and_with_f64() {
        let mut next = random(2);
        for _ in 0..200_000 {
            let (from, to) = ((next() % 32) as u32, (next() % 32) as u32);
            let x = (next() as i32) >> (next() % 32);
            if x == 0 {
                continue;
            }
            let got = exp(x, from, to);
            assert_eq!(got, exp_exact(x, from, to), "{x} q{from} -> q{to}");
            let real = (x as f64 / (1u64 << from) as f64).exp() * (1u64 << to) as f64;
            if real < 2147483647.0 {
                assert!((got as f64 - real).abs() <= 0.5 + real * 1e-14, "{x} q{from} -> q{to}: {got} {real}");
            } else {
                assert!(got as f64 >= 2147483646.0);
            }
        }
        assert_eq!(exp(0, 16, 16), 1 << 16);
        assert_eq!(exp(0, 16, 31), i32::MAX);
        assert_eq!(exp(i32::MAX, 0, 0), i32::MAX);
        assert_eq!(exp(i32::MIN, 0, 31), 0);
    }

    #[test]
    fn ln_slow_path_agrees_with_the_fast_one_and_with_f64() {
        let mut next = random(3);
        for _ in 0..200_000 {
            let (from, to) = ((next() % 32) as u32, (next() % 32) as u32);
            let x = ((next() as i32) >> (next() % 31)).max(1);
            let got = ln(x, from, to);
            if x as i64 != 1 << from {
                assert_eq!(got, ln_exact(x, from, to), "{x} q{from} -> q{to}");
            }
            let real = (x as f64 / (1u64 << from) as f64).ln() * (1u64 << to) as f64;
            if real.abs() < 2147483647.0 {
                assert!((got as f64 - real).abs() <= 0.5 + real.abs() * 1e-14, "{x} q{from} -> q{to}: {got} {real}");
            }
        }
        assert_eq!(ln(0, 16, 16), i32::MIN);
        assert_eq!(ln(-5, 16, 16), i32::MIN);
        assert_eq!(ln(1 << 16, 16, 16), 0);
        assert_eq!(ln(1, 31, 31), i32::MIN);
    }

    #[test]
    fn near_ties_go_to_the_slow_path_and_come_back_right() {
        // The nearest misses among many arguments: their doubles are within 2^-20 of a tie.
        let mut n_near = 0;
        for x in 1..2_000_000 {
            let real = (x as f64 * power(-20)).exp() * power(28);
            if real < 2147483647.0 && ((real.fract() - 0.5).abs()) < 1e-6 {
                n_near += 1;
                let expected = if real.fract() >= 0.5 { real.floor() + 1.0 } else { real.floor() };
                assert_eq!(exp_exact(x, 20, 28) as f64, expected, "{x}: {real:.12}");
            }
        }
        assert!(n_near > 0);
    }
}
