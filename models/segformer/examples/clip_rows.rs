//! A post-projection stub: what a head gives is clipped to -2.0..=2.0 before it is stored, so that outliers go no further.
//!
//! ```text
//! graphc demo segformer --variant city19 --attention-stubs models/segformer/examples/clip_rows.rs
//! ```

use ccl_runtime::ccl;

ccl! {
    /// Fraction bits of real values.
    const F: usize = 20;

    /// Clips each projected value.
    ///
    /// `IN_MANTISSA * 2^-IN_SHIFT` is the step of `projected`, so that the bound is the same real number in each attention.
    #[stub(ccl_runtime::nn::stub::post_projection)]
    #[inline]
    pub fn clip_rows<
        const D: usize,
        const SCRATCH: usize,
        const IN_MANTISSA: i32,
        const IN_SHIFT: i32,
        const OUT_MANTISSA: i32,
        const OUT_SHIFT: i32,
    >(
        projected: &mut Lrm<i8, D>,
        partition: usize,
        head: usize,
    ) {
        let _ = (partition, head);
        // The bound in steps: two operations, once for all values of the row.
        let bound = quantize(splat(fx::<F>(2.0)), Scale::new(OUT_MANTISSA, OUT_SHIFT), 0);
        for d in 0..D {
            projected[d] = clamp(projected[d], -bound, bound);
        }
    }
}
