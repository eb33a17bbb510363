//! Expressions without calls, and the places that they name.

use ccl_syntax::Span;
use ccl_syntax::ast::{BinOp, Block, Expr, ExprKind, IntTy, Lit, Path, UnOp};
use ccl_syntax::builtins::BuiltinKind;
use ccl_syntax::check::Def;
use ccl_syntax::check::types::Type;
use ccl_syntax::eval;

use super::datum::{Choice, Counter, Datum, Place, Step};
use super::error::{Cause, Evaluated};
use super::machine::Machine;
use super::ops::{is_in_range, wrap};
use crate::__rt::{self, Branch};
use crate::kernel::ElemType;
use crate::value::{Q, Value};

impl<'a> Machine<'a> {
    /// The value of an expression. Its vectors may be those of a variable.
    pub(super) fn eval(&mut self, expr: &'a Expr) -> Evaluated {
        self.step(expr.span)?;
        self.nested(|m| m.eval_kind(expr))
    }

    fn eval_kind(&mut self, expr: &'a Expr) -> Evaluated {
        match &expr.kind {
            ExprKind::Lit(lit) => self.literal(expr, lit, false),
            ExprKind::Path(path) => self.path(path),
            ExprKind::Unary { op, arg } => self.unary_expr(*op, arg),
            ExprKind::Binary { .. } => self.binary_expr(expr),
            ExprKind::Cast { value, .. } => self.cast(expr, value),
            ExprKind::Call { callee, args } => self.call_expr(expr, callee, args),
            ExprKind::Method { recv, name, generics, args } => self.method_expr(expr, recv, name, generics, args),
            ExprKind::Field { .. } | ExprKind::Index { .. } => {
                let place = self.place(expr, false)?;
                let value = self.load(&place)?;
                Ok(self.kept(expr, value))
            }
            ExprKind::Range { start, end, inclusive } => self.range(start.as_deref(), end.as_deref(), *inclusive),
            ExprKind::Tuple(elems) => Ok(Datum::Tuple(self.each(elems)?)),
            ExprKind::Array(elems) => Ok(Datum::Array(self.each(elems)?)),
            ExprKind::Repeat { value, len } => self.repeat(value, len),
            ExprKind::Ref { mutable, target } => Ok(Datum::Ref(self.place(target, *mutable)?)),
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { cond, then, otherwise } => self.if_expr(cond, then, otherwise.as_deref()),
        }
    }

    /// The value of an expression, behind references.
    pub(super) fn eval_stripped(&mut self, expr: &'a Expr) -> Evaluated {
        match self.eval(expr)? {
            value @ Datum::Ref(_) => {
                let value = self.strip(value)?;
                Ok(self.kept(expr, value))
            }
            value => Ok(value),
        }
    }

    /// What was read at a place that the rest of the expression may assign.
    fn kept(&self, expr: &Expr, value: Datum) -> Datum {
        let mut root = expr;
        loop {
            match &root.kind {
                ExprKind::Index { base: of, .. }
                | ExprKind::Field { base: of, .. }
                | ExprKind::Unary { op: UnOp::Deref, arg: of }
                | ExprKind::Ref { target: of, .. }
                | ExprKind::Method { recv: of, .. } => root = of,
                ExprKind::Path(path) if !self.frame.unit.reads.contains(&path.id.0) => return value,
                _ => return value.read(),
            }
        }
    }

    pub(super) fn each(&mut self, exprs: &'a [Expr]) -> Evaluated<Vec<Datum>> {
        exprs.iter().map(|expr| self.eval(expr)).collect()
    }

    /// A literal; its sign stands before it.
    fn literal(&mut self, expr: &'a Expr, lit: &Lit, is_negative: bool) -> Evaluated {
        match lit {
            Lit::Bool(value) => Ok(Datum::Bool(*value)),
            Lit::Float(_) => Err(self.stop(Cause::Unknown { name: "a fraction outside `fx`".to_owned() })),
            Lit::Int { value, suffix, .. } => {
                let value = i128::try_from(*value).map(|v| if is_negative { -v } else { v }).ok();
                let ty = suffix.or_else(|| self.int_type(expr)).unwrap_or(IntTy::I32);
                self.int(value, ty, || "the literal".to_owned())
            }
        }
    }

    fn path(&mut self, path: &'a Path) -> Evaluated {
        let unknown = |m: &Self| m.stop(Cause::Unknown { name: path.text() });
        match self.frame.unit.checked.names.of(path) {
            Some(Def::Local(id) | Def::Param(id)) => {
                let value = self.value(id).ok_or_else(|| unknown(self))?;
                Ok(if self.frame.unit.reads.contains(&path.id.0) { value.read() } else { value })
            }
            Some(Def::ConstParam(_)) => self.frame.consts.get(&path.text()).cloned().ok_or_else(|| unknown(self)),
            Some(Def::Const(_)) => self.constant(&path.text()),
            Some(Def::Builtin(row)) if row.kind == BuiltinKind::Constant => match row.name {
                "ROWS" => Ok(Datum::usize(__rt::rows())),
                "COLS" => Ok(Datum::usize(__rt::cols())),
                name => Choice::named(name).map(Datum::Choice).ok_or_else(|| unknown(self)),
            },
            Some(Def::Import(_) | Def::External) => {
                let names: Vec<&str> = path.segments.iter().map(|s| s.name.name.as_str()).collect();
                self.external_constant(&names, path.span)?.ok_or_else(|| unknown(self))
            }
            _ => Err(unknown(self)),
        }
    }

    /// A constant of the block at hand.
    pub(super) fn constant(&mut self, name: &str) -> Evaluated {
        let unit = self.frame.unit;
        if let Some(value) = unit.constants.get(name) {
            return Ok(of_constant(value));
        }
        match unit.constant(name) {
            Some(value) => self.eval(value),
            None => Err(self.stop(Cause::Unknown { name: name.to_owned() })),
        }
    }

    /// A constant of another block.
    pub(super) fn external_constant(&mut self, path: &[&str], span: Span) -> Evaluated<Option<Datum>> {
        self.at(span);
        let Some((unit, name)) = self.linker.find(self.frame.unit, path) else { return Ok(None) };
        if let Some(value) = unit.constants.get(&name) {
            return Ok(Some(of_constant(value)));
        }
        let Some(value) = unit.constant(&name) else { return Ok(None) };
        let frame = super::machine::Frame::new(unit, Default::default());
        let outer = std::mem::replace(&mut self.frame, frame);
        let result = self.eval(value);
        self.frame = outer;
        result.map(Some)
    }

    fn unary_expr(&mut self, op: UnOp, arg: &'a Expr) -> Evaluated {
        if let (UnOp::Neg, ExprKind::Lit(lit @ Lit::Int { .. })) = (op, &arg.kind) {
            return self.literal(arg, lit, true);
        }
        let value = self.eval_stripped(arg)?;
        match op {
            UnOp::Deref => Ok(value),
            _ => self.unary(op, value),
        }
    }

    /// A chain of operators leans to the left: no level of the stack for each.
    fn binary_expr(&mut self, expr: &'a Expr) -> Evaluated {
        let mut chain = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary { op, lhs, rhs } = &first.kind {
            chain.push((*op, &**rhs, first.span));
            first = lhs;
        }
        let mut value = self.eval_stripped(first)?;
        for (op, rhs, span) in chain.into_iter().rev() {
            // Of scalars the right side is computed only where it matters; of per-PE values always.
            let is_per_pe = matches!(value, Datum::Pe(..)) || matches!(self.type_of(rhs.id), Some(Type::Pe(_)));
            match (op, &value) {
                (BinOp::And, Datum::Bool(false)) | (BinOp::Or, Datum::Bool(true)) if !is_per_pe => continue,
                _ => {}
            }
            let right = self.eval_stripped(rhs)?;
            self.at(span);
            value = self.binary(op, value, right)?;
        }
        Ok(value)
    }

    fn cast(&mut self, expr: &'a Expr, value: &'a Expr) -> Evaluated {
        let value = self.eval_stripped(value)?;
        let Some(ty) = self.int_type(expr) else { return Err(self.wrong("a scalar that can be cast", &value)) };
        match value {
            Datum::Int(v, _) => Ok(Datum::Int(wrap(v, ty), ty)),
            Datum::Bool(v) => Ok(Datum::Int(i128::from(v), ty)),
            other => Err(self.wrong("a scalar that can be cast", &other)),
        }
    }

    /// An integer in the control unit.
    pub(super) fn integer(&mut self, expr: &'a Expr) -> Evaluated<(i128, IntTy)> {
        match self.eval_stripped(expr)? {
            Datum::Int(v, ty) => Ok((v, ty)),
            other => Err(self.wrong("a scalar integer", &other)),
        }
    }

    fn range(&mut self, start: Option<&'a Expr>, end: Option<&'a Expr>, inclusive: bool) -> Evaluated {
        let (Some(start), Some(end)) = (start, end) else {
            return Err(self.stop(Cause::Open { what: "a bound of the range".to_owned() }));
        };
        let (a, b) = (self.eval_stripped(start)?, self.eval_stripped(end)?);
        match self.alike(a, b) {
            (Datum::Int(start, ty), Datum::Int(end, other)) if ty == other => {
                let end = end + i128::from(inclusive);
                Ok(Datum::Range(Counter { ty, start, end, step: 1, is_reversed: false }))
            }
            (a, b) => Err(self.no_operator(BinOp::Lt, &a, &b)),
        }
    }

    fn repeat(&mut self, value: &'a Expr, len: &'a Expr) -> Evaluated {
        let value = self.eval(value)?;
        let (n, _) = self.integer(len)?;
        let least = 0;
        self.within("the length of the array", n, least, 1 << 16)?;
        self.reserve(ElemType::I64, n as usize)?;
        Ok(Datum::Array(vec![value; n as usize]))
    }

    // ---- places ----

    /// The place that an expression names; a value that has none gets one.
    pub(super) fn place(&mut self, expr: &'a Expr, is_mutable: bool) -> Evaluated<Place> {
        self.nested(|m| m.place_kind(expr, is_mutable))
    }

    fn place_kind(&mut self, expr: &'a Expr, is_mutable: bool) -> Evaluated<Place> {
        match &expr.kind {
            ExprKind::Path(path) => {
                if let Some(Def::Local(id) | Def::Param(id)) = self.frame.unit.checked.names.of(path)
                    && let Some(place) = self.variable(id)
                {
                    return Ok(place);
                }
            }
            ExprKind::Unary { op: UnOp::Deref, arg } => {
                let place = self.place(arg, is_mutable)?;
                return self.deref(place);
            }
            ExprKind::Index { base, index } => {
                let base = self.place(base, is_mutable)?;
                let mut base = self.deref(base)?;
                let step = self.index(&base, index)?;
                self.at(expr.span);
                base.path.push(step);
                return Ok(base);
            }
            ExprKind::Field { base, member } => {
                let base = self.place(base, is_mutable)?;
                let mut base = self.deref(base)?;
                self.at(member.span);
                let field = member.name.parse().map_err(|_| self.stop(Cause::Unknown { name: member.name.clone() }))?;
                base.path.push(Step::Field(field));
                return Ok(base);
            }
            _ => {}
        }
        match self.eval(expr)? {
            Datum::Ref(place) => Ok(place),
            value => Ok(self.spill(if is_mutable { value.var() } else { value })),
        }
    }

    fn index(&mut self, base: &Place, index: &'a Expr) -> Evaluated<Step> {
        let bound = |m: &mut Self, expr: &'a Expr| {
            let (value, _) = m.integer(expr)?;
            match usize::try_from(value) {
                Ok(value) => Ok(value),
                Err(_) => {
                    let len = m.length(base)?;
                    Err(m.stop(Cause::Index { index: value, len }))
                }
            }
        };
        let ExprKind::Range { start, end, inclusive } = &index.kind else {
            return Ok(Step::Index(bound(self, index)?));
        };
        let from = start.as_ref().map_or(Ok(0), |start| bound(self, start))?;
        let to = match end {
            Some(end) => bound(self, end)?.saturating_add(usize::from(*inclusive)),
            None => self.length(base)?,
        };
        Ok(Step::Range(from, to))
    }

    /// Number of elements at a place.
    pub(super) fn length(&mut self, place: &Place) -> Evaluated<usize> {
        use super::machine::Target;
        Ok(match self.target(place)? {
            Target::Whole(Datum::Lrm(_, ids)) => ids.len(),
            Target::Whole(Datum::Array(values)) => values.len(),
            Target::Elements(_, ids) => ids.len(),
            Target::Values(values) => values.len(),
            Target::Whole(_) | Target::Element(..) => 0,
        })
    }

    // ---- blocks ----

    /// A block with its own scope.
    pub(super) fn block(&mut self, block: &'a Block) -> Evaluated {
        self.nested(|m| {
            let scope = __rt::scope();
            let value = m.statements(block)?;
            Ok(scope.leave(value))
        })
    }

    /// Statements and value of a block; its variables end, what their vectors belong to does not.
    pub(super) fn statements(&mut self, block: &'a Block) -> Evaluated {
        let mark = self.mark();
        let run = |m: &mut Self| {
            for stmt in &block.stmts {
                m.stmt(stmt)?;
            }
            block.tail.as_ref().map_or(Ok(Datum::UNIT), |tail| m.tail(tail))
        };
        let result = run(self);
        self.release(mark);
        result
    }

    /// The value at the end of a block. What it borrows of the block's own variables is copied out.
    fn tail(&mut self, tail: &'a Expr) -> Evaluated {
        match &tail.kind {
            ExprKind::If { cond, then, otherwise } if !is_value(then, otherwise.as_deref()) => {
                self.if_stmt(cond, then, otherwise.as_deref())?;
                Ok(Datum::UNIT)
            }
            _ => self.eval(tail),
        }
    }

    /// `if` for its value.
    fn if_expr(&mut self, cond: &'a Expr, then: &'a Block, otherwise: Option<&'a Expr>) -> Evaluated {
        let Some(otherwise) = otherwise.filter(|_| is_value(then, otherwise)) else {
            self.if_stmt(cond, then, otherwise)?;
            return Ok(Datum::UNIT);
        };
        match self.eval_stripped(cond)? {
            Datum::Bool(holds) => {
                let branch = __rt::branch(holds);
                let (a, b) = self.arms(&branch, then, otherwise)?;
                Ok(__rt::join(branch, a, b))
            }
            Datum::Pe(ElemType::Bool, id) => {
                let branch = __rt::branch(Q::<bool>::of(id));
                let (a, b) = self.arms(&branch, then, otherwise)?;
                let kinds = [&a, &b].map(|arm| arm.as_ref().map_or_else(String::new, Datum::kind));
                let joined = __rt::join(branch, a, b);
                let [wanted, found] = kinds;
                joined.ok_or_else(|| {
                    self.stop(Cause::Type { wanted: format!("`{wanted}`"), found: format!("`{found}`") })
                })
            }
            other => Err(self.wrong("a condition", &other)),
        }
    }

    fn arms<B: Branch>(
        &mut self,
        branch: &B,
        then: &'a Block,
        otherwise: &'a Expr,
    ) -> Evaluated<(Option<Datum>, Option<Datum>)> {
        let first = match branch.then_value() {
            Some(_mask) => {
                let value = self.block(then)?;
                Some(self.strip(value)?)
            }
            None => None,
        };
        let second = match branch.else_value() {
            Some(_mask) => Some(self.eval_stripped(otherwise)?),
            None => None,
        };
        Ok((first, second))
    }
}

/// Whether an `if` has a value.
pub(super) fn is_value(then: &Block, otherwise: Option<&Expr>) -> bool {
    otherwise.is_some() && then.tail.is_some()
}

/// A constant that the front end evaluated.
pub(super) fn of_constant(value: &eval::Value) -> Datum {
    match value {
        eval::Value::Int { value, ty } => {
            let default = if is_in_range(*value, IntTy::I32) { IntTy::I32 } else { IntTy::I64 };
            Datum::Int(*value, ty.unwrap_or(default))
        }
        eval::Value::Bool(value) => Datum::Bool(*value),
        eval::Value::Array(values) => Datum::Array(values.iter().map(of_constant).collect()),
    }
}
