//! Transfers of the reference machine: all bytes move at once, and stay marked until they are waited for.

use iss::isa::operand::{Engine, Field};
use iss::sim::Memory;

use super::{Live, Model, Why};

/// A flow: its tiles with the slot of each and every element.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    tiles: Vec<Tile>,
    elem: usize,
    group: usize,
    ring: usize,
    retired: usize,
    granted: usize,
    released: usize,
}

#[derive(Clone, Debug)]
struct Tile {
    slot: usize,
    /// PE and its element's address; none outside the tensor.
    elements: Vec<(usize, Option<usize>)>,
}

impl Flow {
    fn buffers(&self) -> usize {
        self.tiles.len().div_ceil(self.group)
    }
    fn tiles_of(&self, buffers: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let end = self.tiles.len();
        (buffers.start * self.group).min(end)..(buffers.end * self.group).min(end)
    }
}

impl Model {
    fn field(&self, desc: usize, field: Field) -> i64 {
        self.descriptors[desc].get(&field).copied().unwrap_or(0) as i64
    }
    fn unsigned(&self, desc: usize, field: Field) -> i64 {
        self.field(desc, field) as i32 as u32 as i64
    }

    fn read_flow(&self, desc: usize, inward: bool) -> Flow {
        let f = |field| self.field(desc, field);
        let n = [Field::N0, Field::N1, Field::N2, Field::N3].map(|field| f(field).max(1));
        let dx = [Field::Dx0, Field::Dx1, Field::Dx2, Field::Dx3].map(f);
        let dy = [Field::Dy0, Field::Dy1, Field::Dy2, Field::Dy3].map(f);
        let dp = [Field::Dp0, Field::Dp1, Field::Dp2, Field::Dp3].map(f);
        let total = n.iter().product::<i64>() as usize;
        let ring = f(Field::Ring) as usize;
        let group = if ring == 0 { total } else { f(Field::Group) as usize };
        let elem = f(Field::Elem);
        let halo = if inward { f(Field::Halo) } else { 0 };
        let tile = |k: usize| {
            let mut index = [0; 4];
            let mut rest = k as i64;
            for (i, n) in index.iter_mut().zip(n) {
                (*i, rest) = (rest % n, rest / n);
            }
            let sum = |by: [i64; 4]| index.iter().zip(by).map(|(i, by)| i * by).sum::<i64>();
            let mut elements = Vec::new();
            for r in 0..f(Field::Rows) {
                for c in -halo..f(Field::Cols) + halo {
                    let x = f(Field::X0) + sum(dx) + c * f(Field::ColStep);
                    let y = f(Field::Y0) + sum(dy) + r * f(Field::RowStep);
                    let inside = (0..f(Field::Width)).contains(&x) && (0..f(Field::Height)).contains(&y);
                    let address = self.unsigned(desc, Field::Ocm)
                        + sum(dp) * self.unsigned(desc, Field::PlanePitch)
                        + y * self.unsigned(desc, Field::RowPitch)
                        + x * elem;
                    let pe = self.at(r as i32, c as i32).expect("a tile fits the array");
                    elements.push((pe, inside.then_some(address as usize)));
                }
            }
            let in_ring = if ring == 0 { 0 } else { k / group % ring };
            let slot =
                f(Field::Lrm) as usize + in_ring * f(Field::RingStep) as usize + k % group * f(Field::LrmStep) as usize;
            Tile { slot, elements }
        };
        let tiles = (0..total).map(tile).collect();
        Flow { tiles, elem: elem as usize, group, ring, retired: 0, granted: 0, released: 0 }
    }

    /// Marks bytes of on-chip memory, or says that one is taken.
    fn take_ocm(&mut self, bytes: &[(bool, usize)]) -> Result<(), Why> {
        if bytes.iter().any(|(writes, byte)| self.ocm_marks.hits(*writes, *byte)) {
            return Err(Why::EngineHazard(Memory::Ocm));
        }
        bytes.iter().for_each(|(writes, byte)| self.ocm_marks.add(*writes, *byte, 1));
        Ok(())
    }

    fn take_lrm(&mut self, bytes: &[(bool, usize)]) -> Result<(), Why> {
        if bytes.iter().any(|(writes, byte)| self.lrm_marks.hits(*writes, *byte)) {
            return Err(Why::EngineHazard(Memory::Lrm));
        }
        bytes.iter().for_each(|(writes, byte)| self.lrm_marks.add(*writes, *byte, 1));
        Ok(())
    }

    pub(super) fn start_flow(&mut self, engine: Engine, desc: usize, token: u8) -> Result<(), Why> {
        let inward = engine == Engine::FlowIn;
        let flow = self.read_flow(desc, inward);
        let ocm: Vec<_> = (0..flow.tiles.len()).flat_map(|k| tile_bytes(&flow, k, !inward)).collect();
        self.take_ocm(&ocm)?;
        let granted = match (flow.ring, inward) {
            (0, _) => flow.buffers(),
            (ring, true) => ring.min(flow.buffers()),
            (_, false) => 0,
        };
        self.live.push(Live { token, engine, flow: Some(flow), ocm: vec![], ext: vec![], lrm: vec![] });
        self.grant(self.live.len() - 1, granted)
    }

    /// Hands the next buffers of a flow to its engine, which moves their tiles.
    fn grant(&mut self, live: usize, buffers: usize) -> Result<(), Why> {
        let inward = self.live[live].engine == Engine::FlowIn;
        let flow = self.live[live].flow.clone().expect("a flow");
        let tiles = flow.tiles_of(flow.granted..flow.granted + buffers);
        let bytes: Vec<_> = tiles.clone().flat_map(|k| slot_bytes(&flow, k, inward)).collect();
        self.take_lrm(&bytes)?;
        for tile in &flow.tiles[tiles] {
            for (pe, address) in &tile.elements {
                let local = &mut self.pes[*pe].lrm[tile.slot..tile.slot + flow.elem];
                match (address, inward) {
                    (Some(at), true) => local.copy_from_slice(&self.ocm[*at..*at + flow.elem]),
                    (None, true) => local.fill(0),
                    (Some(at), false) => self.ocm[*at..*at + flow.elem].copy_from_slice(local),
                    (None, false) => {}
                }
            }
        }
        self.live[live].flow.as_mut().expect("a flow").granted += buffers;
        Ok(())
    }

    fn find(&self, token: u8) -> usize {
        self.live.iter().position(|l| l.token == token).expect("the token is in use")
    }

    pub(super) fn release(&mut self, token: u8) -> Result<(), Why> {
        let live = self.find(token);
        let flow = self.live[live].flow.as_mut().expect("a flow");
        flow.released += 1;
        let next = flow.granted < flow.buffers();
        self.grant(live, next as usize)?;
        self.end_flow(live);
        Ok(())
    }

    pub(super) fn push(&mut self, token: u8) -> Result<(), Why> {
        let live = self.find(token);
        self.grant(live, 1)
    }

    /// Drops a flow that is over.
    fn end_flow(&mut self, live: usize) {
        let flow = self.live[live].flow.as_ref().expect("a flow");
        let back = self.live[live].engine == Engine::FlowOut || flow.ring == 0 || flow.released == flow.buffers();
        if back && flow.retired == flow.tiles.len() {
            self.live.remove(live);
        }
    }

    /// Retires tiles up to `tiles`, or all.
    pub(super) fn wait(&mut self, token: u8, tiles: Option<usize>) {
        let live = self.find(token);
        let Some(flow) = self.live[live].flow.clone() else {
            let over = self.live.remove(live);
            over.ocm.iter().for_each(|(writes, byte)| self.ocm_marks.add(*writes, *byte, -1));
            over.ext.iter().for_each(|(writes, byte)| self.ext_marks.add(*writes, *byte, -1));
            over.lrm.iter().for_each(|(writes, byte)| self.lrm_marks.add(*writes, *byte, -1));
            return;
        };
        let inward = self.live[live].engine == Engine::FlowIn;
        let until = tiles.unwrap_or(flow.tiles.len()).max(flow.retired);
        for k in flow.retired..until {
            tile_bytes(&flow, k, !inward).for_each(|(writes, byte)| self.ocm_marks.add(writes, byte, -1));
            slot_bytes(&flow, k, inward).for_each(|(writes, byte)| self.lrm_marks.add(writes, byte, -1));
        }
        self.live[live].flow.as_mut().expect("a flow").retired = until;
        self.end_flow(live);
    }

    pub(super) fn drain(&mut self, engines: impl Fn(Engine) -> bool) {
        let tokens: Vec<u8> = self.live.iter().filter(|l| engines(l.engine)).map(|l| l.token).collect();
        for token in tokens {
            let live = self.find(token);
            if let Some(flow) = &mut self.live[live].flow {
                flow.released = flow.buffers();
            }
            self.wait(token, None);
        }
    }

    pub(super) fn broadcast(&mut self, desc: usize, token: u8) -> Result<(), Why> {
        let f = |field| self.field(desc, field);
        let (inner, outer) = (f(Field::N0), f(Field::N1).max(1));
        let base = self.unsigned(desc, Field::Ocm);
        let address = |k: i64| (base + k % inner * f(Field::Dx0) + k / inner * f(Field::Dx1)) as usize;
        let entries: Vec<usize> = (0..inner * outer).map(address).collect();
        let ocm: Vec<_> = entries.iter().flat_map(|at| (*at..at + 16).map(|byte| (false, byte))).collect();
        self.take_ocm(&ocm)?;
        self.queue.extend(entries.iter().map(|at| <[u8; 16]>::try_from(&self.ocm[*at..at + 16]).expect("sixteen")));
        self.live.push(Live { token, engine: Engine::Broadcast, flow: None, ocm, ext: vec![], lrm: vec![] });
        Ok(())
    }

    pub(super) fn rau(&mut self, desc: usize, token: u8, store: bool) -> Result<(), Why> {
        let f = |field| self.field(desc, field);
        let (elem, limit, index, data) =
            (f(Field::Elem) as usize, f(Field::Limit), f(Field::Lrm) as usize, f(Field::Data) as usize);
        let base = self.unsigned(desc, Field::Ocm) as usize;
        let valid = (f(Field::Valid) != 0 && !store).then(|| f(Field::Valid) as usize - 1);
        let ocm: Vec<_> = (base..base + limit as usize * elem).map(|byte| (store, byte)).collect();
        self.take_ocm(&ocm)?;
        let mut lrm: Vec<_> = (index..index + 4).map(|byte| (false, byte)).collect();
        lrm.extend((data..data + elem).map(|byte| (!store, byte)));
        lrm.extend(valid.iter().flat_map(|at| *at..at + 4).map(|byte| (true, byte)));
        self.take_lrm(&lrm)?;
        for pe in self.pes.iter_mut().filter(|pe| pe.core && pe.on) {
            let i = i32::from_le_bytes(pe.lrm[index..index + 4].try_into().expect("four bytes")) as i64;
            let inside = (0..limit).contains(&i);
            let at = base + i.clamp(0, limit - 1) as usize * elem;
            match (store, inside) {
                (true, true) => self.ocm[at..at + elem].copy_from_slice(&pe.lrm[data..data + elem]),
                (true, false) => {}
                (false, true) => pe.lrm[data..data + elem].copy_from_slice(&self.ocm[at..at + elem]),
                (false, false) => pe.lrm[data..data + elem].fill(0),
            }
            if let Some(valid) = valid {
                pe.lrm[valid..valid + 4].copy_from_slice(&(inside as i32).to_le_bytes());
            }
        }
        self.live.push(Live { token, engine: Engine::Rau, flow: None, ocm, ext: vec![], lrm });
        Ok(())
    }

    pub(super) fn dma(&mut self, engine: Engine, desc: usize, token: u8) -> Result<(), Why> {
        let inward = engine == Engine::DmaIn;
        let u = |field| self.unsigned(desc, field) as usize;
        let (bytes, rows) = (u(Field::Bytes), u(Field::N0).max(1));
        let row = |base: usize, pitch: usize, r: usize| base + r * pitch..base + r * pitch + bytes;
        let inside = |r| row(u(Field::Ocm), u(Field::RowPitch), r);
        let outside = |r| row(u(Field::Ext), u(Field::ExtPitch), r);
        let ocm: Vec<_> = (0..rows).flat_map(inside).map(|byte| (inward, byte)).collect();
        let ext: Vec<_> = (0..rows).flat_map(outside).map(|byte| (!inward, byte)).collect();
        let ranges: Vec<_> = (0..rows).map(|r| (inside(r), outside(r))).collect();
        if ocm.iter().any(|(writes, byte)| self.ocm_marks.hits(*writes, *byte)) {
            return Err(Why::EngineHazard(Memory::Ocm));
        }
        if ext.iter().any(|(writes, byte)| self.ext_marks.hits(*writes, *byte)) {
            return Err(Why::EngineHazard(Memory::Ext));
        }
        ocm.iter().for_each(|(writes, byte)| self.ocm_marks.add(*writes, *byte, 1));
        ext.iter().for_each(|(writes, byte)| self.ext_marks.add(*writes, *byte, 1));
        for (inside, outside) in ranges {
            if inward {
                self.ocm[inside].copy_from_slice(&self.ext[outside]);
            } else {
                self.ext[outside].copy_from_slice(&self.ocm[inside]);
            }
        }
        self.live.push(Live { token, engine, flow: None, ocm, ext, lrm: vec![] });
        Ok(())
    }

    /// Whether nothing is in flight and no broadcast unread.
    pub(super) fn idle(&self) -> bool {
        self.live.is_empty() && self.queue.is_empty()
    }
}

fn tile_bytes(flow: &Flow, k: usize, writes: bool) -> impl Iterator<Item = (bool, usize)> {
    let elem = flow.elem;
    let starts = flow.tiles[k].elements.iter().filter_map(|(_, address)| *address);
    starts.flat_map(move |at| at..at + elem).map(move |byte| (writes, byte))
}

fn slot_bytes(flow: &Flow, k: usize, writes: bool) -> impl Iterator<Item = (bool, usize)> {
    let slot = flow.tiles[k].slot;
    (slot..slot + flow.elem).map(move |byte| (writes, byte))
}
