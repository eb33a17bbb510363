//! Parsing. Never panics; the first error ends it, with line, column, what stood there and what was expected.

mod definition;
mod lex;
mod operand;
mod statement;
mod transfer;

use std::collections::HashMap;

use iss::image::Direction;
use iss::isa::operand::Cond;

use crate::ir::types::*;
use lex::{At, Tok, lex};

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
}

/// Where a value goes.
enum Place {
    New(String, Fmt),
    NewScalar(String),
    ScalarVar(Id),
    Dst(Dst),
}
