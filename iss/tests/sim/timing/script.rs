//! A program and its script for the tick model, written together.

use iss::builder::{BroadcastDesc, DmaDesc, Emit, FlowDesc, Program, RauDesc, Value, acc, b, imm, s, w};
use iss::isa::Class;
use iss::isa::operand::*;
use iss::profile::StallCause;
use iss::sim::Simulator;
use iss::target::{Param, Target};

use super::ticks::{Charges, Effect, Need, Step};

pub struct Script {
    pub p: Program,
    pub steps: Vec<Step>,
    pub target: Target,
}

/// Numbers of late values: scalar registers, then words of local memory by address.
fn word_id(at: u32) -> usize {
    100 + at as usize
}

pub fn token(n: u8) -> Token {
    Token::new(n as i64).expect("a token")
}

fn register(t: u8) -> DReg {
    DReg::new(t as i64 % 8).expect("a descriptor")
}

impl Script {
    pub fn new(target: &Target) -> Self {
        let mut p = Program::new(target);
        p.constant(&[1; 4096]);
        p.entry("main");
        Self { p, steps: Vec::new(), target: target.clone() }
    }

    fn cost(&self, param: Param) -> u64 {
        self.target.cycles(param) as u64
    }

    pub fn step(&mut self, class: Class, param: Param, needs: Vec<Need>, effect: Effect) {
        let cost = self.cost(param);
        self.steps.push(Step { needs, class, cost, effect });
    }

    fn plain(&mut self, class: Class, param: Param) {
        self.step(class, param, vec![], Effect::Nothing);
    }

    fn latency(at: u32) -> Need {
        Need::Value(word_id(at), Class::Compute, StallCause::Latency)
    }

    // ---- issue ----

    /// One instruction without operands that are late.
    pub fn simple(&mut self, n: u32) {
        match n % 9 {
            0 => {
                self.p.add(acc(1), acc(2), imm(1));
                self.plain(Class::Compute, Param::alu);
            }
            1 => {
                self.p.fx_mul(acc(1), acc(2), imm(3), 4);
                self.plain(Class::Compute, Param::fx_mul);
            }
            2 => {
                self.p.send(Dirs::ALL, acc(1));
                self.plain(Class::DataArray, Param::hop);
            }
            3 => {
                self.p.p_enable();
                self.plain(Class::Predication, Param::predicate);
            }
            4 => {
                self.p.nop();
                self.plain(Class::Compute, Param::idle);
            }
            5 => {
                self.p.fx_div(acc(3), acc(2), imm(7), Frac::new(4).expect("legal"));
                self.plain(Class::Compute, Param::fx_div);
            }
            6 => {
                let q = Frac::new(4).expect("legal");
                self.p.exp_iter(acc(3), imm(2), q, q);
                self.plain(Class::Compute, Param::exp_iter);
            }
            7 => {
                self.p.probe("p", acc(1));
                self.plain(Class::Compute, Param::marker);
            }
            _ => {
                self.p.cmp(Cond::Lt, acc(1), imm(0));
                self.plain(Class::Compute, Param::alu);
            }
        }
    }

    pub fn load_scalar(&mut self, reg: u32) {
        self.p.s_load(s(reg), s(31), 0x8000);
        let needs = vec![Need::Value(31, Class::DataOcm, StallCause::Scalar), self.scalar_need(reg)];
        let after = self.cost(Param::scalar_load_latency);
        self.step(Class::DataOcm, Param::scalar_load, needs, Effect::Arrives(reg as usize, after, false));
    }

    fn scalar_need(&self, reg: u32) -> Need {
        // Registers below 24 are loaded, those above tested.
        let class = if reg < 24 { Class::DataOcm } else { Class::Predication };
        Need::Value(reg as usize, class, StallCause::Scalar)
    }

    pub fn any(&mut self, reg: u32) {
        self.p.p_any(s(reg));
        let (needs, after) = (vec![self.scalar_need(reg)], self.cost(Param::any_latency));
        self.step(Class::Predication, Param::any, needs, Effect::Arrives(reg as usize, after, false));
    }

    /// Reads a scalar in the scalar or the array ALU, or writes over it.
    pub fn use_scalar(&mut self, reg: u32, how: u32) {
        let needs = vec![self.scalar_need(reg)];
        match how % 3 {
            0 => {
                self.p.s_add(s(30), s(reg), 1);
                self.step(Class::Compute, Param::scalar, needs, Effect::Nothing);
            }
            1 => {
                self.p.add(acc(4), acc(5), s(reg));
                self.step(Class::Compute, Param::alu, needs, Effect::Nothing);
            }
            _ => {
                self.p.s_mov(s(reg), 5);
                self.step(Class::Compute, Param::scalar, needs, Effect::Nothing);
            }
        }
    }

    pub fn exp(&mut self, at: u32) {
        let q = Frac::new(4).expect("legal");
        self.p.exp(w(at), imm(1), q, q);
        let after = self.cost(Param::transcendental_latency);
        self.step(
            Class::Compute,
            Param::transcendental,
            vec![Self::latency(at)],
            Effect::Arrives(word_id(at), after, true),
        );
    }

    /// Reads or writes a word, or a byte of it, or looks up in a table that begins there.
    pub fn use_word(&mut self, at: u32, how: u32) {
        match how % 4 {
            0 => self.p.add(acc(1), w(at), imm(1)),
            1 => self.p.mov(b(at + 1), imm(3)),
            2 => self.p.set(Cond::Eq, acc(3), b(at + 2), imm(3)),
            _ => self.p.lut(acc(2), imm(0), b(at + 3), 0),
        };
        self.step(Class::Compute, Param::alu, vec![Self::latency(at)], Effect::Nothing);
    }

    // ---- broadcast ----

    pub fn stream(&mut self, t: u8, n0: u32, n1: u32) {
        let before = self.p.pc();
        self.p.broadcast(register(t), &BroadcastDesc::default().ocm(0x9000).n0(n0).n1(n1));
        self.descriptor_steps(before);
        self.p.bcast(register(t), token(t));
        let needs = vec![Need::Room(Engine::Broadcast)];
        self.step(Class::DataOcm, Param::engine_start, needs, Effect::Stream(t, (n0 * n1) as u64));
    }

    /// A MAC, of 1 or 2 entries.
    pub fn mac(&mut self, wide: bool) {
        let (at, acc) = (Lrm::word(512).expect("aligned"), Acc::new(0).expect("legal"));
        if wide {
            self.p.mac16(MacShape::Dot, acc, at);
            self.step(Class::Mac, Param::mac16, vec![Need::Entry, Need::Entry], Effect::Nothing);
        } else {
            self.p.mac8(MacShape::Dot, acc, at);
            self.step(Class::Mac, Param::mac8, vec![Need::Entry], Effect::Nothing);
        }
    }

    pub fn read_word(&mut self, pop: bool) {
        let read = if pop { Src::BROADCAST } else { Src::parse("bc.b1").expect("a lane") };
        self.p.mov(acc(7), read);
        self.step(Class::Compute, Param::alu, vec![Need::Word(pop)], Effect::Nothing);
    }

    // ---- transfers ----

    /// The steps of the instructions that set a descriptor, emitted since `before`.
    fn descriptor_steps(&mut self, before: u32) {
        (before..self.p.pc()).for_each(|_| self.plain(Class::Compute, Param::scalar));
    }

    pub fn flow(&mut self, engine: Engine, t: u8, desc: &FlowDesc) {
        let before = self.p.pc();
        self.p.flow(register(t), desc);
        self.descriptor_steps(before);
        let d = register(t);
        match engine {
            Engine::FlowIn => self.p.flow_in(d, token(t)),
            _ => self.p.flow_out(d, token(t)),
        };
        let tiles = tile_cycles(&self.target, desc);
        let ring = number(desc.ring) as usize;
        let group = if ring == 0 { tiles.len() } else { number(desc.group) as usize };
        let effect = Effect::Flow { engine, token: t, tiles, group, ring };
        self.step(Class::DataOcm, Param::engine_start, vec![Need::Room(engine), Need::Late], effect);
    }

    pub fn dma(&mut self, engine: Engine, t: u8, desc: &DmaDesc) {
        let before = self.p.pc();
        self.p.dma(register(t), desc);
        self.descriptor_steps(before);
        let d = register(t);
        let (spec, timing) = (self.target.spec(), self.target.spec().timing);
        let burst = timing.dma_burst as u64;
        let bytes = (number(desc.bytes) as u64).div_ceil(burst) * burst * number(desc.n0).max(1) as u64;
        let mb_s = if engine == Engine::DmaIn { spec.ext_read_mb_s } else { spec.ext_write_mb_s };
        let cycles = (bytes as f64 * spec.clock_mhz as f64 / mb_s as f64).ceil() as u64;
        match engine {
            Engine::DmaIn => self.p.dma_in(d, token(t)),
            _ => self.p.dma_out(d, token(t)),
        };
        let effect = Effect::Busy(engine, t, cycles);
        self.step(Class::DataExternal, Param::engine_start, vec![Need::Room(engine)], effect);
    }

    /// A random load by the column: each row has as many addresses as there are columns, or one.
    pub fn rau(&mut self, t: u8, distinct: bool) {
        let (spec, timing) = (self.target.spec().clone(), self.target.spec().timing);
        if distinct {
            self.p.mov(w(600), Src::QCol);
        } else {
            self.p.mov(w(600), imm(1));
        }
        self.plain(Class::Compute, Param::alu);
        let before = self.p.pc();
        self.p.rau(register(t), &RauDesc::default().ocm(0xa000).elem(4).lrm(600).data(604).limit(64));
        self.descriptor_steps(before);
        self.p.rau_load(register(t), token(t));
        let accesses = if distinct || timing.rau_merges == 0 { spec.cols } else { 1 };
        let row = timing.rau_row + accesses.div_ceil(timing.rau_accesses);
        let cycles = (spec.rows * row + timing.rau_tail) as u64;
        let effect = Effect::Busy(Engine::Rau, t, cycles);
        self.step(Class::DataOcm, Param::engine_start, vec![Need::Late], effect);
    }

    /// Waits; `tiles` counts those of a flow.
    pub fn wait(&mut self, t: u8, tiles: Option<u32>, frees: bool) {
        self.p.wait(token(t), tiles.map_or(Tiles::All, Tiles::Count));
        let effect = if frees { Effect::Free(vec![t]) } else { Effect::Nothing };
        self.step(Class::DataOcm, Param::engine_sync, vec![Need::Done(t, tiles.unwrap_or(u32::MAX))], effect);
    }

    pub fn release(&mut self, t: u8, grants: bool) {
        self.p.release(token(t));
        let effect = if grants { Effect::Grant(t) } else { Effect::Nothing };
        self.step(Class::DataOcm, Param::engine_sync, vec![], effect);
    }

    pub fn push(&mut self, t: u8) {
        self.p.push(token(t));
        self.step(Class::DataOcm, Param::engine_sync, vec![Need::Late], Effect::Grant(t));
    }

    pub fn drain(&mut self, engines: &[Engine], tokens: Vec<u8>) {
        let set = engines[1..].iter().fold(Engines::one(engines[0]), |set, engine| set.with(*engine));
        self.p.drain(set);
        self.step(Class::DataOcm, Param::engine_sync, vec![Need::Drained(engines.to_vec())], Effect::Free(tokens));
    }

    /// Runs the program on the simulator; what it was charged.
    pub fn charges(mut self) -> (Charges, Vec<Step>) {
        self.p.halt();
        self.plain(Class::Compute, Param::idle);
        let image = self.p.finish().expect("a legal program");
        let (sim, stopped) = crate::harness::run_image(&image, iss::sim::Options::default());
        assert_eq!(stopped, iss::sim::Stopped::Halt, "{stopped:?}");
        (charged(&sim), self.steps)
    }
}

/// What a run was charged.
pub fn charged(sim: &Simulator) -> Charges {
    let profile = sim.profile().expect("started");
    let mut charges = Charges { cycles: profile.cycles, ..Charges::default() };
    for (class, used) in &profile.root.inclusive.classes {
        if used.instructions > 0 {
            charges.issued.insert(*class, used.issue_cycles);
        }
        charges.stalls.extend(used.stalls.iter().map(|(cause, n)| ((*class, *cause), *n)));
    }
    charges
}

fn number(value: Value) -> i64 {
    match value {
        Value::Imm(n) => n,
        Value::Reg(_) => panic!("scripts set numbers"),
    }
}

/// Cycles of each tile of a flow by counting beats, row by row.
fn tile_cycles(target: &Target, d: &FlowDesc) -> Vec<u64> {
    let timing = target.spec().timing;
    let n = [d.n0, d.n1, d.n2, d.n3].map(number);
    let mut tiles = Vec::new();
    for k in 0..n.iter().product::<i64>() {
        let i = [k % n[0], k / n[0] % n[1], k / n[0] / n[1] % n[2], k / n[0] / n[1] / n[2]];
        let sum = |by: [Value; 4]| i.iter().zip(by).map(|(i, by)| i * number(by)).sum::<i64>();
        let (x, y) =
            (number(d.x0) + sum([d.dx0, d.dx1, d.dx2, d.dx3]), number(d.y0) + sum([d.dy0, d.dy1, d.dy2, d.dy3]));
        let plane = number(d.ocm) + sum([d.dp0, d.dp1, d.dp2, d.dp3]) * number(d.plane_pitch);
        let mut cycles = 0;
        for r in 0..number(d.rows) {
            let y = y + r * number(d.row_step);
            let columns = (-number(d.halo)..number(d.cols) + number(d.halo)).map(|c| x + c * number(d.col_step));
            let inside = columns.clone().filter(|x| (0..number(d.width)).contains(x));
            let bytes: Vec<i64> = inside
                .flat_map(|x| (0..number(d.elem)).map(move |byte| x * number(d.elem) + byte))
                .map(|byte| plane + y * number(d.row_pitch) + byte)
                .collect();
            if bytes.is_empty() || !(0..number(d.height)).contains(&y) {
                continue;
            }
            cycles += if number(d.col_step) > 1 && timing.flow_strided > 0 {
                (columns.count() as u64).div_ceil(timing.flow_strided as u64)
            } else {
                let beat = timing.flow_beat as i64;
                (bytes[bytes.len() - 1] / beat - bytes[0] / beat + 1) as u64
            };
        }
        tiles.push(cycles);
    }
    tiles
}
