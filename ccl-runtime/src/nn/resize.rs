//! Enlargement. By a whole factor every PE makes the patch of outputs of its input pixel; by any other it reads at random.

use ccl_runtime::ccl;

ccl! {
    /// Fraction bits of positions, one more from which they are rounded, and those of results that are cut.
    const F: usize = 20;
    const F1: usize = 21;
    const CUT: usize = 10;

    /// Nearest neighbour by a whole factor `S`: each element becomes a patch.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, S * H, S * W]`; `PATCH = 4 * S * S`.
    #[kernel(reference = crate::nn::reference::enlarge_nearest::<S>)]
    pub fn enlarge_nearest<
        const C: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const S: usize,
        const PATCH: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, HO, WO>>,
    ) {
        assert!(HO == S * H && WO == S * W && PATCH == 4 * S * S, "a patch for each element");
        for t in x.tiles().chunks::<4>().pipelined(2) {
            let a = t.fetch::<Lrm<i8, 4>>().wait();
            let mut out = Lrm::<i8, PATCH>::new();
            for p in 0..S * S {
                out[4 * p..4 * p + 4] = a;
            }
            y.at(t).block::<S, S>().store(out);
        }
    }

    /// Weight of the farther of two neighbours, in `1 / (2 * S)`, of line `i` of a patch.
    #[inline]
    fn farther(i: usize, s: usize) -> i32 {
        let above = s as i32 - (2 * i + 1) as i32;
        abs(above)
    }

    /// Bilinear by a factor `S` of 2, 4 or 8, pixel centres aligned, edges repeated.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, S * H, S * W]`; `PATCH = 4 * S * S`.
    /// # Source
    /// `NUMERICS.md`, Resize linear: exact, cut toward zero as ONNX Runtime's.
    #[kernel(reference = crate::nn::reference::enlarge_linear::<S>)]
    pub fn enlarge_linear<
        const C: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const S: usize,
        const PATCH: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, HO, WO>>,
    ) {
        assert!(HO == S * H && WO == S * W && PATCH == 4 * S * S, "a patch for each element");
        assert!(S == 2 || S == 4 || S == 8, "weights are fractions of powers of two, and a neighbour is one element away");
        let whole = 2 * S as i32;
        for place in x.tiles().halo(1).pipelined(2) {
            let row = q_row() + place.y();
            let column = q_col() + place.x();
            let (first_row, last_row) = (row == 0, row == H as i32 - 1);
            let (first_column, last_column) = (column == 0, column == W as i32 - 1);
            for t in place.chunks::<4>() {
                let a = t.fetch::<Lrm<i8, 12>>().wait();
                let mut out = Lrm::<i8, PATCH>::new();
                for c in 0..4 {
                    let middle = a.row(0)[c].widen::<i32>();
                    let above = select(first_row, middle, a.row(-1)[c].widen::<i32>());
                    let below = select(last_row, middle, a.row(1)[c].widen::<i32>());
                    for dy in 0..S {
                        let far = farther(dy, S);
                        let other = if 2 * dy < S { above } else { below };
                        let line = middle * (whole - far) + other * far;
                        let west = select(first_column, line, shift(line, East, 1));
                        let east = select(last_column, line, shift(line, West, 1));
                        for dx in 0..S {
                            let far = farther(dx, S);
                            let other = if 2 * dx < S { west } else { east };
                            let sum = line * (whole - far) + other * far;
                            out[(dy * S + dx) * 4 + c] = sum.shr_round(2 * log2(2 * S), TowardZero).narrow::<i8>(Wrap);
                        }
                    }
                }
                y.at(t).block::<S, S>().store(out);
            }
        }
    }

    /// Twice `n_out` times the position of output `i` in the input, pixel centres aligned: `(2 * i + 1) * n_in - n_out`.
    #[inline]
    fn position(i: Q<i32>, n_in: usize, n_out: usize) -> Q<i32> {
        (i * 2 + 1) * n_in as i32 - n_out as i32
    }

    /// `p / by`, rounded down, of a `p` from 0 to `most`: by a reciprocal, a little too large, wherever that is exact.
    #[inline]
    fn divided(p: Q<i32>, by: usize, most: usize) -> Q<i32> {
        let reciprocal = (((1i64 << 31) + by as i64 - 1) / by as i64) as i32;
        if most * by < 1usize << 31 {
            fx_mul::<0>(fx_raw::<0>(p), fx_raw::<31>(splat(reciprocal))).raw()
        } else {
            fx_div::<0>(fx_raw::<0>(p), fx_raw::<0>(splat(by as i32))).raw()
        }
    }

    /// Nearest neighbour by any factor, pixel centres aligned, of two equally near ones the lower: a random read a pixel.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, HO, WO]`.
    /// # Source
    /// The ONNX operator Resize, `half_pixel` and `round_prefer_floor`.
    #[kernel(reference = crate::nn::reference::resize_nearest)]
    pub fn resize_nearest<const C: usize, const H: usize, const W: usize, const HO: usize, const WO: usize>(
        x: &Ocm<i8, Planar<C, H, W>>,
        y: &mut Ocm<i8, Planar<C, HO, WO>>,
    ) {
        for t in y.tiles().pipelined(2) {
            // ceil(p / (2 * n_out) - 1/2), of whole numbers, not below 0.
            let py = position(q_row() + t.y(), H, HO) + (HO as i32 - 1);
            let px = position(q_col() + t.x(), W, WO) + (WO as i32 - 1);
            let iy = divided(max(py, 0), 2 * HO, 2 * HO * H);
            let ix = divided(max(px, 0), 2 * WO, 2 * WO * W);
            let place = min(iy, H as i32 - 1) * W as i32 + min(ix, W as i32 - 1);
            for c in 0..C {
                let (value, _inside) = x.gather(place + (c * H * W) as i32).wait();
                y.at(t).channels(c).store(value);
            }
        }
    }

    /// Bilinear by any factor, pixel centres aligned, edges repeated: four random reads a pixel.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, HO, WO]`.
    /// # Units
    /// `H` and `W` are below 1024. Weights have 20 fraction bits; results are rounded to 10 and cut toward zero, so that whole numbers
    /// stay what they are.
    /// # Source
    /// `NUMERICS.md`, Resize linear.
    #[kernel(reference = crate::nn::reference::resize_linear)]
    pub fn resize_linear<const C: usize, const H: usize, const W: usize, const HO: usize, const WO: usize>(
        x: &Ocm<i8, Planar<C, H, W>>,
        y: &mut Ocm<i8, Planar<C, HO, WO>>,
    ) {
        for t in y.tiles().pipelined(2) {
            let py = max(position(q_row() + t.y(), H, HO), 0);
            let px = max(position(q_col() + t.x(), W, WO), 0);
            let place_y = (fx_div::<F1>(fx_raw::<0>(py), fx_raw::<0>(splat(2 * HO as i32))).raw() + 1) >> 1;
            let place_x = (fx_div::<F1>(fx_raw::<0>(px), fx_raw::<0>(splat(2 * WO as i32))).raw() + 1) >> 1;
            let (wy, wx) = (fx_raw::<F>(place_y & ((1 << F) - 1)), place_x & ((1 << F) - 1));
            let iy = min(place_y >> F, H as i32 - 1);
            let ix = min(place_x >> F, W as i32 - 1);
            let iy1 = min(iy + 1, H as i32 - 1);
            let ix1 = min(ix + 1, W as i32 - 1);
            let width = W as i32;
            for c in 0..C {
                let plane = (c * H * W) as i32;
                let (upper_left, _a) = x.gather(iy * width + ix + plane).wait();
                let (upper_right, _b) = x.gather(iy * width + ix1 + plane).wait();
                let (lower_left, _c) = x.gather(iy1 * width + ix + plane).wait();
                let (lower_right, _d) = x.gather(iy1 * width + ix1 + plane).wait();
                let (ul, ur) = (upper_left.widen::<i32>(), upper_right.widen::<i32>());
                let (ll, lr) = (lower_left.widen::<i32>(), lower_right.widen::<i32>());
                let upper = (ul << F) + (ur - ul) * wx;
                let lower = (ll << F) + (lr - ll) * wx;
                let mixed = upper + fx_mul::<F>(fx_raw::<F>(lower - upper), wy).raw();
                let cut = mixed.shr_round(F - CUT, HalfUp).shr_round(CUT, TowardZero);
                y.at(t).channels(c).store(cut.narrow::<i8>(Saturate));
            }
        }
    }
}
