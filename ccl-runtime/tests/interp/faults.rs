//! What ends a run, with its place.

use ccl_runtime::interp::Limits;
use ccl_runtime::kernel::{Arguments, ElemType, HostTensor};

use crate::support::*;

/// The error of a body over `x`, `y: Planar<1, 3, 4>` of `i8`, without the name of the kernel.
#[track_caller]
fn fault(body: &str) -> String {
    fault_within(body, Limits::default())
}

#[track_caller]
fn fault_within(body: &str, limits: Limits) -> String {
    let text = format!(
        "ccl! {{\n#[kernel]\n#[no_reference(\"a test\")]\npub fn k<const N: usize>(x: &Ocm<i8, Planar<1, 3, 4>>, _y: &mut Ocm<i8, Planar<1, 3, 4>>) {{\n{body}\n}}\n}}\n"
    );
    let library = library(&[("t", &text)]);
    let host = HostTensor::from_fn(ElemType::I8, &[1, 3, 4], |i| i as i64);
    let mut args = Arguments::new().with("x", host.clone()).with("_y", host);
    let error = run_within(&library, "k", &[7], &mut args, limits).expect_err("the kernel is wrong").to_string();
    error.strip_prefix("kernel `k`, ").expect("the error names the kernel").to_owned()
}

#[test]
fn faults_of_the_native_layer_have_the_place_in_the_text() {
    assert_eq!(fault("    assert!(N == 8, \"N is eight\");"), "t.rs:5:13: assertion failed: N is eight");
    assert_eq!(
        fault("let mut n = 0;\n#[bound(3)]\nwhile n < 9 {\n    n += 1;\n}"),
        "t.rs:6:1: the loop ran more than 3 times\n  help: raise `#[bound(3)]`, or make sure that the condition turns false"
    );
    assert_eq!(
        fault("let a = splat(fx::<4>(1.0));\nlet b = fx_div::<4>(a, a - a);"),
        "t.rs:6:9: division by zero in PE (row 0, column 0)"
    );
    assert_eq!(
        fault("let v = lookup([1, 2, 3], q_row());"),
        "t.rs:5:9: a table of 3 entries: look-ups need a power of two"
    );
    assert_eq!(
        fault("let mut s = broadcast(x);\nlet v = s.next::<i64>();\nlet w = s.next::<i64>();"),
        "t.rs:7:11: the broadcast has 12 bytes, 8 are wanted from byte 8 on"
    );
    assert_eq!(fault("for t in x.tiles().halo(9) {\n}"), "t.rs:5:20: a halo of 9: the array has room for 4");
}

#[test]
fn scalars_have_the_checks_of_rust() {
    assert_eq!(fault("let mut n = N;\nn -= 8;"), "t.rs:6:1: `7 - 8` leaves the range of `usize`");
    assert_eq!(fault("let mut n = 100i8;\nn = n + n;"), "t.rs:6:5: `100 + 100` leaves the range of `i8`");
    assert_eq!(fault("let n = N / (N - 7);"), "t.rs:5:9: `7 / 0`: division by zero");
    assert_eq!(fault("let a = Lrm::<i8, 4>::filled(0);\nlet v = a[N];"), "t.rs:6:9: index 7 of 4 elements");
    assert_eq!(
        fault("let mut a = Lrm::<i8, 4>::filled(0);\nlet b = Lrm::<i8, 2>::filled(1);\na[0..3] = b;"),
        "t.rs:7:1: elements of a range: 0..2 is outside 0..3"
    );
}

#[test]
fn budgets_end_a_run() {
    let limits = Limits { steps: 1000, ..Limits::default() };
    assert_eq!(fault_within("for i in 0..1000000 {\n}", limits), "t.rs:5:21: the run took more than 1000 steps");
    let limits = Limits { vector_bytes: 1 << 20, ..Limits::default() };
    assert_eq!(
        fault_within("let a = Lrm::<i32, 100000>::new();", limits),
        "t.rs:5:29: values of the run need more than 1048576 bytes"
    );
    let grows = "let mut n = 0;\nlet v = splat(1);\nfor i in 0..1000000 {\n    let w = v + v;\n}";
    let small = Limits { vector_bytes: 1 << 16, steps: 100_000, ..Limits::default() };
    assert_eq!(
        fault_within(grows, small),
        "t.rs:8:5: the run took more than 100000 steps",
        "rounds free what they made"
    );
    let limits = Limits { tensor_bytes: 1 << 20, ..Limits::default() };
    assert_eq!(
        fault_within("let a = Ocm::<i32, Vector<1000000>>::new();", limits),
        "t.rs:5:38: values of the run need more than 1048576 bytes"
    );
}

#[test]
fn references_do_not_outlive_what_they_refer_to() {
    let body = "let mut r = &splat(1);\n{\n    let v = splat(2);\n    r = &v;\n}\nlet w = *r + 1;";
    assert_eq!(fault(body), "t.rs:10:10: a reference is used after the end of the block of what it refers to");
}

#[test]
fn calls_of_what_is_not_loaded_are_named() {
    assert_eq!(
        fault("golden::other(x);"),
        "t.rs:5:1: no function `golden::other` is loaded\n  help: load the file with the block that defines it"
    );
}

#[test]
fn arguments_are_checked() {
    let text = "ccl! { fn k<const N: usize>(x: &Ocm<i8, Vector<N>>, n: u8) {} }";
    let library = library(&[("t", text)]);
    let x = HostTensor::zeros(ElemType::I8, &[3]);
    let error = |args: Arguments, consts: &[usize]| {
        run(&library, "k", consts, &mut args.clone()).expect_err("it does not fit").to_string()
    };
    let good = Arguments::new().with("x", x).with("n", 3);
    assert_eq!(run(&library, "k", &[3], &mut good.clone()), Ok(()));
    assert_eq!(error(good.clone(), &[4]), "`x`: extents [4] are wanted, these are [3]");
    assert_eq!(error(good.clone(), &[]), "`k` takes 1 const arguments, 0 given");
    assert_eq!(error(good.with("n", 300), &[3]), "`n`: 300 is no `u8`");
}
