//! Writes the instructions of kernels whose values have their places.

use std::collections::HashMap;

use iss::builder::{Emit, Label, Num, Program};
use iss::image::Image;
use iss::isa::Inst;
use iss::isa::operand::{self as operand, Cond, Dirs, Field, Lrm, SReg, SSrc, Tiles, Width};
use iss::target::Target;

use super::alloc::{self, CONSTANTS, Extra, Place, Places, RESIDENT, TEMP, allocate, last_use, used_in};
use super::{CompileError, Report};
use crate::ir::range::trips;
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
            let Place::Scalar(r) = self.places.values[p.id.0 as usize] else { continue };
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
        for (i, op) in block.iter().enumerate() {
            self.pos += 1;
            self.scratch = 0;
            self.line(op.loc);
            self.op(op);
            // A stream's bytes are free again once it is consumed.
            for (j, other) in block.iter().enumerate() {
                if let OpKind::Bcast { dst, .. } = other.kind
                    && last_use(block, dst).unwrap_or(j).max(j) == i
                {
                    let token = self.token(dst);
                    self.inst(Inst::Wait { token, tiles: Tiles::All });
                }
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
            Acc { .. } | Lrm { .. } | Ocm { .. } => {}
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
            Flow { .. } | Bcast { .. } | Dma { .. } | Rau { .. } => self.transfer(&op.kind),
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

    // ---- control ----

    fn jump_unless(&mut self, cond: Cond, a: SVal, b: SVal, to: Label) {
        self.jump_if(negated(cond), a, b, to);
    }

    fn jump_if(&mut self, cond: Cond, a: SVal, b: SVal, to: Label) {
        let fits = |v: i32| i16::try_from(v).is_ok();
        let (cond, a, b) = match (a, b) {
            // At most one side goes through the temporary register.
            (SVal::Imm(x), SVal::Imm(y)) if !fits(y) && fits(x) => (swapped(cond), SVal::Imm(y), SVal::Imm(x)),
            (SVal::Imm(x), b @ SVal::Val(_)) => (swapped(cond), b, SVal::Imm(x)),
            other => (cond, other.0, other.1),
        };
        let (a, b) = match (a, b) {
            (SVal::Val(id), SVal::Imm(v)) if !fits(v) => {
                let b = self.in_reg(SVal::Imm(v));
                (sreg(self.reg(id)), operand::SSrc16::Reg(b))
            }
            (SVal::Imm(x), SVal::Imm(y)) if !fits(y) => {
                // Both are numbers beyond a branch's: the outcome is known.
                let (x, y) = if interp::cond_holds(cond, x, y) { (0, 0) } else { (0, 1) };
                let a = self.in_reg(SVal::Imm(x));
                return self.branch_inst(Cond::Eq, a, operand::SSrc16::Imm(y), to);
            }
            (a, SVal::Imm(v)) => (self.in_reg(a), operand::SSrc16::Imm(v)),
            (a, SVal::Val(id)) => (self.in_reg(a), operand::SSrc16::Reg(sreg(self.reg(id)))),
        };
        self.branch_inst(cond, a, b, to);
    }

    fn branch_inst(&mut self, cond: Cond, a: SReg, b: operand::SSrc16, to: Label) {
        self.count_control();
        self.p.branch(cond, a, b, to);
    }

    fn count_control(&mut self) {
        let classes = self.places.report.instructions.entry(self.regions.join("/")).or_default();
        *classes.entry(iss::isa::Class::Predication.word()).or_insert(0) += 1;
    }

    /// Code behind a label may be reached with other descriptors than what was emitted before it.
    fn bind(&mut self, label: Label) {
        self.p.bind(label);
        self.held.clear();
    }

    fn branch(&mut self, cond: Cond, a: SVal, b: SVal, then: &Block, els: &Block) {
        let (other, end) = (self.p.label(), self.p.label());
        self.jump_unless(cond, a, b, other);
        self.held.clear();
        self.block(then);
        if els.is_empty() {
            self.bind(other);
            // The second label is bound too, or the program would not finish.
            self.p.bind(end);
            return;
        }
        self.count_control();
        self.p.jump(end);
        self.bind(other);
        self.block(els);
        self.bind(end);
    }

    fn enter_loop(&mut self, body: &Block) {
        let (first, last) = (self.pos, self.pos + alloc::count(body));
        if self.loops.is_empty() {
            self.resident_descriptors(body);
        }
        self.loops.push((first, last));
        self.held.clear();
    }
    fn leave_loop(&mut self) {
        self.loops.pop();
        self.held.clear();
    }

    fn for_loop(&mut self, op: &Op, var: Id, lo: SVal, hi: SVal, step: i32, body: &Block) {
        let counted = trips(lo, hi, step);
        let at = self.pos;
        if !alloc::hardware(&op.kind) {
            self.enter_loop(body);
            let v = sreg(self.reg(var));
            let a = self.ssrc(lo);
            self.inst(Inst::SMov { dst: v, a });
            let end = self.p.label();
            if counted.is_none_or(|n| n == 0) {
                self.jump_if(Cond::Ge, SVal::Val(var), hi, end);
            }
            let top = self.p.here();
            self.block(body);
            self.inst(Inst::SAdd { dst: v, a: v, b: SSrc::Imm(step) });
            self.jump_if(Cond::Lt, SVal::Val(var), hi, top);
            self.p.bind(end);
            self.leave_loop();
            return;
        }
        self.enter_loop(body);
        let used = used_in(body, var);
        let end = self.p.label();
        let trip_reg = counted.is_none().then(|| sreg(self.extra(Extra::Trips(at))));
        if let Some(r) = trip_reg {
            // Bounds live to the end of the loop, so that the variable may be set first.
            let hi = self.in_reg(hi);
            let b = self.ssrc(lo);
            self.inst(Inst::SSub { dst: r, a: hi, b });
        }
        if used {
            let dst = sreg(self.reg(var));
            let a = self.ssrc(lo);
            self.inst(Inst::SMov { dst, a });
        }
        self.count_control();
        match (trip_reg, counted) {
            (Some(r), _) => {
                self.p.loop_s(r, end);
            }
            (None, Some(n)) => {
                self.p.loop_i(Num::new(n as i64), end);
            }
            (None, None) => unreachable!("trips are counted or in a register"),
        }
        let start = self.p.pc();
        self.block(body);
        if used {
            let v = sreg(self.reg(var));
            self.inst(Inst::SAdd { dst: v, a: v, b: SSrc::Imm(step) });
        }
        if self.p.pc() == start {
            self.inst(Inst::Nop {});
        }
        self.p.bind(end);
        self.leave_loop();
    }

    fn while_loop(&mut self, cond: Cond, a: SVal, b: SVal, bound: u32, body: &Block) {
        let n = sreg(self.extra(Extra::Trips(self.pos)));
        self.enter_loop(body);
        let (end, go) = (self.p.label(), self.p.label());
        self.inst(Inst::SMov { dst: n, a: SSrc::Imm(bound as i32) });
        let top = self.p.here();
        self.jump_unless(cond, a, b, end);
        self.branch_inst(Cond::Ne, n, operand::SSrc16::Imm(0), go);
        match self.p.name(&format!("more than {bound} trips")) {
            Ok(name) => self.inst(Inst::Trap { name }),
            Err(error) => self.unsupported(Loc::default(), error.to_string()),
        }
        self.p.bind(go);
        self.inst(Inst::SSub { dst: n, a: n, b: SSrc::Imm(1) });
        self.block(body);
        self.count_control();
        self.p.jump(top);
        self.p.bind(end);
        self.leave_loop();
    }

    // ---- rings ----

    /// Address of a ring's first instance, bytes from one to the next, instances.
    fn ring(&self, buf: Id) -> (i32, i32, i32) {
        let Type::Lrm { ring, .. } = self.f.ty(buf) else { panic!("a ring's buffer is local") };
        let stride = self.places.bytes[&buf] / ring;
        (self.lrm_base(buf) as i32, stride as i32, ring as i32)
    }

    fn acquire(&mut self, flow: Id) {
        let (buf, walk) = match self.places.rings.iter().find(|(_, (f, _))| *f == flow) {
            Some((buf, (_, walk))) => (*buf, walk.clone()),
            None => panic!("a ring's flow was verified"),
        };
        let count = sreg(self.extra(Extra::Count(flow)));
        let cursor = sreg(self.extra(Extra::Cursor(buf)));
        let token = self.token(flow);
        self.inst(Inst::WaitS { token, tiles: count });
        self.inst(Inst::SAdd { dst: count, a: count, b: SSrc::Imm(walk.group as i32) });
        let (base, stride, n) = self.ring(buf);
        if n == 2 {
            self.inst(Inst::SXor { dst: cursor, a: cursor, b: SSrc::Imm(base ^ (base + stride)) });
        } else if (n * stride).count_ones() == 1 && base % (2 * n * stride) == 0 {
            self.inst(Inst::SAdd { dst: cursor, a: cursor, b: SSrc::Imm(stride) });
            self.inst(Inst::SAnd { dst: cursor, a: cursor, b: SSrc::Imm(!(n * stride)) });
        } else {
            let t = sreg(TEMP);
            self.inst(Inst::SAdd { dst: cursor, a: cursor, b: SSrc::Imm(stride) });
            self.inst(Inst::SSet { dst: t, cond: Cond::Eq, a: cursor, b: SSrc::Imm(base + n * stride) });
            self.inst(Inst::SMul { dst: t, a: t, b: SSrc::Imm(n * stride) });
            self.inst(Inst::SSub { dst: cursor, a: cursor, b: SSrc::Reg(t) });
        }
    }

    // ---- transfers ----

    fn on_chip(&self, buf: Id, at: SVal) -> Sum {
        let mut sum = match self.places.values[buf.0 as usize] {
            Place::Scalar(_) => Sum { regs: vec![buf], minus: Vec::new(), imm: 0 },
            Place::Ocm(base) => Sum::imm(base),
            other => panic!("an on-chip buffer, not {other:?}"),
        };
        match at {
            SVal::Imm(v) => sum.imm = sum.imm.wrapping_add(v),
            SVal::Val(id) => sum.regs.push(id),
        }
        sum
    }

    /// The fields of a transfer's descriptor that are not 0.
    fn fields(&self, kind: &OpKind) -> Vec<(Field, Sum)> {
        let sval = |s: SVal| match s {
            SVal::Imm(v) => Sum { regs: Vec::new(), minus: Vec::new(), imm: v },
            SVal::Val(id) => Sum { regs: vec![id], minus: Vec::new(), imm: 0 },
        };
        let int = |v: i32| Sum { regs: Vec::new(), minus: Vec::new(), imm: v };
        let place = |e: &ElemRef| self.lrm_base(e.buf) + (e.at * e.view.bytes() as i32) as u32;
        let mut fields = match kind {
            OpKind::Flow { walk: w, .. } => {
                let mut fields = vec![
                    (Field::Ocm, self.on_chip(w.buf, w.at)),
                    (Field::Elem, Sum::imm(w.elem.bytes())),
                    (Field::Width, Sum::imm(w.width)),
                    (Field::Height, Sum::imm(w.height)),
                    (Field::RowPitch, Sum::imm(w.pitch)),
                    (Field::PlanePitch, Sum::imm(w.plane)),
                    (Field::X0, sval(w.x0)),
                    (Field::Y0, sval(w.y0)),
                    (Field::ColStep, Sum::imm(w.col_step)),
                    (Field::RowStep, Sum::imm(w.row_step)),
                    (Field::Rows, Sum::imm(w.rows)),
                    (Field::Cols, Sum::imm(w.cols)),
                    (Field::Halo, Sum::imm(w.halo)),
                    (Field::Lrm, Sum::imm(self.lrm_base(w.lrm) + w.slot)),
                    (Field::LrmStep, Sum::imm(w.slot_step)),
                ];
                const LOOPS: [[Field; 4]; 4] = [
                    [Field::N0, Field::Dx0, Field::Dy0, Field::Dp0],
                    [Field::N1, Field::Dx1, Field::Dy1, Field::Dp1],
                    [Field::N2, Field::Dx2, Field::Dy2, Field::Dp2],
                    [Field::N3, Field::Dx3, Field::Dy3, Field::Dp3],
                ];
                let mut places = LOOPS.into_iter();
                let mut unit = 1;
                if let Some((buf, at)) = w.second {
                    // From one tensor to the other by planes of one byte.
                    let (first, mut apart) = (self.on_chip(w.buf, w.at), self.on_chip(buf, at));
                    apart.minus = first.regs;
                    apart.imm = apart.imm.wrapping_sub(first.imm);
                    let [n, _, _, dp] = places.next().expect("there are four");
                    fields.extend([(n, Sum::imm(2)), (dp, apart)]);
                    unit = w.plane as i32;
                    fields.iter_mut().filter(|(f, _)| *f == Field::PlanePitch).for_each(|(_, s)| *s = Sum::imm(1));
                }
                // A loop of one trip goes nowhere.
                for (l, [n, dx, dy, dp]) in w.loops.iter().filter(|l| l.n > 1).zip(places) {
                    let planes = l.dp.wrapping_mul(unit);
                    fields.extend([(n, Sum::imm(l.n)), (dx, int(l.dx)), (dy, int(l.dy)), (dp, int(planes))]);
                }
                if w.group > 0 {
                    let (_, stride, n) = self.ring(w.lrm);
                    fields.extend([
                        (Field::Group, Sum::imm(w.group)),
                        (Field::Ring, int(n)),
                        (Field::RingStep, int(stride)),
                    ]);
                }
                fields
            }
            OpKind::Bcast { buf, at, n0, step0, n1, step1, .. } => vec![
                (Field::Ocm, self.on_chip(*buf, *at)),
                (Field::N0, Sum::imm(*n0)),
                (Field::Dx0, int(*step0)),
                (Field::N1, Sum::imm(if *n1 > 1 { *n1 } else { 0 })),
                (Field::Dx1, int(if *n1 > 1 { *step1 } else { 0 })),
            ],
            OpKind::Dma { ocm, ocm_at, ocm_pitch, ext, ext_at, ext_pitch, bytes, rows, .. } => vec![
                (Field::Ocm, self.on_chip(*ocm, *ocm_at)),
                (Field::RowPitch, Sum::imm(*ocm_pitch)),
                (Field::N0, Sum::imm(*rows)),
                (Field::Ext, self.on_chip(*ext, *ext_at)),
                (Field::Bytes, Sum::imm(*bytes)),
                (Field::ExtPitch, Sum::imm(*ext_pitch)),
            ],
            OpKind::Rau { buf, at, elem, limit, index, data, valid, .. } => vec![
                (Field::Ocm, self.on_chip(*buf, *at)),
                (Field::Elem, Sum::imm(elem.bytes())),
                (Field::Limit, Sum::imm(*limit)),
                (Field::Lrm, Sum::imm(place(index))),
                (Field::Data, Sum::imm(place(data))),
                (Field::Valid, Sum::imm(valid.as_ref().map_or(0, |v| place(v) + 1))),
            ],
            other => panic!("no transfer: {other:?}"),
        };
        fields.retain(|(_, sum)| !sum.regs.is_empty() || !sum.minus.is_empty() || sum.imm != 0);
        fields
    }

    fn set(&mut self, desc: u8, field: Field, sum: &Sum) {
        let value = match sum.regs[..] {
            _ if !sum.minus.is_empty() => {
                let temp = sreg(TEMP);
                self.inst(Inst::SMov { dst: temp, a: SSrc::Imm(sum.imm) });
                for r in &sum.regs {
                    let b = SSrc::Reg(sreg(self.reg(*r)));
                    self.inst(Inst::SAdd { dst: temp, a: temp, b });
                }
                for r in &sum.minus {
                    let b = SSrc::Reg(sreg(self.reg(*r)));
                    self.inst(Inst::SSub { dst: temp, a: temp, b });
                }
                SSrc::Reg(temp)
            }
            [] => SSrc::Imm(sum.imm),
            [r] if sum.imm == 0 => SSrc::Reg(sreg(self.reg(r))),
            [r] => {
                let a = sreg(self.reg(r));
                self.inst(Inst::SAdd { dst: sreg(TEMP), a, b: SSrc::Imm(sum.imm) });
                SSrc::Reg(sreg(TEMP))
            }
            [r, s, ..] => {
                let (a, b) = (sreg(self.reg(r)), sreg(self.reg(s)));
                self.inst(Inst::SAdd { dst: sreg(TEMP), a, b: SSrc::Reg(b) });
                if sum.imm != 0 {
                    self.inst(Inst::SAdd { dst: sreg(TEMP), a: sreg(TEMP), b: SSrc::Imm(sum.imm) });
                }
                SSrc::Reg(sreg(TEMP))
            }
        };
        let desc = operand::DReg::new(desc as i64).expect("descriptors are below 8");
        self.inst(Inst::DSet { desc, field, value });
        let held = self.held.entry(desc.get()).or_default();
        match (&sum.regs[..], sum.imm) {
            ([], imm) if sum.minus.is_empty() => held.insert(field, imm),
            _ => held.remove(&field),
        };
    }

    fn clear(&mut self, desc: u8) {
        self.inst(Inst::DClear { desc: operand::DReg::new(desc as i64).expect("descriptors are below 8") });
        self.held.insert(desc, Field::ALL.iter().map(|f| (*f, 0)).collect());
    }

    /// Sets up what does not change in the descriptors of a loop's transfers, before the outermost loop.
    fn resident_descriptors(&mut self, body: &Block) {
        let start = self.pos;
        let mut at = self.pos;
        let mut sites = Vec::new();
        visit::walk(body, &mut |op| {
            at += 1;
            if self.places.extra.contains_key(&Extra::Desc(at)) {
                sites.push((at, op.kind.clone()));
            }
        });
        for (at, kind) in sites {
            let desc = self.extra(Extra::Desc(at));
            self.clear(desc);
            for (field, sum) in self.fields(&kind) {
                if self.invariant(&sum, start) {
                    self.set(desc, field, &sum);
                }
            }
        }
    }

    fn invariant(&self, sum: &Sum, start: u32) -> bool {
        sum.regs
            .iter()
            .chain(&sum.minus)
            .all(|id| self.f.ty(*id) != Type::ScalarVar && self.places.def[id.0 as usize] < start)
    }

    fn transfer(&mut self, kind: &OpKind) {
        let fields = self.fields(kind);
        let desc = match self.places.extra.get(&Extra::Desc(self.pos)) {
            Some(desc) => {
                let desc = *desc;
                let start = self.loops.first().map_or(0, |(first, _)| *first);
                for (field, sum) in &fields {
                    if !self.invariant(sum, start) {
                        self.set(desc, *field, sum);
                    }
                }
                desc
            }
            None => self.shared_descriptor(&fields),
        };
        let (OpKind::Flow { dst, .. } | OpKind::Bcast { dst, .. } | OpKind::Dma { dst, .. } | OpKind::Rau { dst, .. }) =
            kind
        else {
            panic!("no transfer: {kind:?}")
        };
        let token = self.token(*dst);
        let desc = operand::DReg::new(desc as i64).expect("descriptors are below 8");
        self.inst(match kind {
            OpKind::Flow { out: false, .. } => Inst::FlowIn { desc, token },
            OpKind::Flow { out: true, .. } => Inst::FlowOut { desc, token },
            OpKind::Bcast { .. } => Inst::Bcast { desc, token },
            OpKind::Dma { out: false, .. } => Inst::DmaIn { desc, token },
            OpKind::Dma { out: true, .. } => Inst::DmaOut { desc, token },
            OpKind::Rau { store: false, .. } => Inst::RauLoad { desc, token },
            _ => Inst::RauStore { desc, token },
        });
        if let OpKind::Flow { out, dst, walk } = kind
            && walk.group > 0
        {
            let (base, stride, n) = self.ring(walk.lrm);
            let count = sreg(self.extra(Extra::Count(*dst)));
            let cursor = sreg(self.extra(Extra::Cursor(walk.lrm)));
            // The first instances of a flow out are free: their count is 0 or less.
            let first = if *out { walk.group as i32 * (1 - n) } else { walk.group as i32 };
            self.inst(Inst::SMov { dst: count, a: SSrc::Imm(first) });
            self.inst(Inst::SMov { dst: cursor, a: SSrc::Imm(base + (n - 1) * stride) });
        }
    }

    /// Makes one of the shared descriptors hold what is needed, from what it holds, with the fewest instructions.
    fn shared_descriptor(&mut self, fields: &[(Field, Sum)]) -> u8 {
        let changes = |held: &HashMap<Field, i32>| -> Vec<(Field, Sum)> {
            let mut list = Vec::new();
            for f in Field::ALL {
                let wanted = fields.iter().find(|(g, _)| g == f).map(|(_, s)| s.clone());
                let wanted = wanted.unwrap_or(Sum { regs: Vec::new(), minus: Vec::new(), imm: 0 });
                if !wanted.regs.is_empty() || !wanted.minus.is_empty() || held.get(f) != Some(&wanted.imm) {
                    list.push((*f, wanted));
                }
            }
            list
        };
        type Choice = (usize, u8, bool, Vec<(Field, Sum)>);
        let mut best: Option<Choice> = None;
        // With the same number of instructions, the register that is least known is taken.
        for desc in RESIDENT..8 {
            let held = self.held.get(&desc).cloned().unwrap_or_default();
            let direct = changes(&held);
            let cleared = changes(&Field::ALL.iter().map(|f| (*f, 0)).collect());
            for (n, clear, list) in [(direct.len(), false, direct), (cleared.len() + 1, true, cleared)] {
                if best.as_ref().is_none_or(|(m, ..)| n < *m || (n == *m && held.is_empty())) {
                    best = Some((n, desc, clear, list));
                }
            }
        }
        let (_, desc, clear, list) = best.expect("there are shared descriptors");
        if clear {
            self.clear(desc);
        }
        list.iter().for_each(|(field, sum)| self.set(desc, *field, sum));
        desc
    }
}

fn negated(cond: Cond) -> Cond {
    match cond {
        Cond::Eq => Cond::Ne,
        Cond::Ne => Cond::Eq,
        Cond::Lt => Cond::Ge,
        Cond::Le => Cond::Gt,
        Cond::Gt => Cond::Le,
        Cond::Ge => Cond::Lt,
        Cond::Ltu => Cond::Geu,
        Cond::Leu => Cond::Gtu,
        Cond::Gtu => Cond::Leu,
        Cond::Geu => Cond::Ltu,
    }
}

fn swapped(cond: Cond) -> Cond {
    match cond {
        Cond::Eq | Cond::Ne => cond,
        Cond::Lt => Cond::Gt,
        Cond::Le => Cond::Ge,
        Cond::Gt => Cond::Lt,
        Cond::Ge => Cond::Le,
        Cond::Ltu => Cond::Gtu,
        Cond::Leu => Cond::Geu,
        Cond::Gtu => Cond::Ltu,
        Cond::Geu => Cond::Leu,
    }
}
