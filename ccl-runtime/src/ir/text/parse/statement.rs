//! Operations: the word that begins one, and blocks.

use iss::isa::operand::{Dir, MacShape};

use super::lex::{At, Tok};
use super::{Parser, Place, Result, cond_of};
use crate::ir::types::*;

impl Parser {
    pub(super) fn op(&mut self, at: At, depth: usize) -> Result<Op> {
        let kind = match self.peek().clone() {
            Tok::Word(w) if w == "set" => {
                self.next();
                let place = self.place();
                let id = self.id("a variable or flow", |t| matches!(t, Type::Var(_) | Type::ScalarVar | Type::Flow))?;
                self.expect("=")?;
                match self.func.ty(id) {
                    Type::ScalarVar => self.scalar_value(Place::ScalarVar(id), place)?,
                    Type::Flow => self.restart(id)?,
                    _ => self.array_value(Place::Dst(Dst::Var(id)), place)?,
                }
            }
            Tok::Word(w) => {
                self.next();
                return self.statement(&w, at, depth);
            }
            Tok::Value(name, _) => {
                let base = name.rsplit_once('.').map(|(b, _)| b.to_owned());
                let known = self.names.contains_key(&name)
                    || base
                        .is_some_and(|b| self.names.contains_key(&b) && !name.ends_with(|c: char| c.is_ascii_digit()));
                if known {
                    let place = self.place();
                    let (id, view, _) = self.name()?;
                    let dst = match self.func.ty(id) {
                        Type::Acc(_) if view.is_none() => Dst::Acc(id, self.acc_index()?),
                        Type::Lrm { .. } => Dst::Elem(self.elem_behind(id, view, place)?),
                        _ => {
                            return self.fail_at(
                                place,
                                format!("`%{name}`"),
                                "a new name, an element or `set` before a variable",
                            );
                        }
                    };
                    self.expect("=")?;
                    self.array_value(Place::Dst(dst), place)?
                } else {
                    self.definition()?
                }
            }
            _ => return self.fail("an operation or `}`"),
        };
        Ok(Op { kind, loc: self.loc(at)? })
    }
    fn statement(&mut self, word: &str, at: At, depth: usize) -> Result<Op> {
        // The location of an operation with blocks stands behind its `{`.
        let mut loc = None;
        let mut open = |p: &mut Self| -> Result<()> {
            p.expect("{")?;
            loc = Some(p.loc(at)?);
            Ok(())
        };
        let kind = match word {
            "wait" => OpKind::Wait { token: self.id("a flow or token", |t| matches!(t, Type::Flow | Type::Token))? },
            "acquire" => OpKind::Acquire { flow: self.flow_id()? },
            "release" => OpKind::Release { flow: self.flow_id()? },
            "push" => OpKind::Push { flow: self.flow_id()? },
            "drain" => OpKind::Drain,
            "for" => {
                let name = self.new_name()?;
                self.expect_word("in")?;
                let lo = self.sval()?;
                self.expect("..")?;
                let hi = self.sval()?;
                let step = if self.eat_word("step") { self.int()? } else { 1 };
                let mut attr = LoopAttr::default();
                if self.eat_word("pipelined") {
                    self.expect("(")?;
                    attr.pipelined = self.number(1, 64)? as u32;
                    self.expect(")")?;
                }
                attr.unroll = self.eat_word("unroll");
                open(self)?;
                let var = self.define(name, Type::Scalar);
                OpKind::For { var, lo, hi, step, attr, body: self.block(depth + 1)? }
            }
            "region" => {
                let name = self.text()?;
                open(self)?;
                OpKind::Region { name, body: self.block(depth + 1)? }
            }
            "probe" | "assert" => {
                let name = self.text()?;
                let a = self.comma_src()?;
                if word == "probe" { OpKind::Probe { name, a } } else { OpKind::Assert { name, a } }
            }
            "call" => {
                let func = self.global()?;
                self.expect("(")?;
                let mut args = Vec::new();
                while !self.is(")") {
                    if !args.is_empty() {
                        self.expect(",")?;
                    }
                    args.push(match self.peek() {
                        Tok::Number(_) => SVal::Imm(self.int()?),
                        _ => SVal::Val(self.id("a scalar or a buffer", |t| {
                            matches!(t, Type::Scalar | Type::ScalarVar | Type::Ocm(_) | Type::Ext(_))
                        })?),
                    });
                }
                self.expect(")")?;
                OpKind::Call { func, args }
            }
            "step" => {
                let addr = self.id("a base register", |t| t == Type::Addr)?;
                OpKind::AddrStep { addr, by: self.comma_sval()? }
            }
            w => {
                if let Some(cond) = w.strip_prefix("where.").and_then(cond_of) {
                    let a = self.src()?;
                    let b = self.comma_src()?;
                    open(self)?;
                    let (then, els) = self.two_blocks(depth)?;
                    OpKind::Where { cond, a, b, then, els }
                } else if let Some(cond) = w.strip_prefix("if.").and_then(cond_of) {
                    let a = self.sval()?;
                    let b = self.comma_sval()?;
                    open(self)?;
                    let (then, els) = self.two_blocks(depth)?;
                    OpKind::If { cond, a, b, then, els }
                } else if let Some(cond) = w.strip_prefix("while.").and_then(cond_of) {
                    let a = self.sval()?;
                    let b = self.comma_sval()?;
                    self.expect_word("bound")?;
                    let bound = self.count()?;
                    open(self)?;
                    OpKind::While { cond, a, b, bound, body: self.block(depth + 1)? }
                } else if let Some((width, shape)) = w.split_once('.')
                    && let Some(width) = MacWidth::ALL.into_iter().find(|m| m.word() == width)
                    && let Some(shape) = MacShape::ALL.iter().copied().find(|s| s.word() == shape)
                {
                    let acc = self.id("a group of accumulators", |t| matches!(t, Type::Acc(_)))?;
                    let k = self.acc_index()?;
                    self.expect(",")?;
                    let a = self.elem()?;
                    self.expect(",")?;
                    let stream = self.id("a stream", |t| t == Type::Stream)?;
                    OpKind::Mac { width, shape, acc, at: k, a, stream }
                } else if let Some(to) =
                    w.strip_prefix("send.").and_then(|l| Dir::ALL.iter().find(|d| d.letter().to_string() == l))
                {
                    OpKind::Send { to: *to, a: self.src()? }
                } else {
                    return self.fail_at(at, format!("`{w}`"), "an operation or `}`");
                }
            }
        };
        let loc = match loc {
            Some(loc) => loc,
            None => self.loc(at)?,
        };
        Ok(Op { kind, loc })
    }

    fn two_blocks(&mut self, depth: usize) -> Result<(Block, Block)> {
        let then = self.block(depth + 1)?;
        let els = if self.eat_word("else") {
            self.expect("{")?;
            self.block(depth + 1)?
        } else {
            Vec::new()
        };
        Ok((then, els))
    }
}
