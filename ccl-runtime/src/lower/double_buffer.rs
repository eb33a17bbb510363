//! Double buffering of flows that no ring can serve: several of one direction in a loop, since an engine works on one flow
//! after the other and a ring holds it to the loop's end.
//!
//! Each local buffer has two instances, used by the trips in turn; which one is known where the code is written, so that
//! addresses are numbers. A trip starts what the next one fetches before it computes, two fetches at most under way, since the
//! engine holds no more; the first trip's are started before the loop. A store is waited for right before the next one of its tensor
//! starts. The last trip of each loop is written out, since what follows it is the next trip of the loop around, or nothing.

use std::collections::{HashMap, HashSet};

use super::inline::copy_block;
use super::unroll::substitute;
use crate::ir::range::trips;
use crate::ir::*;

/// Operations that a nest may grow to before only its innermost loop is treated.
const LARGE: usize = 1 << 16;

/// A loop of the nest: its variable and trips, and what stands before and behind the next inner loop. In the innermost one
/// `before` is the body.
struct Level {
    var: Id,
    lo: i32,
    step: i32,
    n: u64,
    unroll: bool,
    loc: Loc,
    before: Block,
    behind: Block,
}

impl Level {
    /// Value of the variable in a trip.
    fn at(&self, trip: u64) -> i32 {
        self.lo.wrapping_add((trip as i32).wrapping_mul(self.step))
    }
}

/// A flow of the innermost loop.
struct Buffered {
    token: Id,
    walk: Walk,
    loc: Loc,
    /// Token of a store, which all stores to its tensor share.
    shared: Option<Id>,
}

/// Rewrites the loops of an operation around the flows of the given tokens.
pub(super) fn double_buffer(f: &mut Func, op: Op, tokens: &HashSet<Id>) -> Block {
    if !holds(std::slice::from_ref(&op), tokens) {
        return vec![op];
    }
    let mut op = op;
    // Flows deeper than those of a loop's own body have loops of their own.
    if let OpKind::For { body, .. } = &mut op.kind
        && direct(body, tokens)
    {
        let own: HashSet<Id> = body.iter().filter_map(|op| started(op, tokens)).collect();
        let others: HashSet<Id> = tokens.difference(&own).copied().collect();
        expand(f, body, &others);
        return Nest::new(f, op, &own, &[]).map_or_else(|op| vec![*op], |nest| nest.block());
    }
    match chain(&op, tokens) {
        Some(path) => Nest::new(f, op, tokens, &path).map_or_else(|op| vec![*op], |nest| nest.block()),
        None => {
            op.kind.blocks_mut().into_iter().for_each(|block| expand(f, block, tokens));
            vec![op]
        }
    }
}

fn expand(f: &mut Func, block: &mut Block, tokens: &HashSet<Id>) {
    for op in std::mem::take(block) {
        block.append(&mut double_buffer(f, op, tokens));
    }
}

/// The token of a flow that the operation starts, if it is one of these.
fn started(op: &Op, tokens: &HashSet<Id>) -> Option<Id> {
    match op.kind {
        OpKind::Flow { dst, .. } if tokens.contains(&dst) => Some(dst),
        _ => None,
    }
}

fn direct(block: &Block, tokens: &HashSet<Id>) -> bool {
    block.iter().any(|op| started(op, tokens).is_some())
}

fn holds(block: &[Op], tokens: &HashSet<Id>) -> bool {
    block.iter().any(|op| started(op, tokens).is_some() || op.kind.blocks().iter().any(|b| holds(b, tokens)))
}

/// Positions of the loops, one in the other, from an outer loop to the one whose body has all the flows, if the nest is one.
fn chain(op: &Op, tokens: &HashSet<Id>) -> Option<Vec<usize>> {
    let OpKind::For { lo, hi, step, body, .. } = &op.kind else { return None };
    let n = trips(*lo, *hi, *step)?;
    if n == 0 {
        return None;
    }
    if direct(body, tokens) {
        return body.iter().all(|op| op.kind.blocks().iter().all(|b| !holds(b, tokens))).then(Vec::new);
    }
    let mut inner = body.iter().enumerate().filter(|(_, op)| holds(std::slice::from_ref(*op), tokens));
    let (Some((at, next)), None) = (inner.next(), inner.next()) else { return None };
    let mut path = chain(next, tokens)?;
    path.insert(0, at);
    Some(path)
}

/// Whether double buffering can serve a flow: it stands in the body of a counted loop, with its buffer, and where it begins
/// can be computed one trip ahead.
pub(super) fn serves(f: &Func, op: &Op, token: Id) -> Result<(), String> {
    let tokens = HashSet::from([token]);
    let Some(OpKind::For { lo, hi, step, body, .. }) = home(op, &tokens) else {
        return Err("it is not in the body of a loop itself".into());
    };
    if trips(*lo, *hi, *step).is_none_or(|n| n == 0) || !matches!(lo, SVal::Imm(_)) {
        return Err("the bounds of its loop are no constants".into());
    }
    let flow = body.iter().find(|op| started(op, &tokens).is_some());
    let Some(OpKind::Flow { out, walk, .. }) = flow.map(|op| &op.kind) else {
        return Err("it is not in the body of a loop itself".into());
    };
    if !body.iter().any(|op| matches!(op.kind, OpKind::Lrm { dst, .. } if dst == walk.lrm)) {
        return Err(format!("%{} is allocated outside of its loop, so that it has one instance", f.name_of(walk.lrm)));
    }
    let slice = Slice::of(std::slice::from_ref(op));
    let mut origins = vec![walk.at, walk.x0, walk.y0];
    origins.extend(walk.second.map(|(_, at)| at));
    if !*out && !origins.into_iter().all(|at| slice.pure(f, at)) {
        return Err("where it begins is known only in its own trip".into());
    }
    Ok(())
}

/// The loop whose body starts the flow.
fn home<'a>(op: &'a Op, tokens: &HashSet<Id>) -> Option<&'a OpKind> {
    match &op.kind {
        kind @ OpKind::For { body, .. } if direct(body, tokens) => Some(kind),
        kind => kind.blocks().into_iter().flatten().find_map(|op| home(op, tokens)),
    }
}

/// Scalar operations by what they define.
struct Slice {
    ops: HashMap<Id, OpKind>,
    defined: HashSet<Id>,
    vars: HashSet<Id>,
}

impl Slice {
    fn of(ops: &[Op]) -> Self {
        let mut slice = Slice { ops: HashMap::new(), defined: HashSet::new(), vars: HashSet::new() };
        let mut visit = |op: &Op| {
            op.kind.defs(&mut |id| {
                slice.defined.insert(id);
            });
            match &op.kind {
                OpKind::Scalar { dst: SDst::Def(id), .. } | OpKind::ScalarSet { dst: SDst::Def(id), .. } => {
                    slice.ops.insert(*id, op.kind.clone());
                }
                OpKind::For { var, .. } => {
                    slice.vars.insert(*var);
                }
                _ => {}
            }
        };
        for op in ops {
            visit(op);
            op.kind.blocks().into_iter().for_each(|b| visit::walk(b, &mut visit));
        }
        slice
    }

    /// Whether a scalar depends only on variables of loops and on what was there before them.
    fn pure(&self, f: &Func, s: SVal) -> bool {
        let SVal::Val(id) = s else { return true };
        if self.vars.contains(&id) {
            return true;
        }
        match self.ops.get(&id) {
            Some(OpKind::Scalar { op, a, b, .. }) => self.pure(f, *a) && (*op == SOp::Mov || self.pure(f, *b)),
            Some(OpKind::ScalarSet { a, b, .. }) => self.pure(f, *a) && self.pure(f, *b),
            _ => !self.defined.contains(&id) && f.ty(id) == Type::Scalar,
        }
    }

    /// The operations that compute a scalar for other values of the variables.
    fn compute(&self, f: &mut Func, s: SVal, known: &mut HashMap<Id, SVal>, out: &mut Block, loc: Loc) -> SVal {
        let SVal::Val(id) = s else { return s };
        if let Some(known) = known.get(&id) {
            return *known;
        }
        let Some(kind) = self.ops.get(&id) else { return s };
        let mut kind = kind.clone();
        let new = f.fresh_like(id, Type::Scalar);
        match &mut kind {
            OpKind::Scalar { dst, a, b, .. } | OpKind::ScalarSet { dst, a, b, .. } => {
                *a = self.compute(f, *a, known, out, loc);
                *b = self.compute(f, *b, known, out, loc);
                *dst = SDst::Def(new);
            }
            _ => unreachable!("only scalar operations are kept"),
        }
        out.push(Op { kind, loc });
        known.insert(id, SVal::Val(new));
        SVal::Val(new)
    }
}

struct Nest<'a> {
    f: &'a mut Func,
    levels: Vec<Level>,
    ins: Vec<Buffered>,
    outs: Vec<Buffered>,
    /// Tokens of the fetches, in turn: as many as the engine holds.
    fetching: [Id; 2],
    /// Two instances of each buffer, and its alignment.
    buffers: Vec<(Id, [Id; 2], u32)>,
    slice: Slice,
}

impl<'a> Nest<'a> {
    /// The nest of loops along a path of positions; the operation itself if the code would grow too much.
    fn new(f: &'a mut Func, op: Op, tokens: &HashSet<Id>, path: &[usize]) -> Result<Self, Box<Op>> {
        let mut size = 0;
        visit::walk(std::slice::from_ref(&op).to_vec().as_ref(), &mut |_| size += 1);
        if size << (2 * path.len() + 2).min(40) > LARGE && !path.is_empty() {
            // Only the innermost loop, with nothing in flight between its runs.
            let mut op = op;
            if let OpKind::For { body, .. } = &mut op.kind {
                expand(f, body, tokens);
            }
            return Err(Box::new(op));
        }
        let slice = Slice::of(std::slice::from_ref(&op));
        let mut levels = Vec::new();
        let mut next = Some(op);
        let mut path = path.iter();
        while let Some(op) = next.take() {
            let OpKind::For { var, lo: SVal::Imm(lo), hi, step, attr, mut body } = op.kind else {
                unreachable!("the loops of a nest were looked at")
            };
            let n = trips(SVal::Imm(lo), hi, step).expect("the loops of a nest are counted");
            let mut behind = Vec::new();
            if let Some(at) = path.next() {
                behind = body.split_off(at + 1);
                next = body.pop();
            }
            levels.push(Level { var, lo, step, n, unroll: attr.unroll, loc: op.loc, before: body, behind });
        }
        let fetching = [f.fresh("fetch", Type::Flow), f.fresh("fetch", Type::Flow)];
        let mut nest = Nest { f, levels, fetching, ins: Vec::new(), outs: Vec::new(), buffers: Vec::new(), slice };
        nest.find_flows(tokens);
        Ok(nest)
    }

    fn body(&self) -> &Block {
        &self.levels.last().expect("a nest has loops").before
    }

    fn find_flows(&mut self, tokens: &HashSet<Id>) {
        let flows: Vec<(bool, Id, Walk, Loc)> = self
            .body()
            .iter()
            .filter(|op| started(op, tokens).is_some())
            .filter_map(|op| match &op.kind {
                OpKind::Flow { out, dst, walk } => Some((*out, *dst, (**walk).clone(), op.loc)),
                _ => None,
            })
            .collect();
        for (out, token, walk, loc) in flows {
            if !self.buffers.iter().any(|(buf, ..)| *buf == walk.lrm) {
                let align = self.body().iter().find_map(|op| match op.kind {
                    OpKind::Lrm { dst, align } if dst == walk.lrm => Some(align),
                    _ => None,
                });
                let ty = self.f.ty(walk.lrm);
                let two = [self.f.fresh_like(walk.lrm, ty), self.f.fresh_like(walk.lrm, ty)];
                self.buffers.push((walk.lrm, two, align.expect("the buffer is allocated in the loop")));
            }
            let mut shared = self.outs.iter().find(|o| out && o.walk.buf == walk.buf).and_then(|o| o.shared);
            if out && shared.is_none() {
                shared = Some(self.f.fresh_like(token, Type::Flow));
            }
            if out { &mut self.outs } else { &mut self.ins }.push(Buffered { token, walk, loc, shared });
        }
    }

    /// The whole: instances, tokens, the first fetches, the loops, the last stores.
    fn block(mut self) -> Block {
        let mut out = Block::new();
        let loc = self.levels[0].loc;
        let op = |kind| Op { kind, loc };
        for (_, two, align) in &self.buffers {
            out.extend(two.map(|dst| op(OpKind::Lrm { dst, align: *align })));
        }
        let mut stores: Vec<Id> = self.outs.iter().filter_map(|o| o.shared).collect();
        stores.sort_unstable();
        stores.dedup();
        let fetching = if self.ins.is_empty() { &[][..] } else { &self.fetching };
        out.extend(fetching.iter().chain(&stores).map(|dst| op(OpKind::Idle { dst: *dst })));
        for token in &stores {
            let first = self.outs.iter().find(|o| o.shared == Some(*token)).expect("a token has a store");
            let kind = OpKind::Restart { out: true, flow: *token, walk: Box::new(self.nothing(&first.walk)) };
            out.push(op(kind));
        }
        let first: Vec<SVal> = self.levels.iter().map(|l| SVal::Imm(l.lo)).collect();
        for (i, mut fetch) in self.fetches(&first, 0).into_iter().enumerate() {
            if i > 1 {
                out.push(op(OpKind::Wait { token: self.token(0, i) }));
            }
            out.append(&mut fetch);
        }
        let (mut nest, _) = self.nest(&[], 0, None);
        out.append(&mut nest);
        out.extend(stores.into_iter().map(|token| op(OpKind::Wait { token })));
        out
    }

    /// A store that writes nothing, so that each trip finds one in flight: a tile beside the tensor.
    fn nothing(&self, walk: &Walk) -> Walk {
        let still = |l: &WalkLoop| WalkLoop { n: l.n, dx: 0, dy: 0, dp: 0 };
        Walk {
            at: SVal::Imm(0),
            x0: SVal::Imm(walk.width as i32),
            y0: SVal::Imm(0),
            rows: 1,
            cols: 1,
            loops: walk.loops.iter().map(still).collect(),
            lrm: self.instance(walk.lrm, 1),
            ..walk.clone()
        }
    }

    fn instance(&self, buf: Id, p: usize) -> Id {
        self.buffers.iter().find(|(b, ..)| *b == buf).map_or(buf, |(_, two, _)| two[p])
    }

    /// Token of a fetch of the trips on instance `p`: fetches take them in turn, from trip to trip.
    fn token(&self, p: usize, i: usize) -> Id {
        self.fetching[(p * self.ins.len() + i) % 2]
    }

    /// Starts of the fetches of the trip with these values of the variables, each with what computes its origin.
    fn fetches(&mut self, values: &[SVal], p: usize) -> Vec<Block> {
        let mut known: HashMap<Id, SVal> = self.levels.iter().map(|l| l.var).zip(values.iter().copied()).collect();
        let mut list = Vec::new();
        for i in 0..self.ins.len() {
            let Buffered { walk, loc, .. } = &self.ins[i];
            let (mut walk, flow, loc) = (walk.clone(), self.token(p, i), *loc);
            let mut block = Block::new();
            let slice = &self.slice;
            let mut at = |s: SVal| slice.compute(self.f, s, &mut known, &mut block, loc);
            (walk.at, walk.x0, walk.y0) = (at(walk.at), at(walk.x0), at(walk.y0));
            walk.second = walk.second.map(|(buf, s)| (buf, at(s)));
            walk.lrm = self.instance(walk.lrm, p);
            block.push(Op { kind: OpKind::Restart { out: false, flow, walk: Box::new(walk) }, loc });
            list.push(block);
        }
        list
    }

    /// Instances change with each trip of the innermost loop: whether they differ after a trip of a level.
    fn turns(&self, level: usize) -> usize {
        self.levels[level + 1..].iter().map(|l| (l.n % 2) as usize).product()
    }

    /// The loops from a level on, the first trip on instance `p`; `next` are the variables' values in the trip that follows.
    /// Also the instance of that trip.
    fn nest(&mut self, outer: &[SVal], p: usize, next: Option<&[SVal]>) -> (Block, usize) {
        let level = outer.len();
        let turns = self.turns(level);
        let (n, period) = (self.levels[level].n, 1 + turns as u64);
        let (var, step, lo) = (self.levels[level].var, self.levels[level].step, self.levels[level].lo);
        let (unroll, loc) = (self.levels[level].unroll, self.levels[level].loc);
        let first: Vec<SVal> = self.levels[level + 1..].iter().map(|l| SVal::Imm(l.lo)).collect();
        let values = |own: SVal| [outer, &[own], &first[..]].concat();
        let rounds = (n - 1) / period;
        let (mut out, mut p) = (Block::new(), p);
        if rounds > 0 {
            let count = self.f.fresh_like(var, Type::Scalar);
            let mut body = Block::new();
            let mut own = SVal::Val(count);
            for k in 1..=period {
                let dst = self.f.fresh_like(var, Type::Scalar);
                let kind = OpKind::Scalar {
                    op: SOp::Add,
                    dst: SDst::Def(dst),
                    a: SVal::Val(count),
                    b: SVal::Imm(step.wrapping_mul(k as i32)),
                };
                body.push(Op { kind, loc });
                let next = values(SVal::Val(dst));
                let mut trip = self.trip(outer, own, p, Some(&next));
                body.append(&mut trip);
                (own, p) = (SVal::Val(dst), p ^ turns);
            }
            let hi = SVal::Imm(self.levels[level].at(rounds * period));
            let attr = LoopAttr { unroll, pipelined: 0 };
            let kind = OpKind::For { var: count, lo: SVal::Imm(lo), hi, step: step * period as i32, attr, body };
            out.push(Op { kind, loc });
        }
        for trip in rounds * period..n {
            let own = SVal::Imm(self.levels[level].at(trip));
            let following = (trip + 1 < n).then(|| values(SVal::Imm(self.levels[level].at(trip + 1))));
            let mut block = self.trip(outer, own, p, following.as_deref().or(next));
            out.append(&mut block);
            p ^= turns;
        }
        (out, p)
    }

    /// One trip of a level.
    fn trip(&mut self, outer: &[SVal], own: SVal, p: usize, next: Option<&[SVal]>) -> Block {
        let level = outer.len();
        let mut block = if level + 1 == self.levels.len() {
            self.innermost(p, next)
        } else {
            let mut block = self.levels[level].before.clone();
            let (mut inner, _) = self.nest(&[outer, &[own]].concat(), p, next);
            block.append(&mut inner);
            block.extend(self.levels[level].behind.iter().cloned());
            block
        };
        let var = self.levels[level].var;
        visit::walk_mut(&mut block, &mut |op| match own {
            SVal::Imm(value) => substitute(&mut op.kind, var, value),
            SVal::Val(_) => {}
        });
        if let SVal::Val(id) = own {
            block.iter_mut().for_each(|op| op.kind.map_ids(&mut |old| if old == var { id } else { old }));
        }
        copy_block(self.f, &block)
    }

    /// The body on instance `p`.
    fn innermost(&mut self, p: usize, next: Option<&[SVal]>) -> Block {
        let loc = self.levels.last().expect("a nest has loops").loc;
        let wait = |token| Op { kind: OpKind::Wait { token }, loc };
        let mut fetches = next.map_or_else(Vec::new, |values| self.fetches(values, 1 - p));
        let n = self.ins.len();
        for (i, fetch) in fetches.iter_mut().enumerate() {
            // The token's last flow: two fetches before, of this trip for the first two.
            if i > 1 || n > 1 {
                fetch.insert(0, wait(self.token(1 - p, i)));
            }
        }
        // What is fetched into a buffer that is stored too has to leave first.
        let mut waited = HashSet::new();
        if next.is_some() {
            let fetched = |buf: Id| self.ins.iter().any(|i| i.walk.lrm == buf);
            waited.extend(self.outs.iter().filter(|o| fetched(o.walk.lrm)).filter_map(|o| o.shared));
        }
        let mut tokens: Vec<Id> = waited.iter().copied().collect();
        tokens.sort_unstable();
        let mut block: Block = tokens.into_iter().map(wait).collect();
        let own_waits = next.is_none() || n == 1;
        let mut fetches = fetches.into_iter();
        // The engine holds two; further ones come spread over the body, or issue would wait for the engine.
        block.extend(fetches.by_ref().take(2).flatten());
        let body = self.body().clone();
        let share = body.len() / (n.max(2) - 1);
        for (i, op) in body.into_iter().enumerate() {
            if i > 0 && i % share.max(1) == 0 {
                block.extend(fetches.by_ref().take(1).flatten());
            }
            self.one(op, p, own_waits, &mut waited, &mut block);
        }
        block.extend(fetches.flatten());
        block
    }

    fn one(&self, mut op: Op, p: usize, own_waits: bool, waited: &mut HashSet<Id>, block: &mut Block) {
        let instance = |id: Id| self.instance(id, p);
        let fetch = |token: Id| self.ins.iter().position(|i| i.token == token);
        let store = |token: Id| self.outs.iter().find(|o| o.token == token).and_then(|o| o.shared);
        match &op.kind {
            OpKind::Flow { dst, .. } if fetch(*dst).is_some() => {}
            OpKind::Lrm { dst, .. } if instance(*dst) != *dst => {}
            OpKind::Flow { dst, walk, .. } if store(*dst).is_some() => {
                let flow = store(*dst).expect("it was found");
                if !waited.remove(&flow) {
                    block.push(Op { kind: OpKind::Wait { token: flow }, loc: op.loc });
                }
                let mut walk = walk.clone();
                walk.lrm = instance(walk.lrm);
                block.push(Op { kind: OpKind::Restart { out: true, flow, walk }, loc: op.loc });
            }
            OpKind::Wait { token } if store(*token).is_some() => {}
            OpKind::Wait { token } if fetch(*token).is_some() => {
                // All but the last two have landed before the trip began, and they where the next trip's began.
                let i = fetch(*token).expect("it was found");
                if own_waits && i + 2 >= self.ins.len() {
                    block.push(Op { kind: OpKind::Wait { token: self.token(p, i) }, loc: op.loc });
                }
            }
            _ => {
                op.kind.map_ids(&mut |id| instance(id));
                block.push(op);
            }
        }
    }
}
