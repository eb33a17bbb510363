//! Statements: bindings, assignments, markers.

use ccl_syntax::ast::*;

use super::cx::Cx;
use super::error::R;
use super::program::Markers;
use super::value::{Acc, Affine, Lrm, Next, Pe, Place, PlaceRef, Val};
use crate::ir::{OpKind, Src};

impl<'p> Cx<'p> {
    /// The statements of a block and its value.
    pub(super) fn block(&mut self, block: &'p Block) -> R<(Next, Val)> {
        self.block_from(block, 0)
    }

    /// The statements of a block from one on, and its value.
    pub(super) fn block_from(&mut self, block: &'p Block, from: usize) -> R<(Next, Val)> {
        for (i, stmt) in block.stmts.iter().enumerate().skip(from) {
            let before = self.at(stmt.span);
            let next = self.marked_stmt(stmt)?;
            self.at(before);
            match next {
                Next::Goes => {}
                Next::Maybe => return self.behind_jump(block, i + 1),
                next => return Ok((next, Val::UNIT)),
            }
        }
        match &block.tail {
            None => Ok((Next::Goes, Val::UNIT)),
            // A branch at the end may leave the function or loop.
            Some(tail) => match &tail.kind {
                ExprKind::If { cond, then, otherwise } => {
                    let before = self.at(tail.span);
                    let result = self.if_expr(cond, then, otherwise.as_deref(), tail.is_block_value());
                    self.at(before);
                    result
                }
                ExprKind::Block(block) => self.block_value(block),
                _ => Ok((Next::Goes, self.expr(tail)?)),
            },
        }
    }

    /// A statement in the region of the profile that its attribute opens.
    fn marked_stmt(&mut self, stmt: &'p Stmt) -> R<Next> {
        let region = stmt.attrs.iter().find_map(|attr| match &attr.kind {
            AttrKind::Region(name) => Some(name),
            _ => None,
        });
        let next = match region {
            Some(name) => {
                self.land_named()?;
                self.materialise_stmt(stmt)?;
                self.open();
                let next = self.stmt(stmt)?;
                let body = self.close()?;
                self.push(OpKind::Region { name: name.clone(), body });
                next
            }
            None => self.stmt(stmt)?,
        };
        let tap = stmt.attrs.iter().find_map(|attr| match &attr.kind {
            AttrKind::Tap(name) => Some(name),
            _ => None,
        });
        if let (Some(name), Markers::Taps, Next::Goes) = (tap, self.markers, &next) {
            self.tapped(name, stmt)?;
        }
        Ok(next)
    }

    /// Records what a statement with a tap has bound or assigned, as probes do.
    fn tapped(&mut self, name: &str, stmt: &'p Stmt) -> R<()> {
        let vals = match &stmt.kind {
            StmtKind::Let { pattern, .. } => {
                let slots = pattern.locals().iter().filter_map(|local| self.frame().locals.get(&local.name.id.0));
                slots.map(|slot| self.slots[*slot].val.clone()).collect()
            }
            StmtKind::Assign { place, .. } => {
                let place = self.place(place)?;
                vec![self.place_val(&place)?]
            }
            _ => Vec::new(),
        };
        for val in vals {
            let val = self.read(&val)?;
            let shown = match &val {
                Val::Pe(pe) => pe.hi.is_none(),
                Val::Lrm(lrm) => lrm.elem != crate::kernel::ElemType::I64,
                Val::Scalar(_) | Val::Acc(_) => true,
                _ => false,
            };
            if shown {
                self.probe(name, &val)?;
            }
        }
        Ok(())
    }

    /// What a statement in a region assigns outlives the region's block.
    fn materialise_stmt(&mut self, stmt: &'p Stmt) -> R<()> {
        match &stmt.kind {
            StmtKind::Expr(Expr { kind: ExprKind::Block(block), .. })
            | StmtKind::For { body: block, .. }
            | StmtKind::While { body: block, .. } => self.materialise_for(block, None),
            _ => {
                let block = Block { stmts: vec![stmt.clone()], tail: None, span: stmt.span };
                self.materialise_for(&block, None)
            }
        }
    }

    fn stmt(&mut self, stmt: &'p Stmt) -> R<Next> {
        match &stmt.kind {
            StmtKind::Let { pattern, ty, value } => {
                let val = self.expr_as(value, ty.as_ref())?;
                self.bind(pattern, val)?;
            }
            StmtKind::Assign { op, place, value } => self.assign(*op, place, value)?,
            StmtKind::Expr(expr) => match &expr.kind {
                ExprKind::If { cond, then, otherwise } => {
                    let (next, _) = self.if_expr(cond, then, otherwise.as_deref(), false)?;
                    return Ok(next);
                }
                ExprKind::Block(block) => return Ok(self.block_value(block)?.0),
                _ => {
                    let val = self.expr(expr)?;
                    // What nobody wants is taken from its stream nevertheless.
                    if let Val::Acc(acc) = val {
                        self.settled(acc)?;
                    }
                }
            },
            StmtKind::For { pattern, iter, body } => return self.for_stmt(pattern, iter, body),
            StmtKind::While { cond, body } => {
                let bound = stmt.attrs.iter().find_map(|attr| match &attr.kind {
                    AttrKind::Bound(trips) => Some(trips),
                    _ => None,
                });
                let Some(bound) = bound else {
                    return self.fail("a `while` without a bound", "write `#[bound(n)]` above it");
                };
                let bound = self.const_usize(bound)? as u64;
                return self.while_stmt(cond, body, bound);
            }
            StmtKind::Return(value) => {
                let val = match value {
                    Some(value) => self.expr(value)?,
                    None => Val::UNIT,
                };
                return Ok(Next::Return(Box::new(val)));
            }
            StmtKind::Break => return Ok(Next::Break),
            StmtKind::Continue => return Ok(Next::Continue),
            StmtKind::Probe(values) => {
                for value in values {
                    let val = self.expr(value)?;
                    if matches!(self.markers, Markers::All | Markers::Taps) {
                        self.probe(&Self::text(value), &val)?;
                    }
                }
            }
            StmtKind::Assert { cond, text } => self.assert(cond, text.as_deref())?,
            StmtKind::Broken { .. } => return self.fail("a statement that could not be read", ""),
        }
        Ok(Next::Goes)
    }

    // ---- bindings ----

    pub(super) fn bind(&mut self, pattern: &'p Pattern, val: Val) -> R<()> {
        match pattern {
            Pattern::Ignore(_) => {
                if let Val::Acc(acc) = val {
                    self.settled(acc)?;
                }
            }
            Pattern::Name(local) => {
                self.bind_local(local, val)?;
            }
            Pattern::Tuple(locals) => {
                let val = self.read(&val)?;
                let Val::Tuple(parts) = val else { return self.wrong("a tuple", &val) };
                for (local, part) in locals.iter().zip(parts) {
                    self.bind_local(local, part)?;
                }
            }
        }
        Ok(())
    }

    fn bind_local(&mut self, local: &'p Local, val: Val) -> R<()> {
        let val = self.owned(val, local.mutable, &local.name.name.name)?;
        let slot = self.declare(&local.name, val);
        self.slots[slot].written = local.mutable;
        Ok(())
    }

    /// A value that its name alone refers to, or that nobody changes.
    pub(super) fn owned(&mut self, val: Val, mutable: bool, name: &str) -> R<Val> {
        Ok(match val {
            Val::Pe(pe) => Val::Pe(self.pinned(pe)),
            Val::Acc(acc) => {
                let acc = self.settled(acc)?;
                match acc {
                    Acc::Group { id, n, fresh: true } => Val::Acc(Acc::Group { id, n, fresh: false }),
                    other => {
                        let values = self.acc_values(&other)?;
                        Val::Acc(Acc::Lanes(std::rc::Rc::new(values)))
                    }
                }
            }
            Val::Lrm(lrm) => match (&lrm.place, mutable) {
                (Place::Buffer { .. }, false) if lrm.fresh => Val::Lrm(Lrm { fresh: false, ..lrm }),
                (Place::Buffer { id, .. }, false) if !self.is_written(*id) => Val::Lrm(lrm),
                (Place::Lanes(lanes), false) => {
                    let lanes = lanes.iter().map(|lane| self.pinned(*lane)).collect();
                    Val::Lrm(Lrm { rows: lrm.rows, ..Lrm::lanes(lrm.elem, lanes) })
                }
                _ => Val::Lrm(Lrm { fresh: false, ..self.own_copy(&lrm, name)? }),
            },
            Val::Tuple(parts) => Val::Tuple(self.all_owned(parts, mutable, name)?),
            Val::Array(parts) => Val::Array(self.all_owned(parts, mutable, name)?),
            val @ (Val::PeVar(..) | Val::ScalarVar(..)) => {
                let val = self.read(&val)?;
                self.owned(val, mutable, name)?
            }
            val => val,
        })
    }
    fn all_owned(&mut self, parts: Vec<Val>, mutable: bool, name: &str) -> R<Vec<Val>> {
        parts.into_iter().map(|part| self.owned(part, mutable, name)).collect()
    }

    /// Whether a name refers to a buffer: it may be written while the new name reads it.
    fn is_written(&self, id: crate::ir::Id) -> bool {
        fn holds(val: &Val, id: crate::ir::Id) -> bool {
            match val {
                Val::Lrm(Lrm { place: Place::Buffer { id: b, .. }, .. }) => *b == id,
                Val::Tuple(parts) | Val::Array(parts) => parts.iter().any(|part| holds(part, id)),
                _ => false,
            }
        }
        self.slots.iter().any(|slot| slot.written && holds(&slot.val, id))
    }

    /// A value that no assignment changes: a variable of the IR is copied.
    pub(super) fn pinned(&mut self, pe: Pe) -> Pe {
        let mut pin = |src: Src| match src {
            Src::Val(id) if self.is_var(id) => self.copy(src),
            src => src,
        };
        Pe { lo: pin(pe.lo), hi: pe.hi.map(pin), ..pe }
    }

    // ---- assignments ----

    fn assign(&mut self, op: Option<BinOp>, place: &'p Expr, value: &'p Expr) -> R<()> {
        // The value first, as it may read the place.
        let val = self.expr(value)?;
        let to = self.place(place)?;
        let val = match op {
            None => val,
            Some(op) => {
                let now = match (self.place_val(&to)?, &to) {
                    (Val::Lrm(lrm), PlaceRef::Elements(_)) if lrm.n == 1 => {
                        Val::Pe(self.read_at(&lrm, &Affine::number(0))?)
                    }
                    (now, _) => now,
                };
                if let (Val::Acc(Acc::Group { id, .. }), BinOp::Add, Val::Acc(more)) = (&now, op, &val) {
                    let id = *id;
                    self.no_mask("adding to accumulators")?;
                    return self.add_into(id, more.clone());
                }
                self.binary_vals(op, now, val)?
            }
        };
        self.assign_place(&to, val)
    }

    /// The place that an expression names.
    pub(super) fn place(&mut self, expr: &'p Expr) -> R<PlaceRef> {
        match &expr.kind {
            ExprKind::Path(path) => match self.slot_of(path) {
                Some(slot) => match &self.slots[slot].val {
                    Val::Ref(place) => Ok(place.clone()),
                    _ => Ok(PlaceRef::Slot(slot)),
                },
                None => self.fail(format!("`{}` is no variable", path.text()), ""),
            },
            ExprKind::Unary { op: UnOp::Deref, arg } | ExprKind::Ref { target: arg, .. } => self.place(arg),
            ExprKind::Field { base, member } => {
                let base = self.place(base)?;
                match member.name.parse() {
                    Ok(i) => Ok(PlaceRef::Field(Box::new(base), i)),
                    Err(_) => self.fail(format!("no member `{}`", member.name), ""),
                }
            }
            ExprKind::Index { base, index } => {
                let base = self.place(base)?;
                let at = self.expr(index)?;
                let at = self.read(&at)?;
                match self.place_val(&base)? {
                    Val::Lrm(lrm) => {
                        let (first, n) = self.index_range(&at, lrm.n)?;
                        match lrm.part(&first, n) {
                            Some(part) => Ok(PlaceRef::Elements(part)),
                            None => self.fail("an element of values that are in no buffer", "make it `let mut`"),
                        }
                    }
                    Val::Array(parts) => {
                        let Val::Scalar(at) = at else { return self.wrong("an index", &at) };
                        let i = self.known_usize(&at)?;
                        if i >= parts.len() {
                            return self.fail(format!("index {i} of an array of {}", parts.len()), "");
                        }
                        Ok(PlaceRef::Field(Box::new(base), i))
                    }
                    other => self.wrong("a buffer or array", &other),
                }
            }
            _ => self.fail("this is no place", "assign to a variable or an element"),
        }
    }

    /// First element and number of an index or range.
    pub(super) fn index_range(&mut self, at: &Val, len: usize) -> R<(Affine, usize)> {
        match at {
            Val::Scalar(s) => Ok((s.affine(), 1)),
            Val::Range { start, end, .. } => {
                let n = match (start.as_known(), end.as_known()) {
                    (Some(a), Some(b)) => b - a,
                    _ => self.sum_known(&end.affine().plus(&start.affine().times(-1)))?.into(),
                };
                match usize::try_from(n) {
                    Ok(n) if n <= len => Ok((start.affine(), n)),
                    _ => self.fail(format!("{n} elements of a buffer of {len}"), ""),
                }
            }
            other => self.wrong("an index", other),
        }
    }

    pub(super) fn assign_place(&mut self, place: &PlaceRef, val: Val) -> R<()> {
        if let PlaceRef::Elements(lrm) = place {
            let val = self.read(&val)?;
            return self.assign_elements(lrm, val);
        }
        let now = self.place_val(place)?;
        let new = match now {
            Val::Ref(of) => return self.assign_place(&of, val),
            Val::ScalarVar(ty, var) => {
                let Val::Scalar(s) = self.read(&val)? else { return self.wrong("a scalar", &val) };
                let value = self.sval(&s.affine());
                self.assign_scalar(var, value)?;
                Val::ScalarVar(ty, var)
            }
            Val::PeVar(elem, lo, hi) => {
                let pe = self.as_pe(&val, Some(elem))?;
                let pe = self.exact(pe);
                if pe.elem != elem {
                    return self.fail(format!("a `Q<{}>` is assigned to a `Q<{elem}>`", pe.elem), "");
                }
                if let Some(hi) = hi {
                    let (low, high) = self.both_words(pe);
                    // The low word may be what the high one is read from.
                    let high = self.copy(high);
                    self.set_var(lo, low);
                    self.set_var(hi, high);
                } else {
                    self.set_var(lo, pe.lo);
                }
                Val::PeVar(elem, lo, hi)
            }
            Val::Lrm(lrm) if matches!(lrm.place, Place::Buffer { .. }) => {
                let val = self.read(&val)?;
                return self.assign_elements(&lrm, val);
            }
            Val::Acc(Acc::Group { id, n, .. }) => {
                let val = self.read(&val)?;
                let Val::Acc(acc) = val else { return self.wrong("accumulators", &val) };
                if let Acc::Group { id: other, .. } = &acc
                    && *other == id
                {
                    return Ok(());
                }
                self.no_mask("assigning accumulators")?;
                let values = self.acc_values(&acc)?;
                if values.len() != n {
                    return self.fail("unlike numbers of accumulators", "");
                }
                for (k, value) in values.iter().enumerate() {
                    let dst = crate::ir::Dst::Acc(id, k as u8);
                    self.push(OpKind::Alu { op: crate::ir::AluOp::Mov, dst, a: value.lo, b: Src::Imm(0) });
                }
                return Ok(());
            }
            Val::Pe(old) => {
                let pe = self.as_pe(&val, Some(old.elem))?;
                Val::Pe(self.pinned(pe))
            }
            Val::Scalar(old) => {
                let mut new = self.read(&val)?;
                if let Val::Scalar(s) = &mut new
                    && s.ty == super::value::ScalarTy::Open
                {
                    s.ty = old.ty;
                }
                new
            }
            Val::Tuple(_) | Val::Array(_) => {
                let new = self.read(&val)?;
                let (Val::Tuple(parts) | Val::Array(parts)) = new else { return self.wrong("as many values", &new) };
                for (i, part) in parts.into_iter().enumerate() {
                    self.assign_place(&PlaceRef::Field(Box::new(place.clone()), i), part)?;
                }
                return Ok(());
            }
            _ => {
                let val = self.read(&val)?;
                self.owned(val, true, "v")?
            }
        };
        self.set_place(place, new)
    }

    /// A scalar changes if any PE is enabled.
    fn assign_scalar(&mut self, var: crate::ir::Id, value: crate::ir::SVal) -> R<()> {
        if self.masks == 0 {
            self.set_scalar(var, value);
            return Ok(());
        }
        let a = self.any_enabled();
        let (then, ()) = self.detached(|cx| {
            cx.set_scalar(var, value);
            Ok(())
        })?;
        let b = crate::ir::SVal::Imm(0);
        self.push(OpKind::If { cond: iss::isa::operand::Cond::Ne, a, b, then, els: Vec::new() });
        Ok(())
    }

    fn assign_elements(&mut self, to: &Lrm, val: Val) -> R<()> {
        match val {
            Val::Lrm(from) => match self.lands_in(to, &from)? {
                true => Ok(()),
                false => self.copy_lrm(to, &from),
            },
            Val::Acc(acc) => {
                let values = self.acc_values(&acc)?;
                let from = Lrm::lanes(crate::kernel::ElemType::I32, values);
                self.copy_lrm(to, &from)
            }
            Val::Array(parts) if parts.len() == to.n => parts.iter().enumerate().try_for_each(|(i, part)| {
                let pe = self.as_pe(part, Some(to.elem))?;
                self.write(to, &Affine::number(i as i64), pe)
            }),
            val if to.n == 1 => {
                let pe = self.as_pe(&val, Some(to.elem))?;
                self.write(to, &Affine::number(0), pe)
            }
            other => self.wrong("as many elements", &other),
        }
    }

    fn set_place(&mut self, place: &PlaceRef, val: Val) -> R<()> {
        match place {
            PlaceRef::Slot(slot) => {
                self.slots[*slot].val = val;
                Ok(())
            }
            PlaceRef::Field(of, i) => {
                let mut whole = self.place_val(of)?;
                if let Val::Tuple(parts) | Val::Array(parts) = &mut whole {
                    parts[*i] = val;
                }
                self.set_place(of, whole)
            }
            PlaceRef::Elements(_) => unreachable!("elements are written one by one"),
        }
    }

    // ---- markers ----

    fn probe(&mut self, name: &str, val: &Val) -> R<()> {
        let val = self.read(val)?;
        match &val {
            Val::Pe(pe) => {
                let pe = self.exact(*pe);
                if pe.hi.is_some() {
                    return self.fail("a probe of 64 bits", "probe a part of it: `narrow::<i32>(Wrap)`");
                }
                let a = match pe.lo {
                    src @ Src::Stream { .. } => self.copy(src),
                    src => src,
                };
                self.push(OpKind::Probe { name: name.to_owned(), a });
            }
            Val::Scalar(s) => {
                let a = match self.sval(&s.affine()) {
                    crate::ir::SVal::Imm(v) => Src::Imm(v),
                    crate::ir::SVal::Val(id) => Src::Val(id),
                };
                self.push(OpKind::Probe { name: name.to_owned(), a });
            }
            Val::Lrm(lrm) => {
                for i in 0..lrm.n {
                    let pe = self.read_at(lrm, &Affine::number(i as i64))?;
                    self.probe(&format!("{name}[{i}]"), &Val::Pe(pe))?;
                }
            }
            Val::Acc(acc) => {
                for (i, pe) in self.acc_values(acc)?.into_iter().enumerate() {
                    self.probe(&format!("{name}[{i}]"), &Val::Pe(pe))?;
                }
            }
            Val::Array(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.probe(&format!("{name}[{i}]"), part)?;
                }
            }
            other => return self.wrong("a value that can be shown", other),
        }
        Ok(())
    }

    fn assert(&mut self, cond: &'p Expr, text: Option<&str>) -> R<()> {
        let val = self.expr(cond)?;
        let name = text.map_or_else(|| Self::text(cond), str::to_owned);
        let a = match self.read(&val)? {
            Val::Scalar(s) => match s.as_known() {
                Some(0) => return self.fail(format!("assertion fails: {name}"), ""),
                Some(_) => return Ok(()),
                None => match self.sval(&s.affine()) {
                    crate::ir::SVal::Imm(v) => Src::Imm(v),
                    crate::ir::SVal::Val(id) => Src::Val(id),
                },
            },
            Val::Pe(pe) => pe.lo,
            other => return self.wrong("a condition", &other),
        };
        if self.markers != Markers::None {
            self.push(OpKind::Assert { name, a });
        }
        Ok(())
    }
}
