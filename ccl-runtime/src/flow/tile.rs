//! Tiles: one place of a walk, and the flows to and from it.

use super::Flow;
use super::walk::Walk;
use crate::native::lane::Lane;
use crate::native::state::Rows;
use crate::native::{Cause, Geometry, Id, simd, state};
use crate::tensor::view::{Kind, View};
use crate::tensor::{Acc, Lrm, Ocm, store};
use crate::value::{Elem, Q};

/// How a walk lays elements on PEs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// PEs of a tile.
    pub grid: (usize, usize),
    /// Elements of a PE.
    pub block: (usize, usize),
    /// Elements from one PE's to the next's.
    pub stride: usize,
    pub halo_rows: usize,
    pub halo_cols: usize,
}

impl Place {
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { grid: (rows, cols), block: (1, 1), stride: 1, halo_rows: 0, halo_cols: 0 }
    }

    /// The same on `rows` x `cols` PEs.
    #[track_caller]
    pub fn on(mut self, rows: usize, cols: usize) -> Self {
        let (most_rows, most_cols) = state::with(|s| (s.geometry.rows, s.geometry.cols));
        for (what, wanted, room) in [("a grid's rows", rows, most_rows), ("a grid's columns", cols, most_cols)] {
            if wanted == 0 || wanted > room {
                Cause::Array { what, wanted, room }.raise();
            }
        }
        self.grid = (rows, cols);
        self
    }

    /// PEs that a tensor of `h` x `w` takes.
    pub fn pes(&self, h: usize, w: usize) -> (usize, usize) {
        (h.div_ceil(self.block.0 * self.stride), w.div_ceil(self.block.1 * self.stride))
    }
}

/// One place of a walk: which tensor, which element belongs to PE (0, 0).
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    pub(super) view: View,
    pub(super) place: Place,
    /// Of the PEs that the walk takes in all the first of this tile.
    first: (usize, usize),
    /// What taps have moved it by.
    tap: (i32, i32),
    channel: usize,
    index: usize,
}

/// A row of PEs: columns `first..first + len`, of which the tensor has those in `inside`, their elements at `at(column)`.
struct PeRow {
    first: isize,
    len: usize,
    /// Row and leftmost column of the tensor that belong to column 0, and how far columns are apart.
    y: i64,
    x: i64,
    step: i64,
}

impl Tile {
    pub(super) fn new(view: View, place: Place, first: (usize, usize)) -> Self {
        Self { view, place, first, tap: (0, 0), channel: 0, index: 0 }
    }

    pub(super) fn set_step(&mut self, index: usize, channel: usize) {
        self.index = index;
        self.channel += channel;
    }

    /// Steps of `N` channels within the tile.
    pub fn chunks<const N: usize>(self) -> Walk {
        const { assert!(N > 0, "`chunks`: a step has at least one channel") }
        Walk::of_tile(self, N)
    }

    /// The place of this tile times `s`, its PEs `s` rows and columns apart: what a window of that stride starts from. Taps
    /// count elements of the tensor.
    pub fn stride(mut self, s: usize) -> Self {
        self.place.stride *= s.max(1);
        self
    }

    /// Row and column of PE (0, 0) before taps.
    pub(crate) fn corner(&self) -> (usize, usize) {
        let place = &self.place;
        (self.first.0 * place.stride * place.block.0, self.first.1 * place.stride * place.block.1)
    }

    /// Elements from one PE's to the next's.
    pub(crate) fn step(&self) -> usize {
        self.place.stride
    }

    /// The same PEs, each with a patch of `BY` x `BX` neighbouring elements: what an enlarged tensor has for one of its source's.
    pub fn block<const BY: usize, const BX: usize>(self) -> Self {
        const { assert!(BY > 0 && BX > 0, "`block`: a PE holds at least one element") }
        self.with_block(BY, BX)
    }

    /// [`block`](Self::block) of extents known in the run; at least 1.
    pub(crate) fn with_block(mut self, by: usize, bx: usize) -> Self {
        self.place.block = (by, bx);
        self
    }

    /// As many PEs from the tile's first on, whatever the step of its walk: more than that, and tiles overlap.
    #[track_caller]
    pub fn grid(mut self, rows: usize, cols: usize) -> Self {
        self.place = self.place.on(rows, cols);
        self
    }

    /// The tile moved by rows and columns: one tap of a window.
    pub fn tap(mut self, dy: i32, dx: i32) -> Self {
        self.tap = (self.tap.0 + dy, self.tap.1 + dx);
        self
    }

    /// Planes from channel `first` on.
    pub fn channels(mut self, first: usize) -> Self {
        self.channel += first;
        self
    }

    /// First channel of the tile.
    pub fn channel(&self) -> usize {
        self.channel
    }

    /// Number of the tile in its walk.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Row of PE (0, 0) in the tensor.
    pub fn y(&self) -> i32 {
        self.corner().0 as i32 + self.tap.0
    }

    /// Column of PE (0, 0) in the tensor; of tokens the first token.
    pub fn x(&self) -> i32 {
        self.corner().1 as i32 + self.tap.1
    }

    /// Whether the PE's element lies inside the tensor. Of a block its first element.
    #[track_caller]
    pub fn inside(&self) -> Q<bool> {
        let height = self.view.dims[1] as i64;
        Q::of(state::with(|s| {
            let mut out = s.buffer::<bool>();
            out.lanes.fill(false);
            let g = s.geometry;
            for r in 0..self.place.grid.0.min(g.rows) {
                let row = self.pe_row(r, 0, 0, if self.is_tokens() { 0 } else { g.border });
                let (from, to) = self.columns_inside(&row);
                if (0..height).contains(&row.y) && from < to {
                    g.put_row(&mut out.lanes, r, row.first + from as isize, &vec![true; to - from]);
                }
            }
            s.add(out)
        }))
    }

    fn is_tokens(&self) -> bool {
        self.view.kind == Kind::Tokens
    }

    /// What row `r` of PEs holds as row `ry` (0 is the PE's first own) and column `bx` of its block, with `halo` columns.
    fn pe_row(&self, r: usize, ry: i64, bx: usize, halo: usize) -> PeRow {
        let (stride, (by, block_x)) = (self.place.stride as i64, self.place.block);
        let step = stride * block_x as i64;
        let (first, len) = (-(halo as isize), self.place.grid.1 + 2 * halo);
        // The rows of a halo are those next to the PE's own, whatever the stride between PEs.
        let dy = if by == 1 { ry } else { ry * stride };
        if self.is_tokens() {
            let token = self.x() as i64 + (r * self.place.grid.1) as i64 * step + bx as i64 * stride;
            return PeRow { first, len, y: dy + self.tap.0 as i64, x: token, step };
        }
        let y = self.y() as i64 + (r * by) as i64 * stride + dy;
        PeRow { first, len, y, x: self.x() as i64 + bx as i64 * stride, step }
    }

    /// Which of the columns of a row lie in the tensor, counted from the row's first.
    fn columns_inside(&self, row: &PeRow) -> (usize, usize) {
        let width = self.view.dims[2] as i64;
        let first = row.first as i64;
        let ceil = |a: i64, b: i64| -(-a).div_euclid(b);
        let from = ceil(-row.x, row.step).max(first);
        let to = ceil(width - row.x, row.step).min(first + row.len as i64);
        if from < to { ((from - first) as usize, (to - first) as usize) } else { (0, 0) }
    }

    /// Rows of a PE, columns of a PE, channels, for a buffer of `n` elements.
    #[track_caller]
    fn shape(&self, n: usize, halo_rows: usize) -> (usize, usize, usize) {
        let (by, bx) = self.place.block;
        let rows = by + 2 * halo_rows;
        if n == 0 || !n.is_multiple_of(rows * bx) {
            Cause::Room { elements: n, rows, columns: bx }.raise();
        }
        (rows, bx, n / (rows * bx))
    }

    #[track_caller]
    fn check_element<L: Lane>(&self) {
        if self.view.elem != L::BYTES {
            let tensor = ["", "1-byte elements", "2-byte elements", "", "4-byte elements"]
                .get(self.view.elem)
                .copied()
                .unwrap_or("8-byte elements");
            Cause::Element { tensor, wanted: L::NAME }.raise();
        }
    }

    /// Starts the flow of this tile into the array. The extent of the buffer says how many channels: it has one element for
    /// each row (own and halo), column of the block and channel, channels fastest.
    #[track_caller]
    pub fn fetch<B: Landing>(&self) -> Flow<B> {
        Flow::of(B::land(self))
    }

    /// Starts the flow of a value out to this tile; PEs outside the tensor write nothing.
    #[track_caller]
    pub fn store(&self, value: impl Leaving) {
        value.leave(self);
    }
}

impl<T: Elem, L> Ocm<T, L> {
    /// The tensor at the place of a tile of another walk: the same rows and columns, without the other's halo and taps.
    #[track_caller]
    pub fn at(&self, tile: Tile) -> Tile {
        let view = *self.view_ref();
        if !matches!(view.kind, Kind::Planar | Kind::Packed | Kind::Tokens) {
            Cause::Layout { layout: view.kind.name(), wanted: "tiles" }.raise();
        }
        let place = Place { halo_rows: 0, halo_cols: 0, ..tile.place };
        Tile { view, place, tap: (0, 0), ..tile }
    }
}

/// What a flow can bring: `Lrm<T, N>`.
#[diagnostic::on_unimplemented(message = "a flow cannot bring `{Self}`", note = "write `fetch::<Lrm<i8, 4>>()`")]
pub trait Landing {
    #[doc(hidden)]
    fn land(tile: &Tile) -> Self;
}
impl<T: Elem, const N: usize> Landing for Lrm<T, N>
where
    T::Lane: Transfer,
{
    #[track_caller]
    fn land(tile: &Tile) -> Self {
        let mut values = [Q::of(Id::NONE); N];
        T::Lane::fetch(tile, simd::ids_mut(&mut values));
        Lrm::of(values)
    }
}

/// What can flow out: `Q<T>`, `Lrm<T, N>`, `Acc<N>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot flow out of the array",
    note = "a value is `Q<T>` or `Lrm<T, N>`"
)]
pub trait Leaving {
    #[doc(hidden)]
    fn leave(self, tile: &Tile);
}
impl<T: Elem> Leaving for Q<T>
where
    T::Lane: Transfer,
{
    #[track_caller]
    fn leave(self, tile: &Tile) {
        T::Lane::store(tile, &[self.handle()]);
    }
}
impl<T: Elem, const N: usize> Leaving for Lrm<T, N>
where
    T::Lane: Transfer,
{
    #[track_caller]
    fn leave(self, tile: &Tile) {
        (&self).leave(tile);
    }
}
impl<T: Elem, const N: usize> Leaving for &Lrm<T, N>
where
    T::Lane: Transfer,
{
    #[track_caller]
    fn leave(self, tile: &Tile) {
        T::Lane::store(tile, simd::ids(&self[0..N]));
    }
}
impl<const N: usize> Leaving for Acc<N> {
    #[track_caller]
    fn leave(self, tile: &Tile) {
        Lrm::of(self.values()).leave(tile);
    }
}

/// Lanes that flows carry.
pub trait Transfer: Lane {
    #[doc(hidden)]
    fn fetch(tile: &Tile, out: &mut [Id]);
    #[doc(hidden)]
    fn store(tile: &Tile, values: &[Id]);
}
macro_rules! transfers {
    ($($L:ty),*) => { $( impl Transfer for $L {
        #[track_caller]
        fn fetch(tile: &Tile, out: &mut [Id]) {
            fetch::<$L>(tile, out);
        }
        #[track_caller]
        fn store(tile: &Tile, values: &[Id]) {
            store::<$L>(tile, values);
        }
    } )* };
}
transfers!(i8, i16, i32, i64, u8, u16);

#[track_caller]
fn fetch<L: Lane>(tile: &Tile, out: &mut [Id]) {
    tile.check_element::<L>();
    let place = &tile.place;
    let (rows, bx, channels) = tile.shape(out.len(), place.halo_rows);
    let mut line = vec![L::default(); place.grid.1 + 2 * place.halo_cols];
    store::read(tile.view.tensor, |bytes| {
        state::with(|s| {
            for (i, id) in out.iter_mut().enumerate() {
                let (ry, b, c) = (i / (bx * channels), i / channels % bx, i % channels);
                let mut buffer = s.buffer::<L>();
                buffer.lanes.fill(L::default());
                fetch_element(
                    tile,
                    bytes,
                    (ry as i64 - place.halo_rows as i64, b, c),
                    s.geometry,
                    &mut line,
                    &mut buffer.lanes,
                );
                *id = s.add(buffer);
                s.count_lrm::<L>(*id);
                s.set_rows::<L>(*id, Rows { n: rows as u16, above: place.halo_rows as u16 });
            }
        });
    });
}

/// One element of every PE: row `ry` and column `b` of its block, channel `c` of the tile.
fn fetch_element<L: Lane>(
    tile: &Tile,
    bytes: &[u8],
    (ry, b, c): (i64, usize, usize),
    geometry: Geometry,
    line: &mut [L],
    lanes: &mut [L],
) {
    let (channel, [channels, height, _]) = (tile.channel + c, tile.view.dims);
    if channel >= channels {
        return;
    }
    let halo = tile.place.halo_cols;
    for r in 0..tile.place.grid.0 {
        let row = tile.pe_row(r, ry, b, halo);
        let (from, to) = tile.columns_inside(&row);
        if !(0..height as i64).contains(&row.y) || from == to {
            continue;
        }
        let x = |at: usize| (row.x + (row.first as i64 + at as i64) * row.step) as usize;
        let inside = &mut line[from..to];
        match tile.view.run(channel, row.y as usize) {
            Some(run) => {
                let step = run.step * row.step as usize * L::BYTES;
                let start = (run.first + run.step * x(from)) * L::BYTES;
                for (i, to) in inside.iter_mut().enumerate() {
                    *to = L::from_bytes(&bytes[start + i * step..][..L::BYTES]);
                }
            }
            None => {
                for (i, to) in inside.iter_mut().enumerate() {
                    let at = tile.view.address(channel, row.y as usize, x(from + i)) * L::BYTES;
                    *to = L::from_bytes(&bytes[at..][..L::BYTES]);
                }
            }
        }
        geometry.put_row(lanes, r, row.first + from as isize, inside);
    }
}

#[track_caller]
fn store<L: Lane>(tile: &Tile, values: &[Id]) {
    tile.check_element::<L>();
    let (_, bx, n_channels) = tile.shape(values.len(), 0);
    let [channels, height, _] = tile.view.dims;
    let mut line = vec![L::default(); tile.place.grid.1];
    store::write(tile.view.tensor, |bytes| {
        state::with(|s| {
            for (i, id) in values.iter().enumerate() {
                let (ry, b, channel) = (i / (bx * n_channels), i / n_channels % bx, tile.channel + i % n_channels);
                if channel >= channels {
                    continue;
                }
                let lanes: &[L] = s.lanes(*id);
                for r in 0..tile.place.grid.0 {
                    let row = tile.pe_row(r, ry as i64, b, 0);
                    let (from, to) = tile.columns_inside(&row);
                    if !(0..height as i64).contains(&row.y) || from == to {
                        continue;
                    }
                    let x = |at: usize| (row.x + at as i64 * row.step) as usize;
                    s.geometry.get_row(lanes, r, from as isize, &mut line[from..to]);
                    let run = tile.view.run(channel, row.y as usize);
                    for (at, v) in line[from..to].iter().enumerate() {
                        let x = x(from + at);
                        let element = match run {
                            Some(run) => run.first + run.step * x,
                            None => tile.view.address(channel, row.y as usize, x),
                        };
                        v.put_bytes(&mut bytes[element * L::BYTES..][..L::BYTES]);
                    }
                }
            }
        });
    });
}
