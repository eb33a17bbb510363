//! The command line: what can be asked for, and how a run ends. Each command has a file; none simulates anything itself.

mod assemble;
mod figures;
mod files;
mod reference;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Cycle-level simulator of a 32x32 array processor: assembler, simulator, profile, calibration.
///
/// Exit codes: 0 the program halted, or the command did what it was asked for; 1 something is wrong with the command line, a
/// file or the calibration; 2 the simulated program trapped; 3 it reached a limit.
#[derive(Debug, Parser)]
#[command(name = "iss", version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Calibrate(figures::Calibrate),
    Asm(assemble::Asm),
    Disasm(assemble::Disasm),
    // The run has by far the most options.
    Run(Box<run::Run>),
    Bench(figures::Bench),
    Isa(reference::Isa),
    Target(reference::ShowTarget),
}

/// How a command ended that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Done = 0,
    Failed = 1,
    Trap = 2,
    Limit = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
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
        Command::Calibrate(command) => command.run(),
        Command::Asm(command) => command.run(),
        Command::Disasm(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::Isa(command) => command.run(),
        Command::Target(command) => command.run(),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            files::complain(&format!("error: {error:#}"));
            Exit::Failed.into()
        }
    }
}
