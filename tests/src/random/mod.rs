//! Random kernels: text of the language, grown from a seed, that every part of the project must agree about.
//!
//! `tree` builds nodes, `generate` knows what is in scope, `expression`, `statement` and `kernel` grow, `shrink` removes what a
//! failure does not need. The kernels are Rust that the macro would take: they type-check, no run of them faults, and nothing
//! that the machine leaves undefined reaches an output.

mod expression;
mod generate;
mod kernel;
mod shrink;
mod statement;
mod tree;

use ccl_runtime::interp::{self, Limits, Program, Unit};
use ccl_runtime::kernel::{Arguments, Instance};
use ccl_runtime::native::Session;
use ccl_runtime::testing::input::{self, Fill};
use ccl_syntax::ast::Module;
use ccl_syntax::eval::Value;
use ccl_syntax::{Diags, decode, encode, parse_items, print};
use iss::target::QC_N;

pub use shrink::shrink;

/// A kernel `k` and what it is run with.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it was grown from.
    pub seed: u64,
    /// The block with the kernel, its helpers and an instance on the smallest machine.
    pub module: Module,
    /// The const arguments.
    pub consts: Vec<usize>,
    /// The scalars; tensors are drawn from the seed.
    pub scalars: Arguments,
}

impl Case {
    /// The case of a seed.
    pub fn new(seed: u64) -> Self {
        let kernel::Made { module, consts, scalars } = kernel::grow(seed);
        Self { seed, module, consts, scalars }
    }

    /// The text of the kernel.
    pub fn text(&self) -> String {
        print(&self.module)
    }
}

/// Checks everything that must hold of a case.
///
/// # Errors
/// What does not hold.
pub fn check(case: &Case) -> Result<(), String> {
    let text = case.text();
    let mut diags = Diags::default();
    let (parsed, source) = parse_items("k.rs", &text, &mut diags);
    if !diags.is_empty() {
        return Err(format!("the text is not read:\n{}", diags.render(&source)));
    }
    if print(&parsed) != text || parsed.items != case.module.items {
        return Err("printing and reading give another tree".to_owned());
    }
    let decoded = decode(&encode(&parsed)).map_err(|error| format!("the encoded tree is not decoded: {error}"))?;
    if decoded != parsed {
        return Err("encoding and decoding give another tree".to_owned());
    }
    let unit = Unit::check("", parsed, &mut diags);
    if !diags.is_empty() {
        return Err(format!("the text does not pass the checks:\n{}", diags.render(&source)));
    }
    interpreted(case, &unit).map(|_| ())
}

/// Checks that a case leaves the same on the simulator as natively.
///
/// # Errors
/// What cannot be compiled or run, or the first output that differs.
pub fn check_simulated(case: &Case) -> Result<(), String> {
    let mut diags = Diags::default();
    let (parsed, _) = parse_items("k.rs", &case.text(), &mut diags);
    let unit = Unit::check("", parsed, &mut diags);
    if let Some(diag) = diags.take().first() {
        return Err(format!("the text does not pass the checks: {}", diag.message));
    }
    let native = interpreted(case, &unit)?;
    let consts: Vec<i128> = case.consts.iter().map(|n| *n as i128).collect();
    let instance = Instance::from_unit(&unit, "k", &consts, &QC_N, &()).map_err(|error| error.to_string())?;
    let fill = Fill::of_case(case.seed as usize % 12);
    let arguments = input::arguments(instance.params(), &case.scalars, fill, case.seed)
        .map_err(|missing| format!("no arguments for {}", missing.join(", ")))?;
    let simulated = instance.run(&arguments).map_err(|error| error.to_string())?.arguments;
    for ((name, native), (_, simulated)) in native.iter().zip(simulated.iter()) {
        if native != simulated {
            return Err(format!("`{name}` differs between native run and simulator"));
        }
    }
    Ok(())
}

/// The arguments after a run by the interpreter.
///
/// # Errors
/// The fault of the run; no generated kernel has one.
pub fn interpreted(case: &Case, unit: &Unit) -> Result<Arguments, String> {
    let consts: Vec<Value> = case.consts.iter().map(|n| Value::usize(*n as i128)).collect();
    let program = Program { unit, function: "k", consts: &consts, linker: &() };
    let mut session = Session::new(&QC_N);
    let params = interp::params(program, &mut session).map_err(|error| error.to_string())?;
    let fill = Fill::of_case(case.seed as usize % 12);
    let mut arguments = input::arguments(&params, &case.scalars, fill, case.seed)
        .map_err(|missing| format!("no arguments for {}", missing.join(", ")))?;
    let limits = Limits { steps: 2_000_000, ..Limits::default() };
    interp::run(program, &mut arguments, &mut session, limits).map_err(|error| error.to_string())?;
    Ok(arguments)
}
