//! Multiply-accumulate steps of nodes: the products of convolutions and matrix products, nothing else.

use crate::graph::{Graph, Node, Op, Type};

/// Steps of an operator, from the types of its inputs and outputs; those in the padding count too.
pub fn of_op(op: &Op, inputs: &[Option<Type>], outputs: &[Type]) -> u64 {
    let input = |i: usize| inputs.get(i).and_then(Option::as_ref);
    let (Some(first), Some(second), Some(output)) = (input(0), input(1), outputs.first()) else { return 0 };
    let taps = |w: &Type| w.shape.iter().skip(1).product::<usize>() as u64;
    match op {
        Op::Conv(_) | Op::ConvInteger(_) | Op::QLinearConv { .. } => output.len() as u64 * taps(second),
        Op::ConvTranspose { .. } => first.len() as u64 * taps(second),
        Op::MatMul | Op::MatMulInteger | Op::QLinearMatMul { .. } => {
            output.len() as u64 * first.shape.last().map_or(0, |&k| k as u64)
        }
        Op::Gemm { gemm, .. } | Op::QGemm { gemm, .. } => {
            let k = first.shape.get(usize::from(!gemm.transpose_a)).map_or(0, |&k| k as u64);
            output.len() as u64 * k
        }
        _ => 0,
    }
}

/// Steps of a node of a graph.
pub fn of_node(graph: &Graph, node: &Node) -> u64 {
    let outputs: Vec<Type> = node.outputs.iter().map(|&id| graph.value(id).ty.clone()).collect();
    of_op(&node.op, &graph.input_types(node), &outputs)
}

/// Steps of a whole graph.
pub fn of_graph(graph: &Graph) -> u64 {
    graph.nodes().iter().fold(0, |sum, node| sum.saturating_add(of_node(graph, node)))
}

#[cfg(test)]
mod tests {
    use ccl_golden::matmul::Gemm;

    use super::*;
    use crate::graph::DType;
    use crate::infer::infer;

    fn macs(op: Op, shapes: &[&[usize]]) -> u64 {
        let inputs: Vec<_> = shapes.iter().map(|s| Some(Type::new(DType::F32, s))).collect();
        let outputs = infer(&op, &inputs).unwrap();
        of_op(&op, &inputs, &outputs)
    }

    #[test]
    fn products_by_hand() {
        let conv = |groups| {
            Op::Conv(crate::graph::op::Conv { window: ccl_golden::conv::Window::default(), groups, spatial: 2 })
        };
        assert_eq!(macs(conv(1), &[&[1, 8, 10, 10], &[4, 8, 3, 3]]), 4 * 8 * 8 * 8 * 9);
        assert_eq!(macs(conv(8), &[&[1, 8, 10, 10], &[8, 1, 3, 3]]), 8 * 8 * 8 * 9);
        assert_eq!(macs(Op::MatMul, &[&[2, 5, 3], &[3, 7]]), 2 * 5 * 3 * 7);
        let gemm = Gemm { transpose_a: true, ..Gemm::default() };
        assert_eq!(macs(Op::Gemm { gemm, beta: 1.0 }, &[&[3, 5], &[3, 7]]), 5 * 3 * 7);
        assert_eq!(macs(Op::Binary(crate::graph::op::Binary::Add), &[&[3], &[3]]), 0);
    }
}
