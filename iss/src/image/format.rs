//! The file format of images.
//!
//! ```text
//! offset  bytes
//!      0      8  magic: 89 49 53 53 0d 0a 1a 0a ("ISS" between bytes that text modes and 7-bit channels destroy)
//!      8      4  format version
//!     12      4  number of sections: 6
//!     16      8  length of the file
//!     24      4  CRC-32 of bytes 0..24 and of the section table
//!     28   6x16  section table: tag (4), CRC-32 of the section (4), length in bytes (8)
//!    124         the sections, one behind the other
//! ```
//!
//! Numbers are little-endian. Sections in order: `targ` (JSON, the target's sizes and costs), `code` (words of 8 bytes), `data`
//! (the constants), `entr`, `name`, `line` (JSON). The checksums find damage, not malice: [`Image::from_bytes`] also checks
//! all of the content, and allocates no more than a small multiple of the bytes given.

use std::io::Read;
use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};

use super::{Image, ImageError, ImageParts, MAX_CODE, MAX_CONSTANTS, write_file};
use crate::target::TargetSpec;

/// The first bytes of every image.
pub const MAGIC: [u8; 8] = *b"\x89ISS\r\n\x1a\n";
/// The format version that is written and read.
pub const VERSION: u32 = 1;

const HEADER: usize = 28;
const TABLE_ROW: usize = 16;
const FIRST_SECTION: usize = HEADER + SECTIONS.len() * TABLE_ROW;
/// Tag and greatest length in bytes of each section, in file order.
const SECTIONS: [(&str, u64); 6] = [
    ("targ", 1 << 20),
    ("code", MAX_CODE as u64 * 8),
    ("data", MAX_CONSTANTS as u64),
    ("entr", 1 << 28),
    ("name", 1 << 28),
    ("line", 1 << 30),
];
/// Bytes of a file that are read: more than any image has.
pub const MAX_FILE: u64 = 4 << 30;

impl Image {
    /// The image as a file's content.
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = &self.0;
        let code: Vec<u8> = parts.code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let [target, entries] = [json(parts.target.spec()), json(&parts.entries)];
        let [names, lines] = [json(&parts.names), json(&parts.lines)];
        seal(&[&target, &code, &parts.constants, &entries, &names, &lines])
    }

    /// Reads a file's content and checks all of it.
    ///
    /// # Errors
    /// Which part is damaged, missing, foreign, newer or inconsistent, and why.
    pub fn from_bytes(bytes: &[u8]) -> Result<Image, ImageError> {
        let [target, code, constants, entries, names, lines] = open(bytes)?;
        let spec: TargetSpec = from_json("targ", target)?;
        let target = spec.build().map_err(|error| ImageError::Target { error: error.to_string() })?;
        let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().expect("chunks have 8 bytes"));
        Image::new(ImageParts {
            target,
            code: code.chunks_exact(8).map(word).collect(),
            constants: constants.to_vec(),
            entries: from_json("entr", entries)?,
            names: from_json("name", names)?,
            lines: from_json("line", lines)?,
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), and where the file cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Image, ImageError> {
        let path = path.as_ref();
        let failed = |error| io_error(path, "read", error);
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        Image::from_bytes(&bytes)
    }

    /// Writes a file, as [`write_file`] does.
    ///
    /// # Errors
    /// Where the directory cannot be written; nothing is left behind.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), ImageError> {
        let path = path.as_ref();
        write_file(path, &self.to_bytes()).map_err(|error| io_error(path, "write", error))
    }
}

fn io_error(path: &Path, action: &'static str, error: std::io::Error) -> ImageError {
    ImageError::Io { path: path.display().to_string(), action, error: error.to_string() }
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("maps with string keys, numbers and text always serialise")
}

fn from_json<T: DeserializeOwned>(section: &'static str, bytes: &[u8]) -> Result<T, ImageError> {
    serde_json::from_slice(bytes).map_err(|error| ImageError::Metadata { section, error: error.to_string() })
}

/// Puts header and section table before the sections.
pub(super) fn seal(sections: &[&[u8]; 6]) -> Vec<u8> {
    let len = FIRST_SECTION + sections.iter().map(|s| s.len()).sum::<usize>();
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(SECTIONS.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(len as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    for (section, (tag, _)) in sections.iter().zip(SECTIONS) {
        bytes.extend_from_slice(tag.as_bytes());
        bytes.extend_from_slice(&crc32fast::hash(section).to_le_bytes());
        bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
    }
    let checksum = header_checksum(&bytes);
    bytes[24..HEADER].copy_from_slice(&checksum.to_le_bytes());
    sections.iter().for_each(|section| bytes.extend_from_slice(section));
    bytes
}

fn header_checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..24]);
    hasher.update(&bytes[HEADER..FIRST_SECTION]);
    hasher.finalize()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes were cut"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes were cut"))
}

/// Checks header, table and checksums, and cuts the sections.
pub(super) fn open(bytes: &[u8]) -> Result<[&[u8]; 6], ImageError> {
    let found = bytes.len() as u64;
    let prefix = &bytes[..bytes.len().min(MAGIC.len())];
    if bytes.is_empty() || !MAGIC.starts_with(prefix) {
        return Err(ImageError::Foreign { found: prefix.to_vec() });
    }
    if bytes.len() < HEADER {
        return Err(ImageError::Truncated { part: "header", needed: HEADER as u64, found });
    }
    // The version comes before the checksum: another version may place that elsewhere.
    let version = u32_at(bytes, 8);
    if version != VERSION {
        return Err(ImageError::Version { found: version });
    }
    let count = u32_at(bytes, 12);
    if count as usize != SECTIONS.len() {
        return Err(ImageError::SectionCount { found: count, expected: SECTIONS.len() as u32 });
    }
    if bytes.len() < FIRST_SECTION {
        return Err(ImageError::Truncated { part: "section table", needed: FIRST_SECTION as u64, found });
    }
    let (stored, computed) = (u32_at(bytes, 24), header_checksum(bytes));
    if stored != computed {
        return Err(ImageError::HeaderChecksum { stored, computed });
    }
    let mut at = FIRST_SECTION;
    let mut sections = [&bytes[..0]; 6];
    for (index, section) in sections.iter_mut().enumerate() {
        *section = open_section(bytes, index, at)?;
        at += section.len();
    }
    let expected = u64_at(bytes, 16);
    if expected != found || at as u64 != found {
        return Err(ImageError::Length { expected: expected.min(at as u64), found });
    }
    Ok(sections)
}

fn open_section(bytes: &[u8], index: usize, at: usize) -> Result<&[u8], ImageError> {
    let row = &bytes[HEADER + index * TABLE_ROW..][..TABLE_ROW];
    let (section, limit) = SECTIONS[index];
    if &row[..4] != section.as_bytes() {
        let found = row[..4].escape_ascii().to_string();
        return Err(ImageError::SectionTag { index, found, expected: section });
    }
    let len = u64_at(row, 8);
    if len > limit {
        return Err(ImageError::SectionLength { section, len, expected: format!("at most {limit}") });
    }
    let end = at as u64 + len;
    if end > bytes.len() as u64 {
        return Err(ImageError::Truncated { part: section, needed: end, found: bytes.len() as u64 });
    }
    let content = &bytes[at..end as usize];
    let (stored, computed) = (u32_at(row, 4), crc32fast::hash(content));
    if stored != computed {
        return Err(ImageError::SectionChecksum { section, stored, computed });
    }
    if section == "code" && !len.is_multiple_of(8) {
        return Err(ImageError::SectionLength { section, len, expected: "a multiple of 8".to_owned() });
    }
    Ok(content)
}

/// Writes the checksums that the bytes should have, as far as header and table say where the sections are.
pub(crate) fn reseal(bytes: &mut [u8]) {
    if bytes.len() < FIRST_SECTION {
        return;
    }
    let mut at = FIRST_SECTION;
    for index in 0..SECTIONS.len() {
        let row = HEADER + index * TABLE_ROW;
        let len = usize::try_from(u64_at(bytes, row + 8)).unwrap_or(usize::MAX);
        let Some(content) = at.checked_add(len).and_then(|end| bytes.get(at..end)) else { break };
        let checksum = crc32fast::hash(content);
        bytes[row + 4..row + 8].copy_from_slice(&checksum.to_le_bytes());
        at += len;
    }
    let checksum = header_checksum(bytes);
    bytes[24..HEADER].copy_from_slice(&checksum.to_le_bytes());
}
