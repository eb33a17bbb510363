//! Float convolutions, products, normalisations and poolings.

use ccl_golden::conv::conv_f32;
use ccl_golden::conv_transpose::conv_transpose_f32;
use ccl_golden::matmul::{gemm_f32, matmul_f32};
use ccl_golden::norm::{batch_norm_f32, layer_norm_f32};
use ccl_golden::pool::{Pool, average_pool_f32};
use ccl_golden::reduce::{Reduction, reduce};
use ccl_golden::softmax::softmax_f32;
use ndarray::{Array1, ArrayViewD};

use crate::golden::eval::{Arguments, as_image, from_image, reshape};
use crate::graph::{Op, Tensor};
use crate::infer::InferError;

pub(super) fn eval(op: &Op, inputs: &Arguments) -> Result<Tensor, InferError> {
    Ok(match op {
        Op::Conv(conv) => {
            let (x, w) = (as_image(inputs.of(0)?, 0, conv.spatial)?, as_image(inputs.of(1)?, 1, conv.spatial)?);
            let bias = list(inputs, 2)?;
            let bias = bias.as_ref().map(|b| b.view());
            from_image(conv_f32(x.view(), w.view(), bias, &conv.window, conv.groups)?, conv.spatial).into()
        }
        Op::ConvTranspose { conv, output_padding } => {
            let (x, w) = (as_image(inputs.of(0)?, 0, conv.spatial)?, as_image(inputs.of(1)?, 1, conv.spatial)?);
            let bias = list(inputs, 2)?;
            let bias = bias.as_ref().map(|b| b.view());
            let y = conv_transpose_f32(x.view(), w.view(), bias, &conv.window, *output_padding, conv.groups)?;
            from_image(y, conv.spatial).into()
        }
        Op::MatMul => matmul_f32(inputs.of(0)?, inputs.of(1)?)?.into(),
        Op::Gemm { gemm, beta } => {
            let (a, b) = (matrix(inputs, 0)?, matrix(inputs, 1)?);
            gemm_f32(a.view(), b.view(), inputs.optional(2)?, *beta, gemm)?.into_dyn().into()
        }
        Op::Softmax { first, last } => over_range(inputs.of(0)?, *first, *last, |x, axis| Ok(softmax_f32(x, axis)?))?,
        Op::LayerNormalization { axis, epsilon } => {
            let gamma = list(inputs, 1)?.ok_or(InferError::Missing { input: 1 })?;
            let beta = list(inputs, 2)?;
            let beta = beta.as_ref().map(|b| b.view());
            layer_norm_f32(inputs.of(0)?, *axis as isize, gamma.view(), beta, *epsilon)?.into()
        }
        Op::BatchNormalization { epsilon } => {
            let p = |input| list(inputs, input)?.ok_or(InferError::Missing { input });
            let (gamma, beta, mean, variance) = (p(1)?, p(2)?, p(3)?, p(4)?);
            batch_norm_f32(inputs.of(0)?, gamma.view(), beta.view(), mean.view(), variance.view(), *epsilon)?.into()
        }
        Op::AveragePool { pool, spatial } => average(inputs.of(0)?, pool, *spatial)?,
        Op::GlobalAveragePool => {
            let x = inputs.of::<f32>(0)?;
            let planes: Vec<isize> = (2..x.ndim() as isize).collect();
            reduce(x, &planes, Reduction::Mean)?.into()
        }
        other => unreachable!("{other:?} is evaluated with the other families"),
    })
}

fn average(x: ArrayViewD<f32>, pool: &Pool, spatial: usize) -> Result<Tensor, InferError> {
    let y = average_pool_f32(as_image(x, 0, spatial)?.view(), pool)?;
    Ok(from_image(y, spatial).into())
}

/// An input as a list of its elements in row order.
fn list(inputs: &Arguments, input: usize) -> Result<Option<Array1<f32>>, InferError> {
    Ok(inputs.optional::<f32>(input)?.map(|v| v.iter().copied().collect()))
}

fn matrix(inputs: &Arguments, input: usize) -> Result<ndarray::Array2<f32>, InferError> {
    let view = inputs.of::<f32>(input)?;
    let wrong = InferError::Rank { input, found: view.ndim(), accepted: "2" };
    view.into_dimensionality().map(|m| m.to_owned()).map_err(|_| wrong)
}

/// Applies a function along the axes from `first` to `last` as if they were one.
pub(super) fn over_range<A: Clone, B: Clone>(
    x: ArrayViewD<A>,
    first: usize,
    last: usize,
    f: impl Fn(ArrayViewD<A>, isize) -> Result<ndarray::ArrayD<B>, InferError>,
) -> Result<Tensor, InferError>
where
    Tensor: From<ndarray::ArrayD<B>>,
{
    let shape = x.shape().to_vec();
    let joined = [&shape[..first], &[shape[first..=last].iter().product()], &shape[last + 1..]].concat();
    let y = f(reshape(x, &joined)?.view(), first as isize)?;
    Ok(reshape(y.view(), &shape)?.into())
}
