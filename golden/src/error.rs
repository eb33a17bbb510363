//! What can be wrong with a call: one enum for the crate, with the numbers as fields.
//!
//! Every function checks shapes and parameters before it computes, so an error means that nothing was written.

/// Elements that a result may have; a larger one is refused before memory is asked for.
pub const MAX_ELEMENTS: usize = 1 << 28;

/// A call that has no defined result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GoldenError {
    /// A quantisation scale is not a positive finite number.
    #[error("scale {scale} is not a positive finite number")]
    ScaleInvalid {
        /// The scale as given.
        scale: f32,
    },
    /// A scale has no integer form.
    #[error("scale {scale} has no mantissa and shift: it must lie above 0 and below 2^8")]
    ScaleRange {
        /// The scale as given.
        scale: f32,
    },
    /// A tensor has the wrong number of dimensions.
    #[error("{op}: `{tensor}` has rank {found}, expected {expected}")]
    Rank {
        /// The operator.
        op: &'static str,
        /// The tensor, as the operator's signature names it.
        tensor: &'static str,
        /// The rank that was given.
        found: usize,
        /// What would be accepted.
        expected: &'static str,
    },
    /// A dimension of a tensor does not fit the others.
    #[error("{op}: `{what}` is {found}, expected {expected}")]
    Extent {
        /// The operator.
        op: &'static str,
        /// The dimension or list.
        what: &'static str,
        /// Its size as given, in elements.
        found: usize,
        /// The size that the other arguments ask for.
        expected: usize,
    },
    /// Two shapes cannot be broadcast together.
    #[error("{op}: shapes {a:?} and {b:?} do not broadcast")]
    Broadcast {
        /// The operator.
        op: &'static str,
        /// The first shape.
        a: Vec<usize>,
        /// The second shape.
        b: Vec<usize>,
    },
    /// Two shapes that must be the same differ.
    #[error("{op}: shape {found:?} differs from {expected:?}")]
    Shape {
        /// The operator.
        op: &'static str,
        /// The shape that was given.
        found: Vec<usize>,
        /// The shape asked for.
        expected: Vec<usize>,
    },
    /// An axis lies outside the tensor.
    #[error("{op}: axis {axis} is outside -{rank}..{rank}")]
    Axis {
        /// The operator.
        op: &'static str,
        /// The axis as given.
        axis: isize,
        /// The rank of the tensor.
        rank: usize,
    },
    /// A parameter is outside its legal values.
    #[error("{op}: `{name}` = {value} is not {legal}")]
    Parameter {
        /// The operator.
        op: &'static str,
        /// The parameter.
        name: &'static str,
        /// Its value as given.
        value: i64,
        /// What would be accepted.
        legal: &'static str,
    },
    /// A float parameter is outside its legal values.
    #[error("{op}: `{name}` = {value} is not {legal}")]
    FloatParameter {
        /// The operator.
        op: &'static str,
        /// The parameter.
        name: &'static str,
        /// Its value as given.
        value: f64,
        /// What would be accepted.
        legal: &'static str,
    },
    /// The operator has no value for an empty tensor or range.
    #[error("{op}: `{tensor}` is empty")]
    Empty {
        /// The operator.
        op: &'static str,
        /// The tensor or range without elements.
        tensor: &'static str,
    },
    /// The kernel does not fit into the padded input.
    #[error("{op}: a window of {window} does not fit into {padded} padded elements")]
    Window {
        /// The operator.
        op: &'static str,
        /// The dilated kernel's extent along an axis, in elements.
        window: usize,
        /// The padded input's extent along the same axis, in elements.
        padded: usize,
    },
    /// The result would be too large.
    #[error("{op}: the result would have more than {MAX_ELEMENTS} elements")]
    TooLarge {
        /// The operator.
        op: &'static str,
    },
}

/// Elements of `shape`, or an error where the product exceeds [`MAX_ELEMENTS`]; an extent of 0 counts as 1 in that, since
/// ndarray asks the same of its shapes.
pub(crate) fn checked_len(op: &'static str, shape: &[usize]) -> Result<usize, GoldenError> {
    let room = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d.max(1))).filter(|&n| n <= MAX_ELEMENTS);
    room.map(|n| if shape.contains(&0) { 0 } else { n }).ok_or(GoldenError::TooLarge { op })
}

/// `axis` counted from the front, where negative values count from the back as in ONNX.
pub(crate) fn resolve_axis(op: &'static str, axis: isize, rank: usize) -> Result<usize, GoldenError> {
    let resolved = if axis < 0 { axis + rank as isize } else { axis };
    match usize::try_from(resolved) {
        Ok(a) if a < rank => Ok(a),
        _ => Err(GoldenError::Axis { op, axis, rank }),
    }
}

/// `Ok` where a size is as the other arguments ask.
pub(crate) fn expect_extent(
    op: &'static str,
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), GoldenError> {
    if found == expected { Ok(()) } else { Err(GoldenError::Extent { op, what, found, expected }) }
}
