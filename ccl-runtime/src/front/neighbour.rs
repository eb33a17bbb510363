//! Neighbours: shifts, and reductions made of them.

use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::R;
use super::value::{Affine, Lrm, Pe, Place};
use crate::ir::{self, Dst, Elem, Fmt, OpKind, Src, Type};
use crate::kernel::ElemType;

impl Cx<'_> {
    /// The word of the PE `dr` rows and `dc` columns further on, 0 beyond the edge.
    fn neighbour(&mut self, a: Src, dr: i32, dc: i32) -> Src {
        if dr == 0 && dc == 0 {
            return a;
        }
        let dst = self.b.value("n", Type::Q(Fmt::I32));
        self.push(OpKind::Shift { dst: Dst::Def(dst), a, dr, dc });
        Src::Val(dst)
    }

    /// Rows and columns from a PE to the one whose value it gets; none beyond the edge.
    fn source(&self, to: &str, hops: usize) -> Option<(i32, i32)> {
        let far = match to {
            "North" | "South" => self.rows(),
            _ => self.cols() + 2 * self.border(),
        };
        let n = i32::try_from(hops).ok().filter(|_| hops < far)?;
        Some(match to {
            "North" => (n, 0),
            "South" => (-n, 0),
            "East" => (0, -n),
            _ => (0, n),
        })
    }

    /// `shift(buffer, to, hops)`: by words where it lies so.
    pub(super) fn lrm_neighbour(&mut self, x: &Lrm, to: &str, hops: usize) -> R<Lrm> {
        if hops == 0 {
            return Ok(x.clone());
        }
        self.no_mask("`shift`")?;
        let bytes = x.elem.bytes();
        let words = match &x.place {
            Place::Buffer { id, first } if (x.n * bytes).is_multiple_of(4) && bytes <= 4 => {
                first.divided(4 / bytes as i64).map(|first| (*id, first))
            }
            _ => None,
        };
        let (Some((from, first)), Some((dr, dc))) = (words, self.source(to, hops)) else {
            let lanes = (0..x.n).map(|i| {
                let value = self.read_at(x, &Affine::number(i as i64))?;
                self.pe_neighbour(value, to, hops)
            });
            return Ok(Lrm { rows: x.rows, ..Lrm::lanes(x.elem, lanes.collect::<R<_>>()?) });
        };
        let moved = Lrm { rows: x.rows, ..self.new_lrm("moved", x.elem, x.n)? };
        let (there, _) = self.in_buffer(&moved, "moved")?;
        self.each(x.n * bytes / 4, |cx, i| {
            let (a, dst) = (cx.element(from, Elem::I32, &first.plus(i)), cx.element(there, Elem::I32, i));
            cx.push(OpKind::Shift { dst: Dst::Elem(dst), a: Src::Elem(a), dr, dc });
            Ok(())
        })?;
        Ok(moved)
    }

    /// `shift(x, to, hops)`.
    pub(super) fn pe_neighbour(&mut self, x: Pe, to: &str, hops: usize) -> R<Pe> {
        self.no_mask("`shift`")?;
        let Some((dr, dc)) = self.source(to, hops) else { return Ok(Pe::number(x.elem, 0)) };
        let x = self.exact(x);
        let range = (x.range.0.min(0), x.range.1.max(0));
        let lo = self.neighbour(x.lo, dr, dc);
        let hi = x.hi.map(|hi| self.neighbour(hi, dr, dc));
        Ok(Pe { lo, hi, range, ..x })
    }

    /// `reduce(x, op, over)`.
    ///
    /// Each PE gathers what lies to one side of it, itself included, and what lies to the other, by steps of doubling length. PEs
    /// beyond the array count as the neutral number: the border's are made so, and the zeros that come in at the edge
    /// are where that number is 0.
    pub(super) fn pe_reduce(&mut self, x: Pe, op: &str, over: &str) -> R<Pe> {
        self.no_mask("`reduce`")?;
        let x = self.exact(x);
        if x.hi.is_some() || (x.elem == ElemType::I64 && op == "Sum") {
            return self.wide_reduce(x, op, over);
        }
        let elem = x.elem;
        let (axes, cells) = match over {
            "Row" => (vec![false], self.cols()),
            "Column" => (vec![true], self.rows()),
            _ => (vec![false, true], self.rows() * self.cols()),
        };
        let in_array = self.set(Cond::Ltu, Src::QCol, self.cols() as i32);
        let (op, is_bool) = match (op, elem) {
            ("Sum", ElemType::Bool) => ("Max", true),
            (op, elem) => (op, elem == ElemType::Bool),
        };
        // Max and min of what may be negative are those of numbers moved above 0.
        let offset = match op {
            "Max" => x.range.0,
            "Min" => x.range.1,
            _ => 0,
        };
        let moved = match op {
            "Max" => (0, x.range.1 as i128 - offset as i128),
            "Min" => (0, offset as i128 - x.range.0 as i128),
            _ => (x.range.0 as i128, x.range.1 as i128),
        };
        if moved.1 > i32::MAX as i128 {
            return self.reduce_by_halves(x, op, over);
        }
        let word = match op {
            "Max" => self.bin(ir::BinOp::Sub, x.lo, offset as i32),
            "Min" => self.bin(ir::BinOp::Sub, Src::Imm(offset as i32), x.lo),
            _ => x.lo,
        };
        let mut word = self.sel(Cond::Ne, [in_array, Src::Imm(0), word, Src::Imm(0)]);
        let combine = if op == "Sum" { ir::BinOp::Add } else { ir::BinOp::Max };
        for vertical in axes {
            word = self.reduce_axis(word, combine, vertical);
            // What gathered in the border is no part of the other axis.
            word = self.sel(Cond::Ne, [in_array, Src::Imm(0), word, Src::Imm(0)]);
        }
        let result = match op {
            "Max" => self.bin(ir::BinOp::Add, word, offset as i32),
            "Min" => self.bin(ir::BinOp::Sub, Src::Imm(offset as i32), word),
            _ => word,
        };
        let result = if offset == 0 || is_bool {
            result
        } else {
            self.sel(Cond::Ne, [in_array, Src::Imm(0), result, Src::Imm(0)])
        };
        if op == "Sum" {
            let n = cells as i128;
            let range = ((x.range.0 as i128 * n).min(0), (x.range.1 as i128 * n).max(0));
            return Ok(Self::wrapped(elem, result, range));
        }
        Ok(Pe::ranged(elem, result, (x.range.0.min(0), x.range.1.max(0))))
    }

    /// All PEs of a row or column combined, in each of them.
    fn reduce_axis(&mut self, x: Src, op: ir::BinOp, vertical: bool) -> Src {
        let n = if vertical { self.rows() } else { self.cols() } as i32;
        let step = |cx: &mut Self, a: Src, by: i32| {
            if vertical { cx.neighbour(a, by, 0) } else { cx.neighbour(a, 0, by) }
        };
        let mut sides = [x, x];
        for (side, sign) in sides.iter_mut().zip([-1, 1]) {
            let mut hop = 1;
            while hop < n {
                let from = step(self, *side, sign * hop);
                *side = self.bin(op, *side, from);
                hop *= 2;
            }
        }
        let both = self.bin(op, sides[0], sides[1]);
        // A sum has counted the PE itself twice.
        if op == ir::BinOp::Add { self.bin(ir::BinOp::Sub, both, x) } else { both }
    }

    /// Max and min of whole words: the high half decides, then the low half of those that have it.
    fn reduce_by_halves(&mut self, x: Pe, op: &str, over: &str) -> R<Pe> {
        let high = Pe::ranged(ElemType::I32, self.bin(ir::BinOp::Sar, x.lo, 16), (-(1 << 15), (1 << 15) - 1));
        let low = Pe::ranged(ElemType::I32, self.bin(ir::BinOp::And, x.lo, 0xffff), (0, 0xffff));
        let best = self.pe_reduce(high, op, over)?;
        let least = if op == "Max" { 0 } else { 0xffff };
        let mine = self.sel(Cond::Eq, [high.lo, best.lo, low.lo, Src::Imm(least)]);
        let low = self.pe_reduce(Pe::ranged(ElemType::I32, mine, (0, 0xffff)), op, over)?;
        let top = self.bin(ir::BinOp::Shl, best.lo, 16);
        let lo = self.bin(ir::BinOp::Or, top, low.lo);
        Ok(Pe::new(x.elem, lo))
    }

    /// Sums of 64 bits, by three parts that do not overflow.
    fn wide_reduce(&mut self, x: Pe, op: &str, over: &str) -> R<Pe> {
        if op != "Sum" {
            return self.wide_extremes(x, op, over);
        }
        let (lo, hi) = self.both_words(x);
        let mask = 0xffff;
        let parts = [self.bin(ir::BinOp::And, lo, mask), self.bin(ir::BinOp::Shr, lo, 16)];
        let mut sum = Pe::number(ElemType::I64, 0);
        for (i, part) in parts.into_iter().enumerate() {
            let part = self.pe_reduce(Pe::ranged(ElemType::I32, part, (0, 0xffff)), op, over)?;
            let part = Pe { elem: ElemType::I64, ..part };
            let part = self.wide_shift(true, part, 16 * i as u32)?;
            sum = self.wide_binary(ccl_syntax::ast::BinOp::Add, sum, part)?;
        }
        let high = self.pe_reduce(Pe::new(ElemType::I32, hi), op, over)?;
        let high = self.wide_shift(true, Pe { elem: ElemType::I64, ..high }, 32)?;
        self.wide_binary(ccl_syntax::ast::BinOp::Add, sum, high)
    }

    /// Max and min of 64 bits: the high word decides, then the low word, which has no sign, of those that have it.
    fn wide_extremes(&mut self, x: Pe, op: &str, over: &str) -> R<Pe> {
        let (lo, hi) = self.both_words(x);
        let high = self.pe_reduce(Pe::new(ElemType::I32, hi), op, over)?;
        let signed = self.bin(ir::BinOp::Xor, lo, i32::MIN);
        let least = if op == "Max" { i32::MIN } else { i32::MAX };
        let mine = self.sel(Cond::Eq, [hi, high.lo, signed, Src::Imm(least)]);
        let low = self.pe_reduce(Pe::new(ElemType::I32, mine), op, over)?;
        let lo = self.bin(ir::BinOp::Xor, low.lo, i32::MIN);
        Ok(Pe { elem: ElemType::I64, lo, hi: Some(high.lo), range: ElemType::I64.range(), exact: true })
    }
}
