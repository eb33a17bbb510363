//! Types of a node's outputs from the types of its inputs. Also checks that the inputs suit the operator, so that what passes
//! here has a golden value.

mod products;
mod shapes;

use ccl_golden::GoldenError;
use ccl_golden::broadcast::broadcast_shape;

use crate::graph::op::{Binary, QParam, QParams};
use crate::graph::{DType, MAX_ELEMENTS, MAX_RANK, Op, Type};

/// Why a node's inputs do not suit it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InferError {
    /// An input is missing.
    #[error("input {input} is missing")]
    Missing {
        /// Its place.
        input: usize,
    },
    /// There are too many inputs.
    #[error("there are {found} inputs, and it takes {most} at most")]
    Inputs {
        /// How many there are.
        found: usize,
        /// How many it takes.
        most: usize,
    },
    /// There are too many outputs.
    #[error("there are {found} outputs, and it gives {most}")]
    Outputs {
        /// How many there are.
        found: usize,
        /// How many it gives.
        most: usize,
    },
    /// An input has another element type.
    #[error("input {input} has elements of {found}, accepted are {accepted}")]
    DType {
        /// Its place.
        input: usize,
        /// Its element type.
        found: DType,
        /// What is accepted.
        accepted: &'static str,
    },
    /// An input has another rank.
    #[error("input {input} has rank {found}, accepted is {accepted}")]
    Rank {
        /// Its place.
        input: usize,
        /// Its rank.
        found: usize,
        /// What is accepted.
        accepted: &'static str,
    },
    /// Shapes or parameters do not fit.
    #[error(transparent)]
    Golden(#[from] GoldenError),
    /// A result is too large.
    #[error("a result of shape {shape:?} has more than {MAX_ELEMENTS} elements or {MAX_RANK} dimensions")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
}

/// The inputs of a node, by place.
pub(crate) struct Inputs<'a>(&'a [Option<Type>]);

impl<'a> Inputs<'a> {
    /// An input that must be there.
    fn at(&self, input: usize) -> Result<&'a Type, InferError> {
        self.optional(input).ok_or(InferError::Missing { input })
    }

    fn optional(&self, input: usize) -> Option<&'a Type> {
        self.0.get(input).and_then(Option::as_ref)
    }

    /// An input of one of some element types.
    fn of(&self, input: usize, accepted: &'static str, ok: impl Fn(DType) -> bool) -> Result<&'a Type, InferError> {
        let ty = self.at(input)?;
        if ok(ty.dtype) { Ok(ty) } else { Err(InferError::DType { input, found: ty.dtype, accepted }) }
    }

    fn float(&self, input: usize) -> Result<&'a Type, InferError> {
        self.of(input, "f32", |t| t == DType::F32)
    }

    /// The input, if it is there, must be of float32.
    fn optional_float(&self, input: usize) -> Result<Option<&'a Type>, InferError> {
        self.optional(input).map(|_| self.float(input)).transpose()
    }

    fn int8(&self, input: usize) -> Result<&'a Type, InferError> {
        self.of(input, "i8 and u8", DType::is_int8)
    }

    /// An input whose element type is that of its parameters.
    fn quantized(&self, input: usize, dtype: DType) -> Result<&'a Type, InferError> {
        self.of(input, if dtype == DType::I8 { "i8, as its zero point is" } else { "u8, as its zero point is" }, |t| {
            t == dtype
        })
    }

    fn int32(&self, input: usize) -> Result<Option<&'a Type>, InferError> {
        self.optional(input).map(|_| self.of(input, "i32", |t| t == DType::I32)).transpose()
    }

    fn number(&self, input: usize) -> Result<&'a Type, InferError> {
        self.of(input, "numbers", |t| t != DType::Bool)
    }

    /// An input of the element type of another.
    fn like(&self, input: usize, other: &Type) -> Result<&'a Type, InferError> {
        self.of(input, "those of the other input", |t| t == other.dtype)
    }
}

/// Most inputs that an operator takes; `None` for any number.
fn most_inputs(op: &Op) -> Option<usize> {
    Some(match op {
        Op::Binary(Binary::Min | Binary::Max) | Op::Concat { .. } | Op::QLinearConcat { .. } => return None,
        Op::BatchNormalization { .. } => 5,
        Op::ConvInteger(_) | Op::MatMulInteger => 4,
        Op::Conv(_)
        | Op::QLinearConv { .. }
        | Op::ConvTranspose { .. }
        | Op::Gemm { .. }
        | Op::QGemm { .. }
        | Op::LayerNormalization { .. }
        | Op::Where => 3,
        Op::MatMul
        | Op::QLinearMatMul { .. }
        | Op::Binary(_)
        | Op::QLinearBinary { .. }
        | Op::Compare(_)
        | Op::Pad { .. }
        | Op::Gather { .. } => 2,
        _ => 1,
    })
}

/// Types of the outputs of `op`.
///
/// # Errors
/// [`InferError`] naming the input that does not suit.
pub fn infer(op: &Op, inputs: &[Option<Type>]) -> Result<Vec<Type>, InferError> {
    if let Some(most) = most_inputs(op).filter(|&most| inputs.len() > most) {
        return Err(InferError::Inputs { found: inputs.len(), most });
    }
    let types = outputs(op, &Inputs(inputs))?;
    for ty in &types {
        let room = ty.shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d.max(1)));
        if room.is_none_or(|n| n > MAX_ELEMENTS) || ty.shape.len() > MAX_RANK {
            return Err(InferError::TooLarge { shape: ty.shape.clone() });
        }
    }
    Ok(types)
}

fn outputs(op: &Op, inputs: &Inputs) -> Result<Vec<Type>, InferError> {
    Ok(vec![match op {
        Op::Conv(conv) => products::conv(conv, inputs.float(0)?, inputs.float(1)?, inputs.optional_float(2)?, "Conv")?,
        Op::ConvInteger(conv) => products::conv_integer(conv, inputs)?,
        Op::QLinearConv { conv, x, w, y } => {
            let (tx, tw) = (inputs.quantized(0, x.dtype)?, inputs.quantized(1, w.dtype)?);
            let ty = products::conv(conv, tx, tw, inputs.int32(2)?, "QLinearConv")?;
            slices(w, tw.shape[0])?;
            Type { dtype: y.dtype, ..ty }
        }
        Op::ConvTranspose { conv, output_padding } => products::conv_transpose(conv, *output_padding, inputs)?,
        Op::MatMul => Type::new(DType::F32, &products::matmul(inputs.float(0)?, inputs.float(1)?)?),
        Op::MatMulInteger => products::matmul_integer(inputs)?,
        Op::QLinearMatMul { a, b, y } => {
            let (ta, tb) = (inputs.quantized(0, a.dtype)?, inputs.quantized(1, b.dtype)?);
            slices(b, if tb.shape.len() < 2 { 1 } else { tb.shape[tb.shape.len() - 1] })?;
            Type::new(y.dtype, &products::matmul(ta, tb)?)
        }
        Op::Gemm { gemm, .. } => {
            let shape = products::gemm(gemm, inputs.float(0)?, inputs.float(1)?, inputs.optional_float(2)?)?;
            Type::new(DType::F32, &shape)
        }
        Op::QGemm { gemm, a, b, y } => {
            let (ta, tb) = (inputs.quantized(0, a.dtype)?, inputs.quantized(1, b.dtype)?);
            let shape = products::gemm(gemm, ta, tb, inputs.int32(2)?)?;
            slices(b, shape[1])?;
            Type::new(y.dtype, &shape)
        }
        Op::QuantizeLinear { q, axis } => {
            let x = inputs.float(0)?;
            axis_slices(q, *axis, x)?;
            Type::new(q.dtype, &x.shape)
        }
        Op::DequantizeLinear { q, axis } => {
            let x = inputs.of(0, "those of its zero point", |t| t == q.dtype)?;
            axis_slices(q, *axis, x)?;
            Type::new(DType::F32, &x.shape)
        }
        Op::DynamicQuantizeLinear => {
            let x = inputs.float(0)?;
            return Ok(vec![Type::new(DType::U8, &x.shape), Type::new(DType::F32, &[]), Type::new(DType::U8, &[])]);
        }
        Op::Unary(function) => unary(*function, inputs)?,
        Op::QLinearUnary { x, y, .. } => Type::new(y.dtype, &inputs.quantized(0, x.dtype)?.shape),
        Op::Table { from, to, .. } => Type::new(*to, &inputs.quantized(0, *from)?.shape),
        Op::Clip { .. } => inputs.number(0)?.clone(),
        Op::Binary(function) => binary(*function, inputs)?,
        Op::QLinearBinary { a, b, y, .. } => {
            alike(&[*a, *b, *y])?;
            let (a, b) = (inputs.quantized(0, a.dtype)?, inputs.quantized(1, b.dtype)?);
            Type::new(y.dtype, &broadcast_shape("QLinear", &a.shape, &b.shape)?)
        }
        Op::Compare(relation) => {
            let a = inputs.at(0)?;
            Type::new(DType::Bool, &broadcast_shape(relation.name(), &a.shape, &inputs.like(1, a)?.shape)?)
        }
        Op::Not => inputs.of(0, "bool", |t| t == DType::Bool)?.clone(),
        Op::Where => {
            let condition = inputs.of(0, "bool", |t| t == DType::Bool)?;
            let a = inputs.at(1)?;
            let shape = broadcast_shape("Where", &a.shape, &inputs.like(2, a)?.shape)?;
            Type::new(a.dtype, &broadcast_shape("Where", &condition.shape, &shape)?)
        }
        Op::Cast(dtype) => Type::new(*dtype, &inputs.at(0)?.shape),
        Op::Identity => inputs.at(0)?.clone(),
        _ => return shapes::outputs(op, inputs),
    }])
}

fn unary(function: ccl_golden::unary::Unary, inputs: &Inputs) -> Result<Type, InferError> {
    use ccl_golden::unary::Unary;
    match function {
        // Exact on integers too; shape computations and 8-bit networks have them.
        Unary::Relu | Unary::Abs | Unary::Neg => {
            inputs.of(0, "f32, i8, i32 and i64", |t| !matches!(t, DType::Bool | DType::U8)).cloned()
        }
        _ => inputs.float(0).cloned(),
    }
}

fn binary(function: Binary, inputs: &Inputs) -> Result<Type, InferError> {
    let first = match function {
        Binary::Min | Binary::Max => inputs.number(0)?,
        _ => inputs.of(0, "f32, i32 and i64", |t| matches!(t, DType::F32 | DType::I32 | DType::I64))?,
    };
    let mut shape = first.shape.clone();
    let least = if matches!(function, Binary::Min | Binary::Max) { 1 } else { 2 };
    for input in 1..inputs.0.len().max(least) {
        shape = broadcast_shape("broadcast", &shape, &inputs.like(input, first)?.shape)?;
    }
    Ok(Type::new(first.dtype, &shape))
}

/// `Ok` if all parameters are of one element type.
fn alike(parameters: &[QParam]) -> Result<(), InferError> {
    let first = parameters.first().map_or(DType::I8, |q| q.dtype);
    match parameters.iter().position(|q| q.dtype != first) {
        Some(input) => {
            let found = parameters[input].dtype;
            Err(InferError::DType { input, found, accepted: "those of the other input and the result" })
        }
        None => Ok(()),
    }
}

/// `Ok` if parameters serve `n` slices.
fn slices(q: &QParams, n: usize) -> Result<(), InferError> {
    let found = q.scales.len();
    if found == 1 || found == n {
        return Ok(());
    }
    Err(GoldenError::Extent { op: "quantisation", what: "scales", found, expected: n }.into())
}

fn axis_slices(q: &QParams, axis: usize, x: &Type) -> Result<(), InferError> {
    if q.scales.len() == 1 {
        return Ok(());
    }
    let n =
        x.shape.get(axis).ok_or(GoldenError::Axis { op: "quantisation", axis: axis as isize, rank: x.shape.len() })?;
    slices(q, *n)
}

/// The output type of a quantised operator that keeps its input's shape.
fn requantized(y: &QParam, shape: &[usize]) -> Type {
    Type::new(y.dtype, shape)
}
