//! Transfers: descriptors, rings, starts.

use std::collections::HashMap;

use iss::isa::Inst;
use iss::isa::operand::{self as operand, Cond, Field, SSrc};

use super::{Emitter, Sum, sreg};
use crate::ir::*;
use crate::lower::alloc::{Extra, Place, RESIDENT, TEMP};

impl Emitter<'_> {
    // ---- rings ----

    /// Address of a ring's first instance, bytes from one to the next, instances.
    pub(super) fn ring(&self, buf: Id) -> (i32, i32, i32) {
        let Type::Lrm { ring, .. } = self.f.ty(buf) else { panic!("a ring's buffer is local") };
        let stride = self.places.bytes[&buf] / ring;
        (self.lrm_base(buf) as i32, stride as i32, ring as i32)
    }

    pub(super) fn acquire(&mut self, flow: Id) {
        let (buf, walk) = match self.places.rings.iter().find(|(_, (f, _))| *f == flow) {
            Some((buf, (_, walk))) => (*buf, walk.clone()),
            None => panic!("a ring's flow was verified"),
        };
        let count = sreg(self.extra(Extra::Count(flow)));
        let cursor = sreg(self.extra(Extra::Cursor(buf)));
        let token = self.token(flow);
        self.inst(Inst::WaitS { token, tiles: count });
        self.inst(Inst::SAdd { dst: count, a: count, b: SSrc::Imm(walk.group as i32) });
        let (base, stride, n) = self.ring(buf);
        if n == 2 {
            self.inst(Inst::SXor { dst: cursor, a: cursor, b: SSrc::Imm(base ^ (base + stride)) });
        } else if (n * stride).count_ones() == 1 && base % (2 * n * stride) == 0 {
            self.inst(Inst::SAdd { dst: cursor, a: cursor, b: SSrc::Imm(stride) });
            self.inst(Inst::SAnd { dst: cursor, a: cursor, b: SSrc::Imm(!(n * stride)) });
        } else {
            let t = sreg(TEMP);
            self.inst(Inst::SAdd { dst: cursor, a: cursor, b: SSrc::Imm(stride) });
            self.inst(Inst::SSet { dst: t, cond: Cond::Eq, a: cursor, b: SSrc::Imm(base + n * stride) });
            self.inst(Inst::SMul { dst: t, a: t, b: SSrc::Imm(n * stride) });
            self.inst(Inst::SSub { dst: cursor, a: cursor, b: SSrc::Reg(t) });
        }
    }

    // ---- transfers ----

    pub(super) fn on_chip(&self, buf: Id, at: SVal) -> Sum {
        let mut sum = match self.places.values[buf.0 as usize] {
            Place::Scalar(_) => Sum { regs: vec![buf], minus: Vec::new(), imm: 0 },
            Place::Ocm(base) => Sum::imm(base),
            other => panic!("an on-chip buffer, not {other:?}"),
        };
        match at {
            SVal::Imm(v) => sum.imm = sum.imm.wrapping_add(v),
            SVal::Val(id) => sum.regs.push(id),
        }
        sum
    }

    /// The fields of a transfer's descriptor that are not 0.
    pub(super) fn fields(&self, kind: &OpKind) -> Vec<(Field, Sum)> {
        let sval = |s: SVal| match s {
            SVal::Imm(v) => Sum { regs: Vec::new(), minus: Vec::new(), imm: v },
            SVal::Val(id) => Sum { regs: vec![id], minus: Vec::new(), imm: 0 },
        };
        let int = |v: i32| Sum { regs: Vec::new(), minus: Vec::new(), imm: v };
        let place = |e: &ElemRef| self.lrm_base(e.buf) + (e.at * e.view.bytes() as i32) as u32;
        let mut fields = match kind {
            OpKind::Flow { walk: w, .. } | OpKind::Restart { walk: w, .. } => {
                let mut fields = vec![
                    (Field::Ocm, self.on_chip(w.buf, w.at)),
                    (Field::Elem, Sum::imm(w.elem.bytes())),
                    (Field::Width, Sum::imm(w.width)),
                    (Field::Height, Sum::imm(w.height)),
                    (Field::RowPitch, Sum::imm(w.pitch)),
                    (Field::PlanePitch, Sum::imm(w.plane)),
                    (Field::X0, sval(w.x0)),
                    (Field::Y0, sval(w.y0)),
                    (Field::ColStep, Sum::imm(w.col_step)),
                    (Field::RowStep, Sum::imm(w.row_step)),
                    (Field::Rows, Sum::imm(w.rows)),
                    (Field::Cols, Sum::imm(w.cols)),
                    (Field::Halo, Sum::imm(w.halo)),
                    (Field::Lrm, Sum::imm(self.lrm_base(w.lrm) + w.slot)),
                    (Field::LrmStep, Sum::imm(w.slot_step)),
                ];
                const LOOPS: [[Field; 4]; 4] = [
                    [Field::N0, Field::Dx0, Field::Dy0, Field::Dp0],
                    [Field::N1, Field::Dx1, Field::Dy1, Field::Dp1],
                    [Field::N2, Field::Dx2, Field::Dy2, Field::Dp2],
                    [Field::N3, Field::Dx3, Field::Dy3, Field::Dp3],
                ];
                let mut places = LOOPS.into_iter();
                let mut unit = 1;
                if let Some((buf, at)) = w.second {
                    // From one tensor to the other by planes of one byte.
                    let (first, mut apart) = (self.on_chip(w.buf, w.at), self.on_chip(buf, at));
                    apart.minus = first.regs;
                    apart.imm = apart.imm.wrapping_sub(first.imm);
                    let [n, _, _, dp] = places.next().expect("there are four");
                    fields.extend([(n, Sum::imm(2)), (dp, apart)]);
                    unit = w.plane as i32;
                    fields.iter_mut().filter(|(f, _)| *f == Field::PlanePitch).for_each(|(_, s)| *s = Sum::imm(1));
                }
                // A loop of one trip goes nowhere.
                for (l, [n, dx, dy, dp]) in w.loops.iter().filter(|l| l.n > 1).zip(places) {
                    let planes = l.dp.wrapping_mul(unit);
                    fields.extend([(n, Sum::imm(l.n)), (dx, int(l.dx)), (dy, int(l.dy)), (dp, int(planes))]);
                }
                if w.group > 0 {
                    let (_, stride, n) = self.ring(w.lrm);
                    fields.extend([
                        (Field::Group, Sum::imm(w.group)),
                        (Field::Ring, int(n)),
                        (Field::RingStep, int(stride)),
                    ]);
                }
                fields
            }
            OpKind::Bcast { buf, at, n0, step0, n1, step1, .. } => vec![
                (Field::Ocm, self.on_chip(*buf, *at)),
                (Field::N0, Sum::imm(*n0)),
                (Field::Dx0, int(*step0)),
                (Field::N1, Sum::imm(if *n1 > 1 { *n1 } else { 0 })),
                (Field::Dx1, int(if *n1 > 1 { *step1 } else { 0 })),
            ],
            OpKind::Dma { ocm, ocm_at, ocm_pitch, ext, ext_at, ext_pitch, bytes, rows, .. } => vec![
                (Field::Ocm, self.on_chip(*ocm, *ocm_at)),
                (Field::RowPitch, Sum::imm(*ocm_pitch)),
                (Field::N0, Sum::imm(*rows)),
                (Field::Ext, self.on_chip(*ext, *ext_at)),
                (Field::Bytes, Sum::imm(*bytes)),
                (Field::ExtPitch, Sum::imm(*ext_pitch)),
            ],
            OpKind::Rau { buf, at, elem, limit, index, data, valid, .. } => vec![
                (Field::Ocm, self.on_chip(*buf, *at)),
                (Field::Elem, Sum::imm(elem.bytes())),
                (Field::Limit, Sum::imm(*limit)),
                (Field::Lrm, Sum::imm(place(index))),
                (Field::Data, Sum::imm(place(data))),
                (Field::Valid, Sum::imm(valid.as_ref().map_or(0, |v| place(v) + 1))),
            ],
            other => panic!("no transfer: {other:?}"),
        };
        fields.retain(|(_, sum)| !sum.regs.is_empty() || !sum.minus.is_empty() || sum.imm != 0);
        fields
    }

    pub(super) fn set(&mut self, desc: u8, field: Field, sum: &Sum) {
        let value = match sum.regs[..] {
            _ if !sum.minus.is_empty() => {
                let temp = sreg(TEMP);
                self.inst(Inst::SMov { dst: temp, a: SSrc::Imm(sum.imm) });
                for r in &sum.regs {
                    let b = SSrc::Reg(sreg(self.reg(*r)));
                    self.inst(Inst::SAdd { dst: temp, a: temp, b });
                }
                for r in &sum.minus {
                    let b = SSrc::Reg(sreg(self.reg(*r)));
                    self.inst(Inst::SSub { dst: temp, a: temp, b });
                }
                SSrc::Reg(temp)
            }
            [] => SSrc::Imm(sum.imm),
            [r] if sum.imm == 0 => SSrc::Reg(sreg(self.reg(r))),
            [r] => {
                let a = sreg(self.reg(r));
                self.inst(Inst::SAdd { dst: sreg(TEMP), a, b: SSrc::Imm(sum.imm) });
                SSrc::Reg(sreg(TEMP))
            }
            [r, s, ..] => {
                let (a, b) = (sreg(self.reg(r)), sreg(self.reg(s)));
                self.inst(Inst::SAdd { dst: sreg(TEMP), a, b: SSrc::Reg(b) });
                if sum.imm != 0 {
                    self.inst(Inst::SAdd { dst: sreg(TEMP), a: sreg(TEMP), b: SSrc::Imm(sum.imm) });
                }
                SSrc::Reg(sreg(TEMP))
            }
        };
        let desc = operand::DReg::new(desc as i64).expect("descriptors are below 8");
        self.inst(Inst::DSet { desc, field, value });
        let held = self.held.entry(desc.get()).or_default();
        match (&sum.regs[..], sum.imm) {
            ([], imm) if sum.minus.is_empty() => held.insert(field, imm),
            _ => held.remove(&field),
        };
    }

    pub(super) fn clear(&mut self, desc: u8) {
        self.inst(Inst::DClear { desc: operand::DReg::new(desc as i64).expect("descriptors are below 8") });
        self.held.insert(desc, Field::ALL.iter().map(|f| (*f, 0)).collect());
    }

    /// Sets up what does not change in the descriptors of a loop's transfers, before the outermost loop.
    pub(super) fn resident_descriptors(&mut self, body: &Block) {
        let start = self.pos;
        let mut at = self.pos;
        let mut sites = Vec::new();
        visit::walk(body, &mut |op| {
            at += 1;
            if self.places.extra.contains_key(&Extra::Desc(at)) {
                sites.push((at, op.kind.clone()));
            }
        });
        self.varying.clear();
        while let Some((at, _)) = sites.first() {
            let desc = self.extra(Extra::Desc(*at));
            let (shared, others): (Vec<_>, Vec<_>) =
                sites.into_iter().partition(|(at, _)| self.extra(Extra::Desc(*at)) == desc);
            sites = others;
            let fields: Vec<Vec<(Field, Sum)>> = shared.iter().map(|(_, kind)| self.fields(kind)).collect();
            self.clear(desc);
            let mut varying = Vec::new();
            for field in Field::ALL {
                let of = |list: &Vec<(Field, Sum)>| list.iter().find(|(f, _)| f == field).map(|(_, sum)| sum.clone());
                let first = of(&fields[0]);
                let fixed = first.as_ref().is_none_or(|sum| self.invariant(sum, start));
                if !fixed || fields.iter().any(|list| of(list) != first) {
                    varying.push(*field);
                } else if let Some(sum) = first {
                    self.set(desc, *field, &sum);
                }
            }
            self.varying.insert(desc, varying);
        }
    }

    pub(super) fn invariant(&self, sum: &Sum, start: u32) -> bool {
        sum.regs
            .iter()
            .chain(&sum.minus)
            .all(|id| self.f.ty(*id) != Type::ScalarVar && self.places.def[id.0 as usize] < start)
    }

    pub(super) fn transfer(&mut self, kind: &OpKind) {
        let fields = self.fields(kind);
        let desc = match self.places.extra.get(&Extra::Desc(self.pos)) {
            Some(desc) => {
                let desc = *desc;
                for field in self.varying.get(&desc).cloned().unwrap_or_default() {
                    let sum = fields.iter().find(|(f, _)| *f == field).map_or(Sum::imm(0), |(_, sum)| sum.clone());
                    let number = sum.regs.is_empty() && sum.minus.is_empty();
                    let held = self.held.get(&desc).and_then(|h| h.get(&field));
                    if !number || held != Some(&sum.imm) {
                        self.set(desc, field, &sum);
                    }
                }
                desc
            }
            None => self.shared_descriptor(&fields),
        };
        let (OpKind::Flow { dst, .. }
        | OpKind::Restart { flow: dst, .. }
        | OpKind::Bcast { dst, .. }
        | OpKind::Dma { dst, .. }
        | OpKind::Rau { dst, .. }) = kind
        else {
            panic!("no transfer: {kind:?}")
        };
        let token = self.token(*dst);
        let desc = operand::DReg::new(desc as i64).expect("descriptors are below 8");
        self.inst(match kind {
            OpKind::Flow { out: false, .. } | OpKind::Restart { out: false, .. } => Inst::FlowIn { desc, token },
            OpKind::Flow { .. } | OpKind::Restart { .. } => Inst::FlowOut { desc, token },
            OpKind::Bcast { .. } => Inst::Bcast { desc, token },
            OpKind::Dma { out: false, .. } => Inst::DmaIn { desc, token },
            OpKind::Dma { out: true, .. } => Inst::DmaOut { desc, token },
            OpKind::Rau { store: false, .. } => Inst::RauLoad { desc, token },
            _ => Inst::RauStore { desc, token },
        });
        if let OpKind::Flow { out, dst, walk } = kind
            && walk.group > 0
        {
            let (base, stride, n) = self.ring(walk.lrm);
            let count = sreg(self.extra(Extra::Count(*dst)));
            let cursor = sreg(self.extra(Extra::Cursor(walk.lrm)));
            // The first instances of a flow out are free: their count is 0 or less.
            let first = if *out { walk.group as i32 * (1 - n) } else { walk.group as i32 };
            self.inst(Inst::SMov { dst: count, a: SSrc::Imm(first) });
            self.inst(Inst::SMov { dst: cursor, a: SSrc::Imm(base + (n - 1) * stride) });
        }
    }

    /// Makes one of the shared descriptors hold what is needed, from what it holds, with the fewest instructions.
    pub(super) fn shared_descriptor(&mut self, fields: &[(Field, Sum)]) -> u8 {
        let changes = |held: &HashMap<Field, i32>| -> Vec<(Field, Sum)> {
            let mut list = Vec::new();
            for f in Field::ALL {
                let wanted = fields.iter().find(|(g, _)| g == f).map(|(_, s)| s.clone());
                let wanted = wanted.unwrap_or(Sum { regs: Vec::new(), minus: Vec::new(), imm: 0 });
                if !wanted.regs.is_empty() || !wanted.minus.is_empty() || held.get(f) != Some(&wanted.imm) {
                    list.push((*f, wanted));
                }
            }
            list
        };
        type Choice = (usize, u8, bool, Vec<(Field, Sum)>);
        let mut best: Option<Choice> = None;
        // With the same number of instructions, the register that is least known is taken.
        for desc in RESIDENT..8 {
            let held = self.held.get(&desc).cloned().unwrap_or_default();
            let direct = changes(&held);
            let cleared = changes(&Field::ALL.iter().map(|f| (*f, 0)).collect());
            for (n, clear, list) in [(direct.len(), false, direct), (cleared.len() + 1, true, cleared)] {
                if best.as_ref().is_none_or(|(m, ..)| n < *m || (n == *m && held.is_empty())) {
                    best = Some((n, desc, clear, list));
                }
            }
        }
        let (_, desc, clear, list) = best.expect("there are shared descriptors");
        if clear {
            self.clear(desc);
        }
        list.iter().for_each(|(field, sum)| self.set(desc, *field, sum));
        desc
    }
}
