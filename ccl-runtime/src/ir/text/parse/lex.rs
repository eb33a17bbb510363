//! Words, numbers and marks of a text, with their places.

use super::{ParseError, Result};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tok {
    Word(String),
    /// `%name`; the flag says that `!` stands directly behind.
    Value(String, bool),
    /// `@name`.
    Global(String),
    Number(i64),
    Text(String),
    Punct(&'static str),
    End,
}

impl std::fmt::Display for Tok {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tok::Word(w) => write!(f, "`{w}`"),
            Tok::Value(v, _) => write!(f, "`%{v}`"),
            Tok::Global(v) => write!(f, "`@{v}`"),
            Tok::Number(n) => write!(f, "`{n}`"),
            Tok::Text(_) => write!(f, "a string"),
            Tok::Punct(p) => write!(f, "`{p}`"),
            Tok::End => write!(f, "the end of the text"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) line: u32,
    pub(super) col: u32,
}

pub(super) fn lex(text: &str) -> Result<Vec<(Tok, At)>> {
    const PUNCT: [&str; 18] =
        ["->", "..", "=", ",", "(", ")", "{", "}", "[", "]", "<", ">", "*", ":", "+", "!", "@", "-"];
    let mut toks = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let chars: Vec<char> = line.chars().collect();
        let mut i = 0;
        let is_name = |i: usize| {
            let c = chars.get(i).copied().unwrap_or(' ');
            let next = chars.get(i + 1).copied().unwrap_or(' ');
            c.is_ascii_alphanumeric() || c == '_' || (c == '.' && (next.is_ascii_alphanumeric() || next == '_'))
        };
        while i < chars.len() {
            let at = At { line: n as u32 + 1, col: i as u32 + 1 };
            let start = i;
            let c = chars[i];
            if c.is_whitespace() {
                i += 1;
                continue;
            }
            if c == ';' {
                break;
            }
            let name_from = |from: usize| {
                let mut end = from;
                while is_name(end) {
                    end += 1;
                }
                (chars[from..end].iter().collect::<String>(), end)
            };
            let next_digit = chars.get(i + 1).is_some_and(char::is_ascii_digit);
            let tok = if c == '%' && is_name(i + 1) {
                let (name, end) = name_from(i + 1);
                i = end;
                let bang = chars.get(end) == Some(&'!');
                i += usize::from(bang);
                Tok::Value(name, bang)
            } else if c == '@' && is_name(i + 1) {
                let (name, end) = name_from(i + 1);
                i = end;
                Tok::Global(name)
            } else if c.is_ascii_digit() || (c == '-' && next_digit) {
                i += 1;
                while chars.get(i).is_some_and(char::is_ascii_digit) {
                    i += 1;
                }
                let digits: String = chars[start..i].iter().collect();
                Tok::Number(digits.parse().map_err(|_| ParseError {
                    line: at.line,
                    col: at.col,
                    found: format!("`{digits}`"),
                    expected: "a number of 64 bits".into(),
                })?)
            } else if c.is_ascii_alphabetic() || c == '_' {
                let (name, end) = name_from(i);
                i = end;
                Tok::Word(name)
            } else if c == '"' {
                let mut text = String::new();
                i += 1;
                loop {
                    match (chars.get(i), chars.get(i + 1)) {
                        (Some('"'), _) => break,
                        (Some('\\'), Some('n')) => {
                            text.push('\n');
                            i += 2;
                        }
                        (Some('\\'), Some(c)) => {
                            text.push(*c);
                            i += 2;
                        }
                        (Some(c), _) => {
                            text.push(*c);
                            i += 1;
                        }
                        (None, _) => {
                            return Err(ParseError {
                                line: at.line,
                                col: at.col,
                                found: "a string without end".into(),
                                expected: "`\"` on the same line".into(),
                            });
                        }
                    }
                }
                i += 1;
                Tok::Text(text)
            } else {
                let found = PUNCT.iter().find(|p| p.chars().enumerate().all(|(k, pc)| chars.get(i + k) == Some(&pc)));
                let Some(p) = found else {
                    return Err(ParseError {
                        line: at.line,
                        col: at.col,
                        found: format!("`{c}`"),
                        expected: "a name, a number, a string or punctuation".into(),
                    });
                };
                i += p.len();
                Tok::Punct(p)
            };
            toks.push((tok, at));
        }
    }
    let line = text.lines().count().max(1) as u32;
    toks.push((Tok::End, At { line, col: text.lines().last().map_or(1, |l| l.chars().count() as u32 + 1) }));
    Ok(toks)
}
