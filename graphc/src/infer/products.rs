//! Types of convolutions and matrix products.

use ccl_golden::GoldenError;
use ccl_golden::broadcast::broadcast_shape;
use ccl_golden::conv_transpose::conv_transpose_output;
use ccl_golden::matmul::Gemm;

use crate::graph::op::Conv;
use crate::graph::{DType, Type};
use crate::infer::{InferError, Inputs};

/// Shape of an image with one spatial dimension as that of one with two, the height being 1.
pub(crate) fn as_image(input: usize, ty: &Type, spatial: usize) -> Result<[usize; 4], InferError> {
    let accepted = if spatial == 1 { "3 (1 spatial dimension)" } else { "4 (2 spatial dimensions)" };
    match (&ty.shape[..], spatial) {
        (&[n, c, w], 1) => Ok([n, c, 1, w]),
        (&[n, c, h, w], 2) => Ok([n, c, h, w]),
        _ => Err(InferError::Rank { input, found: ty.shape.len(), accepted }),
    }
}

/// The inverse of [`as_image`].
pub(super) fn from_image([n, c, h, w]: [usize; 4], spatial: usize) -> Vec<usize> {
    if spatial == 1 { vec![n, c, w] } else { vec![n, c, h, w] }
}

fn extent(what: &'static str, found: usize, expected: usize) -> Result<(), InferError> {
    if found == expected {
        return Ok(());
    }
    Err(GoldenError::Extent { op: "product", what, found, expected }.into())
}

/// The type of x with the shape of the result.
pub(super) fn conv(conv: &Conv, x: &Type, w: &Type, bias: Option<&Type>, op: &'static str) -> Result<Type, InferError> {
    let [n, c, h, width] = as_image(0, x, conv.spatial)?;
    let [m, per_group, kh, kw] = as_image(1, w, conv.spatial)?;
    let groups = conv.groups;
    if groups == 0 || !m.is_multiple_of(groups) {
        let legal = "a divisor of the output channels";
        return Err(GoldenError::Parameter { op, name: "group", value: groups as i64, legal }.into());
    }
    extent("input channels", c, per_group.saturating_mul(groups))?;
    if let Some(bias) = bias {
        extent("bias", bias.len(), m)?;
        rank_one(2, bias)?;
    }
    let [oh, ow] = conv.window.output(op, [h, width], [kh, kw])?;
    Ok(Type::new(x.dtype, &from_image([n, m, oh, ow], conv.spatial)))
}

fn rank_one(input: usize, ty: &Type) -> Result<(), InferError> {
    if ty.shape.len() == 1 {
        return Ok(());
    }
    Err(InferError::Rank { input, found: ty.shape.len(), accepted: "1" })
}

pub(super) fn conv_integer(op: &Conv, inputs: &Inputs) -> Result<Type, InferError> {
    let (x, w) = (inputs.int8(0)?, inputs.int8(1)?);
    let ty = conv(op, x, w, None, "ConvInteger")?;
    zero_points(inputs, w.shape[0])?;
    Ok(Type { dtype: DType::I32, ..ty })
}

pub(super) fn matmul_integer(inputs: &Inputs) -> Result<Type, InferError> {
    let (a, b) = (inputs.int8(0)?, inputs.int8(1)?);
    let n = if b.shape.len() < 2 { 1 } else { b.shape[b.shape.len() - 1] };
    zero_points(inputs, n)?;
    Ok(Type::new(DType::I32, &matmul(a, b)?))
}

/// Zero points of both operands: one of the first, one or `n` of the second.
fn zero_points(inputs: &Inputs, n: usize) -> Result<(), InferError> {
    if inputs.optional(2).is_some() {
        let zero = inputs.like(2, inputs.at(0)?)?;
        extent("zero points of input 0", zero.len(), 1)?;
    }
    if inputs.optional(3).is_some() {
        let zero = inputs.like(3, inputs.at(1)?)?;
        if zero.len() != 1 {
            extent("zero points of input 1", zero.len(), n)?;
        }
    }
    Ok(())
}

pub(super) fn conv_transpose(op: &Conv, output_padding: [usize; 2], inputs: &Inputs) -> Result<Type, InferError> {
    let [n, c, h, width] = as_image(0, inputs.float(0)?, op.spatial)?;
    let [w_in, per_group, kh, kw] = as_image(1, inputs.float(1)?, op.spatial)?;
    if op.groups == 0 || !c.is_multiple_of(op.groups) {
        let legal = "a divisor of the input channels";
        let fault = GoldenError::Parameter { op: "ConvTranspose", name: "group", value: op.groups as i64, legal };
        return Err(fault.into());
    }
    extent("input channels", c, w_in)?;
    let m = per_group.saturating_mul(op.groups);
    if let Some(bias) = inputs.optional_float(2)? {
        extent("bias", bias.len(), m)?;
        rank_one(2, bias)?;
    }
    let [oh, ow] = conv_transpose_output(&op.window, [h, width], [kh, kw], output_padding)?;
    Ok(Type::new(DType::F32, &from_image([n, m, oh, ow], op.spatial)))
}

/// Shape of a product, by the rules of NumPy.
pub(super) fn matmul(a: &Type, b: &Type) -> Result<Vec<usize>, InferError> {
    for (input, ty) in [(0, a), (1, b)] {
        if ty.shape.is_empty() {
            return Err(InferError::Rank { input, found: 0, accepted: "at least 1" });
        }
    }
    let (vector_a, vector_b) = (a.shape.len() == 1, b.shape.len() == 1);
    let a = if vector_a { [&[1], &a.shape[..]].concat() } else { a.shape.clone() };
    let b = if vector_b { [&b.shape[..], &[1]].concat() } else { b.shape.clone() };
    let ((batch_a, a), (batch_b, b)) = (a.split_at(a.len() - 2), b.split_at(b.len() - 2));
    extent("rows of the second matrix", b[0], a[1])?;
    let mut shape = broadcast_shape("MatMul", batch_a, batch_b)?;
    if !vector_a {
        shape.push(a[0]);
    }
    if !vector_b {
        shape.push(b[1]);
    }
    Ok(shape)
}

/// Shape `[M, N]` of a general product.
pub(super) fn gemm(gemm: &Gemm, a: &Type, b: &Type, c: Option<&Type>) -> Result<Vec<usize>, InferError> {
    let matrix = |input, ty: &Type, transposed| match (&ty.shape[..], transposed) {
        (&[r, c], false) => Ok([r, c]),
        (&[r, c], true) => Ok([c, r]),
        _ => Err(InferError::Rank { input, found: ty.shape.len(), accepted: "2" }),
    };
    let [m, k] = matrix(0, a, gemm.transpose_a)?;
    let [rows, n] = matrix(1, b, gemm.transpose_b)?;
    extent("rows of the second matrix", rows, k)?;
    if let Some(c) = c {
        let both = broadcast_shape("Gemm", &[m, n], &c.shape)?;
        if both != [m, n] {
            return Err(GoldenError::Shape { op: "Gemm", found: c.shape.clone(), expected: vec![m, n] }.into());
        }
    }
    Ok(vec![m, n])
}
