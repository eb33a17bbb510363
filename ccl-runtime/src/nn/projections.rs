//! Queries, keys and values of an attention whose positions are added to what becomes queries and keys, in one kernel.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::elementwise::added;
    use crate::nn::requantise::biased;

    /// `q, k: query(x + positions), key(x + positions)`, `v: value(x)`, each stage in int8.
    ///
    /// # Shapes
    /// `x, positions: [C, H, W]`, tokens as pixels; `query`, `key`, `value`: addends and weights as of
    /// [`dense_bias`](crate::nn::matmul::dense_bias); `q, k: [CO, H, W]`; `v: [CO, HP, W]`, plane by plane, 0 in rows behind `H`, which are in the
    /// same tiles. `CO` is a multiple of 4.
    /// # Units
    /// `steps`: those of `x` and `positions` over those of their sum; the other scales as in [`dense_bias`](crate::nn::matmul::dense_bias). No
    /// tensor has a zero point.
    /// # Source
    /// `NUMERICS.md`: QLinearAdd, QLinearMatMul, QLinearAdd.
    #[kernel(reference = crate::nn::reference::projections)]
    pub fn projections<
        const C: usize,
        const CO: usize,
        const H: usize,
        const W: usize,
        const HP: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        positions: &Ocm<i8, Packed<C, H, W>>,
        query: &Ocm<i8, Stream<CO, C>>,
        key: &Ocm<i8, Stream<CO, C>>,
        value: &Ocm<i8, Stream<CO, C>>,
        q: &mut Ocm<i8, Packed<CO, H, W>>,
        k: &mut Ocm<i8, Packed<CO, H, W>>,
        v: &mut Ocm<i8, Planar<CO, HP, W>>,
        steps: (Scale, Scale),
        query_scales: (Scale, Scale),
        key_scales: (Scale, Scale),
        value_scales: (Scale, Scale),
    ) {
        assert!(CO % 4 == 0, "outputs come in fours");
        assert!(H <= HP && div_ceil(H, ROWS) == div_ceil(HP, ROWS), "rows behind `H` are in the same tiles");
        for t in x.tiles().pipelined(2) {
            let flow = t.fetch::<Lrm<i8, C>>();
            let flow_positions = positions.at(t).fetch::<Lrm<i8, C>>();
            let mut a = flow.wait();
            let inside = t.inside();
            let mut weights = broadcast(value);
            for o in (0..CO).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(a, weights.take::<4>());
                let mut own = biased::<4>(product, biases, value_scales);
                for i in 0..4 {
                    own[i] = select(inside, own[i], splat(0i8));
                }
                v.at(t).channels(o).store(own);
            }
            let b = flow_positions.wait();
            for c in 0..C {
                a[c] = added(a[c], b[c], steps, (0, 0, 0));
            }
            let mut weights = broadcast(query);
            for o in (0..CO).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(a, weights.take::<4>());
                q.at(t).channels(o).store(biased::<4>(product, biases, query_scales));
            }
            let mut weights = broadcast(key);
            for o in (0..CO).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(a, weights.take::<4>());
                k.at(t).channels(o).store(biased::<4>(product, biases, key_scales));
            }
        }
    }
}
