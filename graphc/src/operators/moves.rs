//! Operators that move elements or give them another shape.

use ccl_golden::moves::{DepthOrder, SliceAxis};

use crate::graph::op::PadKind;
use crate::graph::{Op, Type};
use crate::operators::{Meaning, Refusal, Site};

pub(super) fn transpose(site: &Site) -> Result<Meaning, Refusal> {
    let rank = site.rank(0, "data")?;
    let permutation = match site.ints("perm")? {
        None => (0..rank).rev().collect(),
        Some(list) => site.axes("perm", list, rank)?,
    };
    site.op_of_all(Op::Transpose { permutation })
}

fn to_shape(site: &Site, shape: Vec<usize>) -> Result<Meaning, Refusal> {
    site.op(Op::Reshape { shape }, &[0])
}

pub(super) fn reshape(site: &Site) -> Result<Meaning, Refusal> {
    let x = site.input(0, "data")?.ty;
    let wanted = site.constant_ints(1, "shape")?.ok_or(Refusal::Missing { name: "shape" })?;
    let allow_zero = site.flag("allowzero", false)?;
    let legal =
        || Refusal::value("shape", format!("{wanted:?}"), format!("a shape for the {} elements of {x}", x.len()));
    let mut shape = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (i, &extent) in wanted.iter().enumerate() {
        shape.push(match extent {
            0 if !allow_zero => *x.shape.get(i).ok_or_else(legal)?,
            -1 if open.replace(i).is_some() => return Err(legal()),
            -1 => 1,
            n => usize::try_from(n).map_err(|_| legal())?,
        });
    }
    let known = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d)).ok_or_else(legal)?;
    if let Some(open) = open {
        shape[open] = x.len().checked_div(known).ok_or_else(legal)?;
    }
    to_shape(site, shape)
}

pub(super) fn flatten(site: &Site) -> Result<Meaning, Refusal> {
    let x = site.input(0, "input")?.ty;
    let rank = x.shape.len();
    let axis = site.int("axis")?.unwrap_or(1);
    // Unlike elsewhere, the rank itself is an axis too.
    let at = if axis == rank as i64 { rank } else { site.axis("axis", axis, rank)? };
    let product = |extents: &[usize]| extents.iter().product();
    to_shape(site, vec![product(&x.shape[..at]), product(&x.shape[at..])])
}

/// Axes from an input from opset 13 on, from an attribute before.
fn axes(site: &Site) -> Result<Option<Vec<i64>>, Refusal> {
    if site.opset >= 13 { site.constant_ints(1, "axes") } else { Ok(site.ints("axes")?.map(<[i64]>::to_vec)) }
}

pub(super) fn squeeze(site: &Site) -> Result<Meaning, Refusal> {
    let x = site.input(0, "data")?.ty;
    let gone: Vec<usize> = match axes(site)? {
        Some(list) => site.axes("axes", &list, x.shape.len())?,
        None => (0..x.shape.len()).filter(|&axis| x.shape[axis] == 1).collect(),
    };
    if let Some(&axis) = gone.iter().find(|&&axis| x.shape[axis] != 1) {
        return Err(Refusal::value("axes", axis, format!("an axis of extent 1 of {x}")));
    }
    let kept = x.shape.iter().enumerate().filter(|(axis, _)| !gone.contains(axis));
    to_shape(site, kept.map(|(_, &n)| n).collect())
}

pub(super) fn unsqueeze(site: &Site) -> Result<Meaning, Refusal> {
    let x = site.input(0, "data")?.ty;
    let list = axes(site)?.ok_or(Refusal::Missing { name: "axes" })?;
    let rank = x.shape.len() + list.len();
    if rank > crate::graph::MAX_RANK {
        return Err(Refusal::value("axes", format!("{} axes", list.len()), "fewer: 8 dimensions at most"));
    }
    let new = site.axes("axes", &list, rank)?;
    let mut old = x.shape.iter();
    let extent = |axis| if new.contains(&axis) { 1 } else { old.next().copied().unwrap_or(1) };
    to_shape(site, (0..rank).map(extent).collect())
}

pub(super) fn concat(site: &Site) -> Result<Meaning, Refusal> {
    let axis = site.int("axis")?.ok_or(Refusal::AttributeMissing { name: "axis" })?;
    let axis = site.axis("axis", axis, site.rank(0, "input")?)?;
    site.op_of_all(Op::Concat { axis })
}

/// Parts of a Split, empty ones too: each is a value, whether or not the file names it.
const MAX_PARTS: usize = 4096;

pub(super) fn split(site: &Site) -> Result<Meaning, Refusal> {
    let x = site.input(0, "input")?.ty;
    let axis = site.axis("axis", site.int("axis")?.unwrap_or(0), x.shape.len())?;
    let parts = site.int("num_outputs")?;
    let list =
        if site.opset >= 13 { site.constant_ints(1, "split")? } else { site.ints("split")?.map(<[i64]>::to_vec) };
    let sizes: Vec<usize> = match list {
        Some(list) => {
            let size = |&n: &i64| usize::try_from(n).map_err(|_| Refusal::value("split", n, "not negative"));
            list.iter().map(size).collect::<Result<_, _>>()?
        }
        None => even_parts(x, axis, parts, site.n_outputs)?,
    };
    if sizes.len() > MAX_PARTS {
        return Err(Refusal::value("number of parts", sizes.len(), format!("at most {MAX_PARTS}")));
    }
    site.op(Op::Split { axis, sizes }, &[0])
}

/// Parts of equal size; the last is smaller if a count is given that does not divide.
fn even_parts(x: &Type, axis: usize, parts: Option<i64>, n_outputs: usize) -> Result<Vec<usize>, Refusal> {
    let n = parts
        .map_or(Ok(n_outputs), |n| usize::try_from(n).map_err(|_| Refusal::value("num_outputs", n, "positive")))?;
    let extent = x.shape[axis];
    if n == 0 || n > extent.max(1) || (parts.is_none() && !extent.is_multiple_of(n)) {
        return Err(Refusal::value("number of parts", n, format!("a divisor of the extent {extent}")));
    }
    let size = extent.div_ceil(n);
    Ok((0..n).map(|i| extent.saturating_sub(i * size).min(size)).collect())
}

pub(super) fn slice(site: &Site) -> Result<Meaning, Refusal> {
    let rank = site.rank(0, "data")?;
    let list = |place, name| site.constant_ints(place, name);
    let starts = list(1, "starts")?.ok_or(Refusal::Missing { name: "starts" })?;
    let ends = list(2, "ends")?.ok_or(Refusal::Missing { name: "ends" })?;
    let axes = match list(3, "axes")? {
        Some(axes) => site.axes("axes", &axes, rank)?,
        None => (0..starts.len().min(rank)).collect(),
    };
    let steps = list(4, "steps")?.unwrap_or_else(|| vec![1; axes.len()]);
    if [starts.len(), ends.len(), steps.len()] != [axes.len(); 3] {
        let found = format!("{}, {}, {} numbers", starts.len(), ends.len(), steps.len());
        return Err(Refusal::value("starts, ends, steps", found, format!("{} each", axes.len())));
    }
    if steps.contains(&0) {
        return Err(Refusal::value("steps", 0, "other than 0"));
    }
    let cut = |i: usize| SliceAxis { axis: axes[i] as isize, start: starts[i], end: ends[i], step: steps[i] };
    site.op(Op::Slice { cuts: (0..axes.len()).map(cut).collect() }, &[0])
}

pub(super) fn pad(site: &Site) -> Result<Meaning, Refusal> {
    let rank = site.rank(0, "data")?;
    let kind = match site.text("mode", "constant")?.as_str() {
        "constant" => PadKind::Constant,
        "reflect" => PadKind::Reflect,
        "edge" => PadKind::Edge,
        "wrap" => PadKind::Wrap,
        other => return Err(Refusal::value("mode", other, "constant, reflect, edge or wrap")),
    };
    let pads = site.constant_ints(1, "pads")?.ok_or(Refusal::Missing { name: "pads" })?;
    let axes = match site.constant_ints(3, "axes")? {
        Some(list) => site.axes("axes", &list, rank)?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(Refusal::value("pads", format!("{} numbers", pads.len()), format!("{} numbers", 2 * axes.len())));
    }
    let (mut before, mut after) = (vec![0; rank], vec![0; rank]);
    for (i, &axis) in axes.iter().enumerate() {
        (before[axis], after[axis]) = (pads[i], pads[axes.len() + i]);
    }
    site.op(Op::Pad { before, after, kind }, &[0, 2])
}

pub(super) fn expand(site: &Site) -> Result<Meaning, Refusal> {
    let list = site.constant_ints(1, "shape")?.ok_or(Refusal::Missing { name: "shape" })?;
    let size = |&n: &i64| usize::try_from(n).map_err(|_| Refusal::value("shape", n, "not negative"));
    let shape = list.iter().map(size).collect::<Result<_, _>>()?;
    site.op(Op::Expand { shape }, &[0])
}

pub(super) fn gather(site: &Site) -> Result<Meaning, Refusal> {
    let axis = site.axis("axis", site.int("axis")?.unwrap_or(0), site.rank(0, "data")?)?;
    site.op_of_all(Op::Gather { axis })
}

fn block(site: &Site) -> Result<usize, Refusal> {
    let block = site.int("blocksize")?.ok_or(Refusal::AttributeMissing { name: "blocksize" })?;
    usize::try_from(block).map_err(|_| Refusal::value("blocksize", block, "at least 1"))
}

pub(super) fn space_to_depth(site: &Site) -> Result<Meaning, Refusal> {
    site.op_of_all(Op::SpaceToDepth { block: block(site)? })
}

pub(super) fn depth_to_space(site: &Site) -> Result<Meaning, Refusal> {
    let order = match site.text("mode", "DCR")?.as_str() {
        "DCR" => DepthOrder::Dcr,
        "CRD" => DepthOrder::Crd,
        other => return Err(Refusal::value("mode", other, "DCR or CRD")),
    };
    site.op_of_all(Op::DepthToSpace { block: block(site)?, order })
}

pub(super) fn identity(site: &Site) -> Result<Meaning, Refusal> {
    site.op_of_all(Op::Identity)
}

pub(super) fn dropout(site: &Site) -> Result<Meaning, Refusal> {
    site.outputs(1)?;
    site.ignore(&["ratio", "seed"]);
    if let Some(training) = site.constant(2, "training_mode")?
        && training.to_vec::<bool>().is_none_or(|flags| flags.contains(&true))
    {
        return Err(Refusal::value("training_mode", "true", "false"));
    }
    site.op(Op::Identity, &[0])
}
