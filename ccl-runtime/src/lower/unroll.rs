//! Repeats the bodies of loops that ask for it, and of small inner ones, where that removes counting: an index becomes a
//! number and needs no base register.

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
            block.push(op);
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
