//! Random kernels until the time is over: `fuzz-kernels --seconds 60 --seed 1`. A failure prints its seed and a small text.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ccl_tests::random::{Case, Outcome, check, shrink};

const USAGE: &str = "usage: fuzz-kernels [--seconds N] [--seed S]";

fn main() -> ExitCode {
    let mut numbers = (60u64, 1u64);
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().and_then(|value| value.parse().ok());
        match (flag.as_str(), value) {
            ("--seconds", Some(value)) => numbers.0 = value,
            ("--seed", Some(value)) => numbers.1 = value,
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    let (seconds, first) = numbers;
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut seed, mut n_agreed, mut refused) = (first, 0, BTreeMap::new());
    while Instant::now() < end {
        let case = Case::new(seed);
        let outcome = check(&case);
        match &outcome {
            Ok(Outcome::Agreed) => n_agreed += 1,
            Ok(Outcome::Refused(why)) => {
                let why = why.lines().next().unwrap_or_default();
                *refused.entry(why.replace(|c: char| c.is_ascii_digit(), "")).or_insert(0u64) += 1;
            }
            Err(_) => {}
        }
        if let Err(error) = outcome {
            println!("seed {seed}: {error}");
            let kind = |error: &str| error.lines().next().unwrap_or_default().to_owned();
            let small = shrink(&case, |case| check(case).err().is_some_and(|found| kind(&found) == kind(&error)));
            println!("\n{}", small.text());
            return ExitCode::FAILURE;
        }
        seed += 1;
    }
    println!("{} kernels from seed {first}: {n_agreed} agreed, no failure; refused by the compiler:", seed - first);
    refused.iter().for_each(|(why, n)| println!("{n:>6}  {why}"));
    ExitCode::SUCCESS
}
