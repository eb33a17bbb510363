//! Roundings: requantise, quantise, dequantise, rescale, shift with rounding.
//!
//! A product `p = a * m` is rounded at bit `s` from `t = p >> (s - 1)`, which one `fx_mul` gives: half up is `(t + 1) >> 1`. Half to
//! even differs in ties that go to an odd number, `t = 1 mod 4` with nothing below. Let `m = odd * 2^z`: below is nothing if and only
//! if `a` is a multiple of `2^e`, `e = s - 1 - z`; then `t = odd * a / 2^e`, and since `odd * odd = 1 mod 8` the tie is
//! `a = odd * 2^e mod 2^(e + 2)`: a mask and a comparison, whose outcome is added instead of the 1. A tie within the range of
//! the result needs an odd part of at most twice that range, so that almost all scales of 24 bits have none.

use iss::isa::operand::Cond;

use super::cx::Cx;
use super::error::R;
use super::value::Pe;
use crate::ir::{self, AluOp, Src};
use crate::kernel::ElemType;
use crate::value::{Overflow, Rounding, Scale};

/// A product that is rounded.
#[derive(Clone, Copy)]
struct Scaled {
    a: Pe,
    m: i64,
    s: i32,
    rounding: Rounding,
    /// Added to the result.
    offset: i64,
    /// Greatest magnitude of results that are told apart, before they saturate; none if low bits count.
    limit: Option<i64>,
}

impl Cx<'_> {
    /// `clamp(round(a * scale) + offset)` to int8.
    pub(super) fn scale_to_i8(
        &mut self,
        a: Pe,
        scale: Scale,
        rounding: Rounding,
        overflow: Overflow,
        offset: i32,
    ) -> R<Pe> {
        let a = self.exact(a);
        let offset = offset as i64;
        if offset.abs() > 1 << 16 {
            return self.fail(format!("a zero point of {offset}"), "zero points are those of 8 bits");
        }
        let (m, s) = (scale.mantissa as i64, scale.shift);
        if m.abs() >= 1 << 30 {
            return self.fail(format!("a mantissa of {m}"), "mantissas have 24 bits: shift both down");
        }
        let limit = (overflow == Overflow::Saturate).then_some(offset.abs() + 130);
        let v = self.scaled(Scaled { a, m, s, rounding, offset, limit })?;
        let range = bounds(a.range, m, s);
        let range = (range.0 + offset as i128, range.1 + offset as i128);
        if overflow == Overflow::Wrap {
            return Ok(Self::wrapped(ElemType::I8, v, range));
        }
        let clamped = (range.0.clamp(-128, 127) as i64, range.1.clamp(-128, 127) as i64);
        if range.0 >= -128 && range.1 <= 127 {
            return Ok(Pe::ranged(ElemType::I8, v, clamped));
        }
        Ok(Pe::ranged(ElemType::I8, self.clip(v, -128, 127), clamped))
    }

    /// The word of a rounded product, right where it does not saturate.
    fn scaled(&mut self, mut p: Scaled) -> R<Src> {
        let offset = p.offset as i32;
        if p.m == 0 || p.a.range == (0, 0) {
            return Ok(Src::Imm(offset));
        }
        if p.s <= 0 {
            let v = self.multiplied(p);
            return Ok(self.bin(ir::BinOp::Add, v, offset));
        }
        if p.s >= 63 {
            let floor = if p.rounding == Rounding::Floor { self.mul(p.a.lo, p.m as i32, 63) } else { Src::Imm(0) };
            return Ok(self.bin(ir::BinOp::Add, floor, offset));
        }
        p.a = self.limited(p);
        let (z, m) = (p.m.trailing_zeros() as i32, p.m as i32);
        let odd = p.m >> z;
        // `a` has to be a multiple of 2^e for a tie, of 2^(e + 1) for an exact result.
        let e = p.s - 1 - z;
        if e < 0 || p.rounding == Rounding::Floor {
            let v = self.mul(p.a.lo, m, p.s as i8);
            return Ok(self.bin(ir::BinOp::Add, v, offset));
        }
        if p.rounding == Rounding::TowardZero {
            return Ok(self.toward_zero(p, e));
        }
        let t = self.half(p.a.lo, m, p.s);
        let most = p.a.range.0.unsigned_abs().max(p.a.range.1.unsigned_abs());
        let reachable = e <= 31 && most >= 1 << e && p.limit.is_none_or(|limit| odd.abs() <= 2 * limit + 1);
        let one = match p.rounding {
            Rounding::HalfEven if reachable => self.no_tie(p.a.lo, odd, e),
            _ => Src::Imm(1),
        };
        let u = match one {
            Src::Imm(one) => self.bin(ir::BinOp::Add, t, one + 2 * offset),
            one => {
                let u = self.bin(ir::BinOp::Add, t, one);
                self.bin(ir::BinOp::Add, u, 2 * offset)
            }
        };
        Ok(self.bin(ir::BinOp::Sar, u, 1))
    }

    /// `(a * m) >> (s - 1)`.
    fn half(&mut self, a: Src, m: i32, s: i32) -> Src {
        if m == 1 { self.bin(ir::BinOp::Sar, a, (s - 1).min(31)) } else { self.mul(a, m, (s - 1) as i8) }
    }

    /// 0 where the product is a tie that half up rounds to an odd number, else 1.
    fn no_tie(&mut self, a: Src, odd: i64, e: i32) -> Src {
        let odd = odd.rem_euclid(4);
        if e == 31 {
            // The least number alone, 3 * 2^31 modulo 2^33.
            return if odd == 3 { self.set(Cond::Ne, a, i32::MIN) } else { Src::Imm(1) };
        }
        let low = if e >= 30 { a } else { self.bin(ir::BinOp::And, a, ((1i64 << (e + 2)) - 1) as i32) };
        self.set(Cond::Ne, low, (odd << e) as i32)
    }

    fn toward_zero(&mut self, p: Scaled, e: i32) -> Src {
        if p.m == 1 && (1..=31).contains(&p.s) {
            // What a negative number is short of the next multiple is at most all ones: copies of its sign.
            let small = 1i64 << (32 - p.s);
            let ones = if -small <= p.a.range.0 && p.a.range.1 < small {
                self.bin(ir::BinOp::Shr, p.a.lo, 32 - p.s)
            } else {
                let sign = self.bin(ir::BinOp::Sar, p.a.lo, 31);
                self.bin(ir::BinOp::And, sign, ((1i64 << p.s) - 1) as i32)
            };
            let up = self.bin(ir::BinOp::Add, p.a.lo, ones);
            let v = self.bin(ir::BinOp::Sar, up, p.s);
            return self.bin(ir::BinOp::Add, v, p.offset as i32);
        }
        let floor = self.mul(p.a.lo, p.m as i32, p.s as i8);
        let sign = if p.m > 0 { p.a.range } else { (-p.a.range.1, -p.a.range.0) };
        let offset = p.offset as i32;
        if sign.0 >= 0 {
            return self.bin(ir::BinOp::Add, floor, offset);
        }
        let below = if e + 1 >= 32 { p.a.lo } else { self.bin(ir::BinOp::And, p.a.lo, ((1i64 << (e + 1)) - 1) as i32) };
        let inexact = self.set(Cond::Ne, below, 0);
        let negative = self.set(Cond::Lt, floor, 0);
        let up = self.bin(ir::BinOp::And, inexact, negative);
        let v = self.bin(ir::BinOp::Add, floor, up);
        self.bin(ir::BinOp::Add, v, offset)
    }

    /// `a` such that no product leaves the word that it is kept in; what is cut off saturates.
    fn limited(&mut self, p: Scaled) -> Pe {
        let Some(limit) = p.limit else { return p.a };
        let most = p.a.range.0.unsigned_abs().max(p.a.range.1.unsigned_abs()) as u128;
        let m = p.m.unsigned_abs() as u128;
        if (most * m) >> (p.s - 1) < (1 << 31) - 2 * limit.unsigned_abs() as u128 - 2 {
            return p.a;
        }
        let enough = (((limit as u128) << p.s).div_ceil(m)).min(i32::MAX as u128) as i64;
        let range = (p.a.range.0.clamp(-enough, enough), p.a.range.1.clamp(-enough, enough));
        Pe { lo: self.clip(p.a.lo, -enough, enough), range, ..p.a }
    }

    /// A product by a factor that is no fraction.
    fn multiplied(&mut self, p: Scaled) -> Src {
        let up = (-p.s).min(31);
        let Some(limit) = p.limit else { return self.mul(p.a.lo, p.m as i32, -up as i8) };
        let factor = (p.m.unsigned_abs() as u128) << (-p.s).min(64);
        let most = p.a.range.0.unsigned_abs().max(p.a.range.1.unsigned_abs()) as u128;
        if most * factor < 1 << 31 {
            return self.mul(p.a.lo, (p.m << up) as i32, 0);
        }
        let enough = (limit as u128).div_ceil(factor) as i64;
        let a = self.clip(p.a.lo, -enough, enough);
        // Every number but 0 saturates under a great factor, whichever it is.
        let factor = factor.min(1 << 20) as i32;
        self.mul(a, if p.m < 0 { -factor } else { factor }, 0)
    }

    /// `(x - zero) * scale` with `fraction` fraction bits.
    pub(super) fn pe_dequantize(&mut self, x: Pe, scale: Scale, zero: i32, fraction: u8) -> Pe {
        let x = self.exact(x);
        let centred = self.bin(ir::BinOp::Sub, x.lo, zero);
        let range = (x.range.0 - zero as i64, x.range.1 - zero as i64);
        let shift = scale.shift - fraction as i32;
        let range = if range.0 < i32::MIN as i64 || range.1 > i32::MAX as i64 { super::pe::WORD } else { range };
        self.fx_product(
            fraction,
            (centred, range),
            (Src::Imm(scale.mantissa), (scale.mantissa.into(), scale.mantissa.into())),
            shift,
        )
    }

    /// `low32((a * b) >> shift)` as a fixed-point number.
    pub(super) fn fx_product(&mut self, fraction: u8, a: (Src, (i64, i64)), b: (Src, (i64, i64)), shift: i32) -> Pe {
        if shift < -31 {
            return Pe::number(ElemType::Fx(fraction), 0);
        }
        let lo = self.alu(AluOp::FxMul(shift.min(63) as i8), a.0, b.0);
        let corners = [a.1.0, a.1.1].map(|x| [b.1.0, b.1.1].map(|y| x as i128 * y as i128)).concat();
        let (least, most) = (corners.iter().min().copied(), corners.iter().max().copied());
        let scaled = |v: Option<i128>| {
            let v = v.expect("four corners");
            if shift >= 0 { v >> shift.min(63) } else { v << -shift }
        };
        Self::wrapped(ElemType::Fx(fraction), lo, (scaled(least), scaled(most)))
    }

    /// The same number with other fraction bits; `drop` of them go, or `-drop` come.
    pub(super) fn pe_rescale(&mut self, a: Pe, to: u8, drop: i32, rounding: Rounding, overflow: Overflow) -> R<Pe> {
        let elem = ElemType::Fx(to);
        if drop > 0 {
            let rounded = self.pe_round(a, drop as u32, rounding)?;
            return Ok(Pe { elem, ..rounded });
        }
        let up = -drop;
        let (lo, hi) = a.range;
        let range = ((lo as i128) << up, (hi as i128) << up);
        let fits = range.0 >= i32::MIN as i128 && range.1 <= i32::MAX as i128;
        if overflow == Overflow::Wrap || fits {
            let word = self.bin(ir::BinOp::Shl, a.lo, up);
            return Ok(Self::wrapped(elem, word, range));
        }
        // One end is a power of two too far to be reached from below: it saturates apart.
        let (least, most) = (i32::MIN >> up, i32::MAX >> up);
        let shifted = self.bin(ir::BinOp::Shl, a.lo, up);
        let low = self.sel(Cond::Lt, [a.lo, Src::Imm(least), Src::Imm(i32::MIN), shifted]);
        let word = self.sel(Cond::Gt, [a.lo, Src::Imm(most), Src::Imm(i32::MAX), low]);
        Ok(Pe::new(elem, word))
    }

    /// `round(a / 2^n)` in the type of `a`.
    pub(super) fn pe_round(&mut self, a: Pe, n: u32, rounding: Rounding) -> R<Pe> {
        let a = self.exact(a);
        if n == 0 {
            return Ok(a);
        }
        if a.hi.is_some() {
            return self.wide_round(a, n, rounding);
        }
        let range = bounds(a.range, 1, n as i32);
        let range = (range.0.max(a.range.0.min(0) as i128) as i64, range.1.min(a.range.1.max(0) as i128) as i64);
        let v = if rounding == Rounding::Floor {
            self.bin(ir::BinOp::Sar, a.lo, n.min(31) as i32)
        } else if n >= 33 || (n == 32 && rounding != Rounding::Floor) {
            Src::Imm(0)
        } else {
            let p = Scaled { a, m: 1, s: n as i32, rounding, offset: 0, limit: None };
            match rounding {
                // Half of the greatest number, rounded up, by way of a sum that fits.
                Rounding::HalfUp | Rounding::HalfEven if n == 1 && a.range.1 == i32::MAX as i64 => {
                    let bits = if rounding == Rounding::HalfUp { 1 } else { 3 };
                    let low = self.bin(ir::BinOp::And, a.lo, bits);
                    let up = self.set(Cond::Eq, low, bits);
                    let floor = self.bin(ir::BinOp::Sar, a.lo, 1);
                    self.bin(ir::BinOp::Add, floor, up)
                }
                Rounding::HalfUp if a.range.1.saturating_add(1 << (n - 1)) <= i32::MAX as i64 => {
                    let u = self.bin(ir::BinOp::Add, a.lo, 1 << (n - 1));
                    self.bin(ir::BinOp::Sar, u, n as i32)
                }
                _ => self.scaled(p)?,
            }
        };
        Ok(Pe { lo: v, range, ..a })
    }

    fn wide_round(&mut self, a: Pe, n: u32, rounding: Rounding) -> R<Pe> {
        use ccl_syntax::ast::BinOp;
        let wide = |v: i64| Pe::number(ElemType::I64, v);
        if rounding == Rounding::Floor {
            return self.wide_shift(false, a, n.min(63));
        }
        if n >= 64 {
            return Ok(wide(0));
        }
        if n == 63 {
            return self.sign_rounded(a, rounding);
        }
        if rounding == Rounding::TowardZero {
            let negative = self.wide_compare(BinOp::Lt, a, wide(0))?;
            let biased = self.wide_binary(BinOp::Add, a, wide((1i64 << n) - 1))?;
            let a = self.blend(negative, biased, a)?;
            return self.wide_shift(false, a, n);
        }
        let t = self.wide_shift(false, a, n - 1)?;
        let one = match rounding {
            Rounding::HalfEven => {
                let mask = wide(((1i128 << (n + 1)) - 1) as i64);
                let low = self.wide_binary(BinOp::BitAnd, a, mask)?;
                let tie = self.pe_binary(BinOp::Ne, low, wide(1 << (n - 1)))?;
                Pe { elem: ElemType::I64, ..tie }
            }
            _ => wide(1),
        };
        let u = self.wide_binary(BinOp::Add, t, one)?;
        self.wide_shift(false, u, 1)
    }
}

impl Cx<'_> {
    /// `round(a / 2^63)`: -1, 0 or 1, by comparison with the halves.
    fn sign_rounded(&mut self, a: Pe, rounding: Rounding) -> R<Pe> {
        use ccl_syntax::ast::BinOp;
        let wide = |v: i64| Pe::number(ElemType::I64, v);
        let zero = Pe::number(ElemType::Bool, 0);
        let (up, down) = match rounding {
            Rounding::HalfUp => {
                (self.wide_compare(BinOp::Ge, a, wide(1 << 62))?, self.wide_compare(BinOp::Lt, a, wide(-(1 << 62)))?)
            }
            Rounding::HalfEven => {
                (self.wide_compare(BinOp::Gt, a, wide(1 << 62))?, self.wide_compare(BinOp::Lt, a, wide(-(1 << 62)))?)
            }
            Rounding::TowardZero => (zero, self.wide_compare(BinOp::Eq, a, wide(i64::MIN))?),
            Rounding::Floor => (zero, self.wide_compare(BinOp::Lt, a, wide(0))?),
        };
        Ok(Pe::ranged(ElemType::I64, self.bin(ir::BinOp::Sub, up.lo, down.lo), (-1, 1)))
    }
}

/// Bounds of `round(a * m / 2^s)` under any rounding.
fn bounds(a: (i64, i64), m: i64, s: i32) -> (i128, i128) {
    let (x, y) = (a.0 as i128 * m as i128, a.1 as i128 * m as i128);
    let (lo, hi) = (x.min(y), x.max(y));
    match s {
        ..=0 => (lo << (-s).min(60), hi << (-s).min(60)),
        _ => (lo >> s.min(100), (hi >> s.min(100)) + 1),
    }
}
