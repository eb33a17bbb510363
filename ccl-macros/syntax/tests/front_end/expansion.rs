//! What the macro makes of a block, as formatted Rust.

use proc_macro2::TokenStream;

fn expanded(text: &str) -> String {
    let tokens: TokenStream = text.parse().expect("tokens");
    let file = syn::parse2(ccl_syntax::expand(tokens)).expect("it is Rust");
    let lines = prettyplease::unparse(&file);
    // The tree is bytes, and their places depend on what else was parsed; so does the tag in generated names.
    let (text, source) = lines.split_once("static __CCL_SOURCE_").expect("the tree of the block");
    text.replace(&source[..8], "tag")
}

#[test]
fn a_kernel_with_every_rewrite() {
    let text = expanded(
        r#"
        use other::{helper, twice as double};

        const GROUP: usize = max(2, 4);

        /// Says what it is for.
        #[inline]
        fn small(v: Q<i32>, mut limit: i32) -> Q<i32> {
            limit += 1;
            let mut best = if v < limit && v > -limit { v } else { splat(limit) };
            #[bound(9)]
            while any(best > 3) {
                if best > 3 { best = best >> 1; } else { best += 1; }
            }
            if limit == 2 {
                return double(best);
            }
            best
        }

        #[kernel(reference = golden::k::<C>)]
        #[edit("by hand")]
        #[overrides(crate::generated::k)]
        pub fn k<const C: usize>(x: &Ocm<i8, Packed<C, 9, 9>>, y: &mut Ocm<i8, Packed<C, 9, 9>>, scale: Scale, n: usize) {
            assert!(C > 2, "enough channels");
            for t in x.tiles().chunks::<GROUP>() {
                let (mut a, _b) = (t.fetch::<Lrm<i8, GROUP>>().wait(), n);
                a[0] = a[1];
                a[0..2] = Lrm::<i8, 2>::filled(0);
                let c = a[0] + { a[0] = splat(3); a[1] };
                let known = if n > 1 { 1 } else { 2 };
                probe!(c, known);
                helper::<GROUP>(&mut a, ROWS);
                y.at(t).store(a);
            }
        }

        #[instance(target = QC_U)]
        pub const K8: Kernel = k::<{ 2 * GROUP }>;
        "#,
    );
    insta::assert_snapshot!(text);
}

#[test]
fn functions_with_errors_stay_for_the_editor_and_leave_the_others_alone() {
    let sound = "fn sound(a: Q<i32>) -> Q<i32> { a + 1 }";
    let half = "fn half(x: &Ocm<i8, Planar<1, 8, 8>>) { for t in x.tiles() { t.fet } broa }";
    let (both, alone) = (expanded(&format!("{sound}\n{half}")), expanded(sound));
    let function = &alone[..alone.find("mod __ccl_sound").expect("the type beside the function")];
    assert!(both.contains(function), "{both}");
    // Completion needs the words as they stand, where rustc does not see them.
    let (seen, hidden) = both.split_once("#[cfg(rust_analyzer)]").expect("a body for the editor");
    assert!(seen.contains("return ::ccl_runtime::__rt::broken();") && !seen.contains("broa}"), "{seen}");
    assert!(hidden.contains("t.fet") && hidden.contains("broa"), "{hidden}");
}

#[test]
fn a_signature_with_errors_takes_its_function_along() {
    let text =
        expanded("fn sound() {}\n#[kernel]\nfn k(x: &Ocn<i8>) {}\n#[instance(target = QC_U)]\nconst K: Kernel = k;");
    assert!(text.contains("unknown type `Ocn`") && text.contains("fn sound()") && !text.contains("fn k("), "{text}");
    assert!(text.contains("const K: ::ccl_runtime::kernel::Kernel = ::ccl_runtime::kernel::Kernel::BROKEN;"), "{text}");
}
