//! Transfers: fetches, stores, copies and random accesses, and when each is waited for.

use super::cx::Cx;
use super::error::{R, Stop};
use super::geometry::{Extent, Geometry};
use super::pe::stored;
use super::value::{Affine, Flight, Lrm, Pe, Place, Rows, Tile, Val, View};
use crate::ir::{ElemRef, Id, Index, OpKind, Src, Type, Walk};
use crate::kernel::ElemType;
use crate::tensor::Kind;

/// Stores under way at once; the engine queues two.
const MOST_STORES: usize = 2;

/// A transfer under way.
#[derive(Clone, Debug)]
pub(super) struct Flying {
    token: Id,
    /// Blocks around its start.
    depth: usize,
    /// The buffer that leaves, if somebody else may still write it.
    leaving: Option<Id>,
    tensors: Vec<(Id, bool)>,
    is_store: bool,
    is_random: bool,
    landed: bool,
    /// A buffer and the first of its elements that the tensor does not have: they become 0 when the others have landed, since
    /// only then the engine is done with the buffer.
    absent: Option<(Lrm, usize)>,
}

impl Flying {
    /// Whether it empties this buffer.
    pub(super) fn leaves(&self, buf: Id) -> bool {
        !self.landed && self.leaving == Some(buf)
    }
}

impl Cx<'_> {
    // ---- waiting ----

    /// The number of a transfer that is under way and was started in this block.
    pub(super) fn flying_as(&self, token: Id) -> Option<usize> {
        let depth = self.b.depth();
        self.flying.iter().position(|f| f.token == token && !f.landed && f.depth == depth)
    }
    fn fly(&mut self, flying: Flying) -> usize {
        self.flying.push(flying);
        self.flying.len() - 1
    }

    /// Waits for a transfer.
    pub(super) fn land(&mut self, i: usize) -> R<()> {
        if self.flying[i].landed {
            return Ok(());
        }
        let depth = self.b.depth();
        if self.flying[i].depth != depth {
            return match self.open_loops.iter().rev().find(|(_, may)| *may) {
                Some((key, _)) => Err(Stop::Replan(*key, super::error::Plan::Whole)),
                None => self.fail(
                    "a transfer is waited for in another block than the one that starts it",
                    "start and wait in the same block",
                ),
            };
        }
        self.flying[i].landed = true;
        self.push(OpKind::Wait { token: self.flying[i].token });
        match self.flying[i].absent.take() {
            Some((lrm, first)) => self.clear(&lrm, first),
            None => Ok(()),
        }
    }
    /// Writes 0 to the elements of a buffer from `first` on.
    fn clear(&mut self, lrm: &Lrm, first: usize) -> R<()> {
        (first..lrm.n).try_for_each(|i| self.write(lrm, &Affine::number(i as i64), Pe::number(lrm.elem, 0)))
    }
    fn land_all(&mut self, which: impl Fn(&Flying) -> bool) -> R<()> {
        (0..self.flying.len()).try_for_each(|i| match !self.flying[i].landed && which(&self.flying[i]) {
            true => self.land(i),
            false => Ok(()),
        })
    }
    /// Waits for what a block has started.
    pub(super) fn land_block(&mut self, depth: usize) -> R<()> {
        self.land_all(|f| f.depth == depth)
    }
    /// Waits for the random access under way, before a block that may start another one or read what it brings.
    pub(super) fn land_random(&mut self) -> R<()> {
        self.land_all(|f| f.is_random)
    }
    /// `drain()`.
    pub(super) fn drain(&mut self) -> R<()> {
        self.land_all(|_| true)
    }
    /// Waits for what writes a tensor.
    pub(super) fn land_tensor(&mut self, buf: Id) -> R<()> {
        self.land_all(|f| f.tensors.iter().any(|(b, writes)| *b == buf && *writes))
    }
    /// Waits for whatever touches a tensor.
    fn land_users(&mut self, buf: Id) -> R<()> {
        self.land_all(|f| f.tensors.iter().any(|(b, _)| *b == buf))
    }
    /// Waits for what leaves from a buffer, before it is written.
    pub(super) fn touch_lrm(&mut self, buf: Id) -> R<()> {
        self.land_all(|f| f.leaving == Some(buf))
    }
    /// Waits for stores of buffers that have names, before a block that may write them.
    pub(super) fn land_named(&mut self) -> R<()> {
        let depth = self.b.depth();
        self.land_all(|f| f.leaving.is_some() && f.depth == depth)
    }

    /// `.wait()`.
    pub(super) fn wait(&mut self, flight: &Flight) -> R<Val> {
        if let Some(token) = flight.token {
            self.land(token)?;
        }
        Ok((*flight.brings).clone())
    }

    // ---- flows ----

    fn extent(&self, tile: &Tile, n: usize, halo_rows: usize) -> R<Extent> {
        let (by, cols) = tile.layout.block;
        let rows = by + 2 * halo_rows;
        if n == 0 || !n.is_multiple_of(rows * cols) {
            return self.fail(
                format!("a buffer of {n} elements for {rows} rows and {cols} columns a channel"),
                "its extent is rows x columns x channels of each PE",
            );
        }
        Ok(Extent { rows, cols, channels: n / (rows * cols), above: halo_rows })
    }

    /// How many of the channels from the tile's first on there are.
    fn present(&self, tile: &Tile, n: usize) -> R<usize> {
        let channels = tile.view.reachable(n) as i64;
        match tile.channel.as_known() {
            Some(first) => Ok((channels - first).clamp(0, n as i64) as usize),
            None if tile.channel.range.hi + n as i64 <= channels => Ok(n),
            None => {
                // In the loop over whole chunks there are all; the last chunk stands by itself.
                self.sum_known(&tile.channel)?;
                Ok(n)
            }
        }
    }

    fn check_element(&self, view: &View, elem: ElemType) -> R<()> {
        if view.elem.bytes() != elem.bytes() {
            return self.fail(
                format!("a flow of `{}` elements and a buffer of `{elem}`", view.elem),
                "convert the values in the PEs",
            );
        }
        Ok(())
    }

    fn walk_of(&mut self, g: &Geometry, buf: Id, lrm: (Id, usize), halo: usize) -> Walk {
        let (at, x0, y0) = (self.sval(&g.at), self.sval(&g.x0), self.sval(&g.y0));
        let unit = g.unit.bytes();
        let many = g.loops.iter().any(|l| l.n > 1);
        Walk {
            buf,
            at,
            second: None,
            elem: g.unit,
            height: g.height as u32,
            width: g.width as u32,
            pitch: g.pitch as u32,
            plane: if g.loops.iter().any(|l| l.dp != 0) { g.plane as u32 } else { 0 },
            x0,
            y0,
            col_step: g.col_step as u32,
            row_step: g.row_step as u32,
            rows: g.rows as u32,
            cols: g.cols as u32,
            halo: halo as u32,
            loops: g.loops.clone(),
            lrm: lrm.0,
            slot: lrm.1 as u32,
            slot_step: if many { unit } else { 0 },
            group: 0,
        }
    }

    fn start_flow(&mut self, out: bool, walk: Walk, named: bool) -> usize {
        let (buf, lrm) = (walk.buf, walk.lrm);
        let token = self.b.value("flow", Type::Flow);
        self.push(OpKind::Flow { out, dst: token, walk: Box::new(walk) });
        let leaving = (out && named).then_some(lrm);
        let (depth, tensors) = (self.b.depth(), vec![(buf, out)]);
        self.fly(Flying {
            token,
            depth,
            leaving,
            tensors,
            is_store: out,
            is_random: false,
            landed: false,
            absent: None,
        })
    }

    /// `tile.fetch::<Lrm<T, N>>()`.
    pub(super) fn fetch(&mut self, tile: &Tile, elem: ElemType, n: usize) -> R<Val> {
        self.no_mask("a flow")?;
        self.check_element(&tile.view, elem)?;
        let of = self.extent(tile, n, tile.layout.halo_rows)?;
        let present = self.present(tile, of.channels)?;
        let mut lrm = self.new_lrm("tile", elem, n)?;
        lrm.rows = Rows { n: of.rows, above: of.above };
        let Place::Buffer { id, .. } = lrm.place else { unreachable!("new buffers are buffers") };
        // In a pipelined loop it becomes a ring of its own: what leaves from it is copied.
        self.homes.remove(&id);
        let mut token = None;
        if present < of.channels && present > 0 && of.rows * of.cols > 1 {
            return self.fail(
                format!("{} channels of a block or halo, of which {present} are there", of.channels),
                "take chunks that divide the channels",
            );
        }
        let first_absent = present * of.rows * of.cols;
        if present == 0 {
            self.clear(&lrm, 0)?;
        }
        if present > 0 {
            self.land_tensor(tile.view.buf)?;
            self.note_access(tile.view.buf, false)?;
            let of = Extent { channels: present, ..of };
            token = Some(match tile.view.kind {
                Kind::Tokens => self.fetch_tokens(tile, of, id)?,
                _ => {
                    let g = self.geometry(tile, of)?;
                    self.at_most_four(&g)?;
                    let walk = self.walk_of(&g, tile.view.buf, (id, 0), tile.layout.halo_cols);
                    let pair = if first_absent < n { None } else { self.paired(&walk, id) };
                    match pair {
                        Some((i, buf, byte)) => {
                            self.flying[i].tensors.push((tile.view.buf, false));
                            lrm.place = Place::Buffer { id: buf, first: Affine::number((byte / elem.bytes()) as i64) };
                            i
                        }
                        None => self.start_flow(false, walk, false),
                    }
                }
            });
        }
        if let Some(i) = token.filter(|_| first_absent < n) {
            self.flying[i].absent = Some((lrm.clone(), first_absent));
        }
        Ok(Val::Flight(Flight { token, brings: Box::new(Val::Lrm(lrm)) }))
    }

    /// Geometry of tokens: the rows of the grid are rows of the tensor.
    fn token_geometry(&mut self, tile: &Tile, of: Extent) -> R<Geometry> {
        let mut g = self.geometry(tile, of)?;
        let cols = tile.layout.grid.1;
        let unit = g.unit.bytes() as usize;
        let first = g.x0.clone();
        let Some(y0) = first.divided((g.col_step * cols) as i64) else {
            return self.fail("a tile of tokens that was moved by `tap`", "take other tokens: `x.tokens(first, n)`");
        };
        (g.x0, g.y0) = (Affine::number(0), y0);
        g.pitch = cols * g.col_step * unit;
        g.width = cols * g.col_step;
        g.height = tile.view.dims[2] / cols;
        Ok(g)
    }

    /// Tokens that do not fill the last row of the grid: that row by itself, and the tile's rows before it.
    fn token_tail(&mut self, tile: &Tile, g: &Geometry) -> R<Option<(Geometry, Option<Geometry>)>> {
        let (full, rest) = self.token_rows(tile)?;
        if rest == 0 || g.y0.range.hi + g.rows as i64 <= full as i64 {
            return Ok(None);
        }
        let before = full - self.sum_known(&g.y0)?.clamp(0, full as i64) as usize;
        let at = g.at.add((full * g.pitch) as i64);
        let y0 = Affine::number(-(before as i64));
        let tail = Geometry { at, height: 1, width: rest * g.col_step, y0, ..g.clone() };
        let head = (before > 0).then(|| Geometry { rows: before.min(g.rows), ..g.clone() });
        Ok(Some((tail, head)))
    }

    fn fetch_tokens(&mut self, tile: &Tile, of: Extent, id: Id) -> R<usize> {
        let (g, buf) = (self.token_geometry(tile, of)?, tile.view.buf);
        let (tail, head) = match self.token_tail(tile, &g)? {
            None => (g, None),
            Some(parts) => parts,
        };
        let walk = self.walk_of(&tail, buf, (id, 0), 0);
        let first = self.start_flow(false, walk, false);
        let Some(head) = head else { return Ok(first) };
        // The flow of the last row brings zeros to the rows before it.
        self.land(first)?;
        let walk = self.walk_of(&head, buf, (id, 0), 0);
        Ok(self.start_flow(false, walk, false))
    }

    /// `tile.store(value)`.
    pub(super) fn store(&mut self, tile: &Tile, value: &Val) -> R<()> {
        self.no_mask("a flow")?;
        let lrm = match value {
            Val::Pe(pe) => Lrm::lanes(pe.elem, vec![*pe]),
            Val::Scalar(s) => {
                let pe = self.spread(s, Some(tile.view.elem))?;
                Lrm::lanes(pe.elem, vec![pe])
            }
            Val::Lrm(lrm) => lrm.clone(),
            Val::Acc(acc) => Lrm::lanes(ElemType::I32, self.acc_values(acc)?),
            other => return self.wrong("a value to be stored", other),
        };
        self.check_element(&tile.view, lrm.elem)?;
        let of = self.extent(tile, lrm.n, 0)?;
        let present = self.present(tile, of.channels)?;
        if present == 0 {
            return Ok(());
        }
        if present < of.channels && of.rows * of.cols > 1 {
            return self.fail(
                format!("{} channels of a block, of which {present} are there", of.channels),
                "take chunks that divide the channels",
            );
        }
        let of = Extent { channels: present, ..of };
        self.note_access(tile.view.buf, true)?;
        let g = match tile.view.kind {
            Kind::Tokens => self.token_geometry(tile, of)?,
            _ => self.geometry(tile, of)?,
        };
        self.at_most_four(&g)?;
        let g = self.whole_words(tile, of, g)?;
        let named = matches!(lrm.place, Place::Buffer { .. }) && !lrm.fresh;
        let (id, first) = self.leaving(&lrm, &g, of)?;
        self.land_users(tile.view.buf)?;
        let stores: Vec<usize> =
            (0..self.flying.len()).filter(|i| self.flying[*i].is_store && !self.flying[*i].landed).collect();
        if stores.len() >= MOST_STORES {
            self.land(stores[0])?;
        }
        let slot = first as usize * lrm.elem.bytes();
        let tail = if tile.view.kind == Kind::Tokens { self.token_tail(tile, &g)? } else { None };
        let (g, head) = match tail {
            None => (g, None),
            Some((tail, head)) => (Geometry { rows: (-tail.y0.constant) as usize + 1, ..tail }, head),
        };
        let walk = self.walk_of(&g, tile.view.buf, (id, slot), 0);
        let token = self.start_flow(true, walk, named);
        if let Some(head) = head {
            self.land(token)?;
            let walk = self.walk_of(&head, tile.view.buf, (id, slot), 0);
            self.start_flow(true, walk, named);
        }
        Ok(())
    }

    /// A word whose other channels are none of the value's is written element by element.
    fn whole_words(&mut self, tile: &Tile, of: Extent, g: Geometry) -> R<Geometry> {
        let pack = tile.view.kind.pack(tile.view.elem.bytes());
        let n = of.channels;
        if g.per_unit == 1 || tile.view.steps.iter().any(|s| matches!(s, super::value::ViewStep::SpaceToDepth(_))) {
            return Ok(g);
        }
        let ends = tile.channel.as_known().is_some_and(|first| first as usize + n == tile.view.dims[0]);
        if n.is_multiple_of(pack) || (ends && tile.view.dims[0] == tile.view.whole[0]) {
            return Ok(g);
        }
        let message = format!("{n} channels leave into words of {pack}, which others share");
        self.fail(message, "store whole words of channels, or take a planar tensor")
    }

    /// The buffer from which a value leaves, and its first element; what fills up a word is 0. In a pipelined loop each flow has a
    /// buffer of its own, in the loop around it.
    fn leaving(&mut self, lrm: &Lrm, g: &Geometry, of: Extent) -> R<(Id, i64)> {
        let unit = g.unit.bytes() as i64;
        let bytes = lrm.elem.bytes() as i64;
        let units = (of.channels.div_ceil(g.per_unit) * of.rows * of.cols) as i64;
        if let Place::Buffer { id, first } = &lrm.place
            && let Some(first) = first.as_known()
            && (first * bytes) % unit == 0
            && lrm.n.is_multiple_of(g.per_unit)
            && (self.pipes.is_empty()
                || (self.homes.get(id) == Some(&self.open_loops.len()) && !self.landing.iter().any(|(of, _)| of == id)))
        {
            self.homes.remove(id);
            return Ok((*id, first));
        }
        let new = self.new_lrm("out", lrm.elem, (units * unit / bytes) as usize)?;
        let Place::Buffer { id, .. } = new.place else { unreachable!("new buffers are buffers") };
        if !lrm.n.is_multiple_of(g.per_unit) {
            let last = ElemRef { buf: id, view: g.unit, index: Index::Const, at: units as i32 - 1 };
            self.store_word(last, Src::Imm(0));
        }
        let to = Lrm { n: lrm.n.min(new.n), ..new };
        let from = match lrm.part(&Affine::number(0), to.n) {
            Some(part) => part,
            None => return self.fail("fewer values than leave", ""),
        };
        self.copy_lrm(&to, &from)?;
        self.homes.remove(&id);
        Ok((id, 0))
    }

    /// A tensor that a pipelined walk reads and writes is in flight both ways: such a walk goes tile by tile.
    fn note_access(&mut self, buf: Id, writes: bool) -> R<()> {
        for (key, reads, written) in &mut self.pipes {
            let (mine, others) = if writes { (written, reads) } else { (reads, written) };
            if others.contains(&buf) {
                self.learnt.sequential.push(*key);
                return Err(Stop::Restart);
            }
            mine.push(buf);
        }
        Ok(())
    }

    pub(super) fn no_mask(&self, what: &str) -> R<()> {
        if self.masks > 0 {
            return self.fail(
                format!("{what} under a condition that differs from PE to PE"),
                "move it out of the `if`, and `select` what each PE makes of it",
            );
        }
        Ok(())
    }

    // ---- memories ----

    /// `prefetch(from, to)`, `write_back(from, to)`.
    pub(super) fn dma(&mut self, out: bool, ocm: &View, ext: &View) -> R<Val> {
        self.no_mask("a transfer")?;
        if !ocm.steps.is_empty() || !ext.steps.is_empty() || ocm.bytes() != ext.bytes() {
            return self.fail("DMA of a part of a tensor, or of tensors of unlike sizes", "copy whole tensors");
        }
        self.land_users(ocm.buf)?;
        self.land_users(ext.buf)?;
        let token = self.b.value("dma", Type::Token);
        let (ocm_at, ext_at) = (self.sval(&ocm.at), self.sval(&ext.at));
        self.push(OpKind::Dma {
            out,
            dst: token,
            ocm: ocm.buf,
            ocm_at,
            ocm_pitch: 0,
            ext: ext.buf,
            ext_at,
            ext_pitch: 0,
            bytes: ocm.bytes() as u32,
            rows: 1,
        });
        let (depth, tensors) = (self.b.depth(), vec![(ocm.buf, !out), (ext.buf, out)]);
        let flying = Flying {
            token,
            depth,
            leaving: None,
            tensors,
            is_store: false,
            is_random: false,
            landed: false,
            absent: None,
        };
        let token = Some(self.fly(flying));
        Ok(Val::Flight(Flight { token, brings: Box::new(Val::UNIT) }))
    }

    /// `x.gather(index)`, `y.scatter(index, value)`.
    pub(super) fn random(&mut self, view: &View, index: Pe, value: Option<Pe>) -> R<Val> {
        if !view.steps.is_empty() || view.is_external || matches!(view.kind, Kind::Stream(_)) {
            return self.fail(
                "random access to a part of a tensor, a stream or external memory",
                "access whole tensors on chip",
            );
        }
        let elem = view.elem;
        let limit = view.whole[0].next_multiple_of(view.kind.pack(elem.bytes())) * view.whole[1] * view.whole[2];
        let at = |buf: Id, view, at| ElemRef { buf, view, index: Index::Const, at };
        self.land_all(|f| f.is_random)?;
        self.land_users(view.buf)?;
        let index_buf = self.raw_lrm("index", crate::ir::Elem::I32, 1);
        let index_at = at(index_buf, crate::ir::Elem::I32, 0);
        self.store_word(index_at, index.lo);
        let unit = stored(elem);
        let data_buf = self.raw_lrm("data", unit, 4 / unit.bytes());
        let data_at = at(data_buf, unit, 0);
        let mut valid = None;
        match value {
            Some(value) => self.store_word(data_at, value.lo),
            None => {
                let buf = self.raw_lrm("valid", crate::ir::Elem::I32, 1);
                valid = Some(at(buf, crate::ir::Elem::I32, 0));
            }
        }
        let token = self.b.value("rau", Type::Token);
        let first = self.sval(&view.at);
        self.push(OpKind::Rau {
            store: value.is_some(),
            dst: token,
            buf: view.buf,
            at: first,
            elem: unit,
            limit: limit as u32,
            index: index_at,
            data: data_at,
            valid,
        });
        let (depth, tensors) = (self.b.depth(), vec![(view.buf, value.is_some())]);
        let flying = Flying {
            token,
            depth,
            leaving: None,
            tensors,
            is_store: false,
            is_random: true,
            landed: false,
            absent: None,
        };
        let token = Some(self.fly(flying));
        let brings = match valid {
            None => Val::UNIT,
            Some(valid) => {
                let of = |elem, id| Lrm {
                    elem,
                    n: 1,
                    place: Place::Buffer { id, first: Affine::number(0) },
                    rows: Rows::ONE,
                    fresh: false,
                };
                // Read as elements when they have landed; the valid word is 0 or 1.
                Val::Tuple(vec![Val::Lrm(of(elem, data_buf)), Val::Lrm(of(ElemType::I32, valid.buf))])
            }
        };
        Ok(Val::Flight(Flight { token, brings: Box::new(brings) }))
    }

    /// What a gather brought, as values.
    pub(super) fn gathered(&mut self, brought: &Val) -> R<Val> {
        let Val::Tuple(parts) = brought else { return Ok(brought.clone()) };
        let [Val::Lrm(data), Val::Lrm(valid)] = parts.as_slice() else { return Ok(brought.clone()) };
        let zero = Affine::number(0);
        let (value, valid) = (self.read_at(data, &zero)?, self.read_at(valid, &zero)?);
        Ok(Val::Tuple(vec![Val::Pe(value), Val::Pe(Pe::new(ElemType::Bool, valid.lo))]))
    }
}
