//! One attention head, composed of the operators as a quantised network has them.
//!
//! Projections before and after it are matrix products of their own; splitting a tensor into heads is
//! [`crate::moves`]'s.

use ndarray::{ArrayD, ArrayViewD, arr0};

use crate::binary::qlinear_mul;
use crate::error::GoldenError;
use crate::int8::Int8;
use crate::matmul::qlinear_matmul;
use crate::moves::transpose;
use crate::quant::Quant;
use crate::softmax::{qlinear_softmax, softmax_quantized};

/// Which softmax a network was exported with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoftmaxKind {
    /// Softmax in float between DequantizeLinear and QuantizeLinear: [`softmax_quantized`].
    Float,
    /// ORT's integer kernel: [`qlinear_softmax`].
    QLinear,
}

/// Quantisation of a head's tensors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionQuant<T> {
    /// Queries.
    pub query: Quant<T>,
    /// Keys.
    pub key: Quant<T>,
    /// Values.
    pub value: Quant<T>,
    /// Products of queries and keys.
    pub score: Quant<T>,
    /// Scores after multiplication by the factor.
    pub scaled: Quant<T>,
    /// Probabilities.
    pub probability: Quant<T>,
    /// The head's output.
    pub output: Quant<T>,
}

/// A head's output with its intermediates, for comparison stage by stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Attention<T> {
    /// `[.., M, N]`: products of queries and keys.
    pub scores: ArrayD<T>,
    /// `[.., M, N]`: scores times the factor.
    pub scaled: ArrayD<T>,
    /// `[.., M, N]`: each row sums to about 1.
    pub probabilities: ArrayD<T>,
    /// `[.., M, V]`.
    pub output: ArrayD<T>,
}

/// Attention of one head: QLinearMatMul, QLinearMul by a stored factor (`1 / sqrt(D)`), softmax, QLinearMatMul.
///
/// # Shapes
/// `query: [.., M, D]`, `key: [.., N, D]`, `value: [.., N, V]`, leading dimensions broadcast.
/// # Units
/// `factor` is a quantised constant with its parameters.
/// # Errors
/// As [`qlinear_matmul`]; [`GoldenError::Rank`] for a key with fewer than 2 dimensions.
/// # Source
/// `NUMERICS.md`, QLinearMatMul, QLinearMul, QLinearSoftmax; the order of operators is that of an exported SegFormer.
pub fn attention_head<T: Int8>(
    query: ArrayViewD<T>,
    key: ArrayViewD<T>,
    value: ArrayViewD<T>,
    factor: (T, Quant<T>),
    softmax: SoftmaxKind,
    q: &AttentionQuant<T>,
) -> Result<Attention<T>, GoldenError> {
    let rank = key.ndim();
    if rank < 2 {
        return Err(GoldenError::Rank { op: "attention", tensor: "key", found: rank, expected: "at least 2" });
    }
    let mut swap: Vec<usize> = (0..rank).collect();
    swap.swap(rank - 2, rank - 1);
    let columns = transpose(key, &swap)?;
    let scores = qlinear_matmul(query, q.query, columns.view(), &q.key.into(), q.score)?;
    let constant = arr0(factor.0).into_dyn();
    let scaled = qlinear_mul(scores.view(), q.score, constant.view(), factor.1, q.scaled)?;
    let probabilities = match softmax {
        SoftmaxKind::Float => softmax_quantized(scaled.view(), q.scaled, -1, q.probability)?,
        SoftmaxKind::QLinear => qlinear_softmax(scaled.view(), q.scaled, -1, q.probability)?,
    };
    let output = qlinear_matmul(probabilities.view(), q.probability, value, &q.value.into(), q.output)?;
    Ok(Attention { scores, scaled, probabilities, output })
}

#[cfg(test)]
mod tests {
    use ndarray::{Array, IxDyn};

    use super::*;

    #[test]
    fn equal_keys_average_the_values() {
        let unit = Quant::new(1.0, 0_i8).unwrap();
        let q = AttentionQuant {
            query: unit,
            key: unit,
            value: unit,
            score: unit,
            scaled: unit,
            probability: Quant::new(1.0 / 128.0, 0).unwrap(),
            output: unit,
        };
        let query = Array::from_elem(IxDyn(&[2, 3, 4]), 2_i8);
        let key = Array::from_elem(IxDyn(&[2, 8, 4]), 3_i8);
        let value = Array::from_shape_fn(IxDyn(&[2, 8, 5]), |i| (i[1] as i8 - 3) * 2 + i[2] as i8);
        for kind in [SoftmaxKind::Float, SoftmaxKind::QLinear] {
            let head = attention_head(query.view(), key.view(), value.view(), (1, unit), kind, &q).unwrap();
            assert_eq!(head.scores, Array::from_elem(IxDyn(&[2, 3, 8]), 24));
            assert_eq!(head.probabilities, Array::from_elem(IxDyn(&[2, 3, 8]), 16));
            assert_eq!(head.output, Array::from_shape_fn(IxDyn(&[2, 3, 5]), |i| i[2] as i8 + 1));
        }
    }
}
