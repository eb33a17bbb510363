//! A per-PE value laid out as the array: as text with coordinates, and as a picture.

use std::fmt;
use std::io;

use serde::Serialize;

/// One 32-bit value of every PE, the border columns included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grid {
    rows: usize,
    cols: usize,
    border: usize,
    /// Row-major, `cols + 2 * border` values a row.
    values: Vec<i32>,
}

impl Grid {
    pub(super) fn new(rows: usize, cols: usize, border: usize, values: Vec<i32>) -> Self {
        assert_eq!(values.len(), rows * (cols + 2 * border), "a grid has a value for each PE");
        Self { rows, cols, border, values }
    }

    /// Rows of the array.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the array, without the border.
    pub const fn cols(&self) -> usize {
        self.cols
    }

    /// Border columns on each side.
    pub const fn border(&self) -> usize {
        self.border
    }

    /// The value of a PE; columns are counted as `q_col` counts them. `None` outside array and border.
    pub fn get(&self, row: usize, col: isize) -> Option<i32> {
        let at = col.checked_add(self.border as isize).and_then(|c| usize::try_from(c).ok())?;
        let width = self.width();
        (row < self.rows && at < width).then(|| self.values[row * width + at])
    }

    /// The array's values without the border, row by row.
    pub fn core(&self) -> impl Iterator<Item = &[i32]> {
        self.values.chunks_exact(self.width()).map(|row| &row[self.border..self.border + self.cols])
    }

    fn width(&self) -> usize {
        self.cols + 2 * self.border
    }

    /// Smallest and largest value of the array proper.
    pub fn range(&self) -> (i32, i32) {
        self.core().flatten().fold((i32::MAX, i32::MIN), |(lo, hi), v| (lo.min(*v), hi.max(*v)))
    }

    /// Writes the array proper as a grey PNG: smallest value black, largest white, `scale` pixels a PE.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_png(&self, out: impl io::Write, scale: usize) -> io::Result<()> {
        let scale = scale.max(1);
        let (lo, hi) = self.range();
        let span = (hi as i64 - lo as i64).max(1);
        let grey = |v: &i32| ((*v as i64 - lo as i64) * 255 / span) as u8;
        let mut pixels = Vec::with_capacity(self.rows * self.cols * scale * scale);
        for row in self.core() {
            let line: Vec<u8> = row.iter().flat_map(|v| std::iter::repeat_n(grey(v), scale)).collect();
            (0..scale).for_each(|_| pixels.extend_from_slice(&line));
        }
        let mut encoder = png::Encoder::new(out, (self.cols * scale) as u32, (self.rows * scale) as u32);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_image_data(&pixels).map_err(io::Error::other)
    }
}

impl fmt::Display for Grid {
    /// Rows downwards, columns across, border columns set off by bars.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.values.iter().map(|v| v.to_string().len()).max().unwrap_or(1).max(3);
        let bar =
            |at: usize| if self.border > 0 && (at == self.border || at == self.border + self.cols) { " |" } else { "" };
        write!(f, "{:>4}", "")?;
        for at in 0..self.width() {
            write!(f, "{} {:>width$}", bar(at), at as isize - self.border as isize)?;
        }
        writeln!(f)?;
        for (row, values) in self.values.chunks_exact(self.width()).enumerate() {
            write!(f, "{row:>4}")?;
            for (at, value) in values.iter().enumerate() {
                write!(f, "{} {value:>width$}", bar(at))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
