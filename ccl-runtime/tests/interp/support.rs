//! Runs of texts, and plain arithmetic to compare with.

use ccl_runtime::interp::{self, InterpError, Library, Limits, Program};
use ccl_runtime::kernel::{Arguments, HostTensor};
use ccl_runtime::native::{Geometry, Session};
use ccl_runtime::testing::input::{self, Fill};
use ccl_runtime::value::Scale;
use ccl_syntax::eval::Value;

/// A small array, so that extents are no multiple of it.
pub const ARRAY: Geometry = Geometry { rows: 8, cols: 8, border: 4 };

/// A file of the corpus.
pub fn corpus(name: &str) -> String {
    let path = format!("{}/../ccl-macros/syntax/tests/corpus/{name}.rs", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the corpus is there")
}

/// A library of these files: module path, text.
#[track_caller]
pub fn library(files: &[(&str, &str)]) -> Library {
    let mut library = Library::new();
    for (path, text) in files {
        if let Err(error) = library.load(path, &format!("{path}.rs"), text) {
            panic!("{error}");
        }
    }
    library
}

/// Runs a function of a library.
pub fn run(library: &Library, name: &str, consts: &[usize], args: &mut Arguments) -> Result<(), InterpError> {
    run_within(library, name, consts, args, Limits::default())
}

pub fn run_within(
    library: &Library,
    name: &str,
    consts: &[usize],
    args: &mut Arguments,
    limits: Limits,
) -> Result<(), InterpError> {
    let unit = library.with_function(name).expect("the function is loaded");
    let consts: Vec<Value> = consts.iter().map(|n| Value::usize(*n as i128)).collect();
    let program = Program { unit, function: name, consts: &consts, linker: library };
    interp::run(program, args, &mut Session::with_geometry(ARRAY), limits)
}

/// Random arguments for whatever `given` does not hold, and the run's results.
#[track_caller]
pub fn results(files: &[(&str, &str)], name: &str, consts: &[usize], given: &Arguments) -> (Arguments, Arguments) {
    let library = library(files);
    let unit = library.with_function(name).expect("the function is loaded");
    let values: Vec<Value> = consts.iter().map(|n| Value::usize(*n as i128)).collect();
    let program = Program { unit, function: name, consts: &values, linker: &library };
    let params = interp::params(program, &mut Session::with_geometry(ARRAY)).expect("parameters have types");
    let before = input::arguments(&params, given, Fill::Uniform, 7).expect("numbers are given");
    let mut after = before.clone();
    if let Err(error) = run(&library, name, consts, &mut after) {
        panic!("{error}");
    }
    (before, after)
}

/// The numbers of a tensor, by its extents.
pub struct Numbers(Vec<i64>, Vec<usize>);

impl Numbers {
    pub fn of(tensor: &HostTensor) -> Self {
        Self(tensor.iter().collect(), tensor.dims().to_vec())
    }
    /// The element; 0 outside.
    pub fn at(&self, place: &[i64]) -> i64 {
        let mut at = 0;
        for (i, n) in place.iter().zip(&self.1) {
            if !(0..*n as i64).contains(i) {
                return 0;
            }
            at = at * n + *i as usize;
        }
        self.0[at]
    }
    /// Calls `f` with every place and its number.
    pub fn each(&self, mut f: impl FnMut(&[i64], i64)) {
        for (i, value) in self.0.iter().enumerate() {
            let (mut rest, mut place) = (i, vec![0; self.1.len()]);
            for (at, n) in place.iter_mut().zip(&self.1).rev() {
                *at = (rest % n) as i64;
                rest /= n;
            }
            f(&place, *value);
        }
    }
}

pub fn numbers(args: &Arguments, name: &str) -> Numbers {
    Numbers::of(args.tensor(name).expect("there is such a tensor"))
}

/// `round_half_even(v * 2^-shift)`.
pub fn rounded(v: i128, shift: i32) -> i64 {
    let d = 1i128 << shift;
    let (floor, rest) = (v.div_euclid(d), v.rem_euclid(d));
    (floor + i128::from(2 * rest > d || (2 * rest == d && floor & 1 == 1))) as i64
}

pub fn saturated(v: i64) -> i64 {
    v.clamp(-128, 127)
}

/// `round_half_even(v * scale)` in int8.
pub fn requantised(v: i64, scale: Scale) -> i64 {
    saturated(rounded(v as i128 * scale.mantissa as i128, scale.shift))
}
