//! One instruction of the reference machine.

use iss::isa::Inst;
use iss::isa::operand::*;
use iss::sim::Memory;

use super::alu::{self, holds, low32};
use super::{Model, Pe, Why};

type Done = Result<(), Why>;

/// A source with everything that is the same in every PE already read.
#[derive(Clone, Copy)]
enum From {
    Same(i32),
    Lrm(usize, Width),
    Acc(u8),
    Port(Dir),
    Row,
    Col,
}

#[derive(Clone, Copy)]
enum To {
    Lrm(usize, Width),
    Acc(u8),
}

fn load(pe: &Pe, at: usize, width: Width) -> i32 {
    match width {
        Width::Word => i32::from_le_bytes(pe.lrm[at..at + 4].try_into().expect("four bytes")),
        Width::Half => i16::from_le_bytes(pe.lrm[at..at + 2].try_into().expect("two bytes")) as i32,
        Width::Byte => pe.lrm[at] as i8 as i32,
    }
}

fn get(pe: &Pe, from: From) -> i32 {
    match from {
        From::Same(v) => v,
        From::Lrm(at, width) => load(pe, at, width),
        From::Acc(n) => pe.acc[n as usize],
        From::Port(dir) => pe.port[dir as usize],
        From::Row => pe.row,
        From::Col => pe.col,
    }
}

fn put(pe: &mut Pe, to: To, value: i32) {
    match to {
        To::Acc(n) => pe.acc[n as usize] = value,
        To::Lrm(at, width) => {
            let n = width.bytes() as usize;
            pe.lrm[at..at + n].copy_from_slice(&value.to_le_bytes()[..n]);
        }
    }
}

impl Model {
    fn s(&self, reg: SReg) -> i32 {
        self.scalars[reg.get() as usize]
    }
    fn ss<const N: u32>(&self, src: ScalarSrc<N>) -> i32 {
        match src {
            ScalarSrc::Reg(reg) => self.s(reg),
            ScalarSrc::Imm(v) => v,
        }
    }

    /// The byte address of local memory, whose `len` bytes must not be in flight.
    fn lrm(&self, at: Lrm, len: usize, writes: bool) -> Result<usize, Why> {
        let start = match at {
            Lrm::Abs { addr, .. } => addr as usize,
            Lrm::Rel { base, offset, .. } => (self.scalars[base as usize] + offset as i32) as usize,
        };
        if (start..start + len).any(|byte| self.lrm_marks.hits(writes, byte)) {
            return Err(Why::Hazard(Memory::Lrm));
        }
        Ok(start)
    }

    fn to(&self, dst: Dst) -> Result<To, Why> {
        Ok(match dst {
            Dst::Acc(acc) => To::Acc(acc.get()),
            Dst::Lrm(at) => To::Lrm(self.lrm(at, at.width().bytes() as usize, true)?, at.width()),
        })
    }

    fn from(&mut self, src: Src) -> Result<From, Why> {
        Ok(match src {
            Src::Imm(v) => From::Same(v as i32),
            Src::Scalar(reg) => From::Same(self.s(reg)),
            Src::Acc(acc) => From::Acc(acc.get()),
            Src::Port(dir) => From::Port(dir),
            Src::QRow => From::Row,
            Src::QCol => From::Col,
            Src::Lrm(at) => From::Lrm(self.lrm(at, at.width().bytes() as usize, false)?, at.width()),
            Src::Broadcast(read) => {
                let entry = self.queue.front().expect("the queue has an entry");
                let at = self.words * 4 + read.lane as usize * read.width.bytes() as usize;
                let value = match read.width {
                    Width::Word => i32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes")),
                    Width::Half => i16::from_le_bytes([entry[at], entry[at + 1]]) as i32,
                    Width::Byte => entry[at] as i8 as i32,
                };
                if read.pop {
                    self.words += 1;
                    if self.words == 4 {
                        self.words = 0;
                        self.queue.pop_front();
                    }
                }
                From::Same(value)
            }
        })
    }

    fn one(&mut self, dst: Dst, a: Src, f: impl Fn(i32) -> i32) -> Done {
        let (to, a) = (self.to(dst)?, self.from(a)?);
        for pe in self.pes.iter_mut().filter(|pe| pe.on) {
            let value = f(get(pe, a));
            put(pe, to, value);
        }
        Ok(())
    }

    fn two(&mut self, dst: Dst, a: Src, b: Src, f: impl Fn(&Pe, i32, i32) -> i32) -> Done {
        let (to, a, b) = (self.to(dst)?, self.from(a)?, self.from(b)?);
        for pe in self.pes.iter_mut().filter(|pe| pe.on) {
            let value = f(pe, get(pe, a), get(pe, b));
            put(pe, to, value);
        }
        Ok(())
    }

    fn scalar(&mut self, dst: SReg, a: SReg, b: SSrc, f: impl Fn(i128, i128) -> i128) {
        let (a, b) = (self.s(a), self.ss(b));
        self.scalars[dst.get() as usize] = low32(f(a as i128, b as i128));
    }

    /// A MAC: `a_bytes` of an element, `w_bytes` of a weight.
    fn mac(&mut self, shape: MacShape, acc: Acc, a: Lrm, a_bytes: usize, w_bytes: usize) -> Done {
        let n = match shape {
            MacShape::Dot => 16,
            MacShape::Mat4 => 4,
            MacShape::Outer => 1,
        };
        let at = self.lrm(a, n * a_bytes, false)?;
        assert_eq!(self.words, 0, "a MAC takes whole entries");
        let raw: Vec<u8> = (0..w_bytes).flat_map(|_| self.queue.pop_front().expect("the queue has an entry")).collect();
        let element = |bytes: &[u8]| match bytes {
            [v] => *v as i8 as i128,
            [lo, hi] => i16::from_le_bytes([*lo, *hi]) as i128,
            _ => unreachable!("elements have one or two bytes"),
        };
        let weights: Vec<i128> = raw.chunks(w_bytes).map(element).collect();
        let first = acc.get() as usize;
        for pe in self.pes.iter_mut().filter(|pe| pe.core && pe.on) {
            let xs: Vec<i128> = pe.lrm[at..at + n * a_bytes].chunks(a_bytes).map(element).collect();
            // Weight `i` belongs to output `i / n`, where it meets channel `i % n`.
            for (i, weight) in weights.iter().enumerate() {
                let acc = &mut pe.acc[first + i / n];
                *acc = low32(*acc as i128 + xs[i % n] * weight);
            }
        }
        Ok(())
    }

    fn send(&mut self, dirs: Dirs, a: Src) -> Done {
        let a = self.from(a)?;
        let sent: Vec<Option<i32>> = self.pes.iter().map(|pe| pe.on.then(|| get(pe, a))).collect();
        for (dir, dr, dc) in [(Dir::North, -1, 0), (Dir::East, 0, 1), (Dir::South, 1, 0), (Dir::West, 0, -1)] {
            if !dirs.contains(dir) {
                continue;
            }
            for (i, value) in sent.iter().enumerate() {
                let neighbour = self.at(self.pes[i].row + dr, self.pes[i].col + dc);
                if let (Some(value), Some(neighbour)) = (value, neighbour) {
                    self.pes[neighbour].port[dir.opposite() as usize] = *value;
                }
            }
        }
        Ok(())
    }

    fn enter_loop(&mut self, trips: i64, end: CodeAddr) {
        if trips <= 0 {
            self.next = end.get();
        } else {
            self.loops.push((self.next, end.get(), trips as u32 - 1));
        }
    }

    fn each(&mut self, f: impl FnMut(&mut Pe)) {
        self.pes.iter_mut().for_each(f);
    }

    /// Executes an instruction at `pc`.
    pub(super) fn step(&mut self, inst: Inst) -> Done {
        let d = |reg: DReg| reg.get() as usize;
        match inst {
            Inst::Halt {} => assert!(self.idle(), "the generator retires every transfer"),
            Inst::Nop {} | Inst::Region { .. } | Inst::RegionEnd {} => {}
            Inst::Jump { to } => self.next = to.get(),
            Inst::Branch { cond, a, b, to } => {
                if holds(cond, self.s(a), self.ss(b)) {
                    self.next = to.get();
                }
            }
            Inst::Call { to } => {
                self.calls.push((self.next, self.loops.len()));
                self.next = to.get();
            }
            Inst::Ret {} => self.next = self.calls.pop().expect("calls and returns balance").0,
            Inst::LoopI { trips, end } => self.enter_loop(trips.get() as i64, end),
            Inst::LoopS { trips, end } => self.enter_loop(self.s(trips) as i64, end),
            Inst::Trap { .. } => unreachable!("the generator makes no traps"),

            Inst::SMov { dst, a } => self.scalars[dst.get() as usize] = self.ss(a),
            Inst::SAdd { dst, a, b } => self.scalar(dst, a, b, |a, b| a + b),
            Inst::SSub { dst, a, b } => self.scalar(dst, a, b, |a, b| a - b),
            Inst::SMul { dst, a, b } => self.scalar(dst, a, b, |a, b| a * b),
            Inst::SAnd { dst, a, b } => self.scalar(dst, a, b, |a, b| a & b),
            Inst::SOr { dst, a, b } => self.scalar(dst, a, b, |a, b| a | b),
            Inst::SXor { dst, a, b } => self.scalar(dst, a, b, |a, b| a ^ b),
            Inst::SShl { dst, a, b } => self.scalar(dst, a, b, |a, b| a << (b & 31)),
            Inst::SShr { dst, a, b } => self.scalar(dst, a, b, |a, b| (a as u32 as i128) >> (b & 31)),
            Inst::SSar { dst, a, b } => self.scalar(dst, a, b, |a, b| a >> (b & 31)),
            Inst::SMin { dst, a, b } => self.scalar(dst, a, b, i128::min),
            Inst::SMax { dst, a, b } => self.scalar(dst, a, b, i128::max),
            Inst::SSet { dst, cond, a, b } => {
                self.scalar(dst, a, b, |a, b| holds(cond, a as i32, b as i32) as i128);
            }
            Inst::SLoad { dst, base, offset } => {
                let at = (self.s(base) as u32 as i64 + self.ss(offset) as i64) as usize;
                if (at..at + 4).any(|byte| self.ocm_marks.hits(false, byte)) {
                    return Err(Why::Hazard(Memory::Ocm));
                }
                let word = self.ocm[at..at + 4].try_into().expect("four bytes");
                self.scalars[dst.get() as usize] = i32::from_le_bytes(word);
            }

            Inst::PPush {} => self.each(|pe| {
                pe.stack.push(pe.on);
                pe.on &= pe.pred;
            }),
            Inst::PElse {} => self.each(|pe| pe.on = !pe.on && *pe.stack.last().expect("an else has its push")),
            Inst::PPop {} => self.each(|pe| pe.on = pe.stack.pop().expect("a pop has its push")),
            Inst::PDisable {} => self.each(|pe| pe.on &= !pe.pred),
            Inst::PEnable {} => self.each(|pe| pe.on = true),
            Inst::PAny { dst } => {
                let any = self.pes.iter().any(|pe| pe.core && pe.on && pe.pred);
                self.scalars[dst.get() as usize] = any as i32;
            }

            Inst::Mov { dst, a } => self.one(dst, a, |a| a)?,
            Inst::Abs { dst, a } => self.one(dst, a, |a| low32((a as i128).abs()))?,
            Inst::Clip { dst, a, lo, hi } => {
                self.one(dst, a, |a| (a as i128).max(lo.get() as i128).min(hi.get() as i128) as i32)?;
            }
            Inst::Exp { dst, a, from, to } | Inst::ExpIter { dst, a, from, to } => {
                self.one(dst, a, |a| alu::exp(a, from.get(), to.get()))?;
            }
            Inst::Log { dst, a, from, to } => self.one(dst, a, |a| alu::log(a, from.get(), to.get()))?,
            Inst::Add { dst, a, b } => self.two(dst, a, b, |_, a, b| low32(a as i128 + b as i128))?,
            Inst::Sub { dst, a, b } => self.two(dst, a, b, |_, a, b| low32(a as i128 - b as i128))?,
            Inst::And { dst, a, b } => self.two(dst, a, b, |_, a, b| a & b)?,
            Inst::Or { dst, a, b } => self.two(dst, a, b, |_, a, b| a | b)?,
            Inst::Xor { dst, a, b } => self.two(dst, a, b, |_, a, b| a ^ b)?,
            Inst::Shl { dst, a, b } => self.two(dst, a, b, |_, a, b| alu::shl(a, b))?,
            Inst::Shr { dst, a, b } => self.two(dst, a, b, |_, a, b| alu::shr(a, b))?,
            Inst::Sar { dst, a, b } => self.two(dst, a, b, |_, a, b| alu::sar(a, b))?,
            Inst::Min { dst, a, b } => self.two(dst, a, b, |_, a, b| if a < b { a } else { b })?,
            Inst::Max { dst, a, b } => self.two(dst, a, b, |_, a, b| if a > b { a } else { b })?,
            Inst::Set { cond, dst, a, b } => self.two(dst, a, b, |_, a, b| holds(cond, a, b) as i32)?,
            Inst::Sel { dst, a, b } => self.two(dst, a, b, |pe, a, b| if pe.pred { a } else { b })?,
            Inst::FxMul { dst, a, b, shift } => self.two(dst, a, b, |_, a, b| alu::fx_mul(a, b, shift.get()))?,
            Inst::Cmp { cond, a, b } => {
                let (a, b) = (self.from(a)?, self.from(b)?);
                for pe in self.pes.iter_mut().filter(|pe| pe.on) {
                    pe.pred = holds(cond, get(pe, a), get(pe, b));
                }
            }
            Inst::FxDiv { dst, a, b, frac } => {
                let (to, a, b) = (self.to(dst)?, self.from(a)?, self.from(b)?);
                let mut by_zero = false;
                for pe in self.pes.iter_mut().filter(|pe| pe.on) {
                    match alu::fx_div(get(pe, a), get(pe, b), frac.get()) {
                        Some(value) => put(pe, to, value),
                        None => by_zero |= pe.core,
                    }
                }
                if by_zero {
                    return Err(Why::Division);
                }
            }
            Inst::Lut { dst, idx, table, bits } => {
                let (to, width) = (self.to(dst)?, table.width());
                let base = self.lrm(table, (width.bytes() as usize) << bits.get(), false)?;
                let idx = self.from(idx)?;
                for pe in self.pes.iter_mut().filter(|pe| pe.on) {
                    let i = get(pe, idx).rem_euclid(1 << bits.get()) as usize;
                    let value = load(pe, base + i * width.bytes() as usize, width);
                    put(pe, to, value);
                }
            }
            Inst::Send { to, a } => self.send(to, a)?,
            Inst::Mac8 { shape, acc, a } => self.mac(shape, acc, a, 1, 1)?,
            Inst::Mac16x8 { shape, acc, a } => self.mac(shape, acc, a, 2, 1)?,
            Inst::Mac16 { shape, acc, a } => self.mac(shape, acc, a, 2, 2)?,

            Inst::DClear { desc } => self.descriptors[d(desc)].clear(),
            Inst::DSet { desc, field, value } => {
                let value = self.ss(value);
                self.descriptors[d(desc)].insert(field, value);
            }
            Inst::FlowIn { desc, token } => self.start_flow(Engine::FlowIn, d(desc), token.get())?,
            Inst::FlowOut { desc, token } => self.start_flow(Engine::FlowOut, d(desc), token.get())?,
            Inst::Bcast { desc, token } => self.broadcast(d(desc), token.get())?,
            Inst::RauLoad { desc, token } => self.rau(d(desc), token.get(), false)?,
            Inst::RauStore { desc, token } => self.rau(d(desc), token.get(), true)?,
            Inst::DmaIn { desc, token } => self.dma(Engine::DmaIn, d(desc), token.get())?,
            Inst::DmaOut { desc, token } => self.dma(Engine::DmaOut, d(desc), token.get())?,
            Inst::Wait { token, tiles: Tiles::All } => self.wait(token.get(), None),
            Inst::Wait { token, tiles: Tiles::Count(n) } => self.wait(token.get(), Some(n as usize)),
            Inst::WaitS { token, tiles } => self.wait(token.get(), Some(self.s(tiles).max(0) as usize)),
            Inst::Release { token } => self.release(token.get())?,
            Inst::Push { token } => self.push(token.get())?,
            Inst::Drain { engines } => self.drain(|engine| engines.contains(engine)),

            Inst::Probe { a, .. } => {
                let a = self.from(a)?;
                self.probes.push((self.pc, self.pes.iter().map(|pe| get(pe, a)).collect()));
            }
            Inst::Assert { a, .. } => {
                let a = self.from(a)?;
                if self.pes.iter().any(|pe| pe.core && pe.on && get(pe, a) == 0) {
                    return Err(Why::Assertion);
                }
            }
        }
        Ok(())
    }
}
