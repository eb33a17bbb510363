//! The error of each node along the network, as a picture.

use image::RgbImage;

use crate::picture::caption::{Pen, fill};
use crate::picture::to_png;
use crate::validate::report::{NodeResult, Status, Validation};

const INK: Pen = Pen { size: 1, colour: [40, 40, 40] };
const PAPER: [u8; 3] = [255, 255, 255];
const GRID: [u8; 3] = [222, 222, 222];
const PASS: [u8; 3] = [58, 110, 165];
const FAIL: [u8; 3] = [200, 40, 40];

/// Decades below 1 that have a place: 1 in a million has the lowest bar.
const DECADES: u32 = 6;
const DECADE: u32 = 24;
const PANEL: u32 = DECADE * DECADES;
const LEFT: u32 = 56;
const MARGIN: u32 = 24;
const HEADING: u32 = 20;
const FOOT: u32 = 16;

/// Nodes that have a column; a network of more is drawn as far as that.
const MAX_COLUMNS: usize = 8000;

/// The bytes of a PNG file with two panels, a column for each row of the validation: the share of elements that differ on the
/// reference's inputs, and after the whole network, from 1 in a million to all, each line a factor of ten. Failing nodes are
/// red.
pub fn picture(validation: &Validation) -> Vec<u8> {
    let rows = &validation.nodes[..validation.nodes.len().min(MAX_COLUMNS)];
    let n = rows.len().max(1) as u32;
    let column = (1200 / n).clamp(2, 16);
    let title = format!("{} against {}: share of elements that differ, isolated", validation.of, validation.against);
    let width = (n * column).max(INK.width(&title));
    let mut canvas =
        RgbImage::from_pixel(LEFT + width + MARGIN, 2 * (HEADING + PANEL + FOOT) + MARGIN, image::Rgb(PAPER));
    INK.write(&mut canvas, (LEFT, 4), &title);
    panel(&mut canvas, HEADING, column, rows, |row| row.isolated.as_ref().map(|c| c.mismatches));
    let second = 2 * HEADING + PANEL + FOOT;
    INK.write(&mut canvas, (LEFT, second - 16), "accumulated");
    panel(&mut canvas, second, column, rows, |row| row.accumulated.as_ref().map(|c| c.mismatches));
    to_png(&canvas)
}

fn panel(
    canvas: &mut RgbImage,
    top: u32,
    column: u32,
    rows: &[NodeResult],
    mismatches: impl Fn(&NodeResult) -> Option<usize>,
) {
    for decade in 0..=DECADES {
        let y = top + decade * DECADE;
        fill(canvas, (LEFT, y), (rows.len() as u32 * column, 1), GRID);
        let label = if decade == 0 { "1".to_owned() } else { format!("1e-{decade}") };
        INK.write(canvas, (LEFT - INK.width(&label) - 6, y - 4), &label);
    }
    for (i, row) in (0..).zip(rows) {
        let colour = if row.status == Status::Pass { PASS } else { FAIL };
        let height = mismatches(row).map_or(PANEL, |count| height(count, row.total));
        let left = LEFT + i * column;
        fill(canvas, (left, top + PANEL - height), (column - column / 4, height), colour);
        if i % 50 == 0 {
            INK.write(canvas, (left, top + PANEL + 4), &i.to_string());
        }
    }
}

/// Pixels of a bar; at least 2 where anything differs.
fn height(mismatches: usize, total: usize) -> u32 {
    if mismatches == 0 {
        return 0;
    }
    let decades = (mismatches as f64 / total.max(1) as f64).log10() + f64::from(DECADES);
    ((decades * f64::from(DECADE)) as u32).clamp(2, PANEL)
}
