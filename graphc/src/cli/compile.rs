//! `graphc compile`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use graphc::emit::package::Runtime;
use graphc::emit::{Emission, Emitted, emit};
use graphc::graph::Tensor;
use graphc::plan::kernel;
use graphc::{plan, rewrite};
use iss::target::Target;

use crate::cli::folder::{self, Contents};
use crate::cli::{Exit, Source, complain, golden, named, say};

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
        let contents = Contents {
            plan: &plan,
            target: &self.target,
            name: self.name.clone().unwrap_or_else(|| folder::name_of(&self.out)),
            runtime: self.runtime.clone().unwrap_or_else(|| folder::runtime(&self.out)),
            inputs: self.golden_inputs(&plan)?,
        };
        let files = folder::files(&contents, &emitted)?;
        write(&self.out, &files).with_context(|| format!("cannot write to `{}`", self.out.display()))?;
        report(&emitted)?;
        Ok(Exit::Done)
    }
}

impl Compile {
    fn golden_inputs(&self, plan: &plan::Plan) -> anyhow::Result<HashMap<String, Tensor>> {
        if self.inputs.is_empty() {
            return Ok(graphc::emit::golden::sample(plan, 1));
        }
        let read = |(name, file): &(String, String)| {
            let tensor = golden::read(Path::new(file)).with_context(|| format!("input `{name}`, `{file}`"))?;
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

/// All files are written beside their places and then renamed, so that none is ever half there.
fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    let beside = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        PathBuf::from(name)
    };
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(beside(&path), bytes)?;
    }
    for path in files.keys().map(|name| folder.join(name)) {
        std::fs::rename(beside(&path), path)?;
    }
    Ok(())
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
