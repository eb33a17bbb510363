//! Statements: names, assignments, branches, loops.

use ccl_runtime::kernel::ElemType;
use ccl_syntax::ast::*;

use super::generate::{BORDER, Buffer, Generator, Scalar, Value, splat};
use super::tree::*;

impl Generator {
    /// Some statements; names that they bind stay in scope.
    pub fn stmts(&mut self, n: usize, depth: usize) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        for _ in 0..n {
            if self.room == 0 {
                break;
            }
            self.stmt(depth, &mut stmts);
        }
        stmts
    }

    /// The statements of a block.
    fn body(&mut self, depth: usize) -> Block {
        let scope = self.open();
        let n = 1 + self.below(3);
        let stmts = self.stmts(n, depth);
        self.close(scope);
        block(stmts, None)
    }

    fn stmt(&mut self, depth: usize, out: &mut Vec<Stmt>) {
        let kind = if depth == 0 { self.below(7) } else { self.below(14) };
        match kind {
            0 | 1 => out.push(self.let_value()),
            2 | 3 => out.extend(self.assign_value()),
            4 => out.extend(self.assign_element()),
            5 => out.extend(self.count()),
            6 => out.extend(self.call_stmt()),
            7 => self.buffer(out),
            8 | 9 => out.push(self.branch(depth - 1)),
            10 => {
                let condition = self.scalar_condition(1);
                let then = self.body(depth - 1);
                let otherwise = self.once_in(2).then(|| self.body(depth - 1));
                out.push(run(if_else(condition, then, otherwise)));
            }
            11 => out.push(self.for_loop(depth - 1)),
            12 => self.while_loop(depth - 1, out),
            _ => {
                let body = self.body(depth - 1);
                out.push(run(expr(ExprKind::Block(body))));
            }
        }
    }

    pub fn let_value(&mut self) -> Stmt {
        let (elem, mutable) = (self.elem(), self.once_in(2));
        let border = if self.once_in(3) { BORDER } else { 0 };
        let value = self.needing(border, |g| g.pe(elem, 3));
        let of = self.fresh("v");
        self.values.push(Value { name: of.clone(), elem, border, mutable });
        bind(mutable, &of, value)
    }

    /// Names that may be assigned here: the conditions say for as much of the border as the value must define.
    fn assignable(&self, border: u8) -> bool {
        self.mask.is_none_or(|mask| border <= mask)
    }

    fn assign_value(&mut self) -> Option<Stmt> {
        let fits: Vec<_> = self.values.iter().filter(|v| v.mutable && self.assignable(v.border)).cloned().collect();
        if fits.is_empty() {
            return None;
        }
        let of = self.pick(&fits);
        let place = name(&of.name);
        Some(self.assignment(place, of.elem, of.border))
    }

    fn assignment(&mut self, place: Expr, elem: ElemType, border: u8) -> Stmt {
        let op = match elem {
            _ if self.once_in(2) => None,
            ElemType::Bool => Some(self.pick(&[BinOp::BitAnd, BinOp::BitOr, BinOp::BitXor])),
            ElemType::Fx(_) => Some(self.pick(&[BinOp::Add, BinOp::Sub])),
            _ => Some(self.pick(&[BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::BitXor, BinOp::BitOr])),
        };
        let value = self.needing(border, |g| g.pe(elem, 2));
        assign(op, place, value)
    }

    fn assign_element(&mut self) -> Option<Stmt> {
        let fits: Vec<_> = self.buffers.iter().filter(|b| b.mutable && self.assignable(b.border)).cloned().collect();
        if fits.is_empty() {
            return None;
        }
        let of = self.pick(&fits);
        let place = index(name(&of.name), self.index_below(of.len));
        Some(self.assignment(place, of.elem, of.border))
    }

    /// A scalar that counts how often any PE came by.
    fn count(&mut self) -> Option<Stmt> {
        if self.counters.is_empty() {
            return None;
        }
        let counters = self.counters.clone();
        let of = self.pick(&counters);
        Some(assign(Some(BinOp::Add), name(&of), number(1 + self.below(3))))
    }

    fn call_stmt(&mut self) -> Option<Stmt> {
        let fits: Vec<_> = self.helpers.iter().filter(|h| h.lent.is_some()).cloned().collect();
        if fits.is_empty() {
            return None;
        }
        let of = self.pick(&fits);
        let call = self.needing(0, |g| g.call_of(&of, 1))?;
        let result = self.fresh("r");
        self.values.push(Value { name: result.clone(), elem: of.ret, border: 0, mutable: false });
        Some(bind(false, &result, call))
    }

    /// A buffer with all its elements.
    fn buffer(&mut self, out: &mut Vec<Stmt>) {
        let (elem, len) = (self.integer_elem(), 1 + self.below(5));
        let of = self.fresh("b");
        let generics = vec![arg_ty(super::tree::elem(elem)), arg(len)];
        let first = int(self.number_of(elem), None);
        out.push(bind(true, &of, associated("Lrm", generics, "filled", vec![first])));
        self.buffers.push(Buffer { name: of, elem, len, border: 0, mutable: true, halo: 0 });
    }

    fn branch(&mut self, depth: usize) -> Stmt {
        let border = if self.once_in(3) { BORDER } else { 0 };
        let condition = self.needing(border, |g| g.pe(ElemType::Bool, 2));
        self.masked(border, |g| {
            let then = g.body(depth);
            let otherwise = match g.below(3) {
                0 => None,
                1 => Some(g.body(depth)),
                _ => {
                    // `else if`
                    let condition = g.needing(border, |g| g.pe(ElemType::Bool, 1));
                    let then = g.body(depth);
                    return run(expr(ExprKind::If {
                        cond: Box::new(g.needing(border, |g| g.pe(ElemType::Bool, 1))),
                        then: g.body(depth),
                        otherwise: Some(Box::new(if_else(condition, then, None))),
                    }));
                }
            };
            run(if_else(condition, then, otherwise))
        })
    }

    fn for_loop(&mut self, depth: usize) -> Stmt {
        let scope = self.open();
        let of = self.fresh("i");
        let n = 1 + self.below(4);
        let is_index = !self.once_in(3);
        let (first, ty) = if is_index { (0, IntTy::Usize) } else { (-(self.below(3) as i64), IntTy::I32) };
        let last = first + n as i64 - 1;
        let inclusive = self.once_in(3);
        let mut iter = range(int(first, Some(ty)), int(if inclusive { last } else { last + 1 }, None), inclusive);
        if self.once_in(3) {
            iter = method(iter, "step_by", vec![number(1 + self.below(3))]);
        }
        if self.once_in(3) {
            iter = method(iter, "rev", Vec::new());
        }
        self.scalars.push(Scalar { name: of.clone(), ty, least: first, most: last });
        let body = self.body(depth);
        self.close(scope);
        for_in(&of, iter, body)
    }

    /// A loop while any PE wants to go on, for a number of rounds.
    fn while_loop(&mut self, depth: usize, out: &mut Vec<Stmt>) {
        let (of, rounds) = (self.fresh("n"), 1 + self.below(3));
        out.push(bind(true, &of, int(0, Some(IntTy::Usize))));
        let more = binary(BinOp::Lt, name(&of), number(rounds));
        let asked = match self.is_partial {
            true => boolean(!self.once_in(4)),
            false => call("any", vec![self.needing(0, |g| g.pe(ElemType::Bool, 1))]),
        };
        let mut body = self.body(depth);
        body.stmts.push(assign(Some(BinOp::Add), name(&of), number(1)));
        out.push(while_bound(rounds, binary(BinOp::And, more, asked), body));
    }

    /// The counters of a kernel, and how they come back to the PEs.
    pub fn counters(&mut self, out: &mut Vec<Stmt>) {
        for _ in 0..if self.is_partial { 0 } else { self.below(2) } {
            let of = self.fresh("count");
            out.push(bind(true, &of, int(0, Some(IntTy::I32))));
            self.counters.push(of);
        }
    }

    /// Values of what was counted.
    pub fn counted(&mut self, out: &mut Vec<Stmt>) {
        for counter in self.counters.clone() {
            let of = self.fresh("v");
            let value = binary(BinOp::Add, splat(ElemType::I32, 0), name(&counter));
            out.push(bind(false, &of, value));
            self.values.push(Value { name: of, elem: ElemType::I32, border: BORDER, mutable: false });
        }
    }
}
