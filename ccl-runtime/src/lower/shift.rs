//! Neighbour shifts become hops: a send each, the last read at the port.

use iss::isa::operand::Dir;
use iss::target::Target;

use super::CompileError;
use crate::ir::*;

/// Replaces every `shift` by sends and a move from the port.
pub fn lower_shifts(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        visit::each_block(&mut f.body, &mut |block| {
            for op in std::mem::take(block) {
                match op.kind {
                    OpKind::Shift { dst, a, dr, dc } => hops(block, op.loc, dst, a, dr, dc),
                    _ => block.push(op),
                }
            }
        });
    }
    Ok(())
}

fn hops(block: &mut Block, loc: Loc, dst: Dst, a: Src, dr: i32, dc: i32) {
    // What is read from the south has been sent north.
    let vertical = if dr > 0 { Dir::North } else { Dir::South };
    let horizontal = if dc > 0 { Dir::West } else { Dir::East };
    let mut a = a;
    for (to, n) in [(vertical, dr.unsigned_abs()), (horizontal, dc.unsigned_abs())] {
        for _ in 0..n {
            block.push(Op { kind: OpKind::Send { to, a }, loc });
            a = Src::Port(to.opposite());
        }
    }
    block.push(Op { kind: OpKind::Alu { op: AluOp::Mov, dst, a, b: Src::Imm(0) }, loc });
}
