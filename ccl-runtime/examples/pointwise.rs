//! How long a 256x256 int8 1x1 convolution of 256 to 256 channels takes natively: the kernel of the language's documentation, as
//! the macro expands it. `cargo run --release -p ccl-runtime --example pointwise`.

use std::time::Instant;

use ccl_runtime::__rt;
use ccl_runtime::native::Session;
use ccl_runtime::prelude::*;

fn pointwise<const CI: usize, const CO: usize, const H: usize, const W: usize>(
    x: &Ocm<i8, Packed<CI, H, W>>,
    w: &Ocm<i8, Stream<CO, CI>>,
    y: &mut Ocm<i8, Packed<CO, H, W>>,
    scale: Scale,
) {
    let __ccl_f = __rt::scope();
    for t in x.tiles().pipelined(2) {
        let __ccl_s = __rt::scope();
        let a = __rt::bind(t.fetch::<Lrm<i8, CI>>().wait());
        let mut weights = __rt::var(broadcast(w));
        for o in (0..CO).step_by(4) {
            let __ccl_s = __rt::scope();
            let acc = __rt::bind(weights.bias::<4>() + mac(a, weights.take::<4>()));
            y.at(t).channels(o).store(requant(acc, scale, HalfEven, Saturate));
        }
    }
}

fn main() {
    const C: usize = 256;
    const SIDE: usize = 256;
    let mut seed = 1u32;
    let mut next = || {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 24) as i8
    };
    let input: Vec<i8> = (0..C * SIDE * SIDE).map(|_| next()).collect();
    let weights: Vec<i8> = (0..C * C).map(|_| next()).collect();
    let x = Ocm::<i8, Packed<C, SIDE, SIDE>>::from_logical(&input);
    let w = Ocm::<i8, Stream<C, C>>::from_weights(&weights, &[100; C]);
    let mut y = Ocm::<i8, Packed<C, SIDE, SIDE>>::new();
    let mut session = Session::new(&iss::target::QC_U);
    for _ in 0..3 {
        let start = Instant::now();
        session.run("pointwise", || pointwise(&x, &w, &mut y, Scale::from_f64(0.001))).expect("the kernel is sound");
        println!("{:.3} s, {:?}", start.elapsed().as_secs_f64(), session.usage());
    }
    let (at, o) = (SIDE * 17 + 5, 77);
    let sum: i32 = (0..C).map(|c| input[c * SIDE * SIDE + at] as i32 * weights[o * C + c] as i32).sum();
    let expected = ((sum + 100) as f64 * 0.001).round_ties_even().clamp(-128.0, 127.0) as i8;
    assert_eq!(y.to_logical()[o * SIDE * SIDE + at], expected);
}
