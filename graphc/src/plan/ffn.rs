//! Dense layer, table and dense layer in a row become one step: nothing else sees the hidden features.

use crate::graph::Graph;
use crate::plan::group::Grouped;
use crate::plan::mix_ffn::only_reader;
use crate::plan::step::{Dense, Kind, Step};

/// Joins every such row.
pub fn join(graph: &Graph, mut grouped: Grouped) -> Grouped {
    let mut i = 0;
    while i < grouped.steps.len() {
        if let Some((joined, members)) = row(graph, &grouped, i) {
            grouped.steps[members[2]] = joined;
            grouped.steps.remove(members[1]);
            grouped.steps.remove(members[0]);
        } else {
            i += 1;
        }
    }
    grouped
}

/// The row that begins with a step, and its members.
fn row(graph: &Graph, grouped: &Grouped, first: usize) -> Option<(Step, [usize; 3])> {
    let steps = &grouped.steps;
    let Kind::Dense(expand @ Dense { residual: None, .. }) = &steps[first].kind else { return None };
    let second = only_reader(graph, grouped, first)?;
    let third = only_reader(graph, grouped, second)?;
    let (Kind::Table { node: table, .. }, Kind::Dense(project)) = (&steps[second].kind, &steps[third].kind) else {
        return None;
    };
    let other_reads = project.residual.as_ref().is_some_and(|(_, x)| x.view.root == steps[second].writes);
    if project.x.view.root != steps[second].writes || other_reads {
        return None;
    }
    let members = [first, second, third];
    let hidden = [steps[first].writes, steps[second].writes];
    let step = Step {
        kind: Kind::Ffn { expand: expand.clone(), table: *table, project: project.clone(), hidden },
        nodes: members.iter().flat_map(|&i| steps[i].nodes.iter().copied()).collect(),
        writes: steps[third].writes,
        macs: members.iter().map(|&i| steps[i].macs).sum(),
    };
    Some((step, members))
}
