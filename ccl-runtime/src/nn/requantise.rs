//! Between steps of one scale and another, and between steps and fixed point.

use ccl_runtime::ccl;

ccl! {
    /// Requantises `N` accumulators in every PE: `clamp(round_half_even(acc * scale) + zero_point)`.
    #[inline]
    pub fn requantised<const N: usize>(acc: Acc<N>, scale: Scale, zero_point: i32) -> Lrm<i8, N> {
        let mut out = Lrm::<i8, N>::new();
        for i in 0..N {
            out[i] = quantize(fx_raw::<0>(acc.get(i)), scale, zero_point);
        }
        out
    }

    /// Steps of one scale to steps of another.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`.
    /// # Units
    /// `scale` is `s_x / s_y`; zero points of `x` and `y`.
    /// # Source
    /// `NUMERICS.md`, QLinearConcat: QuantizeLinear of DequantizeLinear.
    #[kernel(reference = crate::nn::reference::requantise)]
    pub fn requantise<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scale: Scale,
        zero_points: (i32, i32),
    ) {
        for t in x.tiles().chunks::<4>().pipelined(2) {
            let a = t.fetch::<Lrm<i8, 4>>().wait();
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                let steps = a[c].widen::<i32>() - zero_points.0;
                out[c] = quantize(fx_raw::<0>(steps), scale, zero_points.1);
            }
            y.at(t).store(out);
        }
    }

    /// Fixed point to steps.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`.
    /// # Units
    /// `x` has `F` fraction bits; `inverse` is `1 / s_y`.
    /// # Source
    /// `NUMERICS.md`, QuantizeLinear. Its division and this product differ only where float32 rounds to a half.
    #[kernel(reference = crate::nn::reference::quantise::<F>)]
    pub fn quantise<const C: usize, const H: usize, const W: usize, const F: usize>(
        x: &Ocm<i32, Planar<C, H, W>>,
        y: &mut Ocm<i8, Planar<C, H, W>>,
        inverse: Scale,
        zero_point: i32,
    ) {
        for t in x.tiles().chunks::<1>().pipelined(2) {
            let a = t.fetch::<Lrm<i32, 1>>().wait();
            y.at(t).store(quantize(fx_raw::<F>(a[0]), inverse, zero_point));
        }
    }

    /// Steps to fixed point.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`.
    /// # Units
    /// `y` has `F` fraction bits; `scale` is `s_x`.
    /// # Source
    /// `MACHINE.md` section 6, dequantise: shifted right without rounding.
    #[kernel(reference = crate::nn::reference::dequantise::<F>)]
    pub fn dequantise<const C: usize, const H: usize, const W: usize, const F: usize>(
        x: &Ocm<i8, Planar<C, H, W>>,
        y: &mut Ocm<i32, Planar<C, H, W>>,
        scale: Scale,
        zero_point: i32,
    ) {
        for t in x.tiles().chunks::<1>().pipelined(2) {
            let a = t.fetch::<Lrm<i8, 1>>().wait();
            y.at(t).store(dequantize::<F>(a[0], scale, zero_point).raw());
        }
    }
}
