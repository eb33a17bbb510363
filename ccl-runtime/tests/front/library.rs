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
        (format!("crate::nn::{name}"), std::fs::read_to_string(path).expect("the file is there"))
    };
    let mut files = vec![text("requantise")];
    if file == "attention" {
        files.push(text("softmax"));
    }
    files.push(text(file));
    instance_of(&files, function, consts, target)
}

/// Cycles issued for arithmetic, of the busiest engine, and in all.
fn figures(profile: &Profile) -> String {
    let t = &profile.root.inclusive;
    let arithmetic: u64 = [Class::Mac, Class::Compute, Class::DataArray, Class::Predication]
        .iter()
        .map(|c| t.class(*c).issue_cycles)
        .sum();
    let busy = |e: Engine| match e {
        Engine::Broadcast => t.engine(e).bytes / 16,
        e => t.engine(e).busy_cycles,
    };
    let busiest = Engine::ALL.iter().map(|e| busy(*e)).max().unwrap_or(0);
    let ratio = profile.cycles as f64 / arithmetic.max(busiest) as f64;
    let classes: Vec<String> = Class::ALL.iter().map(|c| format!("{} {}", c.word(), t.class(*c).cycles)).collect();
    format!(
        "total {}, arithmetic {arithmetic}, busiest engine {busiest}, ratio {ratio:.3}; {}",
        profile.cycles,
        classes.join(", ")
    )
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
            let (_, profile) = run(&case, &mix_ffn(arguments(case.params(), 3), are_added));
            println!("{c} {hidden} {h}x{w}: {}", figures(&profile));
        }
    }
}

#[test]
fn mix_ffn_of_the_first_stage() {
    for are_added in [false, true] {
        let case = case("mix_ffn", "mix_ffn", &[32, 128, 64, 128, 2, 64, 256], &QC_U);
        let (_, profile) = run(&case, &mix_ffn(arguments(case.params(), 3), are_added));
        println!("added {are_added}: {}", figures(&profile));
        assert!(profile.cycles <= 75_000, "{}", figures(&profile));
    }
}

#[test]
fn dense_layers_with_biases() {
    let consts = [8192, 32, 32, 32, 32];
    for function in ["dense", "dense_bias", "dense_bias_residual"] {
        let case = case("matmul", function, &consts, &QC_U);
        let arguments = with_biases(arguments(case.params(), 3), 1 << 14).with("scales", scales(&[0.00113, 0.83]));
        let arguments = arguments.with("residual", scales(&[0.61, 0.93])).with("scale", Scale::from_f64(0.00113));
        let given: Vec<&str> = case.params().iter().map(|p| p.name.as_str()).collect();
        let arguments = arguments.iter().filter(|(name, _)| given.contains(name));
        let arguments = arguments.fold(Arguments::new(), |a, (name, v)| a.with(name, v.clone()));
        let (_, profile) = run(&case, &arguments);
        println!("{function}: {}", figures(&profile));
    }
}

#[test]
fn attention_heads() {
    for (queries, keys) in [(8192, 128), (360, 368)] {
        let case = case("attention", "attention_head", &[queries, keys, 32, 20], &QC_U);
        let table = ccl_runtime::nn::tables::exponentials(0.05, 20);
        let table = HostTensor::from_fn(ElemType::I32, &[256], |i| i64::from(table[i]));
        let arguments = arguments(case.params(), 3)
            .with("table", table)
            .with("scales", scales(&[0.000913, 0.00213]))
            .with("steps", 256i64 << 20)
            .with("zero_points", Argument::List(vec![(-128i64).into(), 0i64.into()]));
        let (_, profile) = run(&case, &arguments);
        println!("{queries} queries, {keys} keys: {}", figures(&profile));
    }
}
