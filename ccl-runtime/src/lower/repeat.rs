//! One stream that repeats instead of one a trip: the engine then never waits for a start, and neither does the first MAC of
//! a trip. A stream has two levels of stride, so that it can follow a loop over groups of channels whose weights stand one
//! after the other, and start over with each tile.

use std::collections::{HashMap, HashSet};

use iss::target::Target;

use super::CompileError;
use super::address::Affine;
use crate::ir::range::trips;
use crate::ir::*;

/// Entries of a level of a stream.
const MOST: u64 = (1 << 24) - 2;

/// Takes streams out of the loops that start them, inner loops first.
pub fn repeat_streams(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        let mut body = std::mem::take(&mut f.body);
        in_block(f, &mut body);
        f.body = body;
    }
    Ok(())
}

fn in_block(f: &mut Func, block: &mut Block) {
    for mut op in std::mem::take(block) {
        op.kind.blocks_mut().into_iter().for_each(|inner| in_block(f, inner));
        match &mut op.kind {
            OpKind::For { var, lo: SVal::Imm(lo), hi, step, body, .. } => {
                let n = trips(SVal::Imm(*lo), *hi, *step).unwrap_or(0);
                let around = Around { var: *var, lo: *lo as i64, step: *step as i64, n };
                if n > 0
                    && let Some(mut stream) = lift(f, body, Some(&around))
                {
                    block.append(&mut stream);
                }
            }
            OpKind::Region { body, .. } => block.extend(lift(f, body, None).into_iter().flatten()),
            _ => {}
        }
        block.push(op);
    }
}

/// A counted loop.
struct Around {
    var: Id,
    lo: i64,
    step: i64,
    n: u64,
}

/// Takes the only stream of a body out of it: the operations that stand before the loop or region then.
fn lift(f: &mut Func, body: &mut Block, around: Option<&Around>) -> Option<Block> {
    let at = body.iter().position(|op| matches!(op.kind, OpKind::Bcast { .. }))?;
    let OpKind::Bcast { dst, buf, at: origin, n0, step0, n1, step1 } = body[at].kind else { return None };
    let loc = body[at].loc;
    let (mut n_streams, mut n_uses, mut late, mut affine) = (0, 0, HashSet::new(), HashMap::new());
    visit::walk(body, &mut |op| {
        n_streams += u32::from(matches!(op.kind, OpKind::Bcast { .. }));
        op.kind.uses(&mut |id| n_uses += u32::from(id == buf));
        op.kind.defs(&mut |id| {
            late.insert(id);
        });
        let known = Affine::of_op(&op.kind, &|s| Some(sum_of(s, &affine)));
        affine.extend(known);
    });
    // Another stream would come behind this one; who else touches the buffer may write it.
    if n_streams != 1 || n_uses != 1 || late.contains(&buf) {
        return None;
    }
    let mut origin = sum_of(origin, &affine);
    let mut levels = vec![(n0 as u64, step0 as i64), (n1 as u64, step1 as i64)];
    if let Some(around) = around {
        let factor = origin.terms.iter().find(|(id, _)| *id == around.var).map_or(0, |(_, k)| *k);
        origin = origin.plus(&Affine::variable(around.var), -factor);
        origin.constant += factor * around.lo;
        levels.push((around.n, factor * around.step));
    }
    let fixed = |id: &Id| !late.contains(id) && f.ty(*id) == Type::Scalar;
    let [(n0, step0), (n1, step1)] = joined(&levels)?;
    let constant = i32::try_from(origin.constant).ok()?;
    if !origin.terms.iter().all(|(id, k)| fixed(id) && i32::try_from(*k).is_ok()) {
        return None;
    }
    let mut out = Block::new();
    let mut sum = SVal::Imm(constant);
    for (id, k) in origin.terms {
        let mut term = SVal::Val(id);
        if k != 1 {
            term = scalar(f, &mut out, loc, SOp::Mul, term, SVal::Imm(k as i32));
        }
        sum = if sum == SVal::Imm(0) { term } else { scalar(f, &mut out, loc, SOp::Add, term, sum) };
    }
    body.remove(at);
    out.push(Op { kind: OpKind::Bcast { dst, buf, at: sum, n0, step0, n1, step1 }, loc });
    Some(out)
}

fn scalar(f: &mut Func, out: &mut Block, loc: Loc, op: SOp, a: SVal, b: SVal) -> SVal {
    let id = f.fresh("origin", Type::Scalar);
    out.push(Op { kind: OpKind::Scalar { op, dst: SDst::Def(id), a, b }, loc });
    SVal::Val(id)
}

fn sum_of(s: SVal, affine: &HashMap<Id, Affine>) -> Affine {
    match s {
        SVal::Imm(v) => Affine::number(v as i64),
        SVal::Val(id) => affine.get(&id).cloned().unwrap_or_else(|| Affine::variable(id)),
    }
}

/// Levels, the innermost first, as the two of a stream; nothing if they are more.
fn joined(levels: &[(u64, i64)]) -> Option<[(u32, i32); 2]> {
    let mut list: Vec<(u64, i64)> = Vec::new();
    for &(n, step) in levels.iter().filter(|(n, _)| *n > 1) {
        match list.last_mut() {
            Some((inner, by)) if step == *by * *inner as i64 => *inner = inner.checked_mul(n)?,
            _ => list.push((n, step)),
        }
    }
    list.resize(list.len().max(2), (1, 0));
    let level = |(n, step): (u64, i64)| (n <= MOST).then_some((n as u32, i32::try_from(step).ok()?));
    match list[..] {
        [a, b] => {
            let total = a.0.checked_mul(b.0)?;
            let inner = if a.0 == 1 { (1, 16) } else { a };
            (total <= MOST).then_some([level(inner)?, level(b)?])
        }
        _ => None,
    }
}
