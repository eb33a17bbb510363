//! `graphc demo detr`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use graphc::compose::{Composition, Entries};
use graphc::demo::detr::{DetrReport, Models};
use graphc::emit::{Emission, emit};
use graphc::graph::{Graph, Tensor};
use graphc::import::{self, NodeReport};
use graphc::onnx::Model;
use graphc::quantize::{self, Options, Quantised};
use graphc::report::{self, Page, timeline};
use graphc::run::energy::EnergyOfEvent;
use graphc::run::program::{Outcome, Program};
use graphc::validate::{self, Status, Stepwise, Validation, compare};
use graphc::{plan, rewrite};
use iss::profile::TextOptions;
use iss::sim;
use iss::target::Target;
use prost::Message;

use crate::cli::files::put;
use crate::cli::show::TIMELINE_EVENTS;
use crate::cli::validate::reference;
use crate::cli::{Exit, progress, quantize as command, say};

/// Quantises the transformer encoder of DETR, runs it on the simulated processor and compares every node with a reference.
///
/// The reference is ONNX Runtime where this graphc was built with `--features ort` and ORT_DYLIB_PATH names its library, else the
/// golden executor. Tables go to the terminal; the quantised network, the picture of errors, the timeline and the report go to a
/// folder. The exit code is 1 where a node is not within its bar.
#[derive(Debug, Args)]
pub struct Detr {
    /// The machine: a product, and what differs from it
    #[arg(long, default_value = "QC-U:ocm=8MB,clock=1d56GHz,ext-rd=64GBps,ext-wr=64GBps")]
    target: Target,
    /// Rows of the table of nodes, worst first
    #[arg(long, default_value_t = 20)]
    rows: usize,
    /// What an event takes, in pJ, instead of the published figure: `mac`, `operation`, `local`, `on-chip` or `external`; may be repeated
    #[arg(long, value_name = "NAME=PJ")]
    energy: Vec<EnergyOfEvent>,
    /// The folder for the quantised network, pictures and the report
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    /// The figures as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The folder of the network and its tensors, if it is not the project's
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
}

/// The quantised network as it is read again.
struct Network {
    model: Model,
    nodes: Vec<NodeReport>,
    graph: Graph,
}

impl Detr {
    pub fn run(self) -> anyhow::Result<Exit> {
        let models = self.models.as_deref().map_or_else(Models::of_project, Models::at);
        // What cannot be written is found before the work, not behind it.
        std::fs::create_dir_all(&self.out).with_context(|| format!("cannot make `{}`", self.out.display()))?;
        let inputs = models.inputs()?;
        let quantised = quantise(&models, &inputs)?;
        say(&format!("{}\n", quantised.summary))?;
        let bytes = quantised.model.proto.encode_to_vec();
        put(&self.out.join("detr_int8.onnx"), &bytes)?;
        let network = Network::read(quantised.model)?;
        let outcome = self.simulate(&network.graph, &inputs)?;
        let validation = self.validate(&network, &inputs)?;
        let found = DetrReport::new(&models, &bytes, &outcome, validation)?;
        self.finish(&found, &outcome)?;
        let passes = found.validation.status == Status::Pass;
        Ok(if passes { Exit::Done } else { Exit::Refused })
    }

    fn simulate(&self, graph: &Graph, inputs: &HashMap<String, Tensor>) -> anyhow::Result<Outcome> {
        let start = Instant::now();
        let (graph, _) = rewrite::all(graph)?;
        let plan = plan::plan(graph, None)?;
        let emitted = match emit(&plan, &Emission { target: self.target.clone() }) {
            Ok(emitted) => emitted,
            Err(errors) => {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                bail!("the network does not compile:\n{}", errors.join("\n"));
            }
        };
        let composition = Composition { entries: Entries::Count(1), prefetch: true };
        let program = Program::compile(plan, emitted, &composition, &self.target)?;
        let program = program.with_compile_s(start.elapsed().as_secs_f64());
        let bar = progress::bar(program.emitted().manifest.kernels.len());
        let options = sim::Options { timeline: TIMELINE_EVENTS, ..sim::Options::default() };
        let mut outcome = program.run(inputs, &options, |progress| progress::show(&bar, &progress))?;
        bar.finish_and_clear();
        outcome.report.energy.replace(&self.energy);
        Ok(outcome)
    }

    /// Compares kernels of one step each with the reference.
    fn validate(&self, network: &Network, inputs: &HashMap<String, Tensor>) -> anyhow::Result<Validation> {
        let bar = progress::spinner("nodes, each alone");
        let reference = reference(&network.model, &network.graph, inputs)?;
        let steps = Stepwise::compile(&network.graph, &self.target)?;
        let ran = steps.run(&network.graph, inputs)?;
        let validation = compare(&network.graph, &network.nodes, &ran, &reference);
        bar.finish_and_clear();
        Ok(validation)
    }

    fn finish(&self, found: &DetrReport, outcome: &Outcome) -> anyhow::Result<()> {
        let options = TextOptions::default();
        let mut page = Page::new("The transformer encoder of DETR on the simulated array processor");
        page.run(&found.run);
        let picture = validate::picture(&found.validation);
        page.chapter("every node beside the reference");
        page.table(&found.table());
        page.png("errors of each node along the network", &picture);
        put(&self.out.join("detr_errors.png"), &picture)?;
        put(&self.out.join("detr_report.html"), page.finish().as_bytes())?;
        put(&self.out.join("detr_report.json"), found.to_json().as_bytes())?;
        if let Some(trace) = timeline::trace(&outcome.profiles) {
            put(&self.out.join("detr_timeline.json"), trace.as_bytes())?;
        }
        if let Some(path) = &self.json {
            put(path, found.to_json().as_bytes())?;
        }
        say(&format!("{}\n", report::summary(&found.run, &options)))?;
        say(&format!("{}\n", report::arithmetic_and_energy(&found.run, &options)))?;
        say(&format!("{}\n", found.validation.text(self.rows)))?;
        say(&found.table().to_text(&options))?;
        let folder = self.out.display();
        say(&format!("detr_int8.onnx, detr_errors.png, detr_timeline.json and detr_report.html are in `{folder}`\n"))
    }
}

/// Calibrates on the supplied inputs.
fn quantise(models: &Models, inputs: &HashMap<String, Tensor>) -> anyhow::Result<Quantised> {
    let path = models.network();
    let model = Model::read(&path)?;
    let bar = progress::bar(1);
    let samples = vec![inputs.clone()];
    let quantised =
        quantize::quantize_observed(&model, &samples, &Options::default(), &|step| command::show(&bar, step));
    bar.finish_and_clear();
    quantised.with_context(|| format!("`{}`", path.display()))
}

impl Network {
    fn read(model: Model) -> anyhow::Result<Self> {
        let import = import::import(&model, &import::Options::default());
        let nodes = import.report.nodes.clone();
        let graph = import.into_graph().context("the quantised network is not accepted")?;
        Ok(Self { model, nodes, graph })
    }
}
