//! Smaller cases with the same failure: statements, functions and arms are removed as long as it stays.

use ccl_syntax::ast::{Block, Expr, ExprKind, ItemKind, Module, Stmt, StmtKind};

use super::Case;

/// Most cases that are tried.
const MAX_TRIES: usize = 3000;

/// A smaller case that still fails; `fails` says whether one does.
pub fn shrink(case: &Case, fails: impl Fn(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let (mut at, mut n_since, mut n_tries) = (0, 0, 0);
    loop {
        let n = edits(&mut best.module.clone(), usize::MAX);
        // Every edit of the best case was tried in vain, or enough is enough.
        if n_since >= n || n_tries >= MAX_TRIES {
            return best;
        }
        at = if at < n { at } else { 0 };
        let mut smaller = best.clone();
        edits(&mut smaller.module, at);
        smaller.module.renumber();
        n_tries += 1;
        if fails(&smaller) {
            (best, n_since) = (smaller, 0);
        } else {
            (at, n_since) = (at + 1, n_since + 1);
        }
    }
}

/// Does edit number `at`, and says how many there are.
fn edits(module: &mut Module, at: usize) -> usize {
    let mut edit = Edit { at, n: 0 };
    let mut i = 0;
    while i < module.items.len() {
        if edit.is_next() {
            module.items.remove(i);
            continue;
        }
        if let ItemKind::Fn(function) = &mut module.items[i].kind {
            edit.block(&mut function.body);
        }
        i += 1;
    }
    edit.n
}

struct Edit {
    at: usize,
    n: usize,
}

impl Edit {
    /// Counts an edit; true if it is the one to do.
    fn is_next(&mut self) -> bool {
        self.n += 1;
        self.n - 1 == self.at
    }

    fn block(&mut self, block: &mut Block) {
        let mut i = 0;
        while i < block.stmts.len() {
            if self.is_next() {
                block.stmts.remove(i);
                continue;
            }
            self.stmt(&mut block.stmts[i]);
            i += 1;
        }
        if let Some(tail) = &mut block.tail {
            self.expr(tail);
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::For { iter, body, .. } => {
                self.expr(iter);
                self.block(body);
            }
            StmtKind::While { cond, body } => {
                self.expr(cond);
                self.block(body);
            }
            StmtKind::Let { value, .. } | StmtKind::Expr(value) | StmtKind::Assign { value, .. } => self.expr(value),
            _ => {}
        }
    }

    /// Replaces an expression by one of its parts.
    fn expr(&mut self, expr: &mut Expr) {
        for i in 0..parts(expr).len() {
            if self.is_next() {
                let part = parts(expr).swap_remove(i).clone();
                *expr = part;
                return;
            }
        }
        match &mut expr.kind {
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.block(then);
                otherwise.iter_mut().for_each(|branch| self.expr(branch));
            }
            _ => parts(expr).into_iter().for_each(|part| self.expr(part)),
        }
    }
}

fn parts(expr: &mut Expr) -> Vec<&mut Expr> {
    match &mut expr.kind {
        ExprKind::Unary { arg, .. } => vec![arg],
        ExprKind::Binary { lhs, rhs, .. } => vec![lhs, rhs],
        ExprKind::Call { args, .. } => args.iter_mut().collect(),
        ExprKind::Method { recv, args, .. } => [&mut **recv].into_iter().chain(args).collect(),
        ExprKind::Index { base, index } => vec![base, index],
        ExprKind::Block(Block { tail: Some(tail), stmts, .. }) if stmts.is_empty() => vec![tail],
        ExprKind::If { then: Block { tail: Some(tail), .. }, .. } => vec![tail],
        _ => Vec::new(),
    }
}
