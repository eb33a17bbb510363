//! Convolutions, poolings, enlargements.

use ccl_runtime::ccl;
use ccl_runtime::testing::Bar;

use crate::support::*;

ccl! {
    use ccl_runtime::nn::conv::{conv_by_taps, conv_gather, conv_patches, conv_patches_near, conv_space_to_depth};
    use ccl_runtime::nn::depthwise::{depthwise, depthwise3};
    use ccl_runtime::nn::pool::{average_pool, global_average_pool, max_pool};
    use ccl_runtime::nn::resize::{enlarge_linear, enlarge_nearest, resize_linear, resize_nearest};

    #[instance(target = QC_U)]
    const DEPTHWISE3_U: Kernel = depthwise3::<6, 35, 70>;
    #[instance(target = QC_N)]
    const DEPTHWISE3_N: Kernel = depthwise3::<4, 9, 17>;
    #[instance(target = QC_N)]
    const DEPTHWISE3_ONE: Kernel = depthwise3::<1, 1, 1>;
    #[instance(target = QC_U)]
    const DEPTHWISE_5: Kernel = depthwise::<5, 70, 41, 35, 21, 5, 5, 100>;
    #[instance(target = QC_N)]
    const DEPTHWISE_DILATED: Kernel = depthwise::<8, 17, 9, 17, 9, 3, 3, 36>;

    #[instance(target = QC_N)]
    const CONV_3X3: Kernel = conv_gather::<5, 6, 17, 19, 9, 10, 3, 3, 1, 8, 72>;
    #[instance(target = QC_U)]
    const CONV_STEM: Kernel = conv_gather::<3, 8, 140, 132, 35, 33, 7, 7, 1, 4, 196>;
    #[instance(target = QC_N)]
    const CONV_DILATED: Kernel = conv_gather::<4, 4, 15, 9, 15, 9, 3, 5, 1, 4, 60>;
    #[instance(target = QC_N)]
    const CONV_GROUPS: Kernel = conv_gather::<8, 16, 9, 9, 9, 9, 3, 3, 2, 4, 36>;
    #[instance(target = QC_N)]
    const CONV_ONE: Kernel = conv_gather::<1, 4, 1, 1, 1, 1, 3, 3, 1, 4, 36>;
    #[instance(target = QC_N)]
    const CONV_TAPS: Kernel = conv_by_taps::<9, 8, 17, 19, 9, 10, 3, 3, 72>;
    #[instance(target = QC_U)]
    const STEM: Kernel = conv_space_to_depth::<3, 6, 140, 132, 35, 33, 4, 2, 2, 48, 192>;
    #[instance(target = QC_N)]
    const STEM_3X3: Kernel = conv_space_to_depth::<2, 4, 18, 22, 9, 11, 2, 3, 3, 8, 72>;
    #[instance(target = QC_N)]
    const STEM_NO_PADDING: Kernel = conv_space_to_depth::<2, 4, 18, 22, 8, 10, 2, 2, 2, 8, 32>;
    #[instance(target = QC_N)]
    const PATCHES: Kernel = conv_patches::<8, 6, 18, 21, 6, 7, 3, 72>;
    #[instance(target = QC_N)]
    const NEAR: Kernel = conv_patches_near::<8, 12, 12, 20, 3, 5, 4, 128, 80>;
    #[instance(target = QC_U)]
    const NEAR_8: Kernel = conv_patches_near::<4, 8, 72, 80, 9, 10, 8, 256, 640>;
    #[instance(target = QC_N)]
    const NEAR_2: Kernel = conv_patches_near::<4, 4, 2, 14, 1, 7, 2, 16, 28>;

    #[instance(target = QC_N)]
    const MAX_POOL: Kernel = max_pool::<5, 17, 19, 9, 10, 3, 3>;
    #[instance(target = QC_U)]
    const MAX_POOL_2: Kernel = max_pool::<6, 70, 82, 35, 41, 2, 2>;
    #[instance(target = QC_N)]
    const MAX_POOL_ONE: Kernel = max_pool::<1, 1, 1, 1, 1, 3, 3>;
    #[instance(target = QC_N)]
    const AVERAGE_ONE: Kernel = average_pool::<1, 1, 1, 1, 1, 3, 3>;
    #[instance(target = QC_N)]
    const AVERAGE: Kernel = average_pool::<5, 17, 19, 9, 10, 3, 3>;
    #[instance(target = QC_U)]
    const AVERAGE_2: Kernel = average_pool::<6, 70, 82, 35, 41, 2, 2>;
    #[instance(target = QC_N)]
    const GLOBAL_N: Kernel = global_average_pool::<5, 17, 19>;
    #[instance(target = QC_N)]
    const GLOBAL_ONE: Kernel = global_average_pool::<1, 1, 1>;
    #[instance(target = QC_U)]
    const GLOBAL_U: Kernel = global_average_pool::<8, 35, 40>;

    #[instance(target = QC_N)]
    const NEAREST_2: Kernel = enlarge_nearest::<5, 9, 17, 18, 34, 2, 16>;
    #[instance(target = QC_U)]
    const NEAREST_4: Kernel = enlarge_nearest::<4, 33, 35, 132, 140, 4, 64>;
    #[instance(target = QC_N)]
    const LINEAR_2: Kernel = enlarge_linear::<5, 9, 17, 18, 34, 2, 16>;
    #[instance(target = QC_U)]
    const LINEAR_4: Kernel = enlarge_linear::<4, 33, 35, 132, 140, 4, 64>;
    #[instance(target = QC_N)]
    const LINEAR_ONE: Kernel = enlarge_linear::<1, 1, 1, 2, 2, 2, 16>;
    #[instance(target = QC_N)]
    const LINEAR_8: Kernel = enlarge_linear::<5, 5, 9, 40, 72, 8, 256>;
    #[instance(target = QC_N)]
    const NEAREST_ANY: Kernel = resize_nearest::<3, 9, 7, 17, 20>;
    #[instance(target = QC_U)]
    const NEAREST_LESS: Kernel = resize_nearest::<2, 90, 70, 33, 41>;
    #[instance(target = QC_N)]
    const NEAREST_ONE: Kernel = resize_nearest::<1, 1, 1, 16, 8>;
    #[instance(target = QC_N)]
    const LINEAR_ANY: Kernel = resize_linear::<3, 9, 7, 17, 20>;
    #[instance(target = QC_U)]
    const LINEAR_LESS: Kernel = resize_linear::<2, 90, 70, 33, 41>;
    #[instance(target = QC_N)]
    const LINEAR_BINARY: Kernel = resize_linear::<3, 10, 15, 16, 24>;
}

#[test]
fn depthwise_convolutions() {
    for (ratio, zero_point) in [(0.004134719, -128), (0.00390625, 3), (0.004134719, 0)] {
        let given = [("scale", scale(ratio)), ("zero_point", zero_point.into())];
        for kernel in [&DEPTHWISE3_U, &DEPTHWISE3_N, &DEPTHWISE3_ONE] {
            agree(kernel, &given, INTEGER);
        }
        for (kernel, stride, dilation, pad) in [(&DEPTHWISE_5, 2, 1, 2), (&DEPTHWISE_DILATED, 1, 2, 2)] {
            let given = [
                ("stride", stride.into()),
                ("dilation", dilation.into()),
                ("pad", list([pad; 2])),
                ("scale", scale(ratio)),
                ("zero_points", list([zero_point, 9])),
            ];
            agree(kernel, &given, INTEGER);
        }
    }
}

#[test]
fn convolutions() {
    for ratio in [0.001347193, 0.001953125] {
        let walk = |stride: i64, dilation: [i64; 2], pad: [i64; 2]| {
            [("stride", stride.into()), ("dilation", list(dilation)), ("pad", list(pad)), ("scale", scale(ratio))]
        };
        for zeros in [[0, 0], [-7, 5]] {
            let cases = [
                (&CONV_3X3, walk(2, [1, 1], [1, 1])),
                (&CONV_STEM, walk(4, [1, 1], [3, 3])),
                (&CONV_DILATED, walk(1, [2, 1], [2, 2])),
                (&CONV_GROUPS, walk(1, [1, 1], [1, 1])),
                (&CONV_ONE, walk(1, [1, 1], [1, 1])),
            ];
            for (kernel, given) in cases {
                agree(kernel, &[&given[..], &[("zero_points", list(zeros))]].concat(), INTEGER);
            }
        }
        let zero = [("zero_point", 5.into())];
        agree(&CONV_TAPS, &[&walk(2, [1, 1], [1, 1])[..], &zero].concat(), INTEGER);
        for (kernel, pad) in [(&STEM, 1), (&STEM_3X3, 1), (&STEM_NO_PADDING, 0)] {
            for zeros in [[0, 5], [-14, 5]] {
                let given = [("pad", list([pad; 2])), ("scale", scale(ratio)), ("zero_points", list(zeros))];
                agree(kernel, &given, INTEGER);
            }
        }
        for kernel in [&PATCHES, &NEAR, &NEAR_8, &NEAR_2] {
            agree(kernel, &[("scale", scale(ratio)), ("zero_point", (-9).into())], INTEGER);
        }
    }
}

#[test]
fn poolings() {
    for (kernel, average, pad) in
        [(&MAX_POOL, &AVERAGE, 1), (&MAX_POOL_2, &AVERAGE_2, 0), (&MAX_POOL_ONE, &AVERAGE_ONE, 1)]
    {
        let walk = [("stride", 2.into()), ("pad", list([pad; 2]))];
        agree(kernel, &walk, EXACT);
        for (ratio, zeros) in [(1.0, [0, 0]), (0.7713471, [-128, 5]), (3.1034719, [9, -1])] {
            let given = [("ratio", bits(ratio, 24)), ("zero_points", list(zeros))];
            agree(average, &[&walk[..], &given].concat(), INTEGER);
        }
    }
    for (kernel, n) in [(&GLOBAL_N, 17.0 * 19.0), (&GLOBAL_U, 35.0 * 40.0), (&GLOBAL_ONE, 1.0)] {
        for zeros in [[0, 0], [-128, 7]] {
            agree(kernel, &[("scale", scale(0.9134719 / n)), ("zero_points", list(zeros))], INTEGER);
        }
    }
}

#[test]
fn enlargements() {
    for kernel in [
        &NEAREST_2,
        &NEAREST_4,
        &LINEAR_2,
        &LINEAR_4,
        &LINEAR_8,
        &LINEAR_ONE,
        &NEAREST_ANY,
        &NEAREST_LESS,
        &NEAREST_ONE,
    ] {
        agree(kernel, &[], EXACT);
    }
    // Weights that float32 holds give what it gives.
    agree(&LINEAR_BINARY, &[], EXACT);
    // With others the weights of four equal elements may add up to less than 1 in float32, which is cut to the next lower step.
    for kernel in [&LINEAR_ANY, &LINEAR_LESS] {
        agree_over(kernel, &[], Bar { by: 1, one_in: 50 }, 9);
    }
}
