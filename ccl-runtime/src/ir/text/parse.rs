//! Parsing. Never panics; the first error ends it, with line, column, what stood there and what was expected.

use std::collections::HashMap;

use iss::image::Direction;
use iss::isa::operand::{Cond, Dir, MacShape};

use crate::ir::types::*;

/// Blocks inside blocks, at most.
const MAX_DEPTH: usize = 64;
/// Instances of a ring, accumulators, trips and the like stay below this.
const MAX_COUNT: i64 = 1 << 30;

/// Why a text is no module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{col}: found {found}, expected {expected}")]
pub struct ParseError {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub col: u32,
    /// What stood there.
    pub found: String,
    /// What could have.
    pub expected: String,
}

type Result<T> = std::result::Result<T, ParseError>;

#[derive(Clone, Debug, PartialEq)]
enum Tok {
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
struct At {
    line: u32,
    col: u32,
}

fn lex(text: &str) -> Result<Vec<(Tok, At)>> {
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

impl Module {
    /// Reads the text of a module.
    ///
    /// # Errors
    /// The first place that does not fit, and what was expected there.
    pub fn parse(text: &str) -> std::result::Result<Module, ParseError> {
        let mut p = Parser { toks: lex(text)?, at: 0, func: empty_func(), names: HashMap::new() };
        p.module()
    }
}

fn empty_func() -> Func {
    Func {
        name: String::new(),
        kind: FuncKind::Fn,
        params: Vec::new(),
        values: Vec::new(),
        body: Vec::new(),
        loc: Loc::default(),
    }
}

struct Parser {
    toks: Vec<(Tok, At)>,
    at: usize,
    func: Func,
    names: HashMap<String, Id>,
}

fn cond_of(word: &str) -> Option<Cond> {
    Cond::ALL.iter().copied().find(|c| c.word() == word)
}

impl Parser {
    // ---- tokens ----

    fn peek(&self) -> &Tok {
        &self.toks[self.at].0
    }
    fn place(&self) -> At {
        self.toks[self.at].1
    }
    fn next(&mut self) -> Tok {
        let tok = self.toks[self.at].0.clone();
        if self.at + 1 < self.toks.len() {
            self.at += 1;
        }
        tok
    }
    fn fail<T>(&self, expected: impl Into<String>) -> Result<T> {
        let At { line, col } = self.place();
        Err(ParseError { line, col, found: self.peek().to_string(), expected: expected.into() })
    }
    fn fail_at<T>(&self, at: At, found: impl Into<String>, expected: impl Into<String>) -> Result<T> {
        Err(ParseError { line: at.line, col: at.col, found: found.into(), expected: expected.into() })
    }
    fn is(&self, p: &'static str) -> bool {
        matches!(self.peek(), Tok::Punct(q) if *q == p)
    }
    fn eat(&mut self, p: &'static str) -> bool {
        let there = self.is(p);
        if there {
            self.next();
        }
        there
    }
    fn expect(&mut self, p: &'static str) -> Result<()> {
        if self.eat(p) { Ok(()) } else { self.fail(format!("`{p}`")) }
    }
    fn eat_word(&mut self, word: &str) -> bool {
        let there = matches!(self.peek(), Tok::Word(w) if w == word);
        if there {
            self.next();
        }
        there
    }
    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.fail(format!("`{word}`")) }
    }
    fn number(&mut self, min: i64, max: i64) -> Result<i64> {
        match *self.peek() {
            Tok::Number(n) if (min..=max).contains(&n) => {
                self.next();
                Ok(n)
            }
            _ => self.fail(format!("a number {min}..={max}")),
        }
    }
    fn int(&mut self) -> Result<i32> {
        self.number(i32::MIN as i64, i32::MAX as i64).map(|n| n as i32)
    }
    fn count(&mut self) -> Result<u32> {
        self.number(0, MAX_COUNT).map(|n| n as u32)
    }
    fn text(&mut self) -> Result<String> {
        match self.peek().clone() {
            Tok::Text(t) => {
                self.next();
                Ok(t)
            }
            _ => self.fail("a string"),
        }
    }
    fn global(&mut self) -> Result<String> {
        match self.peek().clone() {
            Tok::Global(t) => {
                self.next();
                Ok(t)
            }
            _ => self.fail("`@name`"),
        }
    }

    // ---- module ----

    fn module(&mut self) -> Result<Module> {
        let mut m = Module { files: vec![String::new()], ..Module::default() };
        loop {
            let at = self.place();
            match self.peek().clone() {
                Tok::End => {
                    m.size_consts();
                    return Ok(m);
                }
                Tok::Word(w) if w == "file" => {
                    self.next();
                    let i = self.number(0, 4096)? as usize;
                    let name = self.text()?;
                    if m.files.len() <= i {
                        m.files.resize(i + 1, String::new());
                    }
                    m.files[i] = name;
                }
                Tok::Word(w) if w == "const" => {
                    self.next();
                    let name = self.global()?;
                    self.expect("=")?;
                    self.expect_word("hex")?;
                    let at = self.place();
                    let digits = self.text()?;
                    let hex = |pair: &[u8]| {
                        Some(char::from(pair[0]).to_digit(16)? * 16 + char::from(*pair.get(1)?).to_digit(16)?)
                    };
                    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(|p| hex(p).map(|b| b as u8)).collect();
                    match bytes {
                        Some(bytes) => m.consts.push(Const { name, bytes }),
                        None => return self.fail_at(at, "a string", "pairs of hexadecimal digits"),
                    }
                }
                Tok::Word(w) if w == "kernel" || w == "fn" => {
                    self.next();
                    let kind = if w == "kernel" { FuncKind::Kernel } else { FuncKind::Fn };
                    self.func(kind, at)?;
                    m.funcs.push(std::mem::replace(&mut self.func, empty_func()));
                }
                _ => return self.fail("`kernel`, `fn`, `const` or `file`"),
            }
        }
    }

    fn func(&mut self, kind: FuncKind, at: At) -> Result<()> {
        self.names.clear();
        self.func = Func { kind, name: self.global()?, ..empty_func() };
        self.expect("(")?;
        while !self.is(")") {
            if !self.func.params.is_empty() {
                self.expect(",")?;
            }
            self.param()?;
        }
        self.expect(")")?;
        self.expect("{")?;
        self.func.loc = self.loc(at)?;
        self.func.body = self.block(0)?;
        Ok(())
    }

    fn param(&mut self) -> Result<()> {
        let name = self.new_name()?;
        self.expect(":")?;
        let dir = match self.peek() {
            Tok::Word(w) if w == "s32" => None,
            Tok::Word(w) => Direction::ALL.into_iter().find(|d| d.word() == w),
            _ => None,
        };
        let (ty, dir, range) = if self.eat_word("s32") {
            let range = if self.eat_word("in") {
                let lo = self.int()?;
                self.expect("..")?;
                self.expect("=")?;
                Some((lo, self.number(lo as i64, i32::MAX as i64)? as i32))
            } else {
                None
            };
            (Type::Scalar, Direction::In, range)
        } else if let Some(dir) = dir {
            self.next();
            let ocm = self.eat_word("ocm");
            if !ocm && !self.eat_word("ext") {
                return self.fail("`ocm<bytes>` or `ext<bytes>`");
            }
            self.expect("<")?;
            let n = self.count()?;
            self.expect(">")?;
            (if ocm { Type::Ocm(n) } else { Type::Ext(n) }, dir, None)
        } else {
            return self.fail("`in`, `out`, `inout` or `s32`");
        };
        let id = self.define(name, ty);
        self.func.params.push(Param { id, dir, range });
        Ok(())
    }

    fn loc(&mut self, at: At) -> Result<Loc> {
        if !self.eat("!") {
            return Ok(Loc { file: 0, line: at.line });
        }
        let file = match self.peek().clone() {
            Tok::Word(w) => match w.strip_prefix('f').and_then(|n| n.parse::<u16>().ok()) {
                Some(file) => {
                    self.next();
                    self.expect(":")?;
                    file as u32
                }
                None => return self.fail("a line, or `fN:line`"),
            },
            _ => 0,
        };
        Ok(Loc { file, line: self.number(0, u32::MAX as i64)? as u32 })
    }

    fn block(&mut self, depth: usize) -> Result<Block> {
        if depth > MAX_DEPTH {
            return self.fail(format!("at most {MAX_DEPTH} blocks inside one another"));
        }
        let mut block = Vec::new();
        while !self.eat("}") {
            let at = self.place();
            let op = self.op(at, depth)?;
            block.push(op);
        }
        Ok(block)
    }

    // ---- names ----

    fn new_name(&mut self) -> Result<String> {
        match self.peek().clone() {
            Tok::Value(name, false) => {
                let tail = name.rsplit_once('.').map(|(_, tail)| tail);
                if tail.is_some_and(|t| !t.starts_with(|c: char| c.is_ascii_digit())) {
                    return self.fail("a name without a view behind it");
                }
                if self.names.contains_key(&name) {
                    return self.fail("a name that is not taken");
                }
                self.next();
                Ok(name)
            }
            _ => self.fail("a new `%name`"),
        }
    }
    fn define(&mut self, name: String, ty: Type) -> Id {
        let id = Id(self.func.values.len() as u32);
        self.names.insert(name.clone(), id);
        self.func.values.push(Value { name, ty });
        id
    }
    /// A value's name, and the view behind it if the whole is no name.
    fn name(&mut self) -> Result<(Id, Option<String>, bool)> {
        if let Tok::Value(full, bang) = self.peek().clone() {
            if let Some(id) = self.names.get(&full) {
                let id = *id;
                self.next();
                return Ok((id, None, bang));
            }
            if let Some((base, view)) = full.rsplit_once('.')
                && let Some(id) = self.names.get(base)
            {
                let id = *id;
                self.next();
                return Ok((id, Some(view.to_owned()), bang));
            }
            return self.fail("a value defined above");
        }
        self.fail("a value")
    }
    /// A value of certain types.
    fn id(&mut self, expected: &str, ok: fn(Type) -> bool) -> Result<Id> {
        let before = self.at;
        let (id, view, bang) = self.name()?;
        if view.is_some() || bang || !ok(self.func.ty(id)) {
            self.at = before;
            return self.fail(expected);
        }
        Ok(id)
    }
    fn flow_id(&mut self) -> Result<Id> {
        self.id("a flow", |t| t == Type::Flow)
    }
    fn buffer(&mut self, expected: &str, ok: fn(Type) -> bool) -> Result<(Id, SVal)> {
        let buf = self.id(expected, ok)?;
        self.expect("[")?;
        let at = self.sval()?;
        self.expect("]")?;
        Ok((buf, at))
    }

    // ---- operands ----

    fn sval(&mut self) -> Result<SVal> {
        if let Tok::Number(_) = self.peek() {
            return self.int().map(SVal::Imm);
        }
        self.id("a scalar or a number", |t| matches!(t, Type::Scalar | Type::ScalarVar)).map(SVal::Val)
    }

    fn elem_behind(&mut self, buf: Id, view: Option<String>, at: At) -> Result<ElemRef> {
        let Type::Lrm { elem, .. } = self.func.ty(buf) else {
            return self.fail_at(at, format!("`%{}`", self.func.name_of(buf)), "a local buffer");
        };
        let view = match view.as_deref() {
            None => elem,
            Some("b") => Elem::I8,
            Some("h") => Elem::I16,
            Some("w") => Elem::I32,
            Some(v) => return self.fail_at(at, format!("view `.{v}`"), "`.b`, `.h` or `.w`"),
        };
        self.expect("[")?;
        let (index, at) = if let Tok::Number(_) = self.peek() {
            (Index::Const, self.int()?)
        } else {
            let index = if self.eat("@") {
                Index::Addr(self.id("a base register", |t| t == Type::Addr)?)
            } else {
                let id = self.id("an index", |t| matches!(t, Type::Scalar | Type::ScalarVar))?;
                let scale = if self.eat("*") { self.int()? } else { 1 };
                Index::Scalar(id, scale)
            };
            let at = if self.eat("+") {
                self.number(0, i32::MAX as i64)? as i32
            } else if matches!(self.peek(), Tok::Number(n) if *n < 0) {
                self.int()?
            } else {
                0
            };
            (index, at)
        };
        self.expect("]")?;
        Ok(ElemRef { buf, view, index, at })
    }
    fn elem(&mut self) -> Result<ElemRef> {
        let at = self.place();
        let (buf, view, bang) = self.name()?;
        if bang {
            return self.fail_at(at, "`!`", "`[`");
        }
        self.elem_behind(buf, view, at)
    }
    fn acc_index(&mut self) -> Result<u8> {
        self.expect("[")?;
        let k = self.number(0, 15)? as u8;
        self.expect("]")?;
        Ok(k)
    }

    fn src(&mut self) -> Result<Src> {
        let at = self.place();
        match self.peek().clone() {
            Tok::Number(_) => return self.int().map(Src::Imm),
            Tok::Word(w) => {
                let src = match w.as_str() {
                    "q_row" => Src::QRow,
                    "q_col" => Src::QCol,
                    w => match w
                        .strip_prefix("port.")
                        .and_then(|l| Dir::ALL.iter().find(|d| d.letter().to_string() == l))
                    {
                        Some(dir) => Src::Port(*dir),
                        None => return self.fail("a source"),
                    },
                };
                self.next();
                return Ok(src);
            }
            _ => {}
        }
        let (id, view, bang) = self.name()?;
        match (self.func.ty(id), view) {
            (Type::Scalar | Type::ScalarVar | Type::Q(_) | Type::Var(_), None) if !bang => Ok(Src::Val(id)),
            (Type::Acc(_), None) if !bang => Ok(Src::Acc(id, self.acc_index()?)),
            (Type::Lrm { .. }, view) if !bang => self.elem_behind(id, view, at).map(Src::Elem),
            (Type::Stream, None) if !bang => Ok(Src::Stream { stream: id, view: Elem::I32, lane: 0, pop: true }),
            (Type::Stream, Some(view)) => {
                let (view, lane) = match view.as_str() {
                    "b0" | "b1" | "b2" | "b3" => (Elem::I8, view.as_bytes()[1] - b'0'),
                    "h0" | "h1" => (Elem::I16, view.as_bytes()[1] - b'0'),
                    _ => return self.fail_at(at, format!("lane `.{view}`"), "`.b0`..`.b3`, `.h0` or `.h1`"),
                };
                Ok(Src::Stream { stream: id, view, lane, pop: bang })
            }
            _ => self.fail_at(at, format!("`%{}`", self.func.name_of(id)), "a source"),
        }
    }

    fn comma_src(&mut self) -> Result<Src> {
        self.expect(",")?;
        self.src()
    }
    fn comma_sval(&mut self) -> Result<SVal> {
        self.expect(",")?;
        self.sval()
    }
    fn comma_number(&mut self, min: i64, max: i64) -> Result<i64> {
        self.expect(",")?;
        self.number(min, max)
    }

    // ---- operations ----

    fn op(&mut self, at: At, depth: usize) -> Result<Op> {
        let kind = match self.peek().clone() {
            Tok::Word(w) if w == "set" => {
                self.next();
                let place = self.place();
                let id = self.id("a variable or flow", |t| matches!(t, Type::Var(_) | Type::ScalarVar | Type::Flow))?;
                self.expect("=")?;
                match self.func.ty(id) {
                    Type::ScalarVar => self.scalar_value(Place::ScalarVar(id), place)?,
                    Type::Flow => self.restart(id)?,
                    _ => self.array_value(Place::Dst(Dst::Var(id)), place)?,
                }
            }
            Tok::Word(w) => {
                self.next();
                return self.statement(&w, at, depth);
            }
            Tok::Value(name, _) => {
                let base = name.rsplit_once('.').map(|(b, _)| b.to_owned());
                let known = self.names.contains_key(&name)
                    || base
                        .is_some_and(|b| self.names.contains_key(&b) && !name.ends_with(|c: char| c.is_ascii_digit()));
                if known {
                    let place = self.place();
                    let (id, view, _) = self.name()?;
                    let dst = match self.func.ty(id) {
                        Type::Acc(_) if view.is_none() => Dst::Acc(id, self.acc_index()?),
                        Type::Lrm { .. } => Dst::Elem(self.elem_behind(id, view, place)?),
                        _ => {
                            return self.fail_at(
                                place,
                                format!("`%{name}`"),
                                "a new name, an element or `set` before a variable",
                            );
                        }
                    };
                    self.expect("=")?;
                    self.array_value(Place::Dst(dst), place)?
                } else {
                    self.definition()?
                }
            }
            _ => return self.fail("an operation or `}`"),
        };
        Ok(Op { kind, loc: self.loc(at)? })
    }

    fn definition(&mut self) -> Result<OpKind> {
        let place = self.place();
        let name = self.new_name()?;
        let fmt = if self.eat(":") {
            let fmt = match self.peek() {
                Tok::Word(w) => Fmt::ALL.into_iter().find(|f| f.word() == w),
                _ => None,
            };
            match fmt {
                Some(fmt) => {
                    self.next();
                    Some(fmt)
                }
                None => return self.fail("`bool`, `i8`, `i16` or `i32`"),
            }
        } else {
            None
        };
        self.expect("=")?;
        let Tok::Word(word) = self.peek().clone() else { return self.fail("an operation") };
        if let Some(fmt) = fmt {
            if word == "var" {
                self.next();
                let init = self.src()?;
                return Ok(OpKind::Var { dst: self.define(name, Type::Var(fmt)), init });
            }
            return self.array_value(Place::New(name, fmt), place);
        }
        if word.starts_with("s.") && !matches!(word.as_str(), "s.var" | "s.load") {
            return self.scalar_value(Place::NewScalar(name), place);
        }
        let before = self.at;
        self.next();
        Ok(match word.as_str() {
            "s.var" => {
                let init = self.sval()?;
                OpKind::ScalarVar { dst: self.define(name, Type::ScalarVar), init }
            }
            "s.load" => {
                let (buf, at) = self.buffer("an on-chip buffer", |t| matches!(t, Type::Ocm(_)))?;
                OpKind::ScalarLoad { dst: self.define(name, Type::Scalar), buf, at }
            }
            "var" => {
                let init = self.src()?;
                OpKind::Var { dst: self.define(name, Type::Var(Fmt::I32)), init }
            }
            "acc" => {
                let at = self.place();
                let n = self.number(1, 16)?;
                if ![1, 4, 16].contains(&n) {
                    return self.fail_at(at, format!("`{n}`"), "1, 4 or 16");
                }
                OpKind::Acc { dst: self.define(name, Type::Acc(n as u8)) }
            }
            "const" => {
                let constant = self.global()?;
                // The constant may stand below: sizes are set at the end.
                OpKind::Const { dst: self.define(name, Type::Ext(0)), name: constant }
            }
            "lrm" => {
                self.expect("<")?;
                let elem = match self.peek() {
                    Tok::Word(w) => Elem::ALL.into_iter().find(|e| e.word() == w),
                    _ => None,
                };
                let Some(elem) = elem else { return self.fail("`i8`, `i16` or `i32`") };
                self.next();
                self.expect_word("x")?;
                let n = self.count()?;
                self.expect(">")?;
                let ring = if self.eat_word("ring") { self.number(2, 4096)? as u32 } else { 1 };
                let align = if self.eat_word("align") { self.number(2, 4096)? as u32 } else { 1 };
                OpKind::Lrm { dst: self.define(name, Type::Lrm { elem, n, ring }), align }
            }
            "ocm" => {
                self.expect("<")?;
                let n = self.count()?;
                self.expect(">")?;
                OpKind::Ocm { dst: self.define(name, Type::Ocm(n)) }
            }
            "addr" => {
                let (buf, at) = self.buffer("a local buffer", |t| matches!(t, Type::Lrm { .. }))?;
                OpKind::Addr { dst: self.define(name, Type::Addr), buf, at }
            }
            "flow.in" | "flow.out" => {
                let out = word == "flow.out";
                let walk = Box::new(self.walk(out)?);
                OpKind::Flow { out, dst: self.define(name, Type::Flow), walk }
            }
            "flow.idle" => OpKind::Idle { dst: self.define(name, Type::Flow) },
            "bcast" => {
                let (buf, at) = self.buffer("an on-chip buffer", |t| matches!(t, Type::Ocm(_)))?;
                let (n0, step0) = self.stride()?;
                let (n1, step1) = if self.is("(") { self.stride()? } else { (1, 0) };
                OpKind::Bcast { dst: self.define(name, Type::Stream), buf, at, n0, step0, n1, step1 }
            }
            "dma.in" | "dma.out" => {
                let out = word == "dma.out";
                let first = self.buffer(
                    if out { "an on-chip buffer" } else { "an external buffer" },
                    if out { |t| matches!(t, Type::Ocm(_)) } else { |t| matches!(t, Type::Ext(_)) },
                )?;
                self.expect("->")?;
                let second = self.buffer(
                    if out { "an external buffer" } else { "an on-chip buffer" },
                    if out { |t| matches!(t, Type::Ext(_)) } else { |t| matches!(t, Type::Ocm(_)) },
                )?;
                self.expect_word("bytes")?;
                let bytes = self.count()?;
                let (mut rows, mut ocm_pitch, mut ext_pitch) = (1, 0, 0);
                if self.eat_word("rows") {
                    rows = self.count()?;
                    self.expect_word("pitch")?;
                    ocm_pitch = self.count()?;
                    self.expect(",")?;
                    ext_pitch = self.count()?;
                }
                let ((ocm, ocm_at), (ext, ext_at)) = if out { (first, second) } else { (second, first) };
                let dst = self.define(name, Type::Token);
                OpKind::Dma { out, dst, ocm, ocm_at, ocm_pitch, ext, ext_at, ext_pitch, bytes, rows }
            }
            "rau.load" | "rau.store" => {
                let store = word == "rau.store";
                let (buf, at) = self.buffer("an on-chip buffer", |t| matches!(t, Type::Ocm(_)))?;
                let elem = self.elem_bytes()?;
                self.expect_word("limit")?;
                let limit = self.count()?;
                self.expect_word("idx")?;
                let index = self.elem()?;
                self.expect_word("data")?;
                let data = self.elem()?;
                let valid = if self.eat_word("valid") { Some(self.elem()?) } else { None };
                OpKind::Rau { store, dst: self.define(name, Type::Token), buf, at, elem, limit, index, data, valid }
            }
            w => {
                if let Some(cond) = w.strip_prefix("any.").and_then(cond_of) {
                    let a = self.src()?;
                    let b = self.comma_src()?;
                    OpKind::Any { dst: self.define(name, Type::Scalar), cond, a, b }
                } else {
                    self.at = before;
                    self.array_value(Place::New(name, Fmt::I32), place)?
                }
            }
        })
    }

    fn restart(&mut self, flow: Id) -> Result<OpKind> {
        let out = self.eat_word("flow.out");
        if !out {
            self.expect_word("flow.in")?;
        }
        Ok(OpKind::Restart { out, flow, walk: Box::new(self.walk(out)?) })
    }

    fn stride(&mut self) -> Result<(u32, i32)> {
        self.expect("(")?;
        let n = self.count()?;
        self.expect(":")?;
        let step = self.int()?;
        self.expect(")")?;
        Ok((n, step))
    }

    fn elem_bytes(&mut self) -> Result<Elem> {
        self.expect_word("elem")?;
        let at = self.place();
        let n = self.number(1, 4)?;
        match Elem::of_bytes(n as u32) {
            Some(elem) => Ok(elem),
            None => self.fail_at(at, format!("`{n}`"), "1, 2 or 4"),
        }
    }

    /// `64x128`: lexed as a number and a word, or as one word.
    fn extent(&mut self) -> Result<(u32, u32)> {
        let a = self.count()?;
        match self.peek().clone() {
            Tok::Word(w) => {
                match w.strip_prefix('x').and_then(|n| n.parse::<u32>().ok()).filter(|n| *n as i64 <= MAX_COUNT) {
                    Some(b) => {
                        self.next();
                        Ok((a, b))
                    }
                    None => self.fail("`x` and a number"),
                }
            }
            _ => self.fail("`x` and a number"),
        }
    }

    fn walk(&mut self, out: bool) -> Result<Walk> {
        let lrm_side = |p: &mut Self| -> Result<(Id, u32)> {
            let lrm = p.id("a local buffer", |t| matches!(t, Type::Lrm { .. }))?;
            p.expect("[")?;
            let slot = p.count()?;
            p.expect("]")?;
            Ok((lrm, slot))
        };
        let ocm_side = |p: &mut Self| p.buffer("an on-chip buffer", |t| matches!(t, Type::Ocm(_)));
        let mut second = None;
        let ((lrm, slot), (buf, at)) = if out {
            let inside = lrm_side(self)?;
            self.expect("->")?;
            (inside, ocm_side(self)?)
        } else {
            let outside = ocm_side(self)?;
            if self.eat_word("and") {
                second = Some(ocm_side(self)?);
            }
            self.expect("->")?;
            (lrm_side(self)?, outside)
        };
        let elem = self.elem_bytes()?;
        self.expect_word("size")?;
        let (height, width) = self.extent()?;
        self.expect_word("pitch")?;
        let pitch = self.count()?;
        let plane = if self.eat_word("plane") { self.count()? } else { 0 };
        self.expect_word("tile")?;
        let (rows, cols) = self.extent()?;
        let (mut x0, mut y0) = (SVal::Imm(0), SVal::Imm(0));
        if self.eat_word("at") {
            self.expect("(")?;
            x0 = self.sval()?;
            y0 = self.comma_sval()?;
            self.expect(")")?;
        }
        let (mut col_step, mut row_step) = (1, 1);
        if self.eat_word("step") {
            self.expect("(")?;
            col_step = self.count()?;
            self.expect(",")?;
            row_step = self.count()?;
            self.expect(")")?;
        }
        let halo = if self.eat_word("halo") { self.count()? } else { 0 };
        let mut loops = Vec::new();
        while self.is("(") {
            if loops.len() == 4 {
                return self.fail("at most four loops of a walk");
            }
            self.next();
            let n = self.count()?;
            self.expect(":")?;
            let dx = self.int()?;
            self.expect(",")?;
            let dy = self.int()?;
            self.expect(",")?;
            let dp = self.int()?;
            self.expect(")")?;
            loops.push(WalkLoop { n, dx, dy, dp });
        }
        let slot_step = if self.eat_word("slot") { self.count()? } else { 0 };
        let group = if self.eat_word("group") { self.count()? } else { 0 };
        Ok(Walk {
            buf,
            at,
            second,
            elem,
            height,
            width,
            pitch,
            plane,
            x0,
            y0,
            col_step,
            row_step,
            rows,
            cols,
            halo,
            loops,
            lrm,
            slot,
            slot_step,
            group,
        })
    }

    fn scalar_value(&mut self, place: Place, at: At) -> Result<OpKind> {
        let Tok::Word(word) = self.peek().clone() else { return self.fail("a scalar operation") };
        let set = word.strip_prefix("s.set.").and_then(cond_of);
        let op = SOp::ALL.iter().copied().find(|op| op.word() == word);
        if set.is_none() && op.is_none() {
            return self.fail("a scalar operation");
        }
        self.next();
        let a = self.sval()?;
        let b = if op == Some(SOp::Mov) { SVal::Imm(0) } else { self.comma_sval()? };
        let dst = match place {
            Place::NewScalar(name) => SDst::Def(self.define(name, Type::Scalar)),
            Place::ScalarVar(id) => SDst::Var(id),
            Place::Dst(_) | Place::New(..) => return self.fail_at(at, "a per-PE place", "a scalar place"),
        };
        Ok(match (set, op) {
            (Some(cond), _) => OpKind::ScalarSet { cond, dst, a, b },
            (None, Some(op)) => OpKind::Scalar { op, dst, a, b },
            (None, None) => return self.fail("a scalar operation"),
        })
    }

    fn array_value(&mut self, place: Place, at: At) -> Result<OpKind> {
        let Tok::Word(word) = self.peek().clone() else { return self.fail("an operation") };
        let before = self.at;
        self.next();
        let none = Src::Imm(0);
        let (op, a, b) = match word.as_str() {
            "mov" => (AluOp::Mov, self.src()?, none),
            "abs" => (AluOp::Abs, self.src()?, none),
            "clip" => {
                let a = self.src()?;
                let lo = self.comma_number(-2048, 2047)? as i16;
                (AluOp::Clip(lo, self.comma_number(lo as i64, 2047)? as i16), a, none)
            }
            "fx_mul" => {
                let (a, b) = (self.src()?, self.comma_src()?);
                (AluOp::FxMul(self.comma_number(-31, 63)? as i8), a, b)
            }
            "fx_div" => {
                let (a, b) = (self.src()?, self.comma_src()?);
                (AluOp::FxDiv(self.comma_number(0, 31)? as u8), a, b)
            }
            "exp" | "log" => {
                let a = self.src()?;
                let from = self.comma_number(0, 31)? as u8;
                let to = self.comma_number(0, 31)? as u8;
                (if word == "exp" { AluOp::Exp(from, to) } else { AluOp::Log(from, to) }, a, none)
            }
            "lut" => {
                let idx = self.src()?;
                self.expect(",")?;
                let table = self.elem()?;
                let bits = self.comma_number(0, 12)? as u8;
                return Ok(OpKind::Lut { dst: self.place_dst(place, at)?, idx, table, bits });
            }
            "shift" => {
                let a = self.src()?;
                let dr = self.comma_number(-64, 64)? as i32;
                let dc = self.comma_number(-64, 64)? as i32;
                return Ok(OpKind::Shift { dst: self.place_dst(place, at)?, a, dr, dc });
            }
            w => {
                if let Some(cond) = w.strip_prefix("sel.").and_then(cond_of) {
                    let x = self.src()?;
                    let (y, t, f) = (self.comma_src()?, self.comma_src()?, self.comma_src()?);
                    return Ok(OpKind::Sel { dst: self.place_dst(place, at)?, cond, x, y, t, f });
                }
                let op = match w.strip_prefix("set.").and_then(cond_of) {
                    Some(cond) => AluOp::Set(cond),
                    None => match BinOp::ALL.iter().find(|op| op.word() == w) {
                        Some(op) => AluOp::Bin(*op),
                        None => {
                            self.at = before;
                            return self.fail("an operation");
                        }
                    },
                };
                (op, self.src()?, self.comma_src()?)
            }
        };
        Ok(OpKind::Alu { op, dst: self.place_dst(place, at)?, a, b })
    }

    fn place_dst(&mut self, place: Place, at: At) -> Result<Dst> {
        match place {
            Place::Dst(dst) => Ok(dst),
            Place::New(name, fmt) => Ok(Dst::Def(self.define(name, Type::Q(fmt)))),
            Place::ScalarVar(_) | Place::NewScalar(_) => self.fail_at(at, "a scalar place", "a per-PE place"),
        }
    }

    fn statement(&mut self, word: &str, at: At, depth: usize) -> Result<Op> {
        // The location of an operation with blocks stands behind its `{`.
        let mut loc = None;
        let mut open = |p: &mut Self| -> Result<()> {
            p.expect("{")?;
            loc = Some(p.loc(at)?);
            Ok(())
        };
        let kind = match word {
            "wait" => OpKind::Wait { token: self.id("a flow or token", |t| matches!(t, Type::Flow | Type::Token))? },
            "acquire" => OpKind::Acquire { flow: self.flow_id()? },
            "release" => OpKind::Release { flow: self.flow_id()? },
            "push" => OpKind::Push { flow: self.flow_id()? },
            "drain" => OpKind::Drain,
            "for" => {
                let name = self.new_name()?;
                self.expect_word("in")?;
                let lo = self.sval()?;
                self.expect("..")?;
                let hi = self.sval()?;
                let step = if self.eat_word("step") { self.int()? } else { 1 };
                let mut attr = LoopAttr::default();
                if self.eat_word("pipelined") {
                    self.expect("(")?;
                    attr.pipelined = self.number(1, 64)? as u32;
                    self.expect(")")?;
                }
                attr.unroll = self.eat_word("unroll");
                open(self)?;
                let var = self.define(name, Type::Scalar);
                OpKind::For { var, lo, hi, step, attr, body: self.block(depth + 1)? }
            }
            "region" => {
                let name = self.text()?;
                open(self)?;
                OpKind::Region { name, body: self.block(depth + 1)? }
            }
            "probe" | "assert" => {
                let name = self.text()?;
                let a = self.comma_src()?;
                if word == "probe" { OpKind::Probe { name, a } } else { OpKind::Assert { name, a } }
            }
            "call" => {
                let func = self.global()?;
                self.expect("(")?;
                let mut args = Vec::new();
                while !self.is(")") {
                    if !args.is_empty() {
                        self.expect(",")?;
                    }
                    args.push(match self.peek() {
                        Tok::Number(_) => SVal::Imm(self.int()?),
                        _ => SVal::Val(self.id("a scalar or a buffer", |t| {
                            matches!(t, Type::Scalar | Type::ScalarVar | Type::Ocm(_) | Type::Ext(_))
                        })?),
                    });
                }
                self.expect(")")?;
                OpKind::Call { func, args }
            }
            "step" => {
                let addr = self.id("a base register", |t| t == Type::Addr)?;
                OpKind::AddrStep { addr, by: self.comma_sval()? }
            }
            w => {
                if let Some(cond) = w.strip_prefix("where.").and_then(cond_of) {
                    let a = self.src()?;
                    let b = self.comma_src()?;
                    open(self)?;
                    let (then, els) = self.two_blocks(depth)?;
                    OpKind::Where { cond, a, b, then, els }
                } else if let Some(cond) = w.strip_prefix("if.").and_then(cond_of) {
                    let a = self.sval()?;
                    let b = self.comma_sval()?;
                    open(self)?;
                    let (then, els) = self.two_blocks(depth)?;
                    OpKind::If { cond, a, b, then, els }
                } else if let Some(cond) = w.strip_prefix("while.").and_then(cond_of) {
                    let a = self.sval()?;
                    let b = self.comma_sval()?;
                    self.expect_word("bound")?;
                    let bound = self.count()?;
                    open(self)?;
                    OpKind::While { cond, a, b, bound, body: self.block(depth + 1)? }
                } else if let Some((width, shape)) = w.split_once('.')
                    && let Some(width) = MacWidth::ALL.into_iter().find(|m| m.word() == width)
                    && let Some(shape) = MacShape::ALL.iter().copied().find(|s| s.word() == shape)
                {
                    let acc = self.id("a group of accumulators", |t| matches!(t, Type::Acc(_)))?;
                    let k = self.acc_index()?;
                    self.expect(",")?;
                    let a = self.elem()?;
                    self.expect(",")?;
                    let stream = self.id("a stream", |t| t == Type::Stream)?;
                    OpKind::Mac { width, shape, acc, at: k, a, stream }
                } else if let Some(to) =
                    w.strip_prefix("send.").and_then(|l| Dir::ALL.iter().find(|d| d.letter().to_string() == l))
                {
                    OpKind::Send { to: *to, a: self.src()? }
                } else {
                    return self.fail_at(at, format!("`{w}`"), "an operation or `}`");
                }
            }
        };
        let loc = match loc {
            Some(loc) => loc,
            None => self.loc(at)?,
        };
        Ok(Op { kind, loc })
    }

    fn two_blocks(&mut self, depth: usize) -> Result<(Block, Block)> {
        let then = self.block(depth + 1)?;
        let els = if self.eat_word("else") {
            self.expect("{")?;
            self.block(depth + 1)?
        } else {
            Vec::new()
        };
        Ok((then, els))
    }
}

/// Where a value goes.
enum Place {
    New(String, Fmt),
    NewScalar(String),
    ScalarVar(Id),
    Dst(Dst),
}
