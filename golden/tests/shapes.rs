//! No shape or parameter of a caller panics: each call gives a value or an error.

use ccl_golden::conv::{self, Window};
use ccl_golden::moves::{self, DepthOrder, PadMode, SliceAxis};
use ccl_golden::pool::{self, Pool, PoolDivisor, PoolExtent};
use ccl_golden::resize::{self, Coordinates, Nearest, Resize};
use ccl_golden::{
    Quant, argmax, binary, concat, conv_transpose, elementwise, linear, matmul, norm, reduce, relation, softmax,
};
use ndarray::{Array1, Array4, ArrayD, IxDyn};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn shape(rank: std::ops::Range<usize>) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0_usize..5, rank)
}

fn tensor(shape: &[usize]) -> ArrayD<i8> {
    ArrayD::from_elem(IxDyn(shape), -128)
}

fn small() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0_usize..4, 1 => Just(usize::MAX), 1 => Just(1 << 40)]
}

fn window() -> impl Strategy<Value = Window> {
    let pair = || prop::array::uniform2(small());
    (pair(), pair(), prop::array::uniform4(small())).prop_map(|(strides, dilations, pads)| Window {
        strides,
        dilations,
        pads,
    })
}

fn q() -> Quant<i8> {
    Quant::new(0.5, 127).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn windows(x in shape(4..5), w in shape(4..5), window in window(), kernel in prop::array::uniform2(small()),
               groups in small(), ceil: bool, whole: bool) {
        let four = |s: &[usize]| Array4::from_elem((s[0], s[1], s[2], s[3]), 127_i8);
        let (x, w) = (four(&x), four(&w));
        let _ = conv::qlinear_conv(x.view(), q(), w.view(), &q().into(), None, q(), &window, groups);
        let _ = conv::conv_integer(x.view(), 0, w.view(), &[1, 2], &window, groups);
        let _ = conv::conv_f32(x.mapv(f32::from).view(), w.mapv(f32::from).view(), None, &window, groups);
        let (fx, fw) = (x.mapv(f32::from), w.mapv(f32::from));
        let _ = conv_transpose::conv_transpose_f32(fx.view(), fw.view(), None, &window, kernel, groups);
        let extent = if ceil { PoolExtent::Ceil } else { PoolExtent::Floor };
        let divisor = if whole { PoolDivisor::Kernel } else { PoolDivisor::Inside };
        let pool = Pool { kernel, window, extent, divisor };
        let _ = pool::max_pool(x.view(), &pool);
        let _ = pool::qlinear_average_pool(x.view(), q(), q(), &pool);
        let _ = pool::qlinear_global_average_pool(x.view(), q(), q());
    }

    #[test]
    fn pairs(a in shape(0..4), b in shape(0..4), axis in -4_isize..4) {
        let (a, b) = (tensor(&a), tensor(&b));
        let _ = matmul::qlinear_matmul(a.view(), q(), b.view(), &q().into(), q());
        let _ = matmul::matmul_integer(a.view(), 0, b.view(), &[1, 2]);
        let _ = binary::qlinear_add(a.view(), q(), b.view(), q(), q());
        let _ = binary::qlinear_mul(a.view(), q(), b.view(), q(), q());
        let (fa, fb) = (a.mapv(f32::from), b.mapv(f32::from));
        let _ = matmul::matmul_f32(fa.view(), fb.view());
        if let (Ok(m), Ok(n)) = (fa.view().into_dimensionality(), fb.view().into_dimensionality()) {
            let _ = matmul::gemm_f32(m, n, Some(fa.view()), 1.0, &matmul::Gemm::default());
        }
        let _ = elementwise::pow(fa.view(), fb.view());
        let _ = elementwise::div(a.mapv(i64::from).view(), b.mapv(i64::from).view());
        let _ = relation::relation(a.view(), b.view(), relation::Relation::Less);
        let _ = relation::select(a.mapv(|v| v > 0).view(), a.view(), b.view());
        let _ = concat::qlinear_concat(&[(a.view(), q()), (b.view(), q())], axis, q());
    }

    #[test]
    fn axes(x in shape(0..5), axis in prop_oneof![-5_isize..5, Just(isize::MIN), Just(isize::MAX)], n in 0_usize..5) {
        let x = tensor(&x);
        let (real, list) = (x.mapv(f32::from), Array1::zeros(n));
        let _ = softmax::qlinear_softmax(x.view(), q(), axis, q());
        let _ = softmax::softmax_quantized(x.view(), q(), axis, q());
        let _ = norm::layer_norm_quantized(x.view(), q(), axis, list.view(), None, 0.0, q());
        let _ = norm::batch_norm_f32(real.view(), list.view(), list.view(), list.view(), list.view(), 0.0);
        for kind in [reduce::Reduction::Sum, reduce::Reduction::Mean, reduce::Reduction::Max] {
            let _ = reduce::reduce(x.view(), &[axis], kind);
        }
        let _ = argmax::argmax(x.view(), axis, argmax::Tie::First);
        let _ = linear::quantize_linear_axis(real.view(), axis, &q().into());
    }

    #[test]
    fn movements(x in shape(0..5), list in prop::collection::vec(-6_i64..7, 0..6), axis in -5_isize..5, n in small(),
                 wild in prop::array::uniform3(any::<i64>())) {
        let x = tensor(&x);
        let sizes: Vec<usize> = list.iter().map(|&i| i.unsigned_abs() as usize).collect();
        let _ = moves::transpose(x.view(), &sizes);
        let _ = moves::reshape(x.view(), &list);
        let _ = moves::expand(x.view(), &sizes);
        let _ = moves::split(x.view(), axis, &sizes);
        let _ = moves::gather(x.view(), ndarray::arr1(&list).into_dyn().view(), axis);
        let [start, end, step] = wild;
        let _ = moves::slice(x.view(), &[SliceAxis { axis, start, end, step }]);
        let _ = moves::slice(x.view(), &[SliceAxis { axis, start: start % 5, end: end % 5, step: step % 3 }]);
        let (before, after) = list.split_at(list.len() / 2);
        for mode in [PadMode::Constant(0), PadMode::Reflect, PadMode::Edge, PadMode::Wrap] {
            let _ = moves::pad(x.view(), before, after, mode);
            let _ = moves::pad(x.view(), &wild[..before.len().min(3)], after, mode);
        }
        let _ = moves::space_to_depth(x.view(), n);
        let _ = moves::depth_to_space(x.view(), n, DepthOrder::Crd);
    }

    #[test]
    fn resizes(x in shape(0..4), sizes in shape(0..4), scales in prop::collection::vec(any::<f32>(), 0..4)) {
        let x = tensor(&x);
        for coordinates in [Coordinates::HalfPixel, Coordinates::PytorchHalfPixel, Coordinates::AlignCorners] {
            let made = [
                Resize::to_sizes(x.shape(), &sizes, coordinates),
                Resize::to_sizes(&sizes, &sizes, coordinates),
                Resize::by_scales(x.shape(), &scales.iter().map(|s| s.abs() % 3.0).collect::<Vec<_>>(), coordinates),
                Resize::by_scales(x.shape(), &scales, coordinates).and_then(|r| small_enough(r, x.shape())),
            ];
            for resize in made.into_iter().flatten() {
                let _ = resize::resize_linear(x.view(), &resize);
                let _ = resize::resize_nearest(x.view(), &resize, Nearest::RoundPreferCeil);
            }
        }
    }
}

/// Keeps the test quick: a legal result may have two thousand million elements.
fn small_enough(resize: Resize, shape: &[usize]) -> Result<Resize, ccl_golden::GoldenError> {
    let fits = resize.sizes().iter().product::<usize>() < 10_000;
    if fits { Ok(resize) } else { Resize::to_sizes(shape, shape, Coordinates::Asymmetric) }
}
