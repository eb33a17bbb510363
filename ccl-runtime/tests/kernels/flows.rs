//! Kernels with several flows of a direction in one loop.

use iss::testing::Rng;

use super::check;
use super::support::Args;

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
