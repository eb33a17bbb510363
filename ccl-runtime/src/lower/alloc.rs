//! Places: scalar registers, accumulators, local and on-chip bytes, tokens, descriptor registers.
//!
//! Operations are numbered in the order they stand. A value lives from its definition to its last use; what is defined
//! outside a loop and used inside lives to the loop's end. Two values whose intervals are apart may share a place. There is no
//! spilling: local memory is the register file, and a kernel that does not fit is an error that says what is live.

use std::collections::HashMap;

use iss::target::Target;

use super::{CompileError, KernelReport, OcmBuffer};
use crate::ir::visit::Operand;
use crate::ir::*;

/// Register for sums within one operation.
pub(super) const TEMP: u8 = 31;
/// Register with the address of the constants, where a kernel has any.
pub(super) const CONSTANTS: u8 = 30;
/// Descriptor registers of flows in loops; the others are shared.
pub(super) const RESIDENT: u8 = 6;
/// On-chip parameters whose addresses keep registers; where there are more, code knows where they lie.
const PARAMS_IN_REGISTERS: usize = 10;
/// Registers that can be a base of local memory.
const BASES: u8 = 8;

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    None,
    Scalar(u8),
    Acc(u8),
    /// Byte address in local memory.
    Lrm(u32),
    /// Byte address in on-chip memory.
    Ocm(u32),
}

/// Something beside values that needs a place, at the operation that starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Extra {
    /// Token of a transfer.
    Token(Id),
    /// Tiles to wait for next, of a ring's flow.
    Count(Id),
    /// Address of the instance held, of a ring's buffer.
    Cursor(Id),
    /// Trips left or done of the loop at a position.
    Trips(u32),
    /// Descriptor of the transfer at a position.
    Desc(u32),
}

#[derive(Debug)]
pub(super) struct Places {
    pub values: Vec<Place>,
    /// Registers in which addresses of parameters come, for those that do not stay there.
    pub params: HashMap<Id, u8>,
    pub extra: HashMap<Extra, u8>,
    /// First of the base registers that operations use for themselves.
    pub scratch: u8,
    /// Position of each definition.
    pub def: Vec<u32>,
    /// Flow of each ring's buffer, and its walk.
    pub rings: HashMap<Id, (Id, Walk)>,
    /// Bytes of all instances of each local buffer.
    pub bytes: HashMap<Id, u32>,
    pub report: KernelReport,
}

/// Bytes of one instance in local memory.
pub(super) fn instance_bytes(elem: Elem, n: u32) -> u32 {
    (n * elem.bytes()).next_multiple_of(4)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Base,
    Scalar,
    Accs(u8),
    Value,
    Local { bytes: u32, align: u32 },
    OnChip { bytes: u32 },
    Token,
    Desc,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    what: Option<Extra>,
    id: Id,
    class: Class,
    start: u32,
    end: u32,
}

/// Operations of a block, those inside included.
pub(super) fn count(block: &Block) -> u32 {
    let mut n = 0;
    visit::walk(block, &mut |_| n += 1);
    n
}

/// Whether a loop is one of the hardware's: at most two levels, trips counted before it begins.
pub(super) fn hardware(kind: &OpKind) -> bool {
    match kind {
        OpKind::For { lo, hi, step, body, .. } => {
            let countable = range::trips(*lo, *hi, *step).is_some() || *step == 1;
            countable && levels(body) < 2
        }
        _ => false,
    }
}

/// Levels of hardware loops that a block nests.
fn levels(block: &Block) -> u32 {
    let of = |op: &Op| {
        let inner = op.kind.blocks().into_iter().map(levels).max().unwrap_or(0);
        inner + u32::from(hardware(&op.kind))
    };
    block.iter().map(of).max().unwrap_or(0)
}

/// Gives everything in a function its place.
pub(super) fn allocate(f: &Func, target: &Target) -> Result<Places, CompileError> {
    let mut live = Live::new(f);
    live.function();
    let scratch_needed = live.scratch;
    let mut items = std::mem::take(&mut live.items);
    items.retain(|i| i.start != u32::MAX);
    items.sort_by_key(|i| i.start);
    let mut places = Places {
        values: vec![Place::None; f.values.len()],
        params: HashMap::new(),
        extra: HashMap::new(),
        scratch: BASES - scratch_needed,
        def: live.def,
        rings: live.rings,
        bytes: HashMap::new(),
        report: KernelReport { name: f.name.clone(), ..KernelReport::default() },
    };
    registers(f, &items, &mut places)?;
    accumulators(f, &items, &mut places)?;
    local(f, &items, target, &mut places)?;
    on_chip(f, &items, target, &mut places)?;
    numbered(f, &items, Class::Token, 16, "transfers", &mut places)?;
    descriptors(&items, &live.templates, &mut places);
    Ok(places)
}

/// Starts of like transfers in one loop share a register, also those of a buffer's other instance where registers are few.
/// Descriptors that find no register of their own are set up at each start.
fn descriptors(items: &[Item], templates: &HashMap<Extra, OpKind>, places: &mut Places) {
    let desc: Vec<(Item, Extra)> =
        items.iter().filter(|i| i.class == Class::Desc).filter_map(|i| Some((*i, i.what?))).collect();
    let mut taken: Vec<(Item, OpKind, u8)> = Vec::new();
    for (first, _) in &desc {
        let same_loop = |i: &Item| (i.start, i.end) == (first.start, first.end);
        if taken.iter().any(|(item, ..)| same_loop(item)) {
            continue;
        }
        let here: Vec<(Extra, &OpKind)> =
            desc.iter().filter(|(i, _)| same_loop(i)).map(|(_, what)| (*what, &templates[what])).collect();
        let distinct = |any_instance: bool| {
            let mut list: Vec<OpKind> = Vec::new();
            for (_, kind) in &here {
                let key = template(kind, any_instance);
                if !list.contains(&key) {
                    list.push(key);
                }
            }
            list
        };
        let mut groups = distinct(false);
        let any_instance = groups.len() > RESIDENT as usize;
        if any_instance {
            groups = distinct(true);
        }
        for key in groups {
            let free = (0..RESIDENT).find(|r| taken.iter().all(|(other, _, n)| n != r || !overlap(other, first)));
            let Some(r) = free else { break };
            for (what, _) in here.iter().filter(|(_, kind)| template(kind, any_instance) == key) {
                places.extra.insert(*what, r);
            }
            taken.push((*first, key, r));
        }
    }
}

/// What transfers that share a descriptor have in common: all but where they begin.
fn template(kind: &OpKind, any_instance: bool) -> OpKind {
    let none = SVal::Imm(0);
    match kind.clone() {
        OpKind::Flow { out, walk, .. } | OpKind::Restart { out, walk, .. } => {
            let mut walk = walk;
            (walk.at, walk.x0, walk.y0) = (none, none, none);
            walk.second = walk.second.map(|(buf, _)| (buf, none));
            if any_instance && walk.group == 0 {
                walk.lrm = Id(0);
            }
            OpKind::Restart { out, flow: Id(0), walk }
        }
        OpKind::Bcast { buf, n0, step0, n1, step1, .. } => {
            OpKind::Bcast { dst: Id(0), buf, at: none, n0, step0, n1, step1 }
        }
        other => other,
    }
}

fn overlap(a: &Item, b: &Item) -> bool {
    a.start <= b.end && b.start <= a.end
}

fn describe(f: &Func, item: &Item) -> String {
    match item.what {
        None => format!("%{}", f.name_of(item.id)),
        Some(Extra::Token(id)) => format!("token of %{}", f.name_of(id)),
        Some(Extra::Count(id)) => format!("tiles of %{}", f.name_of(id)),
        Some(Extra::Cursor(id)) => format!("instance of %{}", f.name_of(id)),
        Some(Extra::Trips(_)) => "trips of a loop".into(),
        Some(Extra::Desc(_)) => "descriptor".into(),
    }
}

fn registers(f: &Func, items: &[Item], places: &mut Places) -> Result<(), CompileError> {
    let scalars: Vec<Item> = items.iter().filter(|i| matches!(i.class, Class::Base | Class::Scalar)).copied().collect();
    // A base that finds no base register is copied to a scratch register at each use, which must then exist.
    for scratch in [places.scratch, BASES - 3] {
        let mut taken: Vec<(Item, u8)> = Vec::new();
        let mut active = taken.clone();
        let (mut failed, mut copied) = (None, false);
        for item in &scalars {
            // Items come in the order of their starts: what has ended is in nobody's way any more.
            active.retain(|(other, _)| other.end >= item.start);
            let bases = 0..scratch;
            let others = BASES..CONSTANTS;
            let order: Vec<u8> = match item.class {
                Class::Base => bases.chain(others).collect(),
                _ => others.chain(bases.rev()).collect(),
            };
            let free = order.into_iter().find(|r| active.iter().all(|(other, n)| n != r || !overlap(other, item)));
            match free {
                Some(r) => {
                    copied |= item.class == Class::Base && r >= BASES;
                    taken.push((*item, r));
                    active.push((*item, r));
                }
                None => {
                    failed.get_or_insert(*item);
                }
            }
        }
        if let Some(item) = failed {
            let live = scalars.iter().filter(|i| overlap(i, &item)).map(|i| describe(f, i)).collect::<Vec<_>>();
            let (what, have) = ("scalars", CONSTANTS as u32);
            return Err(CompileError::Registers { func: f.name.clone(), what, have, live: live.join(", ") });
        }
        if copied && scratch > BASES - 3 {
            continue;
        }
        places.scratch = scratch;
        let used: std::collections::BTreeSet<u8> = taken.iter().map(|(_, r)| *r).collect();
        places.report.scalars = used.len() as u32;
        for (item, r) in taken {
            match item.what {
                Some(what) => {
                    places.extra.insert(what, r);
                }
                None => places.values[item.id.0 as usize] = Place::Scalar(r),
            }
        }
        for (id, at) in fixed_params(f) {
            if let Place::Scalar(r) = std::mem::replace(&mut places.values[id.0 as usize], Place::Ocm(at)) {
                places.params.insert(id, r);
            }
        }
        return Ok(());
    }
    unreachable!("the second round leaves scratch registers")
}

fn accumulators(f: &Func, items: &[Item], places: &mut Places) -> Result<(), CompileError> {
    let mut taken: Vec<(Item, u8, u8)> = Vec::new();
    let free = |item: &Item, n: u8, taken: &[(Item, u8, u8)]| {
        (0..=16 - n).step_by(n as usize).find(|at| {
            taken.iter().all(|(other, start, len)| *start + len <= *at || at + n <= *start || !overlap(other, item))
        })
    };
    // Large groups first: they have the fewest places.
    for size in [16, 4, 1] {
        for item in items.iter().filter(|i| i.class == Class::Accs(size)) {
            let Some(at) = free(item, size, &taken) else {
                let live = |i: &&Item| matches!(i.class, Class::Accs(_)) && overlap(i, item);
                let live = items.iter().filter(live).map(|i| describe(f, i)).collect::<Vec<_>>().join(", ");
                let what = "accumulators";
                return Err(CompileError::Registers { func: f.name.clone(), what, have: 16, live });
            };
            taken.push((*item, at, size));
            places.values[item.id.0 as usize] = Place::Acc(at);
        }
    }
    let mut highest = taken.iter().map(|(_, at, n)| at + n).max().unwrap_or(0);
    for item in items.iter().filter(|i| i.class == Class::Value) {
        taken.retain(|(other, ..)| other.end >= item.start);
        if let Some(at) = free(item, 1, &taken) {
            taken.push((*item, at, 1));
            highest = highest.max(at + 1);
            places.values[item.id.0 as usize] = Place::Acc(at);
        }
    }
    places.report.accumulators = highest as u32;
    Ok(())
}

/// First fit of bytes that live at intervals; the place of each, and the highest byte.
fn first_fit(items: &[(Item, u32, u32)], from: u32) -> (Vec<u32>, u32) {
    let mut placed: Vec<(usize, u32)> = Vec::new();
    let (mut at, mut peak) = (vec![0; items.len()], from);
    for (i, (item, bytes, align)) in items.iter().enumerate() {
        placed.retain(|(j, _)| items[*j].0.end >= item.start);
        let mut busy: Vec<(u32, u32)> = placed
            .iter()
            .filter(|(j, _)| overlap(&items[*j].0, item))
            .map(|(j, start)| (*start, start + items[*j].1))
            .collect();
        busy.sort_unstable();
        let mut place = from.next_multiple_of(*align);
        for (start, end) in busy {
            if place + bytes <= start {
                break;
            }
            place = place.max(end.next_multiple_of(*align));
        }
        placed.push((i, place));
        at[i] = place;
        peak = peak.max(place + bytes);
    }
    (at, peak)
}

fn local(f: &Func, items: &[Item], target: &Target, places: &mut Places) -> Result<(), CompileError> {
    let mut wanted: Vec<(Item, u32, u32)> = Vec::new();
    for item in items {
        match item.class {
            Class::Local { bytes, align } => {
                places.bytes.insert(item.id, bytes);
                wanted.push((*item, bytes, align));
            }
            Class::Value if places.values[item.id.0 as usize] == Place::None => wanted.push((*item, 4, 4)),
            _ => {}
        }
    }
    let (at, peak) = first_fit(&wanted, 0);
    for ((item, ..), at) in wanted.iter().zip(&at) {
        places.values[item.id.0 as usize] = Place::Lrm(*at);
    }
    // What is live when the highest byte is in use.
    let top = wanted.iter().zip(&at).find(|((_, bytes, _), at)| **at + bytes == peak).map(|((item, ..), _)| *item);
    let lines: HashMap<Id, u32> = {
        let mut lines = HashMap::new();
        visit::walk(&f.body, &mut |op| {
            op.kind.defs(&mut |id| {
                lines.insert(id, op.loc.line);
            })
        });
        lines
    };
    if let Some(top) = top {
        let mut live: Vec<(String, u32, u32)> = wanted
            .iter()
            .filter(|(item, ..)| item.start <= top.start && top.start <= item.end)
            .map(|(item, bytes, _)| (f.name_of(item.id).to_owned(), *bytes, *lines.get(&item.id).unwrap_or(&0)))
            .collect();
        live.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        places.report.lrm_live = live;
    }
    places.report.lrm_peak_bytes = peak;
    let have = target.spec().lrm_bytes;
    if peak > have {
        let live = |(name, bytes, line): &(String, u32, u32)| format!("%{name} ({bytes} bytes, line {line})");
        let live = places.report.lrm_live.iter().map(live).collect::<Vec<_>>().join(", ");
        return Err(CompileError::LocalMemory { func: f.name.clone(), need: peak, have, live });
    }
    Ok(())
}

/// Parameters on the chip and their addresses as the simulator places them, where there are so many that registers would not do.
fn fixed_params(f: &Func) -> Vec<(Id, u32)> {
    let mut at = 0_u32;
    let mut fixed = Vec::new();
    for param in &f.params {
        if let Type::Ocm(bytes) = f.ty(param.id) {
            fixed.push((param.id, at));
            at = (at + bytes).next_multiple_of(64);
        }
    }
    if fixed.len() > PARAMS_IN_REGISTERS { fixed } else { Vec::new() }
}

fn on_chip(f: &Func, items: &[Item], target: &Target, places: &mut Places) -> Result<(), CompileError> {
    // Buffers of the entry stand first, as the simulator places them.
    let params = f.params.iter().fold(0u32, |at, p| match f.ty(p.id) {
        Type::Ocm(n) => at.next_multiple_of(64) + n,
        _ => at,
    });
    let wanted: Vec<(Item, u32, u32)> = items
        .iter()
        .filter_map(|i| match i.class {
            Class::OnChip { bytes } => Some((*i, bytes, 64)),
            _ => None,
        })
        .collect();
    let (at, peak) = first_fit(&wanted, params);
    for ((item, ..), at) in wanted.iter().zip(&at) {
        places.values[item.id.0 as usize] = Place::Ocm(*at);
    }
    visit::walk(&f.body, &mut |op| {
        if let OpKind::Ocm { dst } = op.kind
            && let (Place::Ocm(address), Type::Ocm(bytes)) = (places.values[dst.0 as usize], f.ty(dst))
        {
            places.report.ocm_buffers.push(OcmBuffer { loc: op.loc, address, bytes });
        }
    });
    places.report.ocm_peak_bytes = peak;
    let have = target.spec().ocm_bytes;
    if peak > have {
        let live = wanted.iter().map(|(i, n, _)| format!("%{} ({n} bytes)", f.name_of(i.id))).collect::<Vec<_>>();
        return Err(CompileError::OnChip { func: f.name.clone(), need: peak, have, live: live.join(", ") });
    }
    Ok(())
}

fn numbered(
    f: &Func,
    items: &[Item],
    class: Class,
    have: u8,
    what: &'static str,
    places: &mut Places,
) -> Result<(), CompileError> {
    let mut taken: Vec<(Item, u8)> = Vec::new();
    for item in items.iter().filter(|i| i.class == class) {
        let free = (0..have).find(|r| taken.iter().all(|(other, n)| n != r || !overlap(other, item)));
        let (Some(r), Some(key)) = (free, item.what) else {
            let live = items.iter().filter(|i| i.class == class && overlap(i, item));
            let live = live.map(|i| describe(f, i)).collect::<Vec<_>>().join(", ");
            return Err(CompileError::Registers { func: f.name.clone(), what, have: have as u32, live });
        };
        taken.push((*item, r));
        places.extra.insert(key, r);
    }
    Ok(())
}

/// Finds intervals.
struct Live<'a> {
    f: &'a Func,
    items: Vec<Item>,
    /// Index into `items` of each value's item.
    of_value: Vec<Option<usize>>,
    /// Items that live as long as a value is used: token, count, cursor.
    with: HashMap<Id, Vec<usize>>,
    def: Vec<u32>,
    pos: u32,
    /// Loops around here: first and last position.
    loops: Vec<(u32, u32)>,
    rings: HashMap<Id, (Id, Walk)>,
    aligns: HashMap<Id, u32>,
    /// Transfers that want a descriptor register.
    templates: HashMap<Extra, OpKind>,
    scratch: u8,
}

impl<'a> Live<'a> {
    fn new(f: &'a Func) -> Self {
        Live {
            f,
            items: Vec::new(),
            of_value: vec![None; f.values.len()],
            with: HashMap::new(),
            def: vec![0; f.values.len()],
            pos: 0,
            loops: Vec::new(),
            rings: HashMap::new(),
            aligns: HashMap::new(),
            templates: HashMap::new(),
            scratch: 0,
        }
    }

    fn function(&mut self) {
        // What an allocation asks for, and what a MAC needs that reads 16 bytes.
        let mut aligns = HashMap::new();
        let mut rings = HashMap::new();
        visit::walk(&self.f.body, &mut |op| match &op.kind {
            OpKind::Mac { width, shape, a, .. } => {
                let align = mac_extent(*width, *shape).2;
                let old = aligns.entry(a.buf).or_insert(1);
                *old = align.max(*old);
            }
            OpKind::Lrm { dst, align } => {
                let old = aligns.entry(*dst).or_insert(1);
                *old = (*align).max(*old);
            }
            OpKind::Flow { dst, walk, .. } if walk.group > 0 => {
                rings.insert(walk.lrm, (*dst, (**walk).clone()));
            }
            _ => {}
        });
        (self.aligns, self.rings) = (aligns, rings);
        for p in &self.f.params {
            // A parameter that nobody reads still gets its register from the caller.
            self.define(p.id, 0);
        }
        for (id, _) in fixed_params(self.f) {
            // Its register is free again at once.
            self.of_value[id.0 as usize] = None;
        }
        let body = &self.f.body;
        self.block(body);
    }

    fn push(&mut self, what: Option<Extra>, id: Id, class: Class, start: u32) -> usize {
        self.items.push(Item { what, id, class, start, end: start });
        self.items.len() - 1
    }

    fn define(&mut self, id: Id, at: u32) {
        let class = match self.f.ty(id) {
            Type::Scalar | Type::ScalarVar => Class::Scalar,
            Type::Addr => Class::Base,
            Type::Q(_) | Type::Var(_) => Class::Value,
            Type::Acc(n) => Class::Accs(n),
            Type::Lrm { elem, n, ring } => {
                let one = instance_bytes(elem, n);
                let align = self.aligns.get(&id).copied().unwrap_or(1).max(4);
                // Each instance of a ring is aligned as the first.
                let one = one.next_multiple_of(align);
                if ring > 2 && ring.is_power_of_two() && one <= 64 {
                    // So placed, the address wraps by clearing one bit.
                    let all = one.next_power_of_two() * ring;
                    Class::Local { bytes: all, align: align.max(2 * all) }
                } else {
                    Class::Local { bytes: one * ring, align }
                }
            }
            Type::Ocm(n) if !self.f.params.iter().any(|p| p.id == id) => Class::OnChip { bytes: n.max(1) },
            Type::Ocm(_) | Type::Ext(_) => Class::Scalar,
            Type::Flow | Type::Token | Type::Stream => Class::Token,
        };
        let what = (class == Class::Token).then_some(Extra::Token(id));
        self.def[id.0 as usize] = at;
        let item = self.push(what, id, class, 2 * at + 1);
        self.of_value[id.0 as usize] = Some(item);
    }

    fn use_at(&mut self, id: Id, at: u32) {
        let mut items: Vec<usize> = self.with.get(&id).cloned().unwrap_or_default();
        items.extend(self.of_value[id.0 as usize]);
        for i in items {
            let start = self.items[i].start / 2;
            let end = self.loops.iter().find(|(first, _)| *first > start).map_or(at, |(_, last)| 2 * last + 1);
            self.items[i].end = self.items[i].end.max(end);
        }
    }

    fn block(&mut self, block: &'a Block) {
        let mut streams: Vec<(Id, usize)> = Vec::new();
        let mut ends = Vec::new();
        for op in block {
            self.pos += 1;
            let at = self.pos;
            self.op(op, at);
            ends.push(self.pos);
            if let OpKind::Bcast { dst, .. } = &op.kind {
                streams.push((*dst, ends.len() - 1));
            }
        }
        // A stream's token is retired behind the operation of its block that reads it last.
        for (id, start) in streams {
            let last = last_use(block, id).unwrap_or(start);
            self.use_at(id, 2 * ends[last] + 1);
        }
    }

    fn op(&mut self, op: &'a Op, at: u32) {
        let size: u32 = op.kind.blocks().into_iter().map(count).sum();
        let last = at + size;
        // A loop's bounds are read after its variable was set, and a branch loop compares at its end.
        let late = matches!(op.kind, OpKind::For { .. } | OpKind::While { .. });
        let when = if late { 2 * last + 1 } else { 2 * at };
        op.kind.uses(&mut |id| self.use_at(id, when));
        let mut scratch = 0;
        op.kind.operands(&mut |o| {
            let e = match o {
                Operand::Src(Src::Elem(e)) | Operand::Dst(Dst::Elem(e)) | Operand::Read(e) | Operand::Write(e) => e,
                _ => return,
            };
            let ring = self.rings.contains_key(&e.buf);
            let far = e.at as i64 * e.view.bytes() as i64 > 511 * e.view.bytes() as i64;
            scratch += u8::from(matches!(e.index, Index::Scalar(..)) || (far && (ring || e.index != Index::Const)));
        });
        self.scratch = self.scratch.max(scratch.min(3));
        op.kind.defs(&mut |id| self.define(id, at));
        match &op.kind {
            OpKind::Flow { dst, walk, .. } | OpKind::Restart { flow: dst, walk, .. } => {
                let mut held = vec![walk.lrm, walk.buf];
                held.extend(walk.second.map(|(buf, _)| buf));
                self.keep(*dst, &held);
                self.descriptor(at, &op.kind);
                if walk.group > 0 {
                    let count = self.push(Some(Extra::Count(*dst)), *dst, Class::Scalar, 2 * at + 1);
                    let cursor = self.push(Some(Extra::Cursor(walk.lrm)), walk.lrm, Class::Base, 2 * at + 1);
                    self.with.entry(*dst).or_default().extend([count, cursor]);
                    self.with.entry(walk.lrm).or_default().push(cursor);
                }
            }
            OpKind::Dma { dst, ocm, ext, .. } => {
                self.keep(*dst, &[*ocm, *ext]);
                self.descriptor(at, &op.kind);
            }
            OpKind::Bcast { dst, buf, .. } => {
                self.keep(*dst, &[*buf]);
                self.descriptor(at, &op.kind);
            }
            OpKind::Rau { dst, buf, index, data, valid, .. } => {
                let mut held = vec![*buf, index.buf, data.buf];
                held.extend(valid.map(|v| v.buf));
                self.keep(*dst, &held);
                self.descriptor(at, &op.kind);
            }
            _ => {}
        }
        let is_loop = matches!(op.kind, OpKind::For { .. } | OpKind::While { .. });
        if is_loop {
            let trips = self.push(Some(Extra::Trips(at)), Id(0), Class::Scalar, 2 * at + 1);
            self.items[trips].end = 2 * last + 1;
            let needed = match &op.kind {
                OpKind::For { lo, hi, step, .. } => hardware(&op.kind) && range::trips(*lo, *hi, *step).is_none(),
                _ => true,
            };
            if !needed {
                self.items[trips].start = u32::MAX;
                self.items[trips].end = u32::MAX;
            }
            if let OpKind::For { var, body, .. } = &op.kind {
                let counted = !hardware(&op.kind) || used_in(body, *var);
                let i = self.of_value[var.0 as usize].expect("it was just defined");
                self.items[i].end = 2 * last + 1;
                if !counted {
                    (self.items[i].start, self.items[i].end) = (u32::MAX, u32::MAX);
                    self.of_value[var.0 as usize] = None;
                }
            }
            self.loops.push((at, last));
        }
        for inner in op.kind.blocks() {
            self.block(inner);
        }
        if is_loop {
            self.loops.pop();
        }
    }

    /// A transfer holds its buffers until it is waited for.
    fn keep(&mut self, token: Id, buffers: &[Id]) {
        let items: Vec<usize> = buffers.iter().filter_map(|b| self.of_value[b.0 as usize]).collect();
        self.with.entry(token).or_default().extend(items);
    }

    /// A descriptor in a loop keeps its register for the whole of the outermost loop.
    fn descriptor(&mut self, at: u32, kind: &OpKind) {
        if let Some((first, last)) = self.loops.first().copied() {
            self.templates.insert(Extra::Desc(at), kind.clone());
            let i = self.push(Some(Extra::Desc(at)), Id(0), Class::Desc, 2 * first);
            self.items[i].end = 2 * last + 1;
        }
    }
}

/// Index of the last operation of a block that uses a value, inside it too.
pub(super) fn last_use(block: &Block, id: Id) -> Option<usize> {
    block.iter().rposition(|op| used_by(op, id))
}

fn used_by(op: &Op, id: Id) -> bool {
    let mut used = false;
    op.kind.uses(&mut |u| used |= u == id);
    used || op.kind.blocks().into_iter().any(|b| used_in(b, id))
}

/// Whether a block uses a value.
pub(super) fn used_in(block: &Block, id: Id) -> bool {
    block.iter().any(|op| used_by(op, id))
}
