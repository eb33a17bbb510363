//! Folds constants, copies and algebra that is exact, and drops what nobody uses, until nothing changes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use iss::target::Target;

use super::CompileError;
use super::unroll::substitute;
use crate::ir::interp::{alu, cond_holds, scalar_op};
use crate::ir::range::trips;
use crate::ir::visit::OperandMut;
use crate::ir::*;

/// What a value is known to be.
#[derive(Clone, Copy)]
enum Known {
    Number(i32),
    Same(Id),
}

/// Folds every function.
pub fn fold(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        // Each round folds whole chains; what is left after a few is not worth another look.
        for _ in 0..8 {
            let before = f.body.len();
            let mut changed = false;
            let mut body = std::mem::take(&mut f.body);
            let mut known = HashMap::new();
            fold_block(f, &mut body, &mut known, &mut changed);
            f.body = body;
            changed |= drop_unused(f);
            if !changed && before == f.body.len() {
                break;
            }
        }
    }
    Ok(())
}

fn fold_block(f: &Func, block: &mut Block, known: &mut HashMap<Id, Known>, changed: &mut bool) {
    let mut computed = HashMap::new();
    for mut op in std::mem::take(block) {
        replace_known(f, &mut op.kind, known);
        if let Some((id, what)) = learn(f, &op.kind).or_else(|| again(f, &op.kind, &mut computed)) {
            known.insert(id, what);
        }
        simplify(&mut op.kind, changed);
        for inner in op.kind.blocks_mut() {
            fold_block(f, inner, known, changed);
        }
        match &mut op.kind {
            OpKind::If { cond, a: SVal::Imm(a), b: SVal::Imm(b), then, els } => {
                *changed = true;
                block.append(if cond_holds(*cond, *a, *b) { then } else { els });
            }
            OpKind::For { lo, hi, step, .. } if trips(*lo, *hi, *step) == Some(0) => *changed = true,
            OpKind::Where { then, els, .. } | OpKind::If { then, els, .. } if then.is_empty() && els.is_empty() => {
                if reads_stream(&op.kind) {
                    block.push(op);
                } else {
                    *changed = true;
                }
            }
            OpKind::For { body, .. } if body.is_empty() => *changed = true,
            _ => block.push(op),
        }
    }
}

/// A scalar that the block has computed already. Only in one block: a scalar kept for inner blocks would keep its register.
fn again(f: &Func, kind: &OpKind, computed: &mut HashMap<(SOp, SVal, SVal), Id>) -> Option<(Id, Known)> {
    let OpKind::Scalar { op, dst: SDst::Def(id), a, b } = *kind else { return None };
    let fixed = |s: SVal| match s {
        SVal::Imm(_) => true,
        SVal::Val(id) => f.ty(id) == Type::Scalar,
    };
    if !fixed(a) || !fixed(b) {
        return None;
    }
    match computed.entry((op, a, b)) {
        Entry::Occupied(first) => Some((id, Known::Same(*first.get()))),
        Entry::Vacant(place) => {
            place.insert(id);
            None
        }
    }
}

/// Values are defined once, so that what is known of one holds wherever it may be used.
fn replace_known(f: &Func, kind: &mut OpKind, known: &HashMap<Id, Known>) {
    let mut used = Vec::new();
    kind.uses(&mut |id| used.push(id));
    for id in used {
        match known.get(&id) {
            Some(Known::Number(v)) if f.is_scalar(id) => substitute(kind, id, *v),
            Some(Known::Number(v)) => kind.operands_mut(&mut |o| {
                if let OperandMut::Src(s) = o
                    && *s == Src::Val(id)
                {
                    *s = Src::Imm(*v);
                }
            }),
            Some(Known::Same(other)) => {
                let scalar = f.is_scalar(id);
                kind.operands_mut(&mut |o| match o {
                    OperandMut::Src(s) if *s == Src::Val(id) => *s = Src::Val(*other),
                    OperandMut::S(s) if *s == SVal::Val(id) => *s = SVal::Val(*other),
                    OperandMut::Src(Src::Elem(e))
                    | OperandMut::Read(e)
                    | OperandMut::Write(e)
                    | OperandMut::Dst(Dst::Elem(e))
                        if scalar =>
                    {
                        if let Index::Scalar(s, _) = &mut e.index
                            && *s == id
                        {
                            *s = *other;
                        }
                    }
                    _ => {}
                });
            }
            None => {}
        }
    }
}

fn learn(f: &Func, kind: &OpKind) -> Option<(Id, Known)> {
    match *kind {
        OpKind::Scalar { op, dst: SDst::Def(id), a, b } => match (op, a, b) {
            (_, SVal::Imm(a), SVal::Imm(b)) => Some((id, Known::Number(scalar_op(op, a, b)))),
            (SOp::Mov, SVal::Val(a), _) if f.ty(a) == Type::Scalar => Some((id, Known::Same(a))),
            (SOp::Add | SOp::Sub | SOp::Or | SOp::Xor | SOp::Shl | SOp::Shr | SOp::Sar, SVal::Val(a), SVal::Imm(0))
                if f.ty(a) == Type::Scalar =>
            {
                Some((id, Known::Same(a)))
            }
            (SOp::Mul, SVal::Val(a), SVal::Imm(1)) if f.ty(a) == Type::Scalar => Some((id, Known::Same(a))),
            (SOp::Mul | SOp::And, _, SVal::Imm(0)) => Some((id, Known::Number(0))),
            _ => None,
        },
        OpKind::ScalarSet { cond, dst: SDst::Def(id), a: SVal::Imm(a), b: SVal::Imm(b) } => {
            Some((id, Known::Number(i32::from(cond_holds(cond, a, b)))))
        }
        OpKind::Alu { op, dst: Dst::Def(id), a: Src::Imm(a), b } => match b {
            Src::Imm(b) => alu(op, a, b).map(|v| (id, Known::Number(v))),
            _ if !op.binary() => alu(op, a, 0).map(|v| (id, Known::Number(v))),
            _ => None,
        },
        OpKind::Alu { op: AluOp::Mov, dst: Dst::Def(id), a: Src::Val(a), .. } => match f.ty(a) {
            // A format is a promise of the value that has it; the copy's may be the narrower.
            Type::Q(fmt) if f.fmt(id) == Some(fmt) => Some((id, Known::Same(a))),
            Type::Scalar if f.fmt(id) == Some(Fmt::I32) => Some((id, Known::Same(a))),
            _ => None,
        },
        _ => None,
    }
}

/// Algebra that holds for every value.
fn simplify(kind: &mut OpKind, changed: &mut bool) {
    use BinOp::*;
    match kind {
        OpKind::Alu { op, a, b, .. } => {
            let commutes = matches!(op, AluOp::Bin(Add | And | Or | Xor | Min | Max) | AluOp::FxMul(_));
            if commutes && matches!(a, Src::Imm(_)) && !matches!(b, Src::Imm(_)) {
                std::mem::swap(a, b);
                *changed = true;
            }
            let same = match (*op, *b) {
                (AluOp::Bin(Add | Sub | Or | Xor | Shl | Shr | Sar), Src::Imm(0)) => true,
                (AluOp::Bin(And), Src::Imm(-1)) => true,
                (AluOp::FxMul(s @ 0..=30), Src::Imm(v)) => v == 1 << s,
                _ => false,
            };
            if same {
                (*op, *b) = (AluOp::Mov, Src::Imm(0));
                *changed = true;
            }
            if let (Src::Imm(x), true) = (*a, *op != AluOp::Mov) {
                let y = match (*b, op.binary()) {
                    (Src::Imm(y), _) => Some(y),
                    (_, false) => Some(0),
                    _ => None,
                };
                if let Some(v) = y.and_then(|y| alu(*op, x, y)) {
                    (*op, *a, *b) = (AluOp::Mov, Src::Imm(v), Src::Imm(0));
                    *changed = true;
                }
            }
        }
        // The arm not taken may still take a word of a stream.
        OpKind::Sel { dst, cond, x: Src::Imm(x), y: Src::Imm(y), t, f }
            if !matches!(t, Src::Stream { .. }) && !matches!(f, Src::Stream { .. }) =>
        {
            let a = if cond_holds(*cond, *x, *y) { *t } else { *f };
            *kind = OpKind::Alu { op: AluOp::Mov, dst: *dst, a, b: Src::Imm(0) };
            *changed = true;
        }
        _ => {}
    }
}

pub(super) fn reads_stream(kind: &OpKind) -> bool {
    let mut found = matches!(kind, OpKind::Mac { .. });
    kind.operands(&mut |o| {
        if let visit::Operand::Src(Src::Stream { .. }) = o {
            found = true;
        }
    });
    found
}

/// Drops operations whose only effect is a value that nobody uses; whether there were any.
pub(super) fn drop_unused(f: &mut Func) -> bool {
    let mut any = false;
    loop {
        let mut used = vec![false; f.values.len()];
        visit::walk(&f.body, &mut |op| op.kind.uses(&mut |id| used[id.0 as usize] = true));
        let mut dropped = false;
        visit::each_block(&mut f.body, &mut |block| {
            block.retain(|op| {
                let dead = match &op.kind {
                    OpKind::Scalar { dst: SDst::Def(id), .. }
                    | OpKind::ScalarSet { dst: SDst::Def(id), .. }
                    | OpKind::ScalarVar { dst: id, .. }
                    | OpKind::ScalarLoad { dst: id, .. }
                    | OpKind::Any { dst: id, .. }
                    | OpKind::Var { dst: id, .. }
                    | OpKind::Acc { dst: id }
                    | OpKind::Const { dst: id, .. }
                    | OpKind::Lrm { dst: id, .. }
                    | OpKind::Ocm { dst: id }
                    | OpKind::Idle { dst: id }
                    | OpKind::Addr { dst: id, .. }
                    | OpKind::Alu { dst: Dst::Def(id), .. }
                    | OpKind::Sel { dst: Dst::Def(id), .. }
                    | OpKind::Lut { dst: Dst::Def(id), .. }
                    | OpKind::Shift { dst: Dst::Def(id), .. } => !used[id.0 as usize],
                    _ => false,
                };
                // A division may stop the run, and a stream must be read to its end.
                let effect = reads_stream(&op.kind)
                    || matches!(op.kind, OpKind::Alu { op: AluOp::FxDiv(_), b, .. } if !matches!(b, Src::Imm(v) if v != 0));
                dropped |= dead && !effect;
                !dead || effect
            });
        });
        any |= dropped;
        if !dropped {
            return any;
        }
    }
}
