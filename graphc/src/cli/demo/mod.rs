//! `graphc demo`.

mod detr;
mod segformer;

use clap::{Args, Subcommand};

use crate::cli::Exit;

/// Shows what the project does on networks that come with it.
#[derive(Debug, Args)]
pub struct Demo {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Segformer(segformer::Segformer),
    Detr(detr::Detr),
}

impl Demo {
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.what {
            What::Segformer(demo) => demo.run(),
            What::Detr(demo) => demo.run(),
        }
    }
}
