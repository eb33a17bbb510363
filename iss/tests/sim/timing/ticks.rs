//! Issue, flows, broadcast queue, RAU and DMA, one cycle after the other. The simulator computes when things happen; here
//! they happen.

use std::collections::BTreeMap;

use iss::isa::Class;
use iss::isa::operand::Engine;
use iss::profile::StallCause;
use iss::target::Timing;

/// What an instruction waits for before it issues, one after the other.
#[derive(Clone, Debug)]
pub enum Need {
    /// A value that may be late: its number, and what a wait for it is charged to.
    Value(usize, Class, StallCause),
    /// Every late value of the array.
    Late,
    /// The head entry of the queue; takes it.
    Entry,
    /// The head word; takes it if told to.
    Word(bool),
    /// Room for another flow of the direction, another stream, another DMA.
    Room(Engine),
    /// Tiles of a transfer done.
    Done(u8, u32),
    /// Everything of these engines done.
    Drained(Vec<Engine>),
}

/// What it does when it issues.
#[derive(Clone, Debug)]
pub enum Effect {
    Nothing,
    /// A value arrives so many cycles after the issue; whether it is the array's.
    Arrives(usize, u64, bool),
    /// Cycles of each tile, tiles of a buffer, buffers of the ring or 0.
    Flow {
        engine: Engine,
        token: u8,
        tiles: Vec<u64>,
        group: usize,
        ring: usize,
    },
    /// Entries.
    Stream(u8, u64),
    /// Cycles on the bus, or of the access.
    Busy(Engine, u8, u64),
    /// A buffer of a ring is the engine's again.
    Grant(u8),
    /// A token is free.
    Free(Vec<u8>),
}

#[derive(Clone, Debug)]
pub struct Step {
    pub needs: Vec<Need>,
    pub class: Class,
    pub cost: u64,
    pub effect: Effect,
}

#[derive(Debug)]
struct Flow {
    token: u8,
    engine: Engine,
    tiles: Vec<u64>,
    group: usize,
    issued: u64,
    /// Cycle from which each granted buffer is the engine's.
    grants: Vec<u64>,
    /// Cycles of start-up left, once the engine has turned to it.
    startup: Option<u64>,
    done: usize,
    /// Beats of the current tile moved, whether a dead cycle is due.
    moved: u64,
    dead: bool,
    finished: Option<u64>,
}

#[derive(Debug)]
struct Stream {
    token: u8,
    issued: u64,
    left: u64,
    first: bool,
    finished: Option<u64>,
}

#[derive(Debug)]
struct Busy {
    engine: Engine,
    token: u8,
    issued: u64,
    latency: u64,
    left: u64,
    finished: Option<u64>,
}

/// Where the cycles went: by class issue, and stalls by class and cause.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Charges {
    pub cycles: u64,
    pub issued: BTreeMap<Class, u64>,
    pub stalls: BTreeMap<(Class, StallCause), u64>,
}

struct Machine<'a> {
    timing: &'a Timing,
    flows: Vec<Flow>,
    /// Beats of the inbound and of the outbound engine.
    beats: [u64; 2],
    streams: Vec<Stream>,
    busy: Vec<Busy>,
    /// Entries in the queue, words taken of the first, cycle of the last entry.
    queued: u64,
    words: u32,
    entered: Option<u64>,
    values: BTreeMap<usize, (u64, bool)>,
}

fn charge_of(engine: Engine) -> (Class, StallCause) {
    match engine {
        Engine::FlowIn => (Class::DataOcm, StallCause::Load),
        Engine::FlowOut => (Class::DataOcm, StallCause::Store),
        Engine::Broadcast => (Class::DataOcm, StallCause::Broadcast),
        Engine::Rau => (Class::DataOcm, StallCause::Rau),
        Engine::DmaIn => (Class::DataExternal, StallCause::DmaRead),
        Engine::DmaOut => (Class::DataExternal, StallCause::DmaWrite),
    }
}

/// Runs a script to its end.
pub fn run(timing: &Timing, script: &[Step]) -> Charges {
    let mut m = Machine {
        timing,
        flows: vec![],
        beats: [0; 2],
        streams: vec![],
        busy: vec![],
        queued: 0,
        words: 0,
        entered: None,
        values: BTreeMap::new(),
    };
    let mut charges = Charges::default();
    let (mut at, mut need, mut free, mut drained) = (0, 0, 0, 0);
    for t in 0.. {
        assert!(t < 3_000_000, "the script ends; at step {at}: {:?}", script.get(at));
        m.settle(t);
        while at < script.len() && t >= free {
            let step = &script[at];
            while need < step.needs.len() && m.met(&step.needs[need], t) {
                if let (Need::Drained(engines), true) = (&step.needs[need], drained > 0) {
                    *charges.stalls.entry(m.last(engines)).or_default() += drained;
                    drained = 0;
                }
                need += 1;
            }
            if let Some(unmet) = step.needs.get(need) {
                match m.charge(unmet) {
                    Some(charge) => *charges.stalls.entry(charge).or_default() += 1,
                    None => drained += 1,
                }
                break;
            }
            *charges.issued.entry(step.class).or_default() += step.cost;
            free = t + step.cost;
            m.apply(&step.effect, t, free);
            (at, need) = (at + 1, 0);
        }
        if at == script.len() && t >= free {
            charges.cycles = t;
            return charges;
        }
        m.work(t);
    }
    unreachable!("the loop returns")
}

impl Machine<'_> {
    /// What has happened by the beginning of cycle `t` without taking time.
    fn settle(&mut self, t: u64) {
        for engine in [Engine::FlowIn, Engine::FlowOut] {
            while let Some(flow) = self.flows.iter_mut().find(|f| f.engine == engine && f.finished.is_none()) {
                if flow.issued > t {
                    break;
                }
                let startup = *flow.startup.get_or_insert(self.timing.flow_start as u64);
                let granted = flow.grants.get(flow.done / flow.group).is_some_and(|at| *at <= t);
                if startup > 0 || !granted || flow.tiles[flow.done] > 0 {
                    break;
                }
                flow.done += 1;
                if flow.done == flow.tiles.len() {
                    flow.finished = Some(t);
                }
            }
        }
        // One entry a cycle enters the queue.
        let before = self.entered;
        if let Some(stream) = self.streams.iter_mut().find(|s| s.left > 0) {
            let turned = stream.issued.max(if stream.first { before.unwrap_or(0) } else { 0 });
            let started = !stream.first || t >= turned + self.timing.broadcast_start as u64;
            let next = before.is_none_or(|at| t > at);
            if t >= stream.issued && started && next && self.queued < self.timing.broadcast_queue as u64 {
                self.queued += 1;
                self.entered = Some(t);
                (stream.first, stream.left) = (false, stream.left - 1);
                if stream.left == 0 {
                    stream.finished = Some(t);
                }
            }
        }
    }

    /// What the engines do during cycle `t`.
    fn work(&mut self, t: u64) {
        for engine in [Engine::FlowIn, Engine::FlowOut] {
            let Some(flow) = self.flows.iter_mut().find(|f| f.engine == engine && f.finished.is_none()) else {
                continue;
            };
            match &mut flow.startup {
                None => continue,
                Some(0) => {}
                Some(left) => {
                    *left -= 1;
                    continue;
                }
            }
            if flow.dead {
                flow.dead = false;
            } else if flow.grants.get(flow.done / flow.group).is_some_and(|at| *at <= t) {
                flow.moved += 1;
                let beats = &mut self.beats[(engine == Engine::FlowOut) as usize];
                *beats += 1;
                let every = self.timing.flow_dead_cycle_in as u64;
                flow.dead = every > 1 && beats.is_multiple_of(every - 1);
            } else {
                continue;
            }
            if flow.moved == flow.tiles[flow.done] && !flow.dead {
                (flow.done, flow.moved) = (flow.done + 1, 0);
                if flow.done == flow.tiles.len() {
                    flow.finished = Some(t + 1);
                }
            }
        }
        for engine in [Engine::Rau, Engine::DmaIn, Engine::DmaOut] {
            let mut served = false;
            for one in self.busy.iter_mut().filter(|b| b.engine == engine && b.finished.is_none() && b.issued <= t) {
                if one.latency > 0 {
                    one.latency -= 1;
                    // A transfer behind this one waits for it anyway.
                    served = true;
                } else if !served {
                    served = true;
                    one.left -= 1;
                    if one.left == 0 {
                        one.finished = Some(t + 1);
                    }
                }
            }
        }
    }

    fn met(&mut self, need: &Need, t: u64) -> bool {
        match need {
            Need::Value(id, ..) => self.values.get(id).is_none_or(|(at, _)| *at <= t),
            Need::Late => self.values.values().all(|(at, array)| !array || *at <= t),
            Need::Entry => {
                assert_eq!(self.words, 0, "a MAC takes whole entries");
                let there = self.queued > 0;
                self.queued -= there as u64;
                there
            }
            Need::Word(pop) => {
                let there = self.queued > 0;
                if there && *pop {
                    self.words = (self.words + 1) % 4;
                    self.queued -= (self.words == 0) as u64;
                }
                there
            }
            Need::Room(engine @ (Engine::FlowIn | Engine::FlowOut)) => {
                let n = self.flows.iter().filter(|f| f.engine == *engine && f.finished.is_none()).count();
                n < self.timing.flow_queue as usize
            }
            Need::Room(Engine::Broadcast) => {
                self.streams.iter().filter(|s| s.left > 0).count() < self.timing.broadcast_streams as usize
            }
            Need::Room(engine) => {
                let n = self.busy.iter().filter(|b| b.engine == *engine && b.finished.is_none()).count();
                n < self.timing.dma_queue as usize
            }
            Need::Done(token, tiles) => {
                let flow = self.flows.iter().find(|f| f.token == *token);
                let (_, finished) =
                    self.transfers().find(|(_, t, _)| t == token).map(|(e, _, f)| (e, f)).expect("live");
                flow.map_or(finished.is_some(), |f| f.done >= (*tiles as usize).min(f.tiles.len()))
            }
            Need::Drained(engines) => {
                self.transfers().all(|(engine, _, finished)| !engines.contains(&engine) || finished.is_some())
            }
        }
    }

    /// Every transfer with a token: engine, token, when it was done.
    fn transfers(&self) -> impl Iterator<Item = (Engine, u8, Option<u64>)> {
        let flows = self.flows.iter().map(|f| (f.engine, f.token, f.finished));
        let streams = self.streams.iter().map(|s| (Engine::Broadcast, s.token, s.finished));
        let busy = self.busy.iter().map(|b| (b.engine, b.token, b.finished));
        flows.chain(streams).chain(busy).filter(|(_, token, _)| *token != FREE)
    }

    /// The engine, of some, that was done last; of several at once the one with the lowest token.
    fn last(&self, engines: &[Engine]) -> (Class, StallCause) {
        let of = self.transfers().filter(|(engine, ..)| engines.contains(engine));
        let (engine, ..) =
            of.max_by_key(|(_, token, at)| (*at, std::cmp::Reverse(*token))).expect("something was waited for");
        charge_of(engine)
    }

    /// What a cycle of waiting is charged to; a drain's is not known yet.
    fn charge(&self, need: &Need) -> Option<(Class, StallCause)> {
        Some(match need {
            Need::Value(_, class, cause) => (*class, *cause),
            Need::Late => (Class::Compute, StallCause::Latency),
            Need::Entry | Need::Word(_) => charge_of(Engine::Broadcast),
            Need::Room(engine) => charge_of(*engine),
            Need::Done(token, _) => charge_of(self.transfers().find(|(_, t, _)| t == token).expect("live").0),
            Need::Drained(_) => return None,
        })
    }

    /// An instruction that began to issue at `t` has issued at `issued`.
    fn apply(&mut self, effect: &Effect, t: u64, issued: u64) {
        match effect.clone() {
            Effect::Nothing => {}
            Effect::Arrives(id, after, array) => drop(self.values.insert(id, (t + after, array))),
            Effect::Flow { engine, token, tiles, group, ring } => {
                let buffers = tiles.len().div_ceil(group);
                let granted = match (ring, engine) {
                    (0, _) => buffers,
                    (_, Engine::FlowIn) => ring.min(buffers),
                    _ => 0,
                };
                let grants = vec![issued; granted];
                let (startup, done, moved, dead, finished) = (None, 0, 0, false, None);
                let flow = Flow { token, engine, tiles, group, issued, grants, startup, done, moved, dead, finished };
                self.flows.push(flow);
            }
            Effect::Stream(token, left) => {
                self.streams.push(Stream { token, issued, left, first: true, finished: None });
            }
            Effect::Busy(engine, token, left) => {
                let latency = if engine == Engine::Rau { 0 } else { self.timing.dma_latency as u64 };
                self.busy.push(Busy { engine, token, issued, latency, left, finished: None });
            }
            Effect::Grant(token) => {
                self.flows.iter_mut().find(|f| f.token == token).expect("live").grants.push(issued);
            }
            Effect::Free(tokens) => {
                self.flows.iter_mut().filter(|f| tokens.contains(&f.token)).for_each(|f| f.token = FREE);
                self.streams.iter_mut().filter(|s| tokens.contains(&s.token)).for_each(|s| s.token = FREE);
                self.busy.iter_mut().filter(|b| tokens.contains(&b.token)).for_each(|b| b.token = FREE);
            }
        }
    }
}

/// The token of transfers that are retired.
const FREE: u8 = u8::MAX;
