//! What each operation takes.

use iss::isa::operand::MacShape;

use super::super::range::{alu_range, src_range};
use super::super::types::*;
use super::{Flight, Verifier};

impl<'a> Verifier<'a> {
    pub(super) fn start(&mut self, flight: Flight) {
        // Random access skips PEs that are disabled.
        if self.wheres > 0 && !flight.rau {
            self.say("a transfer is started inside `where`");
        }
        self.flights.push(flight);
    }

    pub(super) fn op(&mut self, op: &'a Op) {
        use OpKind::*;
        match &op.kind {
            Scalar { dst, a, b, .. } | ScalarSet { dst, a, b, .. } => {
                self.scalar(*a);
                self.scalar(*b);
                let ok = match dst {
                    SDst::Def(id) => self.f.ty(*id) == Type::Scalar,
                    SDst::Var(id) => self.f.ty(*id) == Type::ScalarVar,
                };
                if !ok {
                    self.say("the destination is no scalar");
                }
            }
            ScalarVar { dst, init } => {
                self.scalar(*init);
                if self.f.ty(*dst) != Type::ScalarVar {
                    self.say("the destination is no scalar variable");
                }
            }
            ScalarLoad { buf, at, .. } => {
                self.inside(*buf, *at, 0, 4, 4);
                if !matches!(self.f.ty(*buf), Type::Ocm(_)) {
                    self.say("a scalar load reads on-chip memory");
                }
                if self.flights.iter().any(|f| f.memory.iter().any(|(b, w)| b == buf && *w)) {
                    let name = self.name(*buf);
                    self.say(format!("{name} is being written"));
                }
            }
            Any { a, b, .. } => {
                self.src(a);
                self.src(b);
                self.one_stream(&[a, b]);
            }
            Var { dst, init } => {
                self.src(init);
                let range = src_range(self.f, &self.ranges, init);
                self.dst(&Dst::Var(*dst), range);
            }
            Acc { dst } => {
                if !matches!(self.f.ty(*dst), Type::Acc(1 | 4 | 16)) {
                    self.say("a group has 1, 4 or 16 accumulators");
                }
            }
            Const { dst, name } => {
                let (known, said) = (self.consts.get(name.as_str()).copied(), self.f.ty(*dst));
                match (known, said) {
                    (Some(n), Type::Ext(m)) if n == m as u64 => {}
                    (None, _) => self.say(format!("no constant is called @{name}")),
                    _ => self.say(format!("@{name} has another size")),
                }
            }
            Lrm { dst, align } => self.lrm(*dst, *align),
            Ocm { dst } => match self.f.ty(*dst) {
                Type::Ocm(_) => {}
                _ => self.say("the destination is no on-chip buffer"),
            },
            Alu { op, dst, a, b } => {
                self.src(a);
                let b_range = if op.binary() {
                    self.src(b);
                    self.one_stream(&[a, b]);
                    src_range(self.f, &self.ranges, b)
                } else {
                    (0, 0)
                };
                let encodable = match *op {
                    AluOp::FxMul(shift) => (-31..=63).contains(&shift),
                    AluOp::FxDiv(n) => n <= 31,
                    AluOp::Exp(from, to) | AluOp::Log(from, to) => from <= 31 && to <= 31,
                    _ => true,
                };
                if !encodable {
                    self.say("a shift is -31..=63, fraction bits are 0..=31");
                }
                if let AluOp::FxDiv(_) = op
                    && b_range == (0, 0)
                {
                    self.say("division by zero");
                }
                if let AluOp::Clip(lo, hi) = op
                    && (lo > hi || *lo < -2048 || *hi > 2047)
                {
                    self.say("bounds of a clip are ordered and have 12 bits");
                }
                let range = alu_range(*op, src_range(self.f, &self.ranges, a), b_range);
                self.dst(dst, range);
            }
            Sel { dst, x, y, t, f, .. } => {
                [x, y, t, f].into_iter().for_each(|s| self.src(s));
                self.one_stream(&[x, y]);
                self.one_stream(&[t, f]);
                let (t, f) = (src_range(self.f, &self.ranges, t), src_range(self.f, &self.ranges, f));
                self.dst(dst, (t.0.min(f.0), t.1.max(f.1)));
            }
            Lut { dst, idx, table, bits } => {
                self.src(idx);
                if *bits > 12 {
                    self.say("a table has at most 2^12 entries");
                } else {
                    self.elem(table, table.view.bytes() << bits, table.view.bytes(), false);
                }
                self.dst(dst, table.view.fmt().range());
            }
            Send { a, .. } => {
                self.no_where("a neighbour move");
                self.src(a);
            }
            Shift { dst, a, dr, dc } => {
                if dr.abs() > 64 || dc.abs() > 64 {
                    self.say("a neighbour at most 64 hops away");
                }
                self.no_where("a neighbour move");
                self.src(a);
                let range = src_range(self.f, &self.ranges, a);
                self.dst(dst, (range.0.min(0), range.1.max(0)));
            }
            Mac { width, shape, acc, at, a, stream } => {
                let (n, len, align) = mac_extent(*width, *shape);
                self.macs += 1;
                self.acc(*acc, *at, n);
                let expected = match shape {
                    MacShape::Outer => Elem::of_bytes(width.elem_bytes()),
                    _ => Some(Elem::I32),
                };
                if Some(a.view) != expected {
                    self.say("`dot` and `mat4` read words, `outer` reads one element");
                }
                if *shape == MacShape::Mat4 && !at.is_multiple_of(4) {
                    self.say("`mat4` takes accumulators from a multiple of 4 on");
                }
                self.elem(a, len, align, false);
                self.take(*stream, 4 * width.weight_bytes() as u64, true);
            }
            Flow { out, dst, walk } => {
                self.flow(*out, *dst, walk);
                self.own(*dst);
            }
            Idle { dst } => self.own(*dst),
            Restart { out, flow, walk } => self.restart(*out, *flow, walk),
            Bcast { dst, buf, at, n0, step0, n1, step1 } => self.bcast(*dst, (*buf, *at), (*n0, *step0), (*n1, *step1)),
            Dma { out, dst, ocm, ocm_at, ocm_pitch, ext, ext_at, ext_pitch, bytes, rows } => {
                if *bytes == 0 || *rows == 0 || *rows > (1 << 24) - 2 {
                    self.say("a transfer of no bytes, or of too many rows");
                }
                let span = |pitch: u32| (*rows as i64 - 1).saturating_mul(pitch as i64).saturating_add(*bytes as i64);
                self.inside(*ocm, *ocm_at, 0, span(*ocm_pitch), 1);
                self.inside(*ext, *ext_at, 0, span(*ext_pitch), 1);
                let memory = vec![self.fly_memory(*ocm, !out), self.fly_memory(*ext, *out)];
                let (block, lrm) = (self.block, Vec::new());
                self.start(Flight { token: *dst, block, lrm, memory, flow: None, rau: false, ring: None });
            }
            Rau { store, dst, buf, at, elem, limit, index, data, valid } => {
                let access = super::transfers::Access { store: *store, buf: *buf, at: *at, elem: *elem, limit: *limit };
                self.rau(*dst, &access, index, data, valid.as_ref());
            }
            Wait { token } => {
                let Some(i) = self.flights.iter().position(|f| f.token == *token) else {
                    let name = self.name(*token);
                    return self.say(format!("{name} is not in flight: it was waited for already"));
                };
                let flight = self.flights[i].clone();
                if !flight.rau {
                    self.no_where("a wait");
                }
                if flight.block != self.block && (flight.ring.is_some() || !self.reaches(*token)) {
                    let name = self.name(*token);
                    return self.say(format!("{name} was started in another block\nhelp: wait for it there"));
                }
                if let Some(ring) = flight.ring {
                    if flight.flow == Some(false) {
                        self.say("a flow in over a ring ends with its last `release`");
                    } else if ring.held || ring.taken < ring.total {
                        let n = ring.total;
                        self.say(format!("not all of its {n} instances were pushed"));
                    }
                }
                self.flights.remove(i);
            }
            Acquire { flow } | Release { flow } | Push { flow } => self.ring_op(*flow, &op.kind),
            Drain => {
                self.no_where("a drain");
                if !self.flights.is_empty() {
                    self.say("something is in flight\nhelp: wait for each transfer first");
                }
            }
            Where { a, b, then, els, .. } => {
                self.src(a);
                self.src(b);
                self.one_stream(&[a, b]);
                self.wheres += 1;
                if let Some(t) = self.target
                    && self.wheres > t.spec().timing.predicate_depth
                {
                    self.say("predicates are nested too deep");
                }
                self.block(then);
                self.block(els);
                self.wheres -= 1;
            }
            If { a, b, then, els, .. } => {
                self.scalar(*a);
                self.scalar(*b);
                self.uncounted += 1;
                self.conditional(then);
                self.conditional(els);
                self.uncounted -= 1;
            }
            While { a, b, bound, body, .. } => {
                if *bound > i32::MAX as u32 {
                    self.say("a bound of at most 2^31 - 1 trips");
                }
                self.scalar(*a);
                self.scalar(*b);
                self.uncounted += 1;
                self.conditional(body);
                self.uncounted -= 1;
            }
            For { var, lo, hi, step, attr, body } => self.for_loop(*var, *lo, *hi, *step, *attr, body),
            Region { body, .. } => self.block(body),
            Probe { a, .. } | Assert { a, .. } => {
                if matches!(a, Src::Stream { .. }) {
                    self.say("a marker may not read a stream");
                }
                self.src(a);
            }
            Call { func, args } => self.call(func, args),
            Addr { dst, buf, at } => {
                self.scalar(*at);
                if !matches!(self.f.ty(*buf), Type::Lrm { .. }) || self.f.ty(*dst) != Type::Addr {
                    self.say("a base register points into a local buffer");
                }
            }
            AddrStep { addr, by } => {
                self.scalar(*by);
                if self.f.ty(*addr) != Type::Addr {
                    self.say("steps what is no base register");
                }
            }
        }
    }

    fn no_where(&mut self, what: &str) {
        if self.wheres > 0 {
            self.say(format!("{what} inside `where`"));
        }
    }

    fn one_stream(&mut self, srcs: &[&Src]) {
        if srcs.iter().filter(|s| matches!(s, Src::Stream { .. })).count() > 1 {
            self.say("only one source of an instruction may be a stream");
        }
    }

    /// Bytes of a local buffer, all its instances.
    pub(super) fn buffer_bytes(&self, id: Id) -> u64 {
        let Type::Lrm { elem, n, ring } = self.f.ty(id) else { return 0 };
        (n as u64 * elem.bytes() as u64).next_multiple_of(4) * ring as u64
    }

    pub(super) fn lrm(&mut self, dst: Id, align: u32) {
        let Type::Lrm { n, .. } = self.f.ty(dst) else {
            return self.say("the destination is no local buffer");
        };
        if !align.is_power_of_two() {
            self.say(format!("alignment {align} is no power of two"));
        }
        if n == 0 {
            self.say("a buffer of no elements");
        }
        self.lrm_bytes += self.buffer_bytes(dst);
        if let Some(t) = self.target
            && self.lrm_bytes > t.spec().lrm_bytes as u64
        {
            let (need, have) = (self.lrm_bytes, t.spec().lrm_bytes);
            self.say(format!("local buffers in scope take {need} bytes, a PE of {} has {have}", t.spec().product));
        }
    }
}
