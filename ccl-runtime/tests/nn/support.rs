//! What the checks of all families share: bars, and arguments of kernels.

use ccl_runtime::kernel::{Argument, ElemType, HostTensor, Kernel};
use ccl_runtime::prelude::Scale;
use ccl_runtime::testing::input::Fill;
use ccl_runtime::testing::{Bar, Check};

/// `NUMERICS.md`: operators of integers.
pub const INTEGER: Bar = Bar { by: 1, one_in: 100_000 };
/// `NUMERICS.md`: softmax and layer norm.
pub const FIXED: Bar = Bar { by: 1, one_in: 1000 };
/// Not one element differs.
pub const EXACT: Bar = Bar { by: 0, one_in: 1 };

/// Native code and simulator agree to the bit, and with the reference within the bar, over all fills together.
#[track_caller]
pub fn agree(kernel: &Kernel, given: &[(&str, Argument)], bar: Bar) {
    agree_over(kernel, given, bar, Fill::ALL.len());
}

/// As [`agree`], over so many cases: after one of each fill further random ones.
#[track_caller]
pub fn agree_over(kernel: &Kernel, given: &[(&str, Argument)], bar: Bar, cases: usize) {
    let check = Check::new(kernel).within(bar).cases(cases);
    given.iter().fold(check, |check, (name, argument)| check.with(name, argument.clone())).run();
}

/// A list of numbers.
pub fn list<const N: usize>(values: [i64; N]) -> Argument {
    Argument::List(values.into_iter().map(Argument::from).collect())
}

/// A list of scales.
pub fn scales<const N: usize>(values: [f64; N]) -> Argument {
    Argument::List(values.into_iter().map(|v| Scale::from_f64(f64::from(v as f32)).into()).collect())
}

/// A scale that float32 holds.
pub fn scale(value: f64) -> Argument {
    Scale::from_f64(f64::from(value as f32)).into()
}

/// A number with `fraction` fraction bits.
pub fn bits(value: f64, fraction: u32) -> Argument {
    Argument::Scalar((value * f64::from(1u32 << fraction)).round() as i64)
}

/// A vector of bytes or words.
pub fn vector<T: Copy + Into<i64>>(elem: ElemType, values: &[T]) -> Argument {
    HostTensor::from_fn(elem, &[values.len()], |i| values[i].into()).into()
}
