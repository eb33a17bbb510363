//! `calibrate` and `bench`: figures of the model, and of the simulator on this host.

use clap::Args;

use super::{Exit, files};

/// Run the programs behind published figures of the machine, and those of our own, and print what they give.
///
/// `QC-U` must be within the tolerance of each row that has one; the exit code is 1 if it is not. `QC-U-narrow` is a slower
/// reading of the same figures, printed beside it.
#[derive(Debug, Args)]
pub struct Calibrate {
    /// Print JSON: `rows[]` with `target`, `id`, `published`, `simulated`, `miss_pct` and the other columns
    #[arg(long)]
    json: bool,
}

/// Columns of the table; the longest texts are broken.
const WIDTH: u16 = 160;

impl Calibrate {
    pub fn run(self) -> anyhow::Result<Exit> {
        let table = iss::calibrate::calibrate()?;
        files::print(&if self.json { table.to_json() + "\n" } else { table.to_text(Some(WIDTH)) })?;
        let mut exit = Exit::Done;
        for row in table.rows.iter().filter(|row| !row.holds()) {
            let (miss, tolerance) = (row.miss_pct.unwrap_or_default(), row.tolerance_pct.unwrap_or_default());
            files::complain(&format!(
                "error: row {} on {} misses by {miss} %, allowed are {tolerance} %",
                row.id, row.target
            ));
            exit = Exit::Failed;
        }
        Ok(exit)
    }
}

/// Measure how fast the simulator is on this host, in under a minute.
#[derive(Debug, Args)]
pub struct Bench {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Bench {
    pub fn run(self) -> anyhow::Result<Exit> {
        let report = iss::bench::run()?;
        files::print(&if self.json { report.to_json() + "\n" } else { report.to_text() })?;
        Ok(Exit::Done)
    }
}
