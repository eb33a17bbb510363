//! Softmax over keys, scores in local memory; the exponential is one instruction.
use ccl_runtime::ccl;

ccl! {
    /// Fraction bits of probabilities.
    const P: usize = 12;

    /// Softmax of `K` scores in every PE, quantised to 1/127.
    /// # Units
    /// Scores count steps of `scale`; probabilities have 12 fraction bits before they are quantised.
    #[inline]
    fn softmax<const K: usize>(scores: &Lrm<i32, K>, scale: Scale, out: &mut Lrm<i8, K>) {
        let mut top = scores[0];
        for k in 1..K {
            top = max(top, scores[k]);
        }
        let mut total = splat(fx::<P>(0.0));
        let mut e = Lrm::<Fx<P>, K>::new();
        for k in 0..K {
            // At most 0, so the exponential is at most 1 and 12 fraction bits hold it.
            let x = dequantize::<24>(scores[k] - top, scale, 0);
            e[k] = exp::<P>(x);
            total += e[k];
        }
        // One division a pixel, one product a key.
        let inverse = fx_div::<24>(fx::<P>(1.0), total);
        for k in 0..K {
            let p = fx_mul::<P>(e[k], inverse);
            out[k] = quantize(p, Scale::new(127, 0), 0);
        }
    }

    #[kernel(reference = golden::softmax)]
    pub fn softmax_rows<const N: usize, const K: usize>(
        x: &Ocm<i32, Tokens<N, K>>,
        y: &mut Ocm<i8, Tokens<N, K>>,
        scale: Scale,
    ) {
        for t in x.tiles().pipelined(2) {
            let scores = t.fetch::<Lrm<i32, K>>().wait();
            let mut p = Lrm::<i8, K>::new();
            #[tap("probabilities")]
            softmax(&scores, scale, &mut p);
            y.at(t).store(p);
        }
    }

    #[instance(target = QC_U)]
    pub const SOFTMAX_STAGE1: Kernel = softmax_rows::<8192, 128>;
}
