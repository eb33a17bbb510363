//! The command line: what can be asked for, and how a run ends. Each command has a file.

mod check;
mod compile;
mod cut;
mod demo;
mod edits;
mod files;
mod golden;
mod input;
mod kernels;
mod progress;
mod quantize;
mod ranges;
mod run;
mod show;
mod validate;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use graphc::graph::Graph;
use graphc::import::{self, Import, Options};
use graphc::npy;
use graphc::onnx::Model;

/// Graph compiler for a 32x32 array processor: ONNX networks to kernels.
///
/// Exit codes: 0 the command did what it was asked for; 1 the model is not accepted, or does not pass; 2 something is wrong
/// with the command line, a file or a run.
#[derive(Debug, Parser)]
#[command(name = "graphc", version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Check),
    Compile(compile::Compile),
    Cut(cut::Cut),
    Demo(demo::Demo),
    Fork(edits::Fork),
    Edits(edits::List),
    Rebase(edits::Rebase),
    Quantize(quantize::Quantize),
    Run(run::Run),
    #[command(hide = true)]
    Golden(golden::Golden),
    #[command(hide = true)]
    Kernels(kernels::Kernels),
    Validate(validate::Validate),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Done = 0,
    Refused = 1,
    Failed = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The model of a command, and what is dynamic in it.
#[derive(Debug, Args)]
struct Source {
    /// The ONNX file
    model: PathBuf,
    /// Extent of a dynamic dimension; may be repeated
    #[arg(long = "dim", value_name = "NAME=N", value_parser = parse_dim)]
    dims: Vec<(String, usize)>,
}

impl Source {
    fn import(&self) -> anyhow::Result<Import> {
        let model = Model::read(&self.model)?;
        Ok(import::import(&model, &Options { dims: self.dims.iter().cloned().collect() }))
    }

    fn graph(&self) -> anyhow::Result<Graph> {
        let graph = self.import()?.into_graph();
        graph.with_context(|| format!("`{}` is not accepted", self.model.display()))
    }
}

fn parse_dim(text: &str) -> Result<(String, usize), String> {
    let (name, extent) = named(text)?;
    let extent = extent.parse().map_err(|_| format!("`{extent}` is no extent, expected a number"))?;
    Ok((name, extent))
}

/// Splits `NAME=VALUE` at the last `=`, since names of tensors may hold one.
fn named(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.rsplit_once('=').ok_or_else(|| format!("`{text}` has no `=`"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn in_folder(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{}.npy", npy::file_stem(name)))
}

pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Where the text cannot be written there is nobody to tell.
            let _ = error.print();
            return if error.use_stderr() { Exit::Failed.into() } else { Exit::Done.into() };
        }
    };
    let done = match cli.command {
        Command::Check(command) => command.run(),
        Command::Compile(command) => command.run(),
        Command::Cut(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Fork(command) => command.run(),
        Command::Edits(command) => command.run(),
        Command::Rebase(command) => command.run(),
        Command::Golden(command) => command.run(),
        Command::Kernels(command) => command.run(),
        Command::Quantize(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Validate(command) => command.run(),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            complain(&format!("error: {error:#}"));
            Exit::Failed.into()
        }
    }
}

/// Writes to the error stream; where that is closed there is nobody to tell.
fn complain(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes to the output stream; a reader that has gone is no fault.
fn say(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
