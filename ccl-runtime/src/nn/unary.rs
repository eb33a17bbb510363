//! Functions of one int8 value: a table of 256 entries is exact for any of them, and costs one cycle.

use ccl_runtime::ccl;

ccl! {
    /// Replaces every element of a buffer by its entry of a table.
    #[inline]
    pub fn lookup_all<const N: usize>(values: &mut Lrm<i8, N>, table: &Lrm<i8, 256>) {
        for i in 0..N {
            values[i] = lookup(table, values[i]);
        }
    }

    /// Any function of an int8 value: sigmoid, tanh, GELU, leaky ReLU, a requantisation; [`tables`](crate::nn::tables) makes them.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`; `table: [256]`, entry `v mod 256` that of `v`.
    /// # Source
    /// `NUMERICS.md`, QLinearSigmoid and others.
    #[kernel(reference = crate::nn::reference::unary)]
    pub fn unary<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        table: &Ocm<i8, Vector<256>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
    ) {
        let table = broadcast(table).fill::<Lrm<i8, 256>>();
        for t in x.tiles().chunks::<4>().pipelined(2) {
            let a = t.fetch::<Lrm<i8, 4>>().wait();
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                out[c] = lookup(table, a[c]);
            }
            y.at(t).store(out);
        }
    }

    /// What lies below the zero point becomes the zero point; input and output have the same scale.
    ///
    /// # Shapes
    /// `x, y: [C, H, W]`.
    #[kernel(reference = crate::nn::reference::relu)]
    pub fn relu<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        zero_point: i8,
    ) {
        for t in x.tiles().chunks::<4>().pipelined(2) {
            let a = t.fetch::<Lrm<i8, 4>>().wait();
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                out[c] = max(a[c], zero_point);
            }
            y.at(t).store(out);
        }
    }
}
