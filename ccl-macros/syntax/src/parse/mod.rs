//! Tokens to trees. A parser of our own rather than `syn`'s, because of three things that it must do: give one message for
//! each construct that the language does not have, recover statement by statement, and bound its depth. That what it accepts
//! is Rust, is a law that the tests check against `syn`.
//!
//! `token.rs` and `lex.rs` make flat, balanced tokens; this file walks them; `item.rs`, `attr.rs`, `stmt.rs`, `expr.rs`,
//! `ty.rs` and `lit.rs` are the grammar; `file.rs` finds the blocks in a file. No names, no types: that is `check/`.

pub(crate) mod attr;
mod expr;
pub(crate) mod file;
mod item;
pub(crate) mod lex;
mod lit;
mod stmt;
pub(crate) mod token;
mod ty;

use crate::ast::{Ident, Item};
use crate::code::Code;
use crate::diag::{Diag, Diags};
use crate::source::Span;
use crate::subset::Refused;
use token::{Delim, Kind, Token};

/// Deepest nesting of brackets, operators and types. An unoptimised build, which is what users' macros are, takes some 12 kB of
/// stack a level here, and threads have 2 MB.
pub const MAX_DEPTH: u32 = 64;
/// Greatest height of an expression or block; more than [`MAX_DEPTH`] because operators and methods chain.
pub const MAX_HEIGHT: u32 = 128;

/// Something could not be read and has been reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed;

/// What was read, or that the reason why not has been reported.
pub(crate) type Parsed<T> = Result<T, Failed>;

/// Reads the items of a block. Never fails: what cannot be read is reported and dropped.
pub(crate) fn items(tokens: &[Token], diags: &mut Diags) -> Vec<Item> {
    Parser::new(tokens, 0, tokens.len(), diags).items()
}

/// Words that are no names.
const KEYWORDS: &[&str] = &[
    "as", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn", "for", "if", "impl",
    "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self", "static", "struct",
    "super", "trait", "true", "type", "unsafe", "use", "where", "while", "async", "await", "abstract", "become", "box",
    "do", "final", "gen", "macro", "override", "priv", "try", "typeof", "unsized", "virtual", "yield",
];

/// A cursor over tokens from `at` to `end`.
pub(crate) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    end: usize,
    diags: &'a mut Diags,
    depth: u32,
    /// Height of the expression or block that was read last.
    height: u32,
    /// Inside the head of `if`, `while` and `for`, where `name {` is no struct literal.
    in_head: bool,
    /// Inside the arguments of `fx`, where fractions are allowed.
    in_fx: bool,
    /// An attribute could not be read since this was last cleared.
    bad_attr: bool,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(tokens: &'a [Token], at: usize, end: usize, diags: &'a mut Diags) -> Self {
        Self { tokens, at, end, diags, depth: 0, height: 0, in_head: false, in_fx: false, bad_attr: false }
    }

    // ---- looking ----

    fn peek(&self) -> Option<&'a Kind> {
        self.peek_at(0)
    }
    fn peek_at(&self, n: usize) -> Option<&'a Kind> {
        let index = self.at + n;
        (index < self.end).then(|| &self.tokens[index].kind)
    }
    fn at_end(&self) -> bool {
        self.at >= self.end
    }
    /// Place of the next token; at the end, the bracket that ends the group or the last token.
    fn span(&self) -> Span {
        let index = if self.tokens.len() > self.at { self.at } else { self.tokens.len().wrapping_sub(1) };
        self.tokens.get(index).map(|t| t.span).unwrap_or_default()
    }
    /// Place of the token before.
    fn last_span(&self) -> Span {
        self.at.checked_sub(1).map(|i| self.tokens[i].span).unwrap_or_default()
    }
    /// The name or keyword at the cursor.
    fn word(&self) -> Option<&'a str> {
        self.word_at(0)
    }
    fn word_at(&self, n: usize) -> Option<&'a str> {
        match self.peek_at(n) {
            Some(Kind::Ident(word)) => Some(word),
            _ => None,
        }
    }
    fn at_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }
    /// The longest operator at the cursor.
    fn op(&self) -> Option<&'static str> {
        self.op_at(0)
    }
    fn op_at(&self, n: usize) -> Option<&'static str> {
        match self.peek_at(n) {
            Some(Kind::Punct { op, .. }) => Some(op),
            _ => None,
        }
    }
    fn at_op(&self, op: &str) -> bool {
        self.op() == Some(op)
    }
    fn at_char(&self, c: char) -> bool {
        matches!(self.peek(), Some(Kind::Punct { ch, .. }) if *ch == c)
    }
    fn at_open(&self, delim: Delim) -> bool {
        matches!(self.peek(), Some(Kind::Open { delim: d, .. }) if *d == delim)
    }
    /// What stands at the cursor, for messages.
    fn found(&self) -> String {
        match self.peek() {
            None if self.at < self.tokens.len() => match &self.tokens[self.at].kind {
                Kind::Close(delim) => format!("`{}`", delim.close()),
                _ => "the end".into(),
            },
            None => "the end".into(),
            Some(Kind::Ident(word)) => format!("`{word}`"),
            Some(Kind::Lifetime(name)) => format!("`{name}`"),
            Some(Kind::Literal(text)) if text.chars().count() > 24 => "a literal".into(),
            Some(Kind::Literal(text)) => format!("`{text}`"),
            Some(Kind::Punct { op: "", ch, .. }) => format!("`{ch}`"),
            Some(Kind::Punct { op, .. }) => format!("`{op}`"),
            Some(Kind::Open { delim, .. }) => format!("`{}`", delim.open()),
            Some(Kind::Close(delim)) => format!("`{}`", delim.close()),
        }
    }

    // ---- taking ----

    fn bump(&mut self) -> Span {
        let span = self.span();
        self.at = (self.at + 1).min(self.end);
        span
    }
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.at += 1;
        }
        found
    }
    fn eat_op(&mut self, op: &str) -> bool {
        let found = self.at_op(op);
        if found {
            self.at += op.len();
        }
        found
    }
    /// Takes one character of punctuation, even the first half of an operator: `>` of `>>`.
    fn eat_char(&mut self, c: char) -> bool {
        let found = self.at_char(c);
        if found {
            self.at += 1;
        }
        found
    }
    fn expect_op(&mut self, op: &str, why: &str) -> Parsed<()> {
        if self.eat_op(op) { Ok(()) } else { Err(self.expected(&format!("`{op}` {why}"))) }
    }
    /// A name that is no keyword.
    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        match self.word() {
            Some(word) if word.starts_with("r#") => Err(self.refuse(Refused::RawName)),
            Some(word) if !KEYWORDS.contains(&word) && word != "_" => {
                Ok(Ident { name: word.to_owned(), span: self.bump() })
            }
            _ => Err(self.expected(what)),
        }
    }
    /// Reads what is inside a bracket; all of it must be used up.
    fn group<T>(&mut self, delim: Delim, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let Some(&Kind::Open { delim: found, mate }) = self.peek() else {
            return Err(self.expected(&format!("`{}`", delim.open())));
        };
        if found != delim {
            return Err(self.expected(&format!("`{}`", delim.open())));
        }
        let outer = (std::mem::replace(&mut self.end, mate), self.in_head);
        self.in_head = false;
        self.at += 1;
        let result = read(self).and_then(|value| {
            if self.at_end() { Ok(value) } else { Err(self.expected(&format!("`,` or `{}`", delim.close()))) }
        });
        (self.end, self.in_head) = outer;
        if result.is_ok() {
            self.at = mate + 1;
        }
        result
    }
    /// Reads elements separated by commas to the end of the group; also says whether a comma stood behind the last.
    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<(Vec<T>, bool)> {
        let mut elems = Vec::new();
        while !self.at_end() {
            elems.push(read(self)?);
            if self.at_end() {
                return Ok((elems, false));
            }
            if !self.eat_op(",") {
                let close = match self.tokens.get(self.end).map(|t| &t.kind) {
                    Some(Kind::Close(delim)) => delim.close(),
                    _ => "the end",
                };
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
        let trailing = !elems.is_empty();
        Ok((elems, trailing))
    }
    /// Runs `read` one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep(format!("nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
    /// Sets the height of a node over children of at most `below`.
    fn grow(&mut self, below: u32) -> Parsed<()> {
        self.height = below + 1;
        if self.height > MAX_HEIGHT {
            return Err(self.too_deep(format!("more than {MAX_HEIGHT} operators, methods or branches in a chain")));
        }
        Ok(())
    }

    // ---- reporting ----

    fn too_deep(&mut self, message: String) -> Failed {
        let diag = Diag::new(Code::TooDeep, self.span(), message).help("name parts with `let`");
        self.diags.push(diag);
        Failed
    }
    fn expected(&mut self, what: &str) -> Failed {
        self.expected_at(self.span(), what)
    }
    fn expected_at(&mut self, span: Span, what: &str) -> Failed {
        // What follows a bracket that was never closed has been reported with the bracket.
        let is_mended = |close: &Token| matches!(close.kind, Kind::Close(_)) && close.span.start == close.span.end;
        if !self.tokens.get(self.end).is_some_and(is_mended) {
            let message = format!("expected {what}, found {}", self.found());
            self.diags.error(Code::Expected, span, message);
        }
        Failed
    }
    /// Reports a construct that the language does not have, at the cursor.
    fn refuse(&mut self, construct: Refused) -> Failed {
        self.refuse_at(self.span(), construct)
    }
    fn refuse_at(&mut self, span: Span, construct: Refused) -> Failed {
        let info = construct.info();
        let message = format!("{} is not part of the kernel language", info.name);
        self.diags.push(Diag::new(Code::OutsideSubset, span, message).help(info.instead));
        Failed
    }

    // ---- skipping ----

    /// Index behind the token or group at `index`.
    fn behind(&self, index: usize) -> usize {
        match self.tokens[index].kind {
            Kind::Open { mate, .. } => mate + 1,
            _ => index + 1,
        }
    }
    /// Whether the token is the first of its line.
    fn starts_line(&self, index: usize) -> bool {
        index == 0 || self.tokens[index].span.start.line > self.tokens[index - 1].span.end.line
    }
}
