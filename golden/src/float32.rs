//! Float32 functions and sums in ONNX Runtime's order, so that what comes between DequantizeLinear and QuantizeLinear is equal
//! to the bit: the polynomials and the lanes of its kernels for x86-64 with AVX-512, one operation at a time.
//!
//! A fused multiply-add rounds once; `f32::mul_add` is that everywhere.

/// `2^m * p` with one rounding, for integral `m`.
fn scale_by_power(p: f32, m: f32) -> f32 {
    // 24 bits of mantissa and an exponent of at most 8 bits are exact in float64.
    (f64::from(p) * f64::from(m).exp2()) as f32
}

/// Coefficients by falling power, evaluated with fused steps.
fn horner(x: f32, coefficients: &[f32]) -> f32 {
    coefficients[1..].iter().fold(coefficients[0], |p, &c| p.mul_add(x, c))
}

/// Adding and taking it away rounds a float32 below 2^22 to an integer.
const ROUNDING: f32 = 12_582_912.0;

/// Splits `x` into `m * ln 2 + rest` with integral `m`.
fn reduce(x: f32) -> (f32, f32) {
    let m = x.mul_add(std::f32::consts::LOG2_E, ROUNDING) - ROUNDING;
    let rest = m.mul_add(-0.69314575, x);
    (m, m.mul_add(-1.4286068e-06, rest))
}

/// The exponential of numbers that are not positive.
///
/// # Source
/// ORT's `MlasComputeSumExpF32Kernel` for AVX-512; equal to it for all that was compared.
pub fn exp(x: f32) -> f32 {
    const LOWEST: f32 = -103.972084; // below, the result would be no float32
    const POLYNOMIAL: [f32; 7] = [0.0013780594, 0.0083731245, 0.041669536, 0.16666472, 0.49999985, 1.0, 1.0];
    let (m, rest) = reduce(if x < LOWEST { LOWEST } else { x });
    scale_by_power(horner(rest, &POLYNOMIAL), m)
}

/// The sum of a row in 16 lanes, which are then added in pairs.
///
/// # Source
/// As [`exp`].
pub fn sum_of_exponentials(row: impl Iterator<Item = f32>) -> f32 {
    let mut lanes = [0.0_f32; 16];
    for (i, v) in row.enumerate() {
        lanes[i % 16] += v;
    }
    let eight: [f32; 8] = std::array::from_fn(|i| lanes[i + 8] + lanes[i]);
    let four = |s: &[f32]| (s[0] + s[1]) + (s[2] + s[3]);
    four(&eight[..4]) + four(&eight[4..])
}

/// The error function.
///
/// # Source
/// ORT's `MlasErfKernel`; equal to it for all that was compared.
pub fn erf(x: f32) -> f32 {
    const SMALL: [f32; 6] = [-0.00059910497, 0.004993396, -0.026766734, 0.112818025, -0.37612486, 0.12837915];
    const LARGE: [f32; 7] =
        [1.7294893e-05, -0.00038320868, 0.0038839343, -0.02425456, 0.10677785, 0.6348467, 0.12871751];
    const EXPONENTIAL: [f32; 7] = [0.0013831981, 0.0083755, 0.04166895, 0.16666447, 0.49999985, 1.0, 1.0];
    if x.is_nan() {
        return x;
    }
    let a = x.abs().min(3.925);
    let magnitude = if a > 0.921_875 {
        let exponent = horner(a, &LARGE).mul_add(a, a);
        let (m, rest) = reduce(-exponent);
        1.0 - scale_by_power(horner(rest, &EXPONENTIAL), m)
    } else {
        horner(a * a, &SMALL).mul_add(a, a)
    };
    magnitude.copysign(x)
}

/// Mean and reciprocal standard deviation of a row of at least 8 elements, for layer normalisation: the mean from a float64
/// sum; squares of float32 differences in 8 lanes, fused, which are added in halves; what is left over in groups of four
/// whose products are rounded, and one by one.
///
/// # Source
/// Found by comparison with ORT 1.32; equal to it for rows of 8 to 257 elements.
pub fn mean_and_inverse_deviation(row: &[f32], epsilon: f32) -> (f32, f32) {
    let n = row.len();
    let mean = (row.iter().map(|&v| f64::from(v)).sum::<f64>() / n as f64) as f32;
    let (blocks, rest) = row.as_chunks::<8>();
    let mut lanes = [0.0_f32; 8];
    for block in blocks {
        for (lane, v) in lanes.iter_mut().zip(block) {
            let d = v - mean;
            *lane = d.mul_add(d, *lane);
        }
    }
    let four: [f32; 4] = std::array::from_fn(|i| lanes[i] + lanes[i + 4]);
    let mut sum = (four[0] + four[2]) + (four[1] + four[3]);
    let (fours, ones) = rest.as_chunks::<4>();
    for d in fours.iter().flatten().map(|v| v - mean) {
        sum += d * d;
    }
    for d in ones.iter().map(|v| v - mean) {
        sum = d.mul_add(d, sum);
    }
    (mean, 1.0 / (sum / n as f32 + epsilon).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_close_to_the_true_ones() {
        for i in -2000..=0 {
            let x = i as f32 * 0.05;
            let (y, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((y - exact).abs() <= exact * 1.2e-7 + 1e-44, "exp({x}) = {y}");
        }
        for i in -500..=500 {
            let x = i as f32 * 0.01;
            assert!((f64::from(erf(x)) - crate::unary::erf(f64::from(x))).abs() < 2e-7, "erf({x})");
            assert_eq!(erf(-x), -erf(x));
        }
        assert_eq!((exp(0.0), exp(f32::NEG_INFINITY) < 1e-44, erf(f32::INFINITY)), (1.0, true, 1.0));
        assert!(exp(f32::NAN).is_nan() && erf(f32::NAN).is_nan());
    }

    #[test]
    fn a_row_of_two_values() {
        for n in [8, 12, 15, 32] {
            let row: Vec<f32> = (0..2 * n).map(|i| if i % 2 == 0 { 1.0 } else { 3.0 }).collect();
            assert_eq!(mean_and_inverse_deviation(&row, 0.0), (2.0, 1.0));
            assert_eq!(sum_of_exponentials(row.into_iter()), 4.0 * n as f32);
        }
    }
}
