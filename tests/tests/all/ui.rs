//! What users see of their mistakes: each a short file with what rustc prints. `TRYBUILD=overwrite` rewrites these.

#[test]
fn mistakes() {
    trybuild::TestCases::new().compile_fail("ui/*/*.rs");
}
