//! Layers with their biases and residuals, and the feed-forward block of a SegFormer.

use ccl_runtime::ccl;
use ccl_runtime::kernel::{Argument, ElemType, HostTensor};
use ccl_runtime::nn::tables::{self, Quantisation};

use crate::support::*;

ccl! {
    use ccl_runtime::nn::argmax::enlarge_argmax;
    use ccl_runtime::nn::decode_head::decode_head;
    use ccl_runtime::nn::matmul::{dense_bias, dense_bias_around, dense_bias_residual};
    use ccl_runtime::nn::ffn::{ffn_relu, ffn_table};
    use ccl_runtime::nn::mix_ffn::mix_ffn;
    use ccl_runtime::nn::normed::{dense_bias_residual_norm, ffn_relu_norm};
    use ccl_runtime::nn::projections::projections;

    #[instance(target = QC_U)]
    const BIAS_U: Kernel = dense_bias::<361, 24, 20, 18, 20>;
    #[instance(target = QC_N)]
    const BIAS_N: Kernel = dense_bias::<70, 17, 9, 3, 5>;
    #[instance(target = QC_U)]
    const RESIDUAL_U: Kernel = dense_bias_residual::<361, 24, 20, 18, 20>;
    #[instance(target = QC_N)]
    const RESIDUAL_N: Kernel = dense_bias_residual::<70, 17, 8, 8, 8>;

    #[instance(target = QC_U)]
    const AROUND_U: Kernel = dense_bias_around::<361, 24, 20, 18, 20, 28>;
    #[instance(target = QC_N)]
    const AROUND_N: Kernel = dense_bias_around::<70, 17, 9, 3, 5, 24>;

    #[instance(target = QC_U)]
    const FFN_U: Kernel = ffn_table::<360, 8, 20, 15, 24>;
    #[instance(target = QC_N)]
    const FFN_N: Kernel = ffn_table::<70, 4, 8, 8, 8>;
    #[instance(target = QC_U)]
    const RELU_U: Kernel = ffn_relu::<361, 12, 16, 18, 20>;

    #[instance(target = QC_U)]
    const RESIDUAL_NORM_U: Kernel = dense_bias_residual_norm::<361, 24, 20, 18, 20, 40, 22, 7, 0>;
    #[instance(target = QC_N)]
    const RESIDUAL_NORM_N: Kernel = dense_bias_residual_norm::<70, 17, 8, 8, 8, 16, 22, 7, 0>;
    #[instance(target = QC_U)]
    const RELU_NORM_U: Kernel = ffn_relu_norm::<360, 12, 16, 15, 24, 24, 22, 7, 0>;
    #[instance(target = QC_N)]
    const RELU_NORM_N: Kernel = ffn_relu_norm::<70, 8, 12, 8, 8, 16, 22, 7, 0>;

    #[instance(target = QC_U)]
    const PROJECTIONS_U: Kernel = projections::<8, 12, 15, 24, 16>;
    #[instance(target = QC_N)]
    const PROJECTIONS_N: Kernel = projections::<12, 8, 17, 10, 24>;

    #[instance(target = QC_U)]
    const MIX_U: Kernel = mix_ffn::<8, 16, 35, 41, 2, 16, 32>;
    #[instance(target = QC_N)]
    const MIX_N: Kernel = mix_ffn::<4, 8, 9, 17, 1, 4, 8>;
    #[instance(target = QC_N)]
    const MIX_ONE: Kernel = mix_ffn::<4, 4, 1, 1, 1, 4, 4>;

    // Two rows of 4 pixels a PE, on a part of the array.
    #[instance(target = QC_U)]
    const HEAD_U: Kernel =
        decode_head::<4, 16, 32, 16, 16, 8, 5, 40, 56, 20, 28, 10, 14, 5, 7, 2, 20, 112, 16, 1, 32, 32, 64, 32>;
    #[instance(target = QC_N)]
    const HEAD_N: Kernel =
        decode_head::<4, 16, 16, 32, 16, 8, 6, 16, 32, 8, 16, 4, 8, 2, 4, 2, 8, 64, 16, 1, 32, 32, 64, 32>;
    #[instance(target = QC_N)]
    const HEAD_FOUR_ROWS: Kernel =
        decode_head::<4, 16, 16, 16, 16, 8, 4, 32, 24, 16, 12, 8, 6, 4, 3, 4, 8, 96, 16, 2, 64, 64, 64, 16>;
    #[instance(target = QC_N)]
    const HEAD_ONE_ROW: Kernel =
        decode_head::<4, 16, 16, 16, 16, 8, 66, 8, 8, 4, 4, 2, 2, 1, 1, 1, 8, 8, 16, 1, 32, 32, 64, 272>;

    #[instance(target = QC_U)]
    const LABELS_U: Kernel = enlarge_argmax::<7, 33, 34, 132, 136, 4, 16, 1, 34>;
    #[instance(target = QC_N)]
    const LABELS_N: Kernel = enlarge_argmax::<150, 3, 9, 12, 36, 4, 16, 1, 9>;
    #[instance(target = QC_N)]
    const LABELS_ONE: Kernel = enlarge_argmax::<1, 3, 2, 24, 16, 8, 64, 2, 4>;
}

/// Weights of all sizes, and int8 biases: as sums have them, or as addends of a sum whose step is `1 / ratio` of theirs.
fn stream(n_outputs: usize, n_inputs: usize, ratio: Option<f32>) -> Argument {
    let at = |i: usize| ((i * 7919 + 13) % 251) as i64 - 125;
    let weights = HostTensor::from_fn(ElemType::I8, &[n_outputs, n_inputs], |i| at(i * i + 3 * i));
    let biases: Vec<i8> = (0..n_outputs).map(|o| at(5 * o) as i8).collect();
    let bias = match ratio {
        Some(ratio) => tables::addends(&biases, ratio),
        None => biases.iter().map(|b| i32::from(*b) * 37).collect(),
    };
    Argument::Stream { weights, bias }
}

/// Diagonal matrices for each tap of a depthwise convolution.
fn taps(n_channels: usize) -> Argument {
    let weights = HostTensor::from_fn(ElemType::I8, &[n_channels, 36], |i| {
        let (channel, input) = (i / 36, i % 36);
        if input % 4 == channel % 4 { ((i * 31) % 255) as i64 - 127 } else { 0 }
    });
    Argument::Stream { weights, bias: (0..n_channels).map(|c| c as i32 * 97 - 400).collect() }
}

#[test]
fn biases_and_residuals_round_by_themselves() {
    for (kernel, n_inputs, n_outputs) in [(&BIAS_U, 24, 20), (&BIAS_N, 17, 9)] {
        for ratio in [0.8134719, 1.9173] {
            let given = [("w", stream(n_outputs, n_inputs, Some(0.4391))), ("scales", scales([0.002134719, ratio]))];
            agree(kernel, &given, INTEGER);
        }
    }
    for (kernel, n_inputs, n_outputs) in [(&RESIDUAL_U, 24, 20), (&RESIDUAL_N, 17, 8)] {
        let given = [
            ("w", stream(n_outputs, n_inputs, Some(0.4391))),
            ("scales", scales([0.002134719, 0.8134719])),
            ("residual", scales([0.61347, 0.93719])),
        ];
        agree(kernel, &given, INTEGER);
    }
}

#[test]
fn layers_between_tensors_with_zero_points() {
    for (kernel, n_inputs, n_outputs) in [(&AROUND_U, 24, 20), (&AROUND_N, 17, 9)] {
        for (x, product, y) in [(-128, 0, 0), (3, -128, 127), (0, 17, -5), (127, 127, -128)] {
            let at = |i: usize| ((i * 7919 + 13) % 251) as i64 - 125;
            let biases: Vec<i8> = (0..n_outputs).map(|o| at(5 * o) as i8).collect();
            let words: Vec<i32> = tables::addends(&biases, 0.4391).iter().map(|a| a + (y << 21)).collect();
            let rest = usize::next_multiple_of(n_inputs, 4);
            let weights = HostTensor::from_fn(ElemType::I8, &[n_outputs, rest + 4], |i| {
                let (output, input) = (i / (rest + 4), i % (rest + 4));
                match input {
                    input if input < n_inputs => at(i * i + 3 * i),
                    input if input < rest => 0,
                    input => i64::from(words[output].to_le_bytes()[input - rest] as i8),
                }
            });
            let taken = |o: usize| -> i64 { (0..n_inputs).map(|i| weights.get(o * (rest + 4) + i)).sum() };
            let bias = (0..n_outputs).map(|o| (-x * taken(o)) as i32).collect();
            let given = [
                ("w", Argument::Stream { weights, bias }),
                ("scales", scales([0.002134719, 0.8134719])),
                ("zero_point", product.into()),
            ];
            agree(kernel, &given, INTEGER);
        }
    }
}

#[test]
fn feed_forward_blocks_of_tokens() {
    let steps = Quantisation { scale: 0.0413, zero_point: 0 };
    let gelu = tables::unary(steps, Quantisation { scale: 0.0307, zero_point: 0 }, tables::gelu);
    for (kernel, features, hidden, has_table) in [(&FFN_U, 8, 20, true), (&FFN_N, 4, 8, true), (&RELU_U, 12, 16, false)]
    {
        let mut given = vec![
            ("expand", stream(hidden, features, Some(0.31719))),
            ("project", stream(features, hidden, Some(0.31719))),
            ("expand_scales", scales([0.003134719, 0.8134719])),
            ("project_scales", scales([0.002719, 0.77317])),
            ("residual", scales([0.61347, 0.93719])),
        ];
        if has_table {
            given.push(("table", vector(ElemType::I8, &gelu)));
        }
        agree(kernel, &given, FIXED);
    }
}

#[test]
fn norms_behind_residuals() {
    // Gammas about 40 steps, betas a few; rows that are near to constant have a large epsilon.
    let parameters = |n: usize| {
        let word = |i: usize| if i.is_multiple_of(2) { (30 + i as i32) << 22 } else { (i as i32 - 7) << 16 };
        vector(ElemType::I32, &(0..2 * n).map(word).collect::<Vec<i32>>())
    };
    let shared = |n: usize| [("parameters", parameters(n)), ("epsilon", bits(3.5, 7))];
    for (kernel, inputs, outputs) in [(&RESIDUAL_NORM_U, 24, 20), (&RESIDUAL_NORM_N, 17, 8)] {
        let given = [
            ("w", stream(outputs, inputs, Some(0.4391))),
            ("scales", scales([0.002134719, 0.8134719])),
            ("residual", scales([0.61347, 0.93719])),
        ];
        agree(kernel, &[&given[..], &shared(outputs)].concat(), FIXED);
    }
    for (kernel, features, hidden) in [(&RELU_NORM_U, 12, 16), (&RELU_NORM_N, 8, 12)] {
        let given = [
            ("expand", stream(hidden, features, Some(0.31719))),
            ("project", stream(features, hidden, Some(0.31719))),
            ("expand_scales", scales([0.003134719, 0.8134719])),
            ("project_scales", scales([0.002719, 0.77317])),
            ("residual", scales([0.61347, 0.93719])),
        ];
        agree(kernel, &[&given[..], &shared(features)].concat(), FIXED);
    }
}

#[test]
fn queries_keys_and_values() {
    for (kernel, inputs, outputs) in [(&PROJECTIONS_U, 8, 12), (&PROJECTIONS_N, 12, 8)] {
        let given = [
            ("query", stream(outputs, inputs, Some(0.31719))),
            ("key", stream(outputs, inputs, Some(0.21719))),
            ("value", stream(outputs, inputs, Some(0.41719))),
            ("steps", scales([0.90947, 0.16748])),
            ("query_scales", scales([0.003134719, 0.8134719])),
            ("key_scales", scales([0.002134719, 0.9134719])),
            ("value_scales", scales([0.001134719, 0.7134719])),
        ];
        agree(kernel, &given, INTEGER);
    }
}

#[test]
fn feed_forward_blocks() {
    let steps = Quantisation { scale: 0.0413, zero_point: 0 };
    let gelu = tables::unary(steps, Quantisation { scale: 0.0307, zero_point: 0 }, tables::gelu);
    for are_added in [false, true] {
        for (kernel, channels, hidden) in [(&MIX_U, 8, 16), (&MIX_N, 4, 8), (&MIX_ONE, 4, 4)] {
            let ratio = are_added.then_some(0.31719);
            let given = [
                ("expand", stream(hidden, channels, ratio)),
                ("depthwise", taps(hidden)),
                ("table", vector(ElemType::I8, &gelu)),
                ("project", stream(channels, hidden, ratio)),
                ("are_added", i64::from(are_added).into()),
                ("expand_scales", scales([0.003134719, 0.8134719])),
                ("depthwise_scale", scale(0.003719)),
                ("project_scales", scales([0.002719, 0.77317])),
                ("residual", scales([0.61347, 0.93719])),
            ];
            agree(kernel, &given, FIXED);
        }
    }
}

#[test]
fn decode_heads() {
    let steps = |scale: f32| Quantisation { scale, zero_point: 0 };
    let gelu = tables::unary(steps(0.0413), steps(0.0307), tables::gelu);
    let parts: Vec<i8> = [0.0219, 0.0377, 0.0413, 0.0298]
        .into_iter()
        .flat_map(|s| tables::unary(steps(s), steps(0.0377), |x| x))
        .collect();
    let heads = [
        (&HEAD_U, [4, 16, 32, 16], 5),
        (&HEAD_N, [4, 16, 16, 32], 6),
        (&HEAD_FOUR_ROWS, [4, 16, 16, 16], 4),
        (&HEAD_ONE_ROW, [4, 16, 16, 16], 66),
    ];
    for (kernel, levels, classes) in heads {
        let given = [
            ("project1", stream(16, levels[0], Some(0.31719))),
            ("project2", stream(16, levels[1], Some(0.21719))),
            ("project4", stream(16, levels[2], Some(0.41719))),
            ("project8", stream(16, levels[3], Some(0.51719))),
            ("tables", vector(ElemType::I8, &parts)),
            ("fuse", stream(8, 64, None)),
            ("gate", vector(ElemType::I8, &gelu)),
            ("classify", stream(classes, 8, None)),
            ("scales1", scales([0.003134719, 0.8134719])),
            ("scales2", scales([0.002134719, 0.9134719])),
            ("scales4", scales([0.001134719, 0.7134719])),
            ("scales8", scales([0.002334719, 0.6134719])),
            ("fuse_scale", scale(0.000719)),
            ("classify_scale", scale(0.002719)),
        ];
        // Random bytes, and the corners of their range.
        agree_over(kernel, &given, FIXED, 2);
    }
}

#[test]
fn labels_of_enlarged_logits() {
    for kernel in [&LABELS_U, &LABELS_N, &LABELS_ONE] {
        agree(kernel, &[], EXACT);
    }
}
