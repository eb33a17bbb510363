//! Loops over ranges and `while`. Walks are in `walk_loop.rs`, `if` in `branch.rs`, variables that loops and branches assign in
//! `variable.rs`.
//!
//! A loop over a range stays one where its index may be an operand. It is unrolled where the index has to be a number (which is
//! found out when something asks for it, and the loop is then begun anew), and several trips become one where a trip does
//! so little that moving an address along would cost as much: [`plan`].

use ccl_syntax::ast::*;
use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::{LoopKey, Plan, R, Stop};
use super::value::{Affine, Next, PlaceRef, Scalar, ScalarTy, Val};
use super::walk;
use crate::ir::range::Range;
use crate::ir::{Id, LoopAttr, OpKind, SOp, SVal, Src, Type};

/// Most trips of a loop that is laid out trip by trip.
const MOST_WHOLE: u64 = 1 << 14;
/// Most tiles of a walk that is laid out tile by tile.
pub(super) const MOST_TILES: u64 = 64;
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
    pub(super) fn trip(&mut self, pattern: &'p Pattern, val: Val, body: &'p Block) -> R<Next> {
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
pub(super) fn place_slot(place: &PlaceRef) -> Option<usize> {
    match place {
        PlaceRef::Slot(slot) => Some(*slot),
        PlaceRef::Field(of, _) => place_slot(of),
        PlaceRef::Elements(_) => None,
    }
}

pub(super) fn has_flow(block: &crate::ir::Block) -> bool {
    let mut found = false;
    crate::ir::visit::walk(block, &mut |op| found |= matches!(op.kind, OpKind::Flow { .. }));
    found
}
