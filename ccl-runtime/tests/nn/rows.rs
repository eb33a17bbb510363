//! Softmax, layer norm, arg-max.

use ccl_runtime::ccl;
use ccl_runtime::kernel::{Arguments, ElemType, HostTensor};
use ccl_runtime::native::Session;
use ccl_runtime::nn::tables;
use ccl_runtime::testing::input::{self, Fill};

use crate::support::*;

ccl! {
    use ccl_runtime::nn::argmax::argmax;
    use ccl_runtime::nn::layer_norm::{layer_norm, layer_norm_twice};
    use ccl_runtime::nn::softmax::{softmax, softmax_wide};

    #[instance(target = QC_U)]
    const SOFTMAX_U: Kernel = softmax::<1100, 128, 22, 22>;
    #[instance(target = QC_N)]
    const SOFTMAX_N: Kernel = softmax::<70, 19, 22, 22>;
    #[instance(target = QC_N)]
    const SOFTMAX_ONE: Kernel = softmax::<1, 1, 22, 22>;
    #[instance(target = QC_N)]
    const WIDE: Kernel = softmax_wide::<70, 19, 22, 22>;

    #[instance(target = QC_U)]
    const NORM_U: Kernel = layer_norm::<32, 35, 40, 64, 22, 6, 0, 28, 20>;
    #[instance(target = QC_N)]
    const NORM_N: Kernel = layer_norm::<6, 9, 17, 12, 22, 10, 0, 29, 20>;
    #[instance(target = QC_N)]
    const NORM_WIDE: Kernel = layer_norm::<512, 9, 9, 1024, 22, 0, 2, 26, 20>;
    #[instance(target = QC_N)]
    const NORM_ONE: Kernel = layer_norm::<1, 1, 1, 2, 22, 10, 0, 30, 20>;

    #[instance(target = QC_U)]
    const TWICE_U: Kernel = layer_norm_twice::<32, 35, 40, 128, 22, 6, 0, 24, 24, 23, 28, 20>;
    #[instance(target = QC_N)]
    const TWICE_N: Kernel = layer_norm_twice::<6, 9, 17, 24, 22, 10, 0, 24, 26, 25, 29, 20>;
    #[instance(target = QC_N)]
    const TWICE_WIDE: Kernel = layer_norm_twice::<256, 9, 9, 1024, 22, 0, 0, 24, 21, 20, 26, 20>;

    #[instance(target = QC_U)]
    const FLAT: Kernel = softmax::<1100, 128, 23, 19>;
    #[instance(target = QC_U)]
    const FLAT_382: Kernel = softmax::<1100, 128, 23, 21>;
    #[instance(target = QC_U)]
    const FLAT_171: Kernel = softmax::<1100, 128, 23, 22>;
    #[instance(target = QC_U)]
    const FLAT_127: Kernel = softmax::<1100, 128, 23, 23>;
    #[instance(target = QC_N)]
    const FLAT_N: Kernel = softmax::<70, 19, 26, 19>;
    #[instance(target = QC_N)]
    const FLATTEST: Kernel = softmax::<70, 128, 23, 14>;

    #[instance(target = QC_U)]
    const ARGMAX_U: Kernel = argmax::<19, 35, 40>;
    #[instance(target = QC_N)]
    const ARGMAX_N: Kernel = argmax::<150, 9, 17>;
    #[instance(target = QC_N)]
    const ARGMAX_ONE: Kernel = argmax::<1, 1, 1>;
}

#[test]
fn probabilities() {
    for (step, probability, zero_point) in [(0.05f32, 256.0, -128), (0.125, 127.0, 0), (0.9, 255.0, -128)] {
        let given = [
            ("table", vector(ElemType::I32, &tables::exponentials(step, 22))),
            ("steps", bits(1.0 / f64::from((1.0 / probability) as f32), 22)),
            ("zero_point", zero_point.into()),
        ];
        for kernel in [&SOFTMAX_U, &SOFTMAX_N, &SOFTMAX_ONE] {
            agree(kernel, &given, FIXED);
        }
    }
    for step in [1.5e-5, 3.0e-6] {
        let given = [("scale", scale(step)), ("steps", bits(256.0, 22)), ("zero_point", (-128).into())];
        agree(&WIDE, &given, FIXED);
    }
}

#[test]
fn probabilities_of_which_a_step_is_small() {
    // The flattest attention of a SegFormer has 1340 steps: where one score stands out, it saturates, and the others still count.
    for (kernel, most, fraction) in [(&FLAT, 1340.1603, 23), (&FLAT_N, 2047.0, 26), (&FLATTEST, 65536.0, 23)] {
        for (step, zero_point) in [(0.0021f32, 0), (0.0413, -128), (0.3, -128)] {
            let given = [
                ("table", vector(ElemType::I32, &tables::exponentials(step, fraction))),
                ("steps", bits(most, if most > 2048.0 { 14 } else { 19 })),
                ("zero_point", zero_point.into()),
            ];
            agree(kernel, &given, FIXED);
        }
    }
}

#[test]
fn errors_of_probabilities_at_the_scales_of_a_network() {
    // 1 / s_p of the heads of a SegFormer, and steps of scores between its flattest and its steepest.
    for (kernel, most, fraction) in
        [(&FLAT, 1340.1617, 19), (&FLAT_382, 382.42615, 21), (&FLAT_171, 171.01457, 22), (&FLAT_127, 127.0, 23)]
    {
        let (mut n, mut wrong, mut largest) = (0, 0, 0);
        for (seed, step) in [(1, 0.0021f32), (2, 0.0137), (3, 0.0413)] {
            let given = Arguments::new()
                .with("table", vector(ElemType::I32, &tables::exponentials(step, 23)))
                .with("steps", bits(most, fraction))
                .with("zero_point", 0);
            let mut native = input::arguments(&kernel.params(), &given, Fill::Uniform, seed).expect("all are drawn");
            let mut golden = native.clone();
            kernel.run_native(&mut Session::new(kernel.target), &mut native).expect("it is sound");
            kernel.run_reference(&mut golden).expect("it has one");
            let (a, b) = (native.tensor("y").expect("y"), golden.tensor("y").expect("y"));
            for (a, b) in a.iter().zip(b.iter()) {
                (n, wrong, largest) = (n + 1, wrong + i64::from(a != b), largest.max((a - b).abs()));
            }
        }
        println!("{most}: {wrong} of {n}, by {largest}");
        assert!(largest <= 1 && wrong * 10_000 <= n, "1 / s_p = {most}: {wrong} of {n} differ, by {largest}");
    }
}

#[test]
fn normal_rows_of_normal_rows() {
    for (kernel, channels, e, [b, f, v]) in
        [(&TWICE_U, 32, 6, [24, 24, 23]), (&TWICE_N, 6, 10, [24, 26, 25]), (&TWICE_WIDE, 256, 0, [24, 21, 20])]
    {
        let parameters = HostTensor::from_fn(ElemType::I32, &[4 * channels], |i| {
            let part = (i as i64 * 7919 % 1000) as f64 / 1000.0;
            let (value, fraction) = match (i < 2 * channels, i % 2) {
                (true, 0) => (0.4 + 1.1 * part, b),
                (true, _) => (0.6 * part - 0.3, f),
                (false, 0) => (20.0 + 25.0 * part, 22),
                (false, _) => (30.0 * part - 12.25, 20),
            };
            (value * f64::from(1u32 << fraction)).round() as i64
        });
        let epsilon = (1e-5 / (0.02 * 0.02) * (channels * channels) as f64 * f64::from(1u32 << e)).round();
        let added = (1e-6 * channels as f64 * f64::from(1u32 << v)).round();
        let given = [
            ("parameters", parameters.into()),
            ("epsilon", (epsilon.max(1.0) as i64).into()),
            ("added", (added.max(1.0) as i64).into()),
        ];
        agree(kernel, &given, FIXED);
    }
}

#[test]
fn normal_rows() {
    for (kernel, channels, e, a) in
        [(&NORM_U, 32, 6, 0), (&NORM_N, 6, 10, 0), (&NORM_WIDE, 512, 0, 2), (&NORM_ONE, 1, 10, 0)]
    {
        // Gamma over the step of the output, and beta with the zero point: those of a trained network.
        let parameters = HostTensor::from_fn(ElemType::I32, &[2 * channels], |i| {
            let part = (i as i64 * 7919 % 1000) as f64 / 1000.0;
            let (value, fraction) = if i % 2 == 0 { (20.0 + 25.0 * part, 22) } else { (30.0 * part - 12.0, 20) };
            (value * f64::from(1u32 << fraction)).round() as i64
        });
        let epsilon =
            (1e-5 / (0.02 * 0.02) * (channels * channels) as f64 / f64::from(1u32 << a) * f64::from(1u32 << e)).round();
        let given = [("parameters", parameters.into()), ("epsilon", (epsilon.max(1.0) as i64).into())];
        agree(kernel, &given, FIXED);
    }
}

#[test]
fn labels() {
    for kernel in [&ARGMAX_U, &ARGMAX_N, &ARGMAX_ONE] {
        agree(kernel, &[], EXACT);
    }
}
