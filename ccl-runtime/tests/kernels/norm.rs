//! Layer norm and softmax: in fixed point to the bit, and how far that is from the real function.

use iss::testing::Rng;

use super::support::Args;
use super::{check, reciprocal};

const PIXELS: usize = 64 * 128;

fn packed(channel: usize, pixel: usize) -> usize {
    (channel / 4 * PIXELS + pixel) * 4 + channel % 4
}

/// `low32((a * b) >> shift)`.
fn fx_mul(a: i64, b: i64, shift: u32) -> i64 {
    ((a * b) >> shift) as i32 as i64
}

/// Layer norm over `channels`, with `eps` times `channels`^2 in steps of the input.
fn layer_norm(channels: usize, eps: i64, seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let x = rng.bytes(channels * PIXELS);
    let scale = 1.0 / 40.0;
    let gamma: Vec<f64> = (0..channels).map(|_| 0.5 + rng.below(1000) as f64 / 1000.0).collect();
    let beta: Vec<f64> = (0..channels).map(|_| rng.below(1000) as f64 / 1000.0 - 0.5).collect();
    let fixed = |v: f64| v.round() as i64;
    let g: Vec<i64> = gamma.iter().map(|g| fixed(g / scale * 65536.0)).collect();
    let b: Vec<i64> = beta.iter().map(|b| fixed(b / scale * 16384.0) + 8192).collect();
    let mut stream = vec![1u8; channels];
    for c in 0..channels {
        stream.extend((g[c] as i32).to_le_bytes());
        stream.extend((b[c] as i32).to_le_bytes());
    }
    let log2 = channels.trailing_zeros();
    let ln_n = fixed((channels as f64).ln() * 67108864.0);
    let (mut golden, mut off) = (vec![0; x.len()], 0);
    for p in 0..PIXELS {
        let v = |c: usize| x[packed(c, p)] as i8 as i64;
        let (sum, squares) = (0..channels).fold((0, 0), |(s, q), c| (s + v(c), q + v(c) * v(c)));
        let variance = channels as i64 * squares - sum * sum + eps;
        let l = fixed((variance as f64).ln() * 67108864.0);
        let r = fixed(((ln_n - (l >> 1)) as f64 / 67108864.0).exp() * 16777216.0);
        let mean = fx_mul(sum, r, 6 + log2);
        for c in 0..channels {
            let u = fx_mul(fx_mul(v(c), r, 6) - mean, g[c], 20);
            let y = ((u + b[c]) >> 14).clamp(-128, 127);
            golden[packed(c, p)] = y as i8 as u8;
            let n = channels as f64;
            let real = (v(c) as f64 - sum as f64 / n) * n / (variance as f64).sqrt() * gamma[c] + beta[c];
            let real = (real / scale).round_ties_even().clamp(-128.0, 127.0) as i64;
            assert!((y - real).abs() <= 1, "pixel {p}, channel {c}: {y}, not {real}");
            off += usize::from(y != real);
        }
    }
    assert!(off * 1000 <= golden.len(), "{off} of {} differ by 1", golden.len());
    let args = Args::default().with("x", x).with("w", stream);
    let items = ("element and tile", 8.0 * channels as f64);
    check(&format!("norm{channels}"), &args, &[("y", &golden)], items)
}

#[test]
fn layer_norm_of_32() {
    insta::assert_snapshot!(layer_norm(32, 4, 10));
}

#[test]
fn layer_norm_of_256() {
    insta::assert_snapshot!(layer_norm(256, 262, 11));
}

#[test]
fn softmax_of_wide_scores() {
    let keys = 128;
    let mut rng = Rng::new(12);
    let x: Vec<i32> = (0..keys * PIXELS).map(|_| rng.below(40_000) as i32 - 20_000).collect();
    let mut golden = vec![0; x.len()];
    for p in 0..PIXELS {
        let score = |k: usize| x[k * PIXELS + p] as i64;
        let max = (0..keys).map(score).max().expect("keys");
        let e: Vec<i64> = (0..keys)
            .map(|k| (((score(k) - max) * 1280) as f64 / 1048576.0).exp() * 65536.0)
            .map(|e| e.round() as i64)
            .collect();
        let r = reciprocal(e.iter().sum());
        for (k, e) in e.iter().enumerate() {
            golden[packed(k, p)] = ((((e * r) >> 36) - 510) >> 2).clamp(-128, 127) as i8 as u8;
        }
    }
    let bytes = x.iter().flat_map(|v| v.to_le_bytes()).collect();
    let args = Args::default().with("x", bytes);
    insta::assert_snapshot!(check("softmax32", &args, &[("y", &golden)], ("score and tile", 8.0 * keys as f64)));
}
