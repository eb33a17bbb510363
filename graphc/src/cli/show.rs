//! What a run is shown as: tables, a page, a timeline, pictures of labels.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use graphc::npy;
use graphc::picture::{Frame, LabelMap, Palette, overlay, palette, to_png};
use graphc::report::{self, Page, timeline};
use graphc::run::energy::EnergyOfEvent;
use graphc::run::program::Outcome;
use iss::profile::TextOptions;

use crate::cli::{files, say};

/// Events of each kind that a timeline keeps.
pub const TIMELINE_EVENTS: usize = 20_000;

/// What is to be shown of a run.
#[derive(Debug, Args)]
pub struct Show {
    /// Print bytes, operators and the map of memory too
    #[arg(long)]
    details: bool,
    /// Where a page with all figures goes
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// What happened when, in the format of chrome://tracing and ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// What an event takes, in pJ, instead of the published figure: `mac`, `operation`, `local`, `on-chip` or `external`; may be repeated
    #[arg(long, value_name = "NAME=PJ")]
    energy: Vec<EnergyOfEvent>,
    /// Write outputs that are label maps as pictures too, in these colours: `city19`, `scene150`, or a file with a line for each
    /// class, its number, name and colour such as (128, 64, 128) with tabs between
    #[arg(long, value_name = "NAME|FILE")]
    palette: Option<String>,
}

impl Show {
    /// Events that the run must keep for it.
    pub fn timeline_events(&self) -> usize {
        if self.timeline.is_some() { TIMELINE_EVENTS } else { 0 }
    }

    /// Figures of energy that were given.
    pub fn energies(&self) -> &[EnergyOfEvent] {
        &self.energy
    }

    /// Shows a run; `inputs` are names and files, and pictures go to `folder`.
    pub fn outcome(&self, outcome: &Outcome, inputs: &[(String, String)], folder: &Path) -> anyhow::Result<()> {
        let options = TextOptions::default();
        if let Some(path) = &self.html {
            let mut page = Page::new(&outcome.report.network);
            page.run(&outcome.report);
            files::put(path, page.finish().as_bytes())?;
        }
        if let (Some(path), Some(trace)) = (&self.timeline, timeline::trace(&outcome.profiles)) {
            files::put(path, trace.as_bytes())?;
        }
        if let Some(name) = &self.palette {
            pictures(outcome, &read(name)?, inputs, folder)?;
        }
        say(&report::summary(&outcome.report, &options))?;
        if self.details {
            say(&report::details(&outcome.report, &options))?;
        }
        Ok(())
    }
}

/// A supplied palette, or one from a file.
fn read(name: &str) -> anyhow::Result<Palette> {
    match name {
        "city19" => Ok(palette::CITY19.clone()),
        "scene150" => Ok(palette::SCENE150.clone()),
        file => {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the palette `{file}`"))?;
            Palette::parse(&text).with_context(|| format!("`{file}`"))
        }
    }
}

/// Writes each output that is a label map in its colours, and over the picture that was the only input.
fn pictures(outcome: &Outcome, palette: &Palette, inputs: &[(String, String)], folder: &Path) -> anyhow::Result<()> {
    let frame = match inputs {
        [(_, file)] if !file.ends_with(".npy") => Some(Frame::read(Path::new(file))?),
        _ => None,
    };
    for (name, tensor) in &outcome.outputs {
        let Ok(map) = LabelMap::from_tensor(name, tensor) else { continue };
        let stem = npy::file_stem(name);
        files::put(&folder.join(format!("{stem}.png")), &map.to_indexed_png(palette))?;
        if let Some(frame) = &frame {
            let picture = to_png(&overlay(frame, &map, palette));
            files::put(&folder.join(format!("{stem}_overlay.png")), &picture)?;
        }
    }
    Ok(())
}
