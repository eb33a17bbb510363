//! Resize.

use ccl_golden::resize::{Coordinates, Nearest, Resize};

use crate::graph::Op;
use crate::graph::op::Interpolation;
use crate::operators::{Meaning, Refusal, Site};

pub(super) fn resize(site: &Site) -> Result<Meaning, Refusal> {
    let interpolation = interpolation(site)?;
    let coordinates = coordinates(site)?;
    site.only("antialias", 0)?;
    site.only("exclude_outside", 0)?;
    site.ignore(&["cubic_coeff_a", "extrapolation_value"]); // of modes that are refused
    let policy = site.text("keep_aspect_ratio_policy", "stretch")?;
    if policy != "stretch" {
        return Err(Refusal::value("keep_aspect_ratio_policy", policy, "stretch"));
    }
    let x = site.input(0, "X")?.ty;
    let rank = x.shape.len();
    let axes = match site.ints("axes")? {
        Some(list) => site.axes("axes", list, rank)?,
        None => (0..rank).collect(),
    };
    let scales = site.constant_floats(2, "scales")?.filter(|list| !list.is_empty());
    let sizes = site.constant_ints(3, "sizes")?.filter(|list| !list.is_empty());
    let spread = |n: usize| {
        let legal = format!("{} numbers, one per axis", axes.len());
        if n == axes.len() { Ok(()) } else { Err(Refusal::value("scales or sizes", format!("{n} numbers"), legal)) }
    };
    let resize = match (scales, sizes) {
        (Some(scales), None) => {
            spread(scales.len())?;
            let mut full = vec![1.0; rank];
            axes.iter().zip(&scales).for_each(|(&axis, &scale)| full[axis] = scale);
            Resize::by_scales(&x.shape, &full, coordinates)?
        }
        (None, Some(sizes)) => {
            spread(sizes.len())?;
            let mut full = x.shape.clone();
            for (&axis, &size) in axes.iter().zip(&sizes) {
                full[axis] = usize::try_from(size).map_err(|_| Refusal::value("sizes", size, "not negative"))?;
            }
            Resize::to_sizes(&x.shape, &full, coordinates)?
        }
        _ => return Err(Refusal::value("scales and sizes", "both or none", "one of them")),
    };
    site.op(Op::Resize { resize, interpolation }, &[0])
}

fn interpolation(site: &Site) -> Result<Interpolation, Refusal> {
    let nearest = match site.text("nearest_mode", "round_prefer_floor")?.as_str() {
        "round_prefer_floor" => Nearest::RoundPreferFloor,
        "round_prefer_ceil" => Nearest::RoundPreferCeil,
        "floor" => Nearest::Floor,
        "ceil" => Nearest::Ceil,
        other => {
            let legal = "round_prefer_floor, round_prefer_ceil, floor or ceil";
            return Err(Refusal::value("nearest_mode", other, legal));
        }
    };
    match site.text("mode", "nearest")?.as_str() {
        "nearest" => Ok(Interpolation::Nearest(nearest)),
        "linear" => Ok(Interpolation::Linear),
        other => Err(Refusal::value("mode", other, "nearest or linear")),
    }
}

fn coordinates(site: &Site) -> Result<Coordinates, Refusal> {
    let name = "coordinate_transformation_mode";
    Ok(match site.text(name, "half_pixel")?.as_str() {
        "half_pixel" => Coordinates::HalfPixel,
        "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
        "asymmetric" => Coordinates::Asymmetric,
        "align_corners" => Coordinates::AlignCorners,
        other => {
            let legal = "half_pixel, pytorch_half_pixel, asymmetric or align_corners";
            return Err(Refusal::value(name, other, legal));
        }
    })
}
