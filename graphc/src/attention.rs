//! Attention as it stands in a graph: a product of queries and keys, a softmax over it, a product with values. Found, not
//! replaced: planning decides what becomes one kernel.

use crate::graph::op::Binary;
use crate::graph::{Graph, Node, NodeId, Op, ValueId};
use crate::rewrite::pattern::Matcher;

/// One attention; all its heads are in the leading dimensions of its products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attention {
    /// The product of queries and keys.
    pub scores: NodeId,
    /// Nodes between that product and the softmax, in order: scaling, dequantisation.
    pub before: Vec<NodeId>,
    /// The softmax.
    pub softmax: NodeId,
    /// Nodes between the softmax and the product with the values, in order.
    pub after: Vec<NodeId>,
    /// The product of weights and values.
    pub context: NodeId,
    /// Queries, `[.., n_queries, head]`.
    pub queries: ValueId,
    /// Keys, transposed, `[.., head, n_keys]`.
    pub keys: ValueId,
    /// Values, `[.., n_keys, value]`.
    pub values: ValueId,
    /// Product of the leading dimensions: images times heads.
    pub n_heads: usize,
    /// Rows of the scores.
    pub n_queries: usize,
    /// Columns of the scores.
    pub n_keys: usize,
    /// Extent of a query and of a key, in elements.
    pub head: usize,
    /// Extent of a value, in elements.
    pub value: usize,
}

/// Every attention of a graph, in the order of the softmaxes.
pub fn find(graph: &Graph) -> Vec<Attention> {
    let matcher = Matcher::new(graph);
    matcher.nodes().filter_map(|(id, node)| around(&matcher, id, node)).collect()
}

/// Matches from the softmax to both sides.
fn around(m: &Matcher, softmax: NodeId, node: &Node) -> Option<Attention> {
    let (Op::Softmax { first, last } | Op::QLinearSoftmax { first, last, .. }) = node.op else { return None };
    let scores_type = &m.graph.value(node.outputs[0]).ty;
    let rank = scores_type.shape.len();
    if first != last || last + 1 != rank || rank < 2 {
        return None;
    }
    let (scores, before) = backwards(m, node.inputs[0]?)?;
    let (context, after, weights) = forwards(m, node.outputs[0])?;
    let (product, sum) = (m.graph.node(scores), m.graph.node(context));
    let (queries, keys) = (product.inputs[0]?, product.inputs[1]?);
    let (left, values) = (sum.inputs[0]?, sum.inputs[1]?);
    if left != weights {
        return None;
    }
    let last_extent = |id: ValueId| m.graph.value(id).ty.shape.last().copied();
    Some(Attention {
        scores,
        before,
        softmax,
        after,
        context,
        queries,
        keys,
        values,
        n_heads: scores_type.shape[..rank - 2].iter().product(),
        n_queries: scores_type.shape[rank - 2],
        n_keys: scores_type.shape[rank - 1],
        head: last_extent(queries)?,
        value: last_extent(values)?,
    })
}

/// The product that a value comes from, and what is between.
fn backwards(m: &Matcher, mut at: ValueId) -> Option<(NodeId, Vec<NodeId>)> {
    let mut between = Vec::new();
    loop {
        m.only_reader(at)?;
        let (id, node) = m.producer(at)?;
        if is_product(m, node) {
            between.reverse();
            return Some((id, between));
        }
        at = passes(m, node)?;
        between.push(id);
    }
}

/// The product that reads a value, what is between, and the value that it reads.
fn forwards(m: &Matcher, mut at: ValueId) -> Option<(NodeId, Vec<NodeId>, ValueId)> {
    let mut between = Vec::new();
    loop {
        let (id, node) = m.only_reader(at)?;
        if is_product(m, node) {
            return Some((id, between, at));
        }
        passes(m, node)?;
        between.push(id);
        at = node.outputs[0];
    }
}

/// Whether a node is a product of two tensors that both are data.
fn is_product(m: &Matcher, node: &Node) -> bool {
    let data = node.inputs.iter().flatten().filter(|id| m.graph.value(**id).constant.is_none()).count();
    matches!(node.op, Op::MatMul | Op::QLinearMatMul { .. }) && data == 2
}

/// The data of a node that scales, offsets by a constant, or changes the number format.
fn passes(m: &Matcher, node: &Node) -> Option<ValueId> {
    let passes = matches!(
        node.op,
        Op::QuantizeLinear { .. }
            | Op::DequantizeLinear { .. }
            | Op::Binary(Binary::Mul | Binary::Div | Binary::Add)
            | Op::QLinearBinary { function: Binary::Mul | Binary::Add, .. }
    );
    let mut data = node.inputs.iter().flatten().copied().filter(|&id| m.graph.value(id).constant.is_none());
    let one = data.next()?;
    (passes && data.next().is_none()).then_some(one)
}
