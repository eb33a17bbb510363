//! Each rule of cost with numbers worked out by hand, on the figures of `QC-U` unless said.

use iss::builder::{BroadcastDesc, DmaDesc, Emit, FlowDesc, Program, RauDesc, acc, b, d, imm, q, s, t, w};
use iss::isa::Class;
use iss::isa::operand::*;
use iss::profile::StallCause;
use iss::sim::Simulator;
use iss::target::{QC_U, QC_U_NARROW, Target};

use crate::harness::{run, small};

/// `QC-U`'s array and costs with little on-chip memory, to be quick.
fn qc_u() -> Target {
    QC_U.to_builder().ocm_bytes(1 << 20).build().expect("legal")
}

fn cycles(sim: &Simulator) -> u64 {
    sim.cycle()
}

/// Cycles of a class, and of its stalls of one cause.
#[track_caller]
fn check(sim: &Simulator, class: Class, cycles: u64, cause: StallCause, stalled: u64) {
    let used = sim.profile().expect("started").root.inclusive.class(class);
    let found = (used.cycles, used.stalls.get(&cause).copied().unwrap_or(0));
    assert_eq!(found, (cycles, stalled), "{class}, {cause:?}: {used:?}");
}

/// Cycles of what is emitted, without the halt.
#[track_caller]
fn cost(target: &Target, build: impl FnOnce(&mut Program)) -> u64 {
    cycles(&run(target, build)) - 1
}

type Emitter = fn(&mut Program);

#[test]
fn instructions_of_one_cycle() {
    let target = small(8, 8);
    let all: Vec<(Class, Emitter)> = vec![
        (Class::Compute, |p| drop_ref(p.nop())),
        (Class::Compute, |p| drop_ref(p.s_mov(s(1), 2))),
        (Class::Compute, |p| drop_ref(p.s_add(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_sub(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_mul(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_and(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_or(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_xor(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_shl(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_shr(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_sar(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_min(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_max(s(1), s(2), 2))),
        (Class::Compute, |p| drop_ref(p.s_set(s(1), Cond::Eq, s(2), 2))),
        (Class::DataOcm, |p| drop_ref(p.s_load(s(1), s(2), 0))),
        (Class::Predication, |p| drop_ref(p.p_push())),
        (Class::Predication, |p| drop_ref(p.p_disable())),
        (Class::Predication, |p| drop_ref(p.p_enable())),
        (Class::Predication, |p| drop_ref(p.p_any(s(1)))),
        (Class::Compute, |p| drop_ref(p.mov(acc(0), imm(1)))),
        (Class::Compute, |p| drop_ref(p.add(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.sub(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.and(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.or(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.xor(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.shl(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.shr(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.sar(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.min(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.max(w(0), w(4), w(8)))),
        (Class::Compute, |p| drop_ref(p.abs(w(0), b(5)))),
        (Class::Compute, |p| drop_ref(p.clip(w(0), w(4), -3, 3))),
        (Class::Compute, |p| drop_ref(p.cmp(Cond::Lt, w(4), imm(0)))),
        (Class::Compute, |p| drop_ref(p.set(Cond::Lt, w(0), w(4), imm(0)))),
        (Class::Compute, |p| drop_ref(p.sel(w(0), w(4), imm(0)))),
        (Class::Compute, |p| drop_ref(p.lut(w(0), w(4), b(64), 8))),
        (Class::Compute, |p| drop_ref(p.fx_mul(w(0), w(4), w(8), 7))),
        (Class::Compute, |p| drop_ref(p.exp(w(0), w(4), q(8), q(8)))),
        (Class::Compute, |p| drop_ref(p.log(w(0), w(4), q(8), q(8)))),
        (Class::DataArray, |p| drop_ref(p.send(Dirs::ALL, w(0)))),
        (Class::Compute, |p| drop_ref(p.d_clear(d(1)))),
        (Class::Compute, |p| drop_ref(p.d_set(d(1), Field::Ocm, 64))),
        // A drain of nothing.
        (Class::DataOcm, |p| drop_ref(p.drain(Engines::ALL))),
    ];
    for (i, (class, emit)) in all.iter().enumerate() {
        let sim = run(&target, emit);
        assert_eq!(cycles(&sim), 2, "instruction {i} of the list");
        // The halt is `compute`.
        let halts = (*class == Class::Compute) as u64;
        check(&sim, *class, 1 + halts, StallCause::Load, 0);
    }
}

fn drop_ref(_: &mut Program) {}

#[test]
fn instructions_of_many_cycles() {
    let (sixteen, eight) = (small(8, 8), small(8, 8).to_builder().macs_per_pe(8).build().expect("legal"));
    for (target, fx_mul, macs) in [(&sixteen, 1, [1, 2, 4]), (&eight, 2, [2, 4, 8])] {
        assert_eq!(cost(target, |p| drop_ref(p.fx_mul(acc(0), acc(1), acc(2), 0))), fx_mul);
        assert_eq!(cost(target, |p| drop_ref(p.fx_div(acc(0), acc(1), imm(2), q(0)))), 82);
        assert_eq!(cost(target, |p| drop_ref(p.exp_iter(acc(0), acc(1), q(0), q(0)))), 20);
        // Behind a stream that is in the queue: 4 descriptor instructions, start, wait, MACs.
        let at = || Lrm::word(0).expect("aligned");
        let a0 = || Acc::new(0).expect("legal");
        let stream = |p: &mut Program| {
            p.broadcast(d(0), &BroadcastDesc::default().n0(4)).bcast(d(0), t(0)).wait(t(0), Tiles::All);
        };
        let setup = cost(target, |p| {
            stream(p);
            p.loop_n(16, |p| drop_ref(p.mov(acc(0), Src::BROADCAST)));
        }) - 2
            - 16;
        // 4 to set it, 1 to start, first entry after 8, three more, 1 to wait.
        assert_eq!(setup, 4 + 1 + 8 + 3 + 1);
        for (kind, expected) in macs.iter().enumerate() {
            let cycles = cost(target, |p| {
                stream(p);
                for _ in 0..(if kind == 2 { 2 } else { 4 }) {
                    match kind {
                        0 => p.mac8(MacShape::Dot, a0(), at()),
                        1 => p.mac16x8(MacShape::Mat4, a0(), at()),
                        _ => p.mac16(MacShape::Dot, a0(), at()),
                    };
                }
            });
            assert_eq!(cycles - setup, expected * if kind == 2 { 2 } else { 4 }, "mac {kind}");
        }
    }
}

#[test]
fn control_flow() {
    let target = small(8, 8);
    assert_eq!(
        cost(&target, |p| {
            let l = p.label();
            p.jump(l).bind(l);
        }),
        3
    );
    assert_eq!(
        cost(&target, |p| {
            let l = p.label();
            p.branch(Cond::Eq, s(0), 0, l).nop().bind(l);
        }),
        3
    );
    assert_eq!(
        cost(&target, |p| {
            let l = p.label();
            p.branch(Cond::Ne, s(0), 0, l).nop().bind(l);
        }),
        1 + 1
    );
    let called = cost(&target, |p| {
        let (sub, end) = (p.label(), p.label());
        p.call(sub).jump(end).bind(sub).nop().ret().bind(end);
    });
    assert_eq!(called, 3 + 1 + 3 + 3);
    // Two to set up, nothing an iteration.
    assert_eq!(cost(&target, |p| drop_ref(p.loop_n(100, |p| drop_ref(p.nop())))), 2 + 100);
    assert_eq!(cost(&target, |p| drop_ref(p.loop_n(0, |p| drop_ref(p.nop())))), 2);
    let nested = cost(&target, |p| drop_ref(p.loop_n(5, |p| drop_ref(p.loop_n(7, |p| drop_ref(p.nop().nop()))))));
    assert_eq!(nested, 2 + 5 * (2 + 7 * 2));
    let sim = run(&target, |p| {
        let l = p.label();
        p.jump(l).bind(l).loop_n(3, |p| drop_ref(p.p_enable()));
    });
    check(&sim, Class::Predication, 3 + 2 + 3, StallCause::Load, 0);
    // Markers cost nothing.
    assert_eq!(cost(&target, |p| drop_ref(p.region("r", |p| drop_ref(p.probe("p", acc(0)).assert("a", imm(1)))))), 0);
}

#[test]
fn late_results() {
    let target = small(8, 8);
    let sim = run(&target, |p| drop_ref(p.exp(w(0), imm(1), q(4), q(4)).add(w(4), w(0), imm(1))));
    // Issued at 0, usable at 4.
    assert_eq!(cycles(&sim), 4 + 1 + 1);
    check(&sim, Class::Compute, 6, StallCause::Latency, 3);
    // Nobody waits for other words, nor for nothing.
    assert_eq!(cost(&target, |p| drop_ref(p.log(acc(3), imm(1), q(4), q(4)).add(w(4), w(0), acc(2)).nop())), 3);
    assert_eq!(cost(&target, |p| drop_ref(p.exp(b(5), imm(1), q(4), q(4)).add(w(8), b(4), b(6)))), 2);
    // A byte of the word, an accumulator, a write over it, a table, a MAC, a send.
    let late = |use_it: fn(&mut Program)| {
        cost(&target, |p| {
            p.exp(w(16), imm(1), q(4), q(4));
            use_it(p);
        })
    };
    assert_eq!(late(|p| drop_ref(p.mov(acc(0), b(18)))), 5);
    assert_eq!(late(|p| drop_ref(p.mov(w(16), imm(0)))), 5);
    assert_eq!(late(|p| drop_ref(p.lut(acc(0), imm(0), w(0), 3))), 5);
    assert_eq!(late(|p| drop_ref(p.lut(acc(0), imm(0), w(0), 2))), 2);
    assert_eq!(late(|p| drop_ref(p.send(Dirs::ALL, w(16)))), 5);
    let mac = |at: u32| {
        cost(&target, |p| {
            p.broadcast(d(0), &BroadcastDesc::default()).bcast(d(0), t(0)).wait(t(0), Tiles::All);
            p.exp(w(28), imm(1), q(4), q(4));
            p.mac8(MacShape::Dot, Acc::new(0).expect("legal"), Lrm::word(at).expect("aligned"));
        })
    };
    assert_eq!(mac(16) - mac(32), 3);
    // A flow, a push and a random access wait for all of them: the engines see local memory.
    let flow = |exp: bool| {
        let sim = run(&target, |p| {
            p.flow(d(0), &FlowDesc::default().width(8).height(1).rows(1).cols(8).lrm(40));
            if exp {
                p.exp(w(100), imm(1), q(4), q(4));
            }
            p.flow_out(d(0), t(0)).wait(t(0), Tiles::All);
        });
        cycles(&sim)
    };
    assert_eq!(flow(true) - flow(false), 4);
}

#[test]
fn late_scalars() {
    let target = small(8, 8);
    let sim = run(&target, |p| drop_ref(p.s_load(s(4), s(5), 0).s_add(s(6), s(4), 1)));
    assert_eq!(cycles(&sim), 8 + 1 + 1);
    check(&sim, Class::DataOcm, 1 + 7, StallCause::Scalar, 7);
    let sim = run(&target, |p| drop_ref(p.p_any(s(4)).nop().nop().add(acc(0), acc(1), s(4))));
    assert_eq!(cycles(&sim), 8 + 1 + 1);
    check(&sim, Class::Predication, 1 + 5, StallCause::Scalar, 5);
    // Writing over a late register waits too: the load would land on top.
    assert_eq!(cost(&target, |p| drop_ref(p.s_load(s(4), s(5), 0).s_mov(s(4), 3))), 9);
    assert_eq!(cost(&target, |p| drop_ref(p.s_load(s(4), s(5), 0).s_mov(s(6), 3))), 2);
    // As a base of local memory, a descriptor's field, a trip count, a wait's count, a branch.
    assert_eq!(cost(&target, |p| drop_ref(p.s_load(s(4), s(5), 0).mov(acc(0), w(0).based(s(4))))), 9);
    assert_eq!(cost(&target, |p| drop_ref(p.s_load(s(4), s(5), 0).d_set(d(0), Field::Ocm, s(4)))), 9);
    assert_eq!(cost(&target, |p| drop_ref(p.s_load(s(4), s(5), 0).loop_n(s(4), |p| drop_ref(p.nop())))), 8 + 2);
    let taken = |p: &mut Program| {
        let l = p.label();
        p.s_load(s(4), s(5), 0).branch(Cond::Eq, s(4), 0, l).bind(l);
    };
    assert_eq!(cost(&target, taken), 8 + 3);
}

/// Cycles and busy cycles from the start of a flow to behind its wait, descriptor not counted.
fn flow_cost(target: &Target, engine: Engine, desc: &FlowDesc) -> u64 {
    let fields = cost(target, |p| drop_ref(p.flow(d(0), desc)));
    let whole = cost(target, |p| {
        p.flow(d(0), desc);
        match engine {
            Engine::FlowIn => p.flow_in(d(0), t(0)),
            _ => p.flow_out(d(0), t(0)),
        };
        p.wait(t(0), Tiles::All);
    });
    whole - fields
}

#[test]
fn flows() {
    let (target, narrow) = (qc_u(), QC_U_NARROW.to_builder().ocm_bytes(1 << 20).build().expect("legal"));
    let tile = FlowDesc::full(&target).width(128).height(64).row_pitch(128);
    for engine in [Engine::FlowIn, Engine::FlowOut] {
        let cost = |desc: FlowDesc| flow_cost(&target, engine, &desc);
        // Start and wait issue in one cycle each; 24 to the first beat; a beat a row.
        assert_eq!(cost(tile), 1 + 24 + 32 + 1);
        assert_eq!(cost(tile.elem(2).row_pitch(256)), 1 + 24 + 64 + 1);
        assert_eq!(cost(tile.elem(4).row_pitch(512).lrm_step(4).n0(3).dx0(32)), 1 + 24 + 3 * 128 + 1);
        // An unaligned row touches one beat more.
        assert_eq!(cost(tile.x0(1)), 1 + 24 + 64 + 1);
        assert_eq!(cost(tile.x0(97)), 1 + 24 + 32 + 1);
        // Rows outside cost nothing, columns outside are not touched.
        assert_eq!(cost(tile.y0(-30)), 1 + 24 + 2 + 1);
        assert_eq!(cost(tile.y0(64)), 1 + 24 + 1);
        assert_eq!(cost(tile.elem(4).row_pitch(512).x0(-24)), 1 + 24 + 32 + 1);
        // Four elements a cycle where columns are apart.
        assert_eq!(cost(tile.col_step(4).row_step(2)), 1 + 24 + 32 * 8 + 1);
        assert_eq!(cost(tile.col_step(3).cols(5)), 1 + 24 + 32 * 2 + 1);
    }
    // A halo of one: 34 bytes from -1 on, of which 33 are inside, are two beats; further right they straddle two as well.
    assert_eq!(flow_cost(&target, Engine::FlowIn, &tile.halo(1)), 1 + 24 + 64 + 1);
    // The other reading: beats of 16 bytes, no start, one dead cycle in 20.
    let beats = 2 * 32;
    assert_eq!(flow_cost(&narrow, Engine::FlowIn, &tile), 1 + beats + beats / 19 + 1);
    // A strided row pays for its span there: 31 * 4 + 1 bytes are 8 beats.
    let beats = 8 * 32;
    assert_eq!(flow_cost(&narrow, Engine::FlowIn, &tile.col_step(4).row_step(2)), 1 + beats + beats / 19 + 1);
}

#[test]
fn flows_queue_overlap_and_stall_the_third() {
    let target = qc_u();
    let tile = FlowDesc::full(&target).width(32).height(32).row_pitch(32);
    // Both directions at once: the later start ends one cycle later.
    let fields = cost(&target, |p| drop_ref(p.flow(d(0), &tile).flow(d(1), &tile.ocm(4096).lrm(4))));
    let both = cost(&target, |p| {
        p.flow(d(0), &tile).flow(d(1), &tile.ocm(4096).lrm(4));
        p.flow_in(d(0), t(0)).flow_out(d(1), t(1)).wait(t(0), Tiles::All).wait(t(1), Tiles::All);
    });
    assert_eq!(both - fields, 2 + 56 + 1);
    // Three in: the third issues when the first is done, and ends 56 after the second.
    let sim = run(&target, |p| {
        for n in 0..3 {
            p.flow(d(n), &tile.lrm(4 * n));
        }
        p.flow_in(d(0), t(0)).flow_in(d(1), t(1)).flow_in(d(2), t(2)).wait(t(2), Tiles::All).drain(Engines::ALL);
    });
    let ocm = sim.profile().expect("started").root.inclusive.class(Class::DataOcm);
    // Starts at 0 and 1; the first is done at 1 + 56, the third starts; all done at 1 + 3 * 56.
    assert_eq!((ocm.issue_cycles, ocm.stalls[&StallCause::Load]), (5, (57 - 2) + (1 + 168 - 58)));
    assert_eq!(ocm.cycles, 1 + 168 + 2);
}

#[test]
fn rings_stop_at_what_is_not_released_or_pushed() {
    let target = qc_u();
    let tile = FlowDesc::full(&target).width(32).height(128).row_pitch(32).n0(4).dy0(32).group(1).ring(2).ring_step(4);
    let n_fields = cost(&target, |p| drop_ref(p.flow(d(0), &tile)));
    let inward = cost(&target, |p| {
        p.flow(d(0), &tile).flow_in(d(0), t(0));
        // Two buffers fill by 1 + 24 + 64; the release issues at 200, the third tile lands from 201 on.
        p.loop_n(197, |p| drop_ref(p.nop())).wait(t(0), 1).release(t(0)).wait(t(0), 3);
        p.release(t(0)).wait(t(0), 4).release(t(0)).release(t(0));
    });
    // Start 1, loop 2, nops 197, wait 1, release 1 = 202; tile 3 at 234; wait 235, release 236, tile 4 at 268, 3 more.
    assert_eq!(inward - n_fields, 202 + 32 + 1 + 1 + 32 + 1 + 2);
    let outward = cost(&target, |p| {
        p.flow(d(0), &tile).flow_out(d(0), t(0));
        p.loop_n(50, |p| drop_ref(p.nop()))
            .push(t(0))
            .push(t(0))
            .wait(t(0), 2)
            .push(t(0))
            .push(t(0))
            .wait(t(0), Tiles::All);
    });
    // Start 1, loop 52: pushed at 54, two tiles by 54 + 64; wait 119, push 120, the third from there, the fourth behind it.
    assert_eq!(outward - n_fields, 54 + 64 + 1 + 1 + 64 + 1);
}

#[test]
fn broadcast_feeds_an_entry_a_cycle_and_waits_for_room() {
    let target = small(8, 8);
    let mac =
        |p: &mut Program| drop_ref(p.mac8(MacShape::Dot, Acc::new(0).expect("legal"), Lrm::word(0).expect("legal")));
    let sim = run(&target, |p| {
        p.broadcast(d(0), &BroadcastDesc::default().n0(100)).bcast(d(0), t(0));
        p.loop_n(100, mac);
        p.wait(t(0), Tiles::All);
    });
    // 4 fields, start, loop: the first MAC may issue at 7; the first entry is there at 5 + 8.
    check(&sim, Class::DataOcm, 1 + 6 + 1, StallCause::Broadcast, 6);
    check(&sim, Class::Mac, 100, StallCause::Broadcast, 0);
    // The queue holds eight: the last of twelve enters when the fourth has been taken.
    let sim = run(&target, |p| {
        p.broadcast(d(0), &BroadcastDesc::default().n0(12)).bcast(d(0), t(0));
        p.loop_n(93, |p| drop_ref(p.nop()));
        (0..4).for_each(|_| mac(p));
        p.wait(t(0), Tiles::All);
        (0..8).for_each(|_| mac(p));
    });
    // MACs at 100..104: the slot of the fourth, taken at 103, is filled at 104.
    check(&sim, Class::DataOcm, 2, StallCause::Broadcast, 0);
    assert_eq!(cycles(&sim), 4 + 1 + 2 + 93 + 4 + 1 + 8 + 1);
    // Words: four to an entry.
    let sim = run(&target, |p| {
        p.broadcast(d(0), &BroadcastDesc::default().n0(2)).bcast(d(0), t(0));
        p.loop_n(8, |p| drop_ref(p.mov(acc(0), Src::BROADCAST)));
        p.drain(Engines::ALL);
    });
    check(&sim, Class::DataOcm, 1 + 6 + 1, StallCause::Broadcast, 6);
}

#[test]
fn random_accesses() {
    let target = qc_u();
    let rau = |prepare: fn(&mut Program), target: &Target| {
        let whole = |access: bool| {
            cost(target, |p| {
                prepare(p);
                p.rau(d(0), &RauDesc::default().ocm(0).elem(4).limit(2048).lrm(0).data(4));
                if access {
                    p.rau_load(d(0), t(0)).wait(t(0), Tiles::All);
                }
            })
        };
        whole(true) - whole(false) - 2
    };
    let distinct: fn(&mut Program) = |p| drop_ref(p.mov(w(0), Src::QCol));
    assert_eq!(rau(distinct, &target), 32 * (3 + 8) + 4);
    // One address a row, pairs of equal addresses.
    assert_eq!(rau(|p| drop_ref(p.mov(w(0), Src::QRow)), &target), 32 * (3 + 1) + 4);
    assert_eq!(rau(|p| drop_ref(p.sar(w(0), Src::QCol, 1)), &target), 32 * (3 + 4) + 4);
    // Rows without an active PE are skipped: switched off, or with no valid index.
    assert_eq!(
        rau(|p| drop_ref(p.mov(w(0), Src::QCol).cmp(Cond::Ge, Src::QRow, 10).p_disable()), &target),
        10 * 11 + 4
    );
    assert_eq!(rau(|p| drop_ref(p.sub(w(0), Src::QCol, 32)), &target), 4);
    assert_eq!(rau(|p| drop_ref(p.sub(w(0), Src::QCol, 31)), &target), 32 * (3 + 1) + 4);
    // The other reading merges nothing: 4 + 32 / 4 a row.
    let narrow = QC_U_NARROW.to_builder().ocm_bytes(1 << 20).build().expect("legal");
    assert_eq!(rau(|p| drop_ref(p.mov(w(0), Src::QRow)), &narrow), 32 * (4 + 8) + 4);
}

#[test]
fn copies() {
    let target = small(8, 8);
    let copy = |p: &mut Program, n: u32, bytes: u32, ocm: u32| {
        p.dma(d(n), &DmaDesc::default().bytes(bytes).ocm(ocm));
    };
    let sim = |build: &dyn Fn(&mut Program)| {
        run(&target, |p| {
            p.constant(&[1; 8192]);
            build(p);
        })
    };
    // 3 fields, start, 300 to the first word, 64 bytes at 75.29 a cycle, the wait.
    for (bytes, bus) in [(1, 1), (64, 1), (65, 2), (7529, 101)] {
        let sim = sim(&|p| {
            copy(p, 0, bytes, 0);
            p.dma_in(d(0), t(0)).wait(t(0), Tiles::All);
        });
        assert_eq!(cycles(&sim), 3 + 1 + 300 + bus + 1 + 1, "{bytes} bytes");
        check(&sim, Class::DataExternal, 1 + 300 + bus, StallCause::DmaRead, 300 + bus);
    }
    // Each row is rounded up to bursts: 10 rows of 65 bytes are 1280 on the bus, 17 cycles.
    let rows = sim(&|p| {
        p.dma(d(0), &DmaDesc::default().bytes(65).n0(10).row_pitch(65).ext_pitch(65)).dma_in(d(0), t(0));
        p.drain(Engines::ALL);
    });
    assert_eq!(cycles(&rows), 5 + 1 + 300 + 17 + 1 + 1);
    // Latencies overlap, the bus does not: 2 * 1280 bytes.
    let two = sim(&|p| {
        copy(p, 0, 1280, 0);
        copy(p, 1, 1280, 2048);
        p.dma_in(d(0), t(0)).dma_in(d(1), t(1)).wait(t(1), Tiles::All).wait(t(0), Tiles::All);
    });
    assert_eq!(cycles(&two), 3 + 4 + 1 + 300 + 17 + 17 + 2 + 1);
    // Both directions at once.
    let both = sim(&|p| {
        copy(p, 0, 1280, 0);
        p.dma(d(1), &DmaDesc::default().bytes(1280).ocm(2048).ext(4096));
        p.dma_in(d(0), t(0)).dma_out(d(1), t(1)).wait(t(0), Tiles::All).wait(t(1), Tiles::All);
    });
    assert_eq!(cycles(&both), 3 + 5 + 2 + 300 + 17 + 1 + 1);
}

#[test]
fn a_drain_is_charged_to_what_ends_last() {
    let target = qc_u();
    let drained = |rows: u32| {
        run(&target, |p| {
            p.constant(&[1; 64]);
            p.flow(d(0), &FlowDesc::full(&target).width(32).height(4096).row_pitch(32).n0(rows).dy0(32));
            p.dma(d(1), &DmaDesc::default().bytes(64).ocm(1 << 19));
            p.dma_in(d(1), t(1)).flow_in(d(0), t(0)).drain(Engines::ALL);
        })
    };
    // One tile is there at 57, long before the copy; twenty take until 2 + 24 + 640.
    let sim = drained(1);
    check(&sim, Class::DataExternal, 1 + 300, StallCause::DmaRead, 300);
    check(&sim, Class::DataOcm, 2, StallCause::Load, 0);
    let sim = drained(20);
    check(&sim, Class::DataExternal, 1, StallCause::DmaRead, 0);
    check(&sim, Class::DataOcm, 2 + 664, StallCause::Load, 664);
}

#[test]
fn compute_hides_what_it_overlaps() {
    let target = qc_u();
    let tile = FlowDesc::full(&target).width(32).height(32).row_pitch(32);
    for (nops, stalled) in [(0, 56), (20, 34), (54, 0), (200, 0)] {
        let sim = run(&target, |p| {
            p.flow(d(0), &tile).flow_in(d(0), t(0));
            if nops > 0 {
                p.loop_n(nops, |p| drop_ref(p.nop()));
            }
            p.wait(t(0), Tiles::All);
        });
        check(&sim, Class::DataOcm, 2 + stalled, StallCause::Load, stalled);
    }
}

/// Waiting for nothing is never a deadlock, not even behind a ring that stands still.
#[test]
fn a_wait_for_no_tile_ends_at_once() {
    let target = small(8, 8);
    let tile = FlowDesc::full(&target).width(8).height(8).row_pitch(8);
    run(&target, |p| {
        p.flow(d(0), &tile.n0(2).group(1).ring(1)).flow_in(d(0), t(0)).flow(d(1), &tile.lrm(64)).flow_in(d(1), t(1));
        p.wait(t(1), 0).s_mov(s(4), -7).wait_s(t(1), s(4));
        p.wait(t(0), 1).wait(t(0), 1).release(t(0)).wait(t(0), 2).wait(t(0), 1).release(t(0)).wait(t(1), Tiles::All);
    });
}

/// Streams are told to the profile in the order of their starts, however they are waited for, with their own ends.
#[test]
fn broadcast_busy_cycles_do_not_hang_on_the_waits() {
    let target = small(8, 8);
    let busy = |swapped: bool| {
        let sim = run(&target, |p| {
            p.broadcast(d(0), &BroadcastDesc::default().n0(2)).bcast(d(0), t(0));
            p.loop_n(8, |p| drop_ref(p.mov(acc(0), Src::BROADCAST)));
            p.loop_n(200, |p| drop_ref(p.nop()));
            p.bcast(d(0), t(1));
            p.loop_n(8, |p| drop_ref(p.mov(acc(0), Src::BROADCAST)));
            let [first, second] = if swapped { [1, 0] } else { [0, 1] };
            p.wait(t(first), Tiles::All).wait(t(second), Tiles::All);
        });
        sim.profile().expect("started").root.inclusive.engine(Engine::Broadcast).busy_cycles
    };
    // Each from its start to its second entry.
    assert_eq!((busy(false), busy(true)), (18, 18));
}
