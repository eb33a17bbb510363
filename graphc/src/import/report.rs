//! What an import found.

use std::fmt;

use serde::Serialize;

use crate::import::Outcome;
use crate::onnx::proto::NodeProto;
use crate::operators::{Mapping, Row};

/// A node and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeReport {
    /// Its place in the file.
    pub index: usize,
    /// Its name, made unique.
    pub name: String,
    /// The operator.
    pub op: String,
    /// The operator's set; empty for ONNX's own.
    pub domain: String,
    /// The set's version.
    pub opset: i64,
    /// What becomes of it.
    pub status: Mapping,
    /// Why, or how.
    pub reason: String,
    /// The nearest form that is accepted, where this one is not.
    pub accepted: Option<String>,
    /// Whether the node is wrong; one that could not be checked is not.
    pub error: bool,
    /// Whether its outputs are constants.
    pub folded: bool,
    /// Names of its outputs; one that is empty is not wanted.
    #[serde(skip)]
    pub tensors: Vec<String>,
    /// Types of its outputs, as far as they are known.
    pub outputs: Vec<String>,
    /// Multiply-accumulate steps.
    pub macs: u64,
}

impl NodeReport {
    pub(super) fn new(index: usize, name: &str, node: &NodeProto, opset: i64, row: Option<&Row>) -> Self {
        NodeReport {
            index,
            name: name.to_owned(),
            op: node.op_type.clone(),
            domain: node.domain.clone(),
            opset,
            status: row.map_or(Mapping::Refused, |row| row.mapping),
            reason: String::new(),
            accepted: None,
            error: false,
            folded: false,
            tensors: node.output.clone(),
            outputs: Vec::new(),
            macs: 0,
        }
    }

    /// Records what became of the node.
    pub(super) fn settle(&mut self, outcome: Outcome, row: Option<&Row>) {
        match outcome {
            Outcome::Added if self.folded => {
                self.status = Mapping::Decomposed;
                self.reason = "a constant".to_owned();
            }
            Outcome::Added => self.reason = row.map_or(String::new(), |row| row.how.to_owned()),
            Outcome::Unchecked(reason) => self.reason = reason,
            Outcome::Refused(reason) => {
                self.status = Mapping::Refused;
                self.error = true;
                self.reason = reason;
                self.accepted =
                    row.map(|row| if row.mapping == Mapping::Refused { row.how } else { row.forms }.to_owned());
            }
        }
    }

    /// The problem with the node, if there is one.
    fn problem(&self) -> Option<Problem> {
        let domain = if self.domain.is_empty() { String::new() } else { format!("{}.", self.domain) };
        let place = format!("node `{}` ({domain}{}, opset {})", self.name, self.op, self.opset);
        self.error.then(|| Problem { place, reason: self.reason.clone(), accepted: self.accepted.clone() })
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// With what.
    pub place: String,
    /// What it is.
    pub reason: String,
    /// What would be accepted.
    pub accepted: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)?;
        match &self.accepted {
            Some(accepted) => write!(f, "\n  help: accepted: {accepted}"),
            None => Ok(()),
        }
    }
}

/// Everything that an import found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The network's name.
    pub name: String,
    /// The tool that wrote the file.
    pub producer: String,
    /// Version of ONNX's operator set.
    pub opset: i64,
    /// Inputs and their types.
    pub inputs: Vec<(String, String)>,
    /// Outputs and their types.
    pub outputs: Vec<(String, String)>,
    /// Every node, in the order of the file.
    pub nodes: Vec<NodeReport>,
    /// What is wrong with anything but a node.
    pub problems: Vec<Problem>,
}

impl Report {
    pub(super) fn problem(&mut self, place: impl Into<String>, reason: impl Into<String>, accepted: Option<String>) {
        self.problems.push(Problem { place: place.into(), reason: reason.into(), accepted });
    }

    /// All problems, those of nodes too.
    pub fn all_problems(&self) -> Vec<Problem> {
        self.problems.iter().cloned().chain(self.nodes.iter().filter_map(NodeReport::problem)).collect()
    }

    /// Whether nothing is wrong.
    pub fn is_accepted(&self) -> bool {
        self.problems.is_empty() && !self.nodes.iter().any(|node| node.error)
    }

    /// Multiply-accumulate steps of all nodes.
    pub fn macs(&self) -> u64 {
        self.nodes.iter().fold(0, |sum, node| sum.saturating_add(node.macs))
    }

    /// Number of nodes that end so.
    pub fn count(&self, status: Mapping) -> usize {
        self.nodes.iter().filter(|node| node.status == status).count()
    }
}

/// A model is not accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ImportError {
    /// Everything that is wrong, at least one thing.
    pub problems: Vec<Problem>,
}
