//! What a debugger or a test does with a run: stop, look, go on; and what it is told when it asks for the impossible.

use iss::builder::{Direction, Emit, FlowDesc, Program, acc, d, imm, s, t, w};
use iss::image::Image;
use iss::isa::operand::*;
use iss::sim::{Arg, Options, SimError, SimdPath, Simulator, StopAt, Stopped, TraceWriter, TrapCause};

use crate::harness::{check_profile, program, run, small};

fn drop_ref(_: &mut Program) {}

fn src(text: &str) -> Src {
    Src::parse(text).expect("a source")
}

/// Instructions 0..=6: two nops of line 1, a region with a loop of three divisions of line 2, a nop of line 3, halt.
fn sample() -> Image {
    program(&small(4, 4), |p| {
        p.line("k.rs", 1).nop().nop().line("k.rs", 2);
        p.region("inner", |p| {
            p.loop_n(3, |p| drop_ref(p.fx_div(acc(0), imm(8), imm(2), Frac::new(0).expect("legal"))));
        });
        p.line("k.rs", 3).nop();
    })
}

fn start(image: &Image, options: Options) -> Simulator {
    let mut sim = Simulator::new(image, options).expect("one core");
    sim.start("main", &[]).expect("no parameters");
    sim
}

#[track_caller]
fn stops(sim: &mut Simulator, at: &StopAt, pc: u32, cycle: u64) {
    assert_eq!(sim.run_until(at).expect("it can go on"), Stopped::At { pc, cycle }, "{at:?}");
    assert_eq!((sim.pc(), sim.cycle()), (Some(pc), cycle));
    check_profile(sim);
}

#[test]
fn steps_go_through_loops() {
    let image = sample();
    let mut sim = start(&image, Options::default());
    let mut seen = vec![(0, 0)];
    while let Stopped::At { pc, cycle } = sim.step().expect("it can go on") {
        check_profile(&sim);
        seen.push((pc, cycle));
    }
    // region, loop_i, three divisions, region_end, nop, halt.
    let expected = [(0, 0), (1, 1), (2, 2), (3, 2), (4, 4), (4, 86), (4, 168), (5, 250), (6, 250), (7, 251)];
    assert_eq!(seen, expected);
    assert_eq!((sim.cycle(), sim.instructions()), (252, 10));
}

#[test]
fn stops_at_pc_line_cycle_and_region() {
    let image = sample();
    let mut sim = start(&image, Options::default());
    // The first instruction counts as an arrival once.
    stops(&mut sim, &StopAt::Pc(0), 0, 0);
    stops(&mut sim, &StopAt::Pc(4), 4, 4);
    stops(&mut sim, &StopAt::Pc(4), 4, 86);
    stops(&mut sim, &StopAt::Line("k.rs".to_owned(), 3), 6, 250);
    assert_eq!(sim.run_until(&StopAt::Pc(0)), Ok(Stopped::Halt), "it never comes back");

    let mut sim = start(&image, Options::default());
    stops(&mut sim, &StopAt::Line("k.rs".to_owned(), 1), 0, 0);
    stops(&mut sim, &StopAt::Line("k.rs".to_owned(), 1), 1, 1);
    stops(&mut sim, &StopAt::Cycle(2), 2, 2);
    stops(&mut sim, &StopAt::Cycle(2), 2, 2);
    stops(&mut sim, &StopAt::Cycle(5), 4, 86);
    assert_eq!(sim.run_until(&StopAt::Cycle(10_000)), Ok(Stopped::Halt));

    let mut sim = start(&image, Options::default());
    stops(&mut sim, &StopAt::Region("inner".to_owned()), 3, 2);
    let inside = sim.profile().expect("started");
    assert_eq!(inside.region("inner").map(|r| (r.calls, r.cycles())), Some((1, 0)));
    stops(&mut sim, &StopAt::Cycle(100), 4, 168);
    let half = sim.profile().expect("started");
    assert_eq!((half.cycles, half.region("inner").map(iss::profile::Region::cycles)), (168, Some(166)));
    assert_eq!(sim.run_until(&StopAt::Region("inner".to_owned())), Ok(Stopped::Halt));
}

#[test]
fn a_run_goes_on_when_a_limit_is_raised() {
    let image = sample();
    let mut sim = start(&image, Options { max_cycles: 100, ..Options::default() });
    let Stopped::Limit(trap) = sim.run().expect("started") else { panic!("a limit") };
    assert_eq!((trap.cause, trap.pc, trap.cycle), (TrapCause::CycleLimit { limit: 100 }, 4, 168));
    assert_eq!(trap.regions, ["inner"]);
    check_profile(&sim);
    assert!(matches!(sim.run(), Ok(Stopped::Limit(_))), "nothing has changed");
    sim.set_limits(u64::MAX, 8);
    let Stopped::Limit(trap) = sim.run().expect("it can go on") else { panic!("a limit") };
    assert_eq!((trap.cause, sim.instructions()), (TrapCause::InstructionLimit { limit: 8 }, 8));
    sim.set_limits(u64::MAX, u64::MAX);
    assert_eq!(sim.run(), Ok(Stopped::Halt));
    assert_eq!(sim.cycle(), 252);
}

#[test]
fn trace_has_a_line_for_each_instruction() {
    let image = program(&small(4, 4), |p| {
        p.line("k.rs", 7).s_load(s(4), s(5), 0).nop();
        p.no_line().s_add(s(4), s(4), 1).loop_n(2, |p| drop_ref(p.nop()));
    });
    let trace = |sim: &mut Simulator| {
        let mut out = Vec::new();
        assert_eq!(sim.run_traced(&mut TraceWriter::new(&mut out)), Ok(Stopped::Halt));
        String::from_utf8(out).expect("text")
    };
    let whole = trace(&mut start(&image, Options::default()));
    insta::assert_snapshot!(whole);
    // From the middle on the lines are the same: stalls before are not the first line's.
    let mut sim = start(&image, Options::default());
    stops(&mut sim, &StopAt::Pc(3), 3, 9);
    let rest = trace(&mut sim);
    assert_eq!(rest.lines().collect::<Vec<_>>(), whole.lines().skip(3).collect::<Vec<_>>());
}

struct Full;
impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("disk full"))
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    let error = start(&sample(), Options::default()).run_traced(&mut TraceWriter::new(Full)).expect_err("disk full");
    assert_eq!(error.to_string(), "the trace cannot be written: disk full");
}

#[test]
fn values_show_as_grid_and_picture() {
    let target = small(4, 5).to_builder().border(2).build().expect("legal");
    let build = |p: &mut Program| {
        p.fx_mul(w(8), Src::QRow, imm(100), 0).sub(w(8), w(8), Src::QCol);
    };
    let mut sim = run(&target, |p| {
        build(p);
        p.send(Dirs::ALL, w(8));
    });
    let grid = sim.value(src("[8]")).expect("readable");
    assert_eq!((grid.rows(), grid.cols(), grid.border(), grid.range()), (4, 5, 2, (-4, 300)));
    assert_eq!((grid.get(3, -2), grid.get(3, 6), grid.get(3, 7), grid.get(4, 0)), (Some(302), Some(294), None, None));
    insta::assert_snapshot!(grid);
    // What was sent east stands in the port that faces west; the outer edge has no neighbour.
    let port = sim.value(src("port.w")).expect("readable");
    assert_eq!((port.get(1, 0), port.get(1, -2), port.get(1, 6)), (Some(101), Some(0), Some(95)));
    check_picture(&grid);

    // A program that cannot see the border shows none.
    let mut sim = run(&target, build);
    let grid = sim.value(src("[8]")).expect("readable");
    assert_eq!((grid.border(), grid.get(0, -1), grid.get(3, 4)), (0, None, Some(296)));
}

fn check_picture(grid: &iss::sim::Grid) {
    let mut png = Vec::new();
    grid.write_png(&mut png, 3).expect("memory does not fail");
    // The crate's own dependency decodes it: a grey image, three pixels a PE.
    let decoder = png::Decoder::new(std::io::Cursor::new(png));
    let mut reader = decoder.read_info().expect("a picture");
    let mut pixels = vec![0; reader.output_buffer_size().expect("small")];
    let info = reader.next_frame(&mut pixels).expect("a frame");
    assert_eq!((info.width, info.height), (15, 12));
    let (lo, hi) = grid.range();
    for y in 0..12 {
        for x in 0..15 {
            let value = grid.get(y / 3, x as isize / 3).expect("inside") as i64;
            let grey = (value - lo as i64) * 255 / (hi as i64 - lo as i64);
            assert_eq!(pixels[y * info.line_size + x] as i64, grey, "{x}, {y}");
        }
    }
}

#[test]
fn values_of_every_source_and_refusals() {
    let target = small(4, 4);
    let image = program(&target, |p| {
        p.s_mov(s(0), 8).s_mov(s(9), -3).mov(acc(2), imm(77)).mov(w(12), s(9));
        p.flow(d(0), &FlowDesc::full(&target).width(4).height(4).row_pitch(4).lrm(64)).flow_in(d(0), t(0));
        p.wait(t(0), Tiles::All);
    });
    let mut sim = start(&image, Options::default());
    stops(&mut sim, &StopAt::Pc(image.code().len() as u32 - 2), image.code().len() as u32 - 2, sim_cycle(&image));
    let mut one =
        |text: &str| sim.value(src(text)).map(|grid| grid.get(2, 3).expect("inside")).map_err(|e| e.to_string());
    assert_eq!(one("a2"), Ok(77));
    assert_eq!(one("s9"), Ok(-3));
    assert_eq!(one("#5"), Ok(5));
    assert_eq!((one("q_row"), one("q_col")), (Ok(2), Ok(3)));
    assert_eq!((one("[12]"), one("[s0+4]"), one("[13].b")), (Ok(-3), Ok(-3), Ok(-1)));
    let refused = [one("[64].b"), one("[1024]"), one("bc")];
    insta::assert_snapshot!(refused.map(Result::unwrap_err).join("\n"));
    assert_eq!(sim.scalars().expect("started")[9], -3);
    assert_eq!(sim.run(), Ok(Stopped::Halt));
}

/// Issue cycles of a straight program before its last two instructions.
fn sim_cycle(image: &Image) -> u64 {
    image.code().len() as u64 - 2
}

#[test]
fn probes_record_up_to_a_limit() {
    let image = program(&small(2, 2), |p| {
        p.loop_n(5, |p| drop_ref(p.add(acc(0), acc(0), Src::QCol).probe("sum", acc(0))));
    });
    let mut sim = start(&image, Options { max_probes: 3, ..Options::default() });
    assert_eq!(sim.run(), Ok(Stopped::Halt));
    let seen: Vec<_> = sim.probes().iter().map(|p| (p.name.as_str(), p.pc, p.cycle, p.grid.get(1, 1))).collect();
    assert_eq!(seen, [("sum", 2, 3, Some(1)), ("sum", 2, 4, Some(2)), ("sum", 2, 5, Some(3))]);
    let mut sim = start(&image, Options { probes: false, ..Options::default() });
    assert_eq!((sim.run(), sim.probes().len()), (Ok(Stopped::Halt), 0));
}

#[test]
fn buffers_are_placed_and_constants_are_there() {
    let mut p = Program::new(&small(2, 2));
    p.constant(&[9, 8, 7]);
    p.entry("main")
        .ext("a", Direction::In, 10, s(1))
        .ocm("b", Direction::InOut, 70, s(2))
        .ext("c", Direction::Out, 5, s(3))
        .ocm("d", Direction::In, 4, s(4))
        .scalar("n", s(5))
        .constants(s(6));
    p.s_mov(s(6), s(6)).halt();
    let image = p.finish().expect("legal");
    let mut sim = Simulator::new(&image, Options::default()).expect("one core");
    let args = [
        ("d", Arg::Bytes(&[1, 2, 3, 4])),
        ("a", Arg::Bytes(&[5; 10])),
        ("n", Arg::Scalar(-9)),
        ("b", Arg::Bytes(&[6; 70])),
    ];
    sim.start("main", &args).expect("its arguments");
    assert_eq!(sim.scalars().expect("started")[1..7], [64, 0, 128, 128, -9, 0]);
    assert_eq!((sim.buffer("a").expect("there"), sim.buffer("c").expect("there")), (&[5; 10][..], &[0; 5][..]));
    assert_eq!(sim.ocm(128, 4), Ok(&[1, 2, 3, 4][..]));
    assert_eq!(sim.run(), Ok(Stopped::Halt));
    // A second start begins anew.
    sim.start("main", &args).expect("its arguments");
    assert_eq!((sim.cycle(), sim.pc(), sim.instructions()), (0, Some(0), 0));
}

#[test]
fn every_error_of_a_caller() {
    let target = small(2, 2);
    let mut p = Program::new(&target);
    p.entry("main").ext("x", Direction::In, 4, s(1)).ocm("y", Direction::Out, 4, s(2)).scalar("n", s(3));
    p.entry("big").ocm("p", Direction::Out, 40_000, s(1)).ocm("q", Direction::Out, 40_000, s(2));
    p.entry("none");
    p.region("r", |p| drop_ref(p.nop())).halt();
    let image = p.finish().expect("legal");
    let mut errors: Vec<SimError> = Vec::new();
    let mut sim = Simulator::new(&image, Options { max_ext_bytes: 32, ..Options::default() }).expect("one core");
    errors.push(sim.run().expect_err("not started"));
    errors.push(sim.value(src("a0")).expect_err("not started"));
    let (x, n) = (("x", Arg::Bytes(&[0; 4])), ("n", Arg::Scalar(1)));
    for (entry, args) in [
        ("mane", vec![]),
        ("main", vec![("z", Arg::Scalar(1))]),
        ("main", vec![x.clone(), x.clone()]),
        ("main", vec![("x", Arg::Scalar(1))]),
        ("main", vec![("y", Arg::Bytes(&[0; 4]))]),
        ("main", vec![("n", Arg::Bytes(&[0; 4]))]),
        ("main", vec![("x", Arg::Bytes(&[0; 5]))]),
        ("main", vec![x.clone()]),
        ("main", vec![x, n]),
        ("big", vec![]),
    ] {
        errors.push(sim.start(entry, &args).expect_err("refused"));
    }
    sim.start("none", &[]).expect("no parameters");
    errors.push(sim.buffer("x").expect_err("no buffer of this entry"));
    errors.push(sim.ocm(65_530, 8).expect_err("outside"));
    errors.push(sim.run_until(&StopAt::Pc(4)).expect_err("behind the end"));
    errors.push(sim.run_until(&StopAt::Line("k.rs".to_owned(), 1)).expect_err("no lines"));
    errors.push(sim.run_until(&StopAt::Region("q".to_owned())).expect_err("no such region"));
    assert_eq!(sim.run(), Ok(Stopped::Halt));
    errors.push(sim.step().expect_err("over"));
    for path in SimdPath::ALL {
        let made = Simulator::new(&image, Options { simd: Some(path), ..Options::default() });
        let expected = if path.available() { None } else { Some(SimError::Path { path: path.to_string() }) };
        assert_eq!(made.err(), expected);
    }
    let two = target.to_builder().cores(2).build().expect("legal");
    errors.push(Simulator::new(&program(&two, |p| drop_ref(p.nop())), Options::default()).expect_err("two cores"));
    let trap = program(&target, |p| drop_ref(p.ret()));
    let mut sim = start(&trap, Options::default());
    assert!(matches!(sim.run(), Ok(Stopped::Trap(_))));
    errors.push(sim.run().expect_err("over"));
    insta::assert_snapshot!(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
}

/// What was issued before a trap is done and can be looked at; a PE that divides by zero keeps its destination.
#[test]
fn the_state_behind_a_trap_can_be_seen() {
    let image = program(&small(2, 2), |p| {
        p.mov(acc(0), Src::QCol).region("r", |p| {
            p.add(acc(1), acc(0), imm(5)).fx_div(acc(1), acc(1), acc(0), Frac::new(0).expect("legal"));
        });
    });
    let mut sim = start(&image, Options::default());
    let Stopped::Trap(trap) = sim.run().expect("started") else { panic!("a division by zero") };
    assert_eq!(
        (trap.cause, trap.cycle, trap.regions),
        (TrapCause::Division { row: 0, col: 0 }, 2, vec!["r".to_owned()])
    );
    assert_eq!(sim.value(src("a0")).expect("readable").get(0, 1), Some(1));
    assert_eq!(sim.value(src("a1")).expect("readable").get(0, 0), Some(5));
    let profile = sim.profile().expect("started");
    assert_eq!((profile.cycles, profile.region("r").map(iss::profile::Region::cycles)), (2, Some(1)));
    check_profile(&sim);
}

/// A zero divisor in the border stops nothing, whether or not the program can see the border.
#[test]
fn the_border_divides_by_zero_unseen() {
    for sends in [false, true] {
        let mut sim = run(&small(4, 4), |p| {
            p.set(Cond::Ge, acc(0), Src::QCol, imm(0)).mov(acc(1), imm(3));
            p.fx_div(acc(1), imm(12), acc(0), Frac::new(0).expect("legal"));
            if sends {
                p.send(Dirs::ALL, acc(1));
            }
        });
        let grid = sim.value(src("a1")).expect("readable");
        assert_eq!((grid.get(0, 0), grid.get(0, -1)), (Some(12), sends.then_some(3)));
    }
}
