//! Convolutions and matrix products.

use ccl_golden::matmul::Gemm;

use crate::graph::Op;
use crate::operators::windows::conv_attributes;
use crate::operators::{Meaning, Refusal, Site};

pub(super) fn conv(site: &Site) -> Result<Meaning, Refusal> {
    let conv = conv_attributes(site, site.input(0, "X")?, site.input(1, "W")?)?;
    site.op(Op::Conv(conv), &[0, 1, 2])
}

pub(super) fn conv_integer(site: &Site) -> Result<Meaning, Refusal> {
    let conv = conv_attributes(site, site.input(0, "x")?, site.input(1, "w")?)?;
    site.op(Op::ConvInteger(conv), &[0, 1, 2, 3])
}

pub(super) fn conv_transpose(site: &Site) -> Result<Meaning, Refusal> {
    let (conv, output_padding) = super::windows::conv_transpose_attributes(site)?;
    site.op(Op::ConvTranspose { conv, output_padding }, &[0, 1, 2])
}

pub(super) fn matmul(site: &Site) -> Result<Meaning, Refusal> {
    site.op_of_all(Op::MatMul)
}

pub(super) fn matmul_integer(site: &Site) -> Result<Meaning, Refusal> {
    site.op_of_all(Op::MatMulInteger)
}

pub(super) fn gemm_attributes(site: &Site) -> Result<Gemm, Refusal> {
    Ok(Gemm {
        alpha: site.float("alpha")?.unwrap_or(1.0),
        transpose_a: site.flag("transA", false)?,
        transpose_b: site.flag("transB", false)?,
    })
}

pub(super) fn gemm(site: &Site) -> Result<Meaning, Refusal> {
    let (gemm, beta) = (gemm_attributes(site)?, site.float("beta")?.unwrap_or(1.0));
    site.op_of_all(Op::Gemm { gemm, beta })
}
