//! Bytes in flight: every pair of engines and every instruction that can meet them, in each memory, with a twin that
//! differs by a few bytes and runs.

use iss::builder::{BroadcastDesc, DmaDesc, Emit, FlowDesc, Program, RauDesc, acc, b, d, h, imm, s, t, w};
use iss::isa::operand::*;
use iss::sim::{Access, Bytes, Memory, Options, Stopped, Trap, TrapCause};

use crate::harness::{run_image, small};

/// What can be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    FlowIn,
    FlowOut,
    Broadcast,
    RauLoad,
    RauStore,
    DmaIn,
    DmaOut,
}
use Kind::*;

const KINDS: [Kind; 7] = [FlowIn, FlowOut, Broadcast, RauLoad, RauStore, DmaIn, DmaOut];

/// Where a transfer works. On chip and outside it touches 16 bytes in each of four rows 64 bytes apart (the RAU only the
/// first 16), in local memory half-words, words for the RAU.
#[derive(Clone, Copy, Debug)]
struct At {
    ocm: u32,
    ext: u32,
    slot: u32,
    index: u32,
    valid: u32,
}

/// One of the local places.
type Local = fn(&mut At) -> &mut u32;

impl At {
    /// Places of its own for the first and the second transfer.
    const FIRST: At = At { ocm: 0, ext: 0, slot: 64, index: 68, valid: 72 };
    const SECOND: At = At { ocm: 16, ext: 16, slot: 96, index: 100, valid: 104 };
}

impl Kind {
    fn engine(self) -> Engine {
        match self {
            FlowIn => Engine::FlowIn,
            FlowOut => Engine::FlowOut,
            Broadcast => Engine::Broadcast,
            RauLoad | RauStore => Engine::Rau,
            DmaIn => Engine::DmaIn,
            DmaOut => Engine::DmaOut,
        }
    }
    fn is_rau(self) -> bool {
        matches!(self, RauLoad | RauStore)
    }
    fn writes_ocm(self) -> bool {
        matches!(self, FlowOut | RauStore | DmaIn)
    }
    /// External access, if there is one.
    fn ext(self) -> Option<bool> {
        match self {
            DmaIn => Some(false),
            DmaOut => Some(true),
            _ => None,
        }
    }
    /// Local bytes: which place of `At`, how long, whether they are written.
    fn local(self) -> Vec<(Local, u32, bool)> {
        match self {
            FlowIn => vec![(|at| &mut at.slot, 2, true)],
            FlowOut => vec![(|at| &mut at.slot, 2, false)],
            RauLoad => {
                vec![(|at| &mut at.index, 4, false), (|at| &mut at.slot, 4, true), (|at| &mut at.valid, 4, true)]
            }
            RauStore => vec![(|at| &mut at.index, 4, false), (|at| &mut at.slot, 4, false)],
            Broadcast | DmaIn | DmaOut => vec![],
        }
    }

    /// Sets descriptor `n` and starts the transfer with token `n`; the pc of the start.
    fn start(self, p: &mut Program, n: u32, at: At) -> u32 {
        match self {
            FlowIn | FlowOut => {
                let desc = FlowDesc::default().elem(2).width(8).height(4).row_pitch(64).rows(4).cols(8);
                p.flow(d(n), &desc.ocm(at.ocm).lrm(at.slot));
            }
            Broadcast => drop_ref(p.broadcast(d(n), &BroadcastDesc::default().ocm(at.ocm).n0(4).dx0(64))),
            RauLoad | RauStore => {
                let desc = RauDesc::default().ocm(at.ocm).elem(4).limit(4).lrm(at.index).data(at.slot);
                p.rau(d(n), &desc.valid(if self == RauLoad { at.valid + 1 } else { 0 }));
            }
            DmaIn | DmaOut => {
                let desc = DmaDesc::default().ocm(at.ocm).row_pitch(64).n0(4).bytes(16).ext(at.ext).ext_pitch(64);
                p.dma(d(n), &desc);
            }
        }
        let pc = p.pc();
        match self {
            FlowIn => p.flow_in(d(n), t(n)),
            FlowOut => p.flow_out(d(n), t(n)),
            Broadcast => p.bcast(d(n), t(n)),
            RauLoad => p.rau_load(d(n), t(n)),
            RauStore => p.rau_store(d(n), t(n)),
            DmaIn => p.dma_in(d(n), t(n)),
            DmaOut => p.dma_out(d(n), t(n)),
        };
        pc
    }
}

fn drop_ref(_: &mut Program) {}

/// Runs what `build` emits, then reads `entries` of broadcast and drains everything.
#[track_caller]
fn end(entries: u32, build: impl FnOnce(&mut Program)) -> Stopped {
    let mut p = Program::new(&small(8, 8));
    p.constant(&[3; 1024]);
    p.entry("main");
    p.line("k.rs", 7);
    build(&mut p);
    if entries > 0 {
        p.loop_n(4 * entries, |p| drop_ref(p.mov(acc(9), Src::BROADCAST)));
    }
    p.drain(Engines::ALL).halt();
    run_image(&p.finish().expect("a legal program"), Options::default()).1
}

#[track_caller]
fn trapped(stopped: Stopped) -> Trap {
    match stopped {
        Stopped::Trap(trap) => *trap,
        other => panic!("a hazard goes unnoticed: {other:?}"),
    }
}

/// The first transfer, perhaps its wait, and the second.
#[track_caller]
fn pair(first: Kind, at: At, waits: bool, second: Kind, then: At) -> (Stopped, u32, u32) {
    let (mut since, mut pc) = (0, 0);
    let streams = [first, second].iter().filter(|k| **k == Broadcast).count() as u32;
    let stopped = end(4 * streams, |p| {
        since = first.start(p, 1, at);
        if waits {
            p.wait(t(1), Tiles::All);
        }
        p.line("k.rs", 20);
        pc = second.start(p, 2, then);
        p.line("k.rs", 30);
    });
    (stopped, since, pc)
}

#[track_caller]
fn check_pair(first: Kind, at: At, second: Kind, then: At, access: Access, memory: Memory, range: Bytes) {
    let (stopped, since_pc, pc) = pair(first, at, false, second, then);
    let trap = trapped(stopped);
    let (engine, other) = (second.engine(), first.engine());
    let cause = TrapCause::EngineHazard { engine, access, memory, range, other, since_pc };
    assert_eq!((trap.cause.clone(), trap.pc), (cause, pc), "{first:?} then {second:?}\n{trap}");
    assert_eq!(trap.line, Some(("k.rs".to_owned(), 20)));
    // The stop is precise: what it would have cost is not charged.
    assert!(trap.cycle > 0 && !trap.instruction.is_empty());
    assert_eq!(pair(first, at, true, second, then).0, Stopped::Halt, "{first:?}, its wait, {second:?}");
}

fn access(writes: bool) -> Access {
    if writes { Access::Write } else { Access::Read }
}

#[test]
fn engines_meet_in_on_chip_memory() {
    let mut traps = 0;
    for first in KINDS {
        for second in KINDS {
            if first.is_rau() && second.is_rau() {
                continue;
            }
            // The same bytes: two readers may, others may not.
            let same = At { ocm: 0, ..At::SECOND };
            if first.writes_ocm() || second.writes_ocm() {
                traps += 1;
                let range = Bytes::new(0, 16);
                check_pair(first, At::FIRST, second, same, access(second.writes_ocm()), Memory::Ocm, range);
            } else {
                assert_eq!(pair(first, At::FIRST, false, second, same).0, Stopped::Halt, "{first:?} then {second:?}");
            }
            // Interleaved rows share none.
            let (stopped, ..) = pair(first, At::FIRST, false, second, At::SECOND);
            assert_eq!(stopped, Stopped::Halt, "{first:?} then {second:?}, rows interleaved");
            // One shared byte is enough, where the second need not be aligned.
            if matches!(second, FlowIn | FlowOut | DmaIn | DmaOut) && (first.writes_ocm() || second.writes_ocm()) {
                let shifted = At { ocm: 15, ..At::SECOND };
                let range = Bytes::new(15, 16);
                check_pair(first, At::FIRST, second, shifted, access(second.writes_ocm()), Memory::Ocm, range);
            }
        }
    }
    assert_eq!(traps, 30, "pairs with a writer, without those of the RAU with itself");
}

#[test]
fn engines_meet_in_local_memory() {
    let mut traps = 0;
    for first in KINDS {
        for second in KINDS {
            if first.is_rau() && second.is_rau() {
                continue;
            }
            for (place, _, first_writes) in first.local() {
                for (then_place, len, second_writes) in second.local() {
                    let (mut at, mut then) = (At::FIRST, At::SECOND);
                    *place(&mut at) = 200;
                    *then_place(&mut then) = 200;
                    if first_writes || second_writes {
                        traps += 1;
                        let range = Bytes::new(200, 200 + len as u64);
                        check_pair(first, at, second, then, access(second_writes), Memory::Lrm, range);
                    } else {
                        assert_eq!(pair(first, at, false, second, then).0, Stopped::Halt, "{first:?}, {second:?}");
                    }
                    *then_place(&mut then) = 204;
                    assert_eq!(
                        pair(first, at, false, second, then).0,
                        Stopped::Halt,
                        "{first:?}, {second:?} beside it"
                    );
                }
            }
        }
    }
    assert!(traps > 10, "{traps}");
}

#[test]
fn dma_meets_dma_in_external_memory() {
    for first in [DmaIn, DmaOut] {
        for second in [DmaIn, DmaOut] {
            let then = At { ext: 0, ..At::SECOND };
            if first.ext() == Some(true) || second.ext() == Some(true) {
                let access = access(second == DmaOut);
                check_pair(first, At::FIRST, second, then, access, Memory::Ext, Bytes::new(0, 16));
            } else {
                assert_eq!(pair(first, At::FIRST, false, second, then).0, Stopped::Halt);
            }
            assert_eq!(pair(first, At::FIRST, false, second, At::SECOND).0, Stopped::Halt, "rows interleaved");
        }
    }
}

type Emitter = fn(&mut Program);

/// Instructions that read and that write the word at 128 of local memory, or a part of it.
fn readers() -> Vec<(&'static str, Emitter)> {
    vec![
        ("mov", |p| drop_ref(p.mov(acc(1), w(128)))),
        ("mov byte", |p| drop_ref(p.mov(acc(1), b(129)))),
        ("second source", |p| drop_ref(p.add(acc(1), acc(2), h(128)))),
        ("based", |p| drop_ref(p.mov(acc(1), w(28).based(s(0))))),
        ("cmp", |p| drop_ref(p.cmp(Cond::Eq, w(128), imm(0)))),
        ("sel", |p| drop_ref(p.sel(acc(1), imm(0), w(128)))),
        ("fx_div", |p| drop_ref(p.fx_div(acc(1), w(128), imm(3), Frac::new(3).expect("legal")))),
        ("exp", |p| drop_ref(p.exp(acc(1), w(128), Frac::new(3).expect("legal"), Frac::new(3).expect("legal")))),
        ("lut index", |p| drop_ref(p.lut(acc(1), w(128), w(0), 2))),
        ("lut table", |p| drop_ref(p.lut(acc(1), imm(0), w(116), 2))),
        ("send", |p| drop_ref(p.send(Dirs::ALL, w(128)))),
        ("mac", |p| {
            p.mac8(MacShape::Dot, Acc::new(0).expect("legal"), Lrm::word(128).expect("aligned"));
        }),
        ("probe", |p| drop_ref(p.probe("p", w(128)))),
        ("assert", |p| drop_ref(p.assert("a", w(128)))),
    ]
}

fn writers() -> Vec<(&'static str, Emitter)> {
    vec![
        ("mov", |p| drop_ref(p.mov(w(128), imm(1)))),
        ("byte", |p| drop_ref(p.mov(b(128), imm(1)))),
        ("set", |p| drop_ref(p.set(Cond::Eq, h(128), imm(1), imm(1)))),
        ("lut", |p| drop_ref(p.lut(w(128), imm(0), w(0), 0))),
        ("log", |p| drop_ref(p.log(w(128), imm(5), Frac::new(3).expect("legal"), Frac::new(3).expect("legal")))),
    ]
}

/// The transfers with local bytes at 128, and whether they write them.
fn on_word() -> Vec<(Kind, At, bool)> {
    let mut all = Vec::new();
    for kind in KINDS {
        for (place, _, writes) in kind.local() {
            let mut at = At::FIRST;
            *place(&mut at) = 128;
            all.push((kind, at, writes));
        }
    }
    all
}

/// Starts a transfer, lets its engine end long ago, and executes an instruction behind a wait or not.
#[track_caller]
fn touch(kind: Kind, at: At, waits: bool, emit: Emitter) -> (Stopped, u32, u32) {
    let (mut since, mut pc) = (0, 0);
    let stopped = end(0, |p| {
        // A MAC needs an entry; other readers leave it to a last MAC of words that are free.
        p.broadcast(d(7), &BroadcastDesc::default().ocm(0x1000)).bcast(d(7), t(7));
        p.s_mov(s(0), 100);
        since = kind.start(p, 1, at);
        p.loop_n(3000, |p| drop_ref(p.nop()));
        if waits {
            p.wait(t(1), Tiles::All);
        }
        pc = p.pc();
        // A zero where the assertion looks would stop it for another reason.
        if waits && kind != FlowOut {
            p.mov(w(128), imm(1));
            pc = p.pc();
        }
        emit(p);
    });
    (stopped, since, pc)
}

/// A halt, or a stop only because the entry of broadcast was not taken or the assertion looked at zeros.
fn passed(stopped: &Stopped) -> bool {
    match stopped {
        Stopped::Halt => true,
        Stopped::Trap(trap) => matches!(trap.cause, TrapCause::BroadcastLeft { .. } | TrapCause::Assertion { .. }),
        _ => false,
    }
}

#[test]
fn instructions_meet_local_bytes_in_flight_however_late() {
    for (kind, at, landing) in on_word() {
        for (name, emit) in readers() {
            let (stopped, since_pc, pc) = touch(kind, at, false, emit);
            if !landing {
                assert!(passed(&stopped), "{kind:?}: `{name}` reads what is leaving: {stopped:?}");
                continue;
            }
            let trap = trapped(stopped);
            let TrapCause::Hazard { access, memory, range, engine, since_pc: found } = trap.cause else {
                panic!("{kind:?}, {name}: {trap}");
            };
            assert_eq!((access, memory, engine, found), (Access::Read, Memory::Lrm, kind.engine(), since_pc), "{name}");
            assert_eq!((trap.pc, trap.line), (pc, Some(("k.rs".to_owned(), 7))));
            assert!(range.overlaps(Bytes::new(128, 132)), "{range}");
            let (stopped, ..) = touch(kind, at, true, emit);
            assert!(passed(&stopped), "{kind:?}: `{name}` behind the wait: {stopped:?}");
        }
        for (name, emit) in writers() {
            let (stopped, since_pc, pc) = touch(kind, at, false, emit);
            let trap = trapped(stopped);
            let TrapCause::Hazard { access, memory, engine, since_pc: found, .. } = trap.cause else {
                panic!("{kind:?}, {name}: {trap}");
            };
            assert_eq!(
                (access, memory, engine, found),
                (Access::Write, Memory::Lrm, kind.engine(), since_pc),
                "{name}"
            );
            assert_eq!(trap.pc, pc);
            let (stopped, ..) = touch(kind, at, true, emit);
            assert!(passed(&stopped), "{kind:?}: `{name}` behind the wait: {stopped:?}");
        }
    }
}

#[test]
fn bytes_beside_those_in_flight_are_free() {
    // A flow of half-words holds two bytes of a word.
    let at = At { slot: 128, ..At::FIRST };
    for kind in [FlowIn, FlowOut] {
        let (stopped, ..) =
            pair_with(kind, at, |p| drop_ref(p.mov(h(130), imm(1)).mov(acc(1), h(130)).mov(w(124), imm(2))));
        assert_eq!(stopped, Stopped::Halt, "{kind:?}");
        assert!(matches!(pair_with(kind, at, |p| drop_ref(p.mov(w(128), imm(1)))).0, Stopped::Trap(_)));
    }
}

fn pair_with(kind: Kind, at: At, emit: Emitter) -> (Stopped, u32) {
    let mut pc = 0;
    let stopped = end(0, |p| {
        pc = kind.start(p, 1, at);
        emit(p);
    });
    (stopped, pc)
}

#[test]
fn scalar_loads_meet_what_lands_on_chip() {
    for kind in KINDS {
        let entries = if kind == Broadcast { 4 } else { 0 };
        let load = |address: u32, waits: bool| {
            let mut pc = (0, 0);
            let stopped = end(entries, |p| {
                p.s_mov(s(4), address);
                pc.0 = kind.start(p, 1, At::FIRST);
                p.loop_n(3000, |p| drop_ref(p.nop()));
                if waits {
                    p.wait(t(1), Tiles::All);
                }
                pc.1 = p.pc();
                p.s_load(s(5), s(4), 0);
            });
            (stopped, pc)
        };
        let (stopped, (since_pc, pc)) = load(12, false);
        if kind.writes_ocm() {
            let trap = trapped(stopped);
            let (access, memory, range) = (Access::Read, Memory::Ocm, Bytes::new(12, 16));
            let cause = TrapCause::Hazard { access, memory, range, engine: kind.engine(), since_pc };
            assert_eq!((trap.cause, trap.pc), (cause, pc));
        } else {
            assert_eq!(stopped, Stopped::Halt, "{kind:?} only reads");
        }
        for (address, waits) in [(16, false), (60, false), (12, true)] {
            assert_eq!(load(address, waits).0, Stopped::Halt, "{kind:?}, {address}");
        }
    }
}

/// A ring of two buffers of one word over four tiles, at 128 and 160.
fn ring() -> FlowDesc {
    FlowDesc::default()
        .elem(4)
        .width(8)
        .height(8)
        .row_pitch(32)
        .rows(2)
        .cols(8)
        .n0(4)
        .dy0(2)
        .lrm(128)
        .lrm_step(0)
        .group(1)
        .ring(2)
        .ring_step(32)
}

/// Runs the setting `before`, then one instruction; whether that met bytes in flight.
#[track_caller]
fn meets(engine: Engine, before: impl Fn(&mut Program), emit: Emitter) -> bool {
    let mut pc = 0;
    let mut p = Program::new(&small(8, 8));
    p.entry("main");
    p.flow(d(0), &ring());
    match engine {
        Engine::FlowIn => p.flow_in(d(0), t(0)),
        _ => p.flow_out(d(0), t(0)),
    };
    before(&mut p);
    pc += p.pc();
    emit(&mut p);
    p.halt();
    let (_, stopped) = run_image(&p.finish().expect("legal"), Options::default());
    match trapped(stopped) {
        Trap { cause: TrapCause::Hazard { .. }, pc: at, .. } => {
            assert_eq!(at, pc);
            true
        }
        // The ring is never finished.
        Trap { cause: TrapCause::Unretired { .. }, .. } => false,
        other => panic!("{other}"),
    }
}

#[test]
fn a_buffer_of_a_ring_is_the_programs_between_wait_and_release() {
    let read: Emitter = |p| drop_ref(p.mov(acc(1), w(128)));
    let read_other: Emitter = |p| drop_ref(p.mov(acc(1), w(160)));
    let write: Emitter = |p| drop_ref(p.mov(w(128), imm(1)));
    let none = |_: &mut Program| {};
    let waited = |p: &mut Program| drop_ref(p.wait(t(0), 1));
    let released = |p: &mut Program| drop_ref(p.wait(t(0), 1).release(t(0)));
    assert!(meets(Engine::FlowIn, none, read) && meets(Engine::FlowIn, none, write));
    assert!(!meets(Engine::FlowIn, waited, read) && !meets(Engine::FlowIn, waited, write));
    assert!(meets(Engine::FlowIn, waited, read_other), "the second buffer is still landing");
    assert!(meets(Engine::FlowIn, released, read), "the third tile lands there");
    // The last tenant of a buffer leaves it to the program.
    let over = |p: &mut Program| drop_ref(p.wait(t(0), 2).release(t(0)).release(t(0)).wait(t(0), 4).release(t(0)));
    assert!(!meets(Engine::FlowIn, over, read));
}

#[test]
fn a_buffer_of_a_ring_out_is_the_engines_from_push_to_wait() {
    let read: Emitter = |p| drop_ref(p.mov(acc(1), w(128)));
    let write: Emitter = |p| drop_ref(p.mov(w(128), imm(1)));
    let write_other: Emitter = |p| drop_ref(p.mov(w(160), imm(1)));
    let none = |_: &mut Program| {};
    let pushed = |p: &mut Program| drop_ref(p.push(t(0)));
    let left = |p: &mut Program| drop_ref(p.push(t(0)).wait(t(0), 1));
    assert!(!meets(Engine::FlowOut, none, read) && !meets(Engine::FlowOut, none, write));
    assert!(!meets(Engine::FlowOut, pushed, read), "reading what is leaving is allowed");
    assert!(meets(Engine::FlowOut, pushed, write) && !meets(Engine::FlowOut, pushed, write_other));
    assert!(!meets(Engine::FlowOut, left, write));
}

/// A release that would hand over bytes which another transfer holds.
#[test]
fn a_release_meets_other_transfers() {
    let mut pcs = (0, 0);
    let stopped = end(0, |p| {
        p.flow(d(0), &ring()).flow_in(d(0), t(0)).wait(t(0), 1);
        pcs.0 = FlowOut.start(p, 1, At { ocm: 0x800, slot: 128, ..At::FIRST });
        pcs.1 = p.pc();
        p.release(t(0));
    });
    let trap = trapped(stopped);
    let (engine, other) = (Engine::FlowIn, Engine::FlowOut);
    let (memory, range) = (Memory::Lrm, Bytes::new(128, 132));
    let cause = TrapCause::EngineHazard { engine, access: Access::Write, memory, range, other, since_pc: pcs.0 };
    assert_eq!((trap.cause, trap.pc), (cause, pcs.1));
}
