//! Nothing panics and nothing hangs: random decodable instructions, random ways of running them, and descriptors with
//! extreme values. Overflow checks are on in the profile that tests use.

use std::panic::{AssertUnwindSafe, catch_unwind};

use iss::builder::{Emit, Program};
use iss::image::{Entry, Image};
use iss::isa::Inst;
use iss::isa::operand::*;
use iss::sim::{Options, Simulator, StopAt, Stopped};
use iss::target::Target;
use iss::testing::{InstGen, Rng};

use crate::harness::{check_profile, seeds, small};

fn options(rng: &mut Rng) -> Options {
    Options {
        max_cycles: 20_000,
        max_instructions: 3_000,
        max_probes: 3,
        probes: rng.once_in(2),
        assertions: rng.once_in(2),
        timeline: rng.below(3) * 10,
        ..Options::default()
    }
}

/// The random image of the generator with a small array, an entry and few enough bytes of everything.
fn image(generator: &mut InstGen, target: &Target) -> Image {
    let n = 4 + generator.rng().below(40);
    let mut parts = generator.image(n).into_parts();
    parts.target = target.clone();
    parts.entries = vec![Entry { name: "main".to_owned(), pc: 0, params: vec![], constants_reg: None }];
    Image::new(parts).expect("the generator keeps the rules of images")
}

fn source(rng: &mut Rng) -> Src {
    loop {
        if let Ok(src) = Src::from_bits(rng.bits() & 0xffff) {
            return src;
        }
    }
}

/// Runs to the end in one of several ways, looking around in between.
fn exercise(image: &Image, rng: &mut Rng) {
    let mut sim = Simulator::new(image, options(rng)).expect("one core");
    sim.start("main", &[]).expect("no parameters");
    let way = rng.below(5);
    for turn in 0.. {
        let at = match way {
            0 => None,
            1 => Some(StopAt::Step),
            2 => Some(StopAt::Pc(rng.below(image.code().len()) as u32)),
            3 => Some(StopAt::Cycle(sim.cycle() + 1 + rng.below(50) as u64)),
            _ => image.names().first().map(|name| StopAt::Region(name.clone())),
        };
        let stopped = match at {
            Some(at) if turn < 200 => sim.run_until(&at),
            _ => sim.run(),
        };
        if turn % 16 == 0 {
            let _ = sim.value(source(rng));
            check_profile(&sim);
        }
        match stopped.expect("started and not ended") {
            Stopped::At { .. } => {}
            Stopped::Limit(_) | Stopped::Halt => break,
            Stopped::Trap(trap) => {
                assert!(!trap.to_string().is_empty());
                break;
            }
        }
    }
    check_profile(&sim);
    let _ = (sim.probes().len(), sim.scalars().expect("started")[0], sim.ocm(u64::MAX, 1).expect_err("outside"));
    let _ = sim.value(source(rng)).map(|grid| grid.to_string());
}

#[track_caller]
fn unharmed(what: &str, seed: u64, run: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(run)).is_ok(), "{what} of seed {seed} panics");
}

#[test]
fn random_instructions_never_panic() {
    let targets = [small(2, 3), small(8, 8), small(5, 1).to_builder().border(0).build().expect("legal")];
    for seed in seeds(20_000) {
        unharmed("the program", seed, || {
            let mut generator = InstGen::new(seed);
            let target = &targets[seed as usize % targets.len()];
            let image = image(&mut generator, target);
            exercise(&image, generator.rng());
        });
    }
}

/// A value that is at home in some field, or in none.
fn extreme(rng: &mut Rng) -> i32 {
    const EDGES: [i32; 14] =
        [i32::MIN, i32::MAX, -1, 0, 1, 2, 4, 16, 1 << 24, (1 << 24) - 2, 1 << 16, -(1 << 24), 4096, i32::MIN + 16];
    match rng.below(4) {
        0 => *rng.pick(&EDGES),
        1 => rng.bits() as i32 & !15,
        _ => 1 + rng.below(8) as i32,
    }
}

/// A legal descriptor of an engine in which one to three fields are anything at all.
fn descriptor(p: &mut Program, desc: DReg, rng: &mut Rng, target: &Target) {
    p.d_clear(desc);
    let legal = [
        (Field::Elem, 4),
        (Field::Width, 8),
        (Field::Height, 8),
        (Field::RowPitch, 64),
        (Field::ColStep, 1),
        (Field::RowStep, 1),
        (Field::Rows, target.spec().rows as i32),
        (Field::Cols, target.spec().cols as i32),
        (Field::N0, 2),
        (Field::Limit, 16),
        (Field::Data, 64),
        (Field::Lrm, 128),
        (Field::Group, 1),
        (Field::Bytes, 64),
        (Field::ExtPitch, 64),
    ];
    for (field, value) in legal {
        p.d_set(desc, field, value);
    }
    for _ in 0..1 + rng.below(3) {
        let field = *rng.pick(Field::ALL);
        p.d_set(desc, field, extreme(rng));
    }
}

#[test]
fn extreme_descriptors_never_panic_or_overflow() {
    let target = small(4, 5);
    for seed in seeds(4_000) {
        unharmed("the descriptors", seed, || {
            let mut rng = Rng::new(seed);
            let mut p = Program::new(&target);
            p.constant(&[7; 1024]);
            p.entry("main");
            for token in 0..1 + rng.below(3) {
                let (desc, t) = (DReg::new(token as i64).expect("legal"), Token::new(token as i64).expect("legal"));
                descriptor(&mut p, desc, &mut rng, &target);
                match rng.below(7) {
                    0 => p.flow_in(desc, t),
                    1 => p.flow_out(desc, t),
                    2 => p.bcast(desc, t),
                    3 => p.rau_load(desc, t),
                    4 => p.rau_store(desc, t),
                    5 => p.dma_in(desc, t),
                    _ => p.dma_out(desc, t),
                };
                if rng.once_in(3) {
                    p.wait(t, Tiles::count(rng.below(4) as i64).expect("few"));
                }
                if rng.once_in(4) {
                    p.release(t);
                }
                if rng.once_in(4) {
                    p.push(t);
                }
            }
            p.drain(Engines::ALL).halt();
            exercise(&p.finish().expect("a legal program"), &mut rng);
        });
    }
}

/// Each field of each engine at both ends of its bits, everything else legal.
#[test]
fn every_field_at_either_end() {
    let target = small(4, 5);
    let starts: [fn(&mut Program, DReg, Token); 7] = [
        |p, d, t| drop_ref(p.flow_in(d, t)),
        |p, d, t| drop_ref(p.flow_out(d, t)),
        |p, d, t| drop_ref(p.bcast(d, t)),
        |p, d, t| drop_ref(p.rau_load(d, t)),
        |p, d, t| drop_ref(p.rau_store(d, t)),
        |p, d, t| drop_ref(p.dma_in(d, t)),
        |p, d, t| drop_ref(p.dma_out(d, t)),
    ];
    let (d, t) = (DReg::new(0).expect("legal"), Token::new(0).expect("legal"));
    for (engine, start) in starts.iter().enumerate() {
        for field in Field::ALL {
            for value in [i32::MIN, i32::MIN + 1, -1, 0, 1 << 24, (1 << 24) + 1, i32::MAX] {
                let mut p = Program::new(&target);
                p.constant(&[7; 1024]);
                p.entry("main");
                descriptor(&mut p, d, &mut Rng::new(3), &target);
                p.d_clear(d);
                for (field, value) in legal_fields(engine) {
                    p.d_set(d, field, value);
                }
                p.d_set(d, *field, value);
                start(&mut p, d, t);
                p.drain(Engines::ALL).halt();
                let image = p.finish().expect("a legal program");
                unharmed(&format!("{field} = {value}"), engine as u64, || exercise(&image, &mut Rng::new(0)));
            }
        }
    }
}

fn drop_ref(_: &mut Program) {}

fn legal_fields(engine: usize) -> Vec<(Field, i32)> {
    match engine {
        0 | 1 => vec![
            (Field::Elem, 1),
            (Field::Width, 4),
            (Field::Height, 4),
            (Field::RowPitch, 4),
            (Field::PlanePitch, 16),
            (Field::ColStep, 1),
            (Field::RowStep, 1),
            (Field::Rows, 2),
            (Field::Cols, 2),
            (Field::N0, 2),
            (Field::Dp0, 1),
        ],
        2 => vec![(Field::N0, 2), (Field::Dx0, 16)],
        3 | 4 => vec![(Field::Elem, 4), (Field::Data, 8), (Field::Limit, 4)],
        _ => vec![(Field::Bytes, 16), (Field::N0, 2), (Field::RowPitch, 16), (Field::ExtPitch, 16)],
    }
}

/// Streams and copies whose pieces are far more than there are bytes: comparing them takes no time of their number.
#[test]
fn hazard_checks_take_bounded_time() {
    let target = small(2, 2).to_builder().ocm_bytes(1 << 24).build().expect("legal");
    let mut p = Program::new(&target);
    p.entry("main");
    let (d0, d1) = (DReg::new(0).expect("legal"), DReg::new(1).expect("legal"));
    let t = |n| Token::new(n).expect("legal");
    // 2^38 entries that slide over 16 MB; a scalar load and a flow out compare with them.
    for (field, value) in [(Field::N0, 1 << 19), (Field::Dx0, 16), (Field::N1, 1 << 19), (Field::Dx1, 16)] {
        p.d_set(d0, field, value);
    }
    p.bcast(d0, t(0));
    for (field, value) in [(Field::Elem, 1), (Field::Width, 2), (Field::Height, 2), (Field::RowPitch, 64)] {
        p.d_set(d1, field, value);
    }
    for field in [Field::ColStep, Field::RowStep, Field::Rows, Field::Cols] {
        p.d_set(d1, field, 1);
    }
    p.flow_out(d1, t(1)).halt();
    let image = p.finish().expect("a legal program");
    let started = std::time::Instant::now();
    let mut sim = Simulator::new(&image, Options::default()).expect("one core");
    sim.start("main", &[]).expect("no parameters");
    let Stopped::Trap(trap) = sim.run().expect("started") else { panic!("a flow out of bytes that are broadcast") };
    assert!(trap.to_string().starts_with("hazard: flow_out writes on-chip memory 0x0..0x1, which broadcast"), "{trap}");
    assert!(started.elapsed().as_secs() < 5);
    assert!(matches!(image.decode().last(), Some(Inst::Halt {})));
}
