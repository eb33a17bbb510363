//! Kernels of the front end's corpus as the macro expands them, against plain loops, on extents that fit no array.

use ccl_runtime::__rt;
use ccl_runtime::native::{Geometry, Session};
use ccl_runtime::prelude::*;

use crate::support::*;

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

/// `round_half_even(v * mantissa / 2^shift)` to int8.
fn requantised(v: i64, scale: Scale) -> i8 {
    let (p, d) = (v as i128 * scale.mantissa as i128, 1i128 << scale.shift);
    let (floor, rest) = (p.div_euclid(d), p.rem_euclid(d));
    (floor + (2 * rest > d || (2 * rest == d && floor & 1 == 1)) as i128).clamp(-128, 127) as i8
}

fn pointwise_case<const CI: usize, const CO: usize, const H: usize, const W: usize>(g: Geometry) {
    let mut random = Random(CI as u64);
    let (input, weights) = (random.i8s(CI * H * W), random.i8s(CO * CI));
    let bias: Vec<i32> = (0..CO).map(|_| random.below(4000) as i32 - 2000).collect();
    // A power of two has ties.
    for scale in [Scale::from_f64(0.0021), Scale::new(1 << 23, 31)] {
        let x = Ocm::<i8, Packed<CI, H, W>>::from_logical(&input);
        let w = Ocm::<i8, Stream<CO, CI>>::from_weights(&weights, &bias);
        let mut y = Ocm::<i8, Packed<CO, H, W>>::new();
        Session::with_geometry(g).run("pointwise", || pointwise(&x, &w, &mut y, scale)).unwrap();
        for (i, got) in y.to_logical().into_iter().enumerate() {
            let (o, at) = (i / (H * W), i % (H * W));
            let sum: i32 = (0..CI).map(|c| input[c * H * W + at] as i32 * weights[o * CI + c] as i32).sum();
            assert_eq!(got, requantised((sum + bias[o]) as i64, scale), "{g:?} {CI} {CO} {H} {W}: {o} {at}");
        }
    }
}

#[test]
fn pointwise_is_a_matrix_product() {
    for g in ARRAYS {
        pointwise_case::<3, 6, 1, 1>(g);
        pointwise_case::<4, 4, 5, 7>(g);
        pointwise_case::<19, 10, 33, 40>(g);
    }
}

fn depthwise3<const C: usize, const N: usize, const H: usize, const W: usize>(
    x: &Ocm<i8, Planar<C, H, W>>,
    w: &Ocm<i16, Vector<N>>,
    y: &mut Ocm<i8, Planar<C, H, W>>,
    scale: Scale,
) {
    let __ccl_f = __rt::scope();
    for place in x.tiles().halo(1) {
        let __ccl_s = __rt::scope();
        let mut weights = __rt::var(broadcast(w));
        for t in place.chunks::<1>().pipelined(3) {
            let __ccl_s = __rt::scope();
            let a = __rt::bind(t.fetch::<Lrm<i8, 3>>().wait());
            let mut sum = __rt::var(weights.next::<i32>());
            for kx in 0..3 {
                let __ccl_s = __rt::scope();
                let mut column = __rt::var(splat(0));
                for dy in -1..=1 {
                    let __ccl_s = __rt::scope();
                    __rt::add_assign(a.row(dy)[0].widen::<i32>() * weights.next::<i16>().widen::<i32>(), &mut column);
                }
                {
                    let __ccl_b = __rt::branch(__rt::eq(kx, 0));
                    if let Some(_m) = __rt::Branch::then_arm(&__ccl_b) {
                        let __ccl_s = __rt::scope();
                        __rt::add_assign(shift(column, East, 1), &mut sum);
                    }
                    if let Some(_m) = __rt::Branch::else_arm(&__ccl_b) {
                        let __ccl_b = __rt::branch(__rt::eq(kx, 1));
                        if let Some(_m) = __rt::Branch::then_arm(&__ccl_b) {
                            let __ccl_s = __rt::scope();
                            __rt::add_assign(column, &mut sum);
                        }
                        if let Some(_m) = __rt::Branch::else_arm(&__ccl_b) {
                            let __ccl_s = __rt::scope();
                            __rt::add_assign(shift(column, West, 1), &mut sum);
                        }
                    }
                }
            }
            y.at(t).store(requant(sum, scale, HalfEven, Saturate));
        }
    }
}

#[test]
fn depthwise_reads_its_neighbours() {
    const C: usize = 3;
    for (g, seed) in ARRAYS.into_iter().zip(1..) {
        fn case<const H: usize, const W: usize>(g: Geometry, seed: u64) {
            let mut random = Random(seed);
            let (input, weights) = (random.i8s(C * H * W), random.i8s(C * 9));
            let bias = [100, -200, 30];
            // A bias of 32 bits, then nine weights, column by column.
            let mut stream = vec![];
            for c in 0..C {
                stream.extend([bias[c] as i16, (bias[c] >> 16) as i16]);
                stream.extend((0..9).map(|i| weights[c * 9 + i % 3 * 3 + i / 3] as i16));
            }
            let scale = Scale::from_f64(0.004);
            let x = Ocm::<i8, Planar<C, H, W>>::from_logical(&input);
            let w = Ocm::<i16, Vector<33>>::from_elements(&stream);
            let mut y = Ocm::<i8, Planar<C, H, W>>::new();
            Session::with_geometry(g).run("depthwise3", || depthwise3(&x, &w, &mut y, scale)).unwrap();
            for (i, got) in y.to_logical().into_iter().enumerate() {
                let (c, r, q) = (i / (H * W), (i / W % H) as i64, (i % W) as i64);
                let mut sum = bias[c];
                for (ky, kx) in (0..3).flat_map(|ky| (0..3).map(move |kx| (ky, kx))) {
                    let (yy, xx) = (r + ky - 1, q + kx - 1);
                    if (0..H as i64).contains(&yy) && (0..W as i64).contains(&xx) {
                        let at = (c * H + yy as usize) * W + xx as usize;
                        sum += input[at] as i32 * weights[c * 9 + (ky * 3 + kx) as usize] as i32;
                    }
                }
                assert_eq!(got, requantised(sum as i64, scale), "{g:?} {H}x{W}: {c} {r} {q}");
            }
        }
        case::<1, 1>(g, seed);
        case::<5, 7>(g, seed);
        case::<33, 40>(g, seed);
    }
}

const P: usize = 12;

fn softmax<const K: usize>(scores: &Lrm<i32, K>, scale: Scale, out: &mut Lrm<i8, K>) {
    let __ccl_f = __rt::scope();
    let mut top = __rt::var(scores[0]);
    for k in 1..K {
        let __ccl_s = __rt::scope();
        __rt::assign(max(top, scores[k]), &mut top);
    }
    let mut total = __rt::var(splat(fx::<P>(0.0)));
    let mut e = __rt::var(Lrm::<Fx<P>, K>::new());
    for k in 0..K {
        let __ccl_s = __rt::scope();
        let x = __rt::bind(dequantize::<24>(scores[k] - top, scale, 0));
        __rt::assign(exp::<P>(x), &mut e[k]);
        __rt::add_assign(e[k], &mut total);
    }
    let inverse = __rt::bind(fx_div::<24>(fx::<P>(1.0), total));
    for k in 0..K {
        let __ccl_s = __rt::scope();
        let p = __rt::bind(fx_mul::<P>(e[k], inverse));
        __rt::assign(quantize(p, Scale::new(127, 0), 0), &mut out[k]);
    }
}

fn softmax_rows<const N: usize, const K: usize>(
    x: &Ocm<i32, Tokens<N, K>>,
    y: &mut Ocm<i8, Tokens<N, K>>,
    scale: Scale,
) {
    let __ccl_f = __rt::scope();
    for t in x.tiles().pipelined(2) {
        let __ccl_s = __rt::scope();
        let scores = __rt::bind(t.fetch::<Lrm<i32, K>>().wait());
        let mut p = __rt::var(Lrm::<i8, K>::new());
        softmax(&scores, scale, &mut p);
        y.at(t).store(p);
    }
}

#[test]
fn softmax_of_rows() {
    const N: usize = 77;
    const K: usize = 10;
    for g in ARRAYS {
        let mut random = Random(3);
        let scores: Vec<i32> = (0..N * K).map(|_| random.below(20_000) as i32 - 10_000).collect();
        let scale = Scale::from_f64(0.0005);
        let x = Ocm::<i32, Tokens<N, K>>::from_logical(&scores);
        let mut y = Ocm::<i8, Tokens<N, K>>::new();
        Session::with_geometry(g).run("softmax_rows", || softmax_rows(&x, &mut y, scale)).unwrap();
        let got = y.to_logical();
        for (row, got) in scores.chunks(K).zip(got.chunks(K)) {
            let top = *row.iter().max().unwrap();
            // The kernel's own steps, in 128-bit integers and f64.
            let e: Vec<i128> = row
                .iter()
                .map(|s| {
                    let x = ((s - top) as i128 * scale.mantissa as i128) >> (scale.shift - 24);
                    ((x as f64 / 16777216.0).exp() * 4096.0).round() as i128
                })
                .collect();
            let inverse = (4096i128 << 24) / e.iter().sum::<i128>();
            for ((e, got), s) in e.iter().zip(got).zip(row) {
                let p = (e * inverse) >> 24;
                assert_eq!(*got, requantised(p as i64, Scale::new(127, 12)));
                let real = ((s - top) as f64 * 0.0005).exp()
                    / row.iter().map(|s| ((s - top) as f64 * 0.0005).exp()).sum::<f64>();
                assert!((*got as f64 - real * 127.0).abs() < 1.0);
            }
        }
    }
}

fn add_one(a: Q<i8>, b: Q<i8>, scale_a: Scale, scale_b: Scale) -> Q<i8> {
    let __ccl_f = __rt::scope();
    let (a, b) = (__rt::bind(a), __rt::bind(b));
    let sum = __rt::bind(dequantize::<16>(a, scale_a, 0) + dequantize::<16>(b, scale_b, 0));
    __ccl_f.leave(sum.round(HalfEven).narrow::<i8>(Saturate))
}

fn add<const C: usize, const H: usize, const W: usize>(
    a: &Ocm<i8, Packed<C, H, W>>,
    b: &Ocm<i8, Packed<C, H, W>>,
    y: &mut Ocm<i8, Packed<C, H, W>>,
    scale_a: Scale,
    scale_b: Scale,
) {
    let __ccl_f = __rt::scope();
    for t in a.tiles().chunks::<4>().pipelined(2) {
        let __ccl_s = __rt::scope();
        let flow_a = __rt::bind(t.fetch::<Lrm<i8, 4>>());
        let flow_b = __rt::bind(b.at(t).fetch::<Lrm<i8, 4>>());
        let (va, vb) = __rt::bind((flow_a.wait(), flow_b.wait()));
        let mut sum = __rt::var(Lrm::<i8, 4>::new());
        for c in 0..4 {
            let __ccl_s = __rt::scope();
            __rt::assign(add_one(va[c], vb[c], scale_a, scale_b), &mut sum[c]);
        }
        y.at(t).store(sum);
    }
}

#[test]
fn addition_of_quantised_tensors() {
    const C: usize = 6;
    let mut random = Random(31);
    let (a, b) = (random.i8s(C * 33 * 40), random.i8s(C * 33 * 40));
    let (sa, sb) = (Scale::from_f64(0.71), Scale::from_f64(0.5));
    for g in ARRAYS {
        let (ta, tb) = (Ocm::from_logical(&a), Ocm::from_logical(&b));
        let mut y = Ocm::<i8, Packed<C, 33, 40>>::new();
        Session::with_geometry(g).run("add", || add(&ta, &tb, &mut y, sa, sb)).unwrap();
        for ((a, b), got) in a.iter().zip(&b).zip(y.to_logical()) {
            let part = |v: i8, s: Scale| (v as i64 * s.mantissa as i64) >> (s.shift - 16);
            assert_eq!(got, requantised(part(*a, sa) + part(*b, sb), Scale::new(1, 16)));
        }
    }
}

fn argmax<const C: usize, const H: usize, const W: usize>(
    x: &Ocm<i8, Packed<C, H, W>>,
    labels: &mut Ocm<u8, Planar<1, H, W>>,
) {
    let __ccl_f = __rt::scope();
    for t in x.tiles().pipelined(2) {
        let __ccl_s = __rt::scope();
        let a = __rt::bind(t.fetch::<Lrm<i8, C>>().wait());
        let mut best = __rt::var(a[0]);
        let mut label = __rt::var(splat(0u8));
        for c in 1..C {
            let __ccl_s = __rt::scope();
            let __ccl_b = __rt::branch(__rt::gt(a[c], best));
            if let Some(_m) = __rt::Branch::then_arm(&__ccl_b) {
                let __ccl_s = __rt::scope();
                __rt::assign(a[c], &mut best);
                __rt::assign(splat(c as u8), &mut label);
            }
        }
        __rt::probe("best", &best);
        labels.at(t).store(label);
    }
}

#[test]
fn argmax_takes_the_first_of_equals() {
    const C: usize = 19;
    let mut random = Random(41);
    let x: Vec<i8> = (0..C * 33 * 40).map(|_| random.below(9) as i8 - 4).collect();
    for g in ARRAYS {
        let tensor = Ocm::<i8, Packed<C, 33, 40>>::from_logical(&x);
        let mut labels = Ocm::<u8, Planar<1, 33, 40>>::new();
        Session::with_geometry(g).run("argmax", || argmax(&tensor, &mut labels)).unwrap();
        for (i, got) in labels.to_logical().into_iter().enumerate() {
            let first = (0..C).rev().max_by_key(|c| x[c * 33 * 40 + i]).unwrap();
            assert_eq!(got as usize, first);
        }
    }
}

fn root<const H: usize, const W: usize>(
    x: &Ocm<i32, Planar<1, H, W>>,
    y: &mut Ocm<i32, Planar<1, H, W>>,
    steps: usize,
) {
    let __ccl_f = __rt::scope();
    let steps = __rt::bind(steps);
    for t in x.tiles() {
        let __ccl_s = __rt::scope();
        let v = __rt::bind(fx_raw::<16>(t.fetch::<Lrm<i32, 1>>().wait()[0]));
        __rt::assert(all(__rt::ge(v, fx::<16>(0.0))), "roots of negative numbers are not real");
        let mut guess = __rt::var(max(v, fx::<16>(1.0)));
        let mut moving = __rt::var(__rt::gt(guess, fx::<16>(0.0)));
        let mut n = __rt::var(0usize);
        {
            let mut __ccl_w = __rt::while_loop(32);
            while let Some(_m) = {
                let __ccl_s = __rt::scope();
                __ccl_w.step(__rt::and(__rt::lt(n, steps), || any(moving)))
            } {
                let __ccl_s = __rt::scope();
                {
                    let __ccl_b = __rt::branch(__rt::and(moving, || __rt::ne(guess, fx::<16>(0.0))));
                    if let Some(_m) = __rt::Branch::then_arm(&__ccl_b) {
                        let __ccl_s = __rt::scope();
                        let next = __rt::bind((guess + fx_div::<16>(v, guess)) >> 1);
                        {
                            let __ccl_b = __rt::branch(__rt::le(abs(next - guess), fx::<16>(0.0001)));
                            if let Some(_m) = __rt::Branch::then_arm(&__ccl_b) {
                                let __ccl_s = __rt::scope();
                                __rt::assign(splat(false), &mut moving);
                            }
                        }
                        __rt::assign(next, &mut guess);
                    }
                }
                __rt::add_assign(1, &mut n);
            }
        }
        y.at(t).store(guess.raw());
    }
}

#[test]
fn newton_steps_in_each_pe() {
    let mut random = Random(51);
    let values: Vec<i32> =
        (0..40 * 40).map(|i| if i < 4 { i } else { (random.next() >> 33) as i32 >> random.below(16) }).collect();
    for g in ARRAYS {
        let x = Ocm::<i32, Planar<1, 40, 40>>::from_logical(&values);
        let mut y = Ocm::<i32, Planar<1, 40, 40>>::new();
        Session::with_geometry(g).run("root", || root(&x, &mut y, 31)).unwrap();
        for (v, got) in values.iter().zip(y.to_logical()) {
            let real = (*v as f64 / 65536.0).sqrt();
            assert!((got as f64 / 65536.0 - real).abs() < 0.004 + real * 1e-3, "{v}: {got} {real}");
        }
    }
}

fn residual<const N: usize, const C: usize, const H: usize, const W: usize>(
    x: &mut [Ocm<i8, Packed<C, H, W>>; N],
    skip: &[Ext<i8, Packed<C, H, W>>; N],
    out: &mut [Ext<i8, Packed<C, H, W>>; N],
) {
    let __ccl_f = __rt::scope();
    let mut buffers = __rt::var([Ocm::<i8, Packed<C, H, W>>::new(), Ocm::<i8, Packed<C, H, W>>::new()]);
    let mut landing = __rt::var(prefetch(&skip[0], &mut buffers[0]));
    for n in 0..N {
        let __ccl_s = __rt::scope();
        landing.wait();
        {
            let __ccl_b = __rt::branch(__rt::lt(n + 1, N));
            if let Some(_m) = __rt::Branch::then_arm(&__ccl_b) {
                let __ccl_s = __rt::scope();
                __rt::assign(prefetch(&skip[n + 1], &mut buffers[(n + 1) % 2]), &mut landing);
            }
        }
        for t in x[n].tiles().chunks::<4>().pipelined(2) {
            let __ccl_s = __rt::scope();
            let (a, b) = __rt::bind((t.fetch::<Lrm<i8, 4>>(), buffers[n % 2].at(t).fetch::<Lrm<i8, 4>>()));
            let (a, b) = __rt::bind((a.wait(), b.wait()));
            let mut sum = __rt::var(Lrm::<i8, 4>::new());
            for c in 0..4 {
                let __ccl_s = __rt::scope();
                __rt::assign((a[c].widen::<i16>() + b[c].widen::<i16>()).narrow::<i8>(Saturate), &mut sum[c]);
            }
            x[n].at(t).store(sum);
        }
        drain();
        let _ = write_back(&x[n], &mut out[n]);
    }
    drain();
}

#[test]
fn residual_through_external_memory() {
    let mut random = Random(61);
    let parts: Vec<(Vec<i8>, Vec<i8>)> = (0..3).map(|_| (random.i8s(5 * 9 * 11), random.i8s(5 * 9 * 11))).collect();
    for g in ARRAYS {
        let mut x: [Ocm<i8, Packed<5, 9, 11>>; 3] = std::array::from_fn(|i| Ocm::from_logical(&parts[i].0));
        let skip: [Ext<i8, Packed<5, 9, 11>>; 3] = std::array::from_fn(|i| Ext::from_logical(&parts[i].1));
        let mut out: [Ext<i8, Packed<5, 9, 11>>; 3] = std::array::from_fn(|_| Ext::new());
        Session::with_geometry(g).run("residual", || residual(&mut x, &skip, &mut out)).unwrap();
        for ((a, b), out) in parts.iter().zip(&out) {
            let want: Vec<i8> = a.iter().zip(b).map(|(a, b)| a.saturating_add(*b)).collect();
            assert_eq!(out.to_logical(), want);
        }
    }
}

/// The typing that the rest of the corpus relies on: literals, tuples, arrays and views stay as the user wrote them.
#[expect(clippy::needless_range_loop, reason = "kernels index")]
fn resize_row<const H: usize, const W: usize>(x: &Ocm<i8, Planar<1, H, W>>, y: &Ocm<i8, Planar<1, H, W>>) {
    const F: usize = 12;
    let __ccl_f = __rt::scope();
    for t in y.tiles() {
        let __ccl_s = __rt::scope();
        let half = __rt::bind(fx::<F>(0.5));
        let py = __rt::bind(max(fx_raw::<F>(((q_row() + t.y()) << F) + (1 << (F - 1))) - half, fx::<F>(0.0)).raw());
        let (iy, wy) = __rt::bind((py >> F, py & ((1 << F) - 1)));
        let iy1 = __rt::bind(min(iy + 1, H as i32 - 1));
        let ix = __rt::bind(min(q_col() + t.x(), W as i32 - 1));
        let width = __rt::bind(W as i32);
        let mut rows = __rt::var([splat(0), splat(0)]);
        for r in 0..2 {
            let __ccl_s = __rt::scope();
            let row = __rt::bind({
                let __ccl_b = __rt::branch(__rt::eq(r, 0));
                let __ccl_t = __rt::Branch::then_value(&__ccl_b).map(|_m| {
                    let __ccl_s = __rt::scope();
                    __ccl_s.leave(iy)
                });
                let __ccl_e = __rt::Branch::else_value(&__ccl_b).map(|_m| {
                    let __ccl_s = __rt::scope();
                    __ccl_s.leave(iy1)
                });
                __rt::join(__ccl_b, __ccl_t, __ccl_e)
            });
            let (l, _l_inside) = __rt::bind(x.gather(row * width + ix).wait());
            __rt::assign(l.widen::<i32>() << F, &mut rows[r]);
        }
        let mixed = __rt::bind(rows[0] + (((rows[1] - rows[0]) >> F) * wy));
        y.at(t).store(mixed.shr_round(F, HalfEven).narrow::<i8>(Saturate));
    }
}

#[test]
fn gathered_rows() {
    let values = Random(71).i8s(33 * 40);
    let x = Ocm::<i8, Planar<1, 33, 40>>::from_logical(&values);
    for g in ARRAYS {
        let y = Ocm::<i8, Planar<1, 33, 40>>::new();
        Session::with_geometry(g).run("resize", || resize_row(&x, &y)).unwrap();
        // Positions are whole numbers here, so nothing is mixed.
        assert_eq!(y.to_logical(), values);
    }
}
