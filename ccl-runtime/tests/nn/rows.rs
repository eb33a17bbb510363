//! Softmax, layer norm, arg-max.

use ccl_runtime::ccl;
use ccl_runtime::kernel::{ElemType, HostTensor};
use ccl_runtime::nn::tables;

use crate::support::*;

ccl! {
    use ccl_runtime::nn::argmax::argmax;
    use ccl_runtime::nn::layer_norm::layer_norm;
    use ccl_runtime::nn::softmax::{softmax, softmax_wide};

    #[instance(target = QC_U)]
    const SOFTMAX_U: Kernel = softmax::<1100, 128, 22>;
    #[instance(target = QC_N)]
    const SOFTMAX_N: Kernel = softmax::<70, 19, 22>;
    #[instance(target = QC_N)]
    const SOFTMAX_ONE: Kernel = softmax::<1, 1, 22>;
    #[instance(target = QC_N)]
    const WIDE: Kernel = softmax_wide::<70, 19, 22>;

    #[instance(target = QC_U)]
    const NORM_U: Kernel = layer_norm::<32, 35, 40, 64, 22, 6, 0>;
    #[instance(target = QC_N)]
    const NORM_N: Kernel = layer_norm::<6, 9, 17, 12, 22, 10, 0>;
    #[instance(target = QC_N)]
    const NORM_WIDE: Kernel = layer_norm::<512, 9, 9, 1024, 22, 0, 2>;
    #[instance(target = QC_N)]
    const NORM_ONE: Kernel = layer_norm::<1, 1, 1, 2, 22, 10, 0>;

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
fn normal_rows() {
    for (kernel, channels, e, a) in
        [(&NORM_U, 32, 6, 0), (&NORM_N, 6, 10, 0), (&NORM_WIDE, 512, 0, 2), (&NORM_ONE, 1, 10, 0)]
    {
        // Gamma over the step of the output, and beta with the zero point: those of a trained network.
        let parameters = HostTensor::from_fn(ElemType::I32, &[2 * channels], |i| {
            let part = (i as i64 * 7919 % 1000) as f64 / 1000.0;
            let value =
                if i % 2 == 0 { (20.0 + 25.0 * part) * f64::from(1 << 22) } else { (30.0 * part - 12.0) * 65536.0 };
            value.round() as i64
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
