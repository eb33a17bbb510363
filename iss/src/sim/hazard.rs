//! Bytes in flight: from the issue of a transfer until a wait retires it, what is landing may not be touched and what is
//! leaving may not be written, whatever the timing.
//!
//! Local memory keeps a count per byte, since every array instruction asks. On-chip and external memory are only touched
//! by transfers and scalar loads, so there footprints are compared when a transfer starts: by bounding range first, row
//! by row where those overlap.

use super::engine::descriptor::{Copy2d, RandomAccess, Stream, Walk};
use super::trap::{Access, Bytes};

/// Counts of transfers per byte of local memory.
#[derive(Debug)]
pub struct LrmMarks {
    landing: Vec<u32>,
    leaving: Vec<u32>,
    /// Marks in all; 0 lets array instructions skip the check.
    live: u64,
}

impl LrmMarks {
    /// No marks.
    pub fn new(lrm_bytes: usize) -> Self {
        Self { landing: vec![0; lrm_bytes], leaving: vec![0; lrm_bytes], live: 0 }
    }

    /// Whether anything is marked.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.live > 0
    }

    fn side(&mut self, access: Access) -> &mut [u32] {
        match access {
            Access::Write => &mut self.landing,
            Access::Read => &mut self.leaving,
        }
    }

    /// Marks bytes that a transfer writes (landing) or reads (leaving).
    pub fn mark(&mut self, access: Access, start: u32, len: u32) {
        self.live += len as u64;
        self.side(access)[start as usize..(start + len) as usize].iter_mut().for_each(|n| *n += 1);
    }

    /// Takes one mark off.
    pub fn unmark(&mut self, access: Access, start: u32, len: u32) {
        self.live -= len as u64;
        self.side(access)[start as usize..(start + len) as usize].iter_mut().for_each(|n| *n -= 1);
    }

    /// Whether an access collides with a mark.
    pub fn collides(&self, access: Access, start: u32, len: u32) -> bool {
        let range = start as usize..(start + len) as usize;
        let landing = self.landing[range.clone()].iter().any(|n| *n > 0);
        landing || (access == Access::Write && self.leaving[range].iter().any(|n| *n > 0))
    }
}

/// What a transfer touches of on-chip or external memory.
#[derive(Debug)]
pub enum Footprint<'a> {
    /// The tiles of a walk from a given one on.
    Walk(&'a Walk, u32),
    /// A broadcast stream.
    Stream(&'a Stream),
    /// A random access: any element.
    Random(&'a RandomAccess),
    /// The on-chip side of a DMA.
    DmaOcm(&'a Copy2d),
    /// The external side of a DMA.
    DmaExt(&'a Copy2d),
    /// One range.
    Range(Bytes),
}

impl Footprint<'_> {
    fn bounds(&self) -> Bytes {
        match self {
            Footprint::Walk(walk, _) => walk.ocm_range(),
            Footprint::Stream(stream) => stream.ocm_range(),
            Footprint::Random(access) => access.ocm_range(),
            Footprint::DmaOcm(copy) => copy.ocm_range(),
            Footprint::DmaExt(copy) => copy.ext_range(),
            Footprint::Range(range) => *range,
        }
    }

    /// Calls `visit` with each contiguous piece until it returns true; whether it did.
    fn any_piece(&self, mut visit: impl FnMut(Bytes) -> bool) -> bool {
        match self {
            Footprint::Walk(walk, from) => (*from..walk.tiles).any(|tile| {
                let origin = walk.origin(tile);
                (0..walk.rows).any(|row| {
                    let row = walk.row(origin, row);
                    // A strided row counts only the elements it takes.
                    match row.count {
                        0 => false,
                        _ if row.stride == walk.elem => visit(row.span(walk.elem)),
                        count => (0..count as u64).any(|i| {
                            let start = row.address + i * row.stride as u64;
                            visit(Bytes::new(start, start + walk.elem as u64))
                        }),
                    }
                })
            }),
            Footprint::Stream(stream) => stream.ranges().into_iter().any(visit),
            Footprint::DmaOcm(copy) => rows(copy.ocm, copy.ocm_pitch, copy).any(visit),
            Footprint::DmaExt(copy) => rows(copy.ext, copy.ext_pitch, copy).any(visit),
            Footprint::Random(_) | Footprint::Range(_) => visit(self.bounds()),
        }
    }

    /// The first bytes, in the order of `self`, that both touch.
    pub fn meets(&self, other: &Footprint<'_>) -> Option<Bytes> {
        let (a, b) = (self.bounds(), other.bounds());
        if !a.overlaps(b) {
            return None;
        }
        let window = Bytes::new(a.start.max(b.start), a.end.min(b.end));
        let mut touched = vec![0u64; ((window.end - window.start) as usize).div_ceil(64)];
        other.any_piece(|piece| {
            clip(piece, window).for_each(|byte| touched[byte / 64] |= 1 << (byte % 64));
            false
        });
        let is_touched = |byte: &usize| touched[byte / 64] >> (byte % 64) & 1 == 1;
        let mut found = None;
        self.any_piece(|piece| {
            let mut bytes = clip(piece, window);
            if let Some(first) = bytes.find(is_touched) {
                let len = 1 + bytes.take_while(is_touched).count() as u64;
                let start = window.start + first as u64;
                found = Some(Bytes::new(start, start + len));
            }
            found.is_some()
        });
        found
    }
}

/// The bytes of a piece inside the window, counted from its start.
fn clip(piece: Bytes, window: Bytes) -> std::ops::Range<usize> {
    let start = piece.start.max(window.start);
    let end = piece.end.min(window.end).max(start);
    (start - window.start) as usize..(end - window.start) as usize
}

/// The pieces of one side of a DMA; rows that touch or overlap are one.
fn rows(base: u64, pitch: u64, copy: &Copy2d) -> impl Iterator<Item = Bytes> {
    let (rows, len) =
        if pitch <= copy.bytes { (1, (copy.rows - 1) * pitch + copy.bytes) } else { (copy.rows, copy.bytes) };
    (0..rows).map(move |row| Bytes::new(base + row * pitch, base + row * pitch + len))
}
