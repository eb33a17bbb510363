//! What errors say. The snapshots hold every refused construct and every code, rendered.

use ccl_syntax::{Code, Refused};

use crate::support::{check, parse, rendered};

#[test]
fn every_refused_construct_has_one_error_that_names_it() {
    let mut all = String::new();
    for info in Refused::TABLE {
        let (_, diags, source) = parse(info.example);
        let text: String = diags.iter().map(|d| d.render(&source)).collect();
        assert_eq!(diags.len(), 1, "{}\n{text}", info.example);
        assert_eq!(diags[0].code, Code::OutsideSubset, "{}\n{text}", info.example);
        assert_eq!(diags[0].help.as_deref(), Some(info.instead), "{}\n{text}", info.example);
        all += &text;
        all.push('\n');
    }
    insta::assert_snapshot!("refused", all);
}

#[test]
fn examples_of_codes_fail_and_are_mended() {
    let mut all = String::new();
    for info in Code::TABLE {
        let (diags, source) = check(info.before);
        assert!(!diags.is_empty(), "{}: the example has no error", info.code);
        for diag in &diags {
            assert_eq!(diag.code, info.code, "{}", diag.render(&source));
            all += &diag.render(&source);
            all.push('\n');
        }
        assert_eq!(rendered(info.after), "", "{}: mended", info.code);
    }
    insta::assert_snapshot!("codes", all);
}

#[test]
fn four_mistakes_in_one_kernel_are_four_errors() {
    let text = "
        #[kernel]
        pub fn k<const C: usize>(x: &Ocm<i8, Packed<C, 32, 32>>, y: &mut Ocm<i8, Packed<C, 32, 32>>) {
            let n = match C { 0 => 1, _ => 2 };
            for t in x.tiles() {
                let a = t.fetch::<Lrm<i8, C>>(.wait();
                let total = n + 1;
                if a[0] > a[1] {
                    total = 5;
                    y.at(t).stroe(a);
                }
            }
        }";
    let (diags, source) = check(text);
    let all: Vec<String> = diags.iter().map(|d| d.render(&source)).collect();
    assert_eq!(diags.len(), 4, "{}", all.join("\n"));
    insta::assert_snapshot!("four_mistakes", all.join("\n"));
}

#[test]
fn mistakes_elsewhere_do_not_hide_each_other() {
    // A broken signature, a broken header, a broken item: the bodies still have their own to tell.
    let text = "fn f(x i32) {\n    let a = 0.5;\n}\nfn g() {\n    for i 0..3 {\n        let b = c?;\n    }\n}\nstruct S;\nfn h() -> { let s = \"x\"; }\n";
    let (_, diags, source) = parse(text);
    let lines: Vec<u32> = diags.iter().map(|d| d.span.start.line).collect();
    assert_eq!(lines, [1, 2, 5, 6, 9, 10, 10], "{}", diags.iter().map(|d| d.render(&source)).collect::<String>());
}

#[test]
fn what_a_broken_statement_declared_stays_known() {
    for text in [
        "fn f(x: i32) -> i32 {\n    let (a, b) = x?;\n    let c = a + b;\n    c\n}",
        "fn f(x i32) {}\nfn g() {\n    f(3);\n}",
        "struct S;\nfn g(x: S) {}",
        "#[instance(QC_U)]\nconst A: Kernel = k;",
    ] {
        let (diags, source) = check(text);
        assert_eq!(diags.len(), 1, "{}", diags.iter().map(|d| d.render(&source)).collect::<String>());
    }
}

#[test]
fn a_half_typed_line_stays_in_the_tree() {
    let (module, diags, _) = parse("fn f(x: &Ocm<i8, Planar<1, 32, 32>>) {\n    x.til\n    let a = 3;\n}");
    assert_eq!(diags.len(), 1);
    let text = ccl_syntax::print(&module);
    assert!(text.contains("    x.til;\n    let a = 3;\n"), "{text}");
    // At the end of a block, text cannot tell it from a value.
    let (_, diags, _) = parse("fn f(x: &Ocm<i8, Planar<1, 32, 32>>) {\n    x.til\n}");
    assert!(diags.is_empty());
    assert!(
        rendered("fn f(x: &Ocm<i8, Planar<1, 32, 32>>) {\n    x.til\n}").contains("methods that begin so: `tiles`")
    );
}

#[test]
fn names() {
    let text = r#"
use golden::{self, conv, max};
use golden::conv as other;

const N: usize = 4;
fn Q(x: i32) {}
fn N() {}

#[inline]
fn twice(x: Q<i32>, x: i32) -> Q<i32> {
    x + y
}

fn f<const C: usize>(a: &Lrm<i8, C>, b: &mut Lrm<i8, C>, mut c: i32, d: i32) {
    let (p, p) = (1, 2);
    a[0] = 1;
    b[0] = 2;
    b = a;
    c += 1;
    d += 1;
    N = 3;
    let e = [1, 2];
    e[0] = 4;
    twice(&mut d, &mut b);
    twice(1);
    twice::<3>(1, 2);
    C(2);
    let g = twice;
    let h = Lrm::<i8, 3>::nwe();
    let i = Lrm::<i8>::new();
    let j: Lrmm<i8, 3> = h;
    let k: Lrm<i8> = h;
    let l: N = h;
    let m = shift(h, Esat, 1).widen::<i32, i32>();
    let n: Lrm<i8, c> = h;
    let o = outside::of(h, Inside::new());
    h.0.unknown_thing;
    h.shift(East, 1);
    let r = max;
    let s = [0; C + 1];
    continue;
    let t: Lrm<i8, golden> = i;
    N::x();
}

fn ping(x: i32) -> i32 {
    pong(x)
}
fn pong(x: i32) -> i32 {
    ping(pung(x))
}
fn pung(x: i32) -> i32 {
    x
}

#[instance(target = QC_U)]
const A: Kernel = f::<3>;
#[instance(target = QC_U)]
const B: i32 = f::<3>;
const C: Kernel = f::<3>;
#[instance(target = QC_U)]
const D: Kernel = g::<3>;
#[instance(target = QC_U)]
const E: Kernel = k::<3, _, { 1 / 0 }, Missing>;
#[kernel]
fn k<const A1: usize, const B1: usize, const C1: usize, const D1: usize>() {}
"#;
    insta::assert_snapshot!("names", rendered(text));
}

#[test]
fn attributes() {
    let text = r#"
#![allow(unused)]
#[kernel(refrence = a::b)]
fn a() {}
#[kernel]
#[kernel]
fn b() {}
#[instance(QC_U)]
const C: Kernel = a;
#[region(stem)]
fn d() {}
#[allow(unused)]
#[kernels]
fn e() {
    #[kernel]
    let a = 1;
    #[bound(3)]
    for i in 0..3 {}
    #[tap("t")]
    a
}
#[inline(always)]
fn f() {}
#[tap("end")]
"#;
    insta::assert_snapshot!("attributes", rendered(text));
}

#[test]
fn lexical() {
    let text = "const A: usize = 0b12 + 12i7 + 0x;\nfn f() {\n    let a = (1 + 2];\n    let b = \u{20ac};\n    let c = 'x;\n}\n}\nconst S: i32 = 99999999999999999999999999999999999999999;\nfn g() { \"never ends";
    insta::assert_snapshot!("lexical", rendered(text));
}

#[test]
fn expansion_points_at_the_users_tokens() {
    let tokens: proc_macro2::TokenStream = "fn f(x: i32) {\n    let a = match x {};\n}".parse().expect("tokens");
    let out = ccl_syntax::expand(tokens.clone());
    let text = out.to_string();
    assert!(text.starts_with(":: core :: compile_error !"), "{text}");
    assert!(text.contains("`match` is not part of the kernel language [C0101]\\nhelp: use `if`"), "{text}");
    let first = out.into_iter().next().expect("a token").span().start();
    assert_eq!((first.line, first.column), (2, 12));
    assert_eq!(ccl_syntax::expand(tokens.clone()).to_string(), ccl_syntax::expand(tokens).to_string());
    assert!(ccl_syntax::expand(proc_macro2::TokenStream::new()).is_empty());
}

#[test]
fn a_module_keeps_its_head() {
    let tokens = |text: &str| text.parse::<proc_macro2::TokenStream>().expect("tokens");
    let (alone, inside) =
        (ccl_syntax::expand(tokens("fn f() {}")), ccl_syntax::expand_mod(tokens("pub mod k { fn f() {} }")));
    // Places depend on what else was parsed, and so does the tag in generated names.
    let without_tree = |text: String| {
        let (text, source) = text.split_once("static __CCL_SOURCE_").expect("the tree of the block");
        text.replace(&source[..8], "tag")
    };
    assert_eq!(without_tree(inside.to_string()), without_tree(format!("pub mod k {{ {alone} }}")));
    let out = ccl_syntax::expand_mod(tokens("mod k { loop }")).to_string();
    assert!(out.starts_with("mod k { :: core :: compile_error !"), "{out}");
    assert!(ccl_syntax::expand_mod(tokens("fn f() {}")).to_string().contains("stands on a module"));
}
