//! Kernels with several flows of a direction in one loop.

use iss::testing::Rng;

use super::support::Args;
use super::{check, requant, word};

fn clamp(v: i64) -> u8 {
    v.clamp(-128, 127) as i8 as u8
}

#[test]
fn two_flows_each_way() {
    let mut rng = Rng::new(8);
    let (x, g) = (rng.bytes(16 * 64 * 128), rng.bytes(64 * 128));
    let gate = |i: usize| g[i / 4 % (64 * 128)] as i8 as i64;
    let y: Vec<u8> = x.iter().enumerate().map(|(i, x)| clamp((*x as i8 as i64 * gate(i)) >> 7)).collect();
    let z: Vec<u8> = x.iter().zip(&y).map(|(x, y)| clamp(*x as i8 as i64 - *y as i8 as i64)).collect();
    let args = Args::default().with("x", x).with("g", g);
    insta::assert_snapshot!(check("residual", &args, &[("y", &y), ("z", &z)], ("element and tile", 8.0 * 16.0)));
}

#[test]
fn resize_by_two() {
    let (h, w) = (64i64, 128i64);
    let x = Rng::new(9).bytes(16 * 64 * 128);
    let at = |c: usize, y: i64, x: i64, h: i64, w: i64| (c as i64 / 4 * h * w + y * w + x) as usize * 4 + c % 4;
    let mut golden = vec![0; 4 * x.len()];
    for c in 0..16 {
        let pixel = |r: i64, q: i64| x[at(c, r.clamp(0, h - 1), q.clamp(0, w - 1), h, w)] as i8 as i64;
        for (r, q) in (0..2 * h).flat_map(|r| (0..2 * w).map(move |q| (r, q))) {
            // The nearer pixel counts three times; the other is above or left of it for even places.
            let (near, col) = (r / 2, q / 2);
            let (far, side) = (near + r % 2 * 2 - 1, col + q % 2 * 2 - 1);
            let rows = |q: i64| 3 * pixel(near, q) + pixel(far, q);
            golden[at(c, r, q, 2 * h, 2 * w)] = clamp((3 * rows(col) + rows(side) + 8) >> 4);
        }
    }
    let args = Args::default().with("x", x);
    insta::assert_snapshot!(check("resize2", &args, &[("y", &golden)], ("output element and tile", 8.0 * 64.0)));
}

#[test]
fn convolution_by_taps() {
    let (h, w) = (128i64, 256i64);
    let mut rng = Rng::new(15);
    let (x, mut stream) = (rng.bytes(4 * 128 * 256), Vec::new());
    for _ in 0..4 {
        (0..4).for_each(|_| stream.extend((rng.below(4000) as i32 - 2000).to_le_bytes()));
        stream.extend(rng.bytes(9 * 16));
    }
    let mut golden = vec![0; 16 * 64 * 128];
    for (o, row, col) in (0..16).flat_map(|o| (0..64i64).flat_map(move |r| (0..128i64).map(move |c| (o, r, c)))) {
        let block = &stream[o / 4 * 160..];
        let mut acc = word(block, o % 4 * 4);
        for tap in 0..9i64 {
            let (r, c) = (2 * row + tap / 3 - 1, 2 * col + tap % 3 - 1);
            if (0..h).contains(&r) && (0..w).contains(&c) {
                let weight = |i: usize| block[16 + tap as usize * 16 + o % 4 * 4 + i] as i8 as i64;
                acc += (0..4).map(|i| x[(r * w + c) as usize * 4 + i] as i8 as i64 * weight(i)).sum::<i64>();
            }
        }
        golden[(o / 4 * 64 * 128 + row as usize * 128 + col as usize) * 4 + o % 4] = requant(acc);
    }
    let args = Args::default().with("x", x).with("w", stream);
    let items = ("output channel and tile, MACs (2.25) included", 8.0 * 16.0);
    insta::assert_snapshot!(check("gather", &args, &[("y", &golden)], items));
}
