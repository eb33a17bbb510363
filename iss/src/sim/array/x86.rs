//! The x86-64 paths: AVX2 and AVX-512 with VNNI. The crate's only unsafe code.
//!
//! The vector types are private, and code generic over them is entered only through the methods of
//! [`Host`], whose maker checks that the host has the path's features; all of it is inlined into functions compiled for them.
#![expect(unsafe_code, reason = "host vector instructions")]

use std::arch::x86_64::*;

use super::exec;
use super::exec::{GroupFault, Share};
use super::group::{CHUNK, Lanes};
use super::simd::{Portable, Simd, SimdPath};
use super::trace::{Operand, TraceBuffer};

/// AVX-512 F, BW, DQ, VL and VNNI.
struct Avx512;
/// AVX2.
struct Avx2;

/// A path whose instructions this host has; only [`Host::new`] makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host(SimdPath);

impl Host {
    /// Checks that the host has the path's instructions.
    ///
    /// # Panics
    /// If it lacks them.
    pub fn new(path: SimdPath) -> Self {
        assert!(path.available(), "simd path `{path}`: this host lacks its instructions");
        Self(path)
    }
    /// The path.
    pub fn path(self) -> SimdPath {
        self.0
    }
}

/// Entry points of a path: generic functions of `exec.rs` compiled with the path's features.
macro_rules! entry_points {
    ($( $(#[$doc:meta])* $name:ident($($arg:ident: $Arg:ty),*) -> $Ret:ty; )*) => { impl Host { $(
        $(#[$doc])*
        pub fn $name(self, $($arg: $Arg),*) -> $Ret {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,popcnt")]
            fn avx512($($arg: $Arg),*) -> $Ret {
                exec::$name::<Avx512>($($arg),*)
            }
            #[target_feature(enable = "avx2,popcnt")]
            fn avx2($($arg: $Arg),*) -> $Ret {
                exec::$name::<Avx2>($($arg),*)
            }
            match self.0 {
                SimdPath::Portable => exec::$name::<Portable>($($arg),*),
                // SAFETY: `Host::new` found every feature that `avx2` enables; each host with AVX2 has POPCNT.
                SimdPath::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: `Host::new` found every feature that `avx512` enables; each host with AVX-512 has the others.
                SimdPath::Avx512Vnni => unsafe { avx512($($arg),*) },
            }
        }
    )* } };
}

exec::for_each_entry!(entry_points);

/// Operations that are an expression over intrinsics without pointers.
macro_rules! ops {
    ($( fn $name:ident($($arg:ident: $Arg:ty),*) -> $Ret:ty = $body:expr; )*) => { $(
        #[inline(always)]
        fn $name($($arg: $Arg),*) -> $Ret {
            // SAFETY: these intrinsics take values only; the host has their features, because the type is private to this
            // module and `Host` checks them.
            unsafe { $body }
        }
    )* };
}

impl Simd for Avx512 {
    type V = __m512i;
    type Bytes = __m512i;
    const BIASED: bool = true;

    #[inline(always)]
    fn load(from: &[i32; CHUNK]) -> __m512i {
        // SAFETY: the array has the 64 bytes that are read; the load needs no alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(to: &mut [i32; CHUNK], v: __m512i) {
        // SAFETY: the array has the 64 bytes that are written; the store needs no alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
    }
    #[inline(always)]
    fn store_masked(to: &mut [i32; CHUNK], v: __m512i, mask: u16) {
        // SAFETY: the array has all 64 bytes of which some are written; the store needs no alignment.
        unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr(), mask, v) }
    }
    ops! {
        fn splat(value: i32) -> __m512i = _mm512_set1_epi32(value);
        fn add(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        fn sub(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi32(a, b);
        fn and(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        fn or(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
        fn xor(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        fn min(a: __m512i, b: __m512i) -> __m512i = _mm512_min_epi32(a, b);
        fn max(a: __m512i, b: __m512i) -> __m512i = _mm512_max_epi32(a, b);
        fn abs(a: __m512i) -> __m512i = _mm512_abs_epi32(a);
        fn shl(a: __m512i, n: __m512i) -> __m512i = _mm512_sllv_epi32(a, n);
        fn shr(a: __m512i, n: __m512i) -> __m512i = _mm512_srlv_epi32(a, n);
        fn sar(a: __m512i, n: __m512i) -> __m512i = _mm512_srav_epi32(a, n);
        fn eq(a: __m512i, b: __m512i) -> u16 = _mm512_cmpeq_epi32_mask(a, b);
        fn gt(a: __m512i, b: __m512i) -> u16 = _mm512_cmpgt_epi32_mask(a, b);
        fn select(mask: u16, a: __m512i, b: __m512i) -> __m512i = _mm512_mask_blend_epi32(mask, b, a);
        fn mul(a: __m512i, b: __m512i) -> __m512i = _mm512_mullo_epi32(a, b);
        fn mul_shr(a: __m512i, b: __m512i, shift: i32) -> __m512i = {
            let count = _mm_cvtsi32_si128(shift);
            let even = _mm512_mul_epi32(a, b);
            let odd = _mm512_mul_epi32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            let odd = _mm512_slli_epi64::<32>(_mm512_srl_epi64(odd, count));
            _mm512_mask_blend_epi32(0xaaaa, _mm512_srl_epi64(even, count), odd)
        };
        fn mul_high(a: __m512i, b: __m512i) -> __m512i = {
            let even = _mm512_mul_epi32(a, b);
            let odd = _mm512_mul_epi32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64::<32>(even), odd)
        };
        fn bytes(v: __m512i) -> __m512i = _mm512_xor_si512(v, _mm512_set1_epi8(i8::MIN));
        fn dot_bytes(acc: __m512i, x: __m512i, weights: u32) -> __m512i =
            _mm512_dpbusd_epi32(acc, x, _mm512_set1_epi32(weights as i32));
        fn dot_halves(acc: __m512i, x: __m512i, weights: u32) -> __m512i =
            _mm512_dpwssd_epi32(acc, x, _mm512_set1_epi32(weights as i32));
    }
}

/// Two registers of eight lanes.
type Pair = (__m256i, __m256i);

/// A mask bit spread over each of eight lanes.
#[inline(always)]
fn spread(mask: u16) -> __m256i {
    // SAFETY: value intrinsics; only the methods of `Avx2` call this, on hosts that have AVX2.
    unsafe {
        let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask as i32), bits), bits)
    }
}

/// Value operations done alike on both halves of a pair.
macro_rules! pair_ops {
    ($( fn $name:ident($($arg:ident),*) = $intrinsic:ident; )*) => { $(
        #[inline(always)]
        fn $name($($arg: Pair),*) -> Pair {
            // SAFETY: the intrinsic takes values only; the host has AVX2, because the type is private to this module and
            // `Host` checks it.
            unsafe { ($intrinsic($($arg.0),*), $intrinsic($($arg.1),*)) }
        }
    )* };
}

/// Applies a function of eight lanes to both halves.
#[inline(always)]
fn both(a: Pair, b: Pair, f: impl Fn(__m256i, __m256i) -> __m256i) -> Pair {
    (f(a.0, b.0), f(a.1, b.1))
}

impl Simd for Avx2 {
    type V = Pair;
    /// Even and odd bytes, widened to int16.
    type Bytes = (Pair, Pair);
    const BIASED: bool = false;

    #[inline(always)]
    fn load(from: &[i32; CHUNK]) -> Pair {
        let from = from.as_ptr();
        // SAFETY: the array has the two times 32 bytes that are read; the loads need no alignment.
        unsafe { (_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(8).cast())) }
    }
    #[inline(always)]
    fn store(to: &mut [i32; CHUNK], v: Pair) {
        let to = to.as_mut_ptr();
        // SAFETY: the array has the two times 32 bytes that are written; the stores need no alignment.
        unsafe {
            _mm256_storeu_si256(to.cast(), v.0);
            _mm256_storeu_si256(to.add(8).cast(), v.1);
        }
    }
    #[inline(always)]
    fn store_masked(to: &mut [i32; CHUNK], v: Pair, mask: u16) {
        if mask == u16::MAX {
            Self::store(to, v);
        } else {
            let merged = Self::select(mask, v, Self::load(to));
            Self::store(to, merged);
        }
    }
    pair_ops! {
        fn add(a, b) = _mm256_add_epi32;
        fn sub(a, b) = _mm256_sub_epi32;
        fn and(a, b) = _mm256_and_si256;
        fn or(a, b) = _mm256_or_si256;
        fn xor(a, b) = _mm256_xor_si256;
        fn min(a, b) = _mm256_min_epi32;
        fn max(a, b) = _mm256_max_epi32;
        fn abs(a) = _mm256_abs_epi32;
        fn shl(a, n) = _mm256_sllv_epi32;
        fn shr(a, n) = _mm256_srlv_epi32;
        fn sar(a, n) = _mm256_srav_epi32;
        fn mul(a, b) = _mm256_mullo_epi32;
    }
    ops! {
        fn splat(value: i32) -> Pair = {
            let v = _mm256_set1_epi32(value);
            (v, v)
        };
        fn eq(a: Pair, b: Pair) -> u16 = bits(both(a, b, #[inline(always)] |a, b| _mm256_cmpeq_epi32(a, b)));
        fn gt(a: Pair, b: Pair) -> u16 = bits(both(a, b, #[inline(always)] |a, b| _mm256_cmpgt_epi32(a, b)));
        fn select(mask: u16, a: Pair, b: Pair) -> Pair =
            (_mm256_blendv_epi8(b.0, a.0, spread(mask)), _mm256_blendv_epi8(b.1, a.1, spread(mask >> 8)));
        fn mul_shr(a: Pair, b: Pair, shift: i32) -> Pair = {
            let count = _mm_cvtsi32_si128(shift);
            both(a, b, #[inline(always)] |a, b| {
                let even = _mm256_mul_epi32(a, b);
                let odd = _mm256_mul_epi32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
                let odd = _mm256_slli_epi64::<32>(_mm256_srl_epi64(odd, count));
                _mm256_blend_epi32::<0b1010_1010>(_mm256_srl_epi64(even, count), odd)
            })
        };
        fn mul_high(a: Pair, b: Pair) -> Pair = both(a, b, #[inline(always)] |a, b| {
            let even = _mm256_mul_epi32(a, b);
            let odd = _mm256_mul_epi32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
            _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd)
        });
        fn bytes(v: Pair) -> (Pair, Pair) = {
            let even = both(v, v, #[inline(always)] |v, _| _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(v)));
            let odd = both(v, v, #[inline(always)] |v, _| _mm256_srai_epi16::<8>(v));
            (even, odd)
        };
        fn dot_bytes(acc: Pair, x: (Pair, Pair), weights: u32) -> Pair = {
            let w = _mm256_set1_epi32(weights as i32);
            let even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(w));
            let odd = _mm256_srai_epi16::<8>(w);
            // Sums of four products of bytes fit 32 bit, so the order of additions does not matter.
            let sum = both(x.0, x.1, #[inline(always)] |e, o| _mm256_add_epi32(_mm256_madd_epi16(e, even), _mm256_madd_epi16(o, odd)));
            both(acc, sum, #[inline(always)] |a, s| _mm256_add_epi32(a, s))
        };
        fn dot_halves(acc: Pair, x: Pair, weights: u32) -> Pair = {
            let w = _mm256_set1_epi32(weights as i32);
            // The one pair whose sum does not fit, four times -32768, gives 2^31 modulo 2^32, as it should.
            both(acc, x, #[inline(always)] |a, x| _mm256_add_epi32(a, _mm256_madd_epi16(x, w)))
        };
    }
}

/// The sign bit of each lane.
#[inline(always)]
fn bits(v: Pair) -> u16 {
    // SAFETY: value intrinsics; only the methods of `Avx2` call this, on hosts that have AVX2.
    unsafe {
        let low = _mm256_movemask_ps(_mm256_castsi256_ps(v.0)) as u16;
        let high = _mm256_movemask_ps(_mm256_castsi256_ps(v.1)) as u16;
        low | high << 8
    }
}
