//! Arg-max over channels: the label map of a segmentation network.

use ccl_runtime::ccl;

ccl! {
    /// Index of the greatest channel of each pixel; of equal ones the first.
    ///
    /// # Shapes
    /// `x: [C, H, W]` with at most 256 channels; `labels: [1, H, W]`.
    #[kernel(reference = crate::nn::reference::argmax)]
    pub fn argmax<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        labels: &mut Ocm<u8, Planar<1, H, W>>,
    ) {
        assert!(C <= 256, "a label has 8 bits");
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            let mut best = a[0];
            let mut label = splat(0i32);
            for c in 1..C {
                label = select(a[c] > best, splat(c as i32), label);
                best = max(best, a[c]);
            }
            labels.at(t).store(label.narrow::<u8>(Wrap));
        }
    }
}
