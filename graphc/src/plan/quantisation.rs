//! What the elements of a tensor stand for: a node states it for its result or for its operands.

use crate::graph::op::QParam;
use crate::graph::{Op, ValueId};
use crate::rewrite::pattern::Matcher;

/// Scale and zero point of a value, as the node that makes it or the first one that reads it states them.
pub fn of(m: &Matcher, value: ValueId) -> Option<QParam> {
    let made = m.producer(value).and_then(|(_, node)| result(&node.op));
    made.or_else(|| m.readers(value).iter().find_map(|&id| stated(m, id, value)))
}

fn result(op: &Op) -> Option<QParam> {
    match op {
        Op::QLinearConv { y, .. }
        | Op::QLinearMatMul { y, .. }
        | Op::QGemm { y, .. }
        | Op::QLinearUnary { y, .. }
        | Op::QLinearBinary { y, .. }
        | Op::QLinearSoftmax { y, .. }
        | Op::QLinearAveragePool { y, .. }
        | Op::QLinearGlobalAveragePool { y, .. }
        | Op::QLinearConcat { y, .. } => Some(*y),
        Op::QuantizeLinear { q, .. } => q.single(),
        _ => None,
    }
}

fn stated(m: &Matcher, id: crate::graph::NodeId, value: ValueId) -> Option<QParam> {
    let node = m.graph.node(id);
    let place = node.inputs.iter().position(|input| *input == Some(value))?;
    match &node.op {
        Op::QLinearConv { x, .. }
        | Op::QLinearUnary { x, .. }
        | Op::QLinearSoftmax { x, .. }
        | Op::QLinearAveragePool { x, .. }
        | Op::QLinearGlobalAveragePool { x, .. }
            if place == 0 =>
        {
            Some(*x)
        }
        Op::QLinearMatMul { a, .. } | Op::QGemm { a, .. } if place == 0 => Some(*a),
        Op::QLinearMatMul { b, .. } if place == 1 => b.single(),
        Op::QLinearBinary { a, b, .. } => Some(if place == 0 { *a } else { *b }),
        Op::QLinearConcat { inputs, .. } => inputs.get(place).copied(),
        Op::DequantizeLinear { q, .. } => q.single(),
        Op::Reshape { .. } | Op::Transpose { .. } | Op::Resize { .. } | Op::MaxPool { .. } => of(m, node.outputs[0]),
        _ => None,
    }
}
