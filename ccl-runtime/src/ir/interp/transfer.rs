//! What moves between memories: tiles of flows, random access.

use super::super::types::*;
use super::{Frame, Machine, Mask, Result, UNDEF, UNDEF_BYTE, Val};

impl Machine<'_> {
    pub(super) fn mem(&self, fr: &Frame<'_>, id: Id) -> usize {
        match fr.values[id.0 as usize] {
            Val::Mem(i) => i,
            ref other => panic!("a buffer was verified, not {other:?}"),
        }
    }

    /// The rows and columns of a tile: lane, and byte offset into the buffer if it lies in the tensor.
    pub(super) fn tile(&self, w: &Walk, at: [i64; 4], tile: u64) -> Vec<(usize, Option<i64>)> {
        let [base, mut x0, mut y0, second] = at;
        let (mut rest, mut plane, mut base) = (tile, 0i64, base);
        if w.second.is_some() {
            (rest, base) = (tile / 2, if tile % 2 == 1 { second } else { base });
        }
        for l in &w.loops {
            let i = (rest % l.n as u64) as i64;
            rest /= l.n as u64;
            x0 += i * l.dx as i64;
            y0 += i * l.dy as i64;
            plane += i * l.dp as i64;
        }
        let mut lanes = Vec::new();
        for r in 0..w.rows as i64 {
            for c in -(w.halo as i64)..(w.cols + w.halo) as i64 {
                let (x, y) = (x0 + c * w.col_step as i64, y0 + r * w.row_step as i64);
                let inside = (0..w.width as i64).contains(&x) && (0..w.height as i64).contains(&y);
                let offset = base + plane * w.plane as i64 + y * w.pitch as i64 + x * w.elem.bytes() as i64;
                lanes.push((self.lane(r, c), inside.then_some(offset)));
            }
        }
        lanes
    }

    fn slot(w: &Walk, tile: u64) -> usize {
        let per = if w.group > 0 { w.group as u64 } else { w.tiles() };
        w.slot as usize + (tile % per) as usize * w.slot_step as usize
    }

    /// Undefines what a flow in will fill.
    pub(super) fn blur(&self, fr: &mut Frame<'_>, w: &Walk, tile: u64) {
        let lanes = self.tile(w, [0; 4], tile);
        let Val::Lrm { bytes, .. } = &mut fr.values[w.lrm.0 as usize] else { panic!("a buffer was verified") };
        for k in 0..w.elem.bytes() as usize {
            lanes.iter().for_each(|(lane, _)| bytes[Self::slot(w, tile) + k][*lane] = UNDEF_BYTE);
        }
    }

    pub(super) fn tile_in(&mut self, fr: &mut Frame<'_>, w: &Walk, at: [i64; 4], tile: u64, instance: usize) {
        let lanes = self.tile(w, at, tile);
        let buf = w.second.filter(|_| tile % 2 == 1).map_or(w.buf, |(buf, _)| buf);
        let memory = &self.memory[self.mem(fr, buf)];
        let Val::Lrm { bytes, len, .. } = &mut fr.values[w.lrm.0 as usize] else { panic!("a buffer was verified") };
        let slot = instance * *len + Self::slot(w, tile);
        for k in 0..w.elem.bytes() as usize {
            for (lane, offset) in &lanes {
                bytes[slot + k][*lane] = offset.map_or(0, |o| memory[o as usize + k]);
            }
        }
    }

    pub(super) fn tile_out(&mut self, fr: &Frame<'_>, w: &Walk, at: [i64; 4], tile: u64, instance: usize) {
        let lanes = self.tile(w, at, tile);
        let buf = self.mem(fr, w.buf);
        let Val::Lrm { bytes, len, .. } = &fr.values[w.lrm.0 as usize] else { panic!("a buffer was verified") };
        let slot = instance * len + Self::slot(w, tile);
        for (lane, offset) in lanes {
            if let Some(o) = offset {
                for k in 0..w.elem.bytes() as usize {
                    self.memory[buf][o as usize + k] = bytes[slot + k][lane];
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the operands of one operation")]
    pub(super) fn rau(
        &mut self,
        fr: &mut Frame<'_>,
        store: bool,
        buf: Id,
        at: SVal,
        elem: Elem,
        limit: u32,
        places: [Option<&ElemRef>; 3],
    ) -> Result<()> {
        let [Some(index), Some(data), valid] = places else { panic!("index and data are always there") };
        let base = self.sval(fr, at) as i64;
        let memory = self.mem(fr, buf);
        let width = elem.bytes() as usize;
        let idx = self.read(fr, index.buf, self.offset(fr, index), 4);
        let (data_at, valid_at) = (self.offset(fr, data), valid.map(|v| self.offset(fr, v)));
        let array: Vec<usize> = (0..self.lanes()).filter(|l| self.in_array(*l)).collect();
        for lane in array {
            match self.mask()[lane] {
                Mask::Off => continue,
                Mask::Unknown => return self.undefined("decides who takes part in a random access"),
                Mask::On => {}
            }
            if idx[lane] == UNDEF {
                return self.undefined("is the index of a random access");
            }
            let hit = (0..limit as i64).contains(&idx[lane]);
            let from = (base + idx[lane] * width as i64) as usize;
            let Val::Lrm { bytes, .. } = &mut fr.values[data.buf.0 as usize] else { panic!("a buffer was verified") };
            for k in 0..width {
                match (store, hit) {
                    (true, true) => self.memory[memory][from + k] = bytes[data_at + k][lane],
                    (true, false) => {}
                    (false, true) => bytes[data_at + k][lane] = self.memory[memory][from + k],
                    (false, false) => bytes[data_at + k][lane] = 0,
                }
            }
            if let (Some(valid), Some(at)) = (valid, valid_at)
                && let Val::Lrm { bytes, .. } = &mut fr.values[valid.buf.0 as usize]
            {
                (0..4).for_each(|k| bytes[at + k][lane] = u16::from(hit && k == 0));
            }
        }
        Ok(())
    }
}
