//! Tables that kernels look up, made by the host. What a network computes in float32 between DequantizeLinear and QuantizeLinear is
//! computed so here: a table of all 256 inputs is exact.

/// Scale and zero point of a tensor: `q` stands for `(q - zero_point) * scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantisation {
    /// Real units a step; positive.
    pub scale: f32,
    /// The value that stands for 0.
    pub zero_point: i8,
}

impl Quantisation {
    fn real(self, q: i8) -> f32 {
        (q as i32 - self.zero_point as i32) as f32 * self.scale
    }

    /// Rounded half to even, saturated; what is no number is the least.
    fn steps(self, real: f32) -> i8 {
        let steps = real / self.scale;
        if steps.is_nan() {
            return i8::MIN;
        }
        // A cast from float saturates, and 2^20 leaves room for the zero point.
        (steps.round_ties_even().clamp(-1048576.0, 1048576.0) as i32 + self.zero_point as i32).clamp(-128, 127) as i8
    }
}

/// Entry `v mod 256` is that of `v`: the order in which `lookup` reads.
fn by_value<T>(mut f: impl FnMut(i8) -> T) -> [T; 256] {
    std::array::from_fn(|i| f(i as u8 as i8))
}

/// A float32 function of int8 values: `Q(f(DQ(v)))`.
///
/// # Units
/// `x` and `y` quantise argument and result.
/// # Source
/// `NUMERICS.md`, QLinearSigmoid and others.
pub fn unary(x: Quantisation, y: Quantisation, f: impl Fn(f32) -> f32) -> [i8; 256] {
    by_value(|v| y.steps(f(x.real(v))))
}

/// `v` where it is positive, else `slope * v`.
pub fn leaky_relu(slope: f32) -> impl Fn(f32) -> f32 {
    move |v| if v >= 0.0 { v } else { slope * v }
}

/// `1 / (1 + exp(-v))`, correctly rounded.
pub fn sigmoid(v: f32) -> f32 {
    (1.0 / (1.0 + (-f64::from(v)).exp())) as f32
}

/// Hyperbolic tangent, correctly rounded.
pub fn tanh(v: f32) -> f32 {
    f64::from(v).tanh() as f32
}

/// `v / 2 * (1 + erf(v / sqrt(2)))`.
pub fn gelu(v: f32) -> f32 {
    let v = f64::from(v);
    (0.5 * v * (1.0 + erf(v * std::f64::consts::FRAC_1_SQRT_2))) as f32
}

/// Error function: its series, which stays below 1e-13 of error in the range in which a float32 is not 1 anyway.
fn erf(v: f64) -> f64 {
    if v.abs() > 4.5 {
        return v.signum();
    }
    // 2 / sqrt(pi) * exp(-v^2) * sum of (2 v^2)^n v / (1 * 3 * 5 ..): all terms of one sign.
    let (mut term, mut sum, mut n) = (v, v, 1.0);
    while term.abs() > 1e-17 * sum.abs() {
        term *= 2.0 * v * v / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-v * v).exp() * sum
}

/// Exponentials for [`softmax`](super::softmax): entry `d` is `exp(-d * scale)` with `fraction` fraction bits.
///
/// # Units
/// `scale` is a step of the scores.
pub fn exponentials(scale: f32, fraction: u32) -> [i32; 256] {
    let one = f64::from(1u32 << fraction);
    std::array::from_fn(|d| ((-(d as f64) * f64::from(scale)).exp() * one).round_ties_even() as i32)
}

/// Reciprocals for [`div`](super::elementwise): entry `b mod 256` is `scale / (b - zero_point)` with 29 fraction bits; 0 where the
/// divisor is.
///
/// # Units
/// `scale` is `s_a / (s_b * s_y)`, below 4.
pub fn reciprocals(scale: f32, zero_point: i8) -> [i32; 256] {
    let one = f64::from(1u32 << 29);
    by_value(|b| match b as i32 - zero_point as i32 {
        0 => 0,
        divisor => (f64::from(scale) / f64::from(divisor) * one).round_ties_even() as i32,
    })
}

/// Addends for [`biased`](super::requantise::biased): int8 biases in steps of the sum, 21 fraction bits.
///
/// # Units
/// `ratio` is `s_b / s_y`.
pub fn addends(biases: &[i8], ratio: f32) -> Vec<i32> {
    biases.iter().map(|b| (f64::from(f32::from(*b) * ratio) * f64::from(1u32 << 21)).round_ties_even() as i32).collect()
}
