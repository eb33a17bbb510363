//! The folder of an emitted network: kernels, entry points, constants, manifest, and the package around them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ccl_runtime::interp::LoadError;
use ccl_runtime::kernel::{ArgError, Arguments, Instance, InstanceError, Param, ParamType};
use ccl_runtime::testing::Cost;
use ccl_runtime::testing::check::Subject;
use iss::target::Target;
use serde::Serialize;

use crate::compose::{Composition, EntriesError, compose};
use crate::edits::{EditError, Signature};
use crate::emit::golden::Golden;
use crate::emit::manifest::{Entry, Kernel, Manifest};
use crate::emit::package::{self, Package, Runtime};
use crate::emit::{Emitted, target_constant};
use crate::run::texts::Texts;

/// What goes into a folder beside the kernels.
pub struct Contents<'a> {
    /// The machine.
    pub target: &'a Target,
    /// Entry points.
    pub composition: &'a Composition,
    /// Name of the package.
    pub name: String,
    /// Where the package finds the runtime.
    pub runtime: Runtime,
    /// Golden tensors of its tests.
    pub golden: Golden,
}

/// Why a folder cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// Groups that are no composition.
    #[error(transparent)]
    Entries(#[from] EntriesError),
    /// A text has mistakes.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A kernel is no instance on the machine.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// A kernel without a signature.
    #[error(transparent)]
    Signature(#[from] EditError),
    /// A tensor is none for its parameter.
    #[error("kernel `{kernel}`, `{parameter}`: {source}")]
    Argument {
        /// The kernel.
        kernel: String,
        /// The parameter.
        parameter: String,
        /// What is wrong.
        source: ArgError,
    },
    /// A parameter that is neither at a boundary nor a constant.
    #[error("kernel `{kernel}`: nothing is known of `{parameter}`")]
    Parameter {
        /// The kernel.
        kernel: String,
        /// The parameter.
        parameter: String,
    },
    /// A run stopped.
    #[error("kernel `{kernel}`: {reason}")]
    Run {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: String,
    },
}

/// All files of the folder, by their paths in it. The same contents give the same bytes. The manifest gets a note for each kernel whose
/// outputs a stub has made others.
///
/// # Errors
/// [`FolderError`]: groups that are no composition, kernels that do not compile or run.
pub fn files(contents: Contents, emitted: &mut Emitted) -> Result<BTreeMap<String, Vec<u8>>, FolderError> {
    let Contents { target, composition, name, runtime, mut golden } = contents;
    let mut files = BTreeMap::new();
    let texts = Texts::read(&emitted.sources)?;
    let mut notes = Vec::new();
    for kernel in &emitted.manifest.kernels {
        let source = &emitted.sources[&kernel.file];
        let instance = texts.instance(&kernel.name, target)?;
        let (cost, outputs) = cost(&instance, kernel, emitted, &golden)?;
        if emitted.manifest.stub.as_ref().is_some_and(|stub| stub.kernels.contains(&kernel.name)) {
            notes.extend(changes(&instance, kernel, &outputs, &mut golden)?);
        }
        let signature = Signature::read(&kernel.name, source)?.text(&kernel.name);
        for (what, content) in [("cost", cost.to_string()), ("signature", signature), ("source", source.clone())] {
            let path = package::snapshot_path(&format!("{}_{what}", kernel.name));
            files.insert(path, package::snapshot(&content).into_bytes());
        }
    }
    emitted.manifest.notes.extend(notes);
    let manifest = &emitted.manifest;
    let entries = compose(manifest, composition, &target_constant(target))?;
    files.extend(package::files(&Package { name, runtime }, manifest, &entries, &golden));
    let sources = emitted.sources.iter().map(|(name, text)| (format!("kernels/{name}"), text.clone().into_bytes()));
    files.extend(sources);
    files.insert("constants.bin".to_owned(), emitted.blob.clone());
    let written = Written { manifest, entries: entries.iter().map(|composed| &composed.entry).collect() };
    let written = serde_json::to_string_pretty(&written).expect("a manifest is made of names and numbers");
    files.insert("manifest.json".to_owned(), (written + "\n").into_bytes());
    Ok(files)
}

/// What a stub changes in the outputs of a kernel, if that is more than the kernel's bar.
fn changes(
    instance: &Instance,
    kernel: &Kernel,
    outputs: &Arguments,
    golden: &mut Golden,
) -> Result<Option<String>, FolderError> {
    for boundary in &kernel.outputs {
        let param = instance.params().iter().find(|param| param.name == boundary.parameter);
        let Some(Param { ty: ParamType::Tensor(ty), .. }) = param else { continue };
        let argument = ty.argument(golden.bytes(boundary)).map_err(|e| of_argument(kernel, &boundary.parameter, e))?;
        let expected = Arguments::new().with(&boundary.parameter, argument);
        let found = outputs.tensor(&boundary.parameter).zip(expected.tensor(&boundary.parameter));
        let (own, expected) = found.expect("an output is a tensor");
        let differences = (0..own.len()).map(|i| own.get(i).abs_diff(expected.get(i))).filter(|d| *d > 0);
        let (count, largest) = differences.fold((0, 0), |(n, most), d| (n + 1, d.max(most)));
        if !golden.allows(&kernel.name, (count, largest), own.len()) {
            golden.changed.insert(kernel.name.clone());
            return Ok(Some(format!(
                "kernel `{}`: with the stub {count} of {} elements of `{}` are not the network's, by {largest} at most: \
                 its test compares native code with the simulator alone",
                kernel.name,
                own.len(),
                boundary.tensor
            )));
        }
    }
    Ok(None)
}

/// The manifest as it is written.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    manifest: &'a Manifest,
    entries: Vec<&'a Entry>,
}

/// What a kernel costs on golden inputs, and its outputs.
fn cost(
    instance: &Instance,
    kernel: &Kernel,
    emitted: &Emitted,
    golden: &Golden,
) -> Result<(Cost, Arguments), FolderError> {
    let mut arguments = Arguments::new();
    for Param { name, ty } in instance.params() {
        let ParamType::Tensor(ty) = ty else { continue };
        let mut boundaries = kernel.inputs.iter().chain(&kernel.outputs);
        let bytes = match boundaries.find(|b| b.parameter == *name) {
            Some(boundary) => golden.bytes(boundary),
            None => {
                let unknown = || FolderError::Parameter { kernel: kernel.name.clone(), parameter: name.clone() };
                let constant = kernel.constants.iter().find(|c| c.parameter == *name).ok_or_else(unknown)?;
                &emitted.blob[constant.offset..][..constant.bytes]
            }
        };
        arguments.set(name, ty.argument(bytes).map_err(|error| of_argument(kernel, name, error))?);
    }
    let cost =
        instance.simulate(&mut arguments).map_err(|reason| FolderError::Run { kernel: kernel.name.clone(), reason })?;
    Ok((Cost { kernel: kernel.name.to_ascii_uppercase(), ..cost }, arguments))
}

fn of_argument(kernel: &Kernel, parameter: &str, source: ArgError) -> FolderError {
    FolderError::Argument { kernel: kernel.name.clone(), parameter: parameter.to_owned(), source }
}

/// Where a package in `out` finds the runtime: in the checkout that this program was built from, if it is still there.
pub fn runtime(out: &Path) -> Runtime {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ccl-runtime");
    let (Ok(runtime), Ok(out)) = (checkout.canonicalize(), absolute(out)) else {
        return Runtime::Version(env!("CARGO_PKG_VERSION").to_owned());
    };
    let path = pathdiff::diff_paths(&runtime, &out).unwrap_or(runtime);
    Runtime::Path(path.to_string_lossy().replace('\\', "/"))
}

/// The path without links, of a folder that may not be there yet.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut rest = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(found) = ancestor.canonicalize() {
            return Ok(rest.iter().rev().fold(found, |path, part| path.join(part)));
        }
        rest.extend(ancestor.file_name());
    }
    Ok(path)
}

/// A name for a package from that of a folder.
pub fn name_of(out: &Path) -> String {
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    crate::plan::names::identifier(&name).replace('_', "-")
}
