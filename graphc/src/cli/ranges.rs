//! Float models before they are compiled: quantised on the way, with ranges from a file or from the given inputs.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use graphc::graph::Graph;
use graphc::import::{self, import};
use graphc::onnx::Model;
use graphc::quantize::{Inputs, Options, QuantizeError, Ranges, quantize, quantize_from_ranges};

use crate::cli::{Source, say};

/// How a float model becomes one of 8 bits.
#[derive(Debug, Args)]
pub struct OfFloat {
    /// Quantise a float model to int8 first, with the ranges of a file that `graphc quantize --ranges` wrote, or with those that the
    /// golden run of the given inputs shows
    #[arg(long, value_name = "auto|FILE")]
    ranges: Option<String>,
}

/// Reads a file of ranges.
pub fn read(path: &Path) -> anyhow::Result<Ranges> {
    let read = || anyhow::Ok(Ranges::from_json(&std::fs::read_to_string(path)?)?);
    read().with_context(|| format!("cannot read `{}`", path.display()))
}

impl OfFloat {
    /// The model's graph, quantised if ranges are given; `inputs` are what `auto` looks at.
    pub fn graph(
        &self,
        source: &Source,
        inputs: impl FnOnce(&Graph) -> anyhow::Result<Inputs>,
    ) -> anyhow::Result<Graph> {
        let graph = source.graph()?;
        let Some(ranges) = &self.ranges else { return Ok(graph) };
        let model = Model::read(&source.model)?;
        let options = Options { compilable: true, dims: source.dims.iter().cloned().collect(), ..Options::default() };
        let quantised = if ranges == "auto" {
            quantize(&model, &vec![inputs(&graph)?], &options)
        } else {
            quantize_from_ranges(&model, read(Path::new(ranges))?, &options)
        };
        let quantised = match quantised {
            // Nothing is left to do.
            Err(QuantizeError::Quantised { .. }) => return Ok(graph),
            other => other.with_context(|| format!("`{}`", source.model.display()))?,
        };
        let (float, all) = (quantised.summary.n_float(), quantised.summary.n_nodes());
        let from = if ranges == "auto" { "the golden run of the given inputs" } else { ranges };
        say(&format!(
            "note: a float model, quantised to int8 with ranges of {from}; {float} of {all} nodes stay between\n"
        ))?;
        let options = import::Options::default();
        import(&quantised.model, &options).into_graph().context("the quantised model is not accepted")
    }
}
