//! Reports of runs: tables for terminals, a page, a map of memory, a timeline. All of it comes from a [`RunReport`]; nothing
//! here measures anything.

mod table;
pub mod tables;

mod html;
mod svg;

pub mod timeline;

pub use html::Page;
pub use table::{Row, Table};

use iss::profile::TextOptions;

use crate::run::report::RunReport;

/// What a run cost, for a terminal: the module, its inputs and outputs, cycles by class, stalls, kernels, notes.
pub fn summary(report: &RunReport, options: &TextOptions) -> String {
    let tables = [
        tables::module(report),
        tables::tensors(report),
        tables::classes(&report.figures),
        tables::stalls(&report.figures),
        tables::kernels(report),
        tables::edits(report),
    ];
    let mut text = join(&tables, options);
    for note in &report.notes {
        text += &format!("note: {note}\n");
    }
    text
}

/// What the summary leaves out, for a terminal: bytes of each kernel, operators, arithmetic, energy, the map of memory.
pub fn details(report: &RunReport, options: &TextOptions) -> String {
    let tables = [
        tables::bytes(report),
        tables::operators(report),
        tables::arithmetic(report),
        tables::energy(report),
        tables::memory(report),
    ];
    join(&tables, options)
}

/// Products by operator and the estimate of energy, for a terminal.
pub fn arithmetic_and_energy(report: &RunReport, options: &TextOptions) -> String {
    join(&[tables::arithmetic(report), tables::energy(report)], options)
}

/// Tables below each other, those without rows left out.
fn join(tables: &[Table], options: &TextOptions) -> String {
    tables.iter().filter(|table| !table.rows.is_empty()).map(|table| table.to_text(options) + "\n").collect()
}

#[cfg(test)]
pub(crate) mod tests;
