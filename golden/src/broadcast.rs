//! ONNX (NumPy) broadcasting of two or three tensors, once for all element-wise operators.

use ndarray::{ArrayD, ArrayViewD, IxDyn, Zip};

use crate::error::{GoldenError, checked_len};

/// The shape that two shapes broadcast to.
///
/// # Errors
/// [`GoldenError::Broadcast`] where two extents differ and neither is 1; [`GoldenError::TooLarge`].
pub fn broadcast_shape(op: &'static str, a: &[usize], b: &[usize]) -> Result<Vec<usize>, GoldenError> {
    let rank = a.len().max(b.len());
    let extent = |shape: &[usize], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    let mut shape = Vec::with_capacity(rank);
    for i in 0..rank {
        shape.push(match (extent(a, i), extent(b, i)) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => return Err(GoldenError::Broadcast { op, a: a.to_vec(), b: b.to_vec() }),
        });
    }
    checked_len(op, &shape)?;
    Ok(shape)
}

/// Applies `f` to each pair of elements of two broadcast tensors.
///
/// # Shapes
/// `a`, `b`: any that broadcast; returns the common shape.
/// # Errors
/// As [`broadcast_shape`].
pub fn map2<A, B, C>(
    op: &'static str,
    a: ArrayViewD<A>,
    b: ArrayViewD<B>,
    f: impl Fn(&A, &B) -> C,
) -> Result<ArrayD<C>, GoldenError> {
    let shape = broadcast_shape(op, a.shape(), b.shape())?;
    let (a, b) = (expand(op, &a, &shape)?, expand(op, &b, &shape)?);
    Ok(Zip::from(a).and(b).map_collect(f))
}

/// Applies `f` to each triple of elements of three broadcast tensors (`Where` is one).
///
/// # Shapes
/// `a`, `b`, `c`: any that broadcast; returns the common shape.
/// # Errors
/// As [`broadcast_shape`].
pub fn map3<A, B, C, D>(
    op: &'static str,
    a: ArrayViewD<A>,
    b: ArrayViewD<B>,
    c: ArrayViewD<C>,
    f: impl Fn(&A, &B, &C) -> D,
) -> Result<ArrayD<D>, GoldenError> {
    let shape = broadcast_shape(op, &broadcast_shape(op, a.shape(), b.shape())?, c.shape())?;
    let (a, b, c) = (expand(op, &a, &shape)?, expand(op, &b, &shape)?, expand(op, &c, &shape)?);
    Ok(Zip::from(a).and(b).and(c).map_collect(f))
}

/// A view of `a` repeated to `shape`.
pub(crate) fn expand<'a, A>(
    op: &'static str,
    a: &'a ArrayViewD<'a, A>,
    shape: &[usize],
) -> Result<ArrayViewD<'a, A>, GoldenError> {
    a.broadcast(IxDyn(shape)).ok_or_else(|| GoldenError::Broadcast { op, a: a.shape().to_vec(), b: shape.to_vec() })
}

#[cfg(test)]
mod tests {
    use ndarray::{arr0, arr1, arr2};

    use super::*;

    #[test]
    fn shapes_align_at_the_end() {
        assert_eq!(broadcast_shape("t", &[2, 1, 3], &[4, 1]), Ok(vec![2, 4, 3]));
        assert_eq!(broadcast_shape("t", &[], &[0]), Ok(vec![0]));
        assert!(broadcast_shape("t", &[2], &[3]).is_err());
        assert!(matches!(broadcast_shape("t", &[1 << 40, 1], &[1 << 40]), Err(GoldenError::TooLarge { .. })));
    }

    #[test]
    fn a_scalar_meets_a_matrix() {
        let y = map2("t", arr0(10).into_dyn().view(), arr2(&[[1, 2], [3, 4]]).into_dyn().view(), |a, b| a + b);
        assert_eq!(y.unwrap(), arr2(&[[11, 12], [13, 14]]).into_dyn());
        let (t, a, b) = (arr1(&[true, false]).into_dyn(), arr0(1).into_dyn(), arr2(&[[5], [6]]).into_dyn());
        let y = map3("t", t.view(), a.view(), b.view(), |&t, &a, &b| if t { a } else { b });
        assert_eq!(y.unwrap(), arr2(&[[1, 5], [1, 6]]).into_dyn());
    }
}
