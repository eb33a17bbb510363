//! Neighbour moves. Within a part a move is a shift of the part's PEs in row-major order; PEs on both sides of the seams
//! between core and border exchange one by one.

use crate::isa::operand::{Dir, Dirs};

use super::geometry::{Geometry, Part};
use super::group::{LANES, slot};
use super::trace::Operand;
use super::{Array, Host, Source};

/// Host memory that sends use, kept between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// The values of the core and border, with room for a shift at either end.
    flat: [Vec<i32>; 2],
    masks: Vec<u64>,
}

impl Array {
    /// Every enabled PE writes `src` to the facing ports of its neighbours: what goes east is read as the port `west`.
    /// Border columns take part unless [`set_borders`](Self::set_borders) switched them off; ports without a neighbour
    /// stay 0, ports of neighbours of disabled PEs keep their value.
    pub fn send(&mut self, dirs: Dirs, src: Source) {
        let from = Operand::from(src);
        let Self { core, border, send: scratch, host, .. } = self;
        let [core_flat, border_flat] = &mut scratch.flat;
        flatten(*host, core, from, core_flat);
        if self.borders {
            flatten(*host, border, from, border_flat);
        }
        for dir in Dir::ALL.into_iter().filter(|dir| dirs.contains(*dir)) {
            shift(*host, core, dir, core_flat, &mut scratch.masks);
            if self.borders {
                shift(*host, border, dir, border_flat, &mut scratch.masks);
                cross_seams(self.geometry, core, border, dir, core_flat, border_flat);
            }
        }
    }
}

/// Elements before the first PE in a flat buffer: as many as the longest shift.
fn margin(part: &Part) -> usize {
    part.width.next_multiple_of(LANES)
}

fn flatten(host: Host, part: &Part, from: Operand, flat: &mut Vec<i32>) {
    let margin = margin(part);
    flat.resize(part.n_groups() * LANES + 2 * margin, 0);
    host.flatten(&part.mem, part.stride, from, &mut flat[margin..]);
}

/// Moves within a part.
fn shift(host: Host, part: &mut Part, dir: Dir, flat: &[i32], masks: &mut Vec<u64>) {
    // The sender's index minus the receiver's.
    let width = part.width as isize;
    let offset = match dir {
        Dir::North => width,
        Dir::East => -1,
        Dir::South => -width,
        Dir::West => 1,
    };
    masks.clear();
    for (g, preds) in part.preds.iter().enumerate() {
        let inner = match dir {
            Dir::East => part.has_west[g],
            Dir::West => part.has_east[g],
            Dir::North | Dir::South => preds.live,
        };
        masks.push(inner & part.enable_window((g * LANES) as isize + offset));
    }
    let start = margin(part).checked_add_signed(offset).expect("the margin is as long as a shift");
    host.unflatten(&mut part.mem, part.stride, slot::port(dir.opposite()), &flat[start..], masks);
}

/// Moves east or west between core and border.
fn cross_seams(
    geometry: Geometry,
    core: &mut Part,
    border: &mut Part,
    dir: Dir,
    core_flat: &[i32],
    border_flat: &[i32],
) {
    let Geometry { rows, cols, border: n, .. } = geometry;
    if n == 0 || matches!(dir, Dir::North | Dir::South) {
        return;
    }
    let port = slot::port(dir.opposite());
    let (core_at, border_at) = (margin(core), margin(border));
    for row in 0..rows {
        // The border columns beside the core: n - 1 in the west, n in the east.
        let (west, first, last, east) = (row * 2 * n + n - 1, row * cols, row * cols + cols - 1, row * 2 * n + n);
        let (into_core, from_border, from_core, into_border) =
            if dir == Dir::East { (first, west, last, east) } else { (last, east, first, west) };
        if border.enabled(from_border) {
            core.lanes_mut(into_core / LANES, port).0[into_core % LANES] = border_flat[border_at + from_border];
        }
        if core.enabled(from_core) {
            border.lanes_mut(into_border / LANES, port).0[into_border % LANES] = core_flat[core_at + from_core];
        }
    }
}
