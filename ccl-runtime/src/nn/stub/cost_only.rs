//! Stubs that move the data of a slot and compute nothing: what a step costs is what the others cost beyond them.

use ccl_runtime::ccl;

ccl! {
    /// The row stays as it is.
    ///
    /// # Shapes
    /// Those of [`post_projection`](crate::nn::stub::post_projection).
    #[stub(crate::nn::stub::slots::post_projection)]
    #[inline]
    pub fn projection_cost_only<
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
        let _ = (partition, head, projected[0]);
    }

    /// Keys and values pass through the MAC unit at the rate at which they come, and that is all: what comes out means nothing.
    ///
    /// # Shapes
    /// Those of [`whole_head`](crate::nn::stub::whole_head); `SCRATCH` is `CHUNK`.
    #[stub(crate::nn::stub::slots::whole_head)]
    #[inline]
    pub fn head_cost_only<
        const KEYS: usize,
        const K: usize,
        const CHUNKS: usize,
        const CHUNK: usize,
        const D: usize,
        const SCRATCH: usize,
        const IN_MANTISSA: i32,
        const IN_SHIFT: i32,
        const OUT_MANTISSA: i32,
        const OUT_SHIFT: i32,
    >(
        query: &Lrm<i8, D>,
        keys: &[Ocm<i8, Tokens<CHUNK, D>>; CHUNKS],
        values: &[Ocm<i8, Planar<D, 1, CHUNK>>; CHUNKS],
        out: &mut Lrm<i8, D>,
        partition: usize,
        head: usize,
    ) {
        let _ = (partition, head);
        let ones = Lrm::<i8, CHUNK>::filled(1);
        let mut seen = splat(0);
        for c in 0..CHUNKS {
            let mut stream = broadcast(&keys[c]);
            for _ in 0..CHUNK / 4 {
                seen = mac(query, stream.take::<4>()).get(0);
            }
        }
        for c in 0..CHUNKS {
            let mut stream = broadcast(&values[c]);
            for d in 0..D {
                out[d] = (seen + mac(ones, stream.take::<1>()).get(0)).narrow::<i8>(Wrap);
            }
        }
    }
}
