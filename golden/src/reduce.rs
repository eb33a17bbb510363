//! Sums, means and extremes over axes.

use ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn};

use crate::error::{GoldenError, resolve_axis};

/// What a reduction leaves of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// The sum: float32 in float64 with one rounding at the end, integers wrapping.
    Sum,
    /// The mean: float32 as for the sum; integers truncate toward zero.
    Mean,
    /// The largest element; not-a-number wins.
    Max,
    /// The smallest element; not-a-number wins.
    Min,
}

impl Reduction {
    /// The name of the ONNX operator.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "ReduceSum",
            Reduction::Mean => "ReduceMean",
            Reduction::Max => "ReduceMax",
            Reduction::Min => "ReduceMin",
        }
    }
}

/// An element type that can be reduced.
pub trait Reduce: Copy + PartialOrd {
    /// What sums are kept in.
    type Sum: Copy + Default;
    /// A sum with one more element.
    fn add(sum: Self::Sum, value: Self) -> Self::Sum;
    /// The sum as an element.
    fn sum(sum: Self::Sum) -> Self;
    /// The sum of `n >= 1` elements, divided by `n`.
    fn mean(sum: Self::Sum, n: usize) -> Self;
}

impl Reduce for f32 {
    type Sum = f64;

    fn add(sum: f64, value: f32) -> f64 {
        sum + f64::from(value)
    }

    fn sum(sum: f64) -> f32 {
        sum as f32
    }

    fn mean(sum: f64, n: usize) -> f32 {
        (sum / n as f64) as f32
    }
}

macro_rules! reduce_integer { ($($T:ty),*) => { $(
    impl Reduce for $T {
        type Sum = i64;

        fn add(sum: i64, value: $T) -> i64 {
            sum.wrapping_add(i64::from(value))
        }

        fn sum(sum: i64) -> $T {
            sum as $T
        }

        fn mean(sum: i64, n: usize) -> $T {
            (sum / n as i64) as $T
        }
    }
)* } }

reduce_integer!(i8, u8, i32, i64);

/// Reduces over the given axes, which keep an extent of 1 (`keepdims = 1`). No axes: `x` as it is.
///
/// # Shapes
/// `x`: any; the result has extent 1 on each of `axes`.
/// # Errors
/// [`GoldenError::Axis`]; [`GoldenError::Empty`] for anything but the sum of a range without elements.
/// # Source
/// The ONNX operators ReduceSum, ReduceMean, ReduceMax and ReduceMin.
pub fn reduce<T: Reduce>(x: ArrayViewD<T>, axes: &[isize], reduction: Reduction) -> Result<ArrayD<T>, GoldenError> {
    let op = reduction.name();
    let mut shape = x.shape().to_vec();
    for &axis in axes {
        shape[resolve_axis(op, axis, x.ndim())?] = 1;
    }
    let n_range = x.shape().iter().zip(&shape).filter(|(_, kept)| **kept == 1).map(|(n, _)| n).product::<usize>();
    if n_range == 0 && reduction != Reduction::Sum {
        return Err(GoldenError::Empty { op, tensor: "range" });
    }
    Ok(match reduction {
        Reduction::Sum => sums(x, &shape).mapv(T::sum),
        Reduction::Mean => sums(x, &shape).mapv(|sum| T::mean(sum, n_range)),
        Reduction::Max => extremes(x, &shape, |v, best| v > best),
        Reduction::Min => extremes(x, &shape, |v, best| v < best),
    })
}

/// The sum of each range, in row order.
fn sums<T: Reduce>(x: ArrayViewD<T>, shape: &[usize]) -> ArrayD<T::Sum> {
    let mut y = ArrayD::from_elem(IxDyn(shape), T::Sum::default());
    for (at, &v) in x.indexed_iter() {
        let sum = &mut y[target(&at, shape)];
        *sum = T::add(*sum, v);
    }
    y
}

/// The element of each range that is `better` than all before it.
fn extremes<T: Reduce>(x: ArrayViewD<T>, shape: &[usize], better: impl Fn(T, T) -> bool) -> ArrayD<T> {
    let mut best: ArrayD<Option<T>> = ArrayD::from_elem(IxDyn(shape), None);
    for (at, &v) in x.indexed_iter() {
        let best = &mut best[target(&at, shape)];
        let is_nan = |v: T| v.partial_cmp(&v).is_none();
        if best.is_none_or(|b| !is_nan(b) && (is_nan(v) || better(v, b))) {
            *best = Some(v);
        }
    }
    best.mapv(|v| v.expect("ranges are not empty"))
}

/// The element of the result that an element of the input counts for.
fn target(at: &IxDyn, shape: &[usize]) -> IxDyn {
    let mut at = at.clone();
    for (i, &kept) in at.slice_mut().iter_mut().zip(shape) {
        if kept == 1 {
            *i = 0;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use ndarray::{arr2, array};

    use super::*;

    #[test]
    fn every_reduction_by_hand() {
        let x = array![[[1_i32, -2], [3, 4]], [[5, 6], [-7, 10]]].into_dyn();
        let of = |axes: &[isize], r| reduce(x.view(), axes, r).unwrap();
        assert_eq!(of(&[0, -1], Reduction::Sum), array![[[10], [10]]].into_dyn());
        assert_eq!(of(&[1], Reduction::Mean), array![[[2, 1]], [[-1, 8]]].into_dyn());
        assert_eq!(of(&[0, 1, 2], Reduction::Max), array![[[10]]].into_dyn());
        assert_eq!(of(&[2], Reduction::Min), array![[[-2], [3]], [[5], [-7]]].into_dyn());
        assert_eq!(of(&[], Reduction::Min), x);
    }

    #[test]
    fn small_terms_are_not_lost() {
        let mut x = vec![1.0_f32; 1001];
        x[0] = 1e8;
        let x = ndarray::arr1(&x).into_dyn();
        assert_eq!(reduce(x.view(), &[0], Reduction::Sum).unwrap()[0], 100_001_000.0);
    }

    #[test]
    fn edges() {
        let x = arr2(&[[f32::NAN, 1.0], [2.0, f32::NAN]]).into_dyn();
        assert!(reduce(x.view(), &[1], Reduction::Max).unwrap().iter().all(|v| v.is_nan()));
        let none = ArrayD::<f32>::zeros(IxDyn(&[2, 0]));
        assert_eq!(reduce(none.view(), &[1], Reduction::Sum), Ok(arr2(&[[0.0], [0.0]]).into_dyn()));
        assert!(reduce(none.view(), &[1], Reduction::Mean).is_err());
        assert!(reduce(x.view(), &[2], Reduction::Sum).is_err());
    }
}
