//! Text to tokens, for files read at run time. Every fault is a diagnostic with its place, reading goes on behind it, and
//! brackets without a partner are given one, so that the parser sees balanced tokens. Comments are dropped, documentation
//! becomes attributes as the compiler makes them.

use crate::code::Code;
use crate::diag::{Diag, Diags};
use crate::parse::token::{Delim, Kind, Token, join, punct};
use crate::source::{Pos, Span};

/// What a text is: brackets are mended more boldly where nothing but kernels stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// The items of a block.
    Items,
    /// A file with blocks in it; around them any Rust may stand, macros with a grammar of their own too.
    File,
}

/// Lexes a text.
pub(crate) fn lex(text: &str, what: Text, diags: &mut Diags) -> Lexed {
    let mut lexer = Lexer {
        text,
        at: 0,
        pos: Pos { line: 1, col: 0 },
        out: Lexed { tokens: Vec::new(), bytes: Vec::new() },
        open: Vec::new(),
        block: (what == Text::Items).then_some(0),
        diags,
    };
    if text.starts_with("#!") && !text.starts_with("#![") {
        lexer.skip_while(|c| c != '\n');
    }
    while let Some(c) = lexer.peek() {
        lexer.token(c);
    }
    lexer.close_all(0);
    join(&mut lexer.out.tokens);
    lexer.out
}

/// Tokens and where they stand in the text.
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    /// First byte of each token, and the byte behind it.
    pub(crate) bytes: Vec<(usize, usize)>,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    pos: Pos,
    out: Lexed,
    /// Brackets that wait for their partner.
    open: Vec<usize>,
    /// Number of brackets around the kernels that are being read.
    block: Option<usize>,
    diags: &'a mut Diags,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }
    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }
    fn peek_at(&self, n: usize) -> Option<char> {
        self.rest().chars().nth(n)
    }
    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        if c == '\n' {
            self.pos = Pos { line: self.pos.line + 1, col: 0 };
        } else {
            self.pos.col += 1;
        }
        Some(c)
    }
    fn skip_while(&mut self, keep: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&keep) {
            self.bump();
        }
    }
    fn skip(&mut self, n_chars: usize) {
        for _ in 0..n_chars {
            self.bump();
        }
    }

    fn push(&mut self, kind: Kind, start: (usize, Pos)) {
        let index = self.out.tokens.len() as u32;
        self.out.tokens.push(Token { kind, span: Span::token(start.1, self.pos, index) });
        self.out.bytes.push((start.0, self.at));
    }
    fn error(&mut self, start: (usize, Pos), message: impl Into<String>) {
        self.diags.error(Code::BadToken, Span::at(start.1, self.pos), message);
    }

    fn token(&mut self, c: char) {
        let start = (self.at, self.pos);
        match c {
            c if c.is_whitespace() => self.skip_while(char::is_whitespace),
            '/' if self.rest().starts_with("//") => self.line_comment(start),
            '/' if self.rest().starts_with("/*") => self.block_comment(start),
            '(' => self.open_bracket(Delim::Paren, start),
            '[' => self.open_bracket(Delim::Bracket, start),
            '{' => self.open_bracket(Delim::Brace, start),
            ')' => self.close_bracket(Delim::Paren, start),
            ']' => self.close_bracket(Delim::Bracket, start),
            '}' => self.close_bracket(Delim::Brace, start),
            '"' => self.string(start),
            '\'' => self.quote(start),
            c if c.is_ascii_digit() => self.number(start),
            c if c == '_' || c.is_alphabetic() => self.word(start),
            c if "~!@#$%^&*-=+|;:,<.>/?".contains(c) => {
                if c == ';' {
                    self.close_parens();
                }
                self.bump();
                let joint = self.peek().is_some_and(|c| "~!@#$%^&*-=+|;:,<.>/?'".contains(c))
                    && !self.rest().starts_with("//")
                    && !self.rest().starts_with("/*");
                self.push(punct(c, joint), start);
            }
            c => {
                self.bump();
                self.error(start, format!("`{c}` is no token of Rust"));
            }
        }
    }

    fn line_comment(&mut self, start: (usize, Pos)) {
        self.skip_while(|c| c != '\n');
        let text = self.text[start.0..self.at].trim_end_matches('\r');
        if let Some(doc) = text.strip_prefix("///").filter(|rest| !rest.starts_with('/')) {
            self.doc(doc, false, start);
        } else if let Some(doc) = text.strip_prefix("//!") {
            self.doc(doc, true, start);
        }
    }

    fn block_comment(&mut self, start: (usize, Pos)) {
        let mut depth = 0;
        loop {
            if self.rest().starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if self.rest().starts_with("*/") {
                depth -= 1;
                self.skip(2);
                if depth == 0 {
                    break;
                }
            } else if self.bump().is_none() {
                return self.error(start, "comment never ends");
            }
        }
        let text = &self.text[start.0..self.at];
        let doc = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix("*/"));
        if let Some(doc) = doc("/**").filter(|rest| !rest.starts_with('*') && !rest.is_empty()) {
            self.doc(doc, false, start);
        } else if let Some(doc) = doc("/*!") {
            self.doc(doc, true, start);
        }
    }

    /// `#[doc = "text"]`, every token at the comment's place.
    fn doc(&mut self, text: &str, inner: bool, start: (usize, Pos)) {
        let literal = format!("{text:?}");
        self.push(punct('#', false), start);
        if inner {
            self.push(punct('!', false), start);
        }
        let open = self.out.tokens.len();
        self.push(Kind::Open { delim: Delim::Bracket, mate: open + 4 }, start);
        self.push(Kind::Ident("doc".into()), start);
        self.push(punct('=', false), start);
        self.push(Kind::Literal(literal), start);
        self.push(Kind::Close(Delim::Bracket), start);
    }

    fn open_bracket(&mut self, delim: Delim, start: (usize, Pos)) {
        self.bump();
        self.open.push(self.out.tokens.len());
        if self.block.is_none() && self.begins_block() {
            self.block = Some(self.open.len());
        }
        self.push(Kind::Open { delim, mate: usize::MAX }, start);
    }

    /// Whether a bracket here opens a block of kernels: `ccl!` or `#[ccl] mod name` before it.
    fn begins_block(&self) -> bool {
        let mut before = self.out.tokens.iter().rev().map(|t| &t.kind);
        let is_word = |kind: Option<&Kind>, word: &str| matches!(kind, Some(Kind::Ident(w)) if w == word);
        match before.next() {
            Some(Kind::Punct { ch: '!', .. }) => is_word(before.next(), "ccl"),
            Some(Kind::Ident(_)) if is_word(before.next(), "mod") => {
                before.take(16).any(|kind| matches!(kind, Kind::Ident(word) if word == "ccl"))
            }
            _ => false,
        }
    }

    /// A semicolon stands in no parenthesis of a kernel, so one that is open here lacks its partner.
    fn close_parens(&mut self) {
        let Some(outside) = self.block else { return };
        let is_paren = |open: &usize| matches!(self.out.tokens[*open].kind, Kind::Open { delim: Delim::Paren, .. });
        let n_parens = self.open[outside.min(self.open.len())..].iter().rev().take_while(|open| is_paren(open)).count();
        self.close_all(self.open.len() - n_parens);
    }

    fn close_bracket(&mut self, delim: Delim, start: (usize, Pos)) {
        self.bump();
        let matches =
            |open: &usize, tokens: &[Token]| matches!(tokens[*open].kind, Kind::Open { delim: d, .. } if d == delim);
        // Looking a bounded way down keeps a text of nothing but wrong brackets linear.
        let window = self.open.len().saturating_sub(64);
        match self.open[window..].iter().rposition(|open| matches(open, &self.out.tokens)) {
            Some(found) => {
                self.close_all(window + found + 1);
                self.close(delim, start);
            }
            None if delim != Delim::Brace && self.open_delim().is_some_and(|open| open != Delim::Brace) => {
                let open = *self.open.last().expect("one is open");
                let opened = self.open_delim().expect("one is open");
                let span = Span::at(start.1, self.pos);
                let message = format!("`{}` is closed by `{}`", opened.open(), delim.close());
                self.diags.push(
                    Diag::new(Code::Unbalanced, span, message).note_at(self.out.tokens[open].span, "opened here"),
                );
                self.close(opened, start);
            }
            None => {
                let span = Span::at(start.1, self.pos);
                self.diags.error(Code::Unbalanced, span, format!("`{}` closes nothing", delim.close()));
            }
        }
    }

    fn open_delim(&self) -> Option<Delim> {
        match self.out.tokens[*self.open.last()?].kind {
            Kind::Open { delim, .. } => Some(delim),
            _ => None,
        }
    }

    fn close(&mut self, delim: Delim, start: (usize, Pos)) {
        let mate = self.out.tokens.len();
        self.push(Kind::Close(delim), start);
        let open = self.open.pop().expect("the bracket was found above");
        self.out.tokens[open].kind = Kind::Open { delim, mate };
        if self.block.is_some_and(|n| n > self.open.len()) {
            self.block = None;
        }
    }

    /// Reports brackets that are still open above `keep` and closes them here.
    fn close_all(&mut self, keep: usize) {
        while self.open.len() > keep {
            let token = &self.out.tokens[*self.open.last().expect("longer than keep")];
            let Kind::Open { delim, .. } = token.kind else { unreachable!("only brackets are kept") };
            let message = format!("`{}` is never closed", delim.open());
            let help = format!("a `{}` is missing before {}", delim.close(), self.pos);
            self.diags.push(Diag::new(Code::Unbalanced, token.span, message).help(help));
            self.close(delim, (self.at, self.pos));
        }
    }

    fn word(&mut self, start: (usize, Pos)) {
        self.skip_while(|c| c == '_' || c.is_alphanumeric());
        let word = &self.text[start.0..self.at];
        match (word, self.peek()) {
            ("r" | "br" | "cr", Some('"' | '#')) => self.raw(start),
            ("b" | "c", Some('"')) => self.string(start),
            ("b", Some('\'')) => self.quote(start),
            _ => {
                let word = word.to_owned();
                self.push(Kind::Ident(word), start);
            }
        }
    }

    /// `r"..."`, `r#"..."#`, or the raw name `r#name`.
    fn raw(&mut self, start: (usize, Pos)) {
        let hashes = self.rest().chars().take_while(|c| *c == '#').count();
        self.skip(hashes);
        if self.peek() != Some('"') {
            self.skip_while(|c| c == '_' || c.is_alphanumeric());
            let word = self.text[start.0..self.at].to_owned();
            return self.push(Kind::Ident(word), start);
        }
        let end = format!("\"{}", "#".repeat(hashes));
        self.bump();
        while !self.rest().starts_with(&end) {
            if self.bump().is_none() {
                return self.error(start, "string never ends");
            }
        }
        self.skip(end.chars().count());
        let text = self.text[start.0..self.at].to_owned();
        self.push(Kind::Literal(text), start);
    }

    fn string(&mut self, start: (usize, Pos)) {
        self.bump();
        loop {
            match self.bump() {
                Some('"') => break,
                Some('\\') => _ = self.bump(),
                Some(_) => {}
                None => return self.error(start, "string never ends"),
            }
        }
        self.skip_while(|c| c == '_' || c.is_alphanumeric());
        let text = self.text[start.0..self.at].to_owned();
        self.push(Kind::Literal(text), start);
    }

    /// A character or a lifetime.
    fn quote(&mut self, start: (usize, Pos)) {
        self.bump();
        let is_char = match self.peek() {
            Some('\\') => true,
            Some(_) => self.peek_at(1) == Some('\''),
            None => false,
        };
        if !is_char {
            self.skip_while(|c| c == '_' || c.is_alphanumeric());
            let name = self.text[start.0..self.at].to_owned();
            if name == "'" {
                return self.error(start, "character never ends");
            }
            return self.push(Kind::Lifetime(name), start);
        }
        if self.bump() == Some('\\') {
            self.bump();
        }
        while self.peek().is_some_and(|c| c != '\'' && c != '\n') {
            self.bump();
        }
        if self.bump() != Some('\'') {
            return self.error(start, "character never ends");
        }
        let text = self.text[start.0..self.at].to_owned();
        self.push(Kind::Literal(text), start);
    }

    fn number(&mut self, start: (usize, Pos)) {
        self.skip_while(|c| c == '_' || c.is_ascii_alphanumeric());
        let prefixed = ["0x", "0b", "0o"].iter().any(|p| self.text[start.0..self.at].starts_with(p));
        let next = self.peek_at(1);
        // `1..2` is a range, `1.max(2)` a method, `1.5` and `1.` are fractions.
        let is_fraction = !prefixed
            && self.peek() == Some('.')
            && next != Some('.')
            && !next.is_some_and(|c| c == '_' || c.is_alphabetic());
        if is_fraction {
            self.bump();
            self.skip_while(|c| c == '_' || c.is_ascii_alphanumeric());
        }
        let is_exponent = !prefixed && self.text[start.0..self.at].ends_with(['e', 'E']);
        if is_exponent && matches!(self.peek(), Some('+' | '-')) && self.peek_at(1).is_some_and(|c| c.is_ascii_digit())
        {
            self.bump();
            self.skip_while(|c| c == '_' || c.is_ascii_alphanumeric());
        }
        let text = self.text[start.0..self.at].to_owned();
        self.push(Kind::Literal(text), start);
    }
}
