//! Constants of kernels: bytes of one blob, in the order in which the machine consumes them, and scalars as literals.

use ccl_golden::Scale;

/// The element type of a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
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
    /// Fraction bits of gamma, of the variance, and bits that the variance drops.
    pub formats: [u32; 3],
    /// What is added to the variance.
    pub epsilon: f64,
}

/// Parameters of `nn::layer_norm`: gamma and beta in steps of the output, beta with its zero point and the half that rounds.
pub fn layer_norm(gamma: &[f32], beta: &[f32], epsilon: f32, input: f32, output: (f32, i32)) -> NormParameters {
    let steps = |v: f32| f64::from(v) / f64::from(output.0);
    let largest = gamma.iter().map(|&g| steps(g).abs()).fold(0.0, f64::max);
    let whole_bits = largest.max(1.0).log2().floor() as u32 + 1;
    let g = 30_u32.saturating_sub(whole_bits).min(24);
    let fixed = |v: f64, fraction: u32| (v * f64::from(1_u32 << fraction)).round_ties_even() as i32;
    let offset = f64::from(output.1) + 0.5;
    let pairs = gamma.iter().zip(beta);
    let words = pairs.flat_map(|(&gamma, &beta)| [fixed(steps(gamma), g), fixed(steps(beta) + offset, 16)]).collect();
    // The variance times C * C is at most C * C * 2^14; with its fraction bits and epsilon it has 31 bits.
    let count = gamma.len() as f64;
    let added = f64::from(epsilon) * count * count / (f64::from(input) * f64::from(input));
    let room = 30.0 - (count * count * 16384.0 + added).log2();
    let (e, a) = if room >= 0.0 { (room.floor() as u32, 0) } else { (0, (-room).ceil() as u32) };
    let e = e.min(16);
    let unit = 2.0_f64.powi(-(e as i32));
    let epsilon = (added / f64::from(1_u32 << a)).max(unit);
    NormParameters { words, formats: [g, e, a], epsilon }
}

/// Fraction bits of exponentials: as many as their sum over `keys` and `steps` leave room for.
pub fn exponent_bits(keys: usize, steps: f64) -> u32 {
    let sum = 29 - keys.max(1).ilog2();
    let room = 30 - steps.max(1.0).log2().floor() as u32;
    sum.min(room).min(22)
}

/// `exp(-d * scale)` for each number of steps, as `nn::tables::exponentials` makes them.
pub fn exponentials(scale: f32, fraction: u32) -> Vec<i32> {
    let one = f64::from(1_u32 << fraction);
    (0..256).map(|d| ((-f64::from(d) * f64::from(scale)).exp() * one).round_ties_even() as i32).collect()
}

/// Biases of 8 bits in steps of a sum, 21 fraction bits, as `nn::tables::addends` makes them.
pub fn addends(biases: &[i8], ratio: f32) -> Vec<i32> {
    let one = f64::from(1_u32 << 21);
    biases.iter().map(|&b| (f64::from(f32::from(b) * ratio) * one).round_ties_even() as i32).collect()
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
    fn scalars_as_literals() {
        assert_eq!(scale(0.5).unwrap(), "Scale::new(8388608, 24)");
        assert!(scale(256.0).is_err());
        assert_eq!(fixed(1.5, 20).unwrap(), "fx::<20>(1.5)");
        assert!(fixed(600.0, 22).is_err());
        assert_eq!(exponent_bits(128, 127.0), 22);
        assert_eq!(exponent_bits(128, 1340.0), 20);
    }

    #[test]
    fn norm_parameters_fit_their_formats() {
        let n = layer_norm(&[1.0; 32], &[0.5; 32], 1e-5, 0.03, (0.03125, 3));
        assert_eq!((n.words.len(), n.formats), (64, [24, 5, 0]));
        assert_eq!(n.words[..2], [32 << 24, ((16.0 + 3.5) * 65536.0) as i32]);
        let wide = layer_norm(&[2.0; 512], &[0.0; 512], 1e-5, 0.02, (0.02, 0));
        assert!(wide.formats[1] == 0 && wide.formats[2] >= 2, "{:?}", wide.formats);
    }
}
