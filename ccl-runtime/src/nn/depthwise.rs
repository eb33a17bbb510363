//! Depthwise convolutions. The MAC unit takes four channels and four outputs a step, so a tap of four channels is one step
//! with a diagonal matrix of weights: a quarter of its products is used, and it still beats an ALU that makes one a cycle.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::requantise::requantised;

    /// Depthwise 3x3, stride 1, a border of zeros. Rows come by the flow, columns from the neighbours.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`; `w: [C, 36]` biases and weights in stream order: for output `c` tap `ky * 3 + kx` stands at input
    /// `(ky * 3 + kx) * 4 + c % 4`, the others are 0.
    /// # Units
    /// `scale` is `s_x * s_w / s_y`, `zero_point` that of `y`; that of `x` is 0.
    /// # Source
    /// `NUMERICS.md`, QLinearConv.
    #[kernel(reference = crate::nn::reference::depthwise3)]
    pub fn depthwise3<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        w: &Ocm<i8, Stream<C, 36>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scale: Scale,
        zero_point: i32,
    ) {
        for place in x.tiles().halo(1).pipelined(2) {
            let mut weights = broadcast(w);
            for t in place.chunks::<4>() {
                let a = t.fetch::<Lrm<i8, 12>>().wait();
                let mut acc = weights.bias::<4>();
                for dy in -1..=1 {
                    let middle = a.row(dy).slice::<4>(0);
                    acc += mac(shift(middle, East, 1), weights.take::<4>());
                    acc += mac(middle, weights.take::<4>());
                    acc += mac(shift(middle, West, 1), weights.take::<4>());
                }
                y.at(t).store(requantised::<4>(acc, scale, zero_point));
            }
        }
    }

    /// Depthwise convolution of any window, one flow a tap.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, HO, WO]`; `w: [C, K]` with `K = KH * KW * 4`, laid out as that of [`depthwise3`].
    /// # Units
    /// `scale` is `s_x * s_w / s_y`; zero points of `x` and `y`: what is outside the tensor counts as the zero point of `x`,
    /// whose product with the weights is in the biases. `stride`, `dilation` and `pad` are rows and columns.
    /// # Source
    /// `NUMERICS.md`, QLinearConv.
    #[kernel(reference = crate::nn::reference::depthwise::<KH, KW>)]
    pub fn depthwise<
        const C: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const KH: usize,
        const KW: usize,
        const K: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        w: &Ocm<i8, Stream<C, K>>,
        y: &mut Ocm<i8, Packed<C, HO, WO>>,
        stride: usize,
        dilation: i32,
        pad: (i32, i32),
        scale: Scale,
        zero_points: (i32, i32),
    ) {
        assert!(K == KH * KW * 4, "a diagonal matrix for each tap");
        for place in y.tiles().pipelined(2) {
            let mut weights = broadcast(w);
            for t in place.chunks::<4>() {
                let corner = x.at(t).stride(stride).tap(-pad.0, -pad.1);
                let mut acc = weights.bias::<4>();
                for ky in 0..KH {
                    for kx in 0..KW {
                        let tap = corner.tap(ky as i32 * dilation, kx as i32 * dilation);
                        let mut a = tap.fetch::<Lrm<i8, 4>>().wait();
                        if zero_points.0 != 0 {
                            for c in 0..4 {
                                a[c] = select(tap.inside(), a[c], splat(zero_points.0 as i8));
                            }
                        }
                        acc += mac(a, weights.take::<4>());
                    }
                }
                y.at(t).store(requantised::<4>(acc, scale, zero_points.1));
            }
        }
    }
}
