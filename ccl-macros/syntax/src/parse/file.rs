//! Files: an ordinary `.rs` file with `ccl! { .. }` blocks and `#[ccl] mod`s in it. What stands around them stays text.

use crate::ast::{Ident, Module};
use crate::diag::Diags;
use crate::parse::token::{Delim, Kind, Token};
use crate::parse::{Parser, lex};
use crate::source::Source;

/// A file and the kernels in it.
#[derive(Clone, Debug)]
pub struct File {
    /// Name and text.
    pub source: Source,
    /// The blocks, in their order. Each is a world of its own, as each is for the macro.
    pub blocks: Vec<FileBlock>,
}

/// One block of a file.
#[derive(Clone, Debug)]
pub struct FileBlock {
    /// Name of the module, if it is a `#[ccl] mod`.
    pub name: Option<Ident>,
    /// What is in it.
    pub module: Module,
    /// Bytes of the text between its brackets, brackets excluded.
    pub body_bytes: (usize, usize),
    /// Columns by which the line of its closing bracket is indented.
    pub indent: usize,
}

impl File {
    /// The text with every block printed anew; what is around them is kept byte for byte. Plain comments inside blocks are
    /// no part of the tree and are lost: tools that edit what a person wrote merge text instead.
    pub fn print(&self) -> String {
        let text = self.source.text.as_deref().unwrap_or_default();
        let (mut out, mut done) = (String::new(), 0);
        for block in &self.blocks {
            out += &text[done..block.body_bytes.0];
            out += &crate::print::print_block(&block.module, block.indent);
            done = block.body_bytes.1;
        }
        out + &text[done..]
    }
}

/// Reads a file's text. Never fails; findings are in `diags`.
pub(crate) fn file(name: &str, text: &str, diags: &mut Diags) -> File {
    let source = Source::file(name, text);
    let lexed = lex::lex(text, lex::Text::File, diags);
    let tokens = &lexed.tokens;
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((name, open, mate)) = block_at(tokens, at) else {
            at += 1;
            continue;
        };
        let mut module =
            Module { file: source.name.clone(), items: Parser::new(tokens, open + 1, mate, diags).items() };
        module.renumber();
        let line = text[..lexed.bytes[mate].0].rsplit('\n').next().unwrap_or_default();
        let indent = line.chars().take_while(|c| *c == ' ').count();
        // A bracket that was missing stands at the end of the text, so both indices are in it.
        blocks.push(FileBlock { name, module, body_bytes: (lexed.bytes[open].1, lexed.bytes[mate].0), indent });
        at = mate + 1;
    }
    File { source, blocks }
}

/// A block that begins at token `at`: the name of its module, its brackets.
fn block_at(tokens: &[Token], at: usize) -> Option<(Option<Ident>, usize, usize)> {
    let kind = |i: usize| tokens.get(i).map(|t| &t.kind);
    let is_punct = |i: usize, c: char| matches!(kind(i), Some(Kind::Punct { ch, .. }) if *ch == c);
    let is_word = |i: usize, word: &str| matches!(kind(i), Some(Kind::Ident(w)) if w == word);
    if is_word(at, "ccl") && is_punct(at + 1, '!') {
        let Some(Kind::Open { mate, .. }) = kind(at + 2) else { return None };
        return Some((None, at + 2, *mate));
    }
    // `#[ccl]`, `#[ccl_runtime::ccl]`, then further attributes, visibility, `mod name {`.
    let attr_end = |at: usize| match kind(at + 1) {
        Some(Kind::Open { delim: Delim::Bracket, mate }) if is_punct(at, '#') => Some(*mate),
        _ => None,
    };
    let mate = attr_end(at)?;
    let is_ours = is_word(mate - 1, "ccl") && (mate == at + 3 || is_punct(mate - 2, ':'));
    if !is_ours {
        return None;
    }
    let mut i = mate + 1;
    while let Some(mate) = attr_end(i) {
        i = mate + 1;
    }
    if is_word(i, "pub") {
        i += 1;
        if let Some(Kind::Open { delim: Delim::Paren, mate }) = kind(i) {
            i = mate + 1;
        }
    }
    if !is_word(i, "mod") {
        return None;
    }
    let (Some(Kind::Ident(name)), Some(Kind::Open { delim: Delim::Brace, mate })) = (kind(i + 1), kind(i + 2)) else {
        return None;
    };
    Some((Some(Ident { name: name.clone(), span: tokens[i + 1].span }), i + 2, *mate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_is_around_the_blocks() {
        let text = "// head\nuse a::b;\nccl! {\n  const N:usize=3;\n}\nfn other() { let x = \"ccl! {\"; }\n#[ccl]\n#[cfg(test)]\npub mod k {\n    fn f(){}\n}\nmod m {\n    ccl! {\n        fn g(){}\n    }\n}\n";
        let mut diags = Diags::default();
        let file = file("a.rs", text, &mut diags);
        assert!(diags.take().is_empty());
        assert_eq!(file.blocks.len(), 3);
        assert_eq!(file.blocks[1].name.as_ref().map(|n| n.name.as_str()), Some("k"));
        let expected = "// head\nuse a::b;\nccl! {\n    const N: usize = 3;\n}\nfn other() { let x = \"ccl! {\"; }\n#[ccl]\n#[cfg(test)]\npub mod k {\n    fn f() {}\n}\nmod m {\n    ccl! {\n        fn g() {}\n    }\n}\n";
        assert_eq!(file.print(), expected);
    }
}
