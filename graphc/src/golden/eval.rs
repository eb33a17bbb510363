//! The value of one node. Dispatches on operators and element types; the arithmetic is `ccl-golden`'s.

use ccl_golden::cast::cast;
use ccl_golden::moves::{self, PadMode};
use ccl_golden::reduce::{Reduce, reduce};
use ccl_golden::relation::{relation, select};
use ccl_golden::resize::{resize_linear, resize_linear_f32, resize_nearest};
use ccl_golden::unary::Unary;
use ccl_golden::{GoldenError, argmax, elementwise};
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};

use crate::golden::{float, quantized};
use crate::graph::op::{Binary, Interpolation, PadKind};
use crate::graph::{DType, Op, Tensor, TensorView, each_tensor};
use crate::infer::InferError;

/// The inputs of a node, by place.
pub(super) struct Arguments<'a>(pub &'a [Option<&'a Tensor>]);

impl<'a> Arguments<'a> {
    pub fn at(&self, input: usize) -> Result<&'a Tensor, InferError> {
        self.0.get(input).copied().flatten().ok_or(InferError::Missing { input })
    }

    /// An input of a known element type.
    pub fn of<T: crate::graph::Element>(&self, input: usize) -> Result<ArrayViewD<'a, T>, InferError> {
        let tensor = self.at(input)?;
        tensor.view().ok_or(InferError::DType { input, found: tensor.dtype(), accepted: "those of the operator" })
    }

    /// An input that may be absent.
    pub fn optional<T: crate::graph::Element>(&self, input: usize) -> Result<Option<ArrayViewD<'a, T>>, InferError> {
        if self.0.get(input).copied().flatten().is_none() { Ok(None) } else { self.of(input).map(Some) }
    }
}

/// Applies an expression to the array of a tensor of numbers.
macro_rules! each_number {
    ($input:expr, $tensor:expr, $array:ident => $body:expr) => {
        match $tensor {
            Tensor::F32($array) => $body,
            Tensor::I8($array) => $body,
            Tensor::U8($array) => $body,
            Tensor::I32($array) => $body,
            Tensor::I64($array) => $body,
            Tensor::Bool(_) => {
                return Err(InferError::DType { input: $input, found: DType::Bool, accepted: "numbers" });
            }
        }
    };
}

/// Applies an expression to an array of a type that has ONNX's arithmetic.
macro_rules! each_arithmetic {
    ($tensor:expr, $array:ident => $body:expr) => {
        match $tensor {
            Tensor::F32($array) => $body,
            Tensor::I32($array) => $body,
            Tensor::I64($array) => $body,
            other => {
                return Err(InferError::DType { input: 0, found: other.dtype(), accepted: "f32, i32 and i64" });
            }
        }
    };
}

/// The outputs of `op` on these inputs.
///
/// # Errors
/// [`InferError`] for inputs that [`crate::infer::infer`] refuses, and for values without a result: an index out of range, an
/// integer divided by 0.
pub fn eval(op: &Op, inputs: &[Option<&Tensor>]) -> Result<Vec<Tensor>, InferError> {
    let inputs = Arguments(inputs);
    Ok(vec![match op {
        Op::DynamicQuantizeLinear => return quantized::dynamic(&inputs),
        Op::Split { axis, sizes } => {
            return each_tensor!(inputs.at(0)?, x => {
                Ok(moves::split(x.view(), *axis as isize, sizes)?.into_iter().map(Tensor::from).collect())
            });
        }
        Op::Unary(function) => unary(*function, inputs.at(0)?)?,
        Op::Clip { low, high } => clip(inputs.at(0)?, *low, *high)?,
        Op::Binary(function) => binary(*function, &inputs)?,
        Op::Compare(kind) => each_tensor!(inputs.at(0)?, a => relation(a.view(), inputs.of(1)?, *kind)?).into(),
        Op::Not => inputs.of::<bool>(0)?.mapv(|v| !v).into(),
        Op::Where => each_tensor!(inputs.at(1)?, a => select(inputs.of(0)?, a.view(), inputs.of(2)?)?.into()),
        Op::Cast(dtype) => convert(inputs.at(0)?, *dtype),
        Op::Reduce { kind, axes, keep } => {
            each_number!(0, inputs.at(0)?, x => reduced(x.view(), axes, *keep, *kind)?.into())
        }
        Op::ArgMax { axis, keep, tie } => {
            let y = each_number!(0, inputs.at(0)?, x => argmax::argmax(x.view(), *axis as isize, *tie)?);
            if *keep { y.into() } else { y.index_axis_move(Axis(*axis), 0).into() }
        }
        Op::Resize { resize, interpolation } => match (interpolation, inputs.at(0)?) {
            (Interpolation::Linear, Tensor::F32(x)) => resize_linear_f32(x.view(), resize)?.into(),
            (Interpolation::Linear, Tensor::I8(x)) => resize_linear(x.view(), resize)?.into(),
            (Interpolation::Linear, Tensor::U8(x)) => resize_linear(x.view(), resize)?.into(),
            (Interpolation::Linear, other) => {
                return Err(InferError::DType { input: 0, found: other.dtype(), accepted: "f32, i8 and u8" });
            }
            (Interpolation::Nearest(nearest), x) => {
                each_tensor!(x, x => resize_nearest(x.view(), resize, *nearest)?.into())
            }
        },
        Op::Transpose { permutation } => {
            each_tensor!(inputs.at(0)?, x => moves::transpose(x.view(), permutation)?.into())
        }
        Op::Reshape { shape } => each_tensor!(inputs.at(0)?, x => reshape(x.view(), shape)?.into()),
        Op::Concat { axis } => each_tensor!(inputs.at(0)?, x => concat(x.view(), &inputs, *axis)?.into()),
        Op::Slice { cuts } => each_tensor!(inputs.at(0)?, x => moves::slice(x.view(), cuts)?.into()),
        Op::Pad { before, after, kind } => each_tensor!(inputs.at(0)?, x => {
            let value = inputs.optional(1)?.and_then(|v| v.iter().next().copied()).unwrap_or_default();
            let mode = match kind {
                PadKind::Constant => PadMode::Constant(value),
                PadKind::Reflect => PadMode::Reflect,
                PadKind::Edge => PadMode::Edge,
                PadKind::Wrap => PadMode::Wrap,
            };
            moves::pad(x.view(), before, after, mode)?.into()
        }),
        Op::Expand { shape } => each_tensor!(inputs.at(0)?, x => moves::expand(x.view(), shape)?.into()),
        Op::Gather { axis } => {
            let indices = match inputs.at(1)? {
                Tensor::I32(indices) => indices.mapv(i64::from),
                _ => inputs.of::<i64>(1)?.to_owned(),
            };
            each_tensor!(inputs.at(0)?, x => moves::gather(x.view(), indices.view(), *axis as isize)?.into())
        }
        Op::SpaceToDepth { block } => {
            each_tensor!(inputs.at(0)?, x => moves::space_to_depth(x.view(), *block)?.into())
        }
        Op::DepthToSpace { block, order } => {
            each_tensor!(inputs.at(0)?, x => moves::depth_to_space(x.view(), *block, *order)?.into())
        }
        Op::Identity => inputs.at(0)?.clone(),
        Op::MaxPool { pool, spatial } => each_number!(0, inputs.at(0)?, x => {
            let y = ccl_golden::pool::max_pool(as_image(x.view(), 0, *spatial)?.view(), pool)?;
            from_image(y, *spatial).into()
        }),
        Op::Conv(_)
        | Op::ConvTranspose { .. }
        | Op::MatMul
        | Op::Gemm { .. }
        | Op::Softmax { .. }
        | Op::LayerNormalization { .. }
        | Op::BatchNormalization { .. }
        | Op::AveragePool { .. }
        | Op::GlobalAveragePool => float::eval(op, &inputs)?,
        _ => quantized::eval(op, &inputs)?,
    }])
}

fn unary(function: Unary, x: &Tensor) -> Result<Tensor, InferError> {
    let refused = |found| InferError::DType { input: 0, found, accepted: "f32" };
    macro_rules! integer {
        ($x:expr) => {
            match function {
                Unary::Relu => $x.mapv(|v| v.max(0)).into(),
                Unary::Abs => $x.mapv(|v| v.wrapping_abs()).into(),
                Unary::Neg => $x.mapv(|v| v.wrapping_neg()).into(),
                _ => return Err(refused(x.dtype())),
            }
        };
    }
    Ok(match x {
        Tensor::F32(x) => ccl_golden::unary::unary_f32(x.view(), function).into(),
        Tensor::I8(x) => integer!(x),
        Tensor::I32(x) => integer!(x),
        Tensor::I64(x) => integer!(x),
        other => return Err(refused(other.dtype())),
    })
}

fn clip(x: &Tensor, low: Option<f64>, high: Option<f64>) -> Result<Tensor, InferError> {
    macro_rules! of {
        ($x:expr, $T:ty) => {
            elementwise::clip($x.view(), low.map(|v| v as $T), high.map(|v| v as $T)).into()
        };
    }
    Ok(match x {
        Tensor::F32(x) => of!(x, f32),
        Tensor::I8(x) => of!(x, i8),
        Tensor::U8(x) => of!(x, u8),
        Tensor::I32(x) => of!(x, i32),
        Tensor::I64(x) => of!(x, i64),
        Tensor::Bool(_) => return Err(InferError::DType { input: 0, found: DType::Bool, accepted: "numbers" }),
    })
}

fn binary(function: Binary, inputs: &Arguments) -> Result<Tensor, InferError> {
    let first = inputs.at(0)?;
    macro_rules! arithmetic { ($f:ident) => { each_arithmetic!(first, a => elementwise::$f(a.view(), inputs.of(1)?)?.into()) } }
    Ok(match function {
        Binary::Add => arithmetic!(add),
        Binary::Sub => arithmetic!(sub),
        Binary::Mul => arithmetic!(mul),
        Binary::Div => arithmetic!(div),
        Binary::Pow => arithmetic!(pow),
        Binary::Min => each_number!(0, first, a => {
            (1..inputs.0.len()).try_fold(a.clone(), |y, i| Ok::<_, InferError>(elementwise::min(y.view(), inputs.of(i)?)?))?.into()
        }),
        Binary::Max => each_number!(0, first, a => {
            (1..inputs.0.len()).try_fold(a.clone(), |y, i| Ok::<_, InferError>(elementwise::max(y.view(), inputs.of(i)?)?))?.into()
        }),
    })
}

fn convert(x: &Tensor, dtype: DType) -> Tensor {
    each_tensor!(x, x => match dtype {
        DType::F32 => cast::<_, f32>(x.view()).into(),
        DType::I8 => cast::<_, i8>(x.view()).into(),
        DType::U8 => cast::<_, u8>(x.view()).into(),
        DType::I32 => cast::<_, i32>(x.view()).into(),
        DType::I64 => cast::<_, i64>(x.view()).into(),
        DType::Bool => cast::<_, bool>(x.view()).into(),
    })
}

fn reduced<T: Reduce>(
    x: ArrayViewD<T>,
    axes: &[usize],
    keep: bool,
    kind: ccl_golden::reduce::Reduction,
) -> Result<ArrayD<T>, InferError> {
    let list: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
    let mut y = reduce(x, &list, kind)?;
    if !keep {
        for &axis in axes.iter().rev() {
            y = y.index_axis_move(Axis(axis), 0);
        }
    }
    Ok(y)
}

/// The elements in row order under another shape.
pub(super) fn reshape<T: Clone>(x: ArrayViewD<T>, shape: &[usize]) -> Result<ArrayD<T>, InferError> {
    let elements = x.iter().cloned().collect();
    ArrayD::from_shape_vec(IxDyn(shape), elements)
        .map_err(|_| GoldenError::Shape { op: "Reshape", found: shape.to_vec(), expected: x.shape().to_vec() }.into())
}

fn concat<T: crate::graph::Element>(
    first: ArrayViewD<T>,
    inputs: &Arguments,
    axis: usize,
) -> Result<ArrayD<T>, InferError> {
    let mut views = vec![first];
    for i in 1..inputs.0.len() {
        views.push(inputs.of(i)?);
    }
    Ok(moves::concat(&views, axis as isize)?)
}

/// An image tensor with one spatial dimension as one with two, the height being 1.
pub(super) fn as_image<T: Clone>(
    x: ArrayViewD<T>,
    input: usize,
    spatial: usize,
) -> Result<ndarray::Array4<T>, InferError> {
    let wrong = InferError::Rank { input, found: x.ndim(), accepted: "2 more than the spatial dimensions" };
    let x = if spatial == 1 && x.ndim() == 3 { x.insert_axis(Axis(2)) } else { x };
    x.into_dimensionality().map(|x| x.to_owned()).map_err(|_| wrong)
}

/// The inverse of [`as_image`].
pub(super) fn from_image<T>(x: ndarray::Array4<T>, spatial: usize) -> ArrayD<T> {
    if spatial == 1 { x.index_axis_move(Axis(2), 0).into_dyn() } else { x.into_dyn() }
}
