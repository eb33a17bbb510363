//! How the tests run programs: every run's profile is checked to add up.

use iss::builder::{Emit, Program};
use iss::image::Image;
use iss::sim::{Arg, Options, Simulator, Stopped};
use iss::target::{Param, QC_U, QC_U_NARROW, Target};
use iss::testing::Rng;

/// `QC-U` with another array and as little memory as the tests need.
pub fn small(rows: u32, cols: u32) -> Target {
    QC_U.to_builder().array(rows, cols).lrm_bytes(1024).ocm_bytes(1 << 16).build().expect("legal")
}

/// The targets on which random programs run: several sizes, borders, costs and both readings of the figures.
pub fn targets() -> Vec<Target> {
    let narrow = QC_U_NARROW.to_builder().array(5, 7).border(3).lrm_bytes(256).ocm_bytes(1 << 16);
    let half = small(16, 16).to_builder().lrm_bytes(512).macs_per_pe(8).timing(Param::broadcast_queue, 8);
    vec![
        small(8, 8),
        half.build().expect("legal"),
        narrow.build().expect("legal"),
        small(32, 32).to_builder().ocm_bytes(1 << 17).build().expect("legal"),
    ]
}

/// Random contents for the buffers of a generated program: on-chip and external memory.
pub fn contents(target: &Target, seed: u64) -> (Vec<u8>, Vec<u8>) {
    let mut rng = Rng::new(seed ^ 0x5eed);
    (rng.bytes(target.spec().ocm_bytes as usize), rng.bytes(crate::generate::EXT_BYTES as usize))
}

/// The seeds of a test: `ISS_SIM_SEED` replays one, `ISS_SIM_PROGRAMS` asks for as many as it says.
pub fn seeds(default: u64) -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    match number("ISS_SIM_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("ISS_SIM_PROGRAMS").unwrap_or(default)).collect(),
    }
}

/// A simulator at the start of a generated program.
pub fn started(image: &Image, options: Options, ocm: &[u8], ext: &[u8]) -> Simulator {
    let mut sim = Simulator::new(image, options).expect("one core");
    sim.start("main", &[("ocm", Arg::Bytes(ocm)), ("ext", Arg::Bytes(ext))]).expect("its buffers");
    sim
}

/// Checks that the profile of a run so far adds up.
#[track_caller]
pub fn check_profile(sim: &Simulator) {
    let profile = sim.profile().expect("started");
    profile.check_sums().expect("the profile adds up");
    assert_eq!(profile.cycles, sim.cycle());
    assert_eq!(profile.root.inclusive.instructions(), sim.instructions(), "instructions of all classes");
}

/// A program of an entry `main` without parameters.
pub fn program(target: &Target, build: impl FnOnce(&mut Program)) -> Image {
    let mut p = Program::new(target);
    p.entry("main");
    build(&mut p);
    p.halt();
    p.finish().expect("a legal program")
}

/// Runs a program without parameters, to whatever end.
#[track_caller]
pub fn run_image(image: &Image, options: Options) -> (Simulator, Stopped) {
    let mut sim = Simulator::new(image, options).expect("one core");
    sim.start("main", &[]).expect("no parameters");
    let stopped = sim.run().expect("started");
    check_profile(&sim);
    (sim, stopped)
}

/// Runs a program that should halt.
#[track_caller]
pub fn run(target: &Target, build: impl FnOnce(&mut Program)) -> Simulator {
    let (sim, stopped) = run_image(&program(target, build), Options::default());
    assert_eq!(stopped, Stopped::Halt);
    sim
}
