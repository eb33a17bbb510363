//! Folds moves into the operations beside them: a load becomes a source operand, a store the destination, a comparison the
//! condition of what asks for it. The machine reads and writes local memory, accumulators, ports and the broadcast queue as
//! operands, so that each move saved is a cycle.

use std::collections::{HashMap, HashSet};

use iss::isa::operand::Cond;
use iss::target::Target;

use super::CompileError;
use super::fold::{drop_unused, reads_stream};
use crate::ir::visit::{Operand, OperandMut};
use crate::ir::*;

/// Folds until nothing changes.
pub fn fuse(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        for _ in 0..4 {
            let facts = Facts::of(f);
            let types: Vec<Type> = f.values.iter().map(|v| v.ty).collect();
            let mut changed = false;
            visit::each_block(&mut f.body, &mut |block| {
                changed |= fuse_conditions(block, &facts, &types);
                changed |= fuse_loads(block, &facts, &types);
                changed |= fuse_stores(block, &facts, &types);
            });
            changed |= drop_unused(f);
            if !changed {
                break;
            }
        }
    }
    Ok(())
}

struct Facts {
    /// Uses of each value.
    uses: HashMap<Id, usize>,
    /// Local buffers that transfers touch.
    moved: HashSet<Id>,
}

impl Facts {
    fn of(f: &Func) -> Self {
        let (mut uses, mut moved) = (HashMap::new(), HashSet::new());
        visit::walk(&f.body, &mut |op| {
            op.kind.uses(&mut |id| *uses.entry(id).or_insert(0) += 1);
            match &op.kind {
                OpKind::Flow { walk, .. } | OpKind::Restart { walk, .. } => {
                    moved.insert(walk.lrm);
                }
                OpKind::Rau { index, data, valid, .. } => {
                    moved.extend([index.buf, data.buf]);
                    moved.extend(valid.map(|v| v.buf));
                }
                _ => {}
            }
        });
        Facts { uses, moved }
    }
    fn once(&self, id: Id) -> bool {
        self.uses.get(&id) == Some(&1)
    }
}

/// Whether a source may have another value after the operation, or after one inside it.
fn clobbers(op: &Op, src: &Src, facts: &Facts) -> bool {
    let mut hit = match (&op.kind, src) {
        (OpKind::Send { .. }, Src::Port(_)) => true,
        (OpKind::Mac { acc, .. }, Src::Acc(id, _)) => acc == id,
        (
            OpKind::Wait { .. }
            | OpKind::Acquire { .. }
            | OpKind::Release { .. }
            | OpKind::Push { .. }
            | OpKind::Flow { .. }
            | OpKind::Restart { .. }
            | OpKind::Rau { .. },
            Src::Elem(e),
        ) => facts.moved.contains(&e.buf),
        // Two streams may be under way: a word that is taken later would keep a third from its start.
        (kind, Src::Stream { .. }) => reads_stream(kind) || matches!(kind, OpKind::Bcast { .. }),
        _ => false,
    };
    op.kind.operands(&mut |o| {
        hit |= match (o, src) {
            (Operand::Dst(Dst::Elem(w)) | Operand::Write(w), Src::Elem(e)) => w.buf == e.buf,
            (Operand::Dst(Dst::Acc(w, k)), Src::Acc(id, j)) => w == id && k == j,
            (Operand::Dst(Dst::Var(w)), Src::Val(id)) => w == id,
            (Operand::SDst(SDst::Var(w)), Src::Val(id)) => w == id,
            _ => false,
        }
    });
    hit || op.kind.blocks().into_iter().flatten().any(|inner| clobbers(inner, src, facts))
}

fn mutable_index(e: &ElemRef, types: &[Type]) -> bool {
    matches!(e.index, Index::Scalar(id, _) if types[id.0 as usize] == Type::ScalarVar)
        || matches!(e.index, Index::Addr(_))
}

fn uses_in(op: &Op, id: Id) -> usize {
    let mut n = 0;
    op.kind.uses(&mut |u| n += usize::from(u == id));
    n + op.kind.blocks().into_iter().flatten().map(|inner| uses_in(inner, id)).sum::<usize>()
}

fn replace_src(op: &mut Op, id: Id, with: Src) {
    op.kind.operands_mut(&mut |o| {
        if let OperandMut::Src(s) = o
            && *s == Src::Val(id)
        {
            *s = with;
        }
    });
    op.kind.blocks_mut().into_iter().flatten().for_each(|inner| replace_src(inner, id, with));
}

/// `%x = mov src` with every use of `%x` before `src` changes.
fn fuse_loads(block: &mut Block, facts: &Facts, types: &[Type]) -> bool {
    let mut changed = false;
    for i in 0..block.len() {
        let OpKind::Alu { op: AluOp::Mov, dst: Dst::Def(id), a, .. } = block[i].kind else { continue };
        let stream = matches!(a, Src::Stream { .. });
        let foldable = match &a {
            Src::Elem(e) => !mutable_index(e, types),
            Src::Acc(..) | Src::Port(_) | Src::QRow | Src::QCol => true,
            Src::Stream { .. } => facts.once(id),
            Src::Val(_) | Src::Imm(_) => false,
        };
        let total = facts.uses.get(&id).copied().unwrap_or(0);
        if !foldable || total == 0 {
            continue;
        }
        let mut left = total;
        let mut last = None;
        for (j, op) in block.iter().enumerate().skip(i + 1) {
            let here = uses_in(op, id);
            // A value that was put in the place of another in this round has more uses than were counted.
            let Some(others) = left.checked_sub(here) else { break };
            left = others;
            // An operation without blocks reads before it writes.
            let simple = op.kind.blocks().is_empty();
            let marker = matches!(op.kind, OpKind::Probe { .. } | OpKind::Assert { .. } | OpKind::Var { .. });
            let blocked = clobbers(op, &a, facts) && !(simple && left == 0 && here > 0 && !stream);
            if blocked || (stream && here > 0 && (!simple || marker || reads_stream(&op.kind))) {
                break;
            }
            if left == 0 {
                last = Some(j);
                break;
            }
        }
        let Some(last) = last else { continue };
        block[i + 1..=last].iter_mut().for_each(|op| replace_src(op, id, a));
        if stream {
            // The word must not be taken twice: the move becomes one of nothing, which nobody uses.
            block[i].kind = OpKind::Alu { op: AluOp::Mov, dst: Dst::Def(id), a: Src::Imm(0), b: Src::Imm(0) };
        }
        changed = true;
    }
    changed
}

/// `%y = op ..` whose only use is the move to a place that nothing touches in between.
fn fuse_stores(block: &mut Block, facts: &Facts, types: &[Type]) -> bool {
    let mut changed = false;
    let mut j = 0;
    while j < block.len() {
        let OpKind::Alu { op: AluOp::Mov, dst, a: Src::Val(id), .. } = block[j].kind else {
            j += 1;
            continue;
        };
        let i = block[..j].iter().rposition(|op| {
            matches!(
                op.kind,
                OpKind::Alu { dst: Dst::Def(d), .. } | OpKind::Sel { dst: Dst::Def(d), .. } | OpKind::Lut { dst: Dst::Def(d), .. }
                    if d == id
            )
        });
        let movable = !matches!(dst, Dst::Def(_));
        if let (Some(i), true) = (i, movable)
            && may_move_up(&block[i..j], &dst, facts, types)
            && (facts.once(id) || read_back(block, (i, j), id, &dst, facts, types))
        {
            block[i].kind.operands_mut(&mut |o| {
                if let OperandMut::Dst(d) = o {
                    *d = dst;
                }
            });
            block.remove(j);
            changed = true;
            continue;
        }
        j += 1;
    }
    changed
}

/// Lets the other uses of a value read the element where it is stored, if the element holds it until the last of them.
fn read_back(block: &mut Block, (i, j): (usize, usize), id: Id, dst: &Dst, facts: &Facts, types: &[Type]) -> bool {
    let Dst::Elem(e) = dst else { return false };
    // A buffer that transfers touch is not always readable.
    if types[id.0 as usize] != Type::Q(e.view.fmt()) || facts.moved.contains(&e.buf) {
        return false;
    }
    let place = Src::Elem(*e);
    let mut left = facts.uses.get(&id).copied().unwrap_or(0);
    let mut last = None;
    for (k, op) in block.iter().enumerate().skip(i + 1) {
        let here = uses_in(op, id);
        // What stands before the store sees the element early; markers and branches keep their own operands.
        let plain = op.kind.blocks().is_empty() || here == 0;
        if k != j && (!plain || here != left && clobbers(op, &place, facts)) {
            return false;
        }
        left -= here;
        if left == 0 {
            last = Some(k);
            break;
        }
    }
    let Some(last) = last.filter(|last| *last >= j) else { return false };
    for k in (i + 1..=last).filter(|k| *k != j) {
        replace_src(&mut block[k], id, place);
    }
    true
}

/// Whether a write to `dst` may happen at the first operation instead of behind the last.
fn may_move_up(ops: &[Op], dst: &Dst, facts: &Facts, types: &[Type]) -> bool {
    let place = match dst {
        Dst::Elem(e) if mutable_index(e, types) => return false,
        Dst::Elem(e) => Src::Elem(*e),
        Dst::Acc(id, k) => Src::Acc(*id, *k),
        Dst::Var(id) => Src::Val(*id),
        Dst::Def(_) => return false,
    };
    let mut index = None;
    if let Dst::Elem(e) = dst {
        index = match e.index {
            Index::Scalar(id, _) => Some(id),
            _ => None,
        };
    }
    let owner = match dst {
        Dst::Elem(e) => e.buf,
        Dst::Acc(id, _) | Dst::Var(id) | Dst::Def(id) => *id,
    };
    fn defines(op: &Op, id: Id) -> bool {
        let mut found = false;
        op.kind.defs(&mut |d| found |= d == id);
        found
    }
    ops.iter().enumerate().all(|(k, op)| {
        let early = index.is_some_and(|id| defines(op, id)) || defines(op, owner);
        // The first operation reads its sources before it writes; the others must not see the place at all.
        let touched = k > 0 && (uses_in(op, owner) > 0 || clobbers(op, &place, facts));
        !early && !touched
    })
}

/// The condition that holds where `cond` does not.
pub(super) fn negated(cond: Cond) -> Cond {
    match cond {
        Cond::Eq => Cond::Ne,
        Cond::Ne => Cond::Eq,
        Cond::Lt => Cond::Ge,
        Cond::Le => Cond::Gt,
        Cond::Gt => Cond::Le,
        Cond::Ge => Cond::Lt,
        Cond::Ltu => Cond::Geu,
        Cond::Leu => Cond::Gtu,
        Cond::Gtu => Cond::Leu,
        Cond::Geu => Cond::Ltu,
    }
}

/// `%c = set.lt a, b` whose only use is the question whether `%c` is 0.
fn fuse_conditions(block: &mut Block, facts: &Facts, types: &[Type]) -> bool {
    let mut changed = false;
    for j in 0..block.len() {
        let (cond, id) = match &block[j].kind {
            OpKind::Sel { cond, x: Src::Val(id), y: Src::Imm(0), .. }
            | OpKind::Where { cond, a: Src::Val(id), b: Src::Imm(0), .. }
            | OpKind::Any { cond, a: Src::Val(id), b: Src::Imm(0), .. }
                if matches!(cond, Cond::Eq | Cond::Ne) && facts.once(*id) =>
            {
                (*cond, *id)
            }
            _ => continue,
        };
        let found = block[..j]
            .iter()
            .rposition(|op| matches!(op.kind, OpKind::Alu { op: AluOp::Set(_), dst: Dst::Def(d), .. } if d == id));
        let Some(i) = found else { continue };
        let OpKind::Alu { op: AluOp::Set(set), a, b, .. } = block[i].kind else { continue };
        let moves = |s: &Src| match s {
            Src::Stream { .. } => false,
            Src::Elem(e) => !mutable_index(e, types),
            _ => true,
        };
        let free = moves(&a)
            && moves(&b)
            && block[i + 1..j].iter().all(|op| !clobbers(op, &a, facts) && !clobbers(op, &b, facts));
        if !free {
            continue;
        }
        let new = if cond == Cond::Ne { set } else { negated(set) };
        match &mut block[j].kind {
            OpKind::Sel { cond, x, y, .. } => (*cond, *x, *y) = (new, a, b),
            OpKind::Where { cond, a: x, b: y, .. } | OpKind::Any { cond, a: x, b: y, .. } => {
                (*cond, *x, *y) = (new, a, b);
            }
            _ => unreachable!("matched above"),
        }
        // Nobody asks for it any more, and its operands are counted once.
        block[i].kind = OpKind::Alu { op: AluOp::Mov, dst: Dst::Def(id), a: Src::Imm(0), b: Src::Imm(0) };
        changed = true;
    }
    changed
}
