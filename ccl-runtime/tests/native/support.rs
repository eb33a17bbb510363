//! Numbers without pattern, sessions on small and full arrays.

use ccl_runtime::native::{Geometry, Session};
use ccl_runtime::prelude::*;
use ccl_runtime::value::Elem;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    /// Any magnitude, corners among them.
    pub fn i32(&mut self) -> i32 {
        match self.below(8) {
            0 => [i32::MIN, i32::MAX, 0, 1, -1, -128, 127, i32::MIN + 1][self.below(8)],
            _ => (self.next() as i32) >> self.below(32),
        }
    }
    pub fn i8s(&mut self, n: usize) -> Vec<i8> {
        (0..n).map(|_| if self.below(10) == 0 { -128 } else { self.next() as i8 }).collect()
    }
    pub fn i32s(&mut self, n: usize) -> Vec<i32> {
        (0..n).map(|_| self.i32()).collect()
    }
}

/// 8x8, 32x32, and one that is no multiple of anything.
pub const ARRAYS: [Geometry; 3] = [
    Geometry { rows: 8, cols: 8, border: 4 },
    Geometry { rows: 32, cols: 32, border: 4 },
    Geometry { rows: 5, cols: 7, border: 2 },
];

/// Runs `body` on an array of 32x32.
#[track_caller]
pub fn on_array<R>(body: impl FnOnce() -> R) -> R {
    Session::with_geometry(ARRAYS[1]).run("test", body).expect("the test is sound")
}

/// Applies `f` to values of two sequences, as many at a time as the array holds, and hands results to `check`.
#[track_caller]
pub fn each_pair<A: Elem, B: Elem, R: Elem>(a: &[A], b: &[B], f: impl Fn(Q<A>, Q<B>) -> Q<R>, check: impl Fn(A, B, R)) {
    let fill = |v: &[A]| {
        let mut v = v.to_vec();
        v.resize(1024, v[0]);
        v
    };
    let fill_b = |v: &[B]| {
        let mut v = v.to_vec();
        v.resize(1024, v[0]);
        v
    };
    for (a, b) in a.chunks(1024).zip(b.chunks(1024)) {
        let got = on_array(|| f(Q::from_slice(&fill(a)), Q::from_slice(&fill_b(b))).to_vec());
        for ((a, b), got) in a.iter().zip(b).zip(got) {
            check(*a, *b, got);
        }
    }
}

/// Every pair of int8.
pub fn all_pairs() -> (Vec<i8>, Vec<i8>) {
    (i8::MIN..=i8::MAX).flat_map(|a| (i8::MIN..=i8::MAX).map(move |b| (a, b))).unzip()
}
