//! What is wrong with an edit.

use std::path::PathBuf;

use super::EffectError;

/// Why an edit is not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// There is no such kernel to replace.
    #[error("there is no kernel `{kernel}`{help}")]
    Unknown {
        /// Its name.
        kernel: String,
        /// What there is.
        help: String,
    },
    /// The text of an edit has mistakes.
    #[error("the text of kernel `{kernel}` has mistakes:\n{findings}")]
    Text {
        /// The kernel.
        kernel: String,
        /// All of them, with excerpts.
        findings: String,
    },
    /// The text has no function of the kernel's name.
    #[error("the text of kernel `{kernel}` has no `#[kernel] pub fn {kernel}`")]
    NoKernel {
        /// The kernel.
        kernel: String,
    },
    /// The signature is another one.
    #[error(
        "kernel `{kernel}`: {drift}\nhelp: the kernels around it and the constants are laid out for the generated signature: take it over, \
         and move what is by hand into the body"
    )]
    Drifted {
        /// The kernel.
        kernel: String,
        /// The field, and both of its values.
        drift: String,
    },
    /// An edit without the text that it was forked from.
    #[error(
        "`{file}` has no base `{base}`\nhelp: `graphc fork {kernel}` makes both; a text from elsewhere takes the generated one as its base"
    )]
    NoBase {
        /// The kernel.
        kernel: String,
        /// The edit.
        file: PathBuf,
        /// Where its base should be.
        base: PathBuf,
    },
    /// A fork would replace an edit.
    #[error(
        "`{file}` is there already\nhelp: edit it, or `graphc rebase {kernel}` where the generated text has changed"
    )]
    Exists {
        /// The kernel.
        kernel: String,
        /// The edit.
        file: PathBuf,
    },
    /// A folder that `graphc compile` has not made.
    #[error("`{file}` is no manifest of `graphc compile`: {reason}")]
    NoManifest {
        /// Where it should be.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An edit, or what it replaces, does not run.
    #[error("kernel `{kernel}`: cycles are not measured: {source}")]
    Effect {
        /// The kernel.
        kernel: String,
        /// Why.
        source: Box<EffectError>,
    },
    /// A file cannot be read or written.
    #[error("`{file}`: {source}")]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl EditError {
    /// An error that lists the kernels there are; of many, those whose names begin alike.
    pub fn unknown<'a>(kernel: &str, all: impl Iterator<Item = &'a str>) -> Self {
        let all: Vec<&str> = all.collect();
        let start = kernel.chars().next();
        let near: Vec<&str> = all.iter().copied().filter(|name| name.chars().next() == start).collect();
        let shown = if near.is_empty() { all } else { near };
        let more = if shown.len() > 20 { ", .." } else { "" };
        let shown = shown.into_iter().take(20).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let help = if shown.is_empty() { String::new() } else { format!("\nhelp: there are {shown}{more}") };
        EditError::Unknown { kernel: kernel.to_owned(), help }
    }
}
