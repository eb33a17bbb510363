//! Captions in an 8 x 8 bitmap font.

use font8x8::legacy::BASIC_LEGACY;
use image::{Rgb, RgbImage};

/// Pixels of a character, each way, at size 1.
const CELL: u32 = 8;

/// How a text is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pen {
    /// Pixels of the picture for one of the font.
    pub(crate) size: u32,
    /// Colour.
    pub(crate) colour: [u8; 3],
}

impl Pen {
    /// Height of a line.
    pub(crate) fn height(self) -> u32 {
        CELL * self.size
    }

    /// Width of a text.
    pub(crate) fn width(self, text: &str) -> u32 {
        CELL * self.size * text.chars().count() as u32
    }

    /// Draws a text from its upper left corner. What leaves the picture is cut; characters that the font lacks are `?`.
    pub(crate) fn write(self, picture: &mut RgbImage, (x, y): (u32, u32), text: &str) {
        for (i, c) in text.chars().enumerate() {
            let glyph = BASIC_LEGACY.get(c as usize).copied().unwrap_or(BASIC_LEGACY['?' as usize]);
            let left = x + i as u32 * CELL * self.size;
            for (row, bits) in (0..CELL).zip(glyph) {
                for column in (0..CELL).filter(|column| bits >> column & 1 == 1) {
                    let (x, y) = (left + column * self.size, y + row * self.size);
                    fill(picture, (x, y), (self.size, self.size), self.colour);
                }
            }
        }
    }
}

/// Fills a rectangle, as far as it is within the picture.
pub(crate) fn fill(picture: &mut RgbImage, (x, y): (u32, u32), (width, height): (u32, u32), colour: [u8; 3]) {
    for y in y..(y + height).min(picture.height()) {
        for x in x..(x + width).min(picture.width()) {
            picture.put_pixel(x, y, Rgb(colour));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_their_shape() {
        let mut picture = RgbImage::new(20, 8);
        Pen { size: 1, colour: [255; 3] }.write(&mut picture, (0, 0), "L\u{e9}!");
        let row = |y| (0..8).map(|x| if picture.get_pixel(x, y).0[0] > 0 { '#' } else { '.' }).collect::<String>();
        assert_eq!([row(0), row(6), row(7)], ["####....", "#######.", "........"]);
    }
}
