//! What instances need: peaks of corpus kernels, and what is said where a machine has less.

use ccl_syntax::{Budget, Diags};

use crate::support::{MACHINE, corpus, rendered};

#[test]
fn peaks_of_the_corpus() {
    let mut all = String::new();
    for (name, text) in corpus() {
        let mut diags = Diags::default();
        let file = ccl_syntax::parse_file(&name, &text, &mut diags);
        for block in &file.blocks {
            let checked = ccl_syntax::check(&block.module, &mut diags);
            for instance in &checked.instances {
                let peak =
                    ccl_syntax::check_budget(&block.module, &checked, instance, MACHINE, &mut diags).expect(&name);
                all +=
                    &format!("{name} {}: {} bytes a PE, {} on chip\n", instance.name, peak.lrm.bytes, peak.ocm.bytes);
            }
        }
        all += &diags.render(&file.source);
    }
    insta::assert_snapshot!("peaks", all);
}

#[test]
fn the_live_buffers_are_listed_with_their_lines() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/softmax.rs")).expect("a text");
    let mut diags = Diags::default();
    let file = ccl_syntax::parse_file("softmax.rs", &text, &mut diags);
    let module = &file.blocks[0].module;
    let checked = ccl_syntax::check(module, &mut diags);
    let small = Budget { lrm_bytes: 1_000, ocm_bytes: 1 << 20, ..MACHINE };
    ccl_syntax::check_budget(module, &checked, &checked.instances[0], small, &mut diags);
    insta::assert_snapshot!("over_budget", diags.render(&file.source));
}

#[test]
fn buffers_end_with_their_block() {
    let kernel = |body: &str| {
        format!(
            "#[kernel]\nfn k<const N: usize>() {{\n{body}\n}}\n#[instance(target = QC_U)]\nconst K: Kernel = k::<2500>;\n"
        )
    };
    let one_after_the_other =
        "{ let a = Lrm::<i8, N>::filled(0); probe!(a[0]); }\nlet b = Lrm::<i8, N>::filled(0);\nprobe!(b[0]);";
    assert_eq!(rendered(&kernel(one_after_the_other)), "");
    let together = one_after_the_other.replace(['{', '}'], "");
    assert!(
        rendered(&kernel(&together)).contains("needs 5000 bytes of local memory in every PE, 904 more than the 4096")
    );
}

#[test]
fn accumulators_count_trips() {
    let kernel = |trips: usize| {
        format!(
            "#[kernel]\nfn k<const N: usize, const C: usize>(x: &Ocm<i8, Planar<C, 8, 8>>, w: &Ocm<i8, Stream<4, C>>) {{\n    for t in \
             x.tiles() {{\n        let a = t.fetch::<Lrm<i8, C>>().wait();\n        let mut weights = broadcast(w);\n        let mut \
             acc = weights.bias::<4>();\n        for i in 0..N {{\n            acc += mac(a, weights.take::<4>());\n        }}\n        \
             probe!(acc.get(0));\n    }}\n}}\n#[instance(target = QC_U)]\nconst K: Kernel = k::<{trips}, 1024>;\n"
        )
    };
    assert_eq!(rendered(&kernel(127)), "");
    insta::assert_snapshot!("accumulator", rendered(&kernel(128)));
}

#[test]
fn extents_beyond_all_numbers_and_of_nothing_are_reported() {
    let kernel = |args: &str| {
        format!(
            "#[kernel]\nfn k<const C: usize, const H: usize, const W: usize>(x: &Ocm<i8, Packed<C, H, W>>) {{\n    for t in \
             x.tiles() {{}}\n}}\n#[instance(target = QC_U)]\nconst K: Kernel = k::<{args}>;\n"
        )
    };
    assert_eq!(rendered(&kernel("4, 32, 32")), "");
    for args in ["4, 4294967295, 4294967295", "18446744073709551615, 1, 1", "4, 1000000, 1000000"] {
        assert!(rendered(&kernel(args)).starts_with("error[C0603]: instance `K` needs "), "{args}");
    }
    let zero = rendered(&kernel("64, 0, 32"));
    assert!(zero.starts_with("error[C0210]: instance `K`: `x` has no elements\n --> k.rs:6:7"), "{zero}");
    for (args, what) in
        [("true, 1, 1", "`true` is no `usize`, which `C` is"), ("4, 8, -1", "`-1` is no `usize`, which `W`")]
    {
        let text = rendered(&kernel(args));
        assert!(text.contains(what) && text.contains("--> k.rs:6:23") == (args == "true, 1, 1"), "{text}");
    }
}

/// Functions in a circle, deep chains and calls without number end.
#[test]
fn any_graph_of_calls_ends() {
    let mut text =
        String::from("#[kernel]\nfn k() {\n    f0();\n}\n#[instance(target = QC_U)]\nconst K: Kernel = k;\n");
    for i in 0..400 {
        text += &format!("fn f{i}() {{\n    f{n}();\n    f{n}();\n}}\n", n = i + 1);
    }
    for last in ["fn f400() {}\n", "fn f400() {\n    f0();\n}\n"] {
        let mut diags = Diags::default();
        let (module, _) = ccl_syntax::parse_items("k.rs", &format!("{text}{last}"), &mut diags);
        let checked = ccl_syntax::check(&module, &mut diags);
        let peak = ccl_syntax::check_budget(&module, &checked, &checked.instances[0], MACHINE, &mut diags);
        assert_eq!(peak.map(|peak| peak.lrm.bytes), Some(0));
        assert_eq!(diags.take().len(), usize::from(last.contains("f0")));
    }
}
