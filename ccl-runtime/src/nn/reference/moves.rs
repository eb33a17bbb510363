//! Data movement.

use ccl_golden::moves::{self, PadMode, SliceAxis};
use ndarray::{Array1, Array2, Array3, s};

use super::{any, store};

/// The same elements.
pub fn same(x: &Array3<i8>, y: &mut Array3<i8>) {
    y.assign(x);
}

/// The first rows of `y` become those of `x`, the others 0.
pub fn to_planar_with_rows(x: &Array3<i8>, y: &mut Array3<i8>) {
    y.fill(0);
    y.slice_mut(s![.., ..x.dim().1, ..]).assign(x);
}

/// A part of `y` becomes `x`; the rest stays.
pub fn put<const FIRST: usize>(x: &Array3<i8>, y: &mut Array3<i8>, row: usize, column: usize) {
    let (c, h, w) = x.dim();
    y.slice_mut(s![FIRST..FIRST + c, row..row + h, column..column + w]).assign(x);
}

/// Slice.
pub fn slice<const FIRST: usize>(x: &Array3<i8>, y: &mut Array3<i8>, row: usize, column: usize) {
    let axes: Vec<_> = [FIRST, row, column].into_iter().zip(y.shape()).enumerate().map(|(axis, (start, n))| {
        SliceAxis { axis: axis as isize, start: start as i64, end: (start + n) as i64, step: 1 }
    }).collect();
    store(y, moves::slice(any(x).view(), &axes).expect("axes of the tensor"));
}

/// Pad with a constant.
pub fn pad(x: &Array3<i8>, y: &mut Array3<i8>, above: i32, left: i32, value: i8) {
    let before = [0, above.into(), left.into()];
    let after: Vec<i64> = (0..3).map(|axis| (y.shape()[axis] - x.shape()[axis]) as i64 - before[axis]).collect();
    store(y, moves::pad(any(x).view(), &before, &after, PadMode::Constant(value)).expect("extents fit"));
}

/// Elements by address.
pub fn permute(x: &Array1<i8>, y: &mut Array3<i8>, first: i32, steps: (i32, i32, i32)) {
    y.indexed_iter_mut().for_each(|((c, h, w), y)| {
        let at = first + c as i32 * steps.0 + h as i32 * steps.1 + w as i32 * steps.2;
        *y = x[at as usize];
    });
}

/// Gather along the first axis; a row that is not there is 0.
pub fn gather_rows(x: &Array3<i8>, indices: &Array2<i32>, y: &mut Array2<i8>) {
    let n_rows = x.dim().1 as i32;
    y.indexed_iter_mut().for_each(|((n, d), y)| {
        let row = indices[[n, 0]];
        *y = if (0..n_rows).contains(&row) { x[[0, row as usize, d]] } else { 0 };
    });
}
