//! `graphc compile`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use graphc::edits::Edits;
use graphc::emit::folder::{self, Contents};
use graphc::emit::golden::{self, Golden};
use graphc::emit::manifest::Manifest;
use graphc::emit::package::Runtime;
use graphc::emit::{Emission, Emitted, emit_with, package};
use graphc::graph::{Graph, Tensor};
use graphc::plan::kernel;
use graphc::quantize::{Samples, Synthetic};
use graphc::stub::AttentionStub;
use graphc::{plan, rewrite};
use iss::target::Target;

use crate::cli::ranges::OfFloat;
use crate::cli::run::Entrances;
use crate::cli::{Exit, Source, complain, input, named, say};

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
    #[command(flatten)]
    entrances: Entrances,
    /// A folder of hand edits, as `graphc fork` makes them: they take the places of generated kernels
    #[arg(long, value_name = "DIR")]
    kernels: Option<PathBuf>,
    /// A Rust file with a `ccl!` function that takes over a step of each attention: `#[stub(path)]` above it says which
    #[arg(long, value_name = "FILE")]
    attention_stubs: Option<PathBuf>,
    /// Name of the package; that of the folder if it is not given
    #[arg(long, value_parser = package_name)]
    name: Option<String>,
    /// Where the package finds `ccl-runtime`: a folder relative to the package, or a version
    #[arg(long, value_name = "PATH|VERSION", value_parser = parse_runtime)]
    runtime: Option<Runtime>,
    /// An input from which the golden tensors of the package's tests are computed: a `.npy` file or an image; drawn from a seed
    /// if none is given
    #[arg(long = "input", value_name = "NAME=FILE", value_parser = named)]
    inputs: Vec<(String, String)>,
    #[command(flatten)]
    of_float: OfFloat,
}

impl Compile {
    pub fn run(self) -> anyhow::Result<Exit> {
        let cut = self.boundaries.as_deref().map(read).transpose()?;
        let graph = self.of_float.graph(&self.source, |graph| self.calibration(graph))?;
        let (graph, _) = rewrite::all(&graph)?;
        let plan = plan::plan(graph, cut.as_deref())?;
        let composition = self.entrances.composition()?;
        let stub = self.attention_stubs.as_deref().map(AttentionStub::read).transpose()?;
        let mut emitted = match emit_with(&plan, &Emission { target: self.target.clone() }, stub.as_ref()) {
            Ok(emitted) => emitted,
            Err(errors) => {
                for error in errors {
                    complain(&format!("error: {error}"));
                }
                return Ok(Exit::Refused);
            }
        };
        if let Some(folder) = &self.kernels {
            match Edits::open(folder)?.apply(&mut emitted) {
                Ok(states) => say(&super::edits::text(&states))?,
                Err(errors) => {
                    errors.iter().for_each(|error| complain(&format!("error: {error}")));
                    return Ok(Exit::Refused);
                }
            }
        }
        let contents = Contents {
            target: &self.target,
            composition: &composition,
            name: self.name.clone().unwrap_or_else(|| folder::name_of(&self.out)),
            runtime: self.runtime.clone().unwrap_or_else(|| folder::runtime(&self.out)),
            golden: self.golden(&plan, &emitted.manifest)?,
        };
        let files = folder::files(contents, &mut emitted)?;
        write(&self.out, &files).with_context(|| format!("cannot write to `{}`", self.out.display()))?;
        report(&emitted)?;
        Ok(Exit::Done)
    }
}

impl Compile {
    fn golden(&self, plan: &plan::Plan, manifest: &Manifest) -> anyhow::Result<Golden> {
        let inputs = if self.inputs.is_empty() { golden::sample(plan, 1) } else { self.tensors(&plan.graph)? };
        Golden::of(plan, manifest, &inputs).context("golden tensors")
    }

    /// What ranges are taken from: the given inputs, or one drawn from a seed.
    fn calibration(&self, graph: &Graph) -> anyhow::Result<HashMap<String, Tensor>> {
        if self.inputs.is_empty() {
            let drawn = Synthetic::new(graph, 1, 1).get(0).map_err(|error| anyhow::anyhow!(error))?.into_owned();
            return Ok(drawn);
        }
        self.tensors(graph)
    }

    fn tensors(&self, graph: &Graph) -> anyhow::Result<HashMap<String, Tensor>> {
        let read = |(name, file): &(String, String)| {
            let tensor = input::read(graph, name, Path::new(file))?;
            Ok((name.clone(), tensor))
        };
        self.inputs.iter().map(read).collect()
    }
}

fn parse_runtime(text: &str) -> Result<Runtime, String> {
    let is_version = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(['/', '\\']);
    Ok(if is_version { Runtime::Version(text.to_owned()) } else { Runtime::Path(text.to_owned()) })
}

fn package_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    Err(format!("`{text}` is no name of a package, expected letters, digits, `-` and `_`"))
}

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<kernel::Boundary>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(kernel::parse(&text)?)
}

/// All files are written beside their places and then renamed, so that none is ever half there. Kernels of an earlier run that
/// are none of this one's are removed; files that its manifest does not name are the user's.
fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    let beside = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        PathBuf::from(name)
    };
    let stale = stale(folder, files);
    let paths: Vec<(PathBuf, &[u8])> =
        files.iter().map(|(name, bytes)| (folder.join(name), bytes.as_slice())).collect();
    let written = paths.iter().try_for_each(|(path, bytes)| {
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(beside(path), bytes)
    });
    if written.is_err() {
        paths.iter().for_each(|(path, _)| _ = std::fs::remove_file(beside(path)));
    }
    written?;
    for (path, _) in &paths {
        std::fs::rename(beside(path), path)?;
    }
    for path in stale {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Kernels, stub and entry points that the folder's manifest names and this run does not write, and the snapshots of the kernels. A manifest
/// that cannot be read names none.
fn stale(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Vec<PathBuf> {
    let text = std::fs::read(folder.join("manifest.json")).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let named = |what: &str| -> Vec<String> {
        let parts = manifest[what].as_array().into_iter().flatten().chain([&manifest[what]]);
        let all = parts.filter_map(|part| part["file"].as_str());
        all.filter(|file| is_plain(file)).map(str::to_owned).collect()
    };
    let mut paths: Vec<String> = named("entries").iter().map(|file| format!("entries/{file}")).collect();
    for file in named("kernels").into_iter().chain(named("stub")) {
        let name = file.trim_end_matches(".rs");
        paths.extend(["cost", "signature", "source"].map(|what| package::snapshot_path(&format!("{name}_{what}"))));
        paths.push(format!("kernels/{file}"));
    }
    paths.retain(|path| !files.contains_key(path));
    paths.iter().map(|path| folder.join(path)).filter(|path| path.is_file()).collect()
}

/// A manifest is a file like others: what it names must be a file of Rust in its folder, not a way out.
fn is_plain(file: &str) -> bool {
    file.ends_with(".rs") && Path::new(file).components().count() == 1 && !file.contains("..")
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
