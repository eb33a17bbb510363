//! The folder of an emitted network: what `graphc compile` writes.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ccl_runtime::kernel::{Arguments, Instance, Param, ParamType};
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
pub fn files(contents: &Contents, emitted: &mut Emitted) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut golden = Golden::of(contents.plan, &emitted.manifest, &contents.inputs).context("golden tensors")?;
    let mut files = BTreeMap::new();
    let texts = Texts::read(&emitted.sources)?;
    let mut notes = Vec::new();
    for kernel in &emitted.manifest.kernels {
        let source = &emitted.sources[&kernel.file];
        let instance = texts.instance(&kernel.name, contents.target)?;
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
    let (emitted, manifest) = (&*emitted, &emitted.manifest);
    let package = Package { name: contents.name.clone(), runtime: contents.runtime.clone() };
    files.extend(package::files(&package, manifest, Some(&golden)));
    let sources = emitted.sources.iter().map(|(name, text)| (format!("kernels/{name}"), text.clone().into_bytes()));
    files.extend(sources);
    files.insert("constants.bin".to_owned(), emitted.blob.clone());
    files.insert("manifest.json".to_owned(), (serde_json::to_string_pretty(manifest)? + "\n").into_bytes());
    Ok(files)
}

/// What a stub changes in the outputs of a kernel, if that is more than the kernel's bar.
fn changes(
    instance: &Instance,
    kernel: &Kernel,
    outputs: &Arguments,
    golden: &mut Golden,
) -> anyhow::Result<Option<String>> {
    for boundary in &kernel.outputs {
        let param = instance.params().iter().find(|param| param.name == boundary.parameter);
        let Some(Param { ty: ParamType::Tensor(ty), .. }) = param else { continue };
        let expected = Arguments::new().with(&boundary.parameter, ty.argument(golden.bytes(boundary))?);
        let found = outputs.tensor(&boundary.parameter).zip(expected.tensor(&boundary.parameter));
        let (own, expected) = found.context("an output is a tensor")?;
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

/// What a kernel costs on golden inputs, and its outputs.
fn cost(instance: &Instance, kernel: &Kernel, emitted: &Emitted, golden: &Golden) -> anyhow::Result<(Cost, Arguments)> {
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
    Ok((Cost { kernel: kernel.name.to_ascii_uppercase(), ..cost }, arguments))
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
