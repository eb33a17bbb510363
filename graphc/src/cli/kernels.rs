//! `graphc kernels`: each emitted kernel on the simulator against the golden executor, for work on kernels and emission.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use graphc::emit::{Emission, emit};
use graphc::golden::{Keep, run};
use graphc::graph::{Tensor, ValueId};
use graphc::run::entry::{Entry, Tensors};
use graphc::run::{bindings, device, texts::Texts};
use graphc::{npy, plan, rewrite};
use iss::sim::Options;
use iss::target::Target;

use crate::cli::{Exit, Source, complain, in_folder, named, say};

/// Runs each kernel on golden inputs and on those of the kernels before, and compares its outputs with golden ones.
#[derive(Debug, Args)]
pub struct Kernels {
    #[command(flatten)]
    source: Source,
    /// An input: a `.npy` file, or a `.png` that is normalised as for ImageNet; may be repeated
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = named)]
    inputs: Vec<(String, String)>,
    /// Where kernels end
    #[arg(long)]
    boundaries: Option<PathBuf>,
    /// The machine
    #[arg(long, default_value = "QC-U")]
    target: Target,
    /// Folder with golden tensors, as `graphc golden --rewrite --all` writes them: instead of inputs
    #[arg(long)]
    golden: Option<PathBuf>,
    /// Kernels to run; all if none is named
    #[arg(long)]
    only: Vec<String>,
}

impl Kernels {
    pub fn run(self) -> anyhow::Result<Exit> {
        let cut = self.boundaries.as_deref().map(super::compile::read).transpose()?;
        let (graph, _) = rewrite::all(&self.source.graph()?)?;
        let mut inputs = HashMap::new();
        for (name, file) in &self.inputs {
            let tensor = super::input::read(&graph, name, Path::new(file))?;
            inputs.insert(name.clone(), tensor);
        }
        let ran = if self.golden.is_none() { Some(run(&graph, &inputs, Keep::All)?) } else { None };
        let plan = plan::plan(graph, cut.as_deref())?;
        let emitted = emit(&plan, &Emission { target: self.target.clone() })
            .map_err(|errors| anyhow::anyhow!("{}", errors[0]))?;
        let texts = Texts::read(&emitted.sources)?;
        let mut accumulated = Tensors::new();
        let golden = |id: ValueId| -> anyhow::Result<Tensor> {
            match (&ran, &self.golden) {
                (Some(ran), _) => ran.get(id).map(|tensor| Tensor::clone(tensor)).context("a golden tensor"),
                (None, Some(folder)) => Ok(npy::read(&in_folder(folder, &plan.graph.value(id).name))?),
                (None, None) => unreachable!("one of them is there"),
            }
        };
        let id = |tensor: &str| -> anyhow::Result<ValueId> { plan.graph.find(tensor).context("a tensor of the graph") };
        let expected = |tensor: &str| -> anyhow::Result<Vec<u8>> {
            let id = id(tensor)?;
            device::to_bytes(&plan, id, &golden(id)?).with_context(|| format!("`{tensor}` lies in no buffer"))
        };
        for input in &emitted.manifest.inputs {
            accumulated.insert(input.tensor.clone(), expected(&input.tensor)?);
        }
        for kernel in &emitted.manifest.kernels {
            if !self.only.is_empty() && !self.only.contains(&kernel.name) {
                continue;
            }
            let entry = match Entry::compile(&texts, &kernel.name, bindings(kernel), &self.target) {
                Ok(entry) => entry,
                Err(error) => {
                    complain(&error.to_string());
                    continue;
                }
            };
            for note in &entry.compiled.report.notes {
                say(&format!("  note: {note}\n"))?;
            }
            let mut isolated = Tensors::new();
            for input in &kernel.inputs {
                isolated.insert(input.tensor.clone(), expected(&input.tensor)?);
            }
            let has_inputs = kernel.inputs.iter().all(|input| accumulated.contains_key(&input.tensor));
            for (how, tensors) in [("isolated", &mut isolated), ("accumulated", &mut accumulated)] {
                if how == "accumulated" && !has_inputs {
                    continue;
                }
                let ran = match entry.run(tensors, &emitted.blob, &Options::default()) {
                    Ok(ran) => ran,
                    Err(error) => {
                        complain(&format!("{how}: {error}"));
                        continue;
                    }
                };
                let table = &ran.profile.root.inclusive;
                let classes: Vec<String> = table.classes.iter().map(|(c, u)| format!("{c} {}", u.cycles)).collect();
                say(&format!(
                    "{} {how}: {} cycles ({}), LRM {} OCM {}, compiled in {:.2} s, simulated in {:.2} s\n",
                    kernel.name,
                    ran.profile.cycles,
                    classes.join(", "),
                    ran.profile.root.peak_lrm_bytes,
                    ran.profile.root.peak_ocm_bytes,
                    entry.compile_s,
                    ran.simulate_s(),
                ))?;
                for region in ran.profile.root.children.iter().filter(|_| how == "isolated") {
                    let table = &region.inclusive;
                    let classes: Vec<String> = table.classes.iter().map(|(c, u)| format!("{c} {}", u.cycles)).collect();
                    say(&format!("    {:>8} {} ({})\n", table.cycles, region.name, classes.join(", ")))?;
                }
                for output in &kernel.outputs {
                    let id = id(&output.tensor)?;
                    let own = device::from_bytes(&plan, id, &tensors[&output.tensor]).context("a tensor")?;
                    let (n, most) = device::difference(&own, &golden(id)?).context("whole numbers")?;
                    say(&format!("    {}: {n} of {} differ, by {most} at most\n", output.tensor, own.len()))?;
                }
            }
        }
        Ok(Exit::Done)
    }
}
