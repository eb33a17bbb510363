//! The folder of an emitted network: what `graphc compile` writes.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ccl_runtime::kernel::{Arguments, Param, ParamType};
use ccl_runtime::testing::Cost;
use ccl_runtime::testing::check::Subject;
use graphc::edits::Signature;
use graphc::emit::Emitted;
use graphc::emit::golden::Golden;
use graphc::emit::manifest::Kernel;
use graphc::emit::package::{self, Package, Runtime};
use graphc::graph::Tensor;
use graphc::plan::Plan;
use graphc::run::texts::Texts;
use iss::target::Target;

/// What goes into a folder beside the kernels.
pub struct Contents<'a> {
    /// The plan that was emitted.
    pub plan: &'a Plan,
    /// The machine.
    pub target: &'a Target,
    /// Name of the package.
    pub name: String,
    /// Where the package finds the runtime.
    pub runtime: Runtime,
    /// What golden tensors are computed from.
    pub inputs: HashMap<String, Tensor>,
}

/// All files of the folder, by their paths in it.
pub fn files(contents: &Contents, emitted: &Emitted) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let manifest = &emitted.manifest;
    let golden = Golden::of(contents.plan, manifest, &contents.inputs).context("golden tensors")?;
    let package = Package { name: contents.name.clone(), runtime: contents.runtime.clone() };
    let mut files = package::files(&package, manifest, Some(&golden));
    let texts = Texts::read(&emitted.sources)?;
    for kernel in &manifest.kernels {
        let source = &emitted.sources[&kernel.file];
        let instance = texts.instance(&kernel.name, contents.target)?;
        let cost = cost(&instance, kernel, emitted, &golden)?;
        let signature = Signature::read(&kernel.name, source)?.text(&kernel.name);
        for (what, content) in [("cost", cost.to_string()), ("signature", signature), ("source", source.clone())] {
            let path = package::snapshot_path(&format!("{}_{what}", kernel.name));
            files.insert(path, package::snapshot(&content).into_bytes());
        }
    }
    let sources = emitted.sources.iter().map(|(name, text)| (format!("kernels/{name}"), text.clone().into_bytes()));
    files.extend(sources);
    files.insert("constants.bin".to_owned(), emitted.blob.clone());
    files.insert("manifest.json".to_owned(), (serde_json::to_string_pretty(manifest)? + "\n").into_bytes());
    Ok(files)
}

/// What a kernel costs on golden inputs.
fn cost(
    instance: &ccl_runtime::kernel::Instance,
    kernel: &Kernel,
    emitted: &Emitted,
    golden: &Golden,
) -> anyhow::Result<Cost> {
    let mut arguments = Arguments::new();
    for Param { name, ty } in instance.params() {
        let ParamType::Tensor(ty) = ty else { continue };
        let mut boundaries = kernel.inputs.iter().chain(&kernel.outputs);
        let bytes = match boundaries.find(|b| b.parameter == *name) {
            Some(boundary) => golden.bytes(boundary),
            None => {
                let constant = kernel.constants.iter().find(|c| c.parameter == *name).context("a parameter")?;
                &emitted.blob[constant.offset..][..constant.bytes]
            }
        };
        arguments.set(name, ty.argument(bytes).with_context(|| format!("kernel `{}`, `{name}`", kernel.name))?);
    }
    let cost =
        instance.simulate(&mut arguments).map_err(|error| anyhow::anyhow!("kernel `{}`: {error}", kernel.name))?;
    Ok(Cost { kernel: kernel.name.to_ascii_uppercase(), ..cost })
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
    graphc::plan::names::identifier(&name).replace('_', "-")
}
