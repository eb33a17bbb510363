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

    /// The bar of nodes that are computed at once: the widest of theirs. Where they multiply what a softmax gives, a probability that is one step
    /// off, as its own bar allows, moves a result by as many steps as the largest value times that step is worth.
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

/// What one step of a softmax's result is worth at most in the product behind it, in its steps; 0 where there is none.
fn steps_of_probability(ops: &[&Op]) -> u32 {
    let Some(softmax) = ops.iter().position(|op| matches!(op, Op::QLinearSoftmax { .. } | Op::Softmax { .. })) else {
        return 0;
    };
    let product = ops[softmax..].iter().find_map(|op| match op {
        Op::QLinearMatMul { a, b, y } => Some((a, b.single()?, y)),
        _ => None,
    });
    product.map_or(0, |(p, v, y)| (128.0 * f64::from(p.scale) * f64::from(v.scale) / f64::from(y.scale)).ceil() as u32)
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
