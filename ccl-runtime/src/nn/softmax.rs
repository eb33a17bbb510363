//! Softmax in fixed point: differences to the greatest score, exponentials with `P` fraction bits, one division a row.
//!
//! `P` is as large as the sum of `K` exponentials allows: `P + log2(K) <= 30`. `R`, of output steps, is as large as those allow:
//! `1 / s_y` is at most `2^(30 - R)`. Whoever has less of either loses steps where exponentials are small and steps many.

use ccl_runtime::ccl;

ccl! {
    /// Fraction bits of logarithms.
    const X: usize = 24;

    /// Output steps of exponentials, given output steps per sum of exponentials.
    #[inline]
    fn probability<const P: usize, const R: usize>(e: Q<Fx<P>>, reciprocal: Q<Fx<R>>, zero_point: i32) -> Q<i8> {
        let steps = fx_mul::<2>(e, reciprocal);
        (steps.raw() + (2 + 4 * zero_point)).shr_round(2, Floor).narrow::<i8>(Saturate)
    }

    /// Output steps over a sum of exponentials, by logarithms, which cost far less than a division. Their error is 2^-24 of the result;
    /// twice that more is never too little, so that halves of steps stay halves.
    #[inline]
    fn reciprocal<const P: usize, const R: usize>(steps: Fx<R>, total: Q<Fx<P>>) -> Q<Fx<R>> {
        let quotient = exp::<R>(ln::<X>(splat(steps)) - ln::<X>(total)).raw();
        fx_raw::<R>(quotient + (quotient >> 23) + 1)
    }

    /// Softmax of `K` int8 scores in every PE; the exponential is a table, which is exact. Of `out` the first `K` are written.
    ///
    /// # Units
    /// Entry `d mod 256` of `table` is `exp(-d * s_x)` for `d` steps below the greatest score, `P` fraction bits;
    /// `steps` is `1 / s_y`, at most `2^(30 - R)`.
    #[inline]
    pub fn softmax_by_table<const K: usize, const KP: usize, const P: usize, const R: usize>(
        scores: &Lrm<i8, K>,
        table: &Lrm<i32, 256>,
        steps: Fx<R>,
        zero_point: i32,
        out: &mut Lrm<i8, KP>,
    ) {
        let mut top = scores[0];
        for k in 1..K {
            top = max(top, scores[k]);
        }
        let mut e = Lrm::<Fx<P>, K>::new();
        let mut total = splat(fx::<P>(0.0));
        for k in 0..K {
            // Up to 255 below, which is a number modulo 256 as the table wants it.
            e[k] = fx_raw::<P>(lookup(table, top - scores[k]));
            total += e[k];
        }
        let reciprocal = reciprocal::<P, R>(steps, total);
        for k in 0..K {
            out[k] = probability::<P, R>(e[k], reciprocal, zero_point);
        }
    }

    /// Exponentials of `K` 32-bit scores less the greatest, and their sum; the exponential is an instruction.
    ///
    /// # Units
    /// `scale` is a step of the scores.
    #[inline]
    fn exponentials<const K: usize, const P: usize>(
        scores: &Lrm<i32, K>,
        scale: Scale,
        e: &mut Lrm<Fx<P>, K>,
    ) -> Q<Fx<P>> {
        let mut top = scores[0];
        for k in 1..K {
            top = max(top, scores[k]);
        }
        let mut total = splat(fx::<P>(0.0));
        for k in 0..K {
            e[k] = exp::<P>(dequantize::<X>(scores[k] - top, scale, 0));
            total += e[k];
        }
        total
    }

    /// Softmax over the features of each token, by table.
    ///
    /// # Shapes
    /// `x, y: [N, K]`; `table: [256]`.
    /// # Units
    /// As [`softmax_by_table`].
    /// # Source
    /// `NUMERICS.md`, "Fixed point".
    #[kernel(reference = crate::nn::reference::softmax::<P, R>)]
    pub fn softmax<const N: usize, const K: usize, const P: usize, const R: usize>(
        x: &Ocm<i8, Tokens<N, K>>,
        table: &Ocm<i32, Vector<256>>,
        y: &mut Ocm<i8, Tokens<N, K>>,
        steps: Fx<R>,
        zero_point: i32,
    ) {
        assert!(P + log2(K) <= 30, "the sum of exponentials has 32 bits");
        let table = broadcast(table).fill::<Lrm<i32, 256>>();
        for t in x.tiles().pipelined(2) {
            // Scores come and probabilities leave in chunks, so that neither waits for a whole row.
            let mut scores = Lrm::<i8, K>::new();
            let mut top = splat(-128i8);
            for chunk in t.chunks::<16>() {
                let a = chunk.fetch::<Lrm<i8, 16>>().wait();
                if K % 16 == 0 {
                    for i in 0..16 {
                        top = max(top, a[i]);
                    }
                    scores[chunk.channel()..chunk.channel() + 16] = a;
                } else {
                    for i in 0..16 {
                        if chunk.channel() + i < K {
                            top = max(top, a[i]);
                            scores[chunk.channel() + i] = a[i];
                        }
                    }
                }
            }
            let mut e = Lrm::<Fx<P>, K>::new();
            let mut total = splat(fx::<P>(0.0));
            for k in 0..K {
                e[k] = fx_raw::<P>(lookup(&table, top - scores[k]));
                total += e[k];
            }
            let reciprocal = reciprocal::<P, R>(steps, total);
            for k in (0..K).step_by(8) {
                let mut out = Lrm::<i8, 8>::new();
                for i in 0..8 {
                    if k + i < K {
                        out[i] = probability::<P, R>(e[k + i], reciprocal, zero_point);
                    }
                }
                y.at(t).channels(k).store(out);
            }
        }
    }

    /// Softmax over the features of each token, by the exponential instruction.
    ///
    /// # Shapes
    /// `x, y: [N, K]`; 32-bit scores.
    /// # Units
    /// `scale` is a step of the scores, `|x| * scale` below 64; `steps` is `1 / s_y`, at most `2^(30 - R)`.
    /// # Source
    /// `NUMERICS.md`, "Fixed point".
    #[kernel(reference = crate::nn::reference::softmax_wide::<R>)]
    pub fn softmax_wide<const N: usize, const K: usize, const P: usize, const R: usize>(
        x: &Ocm<i32, Tokens<N, K>>,
        y: &mut Ocm<i8, Tokens<N, K>>,
        scale: Scale,
        steps: Fx<R>,
        zero_point: i32,
    ) {
        assert!(P + log2(K) <= 30, "the sum of exponentials has 32 bits");
        for t in x.tiles().pipelined(2) {
            let scores = t.fetch::<Lrm<i32, K>>().wait();
            let mut e = Lrm::<Fx<P>, K>::new();
            let total = exponentials::<K, P>(&scores, scale, &mut e);
            let reciprocal = reciprocal::<P, R>(steps, total);
            for k in (0..K).step_by(8) {
                let mut out = Lrm::<i8, 8>::new();
                for i in 0..8 {
                    if k + i < K {
                        out[i] = probability::<P, R>(e[k + i], reciprocal, zero_point);
                    }
                }
                y.at(t).channels(k).store(out);
            }
        }
    }
}
