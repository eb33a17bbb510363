//! A dense layer or a feed-forward block and the layer norm behind its residual become one step, if only that norm reads the sum.

use crate::graph::{Graph, ValueId};
use crate::plan::group::Grouped;
use crate::plan::mix_ffn::only_reader;
use crate::plan::step::{Dense, FIXED, Kind, Norm, Step};

/// Joins every such pair, unless a kernel ends between them.
pub fn join(graph: &Graph, mut grouped: Grouped, kept: &[ValueId]) -> Grouped {
    let kept: Vec<ValueId> = kept.iter().filter_map(|id| grouped.views.get(id)).map(|view| view.root).collect();
    let mut i = 0;
    while i < grouped.steps.len() {
        let norm = norm_behind(graph, &grouped, i).filter(|_| !kept.contains(&grouped.steps[i].writes));
        if let Some(norm) = norm {
            let step = grouped.steps[i].clone();
            let behind = &mut grouped.steps[norm];
            behind.nodes.extend(&step.nodes);
            behind.nodes.sort_unstable();
            behind.macs += step.macs;
            if let Kind::Norm { norm, x } = behind.kind.clone() {
                behind.kind = Kind::Normed { step: Box::new(step), norm, x };
            }
            grouped.steps.remove(i);
        } else {
            i += 1;
        }
    }
    grouped
}

/// The norm of steps that alone reads what a step with a residual writes.
fn norm_behind(graph: &Graph, grouped: &Grouped, step: usize) -> Option<usize> {
    let has_residual = match &grouped.steps[step] {
        Step { kind: Kind::Dense(Dense { residual, .. }), .. } => residual.is_some(),
        Step { kind: Kind::Ffn { project, .. }, .. } => project.residual.is_some(),
        _ => false,
    };
    let reader = only_reader(graph, grouped, step).filter(|_| has_residual)?;
    let Kind::Norm { norm: Norm { before: None, .. }, x } = &grouped.steps[reader].kind else { return None };
    let is_whole = x.view.root == grouped.steps[step].writes && x.view.as_rows().is_some();
    let is_fixed = grouped.buffers.get(&grouped.steps[reader].writes).is_none_or(|buffer| buffer.q == Some(FIXED));
    (is_whole && !is_fixed).then_some(reader)
}
