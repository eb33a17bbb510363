//! Repeats the bodies of loops that ask for it, and of small inner ones, where that removes counting: an index becomes a
//! number and needs no base register. Longer loops of a few operations are repeated in part, so that moving their base
//! registers is shared by several trips.

use iss::target::Target;

use super::CompileError;
use super::inline::copy_block;
use crate::ir::range::trips;
use crate::ir::visit::OperandMut;
use crate::ir::*;

/// Operations that a loop nobody marked may become.
const SMALL: u64 = 48;
/// Operations that a marked loop may become.
const LARGE: u64 = 1 << 18;

/// Unrolls loops, inner ones first.
pub fn unroll(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        let mut body = std::mem::take(&mut f.body);
        let done = unroll_block(f, &mut body);
        f.body = body;
        done?;
    }
    Ok(())
}

fn size(block: &Block) -> u64 {
    let mut n = 0;
    visit::walk(block, &mut |_| n += 1);
    n
}

fn unroll_block(f: &mut Func, block: &mut Block) -> Result<(), CompileError> {
    for mut op in std::mem::take(block) {
        for inner in op.kind.blocks_mut() {
            unroll_block(f, inner)?;
        }
        let OpKind::For { var, lo, hi, step, attr, body } = &op.kind else {
            block.push(op);
            continue;
        };
        let Some(n) = trips(*lo, *hi, *step) else {
            block.push(op);
            continue;
        };
        let (SVal::Imm(lo), total) = (*lo, n.saturating_mul(size(body))) else {
            block.push(op);
            continue;
        };
        let small = total <= SMALL && body.iter().all(|op| op.kind.blocks().is_empty());
        if !(attr.unroll || n <= 1 || small) {
            repeat_in_part(f, block, op, lo, n);
            continue;
        }
        if total > LARGE {
            let what = format!("a loop of {n} trips unrolls to {total} operations, more than {LARGE}");
            return Err(CompileError::Unsupported { func: f.name.clone(), loc: op.loc, what });
        }
        for i in 0..n {
            let mut copy = copy_block(f, body);
            let value = lo + (i * *step as u64) as i32;
            visit::walk_mut(&mut copy, &mut |op| substitute(&mut op.kind, *var, value));
            block.append(&mut copy);
        }
    }
    Ok(())
}

/// Repeats a small body several times a trip; trips that are left over stand behind the loop.
fn repeat_in_part(f: &mut Func, block: &mut Block, op: Op, lo: i32, n: u64) {
    let OpKind::For { var, step, attr, body, .. } = &op.kind else { unreachable!("the caller found a loop") };
    let simple = |op: &Op| {
        use OpKind::*;
        matches!(
            op.kind,
            Scalar { .. } | ScalarSet { .. } | Alu { .. } | Sel { .. } | Lut { .. } | Mac { .. } | Acc { .. }
        )
    };
    let k = SMALL / size(body).max(1);
    if k < 2 || k >= n || !body.iter().all(simple) {
        return block.push(op);
    }
    // The most repetitions that leave nothing over, if they are not much fewer.
    let k = (k / 2 + 1..=k).rev().find(|k| n.is_multiple_of(*k)).unwrap_or(k);
    let step_of = |trips: u64| i32::try_from(trips as i64 * *step as i64).ok();
    let (Some(stride), Some(hi)) = (step_of(k), step_of(n / k * k).and_then(|far| lo.checked_add(far))) else {
        return block.push(op);
    };
    let count = f.fresh_like(*var, Type::Scalar);
    let mut repeated = Block::new();
    for i in 0..k {
        let mut copy = copy_block(f, body);
        let by = step_of(i).expect("less than the stride");
        let own = f.fresh_like(*var, Type::Scalar);
        let kind = OpKind::Scalar { op: SOp::Add, dst: SDst::Def(own), a: SVal::Val(count), b: SVal::Imm(by) };
        repeated.push(Op { kind, loc: op.loc });
        copy.iter_mut().for_each(|op| {
            advance(&mut op.kind, *var, count, by);
            op.kind.map_ids(&mut |id| if id == *var { own } else { id });
        });
        repeated.append(&mut copy);
    }
    let (lo, hi, attr) = (SVal::Imm(lo), SVal::Imm(hi), *attr);
    let kind = OpKind::For { var: count, lo, hi, step: stride, attr, body: repeated };
    let (var, step, body) = (*var, *step, body.clone());
    block.push(Op { kind, loc: op.loc });
    let SVal::Imm(lo) = lo else { unreachable!("it was made of a number") };
    for i in n / k * k..n {
        let mut copy = copy_block(f, &body);
        copy.iter_mut().for_each(|op| substitute(&mut op.kind, var, lo + i as i32 * step));
        block.append(&mut copy);
    }
}

/// Lets indices that count with a variable count with another that is less by so much.
fn advance(kind: &mut OpKind, var: Id, count: Id, by: i32) {
    let elem = |e: &mut ElemRef| {
        if let Index::Scalar(id, scale) = e.index
            && id == var
            && let Some(at) = by.checked_mul(scale).and_then(|by| e.at.checked_add(by))
        {
            (e.index, e.at) = (Index::Scalar(count, scale), at);
        }
    };
    kind.operands_mut(&mut |o| match o {
        OperandMut::Src(Src::Elem(e)) | OperandMut::Read(e) | OperandMut::Write(e) | OperandMut::Dst(Dst::Elem(e)) => {
            elem(e)
        }
        _ => {}
    });
}

/// Puts a number in the place of a scalar.
pub(super) fn substitute(kind: &mut OpKind, id: Id, value: i32) {
    let elem = |e: &mut ElemRef| {
        if let Index::Scalar(s, scale) = e.index
            && s == id
        {
            (e.index, e.at) = (Index::Const, e.at.wrapping_add(value.wrapping_mul(scale)));
        }
    };
    kind.operands_mut(&mut |o| match o {
        OperandMut::S(s) if *s == SVal::Val(id) => *s = SVal::Imm(value),
        OperandMut::Src(s) => match s {
            Src::Val(v) if *v == id => *s = Src::Imm(value),
            Src::Elem(e) => elem(e),
            _ => {}
        },
        OperandMut::Read(e) | OperandMut::Write(e) | OperandMut::Dst(Dst::Elem(e)) => elem(e),
        _ => {}
    });
}
