//! 1x1 convolutions: a matrix product at each pixel.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::requantise::requantised;

    /// 1x1 convolution with one scale for all outputs.
    ///
    /// # Shapes
    /// `x: [CI, H, W]`; `w`: `[CO]` biases with `[CO, CI]` weights in stream order; `y: [CO, H, W]`.
    /// # Units
    /// `scale` is `s_x * s_w / s_y`, `zero_point` that of `y`; that of `x` is in the biases: `b - z_x * sum(w)`.
    /// # Source
    /// `NUMERICS.md`, QLinearConv.
    #[kernel(reference = crate::nn::reference::pointwise)]
    pub fn pointwise<const CI: usize, const CO: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, CI>>,
        y: &mut Ocm<i8, Packed<CO, H, W>>,
        scale: Scale,
        zero_point: i32,
    ) {
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, CI>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(a, weights.take::<4>());
                y.at(t).channels(o).store(requantised::<4>(acc, scale, zero_point));
            }
        }
    }

    /// 1x1 convolution with a scale for each output. Local memory holds the scales, 4 bytes an output.
    ///
    /// # Shapes
    /// As [`pointwise`]; `scales: [CO]`.
    /// # Units
    /// `scales` have `S` fraction bits: as many as the largest leaves room for, so that each keeps what float32 knows of it.
    /// Halves go up, not to even: scales that make them common want [`pointwise`].
    #[kernel(reference = crate::nn::reference::pointwise_per_channel::<S>)]
    pub fn pointwise_per_channel<
        const CI: usize,
        const CO: usize,
        const H: usize,
        const W: usize,
        const S: usize,
        const ROOM: usize,
    >(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, CI>>,
        scales: &Ocm<i32, Vector<ROOM>>,
        y: &mut Ocm<i8, Packed<CO, H, W>>,
        zero_point: i32,
    ) {
        assert!(ROOM == next_multiple_of(CO, 4), "scales are filled up to fours");
        let scales = broadcast(scales).fill::<Lrm<i32, ROOM>>();
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, CI>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(a, weights.take::<4>());
                let mut out = Lrm::<i8, 4>::new();
                for i in 0..4 {
                    let scaled = fx_mul::<2>(fx_raw::<0>(acc.get(i)), fx_raw::<S>(scales[o + i]));
                    out[i] = (scaled.raw() + (2 + 4 * zero_point)).shr_round(2, Floor).narrow::<i8>(Saturate);
                }
                y.at(t).channels(o).store(out);
            }
        }
    }
}
