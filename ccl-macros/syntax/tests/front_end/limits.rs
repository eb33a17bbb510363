//! Depth and length: what nests without end is an error, what is long takes linear time.

use std::time::Instant;

use ccl_syntax::{Code, Diags, MAX_HEIGHT};

use crate::support::{check, parse, rendered};

#[test]
fn deep_nesting_is_an_error() {
    const N: usize = 10_000;
    let rep = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(N), close.repeat(N));
    let bodies = [
        rep("(", "x", ")"),
        rep("[", "x", "]"),
        rep("{", "x", "}"),
        rep("-", "x", ""),
        rep("&", "x", ""),
        rep("f(", "x", ")"),
        rep("x[", "x", "]"),
        rep("if x { ", "x", " } else { x }"),
        rep("if x {} else ", "{}", ""),
        rep("x + ", "x", ""),
        rep("x < (", "x", ")"),
        rep("x", "", ".f()"),
        rep("x", "", " as i32"),
        rep("x.0", ".0", ""),
        rep("f::<", "x", ">()"),
        rep("x as Q<", "i32", ">"),
        rep("[x; ", "x", "]"),
        rep("..", "x", ""),
    ];
    for body in bodies {
        for text in [format!("fn f(x: i32) {{\n    let a = {body};\n}}"), format!("fn f(x: i32) {{\n    {body}\n}}")] {
            let (diags, _) = check(&text);
            assert!(!diags.is_empty(), "{}", &text[..60]);
        }
    }
    let stmts = [
        rep("for i in 0..2 {", "", "}"),
        rep("#[bound(3)] while x {", "", "}"),
        rep("#[bound(", "3", ")]"),
        rep("let a: [i32; {", "3", "}] = x;"),
    ];
    for stmt in stmts {
        let (diags, _) = check(&format!("fn f(x: i32) {{\n    {stmt}\n}}"));
        assert!(!diags.is_empty(), "{}", &stmt[..20]);
    }
    let items = [
        rep("use a::{", "b", "};"),
        rep("mod m {", "", "}"),
        format!("fn f(x: {}) {{}}", rep("&", "i32", "")),
        format!("fn f(x: {}) {{}}", rep("Q<", "i32", ">")),
        rep("(", "", ""),
        rep("", "", ")"),
        rep("({[", "", ""),
        rep("({[", "", "}"),
    ];
    for item in items {
        let (diags, _) = check(&item);
        assert!(!diags.is_empty(), "{}", &item[..20]);
    }
}

#[test]
fn the_macro_survives_depth() {
    let text = format!("fn f(x: i32) {{ let a = {}x{}; }}", "(".repeat(5_000), ")".repeat(5_000));
    let out = ccl_syntax::expand(text.parse().expect("tokens")).to_string();
    assert!(out.contains("C0004"), "{}", &out[..100]);
}

/// The deepest tree that the parser lets through goes through every pass on the stack of a test thread.
#[test]
fn the_deepest_tree_is_fine_everywhere() {
    let n = MAX_HEIGHT as usize - 10;
    let chains = [
        format!("{}x", "x + ".repeat(n)),
        format!("x{}", ".min(x)".repeat(n)),
        format!("x{}", " as i32".repeat(n)),
        format!("{}{{ x }}", "if x > 0 { x } else ".repeat(55)),
        format!("{}x{}", "{ ".repeat(55), " }".repeat(55)),
        format!("golden::outside::<{}i32{}>(x)", "Flow<".repeat(28), ">".repeat(28)),
        format!("{}x{}{}", "(".repeat(40), " + x)".repeat(40), " + x".repeat(n - 50)),
    ];
    for chain in chains {
        let text = format!("fn f(x: i32) -> i32 {{\n    {chain}\n}}");
        assert_eq!(rendered(&text), "", "{}", &text[..60]);
        let (module, _, _) = parse(&text);
        let printed = ccl_syntax::print(&module);
        assert!(parse(&printed).0 == module);
        assert!(ccl_syntax::decode(&ccl_syntax::encode(&module)).as_ref() == Ok(&module));
    }
}

#[test]
fn constants_in_a_long_chain_are_an_error() {
    let text: String = (0..5_000).map(|i| format!("const C{i}: usize = C{} + 1;\n", i + 1)).collect();
    let (diags, _) = check(&format!("{text}const C5000: usize = 1;"));
    assert!(diags.iter().any(|d| d.code == Code::TooDeep));
}

#[test]
fn long_input_takes_linear_time() {
    let time = |n: usize| {
        let line = "        y.at(t).channels(o).store(requant(acc + x * 3, scale, HalfEven, Saturate));\n";
        let text = format!(
            "fn f(y: &mut Ocm<i8, Planar<1, 8, 8>>, t: Tile, o: usize, acc: Q<i32>, x: Q<i32>, scale: Scale) {{\n{}}}\n",
            line.repeat(n)
        );
        let start = Instant::now();
        let mut diags = Diags::default();
        let (module, source) = ccl_syntax::parse_items("k.rs", &text, &mut diags);
        ccl_syntax::check(&module, &mut diags);
        assert_eq!(diags.render(&source), "");
        let printed = ccl_syntax::print(&module);
        let bytes = ccl_syntax::encode(&module);
        assert!(ccl_syntax::decode(&bytes).as_ref() == Ok(&module));
        assert_eq!(printed.lines().count(), n + 2);
        start.elapsed().as_secs_f64()
    };
    time(100);
    let (short, long) = (time(1_000), time(8_000));
    println!("1,000 lines {short:.3} s, 8,000 lines {long:.3} s");
    // Eight times the input; a quadratic step would make it sixty-four. The margin is for a busy machine.
    assert!(long < 24.0 * short + 0.1, "{short} s for 1,000 lines, {long} s for 8,000");
}

#[test]
fn garbage_takes_linear_time_too() {
    for text in [
        "x x ".repeat(50_000),
        "let ; ".repeat(50_000),
        "#[a] ".repeat(50_000),
        "ccl! { fn ".repeat(2_000),
        "\"a\" '".repeat(50_000),
    ] {
        let start = Instant::now();
        let mut diags = Diags::default();
        ccl_syntax::parse_items("k.rs", &text, &mut diags);
        ccl_syntax::parse_items("k.rs", &format!("fn f() {{ {text} }}"), &mut diags);
        ccl_syntax::parse_file("k.rs", &text, &mut diags);
        assert!(!diags.take().is_empty());
        assert!(start.elapsed().as_secs_f64() < 5.0, "{}", &text[..20]);
    }
}
