//! Accepting what kernels cost now: tests are run so that they rewrite their snapshots, and of these only costs are kept.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs, io};

use crate::cost_diff::{Moved, Snapshots, figures, moved, snapshots};

/// What a run has accepted.
#[derive(Clone, Debug)]
pub struct Blessed {
    /// Figures that moved.
    pub moved: Vec<Moved>,
    /// Snapshots without costs that tests rewrote: they are as they were.
    pub put_back: Vec<PathBuf>,
    /// Snapshots without costs that tests made: they are gone.
    pub dropped: Vec<PathBuf>,
    /// Whether the tests passed.
    pub passed: bool,
}

impl fmt::Display for Blessed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.put_back {
            writeln!(f, "{}: no costs, left as it was", file.display())?;
        }
        for file in &self.dropped {
            writeln!(f, "{}: no costs, not kept", file.display())?;
        }
        for moved in &self.moved {
            writeln!(f, "{moved}")?;
        }
        writeln!(f, "{} figures moved", self.moved.len())?;
        match self.passed {
            true => Ok(()),
            false => writeln!(f, "tests fail for other reasons: see above"),
        }
    }
}

/// Runs `cargo test` with these arguments in a crate or workspace and accepts the costs below its folder.
///
/// # Errors
/// A folder, file or program that cannot be used.
pub fn bless(root: &Path, args: &[String]) -> io::Result<Blessed> {
    let before = snapshots(root)?;
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).env("INSTA_UPDATE", "always").args(["test", "--no-fail-fast"]).args(args);
    let passed = cargo.status()?.success();
    let after = snapshots(root)?;
    let (put_back, dropped) = restore(&before, &after)?;
    Ok(Blessed { moved: moved(&before, &snapshots(root)?), put_back, dropped, passed })
}

/// Puts back what states no cycles: what changed, and what is new.
fn restore(before: &Snapshots, after: &Snapshots) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut changed, mut new) = (Vec::new(), Vec::new());
    for (file, now) in after.iter().filter(|(_, now)| figures(now).is_empty()) {
        match before.get(file) {
            Some(text) if text != now => {
                fs::write(file, text)?;
                changed.push(file.clone());
            }
            None => {
                fs::remove_file(file)?;
                new.push(file.clone());
            }
            _ => {}
        }
    }
    Ok((changed, new))
}
