//! Values of 64 bits: pairs of words, or one word that is sign-extended.

use ccl_syntax::ast::BinOp;
use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::R;
use super::pe::WORD;
use super::value::Pe;
use crate::ir::{self, Src};
use crate::kernel::ElemType;

impl Cx<'_> {
    /// Low and high word.
    pub(super) fn both_words(&mut self, a: Pe) -> (Src, Src) {
        match a.hi {
            Some(hi) => (a.lo, hi),
            None if a.range.0 >= 0 => (a.lo, Src::Imm(0)),
            None => (a.lo, self.bin(ir::BinOp::Sar, a.lo, 31)),
        }
    }

    fn wide(lo: Src, hi: Src, range: (i128, i128)) -> Pe {
        let of = ElemType::I64.range();
        let range =
            if range.0 >= of.0 as i128 && range.1 <= of.1 as i128 { (range.0 as i64, range.1 as i64) } else { of };
        let fits = range.0 >= WORD.0 && range.1 <= WORD.1;
        Pe { elem: ElemType::I64, lo, hi: (!fits).then_some(hi), range, exact: true }
    }

    pub(super) fn wide_binary(&mut self, op: BinOp, a: Pe, b: Pe) -> R<Pe> {
        let (x, y) = ((a.range.0 as i128, a.range.1 as i128), (b.range.0 as i128, b.range.1 as i128));
        let fits = |r: (i128, i128)| r.0 >= WORD.0 as i128 && r.1 <= WORD.1 as i128;
        match op {
            BinOp::Add | BinOp::Sub => {
                let add = op == BinOp::Add;
                let range = if add { (x.0 + y.0, x.1 + y.1) } else { (x.0 - y.1, x.1 - y.0) };
                let word = if add { ir::BinOp::Add } else { ir::BinOp::Sub };
                let lo = self.bin(word, a.lo, b.lo);
                if fits(range) {
                    return Ok(Self::wide(lo, lo, range));
                }
                let ((al, ah), (bl, bh)) = (self.both_words(a), self.both_words(b));
                // A sum below an operand has carried; a difference of a lesser by a greater borrows.
                let carry = if add { self.set(Cond::Ltu, lo, al) } else { self.set(Cond::Ltu, al, bl) };
                let hi = self.bin(word, ah, bh);
                let hi = self.bin(word, hi, carry);
                Ok(Self::wide(lo, hi, range))
            }
            BinOp::Mul => {
                let all = [x.0 * y.0, x.0 * y.1, x.1 * y.0, x.1 * y.1];
                let range = (
                    all.iter().copied().min().expect("four corners"),
                    all.iter().copied().max().expect("four corners"),
                );
                let lo = self.mul(a.lo, b.lo, 0);
                if fits(range) {
                    return Ok(Self::wide(lo, lo, range));
                }
                let mut hi = self.mul(a.lo, b.lo, 32);
                if a.hi.is_some() || b.hi.is_some() {
                    let ((al, ah), (bl, bh)) = (self.both_words(a), self.both_words(b));
                    // The high word of the unsigned product of the low words, and the mixed products.
                    for (sign_of, other) in [(al, bl), (bl, al)] {
                        let part = self.sel(Cond::Lt, [sign_of, Src::Imm(0), other, Src::Imm(0)]);
                        hi = self.bin(ir::BinOp::Add, hi, part);
                    }
                    for (low, high) in [(al, bh), (bl, ah)] {
                        let part = self.mul(low, high, 0);
                        hi = self.bin(ir::BinOp::Add, hi, part);
                    }
                }
                Ok(Self::wide(lo, hi, range))
            }
            BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => {
                let word = match op {
                    BinOp::BitAnd => ir::BinOp::And,
                    BinOp::BitOr => ir::BinOp::Or,
                    _ => ir::BinOp::Xor,
                };
                let lo = self.bin(word, a.lo, b.lo);
                if a.hi.is_none() && b.hi.is_none() {
                    return Ok(Pe::ranged(ElemType::I64, lo, WORD));
                }
                let ((_, ah), (_, bh)) = (self.both_words(a), self.both_words(b));
                let hi = self.bin(word, ah, bh);
                Ok(Self::wide(lo, hi, (i64::MIN.into(), i64::MAX.into())))
            }
            _ => self.fail(
                format!("`{}` of per-PE values", op.word()),
                "PEs do not divide: multiply by a reciprocal, powers of two are `>>`",
            ),
        }
    }

    pub(super) fn wide_compare(&mut self, op: BinOp, a: Pe, b: Pe) -> R<Pe> {
        let ((al, ah), (bl, bh)) = (self.both_words(a), self.both_words(b));
        let same = self.set(Cond::Eq, ah, bh);
        let lo = match op {
            BinOp::Eq | BinOp::Ne => {
                let low = self.set(Cond::Eq, al, bl);
                let both = self.bin(ir::BinOp::And, same, low);
                if op == BinOp::Eq { both } else { self.bin(ir::BinOp::Xor, both, 1) }
            }
            _ => {
                let (high_cond, low_cond) = match op {
                    BinOp::Lt => (Cond::Lt, Cond::Ltu),
                    BinOp::Le => (Cond::Lt, Cond::Leu),
                    BinOp::Gt => (Cond::Gt, Cond::Gtu),
                    _ => (Cond::Gt, Cond::Geu),
                };
                let (high, low) = (self.set(high_cond, ah, bh), self.set(low_cond, al, bl));
                self.sel(Cond::Ne, [same, Src::Imm(0), low, high])
            }
        };
        Ok(Pe::new(ElemType::Bool, lo))
    }

    pub(super) fn wide_shift(&mut self, left: bool, a: Pe, n: u32) -> R<Pe> {
        if n == 0 {
            return Ok(a);
        }
        let (x, (al, ah)) = ((a.range.0 as i128, a.range.1 as i128), self.both_words(a));
        let m = n as i32;
        if left {
            let range = (x.0 << n, x.1 << n);
            let (lo, hi) = if n >= 32 {
                (Src::Imm(0), self.bin(ir::BinOp::Shl, al, m - 32))
            } else {
                let (low, over) = (self.bin(ir::BinOp::Shl, al, m), self.bin(ir::BinOp::Shr, al, 32 - m));
                let high = self.bin(ir::BinOp::Shl, ah, m);
                (low, self.bin(ir::BinOp::Or, high, over))
            };
            return Ok(Self::wide(lo, hi, range));
        }
        let range = (x.0 >> n, x.1 >> n);
        if a.hi.is_none() {
            return Ok(Pe::ranged(
                ElemType::I64,
                self.bin(ir::BinOp::Sar, al, m.min(31)),
                (range.0 as i64, range.1 as i64),
            ));
        }
        let (lo, hi) = if n >= 32 {
            (self.bin(ir::BinOp::Sar, ah, (m - 32).min(31)), self.bin(ir::BinOp::Sar, ah, 31))
        } else {
            let (low, from) = (self.bin(ir::BinOp::Shr, al, m), self.bin(ir::BinOp::Shl, ah, 32 - m));
            let high = self.bin(ir::BinOp::Sar, ah, m);
            (self.bin(ir::BinOp::Or, low, from), high)
        };
        Ok(Self::wide(lo, hi, range))
    }

    /// By another number in every PE, modulo 64.
    pub(super) fn wide_shift_lanes(&mut self, left: bool, a: Pe, n: Src) -> R<Pe> {
        let (lo, hi) = self.both_words(a);
        let m = self.bin(ir::BinOp::And, n, 31);
        let rest = self.bin(ir::BinOp::Sub, Src::Imm(31), m);
        let by_words = self.bin(ir::BinOp::And, n, 32);
        let chosen = |cx: &mut Self, far: Src, near: Src| cx.sel(Cond::Ne, [by_words, Src::Imm(0), far, near]);
        // What passes from word to word is shifted by 32 - m, in two steps since m may be 0.
        let (lo, hi) = if left {
            let half = self.bin(ir::BinOp::Shr, lo, 1);
            let over = self.bin(ir::BinOp::Shr, half, rest);
            let (low, high) = (self.bin(ir::BinOp::Shl, lo, m), self.bin(ir::BinOp::Shl, hi, m));
            let high = self.bin(ir::BinOp::Or, high, over);
            (chosen(self, Src::Imm(0), low), chosen(self, low, high))
        } else {
            let twice = self.bin(ir::BinOp::Shl, hi, 1);
            let over = self.bin(ir::BinOp::Shl, twice, rest);
            let (low, high) = (self.bin(ir::BinOp::Shr, lo, m), self.bin(ir::BinOp::Sar, hi, m));
            let low = self.bin(ir::BinOp::Or, low, over);
            let sign = self.bin(ir::BinOp::Sar, hi, 31);
            (chosen(self, high, low), chosen(self, sign, high))
        };
        Ok(Pe { elem: ElemType::I64, lo, hi: Some(hi), range: ElemType::I64.range(), exact: true })
    }

    /// Saturated to a word.
    pub(super) fn wide_to_word(&mut self, a: Pe) -> Pe {
        let (lo, hi) = self.both_words(a);
        let sign = self.bin(ir::BinOp::Sar, lo, 31);
        // The end of the range on the side of the value: the greatest number, or its complement.
        let side = self.bin(ir::BinOp::Sar, hi, 31);
        let end = self.bin(ir::BinOp::Xor, side, i32::MAX);
        let word = self.sel(Cond::Eq, [hi, sign, lo, end]);
        let range = (a.range.0.clamp(WORD.0, WORD.1), a.range.1.clamp(WORD.0, WORD.1));
        Pe { elem: ElemType::I64, lo: word, hi: None, range, exact: true }
    }
}
