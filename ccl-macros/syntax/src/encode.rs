//! A module as bytes and back: what the macro leaves in the program so that it can be lowered at run time. The shape of
//! each node is derived from its declaration in `ast.rs`; here are the basic values, the envelope and the errors.
//!
//! ```text
//! "CCLA" version:u8 module fnv1a:u32le
//! ```
//! Numbers are LEB128. A name is written once and then by its number. A span is written relative to the one before it:
//! 0 where it is the same, else line difference, column, length.

use std::collections::HashMap;
use std::fmt;

use crate::ast::{Module, NodeId};
use crate::source::{Pos, Span};

/// Version of the format; changes with every change of a node.
pub const VERSION: u8 = 1;
const MAGIC: &[u8; 4] = b"CCLA";
/// Deepest nesting of enum nodes that is read. Each level of height has at most two, a generic argument and its type, and the
/// statement or item around them a few more.
const MAX_NESTING: u32 = 2 * crate::parse::MAX_HEIGHT + 50;

/// Encodes a module.
pub fn encode(module: &Module) -> Vec<u8> {
    let mut w = Writer { bytes: MAGIC.to_vec(), ..Writer::default() };
    w.byte(VERSION);
    module.write(&mut w);
    let sum = fnv1a(&w.bytes);
    w.bytes.extend(sum.to_le_bytes());
    w.bytes
}

/// Decodes a module, places included; nodes are numbered as the parser numbers them.
///
/// # Errors
/// [`DecodeError`] for anything that [`encode`] of this version does not write.
pub fn decode(bytes: &[u8]) -> Result<Module, DecodeError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(DecodeError::Magic)?;
    let (&version, _) = rest.split_first().ok_or(DecodeError::Truncated)?;
    if version != VERSION {
        return Err(DecodeError::Version { found: version });
    }
    let Some((content, sum)) = bytes.split_last_chunk::<4>() else { return Err(DecodeError::Truncated) };
    if content.len() <= MAGIC.len() {
        return Err(DecodeError::Truncated);
    }
    if fnv1a(content) != u32::from_le_bytes(*sum) {
        return Err(DecodeError::Checksum);
    }
    decode_content(&content[MAGIC.len() + 1..])
}

fn decode_content(content: &[u8]) -> Result<Module, DecodeError> {
    let mut r = Reader { bytes: content, strings: Vec::new(), last: Span::default(), nesting: 0 };
    let mut module = Module::read(&mut r)?;
    if !r.bytes.is_empty() {
        return Err(DecodeError::Trailing { len_bytes: r.bytes.len() });
    }
    module.renumber();
    Ok(module)
}

fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Why bytes are no module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Something else entirely.
    Magic,
    /// Another version of the format.
    Version {
        /// The version found.
        found: u8,
    },
    /// Damaged.
    Checksum,
    /// Ends too early.
    Truncated,
    /// A tag without a meaning.
    Tag {
        /// The node.
        node: &'static str,
        /// The tag.
        tag: u8,
    },
    /// A number that does not fit.
    Number,
    /// Text that is not UTF-8, or a name that was not written before.
    Text,
    /// Nested deeper than any parsed module.
    Nesting,
    /// Bytes behind the end.
    Trailing {
        /// How many.
        len_bytes: usize,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("encoded kernels: not made by `ccl!`"),
            Self::Version { found } => write!(
                f,
                "encoded kernels: format version {found}, expected {VERSION}\nhelp: build macro and runtime from one version of the workspace"
            ),
            Self::Checksum => f.write_str("encoded kernels: damaged, the checksum differs"),
            Self::Truncated => f.write_str("encoded kernels: end too early"),
            Self::Tag { node, tag } => write!(f, "encoded kernels: {node} has no variant {tag}"),
            Self::Number => f.write_str("encoded kernels: a number is too large"),
            Self::Text => f.write_str("encoded kernels: a name is damaged"),
            Self::Nesting => f.write_str("encoded kernels: nested too deep"),
            Self::Trailing { len_bytes } => write!(f, "encoded kernels: {len_bytes} bytes behind the end"),
        }
    }
}
impl std::error::Error for DecodeError {}

/// A value of the tree: how it is written, read and numbered.
pub trait Node: Sized {
    /// Appends it.
    fn write(&self, w: &mut Writer);
    /// Takes it from the front.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError>;
    /// Numbers the ids in it.
    fn number(&mut self, next: &mut u32);
}

/// Bytes under construction.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
    strings: HashMap<String, usize>,
    last: Span,
}

impl Writer {
    /// Appends a byte.
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }
    fn number(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }
    fn signed(&mut self, value: i64) {
        self.number(u128::from((value << 1 ^ value >> 63) as u64));
    }
}

/// Bytes being read.
pub struct Reader<'a> {
    bytes: &'a [u8],
    strings: Vec<String>,
    last: Span,
    nesting: u32,
}

impl Reader<'_> {
    /// Takes a byte.
    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        let (first, rest) = self.bytes.split_first().ok_or(DecodeError::Truncated)?;
        self.bytes = rest;
        Ok(*first)
    }
    /// Reads something that may hold its like.
    pub(crate) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(DecodeError::Nesting);
        }
        let value = read(self);
        self.nesting -= 1;
        value
    }
    fn number(&mut self) -> Result<u128, DecodeError> {
        let (mut value, mut shift) = (0u128, 0);
        loop {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if shift > 127 || bits << shift >> shift != bits {
                return Err(DecodeError::Number);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }
    fn small<T: TryFrom<u128>>(&mut self) -> Result<T, DecodeError> {
        self.number()?.try_into().map_err(|_| DecodeError::Number)
    }
    fn signed(&mut self) -> Result<i64, DecodeError> {
        let bits: u64 = self.small()?;
        Ok((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }
    fn line_or_col(&mut self, base: u32) -> Result<u32, DecodeError> {
        let value = i64::from(base).checked_add(self.signed()?).ok_or(DecodeError::Number)?;
        value.try_into().map_err(|_| DecodeError::Number)
    }
}

impl Node for bool {
    fn write(&self, w: &mut Writer) {
        w.byte(u8::from(*self));
    }
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match r.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            tag => Err(DecodeError::Tag { node: "bool", tag }),
        }
    }
    fn number(&mut self, _: &mut u32) {}
}

impl Node for u128 {
    fn write(&self, w: &mut Writer) {
        w.number(*self);
    }
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.number()
    }
    fn number(&mut self, _: &mut u32) {}
}

impl Node for String {
    fn write(&self, w: &mut Writer) {
        if let Some(known) = w.strings.get(self) {
            w.number(*known as u128 + 1);
            return;
        }
        w.strings.insert(self.clone(), w.strings.len());
        w.byte(0);
        w.number(self.len() as u128);
        w.bytes.extend(self.as_bytes());
    }
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let known: usize = r.small()?;
        if known > 0 {
            return r.strings.get(known - 1).cloned().ok_or(DecodeError::Text);
        }
        let len_bytes: usize = r.small()?;
        let (text, rest) = r.bytes.split_at_checked(len_bytes).ok_or(DecodeError::Truncated)?;
        r.bytes = rest;
        let text = str::from_utf8(text).map_err(|_| DecodeError::Text)?.to_owned();
        r.strings.push(text.clone());
        Ok(text)
    }
    fn number(&mut self, _: &mut u32) {}
}

impl Node for NodeId {
    fn write(&self, _: &mut Writer) {}
    fn read(_: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self::default())
    }
    fn number(&mut self, next: &mut u32) {
        self.0 = *next;
        *next += 1;
    }
}

impl Node for Span {
    fn write(&self, w: &mut Writer) {
        let last = std::mem::replace(&mut w.last, *self);
        if last.same_place(*self) {
            return w.byte(0);
        }
        let down = i64::from(self.start.line) - i64::from(last.start.line);
        // 0 is taken by "the same".
        w.number(u128::from((down << 1 ^ down >> 63) as u64) + 1);
        w.signed(i64::from(self.start.col) - i64::from(if down == 0 { last.start.col } else { 0 }));
        let lines = i64::from(self.end.line) - i64::from(self.start.line);
        let length = i64::from(self.end.col) - i64::from(if lines == 0 { self.start.col } else { 0 });
        if lines == 0 && length >= 0 {
            w.number((length as u128) << 1);
        } else {
            w.number((u128::from((lines << 1 ^ lines >> 63) as u64) << 1) | 1);
            w.signed(length);
        }
    }
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let down: u64 = match r.number()? {
            0 => return Ok(r.last),
            n => (n - 1).try_into().map_err(|_| DecodeError::Number)?,
        };
        let down = (down >> 1) as i64 ^ -((down & 1) as i64);
        let line = i64::from(r.last.start.line).checked_add(down).and_then(|line| line.try_into().ok());
        let line: u32 = line.ok_or(DecodeError::Number)?;
        let col = r.line_or_col(if down == 0 { r.last.start.col } else { 0 })?;
        let length: u64 = r.small()?;
        let end = if length & 1 == 0 {
            let col = u64::from(col).checked_add(length >> 1).and_then(|col| col.try_into().ok());
            Pos { line, col: col.ok_or(DecodeError::Number)? }
        } else {
            let lines = length >> 1;
            let lines = (lines >> 1) as i64 ^ -((lines & 1) as i64);
            let end_line = i64::from(line).checked_add(lines).and_then(|line| line.try_into().ok());
            Pos { line: end_line.ok_or(DecodeError::Number)?, col: r.line_or_col(if lines == 0 { col } else { 0 })? }
        };
        r.last = Self::at(Pos { line, col }, end);
        Ok(r.last)
    }
    fn number(&mut self, _: &mut u32) {}
}

impl<T: Node> Node for Box<T> {
    fn write(&self, w: &mut Writer) {
        (**self).write(w);
    }
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        T::read(r).map(Box::new)
    }
    fn number(&mut self, next: &mut u32) {
        (**self).number(next);
    }
}

impl<T: Node> Node for Option<T> {
    fn write(&self, w: &mut Writer) {
        self.is_some().write(w);
        if let Some(value) = self {
            value.write(w);
        }
    }
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(if bool::read(r)? { Some(T::read(r)?) } else { None })
    }
    fn number(&mut self, next: &mut u32) {
        if let Some(value) = self {
            value.number(next);
        }
    }
}

impl<T: Node> Node for Vec<T> {
    fn write(&self, w: &mut Writer) {
        w.number(self.len() as u128);
        for value in self {
            value.write(w);
        }
    }
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n: usize = r.small()?;
        // Every element takes a byte, so a length beyond the input is damage and reserves nothing.
        if n > r.bytes.len() {
            return Err(DecodeError::Truncated);
        }
        (0..n).map(|_| T::read(r)).collect()
    }
    fn number(&mut self, next: &mut u32) {
        for value in self {
            value.number(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Module {
        let text = "fn f<const N: usize>(x: i32) -> i32 {\n    let a = [x; 3];\n    if x < 3 { a[1] } else { -x }\n}";
        let mut diags = crate::Diags::default();
        let (module, _) = crate::parse_items("f.rs", text, &mut diags);
        assert!(diags.take().is_empty());
        module
    }

    #[test]
    fn keeps_places_and_numbers() {
        let module = sample();
        let decoded = decode(&encode(&module)).expect("decodes");
        assert_eq!(decoded, module);
        // Trees compare without places and numbers; their debug text has both.
        assert_eq!(format!("{decoded:?}"), format!("{module:?}"));
    }

    #[test]
    fn refuses_every_damaged_byte() {
        let bytes = encode(&sample());
        for i in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[i] ^= 0x10;
            assert!(decode(&damaged).is_err(), "byte {i}");
            assert!(decode(&bytes[..i]).is_err(), "length {i}");
        }
        assert_eq!(decode(b"CCLA\x09"), Err(DecodeError::Version { found: 9 }));
        assert_eq!(decode(b"MZ"), Err(DecodeError::Magic));
    }

    #[test]
    fn nesting_without_end_is_an_error() {
        let mut module = sample();
        let crate::ast::ItemKind::Fn(function) = &mut module.items[0].kind else { panic!("a function") };
        let tail = function.body.tail.take().expect("a value");
        let deep = (0..MAX_NESTING).fold(tail, |arg, _| {
            let kind = crate::ast::ExprKind::Unary { op: crate::ast::UnOp::Neg, arg };
            Box::new(crate::ast::Expr { id: NodeId::default(), kind, span: Span::default() })
        });
        function.body.tail = Some(deep);
        assert_eq!(decode(&encode(&module)), Err(DecodeError::Nesting));
    }

    #[test]
    fn damage_that_the_checksum_misses_never_panics() {
        let bytes = encode(&sample());
        let content = &bytes[5..bytes.len() - 4];
        for i in 0..content.len() {
            for byte in 0..=255 {
                let mut damaged = content.to_vec();
                damaged[i] = byte;
                if let Ok(module) = decode_content(&damaged) {
                    assert_eq!(decode(&encode(&module)).as_ref(), Ok(&module));
                }
            }
        }
    }
}
