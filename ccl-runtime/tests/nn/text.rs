//! The library as text: no findings of the front end, and printing gives text that parses back.

use ccl_syntax::{Diags, File};

fn checked(name: &str, text: &str) -> File {
    let mut diags = Diags::default();
    let file = ccl_syntax::parse_file(name, text, &mut diags);
    for block in &file.blocks {
        ccl_syntax::check(&block.module, &mut diags);
    }
    assert_eq!(diags.render(&file.source), "", "{name}");
    file
}

#[test]
fn kernels_of_the_library_have_no_findings() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/nn");
    let files = |folder: &str| std::fs::read_dir(folder).expect("the folder is there");
    let mut n_kernels = 0;
    for entry in files(folder).chain(files(&format!("{folder}/stub"))) {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        if !text.contains("\nccl! {") {
            continue;
        }
        let file = checked(&name, &text);
        assert_eq!(file.blocks.len(), 1, "{name}");
        let again = checked(&name, &file.print());
        assert_eq!(file.blocks[0].module, again.blocks[0].module, "{name}");
        assert_eq!(again.print(), file.print(), "{name}");
        n_kernels += file.blocks[0].module.fns().count();
    }
    assert!(n_kernels > 30, "{n_kernels}");
}
