//! Arg-max over channels: the label map of a segmentation network.

use ccl_runtime::ccl;

ccl! {
    /// Index of the greatest channel of each pixel; of equal ones the first.
    ///
    /// # Shapes
    /// `x: [C, H, W]` with at most 256 channels; `labels: [1, H, W]`.
    #[kernel(reference = crate::nn::reference::argmax)]
    pub fn argmax<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        labels: &mut Ocm<u8, Planar<1, H, W>>,
    ) {
        assert!(C <= 256, "a label has 8 bits");
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, C>>().wait();
            let mut best = a[0];
            let mut label = splat(0i32);
            for c in 1..C {
                label = select(a[c] > best, splat(c as i32), label);
                best = max(best, a[c]);
            }
            labels.at(t).store(label.narrow::<u8>(Wrap));
        }
    }

    /// A line of a patch: each logit of it with its channel's rank, where that is greater than what is there.
    #[inline]
    fn rank_line<const S: usize, const PATCH: usize>(
        best: &mut Lrm<i32, PATCH>,
        dy: usize,
        line: Q<i32>,
        rank: Q<i32>,
        has: (Q<i32>, Q<i32>),
    ) {
        let base = line * (2 * S as i32);
        let west = (shift(line, East, 1) - line) & has.0;
        let east = (shift(line, West, 1) - line) & has.1;
        for dx in 0..S {
            let far = abs(S as i32 - (2 * dx + 1) as i32);
            let other = if 2 * dx < S { west } else { east };
            let logit = (base + other * far).shr_round(8, TowardZero) << 8;
            best[dy * S + dx] = max(best[dy * S + dx], logit + rank);
        }
    }

    /// Arg-max of logits that are enlarged by `S`, 2, 4 or 8, without the enlarged ones: pixel centres aligned, edges repeated, as of
    /// [`enlarge_linear`](crate::nn::resize::enlarge_linear) and [`argmax`].
    ///
    /// A PE makes the patch of labels of its pixel. What is compared holds the channel too: the enlarged logit in steps of 256, less the channel.
    /// Labels leave by words of 4 columns.
    ///
    /// # Shapes
    /// `x: [C, H, W]` with at most 256 channels; `labels: [1, S * H, S * W]`, `S` 4 or 8; `PATCH = S * S`, `WORDS = S / 4`, `WV = WORDS * W`.
    /// # Source
    /// `NUMERICS.md`, Resize linear: exact, cut toward zero as ONNX Runtime's; of equal channels the first.
    #[kernel(reference = crate::nn::reference::enlarge_argmax::<S>)]
    pub fn enlarge_argmax<
        const C: usize,
        const H: usize,
        const W: usize,
        const HO: usize,
        const WO: usize,
        const S: usize,
        const PATCH: usize,
        const WORDS: usize,
        const WV: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        labels: &mut Ocm<u8, Planar<1, HO, WO>>,
    ) {
        assert!(C <= 256, "a label has 8 bits");
        assert!(HO == S * H && WO == S * W && PATCH == S * S, "a patch for each pixel");
        assert!(S == 4 || S == 8, "a row of a patch is whole words, and a neighbour is one pixel away");
        assert!(WORDS * 4 == S && WV == WORDS * W, "words of a row");
        // The logit in steps of 256 after both directions.
        let whole = 2 * S as i32;
        let unit = 256 / whole / whole;
        for place in x.tiles().halo(1).pipelined(2) {
            let row = q_row() + place.y();
            let column = q_col() + place.x();
            // All bits where there is a neighbour, none where the edge is repeated: then nothing is added.
            let has_north = select(row == 0, splat(0), splat(-1));
            let has_south = select(row == H as i32 - 1, splat(0), splat(-1));
            let has_west = select(column == 0, splat(0), splat(-1));
            let has_east = select(column == W as i32 - 1, splat(0), splat(-1));
            let mut best = Lrm::<i32, PATCH>::filled(-(1 << 30));
            for t in place.chunks::<4>() {
                let a = t.fetch::<Lrm<i8, 12>>().wait();
                for c in 0..4 {
                    let channel = (t.channel() + c) as i32;
                    // Channels that only fill up the last four are never the greatest.
                    let rank = splat(255 - channel + (((C as i32 - 1 - channel) >> 31) << 24));
                    let middle = a.row(0)[c].widen::<i32>();
                    let above = (a.row(-1)[c].widen::<i32>() - middle) * unit & has_north;
                    let below = (a.row(1)[c].widen::<i32>() - middle) * unit & has_south;
                    // Lines of the patch from its middle outward.
                    let mut upper = middle * (whole * unit) + above;
                    let mut lower = middle * (whole * unit) + below;
                    for i in 0..S / 2 {
                        rank_line::<S, PATCH>(&mut best, S / 2 - 1 - i, upper, rank, (has_west, has_east));
                        rank_line::<S, PATCH>(&mut best, S / 2 + i, lower, rank, (has_west, has_east));
                        upper += above * 2;
                        lower += below * 2;
                    }
                }
            }
            let mut out = Lrm::<u8, PATCH>::new();
            for i in 0..PATCH {
                out[i] = (best[i] ^ 255).narrow::<u8>(Wrap);
            }
            // Words of a row are pixels of 4 channels.
            labels.view::<Packed<4, HO, WV>>().at(place).block::<S, WORDS>().store(out);
        }
    }
}
