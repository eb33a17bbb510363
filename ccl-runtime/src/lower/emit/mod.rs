//! Writes the instructions of kernels whose values have their places.

mod control;
mod transfer;

use std::collections::HashMap;

use iss::builder::Program;
use iss::image::Image;
use iss::isa::Inst;
use iss::isa::operand::{self as operand, Cond, Dirs, Field, Lrm, SReg, SSrc, Tiles, Width};
use iss::target::Target;

use super::alloc::{self, CONSTANTS, Extra, Place, Places, TEMP, allocate, last_use};
use super::{CompileError, Report};
use crate::ir::*;

/// The image of a module's kernels.
pub(super) fn emit(m: &Module, target: &Target, report: &mut Report) -> Result<Image, CompileError> {
    let mut p = Program::new(target);
    let mut constants = HashMap::new();
    for c in &m.consts {
        constants.insert(c.name.clone(), p.constant(&c.bytes));
    }
    for f in m.funcs.iter().filter(|f| f.kind == FuncKind::Kernel) {
        let places = allocate(f, target)?;
        let mut e = Emitter {
            m,
            f,
            p,
            places,
            constants: &constants,
            pos: 0,
            scratch: 0,
            loops: Vec::new(),
            held: HashMap::new(),
            varying: HashMap::new(),
            ext_base: HashMap::new(),
            regions: Vec::new(),
            error: None,
        };
        e.kernel();
        if let Some(error) = e.error {
            return Err(error);
        }
        report.kernels.push(e.places.report);
        p = e.p;
    }
    p.finish().map_err(|e| CompileError::Build(e.to_string()))
}

/// A number that a descriptor field takes: registers and a constant, summed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sum {
    regs: Vec<Id>,
    /// Registers to take off.
    minus: Vec<Id>,
    imm: i32,
}

impl Sum {
    fn imm(v: u32) -> Self {
        Sum { regs: Vec::new(), minus: Vec::new(), imm: v as i32 }
    }
}

struct Emitter<'a> {
    m: &'a Module,
    f: &'a Func,
    p: Program,
    places: Places,
    constants: &'a HashMap<String, u32>,
    pos: u32,
    /// Scratch base registers used by the current operation.
    scratch: u8,
    /// First and last position of the loops around here.
    loops: Vec<(u32, u32)>,
    /// What each descriptor register is known to hold.
    held: HashMap<u8, HashMap<Field, i32>>,
    /// Fields that the transfers of a loop set each time, by descriptor register.
    varying: HashMap<u8, Vec<Field>>,
    /// Offsets of constants from the start of the constants.
    ext_base: HashMap<Id, u32>,
    regions: Vec<String>,
    error: Option<CompileError>,
}

fn sreg(r: u8) -> SReg {
    SReg::new(r as i64).expect("allocated registers are below 32")
}

impl Emitter<'_> {
    fn kernel(&mut self) {
        let f = self.f;
        self.line(f.loc);
        let uses_constants = {
            let mut found = false;
            visit::walk(&f.body, &mut |op| found |= matches!(op.kind, OpKind::Const { .. }));
            found
        };
        let mut entry = self.p.entry(&f.name);
        for p in &f.params {
            let r = match (self.places.params.get(&p.id), self.places.values[p.id.0 as usize]) {
                (Some(r), _) => *r,
                (None, Place::Scalar(r)) => r,
                _ => continue,
            };
            let name = f.name_of(p.id);
            entry = match f.ty(p.id) {
                Type::Ocm(n) => entry.ocm(name, p.dir, n, sreg(r)),
                Type::Ext(n) => entry.ext(name, p.dir, n, sreg(r)),
                _ => entry.scalar(name, sreg(r)),
            };
        }
        if uses_constants {
            entry.constants(sreg(CONSTANTS));
        }
        self.block(&f.body);
        self.inst(Inst::Halt {});
    }

    fn line(&mut self, loc: Loc) {
        if loc.line == 0 {
            return;
        }
        let file = self.m.files.get(loc.file as usize).filter(|f| !f.is_empty());
        let file = file.cloned().unwrap_or_else(|| "kernel.ccl".into());
        self.p.line(&file, loc.line);
    }

    fn inst(&mut self, inst: Inst) {
        let region = self.regions.join("/");
        let classes = self.places.report.instructions.entry(region).or_default();
        *classes.entry(inst.class().word()).or_insert(0) += 1;
        self.p.inst(inst);
    }

    fn unsupported(&mut self, loc: Loc, what: impl Into<String>) {
        let error = CompileError::Unsupported { func: self.f.name.clone(), loc, what: what.into() };
        self.error.get_or_insert(error);
    }

    // ---- operands ----

    fn reg(&self, id: Id) -> u8 {
        match self.places.values[id.0 as usize] {
            Place::Scalar(r) => r,
            other => panic!("%{} should be a scalar register, not {other:?}", self.f.name_of(id)),
        }
    }
    fn extra(&self, what: Extra) -> u8 {
        *self.places.extra.get(&what).unwrap_or_else(|| panic!("{what:?} should have a place"))
    }
    fn ssrc(&self, s: SVal) -> SSrc {
        match s {
            SVal::Imm(v) => SSrc::Imm(v),
            SVal::Val(id) => SSrc::Reg(sreg(self.reg(id))),
        }
    }
    /// The value in a register: its own, or the temporary one.
    fn in_reg(&mut self, s: SVal) -> SReg {
        match s {
            SVal::Imm(v) => {
                self.inst(Inst::SMov { dst: sreg(TEMP), a: SSrc::Imm(v) });
                sreg(TEMP)
            }
            SVal::Val(id) => sreg(self.reg(id)),
        }
    }
    fn lrm_base(&self, buf: Id) -> u32 {
        match self.places.values[buf.0 as usize] {
            Place::Lrm(at) => at,
            other => panic!("%{} should be local, not {other:?}", self.f.name_of(buf)),
        }
    }
    fn width(view: Elem) -> Width {
        [Width::Byte, Width::Half, Width::Word][view as usize]
    }
    fn next_scratch(&mut self) -> u8 {
        let r = self.places.scratch + self.scratch;
        self.scratch += 1;
        r
    }

    /// The address of an element; scalar instructions for it come before the one that uses it.
    fn elem(&mut self, e: &ElemRef) -> Lrm {
        let width = Self::width(e.view);
        let bytes = e.view.bytes() as i32;
        let ring = self.places.rings.contains_key(&e.buf);
        let cursor = |s: &Self| sreg(s.extra(Extra::Cursor(e.buf)));
        let (base, offset) = match e.index {
            Index::Const if !ring => {
                let at = self.lrm_base(e.buf) as i32 + e.at * bytes;
                return Lrm::abs(width, at as u32).unwrap_or_else(|error| panic!("a checked index: {error}"));
            }
            Index::Const => (cursor(self), e.at * bytes),
            Index::Addr(id) => (sreg(self.reg(id)), e.at * bytes),
            Index::Scalar(id, scale) => {
                let r = sreg(self.next_scratch());
                let index = sreg(self.reg(id));
                let factor = scale.wrapping_mul(bytes);
                let constant = e.at * bytes;
                let from = if factor == 1 {
                    index
                } else {
                    self.inst(match factor {
                        f if f > 0 && f.count_ones() == 1 => {
                            Inst::SShl { dst: r, a: index, b: SSrc::Imm(f.trailing_zeros() as i32) }
                        }
                        f => Inst::SMul { dst: r, a: index, b: SSrc::Imm(f) },
                    });
                    r
                };
                if ring {
                    self.inst(Inst::SAdd { dst: r, a: from, b: SSrc::Reg(cursor(self)) });
                    if constant != 0 {
                        self.inst(Inst::SAdd { dst: r, a: r, b: SSrc::Imm(constant) });
                    }
                } else {
                    let base = self.lrm_base(e.buf) as i32;
                    self.inst(Inst::SAdd { dst: r, a: from, b: SSrc::Imm(base + constant) });
                }
                (r, 0)
            }
        };
        let near = offset >= 0 && offset < 512 * bytes;
        let (base, offset) = if near && base.get() < 8 {
            (base, offset)
        } else {
            // Out of a base's reach, or in a register that cannot be one.
            let r = sreg(self.next_scratch());
            self.inst(match near {
                true => Inst::SMov { dst: r, a: SSrc::Reg(base) },
                false => Inst::SAdd { dst: r, a: base, b: SSrc::Imm(offset) },
            });
            (r, if near { offset } else { 0 })
        };
        Lrm::rel(width, base.get() as u32, offset as u32).unwrap_or_else(|error| panic!("a checked offset: {error}"))
    }

    fn value_place(&self, id: Id) -> Result<operand::Acc, Lrm> {
        match self.places.values[id.0 as usize] {
            Place::Acc(a) => Ok(operand::Acc::new(a as i64).expect("accumulators are below 16")),
            Place::Lrm(at) => Err(Lrm::word(at).expect("words are aligned")),
            other => panic!("%{} should have a place, not {other:?}", self.f.name_of(id)),
        }
    }

    fn src(&mut self, s: &Src) -> operand::Src {
        match s {
            Src::Val(id) if self.f.is_scalar(*id) => operand::Src::Scalar(sreg(self.reg(*id))),
            Src::Val(id) => match self.value_place(*id) {
                Ok(acc) => operand::Src::Acc(acc),
                Err(lrm) => operand::Src::Lrm(lrm),
            },
            Src::Imm(v) => operand::Src::imm(*v as i64).expect("larger numbers were put into registers"),
            Src::Elem(e) => operand::Src::Lrm(self.elem(e)),
            Src::Acc(id, k) => operand::Src::Acc(self.acc(*id, *k)),
            Src::Stream { view, lane, pop, .. } => {
                operand::Src::Broadcast(operand::BroadcastRead { width: Self::width(*view), lane: *lane, pop: *pop })
            }
            Src::Port(dir) => operand::Src::Port(*dir),
            Src::QRow => operand::Src::QRow,
            Src::QCol => operand::Src::QCol,
        }
    }
    fn acc(&self, id: Id, k: u8) -> operand::Acc {
        match self.places.values[id.0 as usize] {
            Place::Acc(a) => operand::Acc::new((a + k) as i64).expect("accumulators are below 16"),
            other => panic!("%{} should be accumulators, not {other:?}", self.f.name_of(id)),
        }
    }
    fn dst(&mut self, d: &Dst) -> operand::Dst {
        match d {
            Dst::Def(id) | Dst::Var(id) => match self.value_place(*id) {
                Ok(acc) => operand::Dst::Acc(acc),
                Err(lrm) => operand::Dst::Lrm(lrm),
            },
            Dst::Elem(e) => operand::Dst::Lrm(self.elem(e)),
            Dst::Acc(id, k) => operand::Dst::Acc(self.acc(*id, *k)),
        }
    }
    fn cmp(&mut self, cond: Cond, a: &Src, b: &Src) {
        let (a, b) = (self.src(a), self.src(b));
        self.inst(Inst::Cmp { cond, a, b });
    }
    fn token(&self, id: Id) -> operand::Token {
        operand::Token::new(self.extra(Extra::Token(id)) as i64).expect("tokens are below 16")
    }

    // ---- operations ----

    fn block(&mut self, block: &Block) {
        let consumed: Vec<(usize, Id)> = block
            .iter()
            .enumerate()
            .filter_map(|(j, op)| match op.kind {
                OpKind::Bcast { dst, .. } => Some((last_use(block, dst).unwrap_or(j).max(j), dst)),
                _ => None,
            })
            .collect();
        for (i, op) in block.iter().enumerate() {
            self.pos += 1;
            self.scratch = 0;
            self.line(op.loc);
            self.op(op);
            // A stream's bytes are free again once it is consumed.
            for (_, stream) in consumed.iter().filter(|(last, _)| *last == i) {
                let token = self.token(*stream);
                self.inst(Inst::Wait { token, tiles: Tiles::All });
            }
        }
    }

    fn op(&mut self, op: &Op) {
        use OpKind::*;
        match &op.kind {
            Scalar { op, dst, a, b } => self.scalar(*op, *dst, *a, *b),
            ScalarSet { cond, dst, a, b } => {
                let (SDst::Def(id) | SDst::Var(id)) = dst;
                let dst = sreg(self.reg(*id));
                let a = self.in_reg(*a);
                self.inst(Inst::SSet { dst, cond: *cond, a, b: self.ssrc(*b) });
            }
            ScalarVar { dst, init } => {
                self.inst(Inst::SMov { dst: sreg(self.reg(*dst)), a: self.ssrc(*init) });
            }
            ScalarLoad { dst, buf, at } => {
                let dst = sreg(self.reg(*dst));
                match self.places.values[buf.0 as usize] {
                    Place::Scalar(base) => self.inst(Inst::SLoad { dst, base: sreg(base), offset: self.ssrc(*at) }),
                    Place::Ocm(base) => {
                        let offset = self.in_reg(*at);
                        self.inst(Inst::SLoad { dst, base: offset, offset: SSrc::Imm(base as i32) });
                    }
                    other => panic!("an on-chip buffer, not {other:?}"),
                }
            }
            Any { dst, cond, a, b } => {
                self.cmp(*cond, a, b);
                self.inst(Inst::PAny { dst: sreg(self.reg(*dst)) });
            }
            Var { dst, init } => {
                let a = self.src(init);
                let dst = self.dst(&Dst::Var(*dst));
                self.inst(Inst::Mov { dst, a });
            }
            Const { dst, name } => {
                self.ext_base.insert(*dst, self.constants[name]);
                let r = sreg(self.reg(*dst));
                self.inst(Inst::SAdd { dst: r, a: sreg(CONSTANTS), b: SSrc::Imm(self.constants[name] as i32) });
            }
            Acc { .. } | Lrm { .. } | Ocm { .. } | Idle { .. } => {}
            Alu { op, dst, a, b } => self.alu(*op, dst, a, b),
            Sel { dst, cond, x, y, t, f } => {
                self.cmp(*cond, x, y);
                let dst = self.dst(dst);
                let (a, b) = (self.src(t), self.src(f));
                self.inst(Inst::Sel { dst, a, b });
            }
            Lut { dst, idx, table, bits } => {
                let dst = self.dst(dst);
                let idx = self.src(idx);
                let table = self.elem(table);
                let bits = operand::TableBits::new(*bits as i64).expect("verified");
                self.inst(Inst::Lut { dst, idx, table, bits });
            }
            Send { to, a } => {
                let a = self.src(a);
                self.inst(Inst::Send { to: Dirs::one(*to), a });
            }
            Shift { .. } | Call { .. } => self.unsupported(op.loc, "left by the passes that replace it"),
            Mac { width, shape, acc, at, a, .. } => {
                let a = self.elem(a);
                let acc = self.acc(*acc, *at);
                let shape = *shape;
                self.inst(match width {
                    MacWidth::W8 => Inst::Mac8 { shape, acc, a },
                    MacWidth::W16x8 => Inst::Mac16x8 { shape, acc, a },
                    MacWidth::W16 => Inst::Mac16 { shape, acc, a },
                });
            }
            Flow { .. } | Restart { .. } | Bcast { .. } | Dma { .. } | Rau { .. } => self.transfer(&op.kind),
            Wait { token } => {
                let token = self.token(*token);
                self.inst(Inst::Wait { token, tiles: Tiles::All });
            }
            Acquire { flow } => self.acquire(*flow),
            Release { flow } => {
                let token = self.token(*flow);
                self.inst(Inst::Release { token });
            }
            Push { flow } => {
                let token = self.token(*flow);
                self.inst(Inst::Push { token });
            }
            Drain => self.inst(Inst::Drain { engines: operand::Engines::ALL }),
            Where { cond, a, b, then, els } => {
                self.cmp(*cond, a, b);
                self.inst(Inst::PPush {});
                self.block(then);
                if !els.is_empty() {
                    self.inst(Inst::PElse {});
                    self.block(els);
                }
                self.inst(Inst::PPop {});
            }
            If { cond, a, b, then, els } => self.branch(*cond, *a, *b, then, els),
            For { var, lo, hi, step, body, .. } => self.for_loop(op, *var, *lo, *hi, *step, body),
            While { cond, a, b, bound, body } => self.while_loop(*cond, *a, *b, *bound, body),
            Region { name, body } => {
                let id = self.p.name(name);
                match id {
                    Ok(id) => {
                        self.regions.push(name.clone());
                        self.inst(Inst::Region { name: id });
                        self.block(body);
                        self.inst(Inst::RegionEnd {});
                        self.regions.pop();
                    }
                    Err(error) => self.unsupported(op.loc, error.to_string()),
                }
            }
            Probe { name, a } | Assert { name, a } => {
                let a = self.src(a);
                let probe = matches!(op.kind, Probe { .. });
                match self.p.name(name) {
                    Ok(name) if probe => self.inst(Inst::Probe { name, a }),
                    Ok(name) => self.inst(Inst::Assert { name, a }),
                    Err(error) => self.unsupported(op.loc, error.to_string()),
                }
            }
            Addr { dst, buf, at } => {
                let dst = sreg(self.reg(*dst));
                let ring = self.places.rings.contains_key(buf);
                match (ring, *at) {
                    (false, SVal::Imm(at)) => {
                        self.inst(Inst::SMov { dst, a: SSrc::Imm(self.lrm_base(*buf) as i32 + at) });
                    }
                    (false, SVal::Val(id)) => {
                        let a = sreg(self.reg(id));
                        self.inst(Inst::SAdd { dst, a, b: SSrc::Imm(self.lrm_base(*buf) as i32) });
                    }
                    (true, SVal::Imm(0)) => {
                        self.inst(Inst::SMov { dst, a: SSrc::Reg(sreg(self.extra(Extra::Cursor(*buf)))) });
                    }
                    (true, at) => {
                        let a = sreg(self.extra(Extra::Cursor(*buf)));
                        self.inst(Inst::SAdd { dst, a, b: self.ssrc(at) });
                    }
                }
            }
            AddrStep { addr, by } => {
                let r = sreg(self.reg(*addr));
                self.inst(Inst::SAdd { dst: r, a: r, b: self.ssrc(*by) });
            }
        }
    }

    fn scalar(&mut self, op: SOp, dst: SDst, a: SVal, b: SVal) {
        let (SDst::Def(id) | SDst::Var(id)) = dst;
        let dst = sreg(self.reg(id));
        if op == SOp::Mov {
            let a = self.ssrc(a);
            return self.inst(Inst::SMov { dst, a });
        }
        // The first operand is a register; many operations may take the number second.
        let commutes = matches!(op, SOp::Add | SOp::Mul | SOp::And | SOp::Or | SOp::Xor | SOp::Min | SOp::Max);
        let (a, b) = if commutes && matches!(a, SVal::Imm(_)) { (b, a) } else { (a, b) };
        let a = self.in_reg(a);
        let b = self.ssrc(b);
        self.inst(match op {
            SOp::Mov | SOp::Add => Inst::SAdd { dst, a, b },
            SOp::Sub => Inst::SSub { dst, a, b },
            SOp::Mul => Inst::SMul { dst, a, b },
            SOp::And => Inst::SAnd { dst, a, b },
            SOp::Or => Inst::SOr { dst, a, b },
            SOp::Xor => Inst::SXor { dst, a, b },
            SOp::Shl => Inst::SShl { dst, a, b },
            SOp::Shr => Inst::SShr { dst, a, b },
            SOp::Sar => Inst::SSar { dst, a, b },
            SOp::Min => Inst::SMin { dst, a, b },
            SOp::Max => Inst::SMax { dst, a, b },
        });
    }

    fn alu(&mut self, op: AluOp, dst: &Dst, a: &Src, b: &Src) {
        let dst = self.dst(dst);
        let a = self.src(a);
        let b = if op.binary() { self.src(b) } else { operand::Src::Imm(0) };
        let frac = |n: u8| operand::Frac::new(n as i64).expect("verified");
        self.inst(match op {
            AluOp::Mov => Inst::Mov { dst, a },
            AluOp::Abs => Inst::Abs { dst, a },
            AluOp::Clip(lo, hi) => {
                let bound = |n: i16| operand::Bound::new(n as i64).expect("verified");
                Inst::Clip { dst, a, lo: bound(lo), hi: bound(hi) }
            }
            AluOp::Set(cond) => Inst::Set { cond, dst, a, b },
            AluOp::FxMul(s) => {
                Inst::FxMul { dst, a, b, shift: operand::Shift::new(s as i64).expect("parsed or built in range") }
            }
            AluOp::FxDiv(n) => Inst::FxDiv { dst, a, b, frac: frac(n) },
            AluOp::Exp(from, to) => Inst::Exp { dst, a, from: frac(from), to: frac(to) },
            AluOp::Log(from, to) => Inst::Log { dst, a, from: frac(from), to: frac(to) },
            AluOp::Bin(op) => match op {
                BinOp::Add => Inst::Add { dst, a, b },
                BinOp::Sub => Inst::Sub { dst, a, b },
                BinOp::And => Inst::And { dst, a, b },
                BinOp::Or => Inst::Or { dst, a, b },
                BinOp::Xor => Inst::Xor { dst, a, b },
                BinOp::Shl => Inst::Shl { dst, a, b },
                BinOp::Shr => Inst::Shr { dst, a, b },
                BinOp::Sar => Inst::Sar { dst, a, b },
                BinOp::Min => Inst::Min { dst, a, b },
                BinOp::Max => Inst::Max { dst, a, b },
            },
        });
    }
}
