//! The ledger of what was done by hand: which kernels replace generated ones, and what was changed where.

use std::fmt;

use super::{InstanceError, Kernel};
use crate::front::program::Program;

/// A change that `#[edit("..")]` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The function in which it is.
    pub function: String,
    /// Its file.
    pub file: String,
    /// The line of the function or statement.
    pub line: u32,
    /// What was changed.
    pub what: String,
}

/// A kernel with what was done by hand to it and to the functions that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandWork {
    /// Name of the instance.
    pub kernel: &'static str,
    /// Name of its function.
    pub function: &'static str,
    /// The kernel that it replaces, as `#[overrides(path)]` names it.
    pub overrides: Option<&'static str>,
    /// What was changed, in the order of the text; functions that are called follow.
    pub edits: Vec<Edit>,
}

impl fmt::Display for HandWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kernel, self.function)?;
        if let Some(path) = self.overrides {
            write!(f, " overrides {path}")?;
        }
        self.edits
            .iter()
            .try_for_each(|edit| write!(f, "\n  {}:{} {}: {}", edit.file, edit.line, edit.function, edit.what))
    }
}

/// Those of the kernels that replace others or were changed by hand.
///
/// # Errors
/// A block of another version of the language.
pub fn ledger(kernels: &[&Kernel]) -> Result<Vec<HandWork>, InstanceError> {
    let mut list = Vec::new();
    for kernel in kernels {
        let edits = Program::of_source(kernel.source())?.edits(kernel.function());
        if kernel.overrides.is_some() || !edits.is_empty() {
            let (name, function, overrides) = (kernel.name, kernel.function(), kernel.overrides);
            list.push(HandWork { kernel: name, function, overrides, edits });
        }
    }
    Ok(list)
}
