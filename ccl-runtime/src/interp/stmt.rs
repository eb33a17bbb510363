//! Statements: names, assignment, loops, branches, checks.

use ccl_syntax::ast::{AttrKind, BinOp, Block, Expr, ExprKind, Pattern, Stmt, StmtKind};
use ccl_syntax::check::types::Type;
use ccl_syntax::print_expr;

use super::datum::{self, Datum};
use super::error::{Cause, Evaluated, Exit};
use super::expr::is_value;
use super::lanes;
use super::machine::{Machine, Target};
use crate::__rt::{self, Branch};
use crate::kernel::ElemType;
use crate::value::{Q, Value};

impl<'a> Machine<'a> {
    pub(super) fn stmt(&mut self, stmt: &'a Stmt) -> Evaluated<()> {
        self.step(stmt.span)?;
        match &stmt.kind {
            StmtKind::Let { pattern, value, .. } => {
                let value = self.eval(value)?;
                self.pattern(pattern, value)
            }
            StmtKind::Assign { op, place, value } => self.assign(*op, place, value),
            StmtKind::Expr(expr) => self.expr_stmt(expr),
            StmtKind::For { pattern, iter, body } => self.for_stmt(pattern, iter, body),
            StmtKind::While { cond, body } => self.while_stmt(stmt, cond, body),
            StmtKind::Return(value) => {
                let value = value.as_ref().map_or(Ok(Datum::UNIT), |value| self.eval(value))?;
                Err(Exit::Return(Box::new(self.frame.scope.leave(value))))
            }
            StmtKind::Break => Err(Exit::Break),
            StmtKind::Continue => Err(Exit::Continue),
            StmtKind::Probe(values) => self.probe(values),
            StmtKind::Assert { cond, text } => self.assert(cond, text.as_deref()),
            StmtKind::Broken { .. } => Err(self.stop(Cause::Unknown { name: "a broken statement".to_owned() })),
        }
    }

    /// A value whose value is dropped. The temporaries of the statement end with it.
    fn expr_stmt(&mut self, expr: &'a Expr) -> Evaluated<()> {
        match &expr.kind {
            ExprKind::If { cond, then, otherwise } if !is_value(then, otherwise.as_deref()) => {
                self.if_stmt(cond, then, otherwise.as_deref())
            }
            _ => {
                let mark = self.mark();
                let result = self.eval(expr);
                self.release(mark);
                result.map(|_| ())
            }
        }
    }

    fn pattern(&mut self, pattern: &'a Pattern, value: Datum) -> Evaluated<()> {
        match pattern {
            Pattern::Ignore(_) => Ok(()),
            Pattern::Name(local) => {
                let value = self.settled(value, self.type_of(local.name.id));
                self.declare(local.name.id, local.mutable, value);
                Ok(())
            }
            Pattern::Tuple(locals) => match self.strip(value)? {
                Datum::Tuple(parts) if parts.len() == locals.len() => {
                    for (local, value) in locals.iter().zip(parts) {
                        self.declare(local.name.id, local.mutable, value);
                    }
                    Ok(())
                }
                other => Err(self.wrong(format!("a tuple of {}", locals.len()), &other)),
            },
        }
    }

    /// A scalar literal as one of the type that its place declares, where the front end did not know.
    pub(super) fn settled(&self, value: Datum, ty: Option<&Type>) -> Datum {
        match (&value, ty) {
            (Datum::Int(v, found), Some(Type::Scalar(ccl_syntax::check::types::Elem::Int(wanted))))
                if found != wanted && super::ops::is_in_range(*v, *wanted) =>
            {
                Datum::Int(*v, *wanted)
            }
            _ => value,
        }
    }

    /// `place = value`, `place op= value`: the value first, so that it may read the place.
    fn assign(&mut self, op: Option<BinOp>, place: &'a Expr, value: &'a Expr) -> Evaluated<()> {
        let (span, mark) = (place.span, self.mark());
        let mut value = self.eval(value)?;
        let place = self.place(place, true)?;
        self.at(span);
        if let Some(op) = op {
            let old = self.load(&place)?;
            let (old, added) = (self.strip(old)?, self.strip(value)?);
            value = self.binary(op, old, added)?;
        }
        let place = if matches!(value, Datum::Ref(_)) { place } else { self.deref(place)? };
        self.write(&place, value)?;
        self.release(mark);
        Ok(())
    }

    /// Writes where PEs are enabled; scalars if any is.
    fn write(&mut self, place: &datum::Place, value: Datum) -> Evaluated<()> {
        let (found, like) = (value.kind(), |old: &Datum| old.is_like(&value));
        let wanted = match self.target(place)? {
            Target::Whole(old) if like(old) => {
                if old.is_assignable() {
                    old.assign(value);
                    return Ok(());
                }
                None
            }
            Target::Element(elem, id) => match value {
                Datum::Pe(of, v) if of == elem => {
                    if lanes::is_home(elem, *id) {
                        datum::assign(elem, id, v);
                        return Ok(());
                    }
                    None
                }
                _ => Some(format!("Q<{elem}>")),
            },
            Target::Elements(elem, places) => match several(elem, &value) {
                Some(ids) => {
                    if places.iter().all(|id| lanes::is_home(elem, *id)) {
                        __rt::same_count(ids.len(), places.len());
                        datum::assign_all(elem, places, &ids);
                        return Ok(());
                    }
                    None
                }
                None => Some(format!("elements of {elem}")),
            },
            Target::Values(_) => Some("an element of the array".to_owned()),
            Target::Whole(old) => Some(old.kind()),
        };
        Err(match wanted {
            None => self.stop(Cause::Immutable),
            Some(wanted) => self.stop(Cause::Type { wanted: format!("`{wanted}`"), found: format!("`{found}`") }),
        })
    }

    fn for_stmt(&mut self, pattern: &'a Pattern, iter: &'a Expr, body: &'a Block) -> Evaluated<()> {
        match self.eval_stripped(iter)? {
            Datum::Range(counter) => {
                for i in 0..counter.len() {
                    let value = Datum::Int(counter.at(i), counter.ty);
                    if !self.round(pattern, value, body)? {
                        break;
                    }
                }
                Ok(())
            }
            Datum::Walk(tensor, walk) => {
                for tile in *walk {
                    if !self.round(pattern, Datum::Tile(tensor.clone(), Box::new(tile)), body)? {
                        break;
                    }
                }
                Ok(())
            }
            other => Err(self.wrong("a range or a walk", &other)),
        }
    }

    /// One round of a loop; false if it was the last.
    fn round(&mut self, pattern: &'a Pattern, value: Datum, body: &'a Block) -> Evaluated<bool> {
        self.step(body.span)?;
        let mark = self.mark();
        let _scope = __rt::scope();
        self.pattern(pattern, value)?;
        let result = self.statements(body);
        self.release(mark);
        goes_on(result)
    }

    fn while_stmt(&mut self, stmt: &'a Stmt, cond: &'a Expr, body: &'a Block) -> Evaluated<()> {
        let mut bound = usize::MAX;
        for attr in &stmt.attrs {
            if let AttrKind::Bound(trips) = &attr.kind {
                let (n, _) = self.integer(trips)?;
                bound = usize::try_from(n).unwrap_or(0);
            }
        }
        let mut state = __rt::while_loop(bound);
        loop {
            let mark = self.mark();
            let mask = {
                let _scope = __rt::scope();
                let holds = self.eval_stripped(cond)?;
                self.at(stmt.span);
                match holds {
                    Datum::Bool(holds) => state.step(holds),
                    Datum::Pe(ElemType::Bool, id) => state.step(Q::<bool>::of(id)),
                    other => return Err(self.wrong("a condition", &other)),
                }
            };
            self.release(mark);
            let Some(_mask) = mask else { return Ok(()) };
            let result = self.block(body);
            if !goes_on(result)? {
                return Ok(());
            }
        }
    }

    /// `if` as a statement.
    pub(super) fn if_stmt(&mut self, cond: &'a Expr, then: &'a Block, otherwise: Option<&'a Expr>) -> Evaluated<()> {
        self.step(cond.span)?;
        match self.eval_stripped(cond)? {
            Datum::Bool(holds) => self.branch(&__rt::branch(holds), then, otherwise),
            Datum::Pe(ElemType::Bool, id) => self.branch(&__rt::branch(Q::<bool>::of(id)), then, otherwise),
            other => Err(self.wrong("a condition", &other)),
        }
    }

    fn branch<B: Branch>(&mut self, branch: &B, then: &'a Block, otherwise: Option<&'a Expr>) -> Evaluated<()> {
        if let Some(_mask) = branch.then_arm() {
            self.block(then)?;
        }
        let Some(otherwise) = otherwise else { return Ok(()) };
        if let Some(_mask) = branch.else_arm() {
            return self.nested(|m| match &otherwise.kind {
                ExprKind::If { cond, then, otherwise } => m.if_stmt(cond, then, otherwise.as_deref()),
                ExprKind::Block(block) => m.block(block).map(|_| ()),
                _ => m.eval(otherwise).map(|_| ()),
            });
        }
        Ok(())
    }

    fn probe(&mut self, values: &'a [Expr]) -> Evaluated<()> {
        for value in values {
            let datum = self.eval_stripped(value)?;
            __rt::probe(&print_expr(value), &datum);
        }
        Ok(())
    }

    fn assert(&mut self, cond: &'a Expr, text: Option<&str>) -> Evaluated<()> {
        let holds = self.eval_stripped(cond)?;
        let printed = text.map_or_else(|| print_expr(cond), str::to_owned);
        self.at(cond.span);
        match holds {
            Datum::Bool(holds) => __rt::assert(holds, &printed),
            Datum::Pe(ElemType::Bool, id) => __rt::assert(Q::<bool>::of(id), &printed),
            other => return Err(self.wrong("a condition", &other)),
        }
        Ok(())
    }
}

/// Whether the loop goes on after a round.
fn goes_on(result: Evaluated) -> Evaluated<bool> {
    match result {
        Ok(_) | Err(Exit::Continue) => Ok(true),
        Err(Exit::Break) => Ok(false),
        Err(exit) => Err(exit),
    }
}

/// The elements that are assigned to a range.
fn several(elem: ElemType, value: &Datum) -> Option<Vec<crate::native::Id>> {
    match value {
        Datum::Lrm(of, ids) if *of == elem => Some(ids.clone()),
        Datum::Acc(ids) if elem == ElemType::I32 => Some(ids.clone()),
        Datum::Array(values) => values
            .iter()
            .map(|v| match v {
                Datum::Pe(of, id) if *of == elem => Some(*id),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}
