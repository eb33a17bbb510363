//! What kernels from text cost beside the same kernels written in the IR by hand.

use ccl_runtime::ir::Module;
use ccl_runtime::kernel::{Argument, Arguments};
use ccl_runtime::value::Scale;
use iss::target::QC_U;

use crate::kernels::{POINTWISE, REQUANTISE, arguments, instance, run};
use crate::support::{Args, compiled, simulate};

/// Cycles of a kernel of `tests/kernels_ir`.
fn by_hand(name: &str) -> u64 {
    let path = format!("{}/tests/kernels_ir/{name}.ccl", env!("CARGO_MANIFEST_DIR"));
    let module = Module::parse(&std::fs::read_to_string(path).expect("the kernel is there")).expect("it reads");
    let kernel = module.funcs[0].name.clone();
    let args = Args::random(&module, &kernel, &mut iss::testing::Rng::new(1));
    simulate(&compiled(&module, &QC_U), &module, &kernel, &args).1.cycles
}

#[track_caller]
fn check(name: &str, text: &str, function: &str, consts: &[i128], set: impl Fn(Arguments) -> Arguments) {
    let case = instance(text, function, consts, &QC_U);
    let arguments = set(arguments(case.params(), 1));
    let (_, profile) = run(&case, &arguments);
    let hand = by_hand(name);
    let ratio = profile.cycles as f64 / hand as f64;
    assert!(ratio < 1.03, "{name}: {} cycles from text, {hand} by hand", profile.cycles);
}

#[test]
fn text_costs_what_the_ir_costs() {
    let scale = |a: Arguments| a.with("scale", Argument::Scale(Scale::new(19923, 21)));
    check("conv", POINTWISE, "pointwise", &[32, 128, 64, 128], scale);
    check("requantise", REQUANTISE, "requantise", &[16, 70, 90], scale);
}
