//! Products with weights and of activations.

use ccl_runtime::ccl;
use ccl_runtime::kernel::ElemType;
use ccl_runtime::nn::tables;

use crate::support::*;

ccl! {
    use ccl_runtime::nn::attention::attention_head;
    use ccl_runtime::nn::matmul::{dense, matmul, matmul_transposed};
    use ccl_runtime::nn::pointwise::{pointwise, pointwise_per_channel};

    #[instance(target = QC_U)]
    const POINTWISE_U: Kernel = pointwise::<33, 10, 35, 40>;
    #[instance(target = QC_N)]
    const POINTWISE_N: Kernel = pointwise::<3, 6, 9, 17>;
    #[instance(target = QC_N)]
    const POINTWISE_ONE: Kernel = pointwise::<1, 1, 1, 1>;
    #[instance(target = QC_N)]
    const PER_CHANNEL: Kernel = pointwise_per_channel::<19, 6, 9, 17, 30, 8>;
    #[instance(target = QC_U)]
    const DENSE_U: Kernel = dense::<361, 24, 20, 18, 20>;
    #[instance(target = QC_N)]
    const DENSE_N: Kernel = dense::<70, 17, 9, 3, 5>;
    #[instance(target = QC_N)]
    const DENSE_ONE: Kernel = dense::<1, 1, 1, 8, 8>;
    #[instance(target = QC_U)]
    const SCORES_U: Kernel = matmul_transposed::<1100, 32, 20>;
    #[instance(target = QC_N)]
    const SCORES_N: Kernel = matmul_transposed::<70, 8, 4>;
    #[instance(target = QC_U)]
    const VALUES_U: Kernel = matmul::<1100, 48, 7, 3, 16>;
    #[instance(target = QC_N)]
    const VALUES_N: Kernel = matmul::<70, 16, 9, 4, 4>;
    #[instance(target = QC_U)]
    const HEAD_U: Kernel = attention_head::<1100, 128, 128, 32, 32, 32, 22, 22>;
    #[instance(target = QC_N)]
    const HEAD_N: Kernel = attention_head::<70, 16, 16, 8, 8, 8, 22, 22>;
}

/// A scale of a network: the products of no short decimal fraction are so near to a half that float32 rounds them to it.
const RATIO: f64 = 0.002134719;

#[test]
fn pixels_and_tokens() {
    for (ratio, zero_point) in [(RATIO, -128), (0.00390625, 31), (0.0113172391, 0)] {
        let given = [("scale", scale(ratio)), ("zero_point", zero_point.into())];
        for kernel in [&POINTWISE_U, &POINTWISE_N, &POINTWISE_ONE, &DENSE_U, &DENSE_N, &DENSE_ONE] {
            agree(kernel, &given, INTEGER);
        }
    }
}

#[test]
fn a_scale_for_each_output() {
    let factors = [0.0021, 0.00017, 0.0391, 0.00777, 0.0113, 0.00091, 0.0, 0.0];
    let words = factors.map(|f| (f64::from(f as f32) * f64::from(1u32 << 30)).round() as i32);
    let given = [("scales", vector(ElemType::I32, &words)), ("zero_point", 5.into())];
    agree(&PER_CHANNEL, &given, INTEGER);
}

#[test]
fn products_of_activations() {
    let cases = [(RATIO, [0, 0, 0]), (0.00390625, [3, 0, -9]), (RATIO, [-128, 5, 7]), (0.00390625, [0, -128, 127])];
    for (ratio, zeros) in cases {
        let given = [("scale", scale(ratio)), ("zero_points", list(zeros))];
        for kernel in [&SCORES_U, &SCORES_N, &VALUES_U, &VALUES_N] {
            agree(kernel, &given, INTEGER);
        }
    }
}

#[test]
fn heads() {
    let cases = [
        (0.05f32, [0, 0, 0], [0, 0, 0]),
        (0.125, [0, 0, 0], [0, -128, -7]),
        (0.9, [3, 0, 0], [-5, -128, 0]),
        (0.05, [0, -11, 9], [0, 0, 3]),
        (0.125, [-128, 127, -128], [17, -128, -7]),
    ];
    for (step, inputs, zeros) in cases {
        let probability = if zeros[1] == 0 { 127.0 } else { 256.0 };
        let given = [
            ("table", vector(ElemType::I32, &tables::exponentials(step, 22))),
            ("scales", scales([0.000913477, 0.002134719])),
            ("steps", bits(probability, 22)),
            ("inputs", list(inputs)),
            ("zero_points", list(zeros)),
        ];
        agree(&HEAD_N, &given, FIXED);
        if zeros[0] >= 0 && inputs[0] <= 0 {
            agree_over(&HEAD_U, &given, FIXED, 2);
        }
    }
}
