//! Neighbour moves. Within a part a move is a shift of its PEs in row-major order. Between core and border, each row has
//! one PE on either side of a seam; what they send is put where the shift of the other part looks for it, over values
//! that no receiver needs.

use crate::isa::operand::{Dir, Dirs};

use super::geometry::{Geometry, Part};
use super::group::{LANES, slot};
use super::trace::Operand;
use super::{Array, Host, Source};

/// Host memory that sends use, kept between them: what the PEs of core and border send.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    core: Flat,
    border: Flat,
    masks: Vec<u64>,
}

/// Values and enable bits of a part in order of its PEs, with room for the longest shift at either end.
#[derive(Clone, Debug, Default)]
struct Flat {
    values: Vec<i32>,
    /// Enable bits, 64 PEs an entry; kept only if some PE is disabled.
    bits: Vec<u64>,
    /// Elements before the first PE, a multiple of 64.
    margin: usize,
}

impl Array {
    /// Every enabled PE writes `src` to the facing ports of its neighbours: what goes east is read as the port `west`.
    /// Border columns take part unless [`set_borders`](Self::set_borders) switched them off; ports without a neighbour
    /// stay 0, ports of neighbours of disabled PEs keep their value.
    pub fn send(&mut self, dirs: Dirs, src: Source) {
        let from = Operand::from(src);
        let Self { core, border, send: scratch, host, .. } = self;
        let masked = !core.all_enabled() || (self.borders && !border.all_enabled());
        scratch.core.fill(*host, core, from, masked);
        if self.borders {
            scratch.border.fill(*host, border, from, masked);
        }
        // North and south first: they need the flat copies without exchanges.
        for dir in [Dir::North, Dir::South, Dir::East, Dir::West].into_iter().filter(|dir| dirs.contains(*dir)) {
            let seams = self.borders && matches!(dir, Dir::East | Dir::West);
            if seams {
                scratch.cross_seams(self.geometry, dir, masked);
            }
            scratch.core.shift(*host, core, dir, masked, self.borders, &mut scratch.masks);
            if self.borders {
                scratch.border.shift(*host, border, dir, masked, true, &mut scratch.masks);
            }
            if seams && dir == Dir::East && dirs.contains(Dir::West) {
                scratch.undo_seams(self.geometry, dir, masked);
            }
        }
    }
}

impl Scratch {
    /// Exchanges what core and border send each other to the east or west.
    ///
    /// To the east, the core's first PE of a row receives the element before it, which is the last of the row before; the
    /// east border's first receives the west border's last. Those two elements have no receiver of their own part, so they
    /// can be replaced, in an order of rows that reads each before it is replaced. To the west likewise.
    fn cross_seams(&mut self, geometry: Geometry, dir: Dir, masked: bool) {
        for i in 0..geometry.rows {
            let Seam { core_from, core_at, border_at } = self.seam(geometry, dir, i);
            let (core, border) = (&mut self.core.values, &mut self.border.values);
            let from_border = std::mem::replace(&mut border[border_at], core[core_from]);
            core[core_at] = from_border;
            if masked {
                let (core, border) = (&mut self.core.bits, &mut self.border.bits);
                let from_border = bit(border, border_at);
                set_bit(border, border_at, bit(core, core_from));
                set_bit(core, core_at, from_border);
            }
        }
    }
    /// Takes back what [`cross_seams`](Self::cross_seams) replaced.
    fn undo_seams(&mut self, geometry: Geometry, dir: Dir, masked: bool) {
        for i in (0..geometry.rows).rev() {
            let Seam { core_from, core_at, border_at } = self.seam(geometry, dir, i);
            let (core, border) = (&mut self.core.values, &mut self.border.values);
            let from_border = core[core_at];
            core[core_from] = std::mem::replace(&mut border[border_at], from_border);
            if masked {
                let (core, border) = (&mut self.core.bits, &mut self.border.bits);
                let from_border = bit(core, core_at);
                set_bit(core, core_from, bit(border, border_at));
                set_bit(border, border_at, from_border);
            }
        }
    }
    /// Elements of the `i`-th row to cross, in the order of `cross_seams`.
    fn seam(&self, geometry: Geometry, dir: Dir, i: usize) -> Seam {
        let Geometry { rows, cols, border: n, .. } = geometry;
        let (core, border) = (self.core.margin, self.border.margin);
        if dir == Dir::East {
            let last = core + i * cols + cols - 1;
            return Seam { core_from: last, core_at: last - cols, border_at: border + i * 2 * n + n - 1 };
        }
        let row = rows - 1 - i;
        let first = core + row * cols;
        Seam { core_from: first, core_at: first + cols, border_at: border + row * 2 * n + n }
    }
}

/// Elements that take part in the exchange of one row.
struct Seam {
    /// What the core sends.
    core_from: usize,
    /// Where the core's receiver looks.
    core_at: usize,
    /// What the border sends, and where the border's receiver on the other side looks.
    border_at: usize,
}

impl Flat {
    /// Reads a value, and the enable bits if they matter.
    fn fill(&mut self, host: Host, part: &Part, from: Operand, masked: bool) {
        self.margin = part.width.next_multiple_of(LANES);
        self.values.resize(part.n_groups() * LANES + 2 * self.margin, 0);
        host.flatten(&part.mem, part.stride, from, &mut self.values[self.margin..]);
        if masked {
            let n_margin = self.margin / LANES;
            self.bits.clear();
            self.bits.resize(n_margin, 0);
            self.bits.extend(part.preds.iter().map(|p| p.enable));
            self.bits.resize(part.n_groups() + 2 * n_margin, 0);
        }
    }
    /// Moves within the part; `borders`: also to those PEs whose neighbour is in the other part.
    fn shift(&self, host: Host, part: &mut Part, dir: Dir, masked: bool, borders: bool, masks: &mut Vec<u64>) {
        // The sender's index minus the receiver's.
        let width = part.width as isize;
        let offset = match dir {
            Dir::North => width,
            Dir::East => -1,
            Dir::South => -width,
            Dir::West => 1,
        };
        let start = self.margin.checked_add_signed(offset).expect("the margin is as long as a shift");
        let side = dir.opposite() as usize;
        let across = if borders { u64::MAX } else { 0 };
        masks.clear();
        masks.extend(part.inner[side].iter().zip(&part.across[side]).map(|(inner, other)| inner | (other & across)));
        if masked {
            masks.iter_mut().enumerate().for_each(|(g, mask)| *mask &= window(&self.bits, start + g * LANES));
        }
        host.unflatten(&mut part.mem, part.stride, slot::port(dir.opposite()), &self.values[start..], masks);
    }
}

fn bit(bits: &[u64], at: usize) -> u64 {
    bits[at / LANES] >> (at % LANES) & 1
}

fn set_bit(bits: &mut [u64], at: usize, to: u64) {
    let word = &mut bits[at / LANES];
    *word = (*word & !(1 << (at % LANES))) | to << (at % LANES);
}

/// 64 bits from `start` on.
fn window(bits: &[u64], start: usize) -> u64 {
    match (bits[start / LANES], start % LANES) {
        (low, 0) => low,
        (low, shift) => low >> shift | bits[start / LANES + 1] << (LANES - shift),
    }
}
