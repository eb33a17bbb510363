//! A whole head whose local memory does not grow with the number of keys.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::stub::slots::{averages, chunk_scores, weight};

    /// Below every score.
    const LEAST: i32 = -1073741824;

    /// Softmax by a running maximum and a running sum: each chunk of keys is done with before the next one is looked at, and what has
    /// been summed is scaled down where a chunk has a greater score.
    ///
    /// # Shapes, Units
    /// Those of [`whole_head`](crate::nn::stub::whole_head), for any number of keys; `SCRATCH` is `6 * CHUNK + 4 * D`.
    #[stub(crate::nn::stub::slots::whole_head)]
    #[inline]
    pub fn online_softmax<
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
        assert!(K == CHUNKS * CHUNK && CHUNK % 16 == 0, "keys come in chunks of 16");
        assert!(0 < KEYS && KEYS <= K && KEYS <= 4096, "sums have 32 bits");
        assert!(6 * CHUNK + 4 * D <= SCRATCH, "a chunk's scores and weights, and the sums, are kept");
        let mut top = splat(LEAST);
        let mut total = splat(0);
        let mut sums = Lrm::<i32, D>::filled(0);
        for c in 0..CHUNKS {
            let n = min(CHUNK, max(KEYS, c * CHUNK) - c * CHUNK);
            let mut scores = Lrm::<i32, CHUNK>::new();
            chunk_scores::<CHUNK, CHUNK, D>(query, &keys[c], 0, &mut scores);
            let mut greatest = top;
            for k in 0..n {
                greatest = max(greatest, scores[k]);
            }
            if c > 0 {
                let shrunk = fx_raw::<12>(weight(top - greatest, Scale::new(IN_MANTISSA, IN_SHIFT)));
                total = fx_mul::<12>(fx_raw::<12>(total), shrunk).raw();
                for d in 0..D {
                    sums[d] = fx_mul::<12>(fx_raw::<12>(sums[d]), shrunk).raw();
                }
            }
            top = greatest;
            let mut weights = Lrm::<i16, CHUNK>::filled(0);
            for k in 0..n {
                let e = weight(scores[k] - top, Scale::new(IN_MANTISSA, IN_SHIFT));
                weights[k] = e.narrow::<i16>(Saturate);
                total += e;
            }
            let mut stream = broadcast(&values[c]);
            for d in 0..D {
                sums[d] += mac(weights, stream.take::<1>()).get(0);
            }
        }
        averages::<D>(&sums, total, Scale::new(OUT_MANTISSA, OUT_SHIFT), out);
    }
}
