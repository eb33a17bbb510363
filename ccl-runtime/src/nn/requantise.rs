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

    /// Fraction bits of terms that are added: beyond the 17 that float32 has near 100.
    const F: usize = 21;

    /// Requantises accumulators to int8, and adds a number to each that is a bias in int8 and its scale: the two roundings of a
    /// product and of the sum behind it.
    ///
    /// # Units
    /// `scales`: `s_acc / s` and `s / s_y`, where `s` is a step of the product in int8; `biases` are steps of `y` with 21 fraction bits,
    /// as [`addends`](crate::nn::tables::addends) makes them. Halves of sums go up.
    /// # Source
    /// `NUMERICS.md`, QLinearMatMul and QLinearAdd.
    #[inline]
    pub fn biased<const N: usize>(acc: Acc<N>, biases: Acc<N>, scales: (Scale, Scale)) -> Lrm<i8, N> {
        let mut out = Lrm::<i8, N>::new();
        for i in 0..N {
            let product = quantize(fx_raw::<0>(acc.get(i)), scales.0, 0);
            let sum = dequantize::<F>(product, scales.1, 0).raw() + biases.get(i);
            out[i] = ((sum + (1 << 20)) >> 21).narrow::<i8>(Saturate);
        }
        out
    }

    /// [`biased`] between tensors with zero points; the addend comes by itself, and holds the zero point of `y`.
    ///
    /// # Units
    /// As [`biased`]; `zero_point` is that of the product in int8.
    /// # Source
    /// `NUMERICS.md`, QLinearMatMul and QLinearAdd.
    #[inline]
    pub fn biased_around(acc: Q<i32>, addend: Q<i32>, scales: (Scale, Scale), zero_point: i32) -> Q<i8> {
        let product = quantize(fx_raw::<0>(acc), scales.0, zero_point);
        let sum = dequantize::<F>(product, scales.1, zero_point).raw() + addend;
        ((sum + (1 << 20)) >> 21).narrow::<i8>(Saturate)
    }

    /// Sum of two int8 tensors in steps of a third.
    ///
    /// # Units
    /// `scales`: `s_a / s_y`, `s_b / s_y`, together below 3.5. Halves go up.
    /// # Source
    /// `NUMERICS.md`, QLinearAdd.
    #[inline]
    pub fn sums<const N: usize>(a: &Lrm<i8, N>, b: &Lrm<i8, N>, scales: (Scale, Scale)) -> Lrm<i8, N> {
        let mut out = Lrm::<i8, N>::new();
        for i in 0..N {
            let sum = dequantize::<F>(a[i], scales.0, 0) + dequantize::<F>(b[i], scales.1, 0);
            out[i] = sum.round(HalfUp).narrow::<i8>(Saturate);
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
