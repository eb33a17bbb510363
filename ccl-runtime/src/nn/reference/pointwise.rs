//! Element by element: requantisation, functions of one value, and of two.

use ccl_golden::{Quant, binary, elementwise, fixed, linear};
use ndarray::{Array1, Array3, ArrayD};

use super::{any, float, steps, store};
use crate::value::{Fx, Scale};

/// QuantizeLinear of DequantizeLinear; the scale of `y` is 1.
pub fn requantise(x: &Array3<i8>, y: &mut Array3<i8>, scale: Scale, zero_points: (i32, i32)) {
    let real = linear::dequantize_linear(any(x).view(), steps(float(scale), zero_points.0));
    store(y, linear::quantize_linear(real.view(), steps(1.0, zero_points.1)));
}

/// The fixed-point quantisation of the machine, whose format has the fraction bits that `F` says.
pub fn quantise<const F: usize>(x: &Array3<i32>, y: &mut Array3<i8>, inverse: Scale, zero_point: i32) {
    let q = steps((1.0 / inverse.to_f64()) as f32, zero_point);
    y.zip_mut_with(x, |y, x| *y = linear::quantize(fixed::fx_to_f64(*x, F as u32) as f32, q));
}

/// The fixed-point dequantisation of the machine.
pub fn dequantise<const F: usize>(x: &Array3<i8>, y: &mut Array3<i32>, scale: Scale, zero_point: i32) {
    let q = steps(float(scale), zero_point);
    y.zip_mut_with(x, |y, x| *y = fixed::fx_dequantize(*x, q, F as u32).expect("a scale of 24 bits"));
}

/// The entry of each value.
pub fn unary(x: &Array3<i8>, table: &Array1<i8>, y: &mut Array3<i8>) {
    y.zip_mut_with(x, |y, x| *y = table[*x as u8 as usize]);
}

/// Relu in float32.
pub fn relu(x: &Array3<i8>, y: &mut Array3<i8>, zero_point: i8) {
    let q = steps(0.5, zero_point.into());
    let function = ccl_golden::unary::Unary::Relu;
    store(y, ccl_golden::unary::qlinear_unary(any(x).view(), q, q, |v| function.eval(v)));
}

type Sum = fn(
    ndarray::ArrayViewD<i8>,
    Quant<i8>,
    ndarray::ArrayViewD<i8>,
    Quant<i8>,
    Quant<i8>,
) -> Result<ArrayD<i8>, ccl_golden::GoldenError>;

fn sum(
    operator: Sum,
    (a, b): (&Array3<i8>, &Array3<i8>),
    y: &mut Array3<i8>,
    scales: (Scale, Scale),
    zeros: (i32, i32, i32),
) {
    let (qa, qb) = (steps(float(scales.0), zeros.0), steps(float(scales.1), zeros.1));
    store(y, operator(any(a).view(), qa, any(b).view(), qb, steps(1.0, zeros.2)).expect("equal extents"));
}

/// QLinearAdd.
pub fn add(
    a: &Array3<i8>,
    b: &Array3<i8>,
    y: &mut Array3<i8>,
    scales: (Scale, Scale),
    zero_points: (i32, i32, i32),
) {
    sum(binary::qlinear_add, (a, b), y, scales, zero_points);
}

/// Sub between DequantizeLinear and QuantizeLinear.
pub fn sub(
    a: &Array3<i8>,
    b: &Array3<i8>,
    y: &mut Array3<i8>,
    scales: (Scale, Scale),
    zero_points: (i32, i32, i32),
) {
    sum(binary::qlinear_sub, (a, b), y, scales, zero_points);
}

/// QLinearMul.
pub fn mul(a: &Array3<i8>, b: &Array3<i8>, y: &mut Array3<i8>, scale: Scale, zero_points: (i32, i32, i32)) {
    sum(binary::qlinear_mul, (a, b), y, (scale, Scale::new(1, 0)), zero_points);
}

/// Div between DequantizeLinear and QuantizeLinear. The scale is that of the table: of the reciprocal of 1, or of -1.
pub fn div(
    a: &Array3<i8>,
    b: &Array3<i8>,
    reciprocals: &Array1<i32>,
    y: &mut Array3<i8>,
    zero_points: (i32, i32, i32),
) {
    let one = |d: i32| (zero_points.1 + d).clamp(-128, 127);
    let d = one(1) - zero_points.1;
    let d = if d != 0 { d } else { -1 };
    let of_one = reciprocals[(zero_points.1 + d) as u8 as usize] as f64 * f64::from(d);
    let scale = Scale::from_f64(of_one / f64::from(1u32 << 29));
    sum(binary::qlinear_div, (a, b), y, (scale, Scale::new(1, 0)), zero_points);
}

/// Min.
pub fn minimum(a: &Array3<i8>, b: &Array3<i8>, y: &mut Array3<i8>) {
    store(y, elementwise::min(any(a).view(), any(b).view()).expect("equal extents"));
}

/// Max.
pub fn maximum(a: &Array3<i8>, b: &Array3<i8>, y: &mut Array3<i8>) {
    store(y, elementwise::max(any(a).view(), any(b).view()).expect("equal extents"));
}

/// Clip.
pub fn clip(x: &Array3<i8>, y: &mut Array3<i8>, low: i8, high: i8) {
    store(y, elementwise::clip(any(x).view(), Some(low), Some(high)));
}

/// A fixed-point parameter as a number.
pub(super) fn real<const F: usize>(x: Fx<F>) -> f64 {
    fixed::fx_to_f64(x.raw(), F as u32)
}
