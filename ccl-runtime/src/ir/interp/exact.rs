//! `exp` and `ln` correctly rounded: doubles where they decide, 100 fraction bits where they do not.

/// `ln 2 * 2^100`.
const LN2: i128 = 878_668_439_483_319_573_618_263_538_048;
const ONE: i128 = 1 << 100;

fn saturate(v: f64) -> Option<i64> {
    if v >= 2_147_483_648.0 {
        return Some(i32::MAX as i64);
    }
    if v <= -2_147_483_649.0 {
        return Some(i32::MIN as i64);
    }
    // Far from a boundary the double decides; its error is below 2^-48 of the value.
    let doubt = v.abs() * 2f64.powi(-48) + 2f64.powi(-48);
    let frac = v - v.floor();
    ((frac - 0.5).abs() > doubt).then(|| (v.round() as i64).clamp(i32::MIN as i64, i32::MAX as i64))
}

/// `exp(x)` for `|x| <= 1`, both with 100 fraction bits.
fn series(x: i128) -> i128 {
    let (mut sum, mut term) = (ONE, ONE);
    for n in 1..40 {
        term = mul(term, x) / n;
        sum += term;
    }
    sum
}
fn mul(a: i128, b: i128) -> i128 {
    // 50 low bits apart, so that no product overflows; both are below 2^103.
    let (ah, al) = (a >> 50, a & ((1 << 50) - 1));
    let (bh, bl) = (b >> 50, b & ((1 << 50) - 1));
    ah * bh + ((ah * bl + al * bh) >> 50)
}
fn rounded(v: i128, shift: i32) -> i64 {
    // v * 2^(shift - 100), rounded.
    let drop = 100 - shift;
    let r = if drop > 126 { 0 } else { (v + (1 << (drop - 1))) >> drop };
    r.clamp(i32::MIN as i128, i32::MAX as i128) as i64
}

pub fn exp(a: i64, from: u8, to: u8) -> i64 {
    let x = a as f64 / 2f64.powi(from as i32);
    let v = x.exp() * 2f64.powi(to as i32);
    if a == 0 {
        return (1i64 << to).min(i32::MAX as i64);
    }
    saturate(v).unwrap_or_else(|| {
        let k = (x / std::f64::consts::LN_2).round();
        let r = ((a as i128) << (100 - from as i32)) - k as i128 * LN2;
        rounded(series(r), to as i32 + k as i32)
    })
}

pub fn log(a: i64, from: u8, to: u8) -> i64 {
    if a <= 0 {
        return i32::MIN as i64;
    }
    let y = (a as f64).ln() - from as f64 * std::f64::consts::LN_2;
    let direct = (a as f64 / 2f64.powi(from as i32)).ln() * 2f64.powi(to as i32);
    if a == 1 << from {
        return 0;
    }
    saturate(direct).unwrap_or_else(|| {
        // ln(v) = y + ln(1 + t) with 1 + t = v * exp(-y) and t tiny.
        let scaled = (y * 2f64.powi(60)) as i128;
        let y100 = scaled << 40;
        let k = (y / std::f64::consts::LN_2).round();
        let e = series(-(y100 - k as i128 * LN2));
        // `a` is about 2^shift, so the product stays near 1.
        let shift = (from as i32 + k as i32).clamp(-1, 32);
        let v = (a as i128 * (e >> 32)) << (32 - shift);
        let t = v - ONE;
        let ln = y100 + t - (mul(t, t) >> 1) + mul(mul(t, t), t) / 3;
        rounded(ln, to as i32)
    })
}
