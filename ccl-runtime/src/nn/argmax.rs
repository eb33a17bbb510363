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
            let (first_row, last_row) = (row == 0, row == H as i32 - 1);
            let (first_column, last_column) = (column == 0, column == W as i32 - 1);
            let mut best = Lrm::<i32, PATCH>::filled(-(1 << 30));
            for t in place.chunks::<4>() {
                let a = t.fetch::<Lrm<i8, 12>>().wait();
                for c in 0..4 {
                    let channel = (t.channel() + c) as i32;
                    // Channels that only fill up the last four are never the greatest.
                    let rank = 255 - channel + (((C as i32 - 1 - channel) >> 31) << 24);
                    let middle = a.row(0)[c].widen::<i32>() * unit;
                    let above = select(first_row, middle, a.row(-1)[c].widen::<i32>() * unit);
                    let below = select(last_row, middle, a.row(1)[c].widen::<i32>() * unit);
                    for dy in 0..S {
                        let far = abs(S as i32 - (2 * dy + 1) as i32);
                        let other = if 2 * dy < S { above } else { below };
                        let line = middle * (whole - far) + other * far;
                        let base = line * whole;
                        let west = select(first_column, line, shift(line, East, 1)) - line;
                        let east = select(last_column, line, shift(line, West, 1)) - line;
                        for dx in 0..S {
                            let far = abs(S as i32 - (2 * dx + 1) as i32);
                            let other = if 2 * dx < S { west } else { east };
                            let logit = (base + other * far).shr_round(8, TowardZero) << 8;
                            best[dy * S + dx] = max(best[dy * S + dx], logit + rank);
                        }
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
