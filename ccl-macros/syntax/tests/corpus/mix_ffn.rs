//! A whole Mix-FFN block in one kernel: the hidden channels never leave local memory. Several pixels a PE, so that halos are few.
use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::{depthwise3_in_lrm, lookup_all};

    #[kernel(reference = golden::mix_ffn)]
    pub fn mix_ffn<
        const C: usize,
        const HIDDEN: usize,
        const H: usize,
        const W: usize,
        const PIXELS: usize,
        const GROUP: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        w_in: &Ocm<i8, Stream<HIDDEN, C>>,
        w_depth: &Ocm<i16, Vector<HIDDEN>>,
        gelu: &Ocm<i8, Vector<256>>,
        w_out: &Ocm<i8, StreamOuter<C, HIDDEN>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scales: (Scale, Scale, Scale),
    ) {
        assert!(GROUP * 4 == HIDDEN, "the hidden channels are made in four groups");
        let gelu = broadcast(gelu).fill::<Lrm<i8, 256>>();
        for t in x.tiles().block::<2, 4>().halo(1) {
            let a = t.fetch::<Lrm<i8, PIXELS>>().wait();
            let mut out = Acc::<16>::zero();
            let mut in_stream = broadcast(w_in);
            let mut out_stream = broadcast(w_out);
            for _group in 0..4 {
                let mut hidden = Lrm::<i8, GROUP>::new();
                #[region("expand")]
                for h in (0..GROUP).step_by(4) {
                    let acc = mac(a, in_stream.take::<4>()) + in_stream.bias::<4>();
                    hidden[h..h + 4] = requant(acc, scales.0, HalfEven, Saturate);
                }
                #[region("depthwise")]
                #[tap("hidden")]
                depthwise3_in_lrm(&mut hidden, w_depth, scales.1);
                lookup_all(&mut hidden, &gelu);
                #[region("project")]
                out += mac(hidden, out_stream.take::<16>());
            }
            y.at(t).store(requant(out, scales.2, HalfEven, Saturate));
        }
    }

    #[instance(target = QC_U)]
    pub const STAGE1: Kernel = mix_ffn::<32, 128, 64, 128, 256, 32>;
}
