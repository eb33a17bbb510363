//! Blocks of a transformer up to the layer norm behind their residual, whose sum only that norm reads and local memory holds.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::layer_norm::{normal_steps, statistics};
    use crate::nn::requantise::{biased, sums};

    /// [`dense_bias_residual`](crate::nn::matmul::dense_bias_residual) and the layer norm behind it.
    ///
    /// # Shapes
    /// As [`dense_bias_residual`](crate::nn::matmul::dense_bias_residual); `parameters: [2 * CO]` as of
    /// [`layer_norm`](crate::nn::layer_norm::layer_norm).
    /// # Units
    /// As of both; `residual` goes to steps of the sum that is normalised. `U` is what `N` is to the norm.
    /// # Source
    /// `NUMERICS.md`, QLinearMatMul, QLinearAdd and LayerNormalization.
    #[kernel(reference = crate::nn::reference::dense_bias_residual_norm::<G, E, A, M>)]
    pub fn dense_bias_residual_norm<
        const N: usize,
        const CI: usize,
        const CO: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
        const PARAMETERS: usize,
        const G: usize,
        const E: usize,
        const A: usize,
        const U: usize,
        const M: usize,
    >(
        x: &Ocm<i8, Tokens<N, CI>>,
        w: &Ocm<i8, Stream<CO, CI>>,
        skip: &Ocm<i8, Tokens<N, CO>>,
        parameters: &Ocm<i32, Vector<PARAMETERS>>,
        y: &mut Ocm<i8, Tokens<N, CO>>,
        scales: (Scale, Scale),
        residual: (Scale, Scale),
        epsilon: Fx<E>,
    ) {
        assert!(CO % 4 == 0, "outputs come in fours");
        assert!(PARAMETERS == 2 * CO, "a gamma and a beta for each output");
        assert!(A == 0 || E == 0, "bits are dropped or added");
        for t in x.tiles().grid(ROWS_USED, COLS_USED).pipelined(2) {
            let flow = t.fetch::<Lrm<i8, CI>>();
            let flow_skip = skip.at(t).fetch::<Lrm<i8, CO>>();
            let a = flow.wait();
            let mut sum = Lrm::<i8, CO>::new();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(a, weights.take::<4>());
                sum[o..o + 4] = biased::<4>(product, biases, scales);
            }
            let b = flow_skip.wait();
            for o in (0..CO).step_by(4) {
                sum[o..o + 4] = sums::<4>(sum.slice::<4>(o), b.slice::<4>(o), residual);
            }
            let of_row = statistics::<CO, E, A, U>(&sum, epsilon);
            let mut stream = broadcast(parameters);
            for o in (0..CO).step_by(4) {
                let mut out = Lrm::<i8, 4>::new();
                for i in 0..4 {
                    let gamma = fx_raw::<G>(stream.next::<i32>());
                    out[i] = normal_steps::<G, U, M>(sum[o + i], of_row, gamma, stream.next::<i32>());
                }
                y.at(t).channels(o).store(out);
            }
        }
    }

    /// [`ffn_relu`](crate::nn::ffn::ffn_relu) whose residual is its input, and the layer norm behind it.
    ///
    /// # Shapes
    /// As [`ffn_relu`](crate::nn::ffn::ffn_relu); `parameters: [2 * C]` as of [`layer_norm`](crate::nn::layer_norm::layer_norm).
    /// # Units
    /// As of both; `residual` goes to steps of the sum that is normalised. `U` is what `N` is to the norm.
    /// # Source
    /// `NUMERICS.md`: QLinearMatMul, QLinearAdd, QLinearMatMul, QLinearAdd, QLinearAdd, LayerNormalization.
    #[kernel(reference = crate::nn::reference::ffn_relu_norm::<G, E, A, M>)]
    pub fn ffn_relu_norm<
        const N: usize,
        const C: usize,
        const HIDDEN: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
        const PARAMETERS: usize,
        const G: usize,
        const E: usize,
        const A: usize,
        const U: usize,
        const M: usize,
    >(
        x: &Ocm<i8, Tokens<N, C>>,
        expand: &Ocm<i8, Stream<HIDDEN, C>>,
        project: &Ocm<i8, Stream<C, HIDDEN>>,
        parameters: &Ocm<i32, Vector<PARAMETERS>>,
        y: &mut Ocm<i8, Tokens<N, C>>,
        expand_scales: (Scale, Scale),
        project_scales: (Scale, Scale),
        residual: (Scale, Scale),
        epsilon: Fx<E>,
    ) {
        assert!(C % 4 == 0 && HIDDEN % 4 == 0, "features come in fours");
        assert!(PARAMETERS == 2 * C, "a gamma and a beta for each feature");
        assert!(A == 0 || E == 0, "bits are dropped or added");
        for t in x.tiles().grid(ROWS_USED, COLS_USED) {
            let a = t.fetch::<Lrm<i8, C>>().wait();
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
            let mut sum = Lrm::<i8, C>::new();
            let mut weights = broadcast(project);
            for o in (0..C).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(hidden, weights.take::<4>());
                let own = biased::<4>(product, biases, project_scales);
                sum[o..o + 4] = sums::<4>(&own, a.slice::<4>(o), residual);
            }
            let of_row = statistics::<C, E, A, U>(&sum, epsilon);
            let mut stream = broadcast(parameters);
            for o in (0..C).step_by(4) {
                let mut out = Lrm::<i8, 4>::new();
                for i in 0..4 {
                    let gamma = fx_raw::<G>(stream.next::<i32>());
                    out[i] = normal_steps::<G, U, M>(sum[o + i], of_row, gamma, stream.next::<i32>());
                }
                y.at(t).channels(o).store(out);
            }
        }
    }
}
