//! What was measured, as data, as text and as the page `docs/calibration.md`.

use std::fmt::Write;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};
use serde::{Deserialize, Serialize};

use super::{Row, TARGETS};
use crate::profile::grouped;
use crate::target::{QC_U, Target};

/// One row on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Product of the target.
    pub target: String,
    /// The machine of the run, with the row's sizes.
    pub machine: String,
    /// The row.
    pub id: String,
    /// The work.
    pub what: String,
    /// The figure read from the profile.
    pub measures: String,
    /// The published figure.
    pub published: Option<u64>,
    /// The figure of `QC-U` by hand.
    pub on_paper: Option<u64>,
    /// The figure of the simulator.
    pub simulated: u64,
    /// How far it is from the published one, in percent of that, rounded to hundredths.
    pub miss_pct: Option<f64>,
    /// Largest miss in percent that the tests accept; only on `QC-U`.
    pub tolerance_pct: Option<f64>,
    /// What the row says of the parameters.
    pub role: String,
}

impl Measured {
    pub(super) fn new(row: &Row, target: &Target, machine: &Target, simulated: u64) -> Self {
        let product = target.spec().product.to_string();
        let miss = |published: u64| (simulated as f64 / published as f64 - 1.0) * 100.0;
        Self {
            machine: machine.to_string(),
            id: row.id.to_owned(),
            what: row.what.to_owned(),
            measures: row.measures.to_owned(),
            published: row.published,
            on_paper: row.on_paper,
            simulated,
            miss_pct: row.published.map(|published| (miss(published) * 100.0).round() / 100.0),
            tolerance_pct: row.tolerance_pct.filter(|_| product == QC_U.spec().product),
            role: row.role.text(),
            target: product,
        }
    }

    /// Whether the miss is within the tolerance; a row without one always is.
    pub fn holds(&self) -> bool {
        match (self.miss_pct, self.tolerance_pct) {
            (Some(miss), Some(tolerance)) => miss.abs() <= tolerance,
            _ => true,
        }
    }

    /// The columns of the tables.
    fn cells(&self) -> [String; 9] {
        let number = |value: Option<u64>| value.map(grouped).unwrap_or_default();
        [
            self.id.clone(),
            self.what.clone(),
            self.measures.clone(),
            number(self.published),
            number(self.on_paper),
            grouped(self.simulated),
            self.miss_pct.map(|miss| format!("{miss:+.2}")).unwrap_or_default(),
            self.tolerance_pct.map(|tolerance| format!("{tolerance}")).unwrap_or_default(),
            self.role.clone(),
        ]
    }
}

const HEADER: [&str; 9] =
    ["row", "work", "measures", "published", "on paper", "simulated", "miss %", "within %", "parameters"];
/// Which columns are numbers.
const NUMBERS: std::ops::Range<usize> = 3..8;

/// Every row on every target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The rows, target by target.
    pub rows: Vec<Measured>,
}

impl Table {
    /// The rows of a target, those with a published figure or the others.
    fn part<'t>(&'t self, target: &'t str, published: bool) -> impl Iterator<Item = &'t Measured> {
        self.rows.iter().filter(move |row| row.target == target && row.published.is_some() == published)
    }

    /// The targets in order.
    fn targets(&self) -> Vec<&str> {
        let mut targets: Vec<&str> = self.rows.iter().map(|row| row.target.as_str()).collect();
        targets.dedup();
        targets
    }

    /// One table for each target, and one for the rows of our own. `width` columns at most, if that is given.
    pub fn to_text(&self, width: Option<u16>) -> String {
        let mut text = String::new();
        for target in self.targets() {
            for (published, title) in [(true, "published figures"), (false, "rows of our own")] {
                let mut table = comfy_table::Table::new();
                let ruled = TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));
                table.load_style(ruled).set_header(if published { &HEADER[..] } else { &OWN_HEADER[..] });
                match width {
                    Some(width) => _ = table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
                    None => _ = table.set_content_arrangement(ContentArrangement::Disabled),
                }
                for row in self.part(target, published) {
                    let cells = row.cells();
                    if published {
                        table.add_row(cells);
                    } else {
                        table.add_row(OWN_COLUMNS.map(|column| cells[column].clone()));
                    }
                }
                for (i, column) in table.column_iter_mut().enumerate() {
                    column.set_padding((0, 1));
                    let number = if published { NUMBERS.contains(&i) } else { i == OWN_NUMBER };
                    if number {
                        column.set_cell_alignment(CellAlignment::Right);
                    }
                }
                _ = writeln!(text, "{target}, {title}\n{}\n", table.trim_fmt());
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }

    /// The table as JSON, `rows[]`.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and numbers have a JSON form")
    }

    /// The page `docs/calibration.md`: both targets side by side.
    pub fn to_markdown(&self) -> String {
        let mut page = String::from(INTRO);
        let [wide, narrow] = TARGETS.map(|target| target.spec().product.to_string());
        _ = write!(
            page,
            "\n## Published figures\n\n| row | work | measures | published | on paper | `{wide}` | miss % | within % | \
             `{narrow}` | miss % | parameters |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n"
        );
        for (row, other) in self.part(&wide, true).zip(self.part(&narrow, true)) {
            let [id, what, measures, published, paper, simulated, miss, within, role] = row.cells();
            let [.., other_simulated, other_miss, _, _] = other.cells();
            _ = writeln!(
                page,
                "| {id} | {what} | {measures} | {published} | {paper} | {simulated} | {miss} | {within} | \
                 {other_simulated} | {other_miss} | {role} |"
            );
        }
        _ = write!(
            page,
            "\n## Rows of our own\n\nEach changes if one of the parameters that it pins is changed; a test tries all of \
             them.\n\n| row | work | measures | `{wide}` | `{narrow}` | parameters |\n\
             | --- | --- | --- | ---: | ---: | --- |\n"
        );
        for (row, other) in self.part(&wide, false).zip(self.part(&narrow, false)) {
            let [id, what, measures, .., role] = row.cells();
            let figures = [row, other].map(|row| grouped(row.simulated));
            _ = writeln!(page, "| {id} | {what} | {measures} | {} | {} | {role} |", figures[0], figures[1]);
        }
        page
    }
}

/// What the table of our own rows shows of the columns.
const OWN_COLUMNS: [usize; 5] = [0, 1, 2, 5, 8];
const OWN_HEADER: [&str; 5] = [HEADER[0], HEADER[1], HEADER[2], HEADER[5], HEADER[8]];
const OWN_NUMBER: usize = 3;

const INTRO: &str = "\
# Calibration

Written by `iss/src/calibrate/table.rs` from runs of the programs in `iss/src/calibrate/`; a test checks that it is current, and
`CCL_BLESS=1 cargo test -p iss --test calibration` rewrites it. `cargo run --release -p iss -- calibrate` prints the same as
text, with `--json` as data.

Every row is a program that runs on the simulator; none has a switch of its own. The published figures are from the
vendor's public notebooks on SegFormer-B0 (256 x 512, rows 1 to 6) and on DETR (row 7), on QC-U at 1.7 GHz and, row 7, at 1.56 GHz
with 8 MB and 64 GB/s each way. *Within* is the miss that the tests accept on `QC-U`; `QC-U-narrow` is a slower reading of
the same figures, printed beside it and never asserted. *On paper* is the figure by hand from the rules of the machine. A row
either *fixes* a parameter, which was chosen to meet it, or *predicts*.
";
