//! Descriptor registers and what the engines read from them: checked, with every arithmetic in 64 bit.

use crate::isa::operand::{Engine, Field};
use crate::sim::trap::{Bytes, Memory, TrapCause};
use crate::target::TargetSpec;

/// One descriptor register: a number for each [`Field`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor([i32; Field::ALL.len()]);

impl Default for Descriptor {
    fn default() -> Self {
        Self([0; Field::ALL.len()])
    }
}

impl Descriptor {
    /// Sets a field.
    pub fn set(&mut self, field: Field, value: i32) {
        self.0[field as usize] = value;
    }
    /// A field as written.
    pub fn get(&self, field: Field) -> i64 {
        self.0[field as usize] as i64
    }
    /// A field that must lie in a range.
    fn ranged(&self, engine: Engine, field: Field, min: i64, max: i64) -> Result<i64, TrapCause> {
        let value = self.get(field);
        if (min..=max).contains(&value) {
            Ok(value)
        } else {
            Err(TrapCause::descriptor(engine, field, value, format!("{min}..={max}")))
        }
    }
    /// An address or pitch: read unsigned.
    fn address(&self, field: Field) -> i64 {
        self.0[field as usize] as u32 as i64
    }
    fn element(&self, engine: Engine) -> Result<u32, TrapCause> {
        match self.get(Field::Elem) {
            bytes @ (1 | 2 | 4) => Ok(bytes as u32),
            other => Err(TrapCause::descriptor(engine, Field::Elem, other, "1, 2 or 4")),
        }
    }
}

/// Steps, origins and strides of a walk stay below this magnitude, so that sums of their products fit 64 bit.
const MAX_STEP: i64 = 1 << 24;
/// Entries of a level of a broadcast, rows of a DMA.
const MAX_TRIPS: i64 = (1 << 24) - 2;
/// Tiles of one flow: its token is a 16-bit counter. It also bounds the work that one instruction can give the host.
const MAX_TILES: i64 = (1 << 16) - 1;

/// One loop of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WalkLoop {
    trips: u32,
    dx: i64,
    dy: i64,
    dp: i64,
}

/// A checked walk over a tensor in on-chip memory, tile by tile, and the slots of local memory it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    ocm: i64,
    /// Bytes of an element.
    pub elem: u32,
    width: i64,
    height: i64,
    row_pitch: i64,
    plane_pitch: i64,
    x0: i64,
    y0: i64,
    col_step: i64,
    row_step: i64,
    /// PE rows of a tile.
    pub rows: u32,
    cols: i64,
    halo: i64,
    loops: [WalkLoop; 4],
    /// Tiles of the whole walk.
    pub tiles: u32,
    lrm: u32,
    lrm_step: u32,
    /// Tiles of a buffer; all of them without a ring.
    pub group: u32,
    /// Buffers of the ring; 0 without one.
    pub ring: u32,
    ring_step: u32,
}

/// Where a tile begins: column and row of PE (0, 0) and byte offset of the plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileOrigin {
    x: i64,
    y: i64,
    plane: i64,
}

/// One row of a tile as it lies in on-chip memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileRow {
    /// Byte address of the first element inside the tensor.
    pub address: u64,
    /// Column of the PE that takes it; negative in the west border.
    pub col: i32,
    /// Elements inside the tensor; 0 if the row lies outside.
    pub count: u32,
    /// Bytes from an element to the next.
    pub stride: u32,
}

impl TileRow {
    /// Bytes from the first to one past the last element.
    pub fn span(&self, elem: u32) -> Bytes {
        let len = if self.count == 0 { 0 } else { (self.count - 1) as u64 * self.stride as u64 + elem as u64 };
        Bytes::new(self.address, self.address + len)
    }
}

impl Walk {
    /// Reads and checks the descriptor of a flow.
    pub fn new(d: &Descriptor, engine: Engine, spec: &TargetSpec) -> Result<Self, TrapCause> {
        let elem = d.element(engine)?;
        let border = if engine == Engine::FlowIn { spec.border as i64 } else { 0 };
        let halo = d.ranged(engine, Field::Halo, 0, border)?;
        let loops = Self::loops(d, engine)?;
        let tiles: i64 = loops.iter().map(|l| l.trips as i64).try_fold(1i64, i64::checked_mul).unwrap_or(i64::MAX);
        if tiles > MAX_TILES {
            return Err(TrapCause::descriptor(engine, Field::N3, tiles, format!("at most {MAX_TILES} tiles in all")));
        }
        let ring = d.ranged(engine, Field::Ring, 0, 4096)? as u32;
        let group = if ring == 0 { tiles } else { d.ranged(engine, Field::Group, 1, 1 << 16)? };
        let walk = Walk {
            ocm: d.address(Field::Ocm),
            elem,
            width: d.ranged(engine, Field::Width, 1, MAX_STEP)?,
            height: d.ranged(engine, Field::Height, 1, MAX_STEP)?,
            row_pitch: d.address(Field::RowPitch),
            plane_pitch: d.address(Field::PlanePitch),
            x0: d.ranged(engine, Field::X0, -MAX_STEP, MAX_STEP)?,
            y0: d.ranged(engine, Field::Y0, -MAX_STEP, MAX_STEP)?,
            col_step: d.ranged(engine, Field::ColStep, 1, MAX_STEP)?,
            row_step: d.ranged(engine, Field::RowStep, 1, MAX_STEP)?,
            rows: d.ranged(engine, Field::Rows, 1, spec.rows as i64)? as u32,
            cols: d.ranged(engine, Field::Cols, 1, spec.cols as i64 + border - halo)?,
            halo,
            loops,
            tiles: tiles as u32,
            lrm: d.ranged(engine, Field::Lrm, 0, spec.lrm_bytes as i64)? as u32,
            lrm_step: d.ranged(engine, Field::LrmStep, 0, spec.lrm_bytes as i64)? as u32,
            group: group as u32,
            ring,
            ring_step: d.ranged(engine, Field::RingStep, 0, spec.lrm_bytes as i64)? as u32,
        };
        walk.check_lrm(engine, spec)?;
        walk.check_ring(engine)?;
        walk.check_ocm(spec)?;
        Ok(walk)
    }

    fn loops(d: &Descriptor, engine: Engine) -> Result<[WalkLoop; 4], TrapCause> {
        const FIELDS: [[Field; 4]; 4] = [
            [Field::N0, Field::Dx0, Field::Dy0, Field::Dp0],
            [Field::N1, Field::Dx1, Field::Dy1, Field::Dp1],
            [Field::N2, Field::Dx2, Field::Dy2, Field::Dp2],
            [Field::N3, Field::Dx3, Field::Dy3, Field::Dp3],
        ];
        let mut loops = [WalkLoop { trips: 1, dx: 0, dy: 0, dp: 0 }; 4];
        for (one, [n, dx, dy, dp]) in loops.iter_mut().zip(FIELDS) {
            one.trips = d.ranged(engine, n, 0, MAX_TILES)?.max(1) as u32;
            one.dx = d.ranged(engine, dx, -MAX_STEP, MAX_STEP)?;
            one.dy = d.ranged(engine, dy, -MAX_STEP, MAX_STEP)?;
            one.dp = d.ranged(engine, dp, -MAX_STEP, MAX_STEP)?;
        }
        Ok(loops)
    }

    fn check_lrm(&self, engine: Engine, spec: &TargetSpec) -> Result<(), TrapCause> {
        for (field, value) in
            [(Field::Lrm, self.lrm), (Field::LrmStep, self.lrm_step), (Field::RingStep, self.ring_step)]
        {
            if !value.is_multiple_of(self.elem) {
                let expected = format!("a multiple of the element's {} bytes", self.elem);
                return Err(TrapCause::descriptor(engine, field, value as i64, expected));
            }
        }
        let slots = self.group.min(self.tiles) as u64;
        let buffers = (self.tiles.div_ceil(self.group) as u64).min(self.ring.max(1) as u64);
        let end = self.lrm as u64
            + (slots - 1) * self.lrm_step as u64
            + (buffers - 1) * self.ring_step as u64
            + self.elem as u64;
        if end > spec.lrm_bytes as u64 {
            let size = spec.lrm_bytes as u64;
            let bytes = end - self.lrm as u64;
            return Err(TrapCause::Address { memory: Memory::Lrm, address: self.lrm as i64, bytes, size });
        }
        Ok(())
    }

    fn check_ocm(&self, spec: &TargetSpec) -> Result<(), TrapCause> {
        let Some((start, end)) = self.ocm_bounds() else { return Ok(()) };
        if start < 0 || end > spec.ocm_bytes as i128 {
            let clamp = |v: i128| v.clamp(i64::MIN as i128, i64::MAX as i128) as i64;
            return Err(TrapCause::Address {
                memory: Memory::Ocm,
                address: clamp(start),
                bytes: clamp(end - start) as u64,
                size: spec.ocm_bytes as u64,
            });
        }
        Ok(())
    }

    /// The smallest and one past the largest byte address that the walk can touch; `None` if it stays outside the tensor.
    fn ocm_bounds(&self) -> Option<(i128, i128)> {
        let reach = |step: fn(&WalkLoop) -> i64| {
            self.loops.iter().fold((0, 0), |(lo, hi), l| {
                let far = step(l) * (l.trips as i64 - 1);
                (lo + far.min(0), hi + far.max(0))
            })
        };
        let clip = |origin: i64, reach: (i64, i64), first: i64, last: i64, extent: i64| {
            let lo = (origin + reach.0 + first).max(0);
            let hi = (origin + reach.1 + last).min(extent - 1);
            (lo <= hi).then_some((lo, hi))
        };
        let (x_lo, x_hi) = clip(
            self.x0,
            reach(|l| l.dx),
            -self.halo * self.col_step,
            (self.cols + self.halo - 1) * self.col_step,
            self.width,
        )?;
        let (y_lo, y_hi) = clip(self.y0, reach(|l| l.dy), 0, (self.rows as i64 - 1) * self.row_step, self.height)?;
        let (p_lo, p_hi) = reach(|l| l.dp);
        let at = |plane: i64, y: i64, x: i64| {
            // Planes alone may step so far that 64 bit overflow; the rest is bounded by the tensor.
            plane as i128 * self.plane_pitch as i128 + (self.ocm + y * self.row_pitch + x * self.elem as i64) as i128
        };
        Some((at(p_lo, y_lo, x_lo), at(p_hi, y_hi, x_hi + 1)))
    }

    /// The byte range that bounds every access to on-chip memory.
    pub fn ocm_range(&self) -> Bytes {
        self.ocm_bounds().map_or(Bytes::new(0, 0), |(start, end)| Bytes::new(start as u64, end as u64))
    }

    /// Where tile `tile` begins.
    pub fn origin(&self, tile: u32) -> TileOrigin {
        let mut rest = tile;
        let mut origin = TileOrigin { x: self.x0, y: self.y0, plane: self.ocm };
        for l in &self.loops {
            let i = (rest % l.trips) as i64;
            rest /= l.trips;
            origin.x += i * l.dx;
            origin.y += i * l.dy;
            // Wraps only for walks that stay outside the tensor, whose planes are never read.
            origin.plane = origin.plane.wrapping_add((i * l.dp).wrapping_mul(self.plane_pitch));
        }
        origin
    }

    /// One row of a tile, clipped to the tensor.
    #[inline]
    pub fn row(&self, origin: TileOrigin, row: u32) -> TileRow {
        let y = origin.y + row as i64 * self.row_step;
        let stride = (self.col_step * self.elem as i64) as u32;
        let outside = TileRow { address: 0, col: 0, count: 0, stride };
        if !(0..self.height).contains(&y) {
            return outside;
        }
        // Columns c of the tile with 0 <= x + c * step < width.
        let (mut first, mut last) = (-self.halo, self.cols + self.halo - 1);
        if origin.x + first * self.col_step < 0 {
            first = (-origin.x).div_euclid(self.col_step) + i64::from((-origin.x).rem_euclid(self.col_step) != 0);
        }
        if origin.x + last * self.col_step >= self.width {
            last = (self.width - 1 - origin.x).div_euclid(self.col_step);
        }
        if first > last {
            return outside;
        }
        let x = origin.x + first * self.col_step;
        let address = (origin.plane + y * self.row_pitch + x * self.elem as i64) as u64;
        TileRow { address, col: first as i32, count: (last - first + 1) as u32, stride }
    }

    /// Column of the first PE that a row fills, and how many it fills, borders included.
    pub fn columns(&self) -> (i32, u32) {
        (-self.halo as i32, (self.cols + 2 * self.halo) as u32)
    }

    /// Whether neighbouring PEs take elements that are not adjacent.
    pub fn strided(&self) -> bool {
        self.col_step > 1
    }

    /// Byte address in local memory at which a tile lands or from which it leaves.
    pub fn slot(&self, tile: u32) -> u32 {
        let buffer = tile / self.group;
        let in_ring = if self.ring == 0 { 0 } else { buffer % self.ring };
        self.lrm + in_ring * self.ring_step + (tile % self.group) * self.lrm_step
    }

    /// Tiles of one buffer; the last may have fewer.
    pub fn buffer_tiles(&self, buffer: u32) -> std::ops::Range<u32> {
        let start = buffer.saturating_mul(self.group).min(self.tiles);
        start..start.saturating_add(self.group).min(self.tiles)
    }

    /// Buffers of the whole walk.
    pub fn buffers(&self) -> u32 {
        self.tiles.div_ceil(self.group)
    }

    /// Refuses a ring whose tiles share bytes: a buffer could not be handed over by itself.
    fn check_ring(&self, engine: Engine) -> Result<(), TrapCause> {
        let per_buffer = self.group.min(self.tiles);
        if self.ring > 0 && per_buffer > 1 && self.lrm_step < self.elem {
            let expected = format!("at least the element's {} bytes", self.elem);
            return Err(TrapCause::descriptor(engine, Field::LrmStep, self.lrm_step as i64, expected));
        }
        let span = (per_buffer as u64 - 1) * self.lrm_step as u64 + self.elem as u64;
        if self.ring > 1 && self.buffers() > 1 && (self.ring_step as u64) < span {
            let expected = format!("at least the {span} bytes of a buffer");
            return Err(TrapCause::descriptor(engine, Field::RingStep, self.ring_step as i64, expected));
        }
        Ok(())
    }
}

/// A checked broadcast stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    ocm: i64,
    inner: u32,
    inner_step: i64,
    outer: u32,
    outer_step: i64,
}

impl Stream {
    /// Bytes of an entry of the queue.
    pub const ENTRY: u64 = 16;

    /// Reads and checks the descriptor of a broadcast.
    pub fn new(d: &Descriptor, spec: &TargetSpec) -> Result<Self, TrapCause> {
        const E: Engine = Engine::Broadcast;
        let stream = Stream {
            ocm: d.address(Field::Ocm),
            inner: d.ranged(E, Field::N0, 1, MAX_TRIPS)? as u32,
            inner_step: d.get(Field::Dx0),
            outer: d.ranged(E, Field::N1, 0, MAX_TRIPS)?.max(1) as u32,
            outer_step: d.get(Field::Dx1),
        };
        for (field, value) in
            [(Field::Ocm, stream.ocm), (Field::Dx0, stream.inner_step), (Field::Dx1, stream.outer_step)]
        {
            if value % Self::ENTRY as i64 != 0 {
                return Err(TrapCause::descriptor(E, field, value, "a multiple of 16 bytes"));
            }
        }
        let (start, end) = stream.bounds();
        if start < 0 || end > spec.ocm_bytes as i64 {
            let size = spec.ocm_bytes as u64;
            return Err(TrapCause::Address { memory: Memory::Ocm, address: start, bytes: (end - start) as u64, size });
        }
        Ok(stream)
    }

    fn bounds(&self) -> (i64, i64) {
        let inner = self.inner_step * (self.inner as i64 - 1);
        let outer = self.outer_step * (self.outer as i64 - 1);
        let start = self.ocm + inner.min(0) + outer.min(0);
        (start, self.ocm + inner.max(0) + outer.max(0) + Self::ENTRY as i64)
    }

    /// The byte range that bounds every access.
    pub fn ocm_range(&self) -> Bytes {
        let (start, end) = self.bounds();
        Bytes::new(start as u64, end as u64)
    }

    /// Entries of the stream.
    pub fn entries(&self) -> u64 {
        self.inner as u64 * self.outer as u64
    }

    /// The ranges that the entries cover, ascending and apart. Takes time of the memory's size, not of the entries' number.
    pub fn ranges(&self) -> Vec<Bytes> {
        let range = self.ocm_range();
        let mut slots = vec![0u64; ((range.end - range.start) / Self::ENTRY).div_ceil(64) as usize];
        slots[0] = 1;
        // Whichever way the steps go, they cover what their magnitudes cover from the lowest address on.
        let step = |bytes: i64| (bytes.unsigned_abs() / Self::ENTRY) as usize;
        repeat(&mut slots, self.inner, step(self.inner_step));
        repeat(&mut slots, self.outer, step(self.outer_step));
        let mut ranges: Vec<Bytes> = Vec::new();
        for slot in (0..slots.len() * 64).filter(|slot| slots[slot / 64] >> (slot % 64) & 1 == 1) {
            let start = range.start + slot as u64 * Self::ENTRY;
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end += Self::ENTRY,
                _ => ranges.push(Bytes::new(start, start + Self::ENTRY)),
            }
        }
        ranges
    }

    /// Byte address of an entry.
    #[inline]
    pub fn address(&self, entry: u64) -> u64 {
        let (i, o) = ((entry % self.inner as u64) as i64, (entry / self.inner as u64) as i64);
        (self.ocm + i * self.inner_step + o * self.outer_step) as u64
    }
}

/// The union of a set of bits with itself shifted up by 1, 2, .. `trips - 1` times `step`, by doubling.
fn repeat(bits: &mut [u64], trips: u32, step: usize) {
    let mut done = 1;
    while step > 0 && done < trips {
        let more = done.min(trips - done);
        let (words, shift) = (more as usize * step / 64, more as usize * step % 64);
        for to in (words..bits.len()).rev() {
            let low = bits[to - words] << shift;
            let high = if shift > 0 && to > words { bits[to - words - 1] >> (64 - shift) } else { 0 };
            bits[to] |= low | high;
        }
        done += more;
    }
}

/// A checked random access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomAccess {
    /// Address of element 0.
    pub ocm: u64,
    /// Bytes of an element.
    pub elem: u32,
    /// Elements that may be addressed.
    pub limit: u32,
    /// Local byte address of the index word.
    pub index: u32,
    /// Local byte address of the datum.
    pub data: u32,
    /// Local byte address of the valid word.
    pub valid: Option<u32>,
}

impl RandomAccess {
    /// Reads and checks the descriptor of a random access.
    pub fn new(d: &Descriptor, spec: &TargetSpec) -> Result<Self, TrapCause> {
        const E: Engine = Engine::Rau;
        let elem = d.element(E)?;
        let ocm = d.address(Field::Ocm);
        let limit = d.ranged(E, Field::Limit, 1, i32::MAX as i64)?;
        let end = ocm + limit * elem as i64;
        if end > spec.ocm_bytes as i64 {
            let size = spec.ocm_bytes as u64;
            return Err(TrapCause::Address { memory: Memory::Ocm, address: ocm, bytes: (end - ocm) as u64, size });
        }
        let slot = |field: Field, width: u32, offset: i64| -> Result<u32, TrapCause> {
            let at = d.ranged(E, field, 0, spec.lrm_bytes as i64 - width as i64 + offset)? - offset;
            if at % width as i64 == 0 {
                Ok(at as u32)
            } else {
                Err(TrapCause::Alignment { memory: Memory::Lrm, address: at, align: width })
            }
        };
        Ok(RandomAccess {
            ocm: ocm as u64,
            elem,
            limit: limit as u32,
            index: slot(Field::Lrm, 4, 0)?,
            data: slot(Field::Data, elem, 0)?,
            valid: if d.get(Field::Valid) == 0 { None } else { Some(slot(Field::Valid, 4, 1)?) },
        })
    }

    /// The bytes that may be touched.
    pub fn ocm_range(&self) -> Bytes {
        Bytes::new(self.ocm, self.ocm + self.limit as u64 * self.elem as u64)
    }
}

/// A checked transfer between external and on-chip memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy2d {
    /// On-chip address of the first row.
    pub ocm: u64,
    /// External address of the first row.
    pub ext: u64,
    /// Bytes of a row.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes from a row to the next on chip.
    pub ocm_pitch: u64,
    /// Bytes from a row to the next outside.
    pub ext_pitch: u64,
}

impl Copy2d {
    /// Reads and checks the descriptor of a DMA; the external side is checked against its memory by the caller.
    pub fn new(d: &Descriptor, engine: Engine, spec: &TargetSpec) -> Result<Self, TrapCause> {
        let copy = Copy2d {
            ocm: d.address(Field::Ocm) as u64,
            ext: d.address(Field::Ext) as u64,
            bytes: d.ranged(engine, Field::Bytes, 1, i32::MAX as i64)? as u64,
            rows: d.ranged(engine, Field::N0, 0, MAX_TRIPS)?.max(1) as u64,
            ocm_pitch: d.address(Field::RowPitch) as u64,
            ext_pitch: d.address(Field::ExtPitch) as u64,
        };
        // Rows may share bytes where they come from, but each has its own where it lands.
        let (field, pitch) = match engine {
            Engine::DmaIn => (Field::RowPitch, copy.ocm_pitch),
            _ => (Field::ExtPitch, copy.ext_pitch),
        };
        if copy.rows > 1 && pitch < copy.bytes {
            let expected = format!("at least the {} bytes of a row", copy.bytes);
            return Err(TrapCause::descriptor(engine, field, pitch as i64, expected));
        }
        let range = copy.ocm_range();
        if range.end > spec.ocm_bytes as u64 {
            return Err(TrapCause::Address {
                memory: Memory::Ocm,
                address: range.start as i64,
                bytes: range.end - range.start,
                size: spec.ocm_bytes as u64,
            });
        }
        Ok(copy)
    }

    /// The bytes of on-chip memory between the first and the last touched.
    pub fn ocm_range(&self) -> Bytes {
        Bytes::new(self.ocm, self.ocm + (self.rows - 1) * self.ocm_pitch + self.bytes)
    }

    /// The bytes of external memory between the first and the last touched.
    pub fn ext_range(&self) -> Bytes {
        Bytes::new(self.ext, self.ext + (self.rows - 1) * self.ext_pitch + self.bytes)
    }
}
