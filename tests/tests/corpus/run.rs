//! Arguments without pattern, and the comparison of a kernel with its reference.

use ccl_runtime::interp::{self, Limits, Program, Unit};
use ccl_runtime::kernel::{Argument, Arguments, ElemType, HostTensor, Kernel, ParamType, TensorType};
use ccl_runtime::native::Session;
use ccl_syntax::eval::Value;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn tensor(&mut self, elem: ElemType, dims: &[usize]) -> HostTensor {
        let (lo, hi) = elem.range();
        HostTensor::from_fn(elem, dims, |_| match self.next() % 16 {
            0 => lo,
            1 => hi,
            // Sums of a few 32-bit values stay in range.
            _ => (self.next() as i64) >> if matches!(elem, ElemType::I32) { 44 } else { 0 },
        })
    }

    fn argument(&mut self, ty: &ParamType) -> Argument {
        match ty {
            ParamType::Tensor(tensor) => self.of_tensor(tensor),
            ParamType::Array(of, n) => Argument::List((0..*n).map(|_| self.argument(of)).collect()),
            _ => Argument::Scalar(0),
        }
    }

    fn of_tensor(&mut self, ty: &TensorType) -> Argument {
        let dims = ty.layout.host_dims();
        if !matches!(ty.layout.kind, ccl_runtime::tensor::Kind::Stream(_)) {
            return self.tensor(ty.elem, &dims).into();
        }
        let bias = (0..dims[0]).map(|_| (self.next() as i32) >> 18).collect();
        Argument::Stream { weights: self.tensor(ty.elem, &dims), bias }
    }
}

/// Arguments of a kernel: those given, the others without pattern.
pub fn passed(kernel: &Kernel, seed: u64, given: &[(&str, Argument)]) -> Arguments {
    let mut random = Random(seed);
    let mut arguments = Arguments::new();
    for param in kernel.params() {
        let given = given.iter().find(|(name, _)| *name == param.name).map(|(_, argument)| argument.clone());
        arguments.set(&param.name, given.unwrap_or_else(|| random.argument(&param.ty)));
    }
    arguments
}

/// A fixed-point number as an argument.
pub fn bits(value: f64, fraction: u32) -> Argument {
    Argument::Scalar((value * f64::from(1u32 << fraction)).round() as i64)
}

/// Runs the tree of the kernel's block by the interpreter.
#[track_caller]
fn interpret(kernel: &Kernel, arguments: &mut Arguments) {
    let module = ccl_syntax::decode(kernel.source().ast()).expect("the macro wrote it");
    let mut diags = ccl_syntax::Diags::default();
    let unit = Unit::check(kernel.source().module_path(), module, &mut diags);
    assert!(diags.take().is_empty(), "{kernel:?}");
    let consts: Vec<Value> = kernel.consts.iter().map(|(_, value)| Value::usize(*value)).collect();
    let program = Program { unit: &unit, function: kernel.function(), consts: &consts, linker: &() };
    let mut session = Session::new(kernel.target);
    interp::run(program, arguments, &mut session, Limits::default()).unwrap_or_else(|e| panic!("{kernel:?}: {e}"));
}

/// Runs a kernel as native code, by the interpreter of its tree, which must agree to the bit, and by its reference, of which it may
/// be `tolerance` apart.
#[track_caller]
pub fn agree(kernel: &Kernel, seed: u64, given: &[(&str, Argument)], tolerance: i64) {
    let arguments = passed(kernel, seed, given);
    let (mut native, mut golden) = (arguments.clone(), arguments.clone());
    kernel
        .run_native(&mut Session::new(kernel.target), &mut native)
        .unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
    assert_eq!(kernel.run_reference(&mut golden), Ok(true), "{kernel:?}");
    let mut interpreted = arguments.clone();
    interpret(kernel, &mut interpreted);
    assert!(interpreted == native, "{kernel:?}: native code and the interpreter of the tree differ");
    assert_ne!(arguments, golden, "{kernel:?} writes something");
    for ((name, a), (_, b)) in native.iter().zip(golden.iter()) {
        close(kernel, name, a, b, tolerance);
    }
}

#[track_caller]
fn close(kernel: &Kernel, name: &str, a: &Argument, b: &Argument, tolerance: i64) {
    match (a, b) {
        (Argument::List(a), Argument::List(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).for_each(|(a, b)| close(kernel, name, a, b, tolerance));
        }
        (Argument::Tensor(a), Argument::Tensor(b)) => {
            assert_eq!((a.elem(), a.dims()), (b.elem(), b.dims()), "{kernel:?}: `{name}`");
            let wrong: Vec<_> =
                a.iter().zip(b.iter()).enumerate().filter(|(_, (a, b))| (a - b).abs() > tolerance).take(5).collect();
            assert!(wrong.is_empty(), "{kernel:?}: `{name}` {:?}, (index, (native, golden)): {wrong:?}", a.dims());
        }
        (a, b) => assert_eq!(a, b, "{kernel:?}: `{name}`"),
    }
}
