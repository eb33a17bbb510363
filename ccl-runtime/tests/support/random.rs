//! Random well-typed modules, as text. Every lane is defined before it is read, so that any difference is a fault.

use std::fmt::Write;

use iss::target::Target;
use iss::testing::Rng;

/// One line of the module; its parts are made first.
macro_rules! put {
    ($self:ident, $($text:tt)*) => {{
        let text = format!($($text)*);
        $self.line(text);
    }};
}

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

    fn macs(&mut self) {
        let (acc, w) = (self.name("a"), self.name("w"));
        let (size, shape) = [(1, "dot"), (4, "mat4"), (16, "outer")][self.rng.below(3)];
        let (width, weights, e) = [("mac8", 1, 1), ("mac16x8", 1, 2), ("mac16", 2, 2)][self.rng.below(3)];
        let n = 1 + self.rng.below(3);
        let b = self.name("b");
        put!(self, "{b} = lrm <i8 x 32>");
        let i = self.name("i");
        put!(self, "for {i} in 0..8 {{");
        let fill = self.src();
        put!(self, "  {b}.w[{i}] = mov {fill}");
        self.line("}");
        put!(self, "{acc} = acc {size}");
        for k in 0..size {
            let s = self.src();
            put!(self, "{acc}[{k}] = mov {s}");
        }
        let tail = self.rng.once_in(2);
        let entries = n * weights + usize::from(tail);
        put!(self, "{w} = bcast %w[{}] ({entries}: 16)", 16 * self.rng.below(8));
        let view = match (shape, e) {
            ("outer", 1) => ".b",
            ("outer", _) => ".h",
            _ => ".w",
        };
        let view = if view == ".b" { "" } else { view };
        if self.rng.once_in(2) {
            let j = self.name("i");
            put!(self, "for {j} in 0..{n} {{");
            let index = if shape == "dot" { "0".into() } else { j };
            put!(self, "  {width}.{shape} {acc}[0], {b}{view}[{index}], {w}");
            self.line("}");
        } else {
            for k in 0..n {
                let index = if shape == "dot" { 0 } else { k };
                put!(self, "{width}.{shape} {acc}[0], {b}{view}[{index}], {w}");
            }
        }
        if tail {
            let v = self.rng.pick(&self.vars).clone();
            put!(self, "set {v} = add {v}, {w}");
            put!(self, "set {v} = add {v}, {w}.b2");
            put!(self, "set {v} = sub {w}.h1!, {v}");
            put!(self, "set {v} = fx_mul {w}, {v}, 16");
            put!(self, "set {v} = xor {w}, {v}");
        }
        let q = self.name("q");
        put!(self, "{q} = fx_mul {acc}[{}], 12345, 14", self.rng.below(size));
        self.q.push(q);
    }

    fn transfer(&mut self) {
        let side = self.side;
        match self.rng.below(3) {
            0 => {
                let (o, t, s) = (self.name("o"), self.name("t"), self.name("s"));
                put!(self, "{o} = ocm <256>");
                match self.rng.below(2) {
                    0 => put!(self, "{t} = dma.in %e[64] -> {o}[0] bytes 64 rows 4 pitch 64, 128"),
                    _ => {
                        let c = self.name("c");
                        put!(self, "{c} = const @c");
                        put!(self, "{t} = dma.in {c}[0] -> {o}[128] bytes 128");
                        let u = self.name("t");
                        put!(self, "wait {t}");
                        put!(self, "{u} = dma.in %e[0] -> {o}[0] bytes 128");
                        put!(self, "wait {u}");
                        put!(self, "{s} = s.load {o}[{}]", 4 * self.rng.below(64));
                        self.svars_from(&s);
                        return;
                    }
                }
                put!(self, "wait {t}");
                put!(self, "{s} = s.load {o}[{}]", 4 * self.rng.below(64));
                self.svars_from(&s);
            }
            1 => self.random_access(),
            _ => {
                let (b, f) = (self.name("b"), self.name("f"));
                put!(self, "{b} = lrm <i32 x 1>");
                let op = self.alu();
                put!(self, "{b}[0] = {op}");
                let at = if self.rng.once_in(2) { "%n".into() } else { self.rng.below(4).to_string() };
                let plane = side * side;
                let s = self.name("s");
                put!(self, "{s} = s.mul {at}, 4");
                put!(
                    self,
                    "{f} = flow.out {b}[0] -> %z[{s}] elem 4 size {}x{side} pitch {} tile {side}x{side} at ({at}, 0)",
                    plane / side - 2,
                    side * 4
                );
                put!(self, "wait {f}");
            }
        }
    }

    /// It passes over disabled PEs, so that it may stand in `where`.
    fn random_access(&mut self) {
        let elements = self.side * self.side;
        let (b, t) = (self.name("b"), self.name("t"));
        put!(self, "{b} = lrm <i32 x 3>");
        let s = self.src();
        put!(self, "{b}[0] = clip {s}, -2, {elements}");
        put!(self, "{b}[1] = mov 0");
        put!(self, "{b}[2] = mov 0");
        if self.rng.once_in(2) {
            put!(self, "{t} = rau.load %x[0] elem 2 limit {elements} idx {b}[0] data {b}.h[2] valid {b}[2]");
            put!(self, "wait {t}");
            let (found, valid) = (self.name("q"), self.name("q"));
            put!(self, "{found} = mov {b}.h[2]");
            put!(self, "{valid} = mov {b}[2]");
            self.q.extend([found, valid]);
        } else {
            // Equal indices: the last PE in row order stays.
            put!(self, "{t} = rau.store %z[0] elem 1 limit {elements} idx {b}[0] data {b}.b[4]");
            put!(self, "wait {t}");
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

/// A pipelined loop of random shape: chunks or whole tiles, ragged edges, one or two levels, perfect or with work between.
pub fn pipelined(rng: &mut Rng, target: &Target) -> String {
    let side = target.spec().rows as usize;
    let (h, w) = (side + rng.below(2 * side), side + rng.below(2 * side));
    let (ty, tx) = (h.div_ceil(side), w.div_ceil(side));
    let (planes, n) = (1 + rng.below(5), 1 + rng.below(4));
    let plane = h * w * 4;
    let mut out = String::new();
    let bytes = plane * planes;
    let _ =
        writeln!(out, "kernel @k(%x: in ocm<{bytes}>, %w: in ocm<256>, %w2: in ocm<{bytes}>, %y: out ocm<{bytes}>) {{");
    let shape = format!("elem 4 size {h}x{w} pitch {} ", w * 4);
    let level = if rng.once_in(2) {
        (format!("pipelined({n})"), String::new())
    } else {
        (String::new(), format!("pipelined({n})"))
    };
    let _ = writeln!(out, "for %ty in 0..{ty} {} {{\n%y0 = s.mul %ty, {side}", level.0);
    let _ = writeln!(out, "for %tx in 0..{tx} {} {{\n%x0 = s.shl %tx, {}", level.1, side.trailing_zeros());
    let at = "at (%x0, %y0)";
    let stream = rng.once_in(2);
    let chunk = |out: &mut String, stream: bool| {
        let add = if stream { "%s" } else { "3" };
        for k in 0..4 {
            let _ = writeln!(
                out,
                "%t{k} = add %src[{}], {add}\n%dst[{k}] = clip %t{k}, -128, 127",
                if stream { 0 } else { k }
            );
        }
    };
    if stream {
        let _ = writeln!(out, "%s = bcast %w[16] ({planes}: 16)");
    }
    match rng.below(3) {
        // One chunk in, of one tensor or two in turn, one out.
        0 => {
            let two = rng.once_in(2);
            let (n, second, slot) = if two { (8, " and %w2[%p]", "slot 4") } else { (4, "", "") };
            let _ = writeln!(
                out,
                "for %c in 0..{planes} {{\n%p = s.mul %c, {plane}\n%src = lrm <i8 x {n}>\n%dst = lrm <i8 x 4>"
            );
            let _ =
                writeln!(out, "%f = flow.in %x[%p]{second} -> %src[0] {shape} tile {side}x{side} {at} {slot}\nwait %f");
            chunk(&mut out, stream);
            if two {
                let _ = writeln!(out, "%dst[1] = max %src[1], %src[5]");
            }
            let _ = writeln!(out, "%g = flow.out %dst[0] -> %y[%p] {shape} tile {side}x{side} {at}\nwait %g\n}}");
        }
        // A whole tile in, work on it, chunks out.
        1 => {
            let n = planes * 4;
            let _ = writeln!(out, "%src = lrm <i8 x {n}>");
            let _ = writeln!(
                out,
                "%f = flow.in %x[0] -> %src[0] {shape} plane {plane} tile {side}x{side} {at} ({planes}: 0, 0, 1) slot 4\nwait %f"
            );
            let _ = writeln!(
                out,
                "%m = var 0\nfor %k in 0..{n} {{\nset %m = max %m, %src[%k]\n%d = lut %m, %src[0], 2\nset %m = add %m, %d\n}}"
            );
            let _ = writeln!(out, "for %c in 0..{planes} {{\n%p = s.mul %c, {plane}\n%dst = lrm <i8 x 4>");
            for k in 0..4 {
                let add = if stream { "%s" } else { "%m" };
                let _ = writeln!(out, "%t{k} = add %src[%c*4+{k}], {add}\n%dst[{k}] = clip %t{k}, -128, 127");
            }
            let _ = writeln!(out, "%g = flow.out %dst[0] -> %y[%p] {shape} tile {side}x{side} {at}\nwait %g\n}}");
        }
        // Whole tiles both ways.
        _ => {
            let n = planes * 4;
            let _ = writeln!(out, "%src = lrm <i8 x {n}>\n%dst = lrm <i8 x {n}>");
            let walk = format!("{shape} plane {plane} tile {side}x{side} {at} ({planes}: 0, 0, 1) slot 4");
            let _ = writeln!(out, "%f = flow.in %x[0] -> %src[0] {walk}\nwait %f");
            let add = if stream { "%s" } else { "%ty" };
            let _ = writeln!(out, "for %k in 0..{n} {{\n%t = add %src[%k], {add}\n%dst[%k] = clip %t, -128, 127\n}}");
            let _ = writeln!(out, "%g = flow.out %dst[0] -> %y[0] {walk}\nwait %g");
        }
    }
    out.push_str("}\n}\n}\n");
    out
}

/// A pipelined loop with several flows of a direction: fetches and stores of unlike shapes, of one tensor or several, in chunks
/// or whole tiles, in place or not, with work and streams between, also where the nest is not perfect.
pub fn buffered(rng: &mut Rng, target: &Target) -> String {
    let side = target.spec().rows as usize;
    let (h, w) = (side + rng.below(2 * side), side + rng.below(2 * side));
    let (ty, tx) = (h.div_ceil(side), w.div_ceil(side));
    let chunks = 1 + rng.below(4);
    let (plane, bytes) = (h * w * 4, h * w * 4 * chunks);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "kernel @k(%x: in ocm<{bytes}>, %w: in ocm<256>, %v: in ocm<{}>, %n: s32 in 0..=3, %y: out ocm<{bytes}>, %z: inout ocm<{bytes}>) {{",
        h * w
    );
    let at = format!("tile {side}x{side} at (%x0, %y0)");
    let words = format!("elem 4 size {h}x{w} pitch {} {at}", w * 4);
    let thirds = format!("elem 1 size {h}x{w} pitch {w} {at}");
    let levels = ["pipelined(2)", "", ""];
    let first = rng.below(3);
    let level = |i: usize| if i == first { levels[0] } else { levels[1] };
    let _ = writeln!(out, "for %ty in 0..{ty} {} {{\n%y0 = s.mul %ty, {side}", level(0));
    let _ = writeln!(out, "for %tx in 0..{tx} {} {{\n%x0 = s.mul %tx, {side}", level(1));
    let between = rng.once_in(3);
    if between {
        let origin = *rng.pick(&["16", "%from", "%tx16"]);
        let _ = writeln!(out, "%tx16 = s.mul %tx, 16\n%row = s.mul %ty, 32\n%from = s.add %row, %tx16");
        let _ = writeln!(out, "%s = bcast %w[{origin}] (1: 16)");
        let _ = writeln!(out, "%u = add %s, %ty\n%u2 = add %s, %u\n%u3 = add %s, 1\n%u4 = add %s, 2");
    }
    // A stream a chunk, of entries that follow one another or stand apart.
    let weights = !between && rng.once_in(2);
    let apart = if rng.once_in(2) { 16 } else { 48 };
    // A tile's own fetch, in the loop around the chunks.
    let whole = rng.once_in(3);
    if whole {
        let _ = writeln!(out, "%t = lrm <i8 x 1>\n%ft = flow.in %v[0] -> %t[0] {thirds}\nwait %ft");
    }
    // The last loop has run-time bounds now and then, or counts from another number.
    let bounds = match rng.below(6) {
        0 => "0..%n".to_owned(),
        1 => format!("1..{chunks}"),
        _ => format!("0..{chunks}"),
    };
    let _ = writeln!(out, "for %c in {bounds} {} {{\n%p = s.mul %c, {plane}", level(2));
    if bounds.ends_with("%n") {
        out = out.replace(&format!("s.mul %c, {plane}"), &format!("s.min %c, {}\n%p = s.mul %pc, {plane}", chunks - 1));
        out = out.replace("%p = s.min", "%pc = s.min");
    }
    let _ = writeln!(out, "%a = lrm <i8 x 8>\n%b = lrm <i8 x 4>\n%d = lrm <i8 x 4>");
    if weights {
        let _ = writeln!(out, "%cs = s.mul %c, {apart}\n%sc = bcast %w[%cs] (1: 16)");
        let _ = writeln!(out, "%k0 = add %sc, 1\n%k1 = add %sc, %k0\n%k2 = add %sc, %k1\n%k3 = add %sc, %k2");
    }
    let _ = writeln!(out, "%f1 = flow.in %x[%p] -> %a[0] {words}");
    let late = rng.once_in(2);
    if late {
        let _ = writeln!(out, "wait %f1");
    }
    let three = rng.once_in(2);
    let (second, origin) = if rng.once_in(4) { ("%z", "%p") } else { ("%x", "0") };
    let _ = writeln!(out, "%f2 = flow.in {second}[{origin}] -> %a[4] {words} halo 1");
    if three {
        let _ = writeln!(out, "%b3 = lrm <i8 x 2>\n%f3 = flow.in %v[0] -> %b3[1] {thirds}\nwait %f3");
    }
    let taps = if rng.once_in(3) { 1 + rng.below(7) } else { 0 };
    if taps > 0 {
        let _ = writeln!(out, "%tap = lrm <i8 x {taps}>");
    }
    let grid = rng.once_in(2);
    for k in 0..taps {
        let shift = if grid { k as i64 % 4 } else { rng.below(3) as i64 - 1 };
        let _ = writeln!(out, "%at{k} = s.add %x0, {shift}");
        let _ = writeln!(
            out,
            "%ftap{k} = flow.in %v[0] -> %tap[{k}] elem 1 size {h}x{w} pitch {w} tile {side}x{side} at (%at{k}, %y0)"
        );
        let _ = writeln!(out, "wait %ftap{k}");
    }
    let _ = writeln!(out, "wait %f2");
    if !late {
        let _ = writeln!(out, "wait %f1");
    }
    for k in 0..4 {
        let extra = match k {
            0 if three => "%b3[1]",
            1 if between => "%u",
            2 if whole => "%t[0]",
            3 if weights => "%k3",
            3 if taps > 0 => "%tap[0]",
            _ => "%c",
        };
        let _ = writeln!(out, "%m{k} = max %a[{k}], {extra}\n%b[{k}] = clip %m{k}, -128, 127");
        let other = if k < taps { format!("%tap[{}]", taps - 1 - k) } else { extra.to_owned() };
        let _ = writeln!(out, "%e{k} = sub %a[{}], {other}\n%d[{k}] = clip %e{k}, -100, 127", k + 4);
    }
    let store = |out: &mut String, i: usize, buf: &str, to: &str| {
        let _ = writeln!(out, "%g{i} = flow.out {buf} -> {to}[%p] {words}\nwait %g{i}");
    };
    store(&mut out, 1, "%b[0]", "%y");
    match rng.below(4) {
        0 => store(&mut out, 2, "%d[0]", "%z"),
        1 => store(&mut out, 2, "%d[0]", "%y"),
        2 => store(&mut out, 2, "%a[4]", "%z"),
        _ => {}
    }
    out.push_str("}\n}\n}\n}\n");
    out
}
