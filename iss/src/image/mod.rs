//! Program images: code, constants, entry points, names, line table and the target they were built for.
//!
//! An [`Image`] is valid by construction: it comes from [`ImageParts`] by [`Image::new`], which checks it, or from bytes by
//! [`Image::from_bytes`], which checks the file and then the same. What is checked stands in `verify.rs`, the file format in
//! `format.rs`. How a file is written whole stands in `file.rs`. Nothing here executes.

mod error;
mod file;
mod format;
mod intern;
mod lines;
mod verify;

pub use error::ImageError;
pub use file::{follow_links, write_file};
pub(crate) use format::reseal;
pub use format::{MAGIC, MAX_FILE, VERSION};
pub(crate) use intern::Interner;
pub use lines::{LineRange, LineTable};

use serde::{Deserialize, Serialize};

use crate::isa::Inst;
use crate::isa::operand::{NameId, SReg};
use crate::target::Target;

/// Instructions that an image may have: what a code address can name.
pub const MAX_CODE: usize = 1 << 24;
/// Names that an image may have: what a [`NameId`] can name.
pub const MAX_NAMES: usize = 1 << 16;
/// Bytes of one name, entry name, parameter name or file name.
pub const MAX_NAME_BYTES: usize = 1024;
/// Bytes of constants: external addresses have 32 bits.
pub const MAX_CONSTANTS: usize = 1 << 30;

/// Which way a buffer's data goes, seen from the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Only read.
    In,
    /// Only written.
    Out,
    /// Read and written.
    InOut,
}

impl Direction {
    /// Every direction.
    pub const ALL: [Direction; 3] = [Direction::In, Direction::Out, Direction::InOut];

    /// The word in assembly text.
    pub const fn word(self) -> &'static str {
        ["in", "out", "inout"][self as usize]
    }
}

/// The memory in which a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// External memory.
    Ext,
    /// On-chip memory.
    Ocm,
}

impl Space {
    /// Every memory.
    pub const ALL: [Space; 2] = [Space::Ext, Space::Ocm];

    /// The word in assembly text.
    pub const fn word(self) -> &'static str {
        ["ext", "ocm"][self as usize]
    }
}

/// What a parameter hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum ParamKind {
    /// The byte address of a buffer.
    Buffer {
        /// Where it lies.
        space: Space,
        /// Which way its data goes.
        dir: Direction,
        /// Its length in bytes.
        len_bytes: u32,
    },
    /// A 32-bit value.
    Scalar,
}

/// One parameter of an entry point.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Its name, unique in the entry.
    pub name: String,
    /// What it is.
    pub kind: ParamKind,
    /// The scalar register that holds the buffer's address or the value when the program starts.
    pub reg: SReg,
}

/// A place at which a run may start.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name, unique in the image.
    pub name: String,
    /// The first instruction.
    pub pc: u32,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// The scalar register that holds the address of the constants in external memory when the program starts.
    pub constants_reg: Option<SReg>,
}

impl Entry {
    /// Looks a parameter up by name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|p| p.name == name)
    }
}

/// What an image is made of, as plain data. [`Image::new`] checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageParts {
    /// The machine for which it was built.
    pub target: Target,
    /// The instruction words.
    pub code: Vec<u64>,
    /// Bytes placed in external memory when the image is loaded.
    pub constants: Vec<u8>,
    /// Entry points.
    pub entries: Vec<Entry>,
    /// Names of regions, probes, assertions and messages of traps; a [`NameId`] is an index.
    pub names: Vec<String>,
    /// Source lines of the code.
    pub lines: LineTable,
}

impl ImageParts {
    /// Parts with a target and nothing else.
    pub fn new(target: Target) -> Self {
        let lines = LineTable::default();
        Self { target, code: Vec::new(), constants: Vec::new(), entries: Vec::new(), names: Vec::new(), lines }
    }
}

/// A program: every word decodes, and every address, name, register and line in it is in range.
#[derive(Clone, Debug, PartialEq)]
pub struct Image(ImageParts);

impl Image {
    /// Checks the parts.
    ///
    /// # Errors
    /// The first rule of `verify.rs` that they break.
    pub fn new(parts: ImageParts) -> Result<Self, ImageError> {
        verify::verify(&parts)?;
        Ok(Self(parts))
    }

    /// Takes the image apart, to change it.
    pub fn into_parts(self) -> ImageParts {
        self.0
    }
    /// The machine for which it was built.
    pub const fn target(&self) -> &Target {
        &self.0.target
    }
    /// The instruction words.
    pub fn code(&self) -> &[u64] {
        &self.0.code
    }
    /// The instructions.
    pub fn decode(&self) -> Vec<Inst> {
        let decode = |word: &u64| Inst::decode(*word).expect("every word of a checked image decodes");
        self.0.code.iter().map(decode).collect()
    }
    /// Bytes placed in external memory when the image is loaded.
    pub fn constants(&self) -> &[u8] {
        &self.0.constants
    }
    /// Entry points.
    pub fn entries(&self) -> &[Entry] {
        &self.0.entries
    }
    /// Looks an entry point up by name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.0.entries.iter().find(|e| e.name == name)
    }
    /// Names of regions, probes, assertions and messages of traps.
    pub fn names(&self) -> &[String] {
        &self.0.names
    }
    /// The text of a name; empty if it comes from another image and is out of range here.
    pub fn name(&self, id: NameId) -> &str {
        self.0.names.get(id.get() as usize).map_or("", String::as_str)
    }
    /// The source lines of the code.
    pub const fn lines(&self) -> &LineTable {
        &self.0.lines
    }
}

#[cfg(test)]
mod tests;
