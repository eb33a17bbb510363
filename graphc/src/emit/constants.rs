//! Constants of kernels: bytes of one blob, in the order in which the machine consumes them, and scalars as literals.

use ccl_golden::Scale;

/// The element type of a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Elem {
    /// int8.
    I8,
    /// int32.
    I32,
}

impl Elem {
    /// Its name in the language.
    pub fn name(self) -> &'static str {
        match self {
            Elem::I8 => "i8",
            Elem::I32 => "i32",
        }
    }
}

/// A constant: its type in the kernel's signature, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// Element type.
    pub elem: Elem,
    /// The layout, as it is written: `Stream<32, 27>`.
    pub layout: String,
    /// Bytes in on-chip memory.
    pub bytes: Vec<u8>,
}

impl Constant {
    /// Weights `[CO][K]` and biases `[CO]`: for four outputs their biases, then their weights by four inputs; what fills up is 0.
    pub fn stream(outputs: usize, k: usize, weights: &[i8], biases: &[i32]) -> Self {
        let mut bytes = Vec::with_capacity((outputs.next_multiple_of(4)) * (k.next_multiple_of(4) + 4));
        for first in (0..outputs).step_by(4) {
            for output in first..first + 4 {
                bytes.extend(biases.get(output).copied().unwrap_or(0).to_le_bytes());
            }
            for group in (0..k).step_by(4) {
                for output in first..first + 4 {
                    let weight = |i: usize| if output < outputs && i < k { weights[output * k + i] as u8 } else { 0 };
                    bytes.extend((group..group + 4).map(weight));
                }
            }
        }
        Constant { elem: Elem::I8, layout: format!("Stream<{outputs}, {k}>"), bytes }
    }

    /// A stream in which behind the weights of an output stands its addend, the four bytes as weights.
    pub fn stream_with_addends(outputs: usize, k: usize, weights: &[i8], biases: &[i32], addends: &[i32]) -> Self {
        let room = k.next_multiple_of(4);
        let mut rows = Vec::with_capacity(outputs * (room + 4));
        for (row, addend) in weights.chunks(k.max(1)).zip(addends) {
            rows.extend_from_slice(row);
            rows.extend(std::iter::repeat_n(0, room - k));
            rows.extend(addend.to_le_bytes().map(|byte| byte as i8));
        }
        Self::stream(outputs, room + 4, &rows, biases)
    }

    /// A list of bytes.
    pub fn bytes(values: &[u8]) -> Self {
        Constant { elem: Elem::I8, layout: format!("Vector<{}>", values.len()), bytes: values.to_vec() }
    }

    /// A list of words.
    pub fn words(values: &[i32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Constant { elem: Elem::I32, layout: format!("Vector<{}>", values.len()), bytes }
    }
}

/// `Scale::new(mantissa, shift)` of a float32, exactly.
pub fn scale(value: f32) -> Result<String, String> {
    let scale = Scale::from_f32(value).map_err(|error| error.to_string())?;
    Ok(format!("Scale::new({}, {})", scale.mantissa(), scale.shift()))
}

/// A number with `fraction` fraction bits as a literal that is read back to the same bits.
pub fn fixed(value: f64, fraction: u32) -> Result<String, String> {
    let raw = (value * 2.0_f64.powi(fraction as i32)).round_ties_even();
    if raw.abs() >= 2.0_f64.powi(31) {
        return Err(format!("{value} is no number of 32 bits with {fraction} fraction bits"));
    }
    Ok(format!("fx::<{fraction}>({:?})", raw / 2.0_f64.powi(fraction as i32)))
}

/// Layer norm of steps of `input` to steps of `output`: its parameters, and the formats that they are in.
#[derive(Debug, Clone, PartialEq)]
pub struct NormParameters {
    /// A gamma and a beta for each channel in turn.
    pub words: Vec<i32>,
    /// Fraction bits of gamma, of the variance, bits that the variance drops, fraction bits of elements in units of sigma and of results.
    pub formats: [u32; 5],
    /// What is added to the variance.
    pub epsilon: f64,
}

/// Parameters of `nn::layer_norm`: gamma and beta in steps of the output, beta with its zero point and the half that rounds.
pub fn layer_norm(gamma: &[f32], beta: &[f32], epsilon: f32, input: f32, output: (f32, i32)) -> NormParameters {
    let (words, [g, m]) = output_steps(gamma, beta, output);
    let ([e, a], epsilon) = variance_bits(gamma.len(), epsilon, input);
    NormParameters { words, formats: [g, e, a, normal_bits(gamma.len()), m], epsilon }
}

/// Parameters of `nn::layer_norm_fixed`, whose output has so many fraction bits; `None` where its numbers leave 32 bits.
pub fn layer_norm_fixed(
    gamma: &[f32],
    beta: &[f32],
    epsilon: f32,
    input: f32,
    fraction: u32,
) -> Option<NormParameters> {
    let largest = |v: &[f32]| v.iter().map(|&v| f64::from(v).abs()).fold(0.0, f64::max);
    let most = (gamma.len() as f64).sqrt() * largest(gamma) + largest(beta);
    let raw = most * 2.0_f64.powi(fraction as i32);
    if raw.is_nan() || raw >= 2.0_f64.powi(31) {
        return None;
    }
    let g = gamma_bits(gamma.iter().map(|&g| f64::from(g)));
    let ([e, a], epsilon) = variance_bits(gamma.len(), epsilon, input);
    let pairs = gamma.iter().zip(beta);
    let words = pairs.flat_map(|(&gamma, &beta)| [bits(gamma.into(), g), bits(beta.into(), fraction)]).collect();
    Some(NormParameters { words, formats: [g, e, a, normal_bits(gamma.len()), fraction], epsilon })
}

/// Gammas and betas in steps of the output, the fraction bits of the gammas, and those of the betas and of results.
fn output_steps(gamma: &[f32], beta: &[f32], output: (f32, i32)) -> (Vec<i32>, [u32; 2]) {
    let steps = |v: f32| f64::from(v) / f64::from(output.0);
    let g = gamma_bits(gamma.iter().map(|&g| steps(g)));
    let offset = f64::from(output.1) + 0.5;
    let pairs = || gamma.iter().zip(beta).map(|(&gamma, &beta)| (steps(gamma), steps(beta) + offset));
    // An element in units of sigma is below the root of the channels.
    let root = (gamma.len() as f64).sqrt();
    let m = room_bits(pairs().map(|(gamma, beta)| root * gamma.abs() + beta.abs()).fold(1.0, f64::max)).min(22);
    (pairs().flat_map(|(gamma, beta)| [bits(gamma, g), bits(beta, m)]).collect(), [g, m])
}

fn bits(v: f64, fraction: u32) -> i32 {
    (v * f64::from(1_u32 << fraction)).round_ties_even() as i32
}

/// Fraction bits that the largest of some factors leaves.
fn gamma_bits(gamma: impl Iterator<Item = f64>) -> u32 {
    let largest = gamma.map(f64::abs).fold(0.0, f64::max);
    30_u32.saturating_sub(largest.max(1.0).log2().floor() as u32 + 1).min(28)
}

/// Fraction bits of elements in units of sigma: what is left by 1/sigma of whole numbers that differ by one step in one channel, the
/// least that they can.
fn normal_bits(channels: usize) -> u32 {
    let count = channels.max(2) as f64;
    31 - (count / (count - 1.0).sqrt()).log2().ceil() as u32
}

/// Fraction bits of a variance times `C * C` and bits that it drops; epsilon in its units.
fn variance_bits(channels: usize, epsilon: f32, input: f32) -> ([u32; 2], f64) {
    // It is at most C * C * 2^14, whatever the zero point; with its fraction bits and epsilon it has 31 bits.
    let count = channels as f64;
    let added = f64::from(epsilon) * count * count / (f64::from(input) * f64::from(input));
    let room = 31.0 - (count * count * 16384.0 + added).log2();
    let (e, a) = if room >= 0.0 { (room.floor() as u32, 0) } else { (0, (-room).ceil() as u32) };
    let e = e.min(16);
    let unit = 2.0_f64.powi(-(e as i32));
    ([e, a], (added / f64::from(1_u32 << a)).max(unit))
}

/// Parameters of `nn::layer_norm_twice`.
#[derive(Debug, Clone, PartialEq)]
pub struct TwiceParameters {
    /// A gamma and a beta for each channel in turn, of the first norm and then of the second.
    pub words: Vec<i32>,
    /// Fraction bits of the second's gamma, of the variance, bits that that drops, fraction bits of the first's gamma, of its result
    /// and of its squares, of elements in units of sigma and of results.
    pub formats: [u32; 8],
    /// What is added to the variance of the input, and to the squares.
    pub epsilons: [f64; 2],
}

/// Gammas, betas and epsilon of a norm.
pub type NormOf<'a> = (&'a [f32], &'a [f32], f32);

/// Parameters of a norm of a norm of steps of `input`, to steps of `output`.
pub fn layer_norm_twice(first: NormOf, second: NormOf, input: f32, output: (f32, i32)) -> TwiceParameters {
    let ([e, a], epsilon) = variance_bits(first.0.len(), first.2, input);
    let count = first.0.len() as f64;
    // The second norm does not see the size of the first, whose unit is the power of two next to its root mean square.
    let square = |v: &[f32]| v.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>();
    let mean_square = square(first.0) / count;
    let unit = if mean_square > 0.0 { 2.0_f64.powi((mean_square.log2() / 2.0).round() as i32) } else { 1.0 };
    let units = |v: f32| f64::from(v) / unit;
    let b = gamma_bits(first.0.iter().map(|&g| units(g)));
    // Normal numbers have the sum of squares C, so that each is below its root, and sums are bounded by Cauchy and Schwarz.
    let of_gammas = square(first.0).sqrt() / unit;
    let of_betas = first.1.iter().map(|&v| units(v).abs()).sum::<f64>();
    let largest = |v: &[f32]| v.iter().map(|&v| units(v).abs()).fold(0.0, f64::max);
    let sum = count.sqrt() * of_gammas + of_betas;
    let element = 2.0 * (count.sqrt() * largest(first.0) + largest(first.1));
    let f = room_bits(sum.max(element)).min(28);
    let added = count * f64::from(second.2) / (unit * unit);
    let squares = (count.sqrt() * largest(first.0) + square(first.1).sqrt() / unit).powi(2) + added;
    let v = room_bits(squares).min(28);
    let mut words = Vec::with_capacity(4 * first.0.len());
    words.extend(first.0.iter().zip(first.1).flat_map(|(&g, &beta)| [bits(units(g), b), bits(units(beta), f)]));
    let (of_second, [g, m]) = output_steps(second.0, second.1, output);
    words.extend(of_second);
    let added = added.max(2.0_f64.powi(-(v as i32)));
    let n = normal_bits(first.0.len());
    TwiceParameters { words, formats: [g, e, a, b, f, v, n, m], epsilons: [epsilon, added] }
}

/// Fraction bits that numbers up to `most` leave of 31, one apart.
fn room_bits(most: f64) -> u32 {
    (30.0 - most.max(1.0).log2()).floor().max(0.0) as u32
}

/// Fraction bits of exponentials: as many as their sum over `keys` leaves room for.
pub fn exponent_bits(keys: usize) -> u32 {
    30 - keys.max(1).ilog2()
}

/// Fraction bits of a number of output steps.
pub fn step_bits(steps: f64) -> u32 {
    30_u32.saturating_sub(steps.max(1.0).log2().ceil() as u32)
}

/// `exp(-d * scale)` for each number of steps, as `nn::tables::exponentials` makes them.
pub fn exponentials(scale: f32, fraction: u32) -> Vec<i32> {
    let one = f64::from(1_u32 << fraction);
    (0..256).map(|d| ((-f64::from(d) * f64::from(scale)).exp() * one).round_ties_even() as i32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_begins_with_its_biases() {
        let weights: Vec<i8> = (1..=10).collect();
        let stream = Constant::stream(2, 5, &weights, &[7, -1]);
        assert_eq!(stream.layout, "Stream<2, 5>");
        let mut expected = Vec::new();
        for bias in [7_i32, -1, 0, 0] {
            expected.extend(bias.to_le_bytes());
        }
        expected.extend([1, 2, 3, 4, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0, 0]);
        expected.extend([5, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(stream.bytes, expected);
    }

    #[test]
    fn addends_stand_behind_weights() {
        let stream = Constant::stream_with_addends(1, 3, &[1, 2, 3], &[5], &[-2]);
        assert_eq!(stream.layout, "Stream<1, 8>");
        assert_eq!(stream.bytes[..4], [5, 0, 0, 0]);
        assert_eq!((&stream.bytes[16..20], &stream.bytes[32..36]), (&[1, 2, 3, 0][..], &[254, 255, 255, 255][..]));
    }

    #[test]
    fn scalars_as_literals() {
        assert_eq!(scale(0.5).unwrap(), "Scale::new(8388608, 24)");
        assert!(scale(256.0).is_err());
        assert_eq!(fixed(1.5, 20).unwrap(), "fx::<20>(1.5)");
        assert!(fixed(600.0, 22).is_err());
        assert_eq!((exponent_bits(128), exponent_bits(2047)), (23, 20));
        assert_eq!((step_bits(127.0), step_bits(1340.0), step_bits(0.5)), (23, 19, 30));
    }

    #[test]
    fn a_norm_of_a_norm_fits_its_formats() {
        let first = ([0.011; 256].as_slice(), [0.003; 256].as_slice(), 1e-5);
        let n = layer_norm_twice(first, (&[1.0; 256], &[0.0; 256], 1e-6), 0.03, (0.03125, 0));
        // In units of 2^-7 gammas are 1.4, so that sums over channels reach 360 + 98 and squares (22.5 + 6.1)^2.
        assert_eq!(n.formats, [24, 0, 0, 28, 21, 20, 26, 20]);
        assert_eq!(n.words.len(), 1024);
        assert_eq!(n.words[..2], [bits(f64::from(0.011_f32) * 128.0, 28), bits(f64::from(0.003_f32) * 128.0, 21)]);
        assert!((n.epsilons[1] - 256.0 * 1e-6 * 16384.0).abs() < 1e-5, "{:?}", n.epsilons);
    }

    #[test]
    fn norm_parameters_fit_their_formats() {
        let n = layer_norm(&[1.0; 32], &[0.5; 32], 1e-5, 0.03, (0.03125, 3));
        assert_eq!((n.words.len(), n.formats), (64, [24, 6, 0, 28, 22]));
        assert_eq!(n.words[..2], [32 << 24, (39 << 22) / 2]);
        let wide = layer_norm(&[2.0; 512], &[0.0; 512], 1e-5, 0.02, (0.02, 0));
        assert!(wide.formats[1] == 0 && wide.formats[2] >= 2, "{:?}", wide.formats);
    }
}
