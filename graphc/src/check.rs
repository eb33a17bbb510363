//! The report of `graphc check` as text and JSON.

use std::fmt::Write;

use serde::Serialize;

use crate::import::{Problem, Report};
use crate::operators::Mapping;

/// The report with its sums, as JSON has it.
#[derive(Debug, Serialize)]
pub struct Summary<'a> {
    /// Whether the model is accepted.
    pub accepted: bool,
    /// Nodes that become part of kernels.
    pub mapped: usize,
    /// Nodes that are replaced.
    pub decomposed: usize,
    /// Nodes that are not accepted.
    pub refused: usize,
    /// Multiply-accumulate steps.
    pub macs: u64,
    /// Everything that is wrong.
    pub errors: Vec<Problem>,
    /// The report.
    #[serde(flatten)]
    pub report: &'a Report,
}

impl<'a> Summary<'a> {
    /// Sums up a report.
    pub fn of(report: &'a Report) -> Self {
        Summary {
            accepted: report.is_accepted(),
            mapped: report.count(Mapping::Mapped),
            decomposed: report.count(Mapping::Decomposed),
            refused: report.count(Mapping::Refused),
            macs: report.macs(),
            errors: report.all_problems(),
            report,
        }
    }
}

/// One line per node, then inputs, outputs and sums. Names and texts of the file are printed without control characters.
pub fn text(report: &Report) -> String {
    let summary = Summary::of(report);
    let mut out = String::new();
    let width =
        |of: &dyn Fn(&crate::import::NodeReport) -> usize| report.nodes.iter().map(of).max().unwrap_or(0).min(48);
    let (op_width, name_width) = (width(&|n| n.op.chars().count()), width(&|n| n.name.chars().count()));
    for node in &report.nodes {
        let status = match node.status {
            Mapping::Mapped => "mapped",
            Mapping::Decomposed => "decomposed",
            Mapping::Refused => "refused",
        };
        let types = node.outputs.join(" ");
        let _ = writeln!(
            out,
            "{status:<10}  {:<op_width$}  {:<name_width$}  {types}{}{}",
            clean(&node.op),
            clean(&node.name),
            if types.is_empty() { "" } else { "  " },
            clean(&node.reason),
        );
    }
    for (what, list) in [("input", &report.inputs), ("output", &report.outputs)] {
        for (name, ty) in list {
            let _ = writeln!(out, "{what} `{}`: {ty}", clean(name));
        }
    }
    let _ = writeln!(
        out,
        "{} nodes: {} mapped, {} decomposed, {} refused; {:.3} GMAC; opset {}",
        report.nodes.len(),
        summary.mapped,
        summary.decomposed,
        summary.refused,
        summary.macs as f64 / 1e9,
        report.opset,
    );
    out
}

/// Text of a file as a terminal may show it.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
