//! Max pooling 3x3, stride 2: columns by shifts, rows by the halo, the stride by the tile that is stored.
use ccl_runtime::ccl;

ccl! {
    const LOWEST: i8 = -128;

    #[kernel(reference = golden::max_pool)]
    pub fn max_pool3<const C: usize, const H: usize, const W: usize, const HO: usize, const WO: usize>(
        x: &Ocm<i8, Planar<C, H, W>>,
        y: &mut Ocm<i8, Planar<C, HO, WO>>,
    ) {
        assert!(HO == div_ceil(H, 2) && WO == div_ceil(W, 2), "stride 2 halves both extents");
        for t in y.tiles().chunks::<1>().pipelined(2) {
            let centre = x.at(t).stride(2);
            let mut best = splat(LOWEST);
            for dy in -1..=1 {
                for dx in -1..=1 {
                    let tap = centre.tap(dy, dx);
                    let v = tap.fetch::<Lrm<i8, 1>>().wait();
                    // The border is zero, which is no neutral element here.
                    best = max(best, select(tap.inside(), v[0], splat(LOWEST)));
                }
            }
            y.at(t).store(best);
        }
    }

    #[instance(target = QC_U)]
    pub const POOL: Kernel = max_pool3::<64, 112, 112, 56, 56>;
}
