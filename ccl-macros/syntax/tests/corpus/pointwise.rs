//! 1x1 convolution: the plain case, and the attribute form of the same language.
use ccl_runtime::attr::ccl;

#[ccl]
pub mod kernels {
    use crate::golden;

    /// 1x1 convolution with a per-tensor requantisation.
    /// # Shapes
    /// `x: [CI, H, W]`, `w: [CO]` biases with `[CO, CI]`, in stream order; `y: [CO, H, W]`; all in OCM, packed.
    #[kernel(reference = golden::pointwise)]
    pub fn pointwise<const CI: usize, const CO: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, CI>>,
        y: &mut Ocm<i8, Packed<CO, H, W>>,
        scale: Scale,
    ) {
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, CI>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(a, weights.take::<4>());
                y.at(t).channels(o).store(requant(acc, scale, HalfEven, Saturate));
            }
        }
    }

    #[instance(target = QC_U)]
    pub const POINTWISE_PC03: Kernel = pointwise::<32, 128, 64, 128>;

    const BLOCK: usize = 2 * 32;

    #[instance(target = QC_U)]
    pub const POINTWISE_PC04: Kernel = pointwise::<{ BLOCK * 2 }, 32, BLOCK, 128>;
}
