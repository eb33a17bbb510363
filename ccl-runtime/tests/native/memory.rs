//! Tensors, layouts, views, walks, flows, streams and random access against index arithmetic of its own.

use ccl_runtime::__rt;
use ccl_runtime::native::{Cause, Geometry, Session};
use ccl_runtime::prelude::*;

use crate::support::*;

fn at(x: &[i8], [c, h, w]: [usize; 3], ci: usize, y: i64, xx: i64) -> i8 {
    let inside = ci < c && (0..h as i64).contains(&y) && (0..w as i64).contains(&xx);
    if inside { x[(ci * h + y as usize) * w + xx as usize] } else { 0 }
}

#[test]
fn layouts_are_where_they_say() {
    let v: Vec<i8> = (0..6 * 2 * 3).map(|i| i as i8).collect();
    let packed = Ocm::<i8, Packed<6, 2, 3>>::from_logical(&v);
    assert_eq!(packed.to_memory().len(), 8 * 2 * 3);
    for c in 0..6 {
        for y in 0..2 {
            for x in 0..3 {
                assert_eq!(packed.to_memory()[((c / 4 * 2 + y) * 3 + x) * 4 + c % 4], v[(c * 2 + y) * 3 + x]);
            }
        }
    }
    assert_eq!(packed.to_logical(), v);
    let tokens = Ocm::<i8, Tokens<3, 6>>::from_logical(&v[..18]);
    for n in 0..3 {
        for d in 0..6 {
            assert_eq!(tokens.to_memory()[(d / 4 * 3 + n) * 4 + d % 4], v[n * 6 + d]);
        }
    }
    assert_eq!(tokens.to_logical(), v[..18]);
    let planar = Ocm::<i8, Planar<6, 2, 3>>::from_logical(&v);
    assert_eq!(planar.to_memory(), v);
    let half = Ocm::<i16, Packed<3, 1, 2>>::from_logical(&[1, 2, 3, 4, 5, 6]);
    assert_eq!(half.to_memory(), [1, 3, 2, 4, 5, 0, 6, 0], "two half-words a word");

    let weights: Vec<i8> = (0..5 * 6).map(|i| i as i8).collect();
    let bias = [100, 200, 300, 400, -500];
    let stream = Ocm::<i8, Stream<5, 6>>::from_weights(&weights, &bias).to_bytes();
    assert_eq!(stream.len(), 2 * (2 * 16 + 16));
    assert_eq!(stream[..4], 100i32.to_le_bytes());
    assert_eq!(stream[16..32], [0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15, 18, 19, 20, 21]);
    assert_eq!(stream[32..36], [4, 5, 0, 0]);
    assert_eq!(stream[48..52], (-500i32).to_le_bytes());
    assert_eq!(stream[64..68], [24, 25, 26, 27]);
    let dot = Ocm::<i8, StreamDot<5, 6>>::from_weights(&weights, &bias).to_bytes();
    assert_eq!((dot.len(), &dot[..4]), (5 * 32, &100i32.to_le_bytes()[..]));
    assert_eq!(dot[16..22], [0, 1, 2, 3, 4, 5]);
    let outer = Ocm::<i8, StreamOuter<5, 6>>::from_weights(&weights, &bias).to_bytes();
    assert_eq!((outer.len(), &outer[4..8]), (6 * 16 + 64, &200i32.to_le_bytes()[..]));
    assert_eq!(outer[64..70], [0, 6, 12, 18, 24, 0]);
}

/// Walks `C x H x W` with every parameter, and checks each element of each PE, and that stores reach what was walked.
fn walk_case<const C: usize, const H: usize, const W: usize, const ROOM: usize, const BY: usize, const BX: usize>(
    g: Geometry,
    stride: usize,
    halo: usize,
) {
    let (by, bx) = (BY, BX);
    let values = Random((C * 100 + H) as u64).i8s(C * H * W);
    let dims = [C, H, W];
    let rows_a_pe = by + 2 * halo;
    let channels = ROOM / (rows_a_pe * bx);
    let planar = Ocm::<i8, Planar<C, H, W>>::from_logical(&values);
    let packed = Ocm::<i8, Packed<C, H, W>>::from_logical(&values);
    let mut session = Session::with_geometry(g);
    let (tiles_y, tiles_x) = (H.div_ceil(by * stride).div_ceil(g.rows), W.div_ceil(bx * stride).div_ceil(g.cols));
    session
        .run("walk", || {
            for (walk, other) in [(planar.tiles(), &packed), (planar.tiles(), &packed)] {
                let walk = walk.stride(stride).block::<BY, BX>().halo_rows(halo).pipelined(2);
                assert_eq!(walk.into_iter().len(), tiles_y * tiles_x);
                for t in walk {
                    let _s = __rt::scope();
                    let (ty, tx) = (t.index() / tiles_x, t.index() % tiles_x);
                    let (y0, x0) = ((ty * g.rows * by * stride) as i64, (tx * g.cols * bx * stride) as i64);
                    assert_eq!((t.y() as i64, t.x() as i64, t.channel()), (y0, x0, 0));
                    let a = t.fetch::<Lrm<i8, ROOM>>().wait();
                    let inside = t.inside().to_vec();
                    let tapped = t.tap(-1, 2).fetch::<Lrm<i8, ROOM>>().wait();
                    let same = if halo == 0 { Some(other.at(t).fetch::<Lrm<i8, ROOM>>().wait()) } else { None };
                    for i in 0..ROOM {
                        let (ry, b, c) = (i / (bx * channels), i / channels % bx, i % channels);
                        let lanes = a[i].to_vec();
                        let tapped = tapped[i].to_vec();
                        for (pe, got) in lanes.iter().enumerate() {
                            let (r, q) = (pe / g.cols, pe % g.cols);
                            let dy = (ry as i64 - halo as i64) * if by == 1 { 1 } else { stride as i64 };
                            let (y, x) = (y0 + (r * by * stride) as i64 + dy, x0 + ((q * bx + b) * stride) as i64);
                            let want = at(&values, dims, c, y, x);
                            assert_eq!(
                                *got,
                                want,
                                "{g:?} {dims:?} {stride} {halo} tile {} PE {r},{q} i {i}",
                                t.index()
                            );
                            assert_eq!(tapped[pe], at(&values, dims, c, y - 1, x + 2));
                            if i == halo * bx * channels {
                                assert_eq!(inside[pe], (0..H as i64).contains(&y) && (0..W as i64).contains(&x));
                            }
                        }
                        if let Some(same) = same {
                            assert_eq!(same[i].to_vec(), lanes, "packed and planar tensors hold the same");
                        }
                    }
                }
            }
        })
        .unwrap();
    if halo > 0 {
        return;
    }
    // What is stored is what was walked, and nothing else.
    let out = Ocm::<i8, Packed<C, H, W>>::new();
    session
        .run("store", || {
            for t in out.tiles().stride(stride).block::<BY, BX>() {
                let _s = __rt::scope();
                t.store(planar.at(t).fetch::<Lrm<i8, ROOM>>().wait());
            }
        })
        .unwrap();
    for (i, got) in out.to_logical().iter().enumerate() {
        let (c, y, x) = (i / (H * W), i / W % H, i % W);
        let walked = c < channels && y % stride == 0 && x % stride == 0;
        assert_eq!(*got, if walked { values[i] } else { 0 }, "{c} {y} {x}");
    }
}

#[test]
fn walks_fetch_and_store_by_index() {
    for g in [ARRAYS[0], ARRAYS[1]] {
        walk_case::<3, 1, 1, 4, 1, 1>(g, 1, 0);
        walk_case::<4, 5, 7, 4, 1, 1>(g, 1, 0);
        walk_case::<5, 33, 40, 8, 1, 1>(g, 1, 0);
        walk_case::<2, 33, 40, 6, 1, 1>(g, 1, 1);
        walk_case::<1, 33, 40, 1, 1, 1>(g, 2, 0);
        walk_case::<2, 33, 40, 10, 1, 1>(g, 3, 2);
        walk_case::<2, 33, 40, 16, 2, 4>(g, 1, 0);
        walk_case::<1, 33, 40, 16, 2, 4>(g, 1, 1);
    }
    walk_case::<3, 33, 40, 12, 2, 2>(ARRAYS[2], 1, 0);
}

#[test]
fn a_halo_fills_the_border() {
    for g in ARRAYS {
        let h = g.border;
        let values = Random(9).i8s(33 * 40);
        let x = Ocm::<i8, Planar<1, 33, 40>>::from_logical(&values);
        Session::with_geometry(g)
            .run("halo", || {
                for t in x.tiles().halo_cols(h) {
                    let _s = __rt::scope();
                    let a = t.fetch::<Lrm<i8, 1>>().wait();
                    for hops in 0..=h {
                        for (to, dx) in [(East, -(hops as i64)), (West, hops as i64)] {
                            let moved = shift(a[0], to, hops).to_vec();
                            for (pe, got) in moved.iter().enumerate() {
                                let (y, xx) =
                                    (t.y() as i64 + (pe / g.cols) as i64, t.x() as i64 + (pe % g.cols) as i64 + dx);
                                assert_eq!(*got, at(&values, [1, 33, 40], 0, y, xx), "{g:?} {to:?} {hops}");
                            }
                        }
                    }
                }
            })
            .unwrap();
        let fault = Session::with_geometry(g).run("halo", || x.tiles().halo(9)).map(|_| ()).unwrap_err();
        assert_eq!(fault.cause, Cause::Array { what: "a halo", wanted: 9, room: h });
    }
}

#[test]
fn rows_of_a_halo() {
    let values = Random(2).i8s(2 * 9 * 9);
    let x = Ocm::<i8, Planar<2, 9, 9>>::from_logical(&values);
    Session::with_geometry(ARRAYS[0])
        .run("rows", || {
            for t in x.tiles().halo(1) {
                let a = __rt::var(t.fetch::<Lrm<i8, 6>>().wait());
                for dy in -1..=1 {
                    for c in 0..2 {
                        let got = a.row(dy)[c].to_vec();
                        let want = at(&values, [2, 9, 9], c, (t.y() + 3 + dy) as i64, t.x() as i64 + 2);
                        assert_eq!(got[3 * 8 + 2], want);
                    }
                    assert_eq!(a.row(dy).slice::<1>(1)[0].to_vec(), a.row(dy)[1].to_vec());
                }
            }
        })
        .unwrap();
    let fault = Session::with_geometry(ARRAYS[0]).run("rows", || Lrm::<i8, 3>::new().row(1).len()).unwrap_err();
    assert_eq!(fault.cause, Cause::Row { dy: 1, first: 0, last: 0 });
}

#[test]
fn chunks_cover_the_channels() {
    let values = Random(3).i8s(10 * 5 * 9);
    let x = Ocm::<i8, Packed<10, 5, 9>>::from_logical(&values);
    let y = Ocm::<i8, Packed<10, 5, 9>>::new();
    let z = Ocm::<i8, Packed<10, 5, 9>>::new();
    Session::with_geometry(ARRAYS[0])
        .run("chunks", || {
            let mut places = vec![];
            for t in x.tiles().chunks::<4>().pipelined(2) {
                let _s = __rt::scope();
                places.push((t.x(), t.channel()));
                y.at(t).store(t.fetch::<Lrm<i8, 4>>().wait());
            }
            assert_eq!(places, [(0, 0), (0, 4), (0, 8), (8, 0), (8, 4), (8, 8)]);
            for t in x.tiles() {
                for c in t.chunks::<3>() {
                    let _s = __rt::scope();
                    let a = c.fetch::<Lrm<i8, 3>>().wait();
                    for i in 0..3 {
                        z.at(t).channels(c.channel() + i).store(a[i]);
                    }
                }
            }
        })
        .unwrap();
    assert_eq!(y.to_logical(), values);
    assert_eq!(z.to_logical(), values);
    assert!(y.to_bytes()[2 * 45 * 4..].chunks(4).all(|word| word[2..] == [0, 0]), "no channel beyond the last");
}

#[test]
fn views_see_the_same_bytes() {
    const DIMS: [usize; 3] = [3, 12, 16];
    let values = Random(6).i8s(3 * 12 * 16);
    let x = Ocm::<i8, Planar<3, 12, 16>>::from_logical(&values);
    let p = Ocm::<i8, Packed<3, 12, 16>>::from_logical(&values);
    for (c, y, xx) in (0..48).flat_map(|c| (0..3).flat_map(move |y| (0..4).map(move |x| (c, y, x)))) {
        let (s, at_) = (4, (c * 3 + y) * 4 + xx);
        let want = at(&values, DIMS, c / 16, (y * s + c / s % s) as i64, (xx * s + c % s) as i64);
        assert_eq!(x.space_to_depth::<4>().to_logical()[at_], want);
        assert_eq!(p.space_to_depth::<4>().to_logical()[at_], want);
    }
    assert_eq!(p.space_to_depth::<4>().depth_to_space::<4>().to_logical(), values);
    let roi = x.roi(2, 3, 5, 6);
    let part = roi.to_logical();
    for (i, got) in part.iter().enumerate() {
        assert_eq!(*got, at(&values, DIMS, i / 30, (2 + i / 6 % 5) as i64, (3 + i % 6) as i64));
    }
    assert_eq!(x.channels(2).to_logical(), values[2 * 192..]);
    assert_eq!(x.view::<Planar<6, 6, 16>>().to_logical(), values);
    let tokens = Ocm::<i8, Tokens<20, 3>>::from_logical(&values[..60]);
    assert_eq!(tokens.tokens(4, 5).to_logical(), values[12..27]);
    // Walks and stores through views, the inverse of space-to-depth too.
    let out = Ocm::<i8, Planar<3, 12, 16>>::new();
    Session::with_geometry(ARRAYS[0])
        .run("views", || {
            let (from, to) = (p.space_to_depth::<2>(), out.space_to_depth::<2>());
            for t in from.tiles() {
                to.at(t).store(t.fetch::<Lrm<i8, 12>>().wait());
            }
        })
        .unwrap();
    assert_eq!(out.to_logical(), values);
    let deep = Ocm::<i8, Planar<12, 6, 8>>::from_logical(&x.space_to_depth::<2>().to_logical());
    let out = Ocm::<i8, Planar<12, 6, 8>>::new();
    Session::with_geometry(ARRAYS[0])
        .run("views", || {
            let (from, to) = (deep.depth_to_space::<2>(), out.depth_to_space::<2>());
            for t in from.tiles() {
                to.at(t).store(t.fetch::<Lrm<i8, 3>>().wait());
            }
        })
        .unwrap();
    assert_eq!(out.to_logical(), deep.to_logical());
    let fault = |body: &dyn Fn()| Session::with_geometry(ARRAYS[0]).run("v", body).unwrap_err().cause;
    assert!(matches!(fault(&|| drop(x.roi(9, 0, 4, 4))), Cause::Outside { what: "rows", end: 13, extent: 12, .. }));
    assert!(matches!(fault(&|| drop(x.space_to_depth::<5>())), Cause::NoMultiple { extent: 12, by: 5, .. }));
    assert!(matches!(fault(&|| drop(x.view::<Planar<1, 1, 5>>())), Cause::ViewSize { wanted: 5, .. }));
}

#[test]
fn tokens_lie_on_a_grid() {
    for (g, rows, cols) in [(ARRAYS[0], 8, 8), (ARRAYS[0], 3, 5), (ARRAYS[1], 18, 20)] {
        let values = Random(8).i8s(401 * 5);
        let x = Ocm::<i8, Tokens<401, 5>>::from_logical(&values);
        let y = Ocm::<i8, Tokens<401, 5>>::new();
        Session::with_geometry(g)
            .run("tokens", || {
                let walk = x.tiles().grid(rows, cols);
                assert_eq!(walk.into_iter().len(), 401usize.div_ceil(rows * cols));
                for t in walk {
                    let _s = __rt::scope();
                    let a = t.fetch::<Lrm<i8, 5>>().wait();
                    let (inside, lanes) = (t.inside().to_vec(), a[3].to_vec());
                    for pe in 0..lanes.len() {
                        let (r, c) = (pe / g.cols, pe % g.cols);
                        let token = t.index() * rows * cols + r * cols + c;
                        let on = r < rows && c < cols && token < 401;
                        assert_eq!((inside[pe], lanes[pe]), (on, if on { values[token * 5 + 3] } else { 0 }));
                    }
                    y.at(t).store(a);
                }
            })
            .unwrap();
        assert_eq!(y.to_logical(), values);
    }
}

#[test]
fn windows_start_at_a_stride() {
    let values = Random(8).i8s(33 * 40);
    let x = Ocm::<i8, Planar<1, 33, 40>>::from_logical(&values);
    for (g, stride) in ARRAYS.into_iter().zip([2, 3, 2]) {
        let y = Ocm::<i8, Planar<1, 17, 20>>::new();
        let inside = Ocm::<i8, Planar<1, 17, 20>>::new();
        Session::with_geometry(g)
            .run("stride", || {
                for t in y.tiles() {
                    let tap = x.at(t).stride(stride).tap(1, -1);
                    assert_eq!((tap.y(), tap.x()), (t.y() * stride as i32 + 1, t.x() * stride as i32 - 1));
                    t.store(tap.fetch::<Lrm<i8, 1>>().wait());
                    inside.at(t).store(select(tap.inside(), splat(1i8), splat(0)));
                }
            })
            .unwrap();
        for (i, (got, inside)) in y.to_logical().into_iter().zip(inside.to_logical()).enumerate() {
            let (r, q) = ((i / 20 * stride) as i64 + 1, (i % 20 * stride) as i64 - 1);
            let within = (0..33).contains(&r) && (0..40).contains(&q);
            assert_eq!((got, inside), if within { (values[(r * 40 + q) as usize], 1) } else { (0, 0) });
        }
    }
}

#[test]
fn at_keeps_the_place_whatever_the_extent() {
    let values = Random(9).i8s(33 * 40);
    let x = Ocm::<i8, Planar<1, 33, 40>>::from_logical(&values);
    let y = Ocm::<i8, Planar<1, 17, 50>>::new();
    Session::with_geometry(ARRAYS[0])
        .run("at", || {
            for t in x.tiles().halo(1) {
                // Neither the halo nor the tap goes with the place, the stride does.
                y.at(t.tap(3, 3)).store(x.at(t).fetch::<Lrm<i8, 1>>().wait());
            }
        })
        .unwrap();
    for (i, got) in y.to_logical().into_iter().enumerate() {
        assert_eq!(got, if i % 50 < 40 { values[i / 50 * 40 + i % 50] } else { 0 });
    }
}

#[test]
fn elements_of_every_width() {
    macro_rules! check {
        ($($T:ident),*) => { $({
            let values: Vec<$T> = Random(1).i32s(3 * 5 * 9).into_iter().map(|v| v as $T).collect();
            let x = Ocm::<$T, Packed<3, 5, 9>>::from_logical(&values);
            let y = Ocm::<$T, Planar<3, 5, 9>>::new();
            on_array(|| {
                for t in x.tiles() {
                    y.at(t).store(&t.fetch::<Lrm<$T, 3>>().wait());
                }
            });
            assert_eq!(y.to_logical(), values);
        })* };
    }
    check!(i8, i16, i32, i64, u8, u16);
    let x = Ocm::<i16, Planar<1, 2, 2>>::new();
    let wrong = Session::with_geometry(ARRAYS[0]).run("w", || {
        x.tiles().into_iter().for_each(|t| _ = t.fetch::<Lrm<i8, 1>>());
    });
    assert!(matches!(wrong.unwrap_err().cause, Cause::Element { wanted: "i8", .. }));
}

/// `mac` of every shape and width against sums of products; whole outputs and parts of them.
#[test]
fn multiply_accumulate() {
    fn case<const CO: usize, const K: usize, const N: usize>(
        stream: &dyn Fn(&[i8], &[i32]) -> Broadcast,
        chunked: bool,
    ) {
        let mut random = Random((CO * K + N) as u64);
        let (weights, bias) = (random.i8s(CO * K), random.i32s(CO));
        let a: Vec<Vec<i8>> = (0..K).map(|_| random.i8s(35)).collect();
        Session::with_geometry(ARRAYS[2])
            .run("mac", || {
                let lrm: [Q<i8>; K] = std::array::from_fn(|k| Q::from_slice(&a[k]));
                let mut stream = stream(&weights, &bias);
                for o in (0..CO).step_by(N) {
                    let _s = __rt::scope();
                    let mut acc = __rt::var(stream.bias::<N>());
                    if chunked {
                        let (first, second) = lrm.split_at(K / 2);
                        __rt::add_assign(mac(first, stream.take::<N>()), &mut acc);
                        __rt::add_assign(mac(second, stream.take::<N>()), &mut acc);
                    } else {
                        __rt::add_assign(mac(lrm, stream.take::<N>()), &mut acc);
                    }
                    for n in 0..N.min(CO - o) {
                        for (pe, got) in acc.get(n).to_vec().into_iter().enumerate() {
                            let sum: i32 = (0..K).map(|k| a[k][pe] as i32 * weights[(o + n) * K + k] as i32).sum();
                            assert_eq!(got, sum.wrapping_add(bias[o + n]), "{CO} {K} {N}");
                        }
                    }
                }
            })
            .unwrap();
    }
    case::<6, 7, 4>(&|w, b| broadcast(keep(Ocm::<i8, Stream<6, 7>>::from_weights(w, b))), false);
    case::<12, 24, 4>(&|w, b| broadcast(keep(Ocm::<i8, Stream<12, 24>>::from_weights(w, b))), true);
    case::<3, 19, 1>(&|w, b| broadcast(keep(Ocm::<i8, StreamDot<3, 19>>::from_weights(w, b))), false);
    case::<3, 64, 1>(&|w, b| broadcast(keep(Ocm::<i8, StreamDot<3, 64>>::from_weights(w, b))), true);
    case::<33, 9, 16>(&|w, b| broadcast(keep(Ocm::<i8, StreamOuter<33, 9>>::from_weights(w, b))), true);
}

/// The tensor lives as long as the test.
fn keep<T>(v: T) -> &'static T {
    Box::leak(Box::new(v))
}

#[test]
fn multiply_accumulate_of_wide_elements() {
    let mut random = Random(5);
    let weights: Vec<i16> = random.i32s(4 * 6).into_iter().map(|v| v as i16).collect();
    let narrow: Vec<i8> = random.i8s(4 * 6);
    let a: Vec<Vec<i16>> = (0..6).map(|_| random.i32s(1024).into_iter().map(|v| v as i16).collect()).collect();
    let wide = Ocm::<i16, Stream<4, 6>>::from_weights(&weights, &[0; 4]);
    let slim = Ocm::<i8, Stream<4, 6>>::from_weights(&narrow, &[0; 4]);
    on_array(|| {
        let lrm: [Q<i16>; 6] = std::array::from_fn(|k| Q::from_slice(&a[k]));
        let bytes: [Q<i8>; 6] = lrm.map(|v| v.narrow::<i8>(Wrap));
        let weights_of = |mut stream: Broadcast| {
            let _zeros = stream.bias::<4>();
            stream.take::<4>()
        };
        let got = [mac(lrm, weights_of(broadcast(&wide))), mac(lrm, weights_of(broadcast(&slim)))];
        let mixed = mac(bytes, weights_of(broadcast(&wide)));
        for o in 0..4 {
            let (w, s, m) = (got[0].get(o).to_vec(), got[1].get(o).to_vec(), mixed.get(o).to_vec());
            for pe in 0..1024 {
                let sum = |weight: &dyn Fn(usize) -> i32, byte: bool| {
                    (0..6).fold(0i32, |sum, k| {
                        let a = if byte { a[k][pe] as i8 as i32 } else { a[k][pe] as i32 };
                        sum.wrapping_add(a.wrapping_mul(weight(k)))
                    })
                };
                assert_eq!(w[pe], sum(&|k| weights[o * 6 + k] as i32, false));
                assert_eq!(s[pe], sum(&|k| narrow[o * 6 + k] as i32, false));
                assert_eq!(m[pe], sum(&|k| weights[o * 6 + k] as i32, true));
            }
        }
    });
}

#[test]
fn streams_refuse_what_is_out_of_order() {
    let stream = Ocm::<i8, Stream<4, 8>>::new();
    let raw = Ocm::<i8, Vector<6>>::from_elements(&[1, 0, 0, 0, 5, -1]);
    let run = |body: &dyn Fn()| Session::with_geometry(ARRAYS[0]).run("s", body).unwrap_err().cause;
    let a = || Lrm::<i8, 8>::filled(1);
    let order = run(&|| drop(broadcast(&stream).take::<1>()));
    assert_eq!(order, Cause::StreamOrder { taken: 1, laid_out: 4 });
    let without = run(&|| _ = mac(a(), broadcast(&stream).take::<4>()));
    assert_eq!(without, Cause::StreamBiases { outputs: 4 });
    let early = run(&|| {
        let mut s = broadcast(&stream);
        let _ = s.bias::<4>() + mac(a().slice::<4>(0), s.take::<4>());
        let _ = s.bias::<4>();
    });
    assert_eq!(early, Cause::StreamInputs { done: 4, k: 8, what: "biases are taken" });
    let long = run(&|| {
        let mut s = broadcast(&stream);
        let _ = s.bias::<4>() + mac(Lrm::<i8, 12>::filled(1), s.take::<4>());
    });
    assert_eq!(long, Cause::StreamInputs { done: 12, k: 8, what: "the layout ends" });
    let end = run(&|| {
        let mut s = broadcast(&stream);
        let _ = s.bias::<4>() + mac(a(), s.take::<4>());
        let _ = s.bias::<4>();
    });
    assert_eq!(end, Cause::StreamEnd { at: 48, wanted: 16, len: 48 });
    on_array(|| {
        let mut s = broadcast(&raw);
        assert_eq!(s.next::<i32>().to_vec()[7], 1);
        assert_eq!(s.next::<i8>().to_vec()[7], 5);
        assert_eq!(s.next::<i8>().to_vec()[7], -1);
    });
}

#[test]
fn random_access_and_dma() {
    let values = Random(12).i8s(100);
    let x = Ocm::<i8, Vector<100>>::from_elements(&values);
    let y = Ocm::<i8, Vector<100>>::new();
    let g = ARRAYS[0];
    Session::with_geometry(g)
        .run("rau", || {
            let index = __rt::bind(q_row() * 20 + q_col() * 3 - 10);
            let (v, ok) = x.gather(index).wait();
            for (pe, (v, ok)) in v.to_vec().into_iter().zip(ok.to_vec()).enumerate() {
                let i = (pe / 8 * 20 + pe % 8 * 3) as i32 - 10;
                let inside = (0..100).contains(&i);
                assert_eq!((v, ok), (if inside { values[i as usize] } else { 0 }, inside));
            }
            let branch = __rt::branch(__rt::lt(q_row(), 4));
            if let Some(_m) = __rt::Branch::then_arm(&branch) {
                y.scatter(q_col() * 30 - 10, (q_row() * 10 + q_col()).narrow::<i8>(Saturate)).wait();
            }
        })
        .unwrap();
    let mut want = [0i8; 100];
    (0..4).for_each(|r| [1, 2, 3].iter().for_each(|c| want[c * 30 - 10] = (r * 10 + c) as i8));
    assert_eq!(y.to_logical(), want, "the last row stays, disabled rows write nothing");

    let ext = Ext::<i8, Vector<100>>::from_memory(&values);
    let mut back = Ext::<i8, Vector<100>>::new();
    let mut session = Session::with_geometry(g);
    session
        .run("dma", || {
            let mut buffer = Ocm::<i8, Vector<100>>::new();
            let landing = prefetch(&ext, &mut buffer);
            landing.wait();
            let _ = write_back(&buffer, &mut back);
            drain();
            let _more = Ocm::<i8, Vector<28>>::new();
        })
        .unwrap();
    assert_eq!(back.to_logical(), values);
    assert_eq!(session.usage().ocm_bytes, 128, "both tensors at the peak");
}

#[test]
fn local_memory_is_counted_by_scope() {
    let mut session = Session::with_geometry(ARRAYS[0]);
    session
        .run("lrm", || {
            let _a = __rt::bind(Lrm::<i32, 10>::new());
            for _ in 0..5 {
                let _s = __rt::scope();
                let _b = __rt::bind(Lrm::<i8, 8>::new());
            }
        })
        .unwrap();
    assert_eq!(session.usage().lrm_bytes, 48);
}

/// Keys and values of an attention lie as they were stored; both serve the MAC unit without being copied.
#[test]
fn activations_are_weights() {
    const N: usize = 12;
    const D: usize = 8;
    const K: usize = 32;
    let mut random = Random(77);
    let (keys, values) = (random.i8s(N * D), random.i8s(3 * K));
    let tokens = Ocm::<i8, Tokens<N, D>>::from_logical(&keys);
    let planar = Ocm::<i8, Planar<3, 4, 8>>::from_logical(&values);
    let a: Vec<Vec<i8>> = (0..K).map(|_| random.i8s(35)).collect();
    Session::with_geometry(ARRAYS[2])
        .run("activations", || {
            let lrm: [Q<i8>; K] = std::array::from_fn(|k| Q::from_slice(&a[k]));
            let mut stream = broadcast(&tokens);
            for n in (0..N).step_by(4) {
                let acc = mac(&lrm[..D], stream.take::<4>());
                for i in 0..4 {
                    let sum = |pe: usize| (0..D).map(|d| a[d][pe] as i32 * keys[(n + i) * D + d] as i32).sum::<i32>();
                    assert_eq!(acc.get(i).to_vec(), (0..35).map(sum).collect::<Vec<_>>());
                }
            }
            let mut stream = broadcast(&planar);
            for c in 0..3 {
                let acc = mac(&lrm[..], stream.take::<1>());
                let sum = |pe: usize| (0..K).map(|k| a[k][pe] as i32 * values[c * K + k] as i32).sum::<i32>();
                assert_eq!(acc.get(0).to_vec(), (0..35).map(sum).collect::<Vec<_>>());
            }
        })
        .unwrap();
    let biases = Session::with_geometry(ARRAYS[2]).run("b", || _ = broadcast(&tokens).bias::<4>());
    assert!(matches!(biases.unwrap_err().cause, Cause::Layout { wanted: "biases", .. }));
}

#[test]
fn buffers_move_and_tiles_hold_patches() {
    let values = Random(3).i8s(3 * 5 * 6);
    let x = Ocm::<i8, Packed<3, 5, 6>>::from_logical(&values);
    let y = Ocm::<i8, Packed<3, 10, 18>>::new();
    on_array(|| {
        for t in x.tiles() {
            let a = t.fetch::<Lrm<i8, 3>>().wait();
            let moved = shift(&a, West, 2);
            (0..3).for_each(|c| assert_eq!(moved[c].to_vec(), shift(a[c], West, 2).to_vec()));
            let patch: [Q<i8>; 18] = std::array::from_fn(|i| a[i % 3]);
            let mut out = __rt::var(Lrm::<i8, 18>::new());
            (0..18).for_each(|i| __rt::assign(patch[i], &mut out[i]));
            y.at(t).block::<2, 3>().store(out);
        }
    });
    for (i, got) in y.to_logical().into_iter().enumerate() {
        let (c, r, q) = (i / 180, i / 18 % 10, i % 18);
        assert_eq!(got, values[(c * 5 + r / 2) * 6 + q / 3]);
    }
}
