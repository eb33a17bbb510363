//! Transfers of a random kernel.

use super::Gen;

impl Gen<'_> {
    pub(super) fn macs(&mut self) {
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

    pub(super) fn transfer(&mut self) {
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
    pub(super) fn random_access(&mut self) {
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
}
