//! `graphc run`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use graphc::compose::{Composition, Entries};
use graphc::edits::Edits;
use graphc::emit::{Emission, Emitted, emit_with};
use graphc::graph::{Graph, Tensor};
use graphc::plan::{self, Plan};
use graphc::run::program::{EditsByKernel, Program};
use graphc::stub::AttentionStub;
use graphc::{npy, rewrite};
use iss::sim::Options;
use iss::target::Target;

use crate::cli::ranges::OfFloat;
use crate::cli::{Exit, Source, compile, complain, files, in_folder, input, named, progress, show};

/// Compiles a quantised model and runs it on the simulator, in one go
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    source: Source,
    /// An input: a `.npy` file, or a picture that is normalised as for ImageNet; may be repeated
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = named)]
    inputs: Vec<(String, String)>,
    /// Where outputs go, as `NAME.npy`
    #[arg(long)]
    output_dir: PathBuf,
    /// Where what the run cost goes, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    of_float: OfFloat,
    #[command(flatten)]
    show: show::Show,
    #[command(flatten)]
    build: Build,
}

/// How a network becomes a program.
#[derive(Debug, Args)]
pub struct Build {
    /// The machine: a product, and what differs from it
    #[arg(long, default_value = "QC-U")]
    target: Target,
    /// Where kernels end: lines of a kernel's name and its last tensor
    #[arg(long, value_name = "FILE")]
    boundaries: Option<PathBuf>,
    #[command(flatten)]
    entrances: Entrances,
    /// Folder of kernels by hand, which replace generated ones of the same names
    #[arg(long, value_name = "DIR")]
    kernels: Option<PathBuf>,
    /// A Rust file with a `ccl!` function that takes over a step of each attention: `#[stub(path)]` above it says which
    #[arg(long, value_name = "FILE")]
    attention_stubs: Option<PathBuf>,
}

/// How kernels are composed.
#[derive(Debug, Args)]
pub struct Entrances {
    /// Entry points: 1, a number, or a file with lines of an entry point's name and its kernels
    #[arg(long, value_name = "N|FILE", default_value = "1")]
    entries: String,
    /// Bring each kernel's constants right before it, not under the arithmetic of the kernel before
    #[arg(long)]
    no_prefetch: bool,
}

impl Run {
    pub fn run(self) -> anyhow::Result<Exit> {
        let start = Instant::now();
        let read = |graph: &Graph| -> anyhow::Result<HashMap<String, Tensor>> {
            let of = |(name, file): &(String, String)| Ok((name.clone(), input::read(graph, name, Path::new(file))?));
            self.inputs.iter().map(of).collect()
        };
        let graph = self.of_float.graph(&self.source, read)?;
        let inputs = read(&graph)?;
        graphc::run::host::check_inputs(&graph, &inputs)?;
        std::fs::create_dir_all(&self.output_dir)
            .with_context(|| format!("cannot make `{}`", self.output_dir.display()))?;
        let (graph, _) = rewrite::all(&graph)?;
        let Some(program) = self.build.program(graph)? else { return Ok(Exit::Refused) };
        let program = program.with_compile_s(start.elapsed().as_secs_f64());
        let bar = progress::bar(program.emitted().manifest.kernels.len());
        let options = Options { timeline: self.show.timeline_events(), ..Options::default() };
        let outcome = program.run(&inputs, &options, |progress| progress::show(&bar, &progress))?;
        bar.finish_and_clear();
        for (name, tensor) in &outcome.outputs {
            let path = in_folder(&self.output_dir, name);
            npy::write(&path, tensor).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        if let Some(path) = &self.json {
            files::put(path, outcome.report.to_json().as_bytes())?;
        }
        self.show.outcome(&outcome, &self.inputs, &self.output_dir)?;
        Ok(Exit::Done)
    }
}

impl Build {
    /// A rewritten graph as a program; nothing if parts of it cannot be emitted, which is said.
    pub fn program(&self, graph: Graph) -> anyhow::Result<Option<Program>> {
        let cut = self.boundaries.as_deref().map(compile::read).transpose()?;
        let plan = plan::plan(graph, cut.as_deref())?;
        let Some((emitted, edits)) = self.emitted(&plan)? else { return Ok(None) };
        let program = Program::compile(plan, emitted, &self.entrances.composition()?, &self.target)?;
        Ok(Some(program.with_edits(edits)))
    }

    fn emitted(&self, plan: &Plan) -> anyhow::Result<Option<(Emitted, EditsByKernel)>> {
        let stub = self.attention_stubs.as_deref().map(AttentionStub::read).transpose()?;
        let mut emitted = match emit_with(plan, &Emission { target: self.target.clone() }, stub.as_ref()) {
            Ok(emitted) => emitted,
            Err(errors) => {
                errors.iter().for_each(|error| complain(&format!("error: {error}")));
                return Ok(None);
            }
        };
        let mut edits = BTreeMap::new();
        if let Some(folder) = &self.kernels {
            match Edits::open(folder)?.apply(&mut emitted) {
                Ok(states) => edits.extend(states.into_iter().map(|state| {
                    let file = folder.join(format!("{}.rs", state.kernel)).display().to_string();
                    (state.kernel, (file, state.says))
                })),
                Err(errors) => {
                    errors.iter().for_each(|error| complain(&format!("error: {error}")));
                    return Ok(None);
                }
            }
        }
        Ok(Some((emitted, edits)))
    }
}

impl Entrances {
    /// Entry points and prefetches.
    pub fn composition(&self) -> anyhow::Result<Composition> {
        let entries = match self.entries.parse::<Entries>() {
            Ok(entries) => entries,
            Err(_) => {
                let text = std::fs::read_to_string(&self.entries)
                    .with_context(|| format!("`{}` is no number, and cannot be read as a file", self.entries))?;
                Entries::parse(&text).with_context(|| format!("`{}`", self.entries))?
            }
        };
        Ok(Composition { entries, prefetch: !self.no_prefetch })
    }
}
