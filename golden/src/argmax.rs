//! The index of the largest element.

use ndarray::{Array, ArrayD, ArrayViewD, Axis};

use crate::error::{GoldenError, resolve_axis};

/// Which of several equal elements is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tie {
    /// The first: ONNX `select_last_index = 0`.
    First,
    /// The last: `select_last_index = 1`.
    Last,
}

/// Index of the largest element along an axis.
///
/// # Shapes
/// `x: [.., D, ..]` with `D` along `axis`; returns the same with an extent of 1 there (`keepdims = 1`).
/// # Errors
/// [`GoldenError::Axis`]; [`GoldenError::Empty`] if `D` is 0.
/// # Source
/// The ONNX operator ArgMax; compared with ORT.
pub fn argmax<T: PartialOrd + Copy>(x: ArrayViewD<T>, axis: isize, tie: Tie) -> Result<ArrayD<i64>, GoldenError> {
    const OP: &str = "ArgMax";
    let axis = resolve_axis(OP, axis, x.ndim())?;
    if x.shape()[axis] == 0 {
        return Err(GoldenError::Empty { op: OP, tensor: "x" });
    }
    let mut shape = x.raw_dim();
    shape[axis] = 1;
    let indices = x.lanes(Axis(axis)).into_iter().map(|lane| {
        let better = |v: T, best: T| v > best || (tie == Tie::Last && v == best);
        let mut best = (0, lane[0]);
        for (i, &v) in lane.iter().enumerate().skip(1) {
            if better(v, best.1) {
                best = (i, v);
            }
        }
        best.0 as i64
    });
    Ok(Array::from_shape_vec(shape, indices.collect()).expect("one index per lane"))
}

#[cfg(test)]
mod tests {
    use ndarray::{arr2, array};

    use super::*;

    #[test]
    fn ties() {
        let x = arr2(&[[1_i8, 7, 7], [3, 3, 2]]).into_dyn();
        assert_eq!(argmax(x.view(), -1, Tie::First), Ok(array![[1_i64], [0]].into_dyn()));
        assert_eq!(argmax(x.view(), 1, Tie::Last), Ok(array![[2_i64], [1]].into_dyn()));
        assert_eq!(argmax(x.view(), 0, Tie::First), Ok(array![[1_i64, 0, 0]].into_dyn()));
        assert!(argmax(x.view(), 2, Tie::First).is_err());
    }
}
