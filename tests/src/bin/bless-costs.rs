//! Accepts what kernels cost now, and says what moved.
//!
//! ```text
//! cargo run -p ccl-tests --bin bless-costs                              # the packages with kernels
//! cargo run -p ccl-tests --bin bless-costs -- -p ccl-runtime --test nn  # `cargo test` with these arguments
//! cargo run -p ccl-tests --bin bless-costs -- --root ../my-kernels      # of a crate or workspace elsewhere
//! ```
//!
//! The tests run with `INSTA_UPDATE=always`. Snapshots that state no cycles are put back as they were and named: they are
//! reviewed by themselves.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ccl_tests::bless::bless;

/// What is tested of this workspace if nothing else is said.
const PACKAGES: [&str; 4] = ["-p", "ccl-runtime", "-p", "ccl-tests"];

fn main() -> ExitCode {
    let (root, args) = arguments(env::args().skip(1).collect());
    match bless(&root, &args) {
        Ok(blessed) => {
            print!("{blessed}");
            if blessed.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("bless-costs: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Where, and the arguments of `cargo test`.
fn arguments(mut args: Vec<String>) -> (PathBuf, Vec<String>) {
    if args.first().is_some_and(|arg| arg == "--root") && args.len() > 1 {
        let rest = args.split_off(2);
        return (PathBuf::from(args.swap_remove(1)), rest);
    }
    if args.is_empty() {
        args.extend(PACKAGES.map(str::to_owned));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is around this crate");
    (root.to_owned(), args)
}
