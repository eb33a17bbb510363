//! From 32-bit accumulators to 8 bits: ORT's float formula, and the machine's integer one.
//!
//! Both are here so that their difference can be counted; the operators of this crate use ORT's.

use ndarray::{ArrayD, ArrayViewD};

use crate::int8::Int8;
use crate::linear::to_steps;
use crate::scale::{Rounding, Scale};

/// The factor from accumulator steps to output steps: `f(f(s_x * s_w) / s_y)`.
///
/// # Units
/// All three are real units per step; the result is output steps per accumulator step.
/// # Source
/// `NUMERICS.md`, QLinearConv.
pub fn requantize_scale(x_scale: f32, w_scale: f32, y_scale: f32) -> f32 {
    x_scale * w_scale / y_scale
}

/// Requantises one accumulator as ORT does: `v = f(f(acc) * scale)`, clamp, round half to even, add the zero point.
///
/// # Units
/// `acc` counts steps of `s_x * s_w`; `scale` is `s_x * s_w / s_y` in float32.
/// # Source
/// `NUMERICS.md`, QLinearConv.
pub fn requantize_value<T: Int8>(acc: i32, scale: f32, zero_point: T) -> T {
    to_steps(acc as f32 * scale, zero_point.widen())
}

/// Requantises a tensor of accumulators as ORT does.
///
/// # Shapes
/// Any; the result has the shape of `acc`.
/// # Units
/// As [`requantize_value`].
/// # Source
/// `NUMERICS.md`, QLinearConv.
pub fn requantize<T: Int8>(acc: ArrayViewD<i32>, scale: f32, zero_point: T) -> ArrayD<T> {
    acc.mapv(|a| requantize_value(a, scale, zero_point))
}

/// Requantises one accumulator in integers: the full product `acc * mantissa`, one rounding, the zero point, saturation.
///
/// With [`Rounding::HalfEven`] it equals [`requantize_value`] except where a float32 rounding itself lands on a tie, about 4
/// times in a million; with [`Rounding::HalfUp`] also wherever the product is exactly a tie.
///
/// # Units
/// As [`requantize_value`], the scale as mantissa and shift.
/// # Source
/// `NUMERICS.md`, "On the integer machine".
pub fn requantize_machine_value<T: Int8>(acc: i32, scale: Scale, rounding: Rounding, zero_point: T) -> T {
    let rounded = scale.apply(i64::from(acc), rounding);
    // The zero point is added in 64 bits: the rounded product itself may be as large as 2^39.
    let steps = rounded.saturating_add(i64::from(zero_point.widen()));
    T::saturate(steps.clamp(i64::from(T::MIN), i64::from(T::MAX)) as i32)
}

/// Requantises a tensor of accumulators in integers.
///
/// # Shapes
/// Any; the result has the shape of `acc`.
/// # Source
/// `NUMERICS.md`, "On the integer machine".
pub fn requantize_machine<T: Int8>(acc: ArrayViewD<i32>, scale: Scale, rounding: Rounding, zero_point: T) -> ArrayD<T> {
    acc.mapv(|a| requantize_machine_value(a, scale, rounding, zero_point))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator, so that counts below are the same in every run.
    struct Lcg(u64);

    impl Lcg {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 32
        }
    }

    /// Mismatches between ORT's formula and the machine's over `n` accumulators whose results mostly fit int8, and the
    /// largest difference.
    fn mismatches(n: usize, rounding: Rounding, mut scale_of: impl FnMut(&mut Lcg) -> f32) -> (usize, i32) {
        let mut rng = Lcg(1);
        let (mut count, mut largest) = (0, 0);
        let mut scale = 0.0;
        for i in 0..n {
            if i % 256 == 0 {
                scale = scale_of(&mut rng);
            }
            let largest_acc = (135.0 / scale) as u64;
            let acc = (rng.next() % (2 * largest_acc + 1)) as i32 - largest_acc as i32;
            let exact = Scale::from_f32(scale).unwrap();
            let machine: i8 = requantize_machine_value(acc, exact, rounding, 0);
            let ort: i8 = requantize_value(acc, scale, 0);
            count += usize::from(machine != ort);
            largest = largest.max((i32::from(machine) - i32::from(ort)).abs());
        }
        (count, largest)
    }

    fn random_scale(rng: &mut Lcg) -> f32 {
        (1.0 + rng.next() as f32 / u32::MAX as f32) * 2.0_f32.powi(-10 - (rng.next() % 6) as i32)
    }

    /// `NUMERICS.md`: about 4 in a million by 1. Measured here: 23 in 8 million, 2.9 in a million.
    #[test]
    fn machine_differs_from_ort_a_few_times_in_a_million() {
        let n = 8_000_000;
        for rounding in [Rounding::HalfEven, Rounding::HalfUp] {
            let (count, largest) = mismatches(n, rounding, random_scale);
            println!("{rounding:?}: {count} of {n}, by at most {largest}");
            assert!((n / 1_000_000..=8 * n / 1_000_000).contains(&count), "{count}");
            assert_eq!(largest, 1);
        }
    }

    /// With a power of two the float formula is exact, so half-even agrees always and half-up fails on every other tie.
    #[test]
    fn power_of_two_scales_need_half_even() {
        let n = 1_000_000;
        let power = |rng: &mut Lcg| 2.0_f32.powi(-1 - (rng.next() % 8) as i32);
        assert_eq!(mismatches(n, Rounding::HalfEven, power), (0, 0));
        let (count, largest) = mismatches(n, Rounding::HalfUp, power);
        println!("half up on powers of two: {count} of {n}, by at most {largest}");
        assert!(count > n / 100, "{count}");
        assert_eq!(largest, 1);
    }

    #[test]
    fn extreme_accumulators_saturate() {
        let scale = Scale::from_f32(255.0).unwrap();
        assert_eq!(requantize_machine_value::<i8>(i32::MIN, scale, Rounding::HalfEven, 127), -128);
        assert_eq!(requantize_machine_value::<u8>(i32::MAX, scale, Rounding::HalfUp, 255), 255);
        assert_eq!(requantize_value::<i8>(i32::MIN, 255.0, 127), -128);
    }
}
