//! Diagnostics: what was found, where, what else is involved and what mends it; collected, then rendered as text or as
//! `compile_error!`s. The codes and their prose are in `code.rs`.

use std::fmt::Write;

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, TokenStream, TokenTree};

pub use crate::code::Code;
use crate::source::{Source, Span};

/// One finding.
#[derive(Clone, Debug)]
pub struct Diag {
    /// Kind of finding; explained in `docs/errors.md`.
    pub code: Code,
    /// The place to edit.
    pub span: Span,
    /// The finding in one line: lower case, no full stop, the thing first.
    pub message: String,
    /// Other places that are involved. Stable Rust shows one place per error, so rendering names their lines.
    pub notes: Vec<Note>,
    /// What mends it, where that is known.
    pub help: Option<String>,
}

/// A remark, with the place it is about if it is about one.
#[derive(Clone, Debug)]
pub struct Note {
    /// The place.
    pub span: Option<Span>,
    /// The remark.
    pub message: String,
}

impl Diag {
    /// A finding without notes.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, span, message: message.into(), notes: Vec::new(), help: None }
    }
    /// Adds a remark about another place.
    #[must_use]
    pub fn note_at(mut self, span: Span, message: impl Into<String>) -> Self {
        self.notes.push(Note { span: Some(span), message: message.into() });
        self
    }
    /// Adds a remark.
    #[must_use]
    pub fn note(mut self, message: impl Into<String>) -> Self {
        self.notes.push(Note { span: None, message: message.into() });
        self
    }
    /// Says what mends it.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// The finding without excerpts: message, then notes with their lines, then help. What `compile_error!` shows.
    pub fn plain(&self) -> String {
        let mut text = format!("{} [{}]", self.message, self.code);
        for note in &self.notes {
            _ = match note.span {
                Some(span) if span.start.line > 0 => write!(text, "\nnote: line {}: {}", span.start.line, note.message),
                _ => write!(text, "\nnote: {}", note.message),
            };
        }
        if let Some(help) = &self.help {
            _ = write!(text, "\nhelp: {help}");
        }
        text
    }

    /// The finding with excerpts of the source.
    pub fn render(&self, source: &Source) -> String {
        let lines: Vec<&str> = source.text.as_deref().map(|text| text.lines().collect()).unwrap_or_default();
        self.render_lines(&source.name, &lines)
    }

    fn render_lines(&self, name: &str, lines: &[&str]) -> String {
        let mut out = format!("error[{}]: {}\n", self.code, self.message);
        excerpt(&mut out, name, lines, self.span);
        for note in &self.notes {
            _ = writeln!(out, "note: {}", note.message);
            if let Some(span) = note.span {
                excerpt(&mut out, name, lines, span);
            }
        }
        if let Some(help) = &self.help {
            _ = writeln!(out, "help: {help}");
        }
        out
    }

    /// `::core::compile_error! { ".." }` spanned at the user's tokens.
    pub fn to_compile_error(&self, source: &Source) -> TokenStream {
        let (first, last) = source.compiler_spans(self.span);
        let mut message = Literal::string(&self.plain());
        message.set_span(last);
        let mut body = Group::new(Delimiter::Brace, TokenTree::from(message).into());
        body.set_span(last);
        let punct = |c, spacing, span| {
            let mut punct = Punct::new(c, spacing);
            punct.set_span(span);
            TokenTree::from(punct)
        };
        // rustc marks from the first token of a macro call to its last.
        TokenStream::from_iter([
            punct(':', Spacing::Joint, first),
            punct(':', Spacing::Alone, first),
            Ident::new("core", first).into(),
            punct(':', Spacing::Joint, first),
            punct(':', Spacing::Alone, first),
            Ident::new("compile_error", first).into(),
            punct('!', Spacing::Alone, first),
            body.into(),
        ])
    }
}

/// One line of the source with a caret under the span; of a span of several lines, the first.
fn excerpt(out: &mut String, name: &str, lines: &[&str], span: Span) {
    if span.start.line == 0 {
        _ = writeln!(out, "  --> {name}");
        return;
    }
    let number = span.start.line.to_string();
    let gutter = " ".repeat(number.len());
    _ = writeln!(out, "{gutter}--> {name}:{}", span.start);
    let Some(line) = lines.get(span.start.line as usize - 1) else { return };
    let (start, n_chars) = (span.start.col as usize, line.chars().count());
    let end = if span.end.line == span.start.line { (span.end.col as usize).min(n_chars) } else { n_chars };
    // Tabs stay tabs, so that the caret stands under its character at any tab width.
    let indent: String = line.chars().take(start).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let carets = "^".repeat(end.saturating_sub(start).max(1));
    _ = writeln!(out, "{gutter} |\n{number} | {line}\n{gutter} | {indent}{carets}");
}

/// Collects findings. Must be read: one that is dropped with findings unread panics in debug builds, so that no test can
/// lose an error unseen.
#[derive(Debug, Default)]
pub struct Diags {
    list: Vec<Diag>,
    read: bool,
}

impl Diags {
    /// Most findings that are kept. A text of garbage yields one for each of its words, and nobody reads a thousandth.
    pub const MAX: usize = 100;

    /// Adds a finding; one at the place and with the message of an earlier one is dropped, as is one beyond [`Self::MAX`].
    pub fn push(&mut self, diag: Diag) {
        if self.is_full() {
            return;
        }
        let known = self.list.iter().any(|d| d.span.same_place(diag.span) && d.message == diag.message);
        if !known {
            self.list.push(diag);
            self.read = false;
        }
    }
    /// Adds a finding without notes.
    pub fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(Diag::new(code, span, message));
    }
    /// Whether nothing was found. Does not count as reading.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// Whether something was found inside a place. Does not count as reading.
    pub fn has_any_in(&self, place: Span) -> bool {
        self.list.iter().any(|d| place.start <= d.span.start && d.span.start < place.end)
    }
    /// Whether no further finding is kept, so that there is no point in looking for suggestions.
    pub fn is_full(&self) -> bool {
        self.list.len() >= Self::MAX
    }
    /// How many were found. Does not count as reading.
    pub fn len(&self) -> usize {
        self.list.len()
    }
    /// The findings, in the order of their places.
    pub fn take(&mut self) -> Vec<Diag> {
        self.read = true;
        let mut list = std::mem::take(&mut self.list);
        list.sort_by_key(|d| (d.span.start, d.span.end));
        list
    }
    /// All findings as text with excerpts, one empty line between two.
    pub fn render(&mut self, source: &Source) -> String {
        let lines: Vec<&str> = source.text.as_deref().map(|text| text.lines().collect()).unwrap_or_default();
        let texts: Vec<String> = self.take().iter().map(|d| d.render_lines(&source.name, &lines)).collect();
        texts.join("\n")
    }
    /// All findings as `compile_error!`s.
    pub fn to_compile_errors(&mut self, source: &Source) -> TokenStream {
        self.take().iter().map(|d| d.to_compile_error(source)).collect()
    }
}

impl Drop for Diags {
    fn drop(&mut self) {
        if cfg!(debug_assertions) && !self.read && !self.list.is_empty() && !std::thread::panicking() {
            panic!("diagnostics dropped unread, the first: {}", self.list[0].message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Pos;

    fn span(line: u32, from: u32, to: u32) -> Span {
        Span::at(Pos { line, col: from }, Pos { line, col: to })
    }

    #[test]
    fn renders_every_place_with_a_caret() {
        let source = Source::file("k.rs", "let a = 1;\n\tlet a = b;\n");
        let diag = Diag::new(Code::UnknownName, span(2, 9, 10), "`b`: no such name")
            .note_at(span(1, 4, 5), "`a` is here")
            .help("write `a`");
        let expected = "error[C0201]: `b`: no such name\n --> k.rs:2:10\n  |\n2 | \tlet a = b;\n  | \t        ^\n\
                        note: `a` is here\n --> k.rs:1:5\n  |\n1 | let a = 1;\n  |     ^\nhelp: write `a`\n";
        assert_eq!(diag.render(&source), expected);
        assert_eq!(diag.plain(), "`b`: no such name [C0201]\nnote: line 1: `a` is here\nhelp: write `a`");
    }

    #[test]
    #[should_panic(expected = "dropped unread")]
    fn unread_findings_are_an_error_of_ours() {
        Diags::default().error(Code::UnknownName, Span::default(), "lost");
    }

    #[test]
    fn keeps_a_finding_once() {
        let mut diags = Diags::default();
        diags.error(Code::UnknownName, span(1, 0, 1), "x");
        diags.error(Code::UnknownName, span(1, 0, 1), "x");
        assert_eq!(diags.take().len(), 1);
    }
}
