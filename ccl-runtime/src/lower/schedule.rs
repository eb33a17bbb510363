//! Orders straight-line code so that what comes late (`exp` and `log`, scalar loads, the any-PE test) is not waited for:
//! independent operations move in between. Streams are read, ports written and buffers touched in the order of the text; code
//! without a late result stays as it is.

use iss::target::Target;

use super::CompileError;
use super::fold::reads_stream;
use crate::ir::visit::Operand;
use crate::ir::*;

/// Operations that are looked at together; the work is quadratic.
const WINDOW: usize = 96;

/// Schedules every block.
pub fn schedule(m: &mut Module, target: &Target) -> Result<(), CompileError> {
    for f in &mut m.funcs {
        visit::each_block(&mut f.body, &mut |block| schedule_block(block, target));
    }
    Ok(())
}

/// Cycles from issue to result, beyond the one that issues.
fn latency(kind: &OpKind, target: &Target) -> u32 {
    let t = &target.spec().timing;
    match kind {
        OpKind::Alu { op: AluOp::Exp(..) | AluOp::Log(..), .. } => t.transcendental_latency,
        OpKind::ScalarLoad { .. } => t.scalar_load_latency,
        OpKind::Any { .. } => t.any_latency,
        _ => 1,
    }
}

/// Whether an operation may change places with its neighbours.
fn movable(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Alu { .. }
            | OpKind::Sel { .. }
            | OpKind::Lut { .. }
            | OpKind::Mac { .. }
            | OpKind::Scalar { .. }
            | OpKind::ScalarSet { .. }
            | OpKind::ScalarVar { .. }
            | OpKind::ScalarLoad { .. }
            | OpKind::Any { .. }
            | OpKind::Var { .. }
            | OpKind::AddrStep { .. }
            | OpKind::Addr { .. }
    )
}

fn schedule_block(block: &mut Block, target: &Target) {
    let mut done = Vec::with_capacity(block.len());
    let mut run: Vec<Op> = Vec::new();
    for op in std::mem::take(block) {
        if movable(&op.kind) && run.len() < WINDOW {
            run.push(op);
            continue;
        }
        order(std::mem::take(&mut run), &mut done, target);
        if movable(&op.kind) {
            run.push(op);
        } else {
            done.push(op);
        }
    }
    order(run, &mut done, target);
    *block = done;
}

/// Something that operations read and write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thing {
    Value(Id),
    Acc(Id, u8),
    Streams,
    Ports,
}

/// What an operation touches, and whether it changes it.
fn touches(kind: &OpKind) -> Vec<(Thing, bool)> {
    let mut list = Vec::new();
    fn elem(e: &ElemRef, write: bool, list: &mut Vec<(Thing, bool)>) {
        list.push((Thing::Value(e.buf), write));
        if let Index::Scalar(id, _) | Index::Addr(id) = e.index {
            list.push((Thing::Value(id), false));
        }
    }
    kind.operands(&mut |o| match o {
        Operand::Def(id) => list.push((Thing::Value(*id), true)),
        Operand::Use(id) => list.push((Thing::Value(*id), false)),
        Operand::S(SVal::Val(id)) => list.push((Thing::Value(*id), false)),
        Operand::S(SVal::Imm(_)) => {}
        Operand::Src(s) => match s {
            Src::Val(id) => list.push((Thing::Value(*id), false)),
            Src::Elem(e) => elem(e, false, &mut list),
            Src::Acc(id, k) => list.push((Thing::Acc(*id, *k), false)),
            Src::Port(_) => list.push((Thing::Ports, false)),
            Src::Stream { .. } | Src::Imm(_) | Src::QRow | Src::QCol => {}
        },
        Operand::Dst(d) => match d {
            Dst::Def(id) | Dst::Var(id) => list.push((Thing::Value(*id), true)),
            Dst::Elem(e) => elem(e, true, &mut list),
            Dst::Acc(id, k) => list.push((Thing::Acc(*id, *k), true)),
        },
        Operand::SDst(SDst::Def(id) | SDst::Var(id)) => list.push((Thing::Value(*id), true)),
        Operand::Read(e) => elem(e, false, &mut list),
        Operand::Write(e) => elem(e, true, &mut list),
    });
    match kind {
        OpKind::Mac { acc, .. } => list.extend((0..16).map(|k| (Thing::Acc(*acc, k), true))),
        OpKind::AddrStep { addr, .. } => list.push((Thing::Value(*addr), true)),
        _ => {}
    }
    if reads_stream(kind) {
        list.push((Thing::Streams, true));
    }
    list
}

fn order(run: Vec<Op>, done: &mut Vec<Op>, target: &Target) {
    if run.iter().all(|op| latency(&op.kind, target) == 1) {
        done.extend(run);
        return;
    }
    let touched: Vec<Vec<(Thing, bool)>> = run.iter().map(|op| touches(&op.kind)).collect();
    // Operations that come before, and how long their results take.
    let before: Vec<Vec<(usize, u32)>> = (0..run.len())
        .map(|j| {
            let meets =
                |i: &usize| touched[*i].iter().any(|(a, w)| touched[j].iter().any(|(b, v)| a == b && (*w || *v)));
            (0..j).filter(meets).map(|i| (i, latency(&run[i].kind, target))).collect()
        })
        .collect();
    let mut issued: Vec<Option<u32>> = vec![None; run.len()];
    let mut order = Vec::with_capacity(run.len());
    let mut now = 0;
    while order.len() < run.len() {
        // The first in the text that is ready, else the one that will be soonest.
        let ready = |j: usize| -> Option<u32> {
            before[j].iter().map(|(i, wait)| issued[*i].map(|at| at + wait)).try_fold(0, |a, b| b.map(|b| a.max(b)))
        };
        let open = (0..run.len()).filter(|j| issued[*j].is_none());
        let (at, j) = open
            .filter_map(|j| ready(j).map(|at| (at.max(now), j)))
            .min()
            .expect("what comes first in the text waits for nothing that is left");
        issued[j] = Some(at);
        order.push(j);
        now = at + 1;
    }
    let mut run: Vec<Option<Op>> = run.into_iter().map(Some).collect();
    done.extend(order.into_iter().filter_map(|j| run[j].take()));
}
