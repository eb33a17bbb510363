//! Node by node: the results of an implementation beside those of a reference, isolated and accumulated.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ccl_golden::compare::{Comparison, compare as compare_arrays};

use crate::golden::eval;
use crate::graph::{Graph, Node, Op, Tensor, TensorView};
use crate::import::NodeReport;
use crate::validate::bar::Bar;
use crate::validate::report::{Accumulated, Difference, Isolated, NodeResult, Status, Validation};
use crate::validate::subject::{Subject, Unit};
use crate::validate::values::Values;

/// Compares every node of a network.
///
/// `nodes` are those of the import's report, so that what the import computed itself is compared too. A node that the subject
/// merged with others has the figures of the tensor that it became part of.
pub fn compare(graph: &Graph, nodes: &[NodeReport], subject: &dyn Subject, reference: &dyn Values) -> Validation {
    let by_name = graph.nodes().iter().map(|node| (node.name.as_str(), node)).collect();
    let cx = Context { graph, by_name, subject, reference };
    let order: HashMap<&str, &NodeReport> = nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let mut results = Vec::new();
    let mut seen = HashSet::new();
    for unit in subject.units() {
        let rows = cx.unit(&unit);
        for name in &unit.nodes {
            seen.insert(name.clone());
            let Some(node) = order.get(name.as_str()) else { continue };
            results.extend(rows.iter().map(|row| (node.index, row.of(node))));
        }
    }
    for node in nodes.iter().filter(|node| !seen.contains(&node.name)) {
        results.extend(cx.known(node).into_iter().map(|row| (node.index, row.of(node))));
    }
    results.sort_by_key(|(index, _)| *index);
    let outputs = graph.outputs().iter().map(|&id| graph.value(id).name.clone()).collect();
    let results = results.into_iter().map(|(_, result)| result).collect();
    Validation::new(subject.label(), reference.label(), outputs, results)
}

struct Context<'a> {
    graph: &'a Graph,
    by_name: HashMap<&'a str, &'a Node>,
    subject: &'a dyn Subject,
    reference: &'a dyn Values,
}

impl Context<'_> {
    /// A row for each tensor of a unit.
    fn unit(&self, unit: &Unit) -> Vec<Row> {
        let isolated = self.subject.isolated(unit, self.reference);
        let of = |names: &[String]| -> Vec<&Op> {
            names.iter().filter_map(|name| self.by_name.get(name.as_str())).map(|node| &node.op).collect()
        };
        let ops = of(&unit.nodes);
        let all = [of(&unit.shares), of(&unit.nodes)].concat();
        let row = |(i, name): (usize, &String)| {
            let Some(expected) = self.reference.tensor(name) else {
                return Row::missing(name, format!("{} does not show it", self.reference.label()));
            };
            let bar = Bar::of_unit(&all, expected.dtype());
            let mut row = match &isolated {
                Ok(tensors) => Row::new(name, &tensors[i], &expected, bar),
                Err(error) => Row::missing(name, error.to_string()),
            };
            row.accumulate(self.subject.tensor(name).as_deref(), &expected);
            if let ([op], Some(first)) = (&ops[..], &mut row.first) {
                first.accumulator = self.accumulator(&unit.nodes[0], op, &first.index);
            }
            row
        };
        unit.outputs.iter().enumerate().map(row).collect()
    }

    /// Rows of a node whose results the import computed.
    fn known(&self, node: &NodeReport) -> Vec<Row> {
        let constants = node.tensors.iter().filter_map(|name| {
            let value = self.graph.value(self.graph.find(name)?).constant.clone()?;
            Some((name, value))
        });
        let row = |(name, value): (&String, Arc<Tensor>)| {
            let Some(expected) = self.reference.tensor(name) else {
                return Row::missing(name, format!("{} does not show it", self.reference.label()));
            };
            let bar = Bar::of_unit(&[&Op::Identity], expected.dtype());
            let mut row = Row::new(name, &value, &expected, bar);
            row.accumulate(Some(&value), &expected);
            row
        };
        constants.map(row).collect()
    }

    /// The int32 accumulator behind an element of a quantised product, on the reference's inputs.
    fn accumulator(&self, node: &str, op: &Op, index: &[usize]) -> Option<i32> {
        let node = self.by_name.get(node)?;
        let input = |i: usize| {
            let value = self.graph.value((*node.inputs.get(i)?)?);
            value.constant.clone().or_else(|| self.reference.tensor(&value.name))
        };
        let (plain, zeros) = match op {
            Op::QLinearConv { conv, x, w, .. } => {
                (Op::ConvInteger(conv.clone()), [(x.dtype, vec![x.zero]), (w.dtype, w.zeros.clone())])
            }
            Op::QLinearMatMul { a, b, .. } => {
                (Op::MatMulInteger, [(a.dtype, vec![a.zero]), (b.dtype, b.zeros.clone())])
            }
            _ => return None,
        };
        let zeros = zeros.map(|(dtype, list)| Tensor::from_i32(dtype, &list));
        let (x, w) = (input(0)?, input(1)?);
        let sums = eval(&plain, &[Some(&x), Some(&w), Some(&zeros[0]), Some(&zeros[1])]).ok()?;
        let sum = *sums[0].view::<i32>()?.get(index)?;
        let bias = input(2).filter(|_| matches!(op, Op::QLinearConv { .. }));
        let bias = bias.and_then(|bias| bias.view::<i32>()?.iter().nth(*index.get(1)?).copied());
        Some(sum.wrapping_add(bias.unwrap_or(0)))
    }
}

/// A tensor's figures, before a node's name is put to them.
#[derive(Debug, Clone)]
struct Row {
    tensor: String,
    expected: Option<(crate::graph::DType, usize)>,
    bar: Option<Bar>,
    isolated: Option<Isolated>,
    first: Option<Difference>,
    accumulated: Option<Accumulated>,
    reason: Option<String>,
    holds: bool,
}

impl Row {
    fn missing(tensor: &str, reason: String) -> Self {
        Row {
            tensor: tensor.to_owned(),
            expected: None,
            bar: None,
            isolated: None,
            first: None,
            accumulated: None,
            reason: Some(reason),
            holds: false,
        }
    }

    fn new(tensor: &str, got: &Tensor, expected: &Tensor, bar: Bar) -> Self {
        let c = match compare_tensors(got, expected) {
            Ok(c) => c,
            Err(reason) => {
                return Row { expected: Some((expected.dtype(), expected.len())), ..Row::missing(tensor, reason) };
            }
        };
        let first = c.first.as_ref().map(|index| Difference {
            index: index.clone(),
            got: got.element(index),
            expected: expected.element(index),
            accumulator: None,
        });
        Row {
            tensor: tensor.to_owned(),
            expected: Some((expected.dtype(), expected.len())),
            bar: Some(bar),
            isolated: Some(Isolated { mismatches: c.mismatches, max_abs_err: c.max_abs_err }),
            first,
            accumulated: None,
            reason: None,
            holds: bar.holds(&c),
        }
    }

    fn accumulate(&mut self, got: Option<&Tensor>, expected: &Tensor) {
        self.expected = Some((expected.dtype(), expected.len()));
        self.accumulated = got.and_then(|got| {
            let c = compare_tensors(got, expected).ok()?;
            let psnr = if expected.dtype().is_int8() { c.psnr_int8() } else { c.psnr_float() };
            Some(Accumulated {
                mismatches: c.mismatches,
                rmse: c.rmse,
                psnr_db: (c.mismatches > 0).then_some(psnr),
                max_abs_err: c.max_abs_err,
                max_err_index: c.max_err_index,
            })
        });
    }

    /// The figures under the name of a node.
    fn of(&self, node: &NodeReport) -> NodeResult {
        NodeResult {
            name: node.name.clone(),
            op: node.op.clone(),
            tensor: self.tensor.clone(),
            dtype: self.expected.map(|(dtype, _)| dtype),
            total: self.expected.map_or(0, |(_, total)| total),
            bar: self.bar,
            isolated: self.isolated.clone(),
            accumulated: self.accumulated.clone(),
            first: self.first.clone(),
            reason: self.reason.clone(),
            status: if self.holds { Status::Pass } else { Status::Fail },
        }
    }
}

/// The figures of a tensor and its reference.
///
/// # Errors
/// In words, where types or shapes differ.
pub fn compare_tensors(got: &Tensor, expected: &Tensor) -> Result<Comparison, String> {
    let unlike = || format!("it is {}, and the reference {}", got.ty(), expected.ty());
    let compared = match (got, expected) {
        (Tensor::F32(a), Tensor::F32(b)) => compare_arrays(a.view(), b.view()),
        (Tensor::I8(a), Tensor::I8(b)) => compare_arrays(a.view(), b.view()),
        (Tensor::U8(a), Tensor::U8(b)) => compare_arrays(a.view(), b.view()),
        (Tensor::I32(a), Tensor::I32(b)) => compare_arrays(a.view(), b.view()),
        (Tensor::I64(a), Tensor::I64(b)) => compare_arrays(a.view(), b.view()),
        (Tensor::Bool(a), Tensor::Bool(b)) => compare_arrays(a.mapv(u8::from).view(), b.mapv(u8::from).view()),
        _ => return Err(unlike()),
    };
    compared.map_err(|_| unlike())
}
