//! Printing.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter, Write};

use crate::ir::types::*;

/// A module printed without locations.
#[derive(Clone, Copy, Debug)]
pub struct Bare<'a>(pub &'a Module);

/// Hands out unique names.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        let mut n = 0;
        while unique.is_empty() || !self.0.insert(unique.clone()) {
            n += 1;
            unique = format!("{name}_{n}");
        }
        unique
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        module(self, true, f)
    }
}
impl Display for Bare<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        module(self.0, false, f)
    }
}

fn module(m: &Module, locs: bool, f: &mut Formatter<'_>) -> fmt::Result {
    let m = m.canonical();
    if locs {
        for (i, file) in m.files.iter().enumerate().filter(|(_, file)| !file.is_empty()) {
            writeln!(f, "file {i} {}", quoted(file))?;
        }
    }
    for c in &m.consts {
        write!(f, "const @{} = hex \"", c.name)?;
        c.bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
        writeln!(f, "\"")?;
    }
    for (i, func) in m.funcs.iter().enumerate() {
        if i > 0 || !m.consts.is_empty() {
            writeln!(f)?;
        }
        let mut text = String::new();
        Printer { func, locs, out: &mut text }.func();
        f.write_str(&text)?;
    }
    Ok(())
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// One operation as text, for messages: a block is shown as `{..}`.
pub fn op_text(func: &Func, op: &Op) -> String {
    let mut text = String::new();
    Printer { func, locs: false, out: &mut text }.op_head(&op.kind);
    text
}

struct Printer<'a> {
    func: &'a Func,
    locs: bool,
    out: &'a mut String,
}

/// Writing to a string cannot fail.
macro_rules! p {
    ($self:ident, $($t:tt)*) => { write!($self.out, $($t)*).expect("a string takes any text") };
}

impl Printer<'_> {
    fn func(&mut self) {
        let f = self.func;
        p!(self, "{} @{}(", if f.kind == FuncKind::Kernel { "kernel" } else { "fn" }, f.name);
        for (i, param) in f.params.iter().enumerate() {
            p!(self, "{}%{}: ", if i > 0 { ", " } else { "" }, f.name_of(param.id));
            match f.ty(param.id) {
                Type::Ocm(n) => p!(self, "{} ocm<{n}>", param.dir.word()),
                Type::Ext(n) => p!(self, "{} ext<{n}>", param.dir.word()),
                _ => match param.range {
                    Some((lo, hi)) => p!(self, "s32 in {lo}..={hi}"),
                    None => p!(self, "s32"),
                },
            }
        }
        p!(self, ") {{");
        self.loc(f.loc);
        self.out.push('\n');
        self.block(&f.body, 1);
        p!(self, "}}\n");
    }

    fn loc(&mut self, loc: Loc) {
        if self.locs {
            match loc.file {
                0 => p!(self, " !{}", loc.line),
                file => p!(self, " !f{file}:{}", loc.line),
            }
        }
    }

    fn block(&mut self, block: &Block, depth: usize) {
        for op in block {
            p!(self, "{:1$}", "", depth * 2);
            self.op_head(&op.kind);
            let blocks = op.kind.blocks();
            if !blocks.is_empty() {
                p!(self, " {{");
            }
            self.loc(op.loc);
            self.out.push('\n');
            for (i, b) in blocks.iter().enumerate() {
                if i == 1 {
                    if b.is_empty() {
                        break;
                    }
                    p!(self, "{:1$}}} else {{\n", "", depth * 2);
                }
                self.block(b, depth + 1);
            }
            if !blocks.is_empty() {
                p!(self, "{:1$}}}\n", "", depth * 2);
            }
        }
    }

    fn id(&self, id: Id) -> String {
        format!("%{}", self.func.name_of(id))
    }
    fn sval(&self, s: SVal) -> String {
        match s {
            SVal::Imm(v) => v.to_string(),
            SVal::Val(id) => self.id(id),
        }
    }
    fn elem(&self, e: &ElemRef) -> String {
        let mut text = self.id(e.buf);
        if !matches!(self.func.ty(e.buf), Type::Lrm { elem, .. } if elem == e.view) {
            let _ = write!(text, ".{}", e.view.letter());
        }
        text.push('[');
        match e.index {
            Index::Const => {
                let _ = write!(text, "{}", e.at);
            }
            Index::Scalar(id, scale) => {
                text += &self.id(id);
                if scale != 1 {
                    let _ = write!(text, "*{scale}");
                }
            }
            Index::Addr(id) => {
                text.push('@');
                text += &self.id(id);
            }
        }
        if e.index != Index::Const && e.at != 0 {
            let _ = write!(text, "{:+}", e.at);
        }
        text.push(']');
        text
    }
    fn src(&self, s: &Src) -> String {
        match s {
            Src::Val(id) => self.id(*id),
            Src::Imm(v) => v.to_string(),
            Src::Elem(e) => self.elem(e),
            Src::Acc(id, k) => format!("{}[{k}]", self.id(*id)),
            Src::Stream { stream, view: Elem::I32, .. } => self.id(*stream),
            Src::Stream { stream, view, lane, pop } => {
                format!("{}.{}{lane}{}", self.id(*stream), view.letter(), if *pop { "!" } else { "" })
            }
            Src::Port(dir) => format!("port.{}", dir.letter()),
            Src::QRow => "q_row".into(),
            Src::QCol => "q_col".into(),
        }
    }
    fn def(&self, id: Id) -> String {
        match self.func.ty(id) {
            Type::Q(fmt) | Type::Var(fmt) if fmt != Fmt::I32 => format!("{}: {}", self.id(id), fmt.word()),
            _ => self.id(id),
        }
    }
    fn dst(&self, d: &Dst) -> String {
        match d {
            Dst::Def(id) => self.def(*id),
            Dst::Var(id) => format!("set {}", self.id(*id)),
            Dst::Elem(e) => self.elem(e),
            Dst::Acc(id, k) => format!("{}[{k}]", self.id(*id)),
        }
    }
    fn sdst(&self, d: &SDst) -> String {
        match d {
            SDst::Def(id) => self.id(*id),
            SDst::Var(id) => format!("set {}", self.id(*id)),
        }
    }

    fn op_head(&mut self, kind: &OpKind) {
        use OpKind::*;
        match kind {
            Scalar { op: SOp::Mov, dst, a, .. } => p!(self, "{} = s.mov {}", self.sdst(dst), self.sval(*a)),
            Scalar { op, dst, a, b } => {
                p!(self, "{} = {} {}, {}", self.sdst(dst), op.word(), self.sval(*a), self.sval(*b))
            }
            ScalarSet { cond, dst, a, b } => {
                p!(self, "{} = s.set.{cond} {}, {}", self.sdst(dst), self.sval(*a), self.sval(*b))
            }
            ScalarVar { dst, init } => p!(self, "{} = s.var {}", self.id(*dst), self.sval(*init)),
            ScalarLoad { dst, buf, at } => {
                p!(self, "{} = s.load {}[{}]", self.id(*dst), self.id(*buf), self.sval(*at))
            }
            Any { dst, cond, a, b } => {
                p!(self, "{} = any.{cond} {}, {}", self.id(*dst), self.src(a), self.src(b))
            }
            Var { dst, init } => p!(self, "{} = var {}", self.def(*dst), self.src(init)),
            Acc { dst } => match self.func.ty(*dst) {
                Type::Acc(n) => p!(self, "{} = acc {n}", self.id(*dst)),
                other => p!(self, "{} = acc of {other:?}", self.id(*dst)),
            },
            Const { dst, name } => p!(self, "{} = const @{name}", self.id(*dst)),
            Lrm { dst, align } => {
                if let Type::Lrm { elem, n, ring } = self.func.ty(*dst) {
                    p!(self, "{} = lrm <{} x {n}>", self.id(*dst), elem.word());
                    if ring > 1 {
                        p!(self, " ring {ring}");
                    }
                    if *align > 1 {
                        p!(self, " align {align}");
                    }
                }
            }
            Ocm { dst } => {
                if let Type::Ocm(n) = self.func.ty(*dst) {
                    p!(self, "{} = ocm <{n}>", self.id(*dst));
                }
            }
            Alu { op, dst, a, b } => {
                p!(self, "{} = ", self.dst(dst));
                let (a, b) = (self.src(a), self.src(b));
                match op {
                    AluOp::Mov => p!(self, "mov {a}"),
                    AluOp::Abs => p!(self, "abs {a}"),
                    AluOp::Clip(lo, hi) => p!(self, "clip {a}, {lo}, {hi}"),
                    AluOp::Bin(op) => p!(self, "{} {a}, {b}", op.word()),
                    AluOp::Set(cond) => p!(self, "set.{cond} {a}, {b}"),
                    AluOp::FxMul(shift) => p!(self, "fx_mul {a}, {b}, {shift}"),
                    AluOp::FxDiv(frac) => p!(self, "fx_div {a}, {b}, {frac}"),
                    AluOp::Exp(from, to) => p!(self, "exp {a}, {from}, {to}"),
                    AluOp::Log(from, to) => p!(self, "log {a}, {from}, {to}"),
                }
            }
            Sel { dst, cond, x, y, t, f } => {
                let [x, y, t, f] = [x, y, t, f].map(|s| self.src(s));
                p!(self, "{} = sel.{cond} {x}, {y}, {t}, {f}", self.dst(dst))
            }
            Lut { dst, idx, table, bits } => {
                p!(self, "{} = lut {}, {}, {bits}", self.dst(dst), self.src(idx), self.elem(table))
            }
            Send { to, a } => p!(self, "send.{} {}", to.letter(), self.src(a)),
            Shift { dst, a, dr, dc } => p!(self, "{} = shift {}, {dr}, {dc}", self.dst(dst), self.src(a)),
            Mac { width, shape, acc, at, a, stream } => {
                let (acc, a, stream) = (self.id(*acc), self.elem(a), self.id(*stream));
                p!(self, "{}.{shape} {acc}[{at}], {a}, {stream}", width.word())
            }
            Flow { out, dst, walk } => self.flow(*out, *dst, walk),
            Idle { dst } => p!(self, "{} = flow.idle", self.id(*dst)),
            Restart { out, flow, walk } => {
                p!(self, "set ");
                self.flow(*out, *flow, walk);
            }
            Bcast { dst, buf, at, n0, step0, n1, step1 } => {
                p!(self, "{} = bcast {}[{}] ({n0}: {step0})", self.id(*dst), self.id(*buf), self.sval(*at));
                if *n1 != 1 || *step1 != 0 {
                    p!(self, " ({n1}: {step1})");
                }
            }
            Dma { out, dst, ocm, ocm_at, ocm_pitch, ext, ext_at, ext_pitch, bytes, rows } => {
                let inside = format!("{}[{}]", self.id(*ocm), self.sval(*ocm_at));
                let outside = format!("{}[{}]", self.id(*ext), self.sval(*ext_at));
                match out {
                    false => p!(self, "{} = dma.in {outside} -> {inside} bytes {bytes}", self.id(*dst)),
                    true => p!(self, "{} = dma.out {inside} -> {outside} bytes {bytes}", self.id(*dst)),
                }
                if *rows != 1 || *ocm_pitch != 0 || *ext_pitch != 0 {
                    p!(self, " rows {rows} pitch {ocm_pitch}, {ext_pitch}");
                }
            }
            Rau { store, dst, buf, at, elem, limit, index, data, valid } => {
                p!(
                    self,
                    "{} = rau.{} {}[{}] elem {} limit {limit} idx {} data {}",
                    self.id(*dst),
                    if *store { "store" } else { "load" },
                    self.id(*buf),
                    self.sval(*at),
                    elem.bytes(),
                    self.elem(index),
                    self.elem(data)
                );
                if let Some(valid) = valid {
                    p!(self, " valid {}", self.elem(valid));
                }
            }
            Wait { token } => p!(self, "wait {}", self.id(*token)),
            Acquire { flow } => p!(self, "acquire {}", self.id(*flow)),
            Release { flow } => p!(self, "release {}", self.id(*flow)),
            Push { flow } => p!(self, "push {}", self.id(*flow)),
            Drain => p!(self, "drain"),
            Where { cond, a, b, .. } => p!(self, "where.{cond} {}, {}", self.src(a), self.src(b)),
            If { cond, a, b, .. } => p!(self, "if.{cond} {}, {}", self.sval(*a), self.sval(*b)),
            For { var, lo, hi, step, attr, .. } => {
                p!(self, "for {} in {}..{}", self.id(*var), self.sval(*lo), self.sval(*hi));
                if *step != 1 {
                    p!(self, " step {step}");
                }
                if attr.pipelined > 0 {
                    p!(self, " pipelined({})", attr.pipelined);
                }
                if attr.unroll {
                    p!(self, " unroll");
                }
            }
            While { cond, a, b, bound, .. } => {
                p!(self, "while.{cond} {}, {} bound {bound}", self.sval(*a), self.sval(*b))
            }
            Region { name, .. } => p!(self, "region {}", quoted(name)),
            Probe { name, a } => p!(self, "probe {}, {}", quoted(name), self.src(a)),
            Assert { name, a } => p!(self, "assert {}, {}", quoted(name), self.src(a)),
            Call { func, args } => {
                let args: Vec<String> = args.iter().map(|a| self.sval(*a)).collect();
                p!(self, "call @{func}({})", args.join(", "))
            }
            Addr { dst, buf, at } => p!(self, "{} = addr {}[{}]", self.id(*dst), self.id(*buf), self.sval(*at)),
            AddrStep { addr, by } => p!(self, "step {}, {}", self.id(*addr), self.sval(*by)),
        }
    }

    fn flow(&mut self, out: bool, dst: Id, w: &Walk) {
        let inside = format!("{}[{}]", self.id(w.lrm), w.slot);
        let mut outside = format!("{}[{}]", self.id(w.buf), self.sval(w.at));
        if let Some((buf, at)) = w.second {
            let _ = write!(outside, " and {}[{}]", self.id(buf), self.sval(at));
        }
        let (word, from, to) = if out { ("out", inside, outside) } else { ("in", outside, inside) };
        p!(self, "{} = flow.{word} {from} -> {to} elem {}", self.id(dst), w.elem.bytes());
        p!(self, " size {}x{} pitch {}", w.height, w.width, w.pitch);
        if w.plane != 0 {
            p!(self, " plane {}", w.plane);
        }
        p!(self, " tile {}x{}", w.rows, w.cols);
        if (w.x0, w.y0) != (SVal::Imm(0), SVal::Imm(0)) {
            p!(self, " at ({}, {})", self.sval(w.x0), self.sval(w.y0));
        }
        if (w.col_step, w.row_step) != (1, 1) {
            p!(self, " step ({}, {})", w.col_step, w.row_step);
        }
        if w.halo != 0 {
            p!(self, " halo {}", w.halo);
        }
        for l in &w.loops {
            p!(self, " ({}: {}, {}, {})", l.n, l.dx, l.dy, l.dp);
        }
        if w.slot_step != 0 {
            p!(self, " slot {}", w.slot_step);
        }
        if w.group != 0 {
            p!(self, " group {}", w.group);
        }
    }
}
