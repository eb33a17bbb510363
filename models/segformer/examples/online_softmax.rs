//! A whole-head stub: softmax by a running maximum and a running sum, so that local memory does not grow with the number of keys.
//!
//! ```text
//! graphc demo segformer --variant city19 --attention-stubs models/segformer/examples/online_softmax.rs
//! ```
//!
//! Neither scores nor probabilities are rounded to int8 on the way, as the network's own operators do it: results are nearer to
//! softmax in real numbers than the network's, and not equal to them.

use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::stub::slots::{averages, chunk_scores, weight};

    /// Below every score.
    const LEAST: i32 = -1073741824;

    /// Each chunk of keys is done with before the next one is looked at; what has been summed is scaled down where a chunk has a
    /// greater score.
    ///
    /// Local memory: a chunk's scores (4 bytes a key) and weights (2 bytes a key), and a sum of 4 bytes a feature.
    #[stub(ccl_runtime::nn::stub::whole_head)]
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
        assert!(6 * CHUNK + 4 * D <= SCRATCH, "a chunk's scores and weights, and the sums, are kept");
        let mut top = splat(LEAST);
        let mut total = splat(0);
        let mut sums = Lrm::<i32, D>::filled(0);
        for c in 0..CHUNKS {
            // The last chunk is filled up to a multiple of 16 keys.
            let n = min(CHUNK, max(KEYS, c * CHUNK) - c * CHUNK);
            let mut scores = Lrm::<i32, CHUNK>::new();
            #[region("scores")]
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
            #[region("softmax")]
            for k in 0..n {
                let e = weight(scores[k] - top, Scale::new(IN_MANTISSA, IN_SHIFT));
                weights[k] = e.narrow::<i16>(Saturate);
                total += e;
            }
            let mut stream = broadcast(&values[c]);
            #[region("values")]
            for d in 0..D {
                sums[d] += mac(weights, stream.take::<1>()).get(0);
            }
        }
        averages::<D>(&sums, total, Scale::new(OUT_MANTISSA, OUT_SHIFT), out);
    }
}
