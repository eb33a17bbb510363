//! Element-wise addition of two quantised tensors.
use ccl_runtime::ccl;

ccl! {
    /// Both inputs are brought to the output's scale with 16 fraction bits, summed, rounded once.
    #[inline]
    fn add_one(a: Q<i8>, b: Q<i8>, scale_a: Scale, scale_b: Scale) -> Q<i8> {
        let sum = dequantize::<16>(a, scale_a, 0) + dequantize::<16>(b, scale_b, 0);
        sum.round(HalfEven).narrow::<i8>(Saturate)
    }

    #[kernel(reference = golden::add)]
    pub fn add<const C: usize, const H: usize, const W: usize>(
        a: &Ocm<i8, Packed<C, H, W>>,
        b: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scale_a: Scale,
        scale_b: Scale,
    ) {
        for t in a.tiles().chunks::<4>().pipelined(2) {
            let flow_a = t.fetch::<Lrm<i8, 4>>();
            let flow_b = b.at(t).fetch::<Lrm<i8, 4>>();
            let (va, vb) = (flow_a.wait(), flow_b.wait());
            let mut sum = Lrm::<i8, 4>::new();
            for c in 0..4 {
                sum[c] = add_one(va[c], vb[c], scale_a, scale_b);
            }
            y.at(t).store(sum);
        }
    }

    #[instance(target = QC_U)]
    pub const ADD_STAGE2: Kernel = add::<64, 32, 64>;
}
