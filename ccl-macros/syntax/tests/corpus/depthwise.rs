//! Depthwise 3x3: rows of the halo arrive by the flow, columns by neighbour shifts through the border.
use ccl_runtime::ccl;

ccl! {
    /// Depthwise 3x3, stride 1, zero border.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`; `w: [C, 9]` with a bias after each nine, row by row.
    #[kernel(reference = golden::depthwise)]
    #[edit("taps summed by column first: two shifts a channel instead of six")]
    pub fn depthwise3<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Planar<C, H, W>>,
        w: &Ocm<i16, Vector<C>>,
        y: &mut Ocm<i8, Planar<C, H, W>>,
        scale: Scale,
    ) {
        for t in x.tiles().halo(1).chunks::<1>().pipelined(3) {
            let a = t.fetch::<Lrm<i8, 3>>().wait();
            let mut weights = broadcast(w);
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

    #[instance(target = QC_U)]
    pub const DEPTHWISE_PC05: Kernel = depthwise3::<128, 64, 128>;
}
