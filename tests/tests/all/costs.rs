//! The figures of `kernel-costs`, so that a slower kernel shows in review.

use ccl_tests::costs::Costs;
use iss::target::{QC_U, QC_U_NARROW};

#[test]
fn kernels_of_the_library_cost_what_they_did() {
    let (costs, errors) = Costs::measured();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    insta::assert_snapshot!("qc-u", costs.table(&QC_U.spec().product));
    insta::assert_snapshot!("qc-u-narrow", costs.table(&QC_U_NARROW.spec().product));
    let missed: Vec<&str> = costs.kernels.iter().filter(|r| r.met == Some(false)).map(|r| &*r.kernel).collect();
    assert!(missed.is_empty(), "above what is asked for: {}", missed.join(", "));
}
