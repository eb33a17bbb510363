//! Random kernels until the time is over: `fuzz-kernels --seconds 60 --seed 1`. A failure prints its seed and a small text, and ends
//! the run; with `--all` the run goes on, and the seeds are listed by what failed. With `--strict` a kernel that the compiler
//! refuses is a failure too; `--show` prints the kernel of the seed and no more.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ccl_tests::random::{Case, Outcome, compare, shrink};

const USAGE: &str = "usage: fuzz-kernels [--seconds N] [--seed S] [--all] [--strict] [--show]";
/// Seeds that are shown of a kind of failure.
const SHOWN: usize = 8;

fn main() -> ExitCode {
    let (mut seconds, mut first) = (60u64, 1u64);
    let (mut goes_on, mut is_strict, mut is_shown) = (false, false, false);
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let mut value = || args.next().and_then(|value| value.parse::<u64>().ok());
        match flag.as_str() {
            "--all" => goes_on = true,
            "--strict" => is_strict = true,
            "--show" => is_shown = true,
            "--seconds" | "--seed" => match value() {
                Some(value) if flag == "--seed" => first = value,
                Some(value) => seconds = value,
                None => return usage(),
            },
            _ => return usage(),
        }
    }
    if is_shown {
        println!("{}", Case::new(first).text());
        return ExitCode::SUCCESS;
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let judged = |case: &Case| match compare(case) {
        Ok(Outcome::Refused(why)) if is_strict => Err(why),
        outcome => outcome,
    };
    let (mut seed, mut n_agreed) = (first, 0u64);
    let (mut refused, mut failed) = (BTreeMap::new(), BTreeMap::new());
    while Instant::now() < end {
        let case = Case::new(seed);
        match judged(&case) {
            Ok(Outcome::Agreed) => n_agreed += 1,
            Ok(Outcome::Refused(why)) => refused.entry(kind(&why)).or_insert_with(Vec::new).push(seed),
            Err(error) if goes_on => failed.entry(kind(&error)).or_insert_with(Vec::new).push(seed),
            Err(error) => {
                println!("seed {seed}: {error}");
                let small = shrink(&case, |case| judged(case).err().is_some_and(|found| kind(&found) == kind(&error)));
                println!("\n{}", small.text());
                return ExitCode::FAILURE;
            }
        }
        seed += 1;
    }
    println!("{} kernels from seed {first}, {n_agreed} agreed", seed - first);
    list("refused by the compiler", &refused);
    list("failed", &failed);
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// The first line without its numbers.
fn kind(text: &str) -> String {
    text.lines().next().unwrap_or_default().replace(|c: char| c.is_ascii_digit(), "")
}

fn list(title: &str, kinds: &BTreeMap<String, Vec<u64>>) {
    for (kind, seeds) in kinds {
        let shown: Vec<String> = seeds.iter().take(SHOWN).map(u64::to_string).collect();
        println!("{title}, {} times: {kind} (seeds {})", seeds.len(), shown.join(", "));
    }
}
