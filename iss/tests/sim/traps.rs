//! Every cause of a trap, provoked: where it stops, when, and what it says.

use std::collections::BTreeSet;

use iss::builder::{BroadcastDesc, DmaDesc, Emit, FlowDesc, Program, RauDesc, acc, d, imm, s, t, w};
use iss::isa::operand::*;
use iss::sim::{Options, Stopped, Trap};
use iss::target::Target;

use crate::harness::{run_image, small};

type Build = fn(&mut Program);

fn target() -> Target {
    small(8, 8)
}

/// What is emitted must stop at an instruction of line 20.
fn report(build: Build) -> Trap {
    let mut p = Program::new(&target());
    p.constant(&[1; 64]);
    p.entry("main");
    p.line("t.rs", 10);
    build(&mut p);
    p.halt();
    let options = Options { max_cycles: 1000, max_instructions: 400, ..Options::default() };
    let (_, stopped) = run_image(&p.finish().expect("a legal program"), options);
    match stopped {
        Stopped::Trap(trap) | Stopped::Limit(trap) => *trap,
        other => panic!("it should stop: {other:?}"),
    }
}

fn drop_ref(_: &mut Program) {}

fn tile() -> FlowDesc {
    FlowDesc::default().width(8).height(8).row_pitch(8).rows(8).cols(8)
}

/// A ring of one buffer over two tiles.
fn ring() -> FlowDesc {
    tile().n0(2).group(1).ring(1)
}

/// Name, program, and by hand the pc and the cycle at which the faulty instruction would have issued.
const CASES: &[(&str, Build, u32, u64)] = &[
    ("program", |p| drop_ref(p.nop().line("t.rs", 20).trap("no such layer")), 1, 1),
    ("assertion", |p| drop_ref(p.mov(acc(0), Src::QCol).line("t.rs", 20).assert("not zero", acc(0))), 1, 1),
    ("local address", |p| drop_ref(p.s_mov(s(0), -4).line("t.rs", 20).mov(w(0).based(s(0)), imm(1))), 1, 1),
    ("local address above", |p| drop_ref(p.s_mov(s(1), 1024).line("t.rs", 20).mov(acc(0), w(0).based(s(1)))), 1, 1),
    ("local address of this target", |p| drop_ref(p.line("t.rs", 20).mov(acc(0), w(1024))), 0, 0),
    ("table behind the end", |p| drop_ref(p.line("t.rs", 20).lut(acc(0), imm(0), w(1020), 1)), 0, 0),
    ("local alignment", |p| drop_ref(p.s_mov(s(0), 2).line("t.rs", 20).mov(acc(0), w(4).based(s(0)))), 1, 1),
    (
        "mac alignment",
        |p| {
            p.s_mov(s(0), 4).line("t.rs", 20);
            p.mac8(MacShape::Dot, Acc::new(0).expect("legal"), Lrm::rel(Width::Word, 0, 16).expect("legal"));
        },
        1,
        1,
    ),
    ("on-chip address", |p| drop_ref(p.s_mov(s(4), 65_536).line("t.rs", 20).s_load(s(5), s(4), 0)), 1, 1),
    ("on-chip address below", |p| drop_ref(p.line("t.rs", 20).s_load(s(5), s(4), -4)), 0, 0),
    ("on-chip alignment", |p| drop_ref(p.line("t.rs", 20).s_load(s(5), s(4), 6)), 0, 0),
    (
        "flow outside on-chip memory",
        |p| {
            p.flow(d(0), &tile().ocm(65_500)).line("t.rs", 20).flow_in(d(0), t(0));
        },
        14,
        14,
    ),
    (
        "flow outside local memory",
        |p| drop_ref(p.flow(d(0), &tile().elem(4).lrm(1000).lrm_step(8).n0(4)).line("t.rs", 20).flow_out(d(0), t(0))),
        15,
        15,
    ),
    (
        "flow into unaligned local memory",
        |p| drop_ref(p.flow(d(0), &tile().elem(4).lrm(2)).line("t.rs", 20).flow_in(d(0), t(0))),
        14,
        14,
    ),
    (
        "broadcast outside",
        |p| drop_ref(p.broadcast(d(0), &BroadcastDesc::default().ocm(65_520).n0(2)).line("t.rs", 20).bcast(d(0), t(0))),
        5,
        5,
    ),
    (
        "broadcast not aligned",
        |p| drop_ref(p.broadcast(d(0), &BroadcastDesc::default().dx0(8)).line("t.rs", 20).bcast(d(0), t(0))),
        4,
        4,
    ),
    (
        "random access outside",
        |p| drop_ref(p.rau(d(0), &RauDesc::default().elem(4).limit(16_385)).line("t.rs", 20).rau_load(d(0), t(0))),
        3,
        3,
    ),
    (
        "random access not aligned",
        |p| drop_ref(p.rau(d(0), &RauDesc::default().elem(4).limit(1).data(6)).line("t.rs", 20).rau_store(d(0), t(0))),
        4,
        4,
    ),
    (
        "copy outside on-chip memory",
        |p| drop_ref(p.dma(d(0), &DmaDesc::default().ocm(65_530).bytes(16)).line("t.rs", 20).dma_in(d(0), t(0))),
        4,
        4,
    ),
    (
        "copy outside external memory",
        |p| drop_ref(p.dma(d(0), &DmaDesc::default().ext(60).bytes(16)).line("t.rs", 20).dma_out(d(0), t(0))),
        4,
        4,
    ),
    (
        "copy onto itself",
        |p| drop_ref(p.dma(d(0), &DmaDesc::default().n0(2).bytes(16).row_pitch(8)).line("t.rs", 20).dma_in(d(0), t(0))),
        4,
        4,
    ),
    ("descriptor", |p| drop_ref(p.line("t.rs", 20).flow_in(d(5), t(0))), 0, 0),
    (
        "halo beyond the border",
        |p| drop_ref(p.flow(d(0), &tile().halo(5)).line("t.rs", 20).flow_in(d(0), t(0))),
        14,
        14,
    ),
    ("halo of a flow out", |p| drop_ref(p.flow(d(0), &tile().halo(1)).line("t.rs", 20).flow_out(d(0), t(0))), 14, 14),
    (
        "hazard",
        |p| drop_ref(p.flow(d(0), &tile()).flow_in(d(0), t(0)).line("t.rs", 20).add(acc(0), w(0), imm(1))),
        14,
        14,
    ),
    (
        "engine_hazard",
        |p| drop_ref(p.flow(d(0), &tile()).flow_in(d(0), t(0)).line("t.rs", 20).flow_in(d(0), t(1))),
        14,
        14,
    ),
    (
        "division",
        |p| {
            drop_ref(p.sub(acc(1), Src::QRow, 3).line("t.rs", 20).fx_div(
                acc(0),
                imm(1),
                acc(1),
                Frac::new(0).expect("legal"),
            ))
        },
        1,
        1,
    ),
    (
        "call stack",
        |p| {
            let top = p.here();
            p.line("t.rs", 20).call(top);
        },
        0,
        48,
    ),
    (
        "loop stack",
        |p| {
            drop_ref(p.loop_n(2, |p| {
                p.loop_n(2, |p| {
                    p.line("t.rs", 20).loop_n(2, |p| drop_ref(p.nop()));
                });
            }))
        },
        2,
        4,
    ),
    (
        "predicate stack",
        |p| {
            let top = p.here();
            p.line("t.rs", 20).p_push().jump(top);
        },
        0,
        64,
    ),
    ("empty predicate stack", |p| drop_ref(p.p_push().p_pop().line("t.rs", 20).p_else()), 2, 2),
    ("empty call stack", |p| drop_ref(p.line("t.rs", 20).ret()), 0, 0),
    (
        "loop_escape",
        |p| {
            let out = p.label();
            p.loop_n(2, |p| drop_ref(p.nop().line("t.rs", 20).jump(out).nop()));
            p.nop().bind(out).nop();
        },
        2,
        3,
    ),
    (
        "branch_escape",
        |p| {
            let top = p.here();
            p.loop_n(2, |p| drop_ref(p.line("t.rs", 20).branch(Cond::Eq, s(0), 0, top).nop()));
        },
        1,
        2,
    ),
    (
        "return_in_loop",
        |p| {
            let sub = p.label();
            p.call(sub).bind(sub).loop_n(2, |p| drop_ref(p.line("t.rs", 20).ret().nop()));
        },
        2,
        5,
    ),
    (
        "token_busy",
        |p| drop_ref(p.flow(d(0), &tile()).flow_in(d(0), t(3)).line("t.rs", 20).flow_out(d(0), t(3))),
        14,
        14,
    ),
    (
        "rau_busy",
        |p| {
            drop_ref(
                p.rau(d(0), &RauDesc::default().limit(1).data(8))
                    .rau_load(d(0), t(0))
                    .line("t.rs", 20)
                    .rau_load(d(0), t(1)),
            )
        },
        5,
        5,
    ),
    ("token_idle", |p| drop_ref(p.line("t.rs", 20).wait(t(9), Tiles::All)), 0, 0),
    (
        "tiles of a copy",
        |p| drop_ref(p.dma(d(0), &DmaDesc::default().bytes(16)).dma_in(d(0), t(0)).line("t.rs", 20).wait(t(0), 1)),
        4,
        4,
    ),
    ("too many tiles", |p| drop_ref(p.flow(d(0), &tile()).flow_in(d(0), t(0)).line("t.rs", 20).wait(t(0), 2)), 14, 14),
    ("push of a flow in", |p| drop_ref(p.flow(d(0), &ring()).flow_in(d(0), t(0)).line("t.rs", 20).push(t(0))), 16, 16),
    (
        "release without ring",
        |p| drop_ref(p.flow(d(0), &tile()).flow_in(d(0), t(0)).line("t.rs", 20).release(t(0))),
        14,
        14,
    ),
    (
        "release before the wait",
        |p| drop_ref(p.flow(d(0), &ring()).flow_in(d(0), t(0)).line("t.rs", 20).release(t(0))),
        16,
        16,
    ),
    (
        "push before the wait",
        |p| drop_ref(p.flow(d(0), &ring()).flow_out(d(0), t(0)).push(t(0)).line("t.rs", 20).push(t(0))),
        17,
        17,
    ),
    (
        "push beyond the walk",
        |p| {
            p.flow(d(0), &ring().ring(4).ring_step(1))
                .flow_out(d(0), t(0))
                .push(t(0))
                .push(t(0))
                .line("t.rs", 20)
                .push(t(0));
        },
        19,
        19,
    ),
    ("deadlock", |p| drop_ref(p.flow(d(0), &ring()).flow_in(d(0), t(0)).line("t.rs", 20).wait(t(0), 2)), 16, 16),
    (
        "deadlock of a flow out",
        |p| drop_ref(p.flow(d(0), &ring()).flow_out(d(0), t(0)).line("t.rs", 20).drain(Engines::ALL)),
        16,
        16,
    ),
    (
        "deadlock of a start",
        |p| {
            p.flow(d(0), &ring()).flow_in(d(0), t(0)).d_clear(d(1)).flow(d(1), &tile().lrm(8)).flow_in(d(1), t(1));
            p.flow(d(1), &tile().lrm(16)).line("t.rs", 20).flow_in(d(1), t(2));
        },
        46,
        46,
    ),
    (
        "deadlock of a broadcast",
        |p| {
            drop_ref(
                p.broadcast(d(0), &BroadcastDesc::default().n0(9))
                    .bcast(d(0), t(0))
                    .line("t.rs", 20)
                    .wait(t(0), Tiles::All),
            )
        },
        5,
        5,
    ),
    (
        "deadlock of a third stream",
        |p| {
            p.broadcast(d(0), &BroadcastDesc::default().n0(9))
                .bcast(d(0), t(0))
                .bcast(d(0), t(1))
                .line("t.rs", 20)
                .bcast(d(0), t(2));
        },
        6,
        6,
    ),
    ("broadcast_empty", |p| drop_ref(p.line("t.rs", 20).mov(acc(0), Src::BROADCAST)), 0, 0),
    (
        "broadcast_misaligned",
        |p| {
            p.broadcast(d(0), &BroadcastDesc::default()).bcast(d(0), t(0)).mov(acc(0), Src::BROADCAST);
            p.line("t.rs", 20).mac8(MacShape::Dot, Acc::new(0).expect("legal"), Lrm::word(0).expect("legal"));
            // The entry is there 8 cycles behind the start.
        },
        6,
        14,
    ),
    (
        "broadcast_left",
        |p| {
            p.broadcast(d(0), &BroadcastDesc::default()).bcast(d(0), t(0)).mov(acc(0), Src::BROADCAST);
            p.wait(t(0), Tiles::All).line("t.rs", 20);
        },
        7,
        15,
    ),
    ("unretired", |p| drop_ref(p.flow(d(0), &tile()).flow_in(d(0), t(0)).line("t.rs", 20)), 14, 14),
    (
        "region never left",
        |p| {
            let top = p.here();
            Emit::region(p.line("t.rs", 20), "again").jump(top);
        },
        0,
        144,
    ),
    ("region not open", |p| drop_ref(p.nop().line("t.rs", 20).region_end()), 1, 1),
    (
        "trap in regions",
        |p| drop_ref(p.region("network", |p| drop_ref(p.region("layer 1", |p| drop_ref(p.line("t.rs", 20).ret()))))),
        2,
        0,
    ),
    (
        "cycle_limit",
        |p| {
            let top = p.here();
            p.line("t.rs", 20).fx_div(acc(0), imm(1), imm(1), Frac::new(0).expect("legal")).jump(top);
        },
        1,
        1017,
    ),
    (
        "instruction_limit",
        |p| {
            let top = p.here();
            p.line("t.rs", 20).nop().nop().nop().jump(top);
        },
        0,
        600,
    ),
];

fn fell_off_the_end() -> Trap {
    let mut p = Program::new(&target());
    p.entry("main");
    p.nop().nop();
    let (_, stopped) = run_image(&p.finish().expect("a legal program"), Options::default());
    stopped.into_result().map(|()| panic!("it has no end")).expect_err("a trap").as_ref().clone()
}

fn tag(trap: &Trap) -> String {
    let json = serde_json::to_value(trap).expect("serialises");
    json["cause"].as_str().expect("a tag").to_owned()
}

#[test]
fn every_cause_says_where_when_and_why() {
    let mut reports = String::new();
    let mut causes = BTreeSet::new();
    for (name, build, pc, cycle) in CASES {
        let trap = report(*build);
        assert_eq!((trap.pc, trap.cycle), (*pc, *cycle), "{name}: {trap}");
        assert_eq!(trap.line, Some(("t.rs".to_owned(), 20)), "{name}: {trap}");
        causes.insert(tag(&trap));
        reports += &format!("-- {name}\n{trap}\n\n");
    }
    let trap = fell_off_the_end();
    assert_eq!((trap.pc, trap.cycle, &trap.line), (2, 2, &None), "{trap}");
    causes.insert(tag(&trap));
    reports += &format!("-- fell off the end\n{trap}\n");
    insta::assert_snapshot!(reports);
    let all = [
        "address",
        "alignment",
        "assertion",
        "broadcast_empty",
        "broadcast_left",
        "broadcast_misaligned",
        "cycle_limit",
        "deadlock",
        "descriptor",
        "division",
        "engine_hazard",
        "fell_off_the_end",
        "hazard",
        "instruction_limit",
        "loop_escape",
        "program",
        "rau_busy",
        "regions",
        "return_in_loop",
        "stack_overflow",
        "stack_underflow",
        "token_busy",
        "token_idle",
        "token_use",
        "unretired",
    ];
    assert_eq!(causes.iter().map(String::as_str).collect::<Vec<_>>(), all);
}
