//! Software pipelining: `for tile pipelined(n) { flow.in; wait; compute; flow.out; wait }` becomes one flow in and one flow
//! out over rings of n instances around the loop. The flow in fetches the next tiles while this one is computed, the flow out
//! stores the last ones, and each pays its start once.
//!
//! A flow inside counted loops of the body takes one instance a trip, so that chunks of channels leave while the next are
//! computed.
//!
//! The walk of each flow gets the loops around it; at most four loops remain after those of one trip are dropped and those
//! that continue one another are joined. What takes no ring has two buffers in turn (`double_buffer`): a second flow of one
//! direction, as it would wait for the first to end, and origins that are no sums of the loops' variables. What cannot run
//! ahead at all stays as it is, with a [`Note`]: loops without constant bounds, flows under a condition, buffers from outside,
//! tensors that the loop also touches otherwise.

use std::collections::{HashMap, HashSet};

use super::address::Affine;
use super::double_buffer::{self, double_buffer};
use super::merge::merge_fetches;
use super::{CompileError, Note};
use crate::ir::range::trips;
use crate::ir::*;

/// Pipelines every loop that asks for it; flows that stay as they are are noted.
pub fn pipeline(m: &mut Module, notes: &mut Vec<Note>) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        let mut body = std::mem::take(&mut f.body);
        in_block(f, &mut body, notes);
        f.body = body;
    }
    Ok(())
}

fn in_block(f: &mut Func, block: &mut Block, notes: &mut Vec<Note>) {
    for mut op in std::mem::take(block) {
        match &mut op.kind {
            OpKind::For { attr, .. } if attr.pipelined > 0 => pipeline_loop(f, block, op, notes),
            _ => {
                for inner in op.kind.blocks_mut() {
                    in_block(f, inner, notes);
                }
                block.push(op);
            }
        }
    }
}

/// A loop around a flow: variable, first value, step, trips.
type Around = (Id, i64, i64, u64);

/// A flow of the loop's body.
struct Found {
    out: bool,
    token: Id,
    walk: Walk,
    loc: Loc,
    chain: Vec<Around>,
    /// Why it takes no ring.
    reason: Option<String>,
}

struct Search {
    flows: Vec<Found>,
    affine: HashMap<Id, Affine>,
    /// Why a flow here takes no ring.
    reason: Option<String>,
}

fn pipeline_loop(f: &mut Func, out: &mut Block, mut op: Op, notes: &mut Vec<Note>) {
    op.kind.blocks_mut().into_iter().for_each(merge_fetches);
    let mut search = Search { flows: Vec::new(), affine: HashMap::new(), reason: None };
    search.op(&op, &mut Vec::new());
    let OpKind::For { lo, hi, step, attr, body, .. } = &mut op.kind else { unreachable!("the caller found a loop") };
    let instances = std::mem::take(&mut attr.pipelined);
    let mut note = |f: &Func, loc: Loc, what: String| {
        notes.push(Note { func: f.name.clone(), loc, what });
    };
    if search.flows.is_empty() {
        note(f, op.loc, "pipelined loop without a flow".into());
        return out.push(op);
    }
    if trips(*lo, *hi, *step).is_none() || !matches!(lo, SVal::Imm(_)) {
        // What is not counted cannot be walked ahead; the loops inside may be.
        note(f, op.loc, "pipelined loop: its bounds are no constants; the loops inside are pipelined instead".into());
        for inner in body.iter_mut() {
            if let OpKind::For { attr, .. } = &mut inner.kind {
                attr.pipelined = instances.max(attr.pipelined);
            }
        }
        in_block(f, body, notes);
        return out.push(op);
    }
    let late = late_values(body);
    let served: Vec<Served> = (0..search.flows.len()).map(|i| choose(f, &op, &search, i, &late)).collect();
    let mut behind = Vec::new();
    let mut buffered = HashSet::new();
    let OpKind::For { body, .. } = &mut op.kind else { unreachable!("it is a loop") };
    for (found, served) in search.flows.iter().zip(served) {
        match served {
            Served::Ring(ring) => install(f, found, *ring, body, instances.max(2), out, &mut behind),
            Served::Buffers => {
                buffered.insert(found.token);
            }
            Served::Once => {}
            Served::Not(why) => {
                let name = f.name_of(found.token);
                note(f, found.loc, format!("flow %{name} is not pipelined: {why}"));
            }
        }
    }
    out.append(&mut double_buffer(f, op, &buffered));
    out.append(&mut behind);
}

/// How a flow of a pipelined loop is served.
enum Served {
    /// By a ring of instances around the loop: the walk, and what computes its origins.
    Ring(Box<(Walk, Block)>),
    /// By two buffers in turn.
    Buffers,
    /// As it stands, since it brings or takes a single tile: there is none to run ahead for.
    Once,
    /// As it stands: started and waited for.
    Not(String),
}

fn choose(f: &mut Func, op: &Op, search: &Search, i: usize, late: &HashSet<Id>) -> Served {
    let found = &search.flows[i];
    if found.reason.is_none() && found.chain.iter().all(|(.., trips)| *trips == 1) {
        return Served::Once;
    }
    if let Some(why) = contended(f, op, &search.flows, i) {
        return Served::Not(why);
    }
    let OpKind::For { body, .. } = &op.kind else { unreachable!("the caller found a loop") };
    let alone = search.flows.iter().filter(|x| x.out == found.out).count() == 1;
    let own_buffer = search.flows.iter().filter(|x| x.walk.lrm == found.walk.lrm).count() == 1;
    let allocated = allocates(body, found.walk.lrm);
    let mut why = match &found.reason {
        Some(why) => why.clone(),
        None if !alone => "another flow of its direction is in the loop".into(),
        None if !own_buffer => format!("another flow uses %{}", f.name_of(found.walk.lrm)),
        None if !allocated => {
            format!("%{} is allocated outside, so that it has one instance", f.name_of(found.walk.lrm))
        }
        None => match hoisted(f, found, &search.affine, late) {
            Ok(ring) => return Served::Ring(Box::new(ring)),
            Err(why) => why,
        },
    };
    if found.walk.group > 0 {
        return Served::Not(why);
    }
    match double_buffer::serves(f, op, found.token) {
        Ok(()) => Served::Buffers,
        Err(other) => {
            if other != why {
                why = format!("{why}; {other}");
            }
            Served::Not(why)
        }
    }
}

/// Why a flow may not run ahead of the text: something else in the loop touches its tensor, and one of both writes.
fn contended(f: &Func, op: &Op, flows: &[Found], i: usize) -> Option<String> {
    let found = &flows[i];
    // Stores to one tensor come one after the other, unless one stands in a loop beside the other.
    let one_after_the_other = |token: Id| {
        flows.iter().filter(|x| x.token == token).all(|x| {
            let shared = x.chain.iter().zip(&found.chain).take_while(|(a, b)| a.0 == b.0).count();
            x.chain.len() == found.chain.len() || shared < x.chain.len().min(found.chain.len())
        })
    };
    let OpKind::For { body, .. } = &op.kind else { return None };
    let mut tensors = vec![found.walk.buf];
    tensors.extend(found.walk.second.map(|(buf, _)| buf));
    let mut clash = None;
    visit::walk(body, &mut |op| {
        let (written, read): (Vec<Id>, Vec<Id>) = match &op.kind {
            OpKind::Flow { dst, .. } if *dst == found.token => return,
            OpKind::Flow { out: true, dst, .. } if found.out && one_after_the_other(*dst) => return,
            OpKind::Flow { out, walk, .. } => {
                let both = [Some(walk.buf), walk.second.map(|(b, _)| b)].into_iter().flatten().collect();
                if *out { (both, Vec::new()) } else { (Vec::new(), both) }
            }
            OpKind::Bcast { buf, .. } | OpKind::ScalarLoad { buf, .. } => (Vec::new(), vec![*buf]),
            OpKind::Dma { ocm, out, .. } => {
                if *out {
                    (Vec::new(), vec![*ocm])
                } else {
                    (vec![*ocm], Vec::new())
                }
            }
            OpKind::Rau { store, buf, .. } => {
                if *store {
                    (vec![*buf], Vec::new())
                } else {
                    (Vec::new(), vec![*buf])
                }
            }
            OpKind::Drain => (tensors.clone(), tensors.clone()),
            _ => return,
        };
        let meets = |list: &[Id]| list.iter().any(|b| tensors.contains(b));
        if meets(&written) || (found.out && meets(&read)) {
            clash = Some(op.loc);
        }
    });
    // A tensor of the loop's own body has one instance a trip.
    let inside = tensors.iter().any(|t| late_values(body).contains(t));
    let name = f.name_of(found.walk.buf);
    clash
        .map(|_| format!("%{name} is also touched otherwise in the loop"))
        .or_else(|| inside.then(|| format!("%{name} is allocated in the loop")))
}

fn allocates(block: &Block, buf: Id) -> bool {
    let mut found = false;
    visit::walk(block, &mut |op| found |= matches!(op.kind, OpKind::Lrm { dst, .. } if dst == buf));
    found
}

/// Puts a ring around the loop.
fn install(
    f: &mut Func,
    found: &Found,
    (walk, mut origins): (Walk, Block),
    body: &mut Block,
    n_ring: u32,
    out: &mut Block,
    behind: &mut Block,
) {
    let in_bursts = bursts(body, found.chain.len() - 1, found.token);
    let buf = walk.lrm;
    let alloc = take_alloc(body, buf).expect("the buffer is allocated in the loop");
    if let Type::Lrm { elem, n, ring } = &mut f.values[buf.0 as usize].ty {
        *ring = if in_bursts { n_ring.max(deep(*n * elem.bytes())) } else { n_ring };
    }
    out.append(&mut origins);
    out.push(alloc);
    out.push(Op { kind: OpKind::Flow { out: found.out, dst: found.token, walk: Box::new(walk) }, loc: found.loc });
    ring_ops(body, found.token);
    if found.out {
        behind.push(Op { kind: OpKind::Wait { token: found.token }, loc: found.loc });
    }
}

/// Operations between two bursts of chunks from which on a deeper ring pays for its address arithmetic.
const BURST: u64 = 16;

/// Whether the chunks of a flow come in bursts, with other work between them: the levels of loops around the chunk's block,
/// the pipelined one apart.
fn bursts(body: &Block, levels: usize, token: Id) -> bool {
    fn work(block: &Block) -> u64 {
        let of = |op: &Op| match &op.kind {
            OpKind::Alu { .. }
            | OpKind::Sel { .. }
            | OpKind::Lut { .. }
            | OpKind::Mac { .. }
            | OpKind::Shift { .. } => 1,
            OpKind::For { lo, hi, step, body, .. } => trips(*lo, *hi, *step).unwrap_or(1).saturating_mul(work(body)),
            kind => kind.blocks().into_iter().map(work).sum(),
        };
        block.iter().map(of).sum()
    }
    let mut block = body;
    for _ in 0..levels {
        let inner = block.iter().find_map(|op| match &op.kind {
            OpKind::For { body, .. } if starts(body, token) => Some((op, body)),
            _ => None,
        });
        let Some((op, body)) = inner else { return false };
        let around = work(block) - work(&vec![op.clone()]);
        if around > BURST {
            return true;
        }
        block = body;
    }
    false
}

fn starts(block: &Block, token: Id) -> bool {
    let mut found = false;
    visit::walk(block, &mut |op| found |= matches!(op.kind, OpKind::Flow { dst, .. } if dst == token));
    found
}

/// Instances of a chunk of so many bytes where chunks come in bursts.
const fn deep(bytes: u32) -> u32 {
    match bytes {
        0..=8 => 16,
        9..=16 => 8,
        17..=64 => 4,
        _ => 2,
    }
}

impl Search {
    fn op(&mut self, op: &Op, chain: &mut Vec<Around>) {
        let affine = &self.affine;
        let known = Affine::of_op(&op.kind, &|s| match s {
            SVal::Imm(v) => Some(Affine::number(v as i64)),
            SVal::Val(id) => Some(affine.get(&id).cloned().unwrap_or_else(|| Affine::variable(id))),
        });
        if let Some((id, value)) = known {
            self.affine.insert(id, value);
        }
        match &op.kind {
            OpKind::Flow { out, dst, walk } => {
                let (token, walk, chain) = (*dst, (**walk).clone(), chain.clone());
                let ring = (walk.group > 0).then(|| "it already has a ring".to_owned());
                let reason = self.reason.clone().or(ring);
                self.flows.push(Found { out: *out, token, walk, loc: op.loc, chain, reason });
            }
            OpKind::For { var, lo, hi, step, body, .. } => {
                let (first, n) = (*lo, trips(*lo, *hi, *step));
                match (first, n) {
                    (SVal::Imm(lo), Some(n)) => {
                        chain.push((*var, lo as i64, *step as i64, n));
                        let why = (n == 0).then_some("a loop around it has no trips");
                        self.inside(why, &[body], chain);
                        chain.pop();
                    }
                    _ => self.inside(Some("the bounds of a loop around it are no constants"), &[body], chain),
                }
            }
            OpKind::Region { body, .. } => self.inside(None, &[body], chain),
            kind => self.inside(Some("it is under a condition"), &kind.blocks(), chain),
        }
    }

    /// What is inside an operation; a reason holds for every flow there.
    fn inside(&mut self, why: Option<&str>, blocks: &[&Block], chain: &mut Vec<Around>) {
        let outer = self.reason.clone();
        if let Some(why) = why {
            self.reason.get_or_insert_with(|| why.to_owned());
        }
        blocks.iter().copied().flatten().for_each(|op| self.op(op, chain));
        self.reason = outer;
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// The walk with the loops around the flow in it; scalars that it needs are set before the loop.
fn hoisted(
    f: &mut Func,
    found: &Found,
    affine: &HashMap<Id, Affine>,
    late: &HashSet<Id>,
) -> Result<(Walk, Block), String> {
    let mut out = Block::new();
    let mut walk = found.walk.clone();
    let mut factors = [[0i64; 4]; 16];
    if found.chain.len() > 16 {
        return Err("more than 16 loops around a flow".into());
    }
    let mut origins = [walk.at, walk.x0, walk.y0, walk.second.map_or(SVal::Imm(0), |(_, at)| at)];
    for (k, origin) in origins.iter_mut().enumerate() {
        let value = match *origin {
            SVal::Imm(v) => Affine::number(v as i64),
            SVal::Val(id) => affine.get(&id).cloned().unwrap_or_else(|| Affine::variable(id)),
        };
        let mut constant = value.constant;
        let mut outer = None;
        for (id, factor) in &value.terms {
            match found.chain.iter().position(|(var, ..)| var == id) {
                Some(i) => {
                    let (_, lo, step, _) = found.chain[i];
                    factors[i][k] = factor * step;
                    constant += factor * lo;
                }
                None if outer.is_none() && *factor == 1 && f.ty(*id) == Type::Scalar && !late.contains(id) => {
                    outer = Some(*id);
                }
                None => return Err(format!("an origin is no sum of the loops' variables: %{}", f.name_of(*id))),
            }
        }
        *origin = match outer {
            None => SVal::Imm(i32::try_from(constant).map_err(|_| "an origin beyond 32 bits".to_owned())?),
            Some(id) if constant == 0 => SVal::Val(id),
            Some(id) => {
                let sum = f.fresh("origin", Type::Scalar);
                let b = SVal::Imm(constant as i32);
                let kind = OpKind::Scalar { op: SOp::Add, dst: SDst::Def(sum), a: SVal::Val(id), b };
                out.push(Op { kind, loc: found.loc });
                SVal::Val(sum)
            }
        };
    }
    [walk.at, walk.x0, walk.y0, _] = origins;
    if let Some((_, at)) = &mut walk.second {
        *at = origins[3];
        if factors.iter().any(|f| f[0] != f[3]) {
            return Err("the two tensors of a flow advance by different bytes".into());
        }
    }
    let group = walk.tiles();
    // Bytes that a loop advances become planes; their pitch is what divides all of them.
    let own = walk.loops.iter().any(|l| l.dp != 0);
    let bytes = (0..found.chain.len()).fold(if own { walk.plane as i64 } else { 0 }, |g, i| gcd(g, factors[i][0]));
    if bytes != 0 && bytes != walk.plane as i64 {
        if own {
            let ratio = walk.plane as i64 / bytes;
            for l in &mut walk.loops {
                l.dp = i32::try_from(l.dp as i64 * ratio).map_err(|_| "steps of a walk beyond 2^24".to_owned())?;
            }
        }
        walk.plane = bytes as u32;
    }
    let mut loops: Vec<WalkLoop> = walk.loops.iter().filter(|l| l.n > 1).copied().collect();
    for (i, (_, _, _, n)) in found.chain.iter().enumerate().rev() {
        if *n <= 1 {
            continue;
        }
        let dp = if bytes == 0 { 0 } else { factors[i][0] / bytes };
        let next = WalkLoop { n: *n as u32, dx: factors[i][1] as i32, dy: factors[i][2] as i32, dp: dp as i32 };
        match loops.last_mut() {
            Some(last) if continues(last, &next) => last.n *= next.n,
            _ => loops.push(next),
        }
    }
    let have = if walk.second.is_some() { 3 } else { 4 };
    if loops.len() > have {
        return Err(format!("the walk of a flow would have {} loops, and there are {have}", loops.len()));
    }
    walk.loops = loops;
    walk.group = group as u32;
    if group > 1 && walk.slot_step == 0 {
        walk.slot_step = walk.elem.bytes();
    }
    Ok((walk, out))
}

/// Whether an outer loop goes on where the inner one ends.
fn continues(inner: &WalkLoop, outer: &WalkLoop) -> bool {
    let n = inner.n as i64;
    [(inner.dx, outer.dx), (inner.dy, outer.dy), (inner.dp, outer.dp)].iter().all(|(i, o)| *i as i64 * n == *o as i64)
}

/// What is defined in the loop: not there before it.
fn late_values(body: &Block) -> HashSet<Id> {
    let mut late = HashSet::new();
    visit::walk(body, &mut |op| {
        op.kind.defs(&mut |id| {
            late.insert(id);
        })
    });
    late
}

/// Takes a buffer's allocation out of a block or one inside it.
fn take_alloc(block: &mut Block, buf: Id) -> Option<Op> {
    if let Some(i) = block.iter().position(|op| matches!(op.kind, OpKind::Lrm { dst, .. } if dst == buf)) {
        return Some(block.remove(i));
    }
    block.iter_mut().find_map(|op| op.kind.blocks_mut().into_iter().find_map(|b| take_alloc(b, buf)))
}

/// Puts the ring's operations where the flow's were. An instance is held for the whole of the block: loads and stores between
/// can then become operands, and with two instances the engine works on the other one meanwhile.
fn ring_ops(block: &mut Block, token: Id) {
    let start = block.iter().position(|op| matches!(op.kind, OpKind::Flow { dst, .. } if dst == token));
    let Some(start) = start else {
        block.iter_mut().for_each(|op| op.kind.blocks_mut().into_iter().for_each(|b| ring_ops(b, token)));
        return;
    };
    let wait = block.iter().position(|op| matches!(op.kind, OpKind::Wait { token: t } if t == token));
    let wait = wait.expect("a verified flow is waited for in its block");
    let loc = block[start].loc;
    let out = matches!(block[start].kind, OpKind::Flow { out: true, .. });
    let op = |kind| Op { kind, loc };
    if out {
        block.remove(wait);
        block[start].kind = OpKind::Push { flow: token };
        block.insert(0, op(OpKind::Acquire { flow: token }));
    } else {
        block[wait].kind = OpKind::Acquire { flow: token };
        block.remove(start);
        block.push(op(OpKind::Release { flow: token }));
    }
}
