//! `graphc validate`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use graphc::files::write_whole;
use graphc::golden::{Keep, run};
use graphc::graph::{Graph, Tensor};
use graphc::import::{self, NodeReport, Options};
use graphc::npy;
use graphc::onnx::Model;
use graphc::validate::{self, Golden, Named, Status, Stepwise, Validation, Values, compare};

use iss::target::Target;

use crate::cli::{Exit, Source, complain, input, named, say};

/// Compares every node of a model with a reference: on the reference's inputs, and after the whole network.
///
/// The exit code is 1 where a node is not within its bar, or the outputs are further from the reference than `--fail-under`.
#[derive(Debug, Args)]
pub struct Validate {
    #[command(flatten)]
    source: Source,
    /// An input: a `.npy` file, or a `.png` that is normalised as for ImageNet; may be repeated
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = named)]
    inputs: Vec<(String, String)>,
    /// Draw the inputs that are not given from this seed
    #[arg(long, value_name = "SEED")]
    synthetic: Option<u64>,
    /// What is validated
    #[arg(long, value_enum, default_value_t = Of::Golden)]
    of: Of,
    /// What it is compared with
    #[arg(long, value_enum, default_value_t = Against::Ort)]
    against: Against,
    /// The machine that is simulated
    #[arg(long, default_value = "QC-U")]
    target: Target,
    /// Rows of the table, worst first
    #[arg(long, default_value_t = 20)]
    rows: usize,
    /// Least signal to noise ratio of the network's outputs, in decibels
    #[arg(long, value_name = "DB")]
    fail_under: Option<f64>,
    /// Write all figures as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder for `errors.png` and a model and its inputs for each failing node
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

/// What can be validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    /// The golden executor
    Golden,
    /// Compiled kernels on the simulator, one for each step
    Simulator,
}

/// What can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Against {
    /// ONNX Runtime, loaded from the library that ORT_DYLIB_PATH names
    Ort,
    /// The golden executor
    Golden,
}

/// Failing nodes that are written as models of their own.
const MAX_REPRODUCERS: usize = 10;

impl Validate {
    pub fn run(self) -> anyhow::Result<Exit> {
        let model = Model::read(&self.source.model)?;
        let import = import::import(&model, &Options { dims: self.source.dims.iter().cloned().collect() });
        let nodes = import.report.nodes.clone();
        let graph = match import.into_graph() {
            Ok(graph) => graph,
            Err(error) => {
                complain(&format!("error: `{}` is not accepted: {error}", self.source.model.display()));
                return Ok(Exit::Refused);
            }
        };
        let inputs = self.tensors(&graph)?;
        let reference = self.reference(&model, &graph, &inputs)?;
        let validation = match self.of {
            Of::Golden => compare(&graph, &nodes, &Golden::run(&graph, &inputs)?, &reference),
            Of::Simulator => {
                let steps = Stepwise::compile(&graph, &self.target)?;
                compare(&graph, &nodes, &steps.run(&graph, &inputs)?, &reference)
            }
        };
        self.tell(&validation)?;
        if let Some(folder) = &self.output_dir {
            write_failures(folder, &model, &graph, &nodes, &validation, &reference)
                .with_context(|| format!("cannot write to `{}`", folder.display()))?;
        }
        let reached = self.fail_under.is_none_or(|db| validation.reaches(db));
        Ok(if validation.status == Status::Pass && reached { Exit::Done } else { Exit::Refused })
    }

    fn tell(&self, validation: &Validation) -> anyhow::Result<()> {
        say(&validation.text(self.rows))?;
        if let Some(db) = self.fail_under.filter(|&db| !validation.reaches(db)) {
            say(&format!("the outputs are below {db} dB\n"))?;
        }
        if let Some(path) = &self.json {
            let text = serde_json::to_string_pretty(validation)? + "\n";
            write_whole(path, text.as_bytes()).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        Ok(())
    }

    fn tensors(&self, graph: &Graph) -> anyhow::Result<HashMap<String, Tensor>> {
        let mut inputs = HashMap::new();
        for (name, file) in &self.inputs {
            let tensor = input::read(graph, name, Path::new(file))?;
            inputs.insert(name.clone(), tensor);
        }
        if let Some(seed) = self.synthetic {
            for (i, &id) in graph.inputs().iter().enumerate() {
                let value = graph.value(id);
                let drawn = || Tensor::synthetic(&value.ty, seed.wrapping_add(i as u64));
                inputs.entry(value.name.clone()).or_insert_with(drawn);
            }
        }
        Ok(inputs)
    }

    fn reference(&self, model: &Model, graph: &Graph, inputs: &HashMap<String, Tensor>) -> anyhow::Result<Named> {
        match (self.against, self.of) {
            (Against::Ort, Of::Golden | Of::Simulator) => {
                // What is wrong with the inputs is better said by us than by the library.
                graphc::golden::check_inputs(graph, inputs)?;
                ort(model, inputs)
            }
            (Against::Golden, Of::Simulator) => Ok(Named::golden(graph, &run(graph, inputs, Keep::All)?)),
            (Against::Golden, Of::Golden) => {
                bail!("the golden executor is compared with itself; `--against ort` is meant")
            }
        }
    }
}

/// What a network is compared with if nothing else is asked for: ONNX Runtime where it is built in and its library is named, else the golden
/// executor.
pub fn reference(model: &Model, graph: &Graph, inputs: &HashMap<String, Tensor>) -> anyhow::Result<Named> {
    if cfg!(feature = "ort") && std::env::var_os("ORT_DYLIB_PATH").is_some() {
        return ort(model, inputs);
    }
    Ok(Named::golden(graph, &run(graph, inputs, Keep::All)?))
}

#[cfg(feature = "ort")]
fn ort(model: &Model, inputs: &HashMap<String, Tensor>) -> anyhow::Result<Named> {
    Ok(validate::ort::Runtime::load()?.run_all(model, inputs)?)
}

#[cfg(not(feature = "ort"))]
fn ort(_: &Model, _: &HashMap<String, Tensor>) -> anyhow::Result<Named> {
    bail!(
        "this graphc was built without ONNX Runtime\n  help: build it with `--features ort`, and set `ORT_DYLIB_PATH` to the shared library"
    )
}

fn write_failures(
    folder: &Path,
    model: &Model,
    graph: &Graph,
    nodes: &[NodeReport],
    validation: &Validation,
    reference: &dyn Values,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    write_whole(&folder.join("errors.png"), &validate::picture(validation))?;
    let failing = validation.worst_first().into_iter().filter(|row| row.status == Status::Fail);
    for row in failing.take(MAX_REPRODUCERS) {
        let Some(node) = nodes.iter().find(|node| node.name == row.name) else { continue };
        match validate::reproduce(model, graph, node, reference) {
            Some(reproducer) => {
                let command = reproducer.write(&folder.join(npy::file_stem(&row.name)))?;
                say(&format!("`{}` by itself: {command}\n", row.name))?;
            }
            None => say(&format!("`{}` by itself: the reference does not show what it reads\n", row.name))?,
        }
    }
    Ok(())
}
