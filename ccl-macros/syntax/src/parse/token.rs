//! The tokens that the parser reads: one flat list in which every bracket knows its partner. From a token stream here, from
//! text in `lex.rs`. Always balanced.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree, token_stream};

use crate::source::{Pos, Source, Span};

/// A bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delim {
    Paren,
    Bracket,
    Brace,
}

impl Delim {
    pub(crate) const fn open(self) -> &'static str {
        match self {
            Self::Paren => "(",
            Self::Bracket => "[",
            Self::Brace => "{",
        }
    }
    pub(crate) const fn close(self) -> &'static str {
        match self {
            Self::Paren => ")",
            Self::Bracket => "]",
            Self::Brace => "}",
        }
    }
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A name or keyword.
    Ident(String),
    /// `'a`.
    Lifetime(String),
    /// A literal as written.
    Literal(String),
    /// One character of punctuation, and the longest operator that begins with it.
    Punct { ch: char, joint: bool, op: &'static str },
    /// An opening bracket and the index of its partner.
    Open { delim: Delim, mate: usize },
    /// A closing bracket.
    Close(Delim),
}

/// One character of punctuation; [`join`] finds its operator.
pub(crate) const fn punct(ch: char, joint: bool) -> Kind {
    Kind::Punct { ch, joint, op: "" }
}

/// The longest operator that begins with `a`, if `b` and `c` follow without a gap.
fn operator(a: char, b: Option<char>, c: Option<char>) -> &'static str {
    match (a, b, c) {
        ('<', Some('<'), Some('=')) => "<<=",
        ('>', Some('>'), Some('=')) => ">>=",
        ('.', Some('.'), Some('=')) => "..=",
        ('.', Some('.'), Some('.')) => "...",
        (':', Some(':'), _) => "::",
        ('-', Some('>'), _) => "->",
        ('=', Some('>'), _) => "=>",
        ('=', Some('='), _) => "==",
        ('!', Some('='), _) => "!=",
        ('<', Some('='), _) => "<=",
        ('>', Some('='), _) => ">=",
        ('&', Some('&'), _) => "&&",
        ('|', Some('|'), _) => "||",
        ('+', Some('='), _) => "+=",
        ('-', Some('='), _) => "-=",
        ('*', Some('='), _) => "*=",
        ('/', Some('='), _) => "/=",
        ('%', Some('='), _) => "%=",
        ('^', Some('='), _) => "^=",
        ('&', Some('='), _) => "&=",
        ('|', Some('='), _) => "|=",
        ('<', Some('<'), _) => "<<",
        ('>', Some('>'), _) => ">>",
        ('.', Some('.'), _) => "..",
        _ => single(a),
    }
}

/// An operator of one character; empty for a character that is none.
const fn single(c: char) -> &'static str {
    match c {
        '+' => "+",
        '-' => "-",
        '*' => "*",
        '/' => "/",
        '%' => "%",
        '^' => "^",
        '!' => "!",
        '&' => "&",
        '|' => "|",
        '=' => "=",
        '<' => "<",
        '>' => ">",
        '@' => "@",
        '.' => ".",
        ',' => ",",
        ';' => ";",
        ':' => ":",
        '#' => "#",
        '$' => "$",
        '?' => "?",
        '~' => "~",
        _ => "",
    }
}

/// Finds the operator that begins at each character of punctuation. Once here, since the parser asks all the time.
pub(crate) fn join(tokens: &mut [Token]) {
    let mut behind = [None; 2];
    for token in tokens.iter_mut().rev() {
        let Kind::Punct { ch, joint, op } = &mut token.kind else {
            behind = [None; 2];
            continue;
        };
        if !*joint {
            behind = [None; 2];
        }
        *op = operator(*ch, behind[0], behind[1]);
        behind = [Some(*ch), behind[0]];
    }
}

/// A token and its place.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

/// Reads a token stream as the compiler hands it out. Groups without brackets, which `macro_rules!` makes of captured
/// expressions, become parentheses.
pub(crate) fn from_stream(stream: TokenStream) -> (Vec<Token>, Source) {
    let mut out = Flatten::default();
    let mut open: Vec<(token_stream::IntoIter, Delim, usize, proc_macro2::Span)> = Vec::new();
    let mut trees = stream.into_iter();
    loop {
        let Some(tree) = trees.next() else {
            let Some((outer, delim, index, close)) = open.pop() else { break };
            let mate = out.tokens.len();
            out.push(Kind::Close(delim), close);
            out.tokens[index].kind = Kind::Open { delim, mate };
            trees = outer;
            continue;
        };
        match tree {
            TokenTree::Group(group) => {
                let delim = match group.delimiter() {
                    Delimiter::Brace => Delim::Brace,
                    Delimiter::Bracket => Delim::Bracket,
                    Delimiter::Parenthesis | Delimiter::None => Delim::Paren,
                };
                let index = out.tokens.len();
                out.push(Kind::Open { delim, mate: 0 }, group.span_open());
                let inner = group.stream().into_iter();
                open.push((std::mem::replace(&mut trees, inner), delim, index, group.span_close()));
            }
            TokenTree::Ident(ident) => out.push(Kind::Ident(ident.to_string()), ident.span()),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                match text.strip_prefix('-') {
                    // Only built token streams have negative literals.
                    Some(magnitude) => {
                        out.push(punct('-', false), literal.span());
                        out.push(Kind::Literal(magnitude.to_owned()), literal.span());
                    }
                    None => out.push(Kind::Literal(text), literal.span()),
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                let name = match trees.next() {
                    Some(TokenTree::Ident(ident)) => ident.to_string(),
                    _ => String::new(),
                };
                out.push(Kind::Lifetime(format!("'{name}")), punct.span());
            }
            TokenTree::Punct(punct) => {
                let joint = punct.spacing() == Spacing::Joint;
                out.push(self::punct(punct.as_char(), joint), punct.span());
            }
        }
    }
    join(&mut out.tokens);
    let name = out.spans.first().map(proc_macro2::Span::file).unwrap_or_default();
    let is_bracket = out.tokens.iter().map(|t| matches!(t.kind, Kind::Open { .. } | Kind::Close(_))).collect();
    (out.tokens, Source { name, text: None, tokens: out.spans, is_bracket })
}

#[derive(Default)]
struct Flatten {
    tokens: Vec<Token>,
    spans: Vec<proc_macro2::Span>,
}

impl Flatten {
    fn push(&mut self, kind: Kind, span: proc_macro2::Span) {
        let index = self.tokens.len() as u32;
        let pos = |at: proc_macro2::LineColumn| Pos { line: at.line as u32, col: at.column as u32 };
        self.tokens.push(Token { kind, span: Span::token(pos(span.start()), pos(span.end()), index) });
        self.spans.push(span);
    }
}
