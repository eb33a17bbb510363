//! `graphc golden`: a run of the golden executor on files, for comparisons while developing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow};
use clap::Args;
use graphc::golden::{Keep, eval, run};
use graphc::graph::{Graph, Tensor, ValueId};
use graphc::validate::compare_tensors;
use graphc::{npy, rewrite};

use crate::cli::{Exit, Source, in_folder, input, named, say};

/// Runs a model on the golden operators and writes its outputs.
#[derive(Debug, Args)]
pub struct Golden {
    #[command(flatten)]
    source: Source,
    /// An input: a `.npy` file, or a PNG or JPEG that is resized and normalised as for ImageNet; may be repeated
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = named)]
    inputs: Vec<(String, String)>,
    /// Where outputs go, as `NAME.npy`
    #[arg(long)]
    output_dir: PathBuf,
    /// Apply the rewrites first
    #[arg(long)]
    rewrite: bool,
    /// Write every intermediate tensor too
    #[arg(long)]
    all: bool,
    /// Folder with tensors of another implementation as `NAME.npy`: each node is run on those and compared with them
    #[arg(long)]
    isolated: Option<PathBuf>,
}

impl Golden {
    pub fn run(self) -> anyhow::Result<Exit> {
        let mut graph = self.source.graph()?;
        if self.rewrite {
            let (rewritten, ledger) = rewrite::all(&graph)?;
            say(&format!("{ledger}\n"))?;
            graph = rewritten;
        }
        if let Some(folder) = &self.isolated {
            compare_nodes(&graph, folder)?;
            return Ok(Exit::Done);
        }
        let mut inputs = HashMap::new();
        for (name, file) in &self.inputs {
            let tensor = input::read(&graph, name, Path::new(file))?;
            inputs.insert(name.clone(), tensor);
        }
        let start = Instant::now();
        let keep = if self.all { Keep::All } else { Keep::Outputs };
        let run = run(&graph, &inputs, keep)?;
        say(&format!("{} nodes in {:.2} s\n", graph.nodes().len(), start.elapsed().as_secs_f64()))?;
        std::fs::create_dir_all(&self.output_dir)
            .with_context(|| format!("cannot make `{}`", self.output_dir.display()))?;
        for &id in &self.wanted(&graph) {
            let path = in_folder(&self.output_dir, &graph.value(id).name);
            if let Some(tensor) = run.get(id) {
                npy::write(&path, tensor).with_context(|| format!("cannot write `{}`", path.display()))?;
            }
        }
        Ok(Exit::Done)
    }

    fn wanted(&self, graph: &Graph) -> Vec<ValueId> {
        if self.all {
            graph.nodes().iter().flat_map(|node| node.outputs.iter().copied()).collect()
        } else {
            graph.outputs().to_vec()
        }
    }
}

/// Runs each node whose tensors are all in the folder, and prints how its results differ from those there.
fn compare_nodes(graph: &Graph, folder: &Path) -> anyhow::Result<()> {
    let stored = |id: ValueId| {
        let value = graph.value(id);
        value.constant.as_deref().cloned().or_else(|| npy::read(&in_folder(folder, &value.name)).ok())
    };
    for node in graph.nodes() {
        let inputs: Vec<Option<Tensor>> = node.inputs.iter().map(|i| i.and_then(stored)).collect();
        if node.inputs.iter().zip(&inputs).any(|(id, tensor)| id.is_some() && tensor.is_none()) {
            continue;
        }
        let views: Vec<Option<&Tensor>> = inputs.iter().map(Option::as_ref).collect();
        for (tensor, &id) in eval(&node.op, &views)?.iter().zip(&node.outputs) {
            let Some(reference) = stored(id) else { continue };
            let c = compare_tensors(tensor, &reference).map_err(|reason| anyhow!("node `{}`: {reason}", node.name))?;
            let (op, name) = (&node.origin.op_type, &node.name);
            say(&format!("{op} {name} {} of {} differ, by {} at most\n", c.mismatches, c.total, c.max_abs_err))?;
        }
    }
    Ok(())
}
