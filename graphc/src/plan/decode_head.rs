//! The decode head of a SegFormer: four dense layers, three of them enlarged, concatenated, a 1x1 convolution, a table, a 1x1
//! convolution become one step; an enlargement and the arg-max behind it another one. Nothing else sees what is between.

use crate::graph::op::Interpolation;
use crate::graph::{Graph, NodeId, Op, ValueId};
use crate::plan::group::Grouped;
use crate::plan::mix_ffn::only_reader;
use crate::plan::step::{Dense, Kind, Operand, Step};

/// How often the maps are enlarged, in the order in which their channels are concatenated.
const FACTORS: [usize; 3] = [8, 4, 2];

/// Joins every decode head, and every enlargement with the arg-max behind it.
pub fn join(graph: &Graph, mut grouped: Grouped) -> Grouped {
    let mut i = 0;
    while i < grouped.steps.len() {
        let found = head(graph, &grouped, i).or_else(|| labels(graph, &grouped, i));
        if let Some((joined, mut members)) = found {
            members.sort_unstable();
            let last = members.pop().unwrap_or(i);
            grouped.steps[last] = joined;
            for &member in members.iter().rev() {
                grouped.steps.remove(member);
            }
            i = 0;
        } else {
            i += 1;
        }
    }
    grouped
}

/// The decode head whose concatenation is finished by a step, and its members.
fn head(graph: &Graph, grouped: &Grouped, at: usize) -> Option<(Step, Vec<usize>)> {
    let steps = &grouped.steps;
    let Kind::Put { node: concat, .. } = &steps[at].kind else { return None };
    let all = steps[at].writes;
    let mut puts: Vec<(usize, usize, &Operand)> = Vec::new();
    for (i, step) in steps.iter().enumerate().filter(|(_, step)| step.writes == all) {
        let Kind::Put { x, first, .. } = &step.kind else { return None };
        puts.push((*first, i, x));
    }
    puts.sort_unstable_by_key(|(first, ..)| *first);
    if puts.len() != 4 || puts.iter().any(|(_, i, _)| *i > at) {
        return None;
    }
    let mut members: Vec<usize> = puts.iter().map(|(_, i, _)| *i).collect();
    let mut levels = Vec::new();
    for (i, (_, put, x)) in puts.iter().enumerate() {
        let (mut x, mut reader) = (*x, *put);
        if let Some(&factor) = FACTORS.get(i) {
            reader = writer_for(graph, grouped, x, reader)?;
            members.push(reader);
            x = enlarged(graph, &steps[reader], factor)?;
        }
        let made = writer_for(graph, grouped, x, reader)?;
        let Kind::Dense(level @ Dense { bias: Some(_), residual: None, .. }) = &steps[made].kind else { return None };
        members.push(made);
        levels.push(level.clone());
    }
    let fuse = only_reader(graph, grouped, at)?;
    let gate = only_reader(graph, grouped, fuse)?;
    let classify = only_reader(graph, grouped, gate)?;
    let (Kind::Conv { node: fused, .. }, Kind::Table { node: table, .. }, Kind::Conv { node: classes, .. }) =
        (&steps[fuse].kind, &steps[gate].kind, &steps[classify].kind)
    else {
        return None;
    };
    if !is_pixelwise(graph, *fused) || !is_pixelwise(graph, *classes) {
        return None;
    }
    members.extend([fuse, gate, classify]);
    let levels: Box<[Dense; 4]> = levels.into_boxed_slice().try_into().ok()?;
    let kind = |parts| Kind::DecodeHead {
        levels,
        concat: *concat,
        inputs: [puts[0].2.q, puts[1].2.q, puts[2].2.q, puts[3].2.q],
        fuse: *fused,
        gate: *table,
        classify: *classes,
        parts,
    };
    Some((joined(grouped, &mut members, kind), members))
}

/// The enlargement whose result only an arg-max reads.
fn labels(graph: &Graph, grouped: &Grouped, at: usize) -> Option<(Step, Vec<usize>)> {
    let steps = &grouped.steps;
    let Kind::Resize { node: resize, x } = &steps[at].kind else { return None };
    let last = only_reader(graph, grouped, at)?;
    let Kind::ArgMax { .. } = &steps[last].kind else { return None };
    let image = x.view.as_image()?;
    let factor = [4, 8].into_iter().find(|&f| enlarged(graph, &steps[at], f).is_some())?;
    let mut members = vec![at, last];
    let kind = |parts| Kind::EnlargedArgMax { node: *resize, x: x.clone(), factor, parts };
    (image.channels <= 256).then(|| (joined(grouped, &mut members, kind), members))
}

/// One step of several, in their order.
fn joined(grouped: &Grouped, members: &mut [usize], kind: impl FnOnce(Vec<Step>) -> Kind) -> Step {
    members.sort_unstable();
    let parts: Vec<Step> = members.iter().map(|&i| grouped.steps[i].clone()).collect();
    Step {
        nodes: parts.iter().flat_map(|step| step.nodes.iter().copied()).collect(),
        writes: parts.last().map_or(ValueId(0), |step| step.writes),
        macs: parts.iter().map(|step| step.macs).sum(),
        kind: kind(parts),
    }
}

/// The step that writes an operand, if nothing but the step `reader` reads it.
fn writer_for(graph: &Graph, grouped: &Grouped, x: &Operand, reader: usize) -> Option<usize> {
    let made = grouped.steps.iter().position(|step| step.writes == x.view.root)?;
    (only_reader(graph, grouped, made)? == reader).then_some(made)
}

/// What a step enlarges by a factor, pixel centres aligned.
fn enlarged<'a>(graph: &Graph, step: &'a Step, factor: usize) -> Option<&'a Operand> {
    use ccl_golden::resize::Coordinates;
    let Kind::Resize { node, x } = &step.kind else { return None };
    let Op::Resize { resize, interpolation: Interpolation::Linear } = &graph.node(*node).op else { return None };
    let image = x.view.as_image()?;
    let fits = matches!(resize.sizes(), &[_, _, h, w] if h == factor * image.height && w == factor * image.width);
    (fits && resize.coordinates() == Coordinates::HalfPixel).then_some(x)
}

/// Whether a node is a convolution of single pixels.
fn is_pixelwise(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let Op::QLinearConv { conv, .. } = &node.op else { return false };
    let window = &conv.window;
    let single = node.inputs.get(1).copied().flatten().is_some_and(|w| graph.value(w).ty.shape.ends_with(&[1, 1]));
    single && conv.groups == 1 && window.strides == [1, 1] && window.pads == [0; 4]
}
