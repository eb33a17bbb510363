//! What follows `%name =`: operations that make a value, or write one to a place.

use super::lex::{At, Tok};
use super::{Parser, Place, Result, cond_of};
use crate::ir::types::*;

impl Parser {
    pub(super) fn definition(&mut self) -> Result<OpKind> {
        let place = self.place();
        let name = self.new_name()?;
        let fmt = if self.eat(":") {
            let fmt = match self.peek() {
                Tok::Word(w) => Fmt::ALL.into_iter().find(|f| f.word() == w),
                _ => None,
            };
            match fmt {
                Some(fmt) => {
                    self.next();
                    Some(fmt)
                }
                None => return self.fail("`bool`, `i8`, `i16` or `i32`"),
            }
        } else {
            None
        };
        self.expect("=")?;
        let Tok::Word(word) = self.peek().clone() else { return self.fail("an operation") };
        if let Some(fmt) = fmt {
            if word == "var" {
                self.next();
                let init = self.src()?;
                return Ok(OpKind::Var { dst: self.define(name, Type::Var(fmt)), init });
            }
            return self.array_value(Place::New(name, fmt), place);
        }
        if word.starts_with("s.") && !matches!(word.as_str(), "s.var" | "s.load") {
            return self.scalar_value(Place::NewScalar(name), place);
        }
        let before = self.at;
        self.next();
        Ok(match word.as_str() {
            "s.var" => {
                let init = self.sval()?;
                OpKind::ScalarVar { dst: self.define(name, Type::ScalarVar), init }
            }
            "s.load" => {
                let (buf, at) = self.buffer("an on-chip buffer", |t| matches!(t, Type::Ocm(_)))?;
                OpKind::ScalarLoad { dst: self.define(name, Type::Scalar), buf, at }
            }
            "var" => {
                let init = self.src()?;
                OpKind::Var { dst: self.define(name, Type::Var(Fmt::I32)), init }
            }
            "acc" => {
                let at = self.place();
                let n = self.number(1, 16)?;
                if ![1, 4, 16].contains(&n) {
                    return self.fail_at(at, format!("`{n}`"), "1, 4 or 16");
                }
                OpKind::Acc { dst: self.define(name, Type::Acc(n as u8)) }
            }
            "const" => {
                let constant = self.global()?;
                // The constant may stand below: sizes are set at the end.
                OpKind::Const { dst: self.define(name, Type::Ext(0)), name: constant }
            }
            "lrm" => {
                self.expect("<")?;
                let elem = match self.peek() {
                    Tok::Word(w) => Elem::ALL.into_iter().find(|e| e.word() == w),
                    _ => None,
                };
                let Some(elem) = elem else { return self.fail("`i8`, `i16` or `i32`") };
                self.next();
                self.expect_word("x")?;
                let n = self.count()?;
                self.expect(">")?;
                let ring = if self.eat_word("ring") { self.number(2, 4096)? as u32 } else { 1 };
                let align = if self.eat_word("align") { self.number(2, 4096)? as u32 } else { 1 };
                OpKind::Lrm { dst: self.define(name, Type::Lrm { elem, n, ring }), align }
            }
            "ocm" => {
                self.expect("<")?;
                let n = self.count()?;
                self.expect(">")?;
                OpKind::Ocm { dst: self.define(name, Type::Ocm(n)) }
            }
            "addr" => {
                let (buf, at) = self.buffer("a local buffer", |t| matches!(t, Type::Lrm { .. }))?;
                OpKind::Addr { dst: self.define(name, Type::Addr), buf, at }
            }
            "flow.in" | "flow.out" => {
                let out = word == "flow.out";
                let walk = Box::new(self.walk(out)?);
                OpKind::Flow { out, dst: self.define(name, Type::Flow), walk }
            }
            "flow.idle" => OpKind::Idle { dst: self.define(name, Type::Flow) },
            "bcast" => {
                let (buf, at) = self.buffer("an on-chip buffer", |t| matches!(t, Type::Ocm(_)))?;
                let (n0, step0) = self.stride()?;
                let (n1, step1) = if self.is("(") { self.stride()? } else { (1, 0) };
                OpKind::Bcast { dst: self.define(name, Type::Stream), buf, at, n0, step0, n1, step1 }
            }
            "dma.in" | "dma.out" => {
                let out = word == "dma.out";
                let first = self.buffer(
                    if out { "an on-chip buffer" } else { "an external buffer" },
                    if out { |t| matches!(t, Type::Ocm(_)) } else { |t| matches!(t, Type::Ext(_)) },
                )?;
                self.expect("->")?;
                let second = self.buffer(
                    if out { "an external buffer" } else { "an on-chip buffer" },
                    if out { |t| matches!(t, Type::Ext(_)) } else { |t| matches!(t, Type::Ocm(_)) },
                )?;
                self.expect_word("bytes")?;
                let bytes = self.count()?;
                let (mut rows, mut ocm_pitch, mut ext_pitch) = (1, 0, 0);
                if self.eat_word("rows") {
                    rows = self.count()?;
                    self.expect_word("pitch")?;
                    ocm_pitch = self.count()?;
                    self.expect(",")?;
                    ext_pitch = self.count()?;
                }
                let ((ocm, ocm_at), (ext, ext_at)) = if out { (first, second) } else { (second, first) };
                let dst = self.define(name, Type::Token);
                OpKind::Dma { out, dst, ocm, ocm_at, ocm_pitch, ext, ext_at, ext_pitch, bytes, rows }
            }
            "rau.load" | "rau.store" => {
                let store = word == "rau.store";
                let (buf, at) = self.buffer("an on-chip buffer", |t| matches!(t, Type::Ocm(_)))?;
                let elem = self.elem_bytes()?;
                self.expect_word("limit")?;
                let limit = self.count()?;
                self.expect_word("idx")?;
                let index = self.elem()?;
                self.expect_word("data")?;
                let data = self.elem()?;
                let valid = if self.eat_word("valid") { Some(self.elem()?) } else { None };
                OpKind::Rau { store, dst: self.define(name, Type::Token), buf, at, elem, limit, index, data, valid }
            }
            w => {
                if let Some(cond) = w.strip_prefix("any.").and_then(cond_of) {
                    let a = self.src()?;
                    let b = self.comma_src()?;
                    OpKind::Any { dst: self.define(name, Type::Scalar), cond, a, b }
                } else {
                    self.at = before;
                    self.array_value(Place::New(name, Fmt::I32), place)?
                }
            }
        })
    }

    pub(super) fn scalar_value(&mut self, place: Place, at: At) -> Result<OpKind> {
        let Tok::Word(word) = self.peek().clone() else { return self.fail("a scalar operation") };
        let set = word.strip_prefix("s.set.").and_then(cond_of);
        let op = SOp::ALL.iter().copied().find(|op| op.word() == word);
        if set.is_none() && op.is_none() {
            return self.fail("a scalar operation");
        }
        self.next();
        let a = self.sval()?;
        let b = if op == Some(SOp::Mov) { SVal::Imm(0) } else { self.comma_sval()? };
        let dst = match place {
            Place::NewScalar(name) => SDst::Def(self.define(name, Type::Scalar)),
            Place::ScalarVar(id) => SDst::Var(id),
            Place::Dst(_) | Place::New(..) => return self.fail_at(at, "a per-PE place", "a scalar place"),
        };
        Ok(match (set, op) {
            (Some(cond), _) => OpKind::ScalarSet { cond, dst, a, b },
            (None, Some(op)) => OpKind::Scalar { op, dst, a, b },
            (None, None) => return self.fail("a scalar operation"),
        })
    }

    pub(super) fn array_value(&mut self, place: Place, at: At) -> Result<OpKind> {
        let Tok::Word(word) = self.peek().clone() else { return self.fail("an operation") };
        let before = self.at;
        self.next();
        let none = Src::Imm(0);
        let (op, a, b) = match word.as_str() {
            "mov" => (AluOp::Mov, self.src()?, none),
            "abs" => (AluOp::Abs, self.src()?, none),
            "clip" => {
                let a = self.src()?;
                let lo = self.comma_number(-2048, 2047)? as i16;
                (AluOp::Clip(lo, self.comma_number(lo as i64, 2047)? as i16), a, none)
            }
            "fx_mul" => {
                let (a, b) = (self.src()?, self.comma_src()?);
                (AluOp::FxMul(self.comma_number(-31, 63)? as i8), a, b)
            }
            "fx_div" => {
                let (a, b) = (self.src()?, self.comma_src()?);
                (AluOp::FxDiv(self.comma_number(0, 31)? as u8), a, b)
            }
            "exp" | "log" => {
                let a = self.src()?;
                let from = self.comma_number(0, 31)? as u8;
                let to = self.comma_number(0, 31)? as u8;
                (if word == "exp" { AluOp::Exp(from, to) } else { AluOp::Log(from, to) }, a, none)
            }
            "lut" => {
                let idx = self.src()?;
                self.expect(",")?;
                let table = self.elem()?;
                let bits = self.comma_number(0, 12)? as u8;
                return Ok(OpKind::Lut { dst: self.place_dst(place, at)?, idx, table, bits });
            }
            "shift" => {
                let a = self.src()?;
                let dr = self.comma_number(-64, 64)? as i32;
                let dc = self.comma_number(-64, 64)? as i32;
                return Ok(OpKind::Shift { dst: self.place_dst(place, at)?, a, dr, dc });
            }
            w => {
                if let Some(cond) = w.strip_prefix("sel.").and_then(cond_of) {
                    let x = self.src()?;
                    let (y, t, f) = (self.comma_src()?, self.comma_src()?, self.comma_src()?);
                    return Ok(OpKind::Sel { dst: self.place_dst(place, at)?, cond, x, y, t, f });
                }
                let op = match w.strip_prefix("set.").and_then(cond_of) {
                    Some(cond) => AluOp::Set(cond),
                    None => match BinOp::ALL.iter().find(|op| op.word() == w) {
                        Some(op) => AluOp::Bin(*op),
                        None => {
                            self.at = before;
                            return self.fail("an operation");
                        }
                    },
                };
                (op, self.src()?, self.comma_src()?)
            }
        };
        Ok(OpKind::Alu { op, dst: self.place_dst(place, at)?, a, b })
    }

    fn place_dst(&mut self, place: Place, at: At) -> Result<Dst> {
        match place {
            Place::Dst(dst) => Ok(dst),
            Place::New(name, fmt) => Ok(Dst::Def(self.define(name, Type::Q(fmt)))),
            Place::ScalarVar(_) | Place::NewScalar(_) => self.fail_at(at, "a scalar place", "a per-PE place"),
        }
    }
}
