//! Quantised operators: chooses the 8-bit types that `ccl-golden` is generic over.

use ccl_golden::binary::{qlinear_add, qlinear_div, qlinear_mul, qlinear_sub};
use ccl_golden::concat::qlinear_concat;
use ccl_golden::conv::{conv_integer, qlinear_conv};
use ccl_golden::linear::{
    dequantize_linear_axis, dequantize_linear_i32, dynamic_quantize_linear, quantize_linear_axis,
};
use ccl_golden::matmul::{matmul_integer, qgemm, qlinear_matmul};
use ccl_golden::pool::{qlinear_average_pool, qlinear_global_average_pool};
use ccl_golden::softmax::qlinear_softmax;
use ccl_golden::unary::qlinear_unary;
use ccl_golden::{GoldenError, Int8, Quant, QuantPer};
use ndarray::{Array1, Array2, ArrayD, Axis, arr0};

use crate::golden::eval::{Arguments, as_image, from_image};
use crate::golden::float::over_range;
use crate::graph::op::{Binary, QParam, QParams};
use crate::graph::{DType, Element, Op, Tensor};
use crate::infer::InferError;

/// Binds a type name to the type of an element type of 8 bits.
macro_rules! with_int8 {
    ($dtype:expr, $T:ident => $body:expr) => {
        if $dtype == DType::I8 {
            type $T = i8;
            $body
        } else {
            type $T = u8;
            $body
        }
    };
}

pub(super) fn eval(op: &Op, inputs: &Arguments) -> Result<Tensor, InferError> {
    Ok(match op {
        Op::ConvInteger(conv) => {
            let (tx, tw) = (inputs.at(0)?.dtype(), inputs.at(1)?.dtype());
            with_int8!(tx, X => with_int8!(tw, W => {
                let (x, w) = (as_image(inputs.of::<X>(0)?, 0, conv.spatial)?, as_image(inputs.of::<W>(1)?, 1, conv.spatial)?);
                let (zx, zw) = (zeros::<X>(inputs, 2)?, zeros::<W>(inputs, 3)?);
                from_image(conv_integer(x.view(), zx[0], w.view(), &zw, &conv.window, conv.groups)?, conv.spatial).into()
            }))
        }
        Op::QLinearConv { conv, x: qx, w: qw, y: qy } => {
            with_int8!(qx.dtype, X => with_int8!(qw.dtype, W => with_int8!(qy.dtype, Y => {
                let (x, w) = (as_image(inputs.of::<X>(0)?, 0, conv.spatial)?, as_image(inputs.of::<W>(1)?, 1, conv.spatial)?);
                let bias: Option<Array1<i32>> = inputs.optional::<i32>(2)?.map(|b| b.iter().copied().collect());
                let y = qlinear_conv::<X, W, Y>(
                    x.view(), quant(qx)?, w.view(), &quant_per(qw)?, bias.as_ref().map(|b| b.view()), quant(qy)?,
                    &conv.window, conv.groups,
                )?;
                from_image(y, conv.spatial).into()
            })))
        }
        Op::MatMulInteger => {
            let (ta, tb) = (inputs.at(0)?.dtype(), inputs.at(1)?.dtype());
            with_int8!(ta, A => with_int8!(tb, B => {
                let (za, zb) = (zeros::<A>(inputs, 2)?, zeros::<B>(inputs, 3)?);
                matmul_integer(inputs.of::<A>(0)?, za[0], inputs.of::<B>(1)?, &zb)?.into()
            }))
        }
        Op::QLinearMatMul { a, b, y } => {
            with_int8!(a.dtype, A => with_int8!(b.dtype, B => with_int8!(y.dtype, Y => {
                qlinear_matmul::<A, B, Y>(inputs.of(0)?, quant(a)?, inputs.of(1)?, &quant_per(b)?, quant(y)?)?.into()
            })))
        }
        Op::QGemm { gemm, a, b, y } => {
            with_int8!(a.dtype, A => with_int8!(b.dtype, B => with_int8!(y.dtype, Y => {
                let (ma, mb) = (matrix::<A>(inputs, 0)?, matrix::<B>(inputs, 1)?);
                let c = inputs.optional::<i32>(2)?;
                qgemm::<A, B, Y>(ma.view(), quant(a)?, mb.view(), &quant_per(b)?, c, quant(y)?, gemm)?.into_dyn().into()
            })))
        }
        Op::QuantizeLinear { q, axis } => {
            with_int8!(q.dtype, T => {
                let x = inputs.of::<f32>(0)?;
                // A scalar has no axis; one pair of parameters needs none.
                match q.single() {
                    Some(one) => ccl_golden::linear::quantize_linear(x, quant::<T>(&one)?).into(),
                    None => quantize_linear_axis(x, *axis as isize, &quant_per::<T>(q)?)?.into(),
                }
            })
        }
        Op::DequantizeLinear { q, axis } => dequantize(q, *axis, inputs)?,
        Op::QLinearUnary { function, x, y } => with_int8!(x.dtype, X => with_int8!(y.dtype, Y => {
            qlinear_unary::<X, Y>(inputs.of(0)?, quant(x)?, quant(y)?, |v| function.eval(v)).into()
        })),
        Op::Table { from, table, to } => with_int8!(*from, X => with_int8!(*to, Y => {
            inputs.of::<X>(0)?.mapv(|v| Y::from_bits(table[usize::from(v.bits())])).into()
        })),
        Op::QLinearBinary { function, a, b, y } => with_int8!(y.dtype, T => {
            let f = match function {
                Binary::Add => qlinear_add::<T>,
                Binary::Mul => qlinear_mul::<T>,
                Binary::Sub => qlinear_sub::<T, T, T>,
                _ => qlinear_div::<T, T, T>,
            };
            f(inputs.of(0)?, quant(a)?, inputs.of(1)?, quant(b)?, quant(y)?)?.into()
        }),
        Op::QLinearSoftmax { first, last, x, y } => with_int8!(x.dtype, X => with_int8!(y.dtype, Y => {
            let (qx, qy) = (quant(x)?, quant(y)?);
            over_range(inputs.of::<X>(0)?, *first, *last, |x, axis| Ok(qlinear_softmax::<X, Y>(x, qx, axis, qy)?))?
        })),
        Op::QLinearAveragePool { pool, spatial, x, y } => with_int8!(x.dtype, X => with_int8!(y.dtype, Y => {
            let image = as_image(inputs.of::<X>(0)?, 0, *spatial)?;
            from_image(qlinear_average_pool::<X, Y>(image.view(), quant(x)?, quant(y)?, pool)?, *spatial).into()
        })),
        Op::QLinearGlobalAveragePool { x, y } => with_int8!(x.dtype, X => with_int8!(y.dtype, Y => {
            let view = inputs.of::<X>(0)?;
            let spatial = view.ndim().saturating_sub(2);
            let image = as_image(view, 0, spatial)?;
            from_image(qlinear_global_average_pool::<X, Y>(image.view(), quant(x)?, quant(y)?)?, spatial).into()
        })),
        Op::QLinearConcat { axis, inputs: parameters, y } => with_int8!(y.dtype, T => {
            let mut parts = Vec::with_capacity(parameters.len());
            for (i, q) in parameters.iter().enumerate() {
                parts.push((inputs.of::<T>(i)?, quant::<T>(q)?));
            }
            qlinear_concat(&parts, *axis as isize, quant(y)?)?.into()
        }),
        other => unreachable!("{other:?} is evaluated with the other families"),
    })
}

/// The three outputs of DynamicQuantizeLinear.
pub(super) fn dynamic(inputs: &Arguments) -> Result<Vec<Tensor>, InferError> {
    let (y, q) = dynamic_quantize_linear(inputs.of(0)?)?;
    Ok(vec![y.into(), arr0(q.scale()).into_dyn().into(), arr0(q.zero_point()).into_dyn().into()])
}

fn dequantize(q: &QParams, axis: usize, inputs: &Arguments) -> Result<Tensor, InferError> {
    if q.dtype != DType::I32 {
        return with_int8!(q.dtype, T => {
            let x = inputs.of::<T>(0)?;
            Ok(match q.single() {
                Some(one) => ccl_golden::linear::dequantize_linear(x, quant(&one)?).into(),
                None => dequantize_linear_axis(x, axis as isize, &quant_per(q)?)?.into(),
            })
        });
    }
    let x = inputs.of::<i32>(0)?;
    if let [scale] = q.scales[..] {
        return Ok(dequantize_linear_i32(x, scale)?.into());
    }
    let mut y = ArrayD::zeros(x.raw_dim());
    for ((mut y, x), &scale) in y.axis_iter_mut(Axis(axis)).zip(x.axis_iter(Axis(axis))).zip(&q.scales) {
        y.assign(&dequantize_linear_i32(x, scale)?);
    }
    Ok(y.into())
}

fn matrix<T: Element>(inputs: &Arguments, input: usize) -> Result<Array2<T>, InferError> {
    let view = inputs.of::<T>(input)?;
    let wrong = InferError::Rank { input, found: view.ndim(), accepted: "2" };
    view.into_dimensionality().map(|m| m.to_owned()).map_err(|_| wrong)
}

/// Zero points that an optional input gives, one at least.
fn zeros<T: Int8 + Element>(inputs: &Arguments, input: usize) -> Result<Vec<T>, InferError> {
    let list: Vec<T> = inputs.optional::<T>(input)?.map_or_else(|| vec![T::default()], |v| v.iter().copied().collect());
    if list.is_empty() { Err(GoldenError::Empty { op: "product", tensor: "zero points" }.into()) } else { Ok(list) }
}

fn quant<T: Int8>(q: &QParam) -> Result<Quant<T>, GoldenError> {
    Quant::new(q.scale, T::saturate(q.zero))
}

fn quant_per<T: Int8>(q: &QParams) -> Result<QuantPer<T>, GoldenError> {
    let zeros: Vec<T> = q.zeros.iter().map(|&z| T::saturate(z)).collect();
    QuantPer::channels(&q.scales, &zeros)
}
