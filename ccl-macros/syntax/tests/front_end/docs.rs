//! The generated pages are current; `CCL_BLESS=1` rewrites them.

#[track_caller]
fn check(name: &str, page: &str) {
    let path = format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("CCL_BLESS").is_some() {
        std::fs::write(&path, page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/{name} is out of date: run CCL_BLESS=1 cargo test -p ccl-syntax");
}

#[test]
fn errors_page_is_current() {
    check("errors.md", &ccl_syntax::errors_page());
}

#[test]
fn subset_page_is_current() {
    check("subset.md", &ccl_syntax::subset_page());
}

#[test]
fn names_page_is_current() {
    check("names.md", &ccl_syntax::builtins::names_page());
}

/// Every `rust` block of the language guide is items of the language, without a finding.
#[test]
fn examples_of_the_guide_are_kernels() {
    let guide = include_str!("../../docs/language.md");
    let mut n_examples = 0;
    for example in guide.split("```rust\n").skip(1) {
        let (example, _) = example.split_once("\n```").expect("the block ends");
        assert_eq!(crate::support::rendered(example), "", "{example}");
        n_examples += 1;
    }
    assert!(n_examples >= 10, "{n_examples} examples");
}
