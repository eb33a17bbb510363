//! Starts streams early: the broadcast engine takes some cycles to its first entry, and a further stream may be started while
//! one is consumed. A start moves up in its block, behind the stream before it.

use std::collections::HashSet;

use iss::target::Target;

use super::CompileError;
use crate::ir::visit::Operand;
use crate::ir::*;

/// Moves the starts of streams in every block.
pub fn start_streams(m: &mut Module, _: &Target) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        let written = written(&f.body);
        visit::each_block(&mut f.body, &mut |block| in_block(block, &written));
    }
    Ok(())
}

/// Buffers in on-chip memory that the kernel writes.
fn written(body: &Block) -> HashSet<Id> {
    let mut list = HashSet::new();
    let mut add = |id: Id| {
        list.insert(id);
    };
    visit::walk(body, &mut |op| match &op.kind {
        OpKind::Flow { out: true, walk, .. } | OpKind::Restart { out: true, walk, .. } => add(walk.buf),
        OpKind::Dma { out: false, ocm, .. } => add(*ocm),
        OpKind::Rau { store: true, buf, .. } => add(*buf),
        _ => {}
    });
    list
}

/// Calls `f` with an operation and those inside.
fn walk(op: &Op, f: &mut dyn FnMut(&Op)) {
    f(op);
    op.kind.blocks().into_iter().flatten().for_each(|inner| walk(inner, f));
}

fn uses(op: &Op, id: Id) -> bool {
    let mut found = false;
    walk(op, &mut |op| op.kind.uses(&mut |u| found |= u == id));
    found
}

fn in_block(block: &mut Block, written: &HashSet<Id>) {
    // The streams started so far, in their order.
    let mut streams: Vec<Id> = Vec::new();
    for i in 0..block.len() {
        let OpKind::Bcast { dst, buf, .. } = block[i].kind else { continue };
        let behind = |op: &Op| {
            let mut needed = false;
            block[i].kind.uses(&mut |id| op.kind.defs(&mut |d| needed |= d == id));
            let last = streams.last().is_some_and(|s| matches!(op.kind, OpKind::Bcast { dst, .. } if dst == *s));
            // No more than two may be started and not consumed.
            let before_last = streams.len() > 1 && uses(op, streams[streams.len() - 2]);
            needed || last || before_last || matches!(op.kind, OpKind::Drain) || reads_others(op, &streams)
        };
        if written.contains(&buf) {
            streams.push(dst);
            continue;
        }
        let at = block[..i].iter().rposition(behind).map_or(0, |at| at + 1);
        streams.push(dst);
        block[at..=i].rotate_right(1);
    }
}

/// Whether an operation has streams of its own inside, or reads one from outside of the block.
fn reads_others(op: &Op, streams: &[Id]) -> bool {
    let mut found = false;
    walk(op, &mut |op| {
        found |= !op.kind.blocks().is_empty() && has_start(&op.kind);
        op.kind.operands(&mut |o| {
            if let Operand::Src(Src::Stream { stream, .. }) = o {
                found |= !streams.contains(stream);
            }
        });
        if let OpKind::Mac { stream, .. } = &op.kind {
            found |= !streams.contains(stream);
        }
    });
    found
}

fn has_start(kind: &OpKind) -> bool {
    kind.blocks().into_iter().flatten().any(|op| matches!(op.kind, OpKind::Bcast { .. }) || has_start(&op.kind))
}
