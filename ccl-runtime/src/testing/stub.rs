//! Conformance of attention stubs: [`stub_conformance!`](crate::stub_conformance) makes the tests, which call what is here.

use super::check::{Bar, Check};
use super::input::{Fill, arguments};
use super::mismatch::{Opinion, compare};
use crate::interp::Limits;
use crate::kernel::{Access, Arguments, Instance, Kernel, ParamType};
use crate::native::Session;

/// What a stub claims of its results, beside the plain way's for the same input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// They are the same.
    Exact,
    /// They differ by no more than this.
    Within(Bar),
    /// They are something else.
    Other,
}

/// Runs a kernel around a stub natively, on the simulator and by the interpreter, on random and corner inputs.
///
/// # Errors
/// The first difference, or what one of them refuses.
pub fn agreement(kernel: &Kernel) -> Result<(), String> {
    Check::new(kernel).try_run()?;
    for case in 0..Fill::ALL.len() {
        let native = native(kernel, case)?;
        let mut interpreted = inputs(kernel, case)?;
        let instance = Instance::of_kernel(kernel).map_err(|error| error.to_string())?;
        instance.interpret(&mut interpreted, Limits::default()).map_err(|error| error.to_string())?;
        let opinions =
            [Opinion { name: "native", arguments: native }, Opinion { name: "interpreter", arguments: interpreted }];
        if let Some(mismatch) = compare(&outputs(kernel).iter().map(String::as_str).collect::<Vec<_>>(), &opinions) {
            return Err(format!("{kernel:?}, case {case}: native and interpreter differ: {mismatch:?}"));
        }
    }
    Ok(())
}

/// Compares the local memory that a stub allocates with what its contract allows. `own_bytes` are the buffers of the kernel around it.
///
/// # Errors
/// If it is more.
pub fn scratch(kernel: &Kernel, own_bytes: usize, allowed_bytes: usize) -> Result<(), String> {
    let mut session = Session::new(kernel.target);
    kernel.run_native(&mut session, &mut inputs(kernel, 0)?).map_err(|error| error.to_string())?;
    let used = session.usage().lrm_bytes.saturating_sub(own_bytes);
    if used <= allowed_bytes {
        return Ok(());
    }
    Err(format!("{kernel:?}: the stub allocates {used} bytes in each PE, its contract allows {allowed_bytes}"))
}

/// Compares a stub with the plain way, in the same kernel on the same inputs.
///
/// # Errors
/// If it does not keep its claim.
pub fn claim(stub: &Kernel, plain: &Kernel, claim: Claim) -> Result<(), String> {
    if claim == Claim::Other {
        return Ok(());
    }
    for case in 0..Fill::ALL.len() {
        let opinions = [
            Opinion { name: "stub", arguments: native(stub, case)? },
            Opinion { name: "plain", arguments: native(plain, case)? },
        ];
        let found = compare(&outputs(stub).iter().map(String::as_str).collect::<Vec<_>>(), &opinions);
        let kept = match (&found, claim) {
            (Some(mismatch), Claim::Within(bar)) => bar.allows(mismatch),
            (found, _) => found.is_none(),
        };
        if !kept {
            return Err(format!("{stub:?}, case {case}: {claim:?} of the plain way: {found:?}"));
        }
    }
    Ok(())
}

fn inputs(kernel: &Kernel, case: usize) -> Result<Arguments, String> {
    arguments(&kernel.params(), &Arguments::new(), Fill::of_case(case), 1 + case as u64)
        .map_err(|missing| format!("no value for `{}`", missing.join("`, `")))
}

fn native(kernel: &Kernel, case: usize) -> Result<Arguments, String> {
    let mut arguments = inputs(kernel, case)?;
    kernel.run_native(&mut Session::new(kernel.target), &mut arguments).map_err(|error| error.to_string())?;
    Ok(arguments)
}

fn outputs(kernel: &Kernel) -> Vec<String> {
    let is_output = |ty: &ParamType| matches!(ty, ParamType::Tensor(ty) if ty.access == Access::Write);
    kernel.params().into_iter().filter(|param| is_output(&param.ty)).map(|param| param.name).collect()
}

/// Makes a module of tests for a stub: `stub_conformance!(mod tests_of_mine: slot = path::of::mine, scratch = bytes, claim)`, with `slot`
/// `post_projection` or `whole_head` and a [`Claim`](crate::testing::stub::Claim).
///
/// The stub runs in a kernel of its own for several extents and two machines: natively, on the simulator and by the interpreter, on
/// random and corner inputs; its allocations are compared with `scratch`, its results with those of the plain way.
#[macro_export]
macro_rules! stub_conformance {
    (mod $name:ident: post_projection = $($stub:ident)::+, scratch = $scratch:tt, $claim:expr) => {
        #[cfg(test)]
        mod $name {
            $crate::ccl! {
                use $($stub)::+ as stub_under_test;
                use ccl_runtime::nn::stub::project_by_slot;

                #[kernel]
                #[no_reference("compared with the plain way")]
                fn around<
                    const N: usize,
                    const D: usize,
                    const SCRATCH: usize,
                    const IN_MANTISSA: i32,
                    const IN_SHIFT: i32,
                    const OUT_MANTISSA: i32,
                    const OUT_SHIFT: i32,
                >(
                    x: &Ocm<i8, Tokens<N, D>>,
                    y: &mut Ocm<i8, Tokens<N, D>>,
                ) {
                    for t in x.tiles() {
                        let mut row = t.fetch::<Lrm<i8, D>>().wait();
                        stub_under_test::<D, SCRATCH, IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>(&mut row, t.index(), 0);
                        y.at(t).store(row);
                    }
                }

                #[instance(target = QC_N)]
                const SMALL: Kernel = around::<1, 4, $scratch, 1, 0, 1, 0>;
                #[instance(target = QC_N)]
                const SMALL_PLAIN: Kernel = project_by_slot::<1, 4, $scratch, 1, 0, 1, 0>;
                #[instance(target = QC_N)]
                const TILES: Kernel = around::<70, 8, $scratch, 13421773, 28, 12582912, 19>;
                #[instance(target = QC_N)]
                const TILES_PLAIN: Kernel = project_by_slot::<70, 8, $scratch, 13421773, 28, 12582912, 19>;
                #[instance(target = QC_U)]
                const WIDE: Kernel = around::<1100, 32, $scratch, 12582912, 28, 16777215, 21>;
                #[instance(target = QC_U)]
                const WIDE_PLAIN: Kernel = project_by_slot::<1100, 32, $scratch, 12582912, 28, 16777215, 21>;
            }
            $crate::stub_conformance!(@tests post_projection PostProjection $scratch, $claim,
                [(SMALL, SMALL_PLAIN, 4), (TILES, TILES_PLAIN, 8), (WIDE, WIDE_PLAIN, 32)]);
        }
    };
    (mod $name:ident: whole_head = $($stub:ident)::+, scratch = $scratch:tt, $claim:expr) => {
        #[cfg(test)]
        mod $name {
            $crate::ccl! {
                use $($stub)::+ as stub_under_test;
                use ccl_runtime::nn::stub::attention_by_slot;

                #[kernel]
                #[no_reference("compared with the plain way")]
                fn around<
                    const N: usize,
                    const KEYS: usize,
                    const K: usize,
                    const CHUNKS: usize,
                    const CHUNK: usize,
                    const D: usize,
                    const SCRATCH: usize,
                    const IN_MANTISSA: i32,
                    const IN_SHIFT: i32,
                    const OUT_MANTISSA: i32,
                    const OUT_SHIFT: i32,
                >(
                    q: &Ocm<i8, Tokens<N, D>>,
                    keys: &[Ocm<i8, Tokens<CHUNK, D>>; CHUNKS],
                    values: &[Ocm<i8, Planar<D, 1, CHUNK>>; CHUNKS],
                    y: &mut Ocm<i8, Tokens<N, D>>,
                ) {
                    for t in q.tiles() {
                        let query = t.fetch::<Lrm<i8, D>>().wait();
                        let mut out = Lrm::<i8, D>::new();
                        stub_under_test::<KEYS, K, CHUNKS, CHUNK, D, SCRATCH, IN_MANTISSA, IN_SHIFT, OUT_MANTISSA, OUT_SHIFT>(
                            &query, keys, values, &mut out, t.index(), 0,
                        );
                        y.at(t).store(out);
                    }
                }

                #[instance(target = QC_N)]
                const SMALL: Kernel = around::<1, 1, 16, 1, 16, 4, $scratch, 12582912, 35, 1, 0>;
                #[instance(target = QC_N)]
                const SMALL_PLAIN: Kernel = attention_by_slot::<1, 1, 16, 1, 16, 4, $scratch, 12582912, 35, 1, 0>;
                #[instance(target = QC_N)]
                const TILES: Kernel = around::<70, 50, 64, 4, 16, 8, $scratch, 12582912, 35, 12582912, 23>;
                #[instance(target = QC_N)]
                const TILES_PLAIN: Kernel = attention_by_slot::<70, 50, 64, 4, 16, 8, $scratch, 12582912, 35, 12582912, 23>;
                #[instance(target = QC_U)]
                const WIDE: Kernel = around::<40, 96, 96, 2, 48, 16, $scratch, 12582912, 36, 1, 0>;
                #[instance(target = QC_U)]
                const WIDE_PLAIN: Kernel = attention_by_slot::<40, 96, 96, 2, 48, 16, $scratch, 12582912, 36, 1, 0>;
            }
            $crate::stub_conformance!(@tests whole_head WholeHead $scratch, $claim,
                [(SMALL, SMALL_PLAIN, 8), (TILES, TILES_PLAIN, 16), (WIDE, WIDE_PLAIN, 32)]);
        }
    };
    (@tests $slot:ident $Slot:ident $scratch:tt, $claim:expr, [$(($stub:ident, $plain:ident, $own:tt)),*]) => {
        #[test]
        fn it_fills_the_slot() {
            fn fills<S: $crate::nn::stub::$Slot>() -> &'static str {
                S::SIGNATURE.name
            }
            assert!(!fills::<stub_under_test>().is_empty());
        }
        #[test]
        fn native_simulator_and_interpreter_agree() {
            $( $crate::testing::stub::agreement(&$stub).unwrap_or_else(|difference| panic!("{difference}")); )*
        }
        #[test]
        fn local_memory_is_within_the_contract() {
            $( $crate::testing::stub::scratch(&$stub, $own, $scratch).unwrap_or_else(|excess| panic!("{excess}")); )*
        }
        #[test]
        fn results_are_as_claimed() {
            use $crate::testing::stub::Claim;
            let claim: Claim = $claim;
            $( $crate::testing::stub::claim(&$stub, &$plain, claim).unwrap_or_else(|broken| panic!("{broken}")); )*
        }
    };
}
