//! Arg-max over channels: the label map of a segmentation network.
use ccl_runtime::ccl;

ccl! {
    /// Index of the greatest channel; of equal ones the first.
    #[kernel(reference = golden::argmax)]
    pub fn argmax<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        labels: &mut Ocm<u8, Planar<1, H, W>>,
    ) {
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            let mut best = a[0];
            let mut label = splat(0u8);
            for c in 1..C {
                if a[c] > best {
                    best = a[c];
                    label = splat(c as u8);
                }
            }
            probe!(best, label);
            labels.at(t).store(label);
        }
    }

    #[instance(target = QC_U)]
    pub const LABELS: Kernel = argmax::<19, 256, 512>;
}
