//! Matrix products of quantised tensors: batched, with per-column scales, and the general product with a bias.

use ndarray::{Array2, ArrayD, ArrayView2, ArrayViewD, Axis, Dimension, Ix2, IxDyn};

use crate::broadcast::{broadcast_shape, expand};
use crate::dot::{add_scaled, centred, dot};
use crate::error::{GoldenError, checked_len, expect_extent};
use crate::int8::Int8;
use crate::quant::{Quant, QuantPer};
use crate::requantize::{requantize_scale, requantize_value};

/// Multiplies quantised matrices and requantises.
///
/// `acc = sum((a - zp_a) * (b - zp_b))` in wrapping 32 bits, then [`requantize_value`] with `f(f(s_a * s_b) / s_y)`.
///
/// # Shapes
/// `a: [.., M, K]`, `b: [.., K, N]`, leading dimensions broadcast; a vector counts as one row (`a`) or column (`b`), which
/// the result then lacks. `qb` for 1 or `N` columns. Returns `[.., M, N]`.
/// # Errors
/// [`GoldenError::Rank`] for a scalar, [`GoldenError::Extent`] and [`GoldenError::Broadcast`] for shapes that do not fit.
/// # Source
/// `NUMERICS.md`, QLinearMatMul.
pub fn qlinear_matmul<A: Int8, B: Int8, Y: Int8>(
    a: ArrayViewD<A>,
    qa: Quant<A>,
    b: ArrayViewD<B>,
    qb: &QuantPer<B>,
    qy: Quant<Y>,
) -> Result<ArrayD<Y>, GoldenError> {
    const OP: &str = "QLinearMatMul";
    let n_columns = columns(&b);
    qb.check(OP, n_columns)?;
    let zeros = qb.zeros(n_columns);
    let scales: Vec<f32> = (0..n_columns).map(|n| requantize_scale(qa.scale(), qb.at(n).scale(), qy.scale())).collect();
    batched(OP, a, b, |a, b| {
        let acc = accumulate(a, qa.zero(), b, &zeros);
        Array2::from_shape_fn(acc.dim(), |(m, n)| requantize_value(acc[[m, n]], scales[n], qy.zero_point()))
    })
}

/// Multiplies quantised matrices to accumulators.
///
/// # Shapes
/// As [`qlinear_matmul`]; `b_zero: [1]` or `[N]`.
/// # Errors
/// As [`qlinear_matmul`].
/// # Source
/// The ONNX operator MatMulInteger; compared with ORT.
pub fn matmul_integer<A: Int8, B: Int8>(
    a: ArrayViewD<A>,
    a_zero: A,
    b: ArrayViewD<B>,
    b_zero: &[B],
) -> Result<ArrayD<i32>, GoldenError> {
    const OP: &str = "MatMulInteger";
    let n_columns = columns(&b);
    let zeros: Vec<i32> = match b_zero {
        [one] => vec![one.widen(); n_columns],
        many => many.iter().map(|z| z.widen()).collect(),
    };
    expect_extent(OP, "zero points of b", zeros.len(), n_columns)?;
    batched(OP, a, b, |a, b| accumulate(a, a_zero.widen(), b, &zeros))
}

/// Multiplies float32 matrices, in float64 with one rounding at the end.
///
/// Not bit-equal to ORT, whose float32 summation order is its own.
///
/// # Shapes
/// As [`qlinear_matmul`].
/// # Errors
/// As [`qlinear_matmul`].
/// # Source
/// The ONNX operator MatMul.
pub fn matmul_f32(a: ArrayViewD<f32>, b: ArrayViewD<f32>) -> Result<ArrayD<f32>, GoldenError> {
    batched("MatMul", a, b, |a, b| product_f32(a, b).mapv(|v| v as f32))
}

/// General product of float32 matrices: `alpha * a * b + beta * c`, in float64 with one rounding at the end.
///
/// # Shapes
/// `a: [M, K]`, `b: [K, N]` after transposition, `c` broadcasts to `[M, N]`; returns `[M, N]`.
/// # Errors
/// [`GoldenError::Extent`], [`GoldenError::Broadcast`] for shapes that do not fit.
/// # Source
/// The ONNX operator Gemm.
pub fn gemm_f32(
    a: ArrayView2<f32>,
    b: ArrayView2<f32>,
    c: Option<ArrayViewD<f32>>,
    beta: f32,
    gemm: &Gemm,
) -> Result<Array2<f32>, GoldenError> {
    const OP: &str = "Gemm";
    let a = if gemm.transpose_a { a.reversed_axes() } else { a };
    let b = if gemm.transpose_b { b.reversed_axes() } else { b };
    expect_extent(OP, "rows of b", b.nrows(), a.ncols())?;
    checked_len(OP, &[a.nrows(), b.ncols()])?;
    let mut y = product_f32(a, b) * f64::from(gemm.alpha);
    if let Some(c) = c {
        let c = expand(OP, &c, y.shape())?;
        y.iter_mut().zip(c).for_each(|(y, &c)| *y += f64::from(beta) * f64::from(c));
    }
    Ok(y.mapv(|v| v as f32))
}

/// The product of two matrices whose inner extents agree, each sum in order.
fn product_f32(a: ArrayView2<f32>, b: ArrayView2<f32>) -> Array2<f64> {
    let mut y = Array2::zeros((a.nrows(), b.ncols()));
    let mut sums = vec![0.0; b.ncols()];
    let b = Array2::from_shape_fn(b.dim(), |(k, n)| f64::from(b[[k, n]]));
    for (mut y, a) in y.outer_iter_mut().zip(a.outer_iter()) {
        sums.fill(0.0);
        for (&a, b) in a.iter().zip(b.outer_iter()) {
            add_scaled(&mut sums, f64::from(a), b.to_slice().expect("made in row order"));
        }
        y.iter_mut().zip(&sums).for_each(|(y, &sum)| *y = sum);
    }
    y
}

/// How [`qgemm`] and [`gemm_f32`] read its matrices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gemm {
    /// Factor of the product.
    pub alpha: f32,
    /// `a` is stored as `[K, M]`.
    pub transpose_a: bool,
    /// `b` is stored as `[N, K]`.
    pub transpose_b: bool,
}

impl Default for Gemm {
    fn default() -> Self {
        Gemm { alpha: 1.0, transpose_a: false, transpose_b: false }
    }
}

/// General product of quantised matrices with a bias, requantised: the factor is `f(f(f(alpha * s_a) * s_b) / s_y)`.
///
/// # Shapes
/// `a: [M, K]`, `b: [K, N]` after transposition, `qb` for 1 or `N` columns, `c` broadcasts to `[M, N]`; returns `[M, N]`.
/// # Units
/// `c` counts steps of `alpha * s_a * s_b`.
/// # Errors
/// [`GoldenError::Extent`], [`GoldenError::Broadcast`] for shapes that do not fit.
/// # Source
/// `NUMERICS.md`, QGemm; the `com.microsoft` operator.
pub fn qgemm<A: Int8, B: Int8, Y: Int8>(
    a: ArrayView2<A>,
    qa: Quant<A>,
    b: ArrayView2<B>,
    qb: &QuantPer<B>,
    c: Option<ArrayViewD<i32>>,
    qy: Quant<Y>,
    gemm: &Gemm,
) -> Result<Array2<Y>, GoldenError> {
    const OP: &str = "QGemm";
    let a = if gemm.transpose_a { a.reversed_axes() } else { a };
    let b = if gemm.transpose_b { b.reversed_axes() } else { b };
    expect_extent(OP, "rows of b", b.nrows(), a.ncols())?;
    checked_len(OP, &[a.nrows(), b.ncols()])?;
    qb.check(OP, b.ncols())?;
    let mut acc = accumulate(a, qa.zero(), b, &qb.zeros(b.ncols()));
    if let Some(c) = c {
        let c = expand(OP, &c, acc.shape())?;
        acc.iter_mut().zip(c).for_each(|(acc, &c)| *acc = acc.wrapping_add(c));
    }
    Ok(Array2::from_shape_fn(acc.dim(), |(m, n)| {
        let scale = requantize_scale(gemm.alpha * qa.scale(), qb.at(n).scale(), qy.scale());
        requantize_value(acc[[m, n]], scale, qy.zero_point())
    }))
}

/// Columns of the right-hand matrix.
fn columns<B>(b: &ArrayViewD<B>) -> usize {
    if b.ndim() < 2 { 1 } else { b.shape()[b.ndim() - 1] }
}

/// The sums of products of two matrices whose inner extents agree.
fn accumulate<A: Int8, B: Int8>(a: ArrayView2<A>, a_zero: i32, b: ArrayView2<B>, b_zeros: &[i32]) -> Array2<i32> {
    let columns = Array2::from_shape_fn((b.ncols(), b.nrows()), |(n, k)| centred(b[[k, n]], b_zeros[n]));
    let mut acc = Array2::zeros((a.nrows(), b.ncols()));
    for (mut acc, row) in acc.outer_iter_mut().zip(a.outer_iter()) {
        let row: Vec<i16> = row.iter().map(|&a| centred(a, a_zero)).collect();
        for (acc, column) in acc.iter_mut().zip(columns.outer_iter()) {
            *acc = dot(&row, column.to_slice().expect("columns are in row order"));
        }
    }
    acc
}

/// Applies `product` to each pair of matrices, with the rules of ONNX MatMul for ranks and leading dimensions.
fn batched<A: Copy, B: Copy, C: Default + Clone>(
    op: &'static str,
    a: ArrayViewD<A>,
    b: ArrayViewD<B>,
    product: impl Fn(ArrayView2<A>, ArrayView2<B>) -> Array2<C>,
) -> Result<ArrayD<C>, GoldenError> {
    for (tensor, rank) in [("a", a.ndim()), ("b", b.ndim())] {
        if rank == 0 {
            return Err(GoldenError::Rank { op, tensor, found: 0, expected: "at least 1" });
        }
    }
    let (vector_a, vector_b) = (a.ndim() == 1, b.ndim() == 1);
    let a = if vector_a { a.insert_axis(Axis(0)) } else { a };
    let b = if vector_b { b.insert_axis(Axis(1)) } else { b };
    let (batch_a, matrix_a) = a.shape().split_at(a.ndim() - 2);
    let (batch_b, matrix_b) = b.shape().split_at(b.ndim() - 2);
    expect_extent(op, "rows of b", matrix_b[0], matrix_a[1])?;

    let batch = broadcast_shape(op, batch_a, batch_b)?;
    let full = |matrix: &[usize]| [&batch[..], matrix].concat();
    let (shape_a, shape_b, shape_y) = (full(matrix_a), full(matrix_b), full(&[matrix_a[0], matrix_b[1]]));
    checked_len(op, &shape_y)?;
    let (a, b) = (expand(op, &a, &shape_a)?, expand(op, &b, &shape_b)?);
    let mut y = ArrayD::from_elem(IxDyn(&shape_y), C::default());
    for at in ndarray::indices(IxDyn(&batch)) {
        let (a, b) = (matrix(&a, at.slice()), matrix(&b, at.slice()));
        let mut y = at.slice().iter().fold(y.view_mut(), |y, &i| y.index_axis_move(Axis(0), i));
        y.assign(&product(a, b));
    }
    if vector_b {
        let last = y.ndim() - 1;
        y = y.index_axis_move(Axis(last), 0);
    }
    if vector_a {
        let row = y.ndim() - if vector_b { 1 } else { 2 };
        y = y.index_axis_move(Axis(row), 0);
    }
    Ok(y)
}

/// The matrix at a position of the leading dimensions.
fn matrix<'a, T>(batch: &ArrayViewD<'a, T>, at: &[usize]) -> ArrayView2<'a, T> {
    let inner = at.iter().fold(batch.clone(), |view, &i| view.index_axis_move(Axis(0), i));
    inner.into_dimensionality::<Ix2>().expect("all but two dimensions are indexed")
}

#[cfg(test)]
mod tests {
    use ndarray::{Array, array};

    use super::*;

    #[test]
    fn ranks_follow_numpy() {
        let of = |shape: &[usize]| ArrayD::from_elem(IxDyn(shape), 1_i8);
        let shape = |a: &[usize], b: &[usize]| {
            matmul_integer(of(a).view(), 0, of(b).view(), &[0_i8]).map(|y| y.shape().to_vec())
        };
        assert_eq!(shape(&[2, 3], &[3, 4]), Ok(vec![2, 4]));
        assert_eq!(shape(&[3], &[3]), Ok(vec![]));
        assert_eq!(shape(&[3], &[5, 3, 4]), Ok(vec![5, 4]));
        assert_eq!(shape(&[5, 2, 3], &[3]), Ok(vec![5, 2]));
        assert_eq!(shape(&[6, 1, 2, 3], &[5, 3, 4]), Ok(vec![6, 5, 2, 4]));
        assert_eq!(shape(&[2, 0], &[0, 2]), Ok(vec![2, 2]));
        assert!(shape(&[2, 3], &[4, 4]).is_err());
        assert!(shape(&[], &[4]).is_err());
    }

    #[test]
    fn zero_points_of_columns() {
        let (a, b) = (array![[1_u8, 2]].into_dyn(), array![[10_i8, 20], [30, 40]].into_dyn());
        let y = matmul_integer(a.view(), 1, b.view(), &[10, 20]).unwrap();
        assert_eq!(y, array![[20, 20]].into_dyn());
    }

    #[test]
    fn transposed_operands_give_the_same() {
        let a = Array::from_shape_fn((3, 5), |(m, k)| (m * 31 + k * 17) as i8);
        let b = Array::from_shape_fn((5, 4), |(k, n)| (n * 11 + k * 23) as i8);
        let q = Quant::new(0.25, -3_i8).unwrap();
        let qy = Quant::new(70.0, 3_i8).unwrap();
        let plain = qgemm(a.view(), q, b.view(), &q.into(), None, qy, &Gemm::default()).unwrap();
        let gemm = Gemm { transpose_a: true, transpose_b: true, ..Gemm::default() };
        assert_eq!(qgemm(a.t(), q, b.t(), &q.into(), None, qy, &gemm), Ok(plain));
    }

    #[test]
    fn general_product_by_hand() {
        let (a, b) = (array![[1.0_f32, 2.0], [3.0, 4.0]], array![[5.0_f32, 6.0], [7.0, 8.0]]);
        let c = array![[100.0_f32], [200.0]].into_dyn();
        let gemm = Gemm { alpha: 2.0, transpose_b: true, ..Gemm::default() };
        let y = gemm_f32(a.view(), b.view(), Some(c.view()), 0.5, &gemm);
        assert_eq!(y, Ok(array![[84.0, 96.0], [178.0, 206.0]]));
        assert_eq!(
            matmul_f32(a.view().into_dyn(), b.t().into_dyn()),
            Ok(array![[17.0, 23.0], [39.0, 53.0]].into_dyn())
        );
    }
}
