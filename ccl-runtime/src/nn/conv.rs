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
        let reach = max(pad.1, TX as i32 - 1 - pad.1);
        let whole = HO * S == H && WO * S == W && zero_points.0 == 0;
        if whole && pad.0 >= 0 && pad.0 < TY as i32 && pad.1 >= 0 && reach <= 4 {
            // A flow brings each row of patches once, with those beside the tile; the window takes its columns from neighbours.
            for t in patches.tiles().halo_cols(reach as usize).pipelined(2) {
                let mut window = Lrm::<i8, K>::new();
                let own = (pad.0 as usize * TX + pad.1 as usize) * PATCH;
                window[own..own + PATCH] = t.fetch::<Lrm<i8, PATCH>>().wait();
                for ty in 0..TY {
                    let middle = (ty * TX + pad.1 as usize) * PATCH;
                    let above = max(pad.0 - ty as i32, 0) as usize;
                    if above > 0 {
                        // Rows above come from neighbours too, the first ones from a flow of so many rows.
                        let first = t.tap(-(above as i32), 0).grid(above, COLS).fetch::<Lrm<i8, PATCH>>().wait();
                        let moved = shift(window.slice::<PATCH>(own), South, above);
                        window[middle..middle + PATCH] = moved;
                        if q_row() < above as i32 {
                            window[middle..middle + PATCH] = first;
                        }
                    } else if ty as i32 > pad.0 {
                        window[middle..middle + PATCH] = t.tap(ty as i32 - pad.0, 0).fetch::<Lrm<i8, PATCH>>().wait();
                    }
                }
                for ty in 0..TY {
                    let middle = (ty * TX + pad.1 as usize) * PATCH;
                    for tx in 0..TX {
                        let first = (ty * TX + tx) * PATCH;
                        let (east, west) = (max(pad.1 - tx as i32, 0), max(tx as i32 - pad.1, 0));
                        if east + west > 0 {
                            let moved = shift(window.slice::<PATCH>(middle), East, east as usize);
                            window[first..first + PATCH] = shift(&moved, West, west as usize);
                        }
                    }
                }
                let mut weights = broadcast(w);
                for o in (0..CO).step_by(4) {
                    let acc = weights.bias::<4>() + mac(window, weights.take::<4>());
                    y.at(t).channels(o).store(requantised::<4>(acc, scale, zero_points.1));
                }
            }
        } else {
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

    /// [`conv_patches`] of few outputs: columns come one to a PE, by whole rows of beats, and a PE puts its patch together from neighbours.
    ///
    /// # Shapes
    /// As [`conv_patches`]; `HO` is at most the rows of the array, whose columns are a multiple of `S`; `WV = S * W`; `W` is at most `S` times the columns
    /// of the array; `CI` and `CO` are multiples of 4.
    /// # Units
    /// As [`conv_patches`].
    /// # Source
    /// `NUMERICS.md`, QLinearConv.
    #[kernel(reference = crate::nn::reference::conv_patches_near::<S>)]
    pub fn conv_patches_near<
        const CI: usize,
        const CO: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const S: usize,
        const K: usize,
        const WV: usize,
    >(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, K>>,
        y: &mut Ocm<i8, Packed<CO, HO, WO>>,
        scale: Scale,
        zero_point: i32,
    ) {
        assert!(K == S * S * CI && HO * S == H && WO * S == W && WV == S * W, "patches lie side by side");
        assert!(HO <= ROWS && COLS % S == 0 && W <= S * COLS, "the array has a PE for each patch");
        assert!(CI % 4 == 0 && CO % 4 == 0, "channels come in fours");
        // Row `r` of this view is rows `r * S..` of the tensor, one after the other.
        let rows = x.view::<Packed<CI, HO, WV>>();
        let parts = div_ceil(W, COLS);
        let mut window = Lrm::<i8, K>::new();
        let mut out = Lrm::<i8, CO>::new();
        for t in y.tiles() {
            let mut a = rows.at(t).grid(HO, COLS).fetch::<Lrm<i8, CI>>().wait();
            for n in 0..S * parts {
                // Line `ky` of the patches in part `part` of the columns; PE `part` of each `S` takes the patch.
                let (ky, part) = (n / parts, n % parts);
                let after = min(n + 1, S * parts - 1);
                let next = rows.at(t).grid(HO, COLS).tap(0, (after / parts * W + after % parts * COLS) as i32);
                let flow = next.fetch::<Lrm<i8, CI>>();
                for kx in 0..S {
                    let first = (ky * S + kx) * CI;
                    let (west, east) = (max(kx as i32 - part as i32, 0), max(part as i32 - kx as i32, 0));
                    let moved = shift(shift(a.slice::<CI>(0), West, west as usize), East, east as usize);
                    if (q_col() & (S as i32 - 1)) == part as i32 {
                        window[first..first + CI] = moved;
                    }
                }
                a[0..CI] = flow.wait();
            }
            let mut weights = broadcast(w);
            for o in 0..CO / 4 {
                let acc = weights.bias::<4>() + mac(window, weights.take::<4>());
                out[4 * o..4 * o + 4] = requantised::<4>(acc, scale, zero_point);
            }
            for part in 0..parts {
                // Results of a part side by side.
                let mut row = Lrm::<i8, CO>::new();
                let n_patches = min(WO - part * (COLS / S), COLS / S);
                for i in 0..n_patches {
                    let moved = shift(out.slice::<CO>(0), West, i * (S - 1) + part);
                    if q_col() == i as i32 {
                        row[0..CO] = moved;
                    }
                }
                y.at(t).grid(HO, n_patches).tap(0, (part * (COLS / S)) as i32).store(row);
            }
        }
    }
}
