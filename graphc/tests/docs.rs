//! The page of operators is what the table says.

use std::path::Path;

#[test]
fn the_page_of_operators_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operators.md");
    let page = graphc::operators::markdown();
    if std::env::var_os("CCL_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == page, "docs/operators.md is not what the table says; write it anew with CCL_BLESS=1");
}
