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
    /// At most one element in so many differs, by at most 1. A tensor of fewer elements may have one.
    Rare {
        /// Elements.
        per: usize,
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
                Bar::Rare { per: 1_000 }
            }
            _ if dtype == DType::F32 => FLOAT,
            _ if dtype.is_int8() => Bar::Rare { per: 100_000 },
            _ => Bar::Exact,
        }
    }

    /// The bar of nodes that are computed at once: the widest of theirs.
    pub fn of_unit(ops: &[&Op], dtype: DType) -> Self {
        let bars = ops.iter().map(|op| Bar::of(op, dtype));
        bars.max_by(|a, b| a.width().total_cmp(&b.width())).unwrap_or(Bar::Exact)
    }

    fn width(self) -> f64 {
        match self {
            Bar::Exact => 0.0,
            Bar::Rare { per } => 1.0 / per as f64,
            Bar::Close { .. } => 1.0,
        }
    }

    /// Whether a comparison is within the bar.
    pub fn holds(self, c: &Comparison) -> bool {
        match self {
            Bar::Exact => c.mismatches == 0,
            Bar::Rare { per } => c.mismatches <= (c.total / per).max(1) && c.max_abs_err <= 1.0,
            Bar::Close { of_largest } => c.mismatches == 0 || c.max_abs_err <= of_largest * c.largest,
        }
    }
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
            Bar::Rare { per } => write!(f, "1 in {per} by 1"),
            Bar::Close { of_largest } => write!(f, "{of_largest:e} of the largest"),
        }
    }
}
