//! Access from outside the instruction stream: engines move rows, the random access unit single elements, the debugger
//! whole grids. None of it looks at predicates unless it says so.

use crate::isa::operand::Width;

use super::geometry::Segment;
use super::group::{LANES, slot};
use super::trace::Operand;
use super::{Array, Place, Source};

impl Array {
    /// Writes `bytes` to consecutive PEs of a row from column `col` on, one little-endian element of the width of `at`
    /// each. The border is written too where the columns lie in it.
    ///
    /// # Panics
    /// If a PE does not exist, `at` is outside local memory or `bytes` is not a whole number of elements.
    pub fn write_row(&mut self, row: usize, col: i32, at: Place, bytes: &[u8]) {
        let size = at.width.bytes() as usize;
        assert!(bytes.len().is_multiple_of(size), "a row holds whole elements");
        if let Some(lanes) = self.whole_row_mut(row, col, bytes.len() / size, at) {
            return write_lanes(lanes, at, bytes);
        }
        let mut rest = bytes;
        for segment in self.geometry.segments(row, col, bytes.len() / size) {
            let (own, left) = rest.split_at(segment.len * size);
            write_lanes(self.segment_mut(segment, at), at, own);
            rest = left;
        }
    }
    /// Reads one element of the width of `at` from consecutive PEs of a row from column `col` on, little-endian.
    ///
    /// # Panics
    /// As [`write_row`](Self::write_row).
    pub fn read_row(&self, row: usize, col: i32, at: Place, bytes: &mut [u8]) {
        let size = at.width.bytes() as usize;
        assert!(bytes.len().is_multiple_of(size), "a row holds whole elements");
        if let Some(lanes) = self.whole_row(row, col, bytes.len() / size, at) {
            return read_lanes(lanes, at, bytes);
        }
        let mut rest = &mut *bytes;
        for segment in self.geometry.segments(row, col, rest.len() / size) {
            let (own, left) = rest.split_at_mut(segment.len * size);
            read_lanes(self.segment(segment, at), at, own);
            rest = left;
        }
    }
    /// The element at `at` of one PE, sign-extended.
    ///
    /// # Panics
    /// If the PE or the address does not exist.
    pub fn get(&self, row: usize, col: i32, at: Place) -> i32 {
        let mut bytes = [0; 4];
        let size = at.width.bytes() as usize;
        self.read_row(row, col, at, &mut bytes[..size]);
        let unused = 32 - 8 * size as u32;
        i32::from_le_bytes(bytes) << unused >> unused
    }
    /// Sets the element at `at` of one PE to the low bits of `value`.
    ///
    /// # Panics
    /// If the PE or the address does not exist.
    pub fn set(&mut self, row: usize, col: i32, at: Place, value: i32) {
        self.write_row(row, col, at, &value.to_le_bytes()[..at.width.bytes() as usize]);
    }
    /// Whether a PE is enabled.
    ///
    /// # Panics
    /// If the PE does not exist.
    pub fn enabled(&self, row: usize, col: i32) -> bool {
        let (border, index) = self.geometry.index(row, col);
        if border { self.border.enabled(index) } else { self.core.enabled(index) }
    }
    /// The predicate bit of a PE.
    ///
    /// # Panics
    /// If the PE does not exist.
    pub fn predicate(&self, row: usize, col: i32) -> bool {
        let (border, index) = self.geometry.index(row, col);
        let part = if border { &self.border } else { &self.core };
        part.preds[index / LANES].pred >> (index % LANES) & 1 == 1
    }
    /// A value in every PE, row-major, rows of [`full_cols`](super::Geometry::full_cols) with the border at either end.
    pub fn read(&self, src: Source) -> Vec<i32> {
        let geometry = self.geometry;
        let from = Operand::from(src);
        let mut flat = [Vec::new(), Vec::new()];
        for (part, flat) in [&self.core, &self.border].into_iter().zip(&mut flat) {
            flat.resize(part.n_groups() * LANES, 0);
            self.host.flatten(&part.mem, part.stride, from, flat);
        }
        let mut grid = Vec::with_capacity(geometry.rows * geometry.full_cols());
        for row in 0..geometry.rows {
            for s in geometry.segments(row, -(geometry.border as i32), geometry.full_cols()) {
                let start = s.group * LANES + s.lane;
                grid.extend_from_slice(&flat[s.border as usize][start..start + s.len]);
            }
        }
        grid
    }
    /// Whether each PE of the core array is enabled, row-major.
    pub fn enabled_core(&self) -> Vec<bool> {
        (0..self.geometry.n_lanes(false)).map(|i| self.core.enabled(i)).collect()
    }
    /// Row and column of the first enabled PE of the core array, row-major, in which `src` is 0.
    pub fn first_enabled_zero(&self, src: Source) -> Option<(usize, usize)> {
        let mut flat = vec![0; self.core.n_groups() * LANES];
        self.host.flatten(&self.core.mem, self.core.stride, Operand::from(src), &mut flat);
        let n_lanes = self.geometry.n_lanes(false);
        let index = (0..n_lanes).find(|i| flat[*i] == 0 && self.core.enabled(*i))?;
        Some((index / self.geometry.cols, index % self.geometry.cols))
    }
    /// Group and first lane of `n` PEs of a core row, if they lie in one group: the usual case, without the general one's
    /// divisions.
    fn whole(&self, row: usize, col: i32, n: usize) -> Option<(usize, usize)> {
        let col = usize::try_from(col).ok()?;
        let index = row * self.geometry.cols + col;
        let lane = index % LANES;
        (row < self.geometry.rows && col + n <= self.geometry.cols && lane + n <= LANES)
            .then_some((index / LANES, lane))
    }
    fn whole_row(&self, row: usize, col: i32, n: usize, at: Place) -> Option<&[i32]> {
        let (group, lane) = self.whole(row, col, n)?;
        Some(&self.core.lanes(group, slot_of(at)).0[lane..lane + n])
    }
    fn whole_row_mut(&mut self, row: usize, col: i32, n: usize, at: Place) -> Option<&mut [i32]> {
        let (group, lane) = self.whole(row, col, n)?;
        Some(&mut self.core.lanes_mut(group, slot_of(at)).0[lane..lane + n])
    }
    fn segment(&self, s: Segment, at: Place) -> &[i32] {
        let part = if s.border { &self.border } else { &self.core };
        &part.lanes(s.group, slot_of(at)).0[s.lane..s.lane + s.len]
    }
    fn segment_mut(&mut self, s: Segment, at: Place) -> &mut [i32] {
        let part = if s.border { &mut self.border } else { &mut self.core };
        &mut part.lanes_mut(s.group, slot_of(at)).0[s.lane..s.lane + s.len]
    }
}

fn slot_of(at: Place) -> u32 {
    slot::LRM + at.addr / 4
}

/// Position of an element's lowest bit in its word.
fn low_bit(at: Place) -> u32 {
    8 * (at.addr % 4)
}

fn write_lanes(lanes: &mut [i32], at: Place, bytes: &[u8]) {
    let low = low_bit(at);
    match at.width {
        Width::Word => {
            for (lane, bytes) in lanes.iter_mut().zip(bytes.as_chunks().0) {
                *lane = i32::from_le_bytes(*bytes);
            }
        }
        Width::Half => {
            let keep = !(0xffff << low);
            for (lane, bytes) in lanes.iter_mut().zip(bytes.as_chunks().0) {
                *lane = (*lane & keep) | (u16::from_le_bytes(*bytes) as i32) << low;
            }
        }
        Width::Byte => {
            let keep = !(0xff << low);
            for (lane, byte) in lanes.iter_mut().zip(bytes) {
                *lane = (*lane & keep) | (*byte as i32) << low;
            }
        }
    }
}

fn read_lanes(lanes: &[i32], at: Place, bytes: &mut [u8]) {
    let low = low_bit(at);
    match at.width {
        Width::Word => {
            for (lane, bytes) in lanes.iter().zip(bytes.as_chunks_mut().0) {
                *bytes = lane.to_le_bytes();
            }
        }
        Width::Half => {
            for (lane, bytes) in lanes.iter().zip(bytes.as_chunks_mut().0) {
                *bytes = ((*lane >> low) as u16).to_le_bytes();
            }
        }
        Width::Byte => {
            for (lane, byte) in lanes.iter().zip(bytes) {
                *byte = (*lane >> low) as u8;
            }
        }
    }
}
