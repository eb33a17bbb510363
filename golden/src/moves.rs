//! Operators that move elements and compute nothing. Generic over the element.

use ndarray::{Array, ArrayD, ArrayViewD, Axis, IxDyn, Slice};

use crate::broadcast;
use crate::error::{GoldenError, checked_len, expect_extent, resolve_axis};

/// Permutes the axes: axis `i` of the result is axis `permutation[i]` of `x`.
///
/// # Shapes
/// `permutation`: each axis once.
/// # Errors
/// [`GoldenError::Extent`], [`GoldenError::Axis`], or [`GoldenError::Parameter`] for an axis named twice.
/// # Source
/// The ONNX operator Transpose.
pub fn transpose<T: Clone>(x: ArrayViewD<T>, permutation: &[usize]) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "Transpose";
    expect_extent(OP, "permutation", permutation.len(), x.ndim())?;
    let mut seen = vec![false; x.ndim()];
    for &axis in permutation {
        let axis = resolve_axis(OP, axis as isize, x.ndim())?;
        if std::mem::replace(&mut seen[axis], true) {
            let legal = "an axis not named before";
            return Err(GoldenError::Parameter { op: OP, name: "permutation", value: axis as i64, legal });
        }
    }
    Ok(x.permuted_axes(IxDyn(permutation)).as_standard_layout().into_owned())
}

/// Gives the elements, in row order, another shape. 0 keeps the extent of that axis, one -1 takes what is left.
///
/// # Shapes
/// The product of `shape` is the number of elements.
/// # Errors
/// [`GoldenError::Parameter`] for an entry below -1, a second -1 or a 0 beyond the rank; [`GoldenError::Extent`] if the
/// number of elements differs.
/// # Source
/// The ONNX operator Reshape with `allowzero = 0`.
pub fn reshape<T: Clone>(x: ArrayViewD<T>, shape: &[i64]) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "Reshape";
    let illegal = |value, legal| GoldenError::Parameter { op: OP, name: "shape", value, legal };
    let mut open = None;
    let mut sizes = Vec::with_capacity(shape.len());
    for (i, &size) in shape.iter().enumerate() {
        sizes.push(match size {
            0 => *x.shape().get(i).ok_or(illegal(0, "an axis of the input"))?,
            -1 if open.replace(i).is_some() => return Err(illegal(-1, "the only open extent")),
            -1 => 1,
            n => usize::try_from(n).map_err(|_| illegal(n, "at least -1"))?,
        });
    }
    let known = checked_len(OP, &sizes)?;
    if let Some(open) = open {
        sizes[open] = x.len().checked_div(known).unwrap_or(0);
    }
    expect_extent(OP, "elements", checked_len(OP, &sizes)?, x.len())?;
    let elements = x.iter().cloned().collect();
    Ok(Array::from_shape_vec(IxDyn(&sizes), elements).expect("the element count was checked"))
}

/// Repeats `x` to the shape that it and `shape` broadcast to.
///
/// # Errors
/// [`GoldenError::Broadcast`].
/// # Source
/// The ONNX operator Expand.
pub fn expand<T: Clone>(x: ArrayViewD<T>, shape: &[usize]) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "Expand";
    let shape = broadcast::broadcast_shape(OP, x.shape(), shape)?;
    Ok(broadcast::expand(OP, &x, &shape)?.to_owned())
}

/// Joins tensors along an axis.
///
/// # Shapes
/// `inputs`: at least one, equal but for the extent of `axis`.
/// # Errors
/// [`GoldenError::Empty`] without inputs, [`GoldenError::Axis`], [`GoldenError::Shape`].
/// # Source
/// The ONNX operator Concat.
pub fn concat<T: Clone>(inputs: &[ArrayViewD<T>], axis: isize) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "Concat";
    let first = inputs.first().ok_or(GoldenError::Empty { op: OP, tensor: "inputs" })?;
    let axis = resolve_axis(OP, axis, first.ndim())?;
    for input in inputs {
        let mut expected = first.shape().to_vec();
        expected[axis] = input.shape().get(axis).copied().unwrap_or(0);
        if input.shape() != expected {
            return Err(GoldenError::Shape { op: OP, found: input.shape().to_vec(), expected });
        }
    }
    ndarray::concatenate(Axis(axis), inputs).map_err(|_| GoldenError::TooLarge { op: OP })
}

/// Cuts a tensor along an axis into parts of the given extents.
///
/// # Shapes
/// `sizes` adds up to the extent of `axis`.
/// # Errors
/// [`GoldenError::Axis`], [`GoldenError::Extent`].
/// # Source
/// The ONNX operator Split.
pub fn split<T: Clone>(x: ArrayViewD<T>, axis: isize, sizes: &[usize]) -> Result<Vec<ArrayD<T>>, GoldenError> {
    const OP: &str = "Split";
    let axis = resolve_axis(OP, axis, x.ndim())?;
    let total = sizes.iter().try_fold(0_usize, |sum, &n| sum.checked_add(n)).ok_or(GoldenError::TooLarge { op: OP })?;
    expect_extent(OP, "sum of sizes", total, x.shape()[axis])?;
    let mut start = 0;
    let parts = sizes.iter().map(|&n| {
        start += n;
        x.slice_axis(Axis(axis), Slice::from(start - n..start)).to_owned()
    });
    Ok(parts.collect())
}

/// One axis of a [`slice()`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceAxis {
    /// The axis; negative counts from the back.
    pub axis: isize,
    /// First index; negative counts from the end; clamped.
    pub start: i64,
    /// End, exclusive; negative counts from the end; clamped.
    pub end: i64,
    /// Distance of the elements taken; negative walks backwards.
    pub step: i64,
}

/// Takes every `step`-th element of a range of each named axis.
///
/// # Shapes
/// The extent of a named axis becomes the number of elements taken.
/// # Errors
/// [`GoldenError::Axis`]; [`GoldenError::Parameter`] for a step of 0.
/// # Source
/// The ONNX operator Slice.
pub fn slice<T: Clone>(x: ArrayViewD<T>, axes: &[SliceAxis]) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "Slice";
    let mut y = x.to_owned();
    for cut in axes {
        let axis = resolve_axis(OP, cut.axis, y.ndim())?;
        if cut.step == 0 {
            return Err(GoldenError::Parameter { op: OP, name: "step", value: 0, legal: "other than 0" });
        }
        y = y.select(Axis(axis), &cut.indices(y.shape()[axis]));
    }
    Ok(y)
}

impl SliceAxis {
    /// Number of elements taken from an axis of `extent` elements; 0 for a step of 0.
    pub fn count(&self, extent: usize) -> usize {
        let (start, end) = self.range(extent);
        let distance = if self.step > 0 { end.saturating_sub(start) } else { start.saturating_sub(end) };
        if self.step == 0 || distance <= 0 || start >= extent as i64 {
            return 0;
        }
        (distance as u64).div_ceil(self.step.unsigned_abs()) as usize
    }

    /// First index and end, clamped to an axis of `extent` elements.
    fn range(&self, extent: usize) -> (i64, i64) {
        let n = extent as i64;
        let from_end = |i: i64| if i < 0 { i.saturating_add(n) } else { i };
        let (low, high) = if self.step > 0 { (0, n) } else { (-1, n - 1) };
        (from_end(self.start).clamp(low.max(0), high.max(0)), from_end(self.end).clamp(low, high))
    }

    /// Indices taken from an axis of `extent` elements.
    fn indices(&self, extent: usize) -> Vec<usize> {
        let n = extent as i64;
        let (start, end) = self.range(extent);
        let mut indices = Vec::new();
        let mut i = start;
        while if self.step > 0 { i < end } else { i > end && i < n } {
            indices.push(i as usize);
            i = i.saturating_add(self.step);
        }
        indices
    }
}

/// What stands in the padding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PadMode<T> {
    /// One value; for quantised tensors that of 0 is the zero point.
    Constant(T),
    /// The tensor mirrored at its edge elements, which are not repeated.
    Reflect,
    /// The edge element.
    Edge,
    /// The tensor, repeated.
    Wrap,
}

/// Adds elements before and after each axis; negative counts take away.
///
/// # Shapes
/// `before`, `after`: one entry per axis, in elements.
/// # Errors
/// [`GoldenError::Extent`]; [`GoldenError::Parameter`] for an axis that would become negative, or a reflection further than
/// the tensor is wide; [`GoldenError::Empty`] for padding an empty axis with its own elements; [`GoldenError::TooLarge`].
/// # Source
/// The ONNX operator Pad.
pub fn pad<T: Copy>(
    x: ArrayViewD<T>,
    before: &[i64],
    after: &[i64],
    mode: PadMode<T>,
) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "Pad";
    expect_extent(OP, "before", before.len(), x.ndim())?;
    expect_extent(OP, "after", after.len(), x.ndim())?;
    let mut sizes = Vec::with_capacity(x.ndim());
    for (axis, &n) in x.shape().iter().enumerate() {
        check_reflection(n, before[axis].max(after[axis]), mode)?;
        let size = before[axis].checked_add(after[axis]).and_then(|p| p.checked_add(n as i64));
        let size = size.ok_or(GoldenError::TooLarge { op: OP })?;
        let legal = "at least minus the extent";
        let negative = GoldenError::Parameter { op: OP, name: "before + after", value: size - n as i64, legal };
        sizes.push(usize::try_from(size).map_err(|_| negative)?);
    }
    checked_len(OP, &sizes)?;
    Ok(ArrayD::from_shape_fn(IxDyn(&sizes), |at| {
        let mut index = at.clone();
        for axis in 0..x.ndim() {
            let inside = at[axis] as i64 - before[axis];
            match (source(inside, x.shape()[axis] as i64, mode), mode) {
                (Some(i), _) => index[axis] = i as usize,
                (None, PadMode::Constant(value)) => return value,
                (None, _) => unreachable!("only a constant has no source"),
            }
        }
        x[&index]
    }))
}

/// The element of an axis of `n` that index `i` of the padded one repeats.
fn source<T>(i: i64, n: i64, mode: PadMode<T>) -> Option<i64> {
    match mode {
        PadMode::Constant(_) => (0..n).contains(&i).then_some(i),
        PadMode::Edge => Some(i.clamp(0, n - 1)),
        PadMode::Wrap => Some(i.rem_euclid(n)),
        PadMode::Reflect if n == 1 => Some(0),
        PadMode::Reflect => Some((n - 1) - ((n - 1) - i.rem_euclid(2 * (n - 1))).abs()),
    }
}

fn check_reflection<T>(n: usize, most: i64, mode: PadMode<T>) -> Result<(), GoldenError> {
    const OP: &str = "Pad";
    match mode {
        PadMode::Constant(_) => Ok(()),
        _ if n == 0 && most > 0 => Err(GoldenError::Empty { op: OP, tensor: "axis" }),
        PadMode::Reflect if most > 0 && most >= n as i64 => {
            let legal = "below the extent that is reflected";
            Err(GoldenError::Parameter { op: OP, name: "padding", value: most, legal })
        }
        _ => Ok(()),
    }
}

/// Takes slices of an axis by index; negative indices count from the end.
///
/// # Shapes
/// `x: [..a, D, ..b]`, `indices`: any; returns `[..a, ..indices, ..b]`.
/// # Errors
/// [`GoldenError::Axis`]; [`GoldenError::Parameter`] for an index out of range; [`GoldenError::TooLarge`].
/// # Source
/// The ONNX operator Gather.
pub fn gather<T: Clone>(x: ArrayViewD<T>, indices: ArrayViewD<i64>, axis: isize) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "Gather";
    let axis = resolve_axis(OP, axis, x.ndim())?;
    let n = x.shape()[axis] as i64;
    let mut picks = Vec::with_capacity(indices.len());
    for &i in &indices {
        if !(-n..n).contains(&i) {
            let legal = "an index of the axis";
            return Err(GoldenError::Parameter { op: OP, name: "index", value: i, legal });
        }
        picks.push(i.rem_euclid(n) as usize);
    }
    let shape = [&x.shape()[..axis], indices.shape(), &x.shape()[axis + 1..]].concat();
    checked_len(OP, &shape)?;
    let elements = x.select(Axis(axis), &picks).iter().cloned().collect();
    Ok(Array::from_shape_vec(IxDyn(&shape), elements).expect("one slice per index"))
}

/// Moves blocks of pixels into channels: channel `(by * block + bx) * C + c` of the result holds pixel `(by, bx)` of each
/// block.
///
/// # Shapes
/// `x: [N, C, H, W]`, `block` divides `H` and `W`; returns `[N, C * block^2, H / block, W / block]`.
/// # Errors
/// [`GoldenError::Rank`], [`GoldenError::Parameter`].
/// # Source
/// The ONNX operator SpaceToDepth.
pub fn space_to_depth<T: Clone>(x: ArrayViewD<T>, block: usize) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "SpaceToDepth";
    let [n, c, h, w] = extents(OP, &x)?;
    if block == 0 || !h.is_multiple_of(block) || !w.is_multiple_of(block) {
        let legal = "a divisor of height and width";
        return Err(GoldenError::Parameter { op: OP, name: "block", value: block as i64, legal });
    }
    let blocks = sized(OP, x, &[n, c, h / block, block, w / block, block])?;
    let moved = transpose(blocks.view(), &[0, 3, 5, 1, 2, 4])?;
    let deep = block.checked_mul(block).and_then(|s| s.checked_mul(c)).ok_or(GoldenError::TooLarge { op: OP })?;
    sized(OP, moved.view(), &[n, deep, h / block, w / block])
}

/// Order of the channels that [`depth_to_space`] spreads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepthOrder {
    /// Depth, column, row: channel `(by * block + bx) * C + c`; undoes [`space_to_depth`].
    Dcr,
    /// Column, row, depth: channel `c * block^2 + by * block + bx`; a pixel shuffle.
    Crd,
}

/// Moves channels into blocks of pixels.
///
/// # Shapes
/// `x: [N, C, H, W]`, `block^2` divides `C`; returns `[N, C / block^2, H * block, W * block]`.
/// # Errors
/// [`GoldenError::Rank`], [`GoldenError::Parameter`].
/// # Source
/// The ONNX operator DepthToSpace.
pub fn depth_to_space<T: Clone>(x: ArrayViewD<T>, block: usize, order: DepthOrder) -> Result<ArrayD<T>, GoldenError> {
    const OP: &str = "DepthToSpace";
    let [n, c, h, w] = extents(OP, &x)?;
    let square = block.checked_mul(block).filter(|&s| s > 0 && c.is_multiple_of(s));
    let Some(square) = square else {
        let legal = "the root of a divisor of the channels";
        return Err(GoldenError::Parameter { op: OP, name: "block", value: block as i64, legal });
    };
    let c = c / square;
    let (split, permutation) = match order {
        DepthOrder::Dcr => ([n, block, block, c, h, w], [0, 3, 4, 1, 5, 2]),
        DepthOrder::Crd => ([n, c, block, block, h, w], [0, 1, 4, 2, 5, 3]),
    };
    let moved = transpose(sized(OP, x, &split)?.view(), &permutation)?;
    let (h, w) = (h.checked_mul(block), w.checked_mul(block));
    let (Some(h), Some(w)) = (h, w) else { return Err(GoldenError::TooLarge { op: OP }) };
    sized(OP, moved.view(), &[n, c, h, w])
}

/// The four extents of an image tensor.
fn extents<T>(op: &'static str, x: &ArrayViewD<T>) -> Result<[usize; 4], GoldenError> {
    let wrong = |_| GoldenError::Rank { op, tensor: "x", found: x.ndim(), expected: "4" };
    x.shape().try_into().map_err(wrong)
}

/// The elements in row order under another shape of the same size.
fn sized<T: Clone>(op: &'static str, x: ArrayViewD<T>, shape: &[usize]) -> Result<ArrayD<T>, GoldenError> {
    checked_len(op, shape)?;
    let elements = x.iter().cloned().collect();
    Ok(Array::from_shape_vec(IxDyn(shape), elements).expect("the extents were split, not changed"))
}

#[cfg(test)]
mod tests {
    use ndarray::{arr1, arr2};

    use super::*;

    fn counted(shape: &[usize]) -> ArrayD<i32> {
        let n = shape.iter().product::<usize>() as i32;
        Array::from_shape_vec(IxDyn(shape), (0..n).collect()).unwrap()
    }

    #[test]
    fn depth_to_space_undoes_space_to_depth() {
        let x = counted(&[2, 3, 4, 6]);
        let packed = space_to_depth(x.view(), 2).unwrap();
        assert_eq!(packed.shape(), [2, 12, 2, 3]);
        assert_eq!(depth_to_space(packed.view(), 2, DepthOrder::Dcr).as_ref(), Ok(&x));
        assert_ne!(depth_to_space(packed.view(), 2, DepthOrder::Crd).as_ref(), Ok(&x));
        assert!(space_to_depth(x.view(), 4).is_err());
        assert!(depth_to_space(x.view(), 0, DepthOrder::Dcr).is_err());
    }

    #[test]
    fn split_undoes_concat() {
        let (a, b) = (counted(&[2, 3]), counted(&[2, 1]));
        let joined = concat(&[a.view(), b.view()], -1).unwrap();
        assert_eq!(split(joined.view(), 1, &[3, 1]), Ok(vec![a.clone(), b.clone()]));
        assert!(concat(&[a.view(), b.view()], 0).is_err());
        assert!(split(joined.view(), 1, &[3, 2]).is_err());
    }

    #[test]
    fn slices_clamp_and_walk_backwards() {
        let x = counted(&[5]);
        let of = |start, end, step| {
            slice(x.view(), &[SliceAxis { axis: 0, start, end, step }]).unwrap().into_raw_vec_and_offset().0
        };
        assert_eq!(of(1, 4, 2), [1, 3]);
        assert_eq!(of(-2, i64::MAX, 1), [3, 4]);
        assert_eq!(of(-1, i64::MIN, -2), [4, 2, 0]);
        assert_eq!(of(9, 0, -1), [4, 3, 2, 1]);
        assert_eq!(of(4, 2, 1), []);
        assert!(slice(x.view(), &[SliceAxis { axis: 0, start: 0, end: 1, step: 0 }]).is_err());
    }

    #[test]
    fn counts_are_those_of_the_indices() {
        for extent in 0..5 {
            for (start, end, step) in bounds() {
                let cut = SliceAxis { axis: 0, start, end, step };
                assert_eq!(cut.count(extent), cut.indices(extent).len(), "{cut:?} of {extent}");
            }
        }
    }

    /// Every start and end around a short axis, and the ends of the type, with steps of both signs.
    fn bounds() -> Vec<(i64, i64, i64)> {
        let places = [i64::MIN, -6, -5, -3, -1, 0, 1, 2, 4, 5, 6, i64::MAX];
        let steps = [i64::MIN, -3, -1, 1, 2, i64::MAX];
        let mut all = Vec::new();
        for start in places {
            for end in places {
                all.extend(steps.map(|step| (start, end, step)));
            }
        }
        all
    }

    #[test]
    fn every_kind_of_padding() {
        let x = arr1(&[1, 2, 3]).into_dyn();
        let of = |mode| pad(x.view(), &[2], &[1], mode).unwrap().into_raw_vec_and_offset().0;
        assert_eq!(of(PadMode::Constant(9)), [9, 9, 1, 2, 3, 9]);
        assert_eq!(of(PadMode::Reflect), [3, 2, 1, 2, 3, 2]);
        assert_eq!(of(PadMode::Edge), [1, 1, 1, 2, 3, 3]);
        assert_eq!(of(PadMode::Wrap), [2, 3, 1, 2, 3, 1]);
        assert_eq!(pad(x.view(), &[-1], &[0], PadMode::Edge).unwrap(), arr1(&[2, 3]).into_dyn());
        assert!(pad(x.view(), &[3], &[0], PadMode::Reflect).is_err());
        assert!(pad(x.view(), &[-4], &[0], PadMode::Constant(0)).is_err());
    }

    #[test]
    fn gather_replaces_an_axis_by_the_indices() {
        let x = counted(&[2, 3]);
        let y = gather(x.view(), arr2(&[[0, -1], [1, 1]]).into_dyn().view(), 1).unwrap();
        assert_eq!(y.shape(), [2, 2, 2]);
        assert_eq!(y.iter().copied().collect::<Vec<_>>(), [0, 2, 1, 1, 3, 5, 4, 4]);
        assert!(gather(x.view(), arr1(&[3]).into_dyn().view(), 1).is_err());
    }

    #[test]
    fn reshape_rules() {
        let x = counted(&[2, 3, 4]);
        let shape = |s: &[i64]| reshape(x.view(), s).map(|y| y.shape().to_vec());
        assert_eq!(shape(&[0, -1]), Ok(vec![2, 12]));
        assert_eq!(shape(&[4, 6]), Ok(vec![4, 6]));
        for illegal in [&[-1, -1][..], &[5, -1], &[7], &[-2, 12], &[2, 3, 4, 0]] {
            assert!(shape(illegal).is_err(), "{illegal:?}");
        }
        assert_eq!(transpose(x.view(), &[2, 0, 1]).unwrap()[[3, 1, 2]], 23);
        assert!(transpose(x.view(), &[0, 0, 1]).is_err());
        assert_eq!(expand(counted(&[1, 3]).view(), &[2, 1]).unwrap().shape(), [2, 3]);
    }
}
