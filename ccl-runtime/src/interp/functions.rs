//! The functions of the language.

use std::cell::RefCell;
use std::rc::Rc;

use ccl_syntax::ast::{Expr, ExprKind, GenericArg, IntTy, Lit, Path, UnOp};
use ccl_syntax::builtins::Builtin;

use super::datum::{Choice, Datum, Taken, Tensor};
use super::error::{Cause, Evaluated};
use super::lanes::{self, lanes};
use super::machine::Machine;
use crate::flow::{broadcast, dma};
use crate::kernel::{ElemType, Memory};
use crate::native::state::Tag;
use crate::native::{Id, Lane};
use crate::tensor::lrm::check_table;
use crate::tensor::mac::MacElem;
use crate::tensor::{Dyn, Ocm};
use crate::value::fixed::formats;
use crate::value::{self, Axis, Blend, Direction, Overflow, Q, Reduction, Scale};

/// Mantissas and shifts that scales may have; a factor outside makes 0 or an end of the range of everything.
const SHIFTS: (i128, i128) = (-255, 255);

impl<'a> Machine<'a> {
    pub(super) fn builtin(
        &mut self,
        row: &'static Builtin,
        expr: &'a Expr,
        callee: &'a Path,
        args: &'a [Expr],
    ) -> Evaluated {
        let generics = callee.last().args.as_slice();
        // The argument of `fx` may be a fraction, which is no value of the language.
        if (row.owner, row.name) == ("", "fx") {
            return self.fx(expr, generics, args);
        }
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.eval_stripped(arg)?);
        }
        self.at(callee.last().name.span);
        if row.owner.is_empty() {
            self.function(row.name, expr, generics, values)
        } else {
            let generics = callee.segments.first().map_or(&[][..], |segment| &segment.args);
            self.associated(row, expr, generics, values)
        }
    }

    fn function(&mut self, name: &str, expr: &'a Expr, generics: &'a [GenericArg], v: Vec<Datum>) -> Evaluated {
        match (name, v.as_slice()) {
            ("splat", [v]) => {
                let (elem, id) = self.pe(v)?;
                Ok(Datum::Pe(elem, id))
            }
            ("q_row", []) => Ok(Datum::Pe(ElemType::I32, value::q_row().handle())),
            ("q_col", []) => Ok(Datum::Pe(ElemType::I32, value::q_col().handle())),
            ("fx_raw" | "fx_mul" | "fx_div" | "exp" | "ln" | "dequantize", _) => {
                let bits = self.result_bits(expr, generics)?;
                self.fixed(name, bits, &v)
            }
            ("requant", [acc, Datum::Scale(scale), Datum::Choice(rounding), Datum::Choice(overflow)]) => {
                self.requant(acc, *scale, *rounding, *overflow)
            }
            ("quantize", [x, Datum::Scale(scale), zero]) => {
                let (x, zero) = (self.number(x)?, self.scalar_i32(zero)?);
                Ok(Datum::Pe(ElemType::I8, formats::quantize(x, *scale, zero)))
            }
            ("min" | "max", [a, b]) => self.extreme(name == "max", a.clone(), b.clone()),
            ("clamp", [x, lo, hi]) => {
                let above = self.extreme(true, x.clone(), lo.clone())?;
                self.extreme(false, above, hi.clone())
            }
            ("abs", [x]) => self.absolute(x.clone()),
            ("select", [condition, a, b]) => {
                let condition = self.condition(condition)?;
                let (a, b) = self.alike(a.clone(), b.clone());
                let kinds = (a.kind(), b.kind());
                let blended = Datum::blend(condition, a, b);
                blended.ok_or_else(|| self.stop(Cause::Type { wanted: kinds.0, found: kinds.1 }))
            }
            ("lookup", [table, index]) => self.lookup(table, index),
            ("mac", [a, Datum::Weights(weights)]) => self.mac(a, weights),
            ("broadcast", [Datum::Tensor(tensor)]) if tensor.memory == Memory::Ocm => {
                let stream = broadcast(&Ocm::<i8, Dyn>::of_view(tensor.view));
                Ok(Datum::Broadcast(tensor.clone(), Rc::new(RefCell::new(stream))))
            }
            ("any", [condition]) => Ok(Datum::Bool(value::any(self.condition(condition)?))),
            ("all", [condition]) => Ok(Datum::Bool(value::all(self.condition(condition)?))),
            ("shift", [x, Datum::Choice(Choice::Direction(to)), Datum::Int(hops, _)]) => self.shift(x, *to, *hops),
            ("reduce", [x, Datum::Choice(Choice::Reduction(op)), Datum::Choice(Choice::Axis(over))]) => {
                self.reduce(x, *op, *over)
            }
            ("prefetch" | "write_back", [Datum::Tensor(from), Datum::Tensor(to)]) => self.copy(from, to),
            ("drain", []) => Ok(Datum::UNIT),
            _ => self.scalar_function(name, &v),
        }
    }

    /// A scalar or per-PE value in every PE.
    pub(super) fn pe(&self, v: &Datum) -> Evaluated<(ElemType, Id)> {
        v.spread().ok_or_else(|| self.wrong("a value that PEs hold", v))
    }

    pub(super) fn condition(&self, v: &Datum) -> Evaluated<Q<bool>> {
        match self.pe(v)? {
            (ElemType::Bool, id) => Ok(Q::of(id)),
            _ => Err(self.wrong("a condition", v)),
        }
    }

    /// A fixed-point number and its fraction bits.
    pub(super) fn number(&self, v: &Datum) -> Evaluated<(Id, usize)> {
        match self.pe(v)? {
            (ElemType::Fx(bits), id) => Ok((id, bits as usize)),
            _ => Err(self.wrong("a fixed-point number", v)),
        }
    }

    /// An integer of at most 32 bits, widened.
    pub(super) fn word(&self, v: &Datum) -> Evaluated<Id> {
        match self.pe(v)? {
            (ElemType::I32, id) => Ok(id),
            (elem @ (ElemType::I8 | ElemType::U8 | ElemType::I16 | ElemType::U16), id) => {
                Ok(lanes!(elem, L => L::convert(id, Tag::I32, Overflow::Wrap)))
            }
            _ => Err(self.wrong("an integer of at most 32 bits", v)),
        }
    }

    fn scalar_i32(&self, v: &Datum) -> Evaluated<i32> {
        match v {
            Datum::Int(v, _) if i32::try_from(*v).is_ok() => Ok(*v as i32),
            other => Err(self.wrong("a scalar `i32`", other)),
        }
    }

    fn fx(&mut self, expr: &'a Expr, generics: &'a [GenericArg], args: &'a [Expr]) -> Evaluated {
        let bits = self.result_bits(expr, generics)?;
        let Some(arg) = args.first() else { return Err(self.stop(Cause::Open { what: "value".to_owned() })) };
        let value = match fraction(arg) {
            Some(value) => value,
            None => f64::from({
                let v = self.eval_stripped(arg)?;
                self.scalar_i32(&v)?
            }),
        };
        Ok(Datum::Fx(fx_bits(value, bits), bits as u8))
    }

    fn fixed(&mut self, name: &str, bits: usize, v: &[Datum]) -> Evaluated {
        let id = match (name, v) {
            ("fx_raw", [bits]) => match self.pe(bits)? {
                (ElemType::I32, id) => id,
                _ => return Err(self.wrong("a value of `i32`", bits)),
            },
            ("fx_mul", [a, b]) => formats::fx_mul(self.number(a)?, self.number(b)?, bits),
            ("fx_div", [a, b]) => match (self.number(a)?, self.number(b)?) {
                ((x, m), (y, n)) if m == n => formats::fx_div(x, y, bits),
                _ => return Err(self.wrong(format!("`{}`", a.kind()), b)),
            },
            ("exp", [x]) => {
                let (x, from) = self.number(x)?;
                crate::native::lane::exp(x, from as u32, bits as u32)
            }
            ("ln", [x]) => {
                let (x, from) = self.number(x)?;
                crate::native::lane::ln(x, from as u32, bits as u32)
            }
            ("dequantize", [x, Datum::Scale(scale), zero]) => {
                formats::dequantize(self.word(x)?, *scale, self.scalar_i32(zero)?, bits)
            }
            _ => return Err(self.no_function(name, v)),
        };
        Ok(Datum::Pe(ElemType::Fx(bits as u8), id))
    }

    #[cold]
    pub(super) fn no_function(&self, name: &str, v: &[Datum]) -> super::error::Exit {
        let kinds: Vec<String> = v.iter().map(Datum::kind).collect();
        self.stop(Cause::Operator { op: name.to_owned(), operands: format!("`{}`", kinds.join("`, `")) })
    }

    fn requant(&mut self, acc: &Datum, scale: Scale, rounding: Choice, overflow: Choice) -> Evaluated {
        let (Choice::Rounding(rounding), Choice::Overflow(overflow)) = (rounding, overflow) else {
            return Err(self.stop(Cause::Type { wanted: "a rounding, an overflow".into(), found: "other".into() }));
        };
        let each = |ids: &[Id]| {
            Datum::Lrm(ElemType::I8, ids.iter().map(|id| formats::requant(*id, scale, rounding, overflow)).collect())
        };
        match acc {
            Datum::Acc(ids) | Datum::Lrm(ElemType::I32, ids) => Ok(each(ids)),
            Datum::Pe(ElemType::I32, id) => {
                Ok(Datum::Pe(ElemType::I8, formats::requant(*id, scale, rounding, overflow)))
            }
            other => Err(self.wrong("`Acc<N>` or `Q<i32>`", other)),
        }
    }

    fn lookup(&mut self, table: &Datum, index: &Datum) -> Evaluated {
        let index = self.word(index)?;
        match table {
            Datum::Lrm(elem, ids) => {
                check_table(ids.len());
                Ok(Datum::Pe(*elem, lanes!(*elem, L => L::lookup(ids, index))))
            }
            Datum::Array(values) => {
                check_table(values.len());
                // A table of constants is one that every PE holds.
                let entries: Option<Vec<(ElemType, Id)>> = values.iter().map(Datum::spread).collect();
                let Some(entries) = entries else { return Err(self.wrong("a table of elements", table)) };
                let (elem, ids) = (entries[0].0, entries.iter().map(|(_, id)| *id).collect::<Vec<_>>());
                if entries.iter().any(|(of, _)| *of != elem) {
                    return Err(self.wrong("a table of elements of one type", table));
                }
                Ok(Datum::Pe(elem, lanes!(elem, L => L::lookup(&ids, index))))
            }
            other => Err(self.wrong("a table", other)),
        }
    }

    fn mac(&mut self, a: &Datum, weights: &Taken) -> Evaluated {
        let (elem, ids) = match a {
            Datum::Lrm(elem, ids) => (*elem, ids.clone()),
            Datum::Pe(elem, id) => (*elem, vec![*id]),
            Datum::Array(values) => {
                let ids = values.iter().map(|v| self.pe(v)).collect::<Evaluated<Vec<_>>>()?;
                (ids.first().map_or(ElemType::I8, |(elem, _)| *elem), ids.into_iter().map(|(_, id)| id).collect())
            }
            other => return Err(self.wrong("a buffer of `i8` or `i16`", other)),
        };
        let (taken, n) = match weights {
            Taken::Dot(weights) => (weights.inputs(ids.len()), 1),
            Taken::Mat4(weights) => (weights.inputs(ids.len()), 4),
            Taken::Outer(weights) => (weights.inputs(ids.len()), 16),
        };
        self.reserve(ElemType::I32, n)?;
        let mut out = vec![Id::NONE; n];
        match elem {
            ElemType::I8 => <i8 as MacElem>::products(&ids, &taken, &mut out),
            ElemType::I16 => <i16 as MacElem>::products(&ids, &taken, &mut out),
            _ => return Err(self.wrong("a buffer of `i8` or `i16`", a)),
        }
        Ok(Datum::Acc(out))
    }

    fn shift(&mut self, x: &Datum, to: Direction, hops: i128) -> Evaluated {
        let hops = usize::try_from(hops).unwrap_or(0);
        if let Datum::Lrm(elem, ids) = x {
            let moved = |id: &Id| lanes!(*elem, L => L::shift_pe(*id, to, hops));
            return Ok(Datum::Lrm(*elem, ids.iter().map(moved).collect()));
        }
        let (elem, id) = self.pe(x)?;
        Ok(Datum::Pe(elem, lanes!(elem, L => L::shift_pe(id, to, hops))))
    }

    fn reduce(&mut self, x: &Datum, op: Reduction, over: Axis) -> Evaluated {
        let (elem, id) = self.pe(x)?;
        Ok(Datum::Pe(elem, lanes!(elem, L => L::reduce(id, op, over))))
    }

    fn copy(&mut self, from: &Tensor, to: &Tensor) -> Evaluated {
        let (n, m) = (from.view.bytes().len(), to.view.bytes().len());
        if n != m || !from.view.is_whole() || !to.view.is_whole() {
            return Err(self.stop(Cause::CopySize { from: n, to: m }));
        }
        dma::copy(&from.view, &to.view);
        Ok(Datum::Token)
    }

    fn associated(
        &mut self,
        row: &'static Builtin,
        expr: &'a Expr,
        generics: &'a [GenericArg],
        v: Vec<Datum>,
    ) -> Evaluated {
        match (row.owner, row.name, v.as_slice()) {
            ("Scale", "new", [mantissa, shift]) => {
                let (mantissa, shift) = (self.scalar_i32(mantissa)?, self.scalar_i32(shift)?);
                self.within("the shift of a scale", shift.into(), SHIFTS.0, SHIFTS.1)?;
                Ok(Datum::Scale(Scale::new(mantissa, shift)))
            }
            ("Acc", "zero", []) => {
                let n = self.result_extent(expr, generics)?;
                self.reserve(ElemType::I32, n)?;
                Ok(Datum::Acc((0..n).map(|_| lanes::splat(ElemType::I32, 0)).collect()))
            }
            ("Lrm", "new", []) => {
                let (elem, n) = self.result_lrm(expr, generics)?;
                self.reserve(elem, n)?;
                Ok(Datum::Lrm(elem, lanes::allocate(elem, n, None)))
            }
            ("Lrm", "filled", [v]) => {
                let (elem, n) = self.result_lrm(expr, generics)?;
                self.reserve(elem, n)?;
                let v = match v {
                    Datum::Int(v, _) => *v as i64,
                    Datum::Bool(v) => i64::from(*v),
                    Datum::Fx(raw, _) => i64::from(*raw),
                    other => return Err(self.wrong(format!("a scalar `{elem}`"), other)),
                };
                Ok(Datum::Lrm(elem, lanes::allocate(elem, n, Some(v))))
            }
            ("Ocm", "new", []) => {
                let (memory, elem, layout) = self.result_tensor(expr, generics)?;
                let bytes = self.size_bytes(&layout, elem).unwrap_or(usize::MAX);
                self.reserve_tensor(bytes)?;
                Ok(Datum::Tensor(Tensor::new(memory, elem, layout, vec![0; bytes])))
            }
            _ => Err(self.no_function(row.name, &v)),
        }
    }

    /// Functions of extents and of other scalars; methods of scalars pass their receiver first.
    pub(super) fn scalar_function(&mut self, name: &str, v: &[Datum]) -> Evaluated {
        let ints: Option<Vec<(i128, IntTy)>> = v
            .iter()
            .map(|v| match v {
                Datum::Int(v, ty) => Some((*v, *ty)),
                _ => None,
            })
            .collect();
        let Some(ints) = ints else { return Err(self.no_function(name, v)) };
        let text = || {
            let args: Vec<String> = ints.iter().map(|(v, _)| v.to_string()).collect();
            format!("{name}({})", args.join(", "))
        };
        let by_zero = |m: &Self| Err(m.stop(Cause::DivideByZero { text: text() }));
        match (name, ints.as_slice()) {
            ("div_ceil" | "next_multiple_of", [_, (0, _)]) => by_zero(self),
            ("div_ceil", &[(a, ty), (b, _)]) => self.int(Some(a / b + i128::from(a % b != 0)), ty, text),
            ("next_multiple_of", &[(a, ty), (b, _)]) => {
                self.int((a / b + i128::from(a % b != 0)).checked_mul(b), ty, text)
            }
            ("log2", &[(a, ty)]) if a > 0 => Ok(Datum::Int(a.ilog2().into(), ty)),
            ("ilog2", &[(a, _)]) if a > 0 => Ok(Datum::Int(a.ilog2().into(), IntTy::U32)),
            ("log2" | "ilog2", [_]) => by_zero(self),
            ("pow", &[(a, ty), (n, _)]) => self.int(u32::try_from(n).ok().and_then(|n| a.checked_pow(n)), ty, text),
            ("is_power_of_two", &[(a, _)]) => Ok(Datum::Bool(a > 0 && a & (a - 1) == 0)),
            _ => Err(self.no_function(name, v)),
        }
    }
}

/// The fraction that an argument of `fx` is.
fn fraction(arg: &Expr) -> Option<f64> {
    match &arg.kind {
        ExprKind::Lit(Lit::Float(text)) => text.parse().ok(),
        ExprKind::Unary { op: UnOp::Neg, arg } => fraction(arg).map(|v| -v),
        _ => None,
    }
}

/// A constant in a format known in the run.
fn fx_bits(value: f64, bits: usize) -> i32 {
    // The native function rounds to its format; with 0 bits it rounds the number scaled by a power of two, which is exact.
    value::fx::<0>(value * (1u64 << bits) as f64).raw()
}
