//! `graphc cut`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use graphc::check::clean;
use graphc::cut::{self, Ends, Part, Whole};
use graphc::graph::{Graph, ValueId};
use graphc::import::Options;
use graphc::onnx::Model;
use prost::Message;

use crate::cli::{Exit, Source, files, ranges, say};

/// Cuts a part out of a model: the nodes between named tensors, or one layer of an encoder.
///
/// `graphc cut model.onnx --layer 3 --output layer3.onnx` takes the nodes whose names say `layers.3` (or `layer.3`, `blocks.3`,
/// `block.3`, `stages.3`); what crosses into and out of them becomes inputs and outputs. Blocks of several stages are counted
/// through, from 0.
#[derive(Debug, Args)]
pub struct Cut {
    #[command(flatten)]
    source: Source,
    /// Tensors that become inputs
    #[arg(long, value_name = "TENSOR,..", value_delimiter = ',', required_unless_present = "layer")]
    from: Vec<String>,
    /// Tensors that become outputs
    #[arg(long, value_name = "TENSOR,..", value_delimiter = ',', required_unless_present = "layer")]
    to: Vec<String>,
    /// The layer of this number
    #[arg(long, value_name = "N", conflicts_with_all = ["from", "to"])]
    layer: Option<usize>,
    /// Where the part goes
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Ranges of the whole network's tensors
    #[arg(long, value_name = "FILE", requires = "output_ranges")]
    ranges: Option<PathBuf>,
    /// Where those of the part's tensors go
    #[arg(long, value_name = "FILE", requires = "ranges")]
    output_ranges: Option<PathBuf>,
}

impl Cut {
    pub fn run(self) -> anyhow::Result<Exit> {
        let outputs: Vec<&Path> = [&self.output].into_iter().chain(&self.output_ranges).map(PathBuf::as_path).collect();
        let inputs = [&self.source.model].into_iter().chain(&self.ranges).map(PathBuf::as_path);
        files::apart(&outputs, &inputs.collect::<Vec<_>>())?;
        let model = Model::read(&self.source.model)?;
        let file = || format!("`{}`", self.source.model.display());
        let whole =
            Whole::new(&model, &Options { dims: self.source.dims.iter().cloned().collect() }).with_context(file)?;
        let ends = match self.layer {
            Some(n) => whole.layer(n).with_context(file)?,
            None => Ends { from: self.from.clone(), to: self.to.clone() },
        };
        let part = whole.part(&ends).with_context(file)?;
        files::put(&self.output, &part.model.proto.encode_to_vec())?;
        if let (Some(from), Some(to)) = (&self.ranges, &self.output_ranges) {
            files::put(to, cut::ranges_of(&part.graph, &ranges::read(from)?).to_json().as_bytes())?;
        }
        tell(whole.graph(), &part)?;
        Ok(Exit::Done)
    }
}

fn tell(whole: &Graph, Part { model, graph }: &Part) -> anyhow::Result<()> {
    let line =
        |what: &str, id: &ValueId| format!("{what} `{}`: {}\n", clean(&graph.value(*id).name), graph.value(*id).ty);
    let inputs = graph.inputs().iter().map(|id| line("input", id));
    let text: String = inputs.chain(graph.outputs().iter().map(|id| line("output", id))).collect();
    let (n, of, kib) = (graph.nodes().len(), whole.nodes().len(), model.proto.encoded_len() / 1024);
    say(&format!("{text}{n} of {of} nodes, {kib} KiB\n"))
}
