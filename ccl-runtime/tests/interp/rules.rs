//! Names, masks and assignment: what the expansion of the macro does, by the interpreter.

use ccl_runtime::kernel::{Arguments, ElemType, HostTensor};

use crate::support::*;

/// Stores the value of `v` that the body leaves, and returns it for each PE of an 8x8 array.
#[track_caller]
fn value(body: &str) -> Vec<i64> {
    let text = format!(
        "ccl! {{\nfn inc(v: &mut Q<i32>) -> Q<i32> {{ *v += 1; *v }}\nfn k(y: &mut Ocm<i32, Planar<1, 8, 8>>) {{\n{body}\nfor t in y.tiles() {{ y.at(t).store(v); }}\n}}\n}}\n"
    );
    let library = library(&[("t", &text)]);
    let mut args = Arguments::new().with("y", HostTensor::zeros(ElemType::I32, &[1, 8, 8]));
    if let Err(error) = run(&library, "k", &[], &mut args) {
        panic!("{error}");
    }
    args.tensor("y").expect("it is there").iter().collect()
}

#[track_caller]
fn check(body: &str, formula: impl Fn(i64, i64) -> i64) {
    for (i, got) in value(body).into_iter().enumerate() {
        assert_eq!(got, formula(i as i64 / 8, i as i64 % 8), "PE {i}: {body}");
    }
}

#[test]
fn names_keep_their_values() {
    check("let mut a = q_row();\nlet v = a;\na += 5;", |r, _| r);
    check("let mut a = q_row();\nlet mut v = a;\nv += 5;\na = v;", |r, _| r + 5);
    check("let mut a = [splat(0); 2];\na[0] = q_col();\nlet v = a[0] * 10 + a[1];", |_, c| c * 10);
    check("let mut l = Lrm::<i32, 3>::filled(1);\nlet k = l;\nl[1] = splat(7);\nlet v = k[1] * 10 + l[1];", |_, _| 17);
    check("let (mut a, b) = (q_row(), q_col());\na += b;\nlet v = a;", |r, c| r + c);
    check(
        "let mut l = Lrm::<i32, 4>::filled(1);\nl[1] = q_row();\nl[2] = q_col();\nlet s = l.slice::<2>(1);\nlet v = s[0] * 100 + s[1] * 10 + l[3];",
        |r, c| r * 100 + c * 10 + 1,
    );
}

#[test]
fn what_an_expression_reads_it_keeps() {
    check("let mut a = q_row();\nlet v = a * 100 + inc(&mut a) * 10 + a;", |r, _| r * 100 + (r + 1) * 11);
    check("let mut a = q_row();\nlet v = a + { a = splat(50); a };", |r, _| r + 50);
}

#[test]
fn masks_are_those_of_the_language() {
    check(
        "let mut v = splat(0);\nlet mut n = 0;\nif q_col() > 3 { v = splat(1); n += 1; } else { v = splat(2); }\nv += n * 10;",
        |_, c| if c > 3 { 11 } else { 12 },
    );
    check("let mut n = 0;\nif q_col() > 30 { n = 1; }\nlet v = splat(n);", |_, _| 0);
    check("let v = if q_col() > q_row() { 1 } else if q_col() == q_row() { 2 } else { 3 };", |r, c| match c - r {
        1.. => 1,
        0 => 2,
        _ => 3,
    });
    check("let mut v = q_row();\nif v > 2 { if q_col() > 2 { v = splat(9); } v += 1; }", |r, c| match (r > 2, c > 2) {
        (true, true) => 10,
        (true, false) => r + 1,
        _ => r,
    });
    check("let mut v = q_row();\nif any(v > 6) && all(v >= 0) { v = v + 1; }", |r, _| r + 1);
    check("let mut v = q_row();\n#[bound(40)]\nwhile any(v < 20) { if v < 20 { v += 3; } }", |r, _| {
        (0..).map(|n| r + 3 * n).find(|v| *v >= 20).expect("it grows")
    });
}

#[test]
fn an_element_that_is_assigned_leaves_the_rows_of_a_halo() {
    let text = "ccl! {\nfn k(x: &Ocm<i32, Planar<1, 8, 8>>, y: &mut Ocm<i32, Planar<1, 8, 8>>) {\nfor t in x.tiles().halo_rows(1) {\n\
                let mut a = t.fetch::<Lrm<i32, 3>>().wait();\na[0] = splat(5);\ny.at(t).store(a.row(-1)[0] + a.row(1)[0]);\n}\n}\n}\n";
    let library = library(&[("t", text)]);
    let x = HostTensor::from_fn(ElemType::I32, &[1, 8, 8], |i| i as i64);
    let mut args = Arguments::new().with("x", x.clone()).with("y", x);
    assert_eq!(run(&library, "k", &[], &mut args), Ok(()));
    let x = numbers(&args, "x");
    numbers(&args, "y").each(|at, got| assert_eq!(got, 5 + x.at(&[0, at[1] + 1, at[2]]), "{at:?}"));
}

#[test]
fn a_place_has_patches() {
    let text = "ccl! {\nfn k(x: &Ocm<i8, Planar<1, 4, 5>>, y: &mut Ocm<i8, Planar<1, 8, 10>>) {\nfor t in x.tiles() {\n\
                let a = t.fetch::<Lrm<i8, 1>>().wait();\nlet mut out = Lrm::<i8, 4>::new();\n\
                for i in 0..4 { out[i] = a[0] * 4 + splat(i as i8); }\ny.at(t).block::<2, 2>().store(out);\n}\n}\n}\n";
    let library = library(&[("t", text)]);
    let x = HostTensor::from_fn(ElemType::I8, &[1, 4, 5], |i| i as i64);
    let mut args = Arguments::new().with("x", x).with("y", HostTensor::zeros(ElemType::I8, &[1, 8, 10]));
    assert_eq!(run(&library, "k", &[], &mut args), Ok(()));
    numbers(&args, "y").each(|at, got| {
        let (y, x) = (at[1], at[2]);
        assert_eq!(got, (y / 2 * 5 + x / 2) * 4 + y % 2 * 2 + x % 2, "{at:?}");
    });
}

#[test]
fn loops_count_as_in_rust() {
    let sum = |of: Vec<i64>| of.into_iter().fold(0, |v, i| v * 7 + i);
    check("let mut v = splat(0);\nfor i in (0..10).rev().step_by(4) { v = v * 7 + i; }", |_, _| {
        sum((0..10).rev().step_by(4).collect())
    });
    check("let mut v = splat(0);\nfor i in (0..10).step_by(4).rev() { v = v * 7 + i; }", |_, _| sum(vec![8, 4, 0]));
    check("let mut v = splat(0);\nfor i in 3..=5 { if i == 4 { continue; } v = v * 7 + i; }", |_, _| sum(vec![3, 5]));
    check("let mut v = splat(0);\nfor i in 0..9 { if i == 3 { break; } v = v * 7 + i; }", |_, _| sum(vec![0, 1, 2]));
    check("let mut v = splat(0);\nfor i in (5..2).step_by(2).rev() { v += i; }", |_, _| 0);
}
