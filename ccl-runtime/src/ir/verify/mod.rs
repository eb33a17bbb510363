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

mod buffer;
mod control;
mod counts;
mod operand;
mod operation;
mod transfers;

use std::collections::{HashMap, HashSet};

use iss::target::Target;

use super::range::Ranges;
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
}
