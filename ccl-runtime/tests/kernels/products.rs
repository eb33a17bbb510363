//! Matrix products whose operands come as `outer` and `dot` steps.

use iss::testing::Rng;

use super::support::Args;
use super::{check, reciprocal, requant, word};

const PIXELS: usize = 64 * 128;

fn packed(channel: usize, pixel: usize) -> usize {
    (channel / 4 * PIXELS + pixel) * 4 + channel % 4
}

fn small(rng: &mut Rng) -> [u8; 4] {
    (rng.below(4000) as i32 - 2000).to_le_bytes()
}

#[test]
fn dense_by_outer_products() {
    let mut rng = Rng::new(13);
    let x = rng.bytes(64 * PIXELS);
    let mut stream = Vec::new();
    for _ in 0..4 {
        (0..16).for_each(|_| stream.extend(small(&mut rng)));
        stream.extend(rng.bytes(64 * 16));
    }
    let mut golden = vec![0; x.len()];
    for o in 0..64 {
        let block = &stream[o / 16 * 1088..];
        let weight = |i: usize| block[64 + i * 16 + o % 16] as i8 as i64;
        for p in 0..PIXELS {
            let sum: i64 = (0..64).map(|i| x[packed(i, p)] as i8 as i64 * weight(i)).sum();
            golden[packed(o, p)] = requant(sum + word(block, o % 16 * 4));
        }
    }
    let args = Args::default().with("x", x).with("w", stream);
    let items = ("output channel and tile, MACs (4) included", 8.0 * 64.0);
    insta::assert_snapshot!(check("dense", &args, &[("y", &golden)], items));
}

#[test]
fn attention_head() {
    let (dims, keys) = (32, 128);
    let mut rng = Rng::new(14);
    let (x, k) = (rng.bytes(dims * PIXELS), rng.bytes(keys * dims));
    let mut v = Vec::new();
    for _ in 0..dims / 4 {
        (0..4).for_each(|_| v.extend(small(&mut rng)));
        v.extend(rng.bytes(4 * keys).iter().map(|b| (*b as i8 / 8) as u8));
    }
    let table: Vec<i32> =
        (0..256).map(|i| ((-((256 - i) % 256) as f64 / 16.0).exp() * 65536.0).round() as i32).collect();
    let mut golden = vec![0; x.len()];
    for p in 0..PIXELS {
        let score = |key: usize| {
            let dot: i64 = (0..dims).map(|d| x[packed(d, p)] as i8 as i64 * k[key * dims + d] as i8 as i64).sum();
            ((((dot * 4980) >> 19) + 2) >> 2).clamp(-128, 127)
        };
        let scores: Vec<i64> = (0..keys).map(score).collect();
        let max = *scores.iter().max().expect("keys");
        let e: Vec<i64> = scores.iter().map(|s| table[(s - max).rem_euclid(256) as usize] as i64).collect();
        let r = reciprocal(e.iter().sum());
        let weights: Vec<i64> = e.iter().map(|e| ((((e * r) >> 36) - 510) >> 2).clamp(-128, 127)).collect();
        for o in 0..dims {
            let block = &v[o / 4 * (16 + 4 * keys)..];
            let value = |key: usize| block[16 + o % 4 * keys + key] as i8 as i64;
            let sum: i64 = weights.iter().enumerate().map(|(key, w)| w * value(key)).sum();
            golden[packed(o, p)] = requant(sum + word(block, o % 4 * 4));
        }
    }
    let table = table.iter().flat_map(|v| v.to_le_bytes()).collect();
    let args = Args::default().with("x", x).with("k", k).with("v", v).with("t", table);
    insta::assert_snapshot!(check("attention", &args, &[("y", &golden)], ("key and tile", 8.0 * keys as f64)));
}
