//! Kernels of the front end's corpus, expanded and compiled by rustc, run natively against their references. Extents fit no array.

// The corpus names its references `golden::..`.
extern crate self as golden;

mod instances;
mod kernels;
mod references;
mod run;

use references::*;

use ccl_runtime::kernel::{Argument, ElemType, HostTensor, Reference};
use ccl_runtime::native::Session;
use ccl_runtime::prelude::*;

use instances::*;
use run::{agree, bits, passed};

/// What makes int8 of sums of products of int8.
fn scale() -> Scale {
    Scale::from_f64(0.0021)
}

#[test]
fn element_wise() {
    for seed in 0..4 {
        let scales = [("scale_a", Scale::from_f64(0.7).into()), ("scale_b", Scale::from_f64(0.4).into())];
        agree(&ADD, seed, &scales, 0);
        agree(&UNARY, seed, &[], 0);
        agree(&RESIDUAL, seed, &[], 0);
    }
}

#[test]
fn products() {
    for (seed, scale) in [(1, scale()), (2, scale()), (3, Scale::new(1 << 23, 31))] {
        agree(&POINTWISE, seed, &[("scale", scale.into())], 0);
        agree(&DENSE, seed, &[("scale", scale.into())], 0);
        agree(&DEPTHWISE, seed, &[("scale", scale.into())], 0);
        agree(&PATCHES, seed, &[("scale", scale.into())], 0);
        let pads = |n: i64| [("scale", scale.into()), ("pad_y", n.into()), ("pad_x", n.into())];
        agree(&CONV, seed, &pads(1), 0);
        agree(&DILATED, seed, &pads(2), 0);
    }
}

#[test]
fn choices() {
    for seed in 0..4 {
        agree(&ARGMAX, seed, &[], 0);
        agree(&POOL, seed, &[], 0);
    }
}

#[test]
fn fixed_point() {
    for seed in 0..4 {
        agree(&SOFTMAX, seed, &[("scale", Scale::from_f64(1e-10).into())], 1);
        // Gamma and beta of a trained network: no greater than 2.
        let gamma_beta = HostTensor::from_fn(ElemType::I32, &[48], |i| (i as i64 * 7919 % 400 - 200) << 13);
        let scales = [("per_channel", bits(1.0 / 24.0, 24)), ("out", Scale::from_f64(30.0).into())];
        agree(&NORM, seed, &[&scales[..], &[("gamma_beta", gamma_beta.into())]].concat(), 1);
        agree(&RESIZE, seed, &[("step_y", bits(0.5, 12)), ("step_x", bits(9.0 / 20.0, 12))], 1);
    }
}

#[test]
fn tables_of_constants() {
    let arguments = passed(&POWER, 5, &[]);
    let mut done = arguments.clone();
    POWER.run_native(&mut Session::new(POWER.target), &mut done).expect("it is sound");
    let (x, y) = (arguments.tensor("x").expect("x"), done.tensor("y").expect("y"));
    assert!(x.iter().zip(y.iter()).all(|(x, y)| y == (1 << (x & 7)).min(127)));
}

#[test]
fn roots_converge_in_every_pe() {
    let root = kernels::iterate::ROOT;
    assert!(matches!(root.reference, Reference::None { reason } if reason.contains("compared with f64")));
    let mut arguments = passed(&root, 1, &[("steps", 30.into())]);
    let x = HostTensor::from_fn(ElemType::I32, &[1, 40, 40], |i| (i as i64 * i as i64 * 611) % (1 << 30));
    arguments.set("x", x.clone());
    root.run_native(&mut Session::new(root.target), &mut arguments).expect("it is sound");
    for (x, y) in x.iter().zip(arguments.tensor("y").expect("y").iter()) {
        let (x, y) = (x as f64 / 65536.0, y as f64 / 65536.0);
        assert!((x.sqrt() - y).abs() < 0.002 * x.max(1.0), "{x} {y}");
    }
    // The assertion of the kernel, with the place in the corpus.
    arguments.set("x", HostTensor::from_fn(ElemType::I32, &[1, 40, 40], |_| -1));
    let error = root.run_native(&mut Session::new(root.target), &mut arguments).expect_err("negative").to_string();
    assert!(
        error.starts_with("kernel `root`, ") && error.contains("corpus/iterate.rs:15: assertion failed"),
        "{error}"
    );
}

#[test]
fn instances_know_what_they_are() {
    let text = format!("{:?}", kernels::pointwise::kernels::POINTWISE_PC04);
    assert_eq!(text, "POINTWISE_PC04: pointwise<CI = 128, CO = 32, H = 64, W = 128> on QC-U");
    let params: Vec<String> = POINTWISE.params().into_iter().map(|p| p.name).collect();
    assert_eq!(params, ["x", "w", "y", "scale"]);
    assert_eq!(DEPTHWISE.edits, ["taps summed by column first: two shifts a channel instead of six"]);
    assert!(matches!(CONV.reference, Reference::Golden { path: "golden::conv", .. }));
    assert_eq!(POINTWISE.source().module_path(), "corpus::kernels::pointwise::kernels");
    let wrong = passed(&POINTWISE, 1, &[("scale", Argument::Scalar(3))]);
    let error = POINTWISE.run_native(&mut Session::new(POINTWISE.target), &mut wrong.clone()).expect_err("no scale");
    assert_eq!(error.to_string(), "`scale`: a scale is wanted, this is a number");
}
