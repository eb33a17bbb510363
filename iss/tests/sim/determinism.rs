//! The same program and input give the same cycles, profile and bytes, whatever the host does and whoever looks on.

use iss::builder::{Emit, imm, w};
use iss::image::Image;
use iss::isa::operand::*;
use iss::sim::{Options, SimdPath, Simulator, StopAt, Stopped, TraceWriter};
use iss::target::Target;

use crate::generate;
use crate::harness::{check_profile, contents, program, seeds, small, started, targets};

/// Everything that can be seen of a finished run.
#[derive(Debug, PartialEq)]
struct Seen {
    stopped: String,
    cycles: u64,
    instructions: u64,
    profile: String,
    buffers: Vec<Vec<u8>>,
    scalars: Vec<i32>,
    values: Vec<String>,
}

fn seen(mut sim: Simulator, stopped: &Stopped) -> Seen {
    check_profile(&sim);
    let mut profile = sim.profile().expect("started");
    profile.timeline = None;
    let sources = (0..16).map(|n| Src::Acc(Acc::new(n).expect("legal")));
    let words = (0..64).map(|n| Src::Lrm(Lrm::word(n * 4).expect("aligned")));
    let sources: Vec<Src> = sources.chain(words).collect();
    Seen {
        stopped: format!("{stopped:?}"),
        cycles: sim.cycle(),
        instructions: sim.instructions(),
        profile: serde_json::to_string(&profile).expect("serialises"),
        buffers: ["ocm", "ext"].map(|name| sim.buffer(name).expect("a buffer").to_vec()).to_vec(),
        scalars: sim.scalars().expect("started").to_vec(),
        values: sources.iter().map(|src| format!("{:?}", sim.value(*src))).collect(),
    }
}

fn run(target: &Target, image: &Image, seed: u64, options: Options) -> Seen {
    let (ocm, ext) = contents(target, seed);
    let mut sim = started(image, options, &ocm, &ext);
    let stopped = sim.run().expect("started");
    seen(sim, &stopped)
}

fn paths() -> impl Iterator<Item = SimdPath> {
    SimdPath::ALL.into_iter().filter(|path| path.available())
}

#[test]
fn every_path_and_thread_count_agrees() {
    for (index, target) in targets().iter().enumerate() {
        for seed in seeds(if index == 3 { 10 } else { 40 }) {
            let image = generate::program(target, seed, seed % 4 == 3);
            let expected = run(target, &image, seed, Options::default());
            for path in paths() {
                for threads in [1, 2] {
                    let options = Options { simd: Some(path), threads: Some(threads), ..Options::default() };
                    assert_eq!(run(target, &image, seed, options), expected, "seed {seed}, {path}, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn threads_agree_where_they_are_used() {
    // Long enough for two threads to share the groups.
    let target = small(32, 32);
    let image = program(&target, |p| {
        p.mov(w(0), Src::QCol);
        p.loop_n(200, |p| {
            p.exp(w(4), w(0), Frac::new(3).expect("legal"), Frac::new(9).expect("legal"));
            p.add(w(0), w(0), w(4)).sar(w(0), w(0), 1).log(
                w(8),
                w(0),
                Frac::new(3).expect("legal"),
                Frac::new(9).expect("legal"),
            );
            p.fx_mul(w(12), w(8), w(4), 7).send(Dirs::ALL, w(12)).add(w(0), w(0), Src::Port(Dir::East));
        });
    });
    let grids: Vec<String> = [1, 2]
        .iter()
        .map(|threads| {
            let mut sim =
                Simulator::new(&image, Options { threads: Some(*threads), ..Options::default() }).expect("one core");
            sim.start("main", &[]).expect("no parameters");
            assert_eq!(sim.run().expect("started"), Stopped::Halt);
            sim.value(Src::Lrm(Lrm::word(0).expect("aligned"))).expect("readable").to_string()
        })
        .collect();
    assert_eq!(grids[0], grids[1]);
}

#[test]
fn looking_on_changes_nothing() {
    for target in &targets()[..3] {
        for seed in seeds(40) {
            let image = generate::program(target, seed, seed % 4 == 3);
            let (ocm, ext) = contents(target, seed);
            let expected = run(target, &image, seed, Options::default());
            let timeline = Options { timeline: 1000, ..Options::default() };
            assert_eq!(run(target, &image, seed, timeline), expected, "seed {seed}, timeline");

            // Step by step, looking at a value each time.
            let mut sim = started(&image, Options::default(), &ocm, &ext);
            let stopped = loop {
                match sim.step().expect("started") {
                    Stopped::At { .. } => drop(sim.value(Src::Lrm(Lrm::word(200).expect("aligned")))),
                    other => break other,
                }
            };
            assert_eq!(seen(sim, &stopped), expected, "seed {seed}, steps");

            let mut sim = started(&image, Options::default(), &ocm, &ext);
            let mut lines = Vec::new();
            let stopped = sim.run_traced(&mut TraceWriter::new(&mut lines)).expect("started");
            assert_eq!(seen(sim, &stopped), expected, "seed {seed}, trace");

            let mut sim = started(&image, Options::default(), &ocm, &ext);
            let stopped = loop {
                let at = StopAt::Cycle(sim.cycle() + 37);
                match sim.run_until(&at).expect("started") {
                    Stopped::At { .. } => check_profile(&sim),
                    other => break other,
                }
            };
            assert_eq!(seen(sim, &stopped), expected, "seed {seed}, in pieces");
        }
    }
}

#[test]
fn markers_never_change_cycles_or_profile() {
    for target in &targets()[..3] {
        for seed in seeds(60) {
            // Programs that do not stop at a marker.
            let image = generate::program(target, seed, false);
            let expected = run(target, &image, seed, Options::default());
            for (probes, assertions) in [(false, true), (true, false), (false, false)] {
                let options = Options { probes, assertions, ..Options::default() };
                assert_eq!(run(target, &image, seed, options), expected, "seed {seed}");
            }
        }
    }
}

/// A marker reads late results and far words without waiting for the one or being counted for the other.
#[test]
fn a_marker_neither_waits_nor_touches() {
    let build = |marked: bool| {
        program(&small(8, 8), |p| {
            let q = Frac::new(8).expect("legal");
            p.exp(w(0), imm(0), q, q);
            if marked {
                p.probe("late", w(0)).assert("one", w(0)).probe("far", w(1020));
            }
            p.add(w(4), w(0), imm(1));
        })
    };
    let [plain, marked] = [build(false), build(true)].map(|image| {
        let mut sim = Simulator::new(&image, Options::default()).expect("one core");
        sim.start("main", &[]).expect("no parameters");
        assert_eq!(sim.run().expect("started"), Stopped::Halt);
        let profile = sim.profile().expect("started");
        (sim.cycle(), profile.root.peak_lrm_bytes, profile.root.inclusive.class(iss::isa::Class::Compute).stalls)
    });
    assert_eq!(plain, marked);
    assert_eq!((plain.0, plain.1), (6, 8));
}
