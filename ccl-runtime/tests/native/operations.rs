//! Every operation against a formula in i128 or f64: 8-bit operands exhaustively, wider ones random with corners.

use ccl_runtime::__rt;
use ccl_runtime::native::Cause;
use ccl_runtime::native::Session;
use ccl_runtime::prelude::*;

use crate::support::*;

macro_rules! int_operators {
    ($name:ident, $T:ident, $pairs:expr) => {
        #[test]
        fn $name() {
            let (a, b): (Vec<$T>, Vec<$T>) = $pairs;
            let wrap = |v: i128| v as $T;
            macro_rules! check {
                ($op:expr, $formula:expr) => {
                    each_pair(&a, &b, $op, |x, y, got| {
                        let f: fn(i128, i128) -> i128 = $formula;
                        assert_eq!(got, wrap(f(x as i128, y as i128)), "{x} {y}: {}", stringify!($op));
                    });
                };
            }
            check!(|a, b| a + b, |a, b| a + b);
            check!(|a, b| a - b, |a, b| a - b);
            check!(|a, b| a * b, |a, b| a * b);
            check!(|a, b| a & b, |a, b| a & b);
            check!(|a, b| a | b, |a, b| a | b);
            check!(|a, b| a ^ b, |a, b| a ^ b);
            check!(|a, _b| -a, |a, _| -a);
            check!(|a, _b| !a, |a, _| !a);
            check!(|a, _b| abs_of(a), |a, _| a.abs());
            check!(min, |a, b| a.min(b));
            check!(max, |a, b| a.max(b));
            check!(|a, b| clamp(a, b, 100), |a, b| a.max(b).min(100));
            check!(|a, b| select(__rt::lt(a, b), a, 7), |a, b| if a < b { a } else { 7 });
            check!(|a, b| 3 - a + b, |a, b| 3 - a + b);
            check!(|a, b| 5 * a + b * 2, |a, b| 5 * a + 2 * b);
            for (cmp, formula) in [
                (0, (|a, b| a == b) as fn(i128, i128) -> bool),
                (1, |a, b| a != b),
                (2, |a, b| a < b),
                (3, |a, b| a <= b),
                (4, |a, b| a > b),
                (5, |a, b| a >= b),
            ] {
                let op = |a, b| match cmp {
                    0 => __rt::eq(a, b),
                    1 => __rt::ne(a, b),
                    2 => __rt::lt(a, b),
                    3 => __rt::le(a, b),
                    4 => __rt::gt(a, b),
                    _ => __rt::ge(a, b),
                };
                each_pair(&a, &b, op, |x, y, got| assert_eq!(got, formula(x as i128, y as i128), "{x} {y} {cmp}"));
            }
            for n in [0usize, 1, 3, 7, 8, 15, 31] {
                each_pair(&a, &b, |a, _| a << n, |x, _, got| assert_eq!(got, wrap((x as i128) << n), "{x} << {n}"));
                each_pair(&a, &b, |a, _| a >> n, |x, _, got| assert_eq!(got, wrap((x as i128) >> n), "{x} >> {n}"));
                for rounding in [HalfEven, HalfUp, Floor, TowardZero] {
                    each_pair(
                        &a,
                        &b,
                        |a, _| a.shr_round(n, rounding),
                        |x, _, got| {
                            assert_eq!(got as i128, rounded(x as i128, n as u32, rounding), "{x} / 2^{n} {rounding:?}");
                        },
                    );
                }
            }
        }
    };
}

/// `abs` of unsigned values is the identity.
fn abs_of<T: ccl_runtime::value::Num>(a: Q<T>) -> Q<T> {
    abs(a)
}

/// `round(v / 2^n)` by quotient and remainder.
fn rounded(v: i128, n: u32, rounding: Rounding) -> i128 {
    let d = 1i128 << n;
    let (floor, rest) = (v.div_euclid(d), v.rem_euclid(d));
    match rounding {
        Floor => floor,
        TowardZero => v / d,
        HalfUp => floor + (2 * rest >= d) as i128,
        HalfEven => floor + (2 * rest > d || (2 * rest == d && floor.rem_euclid(2) == 1)) as i128,
    }
}

fn random_pairs<T>(make: impl Fn(i32) -> T) -> (Vec<T>, Vec<T>) {
    let mut random = Random(11);
    (0..20_000).map(|_| (make(random.i32()), make(random.i32()))).unzip()
}

int_operators!(int8, i8, all_pairs());
int_operators!(uint8, u8, {
    let (a, b) = all_pairs();
    (a.iter().map(|v| *v as u8).collect(), b.iter().map(|v| *v as u8).collect())
});
int_operators!(int16, i16, random_pairs(|v| v as i16));
int_operators!(uint16, u16, random_pairs(|v| v as u16));
int_operators!(int32, i32, random_pairs(|v| v));
int_operators!(int64, i64, random_pairs(|v| (v as i64) << (v & 31)));

#[test]
fn conversions() {
    let (a, b): (Vec<i32>, Vec<i32>) = random_pairs(|v| v);
    macro_rules! check {
        ($($U:ident),*) => { $(
            each_pair(&a, &b, |a, _| a.narrow::<$U>(Saturate), |x, _, got| {
                assert_eq!(got as i128, (x as i128).clamp($U::MIN as i128, $U::MAX as i128), "{x}");
            });
            each_pair(&a, &b, |a, _| a.narrow::<$U>(Wrap), |x, _, got| assert_eq!(got, x as $U));
        )* };
    }
    check!(i8, i16, u8, u16, i32);
    each_pair(&a, &b, |a, _| a.widen::<i64>(), |x, _, got| assert_eq!(got, x as i64));
    let (a, b) = all_pairs();
    each_pair(&a, &b, |a, _| a.widen::<i16>(), |x, _, got| assert_eq!(got, x as i16));
    each_pair(&a, &b, |a, b| a.widen::<i32>() * b.widen::<i32>(), |x, y, got| assert_eq!(got, x as i32 * y as i32));
    each_pair(&a, &b, |a, b| __rt::lt(a, b).widen::<i32>(), |x, y, got| assert_eq!(got, (x < y) as i32));
    each_pair(&a, &b, |a, _| a.narrow::<u8>(Saturate), |x, _, got| assert_eq!(got, x.max(0) as u8));
}

#[test]
fn shifts_by_lanes() {
    let (a, b) = random_pairs(|v| v);
    each_pair(&a, &b, |a, b| a << b, |x, y, got| assert_eq!(got, x.wrapping_shl(y as u32)));
    each_pair(&a, &b, |a, b| a >> b, |x, y, got| assert_eq!(got, x.wrapping_shr(y as u32)));
}

#[test]
fn logic() {
    let (a, b) = all_pairs();
    each_pair(&a, &b, |a, b| __rt::and(__rt::lt(a, b), || __rt::gt(a, 3)), |x, y, got| assert_eq!(got, x < y && x > 3));
    each_pair(
        &a,
        &b,
        |a, b| __rt::or(!__rt::lt(a, b), || __rt::gt(a, 3)),
        |x, y, got| assert_eq!(got, x >= y || x > 3),
    );
    each_pair(&a, &b, |a, b| __rt::and(true, || __rt::eq(a, b)), |x, y, got| assert_eq!(got, x == y));
    each_pair(&a, &b, |a, b| __rt::lt(a, b) ^ __rt::lt(b, 0), |x, y, got| assert_eq!(got, (x < y) ^ (y < 0)));
    let mut n = 0;
    assert!(!__rt::and(false, || {
        n += 1;
        true
    }));
    assert!(__rt::or(true, || {
        n += 1;
        true
    }));
    assert_eq!(n, 0, "scalars are computed only where they decide");
}

#[test]
fn scalars_stay_scalars() {
    assert_eq!(min(3usize, 4), 3);
    assert_eq!(max(-3, clamp(9, 1, 5)), 5);
    assert_eq!(abs(-7i32), 7);
    assert!(__rt::lt(3usize, 4) && __rt::ne(fx::<8>(0.5), fx::<8>(1)));
    assert_eq!(fx::<16>(0.1).raw(), 6554);
    assert_eq!(fx::<16>(-0.5).raw(), -32768);
    assert_eq!(fx::<0>(2.5).raw(), 2, "ties to even");
    assert_eq!(fx::<31>(1.0).raw(), i32::MAX);
    assert_eq!((fx::<4>(1.5) + fx::<4>(0.25) - -fx::<4>(1)).to_f64(), 2.75);
    assert_eq!((div_ceil(7, 2), next_multiple_of(5, 4), log2(9), pow(3, 4), is_power_of_two(12)), (4, 8, 3, 81, false));
}

#[test]
fn fixed_point_products_and_quotients() {
    let (a, b) = random_pairs(|v| v);
    macro_rules! product {
        ($A:literal $B:literal $F:literal) => {
            each_pair(
                &a,
                &b,
                |a, b| fx_mul::<$F>(fx_raw::<$A>(a), fx_raw::<$B>(b)).raw(),
                |x, y, got| {
                    let product = x as i128 * y as i128;
                    let shift = $A + $B - $F;
                    assert_eq!(got, (if shift >= 0 { product >> shift } else { product << -shift }) as i32, "{x} {y}");
                },
            );
        };
    }
    product!(16 16 16);
    product!(0 24 16);
    product!(31 31 0);
    product!(0 0 20);
    product!(12 30 31);
    macro_rules! quotient {
        ($A:literal $F:literal) => {
            each_pair(
                &a,
                &b,
                |a, b| {
                    let b = select(__rt::eq(b, 0), 1, b);
                    fx_div::<$F>(fx_raw::<$A>(a), fx_raw::<$A>(b)).raw()
                },
                |x, y, got| {
                    let y = if y == 0 { 1 } else { y };
                    assert_eq!(got, (((x as i128) << $F) / y as i128) as i32, "{x} {y}");
                },
            );
        };
    }
    quotient!(16 16);
    quotient!(12 24);
    quotient!(0 31);
    quotient!(30 0);
    for rounding in [HalfEven, HalfUp, Floor, TowardZero] {
        each_pair(
            &a,
            &b,
            |a, _| fx_raw::<20>(a).rescale::<7>(rounding, Saturate).raw(),
            |x, _, got| {
                assert_eq!(got as i128, rounded(x as i128, 13, rounding));
            },
        );
        each_pair(
            &a,
            &b,
            |a, _| fx_raw::<11>(a).round(rounding),
            |x, _, got| {
                assert_eq!(got as i128, rounded(x as i128, 11, rounding));
            },
        );
    }
    each_pair(
        &a,
        &b,
        |a, _| fx_raw::<7>(a).rescale::<20>(Floor, Saturate).raw(),
        |x, _, got| {
            assert_eq!(got as i128, ((x as i128) << 13).clamp(i32::MIN as i128, i32::MAX as i128));
        },
    );
    each_pair(
        &a,
        &b,
        |a, _| fx_raw::<0>(a).rescale::<31>(Floor, Wrap).raw(),
        |x, _, got| {
            assert_eq!(got, ((x as i128) << 31) as i32);
        },
    );
}

#[test]
fn a_zero_divisor_ends_the_run_where_it_is_enabled() {
    let mut session = Session::with_geometry(ARRAYS[0]);
    let divide = |masked: bool| {
        let b = q_col() - 3;
        let condition = if masked { __rt::ne(b, 0) } else { splat(true) };
        let branch = __rt::branch(condition);
        let _arm = __rt::Branch::then_arm(&branch);
        fx_div::<4>(fx_raw::<4>(q_row()), fx_raw::<4>(b))
    };
    let fault = session.run("divide", || divide(false)).map(|_| ()).unwrap_err();
    assert_eq!(fault.cause, Cause::DivideByZero { row: 0, col: 3 });
    assert!(fault.to_string().contains("kernel `divide`") && fault.to_string().contains("operations.rs"), "{fault}");
    session.run("divide", || divide(true)).map(|_| ()).expect("disabled PEs do not divide");
}

#[test]
fn exponentials_and_logarithms() {
    let (a, b) = random_pairs(|v| v);
    macro_rules! check {
        ($A:literal $F:literal) => {
            each_pair(
                &a,
                &b,
                |a, _| exp::<$F>(fx_raw::<$A>(a)).raw(),
                |x, _, got| {
                    let real = (x as f64 / (1u64 << $A) as f64).exp() * (1u64 << $F) as f64;
                    assert!(
                        (got as f64 - real.min(2147483647.0)).abs() <= 0.5 + real.min(2e9) * 1e-14,
                        "{x}: {got} {real}"
                    );
                },
            );
            each_pair(
                &a,
                &b,
                |a, _| ln::<$F>(fx_raw::<$A>(a)).raw(),
                |x, _, got| {
                    if x <= 0 {
                        return assert_eq!(got, i32::MIN);
                    }
                    let real = (x as f64 / (1u64 << $A) as f64).ln() * (1u64 << $F) as f64;
                    let real = real.clamp(-2147483648.0, 2147483647.0);
                    assert!((got as f64 - real).abs() <= 0.5 + real.abs() * 1e-14, "{x}: {got} {real}");
                },
            );
        };
    }
    check!(16 16);
    check!(24 12);
    check!(0 0);
    check!(31 31);
    check!(8 28);
}

#[test]
fn requantisation_rounds_once() {
    let (a, mut b) = random_pairs(|v| v);
    b.fill(0);
    let scales =
        [Scale::new(1 << 23, 30), Scale::new(12_345_677, 31), Scale::new(3 << 22, 26), Scale::new(16_777_215, 54)];
    let more =
        [Scale::new(9_000_001, 80), Scale::new(1, 0), Scale::new(5, -3), Scale::new(1, 1), Scale::new(8_388_608, 62)];
    for scale in scales.into_iter().chain(more) {
        for rounding in [HalfEven, HalfUp, Floor, TowardZero] {
            let exact = |x: i32| {
                let product = x as i128 * scale.mantissa as i128;
                if scale.shift > 0 { rounded(product, scale.shift as u32, rounding) } else { product << -scale.shift }
            };
            each_pair(
                &a,
                &b,
                |a, _| requant(a, scale, rounding, Saturate),
                |x, _, got| {
                    assert_eq!(got as i128, exact(x).clamp(-128, 127), "{x} {scale:?} {rounding:?}");
                },
            );
            each_pair(
                &a,
                &b,
                |a, _| requant(a, scale, rounding, Wrap),
                |x, _, got| {
                    assert_eq!(got, exact(x) as i8, "{x} {scale:?} {rounding:?}");
                },
            );
        }
    }
}

#[test]
fn quantise_and_dequantise() {
    // The check of MACHINE.md, section 6.
    let x = [-15.0, 1.4, 2.0, 3.4, 14.5, 15.5].map(|v| fx::<27>(v).raw());
    let inverse = Scale::from_f64(1.0 / 0.01865844801068306);
    let mut values = x.to_vec();
    values.resize(1024, 0);
    let got = on_array(|| quantize(fx_raw::<27>(Q::from_slice(&values)), inverse, -14).to_vec());
    assert_eq!(got[..6], [-128, 61, 93, 127, 127, 127]);

    let (a, b) = random_pairs(|v| v);
    let scale = Scale::from_f64(0.037);
    each_pair(
        &a,
        &b,
        |a, _| quantize(fx_raw::<16>(a), scale, 5),
        |x, _, got| {
            let exact = rounded(x as i128 * scale.mantissa as i128, scale.shift as u32 + 16, HalfEven) + 5;
            assert_eq!(got as i128, exact.clamp(-128, 127));
        },
    );
    each_pair(
        &a,
        &b,
        |a, _| dequantize::<16>(a, scale, -3).raw(),
        |x, _, got| {
            let product = x.wrapping_add(3) as i128 * scale.mantissa as i128;
            assert_eq!(got, (product >> (scale.shift - 16)) as i32);
        },
    );
    let (a, b) = all_pairs();
    each_pair(
        &a,
        &b,
        |a, _| dequantize::<24>(a, scale, -3).raw(),
        |x, _, got| {
            assert_eq!(got, (((x as i128 + 3) * scale.mantissa as i128) >> (scale.shift - 24)) as i32);
        },
    );
    for value in [1.0, 0.5, 0.037, 3.0, 1e-9, 255.999999999, 1.0 / 3.0] {
        let scale = Scale::from_f64(value);
        assert!((1 << 23..1 << 24).contains(&scale.mantissa), "{scale:?}");
        assert!((scale.to_f64() / value - 1.0).abs() < 1e-7, "{value} {scale:?}");
    }
}

#[test]
fn tables() {
    let table: [i8; 8] = [1, 2, 4, 8, 16, 32, 64, 127];
    let (a, b) = all_pairs();
    each_pair(&a, &b, |a, _| lookup(table, a), |x, _, got| assert_eq!(got, table[x as usize & 7]));
    let words: Vec<i16> = (0..256).map(|i| i * 100 - 3000).collect();
    let memory = Ocm::<i16, Vector<256>>::from_elements(&words);
    each_pair(
        &a,
        &b,
        |a, b| {
            let mut table = __rt::var(broadcast(&memory).fill::<Lrm<i16, 256>>());
            // Every PE holds a table of its own.
            __rt::assign(b.widen::<i16>(), &mut table[7]);
            lookup(table, a)
        },
        |x, y, got| assert_eq!(got, if x == 7 { y as i16 } else { words[x as u8 as usize] }),
    );
    let fault =
        Session::with_geometry(ARRAYS[0]).run("t", || lookup([1i8, 2, 3], splat(0i32))).map(|_| ()).unwrap_err();
    assert_eq!(fault.cause, Cause::Table { len: 3 });
}

#[test]
fn places_shifts_and_reductions() {
    for g in ARRAYS {
        let mut random = Random(4);
        let values = random.i32s(g.rows * g.cols);
        let mut session = Session::with_geometry(g);
        let at = |r: isize, c: isize| {
            let inside = (0..g.rows as isize).contains(&r) && (0..g.cols as isize).contains(&c);
            if inside { values[r as usize * g.cols + c as usize] } else { 0 }
        };
        for hops in [0usize, 1, 2, 4, 40] {
            for (to, dr, dc) in [(North, 1, 0), (South, -1, 0), (East, 0, -1), (West, 0, 1)] {
                let got = session.run("s", || shift(Q::from_slice(&values), to, hops).to_vec()).unwrap();
                for (i, got) in got.iter().enumerate() {
                    let (r, c) = ((i / g.cols) as isize, (i % g.cols) as isize);
                    assert_eq!(*got, at(r + dr * hops as isize, c + dc * hops as isize), "{g:?} {to:?} {hops} {r} {c}");
                }
            }
        }
        // Border columns take part.
        let got = session.run("s", || shift(q_col(), East, 2).to_vec()).unwrap();
        for (i, got) in got.iter().enumerate() {
            assert_eq!(*got, (i % g.cols) as i32 - 2);
        }
        let (rows, columns) = session.run("p", || (q_row().to_vec(), q_col().to_vec())).unwrap();
        for i in 0..values.len() {
            assert_eq!((rows[i] as usize, columns[i] as usize), (i / g.cols, i % g.cols));
        }
        for (op, start, f) in
            [(Sum, 0, i32::wrapping_add as fn(i32, i32) -> i32), (Max, i32::MIN, i32::max), (Min, i32::MAX, i32::min)]
        {
            for over in [Row, Column, Array] {
                let odd_only = session
                    .run("r", || {
                        let x = Q::from_slice(&values);
                        let branch = __rt::branch(__rt::eq(q_col() & 1, 1));
                        let _arm = __rt::Branch::then_arm(&branch);
                        (reduce(x, op, over).to_vec(), any(__rt::eq(q_col(), 0)), all(__rt::ne(q_col(), 2)))
                    })
                    .unwrap();
                assert_eq!((odd_only.1, odd_only.2), (false, true));
                for (i, got) in odd_only.0.iter().enumerate() {
                    let mine = (0..values.len()).filter(|j| {
                        let alike = match over {
                            Row => j / g.cols == i / g.cols,
                            Column => j % g.cols == i % g.cols,
                            Array => true,
                        };
                        alike && j % g.cols % 2 == 1
                    });
                    assert_eq!(*got, mine.fold(start, |s, j| f(s, values[j])), "{g:?} {op:?} {over:?} {i}");
                }
            }
        }
    }
}
