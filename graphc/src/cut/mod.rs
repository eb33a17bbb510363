//! Parts of networks: the nodes between named tensors, as a model of their own with the same names, types and constants.
//!
//! Works on float and quantised networks alike, since it looks at what nodes read and give and not at what they compute.

mod error;
mod layer;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::graph::{Graph, ValueId};
use crate::import::{self, annotate, import};
use crate::names;
use crate::onnx::proto::{GraphProto, ModelProto, NodeProto, TensorProto};
use crate::onnx::{Folder, Model, external, tensor};
use crate::quantize::Ranges;

pub use error::CutError;

/// Where a part begins and ends, by names of tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// Tensors that become inputs.
    pub from: Vec<String>,
    /// Tensors that become outputs.
    pub to: Vec<String>,
}

/// A part of a network.
#[derive(Debug, Clone)]
pub struct Part {
    /// The part, with all its constants inside.
    pub model: Model,
    /// The part, as it is read.
    pub graph: Graph,
}

/// A model whose parts are wanted.
pub struct Whole<'a> {
    model: &'a Model,
    graph: Graph,
    ids: HashMap<String, ValueId>,
    producers: HashMap<&'a str, &'a NodeProto>,
}

impl<'a> Whole<'a> {
    /// Reads a model.
    ///
    /// # Errors
    /// [`CutError::Import`].
    pub fn new(model: &'a Model, options: &import::Options) -> Result<Self, CutError> {
        let graph = import(model, options).into_graph().map_err(CutError::Import)?;
        let ids = graph.values().iter().enumerate().map(|(i, v)| (v.name.clone(), ValueId(i as u32))).collect();
        let nodes = model.proto.graph.iter().flat_map(|graph| &graph.node);
        let outputs = nodes.flat_map(|node| node.output.iter().map(move |name| (name.as_str(), node)));
        let producers = outputs.filter(|(name, _)| !name.is_empty()).collect();
        Ok(Whole { model, graph, ids, producers })
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Where layer `n` begins and ends: its nodes are those whose names say `layers.n` or `layer.n` (or, where no node does,
    /// `blocks.n`, `block.n`, `stages.n`), and its ends are the activations that cross into and out of them. Where names have
    /// several series, such as blocks of stages, layers are counted in the order of the network.
    ///
    /// # Errors
    /// [`CutError::Layer`] if there is none.
    pub fn layer(&self, n: usize) -> Result<Ends, CutError> {
        layer::ends(&self.graph, n)
    }

    /// The part between two ends: what is needed to compute `to` from `from`.
    ///
    /// # Errors
    /// [`CutError`] for names that are no activations of the network, if more inputs are needed than are given, or fewer.
    pub fn part(&self, ends: &Ends) -> Result<Part, CutError> {
        for (which, list) in [("--from", &ends.from), ("--to", &ends.to)] {
            for name in list {
                self.check(which, name)?;
            }
        }
        let needed = self.needed(ends)?;
        let graph = self.messages(ends, &needed)?;
        let model =
            Model { proto: ModelProto { graph: Some(graph), ..self.model.proto.clone() }, folder: Folder::none() };
        let graph = import(&model, &import::Options::default()).into_graph().map_err(CutError::Import)?;
        Ok(Part { model: annotate(model, &graph), graph })
    }

    /// `Ok` if a name is one of an activation.
    fn check(&self, which: &'static str, name: &str) -> Result<(), CutError> {
        let activations = || self.graph.values().iter().filter(|v| v.constant.is_none()).map(|v| v.name.as_str());
        let Some(&id) = self.ids.get(name) else {
            return Err(CutError::Unknown { which, name: name.into(), closest: names::closest(name, activations()) });
        };
        if self.graph.value(id).constant.is_some() {
            return Err(CutError::Constant { which, name: name.into() });
        }
        if which == "--to" && self.graph.inputs().contains(&id) {
            return Err(CutError::Input { name: name.into() });
        }
        Ok(())
    }

    /// Walks back from the outputs to what they are computed from.
    fn needed<'b>(&'b self, ends: &'b Ends) -> Result<Needed<'b>, CutError> {
        let from: HashSet<&str> = ends.from.iter().map(String::as_str).collect();
        if let Some(name) = ends.to.iter().find(|name| from.contains(name.as_str())) {
            return Err(CutError::Both { name: name.clone() });
        }
        let mut needed = Needed::default();
        let mut open: Vec<&str> = ends.to.iter().map(String::as_str).collect();
        let mut missing = BTreeSet::new();
        let mut used = HashSet::new();
        let mut seen: HashSet<&str> = open.iter().copied().collect();
        while let Some(name) = open.pop() {
            if from.contains(name) {
                used.insert(name);
            } else if self.ids.get(name).is_some_and(|&id| self.graph.value(id).constant.is_some()) {
                needed.constants.insert(name);
            } else if let Some(node) = self.producers.get(name) {
                needed.outputs.extend(node.output.iter().map(String::as_str));
                open.extend(node.input.iter().map(String::as_str).filter(|n| !n.is_empty() && seen.insert(n)));
            } else {
                missing.insert(name.to_owned());
            }
        }
        if !missing.is_empty() {
            return Err(CutError::Missing { to: ends.to.clone(), inputs: missing.into_iter().collect() });
        }
        match ends.from.iter().find(|name| !used.contains(name.as_str())) {
            Some(name) => Err(CutError::Unused { name: name.clone(), to: ends.to.clone() }),
            None => Ok(needed),
        }
    }

    /// The messages of a part, in the order of the file.
    fn messages(&self, ends: &Ends, needed: &Needed) -> Result<GraphProto, CutError> {
        let whole = self.model.proto.graph.clone().unwrap_or_default();
        let is_needed = |node: &NodeProto| {
            let computes = node.output.iter().any(|name| needed.outputs.contains(name.as_str()));
            let is_constant =
                |name: &String| self.ids.get(name).is_some_and(|&id| self.graph.value(id).constant.is_some());
            computes && !node.output.iter().all(|name| name.is_empty() || is_constant(name))
        };
        let info = |name: &String| tensor::value_info(name, &self.graph.value(self.ids[name]).ty);
        Ok(GraphProto {
            name: whole.name,
            node: whole.node.into_iter().filter(is_needed).collect(),
            initializer: self.constants(whole.initializer, needed)?,
            input: ends.from.iter().map(info).collect(),
            output: ends.to.iter().map(info).collect(),
            value_info: Vec::new(),
            sparse_initializer: Vec::new(),
        })
    }

    /// The constants that are needed: as the file has them, or as the import computed them.
    fn constants(&self, of_file: Vec<TensorProto>, needed: &Needed) -> Result<Vec<TensorProto>, CutError> {
        let mut left = needed.constants.clone();
        let mut constants = Vec::with_capacity(left.len());
        for mut proto in of_file {
            if left.remove(proto.name.as_str()) {
                external::inline(&mut proto, &self.model.folder)
                    .map_err(|source| CutError::Tensor { name: proto.name.clone(), source })?;
                constants.push(proto);
            }
        }
        for name in left {
            if let Some(value) = &self.graph.value(self.ids[name]).constant {
                constants.push(tensor::proto(name, value));
            }
        }
        Ok(constants)
    }
}

/// What a part needs of the whole.
#[derive(Debug, Default)]
struct Needed<'a> {
    /// What its nodes give.
    outputs: HashSet<&'a str>,
    constants: BTreeSet<&'a str>,
}

/// The ranges of a part's tensors, of its 8-bit ones under the names of the float tensors that they stand for.
pub fn ranges_of(part: &Graph, ranges: &Ranges) -> Ranges {
    let in_part: HashSet<&str> = part.values().iter().map(|value| value.name.as_str()).collect();
    let is_there = |name: &String| {
        let stored = ["", "_quantized", "_QuantizeLinear_Output"];
        stored.iter().any(|suffix| in_part.contains(format!("{name}{suffix}").as_str()))
    };
    let kept = ranges.0.iter().filter(|(name, _)| is_there(name));
    Ranges(kept.map(|(name, range)| (name.clone(), *range)).collect::<BTreeMap<_, _>>())
}
