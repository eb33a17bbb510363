//! What makes parts an image.
//!
//! Checked: counts within what the instruction set can name; every word decodes; targets of `jump`, `branch` and `call` are
//! instructions; a loop ends behind its first instruction, within the code, and not behind a loop around it; names of markers
//! and traps are in the table; names, entries, parameters of an entry and files are well formed and there once; entries start
//! at an instruction; no register receives two values; buffers of on-chip memory fit; the line table is in order, in range and
//! has one range per run of instructions.
//!
//! Not checked, since only a run can tell: whether control flow leaves the code or a loop by a jump, depths of the stacks,
//! addresses in registers, use of descriptors and tokens.

use std::collections::HashSet;

use super::{Entry, ImageError, ImageParts, LineTable, MAX_CODE, MAX_CONSTANTS, MAX_NAME_BYTES, MAX_NAMES, ParamKind};
use crate::isa::Inst;

pub(super) fn verify(parts: &ImageParts) -> Result<(), ImageError> {
    counts(parts)?;
    unique_names("name", parts.names.iter())?;
    code(parts)?;
    unique_names("entry", parts.entries.iter().map(|e| &e.name))?;
    for entry in &parts.entries {
        verify_entry(entry, parts)?;
    }
    unique_names("file", parts.lines.files.iter())?;
    line_table(&parts.lines, parts.code.len() as u32)
}

fn counts(parts: &ImageParts) -> Result<(), ImageError> {
    let counts = [
        ("instructions", parts.code.len(), MAX_CODE),
        ("names", parts.names.len(), MAX_NAMES),
        ("entries", parts.entries.len(), MAX_NAMES),
        ("files", parts.lines.files.len(), MAX_NAMES),
        ("bytes of constants", parts.constants.len(), MAX_CONSTANTS),
    ];
    match counts.into_iter().find(|(_, found, limit)| found > limit) {
        Some((what, found, limit)) => Err(ImageError::TooMany { what, found, limit }),
        None => Ok(()),
    }
}

/// Whether a name can stand in an image and in assembly text.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control)
}

fn unique_names<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), ImageError> {
    let mut seen = HashSet::new();
    for name in names {
        if !is_name(name) {
            return Err(ImageError::BadName { what: what.to_owned(), name: name.chars().take(80).collect() });
        }
        if !seen.insert(name) {
            return Err(ImageError::NameTwice { what: what.to_owned(), name: name.clone() });
        }
    }
    Ok(())
}

fn code(parts: &ImageParts) -> Result<(), ImageError> {
    let len = parts.code.len() as u32;
    let mut loops: Vec<(u32, u32)> = Vec::new();
    for (pc, word) in (0..).zip(&parts.code) {
        let inst = Inst::decode(*word).map_err(|error| ImageError::Word { pc, word: *word, error })?;
        let outside = |to, min, max| Err(ImageError::CodeTarget { pc, inst: inst.to_string(), to, min, max });
        while loops.last().is_some_and(|(_, end)| *end <= pc) {
            loops.pop();
        }
        match inst {
            Inst::Jump { to } | Inst::Branch { to, .. } | Inst::Call { to } if to.get() >= len => {
                return outside(to.get(), 0, len - 1);
            }
            Inst::LoopI { end, .. } | Inst::LoopS { end, .. } => {
                let end = end.get();
                if end < pc + 2 || end > len {
                    return outside(end, pc + 2, len);
                }
                if let Some((outer, outer_end)) = loops.last().copied().filter(|(_, outer_end)| *outer_end < end) {
                    return Err(ImageError::LoopsCross { pc, end, outer, outer_end });
                }
                loops.push((pc, end));
            }
            _ => {}
        }
        if let Some(name) = inst.name_id().filter(|name| name.get() as usize >= parts.names.len()) {
            let names = parts.names.len();
            return Err(ImageError::NameRange { pc, inst: inst.to_string(), name: name.get(), names });
        }
    }
    Ok(())
}

fn verify_entry(entry: &Entry, parts: &ImageParts) -> Result<(), ImageError> {
    if entry.pc as usize >= parts.code.len() {
        return Err(ImageError::EntryPc { entry: entry.name.clone(), pc: entry.pc, code: parts.code.len() });
    }
    unique_names(&format!("entry `{}`: parameter", entry.name), entry.params.iter().map(|p| &p.name))?;
    let mut holders: [Option<&str>; 32] = [None; 32];
    let registers = entry.params.iter().map(|p| (p.reg, p.name.as_str()));
    for (reg, name) in registers.chain(entry.constants_reg.map(|reg| (reg, ".constants_reg"))) {
        if let Some(first) = holders[reg.get() as usize].replace(name) {
            let (first, second) = (first.to_owned(), name.to_owned());
            return Err(ImageError::RegisterTwice { entry: entry.name.clone(), first, second, reg: reg.to_string() });
        }
    }
    let room = parts.target.spec().ocm_bytes;
    for param in &entry.params {
        match param.kind {
            ParamKind::Buffer { space: super::Space::Ocm, len_bytes, .. } if len_bytes > room => {
                let (entry, param) = (entry.name.clone(), param.name.clone());
                return Err(ImageError::OcmParam { entry, param, len_bytes, room });
            }
            _ => {}
        }
    }
    Ok(())
}

fn line_table(lines: &LineTable, code: u32) -> Result<(), ImageError> {
    let (mut min, files) = (0, lines.files.len());
    for (index, range) in lines.ranges.iter().enumerate() {
        let (start, end, line, file) = (range.start, range.end, range.line, range.file);
        if start < min || end <= start || end > code {
            return Err(ImageError::LineOrder { index, start, end, min, max: code });
        }
        if file as usize >= files || line == 0 {
            return Err(ImageError::LineFile { index, line, file, files });
        }
        let before = index.checked_sub(1).map(|i| lines.ranges[i]);
        if before.is_some_and(|b| b.end == start && (b.file, b.line) == (file, line)) {
            return Err(ImageError::LineSplit { index });
        }
        min = end;
    }
    Ok(())
}
