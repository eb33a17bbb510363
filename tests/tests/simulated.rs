//! Random kernels that the compiler takes leave the same on the simulator as natively.

use ccl_tests::random::{Case, check_simulated};

/// Kernels of one run.
const N_KERNELS: u64 = 100;

#[test]
fn random_kernels_are_native_on_the_simulator() {
    let mut agreed = 0;
    for seed in 0..N_KERNELS {
        let case = Case::new(seed);
        match check_simulated(&case) {
            Ok(()) => agreed += 1,
            Err(error) => assert!(!error.contains("differs"), "seed {seed}: {error}\n{}", case.text()),
        }
    }
    // What is not compiled yet is an error that names its construct: 64-bit corners, two broadcasts read in turn.
    assert!(agreed >= N_KERNELS / 3, "{agreed} of {N_KERNELS} kernels run");
}
