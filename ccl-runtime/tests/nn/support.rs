//! Runs a kernel and its reference on the fills of [`ccl_runtime::testing`], and compares.

use ccl_runtime::kernel::{Argument, Arguments, ElemType, HostTensor, Kernel, ParamType, Reference};
use ccl_runtime::native::Session;
use ccl_runtime::prelude::Scale;
use ccl_runtime::testing::Bar;
use ccl_runtime::testing::input::{Fill, arguments};
use ccl_runtime::testing::mismatch::{Opinion, compare};

/// `NUMERICS.md`: operators of integers.
pub const INTEGER: Bar = Bar { by: 1, one_in: 100_000 };
/// `NUMERICS.md`: softmax and layer norm.
pub const FIXED: Bar = Bar { by: 1, one_in: 1000 };
/// Not one element differs.
pub const EXACT: Bar = Bar { by: 0, one_in: 1 };

/// Random, corners, near 0, least, greatest, zero, and three more.
const CASES: usize = 9;

/// Native code and reference agree, within the bar over all cases together.
#[track_caller]
pub fn agree(kernel: &Kernel, given: &[(&str, Argument)], bar: Bar) {
    let params = kernel.params();
    let given = given.iter().fold(Arguments::new(), |all, (name, argument)| all.with(name, argument.clone()));
    let is_output =
        |ty: &ParamType| matches!(ty, ParamType::Tensor(ty) if ty.access == ccl_runtime::kernel::Access::Write);
    let outputs: Vec<&str> = params.iter().filter(|p| is_output(&p.ty)).map(|p| p.name.as_str()).collect();
    let (mut n_elements, mut n_wrong, mut first) = (0, 0, None);
    for case in 0..CASES {
        let inputs = arguments(&params, &given, Fill::of_case(case), 17 + case as u64).expect("numbers are given");
        let (mut native, mut golden) = (inputs.clone(), inputs.clone());
        let ran = kernel.run_native(&mut Session::new(kernel.target), &mut native);
        ran.unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
        let Reference::Golden { run, .. } = kernel.reference else { panic!("{kernel:?} has a reference") };
        run(&mut golden).expect("arguments fit");
        n_elements += outputs.iter().map(|y| inputs.tensor(y).expect("an output").len()).sum::<usize>();
        let opinions =
            [Opinion { name: "native", arguments: native }, Opinion { name: "reference", arguments: golden }];
        if let Some(m) = compare(&outputs, &opinions) {
            let index = m.index(m.first);
            let far = m.largest.0 > bar.by;
            assert!(
                !far,
                "{kernel:?}, case {case}: {} of {}, first at {index:?}: {:?}, {m:?}",
                m.count,
                m.dims.iter().product::<usize>(),
                m.values
            );
            n_wrong += m.count;
            first.get_or_insert((case, index, m));
        }
    }
    let allowed = if bar.by == 0 { 0 } else { (n_elements as u64 / bar.one_in).max(1) as usize };
    assert!(n_wrong <= allowed, "{kernel:?}: {n_wrong} of {n_elements} differ, {allowed} may; first {first:?}");
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
