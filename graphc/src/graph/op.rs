//! Typed operators. What ONNX writes as attributes or as constant inputs is resolved here into plain parameters: the axes of
//! a reduction, the target of a reshape, scales and zero points. Only data stays an input of the node.

use std::sync::Arc;

use ccl_golden::argmax::Tie;
use ccl_golden::conv::Window;
use ccl_golden::matmul::Gemm;
use ccl_golden::moves::{DepthOrder, SliceAxis};
use ccl_golden::pool::Pool;
use ccl_golden::reduce::Reduction;
use ccl_golden::relation::Relation;
use ccl_golden::resize::{Nearest, Resize};
use ccl_golden::unary::Unary;

use crate::graph::dtype::DType;

/// Scale and zero point of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QParam {
    /// Real units per step; positive and finite.
    pub scale: f32,
    /// The stored value that stands for 0.
    pub zero: i32,
    /// `I8` or `U8`.
    pub dtype: DType,
}

/// Scales and zero points of a weight: one for all, or one per slice of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct QParams {
    /// Real units per step.
    pub scales: Vec<f32>,
    /// As many as scales.
    pub zeros: Vec<i32>,
    /// `I8`, `U8`, or `I32` for biases and accumulators.
    pub dtype: DType,
}

impl QParams {
    /// The parameters where there is one pair for all.
    pub fn single(&self) -> Option<QParam> {
        match (&self.scales[..], &self.zeros[..]) {
            (&[scale], &[zero]) => Some(QParam { scale, zero, dtype: self.dtype }),
            _ => None,
        }
    }
}

/// How a convolution walks; windows of one dimension have a height of 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conv {
    /// Strides, dilations and pads.
    pub window: Window,
    /// Groups of channels.
    pub groups: usize,
    /// Spatial dimensions: 1 or 2.
    pub spatial: usize,
}

/// Two-operand arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient.
    Div,
    /// Power.
    Pow,
    /// Smaller of any number of operands.
    Min,
    /// Larger of any number of operands.
    Max,
}

/// What stands in the padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PadKind {
    /// A value: 0, or the optional second input.
    Constant,
    /// The tensor, mirrored.
    Reflect,
    /// The edge element.
    Edge,
    /// The tensor, repeated.
    Wrap,
}

/// How a resize picks or mixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// Four taps of the last two axes.
    Linear,
    /// The nearest element.
    Nearest(Nearest),
}

/// What a node computes. The comment of each variant lists its inputs; `?` marks one that may be absent.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// x, w, bias?: float convolution.
    Conv(Conv),
    /// x, w, x zero?, w zero?: to int32.
    ConvInteger(Conv),
    /// x, w, bias?: quantised.
    QLinearConv {
        /// The walk.
        conv: Conv,
        /// Parameters of x.
        x: QParam,
        /// Parameters of w, per output channel.
        w: QParams,
        /// Parameters of the result.
        y: QParam,
    },
    /// x, w, bias?: transposed float convolution.
    ConvTranspose {
        /// The walk.
        conv: Conv,
        /// Rows and columns added at the end.
        output_padding: [usize; 2],
    },
    /// a, b: float product.
    MatMul,
    /// a, b, a zero?, b zero?: to int32.
    MatMulInteger,
    /// a, b: quantised.
    QLinearMatMul {
        /// Parameters of a.
        a: QParam,
        /// Parameters of b, per column.
        b: QParams,
        /// Parameters of the result.
        y: QParam,
    },
    /// a, b, c?: `alpha * a * b + beta * c`.
    Gemm {
        /// Factor and transpositions.
        gemm: Gemm,
        /// Factor of c.
        beta: f32,
    },
    /// a, b, c?: quantised, c of int32.
    QGemm {
        /// Factor and transpositions.
        gemm: Gemm,
        /// Parameters of a.
        a: QParam,
        /// Parameters of b, per column.
        b: QParams,
        /// Parameters of the result.
        y: QParam,
    },
    /// x: float to 8 bits.
    QuantizeLinear {
        /// Parameters, per slice of `axis`.
        q: QParams,
        /// The axis.
        axis: usize,
    },
    /// x: 8 bits, or int32, to float.
    DequantizeLinear {
        /// Parameters, per slice of `axis`.
        q: QParams,
        /// The axis.
        axis: usize,
    },
    /// x: gives 8 bits, scale and zero point.
    DynamicQuantizeLinear,
    /// x: a float function.
    Unary(Unary),
    /// x: a function between dequantisation and quantisation.
    QLinearUnary {
        /// The function.
        function: Unary,
        /// Parameters of x.
        x: QParam,
        /// Parameters of the result.
        y: QParam,
    },
    /// x: an entry of a table for each 8-bit element, by its bits. Made by a rewrite.
    Table {
        /// Element type of x.
        from: DType,
        /// Bits of the results.
        table: Arc<[u8; 256]>,
        /// Element type of the results.
        to: DType,
    },
    /// x: limited to a range.
    Clip {
        /// Lower limit.
        low: Option<f64>,
        /// Upper limit.
        high: Option<f64>,
    },
    /// a, b (`Min`, `Max`: one or more).
    Binary(Binary),
    /// a, b: quantised sum or product.
    QLinearBinary {
        /// `Add`, `Sub`, `Mul` or `Div`.
        function: Binary,
        /// Parameters of a.
        a: QParam,
        /// Parameters of b.
        b: QParam,
        /// Parameters of the result.
        y: QParam,
    },
    /// a, b: to bool.
    Compare(Relation),
    /// x: bool, inverted.
    Not,
    /// condition, a, b.
    Where,
    /// x: to another element type.
    Cast(DType),
    /// x: reduced.
    Reduce {
        /// What is left of a range.
        kind: Reduction,
        /// The axes, ascending.
        axes: Vec<usize>,
        /// Whether they stay, with an extent of 1.
        keep: bool,
    },
    /// x: the index of the largest element, int64.
    ArgMax {
        /// The axis.
        axis: usize,
        /// Whether it stays, with an extent of 1.
        keep: bool,
        /// Which of several.
        tie: Tie,
    },
    /// x: softmax over the axes from `first` to `last`, which are one range.
    Softmax {
        /// First axis of the range.
        first: usize,
        /// Last axis of the range.
        last: usize,
    },
    /// x: quantised softmax over the axes from `first` to `last`.
    QLinearSoftmax {
        /// First axis of the range.
        first: usize,
        /// Last axis of the range.
        last: usize,
        /// Parameters of x.
        x: QParam,
        /// Parameters of the result.
        y: QParam,
    },
    /// x, gamma, beta?: normalised over `axis` and all that follow.
    LayerNormalization {
        /// First axis.
        axis: usize,
        /// Added to the variance.
        epsilon: f32,
    },
    /// x, gamma, beta, mean, variance.
    BatchNormalization {
        /// Added to the variance.
        epsilon: f32,
    },
    /// x: largest of each window.
    MaxPool {
        /// The walk.
        pool: Pool,
        /// Spatial dimensions: 1 or 2.
        spatial: usize,
    },
    /// x: average of each window.
    AveragePool {
        /// The walk.
        pool: Pool,
        /// Spatial dimensions: 1 or 2.
        spatial: usize,
    },
    /// x: quantised average of each window.
    QLinearAveragePool {
        /// The walk.
        pool: Pool,
        /// Spatial dimensions: 1 or 2.
        spatial: usize,
        /// Parameters of x.
        x: QParam,
        /// Parameters of the result.
        y: QParam,
    },
    /// x: average of each plane.
    GlobalAveragePool,
    /// x: quantised average of each plane.
    QLinearGlobalAveragePool {
        /// Parameters of x.
        x: QParam,
        /// Parameters of the result.
        y: QParam,
    },
    /// x: resized.
    Resize {
        /// Extents, scales and coordinates.
        resize: Resize,
        /// How elements are picked or mixed.
        interpolation: Interpolation,
    },
    /// x: axes permuted.
    Transpose {
        /// Axis of x that each axis of the result is.
        permutation: Vec<usize>,
    },
    /// x: another shape, same elements. Flatten, Squeeze and Unsqueeze too.
    Reshape {
        /// The shape.
        shape: Vec<usize>,
    },
    /// One or more: joined.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// One or more: joined and brought to common parameters.
    QLinearConcat {
        /// The axis.
        axis: usize,
        /// Parameters of each input.
        inputs: Vec<QParam>,
        /// Parameters of the result.
        y: QParam,
    },
    /// x: cut into parts.
    Split {
        /// The axis.
        axis: usize,
        /// Extents of the parts.
        sizes: Vec<usize>,
    },
    /// x: every so many elements of ranges.
    Slice {
        /// Named axes.
        cuts: Vec<SliceAxis>,
    },
    /// x, value?: padded; negative counts take away.
    Pad {
        /// Per axis, before.
        before: Vec<i64>,
        /// Per axis, after.
        after: Vec<i64>,
        /// What stands there.
        kind: PadKind,
    },
    /// x: repeated.
    Expand {
        /// The shape to broadcast with.
        shape: Vec<usize>,
    },
    /// x, indices: slices of an axis.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// x: blocks of pixels into channels.
    SpaceToDepth {
        /// Side of a block.
        block: usize,
    },
    /// x: channels into blocks of pixels.
    DepthToSpace {
        /// Side of a block.
        block: usize,
        /// Order of the channels.
        order: DepthOrder,
    },
    /// x: as it is.
    Identity,
}

impl Op {
    /// Whether the node computes with real numbers or integers, rather than moving elements.
    pub fn moves_only(&self) -> bool {
        matches!(
            self,
            Op::Transpose { .. }
                | Op::Reshape { .. }
                | Op::Concat { .. }
                | Op::Split { .. }
                | Op::Slice { .. }
                | Op::Pad { .. }
                | Op::Expand { .. }
                | Op::Gather { .. }
                | Op::SpaceToDepth { .. }
                | Op::DepthToSpace { .. }
                | Op::Identity
        )
    }
}
