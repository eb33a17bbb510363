//! `graphc check`.

use clap::Args;
use graphc::check;

use crate::cli::{Exit, Source, complain, say};

/// Lists every node of a model as mapped, decomposed or refused, and everything that is wrong with it.
#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    source: Source,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn run(self) -> anyhow::Result<Exit> {
        let import = self.source.import()?;
        let report = &import.report;
        if self.json {
            say(&(serde_json::to_string_pretty(&check::Summary::of(report))? + "\n"))?;
        } else {
            say(&check::text(report))?;
        }
        for problem in report.all_problems() {
            let lines: Vec<String> = problem.to_string().lines().map(check::clean).collect();
            complain(&format!("error: {}", lines.join("\n")));
        }
        Ok(if report.is_accepted() { Exit::Done } else { Exit::Refused })
    }
}
