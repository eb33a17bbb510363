//! Statements: what is bound, assigned and looped over, what may stand under a condition of each PE, and what becomes of flows.

use super::ty::{Elem, Type};
use super::{Checker, Loop};
use crate::ast::*;
use crate::code::Code;
use crate::diag::Diag;
use crate::source::Span;

impl<'a> Checker<'a, '_> {
    /// The type of a block's value.
    pub(super) fn block(&mut self, block: &'a Block, expected: Option<&Type>) -> Type {
        self.scopes.push(Vec::new());
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
        let ty = match &block.tail {
            Some(tail) => self.expr(tail, expected),
            None if block_leaves(block) => Type::Unknown,
            None => Type::UNIT,
        };
        self.close_scope();
        ty
    }

    pub(super) fn close_scope(&mut self) {
        for id in self.scopes.pop().unwrap_or_default() {
            let Some(local) = self.locals.get(&id) else { continue };
            if local.is_used || !has_flow(&local.ty) {
                continue;
            }
            let message = format!("`{}` is never waited for", local.name);
            let help = format!("write `{}.wait()` where its data is needed, or do not start the flow", local.name);
            self.diags.push(Diag::new(Code::FlowNeverWaited, local.span, message).help(help));
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Let { pattern, ty, value } => self.let_stmt(pattern, ty.as_ref(), value),
            StmtKind::Assign { op, place, value } => self.assign(*op, place, value, stmt.span),
            StmtKind::Expr(value) => {
                let ty = self.expr(value, None);
                self.dropped(&ty, value.span);
            }
            StmtKind::For { pattern, iter, body } => self.for_stmt(pattern, iter, body),
            StmtKind::While { cond, body } => self.while_stmt(stmt, cond, body),
            StmtKind::Return(value) => self.return_stmt(value.as_ref(), stmt.span),
            StmtKind::Break => self.jump("break", stmt.span),
            StmtKind::Continue => self.jump("continue", stmt.span),
            StmtKind::Probe(values) => {
                for value in values {
                    let ty = self.expr(value, None);
                    self.in_flight(&ty, value.span, "what is probed");
                }
            }
            StmtKind::Assert { cond, .. } => _ = self.condition(cond, "the condition of `assert!`"),
            StmtKind::Broken { declares } => declares.iter().for_each(|name| self.declare(name, Type::Unknown)),
        }
    }

    fn let_stmt(&mut self, pattern: &'a Pattern, ty: Option<&'a Ty>, value: &'a Expr) {
        let wanted = ty.map(|ty| self.ty(ty));
        let found = self.expr(value, wanted.as_ref());
        let ty = match wanted {
            Some(wanted) => {
                let what = match pattern {
                    Pattern::Name(local) => format!("`{}`", local.name.name.name),
                    _ => "the value".to_owned(),
                };
                self.want(&wanted, &found, value.span, &what);
                wanted
            }
            None => found,
        };
        if matches!(pattern, Pattern::Ignore(_)) {
            self.dropped(&ty, value.span);
        }
        self.pattern(pattern, ty, value.span);
    }

    fn pattern(&mut self, pattern: &'a Pattern, ty: Type, span: Span) {
        match pattern {
            Pattern::Name(local) => self.declare(&local.name, ty),
            Pattern::Ignore(_) => {}
            Pattern::Tuple(locals) => {
                let parts = match &ty {
                    Type::Tuple(parts) if parts.len() == locals.len() => parts.clone(),
                    Type::Unknown => vec![Type::Unknown; locals.len()],
                    _ => {
                        if !self.in_flight(&ty, span, "the value") {
                            let ty = self.literals.shown(&ty);
                            let message = format!("{} names for a value of type `{ty}`", locals.len());
                            self.diags.error(Code::WrongType, span, message);
                        }
                        vec![Type::Unknown; locals.len()]
                    }
                };
                for (local, ty) in locals.iter().zip(parts) {
                    self.declare(&local.name, ty);
                }
            }
        }
    }

    /// A value that nobody can wait for any more.
    fn dropped(&mut self, ty: &Type, span: Span) {
        if has_flow(ty) {
            let message = "this flow is never waited for";
            self.push(Code::FlowNeverWaited, span, message, "bind it and write `.wait()`, or do not start it");
        }
    }

    fn assign(&mut self, op: Option<BinOp>, place: &'a Expr, value: &'a Expr, span: Span) {
        let was_used = self.local(place).is_some_and(|local| local.is_used);
        let wanted = self.expr(place, None);
        let text = crate::print::print_expr(place);
        let Some(op) = op else {
            let found = self.expr(value, Some(&wanted));
            if let Some(local) = self.local_mut(place) {
                // An assignment is no use of what was there.
                local.is_used = was_used;
            }
            if self.want(&wanted, &found, value.span, &format!("`{text}`")) {
                self.kept(place, value, &found);
            }
            return;
        };
        let found = self.expr(value, None);
        let result = self.binary(op, (&wanted, place.span), (&found, value.span), span);
        self.want(&wanted, &result, value.span, &format!("`{text}`"));
    }

    /// A place of an inner scope that an assignment lets outlive its scope.
    fn kept(&mut self, place: &'a Expr, value: &'a Expr, ty: &Type) {
        if !matches!(ty, Type::Tile(_) | Type::Lrm(..) | Type::Flow(_)) {
            return;
        }
        let Some(outer) = self.local(place) else { return };
        let (outer_name, outer_span, depth) = (outer.name.clone(), outer.span, outer.depth);
        let is_new = |this: &Self| match this.local(value) {
            Some(inner) => inner.depth > depth,
            None => matches!(value.kind, ExprKind::Method { .. } | ExprKind::Call { .. }),
        };
        if !is_new(self) {
            return;
        }
        let walk = self.loops.iter().find(|l| l.depth >= depth && l.pipelined.is_some()).and_then(|l| l.pipelined);
        let inner = self.local(value).map(|inner| (inner.name.clone(), inner.span));
        let what = match ty {
            Type::Tile(_) => "tile",
            Type::Flow(_) => "flow",
            _ => "buffer",
        };
        let named = inner.as_ref().map_or_else(|| format!("this {what}"), |(name, _)| format!("{what} `{name}`"));
        let diag = match (walk, &inner) {
            (Some(walk), _) => {
                let message = format!("{named} is kept in `{outer_name}` across iterations of a pipelined walk");
                Diag::new(Code::KeptAcrossIterations, value.span, message)
                    .note_at(walk, "each iteration uses its own instance of the buffers of this walk")
                    .note_at(outer_span, format!("`{outer_name}` lives outside the walk"))
                    .help("copy the elements into a buffer outside: `kept[..] = ..`, or use it within the iteration")
            }
            (None, Some((_, span))) => Diag::new(
                Code::LeavesScope,
                value.span,
                format!("{named} leaves its scope in `{outer_name}`, which outlives it"),
            )
            .note_at(*span, "it is released at the brace of its block")
            .note_at(outer_span, format!("`{outer_name}` is declared here"))
            .help("allocate it outside the block, or copy its elements"),
            (None, None) => return,
        };
        self.diags.push(diag);
    }

    fn local_mut(&mut self, expr: &Expr) -> Option<&mut super::Local> {
        use crate::check::names::Def;
        let ExprKind::Path(path) = &expr.kind else { return None };
        match self.names.of(path) {
            Some(Def::Local(id) | Def::Param(id)) => self.locals.get_mut(&id.0),
            _ => None,
        }
    }

    fn for_stmt(&mut self, pattern: &'a Pattern, iter: &'a Expr, body: &'a Block) {
        let found = self.expr(iter, None);
        let elem = match found.behind_refs() {
            Type::Range(elem) => Type::Scalar(elem.clone()),
            Type::Walk(tensor) => Type::Tile(tensor.clone()),
            Type::Unknown => Type::Unknown,
            _ if self.in_flight(&found, iter.span, "what is walked") => Type::Unknown,
            Type::Tensor(_) => {
                self.push(Code::WrongType, iter.span, format!("`for` walks no `{found}`"), "its tiles are `.tiles()`")
            }
            other => {
                let message = format!("`for` walks ranges and tiles, not `{}`", self.literals.shown(other));
                self.push(Code::WrongType, iter.span, message, "write `for i in 0..n` or `for t in tensor.tiles()`")
            }
        };
        let depth = self.scopes.len() + 1;
        let pipelined = step(iter, "pipelined").map(|(name, _)| name.span);
        let is_block = step(iter, "block").is_some();
        let tile = match pattern {
            Pattern::Name(local) => Some(local.name.id.0),
            _ => None,
        };
        let chunk = self.chunk(pattern, &found, iter);
        self.loops.push(Loop { n_masks: self.masks.len(), depth, pipelined, tile, is_block, chunk });
        self.scopes.push(Vec::new());
        self.pattern(pattern, elem, iter.span);
        self.loop_body(body);
        self.close_scope();
        self.loops.pop();
    }

    fn loop_body(&mut self, body: &'a Block) {
        let found = self.block(body, None);
        self.want(&Type::UNIT, &found, body.tail.as_ref().map_or(body.span, |tail| tail.span), "the body of a loop");
    }

    fn while_stmt(&mut self, stmt: &'a Stmt, cond: &'a Expr, body: &'a Block) {
        for attr in &stmt.attrs {
            if let AttrKind::Bound(trips) = &attr.kind {
                let found = self.expr(trips, Some(&Type::USIZE));
                self.want(&Type::USIZE, &found, trips.span, "the bound");
            }
        }
        if self.condition(cond, "the condition of `while`") {
            let message = "this condition differs from PE to PE, and `while` has one";
            self.push(
                Code::PerPeControl,
                cond.span,
                message,
                "loop while `any(..)` PE goes on, and put the rest under an `if`",
            );
        }
        let depth = self.scopes.len() + 1;
        self.loops.push(Loop {
            n_masks: self.masks.len(),
            depth,
            pipelined: None,
            tile: None,
            is_block: false,
            chunk: None,
        });
        self.loop_body(body);
        self.loops.pop();
    }

    /// Checks a condition; true if it differs from PE to PE.
    pub(super) fn condition(&mut self, cond: &'a Expr, what: &str) -> bool {
        match self.expr(cond, Some(&Type::BOOL)) {
            Type::Pe(elem) if self.literals.elem(&Elem::Bool, &elem) => true,
            found => {
                self.want(&Type::BOOL, &found, cond.span, what);
                false
            }
        }
    }

    fn return_stmt(&mut self, value: Option<&'a Expr>, span: Span) {
        let ret = self.ret.clone();
        let found = value.map_or(Type::UNIT, |value| self.expr(value, Some(&ret)));
        self.want(&ret, &found, value.map_or(span, |value| value.span), "the result");
        if let Some(mask) = self.masks.last().copied() {
            self.jump_under_mask("return", span, mask);
        }
    }

    fn jump(&mut self, word: &str, span: Span) {
        let n_masks = self.loops.last().map_or(0, |l| l.n_masks);
        if let Some(mask) = self.masks.get(n_masks..).and_then(<[Span]>::last).copied() {
            self.jump_under_mask(word, span, mask);
        }
    }

    fn jump_under_mask(&mut self, word: &str, span: Span, mask: Span) {
        let message = format!("`{word}` under a condition that differs from PE to PE");
        let diag = Diag::new(Code::PerPeControl, span, message)
            .note_at(mask, "the condition; both branches run, each for its PEs")
            .help(format!("there is one instruction stream: `{word}` if `any(..)` or `all(..)`"));
        self.diags.push(diag);
    }
}

/// Whether control never reaches the end of a block, so that it has whatever type its place wants.
fn block_leaves(block: &Block) -> bool {
    let Some(last) = block.stmts.last().filter(|_| block.tail.is_none()) else { return false };
    match &last.kind {
        StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Broken { .. } => true,
        StmtKind::Expr(value) => leaves(value),
        _ => false,
    }
}

fn leaves(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Block(block) => block_leaves(block),
        ExprKind::If { then, otherwise: Some(otherwise), .. } => block_leaves(then) && leaves(otherwise),
        _ => false,
    }
}

/// Whether a value holds transfers in flight.
fn has_flow(ty: &Type) -> bool {
    match ty {
        Type::Flow(_) => true,
        Type::Tuple(parts) => parts.iter().any(has_flow),
        Type::Array(elem, _) => has_flow(elem),
        _ => false,
    }
}

/// A method in the chain of calls that makes a walk.
pub(super) fn step<'e>(iter: &'e Expr, wanted: &str) -> Option<(&'e Ident, &'e [GenericArg])> {
    let mut expr = iter;
    while let ExprKind::Method { recv, name, generics, .. } = &expr.kind {
        if name.name == wanted {
            return Some((name, generics));
        }
        expr = recv;
    }
    None
}
