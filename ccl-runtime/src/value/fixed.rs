//! Fixed point, scales, and the functions between them.

use super::elem::Int;
use super::{Overflow, Q, Rounding};
use crate::native::lane;
use crate::native::state::Tag;
use crate::native::{Cause, Id, Lane};
use crate::tensor::{Acc, Lrm};

/// Fixed-point number: 32 bit, `F` of them behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fx<const F: usize>(i32);

impl<const F: usize> Fx<F> {
    /// The number of these bits.
    pub const fn from_raw(bits: i32) -> Self {
        Self(bits)
    }

    /// The bits.
    pub const fn raw(self) -> i32 {
        self.0
    }

    /// The number itself.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / (1u64 << F) as f64
    }
}

/// Factor with a 24-bit mantissa and a shift, as requantisation uses it: `mantissa * 2^-shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scale {
    /// The mantissa.
    pub mantissa: i32,
    /// The shift; negative multiplies.
    pub shift: i32,
}

impl Scale {
    /// `mantissa * 2^-shift`.
    pub const fn new(mantissa: i32, shift: i32) -> Self {
        Self { mantissa, shift }
    }

    /// The scale nearest to a positive number: 24 bits of mantissa, the highest set.
    ///
    /// # Panics
    /// If the number is not positive and finite.
    pub fn from_f64(value: f64) -> Self {
        assert!(value.is_finite() && value > 0.0, "a scale is positive");
        let exponent = value.log2().floor() as i32;
        let mut shift = 23 - exponent;
        let mut mantissa = (value * 2f64.powi(shift)).round_ties_even();
        // Rounding, or the logarithm, may have gone over a power of two.
        while mantissa >= 16777216.0 {
            shift -= 1;
            mantissa = (value * 2f64.powi(shift)).round_ties_even();
        }
        while mantissa < 8388608.0 {
            shift += 1;
            mantissa = (value * 2f64.powi(shift)).round_ties_even();
        }
        Self { mantissa: mantissa as i32, shift }
    }

    /// The factor itself.
    pub fn to_f64(self) -> f64 {
        self.mantissa as f64 * 2f64.powi(-self.shift)
    }
}

/// A number that [`fx`] takes.
pub trait FxConst {
    #[doc(hidden)]
    fn value(self) -> f64;
}
impl FxConst for f64 {
    fn value(self) -> f64 {
        self
    }
}
impl FxConst for i32 {
    fn value(self) -> f64 {
        self as f64
    }
}

/// Constant, rounded to the nearest number of the format (ties to even), saturated.
pub fn fx<const F: usize>(value: impl FxConst) -> Fx<F> {
    // A cast from f64 saturates.
    Fx((value.value() * (1u64 << F) as f64).round_ties_even() as i32)
}

/// Bits taken as a number with `F` fraction bits.
pub fn fx_raw<const F: usize>(bits: Q<i32>) -> Q<Fx<F>> {
    Q::of(bits.handle())
}

/// The functions below for formats known in the run: vectors of `i32` with their fraction bits.
pub(crate) mod formats {
    use super::*;

    pub(crate) fn fx_mul((a, a_bits): (Id, usize), (b, b_bits): (Id, usize), bits: usize) -> Id {
        lane::fx_mul(a, b, (a_bits + b_bits) as i32 - bits as i32)
    }

    #[track_caller]
    pub(crate) fn fx_div(a: Id, b: Id, bits: usize) -> Id {
        match lane::fx_div(a, b, bits as u32) {
            Ok(id) => id,
            Err((row, col)) => Cause::DivideByZero { row, col }.raise(),
        }
    }

    pub(crate) fn rescale((a, a_bits): (Id, usize), bits: usize, rounding: Rounding, overflow: Overflow) -> Id {
        lane::rescale(a, a_bits as i32 - bits as i32, rounding, overflow)
    }

    pub(crate) fn requant(acc: Id, scale: Scale, rounding: Rounding, overflow: Overflow) -> Id {
        lane::scale_to_i8(acc, scale.mantissa, scale.shift, rounding, overflow, 0)
    }

    pub(crate) fn quantize((x, bits): (Id, usize), inverse: Scale, zero_point: i32) -> Id {
        let shift = inverse.shift + bits as i32;
        lane::scale_to_i8(x, inverse.mantissa, shift, Rounding::HalfEven, Overflow::Saturate, zero_point)
    }

    pub(crate) fn dequantize(x: Id, scale: Scale, zero_point: i32, bits: usize) -> Id {
        lane::dequantize(x, zero_point, scale.mantissa, scale.shift - bits as i32)
    }
}

/// An operand of the fixed-point functions: `Q<Fx<A>>` or `Fx<A>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no fixed-point number",
    note = "an integer becomes one by `fx_raw::<0>(x)`"
)]
pub trait FxArg {
    #[doc(hidden)]
    const FRACTION: usize;
    #[doc(hidden)]
    fn into_id(self) -> Id;
}
impl<const A: usize> FxArg for Q<Fx<A>> {
    const FRACTION: usize = A;
    fn into_id(self) -> Id {
        self.handle()
    }
}
impl<const A: usize> FxArg for Fx<A> {
    const FRACTION: usize = A;
    fn into_id(self) -> Id {
        i32::splat(self.raw())
    }
}

/// Product in format `F`: 64 bit, shifted right without rounding, low 32 bits.
pub fn fx_mul<const F: usize>(a: impl FxArg, b: impl FxArg) -> Q<Fx<F>> {
    fn product<A: FxArg, B: FxArg, const F: usize>(a: A, b: B) -> Q<Fx<F>> {
        Q::of(formats::fx_mul((a.into_id(), A::FRACTION), (b.into_id(), B::FRACTION), F))
    }
    product(a, b)
}

/// Quotient in format `F`, truncated toward zero.
///
/// A zero divisor in an enabled PE of the array ends the run.
#[track_caller]
pub fn fx_div<const F: usize>(a: impl FxArg, b: impl FxArg) -> Q<Fx<F>> {
    #[track_caller]
    fn quotient<A: FxArg, B: FxArg, const F: usize>(a: A, b: B) -> Q<Fx<F>> {
        const { assert!(A::FRACTION == B::FRACTION, "`fx_div`: both numbers have the same fraction bits") }
        Q::of(formats::fx_div(a.into_id(), b.into_id(), F))
    }
    quotient(a, b)
}

/// Exponential, correctly rounded to format `F`, saturated.
pub fn exp<const F: usize>(x: impl FxArg) -> Q<Fx<F>> {
    fn apply<A: FxArg, const F: usize>(x: A) -> Q<Fx<F>> {
        Q::of(lane::exp(x.into_id(), A::FRACTION as u32, F as u32))
    }
    apply(x)
}

/// Natural logarithm, correctly rounded to format `F`, saturated; the least number for `x <= 0`.
pub fn ln<const F: usize>(x: impl FxArg) -> Q<Fx<F>> {
    fn apply<A: FxArg, const F: usize>(x: A) -> Q<Fx<F>> {
        Q::of(lane::ln(x.into_id(), A::FRACTION as u32, F as u32))
    }
    apply(x)
}

impl<const A: usize> Q<Fx<A>> {
    /// The bits.
    pub fn raw(self) -> Q<i32> {
        Q::of(self.handle())
    }

    /// The same number with `F` fraction bits.
    pub fn rescale<const F: usize>(self, rounding: Rounding, overflow: Overflow) -> Q<Fx<F>> {
        Q::of(formats::rescale((self.handle(), A), F, rounding, overflow))
    }

    /// To the nearest integer.
    pub fn round(self, rounding: Rounding) -> Q<i32> {
        Q::of(i32::shift_round(self.handle(), A as u32, rounding))
    }
}

/// What can be requantised: accumulators become a buffer, a value becomes a value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be requantised",
    note = "`requant` takes `Acc<N>`, `Q<i32>` or `Lrm<i32, N>`"
)]
pub trait Requantize {
    /// The same, of int8.
    type Out;
    #[doc(hidden)]
    fn requantize(self, scale: Scale, rounding: Rounding, overflow: Overflow) -> Self::Out;
}
impl Requantize for Q<i32> {
    type Out = Q<i8>;
    fn requantize(self, scale: Scale, rounding: Rounding, overflow: Overflow) -> Q<i8> {
        Q::of(formats::requant(self.handle(), scale, rounding, overflow))
    }
}
impl<const N: usize> Requantize for Acc<N> {
    type Out = Lrm<i8, N>;
    fn requantize(self, scale: Scale, rounding: Rounding, overflow: Overflow) -> Lrm<i8, N> {
        Lrm::of(self.values().map(|acc| acc.requantize(scale, rounding, overflow)))
    }
}
impl<const N: usize> Requantize for Lrm<i32, N> {
    type Out = Lrm<i8, N>;
    fn requantize(self, scale: Scale, rounding: Rounding, overflow: Overflow) -> Lrm<i8, N> {
        Lrm::of(self.values().map(|acc| acc.requantize(scale, rounding, overflow)))
    }
}

/// `clamp(round(acc * scale))` to int8, rounded once.
///
/// # Units
/// `acc` counts steps of `s_x * s_w`; `scale` is `s_x * s_w / s_y`.
/// # Source
/// `NUMERICS.md`, on the integer machine.
pub fn requant<A: Requantize>(acc: A, scale: Scale, rounding: Rounding, overflow: Overflow) -> A::Out {
    acc.requantize(scale, rounding, overflow)
}

/// `clamp(round(x / s) + zero_point)` to int8, rounded once, ties to even; `inverse` is `1 / s`.
pub fn quantize<const F: usize>(x: Q<Fx<F>>, inverse: Scale, zero_point: i32) -> Q<i8> {
    Q::of(formats::quantize((x.handle(), F), inverse, zero_point))
}

/// An integer operand: `Q<T>` of at most 32 bit.
pub trait IntArg {
    #[doc(hidden)]
    fn into_i32(self) -> Id;
}
impl<T: Int> IntArg for Q<T>
where
    i32: super::Widens<T>,
{
    fn into_i32(self) -> Id {
        if T::Lane::TAG == Tag::I32 { self.handle() } else { self.widen::<i32>().handle() }
    }
}

/// `(x - zero_point) * scale` with `F` fraction bits: 64 bit, shifted right without rounding, low 32 bits.
pub fn dequantize<const F: usize>(x: impl IntArg, scale: Scale, zero_point: i32) -> Q<Fx<F>> {
    Q::of(formats::dequantize(x.into_i32(), scale, zero_point, F))
}
