//! Which lane is which PE. Two parts, each with its own groups, PEs row-major within it: the core array, and the border
//! columns, whose rows have the west columns first and the east ones behind.

use crate::isa::operand::Dir;

use super::group::{LANES, Lanes, Predicates, slot};

/// Sizes of an array, in PEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Rows, at least 1.
    pub rows: usize,
    /// Columns without the border, at least 1.
    pub cols: usize,
    /// Border columns on each side.
    pub border: usize,
}

/// Groups of one part.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Values, `stride` entries a group, by [`slot`]; PE `i` of the part in lane `i % 64` of group `i / 64`.
    pub mem: Vec<Lanes>,
    /// Slots from a group to the next.
    pub stride: usize,
    /// Slots that exist: the stride without its padding.
    pub n_slots: usize,
    /// Predicates by group.
    pub preds: Vec<Predicates>,
    /// PEs of a row.
    pub width: usize,
    /// By side and group: lanes whose neighbour on that side is in this part.
    pub inner: [Vec<u64>; 4],
    /// By side and group: lanes whose neighbour on that side is in the other part.
    pub across: [Vec<u64>; 4],
}

/// A run of PEs of one row that lie in one group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub border: bool,
    pub group: usize,
    pub lane: usize,
    pub len: usize,
}

impl Geometry {
    /// Columns with both borders.
    pub const fn full_cols(self) -> usize {
        self.cols + 2 * self.border
    }
    /// Row and column of the neighbour on a side, if there is one.
    fn neighbour(self, row: usize, col: i32, side: Dir) -> Option<(usize, i32)> {
        let (row, col) = match side {
            Dir::North => (row.checked_sub(1)?, col),
            Dir::East => (row, col + 1),
            Dir::South => (row + 1, col),
            Dir::West => (row, col - 1),
        };
        let (cols, border) = (self.cols as i32, self.border as i32);
        (row < self.rows && (-border..cols + border).contains(&col)).then_some((row, col))
    }
    fn in_border(self, col: i32) -> bool {
        !(0..self.cols as i32).contains(&col)
    }
    /// Whether a column is in the border, and the PE's index within its part.
    ///
    /// # Panics
    /// If the PE does not exist.
    pub(super) fn index(self, row: usize, col: i32) -> (bool, usize) {
        let (cols, border) = (self.cols as i32, self.border as i32);
        assert!(row < self.rows && (-border..cols + border).contains(&col), "PE ({row}, {col}) does not exist");
        if (0..cols).contains(&col) {
            return (false, row * self.cols + col as usize);
        }
        let within = if col < 0 { col + border } else { col - cols + border };
        (true, row * 2 * self.border + within as usize)
    }
    /// Row and column of a PE of a part.
    pub(super) fn position(self, border: bool, index: usize) -> (usize, i32) {
        if !border {
            return (index / self.cols, (index % self.cols) as i32);
        }
        let (row, within) = (index / (2 * self.border), index % (2 * self.border));
        let east = within >= self.border;
        (row, within as i32 - self.border as i32 + if east { self.cols as i32 } else { 0 })
    }
    /// PEs of a part.
    pub(super) fn n_lanes(self, border: bool) -> usize {
        self.rows * if border { 2 * self.border } else { self.cols }
    }
    /// The runs of `n` PEs of a row from column `col` on, west to east.
    pub(super) fn segments(self, row: usize, col: i32, n: usize) -> impl Iterator<Item = Segment> {
        let end = col + n as i32;
        let mut at = col;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (border, index) = self.index(row, at);
            let part_end = match at {
                ..0 => 0,
                at if at < self.cols as i32 => self.cols as i32,
                _ => i32::MAX,
            };
            let lane = index % LANES;
            let len = ((end.min(part_end) - at) as usize).min(LANES - lane);
            at += len as i32;
            Some(Segment { border, group: index / LANES, lane, len })
        })
    }
}

impl Part {
    /// The core or border part of an array, all zero, all PEs enabled.
    pub fn new(geometry: Geometry, border: bool, n_words: usize) -> Self {
        let n_lanes = geometry.n_lanes(border);
        let n_groups = n_lanes.div_ceil(LANES);
        let n_slots = slot::LRM as usize + n_words;
        // An odd number of slots lets one slot of 16 consecutive groups fill a 4 kB way of the host's cache, where an even
        // one would let them compete for a part of it.
        let stride = n_slots | 1;
        let mut part = Self {
            mem: vec![Lanes::ZERO; n_groups * stride],
            stride,
            n_slots,
            preds: (0..n_groups).map(|g| Predicates::new(n_lanes - g * LANES)).collect(),
            width: if border { 2 * geometry.border } else { geometry.cols },
            inner: std::array::from_fn(|_| vec![0; n_groups]),
            across: std::array::from_fn(|_| vec![0; n_groups]),
        };
        for index in 0..n_lanes {
            let (row, col) = geometry.position(border, index);
            let (g, lane) = (index / LANES, index % LANES);
            part.lanes_mut(g, slot::Q_ROW).0[lane] = row as i32;
            part.lanes_mut(g, slot::Q_COL).0[lane] = col;
            for side in Dir::ALL {
                let inside = geometry.neighbour(row, col, side).map(|(_, col)| geometry.in_border(col) == border);
                part.inner[side as usize][g] |= ((inside == Some(true)) as u64) << lane;
                part.across[side as usize][g] |= ((inside == Some(false)) as u64) << lane;
            }
        }
        part
    }
    /// A slot of a group.
    ///
    /// # Panics
    /// If it is outside the group's memory.
    pub fn lanes(&self, group: usize, slot: u32) -> &Lanes {
        assert!((slot as usize) < self.n_slots, "slot {slot} is outside local memory");
        &self.mem[group * self.stride + slot as usize]
    }
    /// As [`lanes`](Self::lanes), to write.
    pub fn lanes_mut(&mut self, group: usize, slot: u32) -> &mut Lanes {
        assert!((slot as usize) < self.n_slots, "slot {slot} is outside local memory");
        &mut self.mem[group * self.stride + slot as usize]
    }
    /// Groups of the part.
    pub fn n_groups(&self) -> usize {
        self.preds.len()
    }
    /// Whether the PE is enabled.
    pub fn enabled(&self, index: usize) -> bool {
        self.preds[index / LANES].enable >> (index % LANES) & 1 == 1
    }
    /// Whether every PE is enabled.
    pub fn all_enabled(&self) -> bool {
        self.preds.iter().all(|p| p.enable == p.live)
    }
}
