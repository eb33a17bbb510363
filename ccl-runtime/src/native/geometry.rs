//! The array: which lane of a vector belongs to which PE.

use iss::target::Target;

/// Vectors are padded to a multiple of this, so that lane loops have no rest.
const PADDING: usize = 64;

/// Extents of an array. Lanes: the array row by row, then the western border row by row, then the eastern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Rows of PEs.
    pub rows: usize,
    /// Columns of PEs, without the border.
    pub cols: usize,
    /// Border columns on each side.
    pub border: usize,
}

impl Geometry {
    /// The array of a machine.
    pub fn of(target: &Target) -> Self {
        let spec = target.spec();
        Self { rows: spec.rows as usize, cols: spec.cols as usize, border: spec.border as usize }
    }

    /// Lanes of the array proper; they come first.
    pub const fn core(&self) -> usize {
        self.rows * self.cols
    }

    /// Lanes that belong to a PE, border included.
    pub const fn lanes(&self) -> usize {
        self.rows * (self.cols + 2 * self.border)
    }

    /// Length of a vector.
    pub const fn padded(&self) -> usize {
        self.lanes().next_multiple_of(PADDING)
    }

    /// Lane of a PE; columns are counted as `q_col` counts them.
    pub const fn lane(&self, row: usize, col: isize) -> Option<usize> {
        let (cols, border) = (self.cols as isize, self.border as isize);
        if row >= self.rows || col < -border || col >= cols + border {
            None
        } else if col < 0 {
            Some(self.core() + row * self.border + (col + border) as usize)
        } else if col < cols {
            Some(row * self.cols + col as usize)
        } else {
            Some(self.core() + self.rows * self.border + row * self.border + (col - cols) as usize)
        }
    }

    /// Row and column of a lane; padding is counted on below the eastern border.
    pub const fn place(&self, lane: usize) -> (usize, isize) {
        if lane < self.core() {
            return (lane / self.cols, (lane % self.cols) as isize);
        }
        let (rest, border) = (lane - self.core(), if self.border == 0 { 1 } else { self.border });
        let west = self.rows * self.border;
        if rest < west {
            (rest / border, (rest % border) as isize - self.border as isize)
        } else {
            ((rest - west) / border, (self.cols + (rest - west) % border) as isize)
        }
    }

    /// Copies columns `first..first + row.len()` of a row into the lanes that exist.
    pub(crate) fn put_row<L: Copy>(&self, lanes: &mut [L], r: usize, first: isize, row: &[L]) {
        self.segments(r, first, row.len(), |lane, at, n| lanes[lane..lane + n].copy_from_slice(&row[at..at + n]));
    }

    /// Copies the lanes of columns `first..first + row.len()` into `row`; what no PE holds stays.
    pub(crate) fn get_row<L: Copy>(&self, lanes: &[L], r: usize, first: isize, row: &mut [L]) {
        self.segments(r, first, row.len(), |lane, at, n| row[at..at + n].copy_from_slice(&lanes[lane..lane + n]));
    }

    /// Runs of adjacent lanes in columns `first..first + len` of row `r`: first lane, offset in the row, length.
    fn segments(&self, r: usize, first: isize, len: usize, mut each: impl FnMut(usize, usize, usize)) {
        let (cols, border) = (self.cols as isize, self.border as isize);
        let end = first + len as isize;
        for (lo, hi) in [(-border, 0), (0, cols), (cols, cols + border)] {
            let (from, to) = (lo.max(first), hi.min(end));
            if from < to {
                let lane = self.lane(r, from).expect("the run lies in the array or its border");
                each(lane, (from - first) as usize, (to - from) as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_and_place_are_inverse() {
        for g in
            [(8, 8, 4), (32, 32, 4), (3, 5, 0), (5, 7, 2)].map(|(rows, cols, border)| Geometry { rows, cols, border })
        {
            for lane in 0..g.lanes() {
                let (row, col) = g.place(lane);
                assert_eq!(g.lane(row, col), Some(lane), "{g:?}");
            }
            assert_eq!(g.lane(0, -(g.border as isize) - 1), None);
            assert_eq!(g.lane(g.rows, 0), None);
        }
    }
}
