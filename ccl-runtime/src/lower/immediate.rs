//! Numbers beyond the 14 bits of an array operand go through scalar registers: the most used are set once at the start of
//! the kernel, the others beside their use.

use std::collections::HashMap;

use iss::isa::operand;
use iss::target::Target;

use super::CompileError;
use crate::ir::visit::OperandMut;
use crate::ir::*;

/// Registers that constants may take for the whole kernel.
const RESIDENT: usize = 10;

/// Replaces every number that no array operand can hold.
pub fn legalise(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    m.funcs.iter_mut().for_each(legalise_func);
    Ok(())
}

fn large(src: &Src) -> Option<i32> {
    match src {
        Src::Imm(v) if !(operand::Src::IMM_MIN..=operand::Src::IMM_MAX).contains(v) => Some(*v),
        _ => None,
    }
}

fn legalise_func(f: &mut Func) {
    let mut uses: Vec<(i32, usize)> = Vec::new();
    visit::walk(&f.body, &mut |op| {
        op.kind.operands(&mut |o| {
            if let visit::Operand::Src(s) = o
                && let Some(v) = large(s)
            {
                match uses.iter_mut().find(|(u, _)| *u == v) {
                    Some((_, n)) => *n += 1,
                    None => uses.push((v, 1)),
                }
            }
        })
    });
    uses.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let mut start = Vec::new();
    let mut resident = HashMap::new();
    for (v, _) in uses.into_iter().take(RESIDENT) {
        let id = f.fresh("k", Type::Scalar);
        resident.insert(v, id);
        start.push(set(id, v, f.loc));
    }
    let mut body = std::mem::take(&mut f.body);
    visit::each_block(&mut body, &mut |block| {
        for mut op in std::mem::take(block) {
            let loc = op.loc;
            op.kind.operands_mut(&mut |o| {
                if let OperandMut::Src(s) = o
                    && let Some(v) = large(s)
                {
                    let id = *resident.get(&v).unwrap_or(&f.fresh("k", Type::Scalar));
                    if !resident.contains_key(&v) {
                        block.push(set(id, v, loc));
                    }
                    *s = Src::Val(id);
                }
            });
            block.push(op);
        }
    });
    start.append(&mut body);
    f.body = start;
}

fn set(id: Id, v: i32, loc: Loc) -> Op {
    Op { kind: OpKind::Scalar { op: SOp::Mov, dst: SDst::Def(id), a: SVal::Imm(v), b: SVal::Imm(0) }, loc }
}
