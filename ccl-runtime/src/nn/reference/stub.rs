//! What the plain ways of the attention stubs must give: formulas in double precision.

use ndarray::{Array2, Array3};

use crate::value::Scale;

/// Steps of the input to steps of the output.
pub fn project_by_slot<const IN_MANTISSA: i32, const IN_SHIFT: i32, const OUT_MANTISSA: i32, const OUT_SHIFT: i32>(
    x: &Array2<i8>,
    y: &mut Array2<i8>,
) {
    let factor = Scale::new(IN_MANTISSA, IN_SHIFT).to_f64() * Scale::new(OUT_MANTISSA, OUT_SHIFT).to_f64();
    y.zip_mut_with(x, |y, x| *y = to_i8(f64::from(*x) * factor));
}

/// Attention of one head, nothing rounded before the end.
pub fn attention_by_slot<
    const KEYS: usize,
    const CHUNKS: usize,
    const IN_MANTISSA: i32,
    const IN_SHIFT: i32,
    const OUT_MANTISSA: i32,
    const OUT_SHIFT: i32,
>(
    q: &Array2<i8>,
    keys: &[Array2<i8>; CHUNKS],
    values: &[Array3<i8>; CHUNKS],
    y: &mut Array2<i8>,
) {
    let (step, inverse) = (Scale::new(IN_MANTISSA, IN_SHIFT).to_f64(), Scale::new(OUT_MANTISSA, OUT_SHIFT).to_f64());
    let chunk = keys[0].nrows();
    for (query, mut out) in q.rows().into_iter().zip(y.rows_mut()) {
        let score = |k: usize| {
            let key = keys[k / chunk].row(k % chunk);
            step * query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum::<f64>()
        };
        let scores: Vec<f64> = (0..KEYS).map(score).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
        let total: f64 = weights.iter().sum();
        for (d, out) in out.iter_mut().enumerate() {
            let value = |k: usize| f64::from(values[k / chunk][[d, 0, k % chunk]]);
            let sum: f64 = weights.iter().enumerate().map(|(k, weight)| weight * value(k)).sum();
            *out = to_i8(sum / total * inverse);
        }
    }
}

fn to_i8(x: f64) -> i8 {
    x.round_ties_even().clamp(-128.0, 127.0) as i8
}
