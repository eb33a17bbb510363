//! Grouping: the nodes of a rewritten graph as steps, by patterns. A node that no pattern takes is an error that names it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::attention::{self, Attention};
use crate::graph::op::{Binary, Interpolation, QParam};
use crate::graph::{DType, Graph, Node, NodeId, Op, ValueId};
use crate::macs;
use crate::plan::error::Ungrouped;
use crate::plan::layout::View;
use crate::plan::step::{Buffer, Dense, FIXED, Kind, Norm, Operand, Order, Step};
use crate::rewrite::pattern::Matcher;

/// A graph as steps.
#[derive(Debug, Clone, Default)]
pub struct Grouped {
    /// Steps, in an order in which they can run.
    pub steps: Vec<Step>,
    /// Buffers, by the value they are made for.
    pub buffers: BTreeMap<ValueId, Buffer>,
    /// Where values lie that are tensors of the device.
    pub views: HashMap<ValueId, View>,
    /// Nodes that only give a buffer another name.
    pub aliases: Vec<NodeId>,
    /// Nodes of the host, before and after the network.
    pub host: Vec<NodeId>,
    /// What becomes slow, and why.
    pub notes: Vec<String>,
}

/// Groups every node.
///
/// # Errors
/// Every node that no pattern takes; those behind one are no error of their own.
pub fn group(graph: &Graph) -> Result<Grouped, Vec<Ungrouped>> {
    let mut grouper = Grouper::new(graph);
    grouper.inputs();
    for (i, node) in graph.nodes().iter().enumerate() {
        let id = NodeId(i as u32);
        if grouper.taken[id.index()] || grouper.is_behind(node) {
            continue;
        }
        if let Err(reason) = grouper.node(id, node) {
            grouper.errors.push(Ungrouped::new(node, reason));
        }
    }
    if !grouper.errors.is_empty() {
        return Err(grouper.errors);
    }
    settle(graph, &mut grouper.out.steps);
    Ok(super::decode_head::join(graph, super::mix_ffn::join(graph, grouper.out)))
}

/// What float32 values of the graph are on the device.
#[derive(Debug, Clone)]
enum Float {
    /// A network input.
    Input,
    /// Steps of another buffer.
    Steps(ValueId, QParam),
    /// The result of a norm, and the steps that it comes from.
    Norm(Norm, Operand),
    /// The result of a softmax, and the steps that it comes from.
    Softmax(NodeId, Operand),
}

struct Grouper<'a> {
    m: Matcher<'a>,
    out: Grouped,
    /// Nodes that belong to a step already.
    taken: Vec<bool>,
    /// Attentions, by their last node.
    attentions: HashMap<NodeId, Attention>,
    /// Dense layers, by their last node.
    dense: HashMap<NodeId, (NodeId, Option<NodeId>, Option<NodeId>)>,
    floats: HashMap<ValueId, Float>,
    /// Quantised results of norms, so that a second quantisation by the same parameters is the same tensor.
    normed: Vec<(NodeId, QParam, ValueId)>,
    errors: Vec<Ungrouped>,
}

type Reason = Result<(), String>;

/// What is said of a node of a float network.
const OF_FLOAT: &str = "no kernel takes it in float\n  help: quantise the network with `graphc quantize`, or on the way with `--ranges auto`";

impl<'a> Grouper<'a> {
    fn new(graph: &'a Graph) -> Self {
        let attentions = attention::find(graph);
        let mut this = Grouper {
            m: Matcher::new(graph),
            out: Grouped::default(),
            taken: vec![false; graph.nodes().len()],
            attentions: HashMap::new(),
            dense: HashMap::new(),
            floats: HashMap::new(),
            normed: Vec::new(),
            errors: Vec::new(),
        };
        for a in attentions.into_iter().filter(|a| is_quantised(graph, a)) {
            for id in [a.scores, a.softmax].iter().chain(&a.before).chain(&a.after) {
                this.taken[id.index()] = true;
            }
            this.attentions.insert(a.context, a);
        }
        for (i, node) in graph.nodes().iter().enumerate() {
            this.claim_dense(NodeId(i as u32), node);
        }
        this
    }

    /// A product with weights takes the sum with constants behind it, and the sum with another tensor behind that.
    fn claim_dense(&mut self, id: NodeId, node: &Node) {
        let is_dense = matches!(node.op, Op::QLinearMatMul { .. } | Op::QGemm { .. })
            && node.inputs.get(1).copied().flatten().is_some_and(|w| self.is_constant(w));
        if !is_dense {
            return;
        }
        // A QGemm has its bias in the sums of the product already.
        let constant_sum =
            |&(_, other): &(NodeId, ValueId)| matches!(node.op, Op::QLinearMatMul { .. }) && self.is_constant(other);
        let bias = self.sum_behind(node.outputs[0]).filter(constant_sum).map(|(sum, _)| sum);
        let end = bias.map_or(node.outputs[0], |sum| self.m.graph.node(sum).outputs[0]);
        let residual = self.sum_behind(end).filter(|&(sum, other)| {
            let same = self.m.graph.value(other).ty == self.m.graph.value(end).ty;
            !self.is_constant(other) && same && !self.dense.contains_key(&sum)
        });
        let residual = residual.map(|(sum, _)| sum);
        let last = residual.or(bias).unwrap_or(id);
        for taken in [Some(id), bias, residual].into_iter().flatten().filter(|&taken| taken != last) {
            self.taken[taken.index()] = true;
        }
        self.dense.insert(last, (id, bias, residual));
    }

    /// The quantised sum that alone reads a value, and its other operand.
    fn sum_behind(&self, value: ValueId) -> Option<(NodeId, ValueId)> {
        let (id, node) = self.m.only_reader(value)?;
        let is_sum = matches!(node.op, Op::QLinearBinary { function: Binary::Add, .. });
        match node.inputs[..] {
            [Some(a), Some(b)] if is_sum && a != b => Some((id, if a == value { b } else { a })),
            _ => None,
        }
    }

    /// Whether nothing of the network is quantised.
    fn is_float(&self) -> bool {
        !self.m.graph.values().iter().any(|value| value.ty.dtype.is_int8())
    }

    fn is_constant(&self, id: ValueId) -> bool {
        self.m.graph.value(id).constant.is_some()
    }

    fn inputs(&mut self) {
        for &id in self.m.graph.inputs() {
            let ty = &self.m.graph.value(id).ty;
            let view = View::fresh(id, &ty.shape, channel_axis(&ty.shape));
            match ty.dtype {
                DType::F32 => {
                    self.floats.insert(id, Float::Input);
                }
                DType::I8 => self.quantised_input(id, &view),
                other => {
                    for &reader in self.m.readers(id) {
                        let node = self.m.graph.node(reader);
                        let reason = format!("it reads an input of {other}, and the device takes float32 and int8");
                        self.errors.push(Ungrouped::new(node, reason));
                    }
                    continue;
                }
            }
            self.out.views.insert(id, view);
        }
    }

    /// An input that the host only lays out.
    fn quantised_input(&mut self, id: ValueId, view: &View) {
        let (channels, pixels) = view.extents();
        let grid = view.as_image().map_or((1, pixels), |image| (image.height, image.width));
        let (order, q) = (input_order(&self.m, id), self.quantisation(id));
        self.out.buffers.insert(id, Buffer { root: id, channels, pixels, grid, order, element_bytes: 1, q });
        self.out.steps.push(Step { kind: Kind::Input { value: id }, nodes: Vec::new(), writes: id, macs: 0 });
    }

    /// Whether what a node reads was not made, since something before it is an error.
    fn is_behind(&self, node: &Node) -> bool {
        let lost = |&id: &ValueId| !self.is_constant(id) && !self.out.views.contains_key(&id);
        let chain_begins_here =
            |id: &ValueId| self.m.producer(*id).is_some_and(|(producer, _)| self.taken[producer.index()]);
        node.inputs.iter().flatten().any(|id| lost(id) && !chain_begins_here(id))
    }

    fn node(&mut self, id: NodeId, node: &'a Node) -> Reason {
        if let Some(attention) = self.attentions.remove(&id) {
            return self.attention(id, attention);
        }
        if let Some((product, bias, residual)) = self.dense.remove(&id) {
            return self.dense(id, product, bias, residual);
        }
        match &node.op {
            Op::Reshape { shape } => self.alias(id, node, |view| view.reshaped(shape)),
            Op::Transpose { permutation } => self.alias(id, node, |view| view.transposed(permutation)),
            Op::Resize { .. } if self.keeps_extents(node) => self.alias(id, node, |view| Some(view.clone())),
            Op::DequantizeLinear { q, .. } => self.dequantise(id, node, q.single()),
            Op::LayerNormalization { axis, .. } => self.norm(id, node, *axis),
            Op::Softmax { first, last } => self.softmax(id, node, [*first, *last]),
            Op::QuantizeLinear { q, .. } => self.quantise(id, node, q.single()),
            Op::QLinearConv { x, y, .. } => {
                let x = self.operand(node, 0, *x)?;
                let x = self.image(node, 0, x)?;
                self.step(id, Kind::Conv { node: id, x }, image_of(self.m.graph, node)?, *y)
            }
            Op::Table { from: DType::I8, to: DType::I8, .. } => {
                let (x, q) = (self.elements(node, 0)?, self.quantisation(node.outputs[0]));
                let view = x.view.of_root(node.outputs[0]);
                self.step_of(id, Kind::Table { node: id, x }, view, Order::Packed, q)
            }
            Op::QLinearUnary { x, y, .. } if [x.dtype, y.dtype] == [DType::I8; 2] => {
                let x = self.operand(node, 0, *x)?;
                let view = x.view.of_root(node.outputs[0]);
                self.step_of(id, Kind::Table { node: id, x }, view, Order::Packed, Some(*y))
            }
            Op::QLinearBinary { function, a, b, y } => self.binary(id, node, *function, [*a, *b], *y),
            Op::Resize { interpolation, .. } => {
                let x = self.elements(node, 0)?;
                let x = self.image(node, 0, x)?;
                if matches!(interpolation, Interpolation::Nearest(_)) {
                    self.out.notes.push(format!("node `{}`: nearest neighbours are read at random", node.name));
                }
                let q = x.q;
                self.step(id, Kind::Resize { node: id, x }, image_of(self.m.graph, node)?, q)
            }
            Op::QLinearConcat { axis, inputs, y } => self.concat(id, node, *axis, inputs, *y),
            Op::ArgMax { axis: 1, .. } => self.argmax(id, node),
            Op::Cast(_) if self.is_labels(node) => {
                let view = self.view(node.inputs[0].ok_or("it reads nothing")?)?;
                self.out.views.insert(node.outputs[0], view);
                self.out.host.push(id);
                Ok(())
            }
            Op::MaxPool { .. } => {
                let x = self.elements(node, 0)?;
                let x = self.image(node, 0, x)?;
                let q = x.q;
                self.step(id, Kind::Pool { node: id, x }, image_of(self.m.graph, node)?, q)
            }
            Op::QLinearAveragePool { x, y, .. } | Op::QLinearGlobalAveragePool { x, y } => {
                let x = self.operand(node, 0, *x)?;
                let x = self.image(node, 0, x)?;
                self.step(id, Kind::Pool { node: id, x }, image_of(self.m.graph, node)?, *y)
            }
            _ if self.is_float() => Err(OF_FLOAT.to_owned()),
            _ => Err("no kernel takes it; quantise the network, or exclude the node from it on both sides".to_owned()),
        }
    }

    /// A node that names a buffer anew; where that is no view, elements move.
    fn alias(&mut self, id: NodeId, node: &Node, f: impl Fn(&View) -> Option<View>) -> Reason {
        let from = self.view(node.inputs[0].ok_or("it reads nothing")?)?;
        if let Some(view) = f(&from) {
            self.out.aliases.push(id);
            self.out.views.insert(node.outputs[0], view);
            return Ok(());
        }
        let x = self.elements(node, 0).map_err(|_| "a float tensor cannot be rearranged so".to_owned())?;
        Err(format!("{} elements of one axis lie across channels and pixels, which no kernel moves", x.view.len()))
    }

    /// An operand as an image; where it is none, its elements move.
    fn image(&mut self, node: &Node, place: usize, x: Operand) -> Result<Operand, String> {
        if x.view.as_image().is_some() { Ok(x) } else { self.moved(node, place, x) }
    }

    /// An operand in a buffer of its own, where it lies as its shape says.
    fn moved(&mut self, node: &Node, place: usize, x: Operand) -> Result<Operand, String> {
        let value = node.inputs.get(place).copied().flatten().ok_or("lacks an operand")?;
        let shape = &self.m.graph.value(value).ty.shape;
        let view = View::fresh(value, shape, channel_axis(shape));
        let named = x.view.root == value || view.as_rows().is_none() && view.as_image().is_none();
        let source = x.view.as_source(channel_axis(shape)).filter(|_| !named);
        let Some(source) = source else { return Err("its input lies as no kernel reads it".to_owned()) };
        let name = &self.m.graph.value(value).name;
        self.out.notes.push(format!("tensor `{name}`: is no view of its source, so that its elements move one by one"));
        let q = x.q;
        let grid = view.as_image().map_or((1, view.extents().1), |image| (image.height, image.width));
        let (channels, pixels) = view.extents();
        let buffer = Buffer { root: value, channels, pixels, grid, order: Order::Packed, element_bytes: 1, q: Some(q) };
        self.out.buffers.insert(value, buffer);
        self.out.views.insert(value, view.clone());
        self.out.steps.push(Step { kind: Kind::Move { x, source }, nodes: Vec::new(), writes: value, macs: 0 });
        Ok(Operand { view, q })
    }

    fn dequantise(&mut self, id: NodeId, node: &Node, q: Option<QParam>) -> Reason {
        let q = q.ok_or("scales by channel, expected one")?;
        let x = self.operand(node, 0, q)?;
        let y = node.outputs[0];
        if self.m.is_output(y) {
            self.out.host.push(id);
        } else {
            self.taken[id.index()] = true;
        }
        self.floats.insert(y, Float::Steps(x.view.root, q));
        self.out.views.insert(y, x.view.of_root(y));
        Ok(())
    }

    fn norm(&mut self, id: NodeId, node: &Node, axis: usize) -> Reason {
        let view = self.view(node.inputs[0].ok_or("it reads nothing")?)?;
        if view.as_rows().is_none() || axis + 1 != view.shape().len() {
            return Err("normalises over other axes than the features of tokens".to_owned());
        }
        let constant = |i: usize| node.inputs.get(i).copied().flatten().is_none_or(|id| self.is_constant(id));
        if !constant(1) || !constant(2) {
            return Err("gamma and beta are no constants".to_owned());
        }
        let (norm, x) = match self.floats.get(&view.root) {
            Some(Float::Steps(root, q)) => {
                (Norm { node: id, before: None }, Operand { view: view.of_root(*root), q: *q })
            }
            Some(Float::Norm(before, x)) => {
                let before = Some(Box::new(before.clone()));
                (Norm { node: id, before }, x.clone())
            }
            Some(Float::Softmax(..)) => return Err("normalises a float32 softmax, expected a quantised one".to_owned()),
            Some(Float::Input) | None => return Err("normalises a float input, expected a quantised tensor".to_owned()),
        };
        let y = node.outputs[0];
        self.taken[id.index()] = true;
        self.out.views.insert(y, view.of_root(y));
        if self.m.is_output(y) {
            let kind = Kind::Norm { norm: norm.clone(), x: x.clone() };
            self.step_of(id, kind, view.of_root(y), Order::Packed, None)?;
        }
        self.floats.insert(y, Float::Norm(norm, x));
        Ok(())
    }

    /// A softmax that is none of an attention.
    fn softmax(&mut self, id: NodeId, node: &Node, [first, last]: [usize; 2]) -> Reason {
        let view = self.view(node.inputs[0].ok_or("it reads nothing")?)?;
        if view.as_rows().is_none() || first != last || last + 1 != view.shape().len() {
            return Err("goes over other axes than the features of tokens".to_owned());
        }
        let Some(Float::Steps(root, q)) = self.floats.get(&view.root) else {
            return Err("reads a float tensor, expected a quantised one".to_owned());
        };
        let (x, y) = (Operand { view: view.of_root(*root), q: *q }, node.outputs[0]);
        if self.m.is_output(y) {
            return Err("writes float32: quantise the network's output".to_owned());
        }
        self.taken[id.index()] = true;
        self.out.views.insert(y, view.of_root(y));
        self.floats.insert(y, Float::Softmax(id, x));
        Ok(())
    }

    fn quantise(&mut self, id: NodeId, node: &Node, q: Option<QParam>) -> Reason {
        let q = q.ok_or("scales by channel, expected one")?;
        let view = self.view(node.inputs[0].ok_or("it reads nothing")?)?;
        let y = node.outputs[0];
        match self.floats.get(&view.root).cloned() {
            Some(Float::Input) => {
                let kind = Kind::Input { value: view.root };
                self.step_of(id, kind, view.of_root(y), input_order(&self.m, y), Some(q))
            }
            Some(Float::Norm(norm, x)) => {
                let same = self.normed.iter().find(|(n, p, _)| *n == norm.node && *p == q);
                if let Some(&(.., root)) = same {
                    self.out.views.insert(y, view.of_root(root));
                    self.out.aliases.push(id);
                    return Ok(());
                }
                self.normed.push((norm.node, q, y));
                self.step_of(id, Kind::Norm { norm, x }, view.of_root(y), Order::Packed, Some(q))
            }
            Some(Float::Softmax(node, x)) => {
                self.step_of(id, Kind::Softmax { node, x }, view.of_root(y), Order::Packed, Some(q))
            }
            Some(Float::Steps(..)) => Err("only changes the scale, which `fold-tables` should have folded".to_owned()),
            None => Err("quantises what is no tensor of the device".to_owned()),
        }
    }

    fn dense(&mut self, id: NodeId, product: NodeId, bias: Option<NodeId>, residual: Option<NodeId>) -> Reason {
        let graph = self.m.graph;
        let node = graph.node(product);
        let (Op::QLinearMatMul { a, .. } | Op::QGemm { a, .. }) = &node.op else {
            return Err("is no quantised product".to_owned());
        };
        let x = self.operand(node, 0, *a)?;
        let x = if x.view.as_rows().is_some() { x } else { self.moved(node, 0, x)? };
        x.view.as_rows().ok_or("its input does not lie as tokens")?;
        let last = graph.node(id);
        let y = last.outputs[0];
        let mut end = node.outputs[0];
        if let Some(sum) = bias {
            end = graph.node(sum).outputs[0];
        }
        let residual = residual.map(|sum| self.residual(sum, end)).transpose()?;
        let shape = &graph.value(y).ty.shape;
        let view = View::fresh(y, shape, shape.len().checked_sub(1));
        if let Some((_, other)) = &residual
            && !other.view.same_places(&view)
        {
            return Err("what is added to it lies otherwise".to_owned());
        }
        let dense = Dense { product, x, bias, residual };
        let q = self.quantisation(y);
        self.step_of(id, Kind::Dense(dense), view, Order::Packed, q)
    }

    fn residual(&self, sum: NodeId, value: ValueId) -> Result<(NodeId, Operand), String> {
        let node = self.m.graph.node(sum);
        let Op::QLinearBinary { a, b, .. } = &node.op else { return Err("is no quantised sum".to_owned()) };
        let (place, q) = if node.inputs[0] == Some(value) { (1, *b) } else { (0, *a) };
        Ok((sum, self.operand(node, place, q)?))
    }

    fn attention(&mut self, id: NodeId, found: Attention) -> Reason {
        let graph = self.m.graph;
        let (Op::QLinearMatMul { a: q, b: k, .. }, Op::QLinearMatMul { b: v, .. }) =
            (&graph.node(found.scores).op, &graph.node(found.context).op)
        else {
            return Err("its products are not quantised".to_owned());
        };
        let heads = |id: ValueId, q: QParam, transposed: bool| -> Result<Operand, String> {
            let mut view = self.view(id)?;
            if transposed {
                let mut axes: Vec<usize> = (0..view.shape().len()).collect();
                let n = axes.len();
                axes.swap(n - 2, n - 1);
                view = view.transposed(&axes).ok_or("has other axes")?;
            }
            view.as_heads().ok_or("a factor of its products does not lie as heads")?;
            Ok(Operand { view, q })
        };
        let single = |q: Option<QParam>| q.ok_or("scales by column, expected one");
        let queries = heads(found.queries, *q, false)?;
        let keys = heads(found.keys, single(k.single())?, true)?;
        let values = heads(found.values, single(v.single())?, false)?;
        let y = graph.node(id).outputs[0];
        let view = heads_view(y, &graph.value(y).ty.shape);
        let q = self.quantisation(y);
        let kind = Kind::Attention { attention: Box::new(found), queries, keys, values };
        self.step_of(id, kind, view, Order::Packed, q)
    }

    fn binary(&mut self, id: NodeId, node: &'a Node, function: Binary, q: [QParam; 2], y: QParam) -> Reason {
        let [Some(a), Some(b)] = node.inputs[..] else { return Err("lacks an operand".to_owned()) };
        let out = node.outputs[0];
        match (self.is_constant(a), self.is_constant(b)) {
            (false, false) => {
                let (a, b) = (self.operand(node, 0, q[0])?, self.operand(node, 1, q[1])?);
                if !a.view.same_places(&b.view) {
                    return Err("its operands lie differently in memory, or one is repeated".to_owned());
                }
                let view = a.view.of_root(out);
                self.step_of(id, Kind::Binary { node: id, a, b }, view, Order::Packed, Some(y))
            }
            (true, true) => Err("has constant operands only".to_owned()),
            (left, _) => {
                let place = usize::from(left);
                let x = self.operand(node, place, q[place])?;
                let constant = if left { a } else { b };
                let n = self.m.graph.value(constant).ty.len();
                if n == 1 && x.view.len() > 1 && x.view.shape() == self.m.graph.value(out).ty.shape {
                    let view = x.view.of_root(out);
                    return self.step_of(id, Kind::Table { node: id, x }, view, Order::Packed, Some(y));
                }
                let is_bias = x.view.as_rows().is_some_and(|rows| rows.features == n);
                if function != Binary::Add || !is_bias {
                    return Err("the constant operand is no sum with one number for each channel".to_owned());
                }
                let view = x.view.of_root(out);
                self.step_of(id, Kind::Bias { node: id, x }, view, Order::Packed, Some(y))
            }
        }
    }

    fn concat(&mut self, id: NodeId, node: &Node, axis: usize, q: &[QParam], y: QParam) -> Reason {
        let mut xs = Vec::new();
        for (i, q) in q.iter().enumerate() {
            if axis != 1 {
                return Err("joins other axes than the channels of images".to_owned());
            }
            let x = self.operand(node, i, *q)?;
            xs.push(self.image(node, i, x)?);
        }
        let view = image_of(self.m.graph, node)?;
        let (mut first, n) = (0, xs.len());
        for (i, x) in xs.into_iter().enumerate() {
            let (channels, _) = x.view.extents();
            let made = self.out.steps.iter().rposition(|step| step.writes == x.view.root);
            let kind = Kind::Put { node: id, x, first, is_last: i + 1 == n };
            self.step(id, kind, view.clone(), y)?;
            let mut put = self.out.steps.pop().ok_or("is no step")?;
            if i > 0 {
                put.nodes.clear();
            }
            self.out.steps.insert(made.map_or(0, |at| at + 1), put);
            first += channels;
        }
        Ok(())
    }

    fn argmax(&mut self, id: NodeId, node: &Node) -> Reason {
        let x = self.elements(node, 0)?;
        let x = self.image(node, 0, x)?;
        let image = x.view.as_image().ok_or("its input does not lie as an image")?;
        if image.channels > 256 {
            return Err(format!("{} channels, expected at most 256: a label has 8 bits", image.channels));
        }
        let out = node.outputs[0];
        let shape = [1, 1, image.height, image.width];
        let buffer = View::fresh(out, &shape, Some(1));
        let view = buffer.reshaped(&self.m.graph.value(out).ty.shape).ok_or("has another shape")?;
        self.step_of(id, Kind::ArgMax { node: id, x }, view, Order::Planar, None)
    }

    fn is_labels(&self, node: &Node) -> bool {
        let labels = |id| self.m.producer(id).is_some_and(|(_, n)| matches!(n.op, Op::ArgMax { .. }));
        node.inputs[0].is_some_and(labels) && self.m.is_output(node.outputs[0])
    }

    fn keeps_extents(&self, node: &Node) -> bool {
        node.inputs[0].is_some_and(|x| self.m.graph.value(x).ty.shape == self.m.graph.value(node.outputs[0]).ty.shape)
    }

    fn view(&self, id: ValueId) -> Result<View, String> {
        let lost = || format!("reads `{}`, which is a constant or was not made", self.m.graph.value(id).name);
        self.out.views.get(&id).cloned().ok_or_else(lost)
    }

    /// An 8-bit input with the parameters that a node states for it.
    fn operand(&self, node: &Node, place: usize, q: QParam) -> Result<Operand, String> {
        let id = node.inputs.get(place).copied().flatten().ok_or("lacks an operand")?;
        if self.m.graph.value(id).ty.dtype != DType::I8 {
            return Err(format!("reads {}, expected i8", self.m.graph.value(id).ty));
        }
        Ok(Operand { view: self.view(id)?, q })
    }

    /// An 8-bit input whose parameters the node does not state.
    fn elements(&self, node: &Node, place: usize) -> Result<Operand, String> {
        let id = node.inputs.get(place).copied().flatten().ok_or("lacks an operand")?;
        let root = self.view(id)?.root;
        let known = self.out.buffers.get(&root).and_then(|buffer| buffer.q);
        // Tables, resizes and maxima mean the same for any scale.
        self.operand(node, place, known.unwrap_or(QParam { scale: 1.0, zero: 0, dtype: DType::I8 }))
    }

    /// What the elements of a value stand for, as its first reader states it.
    fn quantisation(&self, value: ValueId) -> Option<QParam> {
        super::quantisation::of(&self.m, value)
    }

    fn step(&mut self, id: NodeId, kind: Kind, view: View, q: QParam) -> Reason {
        self.step_of(id, kind, view, Order::Packed, Some(q))
    }

    fn step_of(&mut self, id: NodeId, kind: Kind, view: View, order: Order, q: Option<QParam>) -> Reason {
        let graph = self.m.graph;
        let y = graph.node(id).outputs[0];
        let (channels, pixels) = view.extents();
        let grid = view.as_image().map_or((1, pixels), |image| (image.height, image.width));
        let wide = matches!(kind, Kind::Norm { .. }) && q.is_none();
        let element_bytes = if wide { 4 } else { 1 };
        let (order, q) = if wide { (Order::Planar, Some(FIXED)) } else { (order, q) };
        let buffer = Buffer { root: view.root, channels, pixels, grid, order, element_bytes, q };
        self.out.buffers.insert(view.root, buffer);
        self.out.views.insert(y, view.clone());
        let nodes = nodes_of(&kind, id);
        let macs = nodes.iter().map(|&n| macs::of_node(graph, graph.node(n))).sum();
        for &node in &nodes {
            self.taken[node.index()] = true;
        }
        self.out.steps.push(Step { kind, nodes, writes: view.root, macs });
        Ok(())
    }
}

/// The nodes of a step; `last` is the one that writes.
fn nodes_of(kind: &Kind, last: NodeId) -> Vec<NodeId> {
    match kind {
        Kind::Dense(dense) => {
            [Some(dense.product), dense.bias, dense.residual.as_ref().map(|r| r.0)].into_iter().flatten().collect()
        }
        Kind::Attention { attention: a, .. } => {
            let (before, after) = (a.before.iter().copied(), a.after.iter().copied());
            std::iter::once(a.scores).chain(before).chain([a.softmax]).chain(after).chain([a.context]).collect()
        }
        // Norms share what is before them: `settle` gives each node to the first step that needs it.
        _ => vec![last],
    }
}

/// Gives the nodes of chains of norms to the first step that needs them.
fn settle(graph: &Graph, steps: &mut [Step]) {
    let mut owned: HashSet<NodeId> = steps.iter().flat_map(|step| step.nodes.iter().copied()).collect();
    for step in steps {
        let mut at = match &step.kind {
            Kind::Norm { norm, .. } => Some(norm.node),
            Kind::Softmax { node, .. } => Some(*node),
            _ => continue,
        };
        while let Some(node) = at {
            let op = &graph.node(node).op;
            let is_move = matches!(op, Op::Reshape { .. } | Op::Transpose { .. });
            let is_float =
                matches!(op, Op::LayerNormalization { .. } | Op::Softmax { .. } | Op::DequantizeLinear { .. });
            if !is_float && !is_move {
                break;
            }
            if !is_move && owned.insert(node) {
                step.nodes.push(node);
            }
            at = graph.node(node).inputs[0].and_then(|input| graph.value(input).producer);
            if matches!(op, Op::DequantizeLinear { .. }) {
                break;
            }
        }
        step.nodes.sort_unstable();
    }
}

/// Whether an attention is one of 8-bit tensors on both sides.
fn is_quantised(graph: &Graph, a: &Attention) -> bool {
    [a.scores, a.context].iter().all(|&id| matches!(graph.node(id).op, Op::QLinearMatMul { .. }))
}

/// The axis of channels of a tensor that comes from outside: images have them first, tokens last.
fn channel_axis(shape: &[usize]) -> Option<usize> {
    match shape.len() {
        0 => None,
        1 => Some(0),
        4 => Some(1),
        rank => Some(rank - 1),
    }
}

/// Images that a strided convolution reads come plane by plane: a flow brings a patch of such planes by words.
fn input_order(m: &Matcher, value: ValueId) -> Order {
    let planar = |id: &NodeId| match &m.graph.node(*id).op {
        Op::QLinearConv { conv, .. } => {
            let strides = conv.window.strides;
            strides[0] > 1 && strides[0] == strides[1] && conv.groups == 1
        }
        _ => false,
    };
    let few = m.graph.value(value).ty.shape.get(1).is_some_and(|&channels| channels < 4);
    if few && !m.readers(value).is_empty() && m.readers(value).iter().all(planar) {
        Order::Planar
    } else {
        Order::Packed
    }
}

/// The view of an image that a node writes.
fn image_of(graph: &Graph, node: &Node) -> Result<View, String> {
    let shape = &graph.value(node.outputs[0]).ty.shape;
    let view = View::fresh(node.outputs[0], shape, Some(1));
    view.as_image().ok_or(format!("writes {shape:?}, expected one image"))?;
    Ok(view)
}

/// The view of `[.., heads, N, D]`: each head a range of the channels.
fn heads_view(root: ValueId, shape: &[usize]) -> View {
    let rank = shape.len();
    let heads: usize = shape[..rank - 2].iter().product();
    let (tokens, features) = (shape[rank - 2], shape[rank - 1]);
    let rows = View::fresh(root, &[tokens, heads * features], Some(1));
    let split = rows.reshaped(&[tokens, heads, features]).and_then(|view| view.transposed(&[1, 0, 2]));
    let whole = split.and_then(|view| view.reshaped(shape));
    whole.expect("ranges of channels are a view")
}
