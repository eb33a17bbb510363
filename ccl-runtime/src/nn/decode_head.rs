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

    /// The elements above or below those of a column of a map, whichever are the nearer to line `line` of a PE's pixels.
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
        let distance = max(s / by / 2, 1);
        let own = line / s % held;
        let is_above = 1 - min(line % s / (s / 2), 1);
        let next = (own + 1 + (3 * held - 2) * is_above) % held;
        let hops = (is_above * (1 - min(own, 1)) + (1 - is_above) * ((own + 1) / held)) * distance;
        let from = map.slice::<GROUP>(next * pitch + at);
        let mut other = shift(shift(from, South, hops * is_above), North, hops * (1 - is_above));
        if s > by {
            // Several PEs have the element: those in its second half want the one below.
            let below = shift(map.slice::<GROUP>(at), North, distance);
            if (q_row() & (2 * distance) as i32 - 1) >= distance as i32 {
                other[0..GROUP] = below;
            }
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
        let is_west = 1 - min(column % s / (s / 2), 1);
        let next = (own + 1 + (3 * held - 2) * is_west) % held;
        let hops = is_west * (1 - min(own, 1)) + (1 - is_west) * ((own + 1) / held);
        let (east, west) = (hops * is_west, hops * (1 - is_west));
        let (whole, pitch) = (2 * s as i32, held * D);
        let ny = nearer(q_row() * by as i32 + line as i32, extents.0, s);
        let nx = nearer(q_col() * BX as i32 + column as i32, extents.1, s);
        let (fy, fx) = (whole - ny, whole - nx);
        let (here, vertical, horizontal, diagonal) = (ny * nx, fy * nx, ny * fx, fy * fx);
        let row = line / s % max(by / s, 1) * pitch;
        for i in 0..D / GROUP {
            let g = i * GROUP;
            let v = beside(map, s, by, line, pitch, own * D + g);
            let mut h = shift(shift(map.slice::<GROUP>(row + next * D + g), East, east), West, west);
            let mut d = shift(shift(&beside(map, s, by, line, pitch, next * D + g), East, east), West, west);
            if s > BX {
                // Two PEs have the element: the second one wants the next to the east.
                let east_of = shift(map.slice::<GROUP>(row + g), West, 1);
                let diagonal_east = shift(&v, West, 1);
                if (q_col() & 1) != 0 {
                    h[0..GROUP] = east_of;
                    d[0..GROUP] = diagonal_east;
                }
            }
            for c in 0..GROUP {
                let sum = map[row + own * D + g + c].widen::<i32>() * here
                    + v[c].widen::<i32>() * vertical
                    + h[c].widen::<i32>() * horizontal
                    + d[c].widen::<i32>() * diagonal;
                all[first + g + c] = lookup(table, sum.shr_round(2 * log2(2 * s), TowardZero));
            }
        }
    }

    /// A dense layer with its biases, of one pixel of each PE: `D` channels from `to` on.
    #[inline]
    fn projected<const C: usize, const D: usize, const X: usize, const Y: usize>(
        x: &Lrm<i8, X>,
        w: &Ocm<i8, Stream<D, C>>,
        y: &mut Lrm<i8, Y>,
        from: usize,
        to: usize,
        scales: (Scale, Scale),
    ) {
        let mut weights = broadcast(w);
        for o in 0..D / 4 {
            let biases = weights.bias::<4>();
            let product = mac(x.slice::<C>(from), weights.take::<4>());
            y[to + 4 * o..to + 4 * o + 4] = biased::<4>(product, biases, scales);
        }
    }

    /// A buffer that leaves while what it is a copy of is written again.
    #[inline]
    fn copied<const N: usize>(x: &Lrm<i8, N>) -> Lrm<i8, N> {
        let mut copy = Lrm::<i8, N>::new();
        copy[0..N] = shift(x, East, 0);
        copy
    }

    /// Four levels, each through a dense layer, three of them enlarged, concatenated, fused by a dense layer, a table and a dense layer:
    /// `y = classify(gate(fuse(concat(p8(x8) by 8, p4(x4) by 4, p2(x2) by 2, p1(x1)))))`, each stage in int8.
    ///
    /// # Shapes
    /// `x1: [C1, H, W]`; `x2: [C2, H / 2, W / 2]`, `x4` and `x8` by 4 and 8; `y: [K, H, W]`. `project1..8`, `fuse`, `classify`: biases and
    /// weights of dense layers from those channels to `D`, from `ALL` to `E`, from `E` to `K`. `tables: [4 * 256]`: what the steps of levels 8, 4, 2
    /// and 1 become in the concatenation; `gate: [256]`; entries as of [`unary`](crate::nn::unary::unary).
    ///
    /// `H` and `W` are multiples of 8; `BY` is 1, 2 or 4, and `HV = H / BY`, `WV = W * BY`; the array has `HV` rows and `W / 4` columns or more.
    /// `X1 = 4 * C1`; `R2` is 2 for a `BY` of 4, else 1; `X2 = 2 * R2 * C2`, `M2 = 2 * R2 * D`, `ALL = 4 * D`; `Y` is 4 times `K`, rounded up to 4. `C1` and
    /// `E` are multiples of 4; `D`, `C2`, `C4`, `C8` of 16.
    /// # Units
    /// `scales1..8` are those of the levels as of [`dense_bias`](crate::nn::matmul::dense_bias), whose biases are those of `project1..8` too.
    /// `fuse_scale` and `classify_scale` are `s_x * s_w / s_y`. No tensor has a zero point.
    /// # Source
    /// `NUMERICS.md`: QLinearMatMul, QLinearAdd, Resize linear, QLinearConcat, QLinearConv, a table, QLinearConv.
    #[kernel(reference = crate::nn::reference::decode_head)]
    pub fn decode_head<
        const C1: usize,
        const C2: usize,
        const C4: usize,
        const C8: usize,
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
        const X1: usize,
        const R2: usize,
        const X2: usize,
        const M2: usize,
        const ALL: usize,
        const Y: usize,
    >(
        x1: &Ocm<i8, Packed<C1, H, W>>,
        x2: &Ocm<i8, Packed<C2, H2, W2>>,
        x4: &Ocm<i8, Packed<C4, H4, W4>>,
        x8: &Ocm<i8, Packed<C8, H8, W8>>,
        project1: &Ocm<i8, Stream<D, C1>>,
        project2: &Ocm<i8, Stream<D, C2>>,
        project4: &Ocm<i8, Stream<D, C4>>,
        project8: &Ocm<i8, Stream<D, C8>>,
        tables: &Ocm<i8, Vector<1024>>,
        fuse: &Ocm<i8, Stream<E, ALL>>,
        gate: &Ocm<i8, Vector<256>>,
        classify: &Ocm<i8, Stream<K, E>>,
        y: &mut Ocm<i8, Packed<K, H, W>>,
        scales1: (Scale, Scale),
        scales2: (Scale, Scale),
        scales4: (Scale, Scale),
        scales8: (Scale, Scale),
        fuse_scale: Scale,
        classify_scale: Scale,
    ) {
        assert!(H % 8 == 0 && W % 8 == 0, "elements of the smallest map are whole");
        assert!(BY == 1 || BY == 2 || BY == 4, "a PE has 1, 2 or 4 rows");
        assert!(HV * BY == H && WV == W * BY && HV <= ROWS && W <= BX * COLS, "the array has all pixels");
        assert!(H2 * 2 == H && W2 * 2 == W && H4 * 4 == H && W4 * 4 == W && H8 * 8 == H && W8 * 8 == W, "maps get smaller");
        assert!(R2 == max(BY / 2, 1) && X2 == 2 * R2 * C2 && M2 == 2 * R2 * D, "what a PE holds of the second level");
        assert!(ALL == 4 * D && X1 == BX * C1 && Y == BX * next_multiple_of(K, 4), "what a PE holds");
        assert!(C1 % 4 == 0 && E % 4 == 0, "channels come in fours");
        assert!(D % GROUP == 0 && C2 % GROUP == 0 && C4 % GROUP == 0 && C8 % GROUP == 0, "those of maps come in sixteens");
        // Row `r` of these views is rows `r * BY..` of the image, one after the other.
        let lines = y.view::<Packed<K, HV, WV>>();
        let from = x1.view::<Packed<C1, HV, WV>>();
        let gate = broadcast(gate).fill::<Lrm<i8, 256>>();
        let mut map8 = Lrm::<i8, D>::new();
        let mut map4 = Lrm::<i8, D>::new();
        let mut map2 = Lrm::<i8, M2>::new();
        for t in x8.tiles() {
            let flow8 = t.fetch::<Lrm<i8, C8>>();
            let flow4 = x4.at(t).fetch::<Lrm<i8, C4>>();
            let mut level8 = flow8.wait();
            let flow2 = x2.at(t).block::<R2, 2>().fetch::<Lrm<i8, X2>>();
            spread::<C8>(&mut level8, 8 / BY, 2);
            projected::<C8, D, C8, D>(&level8, project8, &mut map8, 0, 0, scales8);
            let mut level4 = flow4.wait();
            let flow1 = from.at(t).grid(HV, W / BX).block::<1, BX>().fetch::<Lrm<i8, X1>>();
            spread::<C4>(&mut level4, 4 / BY, 1);
            projected::<C4, D, C4, D>(&level4, project4, &mut map4, 0, 0, scales4);
            let mut level2 = flow2.wait();
            spread::<X2>(&mut level2, max(2 / BY, 1), 1);
            for p in 0..2 * R2 {
                projected::<C2, D, X2, M2>(&level2, project2, &mut map2, p * C2, p * D, scales2);
            }
            let mut pixels = flow1.wait();
            let mut table = Lrm::<i8, 256>::new();
            let mut all = Lrm::<i8, ALL>::new();
            let mut fused = Lrm::<i8, E>::new();
            let mut out = Lrm::<i8, Y>::new();
            for line in 0..BY {
                let next = from.at(t).grid(HV, W / BX).block::<1, BX>().tap(0, (min(line + 1, BY - 1) * W) as i32);
                let flow = next.fetch::<Lrm<i8, X1>>();
                for column in 0..BX {
                    let mut tables = broadcast(tables);
                    table[0..256] = tables.fill::<Lrm<i8, 256>>();
                    enlarged::<D, D, ALL>(&map8, &table, &mut all, 0, 8, BY, (H, W), line, column);
                    table[0..256] = tables.fill::<Lrm<i8, 256>>();
                    enlarged::<D, D, ALL>(&map4, &table, &mut all, D, 4, BY, (H, W), line, column);
                    table[0..256] = tables.fill::<Lrm<i8, 256>>();
                    enlarged::<D, M2, ALL>(&map2, &table, &mut all, 2 * D, 2, BY, (H, W), line, column);
                    table[0..256] = tables.fill::<Lrm<i8, 256>>();
                    projected::<C1, D, X1, ALL>(&pixels, project1, &mut all, column * C1, 3 * D, scales1);
                    for c in 3 * D..4 * D {
                        all[c] = lookup(&table, all[c]);
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
                let to = lines.at(t).grid(HV, W / BX).block::<1, BX>().tap(0, (line * W) as i32);
                if Y <= 256 {
                    to.store(copied::<Y>(&out));
                } else {
                    to.store(out);
                }
                pixels[0..X1] = flow.wait();
            }
        }
    }
}
