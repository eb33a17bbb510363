//! One line of assembly text, cut into label, head and operands. Knows quotes and comments, no directive and no instruction.

use super::error::{AsmCause, AsmError, shown};

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    /// As it stands there, quotes and all.
    pub text: &'t str,
    /// Where it begins, in bytes from the start of the line.
    pub at: usize,
}

/// A line without its comment.
#[derive(Clone, Debug)]
pub(super) struct Line<'t> {
    number: u32,
    whole: &'t str,
}

impl<'t> Line<'t> {
    /// Cuts the comment off.
    pub fn new(number: u32, text: &'t str) -> Self {
        let end = outside_quotes(text).find(|(_, c)| *c == ';').map_or(text.len(), |(at, _)| at);
        Self { number, whole: &text[..end] }
    }

    /// Counted from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }
    /// The column of a place in bytes: characters, counted from 1. Costs a walk over the line, so only errors and
    /// references to labels ask, of which a line has at most one.
    pub fn column(&self, at: usize) -> u32 {
        self.whole[..at].chars().count() as u32 + 1
    }
    pub fn error(&self, at: usize, cause: AsmCause) -> AsmError {
        AsmError { line: self.number, column: self.column(at), cause }
    }
    pub fn syntax(&self, piece: &Piece<'_>, expected: &'static str) -> AsmError {
        self.error(piece.at, AsmCause::Syntax { found: shown(piece.text), expected })
    }

    /// Everything, trimmed.
    pub fn all(&self) -> Piece<'t> {
        self.piece(self.whole)
    }
    /// A part of this line, trimmed, with its place.
    fn piece(&self, part: &'t str) -> Piece<'t> {
        let text = part.trim();
        // Every part is cut from this line, so the difference is where it begins.
        Piece { text, at: text.as_ptr() as usize - self.whole.as_ptr() as usize }
    }

    /// Cuts a leading label `name:` off.
    pub fn label(&self, rest: Piece<'t>) -> (Option<Piece<'t>>, Piece<'t>) {
        let end = rest.text.find(|c: char| !is_label_char(c)).unwrap_or(rest.text.len());
        match rest.text[end..].strip_prefix(':') {
            Some(behind) if end > 0 => (Some(self.piece(&rest.text[..end])), self.piece(behind)),
            _ => (None, rest),
        }
    }

    /// Cuts the first word off.
    pub fn head(&self, rest: Piece<'t>) -> (Piece<'t>, Piece<'t>) {
        let end = rest.text.find(char::is_whitespace).unwrap_or(rest.text.len());
        let (head, behind) = rest.text.split_at(end);
        (self.piece(head), self.piece(behind))
    }

    /// The operands of an instruction: what stands between commas outside quotes.
    pub fn operands(&self, rest: &Piece<'t>) -> Vec<Piece<'t>> {
        if rest.text.is_empty() {
            return Vec::new();
        }
        let mut start = 0;
        let mut pieces = Vec::new();
        for (at, _) in outside_quotes(rest.text).filter(|(_, c)| *c == ',') {
            pieces.push(self.piece(&rest.text[start..at]));
            start = at + 1;
        }
        pieces.push(self.piece(&rest.text[start..]));
        pieces
    }

    /// The words of a directive: what stands between white space outside quotes.
    pub fn words(&self, rest: &Piece<'t>) -> Vec<Piece<'t>> {
        let mut start = 0;
        let mut pieces = Vec::new();
        let spaces = outside_quotes(rest.text).filter(|(_, c)| c.is_whitespace());
        for (at, end) in spaces.map(|(at, c)| (at, at + c.len_utf8())).chain([(rest.text.len(), rest.text.len())]) {
            if at > start {
                pieces.push(self.piece(&rest.text[start..at]));
            }
            start = end;
        }
        pieces
    }

    /// The text that a word means: itself, or what its quotes hold.
    pub fn unquoted(&self, piece: &Piece<'_>) -> Result<String, AsmError> {
        let Some(inner) = piece.text.strip_prefix('"') else {
            return match piece.text.chars().all(is_word_char) {
                true if !piece.text.is_empty() => Ok(piece.text.to_owned()),
                _ => Err(self.syntax(piece, "a name in quotes")),
            };
        };
        let mut text = String::with_capacity(inner.len());
        let mut chars = inner.chars();
        loop {
            match chars.next() {
                Some('"') if chars.as_str().is_empty() => return Ok(text),
                Some('\\') => match chars.next() {
                    Some(c @ ('"' | '\\')) => text.push(c),
                    _ => return Err(self.syntax(piece, "`\\\"` or `\\\\` behind a backslash")),
                },
                Some('"') => return Err(self.syntax(piece, "nothing behind the closing quote")),
                Some(c) => text.push(c),
                None => return Err(self.syntax(piece, "a closing quote")),
            }
        }
    }
}

/// Characters outside quotes with their places.
fn outside_quotes(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quoted, mut escaped) = (false, false);
    text.char_indices().filter(move |(_, c)| {
        let outside = !quoted && *c != '"';
        if escaped {
            escaped = false;
        } else if *c == '"' {
            quoted = !quoted;
        } else {
            escaped = quoted && *c == '\\';
        }
        outside
    })
}

/// Characters of a label.
pub(super) fn is_label_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$')
}

/// Characters of a word that needs no quotes.
fn is_word_char(c: char) -> bool {
    is_label_char(c) || matches!(c, '-' | '/' | '+')
}

/// A name in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A name in quotes where it needs them.
pub(super) fn word(text: &str) -> String {
    if !text.is_empty() && text.chars().all(is_word_char) { text.to_owned() } else { quoted(text) }
}
