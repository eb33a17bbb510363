//! Strided convolution by space-to-depth: the window becomes channels, and one packed flow brings four of them a word.
use ccl_runtime::ccl;

ccl! {
    /// 8x8 convolution with stride 8, without overlap: after `space_to_depth::<8>` a 1x1 convolution over `K = 64 * CI`.
    #[kernel(reference = golden::patch_embed)]
    pub fn patches<
        const CI: usize,
        const CO: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const K: usize,
    >(x: &Ocm<i8, Planar<CI, H, W>>, w: &Ocm<i8, Stream<CO, K>>, y: &mut Ocm<i8, Packed<CO, HO, WO>>, scale: Scale) {
        assert!(K == 64 * CI && H == 8 * HO && W == 8 * WO, "the window is 8x8, without overlap");
        let patches = x.space_to_depth::<8>();
        for t in patches.tiles() {
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let mut acc = weights.bias::<4>();
                // Chunks of 64 channels land while the chunk before is multiplied.
                for c in patches.at(t).chunks::<64>().pipelined(2) {
                    acc += mac(c.fetch::<Lrm<i8, 64>>().wait(), weights.take::<4>());
                }
                y.at(t).channels(o).store(requant(acc, scale, HalfEven, Saturate));
            }
        }
    }

    #[instance(target = QC_U)]
    pub const PATCH_EMBED: Kernel = patches::<32, 64, 64, 128, 8, 16, 2048>;
}
