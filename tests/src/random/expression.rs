//! Per-PE expressions of every element type.

use ccl_runtime::kernel::ElemType;
use ccl_syntax::ast::*;

use super::generate::{BORDER, Generator, splat};
use super::tree::*;

impl Generator {
    /// A per-PE value, at most so deep.
    pub fn pe(&mut self, elem: ElemType, depth: usize) -> Expr {
        if depth == 0 || self.room == 0 {
            return self.leaf(elem);
        }
        self.room -= 1;
        if self.once_in(3) {
            return self.any_elem(elem, depth - 1);
        }
        match elem {
            ElemType::Bool => self.condition(depth - 1),
            ElemType::Fx(bits) => self.fixed(bits, depth - 1),
            _ => self.integer(elem, depth - 1),
        }
    }

    /// A name, an element of a buffer, a constant.
    fn leaf(&mut self, elem: ElemType) -> Expr {
        let need = self.need;
        let values: Vec<String> =
            self.values.iter().filter(|v| v.elem == elem && v.border >= need).map(|v| v.name.clone()).collect();
        if !values.is_empty() && !self.once_in(4) {
            let of = self.pick(&values);
            return name(&of);
        }
        let buffers: Vec<_> = self.buffers.iter().filter(|b| b.elem == elem && b.border >= need).cloned().collect();
        if !buffers.is_empty() && !self.once_in(4) {
            let of = self.pick(&buffers);
            return self.element(&of.name, of.len, of.halo);
        }
        match elem {
            ElemType::I32 if self.once_in(3) => self.place(),
            ElemType::Fx(_) => splat(elem, self.below(41) as i64 - 20),
            _ => splat(elem, self.number_of(elem)),
        }
    }

    fn place(&mut self) -> Expr {
        call(self.pick(&["q_row", "q_col"]), Vec::new())
    }

    /// An element of a buffer, by number, by the variable of a loop, or by its row.
    pub fn element(&mut self, of: &str, len: usize, halo: usize) -> Expr {
        if halo > 0 && self.once_in(2) {
            let dy = self.below(2 * halo + 1) as i64 - halo as i64;
            let row = method(name(of), "row", vec![int(dy, None)]);
            return index(row, number(self.rng.below(len / (2 * halo + 1))));
        }
        if len > 2 && self.once_in(5) {
            let first = self.below(len - 1);
            let slice = method_with(name(of), "slice", vec![arg(2)], vec![number(first)]);
            return index(slice, number(self.rng.below(2)));
        }
        index(name(of), self.index_below(len))
    }

    pub fn index_below(&mut self, len: usize) -> Expr {
        let fits: Vec<_> = self
            .scalars
            .iter()
            .filter(|s| s.ty == IntTy::Usize && s.least >= 0 && s.most < len as i64)
            .map(|s| s.name.clone())
            .collect();
        if !fits.is_empty() && self.once_in(2) {
            let of = self.pick(&fits);
            return name(&of);
        }
        number(self.below(len))
    }

    /// What there is of every element type.
    fn any_elem(&mut self, elem: ElemType, depth: usize) -> Expr {
        match self.below(8) {
            0 => {
                let condition = self.pe(ElemType::Bool, depth);
                let (a, b) = (self.pe(elem, depth), self.pe(elem, depth));
                call("select", vec![condition, a, b])
            }
            1 => {
                let condition = self.pe(ElemType::Bool, depth);
                let border = self.need;
                let (a, b) = self.masked(border, |g| (g.arm(elem, depth), g.arm(elem, depth)));
                if_else(condition, a, Some(b))
            }
            2 => {
                let condition = self.scalar_condition(depth);
                let (a, b) = (self.arm(elem, depth), self.arm(elem, depth));
                if_else(condition, a, Some(b))
            }
            3 => expr(ExprKind::Block(self.arm(elem, depth))),
            4 => self.helper_call(elem, depth).unwrap_or_else(|| self.leaf(elem)),
            5 => self.look_up(elem, depth).unwrap_or_else(|| self.leaf(elem)),
            6 if self.may_talk => self.shifted(elem, depth),
            7 if self.may_talk && self.need == 0 => {
                let x = self.pe(elem, depth);
                let op = name(self.pick(&["Sum", "Max", "Min"]));
                let over = name(self.pick(&["Row", "Column", "Array"]));
                call("reduce", vec![x, op, over])
            }
            _ => self.leaf(elem),
        }
    }

    /// A value moved by some PEs; toward the east and west as far as the border of what is moved is defined.
    fn shifted(&mut self, elem: ElemType, depth: usize) -> Expr {
        let to = self.pick(&["North", "South", "East", "West"]);
        let hops = 1 + self.below(2);
        let need = if matches!(to, "East" | "West") { self.need + hops as u8 } else { self.need };
        if need > BORDER {
            return self.leaf(elem);
        }
        let x = self.needing(need, |g| g.pe(elem, depth));
        call("shift", vec![x, name(to), number(hops)])
    }

    /// A block with a value.
    fn arm(&mut self, elem: ElemType, depth: usize) -> Block {
        let scope = self.open();
        let n = if self.once_in(3) { 1 } else { 0 };
        // What a branch inside an expression assigns is read by the rest of it: the order is part of the test.
        let stmts = self.stmts(n, depth.min(1));
        let tail = self.pe(elem, depth);
        self.close(scope);
        block(stmts, Some(tail))
    }

    fn helper_call(&mut self, elem: ElemType, depth: usize) -> Option<Expr> {
        let fits: Vec<_> = self.helpers.iter().filter(|h| h.ret == elem).cloned().collect();
        if fits.is_empty() {
            return None;
        }
        let of = self.pick(&fits);
        self.call_of(&of, depth)
    }

    /// A call of a helper. None where there is nothing to lend.
    pub fn call_of(&mut self, of: &super::generate::Helper, depth: usize) -> Option<Expr> {
        let need = self.need;
        let mut args = Vec::new();
        if let Some(elem) = of.buffer {
            let fits: Vec<_> = self.buffers.iter().filter(|b| b.elem == elem && b.border >= need).cloned().collect();
            if fits.is_empty() {
                return None;
            }
            args.push(lend(name(&self.pick(&fits).name), false));
        }
        if let Some(elem) = of.lent {
            let least = self.mask.unwrap_or(BORDER);
            // What is lent is written with what is passed, of which only so much of the border is defined.
            let fits = |v: &&super::generate::Value| v.mutable && v.elem == elem && v.border <= least.min(need);
            let fits: Vec<_> = self.values.iter().filter(fits).map(|v| v.name.clone()).collect();
            if fits.is_empty() {
                return None;
            }
            args.push(lend(name(&self.pick(&fits)), true));
        }
        for elem in &of.params {
            // A name that is lent is not read in the same call.
            let value = if of.lent.is_some() { splat(*elem, 1) } else { self.pe(*elem, depth) };
            args.push(value);
        }
        Some(call(&of.name, args))
    }

    fn look_up(&mut self, elem: ElemType, depth: usize) -> Option<Expr> {
        let need = self.need;
        let mut tables: Vec<Expr> = self.tables.iter().filter(|t| t.elem == elem).map(|t| name(&t.name)).collect();
        let buffers = self.buffers.iter().filter(|b| b.elem == elem && b.border >= need && b.len.is_power_of_two());
        tables.extend(buffers.map(|b| name(&b.name)));
        if tables.is_empty() {
            return None;
        }
        let table = self.pick(&tables);
        let of = self.pick(&[ElemType::I8, ElemType::U8, ElemType::I32, ElemType::I16]);
        let at = self.pe(of, depth);
        Some(call("lookup", vec![table, at]))
    }

    fn integer(&mut self, elem: ElemType, depth: usize) -> Expr {
        let is_signed = elem.range().0 < 0;
        match self.below(14) {
            0..=3 => {
                let op = self.pick(&[BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::BitAnd, BinOp::BitOr, BinOp::BitXor]);
                let a = self.pe(elem, depth);
                let b = match self.below(3) {
                    0 => int(self.number_of(elem), None),
                    _ => self.pe(elem, depth),
                };
                if self.once_in(5) && matches!(b.kind, ExprKind::Path(_)) { binary(op, b, a) } else { binary(op, a, b) }
            }
            4 => {
                let bits = 8 * elem.bytes();
                let op = self.pick(&[BinOp::Shl, BinOp::Shr]);
                let by = self.below(bits.min(32));
                binary(op, self.pe(elem, depth), number(by))
            }
            5 => {
                let op = self.pick(&[BinOp::Shl, BinOp::Shr]);
                let by = binary(BinOp::BitAnd, self.pe(ElemType::I32, depth), int(7, None));
                binary(op, self.pe(elem, depth), by)
            }
            6 => {
                let of = self.pick(&["min", "max"]);
                call(of, vec![self.pe(elem, depth), self.pe(elem, depth)])
            }
            7 => {
                let (x, y) = (self.number_of(elem), self.number_of(elem));
                call("clamp", vec![self.pe(elem, depth), int(x.min(y), None), int(x.max(y), None)])
            }
            8 if is_signed => {
                let x = self.pe(elem, depth);
                if self.once_in(2) { call("abs", vec![x]) } else { unary(UnOp::Neg, x) }
            }
            9 => unary(UnOp::Not, self.pe(elem, depth)),
            10 => {
                let n = self.below(8 * elem.bytes().min(4));
                let rounding = self.rounding();
                method(self.pe(elem, depth), "shr_round", vec![number(n), rounding])
            }
            _ => self.converted(elem, depth),
        }
    }

    /// An integer from another type.
    fn converted(&mut self, elem: ElemType, depth: usize) -> Expr {
        use ElemType::*;
        let to = vec![arg_ty(super::tree::elem(elem))];
        match (elem, self.below(6)) {
            (I8, 0) => {
                let scale = self.scale();
                let (rounding, overflow) = (self.rounding(), self.overflow());
                call("requant", vec![self.pe(I32, depth), scale, rounding, overflow])
            }
            (I8, 1) => {
                let bits = self.pick(&[8, 12, 16]);
                let scale = self.scale();
                let zero = int(self.below(9) as i64 - 4, None);
                call("quantize", vec![self.pe(Fx(bits), depth), scale, zero])
            }
            (I32, 0) => method(self.some_fixed(depth), "raw", Vec::new()),
            (I32, 1) => {
                let rounding = self.rounding();
                method(self.some_fixed(depth), "round", vec![rounding])
            }
            (I32, 2) => self.place(),
            (_, 0..=3) => {
                let all = [I8, I16, I32, I64, U8, U16];
                let wider: Vec<_> = all.into_iter().filter(|e| *e != elem && e.bytes() >= elem.bytes()).collect();
                if wider.is_empty() {
                    return self.leaf(elem);
                }
                let from = self.pick(&wider);
                let overflow = self.overflow();
                method_with(self.pe(from, depth), "narrow", to, vec![overflow])
            }
            _ => {
                let holds = |from: &ElemType| from.range().0 >= elem.range().0 && from.range().1 <= elem.range().1;
                let all = [Bool, I8, I16, I32, U8, U16];
                let narrower: Vec<_> = all.into_iter().filter(|e| *e != elem && holds(e)).collect();
                let from = self.pick(&narrower);
                method_with(self.pe(from, depth), "widen", to, Vec::new())
            }
        }
    }

    fn some_fixed(&mut self, depth: usize) -> Expr {
        let bits = self.pick(&[8, 12, 16, 24]);
        self.pe(ElemType::Fx(bits), depth)
    }

    fn scale(&mut self) -> Expr {
        if !self.scales.is_empty() && self.once_in(2) {
            let of = self.scales.clone();
            return name(&self.pick(&of));
        }
        let (mantissa, shift) = (1 + self.below(1 << 24) as i64, 16 + self.below(20));
        associated("Scale", Vec::new(), "new", vec![int(mantissa, None), number(shift)])
    }

    fn fixed(&mut self, bits: u8, depth: usize) -> Expr {
        use ElemType::*;
        let elem = Fx(bits);
        let format = vec![arg(bits.into())];
        match self.below(12) {
            0..=2 => {
                let op = self.pick(&[BinOp::Add, BinOp::Sub]);
                binary(op, self.pe(elem, depth), self.pe(elem, depth))
            }
            3 | 4 => {
                let (a, b) = (self.some_fixed(depth), self.some_fixed(depth));
                call_with(&["fx_mul"], format, vec![a, b])
            }
            5 => {
                let of = self.pick(&[8, 12, 16]);
                let one = call_with(&["fx"], vec![arg(of.into())], vec![quarters(1 + self.below(8) as i64)]);
                let divisor = call("max", vec![self.pe(Fx(of), depth), one]);
                call_with(&["fx_div"], format, vec![self.pe(Fx(of), depth), divisor])
            }
            6 => {
                let of = self.pick(&["exp", "ln"]);
                call_with(&[of], format, vec![self.some_fixed(depth)])
            }
            7 => {
                let (rounding, overflow) = (self.rounding(), self.overflow());
                method_with(self.some_fixed(depth), "rescale", format, vec![rounding, overflow])
            }
            8 => call_with(&["fx_raw"], format, vec![self.pe(I32, depth)]),
            9 => {
                let from = self.pick(&[I8, I16, I32, U8]);
                let scale = self.scale();
                let zero = int(self.below(9) as i64 - 4, None);
                call_with(&["dequantize"], format, vec![self.pe(from, depth), scale, zero])
            }
            10 => {
                let of = self.pick(&["min", "max"]);
                call(of, vec![self.pe(elem, depth), self.pe(elem, depth)])
            }
            _ => {
                let x = self.pe(elem, depth);
                match self.below(3) {
                    0 => call("abs", vec![x]),
                    1 => unary(UnOp::Neg, x),
                    _ => binary(BinOp::Shr, x, number(1 + self.rng.below(4))),
                }
            }
        }
    }

    fn condition(&mut self, depth: usize) -> Expr {
        match self.below(6) {
            0 => unary(UnOp::Not, self.pe(ElemType::Bool, depth)),
            1 => {
                let op = self.pick(&[BinOp::And, BinOp::Or, BinOp::BitAnd, BinOp::BitXor]);
                binary(op, self.pe(ElemType::Bool, depth), self.pe(ElemType::Bool, depth))
            }
            _ => {
                let op = self.comparison();
                let elem = if self.once_in(3) { ElemType::Fx(self.pick(&[8, 12, 16])) } else { self.integer_elem() };
                let a = self.pe(elem, depth);
                let b = match elem {
                    ElemType::Fx(_) => self.pe(elem, depth),
                    _ if self.once_in(2) => int(self.number_of(elem), None),
                    _ => self.pe(elem, depth),
                };
                binary(op, a, b)
            }
        }
    }

    pub fn comparison(&mut self) -> BinOp {
        self.pick(&[BinOp::Eq, BinOp::Ne, BinOp::Lt, BinOp::Le, BinOp::Gt, BinOp::Ge])
    }

    /// A condition in the control unit.
    pub fn scalar_condition(&mut self, depth: usize) -> Expr {
        let scalars: Vec<_> = self.scalars.clone();
        if !scalars.is_empty() && self.once_in(2) {
            let of = self.pick(&scalars);
            let op = self.comparison();
            let limit = of.least + self.below((of.most - of.least + 2) as usize) as i64;
            return binary(op, name(&of.name), int(limit, None));
        }
        if self.is_partial {
            return boolean(self.once_in(2));
        }
        let ask = self.pick(&["any", "all"]);
        let condition = self.needing(0, |g| g.pe(ElemType::Bool, depth.min(1)));
        let asked = call(ask, vec![condition]);
        if self.once_in(4) { unary(UnOp::Not, asked) } else { asked }
    }
}
