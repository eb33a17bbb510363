//! Depthwise 3x3: rows of the halo arrive by the flow, columns by neighbour shifts through the border.
use ccl_runtime::ccl;

ccl! {
    /// Depthwise 3x3, stride 1, zero border.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`; `w`: for each channel a bias in two half-words, then 9 weights, column by column.
    #[kernel(reference = golden::depthwise)]
    #[edit("taps summed by column first: two shifts a channel instead of six")]
    pub fn depthwise3<const C: usize, const H: usize, const W: usize, const WEIGHTS: usize>(
        x: &Ocm<i8, Planar<C, H, W>>,
        w: &Ocm<i16, Vector<WEIGHTS>>,
        y: &mut Ocm<i8, Planar<C, H, W>>,
        scale: Scale,
    ) {
        assert!(WEIGHTS == 11 * C, "a bias of two half-words and nine weights for each channel");
        for place in x.tiles().halo(1) {
            let mut weights = broadcast(w);
            for t in place.chunks::<1>().pipelined(3) {
                let a = t.fetch::<Lrm<i8, 3>>().wait();
                let mut sum = weights.next::<i32>();
                for kx in 0..3 {
                    let mut column = splat(0);
                    for dy in -1..=1 {
                        column += a.row(dy)[0].widen::<i32>() * weights.next::<i16>().widen::<i32>();
                    }
                    if kx == 0 {
                        sum += shift(column, East, 1);
                    } else if kx == 1 {
                        sum += column;
                    } else {
                        sum += shift(column, West, 1);
                    }
                }
                y.at(t).store(requant(sum, scale, HalfEven, Saturate));
            }
        }
    }

    #[instance(target = QC_U)]
    pub const DEPTHWISE_PC05: Kernel = depthwise3::<128, 64, 128, { 11 * 128 }>;
}
