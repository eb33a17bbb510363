//! The kernels of the language's corpus.

use ccl_runtime::interp::{self, Library};
use ccl_runtime::ir::Module;
use ccl_runtime::kernel::{Argument, Arguments, HostTensor, Instance, Param, ParamType};
use ccl_runtime::native::Session;
use ccl_runtime::value::Scale;
use ccl_syntax::eval::Value;
use iss::profile::Profile;
use iss::target::{QC_N, QC_U, Target};
use iss::testing::Rng;

use crate::support::{Args, interpret};

fn corpus(name: &str) -> String {
    let path = format!("{}/../ccl-macros/syntax/tests/corpus/{name}.rs", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the corpus is there")
}

/// A kernel of some text on a machine, and its block.
pub struct Case {
    library: Library,
    function: String,
    consts: Vec<i128>,
    instance: Instance,
}

impl Case {
    pub fn params(&self) -> &[Param] {
        self.instance.params()
    }

    /// The native opinion.
    #[track_caller]
    fn native(&self, arguments: &Arguments) -> Arguments {
        let unit = self.library.with_function(&self.function).expect("the kernel is there");
        let function = unit.module().fns().map(|(_, f)| f).find(|f| f.name.name.name == self.function);
        let generics = &function.expect("the kernel is there").generics;
        assert_eq!(generics.len(), self.consts.len());
        let consts: Vec<Value> = self.consts.iter().map(|v| Value::usize(*v)).collect();
        let program = interp::Program { unit, function: &self.function, consts: &consts, linker: &self.library };
        let (mut out, mut session) = (arguments.clone(), Session::new(self.instance.target()));
        interp::run(program, &mut out, &mut session, Default::default()).unwrap_or_else(|e| panic!("{e}"));
        out
    }
}

#[track_caller]
pub fn instance(text: &str, function: &str, consts: &[i128], target: &Target) -> Case {
    instance_of(&[("crate".into(), text.into())], function, consts, target)
}

/// A kernel of some files: module and text.
#[track_caller]
pub fn instance_of(files: &[(String, String)], function: &str, consts: &[i128], target: &Target) -> Case {
    let mut library = Library::new();
    for (module, text) in files {
        library.load(module, "kernel.rs", text).unwrap_or_else(|e| panic!("{e}"));
    }
    let unit = library.with_function(function).expect("the kernel is there");
    let instance = Instance::from_unit(unit, function, consts, target, &library).unwrap_or_else(|e| panic!("{e}"));
    let (function, consts) = (function.to_owned(), consts.to_vec());
    Case { library, function, consts, instance }
}

fn random(param: &ParamType, rng: &mut Rng) -> Argument {
    match param {
        ParamType::Tensor(ty) => {
            let (lo, hi) = ty.elem.range();
            let mut value = |_| match rng.below(if hi > 1 << 20 { 8 } else { 16 }) {
                0 if hi < 1 << 20 => lo,
                1 if hi < 1 << 20 => hi,
                // Sums of a few words stay in range.
                _ => {
                    i64::from_le_bytes(rng.bytes(8).try_into().expect("eight bytes"))
                        >> if hi > 1 << 20 { 44 } else { 0 }
                }
            };
            let tensor = HostTensor::from_fn(ty.elem, &ty.layout.host_dims(), &mut value);
            match ty.layout.kind {
                ccl_runtime::tensor::Kind::Stream(_) => {
                    let bias = (0..ty.layout.dims[0]).map(|i| (value(i) >> 44) as i32).collect();
                    Argument::Stream { weights: tensor, bias }
                }
                _ => Argument::Tensor(tensor),
            }
        }
        ParamType::Scale => Argument::Scale(Scale::from_f64(0.01)),
        ParamType::Scalar(_) => Argument::Scalar(0),
        ParamType::Array(of, n) => Argument::List((0..*n).map(|_| random(of, rng)).collect()),
        ParamType::Tuple(types) => Argument::List(types.iter().map(|ty| random(ty, rng)).collect()),
    }
}

pub fn arguments(params: &[Param], seed: u64) -> Arguments {
    let mut rng = Rng::new(seed);
    params.iter().fold(Arguments::new(), |a, p| a.with(&p.name, random(&p.ty, &mut rng)))
}

/// Runs natively, on the interpreter of the IR and on the simulator; all must leave the same. Gives the tensors written and the profile.
#[track_caller]
pub fn run(case: &Case, arguments: &Arguments) -> (Arguments, Profile) {
    let instance = &case.instance;
    let compiled = instance.compile(arguments, &Default::default()).unwrap_or_else(|e| {
        let module = instance.elaborate(arguments).map(|e| e.module.bare().to_string()).unwrap_or_default();
        panic!("{e}\n{module}")
    });
    let options = iss::sim::Options { threads: Some(1), ..Default::default() };
    let outcome = compiled.run(arguments, &options).unwrap_or_else(|e| panic!("{e}\n{}", compiled.module.bare()));
    let mut args = Args::default();
    for (name, bytes) in compiled.buffers(arguments).expect("they fit") {
        args = args.with(&name, bytes);
    }
    let out = interpret(&compiled.module, &compiled.kernel, instance.target(), &args)
        .unwrap_or_else(|e| panic!("{e}\n{}", compiled.module.bare()));
    let after = compiled.buffers(&outcome.arguments).expect("they fit");
    for (name, bytes) in after {
        if let Some(of_ir) = out.get(&name) {
            let tensor = compiled.tensors.iter().find(|t| t.name == name).expect("a tensor");
            let of_ir = tensor.ty.unpack(&of_ir[..tensor.ty.size_bytes()]).expect("as many bytes");
            let simulated = tensor.ty.unpack(&bytes[..tensor.ty.size_bytes()]).expect("as many bytes");
            assert_eq!(of_ir, simulated, "{name}: interpreter and simulator\n{}", compiled.module.bare());
        }
    }
    let native = case.native(arguments);
    for ((name, native), (_, simulated)) in native.iter().zip(outcome.arguments.iter()) {
        same(name, native, simulated, &compiled.module);
    }
    (outcome.arguments, outcome.profile)
}

#[track_caller]
fn same(name: &str, native: &Argument, simulated: &Argument, module: &Module) {
    match (native, simulated) {
        (Argument::List(a), Argument::List(b)) => a.iter().zip(b).for_each(|(a, b)| same(name, a, b, module)),
        (Argument::Tensor(a), Argument::Tensor(b)) => {
            let wrong: Vec<_> = a.iter().zip(b.iter()).enumerate().filter(|(_, (a, b))| a != b).collect();
            let first = &wrong[..wrong.len().min(8)];
            let n = wrong.len();
            assert!(
                wrong.is_empty(),
                "{name}: {n} of {} differ, (index, (native, simulator)): {first:?}\n{}",
                a.len(),
                module.bare()
            );
        }
        (a, b) => assert_eq!(a, b, "{name}"),
    }
}

const TARGETS: [&Target; 2] = [&QC_U, &QC_N];

/// `round(v * mantissa / 2^shift)`, ties to even, in int8.
pub fn requant(v: i64, scale: Scale) -> i64 {
    let (p, s) = (v as i128 * scale.mantissa as i128, scale.shift);
    let rounded = if s <= 0 {
        p << -s
    } else {
        let (floor, rest) = (p >> s, p & ((1 << s) - 1));
        let half = 1 << (s - 1);
        floor + i128::from(rest > half || (rest == half && floor & 1 == 1))
    };
    rounded.clamp(-128, 127) as i64
}

fn scale_of(arguments: &Arguments, name: &str) -> Scale {
    match arguments.get(name) {
        Some(Argument::Scale(scale)) => *scale,
        other => panic!("{other:?}"),
    }
}

pub const POINTWISE: &str = "ccl! {
    #[kernel(reference = golden::pointwise)]
    pub fn pointwise<const CI: usize, const CO: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<CI, H, W>>,
        w: &Ocm<i8, Stream<CO, CI>>,
        y: &mut Ocm<i8, Packed<CO, H, W>>,
        scale: Scale,
    ) {
        for t in x.tiles().pipelined(2) {
            let a = t.fetch::<Lrm<i8, CI>>().wait();
            let mut weights = broadcast(w);
            for o in (0..CO).step_by(4) {
                let acc = weights.bias::<4>() + mac(a, weights.take::<4>());
                y.at(t).channels(o).store(requant(acc, scale, HalfEven, Saturate));
            }
        }
    }
}";

#[test]
fn pointwise() {
    let text = POINTWISE;
    for target in TARGETS {
        for [ci, co, h, w] in [[8, 12, 5, 7], [32, 8, 40, 33], [6, 8, 8, 8]] {
            let instance = instance(text, "pointwise", &[ci, co, h, w], target);
            for scale in [Scale::from_f64(0.0013), Scale::new(1, 9), Scale::new(3, 11)] {
                let arguments = arguments(instance.params(), 7).with("scale", scale);
                let (out, _) = run(&instance, &arguments);
                let x = arguments.tensor("x").expect("x");
                let Some(Argument::Stream { weights, bias }) = arguments.get("w") else { panic!("w") };
                let y = out.tensor("y").expect("y");
                let (ci, area) = (ci as usize, (h * w) as usize);
                for (o, bias) in bias.iter().enumerate() {
                    for p in 0..area {
                        let sum: i64 = (0..ci).map(|i| x.get(i * area + p) * weights.get(o * ci + i)).sum();
                        let expected = requant(sum + *bias as i64, scale_of(&arguments, "scale"));
                        assert_eq!(y.get(o * area + p), expected, "{target} output {o} at {p}");
                    }
                }
            }
        }
    }
}

#[test]
fn unary_by_table() {
    let text = corpus("lut_unary");
    for target in TARGETS {
        for [c, h, w] in [[8, 5, 7], [6, 40, 33]] {
            let instance = instance(&text, "unary", &[c, h, w], target);
            let arguments = arguments(instance.params(), 3);
            let (out, _) = run(&instance, &arguments);
            let (x, table) = (arguments.tensor("x").expect("x"), arguments.tensor("table").expect("table"));
            let y = out.tensor("y").expect("y");
            for i in 0..x.len() {
                assert_eq!(y.get(i), table.get((x.get(i) & 255) as usize), "{i}");
            }
        }
        let instance = instance(&text, "power", &[17, 33], target);
        let arguments = arguments(instance.params(), 4);
        let (out, _) = run(&instance, &arguments);
        let (x, y) = (arguments.tensor("x").expect("x"), out.tensor("y").expect("y"));
        for i in 0..x.len() {
            assert_eq!(y.get(i), [1, 2, 4, 8, 16, 32, 64, 127][(x.get(i) & 7) as usize], "{i}");
        }
    }
}

#[test]
fn argmax() {
    let text = corpus("argmax");
    for target in TARGETS {
        for [c, h, w] in [[19, 20, 33], [3, 5, 7]] {
            let instance = instance(&text, "argmax", &[c, h, w], target);
            let arguments = arguments(instance.params(), 3);
            let (out, _) = run(&instance, &arguments);
            let (x, y) = (arguments.tensor("x").expect("x"), out.tensor("labels").expect("labels"));
            let area = (h * w) as usize;
            for p in 0..area {
                let at = |k: usize| x.get(k * area + p);
                let best = (1..c as usize).fold(0, |best, k| if at(k) > at(best) { k } else { best });
                assert_eq!(y.get(p), best as i64, "{p}");
            }
        }
    }
}

pub const REQUANTISE: &str = "ccl! {
    #[kernel(reference = golden::requantise)]
    pub fn requantise<const C: usize, const H: usize, const W: usize>(
        x: &Ocm<i8, Packed<C, H, W>>,
        y: &mut Ocm<i8, Packed<C, H, W>>,
        scale: Scale,
    ) {
        for t in x.tiles().chunks::<4>().pipelined(2) {
            let a = t.fetch::<Lrm<i8, 4>>().wait();
            let mut out = Lrm::<i8, 4>::new();
            for c in 0..4 {
                out[c] = requant(a[c].widen::<i32>(), scale, HalfEven, Saturate);
            }
            y.at(t).store(out);
        }
    }
}";

#[test]
fn requantise() {
    for target in TARGETS {
        for [c, h, w] in [[16, 20, 33], [6, 5, 7]] {
            let instance = instance(REQUANTISE, "requantise", &[c, h, w], target);
            for scale in [0.73, 1.4, 0.5, 0.375, 2.0, 0.01].map(Scale::from_f64) {
                let arguments = arguments(instance.params(), 3).with("scale", scale);
                let (out, _) = run(&instance, &arguments);
                let (x, y) = (arguments.tensor("x").expect("x"), out.tensor("y").expect("y"));
                for i in 0..x.len() {
                    assert_eq!(y.get(i), requant(x.get(i), scale), "{} {scale:?}", x.get(i));
                }
            }
        }
    }
}

/// Name in the corpus, kernel, const arguments, scalar arguments.
type Row = (&'static str, &'static str, &'static [i128], &'static [(&'static str, i64)]);

/// Every kernel of the corpus that calls nothing else, over extents that do not fit the array.
const CORPUS: &[Row] = &[
    ("softmax", "softmax_rows", &[70, 24], &[]),
    ("layer_norm", "layer_norm", &[8, 9, 11, 16], &[("per_channel", 1 << 21)]),
    ("add", "add", &[6, 9, 33], &[]),
    ("max_pool", "max_pool3", &[2, 16, 18, 8, 9], &[]),
    ("depthwise", "depthwise3", &[3, 9, 40, 33], &[]),
    ("conv_gather", "conv_gather", &[3, 6, 17, 13, 9, 7, 3, 3, 27, 2, 1], &[("pad_y", 1), ("pad_x", 1)]),
    ("conv_gather", "conv_gather", &[4, 4, 10, 10, 10, 10, 3, 3, 36, 1, 2], &[("pad_y", 2), ("pad_x", 2)]),
    ("conv_space_to_depth", "patches", &[2, 5, 72, 80, 9, 10, 128], &[]),
    ("iterate", "root", &[9, 11], &[("steps", 8)]),
    ("resize_bilinear", "resize", &[5, 7, 10, 14], &[("step_y", 1 << 11), ("step_x", 1 << 11)]),
    ("residual_prefetch", "residual", &[3, 5, 9, 10], &[]),
    ("pointwise", "pointwise", &[5, 7, 9, 11], &[]),
    ("argmax", "argmax", &[19, 33, 7], &[]),
    ("dense", "dense", &[37, 21, 20], &[]),
];

#[test]
fn corpus_kernels_are_native_to_the_bit() {
    let mut failed = Vec::new();
    for target in TARGETS {
        for (file, function, consts, scalars) in CORPUS {
            // The grid of the text is 18 x 20.
            if *function == "dense" && target.spec().rows < 18 {
                continue;
            }
            let result = std::panic::catch_unwind(|| {
                let text = corpus(file);
                let instance = instance(&text, function, consts, target);
                let arguments = arguments(instance.params(), 5);
                let arguments = scalars.iter().fold(arguments, |a, (name, v)| a.with(name, *v));
                let arguments = match arguments.tensor("x") {
                    // Roots are those of positive numbers.
                    Some(x) if *function == "root" => {
                        let positive = HostTensor::from_fn(x.elem(), x.dims(), |i| x.get(i).abs() >> (i % 7));
                        arguments.clone().with("x", positive)
                    }
                    _ => arguments,
                };
                run(&instance, &arguments);
            });
            if let Err(e) = result {
                let text = e.downcast_ref::<String>().cloned().unwrap_or_default();
                let lines: Vec<&str> = text.lines().take(4).collect();
                failed.push(format!("{function} on {}: {}", target.spec().product, lines.join("\n   ")));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
