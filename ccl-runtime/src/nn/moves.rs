//! Data movement: layouts, concatenation, slices, padding, permutations. What keeps the order of bytes, a reshape, is `view` and
//! no kernel.

use ccl_runtime::ccl;

ccl! {
    /// Plane by plane to four channels a word.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`.
    #[kernel(reference = crate::nn::reference::same)]
    pub fn to_packed<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Planar<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
    ) {
        for t in x.tiles().chunks::<4>().pipelined(2) {
            y.at(t).store(t.fetch::<Lrm<i8, 4>>().wait());
        }
    }

    /// Four channels a word to plane by plane.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`.
    #[kernel(reference = crate::nn::reference::same)]
    pub fn to_planar<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Planar<C, H, W>>,
    ) {
        for t in x.tiles().chunks::<4>().pipelined(2) {
            y.at(t).store(t.fetch::<Lrm<i8, 4>>().wait());
        }
    }

    /// [`to_planar`] into planes with more rows, which become 0.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, HO, W]`; both take the same number of tiles.
    #[kernel(reference = crate::nn::reference::to_planar_with_rows)]
    pub fn to_planar_with_rows<const C: usize, const H: usize, const W: usize, const HO: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Planar<C, HO, W>>,
    ) {
        assert!(H <= HO && div_ceil(H, ROWS) == div_ceil(HO, ROWS), "what lies outside of `x` comes as zeros");
        for t in x.tiles().chunks::<4>().pipelined(2) {
            y.at(t).store(t.fetch::<Lrm<i8, 4>>().wait());
        }
    }

    /// Puts a tensor into a larger one, from a channel, row and column on: one input of a concatenation.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [CO, HO, WO]`; the first channel and `C` are multiples of 4, unless `C` ends `y`.
    #[kernel(reference = crate::nn::reference::put::<FIRST>)]
    pub fn put<
        const C: usize,
        const H: usize,
        const W: usize,
        const CO: usize,
        const HO: usize,
        const WO: usize,
        const FIRST: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<CO, HO, WO>>,
        row: usize,
        column: usize,
    ) {
        assert!(FIRST % 4 == 0 && (C % 4 == 0 || FIRST + C == CO), "whole words of 4 channels");
        let part = y.roi(row, column, H, W);
        for t in x.tiles().chunks::<4>().pipelined(2) {
            part.at(t).channels(FIRST).store(t.fetch::<Lrm<i8, 4>>().wait());
        }
    }

    /// Takes a tensor out of a larger one, from a channel, row and column on: a slice, or one output of a split.
    ///
    /// # Shapes
    /// `x: [CI, H, W]`, `y: [C, HO, WO]`; the first channel is a multiple of 4.
    #[kernel(reference = crate::nn::reference::slice::<FIRST>)]
    pub fn slice<
        const CI: usize,
        const H: usize,
        const W: usize,
        const C: usize,
        const HO: usize,
        const WO: usize,
        const FIRST: usize,
    >(
        x: &Ocm<i8, Packed<CI, H, W>>,
        y: &mut Ocm<i8, Packed<C, HO, WO>>,
        row: usize,
        column: usize,
    ) {
        assert!(FIRST % 4 == 0, "whole words of 4 channels");
        for t in y.tiles().chunks::<4>().pipelined(2) {
            let from = x.at(t).channels(FIRST).tap(row as i32, column as i32);
            y.at(t).store(from.fetch::<Lrm<i8, 4>>().wait());
        }
    }

    /// Surrounds a tensor with a constant.
    ///
    /// # Shapes
    /// `x: [C, H, W]`, `y: [C, HO, WO]`, `x` from row `above` and column `left` of `y` on.
    #[kernel(reference = crate::nn::reference::pad)]
    pub fn pad<const C: usize, const H: usize, const W: usize, const HO: usize, const WO: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, HO, WO>>,
        above: i32,
        left: i32,
        value: i8,
    ) {
        for t in y.tiles().chunks::<4>().pipelined(2) {
            let from = x.at(t).tap(-above, -left);
            let mut a = from.fetch::<Lrm<i8, 4>>().wait();
            let inside = from.inside();
            for c in 0..4 {
                a[c] = select(inside, a[c], splat(value));
            }
            y.at(t).store(a);
        }
    }

    /// Any permutation, slice with steps, reversal or repetition, by random access: element `[c, h, w]` of `y` is element
    /// `first + c * steps.0 + h * steps.1 + w * steps.2` of `x`.
    ///
    /// # Shapes
    /// `x: [N]`, the elements of a tensor in the order of memory; `y: [C, H, W]`.
    #[kernel(reference = crate::nn::reference::permute)]
    pub fn permute<const N: usize, const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Vector<N>>,
        y: &mut Ocm<i8, Planar<C, H, W>>,
        first: i32,
        steps: (i32, i32, i32),
    ) {
        for t in y.tiles() {
            let place = (q_row() + t.y()) * steps.1 + (q_col() + t.x()) * steps.2 + first;
            for c in 0..C {
                let (value, _inside) = x.gather(place + c as i32 * steps.0).wait();
                y.at(t).channels(c).store(value);
            }
        }
    }

    /// Rows of a table by index: row `i` of `y` is row `indices[i]` of `x`, of 0 where there is none.
    ///
    /// # Shapes
    /// `x: [R, D]`, row by row; `indices: [N]`; `y: [N, D]`.
    #[kernel(reference = crate::nn::reference::gather_rows)]
    pub fn gather_rows<const R: usize, const D: usize, const N: usize>(
        x: &Ocm<i8, Planar<1, R, D>>,
        indices: &Ocm<i32, Tokens<N, 1>>,
        y: &mut Ocm<i8, Tokens<N, D>>,
    ) {
        for t in indices.tiles() {
            let index = t.fetch::<Lrm<i32, 1>>().wait()[0];
            let mut row = Lrm::<i8, D>::new();
            for d in 0..D {
                let place = select(index < 0, splat(-1), index * D as i32 + d as i32);
                let (value, _inside) = x.gather(place).wait();
                row[d] = value;
            }
            y.at(t).store(row);
        }
    }
}
