//! Random scalar and array instructions, markers, and readers of the broadcast queue.

use iss::builder::{Emit, imm, s};
use iss::isa::Inst;
use iss::isa::operand::*;

use super::Generator;

impl Generator {
    // ---- operands ----

    /// A place in local memory that may be read (written), by its address or by a base register.
    fn lrm_of(&mut self, width: Width, len: u32, align: u32, writes: bool) -> Option<Lrm> {
        for _ in 0..12 {
            let at = self.below((self.lrm - len) / align + 1) * align;
            if !self.lrm_clear(at, len, writes) {
                continue;
            }
            let base = self.below(4);
            let offset = at.wrapping_sub(self.bases[base as usize]);
            let based = Lrm::rel(width, base, offset).ok().filter(|_| offset < 2048 && offset.is_multiple_of(align));
            return match based {
                Some(lrm) if self.chance(50) => Some(lrm),
                _ => Some(Lrm::abs(width, at).expect("aligned and inside")),
            };
        }
        None
    }

    pub(super) fn width(&mut self) -> Width {
        self.pick(&[Width::Word, Width::Word, Width::Half, Width::Byte])
    }

    pub(super) fn dst(&mut self) -> Dst {
        let width = self.width();
        match self.lrm_of(width, width.bytes(), width.bytes(), true) {
            Some(lrm) if self.chance(75) => Dst::Lrm(lrm),
            _ => Dst::Acc(self.acc()),
        }
    }

    fn acc(&mut self) -> Acc {
        Acc::new(self.below(16) as i64).expect("an accumulator")
    }

    /// A source; `quiet` if it may not be the broadcast queue.
    pub(super) fn src(&mut self, quiet: bool) -> Src {
        match self.below(100) {
            0..=19 if !quiet && self.words > 0 => {
                let width = self.width();
                let pop = width == Width::Word || self.chance(50);
                self.words -= pop as u32;
                Src::Broadcast(BroadcastRead { width, lane: self.below(4 / width.bytes()) as u8, pop })
            }
            0..=49 => {
                let width = self.width();
                self.lrm_of(width, width.bytes(), width.bytes(), false).map_or(Src::QCol, Src::Lrm)
            }
            50..=64 => {
                let value = self.range(-300, 300) as i64;
                Src::imm(value).expect("in range")
            }
            65..=75 => Src::Acc(self.acc()),
            76..=84 => Src::Port(self.pick(&Dir::ALL)),
            85..=92 => Src::Scalar(SReg::new(20 + self.below(8) as i64).expect("a register")),
            93..=96 => Src::QRow,
            _ => Src::QCol,
        }
    }

    /// Two sources, at most one of them the queue.
    fn two(&mut self, quiet: bool) -> (Src, Src) {
        let a = self.src(quiet);
        let b = self.src(quiet || matches!(a, Src::Broadcast(_)));
        (a, b)
    }

    fn frac(&mut self) -> Frac {
        Frac::new(self.below(32) as i64).expect("in range")
    }

    // ---- array ----

    /// One random array instruction.
    pub(super) fn alu(&mut self, quiet: bool) {
        if !quiet && self.words > 0 && self.words.is_multiple_of(4) && self.chance(50) {
            return self.mac();
        }
        let dst = self.dst();
        let cond = self.pick(Cond::ALL);
        let inst = match self.below(25) {
            0 | 1 => Inst::Mov { dst, a: self.src(quiet) },
            2 => Inst::Abs { dst, a: self.src(quiet) },
            3 => {
                let (x, y) = (self.range(-2048, 2047), self.range(-2048, 2047));
                let bound = |v: i32| Bound::new(v as i64).expect("in range");
                Inst::Clip { dst, a: self.src(quiet), lo: bound(x.min(y)), hi: bound(x.max(y)) }
            }
            4 => Inst::Exp { dst, a: self.src(quiet), from: self.frac(), to: self.frac() },
            5 => Inst::Log { dst, a: self.src(quiet), from: self.frac(), to: self.frac() },
            6 => Inst::ExpIter { dst, a: self.src(quiet), from: self.frac(), to: self.frac() },
            7 | 8 => match self.table() {
                Some((table, bits)) => Inst::Lut { dst, idx: self.src(quiet), table, bits },
                None => Inst::Mov { dst, a: self.src(quiet) },
            },
            9 => {
                let mut divisor = 0;
                while divisor == 0 {
                    divisor = self.range(-50, 50);
                }
                let b = Src::imm(divisor as i64).expect("in range");
                Inst::FxDiv { dst, a: self.src(quiet), b, frac: self.frac() }
            }
            n => {
                let (a, b) = self.two(quiet);
                match n {
                    10 => Inst::Add { dst, a, b },
                    11 => Inst::Sub { dst, a, b },
                    12 => Inst::And { dst, a, b },
                    13 => Inst::Or { dst, a, b },
                    14 => Inst::Xor { dst, a, b },
                    15 => Inst::Shl { dst, a, b },
                    16 => Inst::Shr { dst, a, b },
                    17 => Inst::Sar { dst, a, b },
                    18 => Inst::Min { dst, a, b },
                    19 => Inst::Max { dst, a, b },
                    20 => Inst::Cmp { cond, a, b },
                    21 => Inst::Set { cond, dst, a, b },
                    22 => Inst::Sel { dst, a, b },
                    23 if self.wild && self.chance(20) => Inst::FxDiv { dst, a, b, frac: self.frac() },
                    _ => Inst::FxMul { dst, a, b, shift: Shift::new(self.range(-31, 63) as i64).expect("in range") },
                }
            }
        };
        self.p.inst(inst);
    }

    fn table(&mut self) -> Option<(Lrm, TableBits)> {
        let width = self.width();
        let bits = self.below(6);
        let len = width.bytes() << bits;
        if len > self.lrm {
            return None;
        }
        let table = self.lrm_of(width, len, width.bytes(), false)?;
        Some((table, TableBits::new(bits as i64).expect("in range")))
    }

    pub(super) fn compare(&mut self) {
        let cond = self.pick(Cond::ALL);
        let (a, b) = self.two(true);
        self.p.cmp(cond, a, b);
    }

    pub(super) fn send_item(&mut self) {
        let mut dirs = Dirs::one(self.pick(&Dir::ALL));
        for dir in Dir::ALL {
            if self.chance(25) {
                dirs = dirs.with(dir);
            }
        }
        let a = self.src(true);
        self.p.send(dirs, a);
        // What was sent is used, or nobody would see it.
        let (dst, a) = (self.dst(), Src::Port(self.pick(&Dir::ALL)));
        self.p.mov(dst, a);
    }

    pub(super) fn marker_item(&mut self) {
        match self.below(3) {
            0 => {
                self.p.nop();
            }
            1 => {
                let a = self.src(true);
                self.p.probe("probe", a);
            }
            _ if self.wild && self.chance(10) => {
                let a = self.src(true);
                self.p.assert("assert", a);
            }
            _ => {
                self.p.assert("assert", imm(-3));
            }
        }
    }

    // ---- scalar ----

    pub(super) fn scalar_item(&mut self) {
        let reg = |n: u32| SReg::new(20 + n as i64).expect("a register");
        let (dst, a) = (reg(self.below(8)), reg(self.below(8)));
        let b = match self.chance(50) {
            true => SSrc::Reg(reg(self.below(8))),
            false => SSrc::Imm(self.interesting()),
        };
        let inst = match self.below(15) {
            0 => Inst::SMov { dst, a: b },
            1 => Inst::SAdd { dst, a, b },
            2 => Inst::SSub { dst, a, b },
            3 => Inst::SMul { dst, a, b },
            4 => Inst::SAnd { dst, a, b },
            5 => Inst::SOr { dst, a, b },
            6 => Inst::SXor { dst, a, b },
            7 => Inst::SShl { dst, a, b },
            8 => Inst::SShr { dst, a, b },
            9 => Inst::SSar { dst, a, b },
            10 => Inst::SMin { dst, a, b },
            11 => Inst::SMax { dst, a, b },
            12 => Inst::SSet { dst, cond: self.pick(Cond::ALL), a, b },
            _ => {
                let Some(at) = self.ocm_range(4, 4, false) else { return };
                let offset = self.range(-64, 64);
                // The base is unsigned: it does not go below zero.
                let offset = offset.min(at as i32);
                self.p.s_mov(s(17), at as i32 - offset);
                let offset = if self.chance(50) {
                    self.p.s_mov(s(18), offset);
                    SSrc::Reg(SReg::new(18).expect("a register"))
                } else {
                    SSrc::Imm(offset)
                };
                Inst::SLoad { dst, base: SReg::new(17).expect("a register"), offset }
            }
        };
        self.p.inst(inst);
    }

    // ---- broadcast readers ----

    /// A MAC that takes one or two entries, of which there are enough.
    pub(super) fn mac(&mut self) {
        let kind = if self.words >= 8 { self.below(3) } else { self.below(2) };
        self.mac_of(kind);
    }

    /// 0: 8 x 8, 1: 16 x 8, 2: 16 x 16.
    pub(super) fn mac_of(&mut self, kind: u32) {
        let elem = if kind == 0 { 1 } else { 2 };
        let shape = self.pick(MacShape::ALL);
        let (width, len, align) = match shape {
            MacShape::Dot => (Width::Word, 16 * elem, 16),
            MacShape::Mat4 => (Width::Word, 4 * elem, 4),
            MacShape::Outer => (if elem == 1 { Width::Byte } else { Width::Half }, elem, elem),
        };
        // A base is a multiple of 4 only, so `dot` takes an absolute address unless the offset is aligned too.
        let a = match self.lrm_of(width, len, align, false) {
            Some(a @ Lrm::Abs { .. }) => a,
            Some(a @ Lrm::Rel { base, .. }) if self.bases[base as usize].is_multiple_of(16) => a,
            _ => {
                // Nothing to read: the entries are taken by moves.
                let n = if kind == 2 { 8 } else { 4 };
                (0..n).for_each(|_| {
                    self.p.mov(Dst::Acc(Acc::new(3).expect("legal")), Src::BROADCAST);
                });
                self.words -= n;
                return;
            }
        };
        let acc = match shape {
            MacShape::Dot => self.acc(),
            MacShape::Mat4 => Acc::new(4 * self.below(4) as i64).expect("in range"),
            MacShape::Outer => Acc::new(0).expect("in range"),
        };
        let inst = match kind {
            0 => Inst::Mac8 { shape, acc, a },
            1 => Inst::Mac16x8 { shape, acc, a },
            _ => Inst::Mac16 { shape, acc, a },
        };
        self.p.inst(inst);
        self.words -= if kind == 2 { 8 } else { 4 };
    }

    /// Takes `words` words of broadcast.
    pub(super) fn drink(&mut self, words: u32) {
        let left = self.words - words;
        while self.words > left {
            if self.words.is_multiple_of(4) && self.words - left >= 4 && self.chance(80) {
                let kind = if self.words - left >= 8 { self.below(3) } else { self.below(2) };
                self.mac_of(kind);
            } else {
                let dst = self.dst();
                self.p.add(dst, Src::BROADCAST, Src::QRow);
                self.words -= 1;
            }
        }
    }
}
