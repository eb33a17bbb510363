//! Software pipelining: `for tile pipelined(n) { flow.in; wait; compute; flow.out; wait }` becomes one flow in and one flow
//! out over rings of n instances around the loop. The flow in fetches the next tiles while this one is computed, the flow out
//! stores the last ones, and each pays its start once.
//!
//! A flow inside counted loops of the body takes one instance a trip, so that chunks of channels leave while the next are
//! computed. A stream that every trip starts anew becomes one stream that repeats.
//!
//! The walk of each flow gets the loops around it; at most four loops remain after those of one trip are dropped and those
//! that continue one another are joined. Refused, by name: a second flow of one direction, as it would wait for the first to
//! end; loops without constant bounds; a buffer that is also used outside; origins that are no sums of the loops' variables.

use std::collections::{HashMap, HashSet};

use iss::target::Target;

use super::CompileError;
use super::address::Affine;
use crate::ir::range::trips;
use crate::ir::*;

/// Pipelines every loop that asks for it.
pub fn pipeline(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        let mut body = std::mem::take(&mut f.body);
        let done = in_block(f, &mut body);
        f.body = body;
        done?;
    }
    Ok(())
}

fn in_block(f: &mut Func, block: &mut Block) -> Result<(), CompileError> {
    for mut op in std::mem::take(block) {
        match &mut op.kind {
            OpKind::For { attr, .. } if attr.pipelined > 0 => pipeline_loop(f, block, op)?,
            _ => {
                for inner in op.kind.blocks_mut() {
                    in_block(f, inner)?;
                }
                block.push(op);
            }
        }
    }
    Ok(())
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
}

struct Search {
    flows: Vec<Found>,
    streams: Vec<(Op, Vec<Around>)>,
    affine: HashMap<Id, Affine>,
    error: Option<(Loc, String)>,
}

fn pipeline_loop(f: &mut Func, out: &mut Block, mut op: Op) -> Result<(), CompileError> {
    let fail = |f: &Func, loc: Loc, what: String| {
        Err(CompileError::Unsupported { func: f.name.clone(), loc, what: format!("pipelined loop: {what}") })
    };
    let mut search = Search { flows: Vec::new(), streams: Vec::new(), affine: HashMap::new(), error: None };
    search.op(&op, &mut Vec::new(), true);
    if let Some((loc, what)) = search.error {
        return fail(f, loc, what);
    }
    let OpKind::For { attr, body, .. } = &mut op.kind else { unreachable!("the caller found a loop") };
    let instances = std::mem::take(&mut attr.pipelined);
    if search.flows.is_empty() {
        return fail(f, op.loc, "no flow is in it\nhelp: leave `pipelined` out".into());
    }
    for direction in [false, true] {
        if let [_, second, ..] = search.flows.iter().filter(|x| x.out == direction).collect::<Vec<_>>()[..] {
            let word = if direction { "out" } else { "in" };
            let what = format!(
                "a second flow {word} would wait for the first to end\nhelp: walk two tensors in one flow: `flow.in %a[..] and %b[..]`"
            );
            return fail(f, second.loc, what);
        }
    }
    let mut behind = Vec::new();
    let late = late_values(body);
    let in_bursts: Vec<bool> = search.flows.iter().map(|x| bursts(body, x.chain.len() - 1, x.token)).collect();
    let n_ring = instances.max(2);
    for (found, in_bursts) in search.flows.iter().zip(in_bursts) {
        let walk = match hoisted(f, found, &search.affine, &late, out) {
            Ok(walk) => walk,
            Err(what) => return fail(f, found.loc, what),
        };
        let buf = walk.lrm;
        let Some(alloc) = take_alloc(body, buf) else {
            let name = f.name_of(buf).to_owned();
            return fail(
                f,
                found.loc,
                format!("%{name} is allocated outside, so that it has one instance\nhelp: allocate it in the loop"),
            );
        };
        if let Type::Lrm { elem, n, ring } = &mut f.values[buf.0 as usize].ty {
            *ring = if in_bursts { n_ring.max(deep(*n * elem.bytes())) } else { n_ring };
        }
        out.push(alloc);
        out.push(Op { kind: OpKind::Flow { out: found.out, dst: found.token, walk: Box::new(walk) }, loc: found.loc });
        ring_ops(body, found.token);
        if found.out {
            behind.push(Op { kind: OpKind::Wait { token: found.token }, loc: found.loc });
        }
    }
    repeat_stream(f, body, out, &search.streams);
    out.push(op);
    out.append(&mut behind);
    Ok(())
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
    fn op(&mut self, op: &Op, chain: &mut Vec<Around>, outermost: bool) {
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
                if walk.group > 0 {
                    self.error.get_or_insert((op.loc, "it already has a ring".into()));
                }
                let (token, walk, chain) = (*dst, (**walk).clone(), chain.clone());
                self.flows.push(Found { out: *out, token, walk, loc: op.loc, chain });
            }
            OpKind::Bcast { .. } => self.streams.push((op.clone(), chain.clone())),
            OpKind::For { var, lo, hi, step, body, .. } => {
                let (SVal::Imm(lo), Some(n)) = (*lo, trips(*lo, *hi, *step)) else {
                    if outermost || has_flow(body) {
                        self.error.get_or_insert((op.loc, "its bounds are no constants".into()));
                    }
                    return;
                };
                if n == 0 && has_flow(body) {
                    self.error.get_or_insert((op.loc, "it has no trips".into()));
                }
                chain.push((*var, lo as i64, *step as i64, n));
                body.iter().for_each(|op| self.op(op, chain, false));
                chain.pop();
            }
            kind => {
                let blocks = kind.blocks();
                match kind {
                    OpKind::Region { body, .. } => body.iter().for_each(|op| self.op(op, chain, false)),
                    _ if blocks.into_iter().any(has_flow) => {
                        self.error.get_or_insert((op.loc, "a flow is under a condition".into()));
                    }
                    _ => {}
                }
            }
        }
    }
}

fn has_flow(block: &Block) -> bool {
    let mut found = false;
    visit::walk(block, &mut |op| found |= matches!(op.kind, OpKind::Flow { .. }));
    found
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
    out: &mut Block,
) -> Result<Walk, String> {
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
    Ok(walk)
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

/// One stream that repeats instead of one a trip, if it is the loop's only one and every trip reads the same.
fn repeat_stream(f: &Func, body: &mut Block, out: &mut Block, streams: &[(Op, Vec<Around>)]) {
    let [(op, chain)] = streams else { return };
    let OpKind::Bcast { dst, buf, at, n1: 1, .. } = op.kind else { return };
    let fixed = match at {
        SVal::Imm(_) => true,
        SVal::Val(id) => f.params.iter().any(|p| p.id == id),
    };
    let times = chain.iter().try_fold(1u64, |n, (.., trips)| n.checked_mul(*trips)).unwrap_or(u64::MAX);
    let (mut n_streams, mut n_uses) = (0, 0);
    visit::walk(body, &mut |op| {
        n_streams += u32::from(matches!(op.kind, OpKind::Bcast { .. }));
        op.kind.uses(&mut |id| n_uses += u32::from(id == buf));
    });
    // Another stream would come behind this one; who else touches the buffer may write it.
    if !fixed || times >= 1 << 24 || late_values(body).contains(&buf) || n_streams != 1 || n_uses != 1 {
        return;
    }
    if remove_op(body, dst)
        && let OpKind::Bcast { dst, buf, at, n0, step0, .. } = op.kind
    {
        let kind = OpKind::Bcast { dst, buf, at, n0, step0, n1: times as u32, step1: 0 };
        out.push(Op { kind, loc: op.loc });
    }
}

fn remove_op(block: &mut Block, stream: Id) -> bool {
    if let Some(i) = block.iter().position(|op| matches!(op.kind, OpKind::Bcast { dst, .. } if dst == stream)) {
        block.remove(i);
        return true;
    }
    block.iter_mut().any(|op| op.kind.blocks_mut().into_iter().any(|b| remove_op(b, stream)))
}
