//! The names of the language: one arm each.

use ccl_syntax::ast::*;
use ccl_syntax::builtins::{Builtin, BuiltinKind};
use ccl_syntax::check::types::{Elem, Type};

use super::cx::Cx;
use super::error::R;
use super::value::{Acc, Affine, Lrm, Pe, Place, Scalar, ScalarTy, Tile, Val, View, ViewStep, Walk};
use crate::ir::{AluOp, Dst, ElemRef, Index, OpKind, SVal, Src};
use crate::kernel::ElemType;
use crate::value::{Overflow, Rounding, Scale};

impl<'p> Cx<'p> {
    // ---- generic arguments of names ----

    /// The fraction bits that a name's result has: written, or told by the checks.
    fn fraction(&mut self, expr: &Expr, generics: &'p [GenericArg]) -> R<u8> {
        let bits = match generics.first() {
            Some(arg) if !matches!(arg, GenericArg::Infer(_)) => self.extent_arg(arg)?,
            _ => match self.unit().types.of(expr.id) {
                Some(Type::Pe(Elem::Fx(bits)) | Type::Scalar(Elem::Fx(bits))) => match self.extent_value(&bits.clone())
                {
                    Some(bits) => bits,
                    None => return self.open_generic(),
                },
                _ => return self.open_generic(),
            },
        };
        if bits > 31 {
            return self.fail(format!("{bits} fraction bits of 32"), "`Fx` has at most 31");
        }
        Ok(bits as u8)
    }
    fn open_generic<T>(&self) -> R<T> {
        self.fail("a generic argument follows from nothing that is known here", "name it: `::<..>`")
    }
    fn elem_generic(&mut self, expr: &Expr, generics: &'p [GenericArg]) -> R<ElemType> {
        match generics.first() {
            Some(arg) if !matches!(arg, GenericArg::Infer(_)) => self.elem_ty(arg),
            _ => match self.unit().types.of(expr.id) {
                Some(Type::Pe(elem)) => {
                    let elem = elem.clone();
                    self.checked_elem(&elem)
                }
                _ => self.open_generic(),
            },
        }
    }
    fn checked_elem(&self, elem: &Elem) -> R<ElemType> {
        match elem {
            Elem::Bool => Ok(ElemType::Bool),
            Elem::Int(ty) => self.elem_of(ScalarTy::Int(*ty)),
            Elem::Fx(bits) => match self.extent_value(bits) {
                Some(bits) => Ok(ElemType::Fx(bits as u8)),
                None => self.open_generic(),
            },
            Elem::Literal(_) => Ok(ElemType::I32),
            Elem::Unknown | Elem::Var(_) => self.open_generic(),
        }
    }
    fn extent_generic(&mut self, expr: &Expr, generics: &'p [GenericArg]) -> R<usize> {
        match generics.first() {
            Some(arg) if !matches!(arg, GenericArg::Infer(_)) => self.extent_arg(arg),
            _ => match self.unit().types.of(expr.id) {
                Some(Type::Weights(n) | Type::Acc(n) | Type::Lrm(_, n)) => match self.extent_value(&n.clone()) {
                    Some(n) => Ok(n),
                    None => self.open_generic(),
                },
                _ => self.open_generic(),
            },
        }
    }
    fn lrm_generic(&mut self, expr: &Expr, generics: &'p [GenericArg]) -> R<(ElemType, usize)> {
        match generics.first() {
            Some(arg) if !matches!(arg, GenericArg::Infer(_)) => self.lrm_ty(arg),
            _ => match self.unit().types.of(expr.id).cloned() {
                Some(Type::Lrm(elem, n)) => self.checked_lrm(&elem, &n),
                Some(Type::Flow(of)) => match *of {
                    Type::Lrm(elem, n) => self.checked_lrm(&elem, &n),
                    _ => self.open_generic(),
                },
                _ => self.open_generic(),
            },
        }
    }
    fn checked_lrm(&self, elem: &Elem, n: &ccl_syntax::check::types::Extent) -> R<(ElemType, usize)> {
        match self.extent_value(n) {
            Some(n) => Ok((self.checked_elem(elem)?, n)),
            None => self.open_generic(),
        }
    }

    // ---- arguments ----

    fn arg(&mut self, args: &'p [Expr], i: usize) -> R<Val> {
        let Some(arg) = args.get(i) else { return self.fail(format!("argument {} is missing", i + 1), "") };
        let val = self.expr(arg)?;
        self.read(&val)
    }
    fn arg_scale(&mut self, args: &'p [Expr], i: usize) -> R<Scale> {
        match self.arg(args, i)? {
            Val::Scale(scale) => Ok(scale),
            other => self.wrong("a scale", &other),
        }
    }
    fn arg_rounding(&mut self, args: &'p [Expr], i: usize) -> R<Rounding> {
        match self.arg(args, i)? {
            Val::Rounding(r) => Ok(r),
            other => self.wrong("a rounding", &other),
        }
    }
    fn arg_overflow(&mut self, args: &'p [Expr], i: usize) -> R<Overflow> {
        match self.arg(args, i)? {
            Val::Overflow(o) => Ok(o),
            other => self.wrong("an overflow", &other),
        }
    }
    fn arg_choice(&mut self, args: &'p [Expr], i: usize) -> R<&'static str> {
        match self.arg(args, i)? {
            Val::Choice(name) => Ok(name),
            other => self.wrong("a choice", &other),
        }
    }
    fn arg_pe(&mut self, args: &'p [Expr], i: usize) -> R<Pe> {
        let val = self.arg(args, i)?;
        self.as_pe(&val, None)
    }
    fn arg_usize(&mut self, args: &'p [Expr], i: usize) -> R<usize> {
        match self.arg(args, i)? {
            Val::Scalar(s) => self.known_usize(&s),
            other => self.wrong("a number", &other),
        }
    }
    fn arg_i32(&mut self, args: &'p [Expr], i: usize) -> R<i32> {
        match self.arg(args, i)? {
            Val::Scalar(s) => {
                let v = self.must_be_known(&s)?;
                i32::try_from(v).map_or_else(|_| self.fail(format!("{v} in 32 bits"), ""), Ok)
            }
            other => self.wrong("a number", &other),
        }
    }
    fn arg_sum(&mut self, args: &'p [Expr], i: usize) -> R<Affine> {
        match self.arg(args, i)? {
            Val::Scalar(s) => Ok(s.affine()),
            other => self.wrong("a scalar", &other),
        }
    }
    fn arg_view(&mut self, args: &'p [Expr], i: usize) -> R<View> {
        match self.arg(args, i)? {
            Val::Tensor(view) => Ok(view),
            other => self.wrong("a tensor", &other),
        }
    }
    /// Two numbers, scalars both or per-PE values both.
    fn two(&mut self, args: &'p [Expr], i: usize, j: usize) -> R<(Val, Val)> {
        let a = self.arg(args, i)?;
        let a = match a {
            Val::Pe(pe) if args.get(j).is_some_and(super::walk::has_effects) => Val::Pe(self.pinned(pe)),
            a => a,
        };
        Ok((a, self.arg(args, j)?))
    }
    fn extreme(&mut self, least: bool, a: &Val, b: &Val) -> R<Val> {
        if let (Val::Scalar(a), Val::Scalar(b)) = (a, b) {
            return Ok(Val::Scalar(self.scalar_extreme(least, a, b)?));
        }
        let (a, b) = self.pair(a, b)?;
        Ok(Val::Pe(self.pe_extreme(least, a, b)?))
    }

    // ---- functions ----

    pub(super) fn builtin(
        &mut self,
        row: &'static Builtin,
        expr: &'p Expr,
        callee: &'p Path,
        args: &'p [Expr],
    ) -> R<Val> {
        if row.kind == BuiltinKind::Associated {
            return self.associated(row, expr, callee, args);
        }
        let generics = callee.last().args.as_slice();
        Ok(match row.name {
            "splat" => match self.arg(args, 0)? {
                Val::Scalar(s) => {
                    let like = match self.unit().types.of(expr.id) {
                        Some(Type::Pe(elem)) => self.checked_elem(&elem.clone()).ok(),
                        _ => None,
                    };
                    Val::Pe(self.spread(&s, like)?)
                }
                other => other,
            },
            "q_row" => Val::Pe(Pe::ranged(ElemType::I32, Src::QRow, (0, self.rows() as i64 - 1))),
            "q_col" => {
                let border = self.border() as i64;
                Val::Pe(Pe::ranged(ElemType::I32, Src::QCol, (-border, self.cols() as i64 + border - 1)))
            }
            "fx" => self.fx(expr, generics, args)?,
            "fx_raw" => {
                let bits = self.fraction(expr, generics)?;
                match self.arg(args, 0)? {
                    Val::Scalar(s) => {
                        let pe = self.spread(&s, Some(ElemType::I32))?;
                        Val::Pe(Pe { elem: ElemType::Fx(bits), ..pe })
                    }
                    val => {
                        let pe = self.as_pe(&val, None)?;
                        let pe = self.exact(pe);
                        Val::Pe(Pe { elem: ElemType::Fx(bits), ..pe })
                    }
                }
            }
            "fx_mul" => {
                let to = self.fraction(expr, generics)?;
                let (a, b) = self.two(args, 0, 1)?;
                let (a, b) = (self.fx_arg(&a)?, self.fx_arg(&b)?);
                let shift = a.1 as i32 + b.1 as i32 - to as i32;
                let (a, b) = (a.0, b.0);
                Val::Pe(self.fx_product(to, (a.lo, a.range), (b.lo, b.range), shift))
            }
            "fx_div" => {
                let to = self.fraction(expr, generics)?;
                let (a, b) = self.two(args, 0, 1)?;
                let (a, b) = (self.fx_arg(&a)?, self.fx_arg(&b)?);
                if a.1 != b.1 {
                    return self.fail("`fx_div` of numbers with unlike fraction bits", "`rescale` one of them");
                }
                let lo = self.alu(AluOp::FxDiv(to), a.0.lo, b.0.lo);
                Val::Pe(Pe::new(ElemType::Fx(to), lo))
            }
            "exp" | "ln" => {
                let to = self.fraction(expr, generics)?;
                let val = self.arg(args, 0)?;
                let (x, from) = self.fx_arg(&val)?;
                let op = if row.name == "exp" { AluOp::Exp(from, to) } else { AluOp::Log(from, to) };
                let lo = self.alu(op, x.lo, Src::Imm(0));
                let mut pe = Pe::new(ElemType::Fx(to), lo);
                if row.name == "exp" {
                    pe.range.0 = 0;
                    if x.range.1 <= 0 {
                        pe.range.1 = (1i64 << to).min(i32::MAX as i64);
                    }
                }
                Val::Pe(pe)
            }
            "requant" => {
                let of = match args.first() {
                    Some(arg) => self.expr(arg)?,
                    None => return self.fail("`requant` of nothing", ""),
                };
                let of = match of {
                    Val::Acc(acc) => Val::Acc(self.settled(acc)?),
                    of => self.read(&of)?,
                };
                let (scale, rounding) = (self.arg_scale(args, 1)?, self.arg_rounding(args, 2)?);
                let overflow = self.arg_overflow(args, 3)?;
                self.requant(&of, scale, rounding, overflow)?
            }
            "quantize" => {
                let x = self.arg(args, 0)?;
                let (scale, zero) = (self.arg_scale(args, 1)?, self.arg_i32(args, 2)?);
                let (x, bits) = self.fx_arg(&x)?;
                let scale = Scale { shift: scale.shift.saturating_add(bits as i32), ..scale };
                Val::Pe(self.scale_to_i8(x, scale, Rounding::HalfEven, Overflow::Saturate, zero)?)
            }
            "dequantize" => {
                let to = self.fraction(expr, generics)?;
                let x = self.arg_pe(args, 0)?;
                let (scale, zero) = (self.arg_scale(args, 1)?, self.arg_i32(args, 2)?);
                if x.elem == ElemType::I64 {
                    return self.fail("`dequantize` of 64 bits", "narrow the sum to `i32` first");
                }
                Val::Pe(self.pe_dequantize(x, scale, zero, to))
            }
            "min" | "max" => {
                let (a, b) = self.two(args, 0, 1)?;
                self.extreme(row.name == "min", &a, &b)?
            }
            "abs" => match self.arg(args, 0)? {
                Val::Scalar(s) => {
                    let minus = self.scalar_unary(UnOp::Neg, &s)?;
                    Val::Scalar(self.scalar_extreme(false, &s, &minus)?)
                }
                val => {
                    let pe = self.as_pe(&val, None)?;
                    Val::Pe(self.pe_abs(pe)?)
                }
            },
            "clamp" => {
                let (x, lo) = self.two(args, 0, 1)?;
                let hi = self.arg(args, 2)?;
                if let (Val::Scalar(_), Val::Scalar(_), Val::Scalar(_)) = (&x, &lo, &hi) {
                    let x = self.extreme(false, &x, &lo)?;
                    return self.extreme(true, &x, &hi);
                }
                let (x, lo) = self.pair(&x, &lo)?;
                let hi = self.as_pe(&hi, Some(x.elem))?;
                Val::Pe(self.pe_clamp(x, lo, hi)?)
            }
            "select" => {
                let c = self.arg_pe(args, 0)?;
                let (a, b) = self.two(args, 1, 2)?;
                self.select(c, &a, &b)?
            }
            "lookup" => self.lookup(args)?,
            "mac" => {
                let a = match self.arg(args, 0)? {
                    Val::Lrm(lrm) => lrm,
                    Val::Pe(pe) => Lrm::lanes(pe.elem, vec![pe]),
                    Val::Array(parts) => {
                        let lanes = parts.iter().map(|part| self.as_pe(part, None)).collect::<R<Vec<_>>>()?;
                        let elem = lanes.first().map_or(ElemType::I8, |lane| lane.elem);
                        Lrm::lanes(elem, lanes)
                    }
                    other => return self.wrong("a buffer", &other),
                };
                match self.arg(args, 1)? {
                    Val::Weights { stream, n } => Val::Acc(Acc::Mac { a, stream, n }),
                    other => return self.wrong("weights", &other),
                }
            }
            "broadcast" => {
                let view = self.arg_view(args, 0)?;
                self.broadcast(&view)?
            }
            "prefetch" => {
                let (from, to) = (self.arg_view(args, 0)?, self.arg_view(args, 1)?);
                self.dma(false, &to, &from)?
            }
            "write_back" => {
                let (from, to) = (self.arg_view(args, 0)?, self.arg_view(args, 1)?);
                self.dma(true, &from, &to)?
            }
            "drain" => {
                self.drain()?;
                Val::UNIT
            }
            "any" | "all" => {
                let c = self.arg_pe(args, 0)?;
                if let Some(v) = c.as_known() {
                    return Ok(Val::Scalar(Scalar::bool(v != 0)));
                }
                let any = row.name == "any";
                let c = if any { c.lo } else { self.bin(crate::ir::BinOp::Xor, c.lo, 1) };
                let SVal::Val(id) = self.any_of(c) else { unreachable!("a question has a variable") };
                let found = Scalar::run(ScalarTy::Bool, self.variable(id));
                Val::Scalar(if any { found } else { self.scalar_unary(UnOp::Not, &found)? })
            }
            "shift" => {
                let x = self.arg(args, 0)?;
                let (to, hops) = (self.arg_choice(args, 1)?, self.arg_usize(args, 2)?);
                match x {
                    Val::Lrm(lrm) => Val::Lrm(self.lrm_neighbour(&lrm, to, hops)?),
                    x => {
                        let x = self.as_pe(&x, None)?;
                        Val::Pe(self.pe_neighbour(x, to, hops)?)
                    }
                }
            }
            "reduce" => {
                let x = self.arg_pe(args, 0)?;
                let (op, over) = (self.arg_choice(args, 1)?, self.arg_choice(args, 2)?);
                Val::Pe(self.pe_reduce(x, op, over)?)
            }
            "div_ceil" | "next_multiple_of" | "log2" | "pow" | "is_power_of_two" => {
                let mut values = Vec::new();
                for i in 0..args.len() {
                    match self.arg(args, i)? {
                        Val::Scalar(s) => values.push(s),
                        other => return self.wrong("a scalar", &other),
                    }
                }
                Val::Scalar(self.extent_fn(row.name, &values)?)
            }
            name => return self.fail(format!("`{name}` here"), ""),
        })
    }

    fn extent_fn(&mut self, name: &str, args: &[Scalar]) -> R<Scalar> {
        let (Some(first), ty) = (args.first(), args.first().map_or(ScalarTy::Open, |s| s.ty)) else {
            return self.fail(format!("`{name}` of nothing"), "");
        };
        let a = self.must_be_known(first)?;
        let b = match args.get(1) {
            Some(b) => self.must_be_known(b)?,
            None => 1,
        };
        if b == 0 && name != "pow" {
            return self.fail("division by zero", "");
        }
        let value = match name {
            "div_ceil" => a / b + i128::from(a % b != 0),
            "next_multiple_of" => (a / b + i128::from(a % b != 0)) * b,
            "log2" if a > 0 => a.ilog2().into(),
            "log2" => return self.fail("the logarithm of 0", ""),
            "pow" => match u32::try_from(b).ok().and_then(|n| a.checked_pow(n)) {
                Some(value) => value,
                None => return self.fail("a power larger than any integer", ""),
            },
            _ => return Ok(Scalar::bool(a > 0 && a & (a - 1) == 0)),
        };
        let open = Scalar::known(ScalarTy::Open, 0);
        self.scalar_binary(BinOp::Add, &Scalar::known(ty, value), &open)
    }

    fn fx(&mut self, expr: &Expr, generics: &'p [GenericArg], args: &'p [Expr]) -> R<Val> {
        let bits = self.fraction(expr, generics)?;
        let value = match args.first() {
            Some(arg) => self.decimal(arg)?,
            None => return self.fail("`fx` of nothing", ""),
        };
        // A cast saturates.
        let raw = (value * (1u64 << bits) as f64).round_ties_even() as i32;
        Ok(Val::Scalar(Scalar::known(ScalarTy::Fx(bits), raw.into())))
    }
    fn decimal(&mut self, expr: &'p Expr) -> R<f64> {
        match &expr.kind {
            ExprKind::Lit(Lit::Float(text)) => match text.parse() {
                Ok(value) => Ok(value),
                Err(_) => self.fail(format!("`{text}` is no number"), ""),
            },
            ExprKind::Unary { op: UnOp::Neg, arg } => Ok(-self.decimal(arg)?),
            _ => {
                let s = self.scalar(expr)?;
                Ok(self.must_be_known(&s)? as f64)
            }
        }
    }
    /// A fixed-point operand and its fraction bits.
    fn fx_arg(&mut self, val: &Val) -> R<(Pe, u8)> {
        let pe = self.as_pe(val, None)?;
        match pe.elem {
            ElemType::Fx(bits) => Ok((pe, bits)),
            other => {
                self.fail(format!("`{other}` is no fixed-point number"), "an integer becomes one by `fx_raw::<0>(x)`")
            }
        }
    }

    fn requant(&mut self, of: &Val, scale: Scale, rounding: Rounding, overflow: Overflow) -> R<Val> {
        let lanes = match of {
            Val::Pe(pe) => {
                return Ok(Val::Pe(self.scale_to_i8(*pe, scale, rounding, overflow, 0)?));
            }
            Val::Acc(acc) => self.acc_values(acc)?,
            Val::Lrm(lrm) => (0..lrm.n).map(|i| self.read_at(lrm, &Affine::number(i as i64))).collect::<R<Vec<_>>>()?,
            other => return self.wrong("accumulators", other),
        };
        let out = lanes
            .into_iter()
            .map(|lane| self.scale_to_i8(lane, scale, rounding, overflow, 0))
            .collect::<R<Vec<_>>>()?;
        Ok(Val::Lrm(Lrm::lanes(ElemType::I8, out)))
    }

    fn lookup(&mut self, args: &'p [Expr]) -> R<Val> {
        let mut table = self.arg(args, 0)?;
        if let Val::Lrm(lrm) = &table
            && args.get(1).is_some_and(super::walk::has_effects)
        {
            // What the index assigns, the table has not.
            table = Val::Lrm(self.own_copy(&Lrm { fresh: false, ..lrm.clone() }, "table")?);
        }
        let index = self.arg_pe(args, 1)?;
        let (elem, n, buf, first) = match &table {
            Val::Lrm(lrm) => {
                let (buf, first) = self.in_buffer(lrm, "table")?;
                (lrm.elem, lrm.n, buf, first)
            }
            Val::Array(parts) => self.constant_table(parts)?,
            other => return self.wrong("a table", other),
        };
        let is_wide = elem == ElemType::I64;
        if !n.is_power_of_two() || n > 4096 || is_wide && n > 2048 {
            let help = "tables have a power of two of entries, at most 4096 words";
            return self.fail(format!("a table of {n} entries of `{elem}`"), help);
        }
        if is_wide {
            // Entries are pairs of words.
            let index = self.exact(index).lo;
            let low = self.bin(crate::ir::BinOp::Shl, index, 1);
            let high = self.bin(crate::ir::BinOp::Or, low, 1);
            let place = self.element(buf, crate::ir::Elem::I32, &first.times(2));
            let bits = n.trailing_zeros() as u8 + 1;
            let [lo, hi] = [low, high].map(|idx| {
                let dst = self.b.value("t", crate::ir::Type::Q(crate::ir::Fmt::I32));
                self.push(OpKind::Lut { dst: Dst::Def(dst), idx, table: place, bits });
                Src::Val(dst)
            });
            return Ok(Val::Pe(Pe { elem, lo, hi: Some(hi), range: elem.range(), exact: true }));
        }
        let idx = if index.exact || n <= 256 { index.lo } else { self.exact(index).lo };
        let view = super::pe::stored(elem);
        let place = self.element(buf, view, &first);
        let dst = self.b.value("t", crate::ir::Type::Q(crate::ir::Fmt::I32));
        self.push(OpKind::Lut { dst: Dst::Def(dst), idx, table: place, bits: n.trailing_zeros() as u8 });
        let signed = elem.range().0 < 0 || elem == ElemType::Bool;
        Ok(Val::Pe(Pe { elem, lo: Src::Val(dst), hi: None, range: elem.range(), exact: signed }))
    }

    /// A table of constants, written once before the kernel's body.
    fn constant_table(&mut self, parts: &[Val]) -> R<(ElemType, usize, crate::ir::Id, Affine)> {
        let mut values = Vec::new();
        let mut elem = ElemType::I32;
        for part in parts {
            let pe = self.as_pe(part, None)?;
            elem = pe.elem;
            match pe.as_known() {
                Some(v) => values.push(v),
                None => {
                    // Values of each PE side by side are a buffer.
                    let lanes = parts.iter().map(|part| self.as_pe(part, None)).collect::<R<Vec<_>>>()?;
                    let (buf, first) = self.in_buffer(&Lrm::lanes(elem, lanes), "table")?;
                    return Ok((elem, parts.len(), buf, first));
                }
            }
        }
        if let Some((.., buf)) = self.tables.iter().find(|(v, e, _)| *v == values && *e == elem) {
            return Ok((elem, values.len(), *buf, Affine::number(0)));
        }
        let (ops, lrm) = self.detached(|cx| {
            let lrm = cx.new_lrm("table", elem, values.len())?;
            let Place::Buffer { id, .. } = lrm.place else { unreachable!("new buffers are buffers") };
            let size = elem.bytes();
            let mut bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()[..size].to_vec()).collect();
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            for (i, word) in bytes.chunks_exact(4).enumerate() {
                let word = i32::from_le_bytes(word.try_into().expect("four bytes"));
                let place = ElemRef { buf: id, view: crate::ir::Elem::I32, index: Index::Const, at: i as i32 };
                cx.store_word(place, Src::Imm(word));
            }
            Ok(id)
        })?;
        self.prologue.extend(ops);
        self.tables.push((values.clone(), elem, lrm));
        Ok((elem, values.len(), lrm, Affine::number(0)))
    }

    fn associated(&mut self, row: &'static Builtin, expr: &'p Expr, callee: &'p Path, args: &'p [Expr]) -> R<Val> {
        let generics = callee.segments[0].args.as_slice();
        match (row.owner, row.name) {
            ("Scale", _) => {
                let (mantissa, shift) = (self.arg_i32(args, 0)?, self.arg_i32(args, 1)?);
                Ok(Val::Scale(Scale { mantissa, shift }))
            }
            ("Acc", _) => {
                let n = self.extent_generic(expr, generics)?;
                let zero = Pe::number(ElemType::I32, 0);
                Ok(Val::Acc(Acc::Lanes(std::rc::Rc::new(vec![zero; n]))))
            }
            ("Lrm", name) => {
                let (elem, n) = match generics {
                    [elem, n] => (self.elem_ty(elem)?, self.extent_arg(n)?),
                    _ => self.lrm_generic(expr, &[])?,
                };
                let lrm = self.new_lrm("buf", elem, n)?;
                if name == "filled" {
                    let v = self.arg(args, 0)?;
                    let v = self.as_pe(&v, Some(elem))?;
                    self.each(n, |cx, i| cx.write(&lrm, i, v))?;
                }
                Ok(Val::Lrm(lrm))
            }
            ("Ocm", _) => {
                let (elem, layout) = match generics {
                    [elem, layout] => (self.elem_ty(elem)?, self.layout_ty(layout)?),
                    _ => {
                        return self
                            .fail("an on-chip tensor without its type", "write `Ocm::<i8, Packed<C, H, W>>::new()`");
                    }
                };
                let (kind, dims) = layout;
                let bytes = kind.size_bytes(dims, elem.bytes()).next_multiple_of(super::finish::BUFFER_ALIGN);
                let most = self.target.spec().ocm_bytes as usize;
                if bytes == 0 || bytes > most {
                    return self
                        .fail(format!("a tensor of {bytes} bytes on chip, where there are {most}"), "work in slices");
                }
                let buf = self.b.value("ocm", crate::ir::Type::Ocm(bytes as u32));
                self.push(OpKind::Ocm { dst: buf });
                Ok(Val::Tensor(View::whole(buf, elem, layout, false)))
            }
            (owner, name) => self.fail(format!("`{owner}::{name}` here"), ""),
        }
    }

    // ---- methods ----

    pub(super) fn method(
        &mut self,
        expr: &'p Expr,
        recv: &'p Expr,
        name: &'p Ident,
        generics: &'p [GenericArg],
        args: &'p [Expr],
    ) -> R<Val> {
        let of = self.expr(recv)?;
        let of = match of {
            // Accumulators are read where they are used.
            Val::Acc(_) => of,
            of => self.read(&of)?,
        };
        self.at(expr.span);
        match (of, name.name.as_str()) {
            (Val::Tensor(view), name) => self.tensor_method(&view, name, expr, generics, args),
            (Val::Walk(walk), name) => self.walk_method(walk, name, generics, args),
            (Val::Tile(tile), name) => self.tile_method(*tile, name, expr, generics, args),
            (Val::Flight(flight), "wait") => {
                let brought = self.wait(&flight)?;
                self.gathered(&brought)
            }
            (Val::Broadcast(s), "take") => Ok(Val::Weights { stream: s, n: self.extent_generic(expr, generics)? }),
            (Val::Broadcast(s), "bias") => {
                Ok(Val::Acc(Acc::Bias { stream: s, n: self.extent_generic(expr, generics)? }))
            }
            (Val::Broadcast(s), "next") => {
                let elem = self.elem_generic(expr, generics)?;
                Ok(Val::Pe(self.stream_next(s, elem)?))
            }
            (Val::Broadcast(s), "fill") => {
                let (elem, n) = self.lrm_generic(expr, generics)?;
                Ok(Val::Lrm(self.stream_fill(s, elem, n)?))
            }
            (Val::Acc(acc), "get") => {
                let n = self.arg_usize(args, 0)?;
                let values = match self.settled(acc)? {
                    Acc::Group { id, n: len, .. } if n < len => {
                        return Ok(Val::Pe(Pe::new(ElemType::I32, self.copy(Src::Acc(id, n as u8)))));
                    }
                    acc => self.acc_values(&acc)?,
                };
                match values.get(n) {
                    Some(pe) => Ok(Val::Pe(*pe)),
                    None => self.fail(format!("accumulator {n} of {}", values.len()), ""),
                }
            }
            (Val::Lrm(lrm), "slice") => {
                let n = self.extent_generic(expr, generics)?;
                let first = self.arg_sum(args, 0)?;
                self.slice(&lrm, &first, n)
            }
            (Val::Lrm(lrm), "row") => self.row(&lrm, args),
            (Val::Range { start, end, step, rev }, "step_by") => {
                let by = self.arg_usize(args, 0)?;
                if by == 0 || rev {
                    return self.fail("`step_by` of 0, or of a range backwards", "step first, then `.rev()`");
                }
                Ok(Val::Range { start, end, step: step * by, rev })
            }
            (Val::Range { start, end, step, rev }, "rev") => Ok(Val::Range { start, end, step, rev: !rev }),
            (Val::Scalar(s), name) => self.scalar_method(s, name, args),
            (Val::Pe(pe), name) => self.pe_method(pe, name, expr, generics, args),
            (Val::Array(parts), "slice") => {
                let n = self.extent_generic(expr, generics)?;
                let first = self.arg_usize(args, 0)?;
                match parts.get(first..first + n) {
                    Some(parts) => Ok(Val::Array(parts.to_vec())),
                    None => self.fail(format!("elements {first}.. of {}", parts.len()), ""),
                }
            }
            (other, name) => self.fail(format!("`{name}` of {}", other.kind()), ""),
        }
    }

    fn scalar_method(&mut self, s: Scalar, name: &str, args: &'p [Expr]) -> R<Val> {
        let mut all = vec![s];
        for i in 0..args.len() {
            match self.arg(args, i)? {
                Val::Scalar(s) => all.push(s),
                other => return self.wrong("a scalar", &other),
            }
        }
        let pair = |cx: &mut Self, least: bool| match all.as_slice() {
            [a, b] => cx.scalar_extreme(least, a, b),
            _ => cx.fail(format!("`{name}` of other than two numbers"), ""),
        };
        Ok(Val::Scalar(match (name, all.as_slice()) {
            ("min", _) => pair(self, true)?,
            ("max", _) => pair(self, false)?,
            ("clamp", [x, lo, hi]) => {
                let x = self.scalar_extreme(false, x, lo)?;
                self.scalar_extreme(true, &x, hi)?
            }
            ("abs", [x]) => {
                let minus = self.scalar_unary(UnOp::Neg, x)?;
                self.scalar_extreme(false, x, &minus)?
            }
            ("ilog2", [_]) => self.extent_fn("log2", &all)?,
            ("div_ceil" | "next_multiple_of" | "pow" | "is_power_of_two", _) => self.extent_fn(name, &all)?,
            _ => return self.fail(format!("`{name}` of a scalar"), ""),
        }))
    }

    fn pe_method(
        &mut self,
        pe: Pe,
        name: &str,
        expr: &'p Expr,
        generics: &'p [GenericArg],
        args: &'p [Expr],
    ) -> R<Val> {
        let fraction = |pe: &Pe| match pe.elem {
            ElemType::Fx(bits) => Some(bits),
            _ => None,
        };
        Ok(Val::Pe(match name {
            "widen" => {
                let to = self.elem_generic(expr, generics)?;
                self.pe_widen(pe, to)
            }
            "narrow" => {
                let to = self.elem_generic(expr, generics)?;
                let overflow = self.arg_overflow(args, 0)?;
                self.pe_narrow(pe, to, overflow)?
            }
            "shr_round" => {
                let (n, rounding) = (self.arg_usize(args, 0)?, self.arg_rounding(args, 1)?);
                self.pe_round(pe, n.min(200) as u32, rounding)?
            }
            "raw" => Pe { elem: ElemType::I32, ..pe },
            "round" => {
                let rounding = self.arg_rounding(args, 0)?;
                let Some(bits) = fraction(&pe) else { return self.fail("`round` of an integer", "") };
                let rounded = self.pe_round(Pe { elem: ElemType::I32, ..pe }, bits.into(), rounding)?;
                Pe { elem: ElemType::I32, ..rounded }
            }
            "rescale" => {
                let to = self.fraction(expr, generics)?;
                let (rounding, overflow) = (self.arg_rounding(args, 0)?, self.arg_overflow(args, 1)?);
                let Some(bits) = fraction(&pe) else { return self.fail("`rescale` of an integer", "") };
                self.pe_rescale(pe, to, bits as i32 - to as i32, rounding, overflow)?
            }
            other => return self.fail(format!("`{other}` of a per-PE value"), ""),
        }))
    }

    fn row(&mut self, lrm: &Lrm, args: &'p [Expr]) -> R<Val> {
        let dy = match self.arg(args, 0)? {
            Val::Scalar(s) => s.affine(),
            other => return self.wrong("a row", &other),
        };
        let (above, n) = (lrm.rows.above as i64, lrm.rows.n as i64);
        if dy.range.lo < -above || dy.range.hi >= n - above {
            self.sum_known(&dy)?;
            return self.fail(
                format!("row {} of rows {}..={}", dy.constant, -above, n - above - 1),
                "the halo brings no more",
            );
        }
        let len = lrm.n / lrm.rows.n;
        let first = dy.add(above).times(len as i64);
        match lrm.part(&first, len) {
            Some(part) => Ok(Val::Lrm(part)),
            None => self.fail("a row of values that are in no buffer", ""),
        }
    }

    fn tensor_method(
        &mut self,
        view: &View,
        name: &str,
        expr: &'p Expr,
        generics: &'p [GenericArg],
        args: &'p [Expr],
    ) -> R<Val> {
        let _ = expr;
        Ok(match name {
            "tiles" => Val::Walk(self.tiles(view)?),
            "at" => match self.arg(args, 0)? {
                Val::Tile(tile) => Val::Tile(Box::new(self.at_tile(view, &tile)?)),
                other => return self.wrong("a tile", &other),
            },
            "channels" => {
                let first = self.arg_sum(args, 0)?;
                Val::Tensor(self.view_step(view, ViewStep::Channels(first))?)
            }
            "roi" => {
                let mut of = [0; 4];
                for (i, of) in of.iter_mut().enumerate() {
                    *of = self.arg_usize(args, i)?;
                }
                Val::Tensor(self.view_roi(view, of)?)
            }
            "space_to_depth" | "depth_to_space" => {
                let s = match generics.first() {
                    Some(arg) => self.extent_arg(arg)?,
                    None => return self.open_generic(),
                };
                let step = if name == "space_to_depth" { ViewStep::SpaceToDepth(s) } else { ViewStep::DepthToSpace(s) };
                Val::Tensor(self.view_step(view, step)?)
            }
            "view" => {
                let layout = match generics.first() {
                    Some(arg) => self.layout_ty(arg)?,
                    None => return self.fail("a view without its layout", "write `x.view::<Planar<C, H, W>>()`"),
                };
                Val::Tensor(self.seen_as(view, layout)?)
            }
            "part" => {
                let (elem, layout) = match generics {
                    [elem, layout] => (self.elem_ty(elem)?, self.layout_ty(layout)?),
                    _ => return self.fail("a part without its type", "write `x.part::<i32, Vector<N>>(byte)`"),
                };
                let byte = self.arg_sum(args, 0)?;
                Val::Tensor(self.part_of(view, &byte, elem, layout)?)
            }
            "tokens" => {
                let (first, n) = (self.arg_usize(args, 0)?, self.arg_usize(args, 1)?);
                Val::Tensor(self.view_roi(view, [0, first, 1, n])?)
            }
            "gather" => {
                let index = self.arg_pe(args, 0)?;
                self.random(view, index, None)?
            }
            "scatter" => {
                let (index, value) = (self.arg_pe(args, 0)?, self.arg(args, 1)?);
                let value = self.as_pe(&value, Some(view.elem))?;
                self.random(view, index, Some(value))?
            }
            other => return self.fail(format!("`{other}` of a tensor"), ""),
        })
    }

    fn walk_method(&mut self, mut walk: Walk, name: &str, generics: &'p [GenericArg], args: &'p [Expr]) -> R<Val> {
        match name {
            "halo" | "halo_cols" | "halo_rows" => {
                let h = self.arg_usize(args, 0)?;
                if name != "halo_rows" {
                    self.check_border(h)?;
                    walk.layout.halo_cols = h;
                }
                if name != "halo_cols" {
                    walk.layout.halo_rows = h;
                }
            }
            "stride" => walk.layout.stride = self.arg_usize(args, 0)?.max(1),
            "block" => {
                let [by, bx] = generics else {
                    return self.fail("a block without its extents", "write `block::<2, 4>()`");
                };
                walk.layout.block = (self.extent_arg(by)?.max(1), self.extent_arg(bx)?.max(1));
            }
            "grid" => {
                let (rows, cols) = (self.arg_usize(args, 0)?, self.arg_usize(args, 1)?);
                self.check_grid(rows, cols)?;
                walk.layout.grid = (rows, cols);
            }
            "pipelined" => walk.pipelined = self.arg_usize(args, 0)?.min(16) as u32,
            "chunks" => walk.chunk = self.chunk(generics)?,
            other => return self.fail(format!("`{other}` of a walk"), ""),
        }
        Ok(Val::Walk(walk))
    }
    fn chunk(&mut self, generics: &'p [GenericArg]) -> R<usize> {
        match generics.first() {
            Some(arg) => match self.extent_arg(arg)? {
                0 => self.fail("chunks of no channel", ""),
                n => Ok(n),
            },
            None => self.fail("chunks without their extent", "write `chunks::<4>()`"),
        }
    }

    fn tile_method(
        &mut self,
        mut tile: Tile,
        name: &str,
        expr: &'p Expr,
        generics: &'p [GenericArg],
        args: &'p [Expr],
    ) -> R<Val> {
        let i32_ty = ScalarTy::Int(IntTy::I32);
        let usize_ty = ScalarTy::Int(IntTy::Usize);
        Ok(match name {
            "fetch" => {
                let (elem, n) = self.lrm_generic(expr, generics)?;
                self.fetch(&tile, elem, n)?
            }
            "store" => {
                let val = match args.first() {
                    Some(arg) => self.expr(arg)?,
                    None => return self.fail("nothing is stored", ""),
                };
                let val = match val {
                    Val::Acc(acc) => Val::Acc(acc),
                    val => self.read(&val)?,
                };
                let elem = tile.view.elem;
                // Parts of a value that a store is given one by one.
                let val = match val {
                    Val::Array(parts) => {
                        let lanes = parts.iter().map(|part| self.as_pe(part, Some(elem))).collect::<R<Vec<_>>>()?;
                        Val::Lrm(Lrm::lanes(elem, lanes))
                    }
                    val => val,
                };
                self.store(&tile, &val)?;
                Val::UNIT
            }
            "tap" => {
                let (dy, dx) = (self.arg_sum(args, 0)?, self.arg_sum(args, 1)?);
                tile.tap = (tile.tap.0.plus(&dy), tile.tap.1.plus(&dx));
                Val::Tile(Box::new(tile))
            }
            "stride" => {
                tile.layout.stride *= self.arg_usize(args, 0)?.clamp(1, 1 << 12);
                Val::Tile(Box::new(tile))
            }
            "grid" => {
                let (rows, cols) = (self.arg_usize(args, 0)?, self.arg_usize(args, 1)?);
                self.check_grid(rows, cols)?;
                tile.layout.grid = (rows, cols);
                Val::Tile(Box::new(tile))
            }
            "block" => {
                let [by, bx] = generics else {
                    return self.fail("a block without its extents", "write `block::<2, 4>()`");
                };
                tile.layout.block = (self.extent_arg(by)?.max(1), self.extent_arg(bx)?.max(1));
                Val::Tile(Box::new(tile))
            }
            "channels" => {
                tile.channel = tile.channel.plus(&self.arg_sum(args, 0)?);
                Val::Tile(Box::new(tile))
            }
            "chunks" => {
                let chunk = self.chunk(generics)?;
                let (view, layout) = (tile.view.clone(), tile.layout);
                Val::Walk(Walk { view, layout, tile: Some(Box::new(tile)), chunk, pipelined: 0 })
            }
            "inside" => Val::Pe(self.inside(&tile)?),
            "channel" => Self::tile_number(usize_ty, &tile.channel),
            "index" => Self::tile_number(usize_ty, &tile.index),
            "y" => Self::tile_number(i32_ty, &Self::tile_y(&tile)),
            "x" => Self::tile_number(i32_ty, &Self::tile_x(&tile)),
            other => return self.fail(format!("`{other}` of a tile"), ""),
        })
    }
}
