//! Element by element.

use ccl_golden::Quant;
use ccl_golden::unary::{Unary, unary_table};
use ccl_runtime::ccl;
use ccl_runtime::kernel::ElemType;
use ccl_runtime::nn::tables::{self, Quantisation};

use crate::support::*;

ccl! {
    use ccl_runtime::nn::elementwise::{add, clip, div, maximum, minimum, mul, sub};
    use ccl_runtime::nn::requantise::{dequantise, quantise, requantise};
    use ccl_runtime::nn::unary::{relu, unary};

    #[instance(target = QC_U)]
    const ADD_U: Kernel = add::<6, 35, 70>;
    #[instance(target = QC_N)]
    const ADD_N: Kernel = add::<5, 9, 17>;
    #[instance(target = QC_N)]
    const ADD_ONE: Kernel = add::<1, 1, 1>;
    #[instance(target = QC_U)]
    const SUB_U: Kernel = sub::<6, 35, 70>;
    #[instance(target = QC_N)]
    const SUB_N: Kernel = sub::<5, 9, 17>;
    #[instance(target = QC_U)]
    const MUL_U: Kernel = mul::<6, 35, 70>;
    #[instance(target = QC_N)]
    const MUL_N: Kernel = mul::<5, 9, 17>;
    #[instance(target = QC_N)]
    const MUL_ONE: Kernel = mul::<1, 1, 1>;
    #[instance(target = QC_U)]
    const DIV_U: Kernel = div::<6, 35, 70>;
    #[instance(target = QC_N)]
    const DIV_N: Kernel = div::<5, 9, 17>;
    #[instance(target = QC_N)]
    const MINIMUM: Kernel = minimum::<5, 9, 17>;
    #[instance(target = QC_U)]
    const MAXIMUM: Kernel = maximum::<5, 33, 40>;
    #[instance(target = QC_N)]
    const CLIP: Kernel = clip::<5, 9, 17>;

    #[instance(target = QC_U)]
    const REQUANTISE_U: Kernel = requantise::<6, 35, 70>;
    #[instance(target = QC_N)]
    const REQUANTISE_N: Kernel = requantise::<3, 8, 16>;
    #[instance(target = QC_N)]
    const QUANTISE: Kernel = quantise::<3, 9, 17, 16>;
    #[instance(target = QC_U)]
    const DEQUANTISE: Kernel = dequantise::<3, 33, 40, 20>;

    #[instance(target = QC_U)]
    const UNARY_U: Kernel = unary::<7, 33, 40>;
    #[instance(target = QC_N)]
    const UNARY_N: Kernel = unary::<1, 1, 1>;
    #[instance(target = QC_N)]
    const RELU: Kernel = relu::<5, 9, 17>;
}

/// Ratios of a network, and ratios that make ties.
const RATIOS: [[f64; 2]; 4] = [[0.7134719, 0.3137193], [0.5, 0.5], [0.25, 1.5], [2.1934719, 0.75]];

#[test]
fn sums_and_differences() {
    for (ratios, zeros) in RATIOS.into_iter().zip([[3, -7, 5], [0, 0, 0], [-128, 127, -128], [-5, 9, 0]]) {
        let given = [("scales", scales(ratios)), ("zero_points", list(zeros))];
        for kernel in [&ADD_U, &ADD_N, &ADD_ONE, &SUB_U, &SUB_N] {
            agree(kernel, &given, INTEGER);
        }
    }
}

#[test]
fn products() {
    let ratios = [0.012347193, 0.0078125, 1.0 / 192.0, 0.00013471];
    for (ratio, zeros) in ratios.into_iter().zip([[3, -7, 5], [0, 0, 0], [-128, 127, -127], [-5, 9, 0]]) {
        let given = [("scale", scale(ratio)), ("zero_points", list(zeros))];
        agree(&MUL_U, &given, INTEGER);
        agree(&MUL_N, &given, INTEGER);
        agree(&MUL_ONE, &given, INTEGER);
    }
}

#[test]
fn quotients() {
    let ratios = [0.77f32, 2.0, 1.0 / 3.0, 3.9];
    for (ratio, zeros) in ratios.into_iter().zip([[3, -7, 5], [0, 0, 0], [-128, 127, -127], [-5, 9, 0]]) {
        let table = tables::reciprocals(ratio, zeros[1] as i8);
        let given = [("reciprocals", vector(ElemType::I32, &table)), ("zero_points", list(zeros))];
        agree(&DIV_U, &given, INTEGER);
        agree(&DIV_N, &given, INTEGER);
    }
}

#[test]
fn choices_and_bounds() {
    agree(&MINIMUM, &[], EXACT);
    agree(&MAXIMUM, &[], EXACT);
    for (low, high) in [(-128, 127), (-3, 77), (5, 5)] {
        agree(&CLIP, &[("low", low.into()), ("high", high.into())], EXACT);
    }
    for zero_point in [-128, 0, 9] {
        agree(&RELU, &[("zero_point", zero_point.into())], EXACT);
    }
}

#[test]
fn between_scales() {
    let ratios = [0.5, 0.377, 2.25, 1.0 / 3.0, 17.0];
    for (ratio, zeros) in ratios.into_iter().zip([[0, 0], [5, -9], [-128, 127], [127, -128], [0, 9]]) {
        let given = [("scale", scale(ratio)), ("zero_points", list(zeros))];
        agree(&REQUANTISE_U, &given, INTEGER);
        agree(&REQUANTISE_N, &given, INTEGER);
    }
    for (inverse, zero_point) in [(4.0, 0), (1.0 / 0.01865844801068306, -14), (11.3, 100)] {
        agree(&QUANTISE, &[("inverse", scale(inverse)), ("zero_point", zero_point.into())], INTEGER);
    }
    for (step, zero_point) in [(0.5, 0), (0.0186, -14), (0.9, 127)] {
        agree(&DEQUANTISE, &[("scale", scale(step)), ("zero_point", zero_point.into())], EXACT);
    }
}

#[test]
fn functions_by_table() {
    type Function = fn(f32) -> f32;
    let functions: [(Unary, Function); 5] = [
        (Unary::Sigmoid, tables::sigmoid),
        (Unary::Tanh, tables::tanh),
        (Unary::Gelu, tables::gelu),
        (Unary::LeakyRelu { alpha: 0.1 }, |v| tables::leaky_relu(0.1)(v)),
        (Unary::Relu, |v| v.max(0.0)),
    ];
    let quantisations = [(0.031f32, 0i8, 1.0f32 / 256.0, -128i8), (0.0625, -5, 0.0625, 3), (0.11, 100, 0.05, 0)];
    for (unary, function) in functions {
        for (sx, zx, sy, zy) in quantisations {
            let x = Quantisation { scale: sx, zero_point: zx };
            let table = tables::unary(x, Quantisation { scale: sy, zero_point: zy }, function);
            let golden = unary_table(Quant::new(sx, zx).unwrap(), Quant::new(sy, zy).unwrap(), |v| unary.eval(v));
            assert_eq!(table, golden, "{unary:?}");
        }
        let x = Quantisation { scale: 0.031, zero_point: 3 };
        let table = tables::unary(x, Quantisation { scale: 0.02, zero_point: -7 }, function);
        let given = [("table", vector(ElemType::I8, &table))];
        agree(&UNARY_U, &given, EXACT);
        agree(&UNARY_N, &given, EXACT);
    }
}
