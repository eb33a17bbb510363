//! Text in, text out. A file begins with `test parse`, `test verify` or `test lower [after <pass>] [on <target>]`.
//!
//! `parse`: the module reads back as it is printed, or the line with `; error: ..` is where it fails. `verify`: each `; error:`
//! is a part of a message of its line, and there are no others. `lower`: the sibling `.out` holds the IR after the pass, or the
//! assembly, behind the notes of the report. `CCL_BLESS=1` rewrites `.out` files.

mod support;

use std::path::Path;

use ccl_runtime::ir::Module;
use ccl_runtime::ir::verify::verify;
use ccl_runtime::lower::{Options, compile};
use iss::target::{QC_U, Target};
use iss::testing::Rng;

fn files(stage: &str) -> Vec<(String, String)> {
    let dir = format!("{}/tests/corpus/{stage}", env!("CARGO_MANIFEST_DIR"));
    let mut list: Vec<_> = std::fs::read_dir(&dir)
        .expect("the corpus is there")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "ccl"))
        .map(|p| (p.display().to_string(), std::fs::read_to_string(&p).expect("text")))
        .collect();
    list.sort();
    assert!(!list.is_empty(), "{dir} has tests");
    list
}

/// The first line, and the rest with an empty line in its place so that line numbers stay.
fn split(text: &str) -> (Vec<&str>, String) {
    let (head, rest) = text.split_once('\n').expect("a first line");
    (head.split_whitespace().collect(), format!("\n{rest}"))
}

/// Lines with `; error: text`, several if need be.
fn expected(text: &str) -> Vec<(u32, String)> {
    let mut list = Vec::new();
    for (i, line) in text.lines().enumerate() {
        list.extend(
            line.split("; error: ").skip(1).map(|e| (i as u32 + 1, e.trim().trim_end_matches(" ;").to_owned())),
        );
    }
    list
}

#[test]
fn parse() {
    for (path, text) in files("parse") {
        let (_, body) = split(&text);
        let wanted = expected(&text);
        match Module::parse(&body) {
            Ok(m) => {
                assert!(wanted.is_empty(), "{path}: parses, but {wanted:?} was expected");
                assert_eq!(Module::parse(&m.to_string()).expect("it reads back"), m.canonical(), "{path}");
                let bare = Module::parse(&m.bare().to_string()).expect("it reads back");
                assert_eq!(bare.without_locs().funcs, m.canonical().without_locs().funcs, "{path}");
            }
            Err(e) => {
                let hit = wanted.iter().any(|(line, text)| *line == e.line && e.to_string().contains(text));
                assert!(hit, "{path}: {e}");
            }
        }
    }
}

#[test]
fn verify_rules() {
    for (path, text) in files("verify") {
        let (_, body) = split(&text);
        let m = Module::parse(&body).unwrap_or_else(|e| panic!("{path}: {e}"));
        let errors = verify(&m, Some(&QC_U)).err().unwrap_or_default();
        let mut wanted = expected(&text);
        for e in &errors {
            let at = wanted.iter().position(|(line, text)| *line == e.line && e.message.contains(text.as_str()));
            match at {
                Some(at) => drop(wanted.remove(at)),
                None => panic!("{path}: unexpected: {e}"),
            }
        }
        assert!(wanted.is_empty(), "{path}: not found: {wanted:?}");
    }
}

#[test]
fn lower() {
    let bless = std::env::var_os("CCL_BLESS").is_some();
    for (path, text) in files("lower") {
        let (head, body) = split(&text);
        let word = |key: &str| head.iter().position(|w| *w == key).map(|i| head[i + 1]);
        let target: Target = word("on").map_or(QC_U, |t| Target::preset(t).expect("a target"));
        let m = Module::parse(&body).unwrap_or_else(|e| panic!("{path}: {e}"));
        let after: Vec<String> = word("after").map(str::to_owned).into_iter().collect();
        let out = match compile(&m, &target, &Options { print_after: after.clone(), ..Options::default() }) {
            Err(e) => format!("error: {e}\n"),
            Ok(c) if after.is_empty() => {
                let notes = c.report.notes.iter().map(|n| format!("note: {n}\n"));
                let asm = iss::asm::disassemble(&c.image);
                let lines = asm
                    .lines()
                    .filter(|l| !l.starts_with(".loc"))
                    .map(|l| l.split(" ; ").next().unwrap_or(l).trim_end().to_owned() + "\n");
                notes.chain(lines).collect()
            }
            Ok(c) => {
                let notes: String = c.report.notes.iter().map(|n| format!("note: {n}\n")).collect();
                notes + &c.report.printed[0].1
            }
        };
        let file = Path::new(&path).with_extension("out");
        if bless {
            std::fs::write(&file, &out).expect("it is written");
        }
        let wanted = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(out == wanted, "{path}: CCL_BLESS=1 accepts\n{out}");
    }
}

/// Every text, whatever it is, gives a module or an error; a module goes through the verifier.
#[test]
fn damaged_text_never_panics() {
    let mut texts: Vec<String> =
        ["parse", "verify", "lower"].iter().flat_map(|s| files(s)).map(|(_, t)| split(&t).1).collect();
    let mut rng = Rng::new(99);
    texts.extend((0..6).map(|_| support::random::module(&mut rng, &QC_U)));
    let pieces = [
        "%",
        "@",
        "[",
        "]",
        "{",
        "}",
        "(",
        "-1",
        "99999999999",
        "..",
        "for",
        "mov",
        "%x",
        "acc",
        ".w",
        "!",
        "\"",
        "é",
        ",",
        "lrm <i8 x 0>",
        "* 2147483647",
    ];
    for text in &texts {
        let chars: Vec<char> = text.chars().collect();
        for _ in 0..60 {
            let mut damaged = chars.clone();
            for _ in 0..1 + rng.below(3) {
                let at = rng.below(damaged.len());
                match rng.below(3) {
                    0 => drop(damaged.remove(at)),
                    1 => {
                        let end = (at + rng.below(12)).min(damaged.len());
                        damaged.drain(at..end);
                    }
                    _ => damaged.splice(at..at, rng.pick(&pieces).chars()).for_each(drop),
                }
                if damaged.is_empty() {
                    break;
                }
            }
            let damaged: String = damaged.into_iter().collect();
            if let Ok(m) = Module::parse(&damaged) {
                assert_eq!(Module::parse(&m.to_string()).unwrap_or_else(|e| panic!("{e}\n{m}")), m.canonical());
                let _ = verify(&m, Some(&QC_U));
            }
        }
        // Every prefix.
        for end in (0..text.len()).step_by(7).filter(|e| text.is_char_boundary(*e)) {
            let _ = Module::parse(&text[..end]);
        }
    }
}
