//! Rewrites: each finds places and describes a patch; one place ([`apply`]) applies patches and checks what comes out.
//!
//! A rewrite says whether it changes results at all. None here changes them by more than the rounding of a float intermediate.

mod constants;
mod gelu;
mod layer_norm;
mod no_ops;
mod patch;
pub(crate) mod pattern;
mod quantized;
mod tables;

use std::fmt;

use serde::Serialize;

use crate::graph::Graph;

pub use patch::{Input, NewNode, Patch, PatchError, apply};

/// What a rewrite does to results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing: golden results are equal to the bit.
    Exact,
    /// Float intermediates are rounded elsewhere: float results differ by units in the last place, quantised ones on ties.
    Rounding,
}

/// A rewrite.
pub struct Rewrite {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What it does to results.
    pub effect: Effect,
    find: fn(&Graph) -> Vec<Patch>,
}

/// All rewrites, in the order in which they are applied.
pub static REWRITES: &[Rewrite] = &[
    Rewrite {
        name: "drop-no-ops",
        about: "removes Identity, and Reshape, Transpose, Cast, Expand, Slice and Pad that change nothing; joins Reshapes",
        effect: Effect::Exact,
        find: no_ops::find,
    },
    Rewrite {
        name: "recognise-layer-norm",
        about: "ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div (Mul, Add) become LayerNormalization",
        effect: Effect::Rounding,
        find: layer_norm::find,
    },
    Rewrite {
        name: "recognise-gelu",
        about: "x * 0.5 * (1 + erf(x / sqrt(2))), in any order, becomes Gelu",
        effect: Effect::Rounding,
        find: gelu::find,
    },
    Rewrite {
        name: "fold-quantisation",
        about: "an operator between DequantizeLinear and QuantizeLinear becomes its integer form",
        effect: Effect::Rounding,
        find: quantized::find,
    },
    Rewrite {
        name: "fold-tables",
        about: "a chain of functions of one 8-bit tensor becomes one table of 256 entries",
        effect: Effect::Exact,
        find: tables::find,
    },
    Rewrite {
        name: "fold-constants",
        about: "what depends on no input is computed",
        effect: Effect::Exact,
        find: constants::find,
    },
];

/// What was rewritten.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ledger {
    /// One entry per patch, in order.
    pub entries: Vec<Entry>,
    /// Nodes that nothing reads any more, removed.
    pub dead: usize,
}

/// A patch that was applied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// The rewrite.
    pub rewrite: &'static str,
    /// What it does to results.
    pub effect: Effect,
    /// The value whose computation changed.
    pub place: String,
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rewrite in REWRITES {
            let n = self.entries.iter().filter(|e| e.rewrite == rewrite.name).count();
            if n > 0 {
                writeln!(f, "{}: {n}", rewrite.name)?;
            }
        }
        write!(f, "unread nodes removed: {}", self.dead)
    }
}

/// Applies every rewrite, each until it finds nothing more, and removes what is not read any more.
///
/// # Errors
/// [`PatchError`] if a patch does not fit, which is a fault of the rewrite and names it.
pub fn all(graph: &Graph) -> Result<(Graph, Ledger), PatchError> {
    let (graph, dead) = apply(graph, &[])?;
    let start = (graph, Ledger { dead, ..Ledger::default() });
    REWRITES.iter().try_fold(start, |(graph, ledger), rewrite| one(&graph, rewrite, ledger))
}

/// Applies one rewrite until it finds nothing more.
///
/// # Errors
/// As [`all`].
pub fn one(graph: &Graph, rewrite: &Rewrite, mut ledger: Ledger) -> Result<(Graph, Ledger), PatchError> {
    let mut graph = graph.clone();
    // A round takes at least one place away, and there are no more places than nodes.
    for _ in 0..=graph.nodes().len() {
        let patches = patch::disjoint((rewrite.find)(&graph));
        if patches.is_empty() {
            return Ok((graph, ledger));
        }
        let entry = |p: &Patch| Entry { rewrite: rewrite.name, effect: rewrite.effect, place: p.place(&graph) };
        ledger.entries.extend(patches.iter().map(entry));
        let (changed, dead) = apply(&graph, &patches).map_err(|e| e.of(rewrite.name))?;
        ledger.dead += dead;
        graph = changed;
    }
    Err(PatchError::Endless { rewrite: rewrite.name })
}
