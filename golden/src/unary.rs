//! Functions of one operand: float32 functions, and any of them on 8 bits as a table of 256.
//!
//! Functions that float32 cannot give exactly are worked out in float64 and rounded once, so a table does not depend on
//! whose float32 library made it; `Erf` is ONNX Runtime's polynomial, since networks have it between quantisations in every
//! GELU. The error function is not in the standard library, so it is here.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

use ndarray::{ArrayD, ArrayViewD};

use crate::float32;
use crate::int8::{Int8, all_values};
use crate::linear::{dequantize, quantize};
use crate::quant::Quant;

/// A function of one operand, with the parameters of its ONNX operator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unary {
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// Hyperbolic tangent.
    Tanh,
    /// `x / 2 * (1 + erf(x / sqrt(2)))`.
    Gelu,
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`.
    GeluTanh,
    /// The error function.
    Erf,
    /// `max(x, 0)`.
    Relu,
    /// `x` where it is not negative, `alpha * x` elsewhere.
    LeakyRelu {
        /// Slope of the negative side.
        alpha: f32,
    },
    /// `max(0, min(1, f(f(alpha * x) + beta)))`.
    HardSigmoid {
        /// Slope.
        alpha: f32,
        /// Value at 0.
        beta: f32,
    },
    /// `x * max(0, min(1, f(f(x / 6) + 0.5)))`.
    HardSwish,
    /// `x * sigmoid(x)`.
    Silu,
    /// `x` where it is not negative, `alpha * (exp(x) - 1)` elsewhere.
    Elu {
        /// Limit of the negative side, negated.
        alpha: f32,
    },
    /// `ln(1 + exp(x))`.
    Softplus,
    /// Exponential.
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// `1 / x`.
    Reciprocal,
    /// Magnitude.
    Abs,
    /// `-x`.
    Neg,
}

impl Unary {
    /// The function's value: one rounding from float64, but float32 steps where ONNX's formula is plain arithmetic.
    pub fn eval(self, x: f32) -> f32 {
        let wide = f64::from(x);
        match self {
            Unary::Sigmoid => sigmoid(wide) as f32,
            Unary::Tanh => wide.tanh() as f32,
            Unary::Gelu => gelu(wide) as f32,
            Unary::GeluTanh => gelu_tanh(wide) as f32,
            Unary::Erf => float32::erf(x),
            Unary::Relu => x.max(0.0),
            Unary::LeakyRelu { alpha } => {
                if x >= 0.0 {
                    x
                } else {
                    alpha * x
                }
            }
            Unary::HardSigmoid { alpha, beta } => (alpha * x + beta).clamp(0.0, 1.0),
            Unary::HardSwish => x * (x * (1.0 / 6.0) + 0.5).clamp(0.0, 1.0),
            Unary::Silu => (wide * sigmoid(wide)) as f32,
            Unary::Elu { alpha } => {
                if x >= 0.0 {
                    x
                } else {
                    (f64::from(alpha) * wide.exp_m1()) as f32
                }
            }
            Unary::Softplus => softplus(wide) as f32,
            Unary::Exp => wide.exp() as f32,
            Unary::Log => wide.ln() as f32,
            Unary::Sqrt => x.sqrt(),
            Unary::Reciprocal => 1.0 / x,
            Unary::Abs => x.abs(),
            Unary::Neg => -x,
        }
    }
}

/// Applies a function to a float32 tensor.
///
/// # Shapes
/// Any; the result has the shape of `x`.
pub fn unary_f32(x: ArrayViewD<f32>, function: Unary) -> ArrayD<f32> {
    x.mapv(|v| function.eval(v))
}

/// The table of `Q(f(DQ(x)))`, indexed by the bits of `x`.
///
/// # Source
/// `NUMERICS.md`, "any unary float function between DQ and Q".
pub fn unary_table<X: Int8, Y: Int8>(qx: Quant<X>, qy: Quant<Y>, f: impl Fn(f32) -> f32) -> [Y; 256] {
    let mut table = [Y::default(); 256];
    for x in all_values::<X>() {
        table[usize::from(x.bits())] = quantize(f(dequantize(x, qx)), qy);
    }
    table
}

/// Applies any float32 function to a quantised tensor: `Q(f(DQ(x)))`, by table.
///
/// `f` may be a chain, such as `|x| Unary::Erf.eval(x / std::f32::consts::SQRT_2)`.
///
/// # Shapes
/// Any; the result has the shape of `x`.
/// # Source
/// `NUMERICS.md`, "any unary float function between DQ and Q".
pub fn qlinear_unary<X: Int8, Y: Int8>(
    x: ArrayViewD<X>,
    qx: Quant<X>,
    qy: Quant<Y>,
    f: impl Fn(f32) -> f32,
) -> ArrayD<Y> {
    let table = unary_table(qx, qy, f);
    x.mapv(|v| table[usize::from(v.bits())])
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn gelu(x: f64) -> f64 {
    // erfc keeps the digits that 1 + erf would lose on the negative side.
    if x == f64::NEG_INFINITY { 0.0 } else { x / 2.0 * erfc(-x * FRAC_1_SQRT_2) }
}

fn gelu_tanh(x: f64) -> f64 {
    x / 2.0 * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044715 * x * x * x)).tanh())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The error function, to about 1e-15.
pub fn erf(x: f64) -> f64 {
    if x.abs() < 2.0 { erf_series(x) } else { (1.0 - erfc_fraction(x.abs())).copysign(x) }
}

/// `1 - erf(x)`, with a relative error of about 1e-13.
pub fn erfc(x: f64) -> f64 {
    if x < 2.0 { 1.0 - erf(x) } else { erfc_fraction(x) }
}

/// `2 / sqrt(pi) * exp(-x^2) * sum(2^n x^(2n+1) / (2n+1)!!)`, whose terms are of one sign.
fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > 1e-17 * sum.abs() {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// `exp(-x^2) / sqrt(pi) / (x + (1/2) / (x + (2/2) / (x + (3/2) / ..)))` for `x >= 2`.
fn erfc_fraction(x: f64) -> f64 {
    if x > 27.5 {
        return 0.0; // below the smallest float64
    }
    let fraction = (1..=120).rev().fold(x, |tail, k| x + f64::from(k) / 2.0 / tail);
    (-x * x).exp() / (PI.sqrt() * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of Abramowitz and Stegun, table 7.1, and of the C library.
    #[test]
    fn error_function() {
        let known = [
            (0.0, 0.0),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (1.999_999, 0.9953222443519261),
            (2.0, 0.995_322_265_018_952_7),
            (3.0, 0.999_977_909_503_001_4),
            (6.0, 1.0),
        ];
        for (x, y) in known {
            assert!((erf(x) - y).abs() < 3e-15, "erf({x}) = {}", erf(x));
            assert_eq!(erf(-x), -erf(x));
        }
        assert!((erfc(5.0) / 1.537_459_794_428_035e-12 - 1.0).abs() < 1e-12);
        assert_eq!((erf(f64::INFINITY), erfc(40.0)), (1.0, 0.0));
        assert!(erf(f64::NAN).is_nan());
    }

    #[test]
    fn ends_of_the_range_are_finite_or_saturate() {
        let q = Quant::new(1e30, 0_i8).unwrap();
        for f in [Unary::Sigmoid, Unary::Tanh, Unary::Gelu, Unary::Silu, Unary::Softplus, Unary::HardSwish] {
            let table = unary_table(q, Quant::new(1.0 / 127.0, 0_i8).unwrap(), |x| f.eval(x));
            assert_eq!(table[0x7f], 127, "{f:?}");
        }
        assert_eq!(Unary::Gelu.eval(f32::NEG_INFINITY), 0.0);
        assert_eq!(Unary::Softplus.eval(-200.0), f64::exp(-200.0) as f32);
    }
}
