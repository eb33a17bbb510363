//! Chains of element-wise functions of one 8-bit tensor. Whatever is between, the result has 256 possible values, so one
//! table replaces the chain, exactly. GELU in a network of QLinear operators is such a chain, of nine nodes.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::{Array1, ArrayD};

use crate::golden::eval;
use crate::graph::{DType, Graph, Node, Op, Tensor, ValueId};
use crate::rewrite::patch::{Input, NewNode, Patch};
use crate::rewrite::pattern::Matcher;

pub(super) fn find(graph: &Graph) -> Vec<Patch> {
    let matcher = Matcher::new(graph);
    let roots = roots(graph);
    let patches = matcher.nodes().filter_map(|(id, node)| {
        let (&[y], Some(&root)) = (&node.outputs[..], roots.get(node.outputs.first()?)) else { return None };
        let longer = data(graph, node).any(|input| input != root);
        // What goes out as float32 ends a chain at the 8-bit tensor in front of it.
        let leaves = |&reader: &_| {
            let goes_out = |&out: &ValueId| matcher.is_output(out) && !graph.value(out).ty.dtype.is_int8();
            let is_root = |out: &ValueId| roots.get(out) == Some(&root);
            graph.node(reader).outputs.iter().any(|out| !is_root(out) || goes_out(out))
        };
        let end = matcher.is_output(y) || matcher.readers(y).iter().any(leaves);
        if !(longer && end && graph.value(y).ty.dtype.is_int8()) {
            return None;
        }
        let table = table(graph, root, y)?;
        let (from, to) = (graph.value(root).ty.dtype, graph.value(y).ty.dtype);
        let (op, inputs) = (Op::Table { from, table: Arc::new(table), to }, vec![Some(Input::Value(root))]);
        let added = vec![NewNode { op, inputs, output: y, op_type: "Table".to_owned() }];
        Some(Patch { removed: vec![id], added, ..Patch::default() })
    });
    patches.collect()
}

/// Inputs that are no constants.
fn data<'a>(graph: &'a Graph, node: &'a Node) -> impl Iterator<Item = ValueId> + 'a {
    node.inputs.iter().flatten().copied().filter(|&id| graph.value(id).constant.is_none())
}

/// For each value that is a function of the same element of an 8-bit value: that value, as far up as there is one.
fn roots(graph: &Graph) -> HashMap<ValueId, ValueId> {
    let mut roots = HashMap::new();
    for node in graph.nodes() {
        let Some(root) = root(graph, node, &roots) else { continue };
        roots.extend(node.outputs.iter().map(|&y| (y, root)));
    }
    roots
}

fn root(graph: &Graph, node: &Node, roots: &HashMap<ValueId, ValueId>) -> Option<ValueId> {
    if !is_pointwise(&node.op) {
        return None;
    }
    let scalar = |id: ValueId| graph.value(id).ty.len() == 1;
    let constants = node.inputs.iter().flatten().filter(|id| graph.value(**id).constant.is_some());
    if !constants.copied().all(scalar) {
        return None;
    }
    let mut common = None;
    for input in data(graph, node) {
        let own = graph.value(input).ty.dtype.is_int8().then_some(input);
        let root = roots.get(&input).copied().or(own)?;
        if common.is_some_and(|c| c != root) {
            return None;
        }
        common = Some(root);
    }
    let root = common?;
    let shape = |id: ValueId| &graph.value(id).ty.shape;
    // The order of operands in a quantised sum depends on which is a single element, so those stay as they are.
    let kept = node.outputs.iter().all(|&y| shape(y) == shape(root)) && graph.value(root).ty.len() > 1;
    kept.then_some(root)
}

fn is_pointwise(op: &Op) -> bool {
    match op {
        Op::QuantizeLinear { q, .. } | Op::DequantizeLinear { q, .. } => q.scales.len() == 1,
        Op::Unary(_)
        | Op::QLinearUnary { .. }
        | Op::Clip { .. }
        | Op::Binary(_)
        | Op::QLinearBinary { .. }
        | Op::Compare(_)
        | Op::Not
        | Op::Where
        | Op::Cast(_)
        | Op::Table { .. } => true,
        _ => false,
    }
}

/// The bits of `y` for each of the 256 values of its root.
fn table(graph: &Graph, root: ValueId, y: ValueId) -> Option<[u8; 256]> {
    let all: Tensor = match graph.value(root).ty.dtype {
        DType::I8 => Array1::from_iter((0..=255_u8).map(|b| b as i8)).into_dyn().into(),
        _ => Array1::from_iter(0..=255_u8).into_dyn().into(),
    };
    let mut known = HashMap::from([(root, all)]);
    compute(graph, y, &mut known)?;
    let bits: Vec<u8> = match known.remove(&y)? {
        Tensor::I8(a) => a.iter().map(|&v| v as u8).collect(),
        Tensor::U8(a) => a.iter().copied().collect(),
        _ => return None,
    };
    bits.try_into().ok()
}

/// Nodes of a chain: every end of a hostile file's chain could go through all of it.
const MAX_CHAIN: usize = 1000;

/// Computes a value and what it needs, for all 256 values of the root.
fn compute(graph: &Graph, y: ValueId, known: &mut HashMap<ValueId, Tensor>) -> Option<()> {
    let mut open = vec![y];
    while let Some(&id) = open.last() {
        if known.contains_key(&id) {
            open.pop();
            continue;
        }
        if known.len() > MAX_CHAIN {
            return None;
        }
        let node = graph.producer(id)?;
        let missing: Vec<ValueId> = data(graph, node).filter(|input| !known.contains_key(input)).collect();
        if !missing.is_empty() {
            open.extend(missing);
            continue;
        }
        let constants: Vec<Option<Tensor>> = node.inputs.iter().map(|i| i.and_then(|i| scalar(graph, i))).collect();
        let arguments: Vec<Option<&Tensor>> = node
            .inputs
            .iter()
            .zip(&constants)
            .map(|(input, constant)| constant.as_ref().or_else(|| input.and_then(|i| known.get(&i))))
            .collect();
        let result = eval(&node.op, &arguments).ok()?.into_iter().next()?;
        known.insert(id, result);
    }
    Some(())
}

/// A constant of one element without dimensions, so that it broadcasts with the 256 values whatever its rank was.
fn scalar(graph: &Graph, id: ValueId) -> Option<Tensor> {
    let constant = graph.value(id).constant.as_ref()?;
    crate::graph::each_tensor!(&**constant, a => a.iter().next().map(|&v| ArrayD::from_elem(ndarray::IxDyn(&[]), v).into()))
}
