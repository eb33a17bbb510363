//! Quantisation, and the operators that carry scales and zero points as inputs.

use ccl_golden::unary::Unary;

use crate::graph::op::{Binary, QParam};
use crate::graph::{DType, Op};
use crate::operators::products::gemm_attributes;
use crate::operators::windows::{average_attributes, conv_attributes};
use crate::operators::{Meaning, Refusal, Site};

pub(super) fn conv(site: &Site) -> Result<Meaning, Refusal> {
    let conv = conv_attributes(site, site.input(0, "x")?, site.input(3, "w")?)?;
    let (x, w, y) = (site.qparam(1, 2)?, site.qparams(4, 5, DType::I8)?, site.qparam(6, 7)?);
    site.op(Op::QLinearConv { conv, x, w, y }, &[0, 3, 8])
}

pub(super) fn matmul(site: &Site) -> Result<Meaning, Refusal> {
    let (a, b, y) = (site.qparam(1, 2)?, site.qparams(4, 5, DType::I8)?, site.qparam(6, 7)?);
    site.op(Op::QLinearMatMul { a, b, y }, &[0, 3])
}

pub(super) fn gemm(site: &Site) -> Result<Meaning, Refusal> {
    let gemm = gemm_attributes(site)?;
    let (a, b, y) = (site.qparam(1, 2)?, site.qparams(4, 5, DType::I8)?, site.qparam(7, 8)?);
    site.op(Op::QGemm { gemm, a, b, y }, &[0, 3, 6])
}

/// `axis` of a per-axis quantisation; of no meaning for one scale.
fn axis(site: &Site) -> Result<usize, Refusal> {
    let rank = site.rank(0, "x")?;
    let axis = site.int("axis")?.unwrap_or(1);
    if site.input(1, "scale")?.ty.len() == 1 {
        return Ok(0);
    }
    site.axis("axis", axis, rank)
}

pub(super) fn quantize(site: &Site) -> Result<Meaning, Refusal> {
    site.ignore(&["saturate"]); // of 8-bit floats only
    site.only("block_size", 0)?;
    site.only("precision", 0)?;
    let default = match site.int("output_dtype")? {
        None | Some(0 | 2) => DType::U8,
        Some(3) => DType::I8,
        Some(other) => return Err(Refusal::value("output_dtype", other, "2 (uint8) or 3 (int8)")),
    };
    let q = site.qparams(1, 2, default)?;
    if !q.dtype.is_int8() {
        return Err(Refusal::DType { name: "y_zero_point", found: q.dtype, accepted: "i8 and u8" });
    }
    site.op(Op::QuantizeLinear { q, axis: axis(site)? }, &[0])
}

pub(super) fn dequantize(site: &Site) -> Result<Meaning, Refusal> {
    site.only("block_size", 0)?;
    site.only("output_dtype", 0)?;
    let x = site.input(0, "x")?;
    let q = site.qparams(1, 2, x.ty.dtype)?;
    if q.dtype == DType::I32 && q.zeros.iter().any(|&z| z != 0) {
        return Err(Refusal::value("x_zero_point", "other than 0", "0 for int32"));
    }
    if !(q.dtype.is_int8() || q.dtype == DType::I32) {
        return Err(Refusal::DType { name: "x", found: q.dtype, accepted: "i8, u8 and i32" });
    }
    site.op(Op::DequantizeLinear { q, axis: axis(site)? }, &[0])
}

pub(super) fn dynamic(site: &Site) -> Result<Meaning, Refusal> {
    site.op_of_all(Op::DynamicQuantizeLinear)
}

/// Parameters of the input and of the result of an operator with one input.
fn one(site: &Site) -> Result<(QParam, QParam), Refusal> {
    Ok((site.qparam(1, 2)?, site.qparam(3, 4)?))
}

fn unary(site: &Site, function: Unary) -> Result<Meaning, Refusal> {
    let (x, y) = one(site)?;
    site.op(Op::QLinearUnary { function, x, y }, &[0])
}

pub(super) fn sigmoid(site: &Site) -> Result<Meaning, Refusal> {
    unary(site, Unary::Sigmoid)
}

pub(super) fn leaky_relu(site: &Site) -> Result<Meaning, Refusal> {
    unary(site, Unary::LeakyRelu { alpha: site.float("alpha")?.unwrap_or(0.01) })
}

fn binary(site: &Site, function: Binary) -> Result<Meaning, Refusal> {
    let (a, b, y) = (site.qparam(1, 2)?, site.qparam(4, 5)?, site.qparam(6, 7)?);
    site.op(Op::QLinearBinary { function, a, b, y }, &[0, 3])
}

pub(super) fn add(site: &Site) -> Result<Meaning, Refusal> {
    binary(site, Binary::Add)
}

pub(super) fn mul(site: &Site) -> Result<Meaning, Refusal> {
    binary(site, Binary::Mul)
}

pub(super) fn softmax(site: &Site) -> Result<Meaning, Refusal> {
    let rank = site.rank(0, "X")?;
    let opset = site.int("opset")?.unwrap_or(13);
    let axis = site.axis("axis", site.int("axis")?.unwrap_or(if opset < 13 { 1 } else { -1 }), rank)?;
    let (x, y) = one(site)?;
    let last = if opset < 13 { rank - 1 } else { axis };
    site.op(Op::QLinearSoftmax { first: axis, last, x, y }, &[0])
}

pub(super) fn average_pool(site: &Site) -> Result<Meaning, Refusal> {
    site.only("channels_last", 0)?;
    let (pool, spatial) = average_attributes(site)?;
    let (x, y) = one(site)?;
    site.op(Op::QLinearAveragePool { pool, spatial, x, y }, &[0])
}

pub(super) fn global_average_pool(site: &Site) -> Result<Meaning, Refusal> {
    site.only("channels_last", 0)?;
    let (x, y) = one(site)?;
    site.op(Op::QLinearGlobalAveragePool { x, y }, &[0])
}

pub(super) fn concat(site: &Site) -> Result<Meaning, Refusal> {
    let n = site.n_inputs().saturating_sub(2) / 3;
    if n == 0 || site.n_inputs() != 2 + 3 * n {
        return Err(Refusal::value("number of inputs", site.n_inputs(), "2 and 3 for each tensor"));
    }
    let axis = site.int("axis")?.ok_or(Refusal::AttributeMissing { name: "axis" })?;
    let axis = site.axis("axis", axis, site.rank(2, "input")?)?;
    let places: Vec<usize> = (0..n).map(|i| 2 + 3 * i).collect();
    let inputs = places.iter().map(|&p| site.qparam(p + 1, p + 2)).collect::<Result<_, _>>()?;
    site.op(Op::QLinearConcat { axis, inputs, y: site.qparam(0, 1)? }, &places)
}
