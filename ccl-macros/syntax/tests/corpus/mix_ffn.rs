//! A whole Mix-FFN block in one kernel: the hidden channels never leave local memory. Every PE holds several pixels, so that one
//! tile is the whole tensor: what lies around a pixel is in the PE itself or one hop away, and no halo is fetched.
use ccl_runtime::ccl;

ccl! {
    use ccl_runtime::nn::{depthwise3_of_blocks, lookup_all};

    #[kernel(reference = golden::mix_ffn)]
    pub fn mix_ffn<
        const C: usize,
        const HIDDEN: usize,
        const H: usize,
        const W: usize,
        const PIXELS: usize,
        const ROOM: usize,
        const HIDDEN_ROOM: usize,
        const TAPS: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        w_in: &Ocm<i8, Stream<HIDDEN, C>>,
        w_depth: &Ocm<i32, Vector<TAPS>>,
        gelu: &Ocm<i8, Vector<256>>,
        w_out: &Ocm<i8, Stream<C, HIDDEN>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scales: (Scale, Scale, Scale),
    ) {
        assert!(PIXELS == 2 * 4 && ROOM == PIXELS * C && HIDDEN_ROOM == PIXELS * HIDDEN, "2 x 4 pixels a PE");
        assert!(H <= 2 * ROWS && W <= 4 * COLS, "one tile is the whole tensor");
        assert!(TAPS == 10 * HIDDEN, "a bias and nine weights for each hidden channel");
        let gelu = broadcast(gelu).fill::<Lrm<i8, 256>>();
        for t in x.tiles().block::<2, 4>() {
            let a = t.fetch::<Lrm<i8, ROOM>>().wait();
            let mut hidden = Lrm::<i8, HIDDEN_ROOM>::new();
            #[region("expand")]
            for p in 0..PIXELS {
                let mut weights = broadcast(w_in);
                for h in (0..HIDDEN).step_by(4) {
                    let acc = weights.bias::<4>() + mac(a.slice::<C>(p * C), weights.take::<4>());
                    let first = p * HIDDEN + h;
                    hidden[first..first + 4] = requant(acc, scales.0, HalfEven, Saturate);
                }
            }
            #[region("depthwise")]
            #[tap("hidden")]
            depthwise3_of_blocks(&mut hidden, w_depth, scales.1);
            lookup_all(&mut hidden, &gelu);
            let mut out = Lrm::<i8, ROOM>::new();
            #[region("project")]
            for p in 0..PIXELS {
                let mut weights = broadcast(w_out);
                for o in (0..C).step_by(4) {
                    let acc = weights.bias::<4>() + mac(hidden.slice::<HIDDEN>(p * HIDDEN), weights.take::<4>());
                    let first = p * C + o;
                    out[first..first + 4] = requant(acc, scales.2, HalfEven, Saturate);
                }
            }
            y.at(t).store(out);
        }
    }

    #[instance(target = QC_U)]
    pub const STAGE1: Kernel = mix_ffn::<32, 128, 64, 128, 8, { 8 * 32 }, { 8 * 128 }, { 10 * 128 }>;
}
