//! Locals that become variables of the IR, because a loop or a branch assigns them.

use ccl_syntax::ast::*;

use super::control::place_slot;
use super::cx::Cx;
use super::error::{LoopKey, R};
use super::value::{Acc, Lrm, Place, PlaceRef, ScalarTy, Val};
use super::walk;
use crate::ir::{AluOp, Dst, Fmt, Id, OpKind, SDst, SOp, SVal, Src, Type};
use crate::kernel::ElemType;

impl<'p> Cx<'p> {
    /// Makes variables of the IR of what a block assigns.
    pub(super) fn materialise_for(&mut self, body: &Block, key: Option<LoopKey>) -> R<()> {
        let (assigned, handed) = walk::assigned(body);
        for slot in assigned.into_iter().filter_map(|path| self.slot_of(path)).collect::<Vec<_>>() {
            self.materialise_slot(slot, key)?;
        }
        // A value that is handed on is a copy: numbers stay numbers.
        for slot in handed.into_iter().filter_map(|path| self.slot_of(path)).collect::<Vec<_>>() {
            if let Val::Ref(_) = self.slots[slot].val {
                self.materialise_slot(slot, key)?;
            }
        }
        Ok(())
    }

    /// Makes variables of the IR of what an expression assigns.
    pub(super) fn materialise_in(&mut self, expr: &Expr, key: Option<LoopKey>) -> R<()> {
        if !walk::has_effects(expr) {
            return Ok(());
        }
        let block = Block { stmts: Vec::new(), tail: Some(Box::new(expr.clone())), span: expr.span };
        self.materialise_for(&block, key)
    }

    fn materialise_slot(&mut self, slot: usize, key: Option<LoopKey>) -> R<()> {
        let (val, name) = (self.slots[slot].val.clone(), self.slots[slot].name.clone());
        if let Val::Ref(place) = &val {
            return match place_slot(place) {
                Some(slot) => self.materialise_slot(slot, key),
                None => Ok(()),
            };
        }
        self.slots[slot].val = self.materialised(&val, &name, key)?;
        Ok(())
    }

    pub(super) fn materialise_place(&mut self, place: &PlaceRef) -> R<()> {
        match place_slot(place) {
            Some(slot) => self.materialise_slot(slot, None),
            None => Ok(()),
        }
    }

    fn materialised(&mut self, val: &Val, name: &str, key: Option<LoopKey>) -> R<Val> {
        Ok(match val {
            Val::Scalar(s) => {
                let ty = if s.ty == ScalarTy::Open { ScalarTy::Int(IntTy::I32) } else { s.ty };
                let init = self.sval(&s.affine());
                let dst = self.b.value(name, Type::ScalarVar);
                self.push(OpKind::ScalarVar { dst, init });
                if let Some(key) = key {
                    self.depends_on_loop(dst, key);
                }
                Val::ScalarVar(ty, dst)
            }
            Val::Pe(pe) => {
                let pe = self.exact(*pe);
                let lo = self.new_var(name, pe.lo);
                let hi = if pe.elem == ElemType::I64 {
                    let (_, hi) = self.both_words(pe);
                    Some(self.new_var(name, hi))
                } else {
                    None
                };
                Val::PeVar(pe.elem, lo, hi)
            }
            Val::Lrm(lrm) => Val::Lrm(match &lrm.place {
                Place::Buffer { .. } => lrm.clone(),
                Place::Lanes(_) => Lrm { fresh: false, ..self.own_copy(lrm, name)? },
            }),
            Val::Acc(acc) => match acc {
                Acc::Group { .. } => val.clone(),
                other => {
                    let n = Self::acc_n(other);
                    let id = self.own_group(other.clone())?;
                    Val::Acc(Acc::Group { id, n, fresh: false })
                }
            },
            Val::Tuple(parts) => Val::Tuple(self.all_materialised(parts, name, key)?),
            Val::Array(parts) => Val::Array(self.all_materialised(parts, name, key)?),
            other => other.clone(),
        })
    }
    fn all_materialised(&mut self, parts: &[Val], name: &str, key: Option<LoopKey>) -> R<Vec<Val>> {
        parts.iter().map(|part| self.materialised(part, name, key)).collect()
    }
    pub(super) fn new_var(&mut self, name: &str, init: Src) -> Id {
        let dst = self.b.value(name, Type::Var(Fmt::I32));
        self.push(OpKind::Var { dst, init });
        dst
    }
    pub(super) fn set_var(&mut self, var: Id, value: Src) {
        if value != Src::Val(var) {
            self.push(OpKind::Alu { op: AluOp::Mov, dst: Dst::Var(var), a: value, b: Src::Imm(0) });
        }
    }
    pub(super) fn set_scalar(&mut self, var: Id, value: SVal) {
        self.push(OpKind::Scalar { op: SOp::Mov, dst: SDst::Var(var), a: value, b: SVal::Imm(0) });
    }
}
