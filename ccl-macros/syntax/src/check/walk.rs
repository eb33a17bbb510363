//! Every expression of a block, in no particular order, without recursion.

use crate::ast::*;

/// Calls `visit` with every expression of a block.
pub(super) fn exprs<'a>(block: &'a Block, visit: &mut impl FnMut(&'a Expr)) {
    let mut open: Vec<&'a Expr> = Vec::new();
    let mut blocks = vec![block];
    loop {
        if let Some(expr) = open.pop() {
            visit(expr);
            children(expr, &mut open, &mut blocks);
        } else if let Some(block) = blocks.pop() {
            for stmt in &block.stmts {
                of_stmt(stmt, &mut open, &mut blocks);
            }
            open.extend(block.tail.as_deref());
        } else {
            return;
        }
    }
}

fn of_stmt<'a>(stmt: &'a Stmt, open: &mut Vec<&'a Expr>, blocks: &mut Vec<&'a Block>) {
    match &stmt.kind {
        StmtKind::Let { value, .. } | StmtKind::Expr(value) => open.push(value),
        StmtKind::Assign { place, value, .. } => open.extend([place, value]),
        StmtKind::For { iter, body, .. } => {
            open.push(iter);
            blocks.push(body);
        }
        StmtKind::While { cond, body } => {
            open.push(cond);
            blocks.push(body);
        }
        StmtKind::Return(value) => open.extend(value),
        StmtKind::Probe(values) => open.extend(values),
        StmtKind::Assert { cond, .. } => open.push(cond),
        StmtKind::Break | StmtKind::Continue | StmtKind::Broken { .. } => {}
    }
}

fn children<'a>(expr: &'a Expr, open: &mut Vec<&'a Expr>, blocks: &mut Vec<&'a Block>) {
    match &expr.kind {
        ExprKind::Lit(_) | ExprKind::Path(_) => {}
        ExprKind::Unary { arg: of, .. }
        | ExprKind::Cast { value: of, .. }
        | ExprKind::Field { base: of, .. }
        | ExprKind::Ref { target: of, .. } => open.push(of),
        ExprKind::Binary { lhs: a, rhs: b, .. }
        | ExprKind::Index { base: a, index: b }
        | ExprKind::Repeat { value: a, len: b } => open.extend([&**a, &**b]),
        ExprKind::Call { args: of, .. } | ExprKind::Tuple(of) | ExprKind::Array(of) => open.extend(of),
        ExprKind::Method { recv, args, .. } => {
            open.push(recv);
            open.extend(args);
        }
        ExprKind::Range { start, end, .. } => open.extend(start.iter().chain(end).map(|bound| &**bound)),
        ExprKind::Block(block) => blocks.push(block),
        ExprKind::If { cond, then, otherwise } => {
            open.push(cond);
            blocks.push(then);
            open.extend(otherwise.as_deref());
        }
    }
}
