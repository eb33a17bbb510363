//! Random kernels pass the checks, survive printing and encoding, run without a fault, and leave on the simulator what they leave
//! by the interpreter, to the bit.

use std::sync::Mutex;

use ccl_tests::random::{Case, Outcome, compare, shrink};

/// Kernels of one run.
const N_KERNELS: u64 = 2_000;
/// Two threads, for the two cores of a small machine.
const N_THREADS: u64 = 2;
/// Kernels that the compiler may refuse: those that need more registers or words than there are.
const MOST_REFUSED: usize = 20;

#[test]
fn random_kernels_run_on_the_simulator_as_interpreted() {
    let refused = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..N_THREADS {
            let refused = &refused;
            scope.spawn(move || {
                for seed in (thread..N_KERNELS).step_by(N_THREADS as usize) {
                    let case = Case::new(seed);
                    match compare(&case) {
                        Ok(Outcome::Agreed) => {}
                        Ok(Outcome::Refused(why)) => refused.lock().expect("no thread has failed").push((seed, why)),
                        Err(error) => {
                            let small = shrink(&case, |case| compare(case).is_err());
                            panic!("seed {seed}: {error}\n\n{}\nsmaller:\n{}", case.text(), small.text());
                        }
                    }
                }
            });
        }
    });
    let refused = refused.into_inner().expect("no thread has failed");
    let reasons: Vec<String> = refused.iter().map(|(seed, why)| format!("seed {seed}: {why}")).collect();
    println!("{} of {N_KERNELS} kernels are refused\n{}", refused.len(), reasons.join("\n"));
    assert!(refused.len() <= MOST_REFUSED, "{} kernels are refused:\n{}", refused.len(), reasons.join("\n"));
}

#[test]
fn a_seed_gives_one_kernel() {
    for seed in 0..50 {
        assert_eq!(Case::new(seed).text(), Case::new(seed).text());
    }
}
