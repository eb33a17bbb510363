//! What a validation found: a row for each tensor of each node, and a summary.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::graph::DType;
use crate::validate::bar::Bar;

/// Whether a node is within its bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is.
    Pass,
    /// It is not, or could not be compared.
    Fail,
}

/// Figures of a node on the reference's inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Isolated {
    /// Elements that differ.
    pub mismatches: usize,
    /// Largest difference.
    pub max_abs_err: f64,
}

/// Figures of a tensor after both have run the whole network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Accumulated {
    /// Elements that differ.
    pub mismatches: usize,
    /// Root of the mean square difference.
    pub rmse: f64,
    /// Peak signal to noise ratio; `None` where nothing differs.
    pub psnr_db: Option<f64>,
    /// Largest difference.
    pub max_abs_err: f64,
    /// Index of the first element that differs so much.
    pub max_err_index: Option<Vec<usize>>,
}

/// An element that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Its index.
    pub index: Vec<usize>,
    /// The value under test.
    pub got: Option<f64>,
    /// The reference's.
    pub expected: Option<f64>,
    /// The int32 accumulator with bias, where the node is a quantised product or convolution.
    pub accumulator: Option<i32>,
}

/// A tensor of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeResult {
    /// The node.
    pub name: String,
    /// Its ONNX operator.
    pub op: String,
    /// The tensor that is compared: the node's own, or the one that it was merged into.
    pub tensor: String,
    /// The tensor's element type; `None` if the reference does not show it.
    pub dtype: Option<DType>,
    /// Its elements.
    pub total: usize,
    /// How far it may be from the reference.
    pub bar: Option<Bar>,
    /// On the reference's inputs.
    pub isolated: Option<Isolated>,
    /// After the whole network.
    pub accumulated: Option<Accumulated>,
    /// The first element that differs on the reference's inputs.
    pub first: Option<Difference>,
    /// Why figures are missing.
    pub reason: Option<String>,
    /// Whether it is within its bar.
    pub status: Status,
}

/// The figures over all nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Rows.
    pub nodes: usize,
    /// Rows that pass.
    pub passed: usize,
    /// Rows without any difference on the reference's inputs.
    pub equal: usize,
    /// Elements compared.
    pub elements: usize,
    /// Elements that differ on the reference's inputs.
    pub isolated_mismatches: usize,
    /// Elements of 8-bit tensors.
    pub quantised_elements: usize,
    /// Those that differ on the reference's inputs.
    pub quantised_mismatches: usize,
    /// Elements in so many of which one may differ, where the tensors with that bar together have more. A small tensor may have
    /// one; many of them may not all have one.
    pub exceeded: Vec<usize>,
    /// Lowest accumulated signal to noise ratio of an output of the network; `None` where all are equal.
    pub output_psnr_db: Option<f64>,
}

/// A validation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validation {
    /// What was validated.
    pub of: String,
    /// What it was compared with.
    pub against: String,
    /// The figures over all nodes.
    pub summary: Summary,
    /// Whether all nodes pass.
    pub status: Status,
    /// Rows, in the order of the file.
    pub nodes: Vec<NodeResult>,
}

impl Validation {
    /// A validation of these rows; `outputs` are the tensors that leave the network.
    pub fn new(of: &str, against: &str, outputs: Vec<String>, nodes: Vec<NodeResult>) -> Self {
        let summary = Summary::new(&outputs, &nodes);
        let passes = summary.passed == summary.nodes && summary.exceeded.is_empty();
        let status = if passes { Status::Pass } else { Status::Fail };
        Validation { of: of.to_owned(), against: against.to_owned(), summary, status, nodes }
    }

    /// Rows from the worst to the best: failures first, then by the part of the elements that differs alone, then after the
    /// whole network.
    pub fn worst_first(&self) -> Vec<&NodeResult> {
        let part = |mismatches: usize, total: usize| mismatches as f64 / total.max(1) as f64;
        let key = |row: &NodeResult| {
            let isolated = row.isolated.as_ref().map_or(1.0, |c| part(c.mismatches, row.total));
            let accumulated = row.accumulated.as_ref().map_or(1.0, |c| part(c.mismatches, row.total));
            (row.status == Status::Fail, isolated, accumulated)
        };
        let mut rows: Vec<&NodeResult> = self.nodes.iter().collect();
        rows.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(b.2.total_cmp(&a.2))
        });
        rows
    }

    /// Whether the outputs of the network are at least that close to the reference.
    pub fn reaches(&self, psnr_db: f64) -> bool {
        self.summary.output_psnr_db.is_none_or(|found| found >= psnr_db)
    }

    /// The worst rows as a table, their first differences, and the summary.
    pub fn text(&self, n_rows: usize) -> String {
        let mut text = format!("{} against {}, worst first\n", self.of, self.against);
        let rows = self.worst_first();
        let shown = &rows[..n_rows.min(rows.len())];
        let wide = |width: fn(&NodeResult) -> usize, least: usize| {
            shown.iter().map(|r| width(r)).max().unwrap_or(0).max(least)
        };
        let (name, op) = (wide(|r| r.name.chars().count().min(48), 4), wide(|r| r.op.chars().count(), 8));
        let _ = writeln!(
            text,
            "{:<4}  {:<name$}  {:<op$}  {:<4}  {:>9}  {:>19}  {:>29}",
            "", "node", "operator", "type", "elements", "isolated: differ by", "accumulated: differ by   PSNR"
        );
        for row in shown {
            text += &row.line(name, op);
        }
        if rows.len() > shown.len() {
            let _ = writeln!(text, "and {} more", rows.len() - shown.len());
        }
        text + &self.summary.text()
    }
}

impl NodeResult {
    fn line(&self, name: usize, op: usize) -> String {
        let status = if self.status == Status::Pass { "ok" } else { "FAIL" };
        let dtype = self.dtype.map_or("-".to_owned(), |dtype| dtype.to_string());
        let isolated =
            self.isolated.as_ref().map_or("-".to_owned(), |c| format!("{} {:>9}", c.mismatches, number(c.max_abs_err)));
        let accumulated = self.accumulated.as_ref().map_or("-".to_owned(), |c| {
            let psnr = c.psnr_db.map_or("equal".to_owned(), |psnr| format!("{psnr:.1}"));
            format!("{} {:>9} {psnr:>8}", c.mismatches, number(c.max_abs_err))
        });
        let label = shortened(&self.name, name);
        let mut line = format!(
            "{status:<4}  {label:<name$}  {:<op$}  {dtype:<4}  {:>9}  {isolated:>19}  {accumulated:>29}\n",
            self.op, self.total
        );
        if let Some(reason) = &self.reason {
            let _ = writeln!(line, "      {reason}");
        }
        if let (Status::Fail, Some(first)) = (self.status, &self.first) {
            let _ = writeln!(line, "      {}", first.text(&self.tensor));
        }
        line
    }
}

impl Difference {
    fn text(&self, tensor: &str) -> String {
        let value = |v: Option<f64>| v.map_or("nothing".to_owned(), |v| v.to_string());
        let mut text =
            format!("first at {:?} of `{tensor}`: {}, expected {}", self.index, value(self.got), value(self.expected));
        if let Some(accumulator) = self.accumulator {
            let _ = write!(text, ", accumulator {accumulator}");
        }
        text
    }
}

impl Summary {
    fn new(outputs: &[String], nodes: &[NodeResult]) -> Self {
        let count = |f: &dyn Fn(&NodeResult) -> bool| nodes.iter().filter(|row| f(row)).count();
        // A tensor that several merged nodes show is counted once.
        let mut seen = std::collections::HashSet::new();
        let tensors: Vec<&NodeResult> = nodes.iter().filter(|row| seen.insert(&row.tensor)).collect();
        let differ = |row: &NodeResult| row.isolated.as_ref().map_or(0, |c| c.mismatches);
        let quantised = || tensors.iter().filter(|row| row.dtype.is_some_and(DType::is_int8));
        let mut rates: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for row in &tensors {
            if let Some(Bar::Rare { per, .. }) = row.bar {
                let (total, mismatches) = rates.entry(per).or_default();
                *total += row.total;
                *mismatches += differ(row);
            }
        }
        let is_over =
            |(per, (total, mismatches)): (usize, (usize, usize))| (mismatches > (total / per).max(1)).then_some(per);
        let ends = nodes.iter().filter(|row| outputs.contains(&row.tensor));
        Summary {
            nodes: nodes.len(),
            passed: count(&|row| row.status == Status::Pass),
            equal: count(&|row| row.isolated.as_ref().is_some_and(|c| c.mismatches == 0)),
            elements: tensors.iter().map(|row| row.total).sum(),
            isolated_mismatches: tensors.iter().map(|row| differ(row)).sum(),
            quantised_elements: quantised().map(|row| row.total).sum(),
            quantised_mismatches: quantised().map(|row| differ(row)).sum(),
            exceeded: rates.into_iter().filter_map(is_over).collect(),
            output_psnr_db: ends.filter_map(|row| row.accumulated.as_ref()?.psnr_db).min_by(f64::total_cmp),
        }
    }

    fn text(&self) -> String {
        let psnr = self.output_psnr_db.map_or("equal".to_owned(), |psnr| format!("at least {psnr:.2} dB"));
        let over =
            self.exceeded.iter().map(|per| format!("more than 1 in {per} differ over all nodes that may have that\n"));
        let over: String = over.collect();
        format!(
            "{over}{} of {} nodes pass, {} equal; {} of {} int8 elements differ in isolation; outputs accumulated: {psnr}\n",
            self.passed, self.nodes, self.equal, self.quantised_mismatches, self.quantised_elements
        )
    }
}

/// Integers as they are, others with three digits.
fn number(v: f64) -> String {
    if v == 0.0 || (v.fract() == 0.0 && v.abs() < 1e6) { format!("{v:.0}") } else { format!("{v:.2e}") }
}

/// The end of a name that is too long: networks name nodes from the outside in.
fn shortened(name: &str, width: usize) -> String {
    let n = name.chars().count();
    if n <= width { name.to_owned() } else { "..".chars().chain(name.chars().skip(n - width + 2)).collect() }
}
