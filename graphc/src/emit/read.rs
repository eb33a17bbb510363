//! Constants of a graph as emission needs them.

use crate::emit::addends::Bias;
use crate::emit::calls::Reason;
use crate::golden;
use crate::graph::op::{Binary, QParam};
use crate::graph::{Element, Graph, NodeId, Op, Tensor, ValueId};
use crate::rewrite::pattern::Matcher;

/// Reads constants of a graph.
pub(crate) struct Reader<'a> {
    m: Matcher<'a>,
}

impl<'a> Reader<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        Reader { m: Matcher::new(graph) }
    }

    fn elements<T: Element>(&self, id: ValueId) -> Reason<Vec<T>> {
        let value = self.m.graph.value(id);
        let wrong = || format!("`{}` is no constant of the element type that is expected", value.name);
        value.constant.as_ref().and_then(|tensor| tensor.to_vec()).ok_or_else(wrong)
    }

    fn input(&self, node: NodeId, place: usize) -> Reason<ValueId> {
        let input = self.m.graph.node(node).inputs.get(place).copied().flatten();
        input.ok_or_else(|| format!("lacks input {place}"))
    }

    /// A constant input of float32.
    pub fn floats(&self, node: NodeId, place: usize) -> Reason<Vec<f32>> {
        self.elements(self.input(node, place)?)
    }

    /// As [`Self::floats`], or zeros where there is no such input.
    pub fn floats_or(&self, node: NodeId, place: usize, n: usize) -> Reason<Vec<f32>> {
        match self.input(node, place) {
            Ok(id) => self.elements(id),
            Err(_) => Ok(vec![0.0; n]),
        }
    }

    /// A constant input of int8, in the order of its axes.
    pub fn int8(&self, node: NodeId, place: usize) -> Reason<Vec<i8>> {
        self.elements(self.input(node, place)?)
    }

    /// A constant input of int32, or zeros where there is no such input.
    pub fn int32_or(&self, node: NodeId, place: usize, n: usize) -> Reason<Vec<i32>> {
        match self.input(node, place) {
            Ok(id) => self.elements(id),
            Err(_) => Ok(vec![0; n]),
        }
    }

    /// Columns of a constant matrix, one after the other, and how many they are.
    pub fn columns(&self, node: NodeId, place: usize) -> Reason<(Vec<i8>, usize)> {
        let id = self.input(node, place)?;
        let rows: Vec<i8> = self.elements(id)?;
        let &[k, n] = &self.m.graph.value(id).ty.shape[..] else { return Err("its weights are no matrix".to_owned()) };
        Ok(((0..n).flat_map(|column| (0..k).map(move |row| (row, column))).map(|(r, c)| rows[r * n + c]).collect(), n))
    }

    /// Rows of a constant matrix, one after the other, and how many they are.
    pub fn rows(&self, node: NodeId, place: usize) -> Reason<(Vec<i8>, usize)> {
        let id = self.input(node, place)?;
        let &[n, _] = &self.m.graph.value(id).ty.shape[..] else { return Err("its weights are no matrix".to_owned()) };
        Ok((self.elements(id)?, n))
    }

    /// The constant operand of a quantised sum.
    pub fn bias(&self, node: NodeId) -> Reason<Bias> {
        let Op::QLinearBinary { function: Binary::Add, a, b, y } = self.m.graph.node(node).op else {
            return Err("its bias is no quantised sum".to_owned());
        };
        let (first, second) = (self.input(node, 0)?, self.input(node, 1)?);
        if self.m.graph.value(first).constant.is_some() {
            Ok(Bias { elements: self.elements(first)?, q: a, product: b, y, is_first: true })
        } else {
            Ok(Bias { elements: self.elements(second)?, q: b, product: a, y, is_first: false })
        }
    }

    /// Entries of a table, or those that a function, or arithmetic with one constant, amounts to.
    pub fn table(&self, node: NodeId) -> Reason<[u8; 256]> {
        match &self.m.graph.node(node).op {
            Op::Table { table, .. } => Ok(**table),
            Op::QLinearUnary { .. } | Op::QLinearBinary { .. } => Ok(self.through(&[node])?.0),
            _ => Err("is no table".to_owned()),
        }
    }

    /// What the nodes between two tensors of 8 bits do to each value, by its bits, and what the last of them stands for.
    pub fn between(&self, nodes: &[NodeId]) -> Reason<([u8; 256], QParam)> {
        let (table, q) = self.through(nodes)?;
        Ok((table, q.ok_or("its softmax reads no quantised scores")?))
    }

    /// What nodes do to each value of 8 bits, and the parameters of the last DequantizeLinear, which is passed over.
    fn through(&self, nodes: &[NodeId]) -> Reason<([u8; 256], Option<QParam>)> {
        let all: Vec<i8> = (0..=255_u8).map(|bits| bits as i8).collect();
        let mut tensor: Tensor = ndarray::Array1::from(all).into_dyn().into();
        let mut q = None;
        for &id in nodes {
            let node = self.m.graph.node(id);
            if let Op::DequantizeLinear { q: steps, .. } = &node.op {
                q = steps.single();
                continue;
            }
            let constant = |id: ValueId| self.m.graph.value(id).constant.as_deref().cloned();
            let inputs: Vec<Tensor> =
                node.inputs.iter().flatten().map(|&id| constant(id).unwrap_or_else(|| tensor.clone())).collect();
            let views: Vec<Option<&Tensor>> = inputs.iter().map(Some).collect();
            let results = golden::eval(&node.op, &views).map_err(|error| error.to_string())?;
            tensor = results.into_iter().next().ok_or("gives nothing")?;
        }
        let values: Vec<i8> = tensor.to_vec().ok_or("its values become float32 before they are read as 8 bits")?;
        let mut table = [0; 256];
        for (entry, value) in table.iter_mut().zip(values) {
            *entry = value as u8;
        }
        Ok((table, q))
    }
}
