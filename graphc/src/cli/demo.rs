//! `graphc demo`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use graphc::compose::{Composition, Entries};
use graphc::demo::segformer::{self, DEFAULT_FRAME, Models, N_FRAMES, References, VARIANTS, Variant};
use graphc::demo::{DemoReport, VariantReport};
use graphc::emit::{Emission, emit_with};
use graphc::import::{self, Options};
use graphc::onnx::Model;
use graphc::picture::{Frame, LabelMap, overlay, to_png};
use graphc::report::{self, Page, timeline};
use graphc::run::program::Program;
use graphc::stub::AttentionStub;
use graphc::{npy, plan, rewrite};
use iss::profile::TextOptions;
use iss::sim;
use iss::target::Target;

use crate::cli::files::put;
use crate::cli::show::TIMELINE_EVENTS;
use crate::cli::{Exit, input, progress, say};

/// Shows what the project does on networks that come with it.
#[derive(Debug, Args)]
pub struct Demo {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Segformer(Segformer),
}

/// Segments a scene by quantised SegFormer-B0 networks on the simulated processor.
///
/// Labels are compared with stored ones of ONNX Runtime and of the float network. Label maps, overlays, panels, timelines and
/// the report go to a folder.
#[derive(Debug, Args)]
struct Segformer {
    /// A supplied frame, 0 to 3, or a PNG or JPEG file; may be repeated [default: 1]
    #[arg(long = "frame", value_name = "N|FILE")]
    frames: Vec<String>,
    /// Only this network; may be repeated
    #[arg(long = "variant", value_name = "NAME", value_parser = VARIANTS.map(|variant| variant.name))]
    variants: Vec<String>,
    /// The machine: a product, and what differs from it
    #[arg(long, default_value = "QC-U:ocm=16MB")]
    target: Target,
    /// A Rust file with a `ccl!` function that takes over a step of each attention: `#[stub(path)]` above it says which
    #[arg(long, value_name = "FILE")]
    attention_stubs: Option<PathBuf>,
    /// The folder for pictures and the report
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    /// The figures as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The folder of networks, frames and labels, if it is not the project's
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
}

/// A frame of the demonstration.
struct Shown {
    name: String,
    frame: Frame,
    /// Its number, if it is a supplied one.
    supplied: Option<usize>,
}

/// A compiled network of the demonstration.
struct Network {
    variant: &'static Variant,
    program: Program,
    input: String,
    extents: (u32, u32),
    /// Seconds from the file to the texts of kernels.
    emit_s: f64,
}

impl Demo {
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.what {
            What::Segformer(demo) => demo.run(),
        }
    }
}

impl Segformer {
    fn run(self) -> anyhow::Result<Exit> {
        let models = self.models.as_deref().map_or_else(Models::of_project, Models::at);
        let frames = self.shown(&models)?;
        let stub = self.attention_stubs.as_deref().map(AttentionStub::read).transpose()?;
        // What cannot be written is found before the work, not behind it.
        std::fs::create_dir_all(&self.out).with_context(|| format!("cannot make `{}`", self.out.display()))?;
        let mut found = DemoReport::default();
        let mut page = Page::new("SegFormer-B0 on the simulated array processor");
        let wanted = |variant: &&Variant| self.variants.is_empty() || self.variants.iter().any(|n| n == variant.name);
        for variant in VARIANTS.iter().filter(wanted) {
            let network = Network::compile(&models, variant, &self.target, stub.as_ref())?;
            for shown in &frames {
                let references = shown.supplied.map(|n| models.references(variant, n)).transpose()?;
                found.variants.push(self.simulate(&network, shown, references.as_ref(), &mut page)?);
            }
        }
        self.finish(&found, page)?;
        Ok(Exit::Done)
    }

    /// Runs a network on a frame, and writes its pictures.
    fn simulate(
        &self,
        network: &Network,
        shown: &Shown,
        references: Option<&References>,
        page: &mut Page,
    ) -> anyhow::Result<VariantReport> {
        let (variant, (height, width)) = (network.variant, network.extents);
        let name = format!("{}_{}", variant.name, shown.name);
        let inputs = HashMap::from([(network.input.clone(), shown.frame.pixel_values(height, width))]);
        let bar = progress::bar(network.program.emitted().manifest.kernels.len());
        let options = sim::Options { timeline: TIMELINE_EVENTS, ..sim::Options::default() };
        let mut outcome = network.program.run(&inputs, &options, |progress| progress::show(&bar, &progress))?;
        bar.finish_and_clear();
        let (output, labels) = outcome.outputs.first().context("the network has no output")?;
        let labels = LabelMap::from_tensor(output, labels)?;
        outcome.report.figures.wall_s.compile += network.emit_s;
        let one = VariantReport::new(variant, &shown.name, outcome.report, &labels, references)?;
        let (palette, panel) = (variant.palette(), one.panel(variant, &shown.frame, &labels, references)?);
        put(&self.out.join(format!("{name}_labels.png")), &labels.to_indexed_png(palette))?;
        put(&self.out.join(format!("{name}_overlay.png")), &to_png(&overlay(&shown.frame, &labels, palette)))?;
        put(&self.out.join(format!("{name}_panel.png")), &to_png(&panel))?;
        if let Some(trace) = timeline::trace(&outcome.profiles) {
            put(&self.out.join(format!("{name}_timeline.json")), trace.as_bytes())?;
        }
        page.chapter(&format!("{}, {}", variant.name, shown.name));
        page.picture("the frame, references, the simulator's labels, and where they differ", &panel);
        page.run(&one.run);
        say(&format!("{}\n", report::summary(&one.run, &TextOptions::default())))?;
        Ok(one)
    }

    fn finish(&self, found: &DemoReport, mut page: Page) -> anyhow::Result<()> {
        let table = found.table();
        page.chapter("all networks");
        page.table(&table);
        put(&self.out.join("report.html"), page.finish().as_bytes())?;
        put(&self.out.join("report.json"), found.to_json().as_bytes())?;
        if let Some(path) = &self.json {
            put(path, found.to_json().as_bytes())?;
        }
        say(&table.to_text(&TextOptions::default()))?;
        say(&format!("label maps, panels, timelines and report.html are in `{}`\n", self.out.display()))
    }

    fn shown(&self, models: &Models) -> anyhow::Result<Vec<Shown>> {
        if self.frames.is_empty() {
            return Ok(vec![supplied(models, DEFAULT_FRAME)?]);
        }
        self.frames.iter().map(|text| shown(models, text)).collect()
    }
}

/// A supplied frame by its number, or one from a file.
fn shown(models: &Models, text: &str) -> anyhow::Result<Shown> {
    match text.parse::<usize>() {
        Ok(number) if number < N_FRAMES => supplied(models, number),
        Ok(number) => bail!("frame {number} is not there: expected 0 to {}, or a picture's file", N_FRAMES - 1),
        Err(_) => {
            let path = Path::new(text);
            let stem = path.file_stem().map_or_else(|| "frame".into(), |stem| stem.to_string_lossy());
            Ok(Shown { name: npy::file_stem(&stem), frame: Frame::read(path)?, supplied: None })
        }
    }
}

fn supplied(models: &Models, number: usize) -> anyhow::Result<Shown> {
    Ok(Shown { name: format!("scene{number:02}"), frame: models.frame(number)?, supplied: Some(number) })
}

impl Network {
    fn compile(
        models: &Models,
        variant: &'static Variant,
        target: &Target,
        stub: Option<&AttentionStub>,
    ) -> anyhow::Result<Self> {
        let (start, path) = (Instant::now(), models.network(variant));
        let graph = import::import(&Model::read(&path)?, &Options::default()).into_graph();
        let graph = graph.with_context(|| format!("`{}` is not accepted", path.display()))?;
        let [input] = graph.inputs() else { bail!("`{}` has more than one input", path.display()) };
        let input = graph.value(*input).name.clone();
        let extents = input::extents(&graph, &input)?;
        let (graph, _) = rewrite::all(&graph)?;
        let plan = plan::plan(graph, Some(&segformer::boundaries()?))?;
        let emitted = match emit_with(&plan, &Emission { target: target.clone() }, stub) {
            Ok(emitted) => emitted,
            Err(errors) => {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                bail!("`{}`:\n{}", path.display(), errors.join("\n"));
            }
        };
        let emit_s = start.elapsed().as_secs_f64();
        let composition = Composition { entries: Entries::Count(1), prefetch: true };
        let program = Program::compile(plan, emitted, &composition, target)?;
        Ok(Self { variant, program, input, extents, emit_s })
    }
}
