//! Literals: numbers to values, strings to their text.

use crate::ast::{Base, IntTy, Lit};
use crate::code::Code;
use crate::parse::{Failed, Parsed, Parser};
use crate::subset::Refused;

impl Parser<'_> {
    /// The literal at the cursor, whose text is `text`.
    pub(super) fn literal(&mut self, text: &str) -> Parsed<Lit> {
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            let is_string = text.contains('"');
            return Err(self.refuse(if is_string { Refused::Str } else { Refused::Char }));
        }
        match number(text) {
            Ok(Lit::Float(_)) if !self.in_fx => Err(self.refuse(Refused::FloatLit)),
            Ok(lit) => {
                self.bump();
                Ok(lit)
            }
            Err(reason) => {
                self.diags.error(Code::BadToken, self.span(), format!("`{text}`: {reason}"));
                Err(Failed)
            }
        }
    }

    /// A string literal.
    pub(super) fn string(&mut self, what: &str) -> Parsed<String> {
        use crate::parse::token::Kind;
        let text = match self.peek() {
            Some(Kind::Literal(text)) => unquote(text),
            _ => None,
        };
        match text {
            Some(text) => {
                self.bump();
                Ok(text)
            }
            None => Err(self.expected(what)),
        }
    }
}

/// Value of a number's text.
pub(super) fn number(text: &str) -> Result<Lit, String> {
    let text = text.replace('_', "");
    let base = *Base::ALL[1..].iter().find(|base| text.starts_with(base.word())).unwrap_or(&Base::Dec);
    let digits = &text[base.word().len()..];
    let radix = match base {
        Base::Dec => 10,
        Base::Hex => 16,
        Base::Oct => 8,
        Base::Bin => 2,
    };
    if base == Base::Dec && digits.contains(['.', 'e', 'E']) && !digits.contains(['i', 'u']) {
        let is_plain =
            digits.chars().all(|c| c.is_ascii_digit() || ".eE+-".contains(c)) && digits.parse::<f64>().is_ok();
        // A float with a suffix is a float type, which is refused like one.
        let has_suffix = digits.ends_with("f32") || digits.ends_with("f64");
        // `1.` is `1.0`: behind a point alone nothing else could stand.
        let text = if text.ends_with('.') { format!("{text}0") } else { text };
        return if is_plain || has_suffix { Ok(Lit::Float(text)) } else { Err("not a number".into()) };
    }
    if base == Base::Dec && (digits.ends_with("f32") || digits.ends_with("f64")) {
        return Ok(Lit::Float(text));
    }
    let n_digits = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(n_digits);
    let suffix = match suffix {
        "" => None,
        name => Some(IntTy::parse(name).ok_or_else(|| format!("`{name}` is no digit and no integer type"))?),
    };
    if digits.is_empty() {
        return Err("there are no digits".into());
    }
    let value = u128::from_str_radix(digits, radix).ok().filter(|v| *v <= i128::MAX as u128);
    let value = value.ok_or("larger than any integer type")?;
    Ok(Lit::Int { value, base, suffix })
}

/// Text of a plain or raw string literal.
fn unquote(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        let raw = raw.trim_start_matches('#');
        return Some(raw.trim_end_matches('#').strip_prefix('"')?.strip_suffix('"')?.to_owned());
    }
    let mut chars = literal.strip_prefix('"')?.strip_suffix('"')?.chars().peekable();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next()? {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            '0' => text.push('\0'),
            'x' => {
                let digits: String = chars.by_ref().take(2).collect();
                text.push(char::from(u8::from_str_radix(&digits, 16).ok()?));
            }
            'u' => {
                let digits: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                text.push(char::from_u32(u32::from_str_radix(&digits.replace('_', ""), 16).ok()?)?);
            }
            '\n' => while chars.next_if(|c| c.is_whitespace()).is_some() {},
            c => text.push(c),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers() {
        let int = |value, base, suffix| Ok(Lit::Int { value, base, suffix });
        assert_eq!(number("1_000"), int(1000, Base::Dec, None));
        assert_eq!(number("0xffu8"), int(255, Base::Hex, Some(IntTy::U8)));
        assert_eq!(number("0b101i32"), int(5, Base::Bin, Some(IntTy::I32)));
        assert_eq!(number("0x1e8"), int(0x1e8, Base::Hex, None));
        assert_eq!(number("1.5e-3"), Ok(Lit::Float("1.5e-3".into())));
        for bad in ["0b12", "1q", "0x", "1.2.3", "340282366920938463463374607431768211456", "12i7"] {
            assert!(number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn reads_strings() {
        assert_eq!(unquote(r#""a\n\"\u{e9}\x41""#).as_deref(), Some("a\n\"é A".replace(' ', "").as_str()));
        assert_eq!(unquote(r##"r#"a"b"#"##).as_deref(), Some("a\"b"));
        assert_eq!(unquote("b\"a\""), None);
    }
}
