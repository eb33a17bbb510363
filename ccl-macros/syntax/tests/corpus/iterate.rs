//! Fixed point with a condition in every PE: Newton steps until each PE has converged.
use ccl_runtime::ccl;

ccl! {
    /// Square root of each element with 16 fraction bits.
    #[kernel]
    #[no_reference("shows `while` and `if` in every PE; compared with f64 in its test")]
    pub fn root<const H: usize, const W: usize>(
        x: &Ocm<i32, Planar<1, H, W>>,
        y: &mut Ocm<i32, Planar<1, H, W>>,
        steps: usize,
    ) {
        for t in x.tiles() {
            let v = fx_raw::<16>(t.fetch::<Lrm<i32, 1>>().wait()[0]);
            assert!(all(v >= fx::<16>(0.0)), "roots of negative numbers are not real");
            let mut guess = max(v, fx::<16>(1.0));
            let mut moving = guess > fx::<16>(0.0);
            let mut n = 0usize;
            #[bound(32)]
            while n < steps && any(moving) {
                if moving && guess != fx::<16>(0.0) {
                    let next = (guess + fx_div::<16>(v, guess)) >> 1;
                    if abs(next - guess) <= fx::<16>(0.0001) {
                        moving = splat(false);
                    }
                    guess = next;
                }
                n += 1;
            }
            y.at(t).store(guess.raw());
        }
    }

    #[instance(target = QC_U)]
    pub const ROOT: Kernel = root::<40, 40>;
}
