//! `graphc quantize`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use graphc::graph::Graph;
use graphc::import::{self, ImportError};
use graphc::onnx::Model;
use graphc::quantize::samples::Files;
use graphc::quantize::{self, DEFAULT_EXCLUSIONS, Method, Options, Progress, Quantised, Samples, Scheme, Synthetic};
use indicatif::ProgressBar;
use prost::Message;

use crate::cli::{Exit, Source, complain, files, progress, ranges, say};

/// Quantises a float model to int8, in the form of ONNX Runtime's own quantiser.
///
/// The float network runs on calibration inputs in the golden executor, and each tensor gets a scale for the range that was seen. Softmax,
/// Sigmoid and LayerNormalization stay in float unless `--no-default-exclude` is given.
#[derive(Debug, Args)]
pub struct Quantize {
    #[command(flatten)]
    source: Source,
    /// Where the quantised model goes
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Where the range of each float tensor goes, as JSON
    #[arg(long, value_name = "FILE")]
    ranges: Option<PathBuf>,
    /// The form of the result
    #[arg(long, value_enum, default_value_t = Format::Qop)]
    format: Format,
    /// Calibration inputs: folders, pictures, `.npy` files, or `.npz` files with an array for each input
    #[arg(long, value_name = "PATH", num_args = 1.., required_unless_present_any = ["synthetic", "from_ranges"])]
    calibrate: Vec<PathBuf>,
    /// Draw so many calibration inputs
    #[arg(long, value_name = "N", conflicts_with = "calibrate")]
    synthetic: Option<usize>,
    /// What they are drawn from
    #[arg(long, default_value_t = 0, requires = "synthetic")]
    seed: u64,
    /// Take the ranges of this file, and calibrate on nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["calibrate", "synthetic"])]
    from_ranges: Option<PathBuf>,
    /// What of the values that were seen a range covers
    #[arg(long, value_enum, default_value_t = MethodName::MinMax)]
    method: MethodName,
    /// How many percent of them, for `--method percentile`
    #[arg(long, value_name = "P", default_value_t = 99.99)]
    percentile: f64,
    /// Zero points for activations, so that ranges need not lie around 0
    #[arg(long)]
    asymmetric: bool,
    /// A scale for each output of the weights of products
    #[arg(long)]
    per_channel: bool,
    /// What stays in float: an operator type, a node, or a pattern of names with `*` and `?`; may be repeated
    #[arg(long, value_name = "OP|NODE|PATTERN")]
    exclude: Vec<String>,
    /// Quantise Softmax, Sigmoid and LayerNormalization too, where the form can
    #[arg(long)]
    no_default_exclude: bool,
    /// Bring more to 8 bits, as `compile` and `run` want it: inputs and outputs even where only float nodes touch them, and what
    /// nodes move
    #[arg(long)]
    compilable: bool,
    /// Print the summary as JSON, with all tensors
    #[arg(long)]
    json: bool,
}

/// The forms of a quantised model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Operators on 8-bit tensors: QLinearConv, QLinearMatMul and others
    Qop,
    /// Float operators between QuantizeLinear and DequantizeLinear
    Qdq,
}

/// How ranges follow from values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// All of them
    MinMax,
    /// `--percentile` of them
    Percentile,
    /// As many as lose least information
    Entropy,
}

impl Quantize {
    pub fn run(self) -> anyhow::Result<Exit> {
        let outputs: Vec<&Path> = [&self.output].into_iter().chain(&self.ranges).map(PathBuf::as_path).collect();
        let inputs = [&self.source.model].into_iter().chain(&self.from_ranges).chain(&self.calibrate);
        files::apart(&outputs, &inputs.map(PathBuf::as_path).collect::<Vec<_>>())?;
        let model = Model::read(&self.source.model)?;
        let options = self.options();
        let graph = match import::import(&model, &import::Options { dims: options.dims.clone() }).into_graph() {
            Ok(graph) => graph,
            Err(error) => return Ok(self.refuse(&error)),
        };
        let quantised = self.quantised(&model, &graph, &options);
        let quantised = quantised.with_context(|| format!("`{}`", self.source.model.display()))?;
        files::put(&self.output, &quantised.model.proto.encode_to_vec())?;
        if let Some(path) = &self.ranges {
            files::put(path, quantised.ranges.to_json().as_bytes())?;
        }
        if self.json {
            say(&(serde_json::to_string_pretty(&quantised.summary)? + "\n"))?;
        } else {
            say(&quantised.summary.to_string())?;
        }
        Ok(Exit::Done)
    }

    fn quantised(&self, model: &Model, graph: &Graph, options: &Options) -> anyhow::Result<Quantised> {
        if let Some(path) = &self.from_ranges {
            return Ok(quantize::quantize_from_ranges(model, ranges::read(path)?, options)?);
        }
        let inputs: Box<dyn Samples> = match self.synthetic {
            Some(0) => bail!("--synthetic 0 draws nothing to calibrate on\n  help: 8 are enough for a first look"),
            Some(count) => Box::new(Synthetic::new(graph, count, self.seed)),
            None => Box::new(Files::open(graph, &self.calibrate)?),
        };
        let bar = progress::bar(inputs.count());
        let quantised = quantize::quantize_observed(model, &*inputs, options, &|step| show(&bar, step));
        bar.finish_and_clear();
        Ok(quantised?)
    }

    fn options(&self) -> Options {
        let defaults = DEFAULT_EXCLUSIONS.iter().filter(|_| !self.no_default_exclude).map(|op| (*op).to_owned());
        Options {
            format: match self.format {
                Format::Qop => quantize::Format::QOperator,
                Format::Qdq => quantize::Format::Qdq,
            },
            method: match self.method {
                MethodName::MinMax => Method::MinMax,
                MethodName::Percentile => Method::Percentile(self.percentile),
                MethodName::Entropy => Method::Entropy,
            },
            activations: if self.asymmetric { Scheme::Asymmetric } else { Scheme::Symmetric },
            per_channel: self.per_channel,
            exclude: defaults.chain(self.exclude.iter().cloned()).collect(),
            compilable: self.compilable,
            dims: self.source.dims.iter().cloned().collect(),
        }
    }

    fn refuse(&self, error: &ImportError) -> Exit {
        complain(&format!("error: `{}` is not accepted: {error}", self.source.model.display()));
        Exit::Refused
    }
}

/// Moves the bar of a quantisation.
pub fn show(bar: &ProgressBar, step: Progress) {
    match step {
        Progress::Calibrating { done, total } => {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
            bar.set_message("calibration");
        }
        Progress::Writing => bar.set_message("weights"),
        Progress::Comparing => bar.set_message("comparison"),
    }
}
