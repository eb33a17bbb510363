//! Laws on every corpus kernel: no findings, round trips of text and bytes, every prefix.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::support::corpus;
use ccl_syntax::{Diags, File};

fn parse_file(name: &str, text: &str) -> File {
    let mut diags = Diags::default();
    let file = ccl_syntax::parse_file(name, text, &mut diags);
    for block in &file.blocks {
        ccl_syntax::check(&block.module, &mut diags);
    }
    assert_eq!(diags.render(&file.source), "", "{name}");
    assert!(!file.blocks.is_empty(), "{name}");
    file
}

/// The tokens of the block of a file, as the macro gets them.
fn block_tokens(file: &File) -> Vec<TokenStream> {
    let text = file.source.text.as_deref().expect("it was read from text");
    let bodies = file.blocks.iter().map(|block| &text[block.body_bytes.0..block.body_bytes.1]);
    bodies.map(|body| body.parse().expect("tokens")).collect()
}

#[test]
fn text_and_bytes_come_back() {
    let (mut n_lines, mut n_bytes) = (0, 0);
    for (name, text) in corpus() {
        let file = parse_file(&name, &text);
        // The corpus is formatted as rustfmt would, comments aside.
        let printed = file.print();
        let again = parse_file(&name, &printed);
        assert_eq!(again.print(), printed, "{name}");
        for (a, b) in file.blocks.iter().zip(&again.blocks) {
            assert_eq!(a.module, b.module, "{name}");
            let bytes = ccl_syntax::encode(&a.module);
            let decoded = ccl_syntax::decode(&bytes).expect("decodes");
            assert_eq!(format!("{decoded:?}"), format!("{:?}", a.module), "{name}");
            n_bytes += bytes.len();
            n_lines += ccl_syntax::print(&a.module).lines().filter(|line| !line.trim().is_empty()).count();
        }
    }
    let per_line = n_bytes as f64 / n_lines as f64;
    println!("{n_lines} kernel lines, {n_bytes} encoded bytes: {per_line:.1} a line");
    assert!(per_line < 80.0, "an encoded kernel is small");
}

#[test]
fn printing_keeps_the_layout_of_a_formatted_file() {
    let without_comments = |text: &str| {
        let lines = text.lines().filter(|line| {
            let line = line.trim_start();
            !line.starts_with("//") || line.starts_with("///") || line.starts_with("//!")
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    for (name, text) in corpus() {
        let printed = parse_file(&name, &text).print();
        for (a, b) in without_comments(&text).lines().zip(without_comments(&printed).lines()) {
            assert_eq!(a, b, "{name}");
        }
    }
}

#[test]
fn the_macro_sees_the_same_tree() {
    for (name, text) in corpus() {
        let file = parse_file(&name, &text);
        for (block, tokens) in file.blocks.iter().zip(block_tokens(&file)) {
            let mut diags = Diags::default();
            let (module, source) = ccl_syntax::parse_tokens(tokens.clone(), &mut diags);
            assert_eq!(diags.render(&source), "", "{name}");
            assert_eq!(module.items, block.module.items, "{name}");
            let expanded = ccl_syntax::expand(tokens.clone());
            assert!(!expanded.to_string().contains("compile_error"), "{name}");
            assert_eq!(ccl_syntax::expand(tokens).to_string(), expanded.to_string(), "{name}");
            syn::parse2::<Items>(expanded).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

/// The first `n` tokens of a stream, an opening bracket counting as one; open brackets are closed.
fn prefix(stream: &TokenStream, n: &mut usize) -> TokenStream {
    let mut out = Vec::new();
    for tree in stream.clone() {
        if *n == 0 {
            break;
        }
        *n -= 1;
        out.push(match tree {
            TokenTree::Group(group) => {
                let mut short = Group::new(group.delimiter(), prefix(&group.stream(), n));
                short.set_span(group.span());
                short.into()
            }
            tree => tree,
        });
    }
    out.into_iter().collect()
}

struct Items;
impl syn::parse::Parse for Items {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        while !input.is_empty() {
            input.parse::<syn::Item>()?;
        }
        Ok(Self)
    }
}

#[test]
fn every_prefix_of_the_tokens_parses_and_broken_ones_are_reported() {
    let (mut n_prefixes, mut n_broken) = (0, 0);
    for (name, text) in corpus() {
        let file = parse_file(&name, &text);
        for tokens in block_tokens(&file) {
            for length in 0.. {
                let mut left = length;
                let short = prefix(&tokens, &mut left);
                if left > 0 {
                    break;
                }
                let mut diags = Diags::default();
                ccl_syntax::parse_tokens(short.clone(), &mut diags);
                let found = diags.take();
                n_prefixes += 1;
                n_broken += usize::from(!found.is_empty());
                // What we read, Rust can read.
                let is_rust = || syn::parse2::<Items>(short.clone()).is_ok();
                assert!(!found.is_empty() || is_rust(), "{name}: {length} tokens, no finding in\n{short}");
            }
        }
    }
    println!("{n_prefixes} prefixes, {n_broken} broken");
    assert!(n_broken > n_prefixes / 2);
}

/// Calls `law` with name and text of every corpus file, on all cores.
fn on_all_cores(law: impl Fn(&str, &str) + Sync) {
    let files = corpus();
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    std::thread::scope(|scope| {
        for first in 0..n_threads {
            let (files, law) = (&files, &law);
            scope.spawn(move || files.iter().skip(first).step_by(n_threads).for_each(|(name, text)| law(name, text)));
        }
    });
}

#[test]
fn every_prefix_of_the_tokens_expands_to_rust() {
    on_all_cores(|name, text| {
        let file = parse_file(name, text);
        for tokens in block_tokens(&file) {
            let mut last = TokenStream::new();
            for length in 0.. {
                let mut left = length;
                let short = prefix(&tokens, &mut left);
                if left > 0 {
                    break;
                }
                last = ccl_syntax::expand(short.clone());
                // Writing, reading and checking it again takes longer than the expansion, so one in seven must do.
                if length % 7 == 0 {
                    check_expansion(name, length, short, &last);
                }
            }
            assert!(!last.to_string().contains("compile_error"), "{name}: the whole block is sound");
        }
    });
}

/// What a prefix expands to is Rust, the same each time, and has an error where the prefix has.
fn check_expansion(name: &str, length: usize, short: TokenStream, expanded: &TokenStream) {
    let text = expanded.to_string();
    assert_eq!(ccl_syntax::expand(short.clone()).to_string(), text, "{name}: {length} tokens");
    syn::parse2::<Items>(expanded.clone()).unwrap_or_else(|error| panic!("{name}: {error} in\n{short}"));
    let mut diags = Diags::default();
    let (module, _) = ccl_syntax::parse_tokens(short, &mut diags);
    ccl_syntax::check(&module, &mut diags);
    let is_broken = !diags.take().is_empty();
    assert_eq!(text.contains(":: core :: compile_error !"), is_broken, "{name}: {length} tokens");
}

#[test]
fn every_unfinished_file_is_reported_with_its_place() {
    for (name, text) in corpus() {
        let ends = text.char_indices().filter(|(_, c)| c.is_whitespace()).map(|(i, _)| i).step_by(3);
        for end in ends {
            let short = &text[..end];
            let mut diags = Diags::default();
            let file = ccl_syntax::parse_file(&name, short, &mut diags);
            let found = diags.take();
            // proc-macro2 does not lex what has open brackets, strings or comments.
            if short.parse::<TokenStream>().is_err() {
                assert!(!found.is_empty(), "{name}: {end} bytes");
            }
            for diag in found {
                assert!(diag.span.start.line > 0, "{name}: {}", diag.render(&file.source));
            }
        }
    }
}

#[test]
fn the_lexer_agrees_with_the_compilers() {
    for (name, text) in corpus() {
        let body = format!("ccl! {{ {text} }}");
        let mut diags = Diags::default();
        let file = ccl_syntax::parse_file(&name, &body, &mut diags);
        let by_text = diags.take();
        let mut diags = Diags::default();
        let stream: TokenStream = text.parse().expect("tokens");
        assert!(
            stream.clone().into_iter().all(|t| !matches!(&t, TokenTree::Group(g) if g.delimiter() == Delimiter::None))
        );
        let (module, _) = ccl_syntax::parse_tokens(stream, &mut diags);
        // A file is no block, so both report the same things that do not belong into one, at the same places.
        let by_tokens = diags.take();
        let messages = |diags: &[ccl_syntax::Diag]| diags.iter().map(|d| d.message.clone()).collect::<Vec<_>>();
        assert_eq!(messages(&by_text), messages(&by_tokens), "{name}");
        assert_eq!(file.blocks[0].module.items.len(), module.items.len(), "{name}");
    }
}
