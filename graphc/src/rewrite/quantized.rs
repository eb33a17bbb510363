//! Operators between DequantizeLinear and QuantizeLinear as their integer forms. Functions of one tensor are left to the tables;
//! Softmax, layer normalisation and linear interpolation stay float, since their integer forms give other results.

use std::sync::Arc;

use ndarray::ArrayD;

use crate::graph::op::{Binary, Interpolation, QParam, QParams};
use crate::graph::{DType, Graph, Node, NodeId, Op, Tensor, TensorView, ValueId};
use crate::rewrite::patch::{Input, NewNode, Patch};
use crate::rewrite::pattern::Matcher;

pub(super) fn find(graph: &Graph) -> Vec<Patch> {
    let matcher = Matcher::new(graph);
    matcher.nodes().filter_map(|(id, node)| fold(&matcher, id, node)).collect()
}

/// Matches from the QuantizeLinear.
fn fold(m: &Matcher, quantize: NodeId, node: &Node) -> Option<Patch> {
    let Op::QuantizeLinear { q, .. } = &node.op else { return None };
    let y = q.single()?;
    let (id, inner) = m.producer(node.inputs[0]?)?;
    m.only_reader(inner.outputs[0])?;
    let (op, inputs, op_type) = integer_form(m, inner, y)?;
    let added = vec![NewNode { op, inputs, output: node.outputs[0], op_type: op_type.to_owned() }];
    Some(Patch { removed: vec![quantize, id], added, ..Patch::default() })
}

/// An 8-bit value that is dequantised, and its parameters.
struct Source {
    id: ValueId,
    q: QParams,
    axis: usize,
}

impl Source {
    fn one(&self) -> Option<QParam> {
        self.q.single()
    }

    fn input(&self) -> Option<Input> {
        Some(Input::Value(self.id))
    }
}

fn source(m: &Matcher, node: &Node, input: usize) -> Option<Source> {
    let (_, dequantize) = m.producer(node.inputs.get(input).copied().flatten()?)?;
    let Op::DequantizeLinear { q, axis } = &dequantize.op else { return None };
    let id = dequantize.inputs[0]?;
    q.dtype.is_int8().then(|| Source { id, q: q.clone(), axis: *axis })
}

type Form<'a> = (Op, Vec<Option<Input>>, &'a str);

fn integer_form<'a>(m: &Matcher, node: &'a Node, y: QParam) -> Option<Form<'a>> {
    let at = |input| source(m, node, input);
    match &node.op {
        Op::Conv(conv) => {
            let (x, w) = (at(0)?, at(1)?);
            let per_channel = w.q.scales.len() == 1 || w.axis == 0;
            let n_out = *m.graph.value(w.id).ty.shape.first()?;
            let bias = bias(m, node, x.one()?.scale, &w.q, n_out)?;
            let op = Op::QLinearConv { conv: conv.clone(), x: x.one()?, w: w.q.clone(), y };
            per_channel.then_some((op, with_bias([x.input(), w.input()], bias), "QLinearConv"))
        }
        Op::MatMul => {
            let (a, b) = (at(0)?, at(1)?);
            let rank = m.graph.value(b.id).ty.shape.len();
            let per_column = b.q.scales.len() == 1 || b.axis + 1 == rank;
            let op = Op::QLinearMatMul { a: a.one()?, b: b.q.clone(), y };
            per_column.then_some((op, vec![a.input(), b.input()], "QLinearMatMul"))
        }
        Op::Gemm { gemm, beta } if *beta == 1.0 => {
            let (a, b) = (at(0)?, at(1)?);
            let columns = usize::from(!gemm.transpose_b);
            let per_column = b.q.scales.len() == 1 || b.axis == columns;
            let n = *m.graph.value(b.id).ty.shape.get(columns)?;
            let c = bias(m, node, gemm.alpha * a.one()?.scale, &b.q, n)?;
            let op = Op::QGemm { gemm: *gemm, a: a.one()?, b: b.q.clone(), y };
            per_column.then_some((op, with_bias([a.input(), b.input()], c), "QGemm"))
        }
        Op::Binary(function @ (Binary::Add | Binary::Sub | Binary::Mul)) => {
            let (a, b) = (at(0)?, at(1)?);
            let (qa, qb) = (a.one()?, b.one()?);
            let op = Op::QLinearBinary { function: *function, a: qa, b: qb, y };
            let op_type = match function {
                Binary::Add => "QLinearAdd",
                Binary::Sub => "QLinearSub",
                _ => "QLinearMul",
            };
            (qa.dtype == y.dtype && qb.dtype == y.dtype).then_some((op, vec![a.input(), b.input()], op_type))
        }
        Op::Concat { axis } => {
            let sources: Vec<Source> = (0..node.inputs.len()).map(at).collect::<Option<_>>()?;
            let inputs: Vec<QParam> = sources.iter().map(Source::one).collect::<Option<_>>()?;
            let alike = inputs.iter().all(|q| q.dtype == y.dtype);
            let op = Op::QLinearConcat { axis: *axis, inputs, y };
            alike.then(|| (op, sources.iter().map(Source::input).collect(), "QLinearConcat"))
        }
        Op::AveragePool { pool, spatial } => {
            let x = at(0)?;
            let op = Op::QLinearAveragePool { pool: *pool, spatial: *spatial, x: x.one()?, y };
            Some((op, vec![x.input()], "QLinearAveragePool"))
        }
        Op::GlobalAveragePool => {
            let x = at(0)?;
            Some((Op::QLinearGlobalAveragePool { x: x.one()?, y }, vec![x.input()], "QLinearGlobalAveragePool"))
        }
        op if takes_any_elements(op) && node.inputs.len() == 1 => {
            let x = at(0)?;
            (x.one()? == y).then(|| (op.clone(), vec![x.input()], &node.origin.op_type[..]))
        }
        _ => None,
    }
}

/// Whether an operator with one input picks elements, so that it does the same to quantised ones.
fn takes_any_elements(op: &Op) -> bool {
    let nearest = matches!(op, Op::Resize { interpolation: Interpolation::Nearest(_), .. });
    // Padding with 0 would need the zero point; it has a second input then.
    let pads = matches!(op, Op::Pad { .. } | Op::Split { .. } | Op::Concat { .. });
    nearest || matches!(op, Op::MaxPool { .. }) || (op.moves_only() && !pads)
}

fn with_bias(inputs: [Option<Input>; 2], bias: Option<Input>) -> Vec<Option<Input>> {
    inputs.into_iter().chain(bias.map(Some)).collect()
}

/// The third input as int32 in steps of `x_scale * w_scale`; `None` inside where there is none. As it is where it was
/// quantised so, else rounded to steps, half to even.
fn bias(m: &Matcher, node: &Node, x_scale: f32, w: &QParams, n_out: usize) -> Option<Option<Input>> {
    let Some(id) = node.inputs.get(2).copied().flatten() else { return Some(None) };
    let step = |channel: usize| x_scale * w.scales[if w.scales.len() == 1 { 0 } else { channel }];
    let producer = m.producer(id).map(|(_, node)| node);
    let (tensor, scales) = match producer.map(|node| (&node.op, node.inputs[0])) {
        Some((Op::DequantizeLinear { q, .. }, Some(stored))) if q.dtype == DType::I32 => {
            let tensor = m.graph.value(stored).constant.clone()?;
            if tensor.len() == n_out && (0..n_out).all(|c| q.scales[if q.scales.len() == 1 { 0 } else { c }] == step(c))
            {
                return Some(Some(Input::Value(stored)));
            }
            (tensor, q.scales.clone())
        }
        Some(_) => return None,
        None => (m.graph.value(id).constant.clone()?, vec![1.0]),
    };
    let real: Vec<f64> = match &*tensor {
        Tensor::F32(_) => tensor.view::<f32>()?.iter().map(|&v| f64::from(v)).collect(),
        Tensor::I32(_) => tensor.view::<i32>()?.iter().map(|&v| f64::from(v)).collect(),
        _ => return None,
    };
    if real.len() != n_out {
        return None;
    }
    let steps = real.iter().enumerate().map(|(c, v)| {
        let scale = scales[if scales.len() == 1 { 0 } else { c }];
        (v * f64::from(scale) / f64::from(step(c))).round_ties_even() as i32
    });
    let array = ArrayD::from_shape_vec(tensor.shape(), steps.collect()).ok()?;
    Some(Some(Input::Constant(Arc::new(array.into()))))
}
