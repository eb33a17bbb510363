//! Corpus kernels with tokens deleted, doubled, swapped and replaced: never a panic, and what is accepted is Rust.

use proc_macro2::{TokenStream, TokenTree};

use crate::support::{MACHINE, Rng, corpus};
use ccl_syntax::Diags;
use ccl_syntax::check::Instance;
use ccl_syntax::eval::Value;

/// Text cut into words, numbers and characters, each with the blank space behind it.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(1);
        let len = if rest.is_char_boundary(len) { len } else { rest.chars().next().map_or(1, char::len_utf8) };
        let blank = rest[len..].find(|c: char| !c.is_whitespace()).unwrap_or(rest.len() - len);
        pieces.push(&rest[..len + blank]);
        rest = &rest[len + blank..];
    }
    pieces
}

const INSERTS: &[&str] = &[
    "match ",
    "let ",
    "if ",
    "else ",
    "for ",
    "while ",
    "loop ",
    "fn ",
    "const ",
    "use ",
    "struct ",
    "in ",
    "mut ",
    "as ",
    "return ",
    "#[",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "::",
    "::<",
    ".",
    "..",
    "..=",
    "=",
    "==",
    "&",
    "&&",
    "|",
    "||",
    "-",
    "!",
    "?",
    ",",
    ";",
    ":",
    "->",
    "=>",
    "'a ",
    "\"s\"",
    "1.5",
    "0x",
    "'",
    "/*",
    "*/",
    "//",
    "r#",
    "_",
    "é",
    "\u{1F980}",
    "$",
    "@",
];

fn mutate(pieces: &[&'static str], rng: &mut Rng) -> String {
    let mut pieces = pieces.to_vec();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(pieces.len());
        let other = rng.below(pieces.len());
        match rng.below(5) {
            0 => _ = pieces.remove(at),
            1 => pieces.insert(at, pieces[at]),
            2 => pieces.swap(at, other),
            3 => pieces[at] = INSERTS[rng.below(INSERTS.len())],
            _ => pieces.insert(at, INSERTS[rng.below(INSERTS.len())]),
        }
        if pieces.is_empty() {
            break;
        }
    }
    pieces.concat()
}

/// The functions of the corpus as texts of their own: small, so that a run of many stays short.
fn functions() -> Vec<Vec<&'static str>> {
    let mut out = Vec::new();
    for (name, text) in corpus() {
        let mut diags = Diags::default();
        let file = ccl_syntax::parse_file(&name, &text, &mut diags);
        assert!(diags.take().is_empty());
        for block in file.blocks {
            for item in block.module.items {
                let module = ccl_syntax::Module { file: "k.rs".into(), items: vec![item] };
                // Leaked on purpose: the test runs once.
                let text: &'static str = ccl_syntax::print(&module).leak();
                out.push(pieces(text));
            }
        }
    }
    out
}

#[test]
fn random_damage_never_panics() {
    const RUNS: usize = 5_000;
    let functions = functions();
    let mut rng = Rng(7);
    let mut n_clean = 0;
    for run in 0..RUNS {
        let pieces = &functions[rng.below(functions.len())];
        let text = mutate(pieces, &mut rng);
        let mut diags = Diags::default();
        let (module, source) = ccl_syntax::parse_items("k.rs", &text, &mut diags);
        let is_rust = diags.is_empty();
        let checked = ccl_syntax::check(&module, &mut diags);
        for (item, function) in module.fns() {
            let name = item.name().expect("a function has a name");
            let instance = Instance {
                id: name.id,
                name: "I".into(),
                kernel: name.name.name.clone(),
                args: function.generics.iter().map(|_| Value::usize(8)).collect(),
                target: "QC_U".into(),
            };
            ccl_syntax::check_budget(&module, &checked, &instance, MACHINE, &mut diags);
        }
        diags.render(&source);
        if !is_rust {
            continue;
        }
        n_clean += 1;
        let printed = ccl_syntax::print(&module);
        let mut diags = Diags::default();
        let (again, _) = ccl_syntax::parse_items("k.rs", &printed, &mut diags);
        assert!(diags.take().is_empty() && again == module, "run {run}:\n{text}\n=>\n{printed}");
        if run % 8 == 0 {
            let accepted = syn::parse_file(&text);
            assert!(accepted.is_ok(), "run {run}: {:?}\n{text}", accepted.err());
        }
    }
    println!("{RUNS} runs, {n_clean} still kernels");
    assert!(n_clean > RUNS / 50);
}

/// The same on the trees that the macro gets, which are always balanced.
#[test]
fn random_damage_of_token_trees_never_panics() {
    let streams: Vec<TokenStream> = functions().iter().map(|pieces| pieces.concat().parse().expect("tokens")).collect();
    let mut rng = Rng(11);
    for _ in 0..4_000 {
        let stream = streams[rng.below(streams.len())].clone();
        let mut left = rng.below(200);
        let damaged = damage(stream, &mut left, &mut rng);
        _ = ccl_syntax::expand(damaged).into_iter().count();
    }
}

/// Deletes, doubles or moves the token tree that is reached when `left` runs out.
fn damage(stream: TokenStream, left: &mut usize, rng: &mut Rng) -> TokenStream {
    let mut trees: Vec<TokenTree> = Vec::new();
    for tree in stream {
        if *left == 0 {
            *left = usize::MAX;
            match rng.below(3) {
                0 => continue,
                1 => trees.push(tree.clone()),
                _ => {
                    let at = rng.below(trees.len() + 1);
                    trees.insert(at, tree);
                    continue;
                }
            }
        }
        *left -= 1;
        trees.push(match tree {
            TokenTree::Group(group) => {
                proc_macro2::Group::new(group.delimiter(), damage(group.stream(), left, rng)).into()
            }
            tree => tree,
        });
    }
    trees.into_iter().collect()
}
