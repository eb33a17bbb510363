//! Random well-typed modules, as text. Every lane is defined before it is read, so that any difference is a fault.

use std::fmt::Write as _;

use iss::target::Target;
use iss::testing::Rng;

/// One line of the module; its parts are made first.
macro_rules! put {
    ($self:ident, $($text:tt)*) => {{
        let text = format!($($text)*);
        $self.line(text);
    }};
}

mod transfer;
pub mod walks;

/// A buffer whose elements are all defined.
#[derive(Clone)]
struct Buf {
    name: String,
    elem: &'static str,
    n: usize,
}

struct Gen<'a> {
    rng: &'a mut Rng,
    out: String,
    depth: usize,
    next: usize,
    q: Vec<String>,
    vars: Vec<String>,
    svars: Vec<String>,
    /// Scalars with their ranges.
    scalars: Vec<(String, i64, i64)>,
    bufs: Vec<Buf>,
    in_where: usize,
    in_loop: usize,
    budget: usize,
    side: usize,
}

const BIN: [&str; 10] = ["add", "sub", "and", "or", "xor", "shl", "shr", "sar", "min", "max"];
const COND: [&str; 10] = ["eq", "ne", "lt", "le", "gt", "ge", "ltu", "leu", "gtu", "geu"];

/// A module with one kernel `@k`.
pub fn module(rng: &mut Rng, target: &Target) -> String {
    let side = target.spec().rows as usize;
    let mut g = Gen {
        rng,
        out: String::new(),
        depth: 1,
        next: 0,
        q: Vec::new(),
        vars: Vec::new(),
        svars: Vec::new(),
        scalars: vec![("%n".into(), 0, 4)],
        bufs: Vec::new(),
        in_where: 0,
        in_loop: 0,
        budget: 60,
        side,
    };
    let _ = writeln!(g.out, "const @c = hex \"{}\"", "0123456789abcdef".repeat(16));
    if g.rng.once_in(3) {
        g.function();
    }
    let (plane, words) = (side * side, side * side * 4);
    let _ = writeln!(
        g.out,
        "kernel @k(%x: in ocm<{}>, %w: in ocm<4096>, %e: in ext<4096>, %n: s32 in 0..=4, %y: out ocm<{}>, %z: inout ocm<{}>) {{",
        plane * 8,
        words * 4,
        plane * 4
    );
    g.setup();
    let n = 4 + g.rng.below(20);
    g.ops(n);
    g.finish(words);
    g.out.push_str("}\n");
    g.out
}

impl Gen<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.out, "{:1$}{2}", "", self.depth * 2, text.as_ref());
    }
    fn name(&mut self, base: &str) -> String {
        self.next += 1;
        format!("%{base}{}", self.next)
    }

    fn function(&mut self) {
        let side = self.side;
        let _ = writeln!(self.out, "fn @f(%i: in ocm<{0}>, %o: inout ocm<{0}>, %s: s32) {{", side * side);
        self.line("%a = lrm <i8 x 1>");
        put!(self, "%f = flow.in %i[0] -> %a[0] elem 1 size {side}x{side} pitch {side} tile {side}x{side}");
        self.line("wait %f");
        self.line("%t = add %a[0], %s");
        self.line("%a[0] = clip %t, -100, 100");
        put!(self, "%g = flow.out %a[0] -> %o[0] elem 1 size {side}x{side} pitch {side} tile {side}x{side}");
        self.line("wait %g");
        self.out.push_str("}\n");
    }

    fn setup(&mut self) {
        if self.out.contains("fn @f") {
            self.line("call @f(%x, %z, 3)");
            self.line("call @f(%x, %z, %n)");
        }
        let side = self.side;
        for (elem, n) in [("i8", 8), ("i16", 4), ("i32", 6)] {
            let b = self.name("b");
            put!(self, "{b} = lrm <{elem} x {n}> align 16");
            let i = self.name("i");
            put!(self, "for {i} in 0..{n} {{");
            put!(self, "  {b}[{i}] = mov 0");
            self.line("}");
            let bytes = match elem {
                "i8" => 1,
                "i16" => 2,
                _ => 4,
            };
            let planes = (8 / bytes).min(n);
            let f = self.name("f");
            let (x, y) = (self.rng.below(5) as i64 - 2, self.rng.below(5) as i64 - 2);
            let (rows, cols) = (1 + self.rng.below(side), 1 + self.rng.below(side));
            let halo = if self.rng.once_in(2) { 0 } else { 1 + self.rng.below(2) };
            let step = 1 + self.rng.below(2);
            put!(
                self,
                "{f} = flow.in %x[0] -> {b}[0] elem {bytes} size {side}x{side} pitch {} plane {} tile {rows}x{cols} at ({x}, {y}) step ({step}, 1) halo {halo} ({planes}: {}, 0, 1) slot {bytes}",
                side * bytes,
                side * side * bytes,
                self.rng.below(2),
            );
            put!(self, "wait {f}");
            self.bufs.push(Buf { name: b, elem, n });
        }
        self.line("%v0 = var q_row");
        self.vars.push("%v0".into());
        self.line("%v1 = var 7");
        self.vars.push("%v1".into());
        self.line("%sv = s.var 1");
        self.svars.push("%sv".into());
        self.q.push("%q0".into());
        self.line("%q0 = add q_col, 1");
    }

    /// A scalar number or value, with its range.
    fn scalar(&mut self) -> (String, i64, i64) {
        if self.rng.once_in(3) {
            let v = self.rng.below(9) as i64 - 3;
            return (v.to_string(), v, v);
        }
        self.rng.pick(&self.scalars).clone()
    }
    fn any_scalar(&mut self) -> String {
        if self.rng.once_in(3) {
            return self.rng.pick(&self.svars).clone();
        }
        self.scalar().0
    }

    fn elem(&mut self) -> String {
        let b = self.rng.pick(&self.bufs).clone();
        self.elem_of(&b)
    }
    fn elem_of(&mut self, b: &Buf) -> String {
        let (view, n) = match (self.rng.below(4), b.elem) {
            (0, "i8") => (".w", b.n / 4),
            (0, "i16") => (".b", b.n * 2),
            (0, _) => (".h", b.n * 2),
            _ => ("", b.n),
        };
        if self.rng.once_in(2) {
            let (s, lo, hi) = self.rng.pick(&self.scalars).clone();
            let scale = 1 + self.rng.below(2) as i64;
            let room = n as i64 - (hi - lo) * scale;
            if room > 0 {
                let at = self.rng.below(room as usize) as i64 - lo * scale;
                let factor = if scale == 1 { String::new() } else { format!("*{scale}") };
                let at = if at == 0 { String::new() } else { format!("{at:+}") };
                return format!("{}{view}[{s}{factor}{at}]", b.name);
            }
        }
        format!("{}{view}[{}]", b.name, self.rng.below(n))
    }

    fn src(&mut self) -> String {
        match self.rng.below(9) {
            0 => (self.rng.below(300) as i64 - 150).to_string(),
            1 => ["70000", "-8193", "8191", "-2147483648", "2147483647"][self.rng.below(5)].into(),
            2 => "q_row".into(),
            3 => self.any_scalar(),
            4 => self.rng.pick(&self.vars).clone(),
            5 | 6 => self.elem(),
            _ => self.rng.pick(&self.q).clone(),
        }
    }

    fn alu(&mut self) -> String {
        let (a, b) = (self.src(), self.src());
        let cond = *self.rng.pick(&COND);
        match self.rng.below(14) {
            0 => format!("mov {a}"),
            1 => format!("abs {a}"),
            2 => format!("clip {a}, -128, 127"),
            3 => format!("set.{cond} {a}, {b}"),
            4 => format!("fx_mul {a}, {b}, {}", self.rng.below(95) as i64 - 31),
            5 if self.rng.once_in(4) => format!("exp {a}, {}, {}", 20 + self.rng.below(12), self.rng.below(32)),
            6 if self.rng.once_in(4) => format!("log {a}, {}, {}", self.rng.below(32), self.rng.below(32)),
            7 => {
                let (t, f) = (self.src(), self.src());
                format!("sel.{cond} {a}, {b}, {t}, {f}")
            }
            8 => {
                let b = self.rng.pick(&self.bufs).clone();
                format!("lut {a}, {}[{}], {}", b.name, self.rng.below(b.n - 3), self.rng.below(3))
            }
            9 if self.in_where == 0 => {
                format!("shift {a}, {}, {}", self.rng.below(5) as i64 - 2, self.rng.below(5) as i64 - 2)
            }
            _ => format!("{} {a}, {b}", self.rng.pick(&BIN)),
        }
    }

    fn block(&mut self, n: usize) {
        let marks = (self.q.len(), self.vars.len(), self.svars.len(), self.scalars.len(), self.bufs.len());
        self.depth += 1;
        self.ops(n);
        self.depth -= 1;
        self.q.truncate(marks.0);
        self.vars.truncate(marks.1);
        self.svars.truncate(marks.2);
        self.scalars.truncate(marks.3);
        self.bufs.truncate(marks.4);
    }

    fn ops(&mut self, n: usize) {
        for _ in 0..n {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.op();
        }
    }

    fn op(&mut self) {
        let n = 1 + self.rng.below(5);
        match self.rng.below(26) {
            0..=6 => {
                let (q, op) = (self.name("q"), self.alu());
                put!(self, "{q} = {op}");
                self.q.push(q);
            }
            7 | 8 => {
                let (v, op) = (self.rng.pick(&self.vars).clone(), self.alu());
                put!(self, "set {v} = {op}");
            }
            9..=11 => {
                let (e, op) = (self.elem(), self.alu());
                put!(self, "{e} = {op}");
            }
            12 => {
                let (v, op) = (self.name("v"), self.src());
                put!(self, "{v} = var {op}");
                self.vars.push(v);
            }
            13 | 14 => {
                let (a, b, cond) = (self.src(), self.src(), *self.rng.pick(&COND));
                put!(self, "where.{cond} {a}, {b} {{");
                self.in_where += 1;
                self.block(n);
                if self.rng.once_in(2) {
                    self.line("} else {");
                    self.block(n);
                }
                self.in_where -= 1;
                self.line("}");
            }
            15 | 16 if self.in_loop < 3 => {
                let i = self.name("i");
                let trips = 1 + self.rng.below(4);
                let step = 1 + self.rng.below(2);
                let run_time = self.rng.once_in(4);
                let hi = if run_time { "%n".into() } else { (trips * step).to_string() };
                let unroll = if !run_time && self.rng.once_in(4) { " unroll" } else { "" };
                let text = if step == 1 { String::new() } else { format!(" step {step}") };
                put!(self, "for {i} in 0..{hi}{text}{unroll} {{");
                let high = if run_time { 3 } else { (trips * step - 1) as i64 };
                self.scalars.push((i, 0, high));
                self.in_loop += 1;
                self.block(n);
                self.in_loop -= 1;
                self.scalars.pop();
                self.line("}");
            }
            17 => {
                let (a, b, cond) = (self.any_scalar(), self.any_scalar(), *self.rng.pick(&COND));
                put!(self, "if.{cond} {a}, {b} {{");
                self.block(n);
                if self.rng.once_in(2) {
                    self.line("} else {");
                    self.block(n);
                }
                self.line("}");
            }
            18 => {
                let s = self.name("s");
                let (a, lo, hi) = self.scalar();
                let k = 1 + self.rng.below(3) as i64;
                let (text, lo, hi) = match self.rng.below(3) {
                    0 => (format!("s.add {a}, {k}"), lo + k, hi + k),
                    1 => (format!("s.mul {a}, {k}"), lo * k, hi * k),
                    _ => (format!("s.shl {a}, 1"), lo * 2, hi * 2),
                };
                put!(self, "{s} = {text}");
                self.scalars.push((s, lo, hi));
            }
            19 => {
                let (v, a, b) = (self.rng.pick(&self.svars).clone(), self.any_scalar(), self.any_scalar());
                let op =
                    ["s.add", "s.sub", "s.mul", "s.and", "s.or", "s.xor", "s.shl", "s.shr", "s.sar", "s.min", "s.max"];
                let op = *self.rng.pick(&op);
                put!(self, "set {v} = {op} {a}, {b}");
            }
            20 => {
                let (s, a, b, cond) = (self.name("s"), self.src(), self.src(), *self.rng.pick(&COND));
                put!(self, "{s} = any.{cond} {a}, {b}");
                self.scalars.push((s, 0, 1));
            }
            21 if self.in_where == 0 => self.macs(),
            22 if self.in_where == 0 => self.transfer(),
            22 => self.random_access(),
            23 => {
                let c = self.name("t");
                put!(self, "{c} = s.var 0");
                let limit = 1 + self.rng.below(3);
                put!(self, "while.lt {c}, {limit} bound 5 {{");
                put!(self, "  set {c} = s.add {c}, 1");
                self.block(n);
                self.line("}");
            }
            24 => {
                let d = self.name("q");
                let (a, b) = (self.src(), self.src());
                let odd = self.name("q");
                put!(self, "{odd} = or {b}, 1");
                put!(self, "{d} = fx_div {a}, {odd}, {}", self.rng.below(32));
                self.q.push(d);
            }
            _ => {
                let region = self.name("r");
                put!(self, "region \"{}\" {{", &region[1..]);
                self.block(n);
                self.line("}");
            }
        }
    }

    fn svars_from(&mut self, s: &str) {
        let v = self.rng.pick(&self.svars).clone();
        put!(self, "set {v} = s.xor {v}, {s}");
    }

    /// Everything alive leaves: values, variables, elements.
    fn finish(&mut self, words: usize) {
        self.line("%out = lrm <i32 x 4>");
        let fold = self.name("q");
        let (mut last, all) = ("0".to_owned(), [self.q.clone(), self.vars.clone()].concat());
        for (i, v) in all.iter().enumerate() {
            let t = format!("{fold}_{i}");
            put!(self, "{t} = fx_mul {last}, 31, 0");
            let u = format!("{fold}_{i}u");
            put!(self, "{u} = add {t}, {v}");
            last = u;
        }
        put!(self, "%out[0] = mov {last}");
        for (k, b) in self.bufs.clone().iter().enumerate().take(3) {
            let v = format!("%sum{k}");
            put!(self, "{v} = var 0");
            let i = self.name("i");
            put!(self, "for {i} in 0..{} {{", b.n);
            let t = self.name("q");
            put!(self, "  {t} = fx_mul {v}, 33, 0");
            put!(self, "  set {v} = add {t}, {}[{i}]", b.name);
            self.line("}");
            put!(self, "%out[{}] = xor {v}, %sv", k + 1);
        }
        let side = self.side;
        put!(
            self,
            "%done = flow.out %out[0] -> %y[0] elem 4 size {side}x{side} pitch {} plane {words} tile {side}x{side} (4: 0, 0, 1) slot 4",
            side * 4
        );
        self.line("wait %done");
    }
}
