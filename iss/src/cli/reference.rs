//! `isa` and `target`: what the tables say.

use anyhow::{Context, bail};
use clap::Args;
use iss::isa::Inst;
use iss::reference;
use iss::target::Target;

use super::{Exit, files};

/// Print the instructions, or what one does, with its operands, encoding and cost.
#[derive(Debug, Args)]
pub struct Isa {
    /// Instruction to explain; all are listed without
    mnemonic: Option<String>,
}

impl Isa {
    pub fn run(self) -> anyhow::Result<Exit> {
        let text = match &self.mnemonic {
            None => reference::isa_list(),
            Some(mnemonic) => match reference::isa_row(mnemonic) {
                Some(row) => row,
                None => bail!("{}", unknown(mnemonic)),
            },
        };
        files::print(&text)?;
        Ok(Exit::Done)
    }
}

fn unknown(mnemonic: &str) -> String {
    let distance = |name: &&str| strsim::damerau_levenshtein(name, mnemonic);
    let nearest = Inst::MNEMONICS.iter().copied().min_by_key(distance).unwrap_or_default();
    format!("no instruction is called `{mnemonic}`\nhelp: did you mean `{nearest}`? `iss isa` lists all")
}

/// Print every size and cost of a target as TOML.
#[derive(Debug, Args)]
pub struct ShowTarget {
    /// `QC-U`, `QC-U:ocm=8MB,fx_div=40`, or a long name such as `QC-U_1d7_16MB_4kB_128GBps_128GBps_16_OFF_x1_x1`
    name: String,
    /// Print JSON instead
    #[arg(long)]
    json: bool,
}

impl ShowTarget {
    pub fn run(self) -> anyhow::Result<Exit> {
        let target: Target = self.name.parse().with_context(|| format!("target `{}`", self.name))?;
        files::print(&if self.json { target.to_json() + "\n" } else { target.to_toml() })?;
        Ok(Exit::Done)
    }
}
