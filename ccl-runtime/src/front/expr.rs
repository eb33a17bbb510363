//! Expressions but for calls.

use ccl_syntax::ast::*;
use ccl_syntax::builtins::BuiltinKind;
use ccl_syntax::check::Def;
use ccl_syntax::eval::Value;
use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::R;
use super::value::{Acc, Lrm, Number, PlaceRef, Scalar, ScalarTy, Val};
use super::walk;
use crate::ir::range::Range;
use crate::ir::{OpKind, SVal, Type};
use crate::value::{Overflow, Rounding};

/// A constant as a scalar.
pub(super) fn scalar_of(value: &Value) -> Option<Scalar> {
    match value {
        Value::Int { value, ty } => Some(Scalar::known(ty.map_or(ScalarTy::Open, ScalarTy::Int), *value)),
        Value::Bool(value) => Some(Scalar::bool(*value)),
        Value::Array(_) => None,
    }
}

impl<'p> Cx<'p> {
    /// An expression where a type may be written: an open literal takes it.
    pub(super) fn expr_as(&mut self, expr: &'p Expr, ty: Option<&'p Ty>) -> R<Val> {
        let val = self.expr(expr)?;
        let Some(ty) = ty else { return Ok(val) };
        if let Val::Scalar(Scalar { ty: ScalarTy::Open, number }) = &val
            && let TyKind::Path(path) = &ty.kind
            && let Some(int) = path.as_name().and_then(|name| IntTy::parse(&name.name))
        {
            return Ok(Val::Scalar(Scalar { ty: ScalarTy::Int(int), number: number.clone() }));
        }
        Ok(val)
    }

    /// The value of an expression. Places are not read: a variable's value is that of the moment it is used.
    pub(super) fn expr(&mut self, expr: &'p Expr) -> R<Val> {
        let before = self.at(expr.span);
        let val = self.deeper(|cx| cx.expr_here(expr))?;
        self.at(before);
        Ok(val)
    }

    fn expr_here(&mut self, expr: &'p Expr) -> R<Val> {
        match &expr.kind {
            ExprKind::Lit(lit) => self.lit(lit, expr),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Unary { op, arg } => {
                let val = self.expr(arg)?;
                match (op, self.read(&val)?) {
                    (UnOp::Deref, val) => Ok(val),
                    (op, Val::Scalar(s)) => Ok(Val::Scalar(self.scalar_unary(*op, &s)?)),
                    (op, Val::Pe(pe)) => Ok(Val::Pe(self.pe_unary(*op, pe)?)),
                    (_, other) => self.wrong("a number", &other),
                }
            }
            ExprKind::Binary { op, .. } => self.binary_chain(expr, *op),
            ExprKind::Cast { value, ty } => self.cast(value, ty),
            ExprKind::Call { callee, args } => self.call(expr, callee, args),
            ExprKind::Method { recv, name, generics, args } => self.method(expr, recv, name, generics, args),
            ExprKind::Field { base, member } => {
                let base = self.expr(base)?;
                let base = self.read(&base)?;
                match (&base, member.name.parse::<usize>()) {
                    (Val::Tuple(parts), Ok(i)) if i < parts.len() => Ok(parts[i].clone()),
                    _ => self.wrong("a tuple", &base),
                }
            }
            ExprKind::Index { base, index } => self.index(base, index),
            ExprKind::Range { start, end, inclusive } => {
                let bound = |cx: &mut Self, bound: Option<&'p Expr>, other: Scalar| match bound {
                    Some(bound) => cx.scalar(bound),
                    None => Ok(other),
                };
                let start = bound(self, start.as_deref(), Scalar::known(ScalarTy::Open, 0))?;
                let mut end = match end {
                    Some(end) => self.scalar(end)?,
                    None => return self.fail("a range without an end", "name its end"),
                };
                if *inclusive {
                    end = self.scalar_binary(BinOp::Add, &end, &Scalar::known(ScalarTy::Open, 1))?;
                }
                Ok(Val::Range { start, end, step: 1, rev: false })
            }
            ExprKind::Tuple(elems) => Ok(Val::Tuple(self.exprs(elems)?)),
            ExprKind::Array(elems) => Ok(Val::Array(self.exprs(elems)?)),
            ExprKind::Repeat { value, len } => {
                let (val, n) = (self.expr(value)?, self.const_usize(len)?);
                if n > 1 << 12 {
                    return self.fail(format!("an array of {n} values"), "arrays hold few; a buffer is `Lrm`");
                }
                let val = self.owned(val, false, "v")?;
                Ok(Val::Array(vec![val; n]))
            }
            ExprKind::Ref { mutable, target } => self.reference(*mutable, target),
            ExprKind::Block(block) => {
                let (next, val) = self.block_value(block)?;
                self.no_jump(&next)?;
                Ok(val)
            }
            ExprKind::If { cond, then, otherwise } => {
                let (next, val) = self.if_expr(cond, then, otherwise.as_deref(), true)?;
                self.no_jump(&next)?;
                Ok(val)
            }
        }
    }

    fn exprs(&mut self, elems: &'p [Expr]) -> R<Vec<Val>> {
        let mut vals = Vec::new();
        for elem in elems {
            let val = self.expr(elem)?;
            vals.push(self.owned(val, false, "v")?);
        }
        Ok(vals)
    }

    fn lit(&mut self, lit: &Lit, expr: &Expr) -> R<Val> {
        Ok(Val::Scalar(match lit {
            Lit::Int { value, suffix, .. } => {
                let ty = suffix.map_or(ScalarTy::Open, ScalarTy::Int);
                match i128::try_from(*value) {
                    Ok(value) => Scalar::known(ty, value),
                    Err(_) => return self.fail("a literal larger than any integer", ""),
                }
            }
            Lit::Bool(value) => Scalar::bool(*value),
            Lit::Float(_) => {
                let _ = expr;
                return self.fail("a decimal fraction outside `fx`", "write `fx::<16>(0.5)`");
            }
        }))
    }

    fn path(&mut self, path: &'p Path) -> R<Val> {
        match self.unit().names.of(path) {
            Some(Def::Local(_) | Def::Param(_)) => match self.slot_of(path) {
                Some(slot) => Ok(match &self.slots[slot].val {
                    // What a name refers to is not taken over by who reads it.
                    Val::Acc(Acc::Group { id, n, .. }) => Val::Acc(Acc::Group { id: *id, n: *n, fresh: false }),
                    Val::Lrm(lrm) => Val::Lrm(Lrm { fresh: false, ..lrm.clone() }),
                    val => val.clone(),
                }),
                None => self.fail(format!("`{}` has no value here", path.text()), ""),
            },
            Some(Def::ConstParam(_) | Def::Const(_)) => {
                let name = &path.last().name.name;
                if let Some(value) = self.frame().consts.get(name) {
                    return Ok(Val::Scalar(value.clone()));
                }
                match self.unit().consts.get(name) {
                    Some(value) => Ok(const_val(value)),
                    None => self.fail(format!("`{name}` is no constant that is known here"), ""),
                }
            }
            Some(Def::Builtin(row)) if row.kind == BuiltinKind::Constant => Ok(match row.name {
                "ROWS" => Val::Scalar(Scalar::usize(self.rows())),
                "COLS" => Val::Scalar(Scalar::usize(self.cols())),
                "HalfEven" => Val::Rounding(Rounding::HalfEven),
                "HalfUp" => Val::Rounding(Rounding::HalfUp),
                "Floor" => Val::Rounding(Rounding::Floor),
                "TowardZero" => Val::Rounding(Rounding::TowardZero),
                "Saturate" => Val::Overflow(Overflow::Saturate),
                "Wrap" => Val::Overflow(Overflow::Wrap),
                name => Val::Choice(name),
            }),
            _ => self.fail(
                format!("`{}` is only known to rustc", path.text()),
                "constants of a kernel are `const` items of its block or const parameters",
            ),
        }
    }

    // ---- operators ----

    fn binary_chain(&mut self, expr: &'p Expr, _: BinOp) -> R<Val> {
        let mut chain: Vec<(BinOp, &'p Expr, &'p Expr)> = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary { op, lhs, rhs } = &first.kind {
            chain.push((*op, rhs, first));
            first = lhs;
        }
        let mut left = self.expr(first)?;
        for (op, rhs, whole) in chain.into_iter().rev() {
            if matches!(op, BinOp::And | BinOp::Or)
                && let Val::Scalar(s) = self.read(&left)?
                && let Some(v) = s.as_known()
                && (v != 0) == (op == BinOp::Or)
            {
                left = Val::Scalar(s);
                continue;
            }
            if matches!(op, BinOp::And | BinOp::Or)
                && walk::has_effects(rhs)
                && let Val::Scalar(s) = self.read(&left)?
                && s.as_known().is_none()
            {
                left = self.lazily(op, &s, rhs)?;
                continue;
            }
            // What the right side assigns, the left has been read before.
            if walk::has_effects(rhs) {
                left = self.read(&left)?;
                if let Val::Pe(pe) = left {
                    left = Val::Pe(self.pinned(pe));
                }
            }
            if let Val::Acc(acc) = left {
                left = Val::Acc(self.settled(acc)?);
            }
            let right = self.expr(rhs)?;
            let before = self.at(whole.span);
            left = self.binary_vals(op, left, right)?;
            self.at(before);
        }
        Ok(left)
    }

    /// `&&` and `||` whose right side does something: it is computed where the left does not decide.
    fn lazily(&mut self, op: BinOp, left: &Scalar, rhs: &'p Expr) -> R<Val> {
        let a = self.sval(&left.affine());
        self.land_named()?;
        self.materialise_in(rhs, None)?;
        let taken: Vec<u64> = self.streams.iter().map(|s| s.at).collect();
        let var = self.b.value("v", Type::ScalarVar);
        self.push(OpKind::ScalarVar { dst: var, init: SVal::Imm((op == BinOp::Or).into()) });
        self.open();
        let right = self.scalar(rhs)?;
        let value = self.sval(&right.affine());
        self.set_scalar(var, value);
        let then = self.close()?;
        self.no_streams(&taken)?;
        let cond = if op == BinOp::And { Cond::Ne } else { Cond::Eq };
        self.push(OpKind::If { cond, a, b: SVal::Imm(0), then, els: Vec::new() });
        let Val::Scalar(Scalar { number: Number::Run(mut sum), .. }) =
            self.read(&Val::ScalarVar(ScalarTy::Bool, var))?
        else {
            unreachable!("a variable is known when the kernel runs")
        };
        sum.range = Range::between(0, 1);
        Ok(Val::Scalar(Scalar::run(ScalarTy::Bool, sum)))
    }

    pub(super) fn binary_vals(&mut self, op: BinOp, left: Val, right: Val) -> R<Val> {
        let (left, right) = (self.read(&left)?, self.read(&right)?);
        match (&left, &right) {
            (Val::Acc(a), Val::Acc(b)) => match op {
                BinOp::Add => Ok(Val::Acc(self.acc_add(a.clone(), b.clone())?)),
                BinOp::Sub => {
                    let (x, y) = (self.acc_values(a)?, self.acc_values(b)?);
                    let lanes = x.into_iter().zip(y).map(|(x, y)| self.pe_binary(op, x, y)).collect::<R<Vec<_>>>()?;
                    Ok(Val::Acc(Acc::Lanes(std::rc::Rc::new(lanes))))
                }
                _ => self.fail(format!("`{}` of accumulators", op.word()), "accumulators are added"),
            },
            (Val::Scalar(a), Val::Scalar(b)) => Ok(Val::Scalar(self.scalar_binary(op, a, b)?)),
            _ if matches!(op, BinOp::Shl | BinOp::Shr) => {
                let a = self.as_pe(&left, None)?;
                Ok(Val::Pe(self.pe_shift(op == BinOp::Shl, a, &right)?))
            }
            _ => {
                let (a, b) = self.pair(&left, &right)?;
                Ok(Val::Pe(self.pe_binary(op, a, b)?))
            }
        }
    }

    fn cast(&mut self, value: &'p Expr, ty: &'p Ty) -> R<Val> {
        let s = self.scalar(value)?;
        match &ty.kind {
            TyKind::Path(path) => match path.as_name().and_then(|name| IntTy::parse(&name.name)) {
                Some(to) => Ok(Val::Scalar(self.scalar_cast(&s, to)?)),
                None => self.fail("a cast to what is no integer", "`as` is between scalar integers"),
            },
            _ => self.fail("a cast to what is no integer", "`as` is between scalar integers"),
        }
    }

    fn index(&mut self, base: &'p Expr, index: &'p Expr) -> R<Val> {
        let of = self.expr(base)?;
        let of = self.read(&of)?;
        let at = self.expr(index)?;
        let at = self.read(&at)?;
        match (&of, &at) {
            (Val::Lrm(lrm), Val::Scalar(at)) => Ok(Val::Pe(self.read_at(lrm, &at.affine())?)),
            (Val::Lrm(lrm), Val::Range { .. }) => {
                let (first, n) = self.index_range(&at, lrm.n)?;
                self.slice(lrm, &first, n)
            }
            (Val::Array(parts), Val::Scalar(at)) => {
                let i = self.known_usize(at)?;
                match parts.get(i) {
                    Some(part) => Ok(part.clone()),
                    None => self.fail(format!("index {i} of an array of {}", parts.len()), ""),
                }
            }
            (Val::Array(parts), Val::Range { .. }) => {
                let (first, n) = self.index_range(&at, parts.len())?;
                let first = self.sum_known(&first)? as usize;
                match parts.get(first..first + n) {
                    Some(parts) => Ok(Val::Array(parts.to_vec())),
                    None => self.fail(format!("elements {first}..{} of {}", first + n, parts.len()), ""),
                }
            }
            _ => self.wrong("a buffer or array", &of),
        }
    }

    /// Elements of a buffer, in place.
    pub(super) fn slice(&mut self, lrm: &Lrm, first: &super::value::Affine, n: usize) -> R<Val> {
        let lrm = match &lrm.place {
            super::value::Place::Lanes(_) if first.as_known().is_none() => {
                let first = self.sum_known(first)?;
                return self.slice(lrm, &super::value::Affine::number(first), n);
            }
            _ => lrm,
        };
        let end = first.range.hi.saturating_add(n as i64);
        if first.range.lo < 0 || end > lrm.n as i64 {
            self.sum_known(first)?;
            return self.fail(format!("elements {}..{end} of a buffer of {}", first.range.lo, lrm.n), "");
        }
        match lrm.part(first, n) {
            Some(part) => Ok(Val::Lrm(part)),
            None => self.fail(format!("elements of a buffer of {}", lrm.n), ""),
        }
    }

    fn reference(&mut self, mutable: bool, target: &'p Expr) -> R<Val> {
        // A view is lent as it is made.
        if let (true, ExprKind::Method { .. }) = (mutable, &target.kind) {
            return match self.expr(target)? {
                val @ Val::Tensor(_) => Ok(val),
                other => self.wrong("a place, or a view of a tensor,", &other),
            };
        }
        if mutable {
            let place = self.place(target)?;
            if let PlaceRef::Slot(slot) = &place {
                self.slots[*slot].written = true;
            }
            return Ok(match self.place_val(&place)? {
                // Handles are lent as they are.
                Val::Lrm(lrm) if matches!(lrm.place, super::value::Place::Buffer { .. }) => {
                    Val::Lrm(Lrm { fresh: false, ..lrm })
                }
                val @ (Val::Tensor(_) | Val::Broadcast(_)) => val,
                val @ Val::Array(_) if holds_tensors(&val) => val,
                _ => Val::Ref(place),
            });
        }
        self.expr(target)
    }

    // ---- scalars ----

    pub(super) fn scalar(&mut self, expr: &'p Expr) -> R<Scalar> {
        let val = self.expr(expr)?;
        match self.read(&val)? {
            Val::Scalar(s) => Ok(s),
            other => self.wrong("a scalar", &other),
        }
    }
    /// An expression that is a number when the kernel is compiled.
    pub(super) fn const_usize(&mut self, expr: &'p Expr) -> R<usize> {
        let s = self.scalar(expr)?;
        self.known_usize(&s)
    }
}

fn holds_tensors(val: &Val) -> bool {
    match val {
        Val::Tensor(_) => true,
        Val::Array(parts) => parts.first().is_some_and(holds_tensors),
        _ => false,
    }
}

pub(super) fn const_val(value: &Value) -> Val {
    match value {
        Value::Array(elems) => Val::Array(elems.iter().map(const_val).collect()),
        value => Val::Scalar(scalar_of(value).expect("no array")),
    }
}
