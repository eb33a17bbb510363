//! The slots, each with the plain way as its body.

use ccl_runtime::ccl;

ccl! {
    /// What happens to the projected row of each query before it is stored: here it is brought to the steps of the output.
    ///
    /// # Shapes
    /// `projected: [D]` in every PE, changed in place.
    /// # Units
    /// As in [`stub`](crate::nn::stub); `|projected| * s_in` is below 2,048. Where both steps are 1 the row stays as it is.
    #[inline]
    pub fn post_projection<
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
        if IN_MANTISSA != 1 || OUT_MANTISSA != 1 || IN_SHIFT + OUT_SHIFT != 0 {
            for d in 0..D {
                let value = dequantize::<20>(projected[d], Scale::new(IN_MANTISSA, IN_SHIFT), 0);
                projected[d] = quantize(value, Scale::new(OUT_MANTISSA, OUT_SHIFT), 0);
            }
        }
    }

    /// Scores, softmax and values of one head for a query in each PE: here all scores are kept.
    ///
    /// Weights of values are exponentials in steps of 2^-12, normalised at the end.
    ///
    /// # Shapes
    /// `query: [D]` and `out: [D]` in every PE; keys and values in `CHUNKS` chunks of `CHUNK`, a multiple of 16, `K` together: `keys:
    /// [CHUNK, D]`, `values: [D, 1, CHUNK]`, each feature of a value a plane. Only the first `KEYS` keys exist, at most 4,096. `D` is a
    /// multiple of 4.
    /// # Units
    /// As in [`stub`](crate::nn::stub); scores times `s_in` are below 2^14.
    #[inline]
    pub fn whole_head<
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
        assert!(6 * K + 4 * D <= SCRATCH, "all scores, weights and sums are kept");
        let mut scores = Lrm::<i32, K>::new();
        for c in 0..CHUNKS {
            chunk_scores::<K, CHUNK, D>(query, &keys[c], c * CHUNK, &mut scores);
        }
        let mut top = scores[0];
        for k in 1..KEYS {
            top = max(top, scores[k]);
        }
        let mut weights = Lrm::<i16, K>::filled(0);
        let mut total = splat(0);
        for k in 0..KEYS {
            let e = weight(scores[k] - top, Scale::new(IN_MANTISSA, IN_SHIFT));
            weights[k] = e.narrow::<i16>(Saturate);
            total += e;
        }
        let mut sums = Lrm::<i32, D>::filled(0);
        for c in 0..CHUNKS {
            let mut stream = broadcast(&values[c]);
            for d in 0..D {
                sums[d] += mac(weights.slice::<CHUNK>(c * CHUNK), stream.take::<1>()).get(0);
            }
        }
        averages::<D>(&sums, total, Scale::new(OUT_MANTISSA, OUT_SHIFT), out);
    }

    /// Products of the query with the keys of a chunk.
    ///
    /// # Shapes
    /// `query: [D]`, `scores: [K]` in every PE, written from `first` on; `keys: [CHUNK, D]`.
    #[inline]
    pub fn chunk_scores<const K: usize, const CHUNK: usize, const D: usize>(
        query: &Lrm<i8, D>,
        keys: &Ocm<i8, Tokens<CHUNK, D>>,
        first: usize,
        scores: &mut Lrm<i32, K>,
    ) {
        let mut stream = broadcast(keys);
        for k in (0..CHUNK).step_by(4) {
            let acc = mac(query, stream.take::<4>());
            for i in 0..4 {
                scores[first + k + i] = acc.get(i);
            }
        }
    }

    /// Exponential of a score's distance from the greatest, in steps of 2^-12.
    #[inline]
    pub fn weight(distance: Q<i32>, step: Scale) -> Q<i32> {
        // 16 fraction bits leave room for distances of 2^15, whose exponential is 0.
        exp::<12>(dequantize::<16>(distance, step, 0)).raw()
    }

    /// Weighted sums of values over the sum of the weights, in steps of the output.
    ///
    /// # Shapes
    /// `sums: [D]`, `out: [D]` in every PE.
    /// # Units
    /// Weights have 12 fraction bits; `inverse` is `s_v / s_y`.
    #[inline]
    pub fn averages<const D: usize>(sums: &Lrm<i32, D>, total: Q<i32>, inverse: Scale, out: &mut Lrm<i8, D>) {
        let reciprocal = fx_div::<22>(splat(fx::<12>(1.0)), fx_raw::<12>(total));
        for d in 0..D {
            out[d] = quantize(fx_mul::<16>(fx_raw::<12>(sums[d]), reciprocal), inverse, 0);
        }
    }
}
