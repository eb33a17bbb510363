//! Kernels around the slots, filled by the plain way.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::stub::slots::{post_projection, whole_head};

    /// A row of `x` for each token, by [`post_projection`].
    ///
    /// # Shapes
    /// `x, y: [N, D]`.
    /// # Units
    /// `x` counts steps of `IN_MANTISSA * 2^-IN_SHIFT`, `y` of the inverse of `OUT_MANTISSA * 2^-OUT_SHIFT`.
    #[kernel(reference = crate::nn::reference::project_by_slot::<IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>)]
    pub fn project_by_slot<
        const N: usize,
        const D: usize,
        const SCRATCH: usize,
        const IN_MANTISSA: i32,
        const IN_SHIFT: i32,
        const OUT_MANTISSA: i32,
        const OUT_SHIFT: i32,
    >(
        x: &Ocm<i8, Tokens<N, D>>,
        y: &mut Ocm<i8, Tokens<N, D>>,
    ) {
        for t in x.tiles() {
            let mut row = t.fetch::<Lrm<i8, D>>().wait();
            post_projection::<D, SCRATCH, IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>(&mut row, t.index(), 0);
            y.at(t).store(row);
        }
    }

    /// An attention head by [`whole_head`].
    ///
    /// # Shapes
    /// `q, y: [N, D]`; keys and values as the slot has them.
    /// # Units
    /// Those of the slot.
    #[kernel(reference = crate::nn::reference::attention_by_slot::<KEYS, CHUNKS, IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>)]
    pub fn attention_by_slot<
        const N: usize,
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
        q: &Ocm<i8, Tokens<N, D>>,
        keys: &[Ocm<i8, Tokens<CHUNK, D>>; CHUNKS],
        values: &[Ocm<i8, Planar<D, 1, CHUNK>>; CHUNKS],
        y: &mut Ocm<i8, Tokens<N, D>>,
    ) {
        for t in q.tiles() {
            let query = t.fetch::<Lrm<i8, D>>().wait();
            let mut out = Lrm::<i8, D>::new();
            whole_head::<KEYS, K, CHUNKS, CHUNK, D, SCRATCH, IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>(
                &query,
                keys,
                values,
                &mut out,
                t.index(),
                0,
            );
            y.at(t).store(out);
        }
    }
}
