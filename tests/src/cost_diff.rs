//! Cost snapshots: the figures in their texts, and what moved between two states of them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Texts of snapshots by their files.
pub type Snapshots = BTreeMap<PathBuf, String>;

/// Cycles that a snapshot states, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Name of the snapshot.
    pub snapshot: String,
    /// Kernel and machine, or machine.
    pub label: String,
    /// Cycles before; `None` if the figure is new.
    pub before: Option<u64>,
    /// Cycles after; `None` if the figure is gone.
    pub after: Option<u64>,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cycles = |n: Option<u64>| n.map_or_else(|| "none".to_owned(), |n| n.to_string());
        let (before, after) = (cycles(self.before), cycles(self.after));
        write!(f, "{}, {}: {before} -> {after} cycles", self.snapshot, self.label)?;
        match (self.before, self.after) {
            (Some(before), Some(after)) if before > 0 => {
                write!(f, " ({:+.1} %)", (after as f64 / before as f64 - 1.0) * 100.0)
            }
            _ => Ok(()),
        }
    }
}

/// The snapshots below a directory; build output and version control are left out.
///
/// # Errors
/// A file or directory that cannot be read.
pub fn snapshots(root: &Path) -> io::Result<Snapshots> {
    let mut found = Snapshots::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir)? {
            let (path, kind) = {
                let entry = entry?;
                (entry.path(), entry.file_type()?)
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if kind.is_dir() && name != "target" && !name.starts_with('.') {
                open.push(path);
            } else if kind.is_file() && name.ends_with(".snap") {
                let text = fs::read_to_string(&path)?;
                found.insert(path, text);
            }
        }
    }
    Ok(found)
}

/// The cycles that a snapshot states: the lines `cycles N` of [`Cost`](ccl_runtime::testing::Cost) under their `kernel K on M`, lines
/// `M: total N`, and the column `total` of a table of kernels.
pub fn figures(text: &str) -> Vec<(String, u64)> {
    let mut label = String::new();
    let mut found = Vec::new();
    let mut column = None;
    for line in text.lines() {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if cells.first() == Some(&"kernel") {
            column = cells.iter().position(|cell| *cell == "total");
        } else if let Some(n) = column.and_then(|column| cells.get(column)?.parse().ok()) {
            found.push((cells[0].to_owned(), n));
        } else if let Some(name) = line.strip_prefix("kernel ") {
            label = name.to_owned();
        } else if let Some(n) = line.strip_prefix("cycles ").and_then(leading_number) {
            found.push((label.clone(), n));
        } else if let Some((name, n)) = line.split_once(": total ")
            && let Some(n) = leading_number(n)
        {
            found.push((name.to_owned(), n));
        }
    }
    found
}

fn leading_number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// What moved, in the order of the files.
pub fn moved(before: &Snapshots, after: &Snapshots) -> Vec<Moved> {
    let none = String::new();
    let files: std::collections::BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let mut list = Vec::new();
    for file in files {
        let snapshot = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let old = figures(before.get(file).unwrap_or(&none));
        let mut new = figures(after.get(file).unwrap_or(&none));
        for (label, n) in old {
            let at = new.iter().position(|(of, _)| *of == label);
            let now = at.map(|at| new.remove(at).1);
            if now != Some(n) {
                list.push(Moved { snapshot: snapshot.clone(), label, before: Some(n), after: now });
            }
        }
        list.extend(new.into_iter().map(|(label, n)| Moved {
            snapshot: snapshot.clone(),
            label,
            before: None,
            after: Some(n),
        }));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::{Costs, Row};

    fn of(file: &str, text: &str) -> Snapshots {
        Snapshots::from([(PathBuf::from(file), text.to_owned())])
    }

    #[test]
    fn a_figure_that_moved_is_named_with_both_values() {
        let cost = "---\nsource: a.rs\n---\nkernel double on QC-U\ncycles 1000 (1.2 of the bound 900)\n  mac 3 cycles, 3 issued\n";
        let after = cost.replace("1000", "900");
        let list = moved(&of("snapshots/a__double.snap", cost), &of("snapshots/a__double.snap", &after));
        let texts: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["a__double, double on QC-U: 1000 -> 900 cycles (-10.0 %)"]);
        assert!(moved(&of("a.snap", cost), &of("a.snap", cost)).is_empty());
    }

    #[test]
    fn new_and_lost_figures_are_moves() {
        let both = "QC-U: total 10, arithmetic 5\nQC-U-narrow: total 20, arithmetic 5\n";
        assert_eq!(figures(both), [("QC-U".to_owned(), 10), ("QC-U-narrow".to_owned(), 20)]);
        let list = moved(&of("a.snap", both), &of("a.snap", "QC-U: total 10\n"));
        assert_eq!((list.len(), list[0].before, list[0].after), (1, Some(20), None));
        assert_eq!(moved(&Snapshots::new(), &of("a.snap", both)).len(), 2);
    }

    #[test]
    fn a_table_of_kernels_states_a_figure_a_row() {
        let row = |kernel: &str, total| Row {
            kernel: kernel.to_owned(),
            target: "QC-U".to_owned(),
            tiles: 8,
            total,
            arithmetic: 9,
            busiest_engine: 7,
            ratio: 1.5,
            per_item: 2.5,
            item: "element".to_owned(),
            limit: None,
            why: None,
            met: None,
        };
        let costs = Costs { kernels: vec![row("requantise", 1234), row("depthwise 3x3", 56789)] };
        let wanted = [("requantise".to_owned(), 1234), ("depthwise 3x3".to_owned(), 56789)];
        assert_eq!(figures(&costs.table("QC-U")), wanted);
    }
}
