//! The line that users write, on a kernel that is right and on one whose reference disagrees.

use ccl_runtime::ccl;
use ccl_runtime::testing::{Check, check};

mod golden {
    use ndarray::Array3;

    /// Every element plus one, saturated.
    pub fn next(x: &Array3<i8>, y: &mut Array3<i8>) {
        y.zip_mut_with(x, |y, x| *y = x.saturating_add(1));
    }

    /// Wrong where the sum saturates.
    pub fn next_wrapping(x: &Array3<i8>, y: &mut Array3<i8>) {
        y.zip_mut_with(x, |y, x| *y = x.wrapping_add(1));
    }

    /// Gives up.
    pub fn panics(_: &Array3<i8>, _: &mut Array3<i8>) {
        panic!("unlike extents");
    }
}

ccl! {
    #[inline]
    fn next<const C: usize>(a: &mut Lrm<i8, C>) {
        for c in 0..C {
            a[c] = (a[c].widen::<i16>() + 1).narrow::<i8>(Saturate);
        }
    }

    /// One more, saturated.
    #[kernel(reference = golden::next)]
    pub fn right<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
    ) {
        for t in x.tiles().chunks::<4>().pipelined(2) {
            let mut a = t.fetch::<Lrm<i8, 4>>().wait();
            next(&mut a);
            y.at(t).store(a);
        }
    }

    /// One more, with a reference that wraps.
    #[kernel(reference = golden::next_wrapping)]
    pub fn wrong<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
    ) {
        for t in x.tiles() {
            let mut a = t.fetch::<Lrm<i8, C>>().wait();
            next(&mut a);
            y.at(t).store(a);
        }
    }

    /// A copy whose reference panics.
    #[kernel(reference = golden::panics)]
    pub fn unsure<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>, y: &mut Ocm<i8, Planar<1, H, W>>) {
        for t in x.tiles() {
            y.at(t).store(t.fetch::<Lrm<i8, 1>>().wait());
        }
    }

    /// A copy that says nothing of a reference.
    #[kernel]
    pub fn unsaid<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>, y: &mut Ocm<i8, Planar<1, H, W>>) {
        for t in x.tiles() {
            y.at(t).store(t.fetch::<Lrm<i8, 1>>().wait());
        }
    }

    #[instance(target = QC_U)]
    const RIGHT: Kernel = right::<8, 70, 45>;
    #[instance(target = QC_N)]
    const RIGHT_ON_8_BY_8: Kernel = right::<6, 9, 8>;
    #[instance(target = QC_U)]
    const WRONG: Kernel = wrong::<4, 40, 33>;
    #[instance(target = QC_U)]
    const UNSURE: Kernel = unsure::<3, 3>;
    #[instance(target = QC_U)]
    const UNSAID: Kernel = unsaid::<3, 3>;
}

#[test]
fn three_opinions_agree() {
    let cost = check(&RIGHT);
    assert!(cost.total > 0 && cost.ratio() >= 1.0, "{cost}");
    check(&RIGHT_ON_8_BY_8);
}

#[test]
fn a_wrong_reference_is_told_with_place_and_operations() {
    let text = Check::new(&WRONG).try_run().expect_err("they disagree where sums saturate");
    assert!(text.contains("native and simulator agree, reference differs"), "{text}");
    assert!(text.contains("checks.rs:"), "{text}");
    assert!(text.contains("PE (row "), "{text}");
    assert!(text.contains("last operations of that PE on the simulator"), "{text}");
    assert!(text.contains("CCL_SEED=1 CCL_CASE=0"), "{text}");
}

#[test]
fn a_kernel_names_a_reference_or_says_why_not() {
    let text = Check::new(&UNSAID).try_run().expect_err("there is none");
    assert!(text.contains("names no reference"), "{text}");
}

#[test]
fn a_panic_of_the_reference_is_told_as_its_own() {
    let text = Check::new(&UNSURE).try_run().expect_err("it panics");
    assert!(text.contains("`UNSURE`, seed 1, case 0: reference: `golden::panics` panicked"), "{text}");
}
