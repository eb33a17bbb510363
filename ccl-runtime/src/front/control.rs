//! Control: loops, branches, masks; and variables that become variables of the IR because a loop or branch assigns them.
//!
//! A loop over a range stays one where its index may be an operand. It is unrolled where the index has to be a number (which is
//! found out when something asks for it, and the loop is then begun anew), and several trips become one where a trip does
//! so little that moving an address along would cost as much: [`plan`].

use ccl_syntax::ast::*;
use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::{LoopKey, Plan, R, Stop};
use super::value::{Acc, Affine, Lrm, Next, Number, Pe, Place, PlaceRef, Scalar, ScalarTy, Tile, Val, Walk};
use super::walk;
use crate::ir::range::Range;
use crate::ir::{AluOp, Dst, Fmt, Id, LoopAttr, OpKind, SDst, SOp, SVal, Src, Type};
use crate::kernel::ElemType;
use crate::tensor::Kind;

/// Most trips of a loop that is laid out trip by trip.
const MOST_WHOLE: u64 = 1 << 14;
/// Most tiles of a walk that is laid out tile by tile.
const MOST_TILES: u64 = 64;
/// Operations up to which the lowering unrolls a whole loop by itself.
const LEFT_TO_LOWERING: u64 = 40;
/// Operations up to which a whole loop is laid out trip by trip.
const SHORT: u64 = 128;

/// How a loop whose body has so many operations is laid out. Several trips of the text are one of the IR where that is some 64
/// operations, in which an address that is moved along is little; as many as leave no trip over, if they are not much fewer.
fn plan(trips: u64, weight: Option<u64>) -> Plan {
    match weight {
        _ if trips == 1 => Plan::Whole,
        Some(w) if trips * w <= LEFT_TO_LOWERING => Plan::By(1),
        Some(w) if trips * w <= SHORT => Plan::Whole,
        Some(w) if w < 32 => {
            let most = (64 / w).clamp(1, 16).min(trips);
            Plan::By((most / 2 + 1..=most).rev().find(|by| trips.is_multiple_of(*by)).unwrap_or(most))
        }
        _ => Plan::By(1),
    }
}

pub(super) fn key_of(body: &Block) -> LoopKey {
    LoopKey(std::ptr::from_ref(body) as usize)
}

impl<'p> Cx<'p> {
    // ---- variables that are assigned in blocks ----

    /// Makes variables of the IR of what a block assigns.
    pub(super) fn materialise_for(&mut self, body: &Block, key: Option<LoopKey>) -> R<()> {
        let (assigned, handed) = walk::assigned(body);
        for slot in assigned.into_iter().filter_map(|path| self.slot_of(path)).collect::<Vec<_>>() {
            self.materialise_slot(slot, key)?;
        }
        // A value that is handed on is a copy: numbers stay numbers.
        for slot in handed.into_iter().filter_map(|path| self.slot_of(path)).collect::<Vec<_>>() {
            if let Val::Ref(_) = self.slots[slot].val {
                self.materialise_slot(slot, key)?;
            }
        }
        Ok(())
    }

    /// Makes variables of the IR of what an expression assigns.
    pub(super) fn materialise_in(&mut self, expr: &Expr, key: Option<LoopKey>) -> R<()> {
        if !walk::has_effects(expr) {
            return Ok(());
        }
        let block = Block { stmts: Vec::new(), tail: Some(Box::new(expr.clone())), span: expr.span };
        self.materialise_for(&block, key)
    }

    fn materialise_slot(&mut self, slot: usize, key: Option<LoopKey>) -> R<()> {
        let (val, name) = (self.slots[slot].val.clone(), self.slots[slot].name.clone());
        if let Val::Ref(place) = &val {
            return match place_slot(place) {
                Some(slot) => self.materialise_slot(slot, key),
                None => Ok(()),
            };
        }
        self.slots[slot].val = self.materialised(&val, &name, key)?;
        Ok(())
    }

    pub(super) fn materialise_place(&mut self, place: &PlaceRef) -> R<()> {
        match place_slot(place) {
            Some(slot) => self.materialise_slot(slot, None),
            None => Ok(()),
        }
    }

    fn materialised(&mut self, val: &Val, name: &str, key: Option<LoopKey>) -> R<Val> {
        Ok(match val {
            Val::Scalar(s) => {
                let ty = if s.ty == ScalarTy::Open { ScalarTy::Int(IntTy::I32) } else { s.ty };
                let init = self.sval(&s.affine());
                let dst = self.b.value(name, Type::ScalarVar);
                self.push(OpKind::ScalarVar { dst, init });
                if let Some(key) = key {
                    self.depends_on_loop(dst, key);
                }
                Val::ScalarVar(ty, dst)
            }
            Val::Pe(pe) => {
                let pe = self.exact(*pe);
                let lo = self.new_var(name, pe.lo);
                let hi = if pe.elem == ElemType::I64 {
                    let (_, hi) = self.both_words(pe);
                    Some(self.new_var(name, hi))
                } else {
                    None
                };
                Val::PeVar(pe.elem, lo, hi)
            }
            Val::Lrm(lrm) => Val::Lrm(match &lrm.place {
                Place::Buffer { .. } => lrm.clone(),
                Place::Lanes(_) => Lrm { fresh: false, ..self.own_copy(lrm, name)? },
            }),
            Val::Acc(acc) => match acc {
                Acc::Group { .. } => val.clone(),
                other => {
                    let n = Self::acc_n(other);
                    let id = self.own_group(other.clone())?;
                    Val::Acc(Acc::Group { id, n, fresh: false })
                }
            },
            Val::Tuple(parts) => Val::Tuple(self.all_materialised(parts, name, key)?),
            Val::Array(parts) => Val::Array(self.all_materialised(parts, name, key)?),
            other => other.clone(),
        })
    }
    fn all_materialised(&mut self, parts: &[Val], name: &str, key: Option<LoopKey>) -> R<Vec<Val>> {
        parts.iter().map(|part| self.materialised(part, name, key)).collect()
    }
    pub(super) fn new_var(&mut self, name: &str, init: Src) -> Id {
        let dst = self.b.value(name, Type::Var(Fmt::I32));
        self.push(OpKind::Var { dst, init });
        dst
    }
    pub(super) fn set_var(&mut self, var: Id, value: Src) {
        if value != Src::Val(var) {
            self.push(OpKind::Alu { op: AluOp::Mov, dst: Dst::Var(var), a: value, b: Src::Imm(0) });
        }
    }
    pub(super) fn set_scalar(&mut self, var: Id, value: SVal) {
        self.push(OpKind::Scalar { op: SOp::Mov, dst: SDst::Var(var), a: value, b: SVal::Imm(0) });
    }

    // ---- for ----

    pub(super) fn for_stmt(&mut self, pattern: &'p Pattern, iter: &'p Expr, body: &'p Block) -> R<Next> {
        let before = self.at(iter.span);
        let val = self.expr(iter)?;
        let val = self.read(&val)?;
        self.at(before);
        let key = key_of(body);
        self.left_loop(key);
        let next = match val {
            Val::Range { start, end, step, rev } => self.range_loop(pattern, (start, end, step, rev), body),
            Val::Walk(walk) => self.walk_loop(pattern, &walk, body),
            other => self.wrong("a range or a walk", &other),
        }?;
        self.loops_left.remove(&key);
        Ok(self.after_loop(next))
    }

    /// The body for one value of the loop's variable.
    fn trip(&mut self, pattern: &'p Pattern, val: Val, body: &'p Block) -> R<Next> {
        self.budget()?;
        self.trip_of(key_of(body), body, |cx| {
            cx.scoped(|cx| {
                cx.bind(pattern, val)?;
                cx.block(body).map(|(next, _)| next)
            })
        })
    }

    fn range_loop(
        &mut self,
        pattern: &'p Pattern,
        (start, end, step, rev): (Scalar, Scalar, usize, bool),
        body: &'p Block,
    ) -> R<Next> {
        let ty = if start.ty == ScalarTy::Open { end.ty } else { start.ty };
        let (Some(lo), Some(hi)) = (start.as_known(), end.as_known()) else {
            return self.counted_loop(pattern, ty, (&start, &end, step, rev), body);
        };
        let trips = (hi - lo).max(0).unsigned_abs().div_ceil(step as u128) as u64;
        if trips == 0 {
            return Ok(Next::Goes);
        }
        if trips > 1 << 23 {
            return self.fail(format!("a loop of {trips} trips"), "a hardware loop has fewer than 2^23");
        }
        let (lo, step) = (lo as i64, step as i64);
        let value = |i: u64| if rev { lo + (trips - 1 - i) as i64 * step } else { lo + i as i64 * step };
        let key = key_of(body);
        let mut plan = match self.learnt.plans.get(&key) {
            Some(plan) => *plan,
            None => plan(trips, walk::weight(body)),
        };
        loop {
            if matches!(plan, Plan::By(by) if by > trips) {
                plan = Plan::Whole;
            }
            match plan {
                Plan::Whole => {
                    if trips > MOST_WHOLE {
                        return self.fail(
                            format!("a loop of {trips} trips would be unrolled"),
                            "its variable has to be a number: as an index of accumulators, arrays or taps; split the loop",
                        );
                    }
                    for i in 0..trips {
                        match self.trip(pattern, Val::Scalar(Scalar::known(ty, value(i).into())), body)? {
                            Next::Goes | Next::Maybe | Next::Continue => {}
                            Next::Break => break,
                            next @ Next::Return(_) => return Ok(next),
                        }
                    }
                    return Ok(Next::Goes);
                }
                Plan::By(by) => {
                    let saved = self.save();
                    match self.rolled(pattern, ty, (value(0), if rev { -step } else { step }, trips, by), body, key) {
                        Err(Stop::Replan(of, new)) if of == key => {
                            self.restore(&saved);
                            // A plan that was tried already would be asked for again without end.
                            plan = if new == plan { Plan::Whole } else { new };
                            self.learnt.plans.insert(key, plan);
                        }
                        other => return other.map(|()| Next::Goes),
                    }
                }
            }
        }
    }

    /// A loop of the IR over `trips` trips of the text, `by` of them in each of its own.
    fn rolled(
        &mut self,
        pattern: &'p Pattern,
        ty: ScalarTy,
        (first, step, trips, by): (i64, i64, u64, u64),
        body: &'p Block,
        key: LoopKey,
    ) -> R<()> {
        let whole = trips / by * by;
        self.land_named()?;
        self.materialise_for(body, Some(key))?;
        let before = self.streams.clone();
        let (var, sum) = self.loop_var(pattern, (first, step, whole, by), key);
        self.trips.insert(key, trips);
        self.open_loops.push((key, true));
        self.open();
        for j in 0..by {
            let val = Val::Scalar(Scalar::run(ty, sum.add(j as i64 * step)));
            match self.trip(pattern, val, body)? {
                Next::Goes | Next::Maybe | Next::Continue => {}
                Next::Break | Next::Return(_) => return Err(Stop::Replan(key, Plan::Whole)),
            }
        }
        let block = self.close()?;
        self.open_loops.pop();
        let (lo, hi, up) = (first.min(first + (whole - 1) as i64 * step), whole, step.abs());
        let _ = hi;
        // Counting down is counting up, and taking away.
        let (lo, hi) = if step > 0 { (lo, lo + whole as i64 * up) } else { (0, whole as i64 * up) };
        let attr = LoopAttr::default();
        let step_ir = (up * by as i64) as i32;
        self.push(OpKind::For {
            var,
            lo: SVal::Imm(lo as i32),
            hi: SVal::Imm(hi as i32),
            step: step_ir,
            attr,
            body: block,
        });
        match self.stream_trips(&before, whole / by)? {
            Ok(()) => {}
            Err(0) => return Err(Stop::Replan(key, Plan::Whole)),
            Err(times) => return Err(Stop::Replan(key, Plan::By(by.next_multiple_of(times)))),
        }
        for i in whole..trips {
            let val = Val::Scalar(Scalar::known(ty, (first + i as i64 * step).into()));
            match self.trip(pattern, val, body)? {
                Next::Goes | Next::Maybe | Next::Continue => {}
                Next::Break | Next::Return(_) => return Err(Stop::Replan(key, Plan::Whole)),
            }
        }
        Ok(())
    }

    /// The variable of a loop of the IR, and the first of the text's in terms of it.
    fn loop_var(
        &mut self,
        pattern: &Pattern,
        (first, step, whole, by): (i64, i64, u64, u64),
        key: LoopKey,
    ) -> (Id, Affine) {
        let name = pattern.locals().first().map_or("i", |local| local.name.name.name.trim_start_matches('_'));
        let var = self.b.value(if name.is_empty() { "i" } else { name }, Type::Scalar);
        let up = step.abs() * by as i64;
        let last = (whole / by - 1) as i64 * up;
        let (lo, zeros) =
            if step > 0 { (first, Range::of(first).zeros.min(Range::of(up).zeros)) } else { (0, Range::of(up).zeros) };
        self.ranges.insert(var, Range { lo, hi: lo + last, zeros });
        self.depends_on_loop(var, key);
        let var_sum = self.variable(var);
        (var, if step > 0 { var_sum } else { var_sum.times(-1).add(first) })
    }

    /// A loop whose bounds are known when the kernel runs.
    fn counted_loop(
        &mut self,
        pattern: &'p Pattern,
        ty: ScalarTy,
        (start, end, step, rev): (&Scalar, &Scalar, usize, bool),
        body: &'p Block,
    ) -> R<Next> {
        let (lo, hi) = (start.affine(), end.affine());
        if rev {
            self.must_be_known(start)?;
            self.must_be_known(end)?;
        }
        // Bounds that an outer loop counts are numbers where that one is unrolled: here they need not be.
        let key = key_of(body);
        self.land_named()?;
        self.materialise_for(body, Some(key))?;
        let (lo_val, hi_val) = (self.sval(&lo), self.sval(&hi));
        let var = self.b.value("i", Type::Scalar);
        self.ranges.insert(var, Range::between(lo.range.lo, hi.range.hi - 1));
        let taken: Vec<u64> = self.streams.iter().map(|s| s.at).collect();
        self.open_loops.push((key, false));
        self.open();
        let val = Val::Scalar(Scalar::run(ty, self.variable(var)));
        let next = self.trip(pattern, val, body)?;
        self.no_jump(&next)?;
        let block = self.close()?;
        self.open_loops.pop();
        self.no_streams(&taken)?;
        let attr = LoopAttr::default();
        self.push(OpKind::For { var, lo: lo_val, hi: hi_val, step: step as i32, attr, body: block });
        Ok(Next::Goes)
    }

    /// A stream from outside is not read where it is not known how often.
    pub(super) fn no_streams(&self, taken: &[u64]) -> R<()> {
        if self.streams.iter().zip(taken).any(|(s, at)| s.at != *at) {
            return self.fail(
                "a broadcast is read under a condition or in a loop whose trips are only known when the kernel runs",
                "start the broadcast inside, or loop over a constant range",
            );
        }
        Ok(())
    }

    // ---- walks ----

    fn walk_loop(&mut self, pattern: &'p Pattern, walk: &Walk, body: &'p Block) -> R<Next> {
        let tiles = self.walk_extent(walk)?;
        let total = tiles.iter().map(|n| *n as u64).product::<u64>();
        let key = key_of(body);
        if self.learnt.plans.get(&key) != Some(&Plan::Whole) {
            let saved = self.save();
            match self.walk_rolled(pattern, walk, tiles, body, key) {
                Err(Stop::Replan(of, new)) if of == key => {
                    if new != Plan::Whole || total > MOST_TILES {
                        self.restore(&saved);
                        return self.fail(
                            format!(
                                "something in the body of this walk over {total} tiles has to be known for each of them"
                            ),
                            "what a trip takes from a broadcast is whole words; indices of arrays are no tiles",
                        );
                    }
                    self.restore(&saved);
                    self.learnt.plans.insert(key, Plan::Whole);
                }
                other => return other.map(|()| Next::Goes),
            }
        }
        let [ty, tx, chunks] = tiles;
        for i in 0..ty {
            for j in 0..tx {
                for k in 0..chunks {
                    let number = |n: usize| Affine::number(n as i64);
                    let tile = self.tile_at(walk, tiles, [number(i), number(j), number(k)]);
                    match self.trip(pattern, Val::Tile(Box::new(tile)), body)? {
                        Next::Goes | Next::Maybe | Next::Continue => {}
                        Next::Break => return Ok(Next::Goes),
                        next @ Next::Return(_) => return Ok(next),
                    }
                }
            }
        }
        Ok(Next::Goes)
    }

    /// Rows of tiles, tiles of a row, chunks of a tile.
    fn walk_extent(&self, walk: &Walk) -> R<[usize; 3]> {
        let dims = walk.view.dims;
        let channels = match &walk.tile {
            Some(tile) => (dims[0] as i64 - self.sum_known(&tile.channel)?).max(0) as usize,
            None => dims[0],
        };
        let chunks = if walk.chunk == 0 { 1 } else { channels.div_ceil(walk.chunk) };
        let (pes_y, pes_x) = walk.layout.pes(dims);
        let (rows, cols) = walk.layout.grid;
        Ok(match (&walk.tile, walk.view.kind) {
            (Some(_), _) => [1, 1, chunks],
            (_, Kind::Tokens) => [1, pes_x.div_ceil(rows * cols), chunks],
            _ => [pes_y.div_ceil(rows), pes_x.div_ceil(cols), chunks],
        })
    }

    fn tile_at(&self, walk: &Walk, [_, tx, chunks]: [usize; 3], [i, j, k]: [Affine; 3]) -> Tile {
        let (rows, cols) = walk.layout.grid;
        let place = i.times(tx as i64).plus(&j);
        let index = place.times(chunks as i64).plus(&k);
        let channel = k.times(walk.chunk as i64);
        if let Some(tile) = &walk.tile {
            return Tile { index, channel: tile.channel.plus(&channel), ..(**tile).clone() };
        }
        let first = match walk.view.kind {
            Kind::Tokens => (Affine::number(0), j.times((rows * cols) as i64)),
            _ => (i.times(rows as i64), j.times(cols as i64)),
        };
        let zero = Affine::number(0);
        let (view, layout) = (walk.view.clone(), walk.layout);
        Tile { view, layout, first, tap: (zero.clone(), zero), channel, index }
    }

    fn walk_rolled(
        &mut self,
        pattern: &'p Pattern,
        walk: &Walk,
        tiles: [usize; 3],
        body: &'p Block,
        key: LoopKey,
    ) -> R<()> {
        let total = tiles.iter().map(|n| *n as u64).product::<u64>();
        if total == 0 {
            return Ok(());
        }
        self.land_named()?;
        self.materialise_for(body, Some(key))?;
        let mut pipelined = if walk.pipelined > 1 { walk.pipelined } else { 0 };
        if self.learnt.sequential.contains(&key) {
            pipelined = 0;
        }
        // The last tile of tokens may end within a row, and takes two flows: it stands by itself.
        let ragged = walk.view.kind == Kind::Tokens
            && walk.tile.is_none()
            && !walk.view.dims[2].is_multiple_of(walk.layout.grid.1);
        let mut parts = vec![(tiles, [0, 0, 0])];
        if ragged && tiles[1] > 1 {
            parts = vec![([1, tiles[1] - 1, tiles[2]], [0, 0, 0]), ([1, 1, tiles[2]], [0, tiles[1] - 1, 0])];
        }
        for (extent, from) in parts {
            let depth = if ragged && from[1] + extent[1] == tiles[1] { 0 } else { pipelined };
            self.walk_level(pattern, walk, (tiles, extent, from), &mut Vec::new(), depth, body, key)?;
        }
        Ok(())
    }

    /// The loops of a walk from level `at.len()` on.
    #[expect(clippy::too_many_arguments, reason = "the levels of one walk share all of it")]
    fn walk_level(
        &mut self,
        pattern: &'p Pattern,
        walk: &Walk,
        part: ([usize; 3], [usize; 3], [usize; 3]),
        at: &mut Vec<Affine>,
        pipelined: u32,
        body: &'p Block,
        key: LoopKey,
    ) -> R<()> {
        let (tiles, extent, from) = part;
        let level = at.len();
        if level == 3 {
            let tile = self.tile_at(walk, tiles, [at[0].clone(), at[1].clone(), at[2].clone()]);
            return match self.trip(pattern, Val::Tile(Box::new(tile)), body)? {
                Next::Goes | Next::Maybe | Next::Continue => Ok(()),
                Next::Break | Next::Return(_) => Err(Stop::Replan(key, Plan::Whole)),
            };
        }
        let n = extent[level];
        // A short last chunk is elaborated by itself.
        let channels = walk.view.reachable(walk.chunk);
        let short = level == 2
            && n > 1
            && walk.chunk > 0
            && match &walk.tile {
                Some(tile) => !(channels as i64 - self.sum_known(&tile.channel)?)
                    .max(0)
                    .unsigned_abs()
                    .is_multiple_of(walk.chunk as u64),
                None => !channels.is_multiple_of(walk.chunk),
            };
        let looped = if short { n - 1 } else { n };
        let outermost = pipelined > 0;
        if looped == 1 && !(outermost && extent[level + 1..].iter().all(|n| *n == 1)) {
            at.push(Affine::number(from[level] as i64));
            self.walk_level(pattern, walk, part, at, pipelined, body, key)?;
            at.pop();
        } else if looped > 0 {
            let before = self.streams.clone();
            let name = ["ty", "tx", "chunk"][level];
            let var = self.b.value(name, Type::Scalar);
            self.ranges.insert(var, Range::between(0, looped as i64 - 1));
            self.depends_on_loop(var, key);
            self.open_loops.push((key, true));
            if outermost {
                // The flow of a ring goes alone in its direction.
                self.land_block(self.b.depth())?;
                self.pipes.push((key, Vec::new(), Vec::new()));
            }
            self.open();
            at.push(self.variable(var).add(from[level] as i64));
            self.walk_level(pattern, walk, part, at, 0, body, key)?;
            at.pop();
            let block = self.close()?;
            self.open_loops.pop();
            if outermost {
                self.pipes.pop();
            }
            let flows = has_flow(&block);
            let attr = LoopAttr { pipelined: if flows { pipelined } else { 0 }, unroll: false };
            let (lo, hi) = (SVal::Imm(0), SVal::Imm(looped as i32));
            self.push(OpKind::For { var, lo, hi, step: 1, attr, body: block });
            match self.stream_trips(&before, looped as u64)? {
                Ok(()) => {}
                Err(_) => return Err(Stop::Replan(key, Plan::Whole)),
            }
        }
        if short {
            at.push(Affine::number((from[level] + n - 1) as i64));
            self.walk_level(pattern, walk, part, at, 0, body, key)?;
            at.pop();
        }
        Ok(())
    }

    // ---- if ----

    /// An `if`: what comes after it, and its value.
    pub(super) fn if_expr(
        &mut self,
        cond: &'p Expr,
        then: &'p Block,
        otherwise: Option<&'p Expr>,
        wanted: bool,
    ) -> R<(Next, Val)> {
        let c = self.expr(cond)?;
        match self.read(&c)? {
            Val::Scalar(c) => match c.as_known() {
                Some(0) => match otherwise {
                    Some(branch) => self.branch_expr(branch),
                    None => Ok((Next::Goes, Val::UNIT)),
                },
                Some(_) => self.block_value(then),
                None => self.scalar_if(&c, then, otherwise, wanted),
            },
            Val::Pe(c) => match c.as_known() {
                Some(0) => match otherwise {
                    Some(branch) => self.branch_expr(branch),
                    None => Ok((Next::Goes, Val::UNIT)),
                },
                Some(_) => self.block_value(then),
                None if wanted => Ok((Next::Goes, self.pe_if_value(c, then, otherwise)?)),
                None => {
                    self.pe_if(c, then, otherwise)?;
                    Ok((Next::Goes, Val::UNIT))
                }
            },
            other => self.wrong("a condition", &other),
        }
    }

    /// An `else`: a block or another `if`.
    fn branch_expr(&mut self, branch: &'p Expr) -> R<(Next, Val)> {
        match &branch.kind {
            ExprKind::Block(block) => self.block_value(block),
            ExprKind::If { cond, then, otherwise } => {
                let wanted = branch.is_block_value();
                self.if_expr(cond, then, otherwise.as_deref(), wanted)
            }
            _ => Ok((Next::Goes, self.expr(branch)?)),
        }
    }

    /// A block, in a scope of its own.
    pub(super) fn block_value(&mut self, block: &'p Block) -> R<(Next, Val)> {
        self.scoped(|cx| {
            let (next, val) = cx.block(block)?;
            Ok((next, val))
        })
    }

    fn materialise_branches(&mut self, then: &'p Block, otherwise: Option<&'p Expr>) -> R<()> {
        let key = self.open_loops.iter().rev().find(|(_, may)| *may).map(|(key, _)| *key);
        self.land_named()?;
        self.materialise_for(then, key)?;
        let mut branch = otherwise;
        while let Some(expr) = branch {
            branch = None;
            match &expr.kind {
                ExprKind::Block(block) => self.materialise_for(block, key)?,
                ExprKind::If { cond, then, otherwise } => {
                    self.materialise_in(cond, key)?;
                    self.materialise_for(then, key)?;
                    branch = otherwise.as_deref();
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn talks(&self, block: &Block) -> bool {
        walk::talks(block, &mut |callee| {
            let unit = self.frame().unit;
            match self.program.callee(unit, callee) {
                Ok((_, function)) => walk::talks(&function.body, &mut |_| true),
                Err(_) => false,
            }
        })
    }

    fn scalar_if(&mut self, c: &Scalar, then: &'p Block, otherwise: Option<&'p Expr>, wanted: bool) -> R<(Next, Val)> {
        // A loop that decides it is unrolled where the branches are not only arithmetic.
        let talks = self.talks(then)
            || otherwise.is_some_and(|e| matches!(&e.kind, ExprKind::Block(block) if self.talks(block)))
            || walk::leaves(then);
        if let (true, Number::Run(sum)) = (talks, &c.number)
            && let Some(key) = self.loop_of(sum)
        {
            return Err(Stop::Replan(key, Plan::Whole));
        }
        self.materialise_branches(then, otherwise)?;
        let a = self.sval(&c.affine());
        let taken: Vec<u64> = self.streams.iter().map(|s| s.at).collect();
        let (then_block, then_val, then_jumps) = self.jumping_arm(|cx| cx.block_value(then))?;
        let (else_block, else_val, else_jumps) = match otherwise {
            Some(branch) => self.jumping_arm(|cx| cx.branch_expr(branch))?,
            None => (Vec::new(), Val::UNIT, false),
        };
        self.no_streams(&taken)?;
        let jumps = then_jumps || else_jumps;
        if !wanted || jumps {
            let is_unit = |val: &Val| matches!(val, Val::Tuple(parts) if parts.is_empty());
            if wanted && !(is_unit(&then_val) && is_unit(&else_val)) {
                return self.fail(
                    "an `if` with a value that is left under a condition that is only known when the kernel runs",
                    "assign a `let mut` in its branches",
                );
            }
            self.push(OpKind::If { cond: Cond::Ne, a, b: SVal::Imm(0), then: then_block, els: else_block });
            return Ok((if jumps { Next::Maybe } else { Next::Goes }, Val::UNIT));
        }
        let (val, then, els) = self.joined((then_block, then_val), (else_block, else_val))?;
        self.push(OpKind::If { cond: Cond::Ne, a, b: SVal::Imm(0), then, els });
        Ok((Next::Goes, val))
    }

    fn arm(&mut self, f: impl FnOnce(&mut Self) -> R<(Next, Val)>) -> R<(crate::ir::Block, Val)> {
        let (block, val, _) = self.jumping_arm(|cx| {
            let (next, val) = f(cx)?;
            cx.no_jump(&next)?;
            Ok((next, val))
        })?;
        Ok((block, val))
    }

    /// An arm that may leave what is around it.
    fn jumping_arm(&mut self, f: impl FnOnce(&mut Self) -> R<(Next, Val)>) -> R<(crate::ir::Block, Val, bool)> {
        self.open();
        let (next, val) = f(self)?;
        let jumps = self.jump(next)?;
        // What the arm's value still has to do is done in it.
        let val = match self.read(&val)? {
            Val::Pe(pe) => Val::Pe(self.exact(pe)),
            val => val,
        };
        Ok((self.close()?, val, jumps))
    }

    /// A variable that each arm sets to its value; it is declared before the branch.
    fn joined(
        &mut self,
        (mut then, a): (crate::ir::Block, Val),
        (mut els, b): (crate::ir::Block, Val),
    ) -> R<(Val, crate::ir::Block, crate::ir::Block)> {
        let loc = then.last().or(els.last()).map(|op| op.loc).unwrap_or_default();
        match (&a, &b) {
            (Val::Scalar(x), Val::Scalar(y)) => {
                let var = self.b.value("v", Type::ScalarVar);
                self.push(OpKind::ScalarVar { dst: var, init: SVal::Imm(0) });
                for (block, s) in [(&mut then, x), (&mut els, y)] {
                    let (ops, value) = self.detached(|cx| Ok(cx.sval(&s.affine())))?;
                    block.extend(ops);
                    let kind = OpKind::Scalar { op: SOp::Mov, dst: SDst::Var(var), a: value, b: SVal::Imm(0) };
                    block.push(crate::ir::Op { kind, loc });
                }
                let ty = if x.ty == ScalarTy::Open { y.ty } else { x.ty };
                let val = self.read(&Val::ScalarVar(ty, var));
                Ok((val?, then, els))
            }
            _ => {
                let (x, y) = self.pair(&a, &b)?;
                let is_wide = x.hi.is_some() || y.hi.is_some();
                let var = self.new_var("v", Src::Imm(0));
                let high = is_wide.then(|| self.new_var("v", Src::Imm(0)));
                for (block, pe) in [(&mut then, x), (&mut els, y)] {
                    let (ops, (lo, hi)) =
                        self.detached(|cx| Ok(if is_wide { cx.both_words(pe) } else { (pe.lo, pe.lo) }))?;
                    block.extend(ops);
                    for (var, a) in [(Some(var), lo), (high, hi)] {
                        let Some(var) = var else { continue };
                        let kind = OpKind::Alu { op: AluOp::Mov, dst: Dst::Var(var), a, b: Src::Imm(0) };
                        block.push(crate::ir::Op { kind, loc });
                    }
                }
                let range = (x.range.0.min(y.range.0), x.range.1.max(y.range.1));
                let pe = Pe { hi: high.map(Src::Val), ..Pe::ranged(x.elem, Src::Val(var), range) };
                Ok((Val::Pe(pe), then, els))
            }
        }
    }

    /// Operations that are put elsewhere.
    pub(super) fn detached<T>(&mut self, f: impl FnOnce(&mut Self) -> R<T>) -> R<(crate::ir::Block, T)> {
        self.open();
        let value = f(self)?;
        Ok((self.shut(), value))
    }

    /// An `if` over a condition of each PE, as a statement.
    fn pe_if(&mut self, c: Pe, then: &'p Block, otherwise: Option<&'p Expr>) -> R<()> {
        self.land_random()?;
        self.materialise_branches(then, otherwise)?;
        let c = self.stable(c);
        self.masks += 1;
        let (then, _) = self.arm(|cx| cx.block_value(then))?;
        let (els, _) = match otherwise {
            Some(branch) => self.arm(|cx| cx.branch_expr(branch))?,
            None => (Vec::new(), Val::UNIT),
        };
        self.masks -= 1;
        if !then.is_empty() || !els.is_empty() {
            self.push(OpKind::Where { cond: Cond::Ne, a: c.lo, b: Src::Imm(0), then, els });
        }
        Ok(())
    }

    /// A condition that assignments in the branches do not change.
    fn stable(&mut self, c: Pe) -> Pe {
        match c.lo {
            Src::Val(id) if self.is_var(id) => Pe { lo: self.copy(c.lo), ..c },
            _ => c,
        }
    }

    /// An `if` over a condition of each PE, as a value: both branches are computed, each under its mask where that matters.
    fn pe_if_value(&mut self, c: Pe, then: &'p Block, otherwise: Option<&'p Expr>) -> R<Val> {
        let Some(otherwise) = otherwise else { return Ok(Val::UNIT) };
        let simple = then.stmts.is_empty()
            && then.tail.as_ref().is_some_and(|tail| !self.is_masked(tail))
            && match &otherwise.kind {
                ExprKind::Block(block) => {
                    block.stmts.is_empty() && block.tail.as_ref().is_some_and(|tail| !self.is_masked(tail))
                }
                _ => false,
            };
        if simple {
            let c = self.stable(c);
            let (_, a) = self.block_value(then)?;
            let a = self.read(&a)?;
            let (_, b) = self.branch_expr(otherwise)?;
            return self.select(c, &a, &b);
        }
        self.land_random()?;
        self.materialise_branches(then, Some(otherwise))?;
        let c = self.stable(c);
        self.masks += 1;
        let a = self.arm(|cx| cx.block_value(then))?;
        let b = self.arm(|cx| cx.branch_expr(otherwise))?;
        self.masks -= 1;
        let spread = |cx: &mut Self, (block, val): (crate::ir::Block, Val)| -> R<(crate::ir::Block, Val)> {
            match &val {
                Val::Scalar(s) if s.ty != ScalarTy::Open => {
                    let pe = cx.spread(s, None)?;
                    Ok((block, Val::Pe(pe)))
                }
                _ => Ok((block, val)),
            }
        };
        let (a, b) = (spread(self, a)?, spread(self, b)?);
        let (a, b) = match (&a.1, &b.1) {
            (Val::Scalar(x), Val::Scalar(y)) => {
                let (x, y) = (self.spread(x, None)?, self.spread(y, None)?);
                ((a.0, Val::Pe(x)), (b.0, Val::Pe(y)))
            }
            _ => (a, b),
        };
        let (val, then, els) = self.joined(a, b)?;
        self.push(OpKind::Where { cond: Cond::Ne, a: c.lo, b: Src::Imm(0), then, els });
        Ok(val)
    }

    /// Whether it matters which PEs are enabled while an expression is computed.
    fn is_masked(&self, expr: &Expr) -> bool {
        let mut found = false;
        walk::of_expr(expr, &mut |e| match &e.kind {
            ExprKind::Call { callee, .. } => {
                let name = callee.text();
                let plain =
                    ["min", "max", "abs", "clamp", "select", "splat", "lookup", "fx", "fx_raw", "fx_mul", "exp", "ln"];
                let more = ["requant", "quantize", "dequantize", "q_row", "q_col", "div_ceil", "pow", "log2"];
                found |= !plain.contains(&&*name) && !more.contains(&&*name);
            }
            ExprKind::Method { name, .. } => found |= ["gather", "scatter", "wait"].contains(&&*name.name),
            ExprKind::Block(_) | ExprKind::Ref { mutable: true, .. } => found = true,
            _ => {}
        });
        found
    }

    /// `select(c, a, b)` of values and what holds several of them.
    pub(super) fn select(&mut self, c: Pe, a: &Val, b: &Val) -> R<Val> {
        let (a, b) = (self.read(a)?, self.read(b)?);
        Ok(match (&a, &b) {
            (Val::Tuple(x), Val::Tuple(y)) if x.len() == y.len() => {
                let parts = x.iter().zip(y).map(|(x, y)| self.select(c, x, y));
                Val::Tuple(parts.collect::<R<_>>()?)
            }
            (Val::Lrm(x), Val::Lrm(y)) if x.n == y.n => {
                let mut lanes = Vec::new();
                for i in 0..x.n {
                    let at = Affine::number(i as i64);
                    let (x, y) = (self.read_at(x, &at)?, self.read_at(y, &at)?);
                    lanes.push(self.blend(c, x, y)?);
                }
                Val::Lrm(Lrm::lanes(x.elem, lanes))
            }
            (Val::Acc(x), Val::Acc(y)) => {
                let (x, y) = (self.acc_values(x)?, self.acc_values(y)?);
                let lanes = x.into_iter().zip(y).map(|(x, y)| self.blend(c, x, y)).collect::<R<Vec<_>>>()?;
                Val::Acc(Acc::Lanes(std::rc::Rc::new(lanes)))
            }
            _ => {
                let (x, y) = self.pair(&a, &b)?;
                Val::Pe(self.blend(c, x, y)?)
            }
        })
    }

    // ---- while ----

    pub(super) fn while_stmt(&mut self, cond: &'p Expr, body: &'p Block, bound: u64) -> R<Next> {
        let key = key_of(body);
        self.land_named()?;
        self.materialise_for(body, Some(key))?;
        self.materialise_in(cond, Some(key))?;
        let c = self.expr(cond)?;
        match self.read(&c)? {
            Val::Scalar(c) => {
                if c.as_known() == Some(0) {
                    return Ok(Next::Goes);
                }
                let mut first = c.affine();
                if self.masks > 0 {
                    // Where no PE is enabled, scalars do not change, and such a loop would not end.
                    let SVal::Val(enabled) = self.any_enabled() else { unreachable!("a question has a variable") };
                    let enabled = self.variable(enabled);
                    first = self.scalar_op(SOp::And, &first, &enabled);
                }
                let init = self.sval(&first);
                let on = self.left_loop(key);
                let go = self.b.value("go", Type::ScalarVar);
                self.push(OpKind::ScalarVar { dst: go, init });
                let taken: Vec<u64> = self.streams.iter().map(|s| s.at).collect();
                self.open_loops.push((key, false));
                self.open();
                let next = self.trip_of(key, body, |cx| cx.block_value(body).map(|(next, _)| next))?;
                self.no_jump(&next)?;
                let again = self.expr(cond)?;
                let Val::Scalar(again) = self.read(&again)? else {
                    return self.fail("a condition changes its kind", "");
                };
                let mut again = again.affine();
                if let Some(on) = on {
                    let on = self.read(&Val::ScalarVar(ScalarTy::Bool, on))?;
                    let Val::Scalar(on) = on else { unreachable!("a variable of the control unit is a scalar") };
                    again = self.scalar_op(SOp::And, &again, &on.affine());
                }
                let again = self.sval(&again);
                self.set_scalar(go, again);
                let block = self.close()?;
                self.open_loops.pop();
                self.no_streams(&taken)?;
                self.push_while(go, bound, block);
            }
            Val::Pe(c) => {
                let c = self.exact(c);
                let active = self.new_var("active", c.lo);
                let init = self.any_of(Src::Val(active));
                let go = self.b.value("go", Type::ScalarVar);
                self.push(OpKind::ScalarVar { dst: go, init });
                let taken: Vec<u64> = self.streams.iter().map(|s| s.at).collect();
                self.open_loops.push((key, false));
                self.open();
                self.masks += 1;
                self.open();
                let (next, _) = self.block_value(body)?;
                self.no_jump(&next)?;
                let again = self.expr(cond)?;
                let again = self.as_pe(&again, None)?;
                // A PE that has left is disabled here, and stays out.
                self.set_var(active, again.lo);
                let then = self.close()?;
                self.masks -= 1;
                self.push(OpKind::Where { cond: Cond::Ne, a: Src::Val(active), b: Src::Imm(0), then, els: Vec::new() });
                let any = self.any_of(Src::Val(active));
                self.set_scalar(go, any);
                let block = self.close()?;
                self.open_loops.pop();
                self.no_streams(&taken)?;
                self.push_while(go, bound, block);
            }
            other => return self.wrong("a condition", &other),
        }
        self.loops_left.remove(&key);
        Ok(self.after_loop(Next::Goes))
    }

    fn push_while(&mut self, go: Id, bound: u64, body: crate::ir::Block) {
        let bound = bound.min(i32::MAX as u64) as u32;
        self.push(OpKind::While { cond: Cond::Ne, a: SVal::Val(go), b: SVal::Imm(0), bound, body });
    }

    /// Whether any PE is enabled.
    pub(super) fn any_enabled(&mut self) -> SVal {
        let dst = self.scalar_value("any", &[], Range::between(0, 1));
        self.push(OpKind::Any { dst, cond: Cond::Eq, a: Src::Imm(0), b: Src::Imm(0) });
        SVal::Val(dst)
    }

    /// Whether a value is not 0 in any enabled PE.
    pub(super) fn any_of(&mut self, a: Src) -> SVal {
        let dst = self.scalar_value("any", &[], Range::between(0, 1));
        self.push(OpKind::Any { dst, cond: Cond::Ne, a, b: Src::Imm(0) });
        SVal::Val(dst)
    }
}

/// The variable at the root of a place.
fn place_slot(place: &PlaceRef) -> Option<usize> {
    match place {
        PlaceRef::Slot(slot) => Some(*slot),
        PlaceRef::Field(of, _) => place_slot(of),
        PlaceRef::Elements(_) => None,
    }
}

fn has_flow(block: &crate::ir::Block) -> bool {
    let mut found = false;
    crate::ir::visit::walk(block, &mut |op| found |= matches!(op.kind, OpKind::Flow { .. }));
    found
}
