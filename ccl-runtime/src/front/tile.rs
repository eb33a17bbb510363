//! Tensors seen in parts, walks and tiles: which element belongs to which PE.

use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::R;
use super::value::{Affine, Layout, Pe, Scalar, ScalarTy, Tile, Val, View, ViewStep, Walk};
use crate::ir::{self, SVal, Src};
use crate::kernel::ElemType;
use crate::tensor::{Kind, PART_ALIGN};

impl Layout {
    /// PEs that a tensor of `h` x `w` takes.
    pub fn pes(&self, [_, h, w]: [usize; 3]) -> (usize, usize) {
        (h.div_ceil(self.block.0 * self.stride), w.div_ceil(self.block.1 * self.stride))
    }
}

impl Cx<'_> {
    // ---- views ----

    pub(super) fn view_step(&self, view: &View, step: ViewStep) -> R<View> {
        let mut view = view.clone();
        let [c, h, w] = view.dims;
        if matches!(view.kind, Kind::Stream(_)) {
            return self
                .fail(format!("{} has no parts", view.kind.name()), "views are of planar, packed and token tensors");
        }
        if view.steps.len() == 4 {
            return self.fail("more than 4 views of one another", "declare the tensor as you see it");
        }
        view.dims = match &step {
            ViewStep::Channels(first) => {
                let known = first.as_known().unwrap_or(0).max(0) as usize;
                if known > c || first.range.lo < 0 {
                    return self.fail(format!("channels from {known} on, of {c}"), "");
                }
                [c - known, h, w]
            }
            ViewStep::Roi(..) => unreachable!("`roi` gives its extents itself"),
            ViewStep::SpaceToDepth(s) | ViewStep::DepthToSpace(s) if *s == 0 => {
                return self.fail("patches of 0 x 0 elements", "");
            }
            ViewStep::SpaceToDepth(s) => {
                if !h.is_multiple_of(*s) || !w.is_multiple_of(*s) {
                    return self.fail(format!("{h} x {w} elements are no whole patches of {s} x {s}"), "");
                }
                [c * s * s, h / s, w / s]
            }
            ViewStep::DepthToSpace(s) => {
                if !c.is_multiple_of(s * s) {
                    return self.fail(format!("{c} channels are no whole patches of {s} x {s}"), "");
                }
                [c / (s * s), h * s, w * s]
            }
        };
        view.steps.push(step);
        Ok(view)
    }

    /// The same bytes in another layout; behind `channels` those from the first channel on, as many as the layout has.
    pub(super) fn seen_as(&self, view: &View, (kind, dims): (Kind, [usize; 3])) -> R<View> {
        let (bytes, pack) = (view.elem.bytes(), view.kind.pack(view.elem.bytes()));
        let mut channel = Affine::number(0);
        for step in &view.steps {
            let ViewStep::Channels(first) = step else {
                return self.fail("another layout of a part of a tensor", "view whole tensors, or channels of one");
            };
            channel = channel.plus(first);
        }
        if !channel.multiple_of(pack) {
            return self.fail(
                format!("a view from within a word of {pack} channels on"),
                &format!("begin at a multiple of {pack} channels"),
            );
        }
        let skipped = channel.times((view.whole[1] * view.whole[2] * bytes) as i64);
        let (has, wants) = (view.bytes(), kind.size_bytes(dims, bytes));
        let left = (has as i64).saturating_sub(skipped.range.hi).max(0) as usize;
        if wants > left || (view.steps.is_empty() && wants < left) {
            return self.fail(format!("a view of {wants} bytes over {left}"), "view as many bytes as there are");
        }
        if wants < has && !dims[0].is_multiple_of(kind.pack(bytes)) {
            return self.fail(
                format!("a view of {} channels, whose last word others share", dims[0]),
                "view whole words of channels",
            );
        }
        let at = view.at.plus(&skipped);
        Ok(View { kind, at, whole: dims, dims, steps: Vec::new(), ..view.clone() })
    }

    /// `x.part::<T, L>(byte)`.
    pub(super) fn part_of(&self, view: &View, byte: &Affine, elem: ElemType, of: (Kind, [usize; 3])) -> R<View> {
        if !view.steps.is_empty() || (view.kind, view.elem) != (Kind::Vector, ElemType::I8) {
            return self.fail("a part, by bytes, of another tensor than a vector of `i8`", "declare the blob as one");
        }
        let at = view.at.plus(byte);
        if !at.multiple_of(PART_ALIGN) {
            return self
                .fail(format!("a part that begins at no multiple of {PART_ALIGN} bytes"), "fill up the part before");
        }
        let (has, wants) = (view.bytes(), of.0.size_bytes(of.1, elem.bytes()));
        if byte.range.lo < 0 || byte.range.hi.saturating_add_unsigned(wants as u64) > has as i64 {
            let message = format!("a part of {wants} bytes from byte {} on, of {has}", byte.range.hi);
            return self.fail(message, "");
        }
        Ok(View { at, ..View::whole(view.buf, elem, of, view.is_external) })
    }

    pub(super) fn view_roi(&self, view: &View, [y, x, height, width]: [usize; 4]) -> R<View> {
        let [c, h, w] = view.dims;
        if y + height > h || x + width > w {
            let message = format!("{height} x {width} elements from row {y}, column {x} on, of {h} x {w}");
            return self.fail(message, "");
        }
        let mut view = view.clone();
        view.dims = [c, height, width];
        view.steps.push(ViewStep::Roi(y, x));
        Ok(view)
    }

    // ---- walks ----

    pub(super) fn tiles(&self, view: &View) -> R<Walk> {
        if view.is_external {
            return self.fail("flows do not reach external memory", "`prefetch` it into an `Ocm` first");
        }
        if !matches!(view.kind, Kind::Planar | Kind::Packed | Kind::Tokens) {
            return self.fail(format!("{} has no tiles", view.kind.name()), "walk a planar, packed or token tensor");
        }
        let grid = (self.rows(), self.cols());
        let layout = Layout { grid, block: (1, 1), stride: 1, halo_rows: 0, halo_cols: 0 };
        Ok(Walk { view: view.clone(), layout, tile: None, chunk: 0, pipelined: 0 })
    }

    pub(super) fn check_border(&self, h: usize) -> R<()> {
        if h > self.border() {
            return self
                .fail(format!("a halo of {h} columns, and the border has {}", self.border()), "take a smaller halo");
        }
        Ok(())
    }

    pub(super) fn check_grid(&self, rows: usize, cols: usize) -> R<()> {
        if rows == 0 || cols == 0 || rows > self.rows() || cols > self.cols() {
            let message = format!("a grid of {rows} x {cols} on an array of {} x {}", self.rows(), self.cols());
            return self.fail(message, "lay it on fewer rows or columns");
        }
        Ok(())
    }

    /// The place of a tile in another tensor: the same rows and columns, without the other's halo and taps.
    pub(super) fn at_tile(&self, view: &View, tile: &Tile) -> R<Tile> {
        if view.is_external || !matches!(view.kind, Kind::Planar | Kind::Packed | Kind::Tokens) {
            return self.fail(
                format!("{} has no tiles", view.kind.name()),
                "flows reach planar, packed and token tensors on chip",
            );
        }
        let layout = Layout { halo_rows: 0, halo_cols: 0, ..tile.layout };
        let zero = Affine::number(0);
        Ok(Tile { view: view.clone(), layout, tap: (zero.clone(), zero), ..tile.clone() })
    }

    /// Rows or columns of the tensor that belong to PE (0, 0).
    pub(super) fn tile_y(tile: &Tile) -> Affine {
        tile.first.0.times((tile.layout.stride * tile.layout.block.0) as i64).plus(&tile.tap.0)
    }
    pub(super) fn tile_x(tile: &Tile) -> Affine {
        tile.first.1.times((tile.layout.stride * tile.layout.block.1) as i64).plus(&tile.tap.1)
    }

    pub(super) fn tile_number(ty: ScalarTy, sum: &Affine) -> Val {
        Val::Scalar(Scalar::run(ty, sum.clone()))
    }

    /// `tile.inside()`.
    pub(super) fn inside(&mut self, tile: &Tile) -> R<Pe> {
        let [_, height, width] = tile.view.dims;
        let (rows, cols) = tile.layout.grid;
        if tile.view.kind == Kind::Tokens {
            let row = self.mul(Src::QRow, cols as i32, 0);
            let index = self.bin(ir::BinOp::Add, row, Src::QCol);
            let first = Self::tile_x(tile);
            let token = self.moved(index, &first);
            let in_tensor = self.set(Cond::Ltu, token, width as i32);
            let in_grid = self.set(Cond::Ltu, Src::QCol, cols as i32);
            let mut all = self.bin(ir::BinOp::And, in_tensor, in_grid);
            if rows < self.rows() {
                let in_rows = self.set(Cond::Lt, Src::QRow, rows as i32);
                all = self.bin(ir::BinOp::And, all, in_rows);
            }
            return Ok(Pe::new(ElemType::Bool, all));
        }
        let border = self.border() as i64;
        let (y, x) = (Self::tile_y(tile), Self::tile_x(tile));
        let (step_y, step_x) = (tile.layout.stride * tile.layout.block.0, tile.layout.stride * tile.layout.block.1);
        let mut tests = Vec::new();
        let y_most = y.range.hi + ((self.rows() - 1) * step_y) as i64;
        if y.range.lo < 0 || y_most >= height as i64 {
            let row = self.mul(Src::QRow, step_y as i32, 0);
            let at = self.moved(row, &y);
            tests.push(self.set(Cond::Ltu, at, height as i32));
        }
        let least = x.range.lo - border * step_x as i64;
        let x_most = x.range.hi + (cols as i64 + border - 1) * step_x as i64;
        if least < 0 || x_most >= width as i64 {
            let col = self.mul(Src::QCol, step_x as i32, 0);
            let at = self.moved(col, &x);
            tests.push(self.set(Cond::Ltu, at, width as i32));
        }
        if rows < self.rows() {
            tests.push(self.set(Cond::Lt, Src::QRow, rows as i32));
        }
        if cols < self.cols() {
            tests.push(self.set(Cond::Lt, Src::QCol, cols as i32 + border as i32));
        }
        let mut all = match tests.pop() {
            Some(test) => test,
            None => return Ok(Pe::number(ElemType::Bool, 1)),
        };
        for test in tests {
            all = self.bin(ir::BinOp::And, all, test);
        }
        Ok(Pe::new(ElemType::Bool, all))
    }

    /// A per-PE number plus a scalar.
    pub(super) fn moved(&mut self, a: Src, by: &Affine) -> Src {
        match self.sval(by) {
            SVal::Imm(v) => self.bin(ir::BinOp::Add, a, v),
            SVal::Val(id) => self.bin(ir::BinOp::Add, a, id),
        }
    }
}
