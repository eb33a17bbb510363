//! `graphc fork`, `edits`, `rebase`: kernels by hand in the places of generated ones.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use comfy_table::{LineStyle, Table, TableStyle};
use graphc::edits::{self, Edit, Edits, Effect, Generated, State};
use iss::profile::figure::grouped;

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
        let edits = Edits::open(&self.folders.kernels)?;
        let generated = Generated::open(&self.folders.of)?;
        for edit in edits.all() {
            match state(&generated, edit) {
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
}

/// What an edit is, and what it does unless its signature has drifted.
fn state(generated: &Generated, edit: &Edit) -> anyhow::Result<State> {
    let mut state = edit.state(generated.text(&edit.kernel)?)?;
    if state.drift.is_none() {
        state.effect = Some(generated.effect(edit)?);
    }
    Ok(state)
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
        Ok(Generated::open(&self.of)?.text(kernel)?.to_owned())
    }
}

/// Cycles before and after, and what became of the outputs.
fn effect(effect: &Effect) -> [String; 2] {
    let (before, after) = (effect.cycles_before, effect.cycles_after);
    let percent = 100.0 * (after as f64 - before as f64) / before.max(1) as f64;
    let results = match effect.changed_bytes {
        0 => "equal".to_owned(),
        n => format!("{n} of {} bytes differ", effect.output_bytes),
    };
    [format!("{} -> {} ({percent:+.1} %)", grouped(before), grouped(after)), results]
}

/// The list of edits.
pub fn text(states: &[State]) -> String {
    if states.is_empty() {
        return "no kernel is edited by hand\n".to_owned();
    }
    let mut table = Table::new();
    let ruled = TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));
    table.load_style(ruled).set_header([
        "kernel",
        "lines",
        "cycles",
        "results",
        "signature",
        "generated text",
        "what was changed",
    ]);
    for state in states {
        let lines = format!("+{} -{}", state.added, state.removed);
        let signature = state.drift.as_deref().unwrap_or("as generated");
        let base = if state.base_moved.is_some() { "has changed: rebase" } else { "as forked" };
        let [cycles, results] = state.effect.as_ref().map_or(["-", "-"].map(str::to_owned), effect);
        table.add_row([state.kernel.as_str(), &lines, &cycles, &results, signature, base, &state.says.join("; ")]);
    }
    let mut out = table.trim_fmt() + "\n";
    for state in states {
        if let Some(diff) = &state.base_moved {
            out += &format!("\nkernel `{}`: since the fork, what is generated changed by\n{diff}", state.kernel);
        }
    }
    out
}
