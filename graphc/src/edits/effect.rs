//! What an edit does to its kernel: cycles before and after, and whether outputs stay what they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ccl_runtime::interp::LoadError;
use iss::sim::Options;
use iss::target::Target;
use iss::testing::Rng;

use super::{Edit, EditError};
use crate::emit::Emitted;
use crate::emit::manifest::{Kernel, Manifest};
use crate::run::entry::{Entry, EntryError, Tensors};
use crate::run::{bindings, texts::Texts};

/// The seed of the inputs on which kernels are compared.
const SEED: u64 = 1;

/// What an edit does, on inputs drawn from a seed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Effect {
    /// Cycles of the generated kernel.
    pub cycles_before: u64,
    /// Cycles of the edit.
    pub cycles_after: u64,
    /// Bytes of the kernel's outputs.
    pub output_bytes: usize,
    /// How many of them the edit changes.
    pub changed_bytes: usize,
}

/// Why an effect is not measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EffectError {
    /// A text has mistakes.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A kernel does not compile, or stopped.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The machine of the manifest is not known.
    #[error("the manifest names the machine `{0}`, which is not known")]
    Target(String),
}

/// What `graphc compile` writes to a folder, as far as kernels go.
#[derive(Debug, Clone)]
pub struct Generated {
    manifest: Manifest,
    sources: BTreeMap<String, String>,
    blob: Vec<u8>,
}

impl Generated {
    /// Reads a folder.
    ///
    /// # Errors
    /// A file that cannot be read, a manifest that is none.
    pub fn open(folder: &Path) -> Result<Self, EditError> {
        let at = |file: PathBuf| move |source| EditError::Io { file, source };
        let file = folder.join("manifest.json");
        let none = |reason: String| EditError::NoManifest { file: folder.join("manifest.json"), reason };
        let text = std::fs::read_to_string(&file).map_err(|error| none(error.to_string()))?;
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| none(error.to_string()))?;
        let mut sources = BTreeMap::new();
        let names =
            manifest.kernels.iter().map(|kernel| &kernel.file).chain(manifest.stub.iter().map(|stub| &stub.file));
        for name in names {
            // A manifest is a file like others: what it names is a plain name, not a way out of the folder.
            let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
            let file = folder.join("kernels").join(&name);
            let text = std::fs::read_to_string(&file).map_err(at(file))?;
            sources.insert(name, text);
        }
        let file = folder.join("constants.bin");
        let blob = std::fs::read(&file).map_err(at(file))?;
        Ok(Generated { manifest, sources, blob })
    }

    /// What would be written.
    pub fn of(emitted: &Emitted) -> Self {
        let Emitted { sources, blob, manifest } = emitted.clone();
        Generated { manifest, sources, blob }
    }

    /// The text of a kernel.
    ///
    /// # Errors
    /// With the names of those there are.
    pub fn text(&self, kernel: &str) -> Result<&str, EditError> {
        Ok(&self.sources[&self.kernel(kernel)?.file])
    }

    fn kernel(&self, kernel: &str) -> Result<&Kernel, EditError> {
        let names = self.manifest.kernels.iter().map(|found| found.name.as_str());
        let found = self.manifest.kernels.iter().find(|found| found.name == kernel);
        let found = found.filter(|found| self.sources.contains_key(&found.file));
        found.ok_or_else(|| EditError::unknown(kernel, names))
    }

    /// Runs an edit and the kernel that it replaces on the simulator, on the same inputs.
    ///
    /// # Errors
    /// [`EditError::Unknown`], [`EditError::Effect`].
    pub fn effect(&self, edit: &Edit) -> Result<Effect, EditError> {
        let kernel = self.kernel(&edit.kernel)?;
        let fault = |source| EditError::Effect { kernel: edit.kernel.clone(), source: Box::new(source) };
        let (cycles_before, before) = self.run(kernel, None).map_err(fault)?;
        let (cycles_after, after) = self.run(kernel, Some(&edit.text)).map_err(fault)?;
        let changed = |(a, b): (&Vec<u8>, &Vec<u8>)| a.iter().zip(b).filter(|(a, b)| a != b).count();
        let output_bytes = before.iter().map(Vec::len).sum();
        let changed_bytes = before.iter().zip(&after).map(changed).sum();
        Ok(Effect { cycles_before, cycles_after, output_bytes, changed_bytes })
    }

    /// Cycles and outputs of a kernel, of its own or another text.
    fn run(&self, kernel: &Kernel, text: Option<&str>) -> Result<(u64, Vec<Vec<u8>>), EffectError> {
        let name = &self.manifest.target;
        let target: Target = name.parse().map_err(|_| EffectError::Target(name.clone()))?;
        let mut sources = self.sources.clone();
        if let Some(text) = text {
            sources.insert(kernel.file.clone(), text.to_owned());
        }
        let entry = Entry::compile(&Texts::read(&sources)?, &kernel.name, bindings(kernel), &target)?;
        let mut rng = Rng::new(SEED);
        let mut tensors: Tensors = Tensors::new();
        for input in &kernel.inputs {
            // As many bytes as the kernel's parameter has: a manifest may say anything.
            let bytes = entry.parameter_bytes(&input.parameter).unwrap_or_default();
            tensors.insert(input.tensor.clone(), (0..bytes).map(|_| rng.bits() as u8).collect());
        }
        let ran = entry.run(&mut tensors, &self.blob, &Options::default())?;
        let outputs = kernel.outputs.iter().filter_map(|output| tensors.remove(&output.tensor)).collect();
        Ok((ran.profile.cycles, outputs))
    }
}
