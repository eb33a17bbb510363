//! `graphc compile`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use graphc::emit::{Emission, Emitted, emit};
use graphc::plan::kernel;
use graphc::{plan, rewrite};
use iss::target::Target;

use crate::cli::{Exit, Source, complain, say};

/// Compiles a quantised model to a folder of kernels, their constants and a manifest.
#[derive(Debug, Args)]
pub struct Compile {
    #[command(flatten)]
    source: Source,
    /// The folder; files of the same names are replaced
    #[arg(long)]
    out: PathBuf,
    /// Where kernels end: lines of a kernel's name and its last tensor
    #[arg(long)]
    boundaries: Option<PathBuf>,
    /// The machine: a product, and what differs from it
    #[arg(long, default_value = "QC-U")]
    target: Target,
}

impl Compile {
    pub fn run(self) -> anyhow::Result<Exit> {
        let cut = self.boundaries.as_deref().map(read).transpose()?;
        let (graph, _) = rewrite::all(&self.source.graph()?)?;
        let plan = plan::plan(graph, cut.as_deref())?;
        let emitted = match emit(&plan, &Emission { target: self.target.clone() }) {
            Ok(emitted) => emitted,
            Err(errors) => {
                for error in errors {
                    complain(&format!("error: {error}"));
                }
                return Ok(Exit::Refused);
            }
        };
        write(&self.out, &emitted).with_context(|| format!("cannot write to `{}`", self.out.display()))?;
        report(&emitted)?;
        Ok(Exit::Done)
    }
}

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<kernel::Boundary>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(kernel::parse(&text)?)
}

/// All files are written beside their places and then renamed, so that none is ever half there. Kernels of an earlier run that
/// are none of this one's are removed; files that its manifest does not name are the user's.
fn write(folder: &Path, emitted: &Emitted) -> anyhow::Result<()> {
    let kernels = folder.join("kernels");
    std::fs::create_dir_all(&kernels)?;
    let stale = stale(folder, emitted);
    let manifest = serde_json::to_string_pretty(&emitted.manifest)? + "\n";
    let mut files: Vec<(PathBuf, &[u8])> =
        emitted.sources.iter().map(|(name, text)| (kernels.join(name), text.as_bytes())).collect();
    files.push((folder.join("constants.bin"), &emitted.blob));
    files.push((folder.join("manifest.json"), manifest.as_bytes()));
    let beside = |path: &Path| path.with_extension("new");
    let written = files.iter().try_for_each(|(path, bytes)| std::fs::write(beside(path), bytes));
    if written.is_err() {
        files.iter().for_each(|(path, _)| _ = std::fs::remove_file(beside(path)));
    }
    written?;
    for (path, _) in &files {
        std::fs::rename(beside(path), path)?;
    }
    for path in stale {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Kernels that the folder's manifest names and this run does not write. A manifest that cannot be read names none.
fn stale(folder: &Path, emitted: &Emitted) -> Vec<PathBuf> {
    let text = std::fs::read(folder.join("manifest.json")).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let named = manifest["kernels"].as_array().into_iter().flatten().filter_map(|kernel| kernel["file"].as_str());
    // A manifest is a file like others: what it names must be a plain name of a kernel, not a way out of the folder.
    let is_kernel =
        |name: &&str| name.ends_with(".rs") && Path::new(name).components().count() == 1 && !name.contains("..");
    let left = named.filter(is_kernel).filter(|name| !emitted.sources.contains_key(*name));
    left.map(|name| folder.join("kernels").join(name)).filter(|path| path.is_file()).collect()
}

fn report(emitted: &Emitted) -> anyhow::Result<()> {
    let manifest = &emitted.manifest;
    for kernel in &manifest.kernels {
        let (gmac, ocm) = (kernel.macs as f64 / 1e9, kernel.ocm_bytes);
        say(&format!("{:<40} {gmac:7.3} GMAC {ocm:>10} bytes on the chip\n", kernel.name))?;
    }
    for note in &manifest.notes {
        say(&format!("note: {note}\n"))?;
    }
    let (n, constants, ocm) = (manifest.kernels.len(), manifest.constant_bytes, manifest.ocm_bytes);
    say(&format!("{n} kernels, {constants} bytes of constants, at most {ocm} bytes on the chip\n"))
}
