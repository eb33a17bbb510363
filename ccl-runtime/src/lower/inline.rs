//! Inlines every call: what a call costs (3 cycles each way) and what it hides from the other passes is more than a copy of
//! the callee takes, and recursion there is none. Buffers of a callee live as long as they are used, wherever they stand, so
//! that the frames of two callees overlay as they would on a stack.

use std::collections::HashMap;

use iss::target::Target;

use super::CompileError;
use crate::ir::*;

/// Replaces calls by the bodies of the called, and drops the functions.
pub fn inline(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    let fns: HashMap<String, Func> = m.funcs.iter().map(|f| (f.name.clone(), f.clone())).collect();
    m.funcs.retain(|f| f.kind == FuncKind::Kernel);
    for f in &mut m.funcs {
        let mut body = std::mem::take(&mut f.body);
        inline_block(f, &mut body, &fns);
        f.body = body;
    }
    Ok(())
}

fn inline_block(f: &mut Func, block: &mut Block, fns: &HashMap<String, Func>) {
    for mut op in std::mem::take(block) {
        for inner in op.kind.blocks_mut() {
            inline_block(f, inner, fns);
        }
        let OpKind::Call { func, args } = &op.kind else {
            block.push(op);
            continue;
        };
        let callee = &fns[func];
        let mut map = HashMap::new();
        for (p, a) in callee.params.iter().zip(args) {
            let id = match a {
                SVal::Val(id) if f.ty(*id) != Type::ScalarVar => *id,
                a => {
                    let id = f.fresh(callee.name_of(p.id), Type::Scalar);
                    let kind = OpKind::Scalar { op: SOp::Mov, dst: SDst::Def(id), a: *a, b: SVal::Imm(0) };
                    block.push(Op { kind, loc: op.loc });
                    id
                }
            };
            map.insert(p.id, id);
        }
        let mut body = callee.body.clone();
        for op in &mut body {
            rename(f, callee, &mut op.kind, &mut map);
        }
        inline_block(f, &mut body, fns);
        block.append(&mut body);
    }
}

fn rename(f: &mut Func, from: &Func, kind: &mut OpKind, map: &mut HashMap<Id, Id>) {
    kind.map_ids(&mut |id| *map.entry(id).or_insert_with(|| f.fresh(from.name_of(id), from.ty(id))));
}

/// A copy of a block with new names for what it defines.
pub(super) fn copy_block(f: &mut Func, block: &Block) -> Block {
    // In the order of the text, so that the same kernel gives the same names.
    let mut defined = Vec::new();
    visit::walk(block, &mut |op| op.kind.defs(&mut |id| defined.push(id)));
    let map: HashMap<Id, Id> = defined.into_iter().map(|old| (old, f.fresh_like(old, f.ty(old)))).collect();
    let mut copy = block.clone();
    copy.iter_mut().for_each(|op| op.kind.map_ids(&mut |id| map.get(&id).copied().unwrap_or(id)));
    copy
}
