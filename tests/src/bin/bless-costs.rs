//! Accepts what kernels cost now, and says what moved.
//!
//! ```text
//! cargo run -p ccl-tests --bin bless-costs                              # the packages with kernels
//! cargo run -p ccl-tests --bin bless-costs -- -p ccl-runtime --test nn  # `cargo test` with these arguments
//! ```
//!
//! The tests run with `INSTA_UPDATE=always`. Snapshots that state no cycles are put back as they were and named: they are
//! reviewed by themselves.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs, io};

use ccl_tests::cost_diff::{Snapshots, figures, moved, snapshots};

/// What is tested if nothing else is said.
const PACKAGES: [&str; 4] = ["-p", "ccl-runtime", "-p", "ccl-tests"];

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bless-costs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is around this crate");
    let given: Vec<String> = env::args().skip(1).collect();
    let before = snapshots(root)?;
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).env("INSTA_UPDATE", "always").args(["test", "--no-fail-fast"]);
    match given.is_empty() {
        true => cargo.args(PACKAGES),
        false => cargo.args(&given),
    };
    let passed = cargo.status()?.success();
    let after = snapshots(root)?;
    put_back(&before, &after)?;
    let list = moved(&before, &after);
    list.iter().for_each(|moved| println!("{moved}"));
    println!("{} figures moved", list.len());
    if !passed {
        println!("tests fail for other reasons: see above");
    }
    Ok(passed)
}

/// Restores what states no cycles.
fn put_back(before: &Snapshots, after: &Snapshots) -> io::Result<()> {
    for (file, now) in after.iter().filter(|(_, now)| figures(now).is_empty()) {
        match before.get(file) {
            Some(text) if text != now => {
                fs::write(file, text)?;
                println!("{}: no costs, left as it was", file.display());
            }
            None => {
                fs::remove_file(file)?;
                println!("{}: no costs, not kept", file.display());
            }
            _ => {}
        }
    }
    Ok(())
}
