//! The error of each node along the network, as a picture.

use font8x8::legacy::BASIC_LEGACY;
use png::{BitDepth, ColorType, Encoder};

use crate::validate::report::{NodeResult, Status, Validation};

const INK: [u8; 3] = [40, 40, 40];
const PAPER: [u8; 3] = [255, 255, 255];
const GRID: [u8; 3] = [222, 222, 222];
const PASS: [u8; 3] = [58, 110, 165];
const FAIL: [u8; 3] = [200, 40, 40];

/// Smallest share of differing elements that has a bar of its own height.
const FLOOR_DECADES: usize = 6;
const DECADE: usize = 24;
const PANEL: usize = DECADE * FLOOR_DECADES;
const LEFT: usize = 56;
const MARGIN: usize = 24;
const HEADING: usize = 20;
const FOOT: usize = 16;

/// Two panels, a column for each row of the validation: the share of elements that differ on the reference's inputs, and
/// after the whole network, from 1 in a million to all, each line a factor of ten. Failing nodes are red.
///
/// # Errors
/// The encoder's, for a network of more nodes than a picture has columns.
pub fn picture(validation: &Validation) -> Result<Vec<u8>, png::EncodingError> {
    let n = validation.nodes.len().max(1);
    let column = (1200 / n).clamp(2, 16);
    let mut canvas = Canvas::new(LEFT + n * column + MARGIN, 2 * (HEADING + PANEL + FOOT) + MARGIN);
    let title = format!("{} against {}: share of elements that differ", validation.of, validation.against);
    canvas.text(LEFT, 6, &format!("{title}, isolated"));
    panel(&mut canvas, HEADING, column, &validation.nodes, |row| row.isolated.as_ref().map(|c| c.mismatches));
    let second = 2 * HEADING + PANEL + FOOT;
    canvas.text(LEFT, second - 14, "accumulated");
    panel(&mut canvas, second, column, &validation.nodes, |row| row.accumulated.as_ref().map(|c| c.mismatches));
    canvas.encode()
}

fn panel(
    canvas: &mut Canvas,
    top: usize,
    column: usize,
    rows: &[NodeResult],
    mismatches: impl Fn(&NodeResult) -> Option<usize>,
) {
    let width = rows.len() * column;
    for decade in 0..=FLOOR_DECADES {
        let y = top + decade * DECADE;
        canvas.fill(LEFT, y, width, 1, GRID);
        let label = if decade == 0 { "1".to_owned() } else { format!("1e-{decade}") };
        canvas.text(LEFT - 8 * label.len() - 6, y.saturating_sub(4), &label);
    }
    for (i, row) in rows.iter().enumerate() {
        let colour = if row.status == Status::Pass { PASS } else { FAIL };
        let height = mismatches(row).map_or(PANEL, |count| height(count, row.total));
        canvas.fill(LEFT + i * column, top + PANEL - height, column - column / 4, height, colour);
        if i % 50 == 0 {
            canvas.text(LEFT + i * column, top + PANEL + 4, &i.to_string());
        }
    }
}

/// Pixels of a bar; at least 2 where anything differs.
fn height(mismatches: usize, total: usize) -> usize {
    if mismatches == 0 {
        return 0;
    }
    let decades = (mismatches as f64 / total.max(1) as f64).log10() + FLOOR_DECADES as f64;
    ((decades * DECADE as f64) as usize).clamp(2, PANEL)
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Canvas { width, height, pixels: PAPER.repeat(width * height) }
    }

    fn set(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        if x < self.width && y < self.height {
            let at = 3 * (y * self.width + x);
            self.pixels[at..at + 3].copy_from_slice(&colour);
        }
    }

    fn fill(&mut self, left: usize, top: usize, width: usize, height: usize, colour: [u8; 3]) {
        for y in top..top + height {
            (left..left + width).for_each(|x| self.set(x, y, colour));
        }
    }

    /// Letters of 8 x 8 pixels; what is not ASCII is left out.
    fn text(&mut self, left: usize, top: usize, text: &str) {
        let glyphs = text.chars().filter_map(|c| BASIC_LEGACY.get(c as usize));
        for (i, glyph) in glyphs.enumerate() {
            for (y, row) in glyph.iter().enumerate() {
                for x in (0..8).filter(|x| row >> x & 1 == 1) {
                    self.set(left + 8 * i + x, top + y, INK);
                }
            }
        }
    }

    fn encode(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        encoder.write_header()?.write_image_data(&self.pixels)?;
        Ok(bytes)
    }
}
