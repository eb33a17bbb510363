//! Walks: the places at which a flow stops.

use super::tile::{Place, Tile};
use crate::native::{Cause, state};
use crate::tensor::Ocm;
use crate::tensor::view::{Kind, View};
use crate::value::Elem;

/// A walk over the tiles of a tensor, in the order in which a flow delivers them.
#[derive(Clone, Copy, Debug)]
#[must_use = "a walk runs in a `for`"]
pub struct Walk {
    view: View,
    place: Place,
    /// Of a walk over the channels of one tile.
    tile: Option<Tile>,
    /// Channels of a step; 0: all.
    chunk: usize,
}

impl<T: Elem, L> Ocm<T, L> {
    /// The tiles of the tensor, row by row; the last ones of a row and column may leave PEs idle.
    #[track_caller]
    pub fn tiles(&self) -> Walk {
        let view = *self.view_ref();
        if !matches!(view.kind, Kind::Planar | Kind::Packed | Kind::Tokens) {
            Cause::Layout { layout: view.kind.name(), wanted: "tiles" }.raise();
        }
        let (rows, cols) = state::with(|s| (s.geometry.rows, s.geometry.cols));
        Walk { view, place: Place::new(rows, cols), tile: None, chunk: 0 }
    }
}

impl Walk {
    /// A walk over the channels of one tile.
    pub(crate) fn of_tile(tile: Tile, chunk: usize) -> Self {
        Self { view: tile.view, place: tile.place, tile: Some(tile), chunk }
    }

    #[track_caller]
    fn check_border(h: usize) {
        let room = state::with(|s| s.geometry.border);
        if h > room {
            Cause::Array { what: "a halo", wanted: h, room }.raise();
        }
    }

    /// Fills `h` border columns on both sides and delivers `2 * h + 1` rows a channel: for each PE those around its own. Zero
    /// outside the tensor.
    #[track_caller]
    pub fn halo(self, h: usize) -> Self {
        self.halo_rows(h).halo_cols(h)
    }

    /// Only the border columns of [`halo`](Self::halo).
    #[track_caller]
    pub fn halo_cols(mut self, h: usize) -> Self {
        Self::check_border(h);
        self.place.halo_cols = h;
        self
    }

    /// Only the rows of [`halo`](Self::halo).
    pub fn halo_rows(mut self, h: usize) -> Self {
        self.place.halo_rows = h;
        self
    }

    /// Neighbouring PEs are `s` rows and columns apart.
    pub fn stride(mut self, s: usize) -> Self {
        self.place.stride = s.max(1);
        self
    }

    /// Every PE holds `BY` x `BX` neighbouring elements a channel.
    pub fn block<const BY: usize, const BX: usize>(self) -> Self {
        const { assert!(BY > 0 && BX > 0, "`block`: a PE holds at least one element") }
        self.with_block(BY, BX)
    }

    /// [`block`](Self::block) of extents known in the run; at least 1.
    pub(crate) fn with_block(mut self, by: usize, bx: usize) -> Self {
        self.place.block = (by, bx);
        self
    }

    /// Lays tiles on `rows` x `cols` PEs.
    #[track_caller]
    pub fn grid(mut self, rows: usize, cols: usize) -> Self {
        self.place = self.place.on(rows, cols);
        self
    }

    /// Two bodies at a time work in turn on `n` instances of their buffers. Natively they follow each other.
    pub fn pipelined(self, _n: usize) -> Self {
        self
    }

    /// Within each place, steps of `N` channels.
    pub fn chunks<const N: usize>(self) -> Self {
        const { assert!(N > 0, "`chunks`: a step has at least one channel") }
        self.with_chunks(N)
    }

    /// [`chunks`](Self::chunks) of a number known in the run; at least 1.
    pub(crate) fn with_chunks(mut self, n: usize) -> Self {
        self.chunk = n;
        self
    }
}

impl IntoIterator for Walk {
    type Item = Tile;
    type IntoIter = Tiles;

    fn into_iter(self) -> Tiles {
        let [c, h, w] = self.view.dims;
        let channels = self.tile.map_or(c, |tile| c.saturating_sub(tile.channel()));
        let n_chunks = if self.chunk == 0 { 1 } else { channels.div_ceil(self.chunk) };
        let tokens = self.view.kind == Kind::Tokens;
        let (pes_y, pes_x) = self.place.pes(h, w);
        let (rows, cols) = self.place.grid;
        let (tiles_y, tiles_x) = match (self.tile.is_some(), tokens) {
            (true, _) => (1, 1),
            (_, true) => (1, pes_x.div_ceil(rows * cols)),
            _ => (pes_y.div_ceil(rows), pes_x.div_ceil(cols)),
        };
        Tiles { walk: self, n: tiles_y * tiles_x * n_chunks, tiles_x, n_chunks, next: 0 }
    }
}

/// The tiles of a [`Walk`].
#[derive(Clone, Debug)]
pub struct Tiles {
    walk: Walk,
    n: usize,
    tiles_x: usize,
    n_chunks: usize,
    next: usize,
}

impl Iterator for Tiles {
    type Item = Tile;

    fn next(&mut self) -> Option<Tile> {
        if self.next == self.n {
            return None;
        }
        let (walk, index) = (&self.walk, self.next);
        self.next += 1;
        let (tile_idx, chunk) = (index / self.n_chunks, index % self.n_chunks);
        let mut tile = walk.tile.unwrap_or_else(|| {
            let (rows, cols) = walk.place.grid;
            let (ty, tx) = (tile_idx / self.tiles_x, tile_idx % self.tiles_x);
            let first = if walk.view.kind == Kind::Tokens { (0, tx * rows * cols) } else { (ty * rows, tx * cols) };
            Tile::new(walk.view, walk.place, first)
        });
        tile.set_step(index, chunk * walk.chunk);
        Some(tile)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = self.n - self.next;
        (n, Some(n))
    }
}
impl ExactSizeIterator for Tiles {}
