//! Every complete kernel of the corpus against a plain function.

use ccl_runtime::kernel::{Argument, Arguments};
use ccl_runtime::value::Scale;

use crate::support::*;

fn scale(v: f64) -> Scale {
    Scale::from_f64(v)
}

/// The weights and biases of a stream.
fn stream(args: &Arguments, name: &str) -> (Numbers, Vec<i32>) {
    match args.get(name) {
        Some(Argument::Stream { weights, bias }) => (Numbers::of(weights), bias.clone()),
        other => panic!("no stream: {other:?}"),
    }
}

#[test]
fn pointwise() {
    let s = scale(0.0021);
    for [ci, co, h, w] in [[3, 6, 1, 1], [32, 8, 11, 19]] {
        let given = Arguments::new().with("scale", s);
        let (a, b) = results(&[("crate::k", &corpus("pointwise"))], "pointwise", &[ci, co, h, w], &given);
        let (x, (weights, bias)) = (numbers(&a, "x"), stream(&a, "w"));
        numbers(&b, "y").each(|at, got| {
            let sum: i64 = (0..ci as i64).map(|c| x.at(&[c, at[1], at[2]]) * weights.at(&[at[0], c])).sum();
            assert_eq!(got, requantised(sum + bias[at[0] as usize] as i64, s), "{at:?}");
        });
    }
}

#[test]
fn dense() {
    // The grid is one of a full array.
    let text = corpus("dense").replace("grid(18, 20)", "grid(5, 7)");
    let s = scale(0.004);
    let (a, b) = results(&[("", &text)], "dense", &[40, 9, 20], &Arguments::new().with("scale", s));
    let (x, (weights, bias)) = (numbers(&a, "x"), stream(&a, "w"));
    numbers(&b, "y").each(|at, got| {
        let sum: i64 = (0..9).map(|c| x.at(&[at[0], c]) * weights.at(&[at[1], c])).sum();
        assert_eq!(got, requantised(sum + bias[at[1] as usize] as i64, s), "{at:?}");
    });
}

#[test]
fn add() {
    let (sa, sb) = (scale(0.7), scale(1.3));
    let given = Arguments::new().with("scale_a", sa).with("scale_b", sb);
    let (a, b) = results(&[("", &corpus("add"))], "add", &[6, 9, 10], &given);
    let (x, z) = (numbers(&a, "a"), numbers(&a, "b"));
    let part = |v: i64, s: Scale| (v * s.mantissa as i64) >> (s.shift - 16);
    numbers(&b, "y").each(|at, got| {
        assert_eq!(got, saturated(rounded((part(x.at(at), sa) + part(z.at(at), sb)) as i128, 16)), "{at:?}");
    });
}

#[test]
fn argmax() {
    let (a, b) = results(&[("", &corpus("argmax"))], "argmax", &[19, 9, 17], &Arguments::new());
    let x = numbers(&a, "x");
    numbers(&b, "labels").each(|at, got| {
        let best = (0..19).rev().max_by_key(|c| x.at(&[*c, at[1], at[2]])).expect("channels");
        assert_eq!(got, best, "{at:?}");
    });
}

#[test]
fn max_pool() {
    let (a, b) = results(&[("", &corpus("max_pool"))], "max_pool3", &[3, 21, 19, 11, 10], &Arguments::new());
    let x = numbers(&a, "x");
    numbers(&b, "y").each(|at, got| {
        let window = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (2 * at[1] + dy, 2 * at[2] + dx)));
        let inside = window.filter(|(y, x)| (0..21).contains(y) && (0..19).contains(x));
        assert_eq!(Some(got), inside.map(|(y, c)| x.at(&[at[0], y, c])).max(), "{at:?}");
    });
}

#[test]
fn depthwise() {
    let s = scale(1.0 / 40_000.0);
    let given = Arguments::new().with("scale", s);
    let (a, b) = results(&[("", &corpus("depthwise"))], "depthwise3", &[3, 9, 13, 33], &given);
    let (x, w) = (numbers(&a, "x"), numbers(&a, "w"));
    numbers(&b, "y").each(|at, got| {
        let first = 11 * at[0];
        let bias = (w.at(&[first]) & 0xffff) | (w.at(&[first + 1]) << 16);
        let taps = (0..3).flat_map(|kx| (0..3).map(move |ky| (ky, kx)));
        let sum = taps.fold(bias as i32, |sum, (ky, kx)| {
            let product = x.at(&[at[0], at[1] + ky - 1, at[2] + kx - 1]) * w.at(&[first + 2 + kx * 3 + ky]);
            sum.wrapping_add(product as i32)
        });
        assert_eq!(got, requantised(sum as i64, s), "{at:?}");
    });
}

#[test]
fn conv_gather() {
    let s = scale(0.0005);
    let given = Arguments::new().with("pad_y", 1).with("pad_x", 2).with("scale", s);
    let (ci, co, h, w, ho, wo, kh, kw, stride, dil) = (3, 8, 17, 19, 9, 10, 3, 5, 2, 1);
    let consts = [ci, co, h, w, ho, wo, kh, kw, kh * kw * ci, stride, dil];
    let text = corpus("conv_gather");
    let (a, b) = results(&[("", &text)], "conv_gather", &consts, &given);
    let (x, (weights, bias)) = (numbers(&a, "x"), stream(&a, "w"));
    numbers(&b, "y").each(|at, got| {
        let mut sum = bias[at[0] as usize] as i64;
        for k in 0..(kh * kw * ci) as i64 {
            let (c, tap) = (k % ci as i64, k / ci as i64);
            let (ky, kx) = (tap / kw as i64, tap % kw as i64);
            let y = at[1] * stride as i64 + ky * dil as i64 - 1;
            sum += x.at(&[c, y, at[2] * stride as i64 + kx * dil as i64 - 2]) * weights.at(&[at[0], k]);
        }
        assert_eq!(got, requantised(sum, s), "{at:?}");
    });
}

#[test]
fn conv_space_to_depth() {
    let s = scale(0.0001);
    let given = Arguments::new().with("scale", s);
    let (a, b) = results(&[("", &corpus("conv_space_to_depth"))], "patches", &[2, 8, 72, 80, 9, 10, 128], &given);
    let (x, (weights, bias)) = (numbers(&a, "x"), stream(&a, "w"));
    numbers(&b, "y").each(|at, got| {
        let product = |k: i64| {
            let (c, dy, dx) = (k / 64, k / 8 % 8, k % 8);
            x.at(&[c, at[1] * 8 + dy, at[2] * 8 + dx]) * weights.at(&[at[0], k])
        };
        assert_eq!(got, requantised((0..128).map(product).sum::<i64>() + bias[at[0] as usize] as i64, s), "{at:?}");
    });
}

#[test]
fn unary_and_power() {
    let (a, b) = results(&[("", &corpus("lut_unary"))], "unary", &[6, 9, 9], &Arguments::new());
    let (x, table) = (numbers(&a, "x"), numbers(&a, "table"));
    numbers(&b, "y").each(|at, got| assert_eq!(got, table.at(&[x.at(at) & 255]), "{at:?}"));
    let (a, b) = results(&[("", &corpus("lut_unary"))], "power", &[17, 9], &Arguments::new());
    let x = numbers(&a, "x");
    numbers(&b, "y").each(|at, got| assert_eq!(got, (1 << (x.at(at) & 7)).min(127), "{at:?}"));
}

#[test]
fn root() {
    let x =
        ccl_runtime::kernel::HostTensor::from_fn(ccl_runtime::kernel::ElemType::I32, &[1, 9, 9], |i| i as i64 * 40_000);
    let (a, b) =
        results(&[("", &corpus("iterate"))], "root", &[9, 9], &Arguments::new().with("x", x).with("steps", 30));
    let x = numbers(&a, "x");
    numbers(&b, "y").each(|at, got| {
        let wanted = (x.at(at) as f64 / 65536.0).sqrt();
        let got = got as f64 / 65536.0;
        // Newton's steps end at a distance of 0.0001; of numbers below 1e-4 the first guess halves at most 16 times.
        assert!((got - wanted).abs() < 0.005, "{at:?}: {got}, {wanted}");
    });
}

/// `round(exp(x / 2^from) * 2^to)`.
fn exp(x: i64, from: i32, to: i32) -> i64 {
    ((x as f64 / 2f64.powi(from)).exp() * 2f64.powi(to)).round() as i64
}

/// The softmax of one PE, as the corpus defines it.
fn softmax_row(scores: &[i64], s: Scale) -> Vec<i64> {
    let top = *scores.iter().max().expect("scores");
    let e: Vec<i64> = scores.iter().map(|v| exp(((v - top) * s.mantissa as i64) >> (s.shift - 24), 24, 12)).collect();
    let total: i64 = e.iter().sum();
    let inverse = (4096i64 << 24) / total;
    e.iter().map(|e| saturated(rounded((((e * inverse) >> 24) as i32 as i128) * 127, 12))).collect()
}

#[test]
fn softmax() {
    let s = scale(0.00001);
    let (a, b) = results(&[("", &corpus("softmax"))], "softmax_rows", &[70, 12], &Arguments::new().with("scale", s));
    let x = numbers(&a, "x");
    numbers(&b, "y").each(|at, got| {
        let row: Vec<i64> = (0..12).map(|k| x.at(&[at[0], k])).collect();
        assert_eq!(got, softmax_row(&row, s)[at[1] as usize], "{at:?}");
    });
}

#[test]
fn attention_takes_its_softmax_from_another_file() {
    let (score, value) = (scale(0.0004), scale(0.01));
    let given = Arguments::new().with("score_scale", score).with("value_scale", value);
    let files = [("ccl_runtime::nn", corpus("softmax")), ("crate::mine", corpus("attention"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let (n, k, d) = (70, 9, 8);
    let (a, b) = results(&files, "head", &[n, k, d], &given);
    let (q, skip) = (numbers(&a, "q"), numbers(&a, "skip"));
    let ((keys, key_bias), (values, value_bias)) = (stream(&a, "keys"), stream(&a, "values"));
    numbers(&b, "y").each(|at, got| {
        let dot = |key: i64| (0..d as i64).map(|c| q.at(&[at[0], c]) * keys.at(&[key, c])).sum::<i64>();
        let scores: Vec<i64> = (0..k).map(|key| dot(key as i64) + key_bias[key] as i64).collect();
        let p = softmax_row(&scores, score);
        let sum: i64 = (0..k).map(|key| p[key] * values.at(&[at[1], key as i64])).sum();
        let projected = requantised(sum + value_bias[at[1] as usize] as i64, value);
        assert_eq!(got, saturated(projected + skip.at(at)), "{at:?}");
    });
}

#[test]
fn layer_norm() {
    let (c, bits) = (12, 24);
    let out = scale(0.5);
    let given = Arguments::new().with("per_channel", (1i64 << bits) / c as i64).with("out", out);
    let text = corpus("layer_norm");
    let library = library(&[("", &text)]);
    let wanted = ccl_runtime::interp::params(
        ccl_runtime::interp::Program {
            unit: library.with_function("layer_norm").expect("it is there"),
            function: "layer_norm",
            consts: &constants(&text, c),
            linker: &library,
        },
        &mut ccl_runtime::native::Session::with_geometry(ARRAY),
    );
    assert!(wanted.is_ok(), "{wanted:?}");
    let consts: Vec<usize> = constants(&text, c).iter().map(|v| v.as_int().expect("a number") as usize).collect();
    let (a, b) = results(&[("", &text)], "layer_norm", &consts, &given);
    let (x, affine) = (numbers(&a, "x"), numbers(&a, "gamma_beta"));
    let per_channel = (1i64 << bits) / c as i64;
    numbers(&b, "y").each(|at, got| {
        let row: Vec<i64> = (0..c as i64).map(|c| x.at(&[c, at[1], at[2]])).collect();
        let (sum, squares) = (row.iter().sum::<i64>(), row.iter().map(|v| v * v).sum::<i64>());
        let low = |v: i64| v as i32 as i64;
        let mean = low((sum * per_channel) >> 8);
        let variance = low((squares * per_channel) >> 8) - low((mean * mean) >> 16);
        let ln = |v: i64| ((v as f64 / 65536.0).ln() * 2f64.powi(24)).round() as i64;
        let half = -128;
        let inverse = exp(low((ln(variance.max(1)) * half) >> 8), 24, 24);
        let normal = low(((low(row[at[0] as usize] << 16) - mean) * inverse) >> 20);
        let scaled = low((normal * affine.at(&[2 * at[0]])) >> 20);
        let sum = low(scaled + affine.at(&[2 * at[0] + 1]));
        let wanted = saturated(rounded(sum as i128 * out.mantissa as i128, out.shift + 20));
        assert_eq!(got, wanted, "{at:?}");
    });
}

/// Const arguments of the layer norm for `c` channels: its gamma and beta lie in one vector.
fn constants(text: &str, c: usize) -> Vec<ccl_syntax::eval::Value> {
    let n = if text.contains("const PARAMETERS") || text.contains("const AFFINE") {
        vec![c, 2, 3, 2 * c]
    } else {
        vec![c, 2, 3]
    };
    n.into_iter().map(|n| ccl_syntax::eval::Value::usize(n as i128)).collect()
}

#[test]
fn residual_of_external_tensors() {
    let (a, b) = results(&[("", &corpus("residual_prefetch"))], "residual", &[3, 5, 4, 9], &Arguments::new());
    let list = |args: &Arguments, name: &str| match args.get(name) {
        Some(Argument::List(list)) => list
            .iter()
            .map(|of| match of {
                Argument::Tensor(of) => Numbers::of(of),
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let (x, skip, out) = (list(&a, "x"), list(&a, "skip"), list(&b, "out"));
    for n in 0..3 {
        out[n].each(|at, got| assert_eq!(got, saturated(x[n].at(at) + skip[n].at(at)), "{n} {at:?}"));
    }
}

#[test]
fn resize() {
    let (h, w, ho, wo) = (5, 6, 13, 19);
    let step = |n: i64, m: i64| ((n << 12) as f64 / m as f64).round() as i64;
    let (sy, sx) = (step(h, ho), step(w, wo));
    let given = Arguments::new().with("step_y", sy).with("step_x", sx);
    let consts = [h, w, ho, wo].map(|n| n as usize);
    let (a, b) = results(&[("", &corpus("resize_bilinear"))], "resize", &consts, &given);
    let x = numbers(&a, "x");
    let position = |i: i64, step: i64| (((((i << 12) + 2048) * step) >> 12) - 2048).max(0);
    numbers(&b, "y").each(|at, got| {
        let (py, px) = (position(at[1], sy), position(at[2], sx));
        let (iy, ix, wy, wx) = (py >> 12, px >> 12, py & 4095, px & 4095);
        let row = |y: i64| {
            let (l, r) = (x.at(&[0, y, ix]), x.at(&[0, y, (ix + 1).min(w - 1)]));
            (l << 12) + (r - l) * wx
        };
        let (r0, r1) = (row(iy), row((iy + 1).min(h - 1)));
        let mixed = r0 + ((r1 - r0) >> 12) * wy;
        assert_eq!(got, saturated(rounded(mixed as i128, 12)), "{at:?}");
    });
}
