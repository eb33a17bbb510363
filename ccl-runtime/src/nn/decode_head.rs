//! The decode head of a SegFormer in one kernel: enlarged maps, their concatenation and what is fused from it never leave local
//! memory.
//!
//! The whole image lies on the array, `BY` rows of 4 neighbouring pixels on a PE, so that what an enlargement reads is in the PE or comes
//! over from the next ones. A PE has those elements of the small maps that its pixels lie in; an element that is larger than that lies in
//! several PEs. All channels of the concatenation are there for one pixel at a time.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::requantise::{biased, requantised};

    /// Columns of a PE.
    const BX: usize = 4;
    /// Channels of which neighbours are fetched together.
    const GROUP: usize = 16;

    /// Gives each PE what lies at its row over `down` and its column over `across`, powers of two.
    #[inline]
    fn spread<const N: usize>(map: &mut Lrm<i8, N>, down: usize, across: usize) {
        // The farthest hops first: so no PE is asked for two things.
        if down > 1 {
            for step in 0..log2(ROWS) {
                let hops = (ROWS / 2) >> step;
                let row = q_row();
                let moves = ((row - (row >> log2(down) as i32)) & hops as i32) != 0;
                for i in 0..N / GROUP {
                    let g = i * GROUP;
                    let moved = shift(map.slice::<GROUP>(g), South, hops);
                    if moves {
                        map[g..g + GROUP] = moved;
                    }
                }
            }
        }
        if across > 1 {
            for step in 0..log2(COLS) {
                let hops = (COLS / 2) >> step;
                let column = q_col();
                let moves = ((column - (column >> log2(across) as i32)) & hops as i32) != 0;
                for i in 0..N / GROUP {
                    let g = i * GROUP;
                    let moved = shift(map.slice::<GROUP>(g), East, hops);
                    if moves {
                        map[g..g + GROUP] = moved;
                    }
                }
            }
        }
    }

    /// Weight of the nearer neighbour of two elements whose distance is `S` pixels, in `1 / (2 * S)`: of pixel `i` of `n`; at an edge the element
    /// counts alone.
    #[inline]
    fn nearer(i: Q<i32>, n: usize, s: usize) -> Q<i32> {
        let half = (s / 2) as i32;
        let far = abs((i & (s as i32 - 1)) * 2 + (1 - s as i32));
        select(i < half || i >= n as i32 - half, splat(2 * s as i32), 2 * s as i32 - far)
    }

    /// The next elements above or below those of a column of a map, whichever is the nearer to line `line` of a PE's pixels.
    #[inline]
    fn beside<const MAP: usize>(
        map: &Lrm<i8, MAP>,
        s: usize,
        by: usize,
        line: usize,
        pitch: usize,
        at: usize,
    ) -> Lrm<i8, GROUP> {
        let held = max(by / s, 1);
        let own = line / s % held;
        let mut other = Lrm::<i8, GROUP>::new();
        if s > by {
            // Several PEs have the element: those in its first half want the one above.
            let half = s / by / 2;
            let north = shift(map.slice::<GROUP>(at), South, half);
            other[0..GROUP] = shift(map.slice::<GROUP>(at), North, half);
            if (q_row() & (2 * half) as i32 - 1) < half as i32 {
                other[0..GROUP] = north;
            }
        } else if line % s < s / 2 {
            let hops = 1 - min(own, 1);
            other[0..GROUP] = shift(map.slice::<GROUP>((own + held - 1) % held * pitch + at), South, hops);
        } else {
            let hops = (own + 1) / held;
            other[0..GROUP] = shift(map.slice::<GROUP>((own + 1) % held * pitch + at), North, hops);
        }
        other
    }

    /// One pixel of each PE of a map that is enlarged by `s`, in steps of the concatenation: `D` channels of it from `first` on.
    #[inline]
    fn enlarged<const D: usize, const MAP: usize, const ALL: usize>(
        map: &Lrm<i8, MAP>,
        table: &Lrm<i8, 256>,
        all: &mut Lrm<i8, ALL>,
        first: usize,
        s: usize,
        by: usize,
        extents: (usize, usize),
        line: usize,
        column: usize,
    ) {
        let held = max(BX / s, 1);
        let own = column / s % held;
        let (whole, pitch) = (2 * s as i32, held * D);
        let ny = nearer(q_row() * by as i32 + line as i32, extents.0, s);
        let nx = nearer(q_col() * BX as i32 + column as i32, extents.1, s);
        let (fy, fx) = (whole - ny, whole - nx);
        let (here, vertical, horizontal, diagonal) = (ny * nx, fy * nx, ny * fx, fy * fx);
        for i in 0..D / GROUP {
            let g = i * GROUP;
            let row = line / s % max(by / s, 1) * pitch;
            let m = map.slice::<GROUP>(row + own * D + g);
            let v = beside(map, s, by, line, pitch, own * D + g);
            let mut h = Lrm::<i8, GROUP>::new();
            let mut d = Lrm::<i8, GROUP>::new();
            if s > BX {
                let (west, north_west) = (shift(m, East, 1), shift(&v, East, 1));
                h[0..GROUP] = shift(m, West, 1);
                d[0..GROUP] = shift(&v, West, 1);
                if (q_col() & 1) == 0 {
                    h[0..GROUP] = west;
                    d[0..GROUP] = north_west;
                }
            } else if column % s < s / 2 {
                let (next, hops) = ((own + held - 1) % held * D + g, 1 - min(own, 1));
                h[0..GROUP] = shift(map.slice::<GROUP>(row + next), East, hops);
                d[0..GROUP] = shift(&beside(map, s, by, line, pitch, next), East, hops);
            } else {
                let (next, hops) = ((own + 1) % held * D + g, (own + 1) / held);
                h[0..GROUP] = shift(map.slice::<GROUP>(row + next), West, hops);
                d[0..GROUP] = shift(&beside(map, s, by, line, pitch, next), West, hops);
            }
            for c in 0..GROUP {
                let sum = m[c].widen::<i32>() * here
                    + v[c].widen::<i32>() * vertical
                    + h[c].widen::<i32>() * horizontal
                    + d[c].widen::<i32>() * diagonal;
                all[first + g + c] = lookup(table, sum.shr_round(2 * log2(2 * s), TowardZero));
            }
        }
    }

    /// Four maps, of which three are enlarged, concatenated, fused by a dense layer, a table and a dense layer:
    /// `y = classify(gate(fuse(concat(x8 by 8, x4 by 4, x2 by 2, project(x1)))))`, each stage in int8.
    ///
    /// # Shapes
    /// `x1: [C, H, W]`; `x2: [D, H / 2, W / 2]`, `x4` and `x8` by 4 and 8; `y: [K, H, W]`. `project`, `fuse`, `classify`: biases and weights of
    /// dense layers `C -> D`, `ALL -> E`, `E -> K`. `tables: [4 * 256]`: what the steps of `x8`, `x4`, `x2` and of the projection become in the
    /// concatenation; `gate: [256]`; entries as of [`unary`](crate::nn::unary::unary).
    ///
    /// `H` and `W` are multiples of 8; `BY` is 1, 2 or 4, and `HV = H / BY`, `WV = W * BY`; `HV` and `WU = W / 4` are at most the rows and columns of the
    /// array. `X = 4 * C`, `R2` is 2 for a `BY` of 4, else 1, and `M2 = 2 * R2 * D`, `ALL = 4 * D`, `Y` is 4 times `K`, rounded up to 4; `C` is a multiple
    /// of 4, `D` of 16.
    /// # Units
    /// Scales of `project` and its biases are those of [`dense_bias`](crate::nn::matmul::dense_bias). `fuse_scale` and `classify_scale` are
    /// `s_x * s_w / s_y`. No tensor has a zero point.
    /// # Source
    /// `NUMERICS.md`: Resize linear, QLinearMatMul, QLinearAdd, QLinearConcat, QLinearConv, a table, QLinearConv.
    #[kernel(reference = crate::nn::reference::decode_head)]
    pub fn decode_head<
        const C: usize,
        const D: usize,
        const E: usize,
        const K: usize,
        const H: usize,
        const W: usize,
        const H2: usize,
        const W2: usize,
        const H4: usize,
        const W4: usize,
        const H8: usize,
        const W8: usize,
        const BY: usize,
        const HV: usize,
        const WV: usize,
        const X: usize,
        const R2: usize,
        const M2: usize,
        const ALL: usize,
        const Y: usize,
    >(
        x1: &Ocm<i8, Packed<C, H, W>>,
        x2: &Ocm<i8, Packed<D, H2, W2>>,
        x4: &Ocm<i8, Packed<D, H4, W4>>,
        x8: &Ocm<i8, Packed<D, H8, W8>>,
        project: &Ocm<i8, Stream<D, C>>,
        tables: &Ocm<i8, Vector<1024>>,
        fuse: &Ocm<i8, Stream<E, ALL>>,
        gate: &Ocm<i8, Vector<256>>,
        classify: &Ocm<i8, Stream<K, E>>,
        y: &mut Ocm<i8, Packed<K, H, W>>,
        project_scales: (Scale, Scale),
        fuse_scale: Scale,
        classify_scale: Scale,
    ) {
        assert!(H % 8 == 0 && W % 8 == 0, "elements of the smallest map are whole");
        assert!(BY == 1 || BY == 2 || BY == 4, "a PE has 1, 2 or 4 rows");
        assert!(HV * BY == H && WV == W * BY && HV <= ROWS && W <= BX * COLS, "the array has all pixels");
        assert!(H2 * 2 == H && W2 * 2 == W && H4 * 4 == H && W4 * 4 == W && H8 * 8 == H && W8 * 8 == W, "maps get smaller");
        assert!(ALL == 4 * D && X == BX * C && R2 == max(BY / 2, 1) && M2 == 2 * R2 * D, "what a PE holds");
        assert!(Y == BX * next_multiple_of(K, 4), "what a PE holds");
        assert!(C % 4 == 0 && D % GROUP == 0 && E % 4 == 0, "channels come in fours, those of maps in sixteens");
        let gate = broadcast(gate).fill::<Lrm<i8, 256>>();
        let mut map8 = Lrm::<i8, D>::new();
        for t in x8.tiles() {
            map8[0..D] = t.fetch::<Lrm<i8, D>>().wait();
        }
        spread::<D>(&mut map8, 8 / BY, 2);
        let mut map4 = Lrm::<i8, D>::new();
        for t in x4.tiles() {
            map4[0..D] = t.fetch::<Lrm<i8, D>>().wait();
        }
        spread::<D>(&mut map4, 4 / BY, 1);
        let mut map2 = Lrm::<i8, M2>::new();
        for t in x2.tiles().block::<R2, 2>() {
            map2[0..M2] = t.fetch::<Lrm<i8, M2>>().wait();
        }
        spread::<M2>(&mut map2, max(2 / BY, 1), 1);
        let mut table = Lrm::<i8, 256>::new();
        let mut all = Lrm::<i8, ALL>::new();
        let mut fused = Lrm::<i8, E>::new();
        // Row `r` of this view is rows `r * BY..` of the image, one after the other: its tiles are lines of the PEs.
        let lines = y.view::<Packed<K, HV, WV>>();
        let from = x1.view::<Packed<C, HV, WV>>();
        for t in lines.tiles().block::<1, BX>().grid(HV, W / BX).pipelined(2) {
            let line = t.index();
            let a = from.at(t).fetch::<Lrm<i8, X>>().wait();
            let mut out = Lrm::<i8, Y>::new();
            for column in 0..BX {
                let mut tables = broadcast(tables);
                table[0..256] = tables.fill::<Lrm<i8, 256>>();
                enlarged::<D, D, ALL>(&map8, &table, &mut all, 0, 8, BY, (H, W), line, column);
                table[0..256] = tables.fill::<Lrm<i8, 256>>();
                enlarged::<D, D, ALL>(&map4, &table, &mut all, D, 4, BY, (H, W), line, column);
                table[0..256] = tables.fill::<Lrm<i8, 256>>();
                enlarged::<D, M2, ALL>(&map2, &table, &mut all, 2 * D, 2, BY, (H, W), line, column);
                table[0..256] = tables.fill::<Lrm<i8, 256>>();
                let mut weights = broadcast(project);
                for o in (0..D).step_by(4) {
                    let biases = weights.bias::<4>();
                    let product = mac(a.slice::<C>(column * C), weights.take::<4>());
                    let steps = biased::<4>(product, biases, project_scales);
                    for i in 0..4 {
                        all[3 * D + o + i] = lookup(&table, steps[i]);
                    }
                }
                let mut weights = broadcast(fuse);
                for o in (0..E).step_by(4) {
                    let acc = weights.bias::<4>() + mac(all, weights.take::<4>());
                    let steps = requantised::<4>(acc, fuse_scale, 0);
                    for i in 0..4 {
                        fused[o + i] = lookup(gate, steps[i]);
                    }
                }
                let mut weights = broadcast(classify);
                for o in (0..K).step_by(4) {
                    let acc = weights.bias::<4>() + mac(fused, weights.take::<4>());
                    let at = column * (Y / BX) + o;
                    out[at..at + 4] = requantised::<4>(acc, classify_scale, 0);
                }
            }
            lines.at(t).store(out);
        }
    }
}
