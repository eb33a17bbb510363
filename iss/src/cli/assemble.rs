//! `asm` and `disasm`: between text and images.

use std::path::PathBuf;

use clap::Args;
use iss::asm::{Style, disassemble_with};

use super::Exit;
use super::files::{self, Lines};

/// Assemble text to a program image.
///
/// The output appears only if the whole text is right; a file that is there already is replaced then.
#[derive(Debug, Args)]
pub struct Asm {
    /// Assembly text; `-` for standard input
    input: PathBuf,
    /// Image to write; `-` for standard output
    #[arg(short, long, value_name = "IMG")]
    output: PathBuf,
    /// Record the lines of the text in the image, for breakpoints and reports
    #[arg(short = 'g', long)]
    lines: bool,
}

impl Asm {
    pub fn run(self) -> anyhow::Result<Exit> {
        files::check_outputs(&[&self.input], &[&self.output])?;
        let lines = if self.lines { Lines::Record } else { Lines::Leave };
        let image = files::assemble(&self.input, files::read(&self.input)?, lines)?;
        files::write(&self.output, &image.to_bytes())?;
        Ok(Exit::Done)
    }
}

/// Print a program image as text that assembles to the same image.
#[derive(Debug, Args)]
pub struct Disasm {
    /// Program image; `-` for standard input
    image: PathBuf,
    /// File to write instead of standard output
    #[arg(short, long, value_name = "OUT", default_value = "-", hide_default_value = true)]
    output: PathBuf,
    /// Show index, word, issue cycles and source line of each instruction as a comment
    #[arg(long)]
    cycles: bool,
}

impl Disasm {
    pub fn run(self) -> anyhow::Result<Exit> {
        files::check_outputs(&[&self.image], &[&self.output])?;
        let style = if self.cycles { Style::Columns } else { Style::Plain };
        files::write(&self.output, disassemble_with(&files::image(&self.image)?, style).as_bytes())?;
        Ok(Exit::Done)
    }
}
