//! The rules of the IR.
//!
//! Checked, for a module: names of functions and constants are unique; calls name functions of as many parameters, of their
//! types, without recursion. For a function:
//!
//! 1. *Types*: each operand has a type that the operation takes; a value is defined once and used in its scope.
//! 2. *Formats*: what is assigned to a value fits the range that its format promises.
//! 3. *Bounds*: indices of local buffers, tables and accumulators, by intervals of scalars; the alignment of what a MAC or a
//!    wider view reads; the on-chip bytes of flows, streams, scalar loads, random accesses and DMA, each with its alignment.
//! 4. *Tokens*: a transfer is waited for exactly once, in the block that starts it. A flow without a ring may also be waited for
//!    and started again in counted loops inside the block of its token, if the trips of each begin and end alike; streams are consumed to the last word in
//!    the block that starts them, in the order of their starts, a MAC at an entry's beginning.
//! 5. *Hazards*: what lands is neither read nor written, what leaves is not written, before the wait; of two transfers that
//!    share a buffer in on-chip or external memory at the same time both only read.
//! 6. *Rings*: an instance is acquired, then released (in) or pushed (out), as often as the walk has instances; the buffer is
//!    touched only while an instance is held; while a flow of a ring runs, no other of its direction does.
//! 7. *Predication*: no transfer but random access, which passes over disabled PEs, no wait for another one, no neighbour move inside
//!    `where`, and no stream is read there.
//! 8. *Budgets*, for a target: bytes of the buffers still to be used, local and on-chip, tiles and halos against the array, depth of
//!    predicates, streams and random accesses under way.
//!
//! Not checked: values undefined because nothing wrote them (the interpreter finds them); a divisor that is 0 at run time, in a
//! border column too where the kernel uses the border; an
//! assertion that fails; a loop that exceeds its bound; the offset that a base register holds, which only passes make, from
//! indices that were checked; ports, likewise; scalar arguments outside the range that their parameter promises. Numbers of
//! tokens, descriptors, scalar registers and accumulators are the allocation's to check.

mod counts;
mod transfers;

use std::collections::{HashMap, HashSet};

use iss::image::Direction;
use iss::isa::operand::MacShape;
use iss::target::Target;

use super::range::{Range, Ranges, alu_range, src_range, trips};
use super::text::op_text;
use super::types::*;
use super::visit;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{func}: `{op}`: {message}", place(file, *line))]
pub struct VerifyError {
    /// Source file; empty if none is known.
    pub file: String,
    /// Source line, or 0.
    pub line: u32,
    /// Function.
    pub func: String,
    /// The operation.
    pub op: String,
    /// What is wrong.
    pub message: String,
}

fn place(file: &str, line: u32) -> String {
    match line {
        0 => String::new(),
        _ if file.is_empty() => format!("line {line}: "),
        _ => format!("{file}:{line}: "),
    }
}

/// Checks the rules that hold on every target, and with a target its budgets.
///
/// # Errors
/// Every broken rule, at least one.
pub fn verify(m: &Module, target: Option<&Target>) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    check_module(m, &mut errors);
    for f in &m.funcs {
        let mut v = Verifier::new(m, f, target);
        v.func();
        errors.append(&mut v.errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn check_module(m: &Module, errors: &mut Vec<VerifyError>) {
    let mut names = HashSet::new();
    let mut say = |func: &str, loc: Loc, message: String| {
        let file = m.files.get(loc.file as usize).cloned().unwrap_or_default();
        errors.push(VerifyError { file, line: loc.line, func: func.into(), op: func.into(), message });
    };
    for f in &m.funcs {
        if !names.insert(&f.name) {
            say(&f.name, f.loc, "another function has this name".into());
        }
    }
    let mut names = HashSet::new();
    for c in &m.consts {
        if !names.insert(&c.name) {
            say(&c.name, Loc::default(), "another constant has this name".into());
        }
    }
    for f in &m.funcs {
        let mut seen = Vec::new();
        if recursive(m, f, &mut seen) {
            say(&f.name, f.loc, format!("calls itself: {}", seen.join(" > ")));
        }
    }
}

fn callees(f: &Func) -> Vec<String> {
    let mut list = Vec::new();
    visit::walk(&f.body, &mut |op| {
        if let OpKind::Call { func, .. } = &op.kind {
            list.push(func.clone());
        }
    });
    list
}

fn recursive(m: &Module, f: &Func, path: &mut Vec<String>) -> bool {
    if path.contains(&f.name) || path.len() > 64 {
        path.push(f.name.clone());
        return true;
    }
    path.push(f.name.clone());
    for name in callees(f) {
        if let Some(callee) = m.func(&name)
            && recursive(m, callee, path)
        {
            return true;
        }
    }
    path.pop();
    false
}

/// A transfer under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Flight {
    token: Id,
    block: usize,
    /// Local bytes: buffer, range, whether they are landing.
    lrm: Vec<(Id, i64, i64, bool)>,
    /// On-chip and external buffers, and whether they are written.
    memory: Vec<(Id, bool)>,
    /// Flow of a direction.
    flow: Option<bool>,
    rau: bool,
    ring: Option<Ring>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ring {
    buf: Id,
    held: bool,
    taken: u64,
    total: u64,
}

/// A stream not yet consumed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stream {
    id: Id,
    block: usize,
    buf: Id,
    words: u64,
    left: u64,
}

struct Verifier<'a> {
    m: &'a Module,
    f: &'a Func,
    target: Option<&'a Target>,
    ranges: Ranges,
    errors: Vec<VerifyError>,
    defined: Vec<bool>,
    ever: Vec<bool>,
    flights: Vec<Flight>,
    /// Flows' tokens: the block that defines them, and how many uncounted loops and branches are around it.
    owners: HashMap<Id, (usize, u32)>,
    streams: Vec<Stream>,
    /// MAC steps seen, to know whether a loop has one.
    macs: u64,
    block: usize,
    blocks: usize,
    wheres: u32,
    /// Loops and branches between here and the function whose trips are not known.
    uncounted: u32,
    lrm_bytes: u64,
    op: Option<&'a Op>,
    consts: HashMap<&'a str, u64>,
}

impl<'a> Verifier<'a> {
    fn new(m: &'a Module, f: &'a Func, target: Option<&'a Target>) -> Self {
        let consts = m.consts.iter().map(|c| (c.name.as_str(), c.bytes.len() as u64)).collect();
        Verifier {
            m,
            f,
            target,
            ranges: Ranges::of(f),
            errors: Vec::new(),
            defined: vec![false; f.values.len()],
            ever: vec![false; f.values.len()],
            flights: Vec::new(),
            owners: HashMap::new(),
            streams: Vec::new(),
            macs: 0,
            block: 0,
            blocks: 0,
            wheres: 0,
            uncounted: 0,
            lrm_bytes: 0,
            op: None,
            consts,
        }
    }

    fn say(&mut self, message: impl Into<String>) {
        let loc = self.op.map_or(self.f.loc, |op| op.loc);
        let op = self.op.map_or_else(|| self.f.name.clone(), |op| op_text(self.f, op));
        let file = self.m.files.get(loc.file as usize).cloned().unwrap_or_default();
        self.errors.push(VerifyError { file, line: loc.line, func: self.f.name.clone(), op, message: message.into() });
    }
    fn name(&self, id: Id) -> String {
        format!("%{}", self.f.name_of(id))
    }

    fn func(&mut self) {
        let f = self.f;
        for p in &f.params {
            if !self.define(p.id) {
                return;
            }
            match f.ty(p.id) {
                Type::Ocm(_) | Type::Ext(_) | Type::Scalar => {}
                other => self.say(format!("a parameter of type {other:?}")),
            }
        }
        self.block(&f.body);
        let need = super::peak::on_chip(f).bytes;
        if let Some(t) = self.target
            && need > t.spec().ocm_bytes as u64
        {
            let have = t.spec().ocm_bytes;
            self.say(format!("on-chip buffers take {need} bytes, {} has {have}", t.spec().product));
        }
    }

    fn define(&mut self, id: Id) -> bool {
        let Some(ever) = self.ever.get_mut(id.0 as usize) else {
            self.say(format!("value {} does not exist", id.0));
            return false;
        };
        if std::mem::replace(ever, true) {
            let name = self.name(id);
            self.say(format!("{name} is defined twice"));
        }
        self.defined[id.0 as usize] = true;
        true
    }

    fn block(&mut self, block: &'a Block) {
        let outer = (self.block, self.op, self.lrm_bytes);
        self.blocks += 1;
        self.block = self.blocks;
        let mut defs = Vec::new();
        let has_buffers = self.target.is_some() && block.iter().any(|op| matches!(op.kind, OpKind::Lrm { .. }));
        let last = if has_buffers { visit::last_uses(block) } else { HashMap::new() };
        // Local buffers of this block: the last operation that uses each, and its bytes.
        let mut buffers: Vec<(usize, u64)> = Vec::new();
        for (i, op) in block.iter().enumerate() {
            self.op = Some(op);
            if let OpKind::Lrm { dst, .. } = op.kind {
                buffers.retain(|(end, _)| *end >= i);
                self.lrm_bytes = outer.2 + buffers.iter().map(|(_, bytes)| bytes).sum::<u64>();
                buffers.push((last.get(&dst).copied().unwrap_or(i), self.buffer_bytes(dst)));
            }
            let mut known = true;
            op.kind.uses(&mut |id| known &= self.defined.get(id.0 as usize).copied().unwrap_or(false));
            if !known {
                let mut missing = Vec::new();
                op.kind.uses(&mut |id| {
                    if !self.defined.get(id.0 as usize).copied().unwrap_or(false) {
                        missing.push(id);
                    }
                });
                for id in missing {
                    let name = self.f.values.get(id.0 as usize).map_or(id.0.to_string(), |v| format!("%{}", v.name));
                    self.say(format!("{name} is not defined here"));
                }
                op.kind.defs(&mut |id| {
                    if self.define(id) {
                        defs.push(id);
                    }
                });
                continue;
            }
            if !matches!(op.kind, OpKind::For { .. }) {
                op.kind.defs(&mut |id| {
                    if self.define(id) {
                        defs.push(id);
                    }
                });
            }
            self.op(op);
        }
        self.op = block.last();
        let here = self.block;
        for flight in self.flights.iter().filter(|f| f.block == here).cloned().collect::<Vec<_>>() {
            let name = self.name(flight.token);
            match flight.ring {
                // A flow in over a ring ends with its last release, wherever that stands.
                Some(ring) if flight.flow == Some(false) && !ring.held && ring.taken == ring.total => {}
                Some(ring) if ring.taken < ring.total => self.say(format!(
                    "the block ends, but {name} has {} instances of which {} were taken",
                    ring.total, ring.taken
                )),
                _ => self.say(format!(
                    "the block ends, but {name} was never waited for\nhelp: `wait {name}` in the block that starts it"
                )),
            }
        }
        self.flights.retain(|f| f.block != here);
        for s in self.streams.iter().filter(|s| s.block == here && s.left > 0).cloned().collect::<Vec<_>>() {
            let name = self.name(s.id);
            self.say(format!("the block ends, but {} of {} words of {name} were not taken", s.left, s.words));
        }
        self.streams.retain(|s| s.block != here);
        defs.iter().for_each(|id| self.defined[id.0 as usize] = false);
        (self.block, self.op, self.lrm_bytes) = outer;
    }

    // ---- operands ----

    fn scalar(&mut self, s: SVal) {
        if let SVal::Val(id) = s
            && !self.f.is_scalar(id)
        {
            let name = self.name(id);
            self.say(format!("{name} is no scalar"));
        }
    }

    fn src(&mut self, s: &Src) {
        match s {
            Src::Val(id) => {
                let ok = matches!(self.f.ty(*id), Type::Scalar | Type::ScalarVar | Type::Q(_) | Type::Var(_));
                if !ok {
                    let name = self.name(*id);
                    self.say(format!("{name} is no source"));
                }
            }
            Src::Elem(e) => self.elem(e, e.view.bytes(), e.view.bytes(), false),
            Src::Acc(id, k) => self.acc(*id, *k, 1),
            Src::Stream { stream, view, lane, pop } => {
                if *lane as u32 * view.bytes() >= 4 || (*view == Elem::I32 && !pop) {
                    self.say("no such lane of a word");
                }
                self.take(*stream, u64::from(*pop), false);
            }
            Src::Imm(_) | Src::Port(_) | Src::QRow | Src::QCol => {}
        }
    }

    fn acc(&mut self, id: Id, k: u8, count: u8) {
        match self.f.ty(id) {
            Type::Acc(n) if k + count <= n => {}
            Type::Acc(n) => {
                let name = self.name(id);
                self.say(format!("accumulators {k}..{} of {name}, which has {n}", k + count));
            }
            _ => {
                let name = self.name(id);
                self.say(format!("{name} is no group of accumulators"));
            }
        }
    }

    fn dst(&mut self, d: &Dst, range: (i64, i64)) {
        match d {
            Dst::Def(id) | Dst::Var(id) => {
                let fmt = match (d, self.f.ty(*id)) {
                    (Dst::Def(_), Type::Q(fmt)) | (Dst::Var(_), Type::Var(fmt)) => fmt,
                    _ => {
                        let name = self.name(*id);
                        return self.say(format!("{name} is no place for a per-PE value"));
                    }
                };
                let (lo, hi) = fmt.range();
                if range.0 < lo || range.1 > hi {
                    let name = self.name(*id);
                    self.say(format!(
                        "{name} is {}, {lo}..={hi}, but the value may be {}..={}\nhelp: clip it",
                        fmt.word(),
                        range.0,
                        range.1
                    ));
                }
            }
            Dst::Elem(e) => self.elem(e, e.view.bytes(), e.view.bytes(), true),
            Dst::Acc(id, k) => self.acc(*id, *k, 1),
        }
    }

    /// An element and the `len` bytes from it on; what they are and whether they may be touched.
    fn elem(&mut self, e: &ElemRef, len: u32, align: u32, write: bool) {
        let Type::Lrm { elem, n, ring } = self.f.ty(e.buf) else {
            let name = self.name(e.buf);
            return self.say(format!("{name} is no local buffer"));
        };
        let size = n as i64 * elem.bytes() as i64;
        let view = e.view.bytes() as i64;
        let bytes = match e.index {
            Index::Const => Range::of(e.at as i64 * view),
            Index::Scalar(id, scale) => {
                if !self.f.is_scalar(id) {
                    let name = self.name(id);
                    return self.say(format!("{name} is no scalar"));
                }
                self.ranges.id(id).times(Range::of(scale as i64 * view)).plus(Range::of(e.at as i64 * view))
            }
            Index::Addr(id) => {
                if self.f.ty(id) != Type::Addr {
                    let name = self.name(id);
                    self.say(format!("{name} is no base register"));
                }
                // What it holds was checked as an index; the whole buffer counts as touched.
                return self.touch(e.buf, ring, 0, size, write);
            }
        };
        let name = self.name(e.buf);
        if bytes.lo < 0 || bytes.hi + len as i64 > size {
            return self.say(format!("bytes {}..{} of {name}, which has {size}", bytes.lo, bytes.hi + len as i64));
        }
        if !bytes.multiple_of(align) {
            return self.say(format!("the byte offset into {name} is not known to be a multiple of {align}"));
        }
        self.touch(e.buf, ring, bytes.lo, bytes.hi + len as i64, write);
    }

    fn touch(&mut self, buf: Id, ring: u32, lo: i64, hi: i64, write: bool) {
        let name = self.name(buf);
        if ring > 1 {
            let held = self.flights.iter().any(|f| f.ring.is_some_and(|r| r.buf == buf && r.held));
            if !held {
                self.say(format!("{name} is a ring of which no instance is held\nhelp: `acquire` its flow first"));
            }
            return;
        }
        let found = self.flights.iter().find_map(|f| {
            let hit = f.lrm.iter().find(|(b, l, h, landing)| *b == buf && *l < hi && lo < *h && (*landing || write))?;
            Some((f.token, hit.3))
        });
        if let Some((token, landing)) = found {
            let token = self.name(token);
            let (what, is) = (if write { "writes" } else { "reads" }, if landing { "landing" } else { "leaving" });
            self.say(format!("{what} {name}, which is {is}\nhelp: `wait {token}` first"));
        }
    }

    /// A new transfer's local bytes: as touched by an access.
    fn fly_lrm(&mut self, buf: Id, lo: i64, hi: i64, landing: bool) -> (Id, i64, i64, bool) {
        if let Type::Lrm { elem, n, .. } = self.f.ty(buf) {
            let size = n as i64 * elem.bytes() as i64;
            if hi > size {
                let name = self.name(buf);
                self.say(format!("bytes {lo}..{hi} of {name}, which has {size}"));
            }
            self.touch(buf, 1, lo, hi, landing);
        }
        (buf, lo, hi, landing)
    }

    fn fly_memory(&mut self, buf: Id, write: bool) -> (Id, bool) {
        let name = self.name(buf);
        let param = self.f.params.iter().find(|p| p.id == buf);
        let readonly = param.is_some_and(|p| p.dir == Direction::In) || self.is_const(buf);
        if write && readonly {
            self.say(format!("writes {name}, which is only read"));
        }
        let other = self.flights.iter().find(|f| f.memory.iter().any(|(b, w)| *b == buf && (*w || write)));
        if let Some(token) = other.map(|f| f.token) {
            let token = self.name(token);
            self.say(format!("{name} is in flight with {token}\nhelp: `wait {token}` first"));
        }
        if write && self.streams.iter().any(|s| s.buf == buf) {
            self.say(format!("{name} is being broadcast"));
        }
        (buf, write)
    }

    fn is_const(&self, buf: Id) -> bool {
        matches!(self.f.ty(buf), Type::Ext(_)) && !self.f.params.iter().any(|p| p.id == buf)
    }

    /// Bytes `at + lo .. at + hi` must lie in a buffer.
    fn inside(&mut self, buf: Id, at: SVal, lo: i64, hi: i64, align: u32) {
        self.scalar(at);
        let size = match self.f.ty(buf) {
            Type::Ocm(n) | Type::Ext(n) => n as i64,
            _ => {
                let name = self.name(buf);
                return self.say(format!("{name} is no buffer in memory"));
            }
        };
        let range = self.ranges.sval(at);
        let name = self.name(buf);
        let (lo, hi) = (range.lo.saturating_add(lo), range.hi.saturating_add(hi));
        if lo < 0 || hi > size {
            self.say(format!("bytes {lo}..{hi} of {name}, which has {size}"));
        } else if !range.multiple_of(align) {
            self.say(format!("the byte offset into {name} is not known to be a multiple of {align}"));
        }
    }

    // ---- operations ----

    fn start(&mut self, flight: Flight) {
        // Random access skips PEs that are disabled.
        if self.wheres > 0 && !flight.rau {
            self.say("a transfer is started inside `where`");
        }
        self.flights.push(flight);
    }

    fn op(&mut self, op: &'a Op) {
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
                let access = transfers::Access { store: *store, buf: *buf, at: *at, elem: *elem, limit: *limit };
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
    fn buffer_bytes(&self, id: Id) -> u64 {
        let Type::Lrm { elem, n, ring } = self.f.ty(id) else { return 0 };
        (n as u64 * elem.bytes() as u64).next_multiple_of(4) * ring as u64
    }

    fn lrm(&mut self, dst: Id, align: u32) {
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

    /// A block that may run or not: what it finds it leaves.
    fn conditional(&mut self, block: &'a Block) {
        let before = self.streams.clone();
        self.block(block);
        if self.streams != before {
            self.say("a stream from outside is read under a condition or in a loop without a constant count");
            self.streams = before;
        }
    }

    fn for_loop(&mut self, var: Id, lo: SVal, hi: SVal, step: i32, attr: LoopAttr, body: &'a Block) {
        self.scalar(lo);
        self.scalar(hi);
        if self.f.ty(var) != Type::Scalar {
            self.say("a loop counts in a scalar");
        }
        if step <= 0 {
            return self.say("a loop's step is at least 1");
        }
        let (low, high) = (self.ranges.sval(lo), self.ranges.sval(hi));
        if high.hi + step as i64 > i32::MAX as i64 + 1 && trips(lo, hi, step) != Some(0) {
            self.say("the loop's variable may pass 2^31");
        }
        let _ = low;
        if attr.unroll && trips(lo, hi, step).is_none() {
            self.say("only a loop with constant bounds can be unrolled");
        }
        self.define(var);
        let Some(n) = trips(lo, hi, step) else {
            self.uncounted += 1;
            self.conditional(body);
            self.uncounted -= 1;
            self.defined[var.0 as usize] = false;
            return;
        };
        if n > (1 << 24) - 1 {
            self.say("a loop has fewer than 2^24 trips");
        }
        let (streams, rings, macs) = (self.streams.clone(), self.rings(), self.macs);
        let carried = self.carried();
        if n == 0 {
            // What never runs is checked as if it ran once, and leaves nothing behind.
            let errors = self.errors.len();
            let flights = self.flights.clone();
            self.block(body);
            self.errors.truncate(errors);
            (self.streams, self.flights) = (streams, flights);
            self.defined[var.0 as usize] = false;
            return;
        }
        let (ever, flights) = (self.ever.clone(), self.flights.clone());
        self.block(body);
        let after = self.carried();
        if n > 1 && after != carried {
            // Later trips find in flight what the first has left.
            self.flights.retain(|f| f.ring.is_none());
            self.flights.extend(flights.into_iter().filter(|f| f.ring.is_some()));
            self.streams = streams.clone();
            self.ever = ever;
            let first = self.errors.len();
            self.block(body);
            self.later_trips(first, &after);
        }
        let had_macs = self.macs > macs;
        self.repeat_streams(&streams, n, had_macs);
        self.repeat_rings(&rings, n);
        self.defined[var.0 as usize] = false;
    }

    fn call(&mut self, name: &str, args: &[CallArg]) {
        if self.wheres > 0 {
            self.say("a call inside `where`\nhelp: inline it");
        }
        let Some(callee) = self.m.func(name) else {
            return self.say(format!("no function is called @{name}"));
        };
        if callee.kind == FuncKind::Kernel {
            self.say("a kernel is not called by others");
        }
        if callee.params.len() != args.len() {
            return self.say(format!("@{name} takes {} arguments, not {}", callee.params.len(), args.len()));
        }
        for (p, a) in callee.params.iter().zip(args) {
            let given = match a {
                SVal::Imm(_) => Type::Scalar,
                SVal::Val(id) => match self.f.ty(*id) {
                    Type::ScalarVar => Type::Scalar,
                    ty => ty,
                },
            };
            let pname = callee.name_of(p.id).to_owned();
            match (callee.ty(p.id), given) {
                (Type::Scalar, Type::Scalar) => {
                    let r = self.ranges.sval(*a);
                    if let Some((lo, hi)) = p.range
                        && (r.lo < lo as i64 || r.hi > hi as i64)
                    {
                        self.say(format!(
                            "%{pname} of @{name} is {lo}..={hi}, but the argument may be {}..={}",
                            r.lo, r.hi
                        ));
                    }
                }
                (Type::Ocm(n), Type::Ocm(m)) | (Type::Ext(n), Type::Ext(m)) if m >= n => {
                    if let SVal::Val(id) = a {
                        // The callee waits for its own transfers, so that a moment's look is enough.
                        self.fly_memory(*id, p.dir != Direction::In);
                    }
                }
                (want, have) => self.say(format!("%{pname} of @{name} is {want:?}, not {have:?}")),
            }
        }
    }
}
