//! A table as data, which terminals and pages show.

use iss::isa::Class;
use iss::profile::TextOptions;
use iss::profile::figure::Grid;

/// A table with a title.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows.
    pub title: &'static str,
    /// Names of columns.
    pub columns: Vec<&'static str>,
    /// How many columns, from the left, hold words and not numbers.
    pub n_words: usize,
    /// Rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// A text for each column.
    pub cells: Vec<String>,
    /// The bar behind it: parts, of 1 in all, with the class that gives them their colour.
    pub bar: Vec<(Option<Class>, f64)>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: &'static str, columns: &[&'static str], n_words: usize) -> Self {
        Self { title, columns: columns.to_vec(), n_words, rows: Vec::new() }
    }

    /// Adds a row without a bar.
    pub fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(Row { cells: cells.into(), bar: Vec::new() });
    }

    /// Adds a row with a bar.
    pub fn bar_row(&mut self, cells: impl Into<Vec<String>>, bar: Vec<(Option<Class>, f64)>) {
        self.rows.push(Row { cells: cells.into(), bar });
    }

    /// Title and table, for a terminal.
    pub fn to_text(&self, options: &TextOptions) -> String {
        let mut grid = Grid::new(&self.columns, self.n_words);
        for row in &self.rows {
            if row.bar.is_empty() {
                grid.row(row.cells.clone());
            } else {
                grid.bar_row(row.cells.clone(), row.share());
            }
        }
        format!("{}\n{}", self.title, grid.render(options))
    }
}

impl Row {
    /// The whole of its bar.
    pub fn share(&self) -> f64 {
        self.bar.iter().map(|(_, share)| share).sum()
    }
}
