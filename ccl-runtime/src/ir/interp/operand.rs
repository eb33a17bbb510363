//! Operands: what they read, where a destination goes.

use iss::isa::operand::Cond;

use super::super::types::*;
use super::arithmetic::holds;
use super::{Frame, Lanes, Machine, Mask, Result, UNDEF, UNDEF_BYTE, Val};

impl Machine<'_> {
    pub(super) fn sval(&self, fr: &Frame<'_>, s: SVal) -> i32 {
        match s {
            SVal::Imm(v) => v,
            SVal::Val(id) => match fr.values[id.0 as usize] {
                Val::S(v) => v,
                ref other => panic!("a scalar was verified, not {other:?}"),
            },
        }
    }

    /// Byte index into the instances of a buffer.
    pub(super) fn offset(&self, fr: &Frame<'_>, e: &ElemRef) -> usize {
        let view = e.view.bytes() as i64;
        let var = match e.index {
            Index::Const => 0,
            Index::Scalar(id, scale) => self.sval(fr, SVal::Val(id)) as i64 * scale as i64 * view,
            Index::Addr(id) => match fr.values[id.0 as usize] {
                Val::Addr(at) => at,
                ref other => panic!("a base register was verified, not {other:?}"),
            },
        };
        let Val::Lrm { len, now, .. } = &fr.values[e.buf.0 as usize] else { panic!("a buffer was verified") };
        let at = var + e.at as i64 * view;
        assert!((0..*len as i64).contains(&at), "byte {at} of a buffer of {len}, line {}", self.line);
        now * len + at as usize
    }

    pub(super) fn read(&self, fr: &Frame<'_>, buf: Id, at: usize, width: u32) -> Lanes {
        let Val::Lrm { bytes, .. } = &fr.values[buf.0 as usize] else { panic!("a buffer was verified") };
        (0..self.lanes())
            .map(|lane| {
                let mut value = 0u32;
                for k in (0..width as usize).rev() {
                    let b = bytes[at + k][lane];
                    if b >= UNDEF_BYTE {
                        return UNDEF;
                    }
                    value = value << 8 | b as u32;
                }
                let shift = 32 - 8 * width;
                ((value << shift) as i32 >> shift) as i64
            })
            .collect()
    }

    pub(super) fn src(&mut self, fr: &Frame<'_>, s: &Src) -> Result<Lanes> {
        let splat = |m: &Self, v: i32| vec![v as i64; m.lanes()];
        Ok(match s {
            Src::Val(id) => match &fr.values[id.0 as usize] {
                Val::S(v) => splat(self, *v),
                Val::Q(q) => q.clone(),
                other => panic!("a source was verified, not {other:?}"),
            },
            Src::Imm(v) => splat(self, *v),
            Src::Elem(e) => self.read(fr, e.buf, self.offset(fr, e), e.view.bytes()),
            Src::Acc(id, k) => match &fr.values[id.0 as usize] {
                Val::Acc(a) => a[*k as usize].clone(),
                other => panic!("accumulators were verified, not {other:?}"),
            },
            Src::Stream { view, lane, pop, .. } => {
                let word = self.word(*pop)?;
                let v = match view {
                    Elem::I32 => word,
                    Elem::I16 => (word >> (lane * 16)) as i16 as i32,
                    Elem::I8 => (word >> (lane * 8)) as i8 as i32,
                };
                splat(self, v)
            }
            Src::Port(dir) => self.ports[*dir as usize].clone(),
            Src::QRow => (0..self.lanes()).map(|l| self.place(l).0).collect(),
            Src::QCol => (0..self.lanes()).map(|l| self.place(l).1).collect(),
        })
    }

    pub(super) fn word(&mut self, pop: bool) -> Result<i32> {
        while self.streams.front().is_some_and(|s| s.taken == s.words) {
            self.streams.pop_front();
        }
        let s = self.streams.front_mut().expect("the count of words was verified");
        let (entry, word) = (s.taken / 4, s.taken % 4);
        let at = s.at + entry % s.n0 * s.step0 + entry / s.n0 * s.step1 + 4 * word;
        let bytes = &self.memory[s.memory][at as usize..at as usize + 4];
        if bytes.iter().any(|b| *b >= UNDEF_BYTE) {
            return self.undefined("is broadcast");
        }
        let value = bytes.iter().rev().fold(0u32, |v, b| v << 8 | *b as u32) as i32;
        s.taken += i64::from(pop);
        Ok(value)
    }

    pub(super) fn write(&mut self, fr: &mut Frame<'_>, d: &Dst, v: Lanes) {
        let mask = self.masks.last().expect("one mask is always there");
        let merge = |old: &mut Lanes| {
            for ((old, new), mask) in old.iter_mut().zip(&v).zip(mask) {
                match mask {
                    Mask::On => *old = *new,
                    Mask::Off => {}
                    Mask::Unknown => *old = UNDEF,
                }
            }
        };
        match d {
            Dst::Def(id) => {
                let mut lanes = vec![UNDEF; v.len()];
                merge(&mut lanes);
                fr.values[id.0 as usize] = Val::Q(lanes);
            }
            Dst::Var(id) => match &mut fr.values[id.0 as usize] {
                Val::Q(old) => merge(old),
                other => panic!("a variable was verified, not {other:?}"),
            },
            Dst::Acc(id, k) => match &mut fr.values[id.0 as usize] {
                Val::Acc(a) => merge(&mut a[*k as usize]),
                other => panic!("accumulators were verified, not {other:?}"),
            },
            Dst::Elem(e) => {
                let at = self.offset(fr, e);
                let Val::Lrm { bytes, .. } = &mut fr.values[e.buf.0 as usize] else { panic!("a buffer was verified") };
                for k in 0..e.view.bytes() as usize {
                    for (lane, byte) in bytes[at + k].iter_mut().enumerate() {
                        match mask[lane] {
                            Mask::Off => {}
                            Mask::On if v[lane] != UNDEF => *byte = (v[lane] >> (8 * k) & 0xff) as u16,
                            _ => *byte = UNDEF_BYTE,
                        }
                    }
                }
            }
        }
    }

    pub(super) fn compare(&mut self, fr: &Frame<'_>, cond: Cond, a: &Src, b: &Src) -> Result<Vec<Option<bool>>> {
        let (a, b) = self.two(fr, a, b)?;
        Ok(a.iter().zip(&b).map(|(a, b)| (*a != UNDEF && *b != UNDEF).then(|| holds(cond, *a, *b))).collect())
    }

    pub(super) fn two(&mut self, fr: &Frame<'_>, a: &Src, b: &Src) -> Result<(Lanes, Lanes)> {
        Ok((self.src(fr, a)?, self.src(fr, b)?))
    }
}
