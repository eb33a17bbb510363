//! Kernels written in the IR by hand: against plain functions, and what they cost.

#[path = "../support/mod.rs"]
mod support;

mod ffn;
mod flows;
mod norm;
mod products;

use ccl_runtime::ir::Module;
use iss::isa::Class;
use iss::isa::operand::Engine;
use iss::profile::Profile;
use iss::target::{QC_U, QC_U_NARROW};
use iss::testing::Rng;
use support::{Args, compiled, interpret, kernel_name, parse, simulate};

fn kernel(name: &str) -> Module {
    let path = format!("{}/tests/kernels_ir/{name}.ccl", env!("CARGO_MANIFEST_DIR"));
    parse(&std::fs::read_to_string(path).expect("the kernel's text is there"))
}

/// Issued cycles of the classes that count as arithmetic, busiest engine, total.
fn figures(p: &Profile) -> (u64, u64, u64) {
    let t = &p.root.inclusive;
    let arithmetic = [Class::Mac, Class::Compute, Class::DataArray, Class::Predication];
    let arithmetic = arithmetic.iter().map(|c| t.class(*c).issue_cycles).sum();
    let busy = |e: Engine| match e {
        // A stream is busy while it waits for takers; what it needs is a cycle an entry.
        Engine::Broadcast => t.engine(e).bytes / 16,
        e => t.engine(e).busy_cycles,
    };
    (arithmetic, Engine::ALL.iter().map(|e| busy(*e)).max().unwrap_or(0), p.cycles)
}

/// Runs on both readings of the machine, compares with the golden bytes and gives the cost as text.
#[track_caller]
fn check(name: &str, args: &Args, golden: &[(&str, &[u8])], items: (&str, f64)) -> String {
    let m = kernel(name);
    let k = kernel_name(&m);
    let mut text = String::new();
    for target in [&QC_U, &QC_U_NARROW] {
        let c = compiled(&m, target);
        let (out, profile) = simulate(&c, &m, &k, args);
        for (output, golden) in golden {
            let wrong = out[*output].iter().zip(*golden).position(|(a, b)| a != b);
            assert!(wrong.is_none(), "{name}: byte {wrong:?} of {output} differs, {} of golden", golden.len());
        }
        assert!(c.report.notes.is_empty(), "{name}: {}", c.report.notes[0]);
        let (arithmetic, busiest, total) = figures(&profile);
        let t = &profile.root.inclusive;
        let classes: Vec<String> = Class::ALL
            .iter()
            .map(|c| (c.word(), t.class(*c)))
            .filter(|(_, u)| u.cycles > 0)
            .map(|(w, u)| format!("{w} {} ({} issued)", u.cycles, u.issue_cycles))
            .collect();
        let ratio = total as f64 / arithmetic.max(busiest) as f64;
        text += &format!(
            "{}: total {total}, arithmetic {arithmetic}, busiest engine {busiest}, ratio {ratio:.3}, {:.2} per {}\n  {}\n",
            target.spec().product,
            arithmetic as f64 / items.1,
            items.0,
            classes.join(", "),
        );
        let r = &c.report.kernels[0];
        text += &format!("  lrm {} bytes, {} accumulators, {} scalars\n", r.lrm_peak_bytes, r.accumulators, r.scalars);
        if target.spec().product == QC_U.spec().product {
            // The fused block has one tile: what it loads first and stores last is beside no arithmetic.
            let bound = if name == "ffn" { f64::INFINITY } else { 1.15 };
            assert!(ratio <= bound, "{name}: total is {ratio:.3} times its bound\n{text}");
            if ["requantise", "sum"].contains(&name) {
                assert_eq!(interpret(&m, &k, target, args).expect("it is interpreted")["y"], golden[0].1);
            }
        }
    }
    text
}

fn requant(acc: i64) -> u8 {
    ((((acc * 19923) >> 19) + 2) >> 2).clamp(-128, 127) as i8 as u8
}

/// `2^46 / sum` as `exp(ln(2^16) - ln(sum))` with 30 fraction bits, the logarithm with 26.
fn reciprocal(sum: i64) -> i64 {
    let ln = ((sum as f64).ln() * 67108864.0).round();
    (((744261118.0 - ln) / 67108864.0).exp() * 1073741824.0).round() as i64
}

fn word(bytes: &[u8], at: usize) -> i64 {
    i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as i64
}

#[test]
fn pointwise_convolution() {
    let mut rng = Rng::new(1);
    let (h, w, ci, co) = (64, 128, 32, 128);
    let (x, mut stream) = (rng.bytes(ci * h * w), rng.bytes(4608));
    for block in stream.chunks_mut(144) {
        for bias in block[..16].chunks_mut(4) {
            let small = i32::from_le_bytes(bias.try_into().expect("four bytes")) >> 16;
            bias.copy_from_slice(&small.to_le_bytes());
        }
    }
    let mut golden = vec![0; co * h * w];
    for o in 0..co {
        let block = &stream[o / 4 * 144..][..144];
        for p in 0..h * w {
            let mut acc = word(block, o % 4 * 4);
            for i in 0..ci {
                let a = x[(i / 4 * h * w + p) * 4 + i % 4] as i8 as i64;
                acc += a * block[16 + i / 4 * 16 + o % 4 * 4 + i % 4] as i8 as i64;
            }
            golden[(o / 4 * h * w + p) * 4 + o % 4] = requant(acc);
        }
    }
    let args = Args::default().with("x", x).with("w", stream);
    insta::assert_snapshot!(check(
        "conv",
        &args,
        &[("y", &golden)],
        ("output channel and tile, MACs (2) included", 8.0 * 128.0)
    ));
}

#[test]
fn requantise_ragged() {
    let x = Rng::new(2).bytes(16 * 70 * 90);
    let golden: Vec<u8> = x.iter().map(|b| requant(*b as i8 as i64)).collect();
    let args = Args::default().with("x", x);
    insta::assert_snapshot!(check("requantise", &args, &[("y", &golden)], ("element and tile", 9.0 * 16.0)));
}

#[test]
fn unary_by_table() {
    let mut rng = Rng::new(3);
    let (x, table) = (rng.bytes(16 * 64 * 128), rng.bytes(256));
    let golden: Vec<u8> = x.iter().map(|b| table[*b as usize]).collect();
    let args = Args::default().with("x", x).with("t", table);
    insta::assert_snapshot!(check("unary", &args, &[("y", &golden)], ("element and tile", 8.0 * 16.0)));
}

#[test]
fn softmax_by_table() {
    let (h, w, keys) = (64, 128, 128);
    let x = Rng::new(4).bytes(keys * h * w);
    // exp(d / 16) with 16 fraction bits, at index d modulo 256.
    let table: Vec<i32> =
        (0..256).map(|i| ((-((256 - i) % 256) as f64 / 16.0).exp() * 65536.0).round() as i32).collect();
    let at = |k: usize, p: usize| (k / 4 * h * w + p) * 4 + k % 4;
    let mut golden = vec![0; x.len()];
    for p in 0..h * w {
        let score = |k: usize| x[at(k, p)] as i8 as i64;
        let max = (0..keys).map(score).max().expect("keys");
        let e = |k: usize| table[(score(k) - max).rem_euclid(256) as usize] as i64;
        let sum: i64 = (0..keys).map(e).sum();
        let r = reciprocal(sum);
        for k in 0..keys {
            golden[at(k, p)] = ((((e(k) * r) >> 36) - 510) >> 2).clamp(-128, 127) as i8 as u8;
        }
    }
    let bytes = table.iter().flat_map(|v| v.to_le_bytes()).collect();
    let args = Args::default().with("x", x).with("t", bytes);
    insta::assert_snapshot!(check("softmax", &args, &[("y", &golden)], ("score and tile", 8.0 * 128.0)));
}

#[test]
fn depthwise_with_halo() {
    let mut rng = Rng::new(5);
    let (h, w, c) = (64i64, 128i64, 16usize);
    let x = rng.bytes(c * (h * w) as usize);
    let weights: Vec<i8> = rng.bytes(c * 9).iter().map(|b| *b as i8).collect();
    let bias: Vec<i32> = (0..c).map(|_| rng.below(4000) as i32 - 2000).collect();
    let mut stream = Vec::new();
    for b in 0..c / 4 {
        (0..4).for_each(|k| stream.extend(bias[4 * b + k].to_le_bytes()));
        for tap in 0..9 {
            let diagonal = |i: usize, j: usize| if i == j { weights[(4 * b + i) * 9 + tap] as u8 } else { 0 };
            (0..4).for_each(|j| (0..4).for_each(|i| stream.push(diagonal(i, j))));
        }
    }
    let at = |k: usize, y: i64, x: i64| ((k / 4) as i64 * h * w + y * w + x) as usize * 4 + k % 4;
    let mut golden = vec![0; x.len()];
    for k in 0..c {
        for (row, col) in (0..h).flat_map(|r| (0..w).map(move |c| (r, c))) {
            let mut acc = bias[k] as i64;
            for tap in 0..9i64 {
                let (r, q) = (row + tap / 3 - 1, col + tap % 3 - 1);
                if (0..h).contains(&r) && (0..w).contains(&q) {
                    acc += x[at(k, r, q)] as i8 as i64 * weights[k * 9 + tap as usize] as i64;
                }
            }
            golden[at(k, row, col)] = requant(acc);
        }
    }
    let args = Args::default().with("x", x).with("w", stream);
    insta::assert_snapshot!(check("depthwise", &args, &[("y", &golden)], ("channel and tile", 8.0 * 16.0)));
}

#[test]
fn sum_of_two_tensors_in_one_flow() {
    let mut rng = Rng::new(6);
    let (a, b) = (rng.bytes(16 * 64 * 128), rng.bytes(16 * 64 * 128));
    let scaled = |v: u8, k: i64| (v as i8 as i64 * k) >> 10;
    let sum = |(a, b): (&u8, &u8)| ((scaled(*a, 5000) + scaled(*b, 7000) + 8) >> 4).clamp(-128, 127) as i8 as u8;
    let golden: Vec<u8> = a.iter().zip(&b).map(sum).collect();
    let args = Args::default().with("a", a).with("b", b);
    insta::assert_snapshot!(check("sum", &args, &[("y", &golden)], ("element and tile", 8.0 * 16.0)));
}
