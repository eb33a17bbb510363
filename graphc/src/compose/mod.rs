//! Composition: kernels behind one entry point or several, as texts of kernels that call kernels.
//!
//! An entry point takes tensors of external memory and all constants as one blob. It keeps tensors between its kernels on the
//! chip, brings the constants of each kernel as one block under the arithmetic of the kernel before, and writes back what
//! others read. Knows manifests only, so that kernels by hand are composed as generated ones.

mod entries;
mod slots;
mod text;

use std::collections::BTreeSet;

use crate::emit::manifest::{Boundary, Entry, Kernel, Manifest};
use crate::plan::names;

pub(crate) use entries::FRAME;
pub use entries::{Entries, EntriesError};
pub use slots::{Slot, Tenant};

/// How kernels are composed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composition {
    /// Entry points.
    pub entries: Entries,
    /// Whether constants come while the kernel before computes, else right before their own.
    pub prefetch: bool,
}

impl Default for Composition {
    fn default() -> Self {
        Self { entries: Entries::Count(1), prefetch: true }
    }
}

/// An entry point as text.
#[derive(Debug, Clone, PartialEq)]
pub struct Composed {
    /// What it is.
    pub entry: Entry,
    /// The text of its file.
    pub source: String,
    /// Its buffers of tensors, in the order of their declarations.
    pub slots: Vec<Slot>,
}

impl Composed {
    /// The buffer of tensors of that name in the text.
    pub fn slot(&self, name: &str) -> Option<&Slot> {
        (0..self.slots.len()).find(|&i| text::slot(i) == name).map(|i| &self.slots[i])
    }
}

/// Composes the kernels of a manifest for a machine whose constant in the language is `target`.
///
/// # Errors
/// Groups that are not all kernels in their order.
pub fn compose(manifest: &Manifest, composition: &Composition, target: &str) -> Result<Vec<Composed>, EntriesError> {
    let groups = composition.entries.groups(manifest)?;
    let composed = groups.into_iter().map(|(name, kernels)| {
        let part = Part::new(manifest, &kernels);
        text::write(manifest, &part, &name, composition.prefetch, target)
    });
    Ok(composed.collect())
}

/// Kernels of one entry point, and the tensors that come and go.
struct Part<'m> {
    kernels: Vec<&'m Kernel>,
    /// From outside, in order of first use. Parameters are those of the entry point.
    inputs: Vec<Boundary>,
    /// For others, in the order in which they are written.
    outputs: Vec<Boundary>,
}

impl<'m> Part<'m> {
    fn new(manifest: &'m Manifest, indices: &[usize]) -> Self {
        let kernels: Vec<&Kernel> = indices.iter().map(|&i| &manifest.kernels[i]).collect();
        let others = || manifest.kernels.iter().enumerate().filter(|(i, _)| !indices.contains(i)).map(|(_, k)| k);
        let is_own = |tensor: &str| kernels.iter().flat_map(|k| &k.outputs).any(|b| b.tensor == tensor);
        let is_read = |tensor: &str| {
            others().flat_map(|k| &k.inputs).any(|b| b.tensor == tensor)
                || manifest.outputs.iter().any(|port| port.tensor == tensor)
        };
        let mut inputs: Vec<&Boundary> = Vec::new();
        for boundary in kernels.iter().flat_map(|k| &k.inputs) {
            if !is_own(&boundary.tensor) && inputs.iter().all(|b| b.tensor != boundary.tensor) {
                inputs.push(boundary);
            }
        }
        let outputs: Vec<&Boundary> = kernels.iter().flat_map(|k| &k.outputs).filter(|b| is_read(&b.tensor)).collect();
        // Kernels name their parameters each for itself.
        let mut taken: BTreeSet<String> = kernels.iter().map(|kernel| kernel.name.clone()).collect();
        taken.insert(text::CONSTANTS.to_owned());
        let mut own =
            |b: &Boundary| Boundary { parameter: names::unique(b.parameter.clone(), &mut taken), ..b.clone() };
        let inputs = inputs.into_iter().map(&mut own).collect();
        let outputs = outputs.into_iter().map(&mut own).collect();
        Part { kernels, inputs, outputs }
    }
}
