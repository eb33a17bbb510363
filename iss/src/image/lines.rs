//! The line table: which source line each instruction comes from.

use serde::{Deserialize, Serialize};

/// Instructions of one source line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "[u32; 4]", into = "[u32; 4]")]
pub struct LineRange {
    /// First instruction.
    pub start: u32,
    /// Behind the last instruction.
    pub end: u32,
    /// Index of the file.
    pub file: u32,
    /// Line, counted from 1.
    pub line: u32,
}

impl From<[u32; 4]> for LineRange {
    fn from([start, end, file, line]: [u32; 4]) -> Self {
        Self { start, end, file, line }
    }
}
impl From<LineRange> for [u32; 4] {
    fn from(range: LineRange) -> Self {
        [range.start, range.end, range.file, range.line]
    }
}

/// Source lines of a program: ranges in ascending order that do not overlap; what lies between them has no known source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineTable {
    /// File names, each once.
    pub files: Vec<String>,
    /// The ranges. Neighbours that touch differ in file or line.
    pub ranges: Vec<LineRange>,
}

impl LineTable {
    /// File and line of an instruction.
    pub fn lookup(&self, pc: u32) -> Option<(&str, u32)> {
        let behind = self.ranges.partition_point(|r| r.start <= pc);
        let range = self.ranges[..behind].last().filter(|r| pc < r.end)?;
        Some((self.files.get(range.file as usize)?, range.line))
    }

    /// Every instruction that a line gave, as ranges of program counters.
    pub fn of_line<'a>(&'a self, file: &'a str, line: u32) -> impl Iterator<Item = std::ops::Range<u32>> + 'a {
        let matches =
            move |r: &&LineRange| r.line == line && self.files.get(r.file as usize).is_some_and(|f| f == file);
        self.ranges.iter().filter(matches).map(|r| r.start..r.end)
    }

    /// Appends instructions of a line behind those already there; a range that continues the last one extends it.
    pub(crate) fn append(&mut self, range: LineRange) {
        match self.ranges.last_mut() {
            Some(last) if last.end == range.start && (last.file, last.line) == (range.file, range.line) => {
                last.end = range.end;
            }
            _ => self.ranges.push(range),
        }
    }
}
