//! Matrix products over tokens: with weights, and of two activations, of which the second one is broadcast as it lies in memory.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::requantise::{biased, biased_around, requantised, sums};

    /// Dense layer: `y = x * w + b`, the tokens on `ROWS_USED` x `COLS_USED` PEs.
    ///
    /// # Shapes
    /// `x: [N, CI]`; `w`: `[CO]` biases with `[CO, CI]` weights in stream order; `y: [N, CO]`.
    /// # Units
    /// `scale` is `s_x * s_w / s_y`, `zero_point` that of `y`; that of `x` is in the biases.
    /// # Source
    /// `NUMERICS.md`, QGemm.
    #[kernel(reference = crate::nn::reference::dense)]
    pub fn dense<
        const N: usize,
        const CI: usize,
        const CO: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
    >(
        x: &Ocm<i8, Tokens<N, CI>>,
        w: &Ocm<i8, Stream<CO, CI>>,
        y: &mut Ocm<i8, Tokens<N, CO>>,
        scale: Scale,
        zero_point: i32,
    ) {
        for t in x.tiles().grid(ROWS_USED, COLS_USED).pipelined(2) {
            let a = t.fetch::<Lrm<i8, CI>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(a, weights.take::<4>());
                y.at(t).channels(o).store(requantised::<4>(acc, scale, zero_point));
            }
        }
    }

    /// Dense layer whose bias is a tensor of its own, added to the int8 product.
    ///
    /// # Shapes
    /// As [`dense`].
    /// # Units
    /// `scales`: `s_x * s_w / s`, of the product in int8, and `s / s_y`. The biases of `w` are addends in steps of `y` with 21 fraction
    /// bits, as [`addends`](crate::nn::tables::addends) makes them. No tensor has a zero point.
    /// # Source
    /// `NUMERICS.md`, QLinearMatMul and QLinearAdd.
    #[kernel(reference = crate::nn::reference::dense_bias)]
    pub fn dense_bias<
        const N: usize,
        const CI: usize,
        const CO: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
    >(
        x: &Ocm<i8, Tokens<N, CI>>,
        w: &Ocm<i8, Stream<CO, CI>>,
        y: &mut Ocm<i8, Tokens<N, CO>>,
        scales: (Scale, Scale),
    ) {
        for t in x.tiles().grid(ROWS_USED, COLS_USED).pipelined(2) {
            let a = t.fetch::<Lrm<i8, CI>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(a, weights.take::<4>());
                y.at(t).channels(o).store(biased::<4>(product, biases, scales));
            }
        }
    }

    /// [`dense_bias`] between tensors with zero points.
    ///
    /// # Shapes
    /// As [`dense`], but that `w` has `[CO, KX]` weights: behind those of the `CI` inputs, filled up to a multiple of 4, stands the addend of
    /// the output, its four bytes as four weights.
    /// # Units
    /// `scales` and addends as in [`dense_bias`]; 255 steps of the product and the addend are below 1000 steps of `y`, whose zero point is
    /// in the addends. The zero point of `x` is in the biases of `w`, `zero_point` is that of the product in int8.
    /// # Source
    /// `NUMERICS.md`, QLinearMatMul and QLinearAdd.
    #[kernel(reference = crate::nn::reference::dense_bias_around)]
    pub fn dense_bias_around<
        const N: usize,
        const CI: usize,
        const CO: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
        const KX: usize,
    >(
        x: &Ocm<i8, Tokens<N, CI>>,
        w: &Ocm<i8, Stream<CO, KX>>,
        y: &mut Ocm<i8, Tokens<N, CO>>,
        scales: (Scale, Scale),
        zero_point: i32,
    ) {
        assert!(KX == (CI + 3) / 4 * 4 + 4, "an addend stands behind the weights of an output");
        for t in x.tiles().grid(ROWS_USED, COLS_USED).pipelined(2) {
            let a = t.fetch::<Lrm<i8, CI>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(a, weights.take::<4>());
                let mut out = Lrm::<i8, 4>::new();
                for i in 0..4 {
                    out[i] = biased_around(acc.get(i), weights.next::<i32>(), scales, zero_point);
                }
                y.at(t).channels(o).store(out);
            }
        }
    }

    /// [`dense_bias`] and the residual behind it: `y = (x * w + b) + skip`, each sum in int8.
    ///
    /// # Shapes
    /// As [`dense_bias`]; `skip: [N, CO]`; `CO` is a multiple of 4.
    /// # Units
    /// As [`dense_bias`], whose `y` has steps of `s_z`; `residual`: `s_z / s_y` and `s_skip / s_y`.
    /// # Source
    /// `NUMERICS.md`, QLinearMatMul and QLinearAdd.
    #[kernel(reference = crate::nn::reference::dense_bias_residual)]
    pub fn dense_bias_residual<
        const N: usize,
        const CI: usize,
        const CO: usize,
        const ROWS_USED: usize,
        const COLS_USED: usize,
    >(
        x: &Ocm<i8, Tokens<N, CI>>,
        w: &Ocm<i8, Stream<CO, CI>>,
        skip: &Ocm<i8, Tokens<N, CO>>,
        y: &mut Ocm<i8, Tokens<N, CO>>,
        scales: (Scale, Scale),
        residual: (Scale, Scale),
    ) {
        assert!(CO % 4 == 0, "outputs come in fours");
        for t in x.tiles().grid(ROWS_USED, COLS_USED).pipelined(2) {
            let flow = t.fetch::<Lrm<i8, CI>>();
            let flow_skip = skip.at(t).fetch::<Lrm<i8, CO>>();
            let a = flow.wait();
            let b = flow_skip.wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let biases = weights.bias::<4>();
                let product = mac(a, weights.take::<4>());
                let own = biased::<4>(product, biases, scales);
                y.at(t).channels(o).store(sums::<4>(&own, b.slice::<4>(o), residual));
            }
        }
    }

    /// What the zero point of the second factor takes from a row of products: `z_b * sum(a - z_a)`.
    #[inline]
    pub fn correction<const K: usize>(a: &Lrm<i8, K>, zero_points: (i32, i32, i32)) -> Q<i32> {
        let mut sum = splat(-zero_points.0 * K as i32);
        if zero_points.1 != 0 {
            for k in 0..K {
                sum += a[k].widen::<i32>();
            }
        }
        sum * zero_points.1
    }

    /// `a - z_a`, which needs 9 bits.
    #[inline]
    pub fn centred<const K: usize>(a: &Lrm<i8, K>, zero_point: i32) -> Lrm<i16, K> {
        let mut wide = Lrm::<i16, K>::new();
        for k in 0..K {
            wide[k] = a[k].widen::<i16>() - zero_point as i16;
        }
        wide
    }

    /// Product with a transposed activation: `y[n, m]` sums over `a[n, k] * b[m, k]`, as queries meet keys.
    ///
    /// # Shapes
    /// `a: [N, K]`, `b: [M, K]`, `y: [N, M]`; `K` and `M` are multiples of 4.
    /// # Units
    /// `scale` is `s_a * s_b / s_y`; zero points of `a`, `b`, `y`. One of `a` doubles the time of the MAC unit.
    /// # Source
    /// `NUMERICS.md`, QLinearMatMul.
    #[kernel(reference = crate::nn::reference::matmul_transposed)]
    pub fn matmul_transposed<const N: usize, const K: usize, const M: usize>(
        a: &Ocm<i8, Tokens<N, K>>,
        b: &Ocm<i8, Tokens<M, K>>,
        y: &mut Ocm<i8, Tokens<N, M>>,
        scale: Scale,
        zero_points: (i32, i32, i32),
    ) {
        assert!(K % 4 == 0 && M % 4 == 0, "16 bytes are 4 tokens of 4 features");
        for t in a.tiles().pipelined(2) {
            let row = t.fetch::<Lrm<i8, K>>().wait();
            let taken = correction::<K>(&row, zero_points);
            let mut weights = broadcast(b);
            if zero_points.0 == 0 {
                for m in (0..M).step_by(4) {
                    let acc = mac(row, weights.take::<4>());
                    let mut out = Lrm::<i8, 4>::new();
                    for i in 0..4 {
                        out[i] = quantize(fx_raw::<0>(acc.get(i) - taken), scale, zero_points.2);
                    }
                    y.at(t).channels(m).store(out);
                }
            } else {
                let wide = centred::<K>(&row, zero_points.0);
                for m in (0..M).step_by(4) {
                    let acc = mac(wide, weights.take::<4>());
                    let mut out = Lrm::<i8, 4>::new();
                    for i in 0..4 {
                        out[i] = quantize(fx_raw::<0>(acc.get(i) - taken), scale, zero_points.2);
                    }
                    y.at(t).channels(m).store(out);
                }
            }
        }
    }

    /// Product with an activation that lies channel by channel: `y[n, m]` sums over `a[n, k] * b[m][k]`, as probabilities meet values.
    ///
    /// # Shapes
    /// `a: [N, K]`, `b: [M, KH, KW]` with `K = KH * KW`, a multiple of 16; `y: [N, M]`.
    /// # Units
    /// As [`matmul_transposed`].
    /// # Source
    /// `NUMERICS.md`, QLinearMatMul.
    #[kernel(reference = crate::nn::reference::matmul)]
    pub fn matmul<const N: usize, const K: usize, const M: usize, const KH: usize, const KW: usize>(
        a: &Ocm<i8, Tokens<N, K>>,
        b: &Ocm<i8, Planar<M, KH, KW>>,
        y: &mut Ocm<i8, Tokens<N, M>>,
        scale: Scale,
        zero_points: (i32, i32, i32),
    ) {
        assert!(K == KH * KW && K % 16 == 0, "16 bytes are 16 places of a channel");
        for t in a.tiles().pipelined(2) {
            let row = t.fetch::<Lrm<i8, K>>().wait();
            let taken = correction::<K>(&row, zero_points);
            let mut out = Lrm::<i8, M>::new();
            let mut weights = broadcast(b);
            if zero_points.0 == 0 {
                for m in 0..M {
                    let acc = mac(row, weights.take::<1>());
                    out[m] = quantize(fx_raw::<0>(acc.get(0) - taken), scale, zero_points.2);
                }
            } else {
                let wide = centred::<K>(&row, zero_points.0);
                for m in 0..M {
                    let acc = mac(wide, weights.take::<1>());
                    out[m] = quantize(fx_raw::<0>(acc.get(0) - taken), scale, zero_points.2);
                }
            }
            y.at(t).store(out);
        }
    }
}
