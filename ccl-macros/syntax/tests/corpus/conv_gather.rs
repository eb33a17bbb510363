//! General convolution, one tap at a time: any kernel, stride, dilation. Its cost is in the flows, and can be seen.
use ccl_runtime::ccl;

ccl! {
    use crate::golden;

    /// `KH` x `KW` convolution with `STRIDE` and `DILATION`, padded so that `y` has the given extent.
    ///
    /// # Shapes
    /// `x: [CI, H, W]`, `w: [CO, KH * KW * CI]` tap by tap, `y: [CO, HO, WO]`.
    #[kernel]
    #[reference(golden::conv::<KH, KW, STRIDE, DILATION>)]
    pub fn conv_gather<
        const CI: usize,
        const CO: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const KH: usize,
        const KW: usize,
        const K: usize,
        const STRIDE: usize,
        const DILATION: usize,
    >(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, K>>,
        y: &mut Ocm<i8, Packed<CO, HO, WO>>,
        pad_y: i32,
        pad_x: i32,
        scale: Scale,
    ) {
        assert!(K == KH * KW * CI, "K counts the weights of one output");
        for t in y.tiles().pipelined(2) {
            let mut weights = broadcast(w);
            let window = x.at(t).stride(STRIDE).tap(-pad_y, -pad_x);
            // Every tap of the window is its own flow; they queue two deep behind each other.
            let mut taps = Lrm::<i8, K>::new();
            #[region("taps")]
            for ky in 0..KH {
                for kx in 0..KW {
                    let tap = window.tap((ky * DILATION) as i32, (kx * DILATION) as i32);
                    let first = (ky * KW + kx) * CI;
                    taps[first..first + CI] = tap.fetch::<Lrm<i8, CI>>().wait();
                }
            }
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(taps, weights.take::<4>());
                y.at(t).channels(o).store(requant(acc, scale, HalfEven, Saturate));
            }
        }
    }

    #[instance(target = QC_U)]
    pub const STEM_7X7: Kernel = conv_gather::<3, 32, 256, 512, 64, 128, 7, 7, { 7 * 7 * 3 }, 4, 1>;
}
