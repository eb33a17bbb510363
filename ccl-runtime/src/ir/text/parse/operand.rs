//! Operands: scalars, elements, accumulators, sources.

use iss::isa::operand::Dir;

use super::lex::{At, Tok};
use super::{Parser, Result};
use crate::ir::types::*;

impl Parser {
    pub(super) fn sval(&mut self) -> Result<SVal> {
        if let Tok::Number(_) = self.peek() {
            return self.int().map(SVal::Imm);
        }
        self.id("a scalar or a number", |t| matches!(t, Type::Scalar | Type::ScalarVar)).map(SVal::Val)
    }

    pub(super) fn elem_behind(&mut self, buf: Id, view: Option<String>, at: At) -> Result<ElemRef> {
        let Type::Lrm { elem, .. } = self.func.ty(buf) else {
            return self.fail_at(at, format!("`%{}`", self.func.name_of(buf)), "a local buffer");
        };
        let view = match view.as_deref() {
            None => elem,
            Some("b") => Elem::I8,
            Some("h") => Elem::I16,
            Some("w") => Elem::I32,
            Some(v) => return self.fail_at(at, format!("view `.{v}`"), "`.b`, `.h` or `.w`"),
        };
        self.expect("[")?;
        let (index, at) = if let Tok::Number(_) = self.peek() {
            (Index::Const, self.int()?)
        } else {
            let index = if self.eat("@") {
                Index::Addr(self.id("a base register", |t| t == Type::Addr)?)
            } else {
                let id = self.id("an index", |t| matches!(t, Type::Scalar | Type::ScalarVar))?;
                let scale = if self.eat("*") { self.int()? } else { 1 };
                Index::Scalar(id, scale)
            };
            let at = if self.eat("+") {
                self.number(0, i32::MAX as i64)? as i32
            } else if matches!(self.peek(), Tok::Number(n) if *n < 0) {
                self.int()?
            } else {
                0
            };
            (index, at)
        };
        self.expect("]")?;
        Ok(ElemRef { buf, view, index, at })
    }
    pub(super) fn elem(&mut self) -> Result<ElemRef> {
        let at = self.place();
        let (buf, view, bang) = self.name()?;
        if bang {
            return self.fail_at(at, "`!`", "`[`");
        }
        self.elem_behind(buf, view, at)
    }
    pub(super) fn acc_index(&mut self) -> Result<u8> {
        self.expect("[")?;
        let k = self.number(0, 15)? as u8;
        self.expect("]")?;
        Ok(k)
    }

    pub(super) fn src(&mut self) -> Result<Src> {
        let at = self.place();
        match self.peek().clone() {
            Tok::Number(_) => return self.int().map(Src::Imm),
            Tok::Word(w) => {
                let src = match w.as_str() {
                    "q_row" => Src::QRow,
                    "q_col" => Src::QCol,
                    w => match w
                        .strip_prefix("port.")
                        .and_then(|l| Dir::ALL.iter().find(|d| d.letter().to_string() == l))
                    {
                        Some(dir) => Src::Port(*dir),
                        None => return self.fail("a source"),
                    },
                };
                self.next();
                return Ok(src);
            }
            _ => {}
        }
        let (id, view, bang) = self.name()?;
        match (self.func.ty(id), view) {
            (Type::Scalar | Type::ScalarVar | Type::Q(_) | Type::Var(_), None) if !bang => Ok(Src::Val(id)),
            (Type::Acc(_), None) if !bang => Ok(Src::Acc(id, self.acc_index()?)),
            (Type::Lrm { .. }, view) if !bang => self.elem_behind(id, view, at).map(Src::Elem),
            (Type::Stream, None) if !bang => Ok(Src::Stream { stream: id, view: Elem::I32, lane: 0, pop: true }),
            (Type::Stream, Some(view)) => {
                let (view, lane) = match view.as_str() {
                    "b0" | "b1" | "b2" | "b3" => (Elem::I8, view.as_bytes()[1] - b'0'),
                    "h0" | "h1" => (Elem::I16, view.as_bytes()[1] - b'0'),
                    _ => return self.fail_at(at, format!("lane `.{view}`"), "`.b0`..`.b3`, `.h0` or `.h1`"),
                };
                Ok(Src::Stream { stream: id, view, lane, pop: bang })
            }
            _ => self.fail_at(at, format!("`%{}`", self.func.name_of(id)), "a source"),
        }
    }

    pub(super) fn comma_src(&mut self) -> Result<Src> {
        self.expect(",")?;
        self.src()
    }
    pub(super) fn comma_sval(&mut self) -> Result<SVal> {
        self.expect(",")?;
        self.sval()
    }
    pub(super) fn comma_number(&mut self, min: i64, max: i64) -> Result<i64> {
        self.expect(",")?;
        self.number(min, max)
    }
}
