//! What a host must offer: vectors of 16 lanes and some 25 operations. This file has the contract, the choice of path and
//! the portable path in plain Rust; the x86 paths, and with them all unsafe code, are in `x86.rs`.

use std::fmt;
use std::str::FromStr;

use super::group::CHUNK;

/// Sixteen 32-bit lanes and what can be done with them. Masks have bit `i` for lane `i`.
pub(super) trait Simd {
    /// A vector.
    type V: Copy;
    /// A vector of int8 quadruples, prepared for [`dot_bytes`](Self::dot_bytes).
    type Bytes: Copy;
    /// Whether `dot_bytes` adds 128 times the sum of the weights too much.
    const BIASED: bool;

    fn load(from: &[i32; CHUNK]) -> Self::V;
    fn store(to: &mut [i32; CHUNK], v: Self::V);
    fn store_masked(to: &mut [i32; CHUNK], v: Self::V, mask: u16);
    fn splat(value: i32) -> Self::V;
    fn add(a: Self::V, b: Self::V) -> Self::V;
    fn sub(a: Self::V, b: Self::V) -> Self::V;
    fn and(a: Self::V, b: Self::V) -> Self::V;
    fn or(a: Self::V, b: Self::V) -> Self::V;
    fn xor(a: Self::V, b: Self::V) -> Self::V;
    fn min(a: Self::V, b: Self::V) -> Self::V;
    fn max(a: Self::V, b: Self::V) -> Self::V;
    fn abs(a: Self::V) -> Self::V;
    /// Shifts take counts in 0..32.
    fn shl(a: Self::V, n: Self::V) -> Self::V;
    fn shr(a: Self::V, n: Self::V) -> Self::V;
    fn sar(a: Self::V, n: Self::V) -> Self::V;
    fn eq(a: Self::V, b: Self::V) -> u16;
    fn gt(a: Self::V, b: Self::V) -> u16;
    /// `a` where the mask has a bit, else `b`.
    fn select(mask: u16, a: Self::V, b: Self::V) -> Self::V;
    /// Low 32 bits of the product.
    fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// Low 32 bits of the 64-bit product shifted right by `shift` in 0..32.
    fn mul_shr(a: Self::V, b: Self::V, shift: i32) -> Self::V;
    /// High 32 bits of the 64-bit product.
    fn mul_high(a: Self::V, b: Self::V) -> Self::V;
    fn bytes(v: Self::V) -> Self::Bytes;
    /// `acc` plus the four products of int8 lanes with int8 weights, plus the bias if `BIASED`.
    fn dot_bytes(acc: Self::V, x: Self::Bytes, weights: u32) -> Self::V;
    /// `acc` plus the two products of int16 lanes with int16 weights.
    fn dot_halves(acc: Self::V, x: Self::V, weights: u32) -> Self::V;
}

/// Which instructions of the host run the lane loops. Results are the same on every path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimdPath {
    /// Plain Rust, any host.
    Portable,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI.
    Avx512Vnni,
}

impl SimdPath {
    /// Every path, slowest first.
    pub const ALL: [SimdPath; 3] = [SimdPath::Portable, SimdPath::Avx2, SimdPath::Avx512Vnni];

    /// The fastest path that this host can run.
    pub fn detect() -> Self {
        Self::ALL.into_iter().rfind(|path| path.available()).expect("the portable path runs anywhere")
    }
    /// Whether this host can run the path.
    pub fn available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        match self {
            SimdPath::Portable => true,
            SimdPath::Avx2 => is_x86_feature_detected!("avx2"),
            SimdPath::Avx512Vnni => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == SimdPath::Portable
        }
    }
    /// The word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            SimdPath::Portable => "portable",
            SimdPath::Avx2 => "avx2",
            SimdPath::Avx512Vnni => "avx512vnni",
        }
    }
}
impl fmt::Display for SimdPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Text that names no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("simd path `{0}`: expected `portable`, `avx2` or `avx512vnni`")]
pub struct UnknownPath(
    /// The text.
    pub String,
);
impl FromStr for SimdPath {
    type Err = UnknownPath;

    fn from_str(text: &str) -> Result<Self, UnknownPath> {
        Self::ALL.into_iter().find(|p| p.word() == text).ok_or_else(|| UnknownPath(text.to_owned()))
    }
}

/// Plain Rust: loops over 16 lanes that the compiler may vectorise for the build's own target.
pub(super) struct Portable;

type Array16 = [i32; CHUNK];

#[inline(always)]
fn zip(a: Array16, b: Array16, f: impl Fn(i32, i32) -> i32) -> Array16 {
    std::array::from_fn(
        #[inline(always)]
        |i| f(a[i], b[i]),
    )
}

#[inline(always)]
fn mask(a: Array16, b: Array16, f: impl Fn(i32, i32) -> bool) -> u16 {
    let mut bits = 0;
    for i in 0..CHUNK {
        bits |= (f(a[i], b[i]) as u16) << i;
    }
    bits
}

impl Simd for Portable {
    type V = Array16;
    type Bytes = Array16;
    const BIASED: bool = false;

    #[inline(always)]
    fn load(from: &[i32; CHUNK]) -> Array16 {
        *from
    }
    #[inline(always)]
    fn store(to: &mut [i32; CHUNK], v: Array16) {
        *to = v;
    }
    #[inline(always)]
    fn store_masked(to: &mut [i32; CHUNK], v: Array16, mask: u16) {
        *to = if mask == u16::MAX { v } else { Self::select(mask, v, *to) };
    }
    #[inline(always)]
    fn splat(value: i32) -> Array16 {
        [value; CHUNK]
    }
    #[inline(always)]
    fn add(a: Array16, b: Array16) -> Array16 {
        zip(a, b, i32::wrapping_add)
    }
    #[inline(always)]
    fn sub(a: Array16, b: Array16) -> Array16 {
        zip(a, b, i32::wrapping_sub)
    }
    #[inline(always)]
    fn and(a: Array16, b: Array16) -> Array16 {
        zip(a, b, |a, b| a & b)
    }
    #[inline(always)]
    fn or(a: Array16, b: Array16) -> Array16 {
        zip(a, b, |a, b| a | b)
    }
    #[inline(always)]
    fn xor(a: Array16, b: Array16) -> Array16 {
        zip(a, b, |a, b| a ^ b)
    }
    #[inline(always)]
    fn min(a: Array16, b: Array16) -> Array16 {
        zip(a, b, i32::min)
    }
    #[inline(always)]
    fn max(a: Array16, b: Array16) -> Array16 {
        zip(a, b, i32::max)
    }
    #[inline(always)]
    fn abs(a: Array16) -> Array16 {
        zip(a, a, |a, _| a.wrapping_abs())
    }
    #[inline(always)]
    fn shl(a: Array16, n: Array16) -> Array16 {
        zip(a, n, |a, n| a.wrapping_shl(n as u32))
    }
    #[inline(always)]
    fn shr(a: Array16, n: Array16) -> Array16 {
        zip(a, n, |a, n| (a as u32).wrapping_shr(n as u32) as i32)
    }
    #[inline(always)]
    fn sar(a: Array16, n: Array16) -> Array16 {
        zip(a, n, |a, n| a.wrapping_shr(n as u32))
    }
    #[inline(always)]
    fn eq(a: Array16, b: Array16) -> u16 {
        mask(a, b, |a, b| a == b)
    }
    #[inline(always)]
    fn gt(a: Array16, b: Array16) -> u16 {
        mask(a, b, |a, b| a > b)
    }
    #[inline(always)]
    fn select(mask: u16, a: Array16, b: Array16) -> Array16 {
        let mut r = b;
        for i in 0..CHUNK {
            let keep = -((mask >> i & 1) as i32);
            r[i] = (a[i] & keep) | (b[i] & !keep);
        }
        r
    }
    #[inline(always)]
    fn mul(a: Array16, b: Array16) -> Array16 {
        zip(a, b, i32::wrapping_mul)
    }
    #[inline(always)]
    fn mul_shr(a: Array16, b: Array16, shift: i32) -> Array16 {
        zip(a, b, |a, b| ((a as i64 * b as i64) >> shift) as i32)
    }
    #[inline(always)]
    fn mul_high(a: Array16, b: Array16) -> Array16 {
        zip(a, b, |a, b| ((a as i64 * b as i64) >> 32) as i32)
    }
    #[inline(always)]
    fn bytes(v: Array16) -> Array16 {
        v
    }
    #[inline(always)]
    fn dot_bytes(acc: Array16, x: Array16, weights: u32) -> Array16 {
        let w = weights.to_le_bytes().map(|b| b as i8 as i32);
        let mut r = acc;
        for i in 0..CHUNK {
            let products = ((x[i] << 24) >> 24) * w[0]
                + ((x[i] << 16) >> 24) * w[1]
                + ((x[i] << 8) >> 24) * w[2]
                + (x[i] >> 24) * w[3];
            r[i] = acc[i].wrapping_add(products);
        }
        r
    }
    #[inline(always)]
    fn dot_halves(acc: Array16, x: Array16, weights: u32) -> Array16 {
        let (w0, w1) = (weights as i16 as i32, (weights >> 16) as i16 as i32);
        let mut r = acc;
        for i in 0..CHUNK {
            r[i] = acc[i].wrapping_add(((x[i] << 16) >> 16) * w0).wrapping_add((x[i] >> 16) * w1);
        }
        r
    }
}
