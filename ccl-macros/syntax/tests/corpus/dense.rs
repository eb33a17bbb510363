//! Dense layer over tokens laid on a grid of PEs, one token a PE.
use ccl_runtime::ccl;

ccl! {
    /// `y = x * w + b` for `N` tokens of `CI` features.
    #[kernel(reference = golden::dense)]
    pub fn dense<const N: usize, const CI: usize, const CO: usize>(
        x: &Ocm<i8, Tokens<N, CI>>,
        w: &Ocm<i8, StreamOuter<CO, CI>>,
        y: &mut Ocm<i8, Tokens<N, CO>>,
        scale: Scale,
    ) {
        for t in x.tiles().grid(18, 20) {
            let a = t.fetch::<Lrm<i8, CI>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(16) {
                let acc = weights.bias::<16>() + mac(a, weights.take::<16>());
                y.at(t).channels(o).store(requant(acc, scale, HalfEven, Saturate));
            }
        }
    }

    #[instance(target = QC_U)]
    pub const ENCODER_FC1: Kernel = dense::<360, 256, 2048>;
}
