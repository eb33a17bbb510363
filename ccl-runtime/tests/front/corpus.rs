//! Text of the language in, text of the IR or of an error out. Each instance of a file of `tests/corpus/front` is elaborated and
//! compiled; the sibling `.out` holds the IR before any pass, or why there is no program. `CCL_BLESS=1` rewrites it.

use std::path::Path;

use ccl_runtime::interp::Library;
use ccl_runtime::kernel::{Argument, Instance, ParamType};
use ccl_runtime::value::Scale;

/// The IR of an instance, or the error.
fn outcome(library: &Library, name: &str) -> String {
    let instance = Instance::from_library(library, name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut arguments = instance.zeros();
    for param in instance.params().iter().filter(|param| param.ty == ParamType::Scale) {
        arguments.set(&param.name, Argument::Scale(Scale::new(19923, 21)));
    }
    match instance.compile(&arguments, &Default::default()) {
        Ok(compiled) => compiled.module.bare().to_string(),
        Err(error) => format!("error: {error}\n"),
    }
}

#[test]
fn text_becomes_ir_or_an_error_with_place_and_cure() {
    let dir = format!("{}/tests/corpus/front", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(&dir).expect("the corpus is there").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "rs")).collect();
    files.sort();
    assert!(files.len() >= 5, "{dir} has tests");
    for path in files {
        let text = std::fs::read_to_string(&path).expect("text");
        let file = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let mut library = Library::new();
        library.load("crate", file, &text).unwrap_or_else(|error| panic!("{error}"));
        let declared = |line: &str| Some(line.trim().strip_prefix("pub const ")?.split_once(": Kernel")?.0.to_owned());
        let names: Vec<String> = text.lines().filter_map(declared).collect();
        assert!(!names.is_empty(), "{file} has instances");
        let found: String = names.iter().map(|name| format!("== {name}\n{}\n", outcome(&library, name))).collect();
        compare(&path.with_extension("out"), &found);
    }
}

fn compare(path: &Path, found: &str) {
    if std::env::var_os("CCL_BLESS").is_some() {
        std::fs::write(path, found).expect("the file is written");
    }
    let wanted = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, wanted, "{}: CCL_BLESS=1 rewrites it", path.display());
}
