//! Hand edits: a folder of kernels that replace generated ones of the same names.
//!
//! `NAME.rs` is the text by hand, `base/NAME.rs` the generated text that it was forked from. A kernel of today's compiler that
//! differs from the base is reported with the difference, and [`Edit::rebase`] merges it in. What must not differ is the
//! signature, since other kernels and the constants are laid out for it.

mod effect;
mod error;
mod folder;
mod signature;

use std::collections::BTreeMap;

use crate::emit::Emitted;
use crate::emit::manifest::Manifest;

pub use effect::{Effect, EffectError, Generated};
pub use error::EditError;
pub use folder::{Edits, fork, replace};
pub use signature::Signature;

/// A kernel by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The kernel.
    pub kernel: String,
    /// Its text.
    pub text: String,
    /// The generated text that it was forked from.
    pub base: String,
}

/// What an edit is against the text that is generated today.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct State {
    /// The kernel.
    pub kernel: String,
    /// Lines that are in the edit and not in its base.
    pub added: usize,
    /// Lines that are in the base and not in the edit.
    pub removed: usize,
    /// What the author says of it: the texts of `#[edit("..")]`.
    pub says: Vec<String>,
    /// How the generated text has changed since the fork, as a unified diff.
    pub base_moved: Option<String>,
    /// The first field of the signature that is not the generated one's, with both.
    pub drift: Option<String>,
    /// What it does to the kernel's cycles and outputs, where that was measured.
    pub effect: Option<Effect>,
}

/// A merge that people must finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Both texts between markers.
    pub text: String,
}

impl Edit {
    /// Compares the edit with what is generated today.
    ///
    /// # Errors
    /// If the text of either is no kernel of that name.
    pub fn state(&self, generated: &str) -> Result<State, EditError> {
        let (mut added, mut removed) = (0, 0);
        for line in diffy::create_patch(&self.base, &self.text).hunks().iter().flat_map(|hunk| hunk.lines()) {
            match line {
                diffy::Line::Insert(_) => added += 1,
                diffy::Line::Delete(_) => removed += 1,
                diffy::Line::Context(_) => {}
            }
        }
        let own = Signature::read(&self.kernel, &self.text)?;
        let of = Signature::read(&self.kernel, generated)?;
        let moved = || diffy::create_patch(&self.base, generated).to_string();
        Ok(State {
            kernel: self.kernel.clone(),
            added,
            removed,
            says: own.says.clone(),
            base_moved: (self.base != generated).then(moved),
            drift: own.drift(&of),
            effect: None,
        })
    }

    /// The edit on top of what is generated today.
    ///
    /// # Errors
    /// Where both have changed the same lines.
    pub fn rebase(&self, generated: &str) -> Result<String, Conflict> {
        diffy::merge(&self.base, &self.text, generated).map_err(|text| Conflict { text })
    }
}

/// Says which kernels by hand do not call the attention stub that the generated ones do.
fn leave_stub(manifest: &mut Manifest, texts: &[(String, String)]) {
    let Manifest { stub: Some(stub), kernels, notes, .. } = manifest else { return };
    let call = format!("super::{}::{}", stub.file.trim_end_matches(".rs"), stub.function);
    for (file, text) in texts {
        let Some(kernel) = kernels.iter().find(|kernel| kernel.file == *file) else { continue };
        if stub.kernels.contains(&kernel.name) && !text.contains(&call) {
            stub.kernels.retain(|name| *name != kernel.name);
            notes.push(format!(
                "kernel `{}` is by hand and does not call the attention stub `{}`",
                kernel.name, stub.function
            ));
        }
    }
}

impl Edits {
    /// Puts the edits in the places of what was generated, and says what each is.
    ///
    /// # Errors
    /// Every edit that is no kernel, has no such kernel to replace, or has another signature.
    pub fn apply(&self, emitted: &mut Emitted) -> Result<Vec<State>, Vec<EditError>> {
        let files: BTreeMap<&str, &str> =
            emitted.manifest.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.file.as_str())).collect();
        let (mut states, mut errors, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for edit in self.all() {
            let Some(file) = files.get(edit.kernel.as_str()) else {
                errors.push(EditError::unknown(&edit.kernel, files.keys().copied()));
                continue;
            };
            match edit.state(&emitted.sources[*file]) {
                Ok(State { drift: Some(drift), kernel, .. }) => errors.push(EditError::Drifted { kernel, drift }),
                Ok(state) => {
                    states.push(state);
                    texts.push(((*file).to_owned(), edit.text.clone()));
                }
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        leave_stub(&mut emitted.manifest, &texts);
        emitted.sources.extend(texts);
        Ok(states)
    }
}
