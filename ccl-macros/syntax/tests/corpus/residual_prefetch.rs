//! Residual addition of a tensor that lives in external memory: the next slice comes in while this one is added.
use ccl_runtime::ccl;

ccl! {
    #[kernel(reference = golden::residual)]
    pub fn residual<const N: usize, const C: usize, const H: usize, const W: usize>(
        x: &mut [Ocm<i8, Packed<C, H, W>>; N],
        skip: &[Ext<i8, Packed<C, H, W>>; N],
        out: &mut [Ext<i8, Packed<C, H, W>>; N],
    ) {
        let mut buffers = [Ocm::<i8, Packed<C, H, W>>::new(), Ocm::<i8, Packed<C, H, W>>::new()];
        let mut landing = prefetch(&skip[0], &mut buffers[0]);
        for n in 0..N {
            landing.wait();
            if n + 1 < N {
                landing = prefetch(&skip[n + 1], &mut buffers[(n + 1) % 2]);
            }
            for t in x[n].tiles().chunks::<4>().pipelined(2) {
                let (a, b) = (t.fetch::<Lrm<i8, 4>>(), buffers[n % 2].at(t).fetch::<Lrm<i8, 4>>());
                let (a, b) = (a.wait(), b.wait());
                let mut sum = Lrm::<i8, 4>::new();
                for c in 0..4 {
                    sum[c] = (a[c].widen::<i16>() + b[c].widen::<i16>()).narrow::<i8>(Saturate);
                }
                x[n].at(t).store(sum);
            }
            // The sums must have left the array before DMA reads them.
            drain();
            let _ = write_back(&x[n], &mut out[n]);
        }
        drain();
    }

    #[instance(target = QC_U)]
    pub const RESIDUAL: Kernel = residual::<4, 64, 64, 128>;
}
