//! Types: for each rule the smallest kernel that breaks it and a near-identical one that passes; types of corpus kernels.

use ccl_syntax::ast::{ExprKind, ItemKind, Stmt, StmtKind};
use ccl_syntax::check::types::{Type, Types};
use ccl_syntax::{Code, Diags};

use crate::support::{check, corpus, rendered};

/// Code, parameters, a body that breaks a rule, the body mended.
const RULES: &[(Code, &str, &str, &str)] = &[
    (Code::WrongType, "a: Q<i8>", "let b: Q<i32> = a;", "let b: Q<i32> = a.widen::<i32>();"),
    (Code::WrongType, "a: i32, b: &Lrm<i8, 4>", "probe!(b[a]);", "probe!(b[a as usize]);"),
    (Code::WrongType, "a: Q<Fx<16>>", "let b: Q<i32> = a;", "let b: Q<i32> = a.raw();"),
    (Code::WrongType, "a: Q<i32>", "let b: Q<Fx<16>> = a;", "let b: Q<Fx<16>> = fx_raw::<16>(a);"),
    (Code::WrongType, "a: &Lrm<i8, 4>", "let b: &Lrm<i8, 8> = a;", "let b: &Lrm<i8, 4> = a;"),
    (Code::WrongType, "a: &Ocm<i8, Planar<1, 8, 8>>", "for t in a {}", "for t in a.tiles() {}"),
    (Code::WrongType, "a: Q<i32>", "let (b, c) = a;", "let (b, c) = (a, a);"),
    (Code::WrongType, "a: (i32, i32)", "let b = a.2;", "let b = a.1;"),
    (Code::WrongType, "a: i32", "let b = [a, true];", "let b = [a, 1];"),
    (Code::WrongType, "a: Acc<4>", "probe!(a[0]);", "probe!(a.get(0));"),
    (Code::WrongType, "a: Q<i32>", "probe!(shift(a, Row, 1));", "probe!(shift(a, North, 1));"),
    (Code::WrongType, "a: bool", "if 3 {}", "if a {}"),
    (
        Code::UnlikeFractionBits,
        "a: Q<Fx<16>>, b: Q<Fx<12>>",
        "let c = a - b;",
        "let c = a - b.rescale::<16>(HalfEven, Saturate);",
    ),
    (
        Code::UnlikeFractionBits,
        "a: Q<Fx<16>>, b: Q<Fx<12>>",
        "let c = a > b;",
        "let c = a > b.rescale::<16>(HalfEven, Saturate);",
    ),
    (
        Code::UnlikeFractionBits,
        "a: Q<Fx<16>>",
        "let c: Q<Fx<12>> = a;",
        "let c: Q<Fx<12>> = a.rescale::<12>(HalfEven, Saturate);",
    ),
    (
        Code::UnlikeFractionBits,
        "a: Q<Fx<16>>, b: Q<Fx<8>>",
        "probe!(fx_div::<8>(a, b));",
        "probe!(fx_div::<8>(a, b.rescale::<16>(HalfEven, Wrap)));",
    ),
    (Code::UnnamedNarrowing, "a: Q<i32>", "let b: Q<i8> = a;", "let b: Q<i8> = a.narrow::<i8>(Wrap);"),
    (Code::UnnamedNarrowing, "a: Q<i32>", "let b = a as i8;", "let b = a.narrow::<i8>(Wrap);"),
    (Code::UnnamedNarrowing, "a: Q<i32>", "let b = a.widen::<i8>();", "let b = a.widen::<i64>();"),
    (Code::UnnamedNarrowing, "a: Q<i32>, out: &mut Lrm<i8, 1>", "out[0] = a;", "out[0] = a.narrow::<i8>(Saturate);"),
    (Code::ScalarPerPe, "a: i32", "let b: Q<i32> = a;", "let b: Q<i32> = splat(a);"),
    (Code::ScalarPerPe, "a: Q<i32>", "let b: i32 = a;", "let b: Q<i32> = a;"),
    (Code::ScalarPerPe, "a: Q<bool>", "let b: bool = a;", "let b: bool = any(a);"),
    (Code::ScalarPerPe, "a: Q<i32>, t: &Lrm<i8, 256>", "probe!(t[a]);", "probe!(lookup(t, a));"),
    (Code::ScalarPerPe, "a: Q<i32>", "probe!(splat(a));", "probe!(a);"),
    (Code::ScalarPerPe, "a: Q<i32>, n: usize", "probe!(shift(a, East, a));", "probe!(shift(a, East, n));"),
    (
        Code::ScalarPerPe,
        "a: Q<i32>, n: i32",
        "let b = if n > 0 { a } else { n };",
        "let b = if n > 0 { a } else { splat(n) };",
    ),
    (Code::WrongOperand, "a: Q<i8>, b: Q<i16>", "probe!(a * b);", "probe!(a.widen::<i16>() * b);"),
    (Code::WrongOperand, "a: Q<Fx<16>>", "probe!(a * a);", "probe!(fx_mul::<16>(a, a));"),
    (Code::WrongOperand, "a: Q<Fx<16>>", "probe!(a + 1);", "probe!(a + fx::<16>(1.0));"),
    (Code::WrongOperand, "a: Q<i32>, b: Q<bool>", "probe!(a && b);", "probe!(a != 0 && b);"),
    (Code::WrongOperand, "a: &Lrm<i8, 4>", "probe!(a + a);", "probe!(a[0] + a[1]);"),
    (Code::WrongOperand, "a: Acc<4>, b: Acc<1>", "probe!((a + b).get(0));", "probe!((a + a).get(0));"),
    (Code::WrongOperand, "a: usize", "probe!(-a);", "probe!(-(a as i32));"),
    (Code::WrongOperand, "a: Q<bool>, b: Q<bool>", "probe!(min(a, b));", "probe!(a && b);"),
    (
        Code::WrongOperand,
        "a: Q<Fx<16>>",
        "probe!(a.shr_round(3, HalfEven));",
        "probe!(a.raw().shr_round(3, HalfEven));",
    ),
    (
        Code::WrongOperand,
        "a: Q<i64>, s: Scale",
        "probe!(dequantize::<8>(a, s, 0));",
        "probe!(dequantize::<8>(a.narrow::<i32>(Saturate), s, 0));",
    ),
    (Code::WrongOperand, "a: Q<bool>", "probe!(a.narrow::<i8>(Wrap));", "probe!(a.widen::<i8>());"),
    (Code::UnnamedNarrowing, "a: Q<i8>", "probe!(a.widen::<u16>());", "probe!(a.narrow::<u16>(Saturate));"),
    (Code::UnnamedNarrowing, "a: Q<u16>", "probe!(a.widen::<i16>());", "probe!(a.widen::<i32>());"),
    (Code::WrongReceiver, "a: Q<i8>", "probe!(a.widen::<bool>());", "probe!(a != 0);"),
    (Code::PerPeDivision, "a: Q<i32>, b: Q<i32>", "probe!(a / b);", "probe!(a * b);"),
    (Code::PerPeDivision, "mut a: Q<i32>", "a %= 8;", "a &= 7;"),
    (Code::ShiftAmount, "a: i32, n: Q<i32>", "probe!(a << n);", "probe!(splat(a) << n);"),
    (Code::ShiftAmount, "a: Q<i8>, n: Q<u8>", "probe!(a >> n);", "probe!(a >> n.widen::<i32>());"),
    (Code::NoElement, "n: usize", "probe!(splat(n));", "probe!(splat(n as i32));"),
    (Code::NoElement, "n: usize", "let a: Q<usize> = splat(4);", "let a: Q<i32> = splat(4);"),
    (Code::NoElement, "", "let a = Lrm::<u32, 4>::new();", "let a = Lrm::<i32, 4>::new();"),
    (Code::OpenGeneric, "a: Q<Fx<16>>", "let b = fx_mul(a, a);", "let b: Q<Fx<8>> = fx_mul(a, a);"),
    (Code::OpenGeneric, "t: Tile", "let b = t.fetch();", "let b: Flow<Lrm<i8, 4>> = t.fetch();\nprobe!(b.wait()[0]);"),
    (
        Code::Immutable,
        "y: &Ocm<i8, Planar<1, 8, 8>>",
        "for t in y.tiles() { t.store(splat(1i8)); }",
        "for t in y.tiles() { probe!(t.inside()); }",
    ),
    (
        Code::Immutable,
        "y: &[Ocm<i8, Planar<1, 8, 8>>; 2], t: Tile",
        "y[1].at(t).channels(0).store(splat(1i8));",
        "probe!(y[1].at(t).inside());",
    ),
    (
        Code::FlowNeverWaited,
        "x: &Ocm<i8, Planar<1, 8, 8>>",
        "let flows = (x.gather(q_row()), 1);",
        "let flows = (x.gather(q_row()), 1);\nprobe!(flows.0.wait().0);",
    ),
    (Code::WrongReceiver, "a: &Ext<i8, Planar<1, 8, 8>>", "for t in a.tiles() {}", "probe!(q_row());"),
    (Code::WrongReceiver, "a: i8", "let b = a.widen::<i32>();", "let b = a as i32;"),
    (Code::WrongReceiver, "a: Q<i8>", "let b = a.narrow::<i32>(Wrap);", "let b = a.widen::<i32>();"),
    (Code::WrongReceiver, "a: Q<i32>", "let b = a.min(3);", "let b = min(a, 3);"),
    (Code::PerPeControl, "a: Q<i32>", "for i in 0..a {}", "for i in 0..4 {}"),
    (Code::PerPeControl, "a: Q<i32>", "if a > 0 { return; }", "if any(a > 0) { return; }"),
    (
        Code::PerPeControl,
        "a: Q<i32>",
        "for i in 0..4 { if a > i { break; } }",
        "if a > 0 { for i in 0..4 { if i == 2 { break; } } }",
    ),
    (Code::TalkInBranch, "a: Q<i32>", "if a > 0 { probe!(reduce(a, Sum, Row)); }", "if a > 0 { probe!(any(a > 3)); }"),
    (
        Code::TalkInBranch,
        "a: Q<bool>, x: &mut Ocm<i8, Planar<1, 8, 8>>, t: Tile",
        "if a { x.at(t).store(splat(1i8)); }",
        "if a { probe!(x.gather(q_row()).wait()); }",
    ),
    (Code::TalkInBranch, "a: Q<bool>", "if a {} else { drain(); }", "if any(a) {} else { drain(); }"),
    (Code::TalkInBranch, "a: Q<i32>", "if a > 0 { helper(a); }", "helper(a);"),
    (
        Code::FlowShape,
        "x: &Ocm<i8, Planar<1, 8, 8>>, t: Tile",
        "probe!(x.at(t).fetch::<Lrm<i16, 1>>().wait()[0]);",
        "probe!(x.at(t).fetch::<Lrm<i8, 1>>().wait()[0]);",
    ),
    (
        Code::FlowShape,
        "x: &mut Ocm<i8, Planar<2, 8, 8>>, a: &Lrm<i8, 4>",
        "for t in x.tiles() { x.at(t).store(a); }",
        "for t in x.tiles() { x.at(t).store(a.slice::<2>(0)); }",
    ),
    (
        Code::FlowShape,
        "x: &Ocm<i8, Packed<4, 5, 33>>, y: &mut Ocm<i8, Packed<4, 10, 66>>, a: &Lrm<i8, 16>, b: &Lrm<i8, 32>",
        "for t in x.tiles() { y.at(t).block::<2, 2>().store(b); }",
        "for t in x.tiles() { y.at(t).block::<2, 2>().store(a); let p = y.at(t).block::<4, 2>(); p.store(b); }",
    ),
    (
        Code::WrongOperand,
        "x: &Ocm<i8, Planar<1, 8, 8>>",
        "for t in x.tiles().stride(0) {}",
        "for t in x.tiles().stride(1) {}",
    ),
    (
        Code::WrongOperand,
        "x: &Ocm<i8, Planar<1, 8, 8>>",
        "for t in x.tiles().pipelined(0) {}",
        "for t in x.tiles().pipelined(1) {}",
    ),
    (Code::FractionBits, "", "let a = fx::<29>(-4.5);\nprobe!(a);", "let a = fx::<29>(-4.0);\nprobe!(a);"),
    (Code::FractionBits, "", "let a = fx::<0>(1e400);\nprobe!(a);", "let a = fx::<0>(1e4);\nprobe!(a);"),
    (
        Code::FlowShape,
        "w: &Ocm<i8, Stream<8, 8>>, a: &Lrm<i8, 8>",
        "let mut b = broadcast(w);\nprobe!(mac(a, b.take::<1>()).get(0));",
        "let mut b = broadcast(w);\nprobe!(mac(a, b.take::<4>()).get(0));",
    ),
    (
        Code::ReadBeforeLanding,
        "x: &Ocm<i8, Planar<1, 8, 8>>, t: Tile",
        "probe!(x.at(t).fetch::<Lrm<i8, 1>>());",
        "probe!(x.at(t).fetch::<Lrm<i8, 1>>().wait());",
    ),
    (
        Code::ReadBeforeLanding,
        "x: &Ocm<i8, Planar<1, 8, 8>>",
        "let (v, inside) = x.gather(q_row());",
        "let (v, inside) = x.gather(q_row()).wait();",
    ),
    (
        Code::ReadBeforeLanding,
        "x: &mut Ocm<i8, Planar<1, 8, 8>>, t: Tile",
        "let a = x.at(t).fetch::<Lrm<i8, 1>>();\nx.at(t).store(a);",
        "let a = x.at(t).fetch::<Lrm<i8, 1>>();\nx.at(t).store(a.wait());",
    ),
    (
        Code::FlowNeverWaited,
        "x: &Ocm<i8, Planar<1, 8, 8>>, t: Tile",
        "x.at(t).fetch::<Lrm<i8, 1>>();",
        "x.at(t).fetch::<Lrm<i8, 1>>().wait();",
    ),
    (
        Code::FlowNeverWaited,
        "x: &Ocm<i8, Planar<1, 8, 8>>",
        "let _ = x.gather(q_row());",
        "let _ = x.gather(q_row()).wait();",
    ),
    (
        Code::LeavesScope,
        "x: &Ocm<i8, Planar<1, 8, 8>>, mut kept: Tile",
        "for t in x.tiles() { kept = t; }\nprobe!(kept.x());",
        "for t in x.tiles() { let kept = t; probe!(kept.x()); }",
    ),
    (
        Code::KeptAcrossIterations,
        "x: &Ocm<i8, Planar<1, 8, 8>>, mut kept: Tile",
        "for t in x.tiles().pipelined(2) { kept = t; }\nprobe!(kept.x());",
        "for t in x.tiles().pipelined(2) { let kept = t; probe!(kept.x()); }",
    ),
    (Code::FractionBits, "a: Q<i32>", "let b: Q<Fx<32>> = fx_raw::<16>(a);", "let b: Q<Fx<16>> = fx_raw::<16>(a);"),
    (Code::FractionBits, "a: i32", "let b = fx::<40>(0.5);", "let b = fx::<31>(0.5);"),
    (
        Code::FractionBits,
        "a: Q<Fx<16>>",
        "let b = a.rescale::<{ 16 * 3 }>(HalfEven, Saturate);",
        "let b = a.rescale::<{ 8 * 3 }>(HalfEven, Saturate);",
    ),
    (
        Code::PartOfChunk,
        "x: &mut Ocm<i8, Planar<8, 8, 8>>, v: &Lrm<i8, 4>",
        "for t in x.tiles().chunks::<4>() { for c in 0..4 { t.store(v[c]); } }",
        "for t in x.tiles().chunks::<4>() { for c in 0..4 { t.channels(c).store(v[c]); } }",
    ),
    (
        Code::PartOfChunk,
        "x: &Ocm<i8, Packed<8, 8, 8>>, y: &mut Ocm<i8, Planar<8, 8, 8>>, v: &Lrm<i8, 2>",
        "for t in x.tiles().chunks::<4>() { y.at(t).store(v); }",
        "for t in x.tiles().chunks::<2>() { y.at(t).store(v); }",
    ),
    // A chunk of all channels that are walked, summed to all that the other tensor has.
    (
        Code::PartOfChunk,
        "x: &Ocm<i8, Planar<4, 8, 8>>, y: &mut Ocm<i8, Planar<4, 8, 8>>, z: &mut Ocm<i8, Planar<1, 8, 8>>, v: &Lrm<i8, 3>",
        "for t in x.tiles().chunks::<4>() { y.at(t).store(v); }",
        "for t in x.tiles().chunks::<4>() { z.at(t).store(v[0]); }",
    ),
];

/// What a kernel does with its output `y`, and whether that writes it.
const OUTPUTS: &[(&str, bool)] = &[
    ("", false),
    ("for t in x.tiles() { probe!(t.fetch::<Lrm<i8, 1>>().wait()[0]); }", false),
    ("for t in y.tiles() { probe!(t.inside()); }", false),
    ("for t in y.tiles() { probe!(y.at(t).fetch::<Lrm<i8, 1>>().wait()[0]); }", false),
    ("for t in y.tiles() { z.at(t).store(splat(1)); }", false),
    ("let mut all = broadcast(y);\nprobe!(all.next::<i8>());", false),
    ("probe!(y.gather(q_row()).wait().0);", false),
    ("for t in y.tiles() { t.store(splat(1)); }", true),
    ("for t in x.tiles() { y.at(t).store(splat(1)); }", true),
    ("for t in x.tiles() { let place = y.at(t); place.store(splat(1)); }", true),
    ("for t in y.tiles() { let place = t; place.channels(0).store(splat(1)); }", true),
    ("for t in y.tiles() { put(t); }", true),
    ("for t in x.tiles() { put(y.at(t)); }", true),
    ("fill(y);", true),
    ("let _ = y;", true),
    ("other::fill(y);", true),
    ("y.scatter(q_row(), splat(1)).wait();", true),
];

fn kernel(params: &str, body: &str) -> String {
    let body = body.replace('\n', "\n    ");
    format!("fn f({params}) {{\n    {body}\n}}\nfn helper(a: Q<i32>) {{\n    probe!(shift(a, West, 2));\n}}\n")
}

#[test]
fn an_output_that_nothing_writes_is_an_error() {
    for (body, is_written) in OUTPUTS {
        let tensor = "&mut Ocm<i8, Planar<1, 8, 8>>";
        let text = format!(
            "#[kernel]\nfn k(x: &Ocm<i8, Planar<1, 8, 8>>, y: {tensor}, z: {tensor}) {{\n{body}\nfill(z);\n}}\n\
             fn fill(y: {tensor}) {{ for t in y.tiles() {{ put(t); }} }}\nfn put(t: Tile) {{ t.store(splat(1)); }}\n"
        );
        let found: Vec<String> = check(&text).0.iter().map(|diag| format!("{} {}", diag.code, diag.message)).collect();
        let wanted: &[&str] = if *is_written { &[] } else { &["C0507 `y` is taken as `&mut`, and nothing writes it"] };
        assert_eq!(found, wanted, "{body}");
    }
}

#[test]
fn every_rule_has_one_error_and_is_mended() {
    let mut all = String::new();
    for (code, params, broken, mended) in RULES {
        let (diags, source) = check(&kernel(params, broken));
        let text: String = diags.iter().map(|diag| diag.render(&source)).collect();
        assert_eq!(diags.len(), 1, "{broken}\n{text}");
        assert_eq!(diags[0].code, *code, "{broken}\n{text}");
        all += &text;
        all.push('\n');
        assert_eq!(rendered(&kernel(params, mended)), "", "{mended}");
    }
    insta::assert_snapshot!("types", all);
}

#[test]
fn four_mistakes_of_type_are_four_errors() {
    let text = "
#[inline]
pub fn k<const C: usize>(x: &Ocm<i8, Packed<C, 32, 32>>, y: &mut Ocm<i8, Packed<C, 32, 32>>, n: Q<Fx<8>>) {
    for t in x.tiles() {
        let a = t.fetch::<Lrm<i8, C>>();
        let first = a[0];
        let wide = first + 1;
        let m = n + fx::<16>(0.5);
        let mut sum = splat(0i32);
        sum += m.raw();
        if sum > 0 {
            sum = shift(sum, East, 1);
        }
        probe!(a.wait());
        y.at(t).store(sum);
    }
}";
    let (diags, source) = check(text);
    let all: Vec<String> = diags.iter().map(|d| d.render(&source)).collect();
    assert_eq!(diags.len(), 4, "{}", all.join("\n"));
    insta::assert_snapshot!("four_mistakes_of_type", all.join("\n"));
}

#[test]
fn literals_take_the_type_of_their_use() {
    let text = "fn f(n: usize, a: &Lrm<i8, 8>) -> Q<i16> {\n    let mut i = 0;\n    let mut best = splat(0);\n    #[bound(8)]\n    \
                while i < n {\n        best = a[i].widen::<i16>();\n        i += 1;\n    }\n    best\n}\n";
    assert_eq!(rendered(text), "");
    let wrong = text.replace("best\n}", "splat(i)\n}");
    assert!(rendered(&wrong).contains("`splat` of `usize`"), "{}", rendered(&wrong));
}

#[test]
fn what_rust_takes_is_taken() {
    // A flow that the next iteration waits for, and a reference to a reference.
    let text = "fn g(a: &Lrm<i8, 4>) {}\nfn f(x: &Ocm<i8, Planar<4, 8, 8>>, t: Tile, a: &Lrm<i8, 4>) {\n    let mut next = \
                x.at(t).fetch::<Lrm<i8, 4>>();\n    for u in x.tiles() {\n        probe!(next.wait()[0]);\n        next = \
                u.fetch::<Lrm<i8, 4>>();\n    }\n    g(&a);\n}\n";
    assert_eq!(rendered(text), "");
    // Branches that all return have no value of their own.
    let text = "fn f(c: bool) -> i32 {\n    if c {\n        return 1;\n    } else if !c {\n        return 2;\n    } else {\n        \
                return 3;\n    }\n}\n";
    assert_eq!(rendered(text), "");
    let wrong = text.replace("return 2;", "probe!(2);");
    assert!(rendered(&wrong).contains("the result of `f`: expected `i32`, found `()`"), "{}", rendered(&wrong));
    // A negated condition in parentheses is no call of a macro `if`.
    assert_eq!(
        rendered(
            "fn f(c: bool) {\n    if !(c && c) {}\n    #[bound(1)]\n    while !(c) {\n        \
                        return;\n    }\n}\n"
        ),
        ""
    );
    // What a function from outside takes is for rustc to say.
    assert_eq!(rendered("fn f() {\n    golden::g(&mut Lrm::new(), (Acc::zero(), 1));\n}\n"), "");
}

#[test]
fn an_error_of_a_name_is_no_error_of_types() {
    for text in [
        "fn f() {\n    let a: Lrm<i8, 4> = Lrm::filled(missing);\n}\n",
        "fn f(t: Tile) {\n    let a = missing.fetch();\n    let b = a.wait()[0] + 1;\n    t.store(b);\n}\n",
        "fn f(a: &mut Lrm<i8, 4>) {\n    let b = exp(missing);\n    probe!(b);\n    a[missing] = a[0];\n}\n",
        "fn f() {\n    for t in missing.tiles() {\n        let (a, b) = t.fetch::<Lrm<i8, 4>>().wait();\n    }\n}\n",
    ] {
        let (diags, source) = check(text);
        let all: String = diags.iter().map(|d| d.render(&source)).collect();
        assert!(diags.iter().all(|d| d.code == Code::UnknownName), "{all}");
    }
}

/// The bindings of a kernel with their types.
fn table(name: &str) -> String {
    let (_, text) = corpus().into_iter().find(|(file, _)| file == name).expect("it is in the corpus");
    let mut diags = Diags::default();
    let file = ccl_syntax::parse_file(name, &text, &mut diags);
    let mut lines = String::new();
    for block in &file.blocks {
        let checked = ccl_syntax::check(&block.module, &mut diags);
        for item in &block.module.items {
            let ItemKind::Fn(function) = &item.kind else { continue };
            lines += &format!("fn {}\n", function.name.name.name);
            stmts(&function.body.stmts, &checked.types, 1, &mut lines);
        }
    }
    assert!(diags.take().is_empty());
    lines
}

fn line(out: &mut String, depth: usize, text: String, ty: Option<&Type>) {
    let ty = ty.map_or("?".to_owned(), ToString::to_string);
    *out += &format!("{}{text}: {ty}\n", "  ".repeat(depth));
}

fn stmts(of: &[Stmt], types: &Types, depth: usize, out: &mut String) {
    for stmt in of {
        match &stmt.kind {
            StmtKind::Let { pattern, .. } => {
                for local in pattern.locals() {
                    line(out, depth, format!("let {}", local.name.name.name), types.of(local.name.id));
                }
            }
            StmtKind::Assign { place, value, .. } => {
                line(
                    out,
                    depth,
                    format!("{} = {}", ccl_syntax::print_expr(place), ccl_syntax::print_expr(value)),
                    types.of(value.id),
                );
            }
            StmtKind::For { pattern, body, .. } => {
                for local in pattern.locals() {
                    line(out, depth, format!("for {}", local.name.name.name), types.of(local.name.id));
                }
                stmts(&body.stmts, types, depth + 1, out);
            }
            StmtKind::Expr(value) => match &value.kind {
                ExprKind::If { .. } | ExprKind::Block(_) => {}
                _ => line(out, depth, ccl_syntax::print_expr(value), types.of(value.id)),
            },
            _ => {}
        }
    }
}

#[test]
fn types_of_corpus_kernels() {
    insta::assert_snapshot!("types_of_layer_norm", table("layer_norm.rs"));
    insta::assert_snapshot!("types_of_mix_ffn", table("mix_ffn.rs"));
}
