//! An interpreter of the IR over plain per-PE arrays: the oracle for passes and lowering. Its arithmetic is its own, in 64
//! and 128 bit, and shares nothing with the simulator. It knows no time: what lands in local memory does so when it is
//! waited for, what leaves does so when it is handed over.
//!
//! Lanes that nothing defined are tracked: they spread through operations, and an undefined lane that decides something or
//! reaches an output is an error. Border columns are lanes like any other.

use iss::image::Direction;
use iss::isa::operand::{Cond, Dir, MacShape};
use iss::target::Target;

use super::types::*;

/// A lane that nothing defined.
const UNDEF: i64 = i64::MIN;
/// A byte that nothing defined.
const UNDEF_BYTE: u16 = 0x100;

/// What a parameter is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg<'a> {
    /// Bytes of an `in` or `inout` buffer.
    Bytes(&'a [u8]),
    /// A scalar.
    Scalar(i32),
}

/// What a run gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// `out` and `inout` buffers by name.
    pub buffers: Vec<(String, Vec<u8>)>,
    /// Probed values by name: one row after the other, without borders; undefined lanes are `None`.
    pub probes: Vec<(String, Vec<Option<i32>>)>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message states its fields")]
pub enum InterpError {
    #[error("no kernel is called @{0}")]
    NoKernel(String),
    #[error("parameter %{name}: {what}")]
    Param { name: String, what: String },
    #[error("line {line}: an undefined value {what}")]
    Undefined { line: u32, what: String },
    #[error("byte {at} of %{name} is undefined")]
    UndefinedOutput { name: String, at: usize },
    #[error("line {line}: {what}")]
    Trap { line: u32, what: String },
    #[error("line {line}: assertion `{name}` is false at row {row}, column {col}")]
    Assertion { line: u32, name: String, row: u32, col: i32 },
    #[error("more than {0} operations")]
    Fuel(u64),
}

type Result<T> = std::result::Result<T, InterpError>;
type Lanes = Vec<i64>;

/// Runs a kernel on an array of the target's size.
///
/// # Errors
/// [`InterpError`]; the module is taken to be verified, and what the verifier refuses may end in a panic.
pub fn run(m: &Module, kernel: &str, target: &Target, args: &[(&str, Arg<'_>)]) -> Result<Outcome> {
    let f =
        m.func(kernel).filter(|f| f.kind == FuncKind::Kernel).ok_or_else(|| InterpError::NoKernel(kernel.into()))?;
    let spec = target.spec();
    let mut machine = Machine {
        m,
        rows: spec.rows as i64,
        cols: spec.cols as i64,
        border: spec.border as i64,
        memory: Vec::new(),
        ports: vec![vec![0; (spec.rows * (spec.cols + 2 * spec.border)) as usize]; 4],
        masks: vec![vec![Mask::On; (spec.rows * (spec.cols + 2 * spec.border)) as usize]],
        streams: std::collections::VecDeque::new(),
        fuel: 200_000_000,
        probes: Vec::new(),
        line: 0,
    };
    let mut frame = Frame { f, values: vec![Val::None; f.values.len()] };
    for p in &f.params {
        let name = f.name_of(p.id);
        let given = args.iter().find(|(n, _)| *n == name).map(|(_, a)| a);
        let fail = |what: &str| Err(InterpError::Param { name: name.into(), what: what.into() });
        frame.values[p.id.0 as usize] = match (f.ty(p.id), given) {
            (Type::Scalar, Some(Arg::Scalar(v))) => Val::S(*v),
            (Type::Ocm(n) | Type::Ext(n), given) => {
                let bytes = match given {
                    Some(Arg::Bytes(b)) if b.len() == n as usize => b.iter().map(|b| *b as u16).collect(),
                    None if p.dir == Direction::Out => vec![0; n as usize],
                    Some(Arg::Bytes(b)) => return fail(&format!("takes {n} bytes, not {}", b.len())),
                    _ => return fail("takes bytes"),
                };
                machine.memory.push(bytes);
                Val::Mem(machine.memory.len() - 1)
            }
            _ => return fail("takes a scalar"),
        };
    }
    machine.block(&mut frame, &f.body)?;
    let mut outcome = Outcome { probes: machine.probes, ..Outcome::default() };
    for p in f.params.iter().filter(|p| p.dir != Direction::In) {
        if let Val::Mem(i) = frame.values[p.id.0 as usize] {
            let name = f.name_of(p.id).to_owned();
            if let Some(at) = machine.memory[i].iter().position(|b| *b >= UNDEF_BYTE) {
                return Err(InterpError::UndefinedOutput { name, at });
            }
            outcome.buffers.push((name, machine.memory[i].iter().map(|b| *b as u8).collect()));
        }
    }
    Ok(outcome)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mask {
    Off,
    On,
    /// The condition is undefined here.
    Unknown,
}

#[derive(Clone, Debug)]
enum Val {
    None,
    S(i32),
    Q(Lanes),
    Acc(Vec<Lanes>),
    /// Bytes of all instances, each with a value per lane; bytes of an instance; the instance held.
    Lrm {
        bytes: Vec<Vec<u16>>,
        len: usize,
        now: usize,
    },
    /// Byte offset into an instance.
    Addr(i64),
    Mem(usize),
    Flow {
        out: bool,
        walk: Walk,
        at: [i64; 4],
        taken: u64,
    },
    Token,
    Stream,
}

struct Frame<'a> {
    f: &'a Func,
    values: Vec<Val>,
}

/// A stream under way: its words in order, taken from the front.
struct Stream {
    memory: usize,
    at: i64,
    n0: i64,
    step0: i64,
    step1: i64,
    words: i64,
    taken: i64,
}

struct Machine<'a> {
    m: &'a Module,
    rows: i64,
    cols: i64,
    border: i64,
    memory: Vec<Vec<u16>>,
    ports: Vec<Lanes>,
    masks: Vec<Vec<Mask>>,
    streams: std::collections::VecDeque<Stream>,
    fuel: u64,
    probes: Vec<(String, Vec<Option<i32>>)>,
    line: u32,
}

fn wrap(v: i128) -> i64 {
    v as i32 as i64
}

fn holds(cond: Cond, a: i64, b: i64) -> bool {
    let (ua, ub) = (a & 0xffff_ffff, b & 0xffff_ffff);
    match cond {
        Cond::Eq => a == b,
        Cond::Ne => a != b,
        Cond::Lt => a < b,
        Cond::Le => a <= b,
        Cond::Gt => a > b,
        Cond::Ge => a >= b,
        Cond::Ltu => ua < ub,
        Cond::Leu => ua <= ub,
        Cond::Gtu => ua > ub,
        Cond::Geu => ua >= ub,
    }
}

fn binary(op: BinOp, a: i64, b: i64) -> i64 {
    let (wa, wb, n) = (a as i128, b as i128, (b & 31) as u32);
    match op {
        BinOp::Add => wrap(wa + wb),
        BinOp::Sub => wrap(wa - wb),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => wrap(wa << n),
        BinOp::Shr => wrap(((a & 0xffff_ffff) >> n) as i128),
        BinOp::Sar => a >> n,
        BinOp::Min => a.min(b),
        BinOp::Max => a.max(b),
    }
}

fn scalar(op: SOp, a: i32, b: i32) -> i32 {
    let op = match op {
        SOp::Mov => return a,
        SOp::Mul => return (a as i64 * b as i64) as i32,
        SOp::Add => BinOp::Add,
        SOp::Sub => BinOp::Sub,
        SOp::And => BinOp::And,
        SOp::Or => BinOp::Or,
        SOp::Xor => BinOp::Xor,
        SOp::Shl => BinOp::Shl,
        SOp::Shr => BinOp::Shr,
        SOp::Sar => BinOp::Sar,
        SOp::Min => BinOp::Min,
        SOp::Max => BinOp::Max,
    };
    binary(op, a as i64, b as i64) as i32
}

/// `op a, b` on defined lanes; `None` for a division by zero.
pub fn alu(op: AluOp, a: i32, b: i32) -> Option<i32> {
    let (a, b) = (a as i64, b as i64);
    let value = match op {
        AluOp::Mov => a,
        AluOp::Abs => wrap((a as i128).abs()),
        AluOp::Clip(lo, hi) => a.clamp(lo as i64, hi as i64),
        AluOp::Bin(op) => binary(op, a, b),
        AluOp::Set(cond) => i64::from(holds(cond, a, b)),
        AluOp::FxMul(s) if s >= 0 => wrap((a as i128 * b as i128) >> s),
        AluOp::FxMul(s) => wrap((a as i128 * b as i128) << -s as u32),
        AluOp::FxDiv(_) if b == 0 => return None,
        AluOp::FxDiv(frac) => wrap(((a as i128) << frac) / b as i128),
        AluOp::Exp(from, to) => exact::exp(a, from, to),
        AluOp::Log(from, to) => exact::log(a, from, to),
    };
    Some(value as i32)
}

/// The exact scalar operation, for folding.
pub(crate) fn scalar_op(op: SOp, a: i32, b: i32) -> i32 {
    scalar(op, a, b)
}
/// The exact comparison, for folding.
pub(crate) fn cond_holds(cond: Cond, a: i32, b: i32) -> bool {
    holds(cond, a as i64, b as i64)
}

impl Machine<'_> {
    fn full(&self) -> i64 {
        self.cols + 2 * self.border
    }
    fn lanes(&self) -> usize {
        (self.rows * self.full()) as usize
    }
    fn lane(&self, row: i64, col: i64) -> usize {
        (row * self.full() + self.border + col) as usize
    }
    /// Row and column of a lane.
    fn place(&self, lane: usize) -> (i64, i64) {
        let lane = lane as i64;
        (lane / self.full(), lane % self.full() - self.border)
    }
    fn in_array(&self, lane: usize) -> bool {
        (0..self.cols).contains(&self.place(lane).1)
    }
    fn mask(&self) -> &[Mask] {
        self.masks.last().expect("one mask is always there")
    }
    fn undefined<T>(&self, what: &str) -> Result<T> {
        Err(InterpError::Undefined { line: self.line, what: what.into() })
    }

    // ---- operands ----

    fn sval(&self, fr: &Frame<'_>, s: SVal) -> i32 {
        match s {
            SVal::Imm(v) => v,
            SVal::Val(id) => match fr.values[id.0 as usize] {
                Val::S(v) => v,
                ref other => panic!("a scalar was verified, not {other:?}"),
            },
        }
    }

    /// Byte index into the instances of a buffer.
    fn offset(&self, fr: &Frame<'_>, e: &ElemRef) -> usize {
        let view = e.view.bytes() as i64;
        let var = match e.index {
            Index::Const => 0,
            Index::Scalar(id, scale) => self.sval(fr, SVal::Val(id)) as i64 * scale as i64 * view,
            Index::Addr(id) => match fr.values[id.0 as usize] {
                Val::Addr(at) => at,
                ref other => panic!("a base register was verified, not {other:?}"),
            },
        };
        let Val::Lrm { len, now, .. } = &fr.values[e.buf.0 as usize] else { panic!("a buffer was verified") };
        let at = var + e.at as i64 * view;
        assert!((0..*len as i64).contains(&at), "byte {at} of a buffer of {len}, line {}", self.line);
        now * len + at as usize
    }

    fn read(&self, fr: &Frame<'_>, buf: Id, at: usize, width: u32) -> Lanes {
        let Val::Lrm { bytes, .. } = &fr.values[buf.0 as usize] else { panic!("a buffer was verified") };
        (0..self.lanes())
            .map(|lane| {
                let mut value = 0u32;
                for k in (0..width as usize).rev() {
                    let b = bytes[at + k][lane];
                    if b >= UNDEF_BYTE {
                        return UNDEF;
                    }
                    value = value << 8 | b as u32;
                }
                let shift = 32 - 8 * width;
                ((value << shift) as i32 >> shift) as i64
            })
            .collect()
    }

    fn src(&mut self, fr: &Frame<'_>, s: &Src) -> Result<Lanes> {
        let splat = |m: &Self, v: i32| vec![v as i64; m.lanes()];
        Ok(match s {
            Src::Val(id) => match &fr.values[id.0 as usize] {
                Val::S(v) => splat(self, *v),
                Val::Q(q) => q.clone(),
                other => panic!("a source was verified, not {other:?}"),
            },
            Src::Imm(v) => splat(self, *v),
            Src::Elem(e) => self.read(fr, e.buf, self.offset(fr, e), e.view.bytes()),
            Src::Acc(id, k) => match &fr.values[id.0 as usize] {
                Val::Acc(a) => a[*k as usize].clone(),
                other => panic!("accumulators were verified, not {other:?}"),
            },
            Src::Stream { view, lane, pop, .. } => {
                let word = self.word(*pop)?;
                let v = match view {
                    Elem::I32 => word,
                    Elem::I16 => (word >> (lane * 16)) as i16 as i32,
                    Elem::I8 => (word >> (lane * 8)) as i8 as i32,
                };
                splat(self, v)
            }
            Src::Port(dir) => self.ports[*dir as usize].clone(),
            Src::QRow => (0..self.lanes()).map(|l| self.place(l).0).collect(),
            Src::QCol => (0..self.lanes()).map(|l| self.place(l).1).collect(),
        })
    }

    fn word(&mut self, pop: bool) -> Result<i32> {
        while self.streams.front().is_some_and(|s| s.taken == s.words) {
            self.streams.pop_front();
        }
        let s = self.streams.front_mut().expect("the count of words was verified");
        let (entry, word) = (s.taken / 4, s.taken % 4);
        let at = s.at + entry % s.n0 * s.step0 + entry / s.n0 * s.step1 + 4 * word;
        let bytes = &self.memory[s.memory][at as usize..at as usize + 4];
        if bytes.iter().any(|b| *b >= UNDEF_BYTE) {
            return self.undefined("is broadcast");
        }
        let value = bytes.iter().rev().fold(0u32, |v, b| v << 8 | *b as u32) as i32;
        s.taken += i64::from(pop);
        Ok(value)
    }

    fn write(&mut self, fr: &mut Frame<'_>, d: &Dst, v: Lanes) {
        let mask = self.masks.last().expect("one mask is always there");
        let merge = |old: &mut Lanes| {
            for ((old, new), mask) in old.iter_mut().zip(&v).zip(mask) {
                match mask {
                    Mask::On => *old = *new,
                    Mask::Off => {}
                    Mask::Unknown => *old = UNDEF,
                }
            }
        };
        match d {
            Dst::Def(id) => {
                let mut lanes = vec![UNDEF; v.len()];
                merge(&mut lanes);
                fr.values[id.0 as usize] = Val::Q(lanes);
            }
            Dst::Var(id) => match &mut fr.values[id.0 as usize] {
                Val::Q(old) => merge(old),
                other => panic!("a variable was verified, not {other:?}"),
            },
            Dst::Acc(id, k) => match &mut fr.values[id.0 as usize] {
                Val::Acc(a) => merge(&mut a[*k as usize]),
                other => panic!("accumulators were verified, not {other:?}"),
            },
            Dst::Elem(e) => {
                let at = self.offset(fr, e);
                let Val::Lrm { bytes, .. } = &mut fr.values[e.buf.0 as usize] else { panic!("a buffer was verified") };
                for k in 0..e.view.bytes() as usize {
                    for (lane, byte) in bytes[at + k].iter_mut().enumerate() {
                        match mask[lane] {
                            Mask::Off => {}
                            Mask::On if v[lane] != UNDEF => *byte = (v[lane] >> (8 * k) & 0xff) as u16,
                            _ => *byte = UNDEF_BYTE,
                        }
                    }
                }
            }
        }
    }

    fn compare(&mut self, fr: &Frame<'_>, cond: Cond, a: &Src, b: &Src) -> Result<Vec<Option<bool>>> {
        let (a, b) = self.two(fr, a, b)?;
        Ok(a.iter().zip(&b).map(|(a, b)| (*a != UNDEF && *b != UNDEF).then(|| holds(cond, *a, *b))).collect())
    }

    fn two(&mut self, fr: &Frame<'_>, a: &Src, b: &Src) -> Result<(Lanes, Lanes)> {
        Ok((self.src(fr, a)?, self.src(fr, b)?))
    }

    // ---- operations ----

    fn block(&mut self, fr: &mut Frame<'_>, block: &Block) -> Result<()> {
        for op in block {
            self.line = op.loc.line;
            self.fuel = self.fuel.checked_sub(1).ok_or(InterpError::Fuel(200_000_000))?;
            self.op(fr, &op.kind)?;
        }
        Ok(())
    }

    fn set_scalar(fr: &mut Frame<'_>, dst: &SDst, v: i32) {
        let (SDst::Def(id) | SDst::Var(id)) = dst;
        fr.values[id.0 as usize] = Val::S(v);
    }

    fn op(&mut self, fr: &mut Frame<'_>, kind: &OpKind) -> Result<()> {
        use OpKind::*;
        match kind {
            Scalar { op, dst, a, b } => {
                let v = scalar(*op, self.sval(fr, *a), self.sval(fr, *b));
                Self::set_scalar(fr, dst, v);
            }
            ScalarSet { cond, dst, a, b } => {
                let v = holds(*cond, self.sval(fr, *a) as i64, self.sval(fr, *b) as i64);
                Self::set_scalar(fr, dst, i32::from(v));
            }
            ScalarVar { dst, init } => fr.values[dst.0 as usize] = Val::S(self.sval(fr, *init)),
            ScalarLoad { dst, buf, at } => {
                let at = self.sval(fr, *at) as usize;
                let bytes = &self.memory[self.mem(fr, *buf)][at..at + 4];
                if bytes.iter().any(|b| *b >= UNDEF_BYTE) {
                    return self.undefined("is loaded into a scalar");
                }
                fr.values[dst.0 as usize] = Val::S(bytes.iter().rev().fold(0u32, |v, b| v << 8 | *b as u32) as i32);
            }
            Any { dst, cond, a, b } => {
                let held = self.compare(fr, *cond, a, b)?;
                let mut any = false;
                for (lane, held) in held.into_iter().enumerate().filter(|(l, _)| self.in_array(*l)) {
                    match (self.mask()[lane], held) {
                        (Mask::Off, _) => {}
                        (Mask::On, Some(held)) => any |= held,
                        _ => return self.undefined("is asked for in any PE"),
                    }
                }
                fr.values[dst.0 as usize] = Val::S(i32::from(any));
            }
            Var { dst, init } => {
                let v = self.src(fr, init)?;
                fr.values[dst.0 as usize] = Val::Q(vec![UNDEF; v.len()]);
                self.write(fr, &Dst::Var(*dst), v);
            }
            Acc { dst } => {
                fr.values[dst.0 as usize] = Val::Acc(vec![vec![UNDEF; self.lanes()]; 16]);
            }
            Const { dst, name } => {
                let bytes = self.m.consts.iter().find(|c| c.name == *name).map(|c| &c.bytes);
                self.memory.push(bytes.expect("the name was verified").iter().map(|b| *b as u16).collect());
                fr.values[dst.0 as usize] = Val::Mem(self.memory.len() - 1);
            }
            Lrm { dst, .. } => {
                let Type::Lrm { elem, n, ring } = fr.f.ty(*dst) else { panic!("the type was verified") };
                let len = (n * elem.bytes()) as usize;
                let bytes = vec![vec![UNDEF_BYTE; self.lanes()]; len * ring as usize];
                fr.values[dst.0 as usize] = Val::Lrm { bytes, len, now: 0 };
            }
            Ocm { dst } => {
                let Type::Ocm(n) = fr.f.ty(*dst) else { panic!("the type was verified") };
                self.memory.push(vec![UNDEF_BYTE; n as usize]);
                fr.values[dst.0 as usize] = Val::Mem(self.memory.len() - 1);
            }
            Alu { op, dst, a, b } => {
                let a = self.src(fr, a)?;
                let b = if op.binary() { self.src(fr, b)? } else { vec![0; a.len()] };
                let mut v = Vec::with_capacity(a.len());
                for (lane, (a, b)) in a.iter().zip(&b).enumerate() {
                    if *a == UNDEF || *b == UNDEF {
                        v.push(UNDEF);
                        continue;
                    }
                    v.push(match alu(*op, *a as i32, *b as i32) {
                        Some(v) => v as i64,
                        None if self.mask()[lane] == Mask::On && self.in_array(lane) => {
                            return Err(InterpError::Trap { line: self.line, what: "division by zero".into() });
                        }
                        None => UNDEF,
                    });
                }
                self.write(fr, dst, v);
            }
            Sel { dst, cond, x, y, t, f } => {
                let held = self.compare(fr, *cond, x, y)?;
                let (t, f) = self.two(fr, t, f)?;
                let pick = |(h, (t, f)): (Option<bool>, (i64, i64))| h.map_or(UNDEF, |h| if h { t } else { f });
                let v = held.into_iter().zip(t.into_iter().zip(f)).map(pick).collect();
                self.write(fr, dst, v);
            }
            Lut { dst, idx, table, bits } => {
                let idx = self.src(fr, idx)?;
                let at = self.offset(fr, table);
                let width = table.view.bytes();
                let v = (0..self.lanes())
                    .map(|lane| {
                        if idx[lane] == UNDEF {
                            return UNDEF;
                        }
                        let i = (idx[lane] & ((1 << bits) - 1)) as usize;
                        let Val::Lrm { bytes, .. } = &fr.values[table.buf.0 as usize] else {
                            panic!("a buffer was verified")
                        };
                        let mut value = 0u32;
                        for k in (0..width as usize).rev() {
                            let b = bytes[at + i * width as usize + k][lane];
                            if b >= UNDEF_BYTE {
                                return UNDEF;
                            }
                            value = value << 8 | b as u32;
                        }
                        let shift = 32 - 8 * width;
                        ((value << shift) as i32 >> shift) as i64
                    })
                    .collect();
                self.write(fr, dst, v);
            }
            Send { to, a } => {
                let a = self.src(fr, a)?;
                let (dr, dc) = match to {
                    Dir::North => (-1, 0),
                    Dir::South => (1, 0),
                    Dir::East => (0, 1),
                    Dir::West => (0, -1),
                };
                // What goes to (dr, dc) is seen at the side from which it comes.
                self.ports[to.opposite() as usize] = self.moved(&a, -dr, -dc);
            }
            Shift { dst, a, dr, dc } => {
                let a = self.src(fr, a)?;
                let v = self.moved(&a, *dr as i64, *dc as i64);
                self.write(fr, dst, v);
            }
            Mac { width, shape, acc, at, a, .. } => self.mac(fr, *width, *shape, *acc, *at, a)?,
            Idle { .. } => {}
            Flow { out, dst: flow, walk } | Restart { out, flow, walk } => {
                let second = walk.second.map_or(SVal::Imm(0), |(_, at)| at);
                let at = [walk.at, walk.x0, walk.y0, second].map(|s| self.sval(fr, s) as i64);
                if walk.group == 0 {
                    for tile in 0..walk.tiles() {
                        match out {
                            true => self.tile_out(fr, walk, at, tile, 0),
                            false => self.blur(fr, walk, tile),
                        }
                    }
                }
                let (out, walk) = (*out, (**walk).clone());
                fr.values[flow.0 as usize] = Val::Flow { out, walk, at, taken: 0 };
            }
            Bcast { dst, buf, at, n0, step0, n1, step1 } => {
                self.streams.push_back(Stream {
                    memory: self.mem(fr, *buf),
                    at: self.sval(fr, *at) as i64,
                    n0: *n0 as i64,
                    step0: *step0 as i64,
                    step1: *step1 as i64,
                    words: 4 * *n0 as i64 * *n1 as i64,
                    taken: 0,
                });
                fr.values[dst.0 as usize] = Val::Stream;
            }
            Dma { out, dst, ocm, ocm_at, ocm_pitch, ext, ext_at, ext_pitch, bytes, rows } => {
                let (inside, outside) = (self.mem(fr, *ocm), self.mem(fr, *ext));
                let (a, b) = (self.sval(fr, *ocm_at) as usize, self.sval(fr, *ext_at) as usize);
                for row in 0..*rows as usize {
                    let (a, b) = (a + row * *ocm_pitch as usize, b + row * *ext_pitch as usize);
                    let (from, at, to, to_at) = if *out { (inside, a, outside, b) } else { (outside, b, inside, a) };
                    let data = self.memory[from][at..at + *bytes as usize].to_vec();
                    self.memory[to][to_at..to_at + *bytes as usize].copy_from_slice(&data);
                }
                fr.values[dst.0 as usize] = Val::Token;
            }
            Rau { store, dst, buf, at, elem, limit, index, data, valid } => {
                self.rau(fr, *store, *buf, *at, *elem, *limit, [Some(index), Some(data), valid.as_ref()])?;
                fr.values[dst.0 as usize] = Val::Token;
            }
            Wait { token } => {
                if let Val::Flow { out: false, walk, at, .. } = fr.values[token.0 as usize].clone()
                    && walk.group == 0
                {
                    (0..walk.tiles()).for_each(|tile| self.tile_in(fr, &walk, at, tile, 0));
                }
            }
            Acquire { flow } => {
                let Val::Flow { out, walk, at, taken } = &mut fr.values[flow.0 as usize] else {
                    panic!("a flow was verified")
                };
                let (out, walk, at, mine) = (*out, walk.clone(), *at, *taken);
                *taken += 1;
                let Type::Lrm { ring, .. } = fr.f.ty(walk.lrm) else { panic!("the type was verified") };
                let instance = (mine % ring as u64) as usize;
                if let Val::Lrm { now, .. } = &mut fr.values[walk.lrm.0 as usize] {
                    *now = instance;
                }
                if !out {
                    let group = walk.group as u64;
                    (mine * group..(mine + 1) * group).for_each(|tile| self.tile_in(fr, &walk, at, tile, instance));
                }
            }
            Release { .. } | Drain => {}
            Push { flow } => {
                let Val::Flow { walk, at, taken, .. } = &fr.values[flow.0 as usize] else {
                    panic!("a flow was verified")
                };
                let (walk, at, mine) = (walk.clone(), *at, taken - 1);
                let Type::Lrm { ring, .. } = fr.f.ty(walk.lrm) else { panic!("the type was verified") };
                let (group, instance) = (walk.group as u64, (mine % ring as u64) as usize);
                (mine * group..(mine + 1) * group).for_each(|tile| self.tile_out(fr, &walk, at, tile, instance));
            }
            Where { cond, a, b, then, els } => {
                let held = self.compare(fr, *cond, a, b)?;
                let arm = |want: bool, outer: &[Mask]| -> Vec<Mask> {
                    let one = |(h, m): (&Option<bool>, &Mask)| match (h, m) {
                        (_, Mask::Off) => Mask::Off,
                        (None, _) | (_, Mask::Unknown) => Mask::Unknown,
                        (Some(h), Mask::On) => {
                            if *h == want {
                                Mask::On
                            } else {
                                Mask::Off
                            }
                        }
                    };
                    held.iter().zip(outer).map(one).collect()
                };
                let (yes, no) = (arm(true, self.mask()), arm(false, self.mask()));
                self.masks.push(yes);
                self.block(fr, then)?;
                self.masks.pop();
                self.masks.push(no);
                self.block(fr, els)?;
                self.masks.pop();
            }
            If { cond, a, b, then, els } => {
                let held = holds(*cond, self.sval(fr, *a) as i64, self.sval(fr, *b) as i64);
                self.block(fr, if held { then } else { els })?;
            }
            For { var, lo, hi, step, body, .. } => {
                let (mut i, hi) = (self.sval(fr, *lo) as i64, self.sval(fr, *hi) as i64);
                while i < hi {
                    fr.values[var.0 as usize] = Val::S(i as i32);
                    self.block(fr, body)?;
                    i += *step as i64;
                }
            }
            While { cond, a, b, bound, body } => {
                let mut n = 0;
                let line = self.line;
                while holds(*cond, self.sval(fr, *a) as i64, self.sval(fr, *b) as i64) {
                    if n == *bound {
                        return Err(InterpError::Trap { line, what: format!("more than {bound} trips") });
                    }
                    n += 1;
                    self.block(fr, body)?;
                }
            }
            Region { body, .. } => self.block(fr, body)?,
            Probe { name, a } => {
                let v = self.src(fr, a)?;
                let array = (0..v.len()).filter(|l| self.in_array(*l));
                let lanes = array.map(|l| (v[l] != UNDEF).then_some(v[l] as i32)).collect();
                self.probes.push((name.clone(), lanes));
            }
            Assert { name, a } => {
                let v = self.src(fr, a)?;
                for lane in (0..v.len()).filter(|l| self.in_array(*l)) {
                    match (self.mask()[lane], v[lane]) {
                        (Mask::Off, _) => {}
                        (Mask::Unknown, _) | (_, UNDEF) => return self.undefined("is asserted"),
                        (Mask::On, 0) => {
                            let (row, col) = self.place(lane);
                            let (row, col) = (row as u32, col as i32);
                            return Err(InterpError::Assertion { line: self.line, name: name.clone(), row, col });
                        }
                        _ => {}
                    }
                }
            }
            Call { func, args } => {
                let f = self.m.func(func).expect("the name was verified");
                let mut inner = Frame { f, values: vec![Val::None; f.values.len()] };
                for (p, a) in f.params.iter().zip(args) {
                    inner.values[p.id.0 as usize] = match a {
                        SVal::Imm(v) => Val::S(*v),
                        SVal::Val(id) => fr.values[id.0 as usize].clone(),
                    };
                }
                self.block(&mut inner, &f.body)?;
            }
            Addr { dst, at, .. } => fr.values[dst.0 as usize] = Val::Addr(self.sval(fr, *at) as i64),
            AddrStep { addr, by } => {
                let by = self.sval(fr, *by) as i64;
                match &mut fr.values[addr.0 as usize] {
                    Val::Addr(at) => *at += by,
                    other => panic!("a base register was verified, not {other:?}"),
                }
            }
        }
        Ok(())
    }

    fn mem(&self, fr: &Frame<'_>, id: Id) -> usize {
        match fr.values[id.0 as usize] {
            Val::Mem(i) => i,
            ref other => panic!("a buffer was verified, not {other:?}"),
        }
    }

    /// `v(r + dr, c + dc)`, 0 beyond the edge.
    fn moved(&self, v: &Lanes, dr: i64, dc: i64) -> Lanes {
        let (rows, lo, hi) = (self.rows, -self.border, self.cols + self.border);
        (0..self.lanes())
            .map(|lane| {
                let (r, c) = self.place(lane);
                let (r, c) = (r + dr, c + dc);
                if (0..rows).contains(&r) && (lo..hi).contains(&c) { v[self.lane(r, c)] } else { 0 }
            })
            .collect()
    }

    fn mac(
        &mut self,
        fr: &mut Frame<'_>,
        width: MacWidth,
        shape: MacShape,
        acc: Id,
        at: u8,
        a: &ElemRef,
    ) -> Result<()> {
        let mut weights = Vec::with_capacity(16);
        while weights.len() < 16 {
            let word = self.word(true)?;
            match width.weight_bytes() {
                1 => weights.extend((0..4).map(|k| (word >> (8 * k)) as i8 as i64)),
                _ => weights.extend((0..2).map(|k| (word >> (16 * k)) as i16 as i64)),
            }
        }
        let e = width.elem_bytes();
        let start = self.offset(fr, a);
        let n = match shape {
            MacShape::Dot => 16,
            MacShape::Mat4 => 4,
            MacShape::Outer => 1,
        };
        let elems: Vec<Lanes> = (0..n).map(|i| self.read(fr, a.buf, start + i * e as usize, e)).collect();
        let active: Vec<usize> =
            (0..self.lanes()).filter(|l| self.in_array(*l) && self.mask()[*l] != Mask::Off).collect();
        let unknown: Vec<bool> = active.iter().map(|l| self.mask()[*l] == Mask::Unknown).collect();
        let Val::Acc(accs) = &mut fr.values[acc.0 as usize] else { panic!("accumulators were verified") };
        for (i, w) in weights.iter().enumerate() {
            let (elem, k) = match shape {
                MacShape::Dot => (i, 0),
                MacShape::Mat4 => (i % 4, i / 4),
                MacShape::Outer => (0, i),
            };
            for (lane, unknown) in active.iter().zip(&unknown) {
                let sum = &mut accs[at as usize + k][*lane];
                let x = elems[elem][*lane];
                *sum = if *sum == UNDEF || x == UNDEF || *unknown { UNDEF } else { wrap((*sum + x * w) as i128) };
            }
        }
        Ok(())
    }

    /// The rows and columns of a tile: lane, and byte offset into the buffer if it lies in the tensor.
    fn tile(&self, w: &Walk, at: [i64; 4], tile: u64) -> Vec<(usize, Option<i64>)> {
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
    fn blur(&self, fr: &mut Frame<'_>, w: &Walk, tile: u64) {
        let lanes = self.tile(w, [0; 4], tile);
        let Val::Lrm { bytes, .. } = &mut fr.values[w.lrm.0 as usize] else { panic!("a buffer was verified") };
        for k in 0..w.elem.bytes() as usize {
            lanes.iter().for_each(|(lane, _)| bytes[Self::slot(w, tile) + k][*lane] = UNDEF_BYTE);
        }
    }

    fn tile_in(&mut self, fr: &mut Frame<'_>, w: &Walk, at: [i64; 4], tile: u64, instance: usize) {
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

    fn tile_out(&mut self, fr: &Frame<'_>, w: &Walk, at: [i64; 4], tile: u64, instance: usize) {
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
    fn rau(
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

/// `exp` and `ln` correctly rounded: doubles where they decide, 100 fraction bits where they do not.
mod exact {
    /// `ln 2 * 2^100`.
    const LN2: i128 = 878_668_439_483_319_573_618_263_538_048;
    const ONE: i128 = 1 << 100;

    fn saturate(v: f64) -> Option<i64> {
        if v >= 2_147_483_648.0 {
            return Some(i32::MAX as i64);
        }
        if v <= -2_147_483_649.0 {
            return Some(i32::MIN as i64);
        }
        // Far from a boundary the double decides; its error is below 2^-48 of the value.
        let doubt = v.abs() * 2f64.powi(-48) + 2f64.powi(-48);
        let frac = v - v.floor();
        ((frac - 0.5).abs() > doubt).then(|| (v.round() as i64).clamp(i32::MIN as i64, i32::MAX as i64))
    }

    /// `exp(x)` for `|x| <= 1`, both with 100 fraction bits.
    fn series(x: i128) -> i128 {
        let (mut sum, mut term) = (ONE, ONE);
        for n in 1..40 {
            term = mul(term, x) / n;
            sum += term;
        }
        sum
    }
    fn mul(a: i128, b: i128) -> i128 {
        // 50 low bits apart, so that no product overflows; both are below 2^103.
        let (ah, al) = (a >> 50, a & ((1 << 50) - 1));
        let (bh, bl) = (b >> 50, b & ((1 << 50) - 1));
        ah * bh + ((ah * bl + al * bh) >> 50)
    }
    fn rounded(v: i128, shift: i32) -> i64 {
        // v * 2^(shift - 100), rounded.
        let drop = 100 - shift;
        let r = if drop > 126 { 0 } else { (v + (1 << (drop - 1))) >> drop };
        r.clamp(i32::MIN as i128, i32::MAX as i128) as i64
    }

    pub fn exp(a: i64, from: u8, to: u8) -> i64 {
        let x = a as f64 / 2f64.powi(from as i32);
        let v = x.exp() * 2f64.powi(to as i32);
        if a == 0 {
            return (1i64 << to).min(i32::MAX as i64);
        }
        saturate(v).unwrap_or_else(|| {
            let k = (x / std::f64::consts::LN_2).round();
            let r = ((a as i128) << (100 - from as i32)) - k as i128 * LN2;
            rounded(series(r), to as i32 + k as i32)
        })
    }

    pub fn log(a: i64, from: u8, to: u8) -> i64 {
        if a <= 0 {
            return i32::MIN as i64;
        }
        let y = (a as f64).ln() - from as f64 * std::f64::consts::LN_2;
        let direct = (a as f64 / 2f64.powi(from as i32)).ln() * 2f64.powi(to as i32);
        if a == 1 << from {
            return 0;
        }
        saturate(direct).unwrap_or_else(|| {
            // ln(v) = y + ln(1 + t) with 1 + t = v * exp(-y) and t tiny.
            let scaled = (y * 2f64.powi(60)) as i128;
            let y100 = scaled << 40;
            let k = (y / std::f64::consts::LN_2).round();
            let e = series(-(y100 - k as i128 * LN2));
            // `a` is about 2^shift, so the product stays near 1.
            let shift = (from as i32 + k as i32).clamp(-1, 32);
            let v = (a as i128 * (e >> 32)) << (32 - shift);
            let t = v - ONE;
            let ln = y100 + t - (mul(t, t) >> 1) + mul(mul(t, t), t) / 3;
            rounded(ln, to as i32)
        })
    }
}
