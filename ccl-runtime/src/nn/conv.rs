//! General convolutions. The window of each output is gathered in its PE, a flow a tap; where the layout allows it, a flow brings
//! a whole patch.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::requantise::requantised;

    /// Convolution of any window, stride, dilation, padding and number of groups, one flow a tap.
    ///
    /// # Shapes
    /// `x: [CI, H, W]`, `y: [CO, HO, WO]`; `w: [CO, K]` biases and weights in stream order, tap by tap, each tap's `CI / GROUPS`
    /// channels filled up with zeros to `ROOM`, a multiple of 4: `K = KH * KW * ROOM`. The outputs of a group are a multiple of 4;
    /// other groups are one group with weights of 0, or [`depthwise`](crate::nn::depthwise).
    /// # Units
    /// `scale` is `s_x * s_w / s_y`; zero points of `x` and `y`: what is outside the tensor counts as the zero point of `x`,
    /// whose product with the weights is in the biases. `stride`, `dilation`, `pad` are (rows, columns), `pad` above and left.
    /// # Source
    /// `NUMERICS.md`, QLinearConv.
    #[kernel(reference = crate::nn::reference::conv_gather::<KH, KW, GROUPS>)]
    pub fn conv_gather<
        const CI: usize,
        const CO: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const KH: usize,
        const KW: usize,
        const GROUPS: usize,
        const ROOM: usize,
        const K: usize,
    >(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, K>>,
        y: &mut Ocm<i8, Packed<CO, HO, WO>>,
        stride: usize,
        dilation: (i32, i32),
        pad: (i32, i32),
        scale: Scale,
        zero_points: (i32, i32),
    ) {
        assert!(ROOM == next_multiple_of(CI / GROUPS, 4) && K == KH * KW * ROOM, "K counts the weights of one output");
        assert!(GROUPS == 1 || (CI % (GROUPS * 4) == 0 && CO % (GROUPS * 4) == 0), "groups of 4 channels and 4 outputs");
        for t in y.tiles().pipelined(2) {
            let mut weights = broadcast(w);
            let corner = x.at(t).stride(stride).tap(-pad.0, -pad.1);
            for g in 0..GROUPS {
                let mut window = Lrm::<i8, K>::new();
                for ky in 0..KH {
                    for kx in 0..KW {
                        let tap = corner.tap(ky as i32 * dilation.0, kx as i32 * dilation.1).channels(g * (CI / GROUPS));
                        let first = (ky * KW + kx) * ROOM;
                        window[first..first + ROOM] = tap.fetch::<Lrm<i8, ROOM>>().wait();
                        if zero_points.0 != 0 {
                            let inside = tap.inside();
                            for c in 0..ROOM {
                                window[first + c] = select(inside, window[first + c], splat(zero_points.0 as i8));
                            }
                        }
                    }
                }
                #[region("products")]
                for o in (0..CO / GROUPS).step_by(4) {
                    let acc = weights.bias::<4>() + mac(window, weights.take::<4>());
                    let out = requantised::<4>(acc, scale, zero_points.1);
                    y.at(t).channels(g * (CO / GROUPS) + o).store(out);
                }
            }
        }
    }

    /// Convolution whose windows do not fit local memory: sums of all outputs stay there instead, and taps come one by one.
    ///
    /// # Shapes
    /// `x: [CI, H, W]`, `y: [CO, HO, WO]`, `CO` a multiple of 4; `w: [STEPS, CI]` with `STEPS = KH * KW * CO`: the outputs of the first
    /// tap with their biases, then those of the second, whose biases are 0, and so on.
    /// # Units
    /// As [`conv_gather`], with a zero point of `x` of 0.
    /// # Source
    /// `NUMERICS.md`, QLinearConv.
    #[kernel(reference = crate::nn::reference::conv_by_taps::<KH, KW>)]
    pub fn conv_by_taps<
        const CI: usize,
        const CO: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const KH: usize,
        const KW: usize,
        const STEPS: usize,
    >(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<STEPS, CI>>,
        y: &mut Ocm<i8, Packed<CO, HO, WO>>,
        stride: usize,
        dilation: (i32, i32),
        pad: (i32, i32),
        scale: Scale,
        zero_point: i32,
    ) {
        assert!(STEPS == KH * KW * CO && CO % 4 == 0, "all outputs of a tap, four by four");
        for t in y.tiles().pipelined(2) {
            let mut weights = broadcast(w);
            let corner = x.at(t).stride(stride).tap(-pad.0, -pad.1);
            let mut sums = Lrm::<i32, CO>::filled(0);
            for ky in 0..KH {
                for kx in 0..KW {
                    let tap = corner.tap(ky as i32 * dilation.0, kx as i32 * dilation.1);
                    let a = tap.fetch::<Lrm<i8, CI>>().wait();
                    for o in (0..CO).step_by(4) {
                        let acc = weights.bias::<4>() + mac(a, weights.take::<4>());
                        for i in 0..4 {
                            sums[o + i] += acc.get(i);
                        }
                    }
                }
            }
            for o in (0..CO).step_by(4) {
                let mut out = Lrm::<i8, 4>::new();
                for i in 0..4 {
                    out[i] = quantize(fx_raw::<0>(sums[o + i]), scale, zero_point);
                }
                y.at(t).channels(o).store(out);
            }
        }
    }

    /// Strided convolution of an image that lies plane by plane, by space-to-depth: `S` x `S` pixels become channels, which a flow
    /// brings 4 columns a word; the window is `TY` x `TX` such patches. 7x7 with stride 4 and 3 rows and columns of padding
    /// is 2 x 2 patches of 4 x 4 with weights of 0, `pad` (1, 1).
    ///
    /// # Shapes
    /// `x: [CI, H, W]`, `H` and `W` multiples of `S`; `y: [CO, HO, WO]`; `w: [CO, K]` with `K = TY * TX * PATCH` and
    /// `PATCH = CI * S * S`: patch by patch, channel `(c * S + dy) * S + dx`.
    /// # Units
    /// `scale` is `s_x * s_w / s_y`; zero points of `x` and `y`: what is outside the tensor counts as the zero point of `x`, whose product
    /// with the weights is in the biases. `pad` is in patches.
    /// # Source
    /// `NUMERICS.md`, QLinearConv; `MACHINE.md` section 5, row 2b.
    #[kernel(reference = crate::nn::reference::conv_space_to_depth::<S, TY, TX>)]
    pub fn conv_space_to_depth<
        const CI: usize,
        const CO: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const S: usize,
        const TY: usize,
        const TX: usize,
        const PATCH: usize,
        const K: usize,
    >(
        x: &Ocm<i8, Planar<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, K>>,
        y: &mut Ocm<i8, Packed<CO, HO, WO>>,
        pad: (i32, i32),
        scale: Scale,
        zero_points: (i32, i32),
    ) {
        assert!(PATCH == CI * S * S && K == TY * TX * PATCH, "K counts the weights of one output");
        let patches = x.space_to_depth::<S>();
        for t in y.tiles().pipelined(2) {
            let corner = patches.at(t).tap(-pad.0, -pad.1);
            let mut window = Lrm::<i8, K>::new();
            for ty in 0..TY {
                for tx in 0..TX {
                    let first = (ty * TX + tx) * PATCH;
                    let tap = corner.tap(ty as i32, tx as i32);
                    window[first..first + PATCH] = tap.fetch::<Lrm<i8, PATCH>>().wait();
                    if zero_points.0 != 0 {
                        let inside = tap.inside();
                        for c in first..first + PATCH {
                            window[c] = select(inside, window[c], splat(zero_points.0 as i8));
                        }
                    }
                }
            }
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(window, weights.take::<4>());
                y.at(t).channels(o).store(requantised::<4>(acc, scale, zero_points.1));
            }
        }
    }

    /// Convolution without overlap: the window and the stride are `S` x `S`, and one flow brings a PE its patch.
    ///
    /// # Shapes
    /// `x: [CI, H, W]`, `CI` a multiple of 4; `y: [CO, H / S, W / S]`; `w: [CO, K]` with `K = S * S * CI`, tap by tap.
    /// # Units
    /// `scale` is `s_x * s_w / s_y`, `zero_point` that of `y`; that of `x` is in the biases.
    /// # Source
    /// `NUMERICS.md`, QLinearConv.
    #[kernel(reference = crate::nn::reference::conv_patches::<S>)]
    pub fn conv_patches<
        const CI: usize,
        const CO: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const S: usize,
        const K: usize,
    >(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, K>>,
        y: &mut Ocm<i8, Packed<CO, HO, WO>>,
        scale: Scale,
        zero_point: i32,
    ) {
        assert!(K == S * S * CI && HO == H / S && WO == W / S, "patches lie side by side");
        for t in y.tiles().pipelined(2) {
            let window = x.at(t).block::<S, S>().fetch::<Lrm<i8, K>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(window, weights.take::<4>());
                y.at(t).channels(o).store(requantised::<4>(acc, scale, zero_point));
            }
        }
    }
}
