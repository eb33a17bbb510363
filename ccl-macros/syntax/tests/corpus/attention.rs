//! One attention head: queries in the PEs, keys and values broadcast; the step after the projection is a slot that users fill.
use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::{attention, softmax};

    /// What happens to the projected row of each query; users put their own `fn` with this attribute into their file.
    #[stub(attention::post_projection)]
    #[inline]
    fn residual<const D: usize>(projected: &mut Lrm<i8, D>, skip: &Lrm<i8, D>) {
        for d in 0..D {
            let sum = projected[d].widen::<i16>() + skip[d].widen::<i16>();
            projected[d] = sum.narrow::<i8>(Saturate);
        }
    }

    /// Scores, softmax and values of one head.
    #[kernel(reference = golden::attention)]
    #[overrides(crate::generated::encoder_block1_attention)]
    pub fn head<const N: usize, const K: usize, const D: usize>(
        q: &Ocm<i8, Tokens<N, D>>,
        keys: &Ocm<i8, StreamDot<K, D>>,
        values: &Ocm<i8, Stream<D, K>>,
        skip: &Ocm<i8, Tokens<N, D>>,
        y: &mut Ocm<i8, Tokens<N, D>>,
        score_scale: Scale,
        value_scale: Scale,
    ) {
        for t in q.tiles().pipelined(2) {
            let query = t.fetch::<Lrm<i8, D>>().wait();
            let skipped = skip.at(t).fetch::<Lrm<i8, D>>();
            let mut p = Lrm::<i8, K>::new();
            #[region("scores")]
            {
                let mut scores = Lrm::<i32, K>::new();
                let mut stream = broadcast(keys);
                for k in 0..K {
                    scores[k] = (stream.bias::<1>() + mac(query, stream.take::<1>())).get(0);
                }
                #[tap("scores")]
                softmax(&scores, score_scale, &mut p);
            }
            let mut out = Lrm::<i8, D>::new();
            #[region("values")]
            {
                let mut stream = broadcast(values);
                for d in (0..D).step_by(4) {
                    let acc = stream.bias::<4>() + mac(p, stream.take::<4>());
                    out[d..d + 4] = requant(acc, value_scale, HalfEven, Saturate);
                }
            }
            residual::<D>(&mut out, &skipped.wait());
            y.at(t).store(out);
        }
    }

    #[instance(target = QC_U)]
    pub const ENCODER_BLOCK1: Kernel = head::<8192, 128, 32>;
}
