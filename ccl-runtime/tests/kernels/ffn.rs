//! A Mix-FFN block fused in one kernel, hidden channels in local memory.

use iss::target::QC_U;
use iss::testing::Rng;

use super::support::{Args, compiled, simulate};
use super::{check, kernel, requant, word};

const H: usize = 64;
const W: usize = 128;
const PIXELS: usize = H * W;

fn packed(channel: usize, pixel: usize) -> usize {
    (channel / 4 * PIXELS + pixel) * 4 + channel % 4
}

/// A stream of `blocks` times 4 small biases and `entries` of weights, which lie within `1 / shrink` of their range.
fn stream(rng: &mut Rng, blocks: usize, entries: usize, shrink: i8) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..blocks {
        (0..4).for_each(|_| bytes.extend((rng.below(4000) as i32 - 2000).to_le_bytes()));
        bytes.extend(rng.bytes(16 * entries).iter().map(|b| (*b as i8 / shrink) as u8));
    }
    bytes
}

/// Output `o` of a matrix product over inputs in groups of 4, weights as streamed.
fn product(stream: &[u8], o: usize, inputs: &[u8]) -> i64 {
    let block = &stream[o / 4 * (16 + inputs.len() * 4)..];
    let weight = |i: usize| block[16 + i / 4 * 16 + o % 4 * 4 + i % 4] as i8 as i64;
    let sum: i64 = inputs.iter().enumerate().map(|(i, x)| *x as i8 as i64 * weight(i)).sum();
    sum + word(block, o % 4 * 4)
}

fn depthwise(stream: &[u8], hidden: &[Vec<u8>], channel: usize, pixel: usize) -> i64 {
    let block = &stream[channel / 4 * 160..];
    let (row, col, k) = ((pixel / W) as i64, (pixel % W) as i64, channel % 4);
    let mut acc = word(block, k * 4);
    for tap in 0..9 {
        let (r, c) = (row + tap / 3 - 1, col + tap % 3 - 1);
        if (0..H as i64).contains(&r) && (0..W as i64).contains(&c) {
            let weight = block[16 + tap as usize * 16 + k * 5] as i8 as i64;
            acc += hidden[r as usize * W + c as usize][channel] as i8 as i64 * weight;
        }
    }
    acc
}

#[test]
fn mix_ffn_fused() {
    let mut rng = Rng::new(7);
    let x = rng.bytes(32 * PIXELS);
    let (w1, w3, table) = (stream(&mut rng, 32, 8, 2), stream(&mut rng, 8, 32, 8), rng.bytes(256));
    let mut w2 = stream(&mut rng, 32, 9, 1);
    for block in w2.chunks_mut(160) {
        // Diagonal matrices: one channel does not see the others.
        block[16..].iter_mut().enumerate().filter(|(i, _)| i % 16 % 5 != 0).for_each(|(_, w)| *w = 0);
    }
    let input = |pixel: usize| -> Vec<u8> { (0..32).map(|c| x[packed(c, pixel)]).collect() };
    let hidden: Vec<Vec<u8>> =
        (0..PIXELS).map(|p| (0..128).map(|c| requant(product(&w1, c, &input(p)))).collect()).collect();
    let mut golden = vec![0; x.len()];
    for p in 0..PIXELS {
        let gelu: Vec<u8> = (0..128).map(|c| table[requant(depthwise(&w2, &hidden, c, p)) as usize]).collect();
        for o in 0..32 {
            let out = requant(product(&w3, o, &gelu)) as i8 as i64;
            let skip = x[packed(o, p)] as i8 as i64;
            let sum = ((skip * 5000) >> 10) + ((out * 7000) >> 10);
            golden[packed(o, p)] = ((sum + 8) >> 4).clamp(-128, 127) as i8 as u8;
        }
    }
    let args = Args::default().with("x", x).with("w1", w1).with("w2", w2).with("w3", w3).with("t", table);
    let c = compiled(&kernel("ffn"), &QC_U);
    let (_, profile) = simulate(&c, &kernel("ffn"), "ffn", &args);
    assert!(profile.cycles <= 75_000, "{} cycles", profile.cycles);
    insta::assert_snapshot!(check("ffn", &args, &[("y", &golden)], ("pixel of a PE", 8.0)));
}
