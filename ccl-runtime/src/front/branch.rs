//! `if`: of the control unit, of each PE, as a value.

use ccl_syntax::ast::*;
use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::{Plan, R, Stop};
use super::value::{Acc, Affine, Lrm, Next, Number, Pe, Scalar, ScalarTy, Val};
use super::walk;
use crate::ir::{AluOp, Dst, OpKind, SDst, SOp, SVal, Src, Type};

impl<'p> Cx<'p> {
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
}
