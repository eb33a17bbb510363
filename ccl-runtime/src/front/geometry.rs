//! From a tile of a view to the walk of a flow: units, planes, steps and loops.

use super::cx::Cx;
use super::error::R;
use super::value::{Affine, Tile, View, ViewStep};
use crate::ir::{Elem, WalkLoop};
use crate::tensor::Kind;

/// A walk before it has a local buffer.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    /// What a PE gets at a step.
    pub unit: Elem,
    /// Elements in it.
    pub per_unit: usize,
    pub at: Affine,
    pub height: usize,
    pub width: usize,
    pub pitch: usize,
    pub plane: usize,
    pub x0: Affine,
    pub y0: Affine,
    pub col_step: usize,
    pub row_step: usize,
    pub rows: usize,
    pub cols: usize,
    /// Innermost first; without those of one trip.
    pub loops: Vec<WalkLoop>,
}

/// A view as the last change of shape and what stands before and behind it.
struct Flat {
    /// Bytes to the first row and column.
    origin: usize,
    channels: Affine,
    behind: Affine,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Plain,
    SpaceToDepth(usize),
    DepthToSpace(usize),
}

/// Rows, columns of a block and channels of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub rows: usize,
    pub cols: usize,
    pub channels: usize,
    pub above: usize,
}

impl Cx<'_> {
    fn flat(&self, view: &View) -> R<Flat> {
        let [_, _, w] = view.whole;
        let (pack, bytes) = (view.kind.pack(view.elem.bytes()), view.elem.bytes());
        let zero = Affine::number(0);
        let mut flat = Flat { origin: 0, channels: zero.clone(), behind: zero, shape: Shape::Plain };
        for step in &view.steps {
            let scale = match flat.shape {
                Shape::Plain => 1,
                Shape::SpaceToDepth(s) => s,
                Shape::DepthToSpace(_) => 0,
            };
            match step {
                ViewStep::Channels(first) if flat.shape == Shape::Plain => flat.channels = flat.channels.plus(first),
                ViewStep::Channels(first) => flat.behind = flat.behind.plus(first),
                ViewStep::Roi(y, x) if scale > 0 || (*y, *x) == (0, 0) => {
                    flat.origin += (y * w + x) * scale * pack * bytes;
                }
                ViewStep::SpaceToDepth(s) if flat.shape == Shape::Plain => flat.shape = Shape::SpaceToDepth(*s),
                ViewStep::DepthToSpace(s) if flat.shape == Shape::Plain => flat.shape = Shape::DepthToSpace(*s),
                _ => {
                    return self.fail(
                        "a view of a view that no flow walks",
                        "take parts before `space_to_depth` or `depth_to_space`, and one of them",
                    );
                }
            }
        }
        Ok(flat)
    }

    /// The walk that brings a tile's elements in the order of the buffer: channels fastest, then columns and rows of the block.
    pub(super) fn geometry(&mut self, tile: &Tile, of: Extent) -> R<Geometry> {
        let flat = self.flat(&tile.view)?;
        match flat.shape {
            Shape::Plain => self.plain(tile, of, &flat),
            Shape::SpaceToDepth(s) => self.patches(tile, of, &flat, s),
            Shape::DepthToSpace(s) => self.spread_patches(tile, of, &flat, s),
        }
    }

    fn start(&self, tile: &Tile, of: Extent, flat: &Flat, scale: usize) -> Geometry {
        let view = &tile.view;
        let ([_, h, w], [_, height, width]) = (view.whole, view.dims);
        let (bytes, layout) = (view.elem.bytes(), &tile.layout);
        let dy = if layout.block.0 == 1 { 1 } else { layout.stride };
        let y0 = Self::tile_y(tile).add(-((of.above * dy) as i64));
        Geometry {
            unit: Elem::I8,
            per_unit: 1,
            at: view.at.add(flat.origin as i64),
            height: height * scale,
            width: width * scale,
            pitch: w * bytes,
            plane: h * w * bytes,
            x0: Self::tile_x(tile).times(scale as i64),
            y0: y0.times(scale as i64),
            col_step: layout.stride * layout.block.1 * scale,
            row_step: layout.stride * layout.block.0 * scale,
            rows: layout.grid.0,
            cols: layout.grid.1,
            loops: Vec::new(),
        }
    }

    /// Loops over columns and rows of a block and its halo, in units.
    fn block_loops(&self, g: &mut Geometry, tile: &Tile, of: Extent, scale: usize, units: usize) {
        let layout = &tile.layout;
        let dy = if layout.block.0 == 1 { 1 } else { layout.stride };
        let columns = WalkLoop { n: of.cols as u32, dx: (layout.stride * scale * units) as i32, dy: 0, dp: 0 };
        let rows = WalkLoop { n: of.rows as u32, dx: 0, dy: (dy * scale) as i32, dp: 0 };
        g.loops.extend([columns, rows]);
        g.loops.retain(|l| l.n > 1);
    }

    fn unit_of(&self, bytes: usize) -> R<Elem> {
        match Elem::of_bytes(bytes as u32) {
            Some(elem) => Ok(elem),
            None => self
                .fail(format!("a flow of elements of {bytes} bytes"), "flows carry 1, 2 or 4 bytes; split the words"),
        }
    }

    fn plain(&mut self, tile: &Tile, of: Extent, flat: &Flat) -> R<Geometry> {
        let view = &tile.view;
        let bytes = view.elem.bytes();
        let pack = view.kind.pack(bytes);
        let channel = tile.channel.plus(&flat.channels);
        let mut g = self.start(tile, of, flat, 1);
        let n = of.channels;
        let words = channel.multiple_of(pack) && (n.is_multiple_of(pack) || of.rows * of.cols == 1);
        g.pitch *= pack;
        g.plane *= pack;
        // A channel is as far from the next as a plane is long, whatever shares its words.
        g.at = g.at.plus(&channel.times((g.plane / pack) as i64));
        if pack == 1 || words {
            g.unit = self.unit_of(pack * bytes)?;
            g.per_unit = pack;
            g.loops.push(WalkLoop { n: n.div_ceil(pack) as u32, dx: 0, dy: 0, dp: 1 });
            self.block_loops(&mut g, tile, of, 1, 1);
            return Ok(g);
        }
        // Single elements of words: the tensor is as many times wider, and PEs are as many columns apart.
        g.unit = self.unit_of(bytes)?;
        let lane = self.lane_of(&channel, pack)?;
        g.at = view.at.add(flat.origin as i64).plus(&self.plane_of(&channel, pack, g.plane)?);
        g.x0 = g.x0.times(pack as i64).plus(&lane);
        (g.width, g.col_step) = (g.width * pack, g.col_step * pack);
        if lane.range.hi as usize + n <= pack {
            g.loops.push(WalkLoop { n: n as u32, dx: 1, dy: 0, dp: 0 });
        } else if lane.as_known() == Some(0) && n.is_multiple_of(pack) {
            g.loops.push(WalkLoop { n: pack as u32, dx: 1, dy: 0, dp: 0 });
            g.loops.push(WalkLoop { n: (n / pack) as u32, dx: 0, dy: 0, dp: 1 });
        } else {
            return self.fail(
                format!("{n} channels that begin within a word of {pack}"),
                "take chunks that divide the word or are whole words, or a planar tensor",
            );
        }
        self.block_loops(&mut g, tile, of, 1, pack);
        Ok(g)
    }

    /// Which lane of its word a channel is.
    fn lane_of(&mut self, channel: &Affine, pack: usize) -> R<Affine> {
        Ok(match channel.as_known() {
            Some(c) => Affine::number(c.rem_euclid(pack as i64)),
            None if channel.multiple_of(pack) => Affine::number(0),
            None => self.scalar_op(crate::ir::SOp::And, channel, &Affine::number(pack as i64 - 1)),
        })
    }
    fn plane_of(&mut self, channel: &Affine, pack: usize, plane: usize) -> R<Affine> {
        Ok(match channel.as_known() {
            Some(c) => Affine::number(c.div_euclid(pack as i64) * plane as i64),
            None if channel.multiple_of(pack) => channel.times((plane / pack) as i64),
            None => {
                let word = self.scalar_op(crate::ir::SOp::Sar, channel, &Affine::number(pack.trailing_zeros().into()));
                word.times(plane as i64)
            }
        })
    }

    /// Patches as channels: `(c * S + dy) * S + dx`.
    fn patches(&mut self, tile: &Tile, of: Extent, flat: &Flat, s: usize) -> R<Geometry> {
        let (view, n) = (&tile.view, of.channels);
        let bytes = view.elem.bytes();
        let pack = view.kind.pack(bytes);
        let first = tile.channel.plus(&flat.behind);
        let (area, mut g) = (s * s, self.start(tile, of, flat, s));
        g.pitch *= pack;
        g.plane *= pack;
        // Adjacent columns of a planar tensor come as one word.
        let wide =
            if pack == 1 { [4, 2, 1].into_iter().find(|u| s.is_multiple_of(*u) && u * bytes <= 4) } else { None };
        let wide = wide.unwrap_or(1);
        g.unit = self.unit_of(wide * bytes)?;
        g.per_unit = wide;
        let units = pack;
        let scaled = |g: &mut Geometry| {
            g.x0 = match wide {
                1 => g.x0.times(units as i64),
                _ => g.x0.divided(wide as i64).unwrap_or_else(|| g.x0.clone()),
            };
            (g.width, g.col_step) = (g.width * units / wide, g.col_step * units / wide);
        };
        scaled(&mut g);
        let whole = first.multiple_of(area) && n.is_multiple_of(area);
        let columns = WalkLoop { n: (s / wide) as u32, dx: units as i32, dy: 0, dp: 0 };
        if whole {
            let base = first.divided(area as i64);
            let base = match base {
                Some(base) => base,
                None => Affine::number(self.sum_known(&first)? / area as i64),
            };
            let channel = base.plus(&flat.channels);
            g.loops.extend([columns, WalkLoop { n: s as u32, dx: 0, dy: 1, dp: 0 }]);
            self.planes(&mut g, &channel, n / area, pack)?;
        } else {
            let at = self.sum_known(&first)? as usize;
            let (row, channel) = (at / s % s, at / area);
            if !at.is_multiple_of(s) || !n.is_multiple_of(s) || row + n / s > s {
                return self.fail(
                    format!("{n} channels from {at} on of patches of {s} x {s}"),
                    "take whole patches, or whole rows of one patch",
                );
            }
            g.y0 = g.y0.add(row as i64);
            g.loops.extend([columns, WalkLoop { n: (n / s) as u32, dx: 0, dy: 1, dp: 0 }]);
            let channel = Affine::number(channel as i64).plus(&flat.channels);
            self.planes(&mut g, &channel, 1, pack)?;
        }
        let layout = &tile.layout;
        let dy = if layout.block.0 == 1 { 1 } else { layout.stride };
        let across = (layout.stride * s * units / wide) as i32;
        g.loops.push(WalkLoop { n: of.cols as u32, dx: across, dy: 0, dp: 0 });
        g.loops.push(WalkLoop { n: of.rows as u32, dx: 0, dy: (dy * s) as i32, dp: 0 });
        g.loops.retain(|l| l.n > 1);
        self.at_most_four(&g)?;
        Ok(g)
    }

    /// A loop over channels of the tensor, element by element.
    fn planes(&mut self, g: &mut Geometry, channel: &Affine, n: usize, pack: usize) -> R<()> {
        let lane = self.lane_of(channel, pack)?;
        let plane = self.plane_of(channel, pack, g.plane)?;
        g.at = g.at.plus(&plane);
        g.x0 = g.x0.plus(&lane);
        if pack == 1 {
            g.loops.push(WalkLoop { n: n as u32, dx: 0, dy: 0, dp: 1 });
        } else if lane.range.hi as usize + n <= pack {
            g.loops.push(WalkLoop { n: n as u32, dx: 1, dy: 0, dp: 0 });
        } else if lane.as_known() == Some(0) && n.is_multiple_of(pack) {
            g.loops.push(WalkLoop { n: pack as u32, dx: 1, dy: 0, dp: 0 });
            g.loops.push(WalkLoop { n: (n / pack) as u32, dx: 0, dy: 0, dp: 1 });
        } else {
            return self
                .fail(format!("patches of {n} channels that begin within a word of {pack}"), "take whole words");
        }
        Ok(())
    }

    /// Channels as patches: each PE holds whole ones.
    fn spread_patches(&mut self, tile: &Tile, of: Extent, flat: &Flat, s: usize) -> R<Geometry> {
        let (view, layout) = (&tile.view, &tile.layout);
        let bytes = view.elem.bytes();
        let pack = view.kind.pack(bytes);
        let still = tile.tap.0.as_known() == Some(0) && tile.tap.1.as_known() == Some(0);
        let whole = of.rows.is_multiple_of(s) && of.cols.is_multiple_of(s);
        if !whole || !still || layout.stride != 1 || of.above > 0 {
            return self.fail(
                format!("a tile of `depth_to_space::<{s}>` that splits patches among PEs"),
                &format!("let each PE hold whole patches: `.tiles().block::<{s}, {s}>()`"),
            );
        }
        let mut g = self.start(tile, of, flat, 1);
        let divided = |sum: &Affine| sum.divided(s as i64).unwrap_or_else(|| sum.clone());
        (g.x0, g.y0) = (divided(&g.x0), divided(&g.y0));
        (g.height, g.width) = (g.height / s, g.width / s * pack);
        (g.col_step, g.row_step) = (layout.block.1 / s * pack, layout.block.0 / s);
        g.x0 = g.x0.times(pack as i64);
        g.pitch *= pack;
        g.plane *= pack;
        g.unit = self.unit_of(bytes)?;
        let channel = tile.channel.plus(&flat.behind).times((s * s) as i64).plus(&flat.channels);
        let (lane, plane) = (self.lane_of(&channel, pack)?, self.plane_of(&channel, pack, g.plane)?);
        if pack > 1 && lane.as_known() != Some(0) {
            return self.fail("patches that begin within a word", "take whole words of channels");
        }
        g.at = g.at.plus(&plane);
        for (n, step) in [(of.channels, s * s), (s, 1)] {
            self.channel_loop(&mut g, n, step, pack)?;
        }
        g.loops.push(WalkLoop { n: (of.cols / s) as u32, dx: pack as i32, dy: 0, dp: 0 });
        self.channel_loop(&mut g, s, s, pack)?;
        g.loops.push(WalkLoop { n: (of.rows / s) as u32, dx: 0, dy: 1, dp: 0 });
        g.loops.retain(|l| l.n > 1);
        self.at_most_four(&g)?;
        Ok(g)
    }

    /// A loop over every `step`th channel.
    fn channel_loop(&self, g: &mut Geometry, n: usize, step: usize, pack: usize) -> R<()> {
        let l = if step.is_multiple_of(pack) {
            WalkLoop { n: n as u32, dx: 0, dy: 0, dp: (step / pack) as i32 }
        } else if n * step <= pack && (pack / step).is_multiple_of(n) {
            WalkLoop { n: n as u32, dx: step as i32, dy: 0, dp: 0 }
        } else {
            return self.fail("patches that lie in several words", "take a planar tensor");
        };
        g.loops.push(l);
        Ok(())
    }

    pub(super) fn at_most_four(&self, g: &Geometry) -> R<()> {
        if g.loops.len() > 4 {
            return self.fail(
                format!("a flow whose walk has {} loops, and there are 4", g.loops.len()),
                "take a planar tensor, smaller blocks or whole patches",
            );
        }
        Ok(())
    }

    /// Tokens row by row of the grid: `full` rows are whole, of the next one `rest` are there.
    pub(super) fn token_rows(&self, tile: &Tile) -> R<(usize, usize)> {
        let (view, layout) = (&tile.view, &tile.layout);
        debug_assert_eq!(view.kind, Kind::Tokens, "the caller has looked");
        if layout.block != (1, 1) || layout.stride != 1 || layout.halo_rows + layout.halo_cols > 0 {
            return self.fail("a walk over tokens with blocks, strides or halos", "tokens lie one to a PE");
        }
        let n = view.dims[2];
        Ok((n / layout.grid.1, n % layout.grid.1))
    }
}
