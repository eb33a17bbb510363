//! Random well-formed programs: structured control flow, balanced predicates, legal addresses, every transfer retired,
//! rings released, the broadcast queue drained. A `wild` program now and then ignores what is in flight; whether it stops
//! and where is for the reference machine to say.

mod compute;
mod transfer;

use iss::builder::{Direction, Emit, Program, s};
use iss::image::Image;
use iss::isa::operand::*;
use iss::target::Target;
use iss::testing::Rng;

/// Bytes of external memory that programs use.
pub const EXT_BYTES: u32 = 4096;
/// Local memory that subroutines use and transfers do not.
const SUBROUTINE_BYTES: u32 = 32;

/// A range of a memory that a transfer holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    start: u32,
    end: u32,
    writes: bool,
}

#[derive(Clone, Debug)]
struct Live {
    token: u8,
    engine: Engine,
    /// Tiles that a partial wait may name; 0 if it is no flow.
    tiles: u32,
    lrm: Vec<Held>,
    ocm: Vec<Held>,
    ext: Vec<Held>,
}

/// Where the generator stands.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    depth: u32,
    /// Hardware loops around.
    loops: u32,
    predicates: u32,
}

pub struct Generator {
    rng: Rng,
    p: Program,
    rows: u32,
    cols: u32,
    border: u32,
    lrm: u32,
    ocm: u32,
    wild: bool,
    live: Vec<Live>,
    /// Words of broadcast to be read, and the depth at which they may be.
    words: u32,
    words_depth: u32,
    ring_in: bool,
    ring_out: bool,
    /// Values of `s0`..`s3`, bases of local addresses.
    bases: [u32; 4],
    subroutines: Vec<iss::builder::Label>,
    /// Instructions still to be made, roughly.
    budget: i32,
}

/// A random program for a target. Its entry `main` has the buffers `ocm`, all of on-chip memory, and `ext`.
pub fn program(target: &Target, seed: u64, wild: bool) -> Image {
    let spec = target.spec();
    let mut p = Program::new(target);
    p.entry("main").ocm("ocm", Direction::InOut, spec.ocm_bytes, s(8)).ext("ext", Direction::InOut, EXT_BYTES, s(9));
    let subroutines = (0..2).map(|_| p.label()).collect();
    let mut g = Generator {
        rng: Rng::new(seed),
        p,
        rows: spec.rows,
        cols: spec.cols,
        border: spec.border,
        lrm: spec.lrm_bytes,
        ocm: spec.ocm_bytes,
        wild,
        live: Vec::new(),
        words: 0,
        words_depth: 0,
        ring_in: false,
        ring_out: false,
        bases: [0; 4],
        subroutines,
        budget: 60,
    };
    g.prologue();
    while g.budget > 0 {
        g.item(Place::default());
    }
    g.close(0, Place::default());
    g.epilogue();
    g.p.halt();
    g.emit_subroutines();
    g.p.finish().expect("the generator makes legal programs")
}

impl Generator {
    fn below(&mut self, n: u32) -> u32 {
        self.rng.below(n as usize) as u32
    }
    fn range(&mut self, lo: i32, hi: i32) -> i32 {
        lo + self.below((hi - lo + 1) as u32) as i32
    }
    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        *self.rng.pick(of)
    }

    fn prologue(&mut self) {
        for reg in 20..28 {
            let value = self.interesting();
            self.p.s_mov(s(reg), value);
        }
        self.set_bases();
        // Values that differ from PE to PE.
        for _ in 0..4 {
            let dst = self.dst();
            self.p.inst(iss::isa::Inst::FxMul {
                dst,
                a: Src::QRow,
                b: Src::QCol,
                shift: Shift::new(-9).expect("legal"),
            });
            let dst = self.dst();
            let a = self.src(true);
            self.p.inst(iss::isa::Inst::Xor { dst, a, b: Src::QCol });
        }
    }

    /// Puts what is on and the predicate bit of every PE where a comparison sees them.
    fn epilogue(&mut self) {
        let word = |at| Dst::Lrm(Lrm::word(at).expect("aligned"));
        self.p.mov(word(28), 5432).p_enable().sel(word(24), 1, 0);
    }

    fn interesting(&mut self) -> i32 {
        match self.below(4) {
            0 => self.pick(&[0, 1, -1, i32::MIN, i32::MAX, 255, 256, 65_535]),
            1 => self.range(-100, 100),
            _ => self.rng.bits() as i32,
        }
    }

    fn set_bases(&mut self) {
        for i in 0..4 {
            self.bases[i] = self.below(self.lrm / 4) * 4;
            self.p.s_mov(s(i as u32), self.bases[i]);
        }
    }

    // ---- what is in flight ----

    /// Whether an access to a range would meet a transfer; a wild program sometimes does not care.
    fn clear_of(&mut self, of: impl Fn(&Live) -> &[Held], start: u32, len: u32, writes: bool) -> bool {
        let hit = |h: &Held| start < h.end && h.start < start + len && (writes || h.writes);
        let free = !self.live.iter().any(|live| of(live).iter().any(hit));
        free || (self.wild && self.chance(3))
    }
    fn lrm_clear(&mut self, start: u32, len: u32, writes: bool) -> bool {
        self.clear_of(|l| &l.lrm, start, len, writes)
    }

    /// A place in a memory of `size` bytes that meets no transfer.
    fn find(
        &mut self,
        of: impl Fn(&Live) -> &[Held] + Copy,
        from: u32,
        size: u32,
        len: u32,
        align: u32,
        writes: bool,
    ) -> Option<u32> {
        if from + len > size {
            return None;
        }
        for _ in 0..12 {
            let at = (from + self.below(size - from - len + 1)) / align * align;
            if at >= from && self.clear_of(of, at, len, writes) {
                return Some(at);
            }
        }
        None
    }
    fn lrm_slot(&mut self, len: u32, align: u32, writes: bool) -> Option<u32> {
        self.find(|l| &l.lrm, SUBROUTINE_BYTES, self.lrm, len, align, writes)
    }
    fn ocm_range(&mut self, len: u32, align: u32, writes: bool) -> Option<u32> {
        self.find(|l| &l.ocm, 0, self.ocm, len, align, writes)
    }
    fn free_token(&mut self) -> Option<u8> {
        let first = self.below(16) as u8;
        (0..16).map(|i| (first + i) % 16).find(|t| self.live.iter().all(|l| l.token != *t))
    }

    /// Retires what was started since there were `n` transfers, and reads what is left of broadcasts started here.
    fn close(&mut self, n: usize, place: Place) {
        if self.words > 0 && self.words_depth == place.depth {
            self.drink(self.words);
        }
        if n == 0 && self.live.len() > 1 && self.chance(40) {
            if self.chance(50) {
                self.p.drain(Engines::ALL);
            } else {
                let engine = self.live[0].engine;
                self.p.drain(Engines::one(engine));
                self.live.retain(|l| l.engine != engine);
                return self.close(0, place);
            }
            self.live.clear();
        }
        while self.live.len() > n {
            let at = n + self.below((self.live.len() - n) as u32) as usize;
            self.retire(at);
        }
    }

    /// Waits for a transfer, a flow perhaps in several steps.
    fn retire(&mut self, at: usize) {
        let Live { token, tiles, .. } = self.live.remove(at);
        let t = Token::new(token as i64).expect("a token");
        if tiles > 0 && self.chance(40) {
            let n = self.below(tiles + 1);
            if self.chance(50) {
                self.p.wait(t, n);
            } else {
                self.p.s_mov(s(16), n);
                self.p.wait_s(t, s(16));
            }
            if n == tiles {
                return;
            }
        }
        if tiles > 0 && self.chance(30) {
            self.p.s_mov(s(16), tiles).wait_s(t, s(16));
        } else {
            self.p.wait(t, Tiles::All);
        }
    }

    // ---- structure ----

    fn block(&mut self, place: Place, items: u32) {
        let (n, place) = (self.live.len(), Place { depth: place.depth + 1, ..place });
        for _ in 0..items {
            self.item(place);
        }
        self.close(n, place);
        // A body of a hardware loop has at least one instruction.
        self.alu(true);
    }

    fn item(&mut self, place: Place) {
        self.budget -= 1;
        let nested = place.depth < 4 && self.budget > 0;
        match self.below(if nested { 100 } else { 62 }) {
            0..=29 => {
                let quiet = self.words == 0 || self.words_depth != place.depth;
                self.alu(quiet);
            }
            30..=36 => self.scalar_item(),
            37..=40 => self.predicate_item(place),
            41..=43 => self.send_item(),
            44..=46 => self.marker_item(),
            47..=61 => self.transfer_item(place),
            62..=65 => self.hardware_loop(place),
            66..=67 => self.software_loop(place),
            68..=72 => self.branch_item(place),
            73..=75 => self.call_item(place),
            76..=81 => self.predicated(place),
            82..=83 => {
                let n = self.range(1, 3) as u32;
                Emit::region(&mut self.p, "region");
                self.block(place, n);
                self.p.region_end();
            }
            84..=89 => self.broadcast_item(place),
            90..=92 => self.mac_loop(place),
            93..=96 => self.ring_in_item(place),
            _ => self.ring_out_item(place),
        }
        if place.depth == 0 && self.chance(3) {
            self.set_bases();
        }
        if self.live.len() > 5 && place.depth == 0 {
            let at = self.below(self.live.len() as u32) as usize;
            if self.live[at].engine != Engine::Broadcast || self.words <= 32 {
                self.retire(at);
            }
        }
    }

    fn hardware_loop(&mut self, place: Place) {
        if place.loops == 2 {
            return;
        }
        let end = self.p.label();
        let trips = self.range(0, 3);
        if self.chance(50) {
            self.p.loop_i(trips, end);
        } else {
            let odd = if trips == 0 { self.pick(&[0, -1, i32::MIN]) } else { trips };
            self.p.s_mov(s(16), odd).loop_s(s(16), end);
        }
        let n = self.range(1, 3) as u32;
        self.block(Place { loops: place.loops + 1, ..place }, n);
        self.p.bind(end);
    }

    fn software_loop(&mut self, place: Place) {
        // Its counter must not be a nested loop's.
        if place.depth > 1 {
            return;
        }
        let counter = s(28 + place.depth);
        let trips = self.range(1, 3);
        self.p.s_mov(counter, trips);
        let top = self.p.here();
        let n = self.range(1, 3) as u32;
        self.block(place, n);
        self.p.s_sub(counter, counter, 1).branch(Cond::Gt, counter, 0, top);
    }

    fn branch_item(&mut self, place: Place) {
        let cond = self.pick(Cond::ALL);
        let a = s(20 + self.below(8));
        let skip = self.p.label();
        if self.chance(50) {
            let b = s(20 + self.below(8));
            self.p.branch(cond, a, b, skip);
        } else {
            let b = self.range(-40, 40);
            self.p.branch(cond, a, b, skip);
        }
        self.block(place, 1);
        if self.chance(50) {
            let end = self.p.label();
            self.p.jump(end).bind(skip);
            self.block(place, 1);
            self.p.bind(end);
        } else {
            self.p.bind(skip);
        }
    }

    fn predicated(&mut self, place: Place) {
        if place.predicates >= 8 {
            return;
        }
        let place = Place { predicates: place.predicates + 1, ..place };
        self.compare();
        self.p.p_push();
        self.block(place, 2);
        if self.chance(60) {
            self.p.p_else();
            self.block(place, 2);
        }
        self.p.p_pop();
    }

    fn predicate_item(&mut self, place: Place) {
        match self.below(5) {
            0 | 1 => self.compare(),
            2 => {
                let dst = s(20 + self.below(8));
                self.p.p_any(dst);
            }
            // Below the top a pop comes sooner or later; at the top everything would stay off.
            3 if place.predicates > 0 || self.chance(20) => {
                self.p.p_disable();
            }
            _ => {
                self.p.p_enable();
            }
        }
    }

    fn call_item(&mut self, place: Place) {
        let which = if place.loops < 2 { self.below(2) } else { 0 };
        let label = self.subroutines[which as usize];
        self.p.call(label);
    }

    /// Behind the program: one without loops, and one with a loop that calls it.
    fn emit_subroutines(&mut self) {
        (self.lrm, self.live, self.words, self.wild) = (SUBROUTINE_BYTES, Vec::new(), 0, false);
        // Subroutines do not know the bases: no offset from here is legal.
        self.bases = [1 << 30; 4];
        self.p.bind(self.subroutines[0]);
        (0..3).for_each(|_| self.alu(true));
        self.p.ret();
        self.p.bind(self.subroutines[1]);
        self.compare();
        self.p.p_push();
        self.alu(true);
        self.p.p_pop();
        let (end, first) = (self.p.label(), self.subroutines[0]);
        self.p.loop_i(2, end).call(first).bind(end).ret();
    }
}
