//! What each operation does.

use iss::isa::operand::{Dir, MacShape};

use super::super::types::*;
use super::arithmetic::{alu, holds, scalar, wrap};
use super::{Frame, InterpError, Lanes, Machine, Mask, Result, Stream, UNDEF, UNDEF_BYTE, Val};

impl Machine<'_> {
    pub(super) fn block(&mut self, fr: &mut Frame<'_>, block: &Block) -> Result<()> {
        for op in block {
            self.line = op.loc.line;
            self.fuel = self.fuel.checked_sub(1).ok_or(InterpError::Fuel(200_000_000))?;
            self.op(fr, &op.kind)?;
        }
        Ok(())
    }

    fn set_scalar(fr: &mut Frame<'_>, dst: &SDst, v: i32) {
        let (SDst::Def(id) | SDst::Var(id)) = dst;
        fr.values[id.0 as usize] = Val::S(v);
    }

    pub(super) fn op(&mut self, fr: &mut Frame<'_>, kind: &OpKind) -> Result<()> {
        use OpKind::*;
        match kind {
            Scalar { op, dst, a, b } => {
                let v = scalar(*op, self.sval(fr, *a), self.sval(fr, *b));
                Self::set_scalar(fr, dst, v);
            }
            ScalarSet { cond, dst, a, b } => {
                let v = holds(*cond, self.sval(fr, *a) as i64, self.sval(fr, *b) as i64);
                Self::set_scalar(fr, dst, i32::from(v));
            }
            ScalarVar { dst, init } => fr.values[dst.0 as usize] = Val::S(self.sval(fr, *init)),
            ScalarLoad { dst, buf, at } => {
                let at = self.sval(fr, *at) as usize;
                let bytes = &self.memory[self.mem(fr, *buf)][at..at + 4];
                if bytes.iter().any(|b| *b >= UNDEF_BYTE) {
                    return self.undefined("is loaded into a scalar");
                }
                fr.values[dst.0 as usize] = Val::S(bytes.iter().rev().fold(0u32, |v, b| v << 8 | *b as u32) as i32);
            }
            Any { dst, cond, a, b } => {
                let held = self.compare(fr, *cond, a, b)?;
                let mut any = false;
                for (lane, held) in held.into_iter().enumerate().filter(|(l, _)| self.in_array(*l)) {
                    match (self.mask()[lane], held) {
                        (Mask::Off, _) => {}
                        (Mask::On, Some(held)) => any |= held,
                        _ => return self.undefined("is asked for in any PE"),
                    }
                }
                fr.values[dst.0 as usize] = Val::S(i32::from(any));
            }
            Var { dst, init } => {
                let v = self.src(fr, init)?;
                fr.values[dst.0 as usize] = Val::Q(vec![UNDEF; v.len()]);
                self.write(fr, &Dst::Var(*dst), v);
            }
            Acc { dst } => {
                fr.values[dst.0 as usize] = Val::Acc(vec![vec![UNDEF; self.lanes()]; 16]);
            }
            Const { dst, name } => {
                let bytes = self.m.consts.iter().find(|c| c.name == *name).map(|c| &c.bytes);
                self.memory.push(bytes.expect("the name was verified").iter().map(|b| *b as u16).collect());
                fr.values[dst.0 as usize] = Val::Mem(self.memory.len() - 1);
            }
            Lrm { dst, .. } => {
                let Type::Lrm { elem, n, ring } = fr.f.ty(*dst) else { panic!("the type was verified") };
                let len = (n * elem.bytes()) as usize;
                let bytes = vec![vec![UNDEF_BYTE; self.lanes()]; len * ring as usize];
                fr.values[dst.0 as usize] = Val::Lrm { bytes, len, now: 0 };
            }
            Ocm { dst } => {
                let Type::Ocm(n) = fr.f.ty(*dst) else { panic!("the type was verified") };
                self.memory.push(vec![UNDEF_BYTE; n as usize]);
                fr.values[dst.0 as usize] = Val::Mem(self.memory.len() - 1);
            }
            Alu { op, dst, a, b } => {
                let a = self.src(fr, a)?;
                let b = if op.binary() { self.src(fr, b)? } else { vec![0; a.len()] };
                let mut v = Vec::with_capacity(a.len());
                for (lane, (a, b)) in a.iter().zip(&b).enumerate() {
                    if *a == UNDEF || *b == UNDEF {
                        v.push(UNDEF);
                        continue;
                    }
                    v.push(match alu(*op, *a as i32, *b as i32) {
                        Some(v) => v as i64,
                        None if self.mask()[lane] == Mask::On && self.in_array(lane) => {
                            return Err(InterpError::Trap { line: self.line, what: "division by zero".into() });
                        }
                        None => UNDEF,
                    });
                }
                self.write(fr, dst, v);
            }
            Sel { dst, cond, x, y, t, f } => {
                let held = self.compare(fr, *cond, x, y)?;
                let (t, f) = self.two(fr, t, f)?;
                let pick = |(h, (t, f)): (Option<bool>, (i64, i64))| h.map_or(UNDEF, |h| if h { t } else { f });
                let v = held.into_iter().zip(t.into_iter().zip(f)).map(pick).collect();
                self.write(fr, dst, v);
            }
            Lut { dst, idx, table, bits } => {
                let idx = self.src(fr, idx)?;
                let at = self.offset(fr, table);
                let width = table.view.bytes();
                let v = (0..self.lanes())
                    .map(|lane| {
                        if idx[lane] == UNDEF {
                            return UNDEF;
                        }
                        let i = (idx[lane] & ((1 << bits) - 1)) as usize;
                        let Val::Lrm { bytes, .. } = &fr.values[table.buf.0 as usize] else {
                            panic!("a buffer was verified")
                        };
                        let mut value = 0u32;
                        for k in (0..width as usize).rev() {
                            let b = bytes[at + i * width as usize + k][lane];
                            if b >= UNDEF_BYTE {
                                return UNDEF;
                            }
                            value = value << 8 | b as u32;
                        }
                        let shift = 32 - 8 * width;
                        ((value << shift) as i32 >> shift) as i64
                    })
                    .collect();
                self.write(fr, dst, v);
            }
            Send { to, a } => {
                let a = self.src(fr, a)?;
                let (dr, dc) = match to {
                    Dir::North => (-1, 0),
                    Dir::South => (1, 0),
                    Dir::East => (0, 1),
                    Dir::West => (0, -1),
                };
                // What goes to (dr, dc) is seen at the side from which it comes.
                self.ports[to.opposite() as usize] = self.moved(&a, -dr, -dc);
            }
            Shift { dst, a, dr, dc } => {
                let a = self.src(fr, a)?;
                let v = self.moved(&a, *dr as i64, *dc as i64);
                self.write(fr, dst, v);
            }
            Mac { width, shape, acc, at, a, .. } => self.mac(fr, *width, *shape, *acc, *at, a)?,
            Idle { .. } => {}
            Flow { out, dst: flow, walk } | Restart { out, flow, walk } => {
                let second = walk.second.map_or(SVal::Imm(0), |(_, at)| at);
                let at = [walk.at, walk.x0, walk.y0, second].map(|s| self.sval(fr, s) as i64);
                if walk.group == 0 {
                    for tile in 0..walk.tiles() {
                        match out {
                            true => self.tile_out(fr, walk, at, tile, 0),
                            false => self.blur(fr, walk, tile),
                        }
                    }
                }
                let (out, walk) = (*out, (**walk).clone());
                fr.values[flow.0 as usize] = Val::Flow { out, walk, at, taken: 0 };
            }
            Bcast { dst, buf, at, n0, step0, n1, step1 } => {
                self.streams.push_back(Stream {
                    memory: self.mem(fr, *buf),
                    at: self.sval(fr, *at) as i64,
                    n0: *n0 as i64,
                    step0: *step0 as i64,
                    step1: *step1 as i64,
                    words: 4 * *n0 as i64 * *n1 as i64,
                    taken: 0,
                });
                fr.values[dst.0 as usize] = Val::Stream;
            }
            Dma { out, dst, ocm, ocm_at, ocm_pitch, ext, ext_at, ext_pitch, bytes, rows } => {
                let (inside, outside) = (self.mem(fr, *ocm), self.mem(fr, *ext));
                let (a, b) = (self.sval(fr, *ocm_at) as usize, self.sval(fr, *ext_at) as usize);
                for row in 0..*rows as usize {
                    let (a, b) = (a + row * *ocm_pitch as usize, b + row * *ext_pitch as usize);
                    let (from, at, to, to_at) = if *out { (inside, a, outside, b) } else { (outside, b, inside, a) };
                    let data = self.memory[from][at..at + *bytes as usize].to_vec();
                    self.memory[to][to_at..to_at + *bytes as usize].copy_from_slice(&data);
                }
                fr.values[dst.0 as usize] = Val::Token;
            }
            Rau { store, dst, buf, at, elem, limit, index, data, valid } => {
                self.rau(fr, *store, *buf, *at, *elem, *limit, [Some(index), Some(data), valid.as_ref()])?;
                fr.values[dst.0 as usize] = Val::Token;
            }
            Wait { token } => {
                if let Val::Flow { out: false, walk, at, .. } = fr.values[token.0 as usize].clone()
                    && walk.group == 0
                {
                    (0..walk.tiles()).for_each(|tile| self.tile_in(fr, &walk, at, tile, 0));
                }
            }
            Acquire { flow } => {
                let Val::Flow { out, walk, at, taken } = &mut fr.values[flow.0 as usize] else {
                    panic!("a flow was verified")
                };
                let (out, walk, at, mine) = (*out, walk.clone(), *at, *taken);
                *taken += 1;
                let Type::Lrm { ring, .. } = fr.f.ty(walk.lrm) else { panic!("the type was verified") };
                let instance = (mine % ring as u64) as usize;
                if let Val::Lrm { now, .. } = &mut fr.values[walk.lrm.0 as usize] {
                    *now = instance;
                }
                if !out {
                    let group = walk.group as u64;
                    (mine * group..(mine + 1) * group).for_each(|tile| self.tile_in(fr, &walk, at, tile, instance));
                }
            }
            Release { .. } | Drain => {}
            Push { flow } => {
                let Val::Flow { walk, at, taken, .. } = &fr.values[flow.0 as usize] else {
                    panic!("a flow was verified")
                };
                let (walk, at, mine) = (walk.clone(), *at, taken - 1);
                let Type::Lrm { ring, .. } = fr.f.ty(walk.lrm) else { panic!("the type was verified") };
                let (group, instance) = (walk.group as u64, (mine % ring as u64) as usize);
                (mine * group..(mine + 1) * group).for_each(|tile| self.tile_out(fr, &walk, at, tile, instance));
            }
            Where { cond, a, b, then, els } => {
                let held = self.compare(fr, *cond, a, b)?;
                let arm = |want: bool, outer: &[Mask]| -> Vec<Mask> {
                    let one = |(h, m): (&Option<bool>, &Mask)| match (h, m) {
                        (_, Mask::Off) => Mask::Off,
                        (None, _) | (_, Mask::Unknown) => Mask::Unknown,
                        (Some(h), Mask::On) => {
                            if *h == want {
                                Mask::On
                            } else {
                                Mask::Off
                            }
                        }
                    };
                    held.iter().zip(outer).map(one).collect()
                };
                let (yes, no) = (arm(true, self.mask()), arm(false, self.mask()));
                self.masks.push(yes);
                self.block(fr, then)?;
                self.masks.pop();
                self.masks.push(no);
                self.block(fr, els)?;
                self.masks.pop();
            }
            If { cond, a, b, then, els } => {
                let held = holds(*cond, self.sval(fr, *a) as i64, self.sval(fr, *b) as i64);
                self.block(fr, if held { then } else { els })?;
            }
            For { var, lo, hi, step, body, .. } => {
                let (mut i, hi) = (self.sval(fr, *lo) as i64, self.sval(fr, *hi) as i64);
                while i < hi {
                    fr.values[var.0 as usize] = Val::S(i as i32);
                    self.block(fr, body)?;
                    i += *step as i64;
                }
            }
            While { cond, a, b, bound, body } => {
                let mut n = 0;
                let line = self.line;
                while holds(*cond, self.sval(fr, *a) as i64, self.sval(fr, *b) as i64) {
                    if n == *bound {
                        return Err(InterpError::Trap { line, what: format!("more than {bound} trips") });
                    }
                    n += 1;
                    self.block(fr, body)?;
                }
            }
            Region { body, .. } => self.block(fr, body)?,
            Probe { name, a } => {
                let v = self.src(fr, a)?;
                let array = (0..v.len()).filter(|l| self.in_array(*l));
                let lanes = array.map(|l| (v[l] != UNDEF).then_some(v[l] as i32)).collect();
                self.probes.push((name.clone(), lanes));
            }
            Assert { name, a } => {
                let v = self.src(fr, a)?;
                for lane in (0..v.len()).filter(|l| self.in_array(*l)) {
                    match (self.mask()[lane], v[lane]) {
                        (Mask::Off, _) => {}
                        (Mask::Unknown, _) | (_, UNDEF) => return self.undefined("is asserted"),
                        (Mask::On, 0) => {
                            let (row, col) = self.place(lane);
                            let (row, col) = (row as u32, col as i32);
                            return Err(InterpError::Assertion { line: self.line, name: name.clone(), row, col });
                        }
                        _ => {}
                    }
                }
            }
            Call { func, args } => {
                let f = self.m.func(func).expect("the name was verified");
                let mut inner = Frame { f, values: vec![Val::None; f.values.len()] };
                for (p, a) in f.params.iter().zip(args) {
                    inner.values[p.id.0 as usize] = match a {
                        SVal::Imm(v) => Val::S(*v),
                        SVal::Val(id) => fr.values[id.0 as usize].clone(),
                    };
                }
                self.block(&mut inner, &f.body)?;
            }
            Addr { dst, at, .. } => fr.values[dst.0 as usize] = Val::Addr(self.sval(fr, *at) as i64),
            AddrStep { addr, by } => {
                let by = self.sval(fr, *by) as i64;
                match &mut fr.values[addr.0 as usize] {
                    Val::Addr(at) => *at += by,
                    other => panic!("a base register was verified, not {other:?}"),
                }
            }
        }
        Ok(())
    }

    /// `v(r + dr, c + dc)`, 0 beyond the edge.
    fn moved(&self, v: &Lanes, dr: i64, dc: i64) -> Lanes {
        let (rows, lo, hi) = (self.rows, -self.border, self.cols + self.border);
        (0..self.lanes())
            .map(|lane| {
                let (r, c) = self.place(lane);
                let (r, c) = (r + dr, c + dc);
                if (0..rows).contains(&r) && (lo..hi).contains(&c) { v[self.lane(r, c)] } else { 0 }
            })
            .collect()
    }

    fn mac(
        &mut self,
        fr: &mut Frame<'_>,
        width: MacWidth,
        shape: MacShape,
        acc: Id,
        at: u8,
        a: &ElemRef,
    ) -> Result<()> {
        let mut weights = Vec::with_capacity(16);
        while weights.len() < 16 {
            let word = self.word(true)?;
            match width.weight_bytes() {
                1 => weights.extend((0..4).map(|k| (word >> (8 * k)) as i8 as i64)),
                _ => weights.extend((0..2).map(|k| (word >> (16 * k)) as i16 as i64)),
            }
        }
        let e = width.elem_bytes();
        let start = self.offset(fr, a);
        let n = match shape {
            MacShape::Dot => 16,
            MacShape::Mat4 => 4,
            MacShape::Outer => 1,
        };
        let elems: Vec<Lanes> = (0..n).map(|i| self.read(fr, a.buf, start + i * e as usize, e)).collect();
        let active: Vec<usize> =
            (0..self.lanes()).filter(|l| self.in_array(*l) && self.mask()[*l] != Mask::Off).collect();
        let unknown: Vec<bool> = active.iter().map(|l| self.mask()[*l] == Mask::Unknown).collect();
        let Val::Acc(accs) = &mut fr.values[acc.0 as usize] else { panic!("accumulators were verified") };
        for (i, w) in weights.iter().enumerate() {
            let (elem, k) = match shape {
                MacShape::Dot => (i, 0),
                MacShape::Mat4 => (i % 4, i / 4),
                MacShape::Outer => (0, i),
            };
            for (lane, unknown) in active.iter().zip(&unknown) {
                let sum = &mut accs[at as usize + k][*lane];
                let x = elems[elem][*lane];
                *sum = if *sum == UNDEF || x == UNDEF || *unknown { UNDEF } else { wrap((*sum + x * w) as i128) };
            }
        }
        Ok(())
    }
}
