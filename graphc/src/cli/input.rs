//! Inputs of a network from files.

use std::path::Path;

use anyhow::Context;
use graphc::graph::{Graph, Tensor};
use graphc::npy;
use graphc::picture::{Frame, MAX_EXTENT, picture_extents};

/// The input `name` of a graph: an array, or a picture that is resized to what the graph takes and normalised as for
/// ImageNet.
pub fn read(graph: &Graph, name: &str, path: &Path) -> anyhow::Result<Tensor> {
    tensor(graph, name, path).with_context(|| format!("input `{name}`, `{}`", path.display()))
}

fn tensor(graph: &Graph, name: &str, path: &Path) -> anyhow::Result<Tensor> {
    let is_array = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
    if is_array {
        return Ok(npy::read(path)?);
    }
    let (height, width) = extents(graph, name)?;
    Ok(Frame::read(path)?.pixel_values(height, width))
}

/// Height and width of an input that a picture can be.
pub fn extents(graph: &Graph, name: &str) -> anyhow::Result<(u32, u32)> {
    let value = graph.inputs().iter().map(|&id| graph.value(id)).find(|value| value.name == name);
    let ty = &value.with_context(|| format!("the network has no input `{name}`"))?.ty;
    picture_extents(ty).with_context(|| {
        format!("{ty} is no picture: expected f32[1x3xHxW] of at most {MAX_EXTENT} rows and columns, or a `.npy` file")
    })
}
