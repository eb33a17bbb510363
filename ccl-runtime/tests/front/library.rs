//! Fused kernels of the library, from their text.

use ccl_runtime::kernel::{Argument, Arguments, ElemType, HostTensor};
use ccl_runtime::value::Scale;
use iss::isa::Class;
use iss::isa::operand::Engine;
use iss::profile::Profile;
use iss::target::{QC_N, QC_U, Target};
use iss::testing::Rng;

use crate::kernels::{Case, arguments, instance_of, run};

/// A kernel of a file of the library, with the files that it uses.
#[track_caller]
fn case(file: &str, function: &str, consts: &[i128], target: &Target) -> Case {
    let text = |name: &str| {
        let path = format!("{}/src/nn/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        (format!("crate::nn::{}", name.replace('/', "::")), std::fs::read_to_string(path).expect("the file is there"))
    };
    let mut files = vec![text("requantise")];
    if file == "attention" {
        files.extend(["softmax", "matmul", "stub/slots"].map(text));
    }
    files.push(text(file));
    instance_of(&files, function, consts, target)
}

/// Cycles in all, and over those of arithmetic or the busiest engine.
fn figures(profile: &Profile) -> (u64, f64) {
    let t = &profile.root.inclusive;
    let arithmetic = [Class::Mac, Class::Compute, Class::DataArray, Class::Predication];
    let arithmetic: u64 = arithmetic.iter().map(|c| t.class(*c).issue_cycles).sum();
    let busy = |e: Engine| match e {
        // A stream is busy while it waits for takers; what it needs is a cycle an entry.
        Engine::Broadcast => t.engine(e).bytes / 16,
        e => t.engine(e).busy_cycles,
    };
    let busiest = Engine::ALL.iter().map(|e| busy(*e)).max().unwrap_or(0);
    (profile.cycles, profile.cycles as f64 / arithmetic.max(busiest) as f64)
}

/// More than the work that there is by 15 % at most, and not above a figure that was reached.
#[track_caller]
fn keeps_to(profile: &Profile, most: u64) {
    let (cycles, ratio) = figures(profile);
    assert!(ratio <= 1.15, "{cycles} cycles are {ratio:.3} times the work");
    assert!(cycles <= most, "{cycles} cycles, {most} were reached");
}

fn scales(list: &[f64]) -> Argument {
    Argument::List(list.iter().map(|s| Scale::from_f64(*s).into()).collect())
}

/// Streams with biases between `-most` and `most`.
fn with_biases(arguments: Arguments, most: i64) -> Arguments {
    let mut rng = Rng::new(11);
    let biased = |argument: &Argument, rng: &mut Rng| match argument {
        Argument::Stream { weights, bias } => {
            let bias = bias.iter().map(|_| (rng.bits() % (2 * most as u64 + 1)) as i32 - most as i32).collect();
            Argument::Stream { weights: weights.clone(), bias }
        }
        other => other.clone(),
    };
    arguments.iter().fold(Arguments::new(), |all, (name, v)| all.with(name, biased(v, &mut rng)))
}

fn mix_ffn(arguments: Arguments, are_added: bool) -> Arguments {
    with_biases(arguments, if are_added { 1 << 26 } else { 1 << 14 })
        .with("are_added", i64::from(are_added))
        .with("expand_scales", scales(&[0.00113, 0.83]))
        .with("depthwise_scale", Scale::from_f64(0.00217))
        .with("project_scales", scales(&[0.00091, 0.77]))
        .with("residual", scales(&[0.61, 0.93]))
}

#[test]
fn mix_ffn_of_small_images() {
    for are_added in [false, true] {
        for [c, hidden, h, w, by] in [[4, 8, 5, 7, 1], [4, 8, 9, 17, 1], [8, 12, 19, 20, 2]] {
            let case = case("mix_ffn", "mix_ffn", &[c, hidden, h, w, by, by * c, by * hidden], &QC_N);
            run(&case, &mix_ffn(arguments(case.params(), 3), are_added));
        }
    }
}

#[test]
fn mix_ffn_of_the_first_stage() {
    for (are_added, most) in [(false, 39_300), (true, 48_900)] {
        let case = case("mix_ffn", "mix_ffn", &[32, 128, 64, 128, 2, 64, 256], &QC_U);
        let (_, profile) = run(&case, &mix_ffn(arguments(case.params(), 3), are_added));
        keeps_to(&profile, most);
    }
}

#[test]
fn dense_layers_with_biases() {
    let consts = [8192, 32, 32, 32, 32];
    for (function, most) in [("dense", 9_350), ("dense_bias", 9_350), ("dense_bias_residual", 17_950)] {
        let case = case("matmul", function, &consts, &QC_U);
        let arguments = with_biases(arguments(case.params(), 3), 1 << 14).with("scales", scales(&[0.00113, 0.83]));
        let arguments = arguments.with("residual", scales(&[0.61, 0.93])).with("scale", Scale::from_f64(0.00113));
        let given: Vec<&str> = case.params().iter().map(|p| p.name.as_str()).collect();
        let arguments = arguments.iter().filter(|(name, _)| given.contains(name));
        let arguments = arguments.fold(Arguments::new(), |a, (name, v)| a.with(name, v.clone()));
        let (_, profile) = run(&case, &arguments);
        keeps_to(&profile, most);
    }
}

#[test]
fn attention_heads() {
    for (queries, keys, most) in [(8192, 128, 24_200), (360, 368, 9_450)] {
        let case = case("attention", "attention_head", &[queries, keys, keys, 32, 32, 32, 20, 20], &QC_U);
        let table = ccl_runtime::nn::tables::exponentials(0.05, 20);
        let table = HostTensor::from_fn(ElemType::I32, &[256], |i| i64::from(table[i]));
        let arguments = arguments(case.params(), 3)
            .with("table", table)
            .with("scales", scales(&[0.000913, 0.00213]))
            .with("steps", 256i64 << 20)
            .with("inputs", Argument::List(vec![0i64.into(); 3]))
            .with("zero_points", Argument::List(vec![0i64.into(), (-128i64).into(), 0i64.into()]));
        let (_, profile) = run(&case, &arguments);
        keeps_to(&profile, most);
    }
}
