//! Questions about the tree: which variables a block assigns, whether it communicates, how much it does.

use ccl_syntax::ast::*;

/// Calls `visit` with every expression of a block.
pub(super) fn exprs<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a Expr)) {
    stmts(block, &mut |stmt| match &stmt.kind {
        StmtKind::Let { value, .. } | StmtKind::Expr(value) => of_expr(value, visit),
        StmtKind::Assign { place, value, .. } => {
            of_expr(place, visit);
            of_expr(value, visit);
        }
        StmtKind::For { iter, body, .. } => {
            of_expr(iter, visit);
            exprs(body, visit);
        }
        StmtKind::While { cond, body } => {
            of_expr(cond, visit);
            exprs(body, visit);
        }
        StmtKind::Return(value) => value.iter().for_each(|value| of_expr(value, visit)),
        StmtKind::Probe(values) => values.iter().for_each(|value| of_expr(value, visit)),
        StmtKind::Assert { cond, .. } => of_expr(cond, visit),
        StmtKind::Break | StmtKind::Continue | StmtKind::Broken { .. } => {}
    });
    block.tail.iter().for_each(|tail| of_expr(tail, visit));
}

fn stmts<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a Stmt)) {
    block.stmts.iter().for_each(visit);
}

/// Calls `visit` with an expression and all inside it.
pub(super) fn of_expr<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    // Chains lean to the left; they take no stack.
    let mut expr = expr;
    loop {
        visit(expr);
        match &expr.kind {
            ExprKind::Binary { lhs, rhs, .. } => {
                of_expr(rhs, visit);
                expr = lhs;
                continue;
            }
            ExprKind::Lit(_) | ExprKind::Path(_) => {}
            ExprKind::Unary { arg: of, .. }
            | ExprKind::Cast { value: of, .. }
            | ExprKind::Field { base: of, .. }
            | ExprKind::Ref { target: of, .. } => {
                expr = of;
                continue;
            }
            ExprKind::Index { base: a, index: b } | ExprKind::Repeat { value: a, len: b } => {
                of_expr(a, visit);
                of_expr(b, visit);
            }
            ExprKind::Call { args: of, .. } | ExprKind::Tuple(of) | ExprKind::Array(of) => {
                of.iter().for_each(|of| of_expr(of, visit));
            }
            ExprKind::Method { recv, args, .. } => {
                args.iter().for_each(|of| of_expr(of, visit));
                expr = recv;
                continue;
            }
            ExprKind::Range { start, end, .. } => start.iter().chain(end).for_each(|of| of_expr(of, visit)),
            ExprKind::Block(block) => exprs(block, visit),
            ExprKind::If { cond, then, otherwise } => {
                of_expr(cond, visit);
                exprs(then, visit);
                otherwise.iter().for_each(|of| of_expr(of, visit));
            }
        }
        return;
    }
}

/// Calls `visit` with every statement of a block and of the blocks inside it.
pub(super) fn all_stmts<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a Stmt)) {
    for stmt in &block.stmts {
        visit(stmt);
        match &stmt.kind {
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => all_stmts(body, visit),
            _ => {}
        }
    }
    exprs_shallow(block, &mut |expr| match &expr.kind {
        ExprKind::Block(block) => all_stmts(block, visit),
        ExprKind::If { then, .. } => all_stmts(then, visit),
        _ => {}
    });
}

/// Every expression of a block that is in no block of an expression of its own.
fn exprs_shallow<'a>(block: &'a Block, visit: &mut dyn FnMut(&'a Expr)) {
    fn inner<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
        visit(expr);
        match &expr.kind {
            ExprKind::Lit(_) | ExprKind::Path(_) | ExprKind::Block(_) => {}
            ExprKind::Unary { arg: of, .. }
            | ExprKind::Cast { value: of, .. }
            | ExprKind::Field { base: of, .. }
            | ExprKind::Ref { target: of, .. } => inner(of, visit),
            ExprKind::Binary { lhs: a, rhs: b, .. }
            | ExprKind::Index { base: a, index: b }
            | ExprKind::Repeat { value: a, len: b } => {
                inner(a, visit);
                inner(b, visit);
            }
            ExprKind::Call { args: of, .. } | ExprKind::Tuple(of) | ExprKind::Array(of) => {
                of.iter().for_each(|of| inner(of, visit));
            }
            ExprKind::Method { recv, args, .. } => {
                inner(recv, visit);
                args.iter().for_each(|of| inner(of, visit));
            }
            ExprKind::Range { start, end, .. } => start.iter().chain(end).for_each(|of| inner(of, visit)),
            ExprKind::If { cond, otherwise, .. } => {
                inner(cond, visit);
                otherwise.iter().for_each(|of| inner(of, visit));
            }
        }
    }
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Let { value, .. } | StmtKind::Expr(value) => inner(value, visit),
            StmtKind::Assign { place, value, .. } => {
                inner(place, visit);
                inner(value, visit);
            }
            StmtKind::For { iter: of, .. } | StmtKind::While { cond: of, .. } | StmtKind::Assert { cond: of, .. } => {
                inner(of, visit);
            }
            StmtKind::Return(of) => of.iter().for_each(|of| inner(of, visit)),
            StmtKind::Probe(of) => of.iter().for_each(|of| inner(of, visit)),
            StmtKind::Break | StmtKind::Continue | StmtKind::Broken { .. } => {}
        }
    }
    block.tail.iter().for_each(|tail| inner(tail, visit));
}

/// The path at the root of a place: `a` of `a.0[i]`.
pub(super) fn root(place: &Expr) -> Option<&Path> {
    match &place.kind {
        ExprKind::Path(path) => Some(path),
        ExprKind::Unary { op: UnOp::Deref, arg: of }
        | ExprKind::Field { base: of, .. }
        | ExprKind::Index { base: of, .. }
        | ExprKind::Ref { target: of, .. } => root(of),
        _ => None,
    }
}

/// The roots of the places that a block assigns or lends to be assigned, and what it hands on as it is, which is assigned only where
/// it is lent already.
pub(super) fn assigned(block: &Block) -> (Vec<&Path>, Vec<&Path>) {
    let (mut list, mut handed): (Vec<&Path>, Vec<&Path>) = Default::default();
    all_stmts(block, &mut |stmt| {
        if let StmtKind::Assign { place, .. } = &stmt.kind {
            list.extend(root(place));
        }
    });
    exprs(block, &mut |expr| match &expr.kind {
        ExprKind::Ref { mutable: true, target } => list.extend(root(target)),
        ExprKind::Call { args, .. } => {
            handed.extend(args.iter().filter_map(|arg| match &arg.kind {
                ExprKind::Path(path) => Some(path),
                _ => None,
            }));
        }
        _ => {}
    });
    (list, handed)
}

/// Whether an expression may change what others read: it holds a block, a branch or lends something.
pub(super) fn has_effects(expr: &Expr) -> bool {
    let mut found = false;
    of_expr(expr, &mut |e| {
        found |= matches!(e.kind, ExprKind::Block(_) | ExprKind::If { .. } | ExprKind::Ref { mutable: true, .. });
    });
    found
}

/// Whether a block leaves its loop or function.
pub(super) fn leaves(block: &Block) -> bool {
    let mut found = false;
    all_stmts(block, &mut |stmt| {
        found |= matches!(stmt.kind, StmtKind::Break | StmtKind::Continue | StmtKind::Return(_));
    });
    found
}

/// Whether a block waits for engines, starts them or takes from them, or calls something that may.
pub(super) fn talks(block: &Block, calls: &mut dyn FnMut(&Path) -> bool) -> bool {
    let mut found = false;
    exprs(block, &mut |expr| match &expr.kind {
        ExprKind::Method { name, .. } => {
            let talking =
                ["fetch", "store", "wait", "take", "bias", "next", "fill", "gather", "scatter"].contains(&&*name.name);
            found |= talking;
        }
        ExprKind::Call { callee, .. } => {
            let name = callee.text();
            let talking = ["broadcast", "shift", "reduce", "prefetch", "write_back", "drain", "mac"];
            found |= talking.contains(&&*name) || calls(callee);
        }
        _ => {}
    });
    found
}

/// Roughly the operations of a trip; `None` if the body holds a loop, a transfer or a branch, of which no copies pay.
pub(super) fn weight(block: &Block) -> Option<u64> {
    let mut n = 0u64;
    let mut simple = true;
    all_stmts(block, &mut |stmt| match &stmt.kind {
        StmtKind::Assign { op: Some(_), .. } => n += 1,
        StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue => {
            simple = false;
        }
        _ => {}
    });
    exprs(block, &mut |expr| match &expr.kind {
        ExprKind::Binary { .. } | ExprKind::Unary { .. } => n += 1,
        ExprKind::Call { callee, .. } => {
            n += match &*callee.text() {
                "requant" | "quantize" => 4,
                "dequantize" => 2,
                "mac" | "broadcast" | "reduce" | "shift" | "prefetch" | "write_back" | "drain" => {
                    simple = false;
                    1
                }
                _ => 1,
            }
        }
        ExprKind::Method { name, .. } => match &*name.name {
            "store" | "fetch" | "fill" | "wait" | "gather" | "scatter" | "bias" | "take" => simple = false,
            "shr_round" | "rescale" | "round" => n += 3,
            "narrow" => n += 1,
            _ => {}
        },
        ExprKind::If { .. } => n += 3,
        _ => {}
    });
    simple.then_some(n.max(1))
}
