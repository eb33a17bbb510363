//! Random straight-line programs on the simulator and on the tick model: the same cycles, classes and causes.

use std::collections::BTreeMap;

use iss::builder::{DmaDesc, Emit, FlowDesc, s};
use iss::isa::operand::Engine;
use iss::profile::StallCause;
use iss::target::{Param, QC_U_NARROW, Target};
use iss::testing::Rng;

use super::script::Script;
use super::ticks;
use crate::harness::{seeds, small};

struct Ring {
    token: u8,
    engine: Engine,
    tiles: u32,
    group: u32,
    ring: u32,
    /// Buffers waited for, and released or pushed.
    waited: u32,
    given: u32,
    /// Flows of the direction that were started behind it.
    behind: u32,
}

impl Ring {
    fn buffers(&self) -> u32 {
        self.tiles.div_ceil(self.group)
    }
}

struct Writer {
    rng: Rng,
    script: Script,
    /// Transfers to be waited for: token, engine, tiles.
    live: Vec<(u8, Engine, u32)>,
    rings: Vec<Ring>,
    /// Entries left of each stream, oldest first, with its token; and words taken of the first.
    streams: Vec<(u8, u32)>,
    words: u32,
}

fn target(rng: &mut Rng) -> Target {
    let base = if rng.once_in(3) {
        QC_U_NARROW.to_builder().array(6, 9).lrm_bytes(1024).ocm_bytes(1 << 16)
    } else {
        small(8, 8).to_builder()
    };
    let mut builder = base.macs_per_pe(if rng.once_in(3) { 8 } else { 16 }).clock_mhz(1000).ext_read_mb_s(64_000);
    let mut set = |param, values: &[u32]| {
        if rng.once_in(3) {
            builder = builder.clone().timing(param, *rng.pick(values));
        }
    };
    set(Param::flow_start, &[0, 1, 7, 40]);
    set(Param::flow_beat, &[4, 8, 64]);
    set(Param::flow_strided, &[0, 1, 3]);
    set(Param::flow_dead_cycle_in, &[0, 1, 2, 3, 20]);
    set(Param::flow_queue, &[1, 3]);
    set(Param::broadcast_start, &[0, 1, 20]);
    set(Param::broadcast_queue, &[8, 9, 16]);
    set(Param::broadcast_streams, &[2, 4]);
    set(Param::dma_latency, &[0, 1, 50]);
    set(Param::dma_queue, &[1, 2, 3]);
    set(Param::dma_burst, &[4, 128]);
    set(Param::rau_merges, &[0, 1]);
    set(Param::alu, &[1, 3]);
    set(Param::marker, &[0, 2]);
    set(Param::engine_start, &[1, 5]);
    set(Param::engine_sync, &[1, 4]);
    set(Param::scalar_load_latency, &[1, 2, 30]);
    set(Param::scalar_load, &[1, 9]);
    set(Param::transcendental_latency, &[1, 12]);
    set(Param::any_latency, &[1, 20]);
    builder.build().expect("legal")
}

impl Writer {
    fn below(&mut self, n: u32) -> u32 {
        self.rng.below(n as usize) as u32
    }

    fn free_token(&mut self) -> Option<u8> {
        let first = self.below(16) as u8;
        let used = |t: &u8| self.live.iter().any(|l| l.0 == *t) || self.rings.iter().any(|r| r.token == *t);
        (0..16).map(|i| (first + i) % 16).find(|t| !used(t))
    }

    /// A walk in the token's own 2 kB of on-chip memory.
    fn walk(&mut self, engine: Engine, t: u8) -> (FlowDesc, u32) {
        let spec = self.script.target.spec().clone();
        let elem = *self.rng.pick(&[1, 2, 4]);
        let desc = FlowDesc::default()
            .ocm(t as u32 * 2048 + self.below(8) * 4)
            .elem(elem)
            .width(1 + self.below(20))
            .height(1 + self.below(12))
            .row_pitch(20 * elem + self.below(4))
            .x0(self.below(30) as i32 - 10)
            .y0(self.below(30) as i32 - 10)
            .rows(1 + self.below(spec.rows))
            .cols(1 + self.below(spec.cols))
            .halo(if engine == Engine::FlowIn { self.below(3) } else { 0 })
            .col_step(if self.below(3) == 0 { 1 + self.below(3) } else { 1 })
            .row_step(1 + self.below(2));
        let (n0, n1) = (1 + self.below(3), 1 + self.below(3));
        let desc = desc.n0(n0).dx0(self.below(9) as i32 - 3).n1(n1).dy1(self.below(9) as i32 - 3);
        (desc.lrm(t as u32 * 32).lrm_step(0), n0 * n1)
    }

    /// Whether a flow of the direction may start: not more behind a ring than the queue takes without the program.
    fn may_flow(&self, engine: Engine) -> bool {
        let queue = self.script.target.spec().timing.flow_queue;
        self.rings.iter().all(|r| r.engine != engine || r.behind + 1 < queue)
    }

    fn started(&mut self, engine: Engine) {
        self.rings.iter_mut().filter(|r| r.engine == engine).for_each(|r| r.behind += 1);
    }

    /// Whether waiting for a flow waits for a ring.
    fn blocked(&self, engine: Engine) -> bool {
        self.rings.iter().any(|r| r.engine == engine)
    }

    fn item(&mut self) {
        let n = self.rng.bits() as u32;
        match self.below(24) {
            0..=3 => self.script.simple(n),
            4 => {
                let (load, reg) = (self.below(2) == 0, self.below(3));
                if load { self.script.load_scalar(20 + reg) } else { self.script.any(24 + reg) }
            }
            5 | 6 => {
                let reg = 20 + self.below(7);
                self.script.use_scalar(reg, n);
            }
            7 => {
                let at = 700 + 4 * self.below(4);
                self.script.exp(at);
            }
            8 => {
                let at = 700 + 4 * self.below(4);
                self.script.use_word(at, n);
            }
            9..=11 => {
                let engine = *self.rng.pick(&[Engine::FlowIn, Engine::FlowOut]);
                if let (true, Some(t)) = (self.may_flow(engine), self.free_token()) {
                    let (desc, tiles) = self.walk(engine, t);
                    self.script.flow(engine, t, &desc);
                    self.live.push((t, engine, tiles));
                    self.started(engine);
                }
            }
            12 => self.start_ring(),
            13 | 14 => self.turn_ring(),
            15 => {
                let engine = *self.rng.pick(&[Engine::DmaIn, Engine::DmaOut]);
                if let Some(t) = self.free_token() {
                    let (bytes, rows) = (1 + self.below(500), 1 + self.below(3));
                    let (at, ext) = (t as u32 * 2048, if engine == Engine::DmaIn { 0 } else { 2048 + 128 * t as u32 });
                    let bytes = if engine == Engine::DmaIn { bytes } else { bytes.min(40) };
                    let desc = DmaDesc::default()
                        .ocm(at)
                        .row_pitch(600)
                        .n0(rows)
                        .ext(ext)
                        .bytes(bytes)
                        .ext_pitch(if engine == Engine::DmaIn { 0 } else { bytes });
                    self.script.dma(engine, t, &desc);
                    self.live.push((t, engine, 1));
                }
            }
            16 if !self.live.iter().any(|l| l.1 == Engine::Rau) => {
                if let Some(t) = self.free_token() {
                    self.script.rau(t, n.is_multiple_of(2));
                    self.live.push((t, Engine::Rau, 1));
                }
            }
            17 => self.start_stream(),
            18..=20 => self.take(),
            21 => {
                if !self.live.is_empty() {
                    let at = self.below(self.live.len() as u32) as usize;
                    self.finish(at);
                }
            }
            22 => {
                if !self.live.is_empty() {
                    let at = self.below(self.live.len() as u32) as usize;
                    let (t, engine, tiles) = self.live[at];
                    if matches!(engine, Engine::FlowIn | Engine::FlowOut) && !self.blocked(engine) {
                        let n = self.below(tiles);
                        self.script.wait(t, Some(n), false);
                    }
                }
            }
            _ => self.drain(),
        }
    }

    fn start_ring(&mut self) {
        let engine = *self.rng.pick(&[Engine::FlowIn, Engine::FlowOut]);
        // One ring a direction, and nothing in front of it that cannot end.
        let (false, Some(t)) = (self.blocked(engine), self.free_token()) else { return };
        let (desc, tiles) = self.walk(engine, t);
        let (ring, group) = (1 + self.below(3), 1 + self.below(2));
        let desc = desc.lrm_step(4).group(group).ring(ring).ring_step(8);
        self.script.flow(engine, t, &desc);
        self.rings.push(Ring { token: t, engine, tiles, group, ring, waited: 0, given: 0, behind: 0 });
    }

    /// One step of a ring: a wait, a release or a push.
    fn turn_ring(&mut self) {
        if self.rings.is_empty() {
            return;
        }
        let at = self.below(self.rings.len() as u32) as usize;
        let (choice, ring) = (self.rng.bits() & 1 == 0, &mut self.rings[at]);
        let (t, n, inward) = (ring.token, ring.buffers(), ring.engine == Engine::FlowIn);
        let tiles = |buffers: u32| (buffers * ring.group).min(ring.tiles);
        if inward {
            let may_wait = ring.waited < n && ring.waited < ring.given + ring.ring;
            if may_wait && (choice || ring.given == ring.waited) {
                self.script.wait(t, Some(tiles(ring.waited + 1)), false);
                ring.waited += 1;
            } else {
                self.script.release(t, ring.given + ring.ring < n);
                ring.given += 1;
            }
        } else {
            let may_push = ring.given < n && ring.given < ring.waited + ring.ring;
            if may_push && (choice || ring.given == ring.waited) {
                self.script.push(t);
                ring.given += 1;
            } else {
                let frees = ring.waited + 1 == n;
                self.script.wait(t, Some(tiles(ring.waited + 1)), frees);
                ring.waited += 1;
            }
        }
        if ring.waited == n && ring.given == n {
            let ring = self.rings.swap_remove(at);
            if inward {
                // Its last release freed the token; the model learns it from the next instruction.
                self.script.steps.last_mut().expect("just written").effect = ticks::Effect::Free(vec![ring.token]);
            }
        }
    }

    /// How many of the streams are in the queue, or will be without the program's help.
    fn reachable(&self) -> usize {
        let depth = self.script.target.spec().timing.broadcast_queue;
        let mut sum = 0;
        self.streams
            .iter()
            .take_while(|(_, left)| {
                sum += left;
                sum <= depth
            })
            .count()
    }

    fn start_stream(&mut self) {
        let stuck = self.streams.len() - self.reachable();
        if stuck >= self.script.target.spec().timing.broadcast_streams as usize {
            return;
        }
        if let Some(t) = self.free_token() {
            let (n0, n1) = (1 + self.below(6), 1 + self.below(3));
            self.script.stream(t, n0, n1);
            self.streams.push((t, n0 * n1));
            self.live.push((t, Engine::Broadcast, 1));
        }
    }

    fn left(&self) -> u32 {
        self.streams.iter().map(|(_, left)| left).sum()
    }

    fn took(&mut self, entries: u32) {
        for _ in 0..entries {
            self.streams.iter_mut().find(|(_, left)| *left > 0).expect("counted before").1 -= 1;
        }
    }

    fn take(&mut self) {
        let left = self.left();
        if left == 0 {
            return;
        }
        match self.below(5) {
            0 | 1 if self.words == 0 => {
                let wide = left > 1 && self.below(2) == 0;
                self.script.mac(wide);
                self.took(1 + wide as u32);
            }
            2 => self.script.read_word(false),
            _ => {
                self.script.read_word(true);
                self.words = (self.words + 1) % 4;
                if self.words == 0 {
                    self.took(1);
                }
            }
        }
    }

    /// Waits for a transfer unless that could never end.
    fn finish(&mut self, at: usize) {
        let (t, engine, _) = self.live[at];
        let stream = self.streams.iter().position(|(token, _)| *token == t);
        if self.blocked(engine) || stream.is_some_and(|i| i >= self.reachable()) {
            return;
        }
        self.script.wait(t, None, true);
        self.live.remove(at);
        self.forget();
    }

    /// Streams that are taken and retired are gone.
    fn forget(&mut self) {
        let live = &self.live;
        // A retired stream with entries left keeps its place in the queue, under no token.
        self.streams.retain_mut(|(token, left)| {
            if !live.iter().any(|l| l.0 == *token) {
                *token = u8::MAX;
            }
            *token != u8::MAX || *left > 0
        });
    }

    fn drain(&mut self) {
        let engines: Vec<Engine> = Engine::ALL.into_iter().filter(|_| self.rng.once_in(2)).collect();
        let stuck = self.reachable() < self.streams.len();
        let bad = |e: &Engine| self.blocked(*e) || (*e == Engine::Broadcast && stuck);
        if engines.is_empty() || engines.iter().any(bad) {
            return;
        }
        let tokens = self.live.iter().filter(|l| engines.contains(&l.1)).map(|l| l.0).collect();
        self.script.drain(&engines, tokens);
        self.live.retain(|l| !engines.contains(&l.1));
        self.forget();
    }
}

/// Compares one program; what it was charged.
fn check(seed: u64) -> ticks::Charges {
    let mut rng = Rng::new(seed);
    let target = target(&mut rng);
    let script = Script::new(&target);
    let mut w = Writer { rng, script, live: vec![], rings: vec![], streams: vec![], words: 0 };
    w.script.p.s_mov(s(31), 0);
    w.script.step(iss::isa::Class::Compute, Param::scalar, vec![], ticks::Effect::Nothing);
    for _ in 0..60 {
        w.item();
    }
    while !w.rings.is_empty() {
        w.turn_ring();
    }
    while w.left() > 0 {
        w.take();
    }
    if w.rng.once_in(2) {
        let tokens = w.live.iter().map(|l| l.0).collect();
        w.script.drain(&Engine::ALL, tokens);
        w.live.clear();
    }
    while !w.live.is_empty() {
        w.finish(0);
    }
    let (found, steps) = w.script.charges();
    let expected = ticks::run(&target.spec().timing, &steps);
    assert_eq!(found, expected, "seed {seed} on {target}");
    found
}

#[test]
fn random_scripts_cost_what_the_tick_model_says() {
    let (mut cycles, mut causes) = (0, BTreeMap::new());
    let seeds = seeds(3000);
    for seed in &seeds {
        let caught = std::panic::catch_unwind(|| check(*seed));
        let charges = caught.unwrap_or_else(|_| panic!("seed {seed}"));
        cycles += charges.cycles;
        charges.stalls.iter().for_each(|((_, cause), n)| *causes.entry(*cause).or_insert(0) += n);
    }
    eprintln!("{} scripts, {cycles} cycles, stalls {causes:?}", seeds.len());
    assert!(seeds.len() < 100 || causes.len() == StallCause::ALL.len(), "every cause of a stall is met: {causes:?}");
}
