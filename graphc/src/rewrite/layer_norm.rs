//! Layer normalisation as exporters of older opsets write it out.

use std::sync::Arc;

use ccl_golden::reduce::Reduction;
use ccl_golden::unary::Unary;
use ndarray::ArrayD;

use crate::graph::op::Binary;
use crate::graph::{Graph, Node, NodeId, Op, Tensor, ValueId};
use crate::rewrite::patch::{Input, NewNode, Patch};
use crate::rewrite::pattern::Matcher;

pub(super) fn find(graph: &Graph) -> Vec<Patch> {
    let matcher = Matcher::new(graph);
    matcher.nodes().filter_map(|(id, node)| normalisation(&matcher, id, node)).collect()
}

/// Matches backwards from the Div, then forwards to an optional Mul and Add.
fn normalisation(m: &Matcher, div: NodeId, node: &Node) -> Option<Patch> {
    let (centred, deviation) = m.operands(node, Binary::Div)?;
    let (_, sqrt) = m.producer(deviation).filter(|(_, n)| n.op == Op::Unary(Unary::Sqrt))?;
    let (_, sum) = m.producer(sqrt.inputs[0]?)?;
    let (a, b) = m.operands(sum, Binary::Add)?;
    let (variance, epsilon) = if let Some(e) = m.scalar(b) { (a, e) } else { (b, m.scalar(a)?) };
    let (squares, axis) = mean_of(m, variance)?;
    let (_, square) = m.producer(squares)?;
    let squared = match (m.operands(square, Binary::Pow), m.operands(square, Binary::Mul)) {
        (Some((base, two)), _) if m.is_scalar(two, 2.0) => base,
        (_, Some((a, b))) if a == b => a,
        _ => return None,
    };
    // Some exporters write the difference twice.
    let (x, mean_axis) = difference(m, centred)?;
    if difference(m, squared)? != (x, mean_axis) || mean_axis != axis || !(epsilon >= 0.0 && epsilon.is_finite()) {
        return None;
    }
    let shape = m.graph.value(x).ty.shape[axis..].to_vec();
    let mut removed = vec![div];
    let mut output = node.outputs[0];
    let mut gamma = Input::Constant(Arc::new(Tensor::from(ArrayD::from_elem(shape.clone(), 1.0_f32))));
    let mut beta = None;
    if let Some((id, next, parameter)) = affine(m, output, Binary::Mul, &shape) {
        (gamma, output) = (Input::Value(parameter), next.outputs[0]);
        removed.push(id);
    }
    if let Some((id, next, parameter)) = affine(m, output, Binary::Add, &shape) {
        (beta, output) = (Some(Input::Value(parameter)), next.outputs[0]);
        removed.push(id);
    }
    let mut inputs = vec![Some(Input::Value(x)), Some(gamma)];
    inputs.extend(beta.map(Some));
    let op = Op::LayerNormalization { axis, epsilon };
    let added = vec![NewNode { op, inputs, output, op_type: "LayerNormalization".to_owned() }];
    Some(Patch { removed, added, ..Patch::default() })
}

/// The value whose mean over all axes from one on this is, and that axis.
fn mean_of(m: &Matcher, id: ValueId) -> Option<(ValueId, usize)> {
    let (_, node) = m.producer(id)?;
    let Op::Reduce { kind: Reduction::Mean, axes, keep: true } = &node.op else { return None };
    let x = node.inputs[0]?;
    let rank = m.graph.value(x).ty.shape.len();
    let first = *axes.first()?;
    (axes.iter().copied().eq(first..rank)).then_some((x, first))
}

/// The value from which its own mean is taken, and the first axis of that mean.
fn difference(m: &Matcher, id: ValueId) -> Option<(ValueId, usize)> {
    let (x, mean) = m.operands(m.producer(id)?.1, Binary::Sub)?;
    mean_of(m, mean).filter(|(of, _)| *of == x)
}

/// The only reader of a value, if it scales or offsets it by a constant of the normalised shape.
fn affine<'a>(m: &Matcher<'a>, id: ValueId, kind: Binary, shape: &[usize]) -> Option<(NodeId, &'a Node, ValueId)> {
    let (reader, node) = m.only_reader(id)?;
    let parameter = m.other(node, kind, id)?;
    let value = m.graph.value(parameter);
    (value.constant.is_some() && value.ty.shape == shape).then_some((reader, node, parameter))
}
