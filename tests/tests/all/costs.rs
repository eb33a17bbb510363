//! The figures of `kernel-costs`, so that a slower kernel shows in review.

use ccl_tests::costs::{Costs, REQUANTISED};
use iss::target::{QC_U, QC_U_NARROW};

#[test]
fn kernels_of_the_library_cost_what_they_did() {
    let (costs, errors) = Costs::measured();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    insta::assert_snapshot!("qc-u", costs.table(&QC_U.spec().product));
    insta::assert_snapshot!("qc-u-narrow", costs.table(&QC_U_NARROW.spec().product));
    insta::assert_snapshot!("notes", costs.notes());
    // An output channel that costs more than a requantisation says why.
    let is_silent = |r: &&ccl_tests::costs::Row| {
        r.item.starts_with("output channel") && r.limit.is_some_and(|l| l > REQUANTISED) && r.why.is_none()
    };
    let silent: Vec<&str> = costs.kernels.iter().filter(is_silent).map(|r| &*r.kernel).collect();
    assert_eq!(silent, ["pointwise, ties"], "issue 3 has a limit for ties");
    assert!(
        costs.kernels.iter().all(|r| r.limit.is_some() || !r.item.starts_with("output channel") || r.met.is_none())
    );
    let missed: Vec<&str> = costs.kernels.iter().filter(|r| r.met == Some(false)).map(|r| &*r.kernel).collect();
    assert!(missed.is_empty(), "above what is asked for: {}", missed.join(", "));
}
