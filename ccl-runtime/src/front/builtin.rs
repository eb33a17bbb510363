//! The names of the language: one arm each.

use ccl_syntax::ast::*;
use ccl_syntax::builtins::{Builtin, BuiltinKind};
use ccl_syntax::check::types::Type;

use super::cx::Cx;
use super::error::R;
use super::value::{Acc, Affine, Lrm, Pe, Place, Scalar, ScalarTy, Val, View};
use crate::ir::{AluOp, Dst, ElemRef, Index, OpKind, SVal, Src};
use crate::kernel::ElemType;
use crate::value::{Overflow, Rounding, Scale};

impl<'p> Cx<'p> {
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

    pub(super) fn extent_fn(&mut self, name: &str, args: &[Scalar]) -> R<Scalar> {
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
}
