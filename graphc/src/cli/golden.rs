//! `graphc golden`: a run of the golden executor on files, for comparisons while developing.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use graphc::golden::{Keep, eval, run};
use graphc::graph::{Graph, Tensor, ValueId};
use graphc::validate::compare_tensors;
use graphc::{npy, rewrite};
use ndarray::Array4;

use crate::cli::{Exit, Source, in_folder, named, say};

/// Runs a model on the golden operators and writes its outputs.
#[derive(Debug, Args)]
pub struct Golden {
    #[command(flatten)]
    source: Source,
    /// An input: a `.npy` file, or a `.png` that is normalised as for ImageNet; may be repeated
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
            let tensor = read(Path::new(file)).with_context(|| format!("input `{name}`, `{file}`"))?;
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

pub(super) fn read(path: &Path) -> anyhow::Result<Tensor> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("npy") => Ok(npy::read(path)?),
        Some("png") => image(path),
        _ => bail!("expected a `.npy` or a `.png` file"),
    }
}

/// An RGB image as `[1, 3, H, W]`, `(value / 255 - mean) / deviation` by channel.
fn image(path: &Path) -> anyhow::Result<Tensor> {
    const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
    const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path)?));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let size = reader.output_buffer_size().context("the image is too large")?;
    ensure!(size <= 1 << 28, "the image is too large");
    let mut pixels = vec![0; size];
    let info = reader.next_frame(&mut pixels)?;
    let samples = info.color_type.samples();
    ensure!(samples >= 3, "expected an image in colours");
    let (height, width) = (info.height as usize, info.width as usize);
    let normalised = |(_, c, y, x): (usize, usize, usize, usize)| {
        let value = f32::from(pixels[(y * width + x) * samples + c]);
        (value / 255.0 - MEAN[c]) / DEVIATION[c]
    };
    Ok(Array4::from_shape_fn((1, 3, height, width), normalised).into_dyn().into())
}
