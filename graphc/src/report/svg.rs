//! Drawings in pages.

use std::fmt::Write;

use iss::isa::Class;
use iss::profile::figure::grouped;

use crate::report::Row;
use crate::report::html::escape;
use crate::run::report::{MemoryKind, Placement, RunReport};

/// Width and height of the bar of a row.
const BAR: (f64, u32) = (220.0, 14);

/// The colour of a class; what has none is grey.
pub(super) fn colour(class: Option<Class>) -> &'static str {
    match class {
        None => "#8a8f98",
        Some(Class::Predication) => "#b07aa1",
        Some(Class::Compute) => "#4e79a7",
        Some(Class::DataArray) => "#76b7b2",
        Some(Class::Mac) => "#59a14f",
        Some(Class::DataExternal) => "#e15759",
        Some(Class::DataOcm) => "#f28e2b",
    }
}

/// The bar of a row, each part with its share as a title.
pub(super) fn bar(row: &Row) -> String {
    let (width, height) = BAR;
    let mut svg = format!("<svg width=\"{width}\" height=\"{height}\" role=\"img\">");
    let mut x = 0.0;
    for (class, share) in &row.bar {
        let part = share.clamp(0.0, 1.0) * width;
        let title = class.map(|class| format!("<title>{class}</title>")).unwrap_or_default();
        let fill = colour(*class);
        let _ =
            write!(svg, "<rect x=\"{x:.2}\" width=\"{part:.2}\" height=\"{height}\" fill=\"{fill}\">{title}</rect>");
        x += part;
    }
    svg + "</svg>"
}

/// The map of on-chip memory: kernels from left to right, addresses upwards; `None` if nothing lies there.
pub(super) fn memory(report: &RunReport) -> Option<String> {
    const SIZE: (f64, f64) = (960.0, 360.0);
    let places: Vec<&Placement> = report.memory.iter().filter(|place| place.memory == MemoryKind::Ocm).collect();
    let top = places.iter().map(|place| place.offset + place.bytes).max().filter(|&top| top > 0)?;
    let columns = report.kernels.len().max(1) as f64;
    let (step, scale) = (SIZE.0 / columns, SIZE.1 / top as f64);
    let mut svg = format!("<svg width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">", SIZE.0, SIZE.1);
    for (i, place) in places.into_iter().enumerate() {
        let (first, last) = (place.first as f64, (place.last as f64 + 1.0).min(columns));
        let (x, width) = (first * step, ((last - first) * step).max(1.0));
        let (height, hue) = (place.bytes as f64 * scale, (i * 47) % 360);
        let y = SIZE.1 - place.offset as f64 * scale - height;
        let (name, bytes) = (escape(&place.name), grouped(place.bytes));
        let _ = write!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"hsl({hue},55%,62%)\" \
             stroke=\"#fff\"><title>{name}: {bytes} bytes from {}</title></rect>",
            grouped(place.offset)
        );
    }
    Some(svg + "</svg>")
}
