//! Fetches of one tensor that follow one another become one walk: taps of a convolution, planes of a group of channels. Their
//! origins must lie on a grid, so that up to four loops reach them in order, and their slots one after the other. One flow
//! is set up once and pays its start once, and takes a ring where several would not.

use std::collections::HashMap;

use super::address::Affine;
use crate::ir::*;

/// Columns, rows and bytes from the first origin.
type Step = [i64; 3];

/// Merges the fetches of a block and of those inside.
pub(super) fn merge_fetches(block: &mut Block) {
    for op in block.iter_mut() {
        op.kind.blocks_mut().into_iter().for_each(merge_fetches);
    }
    let mut affine = HashMap::new();
    let mut at = 0;
    while at < block.len() {
        let known = Affine::of_op(&block[at].kind, &|s| Some(sum_of(s, &affine)));
        affine.extend(known);
        if let OpKind::Flow { out: false, .. } = block[at].kind {
            let run = run(&block[at..], &affine);
            if let Some((walk, tokens)) = merged(&run) {
                replace(block, at, walk, &tokens);
            }
        }
        at += 1;
    }
}

fn sum_of(s: SVal, affine: &HashMap<Id, Affine>) -> Affine {
    match s {
        SVal::Imm(v) => Affine::number(v as i64),
        SVal::Val(id) => affine.get(&id).cloned().unwrap_or_else(|| Affine::variable(id)),
    }
}

/// The fetches from here on with nothing but scalars and their waits between, each with its origin.
fn run(ops: &[Op], affine: &HashMap<Id, Affine>) -> Vec<(Id, Walk, [Affine; 3])> {
    let mut affine = affine.clone();
    let mut list: Vec<(Id, Walk, [Affine; 3])> = Vec::new();
    for op in ops {
        match &op.kind {
            OpKind::Flow { out: false, dst, walk } if list.first().is_none_or(|(_, first, _)| alike(first, walk)) => {
                let origin = [walk.x0, walk.y0, walk.at].map(|s| sum_of(s, &affine));
                list.push((*dst, (**walk).clone(), origin));
            }
            OpKind::Wait { token } if list.iter().any(|(t, ..)| t == token) => {}
            kind @ OpKind::Scalar { .. } => affine.extend(Affine::of_op(kind, &|s| Some(sum_of(s, &affine)))),
            OpKind::Lrm { .. } | OpKind::Acc { .. } => {}
            _ => break,
        }
    }
    list
}

/// Whether two fetches differ in nothing but where they begin and land.
fn alike(a: &Walk, b: &Walk) -> bool {
    let plain = a.second.is_none() && a.group == 0;
    plain && *a == Walk { at: a.at, x0: a.x0, y0: a.y0, slot: a.slot, ..b.clone() }
}

/// One walk for all fetches of a run, and their tokens.
fn merged(run: &[(Id, Walk, [Affine; 3])]) -> Option<(Walk, Vec<Id>)> {
    let [(_, first, origin), (_, second, _), ..] = run else { return None };
    let mut walk = first.clone();
    let own = u32::try_from(walk.tiles()).ok()?;
    let apart = second.slot.checked_sub(first.slot).filter(|n| *n > 0)?;
    if own == 1 {
        walk.slot_step = apart;
    } else if apart != own.checked_mul(walk.slot_step)? {
        return None;
    }
    let mut steps: Vec<Step> = Vec::new();
    for (k, (_, other, at)) in run.iter().enumerate() {
        if other.slot as u64 != first.slot as u64 + k as u64 * apart as u64 {
            return None;
        }
        let far: Vec<Affine> = at.iter().zip(origin).map(|(a, b)| a.plus(b, -1)).collect();
        if far.iter().any(|far| !far.terms.is_empty()) {
            return None;
        }
        steps.push([far[0].constant, far[1].constant, far[2].constant]);
    }
    let grid = grid(&steps)?;
    // Bytes are counted in planes.
    let bytes = grid.iter().map(|(_, step)| step[2].abs()).filter(|b| *b > 0).min();
    if let Some(bytes) = bytes
        && walk.loops.iter().all(|l| l.dp == 0)
    {
        walk.plane = u32::try_from(bytes).ok()?;
    }
    walk.loops.retain(|l| l.n > 1);
    for (n, [dx, dy, bytes]) in grid {
        let dp = if bytes == 0 { 0 } else { bytes.checked_div(walk.plane as i64)? };
        if dp * walk.plane as i64 != bytes {
            return None;
        }
        let int = |v: i64| i32::try_from(v).ok();
        walk.loops.push(WalkLoop { n, dx: int(dx)?, dy: int(dy)?, dp: int(dp)? });
    }
    (walk.loops.len() <= 4).then(|| (walk, run.iter().map(|(token, ..)| *token).collect()))
}

/// Loops, the innermost first, whose trips reach the places in order.
fn grid(places: &[Step]) -> Option<Vec<(u32, Step)>> {
    let [first, next, ..] = places else { return Some(Vec::new()) };
    let minus = |a: &Step, b: &Step| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let step = minus(next, first);
    let along = |k: usize| minus(&places[k], first) == step.map(|s| s * k as i64);
    let longest = (0..places.len()).take_while(|k| along(*k)).count();
    (2..=longest).rev().filter(|n| places.len().is_multiple_of(*n)).find_map(|n| {
        let rows: Vec<Step> = places.iter().step_by(n).copied().collect();
        let same = places.chunks(n).all(|row| (0..n).all(|k| minus(&row[k], &row[0]) == step.map(|s| s * k as i64)));
        let mut loops = same.then(|| grid(&rows)).flatten()?;
        loops.insert(0, (n as u32, step));
        Some(loops)
    })
}

/// Puts one fetch in the place of the first, and one wait in that of the first wait.
fn replace(block: &mut Block, at: usize, walk: Walk, tokens: &[Id]) {
    if let OpKind::Flow { walk: first, .. } = &mut block[at].kind {
        **first = walk;
    }
    let mut waits = 0;
    block.retain_mut(|op| match &mut op.kind {
        OpKind::Flow { dst, .. } => !tokens[1..].contains(dst),
        OpKind::Wait { token } if tokens.contains(token) => {
            *token = tokens[0];
            waits += 1;
            waits == 1
        }
        _ => true,
    });
}
