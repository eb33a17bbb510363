//! Every expression of a block, in no particular order, without recursion.

use crate::ast::*;

/// Calls `visit` with every expression of a block.
pub(crate) fn exprs<'a>(block: &'a Block, visit: &mut impl FnMut(&'a Expr)) {
    walk(Vec::new(), vec![block], visit);
}

/// Calls `visit` with an expression and every one inside it.
pub(crate) fn sub_exprs<'a>(expr: &'a Expr, visit: &mut impl FnMut(&'a Expr)) {
    walk(vec![expr], Vec::new(), visit);
}

/// Calls `visit` with every path in an expression of a block; those of types are left out.
pub(crate) fn paths<'a>(block: &'a Block, visit: &mut impl FnMut(&'a Path)) {
    exprs(block, &mut |expr| {
        if let ExprKind::Path(path) | ExprKind::Call { callee: path, .. } = &expr.kind {
            visit(path);
        }
    });
}

fn walk<'a>(mut open: Vec<&'a Expr>, mut blocks: Vec<&'a Block>, visit: &mut impl FnMut(&'a Expr)) {
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
