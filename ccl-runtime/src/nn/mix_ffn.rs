//! The feed-forward block of a SegFormer in one kernel: its hidden channels never leave local memory.
//!
//! Every PE has `BY` rows of a column. What lies beside it is computed by its neighbours, so that tiles overlap by a PE on each side
//! where one does not cover the tensor: the outermost PEs compute again what the next tile stores.

use ccl_runtime::ccl;

ccl! {
    use crate::nn::requantise::{biased, requantised, sums};

    /// `y = skip + project(table(depthwise3(expand(x))))`, each stage in int8.
    ///
    /// # Shapes
    /// `x, skip, y: [C, H, W]`; `expand` and `project`: biases and weights of 1x1 convolutions; `depthwise` that of
    /// [`depthwise3`](crate::nn::depthwise::depthwise3); `table: [256]` as of [`unary`](crate::nn::unary::unary). `C` and `HIDDEN` are multiples
    /// of 4; `BLOCK = BY * C`, `ALL = BY * HIDDEN`. Best is the least `BY` whose `ROWS * BY` rows are all of `H`.
    /// # Units
    /// `expand_scales` and `project_scales`: from sums to int8, and, if `are_added` is set, from there to the sum with the biases, which then
    /// are addends as in [`biased`]; else biases are those of the accumulators and the second scale is not
    /// used. `depthwise_scale` is `s_x * s_w / s_y`; `residual`: the steps of the block and of `skip` over those of `y`. No tensor has a
    /// zero point.
    /// # Source
    /// `NUMERICS.md`: QLinearMatMul, QLinearAdd, QLinearConv, a table, QLinearMatMul, QLinearAdd, QLinearAdd.
    #[kernel(reference = crate::nn::reference::mix_ffn)]
    pub fn mix_ffn<
        const C: usize,
        const HIDDEN: usize,
        const H: usize,
        const W: usize,
        const BY: usize,
        const BLOCK: usize,
        const ALL: usize,
    >(
        x: &Ocm<i8, Packed<C, H, W>>,
        skip: &Ocm<i8, Packed<C, H, W>>,
        expand: &Ocm<i8, Stream<HIDDEN, C>>,
        depthwise: &Ocm<i8, Stream<HIDDEN, 36>>,
        table: &Ocm<i8, Vector<256>>,
        project: &Ocm<i8, Stream<C, HIDDEN>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        are_added: bool,
        expand_scales: (Scale, Scale),
        depthwise_scale: Scale,
        project_scales: (Scale, Scale),
        residual: (Scale, Scale),
    ) {
        assert!(BLOCK == BY * C && ALL == BY * HIDDEN, "what a PE holds of its rows");
        assert!(C % 4 == 0 && HIDDEN % 4 == 0, "channels come in fours");
        let table = broadcast(table).fill::<Lrm<i8, 256>>();
        let nothing = Lrm::<i8, 4>::filled(0);
        // PEs by which tiles overlap on each side.
        let over_y = min(div_ceil(H, ROWS * BY) - 1, 1);
        let over_x = min(div_ceil(W, COLS) - 1, 1);
        for t in y.tiles().block::<BY, 1>().grid(ROWS - 2 * over_y, COLS - 2 * over_x).pipelined(2) {
            let place = x.at(t).grid(ROWS, COLS).tap(-((over_y * BY) as i32), -(over_x as i32));
            let flow = place.fetch::<Lrm<i8, BLOCK>>();
            let flow_skip = skip.at(t).fetch::<Lrm<i8, BLOCK>>();
            let a = flow.wait();
            let mut hidden = Lrm::<i8, ALL>::new();
            for q in 0..BY {
                let mut weights = broadcast(expand);
                for g in 0..HIDDEN / 4 {
                    let at = q * HIDDEN + 4 * g;
                    if are_added {
                        let biases = weights.bias::<4>();
                        let product = mac(a.slice::<C>(q * C), weights.take::<4>());
                        hidden[at..at + 4] = biased::<4>(product, biases, expand_scales);
                    } else {
                        let sum = weights.bias::<4>() + mac(a.slice::<C>(q * C), weights.take::<4>());
                        hidden[at..at + 4] = requantised::<4>(sum, expand_scales.0, 0);
                    }
                }
            }
            // The depthwise convolution sees zeros outside, not what biases make there.
            for q in 0..BY {
                if !place.tap(q as i32, 0).inside() {
                    for g in 0..HIDDEN / 4 {
                        let at = q * HIDDEN + 4 * g;
                        hidden[at..at + 4] = nothing;
                    }
                }
            }
            let kept = flow_skip.wait();
            let mut out = Lrm::<i8, BLOCK>::new();
            for q in 0..BY {
                let mut gated = Lrm::<i8, HIDDEN>::new();
                {
                    let mut weights = broadcast(depthwise);
                    for g in 0..HIDDEN / 4 {
                        let mut acc = weights.bias::<4>();
                        for dy in 0..3 {
                            // The row above the first is the last of the PE to the north, and so below.
                            let (south, north) = (1 - min(q + dy, 1), (q + dy) / (BY + 1));
                            let at = (q + dy + BY - 1) % BY * HIDDEN + 4 * g;
                            let middle = shift(shift(hidden.slice::<4>(at), South, south), North, north);
                            acc += mac(shift(middle, East, 1), weights.take::<4>());
                            acc += mac(middle, weights.take::<4>());
                            acc += mac(shift(middle, West, 1), weights.take::<4>());
                        }
                        let steps = requantised::<4>(acc, depthwise_scale, 0);
                        for i in 0..4 {
                            gated[4 * g + i] = lookup(table, steps[i]);
                        }
                    }
                }
                let mut weights = broadcast(project);
                for o in 0..C / 4 {
                    let at = q * C + 4 * o;
                    let mut own = Lrm::<i8, 4>::new();
                    if are_added {
                        let biases = weights.bias::<4>();
                        let product = mac(gated, weights.take::<4>());
                        own = biased::<4>(product, biases, project_scales);
                    } else {
                        let sum = weights.bias::<4>() + mac(gated, weights.take::<4>());
                        own = requantised::<4>(sum, project_scales.0, 0);
                    }
                    // From the overlapping tile to the one that is stored.
                    let moved = shift(shift(own, West, over_x), North, over_y);
                    out[at..at + 4] = sums::<4>(&moved, kept.slice::<4>(at), residual);
                }
            }
            y.at(t).store(out);
        }
    }
}
