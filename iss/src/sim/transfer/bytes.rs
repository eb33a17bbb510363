//! The bytes of transfers: tiles, rows, random elements.

use super::super::array::{Array, Place, Source};
use super::super::engine::descriptor::{Copy2d, RandomAccess, Walk};
use super::super::memory::ByteMemory;
use super::super::trap::Access;
use crate::isa::operand::{Engine, Width};

/// Bytes of the longest row: 64 columns and both borders, in words.
const ROW_BYTES: usize = 4 * 128;

/// Copies one tile from on-chip memory into the array; elements outside the tensor become zeros.
pub(super) fn load_tile(array: &mut Array, ocm: &ByteMemory, walk: &Walk, tile: u32) {
    let (origin, slot) = (walk.origin(tile), slot_place(walk, tile));
    let (first, count) = walk.columns();
    let elem = walk.elem as usize;
    let mut buffer = [0u8; ROW_BYTES];
    let bytes = &mut buffer[..count as usize * elem];
    for row in 0..walk.rows {
        let source = walk.row(origin, row);
        let from = ocm.slice(source.address, if source.count == 0 { 0 } else { row_len(&source, elem) });
        if source.count == count && source.stride as usize == elem {
            array.write_row(row as usize, first, slot, from);
            continue;
        }
        bytes.fill(0);
        if source.count > 0 {
            gather(&mut bytes[(source.col - first) as usize * elem..], from, source.stride as usize, elem);
        }
        array.write_row(row as usize, first, slot, bytes);
    }
}

/// Copies elements that lie `stride` apart in `from` side by side into `to`.
fn gather(to: &mut [u8], from: &[u8], stride: usize, elem: usize) {
    if stride == elem {
        to[..from.len()].copy_from_slice(from);
        return;
    }
    for (to, from) in to.chunks_exact_mut(elem).zip(from.chunks(stride)) {
        to.copy_from_slice(&from[..elem]);
    }
}

/// Copies one tile from the array into on-chip memory; elements outside the tensor are not written.
pub(super) fn store_tile(array: &Array, ocm: &mut ByteMemory, walk: &Walk, tile: u32) {
    let (origin, slot) = (walk.origin(tile), slot_place(walk, tile));
    let elem = walk.elem as usize;
    let mut buffer = [0u8; ROW_BYTES];
    for row in 0..walk.rows {
        let target = walk.row(origin, row);
        if target.count == 0 {
            continue;
        }
        let to = ocm.slice_mut(target.address, row_len(&target, elem));
        if target.stride as usize == elem {
            array.read_row(row as usize, target.col, slot, to);
            continue;
        }
        let bytes = &mut buffer[..target.count as usize * elem];
        array.read_row(row as usize, target.col, slot, bytes);
        for (i, element) in bytes.chunks_exact(elem).enumerate() {
            to[i * target.stride as usize..][..elem].copy_from_slice(element);
        }
    }
}

/// The local bytes of a tile.
fn slot_place(walk: &Walk, tile: u32) -> Place {
    place(walk.slot(tile), walk.elem)
}

/// `bytes` of local memory as a place.
fn place(addr: u32, bytes: u32) -> Place {
    let width = match bytes {
        1 => Width::Byte,
        2 => Width::Half,
        _ => Width::Word,
    };
    Place { width, addr }
}

fn row_len(row: &super::super::engine::descriptor::TileRow, elem: usize) -> usize {
    (row.count as usize - 1) * row.stride as usize + elem
}

pub(super) fn copy_rows(engine: Engine, copy: &Copy2d, ocm: &mut ByteMemory, ext: &mut ByteMemory) {
    let len = copy.bytes as usize;
    for row in 0..copy.rows {
        let (inside, outside) = (copy.ocm + row * copy.ocm_pitch, copy.ext + row * copy.ext_pitch);
        if engine == Engine::DmaIn {
            ocm.slice_mut(inside, len).copy_from_slice(ext.slice(outside, len));
        } else {
            ext.slice_mut(outside, len).copy_from_slice(ocm.slice(inside, len));
        }
    }
}

/// The enabled PEs of each row: column, and element index where that is valid.
type RandomRows = Vec<Vec<(i32, Option<u32>)>>;

pub(super) fn random_rows(array: &Array, access: &RandomAccess) -> RandomRows {
    let geometry = array.geometry();
    let indices = array.read(Source::word(access.index));
    let request = |row: usize, col: usize| {
        let index = indices[row * geometry.full_cols() + geometry.border + col];
        let valid = index >= 0 && (index as u32) < access.limit;
        array.enabled(row, col as i32).then_some((col as i32, valid.then_some(index as u32)))
    };
    (0..geometry.rows).map(|row| (0..geometry.cols).filter_map(|col| request(row, col)).collect()).collect()
}

pub(super) fn load_random(array: &mut Array, ocm: &ByteMemory, access: &RandomAccess, rows: &RandomRows) {
    let data = place(access.data, access.elem);
    for (row, requests) in rows.iter().enumerate() {
        for (col, index) in requests {
            let value = index.map_or(0, |index| {
                let bytes = ocm.slice(access.ocm + index as u64 * access.elem as u64, access.elem as usize);
                bytes.iter().rev().fold(0, |value, byte| value << 8 | *byte as i32)
            });
            array.set(row, *col, data, value);
            if let Some(valid) = access.valid {
                array.set(row, *col, Place::word(valid), index.is_some() as i32);
            }
        }
    }
}

pub(super) fn store_random(array: &Array, ocm: &mut ByteMemory, access: &RandomAccess, rows: &RandomRows) {
    let (data, elem) = (place(access.data, access.elem), access.elem as usize);
    for (row, requests) in rows.iter().enumerate() {
        for (col, index) in requests.iter().filter_map(|(col, index)| Some((col, (*index)?))) {
            let value = array.get(row, *col, data);
            let at = access.ocm + index as u64 * elem as u64;
            ocm.slice_mut(at, elem).copy_from_slice(&value.to_le_bytes()[..elem]);
        }
    }
}

/// The bytes of local memory that an access has in flight.
pub(super) fn rau_slots(access: &RandomAccess, store: bool) -> impl Iterator<Item = (Access, u32, u32)> {
    let data = if store { Access::Read } else { Access::Write };
    let valid = access.valid.filter(|_| !store).map(|valid| (Access::Write, valid, 4));
    [(Access::Read, access.index, 4), (data, access.data, access.elem)].into_iter().chain(valid)
}
