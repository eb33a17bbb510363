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

use std::panic::catch_unwind;

use ccl_runtime::interp::{self, Limits, Program, Unit};
use ccl_runtime::kernel::{Arguments, Instance, InstanceError};
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

/// How far a case came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Interpreter and simulator agree to the bit.
    Agreed,
    /// The compiler refuses the kernel, and says why.
    Refused(String),
}

/// Checks that a case prints, reads back, encodes, passes the checks and runs by the interpreter, and compares that with the
/// simulator, to the bit.
///
/// # Errors
/// What does not hold; a panic of the compiler is an error too.
pub fn compare(case: &Case) -> Result<Outcome, String> {
    let unit = front(case)?;
    let before = arguments(case, &unit)?;
    let native = interpreted(case, &unit, before.clone())?;
    let ran = catch_unwind(|| simulated(case, &unit, &before))
        .map_err(|_| "the compiler or the simulator panics".to_owned())?;
    match ran {
        Ok(simulated) => differences(&native, &simulated).map_or(Ok(Outcome::Agreed), Err),
        Err(InstanceError::Front(error)) => Ok(Outcome::Refused(error.to_string())),
        Err(InstanceError::Lower(error)) => Ok(Outcome::Refused(error.to_string())),
        Err(error) => Err(format!("the simulator ends otherwise than the interpreter: {error}")),
    }
}

/// The block of a case, read from its text.
fn front(case: &Case) -> Result<Unit, String> {
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
    Ok(unit)
}

/// The first element of an output about which the two do not agree.
fn differences(native: &Arguments, simulated: &Arguments) -> Option<String> {
    for (name, _) in native.iter() {
        let (Some(a), Some(b)) = (native.tensor(name), simulated.tensor(name)) else { continue };
        let n = a.iter().zip(b.iter()).filter(|(a, b)| a != b).count();
        if let Some((i, (a, b))) = a.iter().zip(b.iter()).enumerate().find(|(_, (a, b))| a != b) {
            return Some(format!("interpreter and simulator differ\n`{name}`: {n} elements, first {i}: {a} and {b}"));
        }
    }
    None
}

fn program<'a>(unit: &'a Unit, consts: &'a [Value]) -> Program<'a> {
    Program { unit, function: "k", consts, linker: &() }
}

fn consts(case: &Case) -> Vec<Value> {
    case.consts.iter().map(|n| Value::usize(*n as i128)).collect()
}

/// What a case is run with.
fn arguments(case: &Case, unit: &Unit) -> Result<Arguments, String> {
    let consts = consts(case);
    let params = interp::params(program(unit, &consts), &mut Session::new(&QC_N)).map_err(|error| error.to_string())?;
    let fill = Fill::of_case(case.seed as usize % 12);
    input::arguments(&params, &case.scalars, fill, case.seed)
        .map_err(|missing| format!("no arguments for {}", missing.join(", ")))
}

/// The arguments after a run by the interpreter; no generated kernel faults.
fn interpreted(case: &Case, unit: &Unit, mut arguments: Arguments) -> Result<Arguments, String> {
    let limits = Limits { steps: 2_000_000, ..Limits::default() };
    let consts = consts(case);
    let result = interp::run(program(unit, &consts), &mut arguments, &mut Session::new(&QC_N), limits);
    result.map(|()| arguments).map_err(|error| error.to_string())
}

/// The arguments after a run on the simulator.
fn simulated(case: &Case, unit: &Unit, arguments: &Arguments) -> Result<Arguments, InstanceError> {
    let consts: Vec<i128> = case.consts.iter().map(|n| *n as i128).collect();
    let instance = Instance::from_unit(unit, "k", &consts, &QC_N, &())?;
    let options = iss::sim::Options { threads: Some(1), ..Default::default() };
    Ok(instance.compile(arguments, &Default::default())?.run(arguments, &options)?.arguments)
}
