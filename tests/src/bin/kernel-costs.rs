//! What the kernels of the library cost: `kernel-costs [--json]`.

use std::process::ExitCode;

use ccl_tests::costs::{Costs, RATIO};
use iss::target::{QC_U, QC_U_NARROW};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let is_json = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => false,
        ["--json"] => true,
        _ => {
            eprintln!("usage: kernel-costs [--json]");
            return ExitCode::from(2);
        }
    };
    let (costs, errors) = Costs::measured();
    if is_json {
        println!("{}", serde_json::to_string_pretty(&costs).expect("rows are plain data"));
    } else {
        println!("cycles; per item: arithmetic of an item and tile; a limit is met with a ratio of {RATIO} at most\n");
        for target in [&QC_U, &QC_U_NARROW] {
            println!("{}\n{}", target.spec().product, costs.table(&target.spec().product));
        }
        println!("limits of their own\n{}", costs.notes());
    }
    errors.iter().for_each(|error| eprintln!("{error}"));
    if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
