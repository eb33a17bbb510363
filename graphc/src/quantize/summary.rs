//! What became of a network, as tables and as JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Serialize;

use crate::check::clean;
use crate::quantize::network::Network;
use crate::quantize::operators::Role;
use crate::quantize::quality::Quality;
use crate::quantize::select::{Choice, Selection};
use crate::quantize::writer::{Outcome, Written};

/// Nodes of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OperatorCount {
    /// The operator.
    pub op: String,
    /// Nodes that compute on 8-bit tensors.
    pub quantised: usize,
    /// Nodes that move 8-bit elements, or were absorbed by the saturation of others.
    pub moved: usize,
    /// Nodes in float.
    pub float: usize,
    /// Why those in float are.
    pub reason: &'static str,
}

/// Scales of 8-bit tensors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scales {
    /// Tensors.
    pub count: usize,
    /// The smallest, and its tensor.
    pub smallest: (f32, String),
    /// The one in the middle.
    pub median: f32,
    /// The largest, and its tensor.
    pub largest: (f32, String),
}

/// An 8-bit tensor, or an output of the network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TensorQuality {
    /// Its name in the float network.
    pub name: String,
    /// Its scale; `None` for an output in float.
    pub scale: Option<f32>,
    /// Its zero point.
    pub zero_point: Option<i32>,
    /// Signal to quantisation noise on the first calibration input, in decibels, with everything before it quantised too;
    /// `None` where nothing differs.
    pub sqnr_db: Option<f64>,
}

/// What became of a network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Bytes of the float model, without external data.
    pub float_bytes: usize,
    /// Bytes of the quantised model.
    pub bytes: usize,
    /// Inputs that were calibrated on.
    pub samples: usize,
    /// Nodes by operator, in the order of their names.
    pub operators: Vec<OperatorCount>,
    /// Scales of activations.
    pub scales: Option<Scales>,
    /// Tensors that are 0 on all inputs, whose scale is 1.
    pub zero_tensors: Vec<String>,
    /// 8-bit tensors in the order in which they are computed.
    pub tensors: Vec<TensorQuality>,
    /// The network's outputs, as float32.
    pub outputs: Vec<TensorQuality>,
}

impl Summary {
    pub(super) fn new(
        network: &Network,
        selection: &Selection,
        written: &Written,
        quality: Vec<Quality>,
        (float_bytes, bytes): (usize, usize),
        samples: usize,
    ) -> Self {
        let (outputs, tensors): (Vec<_>, Vec<_>) = quality.into_iter().map(tensor).partition(|t| t.scale.is_none());
        let zero = |t: &&TensorQuality| t.scale == Some(1.0) && t.zero_point == Some(0) && t.sqnr_db.is_none();
        let zero_tensors = tensors.iter().filter(zero).map(|t| t.name.clone()).collect();
        let operators = operators(network, selection, written);
        Summary { float_bytes, bytes, samples, operators, scales: scales(written), zero_tensors, tensors, outputs }
    }

    /// Nodes.
    pub fn n_nodes(&self) -> usize {
        self.operators.iter().map(|op| op.quantised + op.moved + op.float).sum()
    }

    /// Nodes in float.
    pub fn n_float(&self) -> usize {
        self.operators.iter().map(|op| op.float).sum()
    }
}

fn tensor(q: Quality) -> TensorQuality {
    let Quality { name, q, sqnr_db } = q;
    TensorQuality { name, scale: q.map(|q| q.scale), zero_point: q.map(|q| q.zero), sqnr_db }
}

fn operators(network: &Network, selection: &Selection, written: &Written) -> Vec<OperatorCount> {
    let mut counts: BTreeMap<&str, OperatorCount> = BTreeMap::new();
    for ((site, choice), outcome) in selection.of(network).zip(&written.outcomes) {
        let op = site.proto.op_type.as_str();
        let new = || OperatorCount { op: op.to_owned(), quantised: 0, moved: 0, float: 0, reason: "" };
        let count = counts.entry(op).or_insert_with(new);
        match outcome {
            Outcome::Quantised => count.quantised += 1,
            Outcome::Moves | Outcome::Absorbed => count.moved += 1,
            Outcome::Float => {
                count.float += 1;
                count.reason = reason(choice);
            }
        }
    }
    counts.into_values().collect()
}

fn reason(choice: Choice) -> &'static str {
    match choice {
        Choice::Excluded => "excluded",
        Choice::NoFloats => "computes no floats",
        Choice::Unsupported => "has no 8-bit form",
        Choice::Quantise(Role::Clamp) => "no saturation of its input",
        Choice::Quantise(_) => "reads a float tensor",
    }
}

/// Scales of distinct tensors: what moves elements of another has its scale.
fn scales(written: &Written) -> Option<Scales> {
    let mut sorted: Vec<(f32, &str)> = written.stored.iter().map(|s| (s.q.scale, s.float.as_str())).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
    let named = |(scale, name): &(f32, &str)| (*scale, (*name).to_owned());
    let (smallest, largest) = (sorted.first().map(named)?, sorted.last().map(named)?);
    Some(Scales { count: sorted.len(), smallest, median: sorted[sorted.len() / 2].0, largest })
}

/// Rows of the table of tensors: those that lose most.
const WORST: usize = 8;

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<24} {:>9} {:>7} {:>7}", "operator", "quantised", "moved", "float")?;
        for op in &self.operators {
            let mut row = format!("{:<24} {:>9} {:>7} {:>7}", clean(&op.op), op.quantised, op.moved, op.float);
            if op.float > 0 {
                write!(row, "  {}", op.reason)?;
            }
            writeln!(f, "{row}")?;
        }
        if let Some(scales) = &self.scales {
            let Scales { count, smallest, median, largest } = scales;
            let (low, high) = (clean(&smallest.1), clean(&largest.1));
            writeln!(f, "\nscales of {count} tensors: smallest {:.3e} (`{low}`),", smallest.0)?;
            writeln!(f, "  median {median:.3e}, largest {:.3e} (`{high}`)", largest.0)?;
        }
        if !self.zero_tensors.is_empty() {
            let n = self.zero_tensors.len();
            let first = clean(&self.zero_tensors[0]);
            writeln!(f, "{n} tensors are 0 on all calibration inputs, `{first}` first: their scale is 1")?;
        }
        if !self.tensors.is_empty() {
            writeln!(f, "\n{:>8}  tensor, signal to quantisation noise on the first input", "SQNR")?;
        }
        let mut worst: Vec<&TensorQuality> = self.tensors.iter().filter(|t| t.sqnr_db.is_some()).collect();
        worst.sort_by(|a, b| a.sqnr_db.unwrap_or(f64::MAX).total_cmp(&b.sqnr_db.unwrap_or(f64::MAX)));
        for t in worst.iter().take(WORST) {
            writeln!(f, "{:>5.1} dB  {}", t.sqnr_db.unwrap_or_default(), clean(&t.name))?;
        }
        for t in &self.outputs {
            match t.sqnr_db {
                Some(db) => writeln!(f, "{db:>5.1} dB  output {}", clean(&t.name))?,
                None => writeln!(f, "{:>8}  output {}", "equal", clean(&t.name))?,
            }
        }
        let kib = |bytes: usize| bytes as f64 / 1024.0;
        writeln!(
            f,
            "\n{:.0} KiB of float32 to {:.0} KiB, on {} calibration inputs; {} of {} nodes stay in float",
            kib(self.float_bytes),
            kib(self.bytes),
            self.samples,
            self.n_float(),
            self.n_nodes(),
        )
    }
}
