//! Directives: what is no instruction.

use super::assemble::{Assembler, names_label};
use super::error::{AsmCause, AsmError, shown};
use super::line::{Line, Piece};
use crate::image::{Direction, Entry, MAX_CONSTANTS, MAX_NAMES, Param, ParamKind, Space};
use crate::isa::operand::{CodeAddr, Operand, SReg};

type Outcome = Result<(), AsmError>;

/// Name, forms of the operands, and what reads them.
type Row = (&'static str, &'static str, fn(&mut Assembler, &Line<'_>, &Piece<'_>, &[Piece<'_>]) -> Outcome);

const DIRECTIVES: [Row; 8] = [
    (".target", "a target, such as `QC-U` or `QC-U:ocm=8MB`", target),
    (".name", "a name", name),
    (".file", "a file name", file),
    (".const", "bytes as pairs of hexadecimal digits", constants),
    (".entry", "a name, then optionally `@label`", entry),
    (".param", "`name ext|ocm in|out|inout bytes register` or `name scalar register`", param),
    (".constants_reg", "a scalar register", constants_reg),
    (".loc", "a file name and a line, or `none`", loc),
];

impl Assembler {
    pub(super) fn directive(&mut self, line: &Line<'_>, head: &Piece<'_>, rest: &Piece<'_>) -> Outcome {
        let Some((_, _, read)) = DIRECTIVES.iter().find(|(name, ..)| *name == head.text) else {
            let nearest = self.suggest(head.text, DIRECTIVES.iter().map(|(name, ..)| *name));
            let found = shown(head.text).trim_matches('`').to_owned();
            return Err(line.error(head.at, AsmCause::Directive { found, nearest }));
        };
        read(self, line, head, &line.words(rest))
    }
}

/// The error of a directive whose operands have another form.
fn bad_form(line: &Line<'_>, head: &Piece<'_>, words: &[Piece<'_>], at: usize) -> AsmError {
    let form = DIRECTIVES.iter().find(|(name, ..)| *name == head.text).map_or("operands", |(_, form, _)| form);
    match words.get(at) {
        Some(word) => line.syntax(word, form),
        None => line.error(head.at, AsmCause::Syntax { found: format!("{} operands", words.len()), expected: form }),
    }
}

/// Exactly one operand.
fn one<'p, 't>(line: &Line<'_>, head: &Piece<'_>, words: &'p [Piece<'t>]) -> Result<&'p Piece<'t>, AsmError> {
    match words {
        [word] => Ok(word),
        _ => Err(bad_form(line, head, words, 1)),
    }
}

fn number(line: &Line<'_>, piece: &Piece<'_>, what: &'static str, min: u64, max: u64) -> Result<u32, AsmError> {
    let value = piece.text.parse::<u64>().ok().filter(|v| (min..=max).contains(v)).and_then(|v| u32::try_from(v).ok());
    value.ok_or_else(|| line.error(piece.at, AsmCause::Number { what, found: shown(piece.text), min, max }))
}

fn register(line: &Line<'_>, piece: &Piece<'_>, directive: &'static str) -> Result<SReg, AsmError> {
    SReg::parse(piece.text).map_err(|error| {
        line.error(piece.at, AsmCause::DirectiveOperand { directive, error: super::assemble::cut(error) })
    })
}

/// One of a list of words.
fn choice<T: Copy>(
    line: &Line<'_>,
    piece: &Piece<'_>,
    of: &[T],
    word: impl Fn(T) -> &'static str,
    expected: &'static str,
) -> Result<T, AsmError> {
    of.iter().copied().find(|v| word(*v) == piece.text).ok_or_else(|| line.syntax(piece, expected))
}

fn target(cx: &mut Assembler, line: &Line<'_>, head: &Piece<'_>, words: &[Piece<'_>]) -> Outcome {
    let word = one(line, head, words)?;
    if std::mem::replace(&mut cx.target_seen, true) {
        return Err(line.error(head.at, AsmCause::Misplaced { directive: ".target", why: "stands twice" }));
    }
    let parsed =
        word.text.parse().map_err(|error: crate::target::TargetError| AsmCause::Target { error: error.to_string() });
    cx.parts.target = parsed.map_err(|cause| line.error(word.at, cause))?;
    Ok(())
}

fn name(cx: &mut Assembler, line: &Line<'_>, head: &Piece<'_>, words: &[Piece<'_>]) -> Outcome {
    let word = one(line, head, words)?;
    let name = line.unquoted(word)?;
    if cx.names.contains(&name) {
        let why = "names what already has its number; it stands before the first use, and once";
        return Err(line.error(word.at, AsmCause::Misplaced { directive: ".name", why }));
    }
    cx.name(line, word, &name).map(drop)
}

fn file(cx: &mut Assembler, line: &Line<'_>, head: &Piece<'_>, words: &[Piece<'_>]) -> Outcome {
    let word = one(line, head, words)?;
    let name = line.unquoted(word)?;
    if cx.files.contains(&name) {
        let why = "names what already has its number; it stands before the first use, and once";
        return Err(line.error(word.at, AsmCause::Misplaced { directive: ".file", why }));
    }
    file_id(cx, line, word, &name).map(drop)
}

fn file_id(cx: &mut Assembler, line: &Line<'_>, word: &Piece<'_>, name: &str) -> Result<u32, AsmError> {
    let id = cx.files.id(name);
    if id as usize >= MAX_NAMES {
        return Err(line.error(word.at, AsmCause::TooMany { what: "files", limit: MAX_NAMES }));
    }
    Ok(id)
}

fn constants(cx: &mut Assembler, line: &Line<'_>, head: &Piece<'_>, words: &[Piece<'_>]) -> Outcome {
    if words.is_empty() {
        return Err(bad_form(line, head, words, 0));
    }
    for word in words {
        let nibble = |c: u8| char::from(c).to_digit(16).map(|n| n as u8);
        let byte = |pair: &[u8]| Some(nibble(pair[0])? << 4 | nibble(*pair.get(1)?)?);
        let bytes: Option<Vec<u8>> = word.text.as_bytes().chunks(2).map(byte).collect();
        cx.parts.constants.extend(bytes.ok_or_else(|| line.syntax(word, "pairs of hexadecimal digits"))?);
        if cx.parts.constants.len() > MAX_CONSTANTS {
            cx.parts.constants.truncate(MAX_CONSTANTS);
            let cause = AsmCause::TooMany { what: "bytes of constants", limit: MAX_CONSTANTS };
            return Err(line.error(word.at, cause));
        }
    }
    Ok(())
}

fn entry(cx: &mut Assembler, line: &Line<'_>, head: &Piece<'_>, words: &[Piece<'_>]) -> Outcome {
    let (word, at) = match words {
        [word] => (word, None),
        [word, at] => (word, Some(at)),
        _ => return Err(bad_form(line, head, words, 2)),
    };
    let (name, idx) = (line.unquoted(word)?, cx.parts.entries.len());
    if idx >= MAX_NAMES {
        return Err(line.error(word.at, AsmCause::TooMany { what: "entries", limit: MAX_NAMES }));
    }
    let pc = cx.pc();
    cx.parts.entries.push(Entry { name, pc, params: Vec::new(), constants_reg: None });
    match at {
        Some(at) if names_label(at.text) => cx.refer_entry(line, at, idx),
        Some(at) => {
            let addr = CodeAddr::parse(at.text).map_err(|_| line.syntax(at, "`@label` or `@12`"))?;
            cx.parts.entries[idx].pc = addr.get();
        }
        None => {}
    }
    Ok(())
}

/// The entry that a directive adds to.
fn last_entry<'c>(
    cx: &'c mut Assembler,
    line: &Line<'_>,
    head: &Piece<'_>,
    directive: &'static str,
) -> Result<&'c mut Entry, AsmError> {
    let why = "belongs to an entry; write `.entry name` before it";
    cx.parts.entries.last_mut().ok_or_else(|| line.error(head.at, AsmCause::Misplaced { directive, why }))
}

fn param(cx: &mut Assembler, line: &Line<'_>, head: &Piece<'_>, words: &[Piece<'_>]) -> Outcome {
    let (name, kind, reg) = match words {
        [name, kind, reg] if kind.text == "scalar" => (name, ParamKind::Scalar, reg),
        [name, space, dir, len, reg] => {
            let space = choice(line, space, &Space::ALL, Space::word, "`ext` or `ocm`")?;
            let dir = choice(line, dir, &Direction::ALL, Direction::word, "`in`, `out` or `inout`")?;
            let len_bytes = number(line, len, "bytes of a buffer", 0, u32::MAX as u64)?;
            (name, ParamKind::Buffer { space, dir, len_bytes }, reg)
        }
        _ => return Err(bad_form(line, head, words, 5)),
    };
    let param = Param { name: line.unquoted(name)?, kind, reg: register(line, reg, ".param")? };
    last_entry(cx, line, head, ".param")?.params.push(param);
    Ok(())
}

fn constants_reg(cx: &mut Assembler, line: &Line<'_>, head: &Piece<'_>, words: &[Piece<'_>]) -> Outcome {
    let reg = register(line, one(line, head, words)?, ".constants_reg")?;
    let entry = last_entry(cx, line, head, ".constants_reg")?;
    if entry.constants_reg.replace(reg).is_some() {
        let why = "stands twice in one entry";
        return Err(line.error(head.at, AsmCause::Misplaced { directive: ".constants_reg", why }));
    }
    Ok(())
}

fn loc(cx: &mut Assembler, line: &Line<'_>, head: &Piece<'_>, words: &[Piece<'_>]) -> Outcome {
    match words {
        [none] if none.text == "none" => cx.loc = None,
        [file, at] => {
            let name = line.unquoted(file)?;
            let at = number(line, at, "source line", 1, u32::MAX as u64)?;
            cx.loc = Some((file_id(cx, line, file, &name)?, at));
        }
        _ => return Err(bad_form(line, head, words, 2)),
    }
    Ok(())
}
