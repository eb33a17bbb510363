//! From the messages of a file to a graph: names become values, dynamic extents are bound, nodes are put in order and read by
//! the operator table, and what is known before any input is computed at once (exporters write whole chains of Shape, Slice,
//! Concat and Cast). Everything that is wrong is found in one pass.

mod annotate;
mod order;
mod report;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::golden::eval;
use crate::graph::{Builder, Graph, GraphError, Op, Origin, Tensor, Type, ValueId};
use crate::infer::InferError;
use crate::macs;
use crate::onnx::proto::{Extent, GraphProto, NodeProto, ValueInfoProto};
use crate::onnx::{Model, tensor};
use crate::operators::{Domain, MAX_OPSET, MIN_OPSET, Mapping, Meaning, Operand, Refusal, Row, Site, find};

pub use annotate::annotate;
pub use report::{ImportError, NodeReport, Problem, Report};

/// What the user decides about an import.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Extents of dynamic dimensions, by name.
    pub dims: BTreeMap<String, usize>,
}

/// A file, read: what was found, and the graph where nothing is wrong.
#[derive(Debug, Clone)]
pub struct Import {
    /// Every node and every problem.
    pub report: Report,
    graph: Option<Graph>,
}

impl Import {
    /// The graph.
    ///
    /// # Errors
    /// [`ImportError`] with all problems.
    pub fn into_graph(self) -> Result<Graph, ImportError> {
        self.graph.ok_or_else(|| ImportError { problems: self.report.all_problems() })
    }
}

/// Elements that a node's constant inputs and its result may have together for the node to be computed on import. Shape
/// arithmetic is far below; weights are left to the rewrites, which look at them first.
const KNOWN_ELEMENTS: usize = 4096;

/// Bytes that all constants of a model may take in memory.
const MAX_CONSTANT_BYTES: usize = 1 << 32;

/// Reads a model.
pub fn import(model: &Model, options: &Options) -> Import {
    let mut cx = Context::new(model, options);
    let Some(graph) = &model.proto.graph else {
        cx.report.problem("the model", "it has no graph", None);
        return Import { report: cx.report, graph: None };
    };
    cx.check_model();
    cx.add_constants(graph);
    cx.add_inputs(graph);
    cx.add_nodes(graph);
    let outputs = cx.outputs(graph);
    cx.finish(graph, outputs)
}

struct Context<'a> {
    model: &'a Model,
    options: &'a Options,
    opsets: HashMap<Domain, i64>,
    builder: Builder,
    report: Report,
    /// Values without a type, because what defines them is refused.
    unknown: HashSet<&'a str>,
    node_names: HashSet<String>,
    constant_bytes: usize,
}

impl<'a> Context<'a> {
    fn new(model: &'a Model, options: &'a Options) -> Self {
        let sets = model.proto.opset_import.iter();
        let opsets = sets.filter_map(|set| Some((Domain::parse(&set.domain)?, set.version))).collect();
        let producer = model.proto.producer_name.clone();
        Context {
            model,
            options,
            opsets,
            builder: Builder::default(),
            report: Report { producer, ..Report::default() },
            unknown: HashSet::new(),
            node_names: HashSet::new(),
            constant_bytes: 0,
        }
    }

    /// What concerns the model as a whole.
    fn check_model(&mut self) {
        let accepted = Some(format!("opset {MIN_OPSET} to {MAX_OPSET}"));
        match self.opsets.get(&Domain::Onnx).copied() {
            Some(version) if (MIN_OPSET..=MAX_OPSET).contains(&version) => self.report.opset = version,
            Some(version) => {
                self.report.opset = version;
                self.report.problem("the model", format!("it is written in opset {version}"), accepted);
            }
            None => self.report.problem("the model", "it names no version of ONNX's operator set", accepted),
        }
        if let Some(function) = self.model.proto.functions.first() {
            let reason = format!("it defines functions of its own, `{}` first", function.name);
            self.report.problem("the model", reason, Some("a model whose functions are inlined".to_owned()));
        }
        if self.model.proto.graph.as_ref().is_some_and(|graph| !graph.sparse_initializer.is_empty()) {
            self.report.problem("the model", "it has sparse initialisers", Some("dense ones".to_owned()));
        }
    }

    fn add_constants(&mut self, graph: &'a GraphProto) {
        for proto in &graph.initializer {
            let place = format!("initialiser `{}`", proto.name);
            let added = tensor::tensor(proto, &self.model.folder)
                .map_err(|e| e.to_string())
                .and_then(|tensor| self.add_constant(&proto.name, Arc::new(tensor)));
            if let Err(reason) = added {
                self.unknown.insert(&proto.name);
                self.report.problem(place, reason, None);
            }
        }
    }

    fn add_constant(&mut self, name: &str, tensor: Arc<Tensor>) -> Result<(), String> {
        let bytes = tensor.len() * tensor.dtype().bytes();
        self.constant_bytes = self.constant_bytes.saturating_add(bytes);
        if self.constant_bytes > MAX_CONSTANT_BYTES {
            return Err(format!("the constants of the model take more than {MAX_CONSTANT_BYTES} bytes"));
        }
        self.builder.constant(name, tensor).map(|_| ()).map_err(|e| e.to_string())
    }

    /// Inputs; names of initialisers among them only say that their values are defaults.
    fn add_inputs(&mut self, graph: &'a GraphProto) {
        for input in &graph.input {
            if self.builder.find(&input.name).is_some() || self.unknown.contains(input.name.as_str()) {
                continue;
            }
            let added = self
                .input_type(input)
                .and_then(|ty| self.builder.input(&input.name, ty).map_err(|e| (e.to_string(), None)));
            if let Err((reason, accepted)) = added {
                self.unknown.insert(&input.name);
                self.report.problem(format!("input `{}`", input.name), reason, accepted);
            }
        }
        let inputs = graph.input.iter().filter_map(|input| {
            let value = self.builder.get(self.builder.find(&input.name)?);
            value.constant.is_none().then(|| (value.name.clone(), value.ty.to_string()))
        });
        self.report.inputs = inputs.collect();
    }

    fn input_type(&self, input: &ValueInfoProto) -> Result<Type, (String, Option<String>)> {
        let no_tensor = || ("it is no tensor".to_owned(), Some("tensors".to_owned()));
        let ty = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()).ok_or_else(no_tensor)?;
        let dtype = tensor::dtype(ty.elem_type).map_err(|e| (e.to_string(), None))?;
        let no_rank = || ("its rank is not known".to_owned(), Some("a static rank".to_owned()));
        let shape = ty.shape.as_ref().ok_or_else(no_rank)?;
        let mut dims = Vec::with_capacity(shape.dim.len());
        for (i, dim) in shape.dim.iter().enumerate() {
            dims.push(match &dim.value {
                Some(Extent::Value(n)) => *n,
                Some(Extent::Param(name)) if self.options.dims.contains_key(name) => {
                    i64::try_from(self.options.dims[name]).unwrap_or(i64::MAX)
                }
                Some(Extent::Param(name)) => {
                    let fix = format!("a number: bind it with `--dim {name}=N`");
                    return Err((format!("dimension {i}, `{name}`, is dynamic"), Some(fix)));
                }
                None => {
                    let accepted = "a number or a name that `--dim NAME=N` binds".to_owned();
                    return Err((format!("dimension {i} has neither number nor name"), Some(accepted)));
                }
            });
        }
        let shape = tensor::shape(&dims).map_err(|e| (e.to_string(), None))?;
        Ok(Type { dtype, shape })
    }

    fn add_nodes(&mut self, graph: &'a GraphProto) {
        let (order, in_cycle) = order::topological(&graph.node);
        for index in order {
            self.add_node(index, &graph.node[index], None);
        }
        for index in in_cycle {
            self.add_node(index, &graph.node[index], Some("it is part of a cycle, or reads what one gives"));
        }
        self.report.nodes.sort_by_key(|node| node.index);
    }

    fn add_node(&mut self, index: usize, node: &'a NodeProto, cycle: Option<&str>) {
        let name = self.node_name(index, node);
        let domain = Domain::parse(&node.domain);
        let opset = domain.and_then(|d| self.opsets.get(&d).copied()).unwrap_or(1);
        let row = domain.and_then(|d| find(d, &node.op_type));
        let mut report = NodeReport::new(index, &name, node, opset, row);
        let outcome = match cycle {
            Some(reason) => Outcome::Refused(reason.to_owned()),
            None => self.read_node(&name, node, opset, row, &mut report),
        };
        if !matches!(outcome, Outcome::Added) {
            self.unknown.extend(node.output.iter().map(String::as_str));
        }
        report.settle(outcome, row);
        self.report.nodes.push(report);
    }

    /// The node's own name where it is the only one that has it.
    fn node_name(&mut self, index: usize, node: &NodeProto) -> String {
        let mut name = node.name.clone();
        if name.is_empty() || self.node_names.contains(&name) {
            name = format!("{}_{index}", if name.is_empty() { &node.op_type } else { &name });
        }
        self.node_names.insert(name.clone());
        name
    }

    fn read_node(
        &mut self,
        name: &str,
        node: &'a NodeProto,
        opset: i64,
        row: Option<&'static Row>,
        report: &mut NodeReport,
    ) -> Outcome {
        let refused = |refusal: Refusal| Outcome::Refused(refusal.to_string());
        let Some(row) = row else {
            return refused(Refusal::Unknown { name: node.op_type.clone(), domain: node.domain.clone() });
        };
        if row.mapping == Mapping::Refused {
            return refused(Refusal::Operator { name: row.name });
        }
        if opset < row.since {
            return refused(Refusal::Opset { name: row.name, since: row.since, found: opset });
        }
        if let Some(input) = node.input.iter().find(|input| self.unknown.contains(input.as_str())) {
            return Outcome::Unchecked(format!("not checked further: the type of its input `{input}` is not known"));
        }
        if let Some(input) = node.input.iter().find(|i| !i.is_empty() && self.builder.find(i).is_none()) {
            return Outcome::Refused(format!("nothing defines its input `{input}`"));
        }
        match self.meaning(node, opset, row) {
            Ok(Meaning::Value(tensor)) => self.add_known(node, vec![tensor], report),
            Ok(Meaning::Op(op, inputs)) => match self.computed(&op, &inputs) {
                Some(Ok(tensors)) => self.add_known(node, tensors, report),
                Some(Err(refusal)) => refused(refusal),
                None => self.add_op(name, node, opset, op, inputs, report),
            },
            Err(refusal) => refused(refusal),
        }
    }

    fn meaning(&self, node: &NodeProto, opset: i64, row: &Row) -> Result<Meaning, Refusal> {
        let operand = |name: &String| {
            let value_of = |id: ValueId| {
                let value = self.builder.get(id);
                Operand { id, ty: &value.ty, constant: value.constant.as_ref() }
            };
            self.builder.find(name).filter(|_| !name.is_empty()).map(value_of)
        };
        let operands = node.input.iter().map(operand).collect();
        let n_outputs = node.output.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
        let site = Site::new(opset, n_outputs, operands, &node.attribute, &self.model.folder);
        let meaning = (row.parse)(&site)?;
        site.check_attributes()?;
        Ok(meaning)
    }

    /// The results of an operator whose inputs are all known and small; quantisation is left to the rewrites.
    fn computed(&self, op: &Op, inputs: &[Option<ValueId>]) -> Option<Result<Vec<Arc<Tensor>>, Refusal>> {
        if inputs.is_empty() || matches!(op, Op::QuantizeLinear { .. } | Op::DequantizeLinear { .. }) {
            return None;
        }
        let mut arguments = Vec::with_capacity(inputs.len());
        let mut types = Vec::with_capacity(inputs.len());
        for input in inputs {
            let value = input.map(|id| self.builder.get(id));
            if let Some(value) = value {
                value.constant.as_ref()?;
            }
            arguments.push(value.and_then(|v| v.constant.as_deref()));
            types.push(value.map(|v| v.ty.clone()));
        }
        let results = crate::infer::infer(op, &types).ok()?;
        let n: usize = types.iter().flatten().chain(&results).map(|ty| ty.len()).sum();
        if n > KNOWN_ELEMENTS {
            return None;
        }
        let wrong = |error| match error {
            InferError::Golden(error) => Refusal::Evaluate(error),
            other => Refusal::Infer(other),
        };
        Some(eval(op, &arguments).map(|tensors| tensors.into_iter().map(Arc::new).collect()).map_err(wrong))
    }

    fn add_known(&mut self, node: &NodeProto, tensors: Vec<Arc<Tensor>>, report: &mut NodeReport) -> Outcome {
        report.folded = true;
        for (name, tensor) in node.output.iter().zip(tensors) {
            if name.is_empty() {
                continue;
            }
            report.outputs.push(tensor.ty().to_string());
            if let Err(reason) = self.add_constant(name, tensor) {
                return Outcome::Refused(reason);
            }
        }
        Outcome::Added
    }

    fn add_op(
        &mut self,
        name: &str,
        node: &NodeProto,
        opset: i64,
        op: Op,
        inputs: Vec<Option<ValueId>>,
        report: &mut NodeReport,
    ) -> Outcome {
        let origin = Origin { op_type: node.op_type.clone(), domain: node.domain.clone(), opset };
        let outputs: Vec<&str> = node.output.iter().map(String::as_str).collect();
        let types: Vec<_> = inputs.iter().map(|i| i.map(|i| self.builder.get(i).ty.clone())).collect();
        match self.builder.node(name, origin, op.clone(), inputs, &outputs) {
            Ok(ids) => {
                let given: Vec<Type> = ids.iter().map(|&id| self.builder.get(id).ty.clone()).collect();
                report.macs = macs::of_op(&op, &types, &given);
                report.outputs = given.iter().map(Type::to_string).collect();
                Outcome::Added
            }
            Err(GraphError::Node { source, .. }) => Outcome::Refused(source.to_string()),
            Err(other) => Outcome::Refused(other.to_string()),
        }
    }

    fn outputs(&mut self, graph: &'a GraphProto) -> Vec<ValueId> {
        let mut ids = Vec::with_capacity(graph.output.len());
        if graph.output.is_empty() {
            self.report.problem("the model", "its graph has no outputs", None);
        }
        for output in &graph.output {
            match self.builder.find(&output.name) {
                Some(id) => {
                    let ty = self.builder.get(id).ty.to_string();
                    self.report.outputs.push((output.name.clone(), ty));
                    ids.push(id);
                }
                // The refused node that would define it is a problem already.
                None if self.unknown.contains(output.name.as_str()) => {}
                None => self.report.problem(format!("output `{}`", output.name), "nothing defines it", None),
            }
        }
        ids
    }

    fn finish(mut self, graph: &GraphProto, outputs: Vec<ValueId>) -> Import {
        self.report.name = graph.name.clone();
        let graph = self.report.is_accepted().then(|| self.builder.finish(&graph.name, outputs));
        Import { report: self.report, graph }
    }
}

/// What became of a node.
pub(crate) enum Outcome {
    /// It is in the graph, or its outputs are constants.
    Added,
    /// It is not accepted, for this reason.
    Refused(String),
    /// Nothing is wrong with it as far as can be seen.
    Unchecked(String),
}
