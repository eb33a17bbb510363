//! `break`, `continue` and `return` under conditions that are only known when the kernel runs. There are no jumps in the IR: a
//! variable of the control unit says whether the trip goes on, and what stands behind a jump is under it. A loop or function that
//! is left so is found out about when something leaves it, and the kernel is then begun anew.

use ccl_syntax::ast::*;
use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::{LoopKey, R, Stop};
use super::value::{Next, PlaceRef, ScalarTy, Val};
use crate::ir::{Id, OpKind, SVal, Src, Type};
use crate::kernel::ElemType;

/// A loop or function around the text at hand.
#[derive(Clone, Debug)]
pub(super) struct Around {
    key: LoopKey,
    is_loop: bool,
    /// Calls around it.
    depth: usize,
    /// Whether it goes on, and whether this trip does; of a function both are the same.
    goes: Option<(Id, Id)>,
    /// Where a function leaves its result.
    result: Val,
}

impl<'p> Cx<'p> {
    fn flag(&mut self) -> Id {
        let dst = self.b.value("goes", Type::ScalarVar);
        self.push(OpKind::ScalarVar { dst, init: SVal::Imm(1) });
        dst
    }

    /// The variable that says whether a loop goes on, if something leaves it; made before the loop.
    pub(super) fn left_loop(&mut self, key: LoopKey) -> Option<Id> {
        self.learnt.left.contains(&key).then(|| {
            let goes = self.flag();
            self.loops_left.insert(key, goes);
            goes
        })
    }

    /// A trip of a loop: under its variable, if it has one.
    pub(super) fn trip_of(&mut self, key: LoopKey, body: &'p Block, f: impl FnOnce(&mut Self) -> R<Next>) -> R<Next> {
        let (depth, result) = (self.frames.len(), Val::UNIT);
        let Some(on) = self.loops_left.get(&key).copied() else {
            self.around.push(Around { key, is_loop: true, depth, goes: None, result });
            let next = f(self)?;
            self.around.pop();
            return Ok(next);
        };
        self.land_named()?;
        self.materialise_for(body, None)?;
        let taken: Vec<u64> = self.streams.iter().map(|s| s.at).collect();
        self.open();
        let here = self.flag();
        self.around.push(Around { key, is_loop: true, depth, goes: Some((on, here)), result });
        let next = f(self)?;
        self.jump(next)?;
        self.around.pop();
        let then = self.close()?;
        self.no_streams(&taken)?;
        self.push(OpKind::If { cond: Cond::Ne, a: SVal::Val(on), b: SVal::Imm(0), then, els: Vec::new() });
        Ok(Next::Goes)
    }

    /// What follows a loop: where a trip may have left the function, all of it is under the function's variable.
    pub(super) fn after_loop(&self, next: Next) -> Next {
        match next {
            Next::Goes if self.function_left().is_some() => Next::Maybe,
            next => next,
        }
    }
    fn function_left(&self) -> Option<&Around> {
        let depth = self.frames.len();
        self.around.iter().rev().find(|around| !around.is_loop && around.depth == depth && around.goes.is_some())
    }

    /// The body of a function that may be left early: its value.
    pub(super) fn body_of(&mut self, function: &'p Fn) -> R<Val> {
        let key = super::control::key_of(&function.body);
        let (goes, result) = match self.learnt.left.contains(&key) {
            true => {
                let goes = self.flag();
                (Some((goes, goes)), self.result_of(function)?)
            }
            false => (None, Val::UNIT),
        };
        self.around.push(Around { key, is_loop: false, depth: self.frames.len(), goes, result: result.clone() });
        let (next, val) = self.block(&function.body)?;
        self.around.pop();
        match next {
            Next::Return(val) => Ok(*val),
            Next::Goes => Ok(val),
            Next::Maybe => self.read(&result),
            other => {
                self.no_jump(&other)?;
                Ok(Val::UNIT)
            }
        }
    }

    /// A variable for the result of a function.
    fn result_of(&mut self, function: &'p Fn) -> R<Val> {
        let Some(ty) = &function.ret else { return Ok(Val::UNIT) };
        if let TyKind::Path(path) = &ty.kind {
            let (name, args) = (path.last().name.name.as_str(), path.last().args.as_slice());
            let scalar = match name {
                "bool" => Some(ScalarTy::Bool),
                name => IntTy::parse(name).map(ScalarTy::Int),
            };
            if let Some(ty) = scalar {
                let dst = self.b.value("result", Type::ScalarVar);
                self.push(OpKind::ScalarVar { dst, init: SVal::Imm(0) });
                return Ok(Val::ScalarVar(ty, dst));
            }
            if let ("Q", [elem]) = (name, args) {
                let elem = self.elem_ty(elem)?;
                let lo = self.new_var("result", Src::Imm(0));
                let hi = (elem == ElemType::I64).then(|| self.new_var("result", Src::Imm(0)));
                return Ok(Val::PeVar(elem, lo, hi));
            }
        }
        self.fail(
            "`return` of more than one value under a condition that is only known when the kernel runs",
            "assign a `let mut`, and return it at the end",
        )
    }

    /// Leaves a trip, a loop or a function by its variables. Whether something may have been left.
    pub(super) fn jump(&mut self, next: Next) -> R<bool> {
        let depth = self.frames.len();
        let val = match next {
            Next::Goes => return Ok(false),
            Next::Maybe => return Ok(true),
            Next::Break | Next::Continue => {
                let around = self.around.last().filter(|around| around.is_loop && around.depth == depth);
                let Some(Around { key, goes, .. }) = around.cloned() else { return self.no_jump(&next).map(|()| true) };
                let Some((on, here)) = goes else { return self.leaves(&[key]) };
                self.set_scalar(here, SVal::Imm(0));
                if matches!(next, Next::Break) {
                    self.set_scalar(on, SVal::Imm(0));
                }
                return Ok(true);
            }
            Next::Return(val) => *val,
        };
        let mine: Vec<Around> = self.around.iter().filter(|around| around.depth == depth).cloned().collect();
        let unknown: Vec<LoopKey> = mine.iter().filter(|around| around.goes.is_none()).map(|a| a.key).collect();
        if !unknown.is_empty() {
            return self.leaves(&unknown);
        }
        for (on, here) in mine.iter().filter_map(|around| around.goes) {
            self.set_scalar(on, SVal::Imm(0));
            self.set_scalar(here, SVal::Imm(0));
        }
        match mine.iter().find(|around| !around.is_loop).map(|around| around.result.clone()) {
            Some(Val::ScalarVar(_, var)) => {
                let Val::Scalar(s) = self.read(&val)? else { return self.wrong("a scalar", &val) };
                let value = self.sval(&s.affine());
                self.set_scalar(var, value);
            }
            Some(of @ Val::PeVar(..)) => {
                self.slots.push(super::cx::Slot { name: "result".to_owned(), val: of, written: true });
                let slot = self.slots.len() - 1;
                self.assign_place(&PlaceRef::Slot(slot), val)?;
                self.slots.pop();
            }
            _ => {}
        }
        Ok(true)
    }

    /// Begins the kernel anew: these are left under a condition.
    fn leaves<T>(&mut self, keys: &[LoopKey]) -> R<T> {
        self.learnt.left.extend(keys);
        Err(Stop::Restart)
    }

    /// What stands behind a jump in its block.
    pub(super) fn behind_jump(&mut self, block: &'p Block, from: usize) -> R<(Next, Val)> {
        let here = match self.around.last().and_then(|around| around.goes) {
            Some((_, here)) => here,
            None => return self.no_jump(&Next::Maybe).map(|()| (Next::Goes, Val::UNIT)),
        };
        if from == block.stmts.len() && block.tail.is_none() {
            return Ok((Next::Maybe, Val::UNIT));
        }
        self.land_named()?;
        let rest = Block { stmts: block.stmts[from..].to_vec(), tail: block.tail.clone(), span: block.span };
        self.materialise_for(&rest, None)?;
        let taken: Vec<u64> = self.streams.iter().map(|s| s.at).collect();
        self.open();
        let (next, val) = self.block_from(block, from)?;
        match (&next, &val) {
            (Next::Goes, Val::Tuple(parts)) if parts.is_empty() => {}
            (Next::Goes, _) => {
                let key = super::control::key_of(block);
                if self.around.last().is_none_or(|around| around.key != key || around.is_loop) {
                    return self.fail(
                        "a block with a value, behind a jump under a condition that is only known when the kernel runs",
                        "assign a `let mut` in the block",
                    );
                }
                self.jump(Next::Return(Box::new(val)))?;
            }
            _ => {
                self.jump(next)?;
            }
        }
        let then = self.close()?;
        self.no_streams(&taken)?;
        self.push(OpKind::If { cond: Cond::Ne, a: SVal::Val(here), b: SVal::Imm(0), then, els: Vec::new() });
        Ok((Next::Maybe, Val::UNIT))
    }
}
