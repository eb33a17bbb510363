//! Overlays, differences, and panels of pictures beside each other.

use image::{Rgb, RgbImage};

use crate::picture::caption::{Pen, fill};
use crate::picture::{Frame, LabelMap, Palette, PictureError};

/// Pixels between pictures and around them.
const GAP: u32 = 8;
const PAPER: [u8; 3] = [24, 26, 30];
const INK: [u8; 3] = [236, 236, 236];
/// Where label maps differ.
const DIFFERENT: [u8; 3] = [255, 40, 90];
/// Classes that a legend names.
const MAX_LEGEND: usize = 20;

/// A frame under the half transparent colours of its labels; the frame is resized to the map.
pub fn overlay(frame: &Frame, map: &LabelMap, palette: &Palette) -> RgbImage {
    let (height, width) = map.extents();
    let mut picture = frame.resized(height as u32, width as u32).pixels().clone();
    for (x, y, pixel) in picture.enumerate_pixels_mut() {
        let colour = palette.colour(map.labels()[[y as usize, x as usize]]);
        // Two fifths of the frame, so that its shapes stay visible.
        pixel.0 = std::array::from_fn(|c| ((u32::from(pixel.0[c]) * 2 + u32::from(colour[c]) * 3) / 5) as u8);
    }
    picture
}

/// Where two label maps differ, over the darkened frame.
///
/// # Errors
/// [`PictureError::Extents`].
pub fn differences(frame: &Frame, a: &LabelMap, b: &LabelMap) -> Result<RgbImage, PictureError> {
    a.same_extents(b)?;
    let (height, width) = a.extents();
    let mut picture = frame.resized(height as u32, width as u32).pixels().clone();
    for (x, y, pixel) in picture.enumerate_pixels_mut() {
        let at = [y as usize, x as usize];
        let [red, green, blue] = pixel.0.map(u32::from);
        let grey = ((red * 3 + green * 6 + blue) / 30) as u8;
        *pixel = Rgb(if a.labels()[at] == b.labels()[at] { [grey; 3] } else { DIFFERENT });
    }
    Ok(picture)
}

/// A picture of a panel.
#[derive(Debug, Clone)]
pub struct Cell {
    /// What stands above it.
    pub caption: String,
    /// The picture.
    pub picture: RgbImage,
}

/// Pictures in rows of so many columns under their captions, and below them the classes of `map` with their colours.
pub fn panel(cells: &[Cell], columns: usize, map: &LabelMap, palette: &Palette) -> RgbImage {
    let columns = columns.clamp(1, cells.len().max(1)) as u32;
    let rows = (cells.len() as u32).div_ceil(columns);
    let widest = cells.iter().map(|cell| cell.picture.width()).max().unwrap_or(0);
    let highest = cells.iter().map(|cell| cell.picture.height()).max().unwrap_or(0);
    let pen = Pen { size: if widest >= 400 { 2 } else { 1 }, colour: INK };
    let (step_x, step_y) = (widest + GAP, highest + pen.height() + 2 * GAP);
    let width = GAP + columns * step_x;
    let legend = Legend::of(map, palette, width);
    let mut panel = RgbImage::from_pixel(width, rows * step_y + legend.height() + GAP, Rgb(PAPER));
    for (i, cell) in (0..).zip(cells) {
        let (x, y) = (GAP + i % columns * step_x, GAP + i / columns * step_y);
        pen.write(&mut panel, (x, y), &cell.caption);
        image::imageops::replace(&mut panel, &cell.picture, x.into(), (y + pen.height() + GAP / 2).into());
    }
    legend.draw(&mut panel, rows * step_y + GAP / 2);
    panel
}

/// Names of classes beside their colours, in as many columns as fit.
struct Legend {
    entries: Vec<(String, [u8; 3])>,
    columns: u32,
    step: (u32, u32),
}

impl Legend {
    const PEN: Pen = Pen { size: 1, colour: INK };

    fn of(map: &LabelMap, palette: &Palette, width: u32) -> Self {
        let total = map.labels().len().max(1) as f64;
        let entry = |&(label, n): &(u8, usize)| {
            (format!("{} {:.1} %", palette.name(label), 100.0 * n as f64 / total), palette.colour(label))
        };
        let entries: Vec<(String, [u8; 3])> = map.classes().iter().take(MAX_LEGEND).map(entry).collect();
        let widest = entries.iter().map(|(text, _)| Self::PEN.width(text)).max().unwrap_or(0);
        let step = (widest + Self::box_side() + 3 * GAP, Self::box_side() + GAP / 2);
        Self { entries, columns: (width.saturating_sub(GAP) / step.0.max(1)).max(1), step }
    }

    const fn box_side() -> u32 {
        12
    }

    fn height(&self) -> u32 {
        (self.entries.len() as u32).div_ceil(self.columns) * self.step.1
    }

    fn draw(&self, panel: &mut RgbImage, top: u32) {
        for (i, (text, colour)) in (0..).zip(&self.entries) {
            let (x, y) = (GAP + i % self.columns * self.step.0, top + i / self.columns * self.step.1);
            fill(panel, (x, y), (Self::box_side(), Self::box_side()), *colour);
            Self::PEN.write(panel, (x + Self::box_side() + GAP, y + 2), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, arr2};

    use super::*;
    use crate::picture::palette::CITY19;

    #[test]
    fn an_overlay_mixes_and_a_difference_marks() {
        let frame: Frame = RgbImage::from_pixel(2, 1, Rgb([100, 0, 200])).into();
        let (a, b) = (LabelMap::new(arr2(&[[0, 13]])), LabelMap::new(arr2(&[[0, 8]])));
        assert_eq!(overlay(&frame, &a, &CITY19).get_pixel(0, 0), &Rgb([116, 38, 156]));
        let differ = differences(&frame, &a, &b).unwrap();
        assert_eq!([differ.get_pixel(0, 0).0, differ.get_pixel(1, 0).0], [[16; 3], DIFFERENT]);
        assert!(differences(&frame, &a, &LabelMap::new(arr2(&[[0]]))).is_err());
    }

    #[test]
    fn a_panel_has_room_for_pictures_captions_and_legend() {
        let map = LabelMap::new(Array2::from_shape_fn((40, 100), |(y, _)| (y / 8) as u8));
        let cells: Vec<Cell> = ["input", "a", "b"]
            .map(|caption| Cell { caption: caption.to_owned(), picture: RgbImage::from_pixel(100, 40, Rgb([9, 9, 9])) })
            .into();
        let panel = panel(&cells, 2, &map, &CITY19);
        let count = |colour: [u8; 3]| panel.pixels().filter(|pixel| pixel.0 == colour).count();
        assert_eq!(count([9, 9, 9]), 3 * 4000, "every picture is whole");
        assert_eq!(
            (0..5).map(|label| count(CITY19.colour(label))).collect::<Vec<_>>(),
            [144; 5],
            "a box for each class"
        );
        assert!(count(INK) > 100, "captions");
    }
}
