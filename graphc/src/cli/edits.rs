//! `graphc fork`, `edits`, `rebase`: kernels by hand in the places of generated ones.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use comfy_table::{LineStyle, Table, TableStyle};
use graphc::edits::{self, Edit, EditError, Edits, State};
use serde_json::Value;

use crate::cli::{Exit, complain, say};

/// The two folders of a command about hand edits.
#[derive(Debug, Args)]
pub struct Folders {
    /// The folder that `graphc compile` has made
    #[arg(long, value_name = "DIR")]
    of: PathBuf,
    /// The folder of hand edits, as `compile --kernels` and `run --kernels` take it
    #[arg(long, value_name = "DIR")]
    kernels: PathBuf,
}

/// Begins a hand edit: copies a generated kernel into a folder of edits, beside the text it was forked from
#[derive(Debug, Args)]
pub struct Fork {
    /// The kernel, as the manifest names it
    kernel: String,
    #[command(flatten)]
    folders: Folders,
}

/// Lists hand edits: how large each is, what its author says of it, and whether the generated text has changed since
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    folders: Folders,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

/// Brings a hand edit up to the kernel that is generated today, by a merge of texts
#[derive(Debug, Args)]
pub struct Rebase {
    /// The kernel
    kernel: String,
    #[command(flatten)]
    folders: Folders,
}

impl Fork {
    pub fn run(self) -> anyhow::Result<Exit> {
        let generated = self.folders.generated(&self.kernel)?;
        let file = edits::fork(&self.folders.kernels, &self.kernel, &generated)?;
        say(&format!("edit `{}`, then pass `--kernels {}`\n", file.display(), self.folders.kernels.display()))?;
        Ok(Exit::Done)
    }
}

impl List {
    pub fn run(self) -> anyhow::Result<Exit> {
        let (mut states, mut exit) = (Vec::new(), Exit::Done);
        for edit in Edits::open(&self.folders.kernels)?.all() {
            match self.state(edit) {
                Ok(state) => {
                    exit = if state.drift.is_some() { Exit::Refused } else { exit };
                    states.push(state);
                }
                Err(error) => {
                    complain(&format!("error: {error:#}"));
                    exit = Exit::Refused;
                }
            }
        }
        if self.json {
            say(&(serde_json::to_string_pretty(&states)? + "\n"))?;
        } else {
            say(&text(&states))?;
        }
        Ok(exit)
    }

    fn state(&self, edit: &Edit) -> anyhow::Result<State> {
        Ok(edit.state(&self.folders.generated(&edit.kernel)?)?)
    }
}

impl Rebase {
    pub fn run(self) -> anyhow::Result<Exit> {
        let generated = self.folders.generated(&self.kernel)?;
        let edits = Edits::open(&self.folders.kernels)?;
        let edit = edits.of(&self.kernel)?;
        if edit.base == generated {
            say(&format!("kernel `{}`: what is generated has not changed\n", self.kernel))?;
            return Ok(Exit::Done);
        }
        match edit.rebase(&generated) {
            Ok(text) => {
                edits::replace(&self.folders.kernels, &Edit { text, base: generated, ..edit.clone() })?;
                say(&format!("kernel `{}`: now on what is generated today\n", self.kernel))?;
                Ok(Exit::Done)
            }
            Err(conflict) => {
                let file = self.folders.kernels.join(format!("{}.rs.conflict", self.kernel));
                std::fs::write(&file, conflict.text).with_context(|| format!("cannot write `{}`", file.display()))?;
                let (kernel, file, folder) = (&self.kernel, file.display(), self.folders.kernels.display());
                complain(&format!(
                    "error: kernel `{kernel}`: both texts have changed the same lines; nothing is replaced\n\
                     help: `{file}` has them between markers: mend it, make it `{folder}/{kernel}.rs`, and copy the generated text to \
                     `{folder}/base/{kernel}.rs`"
                ));
                Ok(Exit::Refused)
            }
        }
    }
}

impl Folders {
    /// The text of a generated kernel.
    fn generated(&self, kernel: &str) -> anyhow::Result<String> {
        let manifest = self.of.join("manifest.json");
        let text = std::fs::read_to_string(&manifest).with_context(|| {
            format!("`{}` is no folder of `graphc compile`: `{}`", self.of.display(), manifest.display())
        })?;
        let manifest: Value = serde_json::from_str(&text).with_context(|| format!("`{}`", manifest.display()))?;
        let Some(kernels) = manifest["kernels"].as_array() else { bail!("the manifest lists no kernels") };
        let field = |kernel: &Value, name: &str| kernel[name].as_str().unwrap_or_default().to_owned();
        let names: Vec<String> = kernels.iter().map(|kernel| field(kernel, "name")).collect();
        let Some(found) = kernels.iter().find(|found| field(found, "name") == kernel) else {
            return Err(EditError::unknown(kernel, names.iter().map(String::as_str)).into());
        };
        let name = field(found, "file");
        let name = Path::new(&name).file_name().context("the manifest names no file")?;
        let file = self.of.join("kernels").join(name);
        std::fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))
    }
}

/// The list of edits.
pub fn text(states: &[State]) -> String {
    if states.is_empty() {
        return "no kernel is edited by hand\n".to_owned();
    }
    let mut table = Table::new();
    let ruled = TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));
    table.load_style(ruled).set_header(["kernel", "lines", "signature", "generated text", "what was changed"]);
    for state in states {
        let lines = format!("+{} -{}", state.added, state.removed);
        let signature = state.drift.as_deref().unwrap_or("as generated");
        let base = if state.base_moved.is_some() { "has changed: rebase" } else { "as forked" };
        table.add_row([state.kernel.as_str(), &lines, signature, base, &state.says.join("; ")]);
    }
    let mut out = table.trim_fmt() + "\n";
    for state in states {
        if let Some(diff) = &state.base_moved {
            out += &format!("\nkernel `{}`: since the fork, what is generated changed by\n{diff}", state.kernel);
        }
    }
    out
}
