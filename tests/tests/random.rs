//! Random kernels pass the checks, survive printing and encoding, and run without a fault.

use ccl_tests::random::{Case, check, shrink};

/// Kernels of one run.
const N_KERNELS: u64 = 2_000;
/// Two threads, for the two cores of a small machine.
const N_THREADS: u64 = 2;

#[test]
fn random_kernels_hold() {
    std::thread::scope(|scope| {
        for thread in 0..N_THREADS {
            scope.spawn(move || {
                for seed in (thread..N_KERNELS).step_by(N_THREADS as usize) {
                    let case = Case::new(seed);
                    if let Err(error) = check(&case) {
                        let small = shrink(&case, |case| check(case).is_err());
                        panic!("seed {seed}: {error}\n\n{}\nsmaller:\n{}", case.text(), small.text());
                    }
                }
            });
        }
    });
}

#[test]
fn a_seed_gives_one_kernel() {
    for seed in 0..50 {
        assert_eq!(Case::new(seed).text(), Case::new(seed).text());
    }
}
