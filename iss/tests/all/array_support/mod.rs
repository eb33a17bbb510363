//! A naive model of the array for the tests: one PE after the other, one grid, formulas in i64 and i128, nothing shared
//! with the executor. Also the random programs that both run.

use std::collections::HashMap;

use iss::isa::operand::{Cond, Dir, Dirs, MacShape, Width};
use iss::sim::array::{BinaryOp, Dest, Geometry, Mac, MacWidth, Place, Source, Uop};

/// A small deterministic generator (splitmix64).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
    /// Corners, small numbers and any numbers.
    pub fn value(&mut self) -> i32 {
        match self.below(4) {
            0 => self.pick(&CORNERS),
            1 => self.next() as i8 as i32,
            _ => self.next() as i32,
        }
    }
}

pub const CORNERS: [i32; 14] =
    [0, 1, -1, 2, -2, 127, -128, 255, 32767, -32768, 65535, i32::MAX, i32::MIN, i32::MIN + 1];

/// One PE.
#[derive(Clone)]
pub struct Pe {
    pub row: i32,
    pub col: i32,
    pub core: bool,
    pub lrm: Vec<u8>,
    pub acc: [i32; 16],
    pub port: [i32; 4],
    pub enable: bool,
    pub pred: bool,
    pub stack: Vec<bool>,
}

/// All PEs, border included.
#[derive(Clone)]
pub struct Model {
    pub pes: Vec<Pe>,
    index: HashMap<(i32, i32), usize>,
}

impl Model {
    pub fn new(geometry: Geometry, lrm_bytes: usize) -> Self {
        let (cols, border) = (geometry.cols as i32, geometry.border as i32);
        let mut pes = Vec::new();
        for row in 0..geometry.rows as i32 {
            for col in -border..cols + border {
                pes.push(Pe {
                    row,
                    col,
                    core: (0..cols).contains(&col),
                    lrm: vec![0; lrm_bytes],
                    acc: [0; 16],
                    port: [0; 4],
                    enable: true,
                    pred: false,
                    stack: vec![],
                });
            }
        }
        let index = pes.iter().enumerate().map(|(i, pe)| ((pe.row, pe.col), i)).collect();
        Self { pes, index }
    }
    /// Executes a micro-op; the first PE of the core with a zero divisor, if any.
    pub fn uop(&mut self, uop: Uop) -> Option<(usize, i32)> {
        let mut fault = None;
        for pe in &mut self.pes {
            if !pe.uop(uop) && pe.core && fault.is_none() {
                fault = Some((pe.row as usize, pe.col));
            }
        }
        fault
    }
    pub fn mac(&mut self, mac: Mac, weights: &[u8]) {
        self.pes.iter_mut().filter(|pe| pe.core && pe.enable).for_each(|pe| pe.mac(mac, weights));
    }
    pub fn send(&mut self, dirs: Dirs, src: Source) {
        let before: Vec<(bool, i32)> = self.pes.iter().map(|pe| (pe.enable, pe.read(src))).collect();
        for dir in Dir::ALL.into_iter().filter(|d| dirs.contains(*d)) {
            let (dr, dc) = match dir {
                Dir::North => (-1, 0),
                Dir::East => (0, 1),
                Dir::South => (1, 0),
                Dir::West => (0, -1),
            };
            for (i, (enable, value)) in before.iter().enumerate() {
                let to = self.index.get(&(self.pes[i].row + dr, self.pes[i].col + dc));
                if let (true, Some(to)) = (*enable, to) {
                    self.pes[*to].port[dir.opposite() as usize] = *value;
                }
            }
        }
    }
    pub fn any(&self) -> bool {
        self.pes.iter().any(|pe| pe.core && pe.enable && pe.pred)
    }
    pub fn read(&self, src: Source) -> Vec<i32> {
        self.pes.iter().map(|pe| pe.read(src)).collect()
    }
    pub fn at(&mut self, row: usize, col: i32) -> &mut Pe {
        let i = self.index[&(row as i32, col)];
        &mut self.pes[i]
    }
}

impl Pe {
    pub fn place(&self, at: Place) -> i32 {
        let b = &self.lrm[at.addr as usize..];
        match at.width {
            Width::Word => i32::from_le_bytes([b[0], b[1], b[2], b[3]]),
            Width::Half => i16::from_le_bytes([b[0], b[1]]) as i32,
            Width::Byte => b[0] as i8 as i32,
        }
    }
    pub fn put(&mut self, at: Place, value: i32) {
        let n = at.width.bytes() as usize;
        self.lrm[at.addr as usize..][..n].copy_from_slice(&value.to_le_bytes()[..n]);
    }
    pub fn read(&self, src: Source) -> i32 {
        match src {
            Source::Lrm(at) => self.place(at),
            Source::Splat(v) => v,
            Source::Acc(a) => self.acc[a as usize],
            Source::Port(d) => self.port[d as usize],
            Source::QRow => self.row,
            Source::QCol => self.col,
        }
    }
    fn write(&mut self, dst: Dest, value: i32) {
        match dst {
            _ if !self.enable => {}
            Dest::Lrm(at) => self.put(at, value),
            Dest::Acc(a) => self.acc[a as usize] = value,
        }
    }
    /// False for a zero divisor.
    fn uop(&mut self, uop: Uop) -> bool {
        match uop {
            Uop::Mov { dst, a } => self.write(dst, self.read(a)),
            Uop::Abs { dst, a } => self.write(dst, (self.read(a) as i64).abs() as i32),
            Uop::Binary { op, dst, a, b } => self.write(dst, binary(op, self.read(a), self.read(b))),
            Uop::Clip { dst, a, lo, hi } => {
                let (a, lo, hi) = (self.read(a), lo as i32, hi as i32);
                let low = if a > lo { a } else { lo };
                self.write(dst, if low < hi { low } else { hi });
            }
            Uop::Cmp { cond, a, b } => {
                if self.enable {
                    self.pred = holds(cond, self.read(a), self.read(b));
                }
            }
            Uop::Set { cond, dst, a, b } => self.write(dst, holds(cond, self.read(a), self.read(b)) as i32),
            Uop::Sel { dst, a, b } => self.write(dst, if self.pred { self.read(a) } else { self.read(b) }),
            Uop::Lut { dst, idx, table, bits } => {
                let element = (self.read(idx) as i64).rem_euclid(1 << bits) as u32;
                let at = Place { width: table.width, addr: table.addr + element * table.width.bytes() };
                self.write(dst, self.place(at));
            }
            Uop::FxMul { dst, a, b, shift } => self.write(dst, fx_mul(self.read(a), self.read(b), shift)),
            Uop::FxDiv { dst, a, b, frac } => {
                if self.enable && self.read(b) == 0 {
                    return false;
                }
                if self.enable {
                    self.write(dst, fx_div(self.read(a), self.read(b), frac));
                }
            }
            // Random traces leave these out; tests/array_transcendental.rs has them.
            Uop::Exp { .. } | Uop::Log { .. } => unreachable!("not in the model"),
            Uop::Push => {
                self.stack.push(self.enable);
                self.enable &= self.pred;
            }
            Uop::Else => self.enable = self.stack[self.stack.len() - 1] && !self.enable,
            Uop::Pop => self.enable = self.stack.pop().expect("programs are balanced"),
            Uop::Disable => self.enable &= !self.pred,
            Uop::Enable => self.enable = true,
        }
        true
    }
    fn mac(&mut self, mac: Mac, weights: &[u8]) {
        let (size, width) = if mac.width == MacWidth::W8x8 { (1, Width::Byte) } else { (2, Width::Half) };
        let weight = |i: usize| match mac.width {
            MacWidth::W16x16 => i16::from_le_bytes([weights[2 * i], weights[2 * i + 1]]) as i64,
            _ => weights[i] as i8 as i64,
        };
        for i in 0..16 {
            let (element, acc) = match mac.shape {
                MacShape::Dot => (i, mac.acc as usize),
                MacShape::Mat4 => (i % 4, mac.acc as usize + i / 4),
                MacShape::Outer => (0, i),
            };
            let a = self.place(Place { width, addr: mac.addr + element as u32 * size });
            self.acc[acc] = (self.acc[acc] as i64 + a as i64 * weight(i)) as i32;
        }
    }
}

pub fn binary(op: BinaryOp, a: i32, b: i32) -> i32 {
    let (wa, wb, n) = (a as i64, b as i64, b & 31);
    match op {
        BinaryOp::Add => (wa + wb) as i32,
        BinaryOp::Sub => (wa - wb) as i32,
        BinaryOp::And => (0..32).fold(0, |r, i| r | ((a >> i & 1) * (b >> i & 1)) << i),
        BinaryOp::Or => (0..32).fold(0, |r, i| r | i32::from((a >> i & 1) + (b >> i & 1) > 0) << i),
        BinaryOp::Xor => (0..32).fold(0, |r, i| r | i32::from((a >> i & 1) != (b >> i & 1)) << i),
        BinaryOp::Shl => (wa * (1i64 << n)) as i32,
        BinaryOp::Shr => ((a as u32 as u64) / (1u64 << n)) as i32,
        BinaryOp::Sar => wa.div_euclid(1i64 << n) as i32,
        BinaryOp::Min => {
            if a < b {
                a
            } else {
                b
            }
        }
        BinaryOp::Max => {
            if a < b {
                b
            } else {
                a
            }
        }
    }
}

pub fn holds(cond: Cond, a: i32, b: i32) -> bool {
    let (ua, ub) = ((a as i64).rem_euclid(1 << 32), (b as i64).rem_euclid(1 << 32));
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Lt => a < b,
        Cond::Le => a <= b,
        Cond::Gt => a > b,
        Cond::Ge => a >= b,
        Cond::Ltu => ua < ub,
        Cond::Leu => ua <= ub,
        Cond::Gtu => ua > ub,
        Cond::Geu => ua >= ub,
    }
}

pub fn fx_mul(a: i32, b: i32, shift: i8) -> i32 {
    let product = a as i128 * b as i128;
    if shift < 0 { (product << -shift) as i32 } else { product.div_euclid(1i128 << shift) as i32 }
}

pub fn fx_div(a: i32, b: i32, frac: u8) -> i32 {
    ((a as i128 * (1i128 << frac)) / b as i128) as i32
}

/// What a random program consists of.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Uop(Uop),
    Mac(Mac, [u8; 32]),
    Send(Dirs, Source),
}

/// A random place of an access that fits local memory.
pub fn place(rng: &mut Rng, lrm_bytes: u32) -> Place {
    let width = rng.pick(&[Width::Word, Width::Word, Width::Half, Width::Byte]);
    let n = (lrm_bytes / width.bytes()) as u64;
    Place { width, addr: rng.below(n) as u32 * width.bytes() }
}

pub fn source(rng: &mut Rng, lrm_bytes: u32) -> Source {
    match rng.below(10) {
        0 => Source::Splat(rng.value()),
        1 | 2 => Source::Acc(rng.below(16) as u8),
        3 => Source::Port(rng.pick(&Dir::ALL)),
        4 => Source::QRow,
        5 => Source::QCol,
        _ => Source::Lrm(place(rng, lrm_bytes)),
    }
}

pub fn dest(rng: &mut Rng, lrm_bytes: u32) -> Dest {
    if rng.below(4) == 0 { Dest::Acc(rng.below(16) as u8) } else { Dest::Lrm(place(rng, lrm_bytes)) }
}

pub fn mac(rng: &mut Rng, lrm_bytes: u32) -> Step {
    let width = rng.pick(&[MacWidth::W8x8, MacWidth::W8x8, MacWidth::W16x8, MacWidth::W16x16]);
    let shape = rng.pick(MacShape::ALL);
    let size = if width == MacWidth::W8x8 { 1 } else { 2 };
    let (acc, step, extent) = match shape {
        MacShape::Dot => (rng.below(16), 16, 16 * size),
        MacShape::Mat4 => (rng.below(4) * 4, 4, 4 * size),
        MacShape::Outer => (0, size, size),
    };
    let addr = rng.below(((lrm_bytes - extent) / step + 1) as u64) as u32 * step;
    let extreme = rng.below(4) == 0;
    let weights = std::array::from_fn(|_| if extreme { rng.pick(&[0x80, 0x7f, 0, 0xff]) } else { rng.next() as u8 });
    Step::Mac(Mac { width, shape, acc: acc as u8, addr }, weights)
}

/// A random micro-op without predicate stack, division and transcendentals.
fn alu(rng: &mut Rng, n: u32) -> Uop {
    let (dst, a, b) = (dest(rng, n), source(rng, n), source(rng, n));
    match rng.below(12) {
        0 => Uop::Mov { dst, a },
        1 => Uop::Abs { dst, a },
        2 => Uop::Clip { dst, a, lo: rng.next() as i16 >> 4, hi: rng.next() as i16 >> 4 },
        3 | 4 => Uop::Cmp { cond: rng.pick(Cond::ALL), a, b },
        5 => Uop::Set { cond: rng.pick(Cond::ALL), dst, a, b },
        6 => Uop::Sel { dst, a, b },
        7 => {
            let width = rng.pick(&[Width::Word, Width::Half, Width::Byte]);
            let bits = rng.below((n / width.bytes()).ilog2() as u64 + 1) as u8;
            let room = n / width.bytes() - (1 << bits);
            let addr = rng.below(room as u64 + 1) as u32 * width.bytes();
            Uop::Lut { dst, idx: a, table: Place { width, addr }, bits: bits.min(12) }
        }
        8 => Uop::FxMul { dst, a, b, shift: rng.below(95) as i8 - 31 },
        _ => Uop::Binary { op: rng.pick(&BinaryOp::ALL), dst, a, b },
    }
}

/// A random program with balanced predicates; runs of MACs are likely.
pub fn program(rng: &mut Rng, n_steps: usize, lrm_bytes: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut depth = 0;
    while steps.len() < n_steps {
        match rng.below(20) {
            0 if depth < 8 => {
                depth += 1;
                steps.push(Step::Uop(Uop::Push));
            }
            1 if depth > 0 => {
                depth -= 1;
                steps.push(Step::Uop(Uop::Pop));
            }
            2 if depth > 0 => steps.push(Step::Uop(Uop::Else)),
            3 if rng.below(3) == 0 => steps.push(Step::Uop(Uop::Disable)),
            4 => steps.push(Step::Uop(Uop::Enable)),
            5 | 6 => {
                let dirs = Dir::ALL.into_iter().filter(|_| rng.below(2) == 0).map(Dirs::one).collect::<Vec<_>>();
                let src = source(rng, lrm_bytes);
                // One send in two or more directions, built from its parts.
                if let Some((first, rest)) = dirs.split_first() {
                    let all = rest.iter().fold(*first, |all, one| {
                        Dir::ALL.into_iter().filter(|d| one.contains(*d)).fold(all, Dirs::with)
                    });
                    steps.push(Step::Send(all, src));
                }
            }
            7 | 8 => (0..rng.below(20)).for_each(|_| steps.push(mac(rng, lrm_bytes))),
            _ => steps.push(Step::Uop(alu(rng, lrm_bytes))),
        }
    }
    steps
}
