//! How far a node's result may be from the reference on the reference's own inputs. Declared once, with the reason.

use std::fmt;

use ccl_golden::compare::Comparison;
use serde::{Serialize, Serializer};

use crate::graph::{DType, Op};

/// The bar of an operator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// Equal to the bit: elements are moved, chosen or counted.
    Exact,
    /// At most one element in so many differs, by at most so many steps. A tensor of fewer elements may have one.
    Rare {
        /// Elements.
        per: usize,
        /// Steps.
        by: u32,
    },
    /// No element differs by more than this part of the reference's largest magnitude.
    Close {
        /// Part of it.
        of_largest: f64,
    },
}

/// Float32 sums of some thousand terms in another order.
const FLOAT: Bar = Bar::Close { of_largest: 1e-5 };

impl Bar {
    /// The bar of a node whose result has this element type.
    ///
    /// # Source
    /// `golden/docs/numerics.md`: 1 in 100,000 for integer operators, 1 in 1,000 for those that are fixed point inside.
    pub fn of(op: &Op, dtype: DType) -> Self {
        match op {
            _ if op.moves_only() => Bar::Exact,
            Op::QLinearSoftmax { .. } | Op::Softmax { .. } | Op::LayerNormalization { .. } if dtype.is_int8() => {
                Bar::Rare { per: 1_000, by: 1 }
            }
            _ if dtype == DType::F32 => FLOAT,
            _ if dtype.is_int8() => Bar::Rare { per: 100_000, by: 1 },
            _ => Bar::Exact,
        }
    }

    /// The bar of nodes that are computed at once: the widest of theirs. What multiplies probabilities may be off by more than a step, since
    /// one score or probability that is a step off, as their bars allow, is worth more there.
    pub fn of_unit(ops: &[&Op], dtype: DType) -> Self {
        let bars = ops.iter().map(|op| Bar::of(op, dtype));
        match bars.max_by(|a, b| a.width().total_cmp(&b.width())).unwrap_or(Bar::Exact) {
            Bar::Rare { per, by } => Bar::Rare { per, by: by.max(steps_of_probability(ops)) },
            bar => bar,
        }
    }

    fn width(self) -> f64 {
        match self {
            Bar::Exact => 0.0,
            Bar::Rare { per, .. } => 1.0 / per as f64,
            Bar::Close { .. } => 1.0,
        }
    }

    /// Whether a comparison is within the bar.
    pub fn holds(self, c: &Comparison) -> bool {
        match self {
            Bar::Exact => c.mismatches == 0,
            Bar::Rare { per, by } => c.mismatches <= (c.total / per).max(1) && c.max_abs_err <= f64::from(by),
            Bar::Close { of_largest } => c.mismatches == 0 || c.max_abs_err <= of_largest * c.largest,
        }
    }
}

/// How many steps the product behind a softmax may be off where the nodes before it are as far off as their bars allow; 0 where there is no
/// such product.
///
/// A score that is one step off changes a probability by at most `tanh(s / 4)`, `s` being that step; its rounding adds a step of its own.
fn steps_of_probability(ops: &[&Op]) -> u32 {
    let Some(softmax) = ops.iter().position(|op| matches!(op, Op::QLinearSoftmax { .. } | Op::Softmax { .. })) else {
        return 0;
    };
    let scores = ops[..softmax].iter().rev().find_map(|op| match op {
        Op::DequantizeLinear { q, .. } => q.single(),
        _ => None,
    });
    let product = ops[softmax..].iter().find_map(|op| match op {
        Op::QLinearMatMul { a, b, y } => Some((a, b.single()?, y)),
        _ => None,
    });
    let Some((p, v, y)) = product else { return 0 };
    let of_score = scores.map_or(0.0, |q| (f64::from(q.scale) / 4.0).tanh());
    (128.0 * (of_score + f64::from(p.scale)) * f64::from(v.scale) / f64::from(y.scale)).ceil() as u32
}

impl Serialize for Bar {
    /// In words.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bar::Exact => f.write_str("equal"),
            Bar::Rare { per, by } => write!(f, "1 in {per} by {by}"),
            Bar::Close { of_largest } => write!(f, "{of_largest:e} of the largest"),
        }
    }
}
