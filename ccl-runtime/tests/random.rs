//! Random modules mean the same to the interpreter, after every pass, and to the simulator.

mod support;

use ccl_runtime::ir::Module;
use ccl_runtime::ir::verify::verify;
use ccl_runtime::lower::PASSES;
use iss::target::{QC_N, QC_U, Target};
use iss::testing::Rng;
use support::{Args, compiled, interpret, parse, random, simulate};

#[track_caller]
fn check(seed: u64, target: &Target) {
    let mut rng = Rng::new(seed);
    // Every other module is a pipelined loop.
    let text = match seed % 4 {
        1 => random::walks::buffered(&mut rng, target),
        3 => random::walks::pipelined(&mut rng, target),
        _ => random::module(&mut rng, target),
    };
    let m = parse(&text);
    verify(&m, Some(target)).unwrap_or_else(|e| panic!("seed {seed}: {}\n{text}", e[0]));
    assert_eq!(Module::parse(&m.to_string()).unwrap_or_else(|e| panic!("{e}\n{m}")), m.canonical(), "seed {seed}");
    let args = Args::random(&m, "k", &mut rng);
    let expected = interpret(&m, "k", target, &args).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    let mut step = m.clone();
    for pass in PASSES {
        let before = step.bare().to_string();
        pass.run(&mut step, target).unwrap_or_else(|e| panic!("seed {seed}, {}: {e}\n{text}", pass.name));
        verify(&step, Some(target))
            .unwrap_or_else(|e| panic!("seed {seed}, after {}: {}\n{before}\n----\n{}", pass.name, e[0], step.bare()));
        if before == step.bare().to_string() {
            continue;
        }
        let after = interpret(&step, "k", target, &args);
        let after =
            after.unwrap_or_else(|e| panic!("seed {seed}, after {}: {e}\n{before}\n----\n{}", pass.name, step.bare()));
        assert!(after == expected, "seed {seed}: `{}` changed the meaning\n{before}\n----\n{}", pass.name, step.bare());
    }
    let c = compiled(&m, target);
    let (simulated, _) = simulate(&c, &m, "k", &args);
    assert!(
        simulated == expected,
        "seed {seed}: the simulator differs\n{}\n{}",
        step.bare(),
        iss::asm::disassemble(&c.image)
    );
}

fn seeds() -> (u64, u64) {
    let number = |name: &str, or: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(or);
    (number("CCL_SEED", 0), number("CCL_RUNS", 1000))
}

#[test]
fn random_modules_mean_the_same_everywhere() {
    let (start, runs) = seeds();
    let (small, full) = (QC_N, QC_U);
    for seed in start..start + runs {
        check(seed, if seed % 40 == 39 { &full } else { &small });
    }
}
