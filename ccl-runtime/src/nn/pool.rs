//! Pooling over windows and over whole planes.

use ccl_runtime::ccl;

ccl! {
    /// Fraction bits of averages, those of float32 near 100, those of a ratio of steps, and how many more its quotient has.
    const F: usize = 21;
    const G: usize = 17;
    const R: usize = 24;
    const MORE: usize = 5;
    const S: usize = 29;

    /// The greatest element of each window; padding never is one.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, HO, WO]`.
    /// # Units
    /// `stride` is in both directions; `pad` is (rows above, columns left).
    #[kernel(reference = crate::nn::reference::max_pool::<KH, KW>)]
    pub fn max_pool<
        const C: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const KH: usize,
        const KW: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, HO, WO>>,
        stride: usize,
        pad: (i32, i32),
    ) {
        for t in y.tiles().chunks::<4>().pipelined(2) {
            let corner = x.at(t).stride(stride).tap(-pad.0, -pad.1);
            let mut best = Lrm::<i8, 4>::filled(-128);
            for ky in 0..KH {
                for kx in 0..KW {
                    let tap = corner.tap(ky as i32, kx as i32);
                    let a = tap.fetch::<Lrm<i8, 4>>().wait();
                    // The border is 0, which is no neutral element here.
                    let inside = tap.inside();
                    for c in 0..4 {
                        best[c] = max(best[c], select(inside, a[c], splat(-128i8)));
                    }
                }
            }
            y.at(t).store(best);
        }
    }

    /// The average of the elements of each window that lie inside the tensor.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, HO, WO]`.
    /// # Units
    /// `ratio` is `s_x / s_y`, below 3.5; zero points of `x` and `y`; `stride` and `pad` as in [`max_pool`].
    /// # Source
    /// `NUMERICS.md`, QLinearAveragePool: the zero point is inside the rounding.
    #[kernel(reference = crate::nn::reference::average_pool::<KH, KW>)]
    pub fn average_pool<
        const C: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const KH: usize,
        const KW: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, HO, WO>>,
        stride: usize,
        pad: (i32, i32),
        ratio: Fx<R>,
        zero_points: (i32, i32),
    ) {
        for place in y.tiles().pipelined(2) {
            let window = x.at(place).stride(stride).tap(-pad.0, -pad.1);
            let mut count = splat(0i32);
            for ky in 0..KH {
                for kx in 0..KW {
                    count += select(window.tap(ky as i32, kx as i32).inside(), splat(1), splat(0));
                }
            }
            // PEs without an output count nothing.
            let share = fx_raw::<S>(fx_div::<MORE>(ratio, fx_raw::<R>(max(count, 1))).raw());
            let taken = count * zero_points.0;
            for t in place.chunks::<4>() {
                let corner = window.channels(t.channel());
                let mut sums = Lrm::<i32, 4>::filled(0);
                for ky in 0..KH {
                    for kx in 0..KW {
                        let a = corner.tap(ky as i32, kx as i32).fetch::<Lrm<i8, 4>>().wait();
                        for c in 0..4 {
                            sums[c] += a[c].widen::<i32>();
                        }
                    }
                }
                let mut out = Lrm::<i8, 4>::new();
                for c in 0..4 {
                    let average = fx_mul::<F>(fx_raw::<0>(sums[c] - taken), share);
                    let inside = average + fx_raw::<F>(splat(zero_points.1 << F));
                    out[c] = inside.rescale::<G>(HalfUp, Wrap).round(HalfEven).narrow::<i8>(Saturate);
                }
                y.at(t).store(out);
            }
        }
    }

    /// The average of each plane.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, 1, 1]`.
    /// # Units
    /// `scale` is `s_x / (s_y * H * W)`; zero points of `x` and `y`.
    /// # Source
    /// `NUMERICS.md`, QLinearGlobalAveragePool.
    #[kernel(reference = crate::nn::reference::global_average_pool)]
    pub fn global_average_pool<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, 1, 1>>,
        scale: Scale,
        zero_points: (i32, i32),
    ) {
        // All tiles of four channels, then the next four: their tiles come while these sums are gathered.
        for t in y.tiles().chunks::<4>().pipelined(2) {
            let mut sums = Lrm::<i32, 4>::filled(0);
            for place in x.tiles() {
                let a = place.channels(t.channel()).fetch::<Lrm<i8, 4>>().wait();
                for c in 0..4 {
                    sums[c] += a[c].widen::<i32>();
                }
            }
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                let total = reduce(sums[c], Sum, Array) - zero_points.0 * (H * W) as i32;
                out[c] = quantize(fx_raw::<0>(total), scale, zero_points.1);
            }
            y.at(t).store(out);
        }
    }
}
