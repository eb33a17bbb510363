//! Why bytes or parts are no image.

use super::format::VERSION;
use crate::isa::InstError;

/// Why a file, bytes or parts are no program image. Each variant says which part and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what the texts name")]
pub enum ImageError {
    /// The file system refused.
    #[error("image `{path}`: cannot {action}: {error}")]
    Io { path: String, action: &'static str, error: String },
    /// Another kind of file.
    #[error("image: the file starts with {found:02x?}, which is no program image\nhelp: `iss asm` makes one from text")]
    Foreign { found: Vec<u8> },
    /// The file ends early.
    #[error("image: {part} needs {needed} bytes, the file has {found}\nhelp: the file is cut short, copy it again")]
    Truncated { part: &'static str, needed: u64, found: u64 },
    /// A format of another version.
    #[error(
        "image: format version {found}, this program reads version {VERSION}\nhelp: build the image again, or read it with the `iss` that wrote it"
    )]
    Version { found: u32 },
    /// Bytes behind the last section, or a length that disagrees with the sections.
    #[error("image: the header says {expected} bytes, the file has {found}")]
    Length { expected: u64, found: u64 },
    /// The header or the section table is damaged.
    #[error("image: header and section table have checksum {computed:#010x}, expected {stored:#010x}")]
    HeaderChecksum { stored: u32, computed: u32 },
    /// Too few or too many sections.
    #[error("image: the section table has {found} sections, expected {expected}")]
    SectionCount { found: u32, expected: u32 },
    /// A section that does not belong there.
    #[error("image: section {index} is `{found}`, expected `{expected}`")]
    SectionTag { index: usize, found: String, expected: &'static str },
    /// A section that is too long or of a broken length.
    #[error("image: section `{section}` has {len} bytes, expected {expected}")]
    SectionLength { section: &'static str, len: u64, expected: String },
    /// A damaged section.
    #[error("image: section `{section}` has checksum {computed:#010x}, expected {stored:#010x}")]
    SectionChecksum { section: &'static str, stored: u32, computed: u32 },
    /// Metadata that does not read.
    #[error("image: section `{section}`: {error}")]
    Metadata { section: &'static str, error: String },
    /// A machine that cannot be.
    #[error("image: target: {error}")]
    Target { error: String },
    /// More of something than an image can hold.
    #[error("image: {found} {what}, at most {limit}")]
    TooMany { what: &'static str, found: usize, limit: usize },
    /// A word that is no instruction.
    #[error("image: instruction {pc}: {error}")]
    Word { pc: u32, word: u64, error: InstError },
    /// A jump, call or loop to nowhere.
    #[error("image: instruction {pc}, `{inst}`: target {to} is outside {min}..={max}")]
    CodeTarget { pc: u32, inst: String, to: u32, min: u32, max: u32 },
    /// A loop that begins within another and ends behind it.
    #[error(
        "image: the loop at instruction {pc} ends at {end}, behind the end {outer_end} of the loop at {outer} around it"
    )]
    LoopsCross { pc: u32, end: u32, outer: u32, outer_end: u32 },
    /// A marker or trap with a name that is not there.
    #[error("image: instruction {pc}, `{inst}`: name {name} is not in the table of {names} names")]
    NameRange { pc: u32, inst: String, name: u16, names: usize },
    /// A name that is empty, too long or has control characters.
    #[error("image: {what} {name:?}: a name has 1 to 1024 bytes and no control characters")]
    BadName { what: String, name: String },
    /// One name for two things.
    #[error("image: {what} {name:?} is there twice")]
    NameTwice { what: String, name: String },
    /// An entry point outside the code.
    #[error("image: entry `{entry}`: starts at instruction {pc}, the code has {code}")]
    EntryPc { entry: String, pc: u32, code: usize },
    /// Two values for one register.
    #[error("image: entry `{entry}`: `{first}` and `{second}` are both handed over in {reg}")]
    RegisterTwice { entry: String, first: String, second: String, reg: String },
    /// A buffer that cannot be placed.
    #[error(
        "image: entry `{entry}`: parameter `{param}` has {len_bytes} bytes of on-chip memory, the target has {room}"
    )]
    OcmParam { entry: String, param: String, len_bytes: u32, room: u32 },
    /// A line range outside the code, empty, out of order or overlapping.
    #[error(
        "image: line table, range {index}: instructions {start}..{end} are empty, out of order or outside {min}..{max}"
    )]
    LineOrder { index: usize, start: u32, end: u32, min: u32, max: u32 },
    /// A line of a file that is not there, or line 0.
    #[error("image: line table, range {index}: line {line} of file {file}, with {files} files and lines from 1")]
    LineFile { index: usize, line: u32, file: u32, files: usize },
    /// Two neighbours that are one.
    #[error("image: line table, range {index}: continues the range before it; expected one range")]
    LineSplit { index: usize },
}
