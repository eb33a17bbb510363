//! One head of attention: queries in the PEs, keys and values broadcast as they lie in memory. Scores never leave local memory.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::matmul::{centred, correction};
    use crate::nn::requantise::requantised;
    use crate::nn::softmax::softmax_by_table;
    use crate::nn::stub::slots::post_projection;

    /// Scores of a query against all keys.
    ///
    /// # Units
    /// `scale`: `s_q * s_k` over the step of the scores; zero points of queries, keys and scores. One of the queries doubles the time of
    /// the MAC unit.
    #[inline]
    fn scored<const K: usize, const D: usize>(
        query: &Lrm<i8, D>,
        keys: &Ocm<i8, Tokens<K, D>>,
        scale: Scale,
        zero_points: (i32, i32, i32),
        scores: &mut Lrm<i8, K>,
    ) {
        let mut stream = broadcast(keys);
        if zero_points.0 == 0 && zero_points.1 == 0 {
            for k in 0..K / 4 {
                let acc = mac(query, stream.take::<4>());
                scores[4 * k..4 * k + 4] = requantised::<4>(acc, scale, zero_points.2);
            }
        } else {
            let taken = correction::<D>(query, zero_points);
            let wide = centred::<D>(query, zero_points.0);
            for k in 0..K / 4 {
                let acc = mac(wide, stream.take::<4>());
                for i in 0..4 {
                    scores[4 * k + i] = quantize(fx_raw::<0>(acc.get(i) - taken), scale, zero_points.2);
                }
            }
        }
    }

    /// What the zero point of the probabilities takes from each sum of values: the same for all queries.
    ///
    /// # Shapes
    /// `values: [D, 1, KP]`, 0 behind those of the keys; `taken: [D]` in every PE.
    #[inline]
    pub fn taken_by_zero<const KP: usize, const D: usize>(
        values: &Ocm<i8, Planar<D, 1, KP>>,
        zero_point: i32,
        taken: &mut Lrm<i32, D>,
    ) {
        if zero_point != 0 {
            let ones = Lrm::<i8, KP>::filled(1);
            let mut stream = broadcast(values);
            for d in 0..D {
                taken[d] = mac(ones, stream.take::<1>()).get(0) * zero_point;
            }
        }
    }

    /// Scores, softmax and values for a query in each PE: the projected row, before the slot [`post_projection`].
    ///
    /// # Shapes
    /// `query: [D]`, `out: [D]` in every PE; `taken` by [`taken_by_zero`]; all else as [`attention_head`] has it.
    /// # Units
    /// Those of [`attention_head`].
    #[inline]
    pub fn attended<const K: usize, const KP: usize, const D: usize, const P: usize, const R: usize>(
        query: &Lrm<i8, D>,
        keys: &Ocm<i8, Tokens<K, D>>,
        values: &Ocm<i8, Planar<D, 1, KP>>,
        table: &Lrm<i32, 256>,
        taken: &Lrm<i32, D>,
        scales: (Scale, Scale),
        steps: Fx<R>,
        inputs: (i32, i32, i32),
        zero_points: (i32, i32, i32),
        out: &mut Lrm<i8, D>,
    ) {
        assert!(D % 4 == 0 && K % 4 == 0 && KP % 16 == 0, "keys and values are weights in steps of 16 bytes");
        assert!(K <= KP, "values of all keys");
        assert!(P + log2(K) <= 30, "the sum of exponentials has 32 bits");
        // What fills up meets values of 0, whatever it is.
        let mut probabilities = Lrm::<i8, KP>::new();
        for k in (K..KP).step_by(4) {
            probabilities[k..k + 4] = Lrm::<i8, 4>::filled(0);
        }
        {
            let mut scores = Lrm::<i8, K>::new();
            #[region("scores")]
            scored::<K, D>(query, keys, scales.0, (inputs.0, inputs.1, zero_points.0), &mut scores);
            #[region("softmax")]
            softmax_by_table::<K, KP, P, R>(&scores, table, steps, zero_points.1, &mut probabilities);
        }
        #[region("values")]
        {
            let of_values = correction::<K>(probabilities.slice::<K>(0), (zero_points.1, inputs.2, 0));
            let mut stream = broadcast(values);
            for d in 0..D {
                let sum = mac(probabilities, stream.take::<1>()).get(0) - taken[d];
                if inputs.2 == 0 {
                    out[d] = quantize(fx_raw::<0>(sum), scales.1, zero_points.2);
                } else {
                    out[d] = quantize(fx_raw::<0>(sum - of_values), scales.1, zero_points.2);
                }
            }
        }
    }

    /// Scores, softmax and values of one head, the queries on `ROWS_USED` x `COLS_USED` PEs; behind them the slot [`post_projection`], whose input
    /// and output have the steps of `y`: both are 1 to it.
    ///
    /// # Shapes
    /// `q: [N, D]`, `keys: [K, D]`, `values: [D, 1, KP]`: channel by channel, so that 16 keys are 16 bytes, and 0 behind those of `K` keys;
    /// `y: [N, D]`; `table: [256]` as in [`softmax`](crate::nn::softmax). `D` and `K` are multiples of 4, `KP` is one of 16.
    /// # Units
    /// `scales`: `s_q * s_k` over the step of the scores, which the table knows, and `s_p * s_v / s_y`. `steps` is `1 / s_p`, at most
    /// `2^(30 - R)`; `P` as in [`softmax`](crate::nn::softmax).
    /// `inputs`: zero points of queries, keys, values; `zero_points`: of scores, probabilities, `y`.
    /// # Source
    /// `NUMERICS.md`, QLinearMatMul and "Fixed point".
    #[kernel(reference = crate::nn::reference::attention_head::<P, R>)]
    pub fn attention_head<
        const N: usize,
        const K: usize,
        const KP: usize,
        const D: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
        const P: usize,
        const R: usize,
    >(
        q: &Ocm<i8, Tokens<N, D>>,
        keys: &Ocm<i8, Tokens<K, D>>,
        values: &Ocm<i8, Planar<D, 1, KP>>,
        table: &Ocm<i32, Vector<256>>,
        y: &mut Ocm<i8, Tokens<N, D>>,
        scales: (Scale, Scale),
        steps: Fx<R>,
        inputs: (i32, i32, i32),
        zero_points: (i32, i32, i32),
    ) {
        let table = broadcast(table).fill::<Lrm<i32, 256>>();
        let mut taken = Lrm::<i32, D>::filled(0);
        taken_by_zero::<KP, D>(values, zero_points.1, &mut taken);
        for t in q.tiles().grid(ROWS_USED, COLS_USED).pipelined(2) {
            let query = t.fetch::<Lrm<i8, D>>().wait();
            let mut out = Lrm::<i8, D>::new();
            attended::<K, KP, D, P, R>(&query, keys, values, &table, &taken, scales, steps, inputs, zero_points, &mut out);
            post_projection::<D, 256, 1, 0, 1, 0>(&mut out, t.index(), 0);
            y.at(t).store(out);
        }
    }
}
