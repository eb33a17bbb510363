//! Arithmetic of the reference machine: `i128` for integers, doubles and, near a rounding boundary, pairs of doubles for
//! `exp` and `log`.

use iss::isa::operand::Cond;

pub fn low32(v: i128) -> i32 {
    v as u128 as u32 as i32
}

pub fn holds(cond: Cond, a: i32, b: i32) -> bool {
    let signed = (a as i128).cmp(&(b as i128));
    let unsigned = (a as u32 as i128).cmp(&(b as u32 as i128));
    match cond {
        Cond::Eq => signed.is_eq(),
        Cond::Ne => signed.is_ne(),
        Cond::Lt => signed.is_lt(),
        Cond::Le => signed.is_le(),
        Cond::Gt => signed.is_gt(),
        Cond::Ge => signed.is_ge(),
        Cond::Ltu => unsigned.is_lt(),
        Cond::Leu => unsigned.is_le(),
        Cond::Gtu => unsigned.is_gt(),
        Cond::Geu => unsigned.is_ge(),
    }
}

pub fn shl(a: i32, b: i32) -> i32 {
    low32((a as i128) << (b.rem_euclid(32)))
}

pub fn shr(a: i32, b: i32) -> i32 {
    low32((a as u32 as i128) >> (b.rem_euclid(32)))
}

pub fn sar(a: i32, b: i32) -> i32 {
    low32((a as i128) >> (b.rem_euclid(32)))
}

pub fn fx_mul(a: i32, b: i32, shift: i8) -> i32 {
    let product = a as i128 * b as i128;
    low32(if shift >= 0 { product >> shift } else { product << -shift })
}

/// None for a zero divisor.
pub fn fx_div(a: i32, b: i32, frac: u8) -> Option<i32> {
    (b != 0).then(|| low32(((a as i128) << frac) / b as i128))
}

/// `round(exp(a / 2^from) * 2^to)`, saturated.
pub fn exp(a: i32, from: u8, to: u8) -> i32 {
    let x = a as f64 / 2f64.powi(from as i32);
    if x > 40.0 {
        return i32::MAX;
    }
    let scale = 2f64.powi(to as i32);
    rounded(x.exp() * scale, || scaled(exp_pair(x), scale))
}

/// `round(ln(a / 2^from) * 2^to)`, saturated.
pub fn log(a: i32, from: u8, to: u8) -> i32 {
    if a <= 0 {
        return i32::MIN;
    }
    let x = a as f64 / 2f64.powi(from as i32);
    let scale = 2f64.powi(to as i32);
    rounded(x.ln() * scale, || {
        // One Newton step doubles the digits: y + x * exp(-y) - 1.
        let y = x.ln();
        let (hi, lo) = exp_pair(-y);
        let (hi, lo) = mul((hi, lo), (x, 0.0));
        scaled(add((y, 0.0), add((hi, lo), (-1.0, 0.0))), scale)
    })
}

/// Rounds half up and saturates; `exact` decides where a double may not.
fn rounded(value: f64, exact: impl FnOnce() -> (f64, f64)) -> i32 {
    if value.abs() > 4e9 {
        return if value > 0.0 { i32::MAX } else { i32::MIN };
    }
    let whole = (value + 0.5).floor();
    if ((value - value.floor()) - 0.5).abs() > 1e-3 {
        return whole as i32;
    }
    // `as` saturates.
    let (hi, lo) = exact();
    let base = hi.floor();
    let rest = (hi - base) + lo;
    (base + if rest >= 0.5 { 1.0 } else { 0.0 }) as i32
}

type Pair = (f64, f64);

fn two_sum(a: f64, b: f64) -> Pair {
    let s = a + b;
    let bb = s - a;
    (s, (a - (s - bb)) + (b - bb))
}

fn add(a: Pair, b: Pair) -> Pair {
    let (s, e) = two_sum(a.0, b.0);
    let (t, f) = two_sum(a.1, b.1);
    let (s, e) = two_sum(s, e + t);
    two_sum(s, e + f)
}

fn mul(a: Pair, b: Pair) -> Pair {
    let p = a.0 * b.0;
    let e = a.0.mul_add(b.0, -p) + (a.0 * b.1 + a.1 * b.0);
    two_sum(p, e)
}

fn scaled(a: Pair, by: f64) -> Pair {
    (a.0 * by, a.1 * by)
}

/// `exp(x)` to some 100 bits, |x| <= 40.
fn exp_pair(x: f64) -> Pair {
    // exp(x) = exp(x / 2^10)^(2^10); each squaring doubles an error that begins near 2^-110.
    const HALVINGS: i32 = 10;
    let r = x / 2f64.powi(HALVINGS);
    let mut sum = (1.0, 0.0);
    for k in (1..=30).rev() {
        let (q, rest) = div((r, 0.0), k as f64);
        sum = add((1.0, 0.0), mul(sum, (q, rest)));
    }
    for _ in 0..HALVINGS {
        sum = mul(sum, sum);
    }
    sum
}

fn div(a: Pair, b: f64) -> Pair {
    let q = a.0 / b;
    let rest = (-q).mul_add(b, a.0) + a.1;
    two_sum(q, rest / b)
}

#[test]
fn pairs_are_exact_where_the_answer_is_known() {
    // e * 2^31 and ln 2 * 2^31 with all digits from tables.
    let e = exp_pair(1.0);
    assert_eq!(e.0, std::f64::consts::E);
    assert!((e.1 - 1.445_646_891_729_250_2e-16).abs() < 1e-28, "{e:?}");
    assert_eq!(exp(0, 31, 20), 1 << 20);
    assert_eq!(exp(1 << 16, 16, 16), 178_145);
    assert_eq!(log(1 << 17, 16, 16), 45_426);
    assert_eq!(
        (log(0, 3, 3), log(-5, 3, 3), exp(i32::MAX, 0, 0), exp(i32::MIN, 0, 31)),
        (i32::MIN, i32::MIN, i32::MAX, 0)
    );
}
