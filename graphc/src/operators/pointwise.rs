//! Element-wise operators.

use ccl_golden::relation::Relation;
use ccl_golden::unary::Unary;

use crate::graph::op::Binary;
use crate::graph::{Op, Tensor};
use crate::onnx;
use crate::operators::{Meaning, Refusal, Site};

macro_rules! plain { ($($name:ident => $op:expr;)*) => { $(
    pub(super) fn $name(site: &Site) -> Result<Meaning, Refusal> {
        site.op_of_all($op)
    }
)* } }

plain! {
    relu => Op::Unary(Unary::Relu);
    sigmoid => Op::Unary(Unary::Sigmoid);
    hard_swish => Op::Unary(Unary::HardSwish);
    tanh => Op::Unary(Unary::Tanh);
    erf => Op::Unary(Unary::Erf);
    exp => Op::Unary(Unary::Exp);
    log => Op::Unary(Unary::Log);
    sqrt => Op::Unary(Unary::Sqrt);
    reciprocal => Op::Unary(Unary::Reciprocal);
    softplus => Op::Unary(Unary::Softplus);
    abs => Op::Unary(Unary::Abs);
    neg => Op::Unary(Unary::Neg);
    not => Op::Not;
    add => Op::Binary(Binary::Add);
    sub => Op::Binary(Binary::Sub);
    mul => Op::Binary(Binary::Mul);
    div => Op::Binary(Binary::Div);
    pow => Op::Binary(Binary::Pow);
    min => Op::Binary(Binary::Min);
    max => Op::Binary(Binary::Max);
    equal => Op::Compare(Relation::Equal);
    less => Op::Compare(Relation::Less);
    less_or_equal => Op::Compare(Relation::LessOrEqual);
    greater => Op::Compare(Relation::Greater);
    greater_or_equal => Op::Compare(Relation::GreaterOrEqual);
    select => Op::Where;
    fast_gelu => Op::Unary(Unary::GeluTanh);
}

pub(super) fn gelu(site: &Site) -> Result<Meaning, Refusal> {
    let function = match site.text("approximate", "none")?.as_str() {
        "none" => Unary::Gelu,
        "tanh" => Unary::GeluTanh,
        other => return Err(Refusal::value("approximate", other, "none or tanh")),
    };
    site.op_of_all(Op::Unary(function))
}

pub(super) fn leaky_relu(site: &Site) -> Result<Meaning, Refusal> {
    site.op_of_all(Op::Unary(Unary::LeakyRelu { alpha: site.float("alpha")?.unwrap_or(0.01) }))
}

pub(super) fn elu(site: &Site) -> Result<Meaning, Refusal> {
    site.op_of_all(Op::Unary(Unary::Elu { alpha: site.float("alpha")?.unwrap_or(1.0) }))
}

pub(super) fn hard_sigmoid(site: &Site) -> Result<Meaning, Refusal> {
    let (alpha, beta) = (site.float("alpha")?.unwrap_or(0.2), site.float("beta")?.unwrap_or(0.5));
    site.op_of_all(Op::Unary(Unary::HardSigmoid { alpha, beta }))
}

pub(super) fn clip(site: &Site) -> Result<Meaning, Refusal> {
    let (low, high) = (limit(site, 1, "min")?, limit(site, 2, "max")?);
    site.op(Op::Clip { low, high }, &[0])
}

/// A limit of the element type of the data; not-a-number limits nothing.
fn limit(site: &Site, place: usize, name: &'static str) -> Result<Option<f64>, Refusal> {
    let Some(tensor) = site.constant(place, name)? else { return Ok(None) };
    let x = site.input(0, "input")?;
    if tensor.dtype() != x.ty.dtype {
        let accepted = "those of the input";
        return Err(Refusal::DType { name, found: tensor.dtype(), accepted });
    }
    let values: Vec<f64> = match &**tensor {
        Tensor::F32(a) => a.iter().map(|&v| f64::from(v)).collect(),
        Tensor::I8(a) => a.iter().map(|&v| f64::from(v)).collect(),
        Tensor::U8(a) => a.iter().map(|&v| f64::from(v)).collect(),
        Tensor::I32(a) => a.iter().map(|&v| f64::from(v)).collect(),
        Tensor::I64(a) => a.iter().map(|&v| v as f64).collect(),
        Tensor::Bool(_) => Vec::new(),
    };
    match values[..] {
        [one] => Ok(Some(one).filter(|v| !v.is_nan())),
        _ => Err(Refusal::value(name, format!("{} elements", tensor.len()), "one number")),
    }
}

pub(super) fn cast(site: &Site) -> Result<Meaning, Refusal> {
    site.ignore(&["saturate", "round_mode"]); // of 8-bit floats only
    let to = site.int("to")?.ok_or(Refusal::AttributeMissing { name: "to" })?;
    let dtype = i32::try_from(to).map_err(|_| Refusal::value("to", to, "an element type"))?;
    let dtype = onnx::tensor::dtype(dtype).map_err(|source| Refusal::Tensor { name: "to", source })?;
    site.op_of_all(Op::Cast(dtype))
}
