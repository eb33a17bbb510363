//! Every operator against ONNX Runtime, bit by bit, on stored vectors.
//!
//! `CCL_GOLDEN_VECTORS=DIR` takes the vectors from another folder: `../vectors/make.py --large DIR` makes millions of
//! elements per operator. The counts are printed with `--nocapture`.

mod vectors;

use std::path::PathBuf;

use ccl_golden::argmax::Tie;
use ccl_golden::attention::{AttentionQuant, SoftmaxKind};
use ccl_golden::compare::{Measure, compare};
use ccl_golden::conv::Window;
use ccl_golden::matmul::Gemm;
use ccl_golden::moves::{DepthOrder, PadMode, SliceAxis};
use ccl_golden::pool::{Pool, PoolDivisor, PoolExtent};
use ccl_golden::resize::{Coordinates, Nearest, Resize};
use ccl_golden::unary::Unary;
use ccl_golden::{Int8, Quant};
use ccl_golden::{
    argmax, attention, binary, concat, conv, elementwise, linear, matmul, moves, norm, pool, resize, softmax, unary,
};
use ndarray::{ArrayD, Ix1, Ix2, Ix4};

use vectors::{Case, Element, Tensor};

/// How far an operator may be from ORT on vectors from elsewhere, declared once per operator. The stored vectors are equal
/// to the bit for all of them.
#[derive(Debug, Clone, Copy)]
enum Tolerance {
    /// Equal to the bit.
    Exact,
    /// At most one element in `per` differs, by at most 1.
    Rare { per: usize },
}

/// Runs all cases of an operator and compares.
#[track_caller]
fn check(operator: &str, tolerance: Tolerance, run: impl Fn(&mut Case) -> Tensor) {
    let (folder, tolerance) = match std::env::var_os("CCL_GOLDEN_VECTORS") {
        Some(elsewhere) => (PathBuf::from(elsewhere), tolerance),
        None => (PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"), Tolerance::Exact),
    };
    let cases = vectors::read(&folder.join(format!("{operator}.npz")));
    let mut sum = Sum::default();
    for (i, case) in cases.iter().enumerate() {
        let mut rest = case.clone();
        let got = run(&mut rest);
        assert!(rest.params.is_empty() && rest.arrays.is_empty(), "{operator}: case {i} is read to its end");
        match (got, &case.expected) {
            (Tensor::I8(a), Tensor::I8(b)) => sum.add(i, a, b),
            (Tensor::U8(a), Tensor::U8(b)) => sum.add(i, a, b),
            (Tensor::I32(a), Tensor::I32(b)) => sum.add(i, a, b),
            (Tensor::I64(a), Tensor::I64(b)) => sum.add(i, a, b),
            (Tensor::F32(a), Tensor::F32(b)) => sum.add(i, a, b),
            (a, b) => panic!("{operator}: case {i} gives {a:?}, expected {b:?}"),
        }
    }
    let Sum { total, mismatches, largest, first, unequal } = sum;
    println!("{operator}: {} cases, {total} elements, {mismatches} differ, by at most {largest} {first}", cases.len());
    if !unequal.is_empty() {
        println!("{operator}: these cases differ: {unequal:?}");
    }
    let (allowed, by) = match tolerance {
        Tolerance::Exact => (0, 0.0),
        Tolerance::Rare { per } => (total / per, 1.0),
    };
    assert!(mismatches <= allowed && largest <= by, "{operator}: {mismatches} of {total} differ, {first}");
}

/// Figures over all cases.
#[derive(Default)]
struct Sum {
    total: usize,
    mismatches: usize,
    largest: f64,
    first: String,
    /// Numbers of the cases that are not equal.
    unequal: Vec<usize>,
}

impl Sum {
    fn add<T: Measure + std::fmt::Debug>(&mut self, case: usize, got: ArrayD<T>, expected: &ArrayD<T>) {
        let c = compare(got.view(), expected.view()).unwrap_or_else(|e| panic!("case {case}: {e}"));
        if let (true, Some(at)) = (self.first.is_empty(), &c.first) {
            let (a, b) = (got[at.as_slice()], expected[at.as_slice()]);
            self.first = format!("(first: case {case} at {at:?}: {a:?}, ORT {b:?}; {} in this case)", c.mismatches);
        }
        if c.mismatches > 0 {
            self.unequal.push(case);
        }
        self.total += c.total;
        self.mismatches += c.mismatches;
        self.largest = self.largest.max(c.max_abs_err);
    }
}

/// Calls a function generic over the 8-bit type of a tensor.
macro_rules! by_int8 {
    ($tensor:expr, $f:ident($($arg:expr),*) $(, $T:ty)*) => {
        match &$tensor {
            Tensor::I8(_) => $f::<$($T,)* i8>($($arg),*),
            Tensor::U8(_) => $f::<$($T,)* u8>($($arg),*),
            other => panic!("expected 8 bits, found {other:?}"),
        }
    };
}

// Convolution and products.

fn window(case: &mut Case) -> Window {
    Window { strides: case.sizes(), dilations: case.sizes(), pads: case.sizes() }
}

#[test]
fn qlinear_conv() {
    fn run<X: Int8 + Element, W: Int8 + Element>(c: &mut Case) -> Tensor {
        let (window, groups) = (window(c), c.size());
        let (x, qx, w, qw) = (c.image::<X>(), c.quant::<X>(), c.image::<W>(), c.quant_per::<W>());
        let (bias, qy) = (c.list::<i32>(), c.quant::<X>());
        let bias = bias.as_ref().map(|b| b.view());
        X::wrap(conv::qlinear_conv(x.view(), qx, w.view(), &qw, bias, qy, &window, groups).unwrap().into_dyn())
    }
    check("conv", Tolerance::Exact, |c| match c.arrays[0] {
        Tensor::I8(_) => by_int8!(c.arrays[3], run(c), i8),
        _ => by_int8!(c.arrays[3], run(c), u8),
    });
}

#[test]
fn conv_integer() {
    check("conv_integer", Tolerance::Exact, |c| {
        let (window, groups) = (window(c), c.size());
        let (x, zx, w, zw) = (c.image::<u8>(), c.scalar::<u8>(), c.image::<u8>(), c.scalar::<u8>());
        i32::wrap(conv::conv_integer(x.view(), zx, w.view(), &[zw], &window, groups).unwrap().into_dyn())
    });
}

#[test]
fn qlinear_matmul() {
    fn run<A: Int8 + Element, B: Int8 + Element>(c: &mut Case) -> Tensor {
        let (a, qa, b, qb, qy) = (c.array::<A>(), c.quant::<A>(), c.array::<B>(), c.quant_per::<B>(), c.quant::<A>());
        A::wrap(matmul::qlinear_matmul(a.view(), qa, b.view(), &qb, qy).unwrap())
    }
    check("matmul", Tolerance::Exact, |c| match c.arrays[0] {
        Tensor::I8(_) => by_int8!(c.arrays[3], run(c), i8),
        _ => by_int8!(c.arrays[3], run(c), u8),
    });
}

#[test]
fn matmul_integer() {
    fn run<A: Int8 + Element, B: Int8 + Element>(c: &mut Case) -> Tensor {
        let (a, za, b, zb) = (c.array::<A>(), c.scalar::<A>(), c.array::<B>(), c.ranked::<B, Ix1>());
        i32::wrap(matmul::matmul_integer(a.view(), za, b.view(), zb.as_slice().unwrap()).unwrap())
    }
    check("matmul_integer", Tolerance::Exact, |c| match c.arrays[0] {
        Tensor::I8(_) => by_int8!(c.arrays[2], run(c), i8),
        _ => by_int8!(c.arrays[2], run(c), u8),
    });
}

#[test]
fn qgemm() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let (transpose_a, transpose_b) = (c.param() == 1, c.param() == 1);
        let (a, qa, b, qb) = (c.ranked::<T, Ix2>(), c.quant::<T>(), c.ranked::<T, Ix2>(), c.quant_per::<T>());
        let bias = Some(c.array::<i32>()).filter(|bias| !bias.is_empty());
        let gemm = Gemm { alpha: c.scalar(), transpose_a, transpose_b };
        let bias = bias.as_ref().map(|b| b.view());
        T::wrap(matmul::qgemm(a.view(), qa, b.view(), &qb, bias, c.quant::<T>(), &gemm).unwrap().into_dyn())
    }
    check("gemm", Tolerance::Exact, |c| by_int8!(c.expected, run(c)));
}

// Between real numbers and steps.

#[test]
fn quantize_linear() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let (axis, x, q) = (c.param(), c.array::<f32>(), c.quant_per::<T>());
        T::wrap(match (axis, q.single()) {
            (-1000, Some(q)) => linear::quantize_linear(x.view(), q),
            _ => linear::quantize_linear_axis(x.view(), axis as isize, &q).unwrap(),
        })
    }
    check("quantize", Tolerance::Exact, |c| by_int8!(c.expected, run(c)));
}

#[test]
fn dequantize_linear() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let (axis, x, q) = (c.param(), c.array::<T>(), c.quant_per::<T>());
        f32::wrap(match (axis, q.single()) {
            (-1000, Some(q)) => linear::dequantize_linear(x.view(), q),
            _ => linear::dequantize_linear_axis(x.view(), axis as isize, &q).unwrap(),
        })
    }
    check("dequantize", Tolerance::Exact, |c| by_int8!(c.arrays[0], run(c)));
    check("dequantize_i32", Tolerance::Exact, |c| {
        let x = c.array::<i32>();
        f32::wrap(linear::dequantize_linear_i32(x.view(), c.scalar()).unwrap())
    });
}

#[test]
fn dynamic_quantize_linear() {
    check("dynamic_quantize", Tolerance::Exact, |c| {
        let (x, scale, zero_point) = (c.array::<f32>(), c.scalar::<f32>(), c.scalar::<u8>());
        let (y, q) = linear::dynamic_quantize_linear(x.view()).unwrap();
        assert_eq!((q.scale(), q.zero_point()), (scale, zero_point));
        u8::wrap(y)
    });
}

// Element by element.

/// A case of two quantised operands.
fn pair<T: Int8 + Element>(
    c: &mut Case,
    f: impl Fn(&ArrayD<T>, Quant<T>, &ArrayD<T>, Quant<T>, Quant<T>) -> ArrayD<T>,
) -> Tensor {
    let (a, qa, b, qb, qc) = (c.array::<T>(), c.quant::<T>(), c.array::<T>(), c.quant::<T>(), c.quant::<T>());
    T::wrap(f(&a, qa, &b, qb, qc))
}

macro_rules! pair_test {
    ($name:ident, $file:literal) => {
        #[test]
        fn $name() {
            fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
                pair::<T>(c, |a, qa, b, qb, qc| binary::$name(a.view(), qa, b.view(), qb, qc).unwrap())
            }
            check($file, Tolerance::Exact, |c| by_int8!(c.expected, run(c)));
        }
    };
}

pair_test!(qlinear_add, "add");
pair_test!(qlinear_mul, "mul");
pair_test!(qlinear_sub, "sub");
pair_test!(qlinear_div, "div");

#[test]
fn qlinear_concat() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let axis = c.param() as isize;
        let inputs: Vec<_> = (0..c.arrays.len() / 3).map(|_| (c.array::<T>(), c.quant::<T>())).collect();
        let views: Vec<_> = inputs.iter().map(|(x, q)| (x.view(), *q)).collect();
        T::wrap(concat::qlinear_concat(&views, axis, c.quant()).unwrap())
    }
    check("concat", Tolerance::Exact, |c| by_int8!(c.expected, run(c)));
}

#[test]
fn unary_functions() {
    /// The order of `UNARY` in `make.py`.
    fn function(code: i64, x: f32) -> f32 {
        let function = match code {
            0 | 18 => Unary::Sigmoid,
            1 => Unary::Tanh,
            2 => Unary::Erf,
            3 => return Unary::Erf.eval(x / std::f32::consts::SQRT_2),
            4 => Unary::Gelu,
            5 => Unary::GeluTanh,
            6 => Unary::Relu,
            7 | 19 => Unary::LeakyRelu { alpha: 0.1 },
            8 => Unary::HardSigmoid { alpha: 0.2, beta: 0.5 },
            9 => Unary::HardSwish,
            10 => Unary::Elu { alpha: 1.1 },
            11 => Unary::Softplus,
            12 => Unary::Exp,
            13 => Unary::Log,
            14 => Unary::Sqrt,
            15 => Unary::Reciprocal,
            16 => Unary::Abs,
            17 => Unary::Neg,
            other => panic!("no function {other}"),
        };
        function.eval(x)
    }
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let (code, x, qx, qy) = (c.param(), c.array::<T>(), c.quant::<T>(), c.quant::<T>());
        T::wrap(unary::qlinear_unary(x.view(), qx, qy, |x| function(code, x)))
    }
    // ORT's float32 erf and tanh are polynomials; the correctly rounded ones cross a tie 7 times in 5 million.
    check("unary", Tolerance::Rare { per: 100_000 }, |c| by_int8!(c.expected, run(c)));
}

#[test]
fn elementwise_functions() {
    fn ordered<T: Element + PartialOrd + Copy>(c: &mut Case) -> Tensor {
        let (op, a, b) = (c.param(), c.array::<T>(), c.array::<T>());
        T::wrap(match op {
            0 => elementwise::min(a.view(), b.view()).unwrap(),
            1 => elementwise::max(a.view(), b.view()).unwrap(),
            2 => elementwise::clip(a.view(), Some(b[0]), Some(b[1])),
            other => panic!("no operator {other}"),
        })
    }
    fn arithmetic(c: &mut Case) -> Tensor {
        let (op, a, b) = (c.param(), c.array::<f32>(), c.array::<f32>());
        let f = [elementwise::add, elementwise::sub, elementwise::mul, elementwise::div][op as usize - 3];
        f32::wrap(f(a.view(), b.view()).unwrap())
    }
    check("elementwise", Tolerance::Exact, |c| match c.expected {
        _ if c.params[0] >= 3 => arithmetic(c),
        Tensor::F32(_) => ordered::<f32>(c),
        _ => by_int8!(c.expected, ordered(c)),
    });
}

// Pooling.

fn pool_of(c: &mut Case) -> Pool {
    let (kernel, window) = (c.sizes(), window(c));
    let extent = if c.param() == 1 { PoolExtent::Ceil } else { PoolExtent::Floor };
    Pool { kernel, window, extent, divisor: PoolDivisor::Inside }
}

#[test]
fn max_pool() {
    fn run<T: Element + PartialOrd + Copy>(c: &mut Case) -> Tensor {
        let (pool, x) = (pool_of(c), c.image::<T>());
        T::wrap(pool::max_pool(x.view(), &pool).unwrap().into_dyn())
    }
    check("max_pool", Tolerance::Exact, |c| match c.expected {
        Tensor::F32(_) => run::<f32>(c),
        _ => by_int8!(c.expected, run(c)),
    });
}

#[test]
fn qlinear_average_pool() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let mut pool = pool_of(c);
        pool.divisor = if c.param() == 1 { PoolDivisor::Kernel } else { PoolDivisor::Inside };
        let (x, qx, qy) = (c.image::<T>(), c.quant::<T>(), c.quant::<T>());
        T::wrap(pool::qlinear_average_pool(x.view(), qx, qy, &pool).unwrap().into_dyn())
    }
    check("average_pool", Tolerance::Exact, |c| by_int8!(c.expected, run(c)));
}

#[test]
fn qlinear_global_average_pool() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let (x, qx, qy) = (c.ranked::<T, Ix4>(), c.quant::<T>(), c.quant::<T>());
        T::wrap(pool::qlinear_global_average_pool(x.view(), qx, qy).unwrap().into_dyn())
    }
    check("global_average_pool", Tolerance::Exact, |c| by_int8!(c.expected, run(c)));
}

// Softmax, layer normalisation, attention.

#[test]
fn qlinear_softmax() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let (axis, x, qx, qy) = (c.param() as isize, c.array::<T>(), c.quant::<T>(), c.quant::<T>());
        T::wrap(softmax::qlinear_softmax(x.view(), qx, axis, qy).unwrap())
    }
    // Unexplained: 11 in 26.5 million, all beside a tie.
    check("qlinear_softmax", Tolerance::Rare { per: 1_000_000 }, |c| by_int8!(c.expected, run(c)));
}

#[test]
fn softmax_quantized() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let (axis, x, qx, qy) = (c.param() as isize, c.array::<T>(), c.quant::<T>(), c.quant::<T>());
        T::wrap(softmax::softmax_quantized(x.view(), qx, axis, qy).unwrap())
    }
    // ORT's float32 exponential and summation order: 4 in 26.5 million.
    check("softmax", Tolerance::Rare { per: 1_000_000 }, |c| by_int8!(c.expected, run(c)));
}

#[test]
fn layer_norm_quantized() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let (axis, x, qx) = (c.param() as isize, c.array::<T>(), c.quant::<T>());
        let (gamma, beta) = (c.ranked::<f32, Ix1>(), c.list::<f32>());
        let (epsilon, qy) = (c.scalar(), c.quant::<T>());
        let beta = beta.as_ref().map(|b| b.view());
        T::wrap(norm::layer_norm_quantized(x.view(), qx, axis, gamma.view(), beta, epsilon, qy).unwrap())
    }
    // ORT's float32 summation order: 53 in 16.6 million.
    check("layer_norm", Tolerance::Rare { per: 100_000 }, |c| by_int8!(c.expected, run(c)));
}

#[test]
fn attention_head() {
    fn run<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let (query, key, value, factor) = (c.array::<T>(), c.array::<T>(), c.array::<T>(), c.scalar::<T>());
        let (scales, zeros) = (c.ranked::<f32, Ix1>(), c.ranked::<T, Ix1>());
        let q = |i: usize| Quant::new(scales[i], zeros[i]).unwrap();
        let quants = AttentionQuant {
            query: q(0),
            key: q(1),
            value: q(2),
            score: q(3),
            scaled: q(5),
            probability: q(6),
            output: q(7),
        };
        let (kind, factor) = (SoftmaxKind::Float, (factor, q(4)));
        let head = attention::attention_head(query.view(), key.view(), value.view(), factor, kind, &quants).unwrap();
        let stages = [head.scores, head.scaled, head.probabilities, head.output];
        T::wrap(stages.iter().flatten().copied().collect::<ndarray::Array1<T>>().into_dyn())
    }
    check("attention", Tolerance::Exact, |c| by_int8!(c.expected, run(c)));
}

// Movement.

fn resize_of(c: &mut Case) -> (impl Fn(&[usize], &[f32]) -> Resize + use<>, Nearest) {
    let coordinates =
        [Coordinates::HalfPixel, Coordinates::PytorchHalfPixel, Coordinates::Asymmetric, Coordinates::AlignCorners];
    let nearest = [Nearest::RoundPreferFloor, Nearest::RoundPreferCeil, Nearest::Floor, Nearest::Ceil];
    let (coordinates, nearest, sizes) = (coordinates[c.size()], nearest[c.size()], c.sizes::<4>());
    let make = move |shape: &[usize], scales: &[f32]| match scales {
        [] => Resize::to_sizes(shape, &sizes, coordinates).unwrap(),
        scales => Resize::by_scales(shape, scales, coordinates).unwrap(),
    };
    (make, nearest)
}

#[test]
fn resize_linear() {
    fn int8<T: Int8 + Element>(c: &mut Case) -> Tensor {
        let ((make, _), x, scales) = (resize_of(c), c.array::<T>(), c.ranked::<f32, Ix1>());
        T::wrap(resize::resize_linear(x.view(), &make(x.shape(), scales.as_slice().unwrap())).unwrap())
    }
    fn float(c: &mut Case) -> Tensor {
        let ((make, _), x, scales) = (resize_of(c), c.array::<f32>(), c.ranked::<f32, Ix1>());
        f32::wrap(resize::resize_linear_f32(x.view(), &make(x.shape(), scales.as_slice().unwrap())).unwrap())
    }
    check("resize_linear", Tolerance::Exact, |c| match c.expected {
        Tensor::F32(_) => float(c),
        _ => by_int8!(c.expected, int8(c)),
    });
}

#[test]
fn resize_nearest() {
    fn run<T: Element + Copy>(c: &mut Case) -> Tensor {
        let ((make, nearest), x, scales) = (resize_of(c), c.array::<T>(), c.ranked::<f32, Ix1>());
        let resize = make(x.shape(), scales.as_slice().unwrap());
        T::wrap(resize::resize_nearest(x.view(), &resize, nearest).unwrap())
    }
    check("resize_nearest", Tolerance::Exact, |c| match c.expected {
        Tensor::F32(_) => run::<f32>(c),
        _ => by_int8!(c.expected, run(c)),
    });
}

#[test]
fn movement() {
    fn signed(rest: &[i64]) -> Vec<usize> {
        rest.iter().map(|&i| usize::try_from(i).unwrap()).collect()
    }
    check("moves", Tolerance::Exact, |c| {
        let (op, x) = (c.param(), c.array::<u8>());
        let rest: Vec<i64> = c.params.drain(..).collect();
        let x = x.view();
        let y = match op {
            0 => moves::transpose(x, &signed(&rest)),
            1 => moves::reshape(x, &rest),
            2 => moves::slice(x, &rest.chunks(4).map(cut).collect::<Vec<_>>()),
            3 => moves::pad(x, &rest[2..6], &rest[6..], pad_mode(rest[0], rest[1] as u8)),
            4 => moves::space_to_depth(x, rest[0] as usize),
            5 => moves::depth_to_space(x, rest[0] as usize, DepthOrder::Dcr),
            6 => moves::depth_to_space(x, rest[0] as usize, DepthOrder::Crd),
            7 => moves::gather(x, ndarray::arr1(&rest[1..]).into_dyn().view(), rest[0] as isize),
            8 => moves::split(x, rest[0] as isize, &signed(&rest[1..4])).map(|mut p| p.swap_remove(rest[4] as usize)),
            9 => moves::expand(x, &signed(&rest)),
            10 => moves::concat(&[x.view(), x.view()], rest[0] as isize),
            other => panic!("no operator {other}"),
        };
        u8::wrap(y.unwrap())
    });
}

fn cut(c: &[i64]) -> SliceAxis {
    SliceAxis { axis: c[0] as isize, start: c[1], end: c[2], step: c[3] }
}

fn pad_mode(code: i64, value: u8) -> PadMode<u8> {
    [PadMode::Constant(value), PadMode::Reflect, PadMode::Edge, PadMode::Wrap][code as usize]
}

#[test]
fn arg_max() {
    fn run<T: Element + PartialOrd + Copy>(c: &mut Case) -> Tensor {
        let (axis, last, x) = (c.param() as isize, c.param() == 1, c.array::<T>());
        i64::wrap(argmax::argmax(x.view(), axis, if last { Tie::Last } else { Tie::First }).unwrap())
    }
    check("argmax", Tolerance::Exact, |c| match c.arrays[0] {
        Tensor::F32(_) => run::<f32>(c),
        _ => by_int8!(c.arrays[0], run(c)),
    });
}
