//! The paths for host instructions, chosen at run time, and the casts between handles: all `unsafe` of the crate.
//!
//! Simple loops are written once and compiled for AVX2 and for the build's own target ([`map1`] and its like); the dot products
//! of [`mac`](crate::tensor::mac) have a form for AVX-512 with VNNI, one for AVX2 and a portable one.
#![expect(unsafe_code, reason = "the one module for host instructions and layout casts; every use has its reason")]

use std::sync::atomic::{AtomicU8, Ordering};

use crate::native::state::Id;
use crate::tensor::Lrm;
use crate::value::{Elem, Q};

/// What the host can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Portable,
    Avx2,
    Vnni,
}

const UNKNOWN: u8 = u8::MAX;
static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The best path of this host.
#[inline]
pub(crate) fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        0 => Level::Portable,
        1 => Level::Avx2,
        2 => Level::Vnni,
        _ => detect(),
    }
}

#[cold]
fn detect() -> Level {
    let level = best();
    LEVEL.store(level as u8, Ordering::Relaxed);
    level
}

#[cfg(target_arch = "x86_64")]
fn best() -> Level {
    if !is_x86_feature_detected!("avx2") {
        Level::Portable
    } else if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
    {
        Level::Vnni
    } else {
        Level::Avx2
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn best() -> Level {
    Level::Portable
}

// ---- loops ----

/// A loop that is compiled for several targets.
trait Job {
    fn run(self);
}

macro_rules! maps {
    ($( $(#[$doc:meta])* $name:ident, $Job:ident, $enter:ident: $( $a:ident: $A:ident ),*; )*) => { $(
        struct $Job<'a, $($A,)* R, F> {
            $( $a: &'a [$A], )*
            out: &'a mut [R],
            f: F,
        }

        impl<$($A: Copy,)* R, F: Fn($($A),*) -> R> Job for $Job<'_, $($A,)* R, F> {
            #[inline(always)]
            fn run(self) {
                let n = self.out.len();
                $( let $a = &self.$a[..n]; )*
                for i in 0..n {
                    self.out[i] = (self.f)($($a[i]),*);
                }
            }
        }

        $(#[$doc])*
        #[inline]
        pub(crate) fn $name<$($A: Copy,)* R>($($a: &[$A],)* out: &mut [R], f: impl Fn($($A),*) -> R) {
            $enter($Job { $($a,)* out, f });
        }
    )* };
}

maps! {
    /// `out[i] = f(a[i])`.
    map1, Map1, dispatch: a: A;
    /// As [`map1`], for AVX-512 too: worth it where lanes are 64 bit wide.
    map1_wide, Map1Wide, dispatch_wide: a: A;
    /// `out[i] = f(a[i], b[i])`.
    map2, Map2, dispatch: a: A, b: B;
    /// `out[i] = f(a[i], b[i], c[i])`.
    map3, Map3, dispatch: a: A, b: B, c: C;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2<J: Job>(job: J) {
    job.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512<J: Job>(job: J) {
    job.run();
}

#[inline]
fn dispatch<J: Job>(job: J) {
    #[cfg(target_arch = "x86_64")]
    if level() >= Level::Avx2 {
        // SAFETY: `level` has found AVX2 on this host.
        return unsafe { run_avx2(job) };
    }
    job.run();
}

#[inline]
fn dispatch_wide<J: Job>(job: J) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Vnni {
        // SAFETY: `level` has found these features on this host.
        return unsafe { run_avx512(job) };
    }
    dispatch(job);
}

// ---- dot products ----

/// Lanes that one step of a path covers; vectors are padded to a multiple of it.
const BLOCK: usize = 64;

/// `out[o][lane] = sum over k of a[k][lane] * w(o, k)`, wrapping, for the first `n_lanes` lanes rounded up to [`BLOCK`].
///
/// `words[o * n_words + j]` holds the weights of inputs `4 j..4 j + 4` of output `o`, lowest byte first, 0 beyond the last
/// input.
pub(crate) fn dot_i8(level: Level, a: &[&[i8]], words: &[u32], out: &mut [&mut [i32]], n_lanes: usize) {
    let n_words = a.len().div_ceil(4);
    let n_lanes = n_lanes.next_multiple_of(BLOCK);
    assert_eq!(words.len(), out.len() * n_words, "a word of weights for four inputs of every output");
    assert!(a.iter().all(|a| a.len() >= n_lanes) && out.iter().all(|out| out.len() >= n_lanes), "vectors are padded");
    let mut first = 0;
    while first < out.len() {
        let n = if out.len() - first >= 4 { 4 } else { 1 };
        let (words, out) = (&words[first * n_words..][..n * n_words], &mut out[first..first + n]);
        match (level, n) {
            // SAFETY: `Level::Vnni` is only made where `best` has found the features; lengths were checked above.
            #[cfg(target_arch = "x86_64")]
            (Level::Vnni, 4) => unsafe { x86::dot_vnni::<4>(a, words, out, n_lanes) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            (Level::Vnni, _) => unsafe { x86::dot_vnni::<1>(a, words, out, n_lanes) },
            // SAFETY: `Level::Avx2` is only made where `best` has found it; lengths were checked above.
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, 4) => unsafe { x86::dot_avx2::<4>(a, words, out, n_lanes) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, _) => unsafe { x86::dot_avx2::<1>(a, words, out, n_lanes) },
            _ => dot_portable(a, words, out, n_lanes),
        }
        first += n;
    }
}

fn dot_portable(a: &[&[i8]], words: &[u32], out: &mut [&mut [i32]], n_lanes: usize) {
    let n_words = a.len().div_ceil(4);
    for (out, words) in out.iter_mut().zip(words.chunks_exact(n_words.max(1))) {
        for first in (0..n_lanes).step_by(BLOCK) {
            let mut sums = [0i32; BLOCK];
            for (k, a) in a.iter().enumerate() {
                let weight = words[k / 4].to_le_bytes()[k % 4] as i8 as i16;
                for (sum, a) in sums.iter_mut().zip(&a[first..first + BLOCK]) {
                    // At most 2^14: a product of two bytes fits 16 bits.
                    *sum = sum.wrapping_add((*a as i16 * weight) as i32);
                }
            }
            out[first..first + BLOCK].copy_from_slice(&sums);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::BLOCK;

    static ZEROS: [i8; BLOCK] = [0; BLOCK];

    /// `len` lanes of input `k`, zeros beyond the last input.
    #[inline(always)]
    fn lanes<'a>(a: &[&'a [i8]], k: usize, first: usize, len: usize) -> &'a [i8] {
        match a.get(k) {
            Some(a) => &a[first..first + len],
            None => &ZEROS[..len],
        }
    }

    /// # Safety
    /// The host has AVX-512 F, BW and VNNI; `n_lanes` is a multiple of 64; every vector has `n_lanes` elements; `words` has
    /// `N * ceil(a.len() / 4)` elements.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub unsafe fn dot_vnni<const N: usize>(a: &[&[i8]], words: &[u32], out: &mut [&mut [i32]], n_lanes: usize) {
        let n_words = a.len().div_ceil(4);
        // `vpdpbusd` wants one operand unsigned: the elements are raised by 128, and 128 times the weights taken off again.
        let raise = _mm512_set1_epi8(-128);
        let start: [i32; N] = std::array::from_fn(|o| {
            let own = &words[o * n_words..][..n_words];
            let sum =
                own.iter().flat_map(|word| word.to_le_bytes()).fold(0i32, |sum, b| sum.wrapping_add(b as i8 as i32));
            sum.wrapping_mul(-128)
        });
        for first in (0..n_lanes).step_by(BLOCK) {
            let mut sums = [[_mm512_setzero_si512(); 4]; N];
            for (sums, start) in sums.iter_mut().zip(start) {
                *sums = [_mm512_set1_epi32(start); 4];
            }
            for j in 0..n_words {
                // Loops, not closures: what a library function calls is not compiled for these features.
                let mut raised = [raise; 4];
                for (i, raised) in raised.iter_mut().enumerate() {
                    let from = lanes(a, 4 * j + i, first, BLOCK);
                    // SAFETY: `from` has 64 bytes.
                    *raised = _mm512_xor_si512(unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }, raise);
                }
                let [a0, a1, a2, a3] = raised;
                let (lo01, hi01) = (_mm512_unpacklo_epi8(a0, a1), _mm512_unpackhi_epi8(a0, a1));
                let (lo23, hi23) = (_mm512_unpacklo_epi8(a2, a3), _mm512_unpackhi_epi8(a2, a3));
                let quads = [
                    _mm512_unpacklo_epi16(lo01, lo23),
                    _mm512_unpackhi_epi16(lo01, lo23),
                    _mm512_unpacklo_epi16(hi01, hi23),
                    _mm512_unpackhi_epi16(hi01, hi23),
                ];
                for (o, sums) in sums.iter_mut().enumerate() {
                    let weights = _mm512_set1_epi32(words[o * n_words + j] as i32);
                    for (sum, quad) in sums.iter_mut().zip(quads) {
                        *sum = _mm512_dpbusd_epi32(*sum, quad, weights);
                    }
                }
            }
            for (out, sums) in out.iter_mut().zip(&sums) {
                let out = &mut out[first..first + BLOCK];
                // Unpacking leaves lanes 16 b + 4 r .. + 4 in part b of vector r.
                for (r, sum) in sums.iter().enumerate() {
                    let mut parts = [0i32; 16];
                    // SAFETY: `parts` has 64 bytes.
                    unsafe { _mm512_storeu_si512(parts.as_mut_ptr().cast(), *sum) };
                    for (b, part) in parts.as_chunks::<4>().0.iter().enumerate() {
                        out[16 * b + 4 * r..][..4].copy_from_slice(part);
                    }
                }
            }
        }
    }

    /// # Safety
    /// The host has AVX2; `n_lanes` is a multiple of 64; every vector has `n_lanes` elements; `words` has
    /// `N * ceil(a.len() / 4)` elements.
    #[target_feature(enable = "avx2")]
    pub unsafe fn dot_avx2<const N: usize>(a: &[&[i8]], words: &[u32], out: &mut [&mut [i32]], n_lanes: usize) {
        let n_words = a.len().div_ceil(4);
        // Weights as pairs of 16 bit, for `vpmaddwd`: no product of pairs overflows 32 bits.
        let pairs: Vec<[i32; 2]> = words
            .iter()
            .map(|word| {
                let [w0, w1, w2, w3] = word.to_le_bytes().map(|b| b as i8 as i16 as u16 as u32);
                [(w0 | w1 << 16) as i32, (w2 | w3 << 16) as i32]
            })
            .collect();
        const STEP: usize = 16;
        for first in (0..n_lanes).step_by(STEP) {
            let mut sums = [[_mm256_setzero_si256(); 2]; N];
            for j in 0..n_words {
                let mut wide = [_mm256_setzero_si256(); 4];
                for (i, wide) in wide.iter_mut().enumerate() {
                    let from = lanes(a, 4 * j + i, first, STEP);
                    // SAFETY: `from` has 16 bytes.
                    *wide = _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(from.as_ptr().cast()) });
                }
                let [a0, a1, a2, a3] = wide;
                let low = [_mm256_unpacklo_epi16(a0, a1), _mm256_unpackhi_epi16(a0, a1)];
                let high = [_mm256_unpacklo_epi16(a2, a3), _mm256_unpackhi_epi16(a2, a3)];
                for (o, sums) in sums.iter_mut().enumerate() {
                    let [w01, w23] = pairs[o * n_words + j];
                    let (w01, w23) = (_mm256_set1_epi32(w01), _mm256_set1_epi32(w23));
                    for ((sum, low), high) in sums.iter_mut().zip(low).zip(high) {
                        *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(low, w01));
                        *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(high, w23));
                    }
                }
            }
            for (out, [lo, hi]) in out.iter_mut().zip(&sums) {
                let out: &mut [i32] = &mut out[first..first + STEP];
                // Unpacking leaves lanes 0..4 and 8..12 in `lo`, 4..8 and 12..16 in `hi`.
                let front = _mm256_permute2x128_si256::<0x20>(*lo, *hi);
                let back = _mm256_permute2x128_si256::<0x31>(*lo, *hi);
                // SAFETY: `out` has 16 elements of 4 bytes.
                unsafe {
                    _mm256_storeu_si256(out.as_mut_ptr().cast(), front);
                    _mm256_storeu_si256(out[8..].as_mut_ptr().cast(), back);
                }
            }
        }
    }
}

// ---- handles ----

/// The handles of values.
pub(crate) fn ids<T: Elem>(values: &[Q<T>]) -> &[Id] {
    // SAFETY: `Q<T>` is `repr(transparent)` over `Id`.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

/// The handles of values, to be written.
pub(crate) fn ids_mut<T: Elem>(values: &mut [Q<T>]) -> &mut [Id] {
    // SAFETY: `Q<T>` is `repr(transparent)` over `Id`, and every `Id` is a `Q<T>`.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) }
}

/// Values of adjacent elements as a buffer.
pub(crate) fn lrm<T: Elem, const N: usize>(values: &[Q<T>; N]) -> &Lrm<T, N> {
    // SAFETY: `Lrm<T, N>` is `repr(transparent)` over `[Q<T>; N]`.
    unsafe { &*std::ptr::from_ref(values).cast() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::{Geometry, Session};
    use crate::prelude::*;

    #[test]
    fn loops_do_the_same_on_every_path() {
        let mut session = Session::with_geometry(Geometry { rows: 16, cols: 16, border: 4 });
        let all = [Level::Portable, Level::Avx2, Level::Vnni].into_iter().filter(|l| *l <= best());
        let results: Vec<_> = all
            .map(|level| {
                // Other tests may run on this path meanwhile; they expect the same of all.
                LEVEL.store(level as u8, Ordering::Relaxed);
                session
                    .run("paths", || {
                        let x = q_row() * 0x0123_4567 + (q_col() << 27) * (q_col() - 7);
                        let f = fx_raw::<20>(x);
                        let scaled = requant(x, Scale::from_f64(1.3e-7), HalfEven, Saturate);
                        let up = requant(x, Scale::from_f64(1.1e-7), HalfUp, Saturate);
                        let words =
                            [max(x, 5), abs(x) >> 3, fx_mul::<20>(f, f).raw(), exp::<12>(f).raw(), ln::<12>(f).raw()];
                        let bytes = [scaled, up, x.narrow::<i8>(Saturate), x.narrow::<i8>(Wrap)];
                        (words.map(Q::to_vec), bytes.map(Q::to_vec), select(crate::__rt::lt(x, 9), x, 1).to_vec())
                    })
                    .expect("the kernel is sound")
            })
            .collect();
        LEVEL.store(UNKNOWN, Ordering::Relaxed);
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn paths_agree_with_the_sum_of_products() {
        let mut seed = 7u32;
        let mut next = move || {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            (seed >> 24) as i8
        };
        for (k, n_out) in [(1, 1), (3, 4), (4, 4), (16, 1), (17, 16), (64, 4), (5, 6)] {
            let a: Vec<Vec<i8>> =
                (0..k).map(|i| (0..128).map(|_| if i % 5 == 0 { -128 } else { next() }).collect()).collect();
            let a: Vec<&[i8]> = a.iter().map(Vec::as_slice).collect();
            let w: Vec<Vec<i8>> =
                (0..n_out).map(|o| (0..k).map(|_| if o % 3 == 0 { -128 } else { next() }).collect()).collect();
            let words: Vec<u32> = w
                .iter()
                .flat_map(|w| w.chunks(4).map(|c| c.iter().rev().fold(0, |word: u32, b| (word << 8) | *b as u8 as u32)))
                .collect();
            for level in [Level::Portable, Level::Avx2, Level::Vnni].into_iter().filter(|l| *l <= best()) {
                let mut out = vec![vec![0i32; 128]; n_out];
                dot_i8(level, &a, &words, &mut out.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>(), 100);
                for (out, w) in out.iter().zip(&w) {
                    for (lane, out) in out.iter().enumerate() {
                        let sum: i32 = a.iter().zip(w).map(|(a, w)| a[lane] as i32 * *w as i32).sum();
                        assert_eq!(*out, sum, "{level:?} {k} x {n_out}, lane {lane}");
                    }
                }
            }
        }
    }
}
