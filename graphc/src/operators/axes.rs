//! Operators over axes: normalisations, softmax, reductions.

use ccl_golden::argmax::Tie;
use ccl_golden::reduce::Reduction;

use crate::graph::Op;
use crate::operators::{Meaning, Refusal, Site};

fn epsilon(site: &Site) -> Result<f32, Refusal> {
    let epsilon = site.float("epsilon")?.unwrap_or(1e-5);
    if epsilon.is_finite() && epsilon >= 0.0 {
        return Ok(epsilon);
    }
    Err(Refusal::value("epsilon", epsilon, "finite and at least 0"))
}

pub(super) fn layer_norm(site: &Site) -> Result<Meaning, Refusal> {
    site.outputs(1)?;
    site.only("stash_type", 1)?;
    let axis = site.axis("axis", site.int("axis")?.unwrap_or(-1), site.rank(0, "X")?)?;
    site.op_of_all(Op::LayerNormalization { axis, epsilon: epsilon(site)? })
}

pub(super) fn batch_norm(site: &Site) -> Result<Meaning, Refusal> {
    site.outputs(1)?;
    site.only("training_mode", 0)?;
    site.ignore(&["momentum"]);
    site.op_of_all(Op::BatchNormalization { epsilon: epsilon(site)? })
}

pub(super) fn softmax(site: &Site) -> Result<Meaning, Refusal> {
    let rank = site.rank(0, "input")?;
    let flattens = site.opset < 13;
    let axis = site.axis("axis", site.int("axis")?.unwrap_or(if flattens { 1 } else { -1 }), rank)?;
    site.op_of_all(Op::Softmax { first: axis, last: if flattens { rank - 1 } else { axis } })
}

/// A reduction whose axes are an input from opset `since` on, and an attribute before.
fn reduce(site: &Site, kind: Reduction, since: i64) -> Result<Meaning, Refusal> {
    let rank = site.rank(0, "data")?;
    let axes =
        if site.opset >= since { site.constant_ints(1, "axes")? } else { site.ints("axes")?.map(<[i64]>::to_vec) };
    let keep = site.flag("keepdims", true)?;
    let noop = site.flag("noop_with_empty_axes", false)?;
    let axes = match axes.filter(|list| !list.is_empty()) {
        Some(list) => site.axes("axes", &list, rank)?,
        None if noop => return site.op(Op::Identity, &[0]),
        None => (0..rank).collect(),
    };
    let mut axes = axes;
    axes.sort_unstable();
    site.op(Op::Reduce { kind, axes, keep }, &[0])
}

pub(super) fn reduce_mean(site: &Site) -> Result<Meaning, Refusal> {
    reduce(site, Reduction::Mean, 18)
}

pub(super) fn reduce_sum(site: &Site) -> Result<Meaning, Refusal> {
    reduce(site, Reduction::Sum, 13)
}

pub(super) fn reduce_max(site: &Site) -> Result<Meaning, Refusal> {
    reduce(site, Reduction::Max, 18)
}

pub(super) fn reduce_min(site: &Site) -> Result<Meaning, Refusal> {
    reduce(site, Reduction::Min, 18)
}

pub(super) fn argmax(site: &Site) -> Result<Meaning, Refusal> {
    let axis = site.axis("axis", site.int("axis")?.unwrap_or(0), site.rank(0, "data")?)?;
    let keep = site.flag("keepdims", true)?;
    let tie = if site.flag("select_last_index", false)? { Tie::Last } else { Tie::First };
    site.op_of_all(Op::ArgMax { axis, keep, tie })
}
