//! Where text came from: positions, spans and the source they point into. No parsing.

use std::fmt;

/// A place in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pos {
    /// Line, counted from 1; 0 where nothing is known.
    pub line: u32,
    /// Column in characters, counted from 0.
    pub col: u32,
}

impl fmt::Display for Pos {
    /// `line:column`, both counted from 1, as editors do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.col + 1)
    }
}

/// From where to where a node stands in its source.
///
/// Positions are plain numbers, so that a tree decoded at run time still knows its lines; the numbers of the first and
/// last token let a diagnostic inside the macro find the compiler's own spans, and are absent from a decoded tree.
///
/// All spans are equal: trees compare by structure. [`Span::same_place`] compares places.
#[derive(Clone, Copy, Default)]
pub struct Span {
    /// First character.
    pub start: Pos,
    /// Behind the last character.
    pub end: Pos,
    /// First and last token, counted from 1 so that 0 means none.
    tokens: (u32, u32),
}

impl Span {
    /// A span without tokens.
    pub const fn at(start: Pos, end: Pos) -> Self {
        Self { start, end, tokens: (0, 0) }
    }
    /// The span of token `index`.
    pub(crate) const fn token(start: Pos, end: Pos, index: u32) -> Self {
        Self { start, end, tokens: (index + 1, index + 1) }
    }
    /// From the start of `self` to the end of `last`.
    #[must_use]
    pub const fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end, tokens: (self.tokens.0, last.tokens.1) }
    }
    /// Whether both stand at the same place.
    pub fn same_place(self, other: Self) -> bool {
        (self.start, self.end) == (other.start, other.end)
    }
    /// First and last token as indices, if it has any.
    pub(crate) const fn token_range(self) -> Option<(usize, usize)> {
        match self.tokens {
            (0, _) | (_, 0) => None,
            (first, last) => Some((first as usize - 1, last as usize - 1)),
        }
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Span {}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start, self.end)
    }
}

/// What spans point into: text of a file, tokens of a macro call, or only a name.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Path of the file as errors print it.
    pub name: String,
    /// Its text, if it was read at run time.
    pub text: Option<String>,
    /// The compiler's spans, token by token, if the source is a token stream.
    pub(crate) tokens: Vec<proc_macro2::Span>,
    /// Which of these tokens are brackets.
    pub(crate) is_bracket: Vec<bool>,
}

impl Source {
    /// A file with its text.
    pub fn file(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: Some(text.into()), tokens: Vec::new(), is_bracket: Vec::new() }
    }
    /// A file of which only the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
    /// The compiler's spans of the first and last token of `span`; the macro call's where there are none.
    pub(crate) fn compiler_spans(&self, span: Span) -> (proc_macro2::Span, proc_macro2::Span) {
        let found = span.token_range().and_then(|(a, b)| Some((*self.tokens.get(a)?, *self.tokens.get(b)?)));
        found.unwrap_or_else(|| (proc_macro2::Span::call_site(), proc_macro2::Span::call_site()))
    }
    /// The compiler's span of the operator between two operands, over the brackets around them.
    pub(crate) fn operator_span(&self, lhs: Span, rhs: Span) -> proc_macro2::Span {
        let between = lhs.token_range().zip(rhs.token_range()).map(|((_, end), (start, _))| end + 1..start);
        let operator = between.and_then(|mut between| between.find(|i| self.is_bracket.get(*i) == Some(&false)));
        operator.and_then(|i| self.tokens.get(i).copied()).unwrap_or_else(|| self.compiler_spans(lhs).0)
    }
}
