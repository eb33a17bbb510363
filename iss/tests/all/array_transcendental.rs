//! `exp` and `log` are correctly rounded: checked by power series in 256-bit fixed point with 192 fraction bits, which
//! needs nothing but products and quotients of long numbers with short ones.

use iss::sim::array::*;

/// A small deterministic generator (splitmix64).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Fraction bits of a [`Wide`].
const FRAC: u32 = 192;

/// A number of 320 bits, little-endian limbs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Wide([u32; 10]);

impl Wide {
    /// `value * 2^shift`.
    fn shifted(value: u64, shift: u32) -> Self {
        let mut limbs = [0; 10];
        let (limb, bit) = (shift as usize / 32, shift % 32);
        let spread = (value as u128) << bit;
        (0..3).for_each(|i| limbs[limb + i] = (spread >> (32 * i)) as u32);
        Self(limbs)
    }
    fn mul(mut self, by: u64) -> Self {
        let mut carry = 0u128;
        for limb in &mut self.0 {
            carry += *limb as u128 * by as u128;
            *limb = carry as u32;
            carry >>= 32;
        }
        assert_eq!(carry, 0, "the product fits");
        self
    }
    fn div(mut self, by: u64) -> Self {
        let mut rest = 0u128;
        for limb in self.0.iter_mut().rev() {
            rest = rest << 32 | *limb as u128;
            *limb = (rest / by as u128) as u32;
            rest %= by as u128;
        }
        self
    }
    fn add(mut self, other: Self) -> Self {
        let mut carry = 0u64;
        for (limb, other) in self.0.iter_mut().zip(other.0) {
            carry += *limb as u64 + other as u64;
            *limb = carry as u32;
            carry >>= 32;
        }
        self
    }
    fn sub(mut self, other: Self) -> Self {
        let mut borrow = 0i64;
        for (limb, other) in self.0.iter_mut().zip(other.0) {
            borrow += *limb as i64 - other as i64;
            *limb = borrow as u32;
            borrow >>= 32;
        }
        assert_eq!(borrow, 0, "the difference is not negative");
        self
    }
    fn less(self, other: Self) -> bool {
        self.0.iter().rev().lt(other.0.iter().rev())
    }
}

/// `exp(num / 2^shift)` for an exponent within -23..=23: the sums of the positive and negative terms, subtracted.
fn exp(num: i64, shift: u32) -> Wide {
    let mut sums = [Wide([0; 10]); 2];
    let mut term = Wide::shifted(1, FRAC);
    for k in 1..400u64 {
        let negative = num < 0 && k % 2 == 0;
        sums[negative as usize] = sums[negative as usize].add(term);
        term = term.mul(num.unsigned_abs()).div(1 << shift).div(k);
        if term == Wide([0; 10]) {
            break;
        }
    }
    sums[0].sub(sums[1])
}

/// Whether `got` is `exp(a / 2^from) * 2^to`, rounded to nearest and saturated.
fn exp_is_right(a: i32, from: u32, to: u32, got: i32) -> bool {
    if a as i64 > 23 << from {
        return got == i32::MAX;
    }
    if (a as i64) < -(23 << from) {
        return got == 0;
    }
    if got < 0 {
        return false;
    }
    // Twice the value times 2^to lies between 2 * got - 1 and 2 * got + 1.
    let twice = exp(a as i64, from).mul(1 << (to + 1));
    let above = got == 0 || Wide::shifted(2 * got as u64 - 1, FRAC).less(twice);
    let below = got == i32::MAX || twice.less(Wide::shifted(2 * got as u64 + 1, FRAC));
    above && below
}

/// Whether `got` is `ln(a / 2^from) * 2^to`, rounded to nearest and saturated.
fn log_is_right(a: i32, from: u32, to: u32, got: i32) -> bool {
    if a <= 0 {
        return got == i32::MIN;
    }
    let x = Wide::shifted(a as u64, FRAC - from);
    let twice = 2 * got as i64;
    let limit = 23i64 << (to + 1);
    if twice.abs() > limit {
        return false;
    }
    let above = got == i32::MIN || exp(twice - 1, to + 1).less(x);
    let below = got == i32::MAX || x.less(exp(twice + 1, to + 1));
    above && below
}

/// Evaluates a micro-op on 1,024 values on every path and checks them.
#[track_caller]
fn check(uop: Uop, values: &[i32], right: impl Fn(i32, i32) -> bool) {
    let geometry = Geometry { rows: 32, cols: 32, border: 0 };
    let mut array = Array::new(geometry, 8);
    let mut trace = TraceBuffer::new();
    trace.push(uop);
    for values in values.chunks(1024) {
        for (i, value) in values.iter().enumerate() {
            array.set(i / 32, (i % 32) as i32, Place::word(0), *value);
        }
        let mut first: Option<Vec<i32>> = None;
        for path in SimdPath::ALL.into_iter().filter(|p| p.available()) {
            array.set_path(path);
            array.run(&mut trace).expect("no division");
            let got = array.read(Source::word(4));
            match &first {
                Some(first) => assert_eq!(got, *first, "{path}"),
                None => first = Some(got),
            }
        }
        for (a, got) in values.iter().zip(first.expect("there is a portable path")) {
            assert!(right(*a, got), "{uop:?} of {a} gives {got}");
        }
    }
}

fn check_exp(from: u8, to: u8, values: &[i32]) {
    let uop = Uop::Exp { dst: Dest::word(4), a: Source::word(0), from, to };
    check(uop, values, |a, got| exp_is_right(a, from as u32, to as u32, got));
}

fn check_log(from: u8, to: u8, values: &[i32]) {
    let uop = Uop::Log { dst: Dest::word(4), a: Source::word(0), from, to };
    check(uop, values, |a, got| log_is_right(a, from as u32, to as u32, got));
}

/// Corners, all bytes, powers of two and their neighbours, arguments around saturation, and any numbers.
fn arguments(rng: &mut Rng, from: u8, to: u8) -> Vec<i32> {
    let mut values = vec![0, 1, -1, 65535, i32::MAX, i32::MIN, i32::MIN + 1];
    values.extend(-128..128);
    values.extend((0..31).flat_map(|n| [(1 << n) - 1, 1 << n, (1 << n) + 1, -(1 << n)]));
    let limit = (31.0 - to as f64) * std::f64::consts::LN_2 * (1u64 << from) as f64;
    values.extend((-20..20).map(|d| limit.clamp(-2e9, 2e9) as i32 + d));
    values.extend((0..300).map(|_| (rng.next() >> rng.below(32)) as i32));
    // Results that are neither 0 nor saturated.
    let range = (23u64 << from).min(1 << 31);
    values.extend((0..300).map(|_| (rng.below(2 * range) as i64 - range as i64) as i32));
    values
}

#[test]
fn exp_is_correctly_rounded_in_every_format() {
    let mut rng = Rng(1);
    for from in 0..32 {
        for to in 0..32 {
            let values = arguments(&mut rng, from, to);
            let few = rng.below(12) as usize;
            let values: Vec<i32> = values.into_iter().skip(few).step_by(12).collect();
            check_exp(from, to, &values);
        }
    }
    for (from, to) in [(27, 31), (24, 24), (16, 16), (0, 0), (31, 31), (8, 30)] {
        check_exp(from, to, &arguments(&mut rng, from, to));
    }
}

#[test]
fn log_is_correctly_rounded_in_every_format() {
    let mut rng = Rng(2);
    for from in 0..32 {
        for to in 0..32 {
            let values = arguments(&mut rng, from, to);
            let few = rng.below(12) as usize;
            let values: Vec<i32> = values.into_iter().skip(few).step_by(12).collect();
            check_log(from, to, &values);
        }
    }
    for (from, to) in [(27, 26), (24, 24), (16, 16), (0, 0), (31, 31), (8, 30)] {
        check_log(from, to, &arguments(&mut rng, from, to));
    }
}

#[test]
fn known_results() {
    // exp(1) * 2^16, exp(-1) * 2^31, exp(21.4) and the two exact results.
    for (a, from, to, expected) in
        [(1, 0, 16, 178_145), (-1, 0, 31, 790_015_084), (0, 5, 7, 128), (107, 0, 0, i32::MAX), (-107, 0, 31, 0)]
    {
        check(Uop::Exp { dst: Dest::word(4), a: Source::word(0), from, to }, &[a], |_, got| got == expected);
    }
    // ln(2) * 2^31, ln(1), ln(2^31 - 1) saturated.
    for (a, from, to, expected) in [
        (2, 0, 31, 1_488_522_236),
        (1 << 9, 9, 20, 0),
        (i32::MAX, 0, 31, i32::MAX),
        (1, 31, 31, i32::MIN),
        (0, 3, 3, i32::MIN),
    ] {
        check(Uop::Log { dst: Dest::word(4), a: Source::word(0), from, to }, &[a], |_, got| got == expected);
    }
}

#[test]
fn disabled_lanes_keep_their_values() {
    let mut array = Array::new(Geometry { rows: 1, cols: 3, border: 0 }, 8);
    let mut trace = TraceBuffer::new();
    trace.push(Uop::Cmp { cond: iss::isa::operand::Cond::Eq, a: Source::QCol, b: Source::Splat(1) });
    trace.push(Uop::Push);
    trace.push(Uop::Exp { dst: Dest::Acc(0), a: Source::Splat(1), from: 0, to: 0 });
    trace.push(Uop::Log { dst: Dest::Acc(1), a: Source::Splat(8), from: 0, to: 0 });
    array.run(&mut trace).expect("no division");
    assert_eq!((array.read(Source::Acc(0)), array.read(Source::Acc(1))), (vec![0, 3, 0], vec![0, 2, 0]));
}
