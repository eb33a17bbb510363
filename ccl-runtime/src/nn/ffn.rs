//! The feed-forward block of a transformer in one kernel: its hidden features never leave local memory.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::requantise::{biased, sums};

    /// `y = skip + project(table(expand(x)))`, each stage in int8, the tokens on `ROWS_USED` x `COLS_USED` PEs.
    ///
    /// # Shapes
    /// `x, skip, y: [N, C]`; `expand` and `project`: addends and weights as of [`dense_bias`](crate::nn::matmul::dense_bias); `table: [256]` as
    /// of [`unary`](crate::nn::unary::unary). `C` and `HIDDEN` are multiples of 4.
    /// # Units
    /// `expand_scales` and `project_scales` as in [`dense_bias`](crate::nn::matmul::dense_bias); `residual`: the steps of the block and of `skip`
    /// over those of `y`. No tensor has a zero point.
    /// # Source
    /// `NUMERICS.md`: QLinearMatMul, QLinearAdd, a table, QLinearMatMul, QLinearAdd, QLinearAdd.
    #[kernel(reference = crate::nn::reference::ffn_table)]
    pub fn ffn_table<
        const N: usize,
        const C: usize,
        const HIDDEN: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
    >(
        x: &Ocm<i8, Tokens<N, C>>,
        skip: &Ocm<i8, Tokens<N, C>>,
        expand: &Ocm<i8, Stream<HIDDEN, C>>,
        table: &Ocm<i8, Vector<256>>,
        project: &Ocm<i8, Stream<C, HIDDEN>>,
        y: &mut Ocm<i8, Tokens<N, C>>,
        expand_scales: (Scale, Scale),
        project_scales: (Scale, Scale),
        residual: (Scale, Scale),
    ) {
        assert!(C % 4 == 0 && HIDDEN % 4 == 0, "features come in fours");
        let table = broadcast(table).fill::<Lrm<i8, 256>>();
        for t in x.tiles().grid(ROWS_USED, COLS_USED) {
            let flow = t.fetch::<Lrm<i8, C>>();
            let flow_skip = skip.at(t).fetch::<Lrm<i8, C>>();
            let a = flow.wait();
            let mut hidden = Lrm::<i8, HIDDEN>::new();
            let mut weights = broadcast(expand);
            for o in (0..HIDDEN).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(a, weights.take::<4>());
                let steps = biased::<4>(product, biases, expand_scales);
                for i in 0..4 {
                    hidden[o + i] = lookup(table, steps[i]);
                }
            }
            let kept = flow_skip.wait();
            let mut weights = broadcast(project);
            for o in (0..C).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(hidden, weights.take::<4>());
                let own = biased::<4>(product, biases, project_scales);
                y.at(t).channels(o).store(sums::<4>(&own, kept.slice::<4>(o), residual));
            }
        }
    }

    /// [`ffn_table`] whose table is that of a ReLU without another scale.
    ///
    /// # Shapes
    /// As [`ffn_table`].
    /// # Units
    /// As [`ffn_table`].
    /// # Source
    /// As [`ffn_table`].
    #[kernel(reference = crate::nn::reference::ffn_relu)]
    pub fn ffn_relu<
        const N: usize,
        const C: usize,
        const HIDDEN: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
    >(
        x: &Ocm<i8, Tokens<N, C>>,
        skip: &Ocm<i8, Tokens<N, C>>,
        expand: &Ocm<i8, Stream<HIDDEN, C>>,
        project: &Ocm<i8, Stream<C, HIDDEN>>,
        y: &mut Ocm<i8, Tokens<N, C>>,
        expand_scales: (Scale, Scale),
        project_scales: (Scale, Scale),
        residual: (Scale, Scale),
    ) {
        assert!(C % 4 == 0 && HIDDEN % 4 == 0, "features come in fours");
        for t in x.tiles().grid(ROWS_USED, COLS_USED) {
            let flow = t.fetch::<Lrm<i8, C>>();
            let flow_skip = skip.at(t).fetch::<Lrm<i8, C>>();
            let a = flow.wait();
            let mut hidden = Lrm::<i8, HIDDEN>::new();
            let mut weights = broadcast(expand);
            for o in (0..HIDDEN).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(a, weights.take::<4>());
                let steps = biased::<4>(product, biases, expand_scales);
                for i in 0..4 {
                    hidden[o + i] = max(steps[i], splat(0i8));
                }
            }
            let kept = flow_skip.wait();
            let mut weights = broadcast(project);
            for o in (0..C).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(hidden, weights.take::<4>());
                let own = biased::<4>(product, biases, project_scales);
                y.at(t).channels(o).store(sums::<4>(&own, kept.slice::<4>(o), residual));
            }
        }
    }
}
