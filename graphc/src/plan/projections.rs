//! An attention takes the dense layers that make its queries, keys and values, and the sum with positions before them, as the encoder of
//! DETR has them: nothing else sees what they write.

use crate::graph::op::Binary;
use crate::graph::{Graph, Op, ValueId};
use crate::plan::group::Grouped;
use crate::plan::mix_ffn::only_reader;
use crate::plan::step::{Dense, Kind, Operand, Projections, Step};

/// Joins them with every attention that has such ones.
pub fn join(graph: &Graph, mut grouped: Grouped) -> Grouped {
    let mut i = 0;
    while i < grouped.steps.len() {
        if let Some((found, members)) = before(graph, &grouped, i) {
            let taken: Vec<Step> = members.iter().rev().map(|&member| grouped.steps.remove(member)).collect();
            i -= members.len();
            let step = &mut grouped.steps[i];
            step.nodes.extend(taken.iter().flat_map(|step| &step.nodes));
            step.nodes.sort_unstable();
            step.macs += taken.iter().map(|step| step.macs).sum::<u64>();
            if let Kind::Attention { projections, .. } = &mut step.kind {
                *projections = Some(Box::new(found));
            }
        }
        i += 1;
    }
    grouped
}

/// What makes the operands of an attention, and its steps in order.
fn before(graph: &Graph, grouped: &Grouped, attention: usize) -> Option<(Projections, [usize; 4])> {
    let Kind::Attention { queries, keys, values, projections: None, .. } = &grouped.steps[attention].kind else {
        return None;
    };
    let project = |x: &Operand| layer(graph, grouped, x, attention);
    let ((q, queries), (k, keys), (v, values)) = (project(queries)?, project(keys)?, project(values)?);
    let (with_positions, x) = (queries.x.view.root, values.x.view.root);
    let sum = writer(grouped, with_positions)?;
    let Kind::Binary { node, a, b } = &grouped.steps[sum].kind else { return None };
    let is_sum = matches!(graph.node(*node).op, Op::QLinearBinary { function: Binary::Add, .. });
    let own = if a.view.root == x { a } else { b };
    let positions = if a.view.root == x { b } else { a };
    let same = [&queries.x, &keys.x].iter().all(|other| other.view.same_places(&values.x.view))
        && own.view.root == x
        && own.q == values.x.q
        && keys.x.view.root == with_positions
        && queries.x.q == keys.x.q;
    let readers = grouped.steps.iter().filter(|step| step.reads().contains(&with_positions)).count();
    let is_output = graph.outputs().iter().any(|id| grouped.views.get(id).is_some_and(|v| v.root == with_positions));
    if !is_sum || !same || q == k || readers != 2 || is_output {
        return None;
    }
    let mut members = [sum, q, k, v];
    members.sort_unstable();
    let found = Projections { sum: *node, x: own.clone(), positions: positions.clone(), queries, keys, values };
    Some((found, members))
}

/// The dense layer without a residual that makes an operand for one step alone.
fn layer(graph: &Graph, grouped: &Grouped, x: &Operand, reader: usize) -> Option<(usize, Dense)> {
    let at = writer(grouped, x.view.root)?;
    match &grouped.steps[at].kind {
        Kind::Dense(dense @ Dense { residual: None, .. }) if only_reader(graph, grouped, at) == Some(reader) => {
            Some((at, dense.clone()))
        }
        _ => None,
    }
}

/// The only step that writes a buffer.
fn writer(grouped: &Grouped, root: ValueId) -> Option<usize> {
    let mut writers = (0..grouped.steps.len()).filter(|&i| grouped.steps[i].writes == root);
    let one = writers.next()?;
    writers.next().is_none().then_some(one)
}
