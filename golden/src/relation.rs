//! Comparisons of elements, logic on their results, and the choice between two tensors.

use ndarray::{ArrayD, ArrayViewD};

use crate::broadcast::{map2, map3};
use crate::error::GoldenError;

/// How two elements are compared. A comparison with not-a-number is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `a == b`.
    Equal,
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessOrEqual,
    /// `a > b`.
    Greater,
    /// `a >= b`.
    GreaterOrEqual,
}

impl Relation {
    /// The name of the ONNX operator.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Equal => "Equal",
            Relation::Less => "Less",
            Relation::LessOrEqual => "LessOrEqual",
            Relation::Greater => "Greater",
            Relation::GreaterOrEqual => "GreaterOrEqual",
        }
    }

    /// True if `a` and `b` are so related.
    pub fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            Relation::Equal => a == b,
            Relation::Less => a < b,
            Relation::LessOrEqual => a <= b,
            Relation::Greater => a > b,
            Relation::GreaterOrEqual => a >= b,
        }
    }
}

/// Compares each pair of elements.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operators Equal, Less, LessOrEqual, Greater and GreaterOrEqual.
pub fn relation<T: PartialOrd>(
    a: ArrayViewD<T>,
    b: ArrayViewD<T>,
    relation: Relation,
) -> Result<ArrayD<bool>, GoldenError> {
    map2(relation.name(), a, b, |a, b| relation.holds(a, b))
}

/// Takes the element of `a` where `condition` is true and of `b` elsewhere.
///
/// # Shapes
/// `condition`, `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Where.
pub fn select<T: Clone>(
    condition: ArrayViewD<bool>,
    a: ArrayViewD<T>,
    b: ArrayViewD<T>,
) -> Result<ArrayD<T>, GoldenError> {
    map3("Where", condition, a, b, |&condition, a, b| if condition { a.clone() } else { b.clone() })
}

#[cfg(test)]
mod tests {
    use ndarray::arr1;

    use super::*;

    #[test]
    fn not_a_number_is_related_to_nothing() {
        let (a, b) = (arr1(&[f32::NAN, 1.0, 2.0]).into_dyn(), arr1(&[f32::NAN, 2.0, 2.0]).into_dyn());
        let of = |r| relation(a.view(), b.view(), r).unwrap().into_raw_vec_and_offset().0;
        assert_eq!(of(Relation::Equal), [false, false, true]);
        assert_eq!(of(Relation::Less), [false, true, false]);
        assert_eq!(of(Relation::LessOrEqual), [false, true, true]);
        assert_eq!(of(Relation::Greater), [false, false, false]);
        assert_eq!(of(Relation::GreaterOrEqual), [false, false, true]);
    }

    #[test]
    fn all_three_operands_broadcast() {
        let condition = ndarray::arr2(&[[true], [false]]).into_dyn();
        let (a, b) = (arr1(&[1_i64, 2]).into_dyn(), ndarray::arr0(9_i64).into_dyn());
        let y = select(condition.view(), a.view(), b.view());
        assert_eq!(y, Ok(ndarray::arr2(&[[1, 2], [9, 9]]).into_dyn()));
    }
}
