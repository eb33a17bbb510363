//! Nodes that are values: constants, and shapes, which are static here.

use std::sync::Arc;

use ndarray::{ArrayD, IxDyn, arr0, arr1};

use crate::graph::{Tensor, each_tensor};
use crate::operators::site::known;
use crate::operators::{Meaning, Refusal, Site};

/// Elements that ConstantOfShape may give: a few bytes of a file must not take all memory.
const MAX_FILLED: usize = 1 << 24;

pub(super) fn constant(site: &Site) -> Result<Meaning, Refusal> {
    if let Some(tensor) = site.tensor("value")? {
        return Ok(Meaning::Value(Arc::new(tensor)));
    }
    if let Some(value) = site.float("value_float")? {
        return Ok(known(arr0(value).into_dyn()));
    }
    if let Some(values) = site.floats("value_floats")? {
        return Ok(known(arr1(values).into_dyn()));
    }
    if let Some(value) = site.int("value_int")? {
        return Ok(known(arr0(value).into_dyn()));
    }
    if let Some(values) = site.ints("value_ints")? {
        return Ok(known(arr1(values).into_dyn()));
    }
    Err(Refusal::AttributeMissing { name: "value" })
}

pub(super) fn constant_of_shape(site: &Site) -> Result<Meaning, Refusal> {
    let list = site.constant_ints(0, "input")?.ok_or(Refusal::Missing { name: "input" })?;
    let shape = crate::onnx::tensor::shape(&list).map_err(|source| Refusal::Tensor { name: "input", source })?;
    if shape.iter().product::<usize>() > MAX_FILLED {
        let legal = format!("a shape of at most {MAX_FILLED} elements");
        return Err(Refusal::value("input", format!("{shape:?}"), legal));
    }
    let value = site.tensor("value")?.unwrap_or_else(|| Tensor::from(arr1(&[0.0_f32]).into_dyn()));
    if value.len() != 1 {
        return Err(Refusal::value("value", format!("{} elements", value.len()), "one element"));
    }
    each_tensor!(&value, a => {
        let element = a.iter().next().copied().unwrap_or_default();
        Ok(known(ArrayD::from_elem(IxDyn(&shape), element)))
    })
}

pub(super) fn shape(site: &Site) -> Result<Meaning, Refusal> {
    let x = site.input(0, "data")?.ty;
    let rank = x.shape.len() as i64;
    let bound = |at: i64| if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank) as usize;
    let (start, end) = (bound(site.int("start")?.unwrap_or(0)), bound(site.int("end")?.unwrap_or(rank)));
    let extents: Vec<i64> = x.shape[start..end.max(start)].iter().map(|&n| n as i64).collect();
    Ok(known(arr1(&extents).into_dyn()))
}
