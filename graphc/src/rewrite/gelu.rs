//! GELU as exporters write it out: a product of `x`, `0.5` and `1 + erf(x / sqrt(2))`.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use ccl_golden::unary::Unary;

use crate::graph::op::Binary;
use crate::graph::{Graph, Node, NodeId, Op, ValueId};
use crate::rewrite::patch::{Input, NewNode, Patch};
use crate::rewrite::pattern::Matcher;

pub(super) fn find(graph: &Graph) -> Vec<Patch> {
    let matcher = Matcher::new(graph);
    matcher.nodes().filter_map(|(id, node)| product(&matcher, id, node)).collect()
}

/// Matches from the Erf to both sides.
fn product(m: &Matcher, erf: NodeId, node: &Node) -> Option<Patch> {
    if node.op != Op::Unary(Unary::Erf) {
        return None;
    }
    let x = scaled(m, node.inputs[0]?)?;
    let (add, sum) = m.only_reader(node.outputs[0])?;
    let one = m.other(sum, Binary::Add, node.outputs[0])?;
    if !m.is_scalar(one, 1.0) {
        return None;
    }
    let mut removed = vec![erf, add];
    let (mut half_seen, mut x_seen) = (false, false);
    let mut end = sum.outputs[0];
    while !(half_seen && x_seen) {
        let (id, next) = m.only_reader(end)?;
        let factor = m.other(next, Binary::Mul, end)?;
        if factor == x && !x_seen {
            x_seen = true;
        } else if m.is_scalar(factor, 0.5) && !half_seen {
            half_seen = true;
        } else if is_half_of(m, factor, x) && !half_seen && !x_seen {
            (half_seen, x_seen) = (true, true);
        } else {
            return None;
        }
        removed.push(id);
        end = next.outputs[0];
    }
    // Constants of another rank could have broadcast the product.
    if m.graph.value(end).ty != m.graph.value(x).ty {
        return None;
    }
    let inputs = vec![Some(Input::Value(x))];
    let added = vec![NewNode { op: Op::Unary(Unary::Gelu), inputs, output: end, op_type: "Gelu".to_owned() }];
    Some(Patch { removed, added, ..Patch::default() })
}

/// The value of which this is `1 / sqrt(2)`.
fn scaled(m: &Matcher, id: ValueId) -> Option<ValueId> {
    let (_, node) = m.producer(id)?;
    if let Some((x, divisor)) = m.operands(node, Binary::Div) {
        return m.is_scalar(divisor, SQRT_2).then_some(x);
    }
    let (a, b) = m.operands(node, Binary::Mul)?;
    if m.is_scalar(b, FRAC_1_SQRT_2) { Some(a) } else { m.is_scalar(a, FRAC_1_SQRT_2).then_some(b) }
}

fn is_half_of(m: &Matcher, id: ValueId, x: ValueId) -> bool {
    let half = |(_, node): (NodeId, &Node)| m.other(node, Binary::Mul, x).is_some_and(|f| m.is_scalar(f, 0.5));
    m.producer(id).is_some_and(half)
}
