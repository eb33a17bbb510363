//! Why a graph has no plan.

use std::fmt;

use crate::graph::{Node, Origin};

/// A node that no step takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Ungrouped {
    /// Its name.
    pub node: String,
    /// What it was in the file.
    pub origin: Box<Origin>,
    /// Why.
    pub reason: String,
}

impl Ungrouped {
    pub(crate) fn new(node: &Node, reason: impl Into<String>) -> Self {
        Ungrouped { node: node.name.clone(), origin: Box::new(node.origin.clone()), reason: reason.into() }
    }
}

impl fmt::Display for Ungrouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}` ({}): {}", self.node, self.origin, self.reason)
    }
}

/// Why a graph has no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Nodes that become part of no kernel.
    #[error("{}", lines(.0))]
    Ungrouped(Vec<Ungrouped>),
    /// Nothing is left to compute.
    #[error("the network computes nothing: its outputs are its inputs under other names and shapes")]
    Nothing,
    /// A line of a boundaries file cannot be read.
    #[error("boundaries, line {line}: {reason}")]
    Boundary {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A boundary names a tensor that the plan does not have.
    #[error("boundary `{kernel}`: no kernel writes a tensor `{tensor}`{}", crate::names::suggest(.nearest))]
    NoTensor {
        /// The kernel that should end there.
        kernel: String,
        /// The tensor.
        tensor: String,
        /// Tensors with similar names.
        nearest: Vec<String>,
    },
}

fn lines(all: &[Ungrouped]) -> String {
    all.iter().map(Ungrouped::to_string).collect::<Vec<_>>().join("\n")
}
