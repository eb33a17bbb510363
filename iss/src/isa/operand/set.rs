//! Operands that are sets: directions of neighbours, engines.

use std::fmt;

use super::{Operand, OperandError, bad_bits, bad_text};

/// `n`, `e`, `s`, `w`: direction of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Dir {
    /// Row - 1.
    North = 0,
    /// Column + 1.
    East = 1,
    /// Row + 1.
    South = 2,
    /// Column - 1.
    West = 3,
}

impl Dir {
    /// Every direction in encoding order.
    pub const ALL: [Dir; 4] = [Dir::North, Dir::East, Dir::South, Dir::West];

    /// The letter in assembly text.
    pub const fn letter(self) -> char {
        ['n', 'e', 's', 'w'][self as usize]
    }
    /// The side on which a neighbour sees what is sent this way.
    pub const fn opposite(self) -> Dir {
        Dir::ALL[(self as usize + 2) % 4]
    }
}

/// `n`, `e`, `s`, `w` or a combination in that order: the neighbours whose port is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dirs(u8);

impl Dirs {
    /// All four.
    pub const ALL: Dirs = Dirs(0b1111);

    /// One direction.
    pub const fn one(dir: Dir) -> Self {
        Self(1 << dir as u8)
    }
    /// Adds a direction.
    pub const fn with(self, dir: Dir) -> Self {
        Self(self.0 | 1 << dir as u8)
    }
    /// Whether `dir` is among them.
    pub const fn contains(self, dir: Dir) -> bool {
        self.0 >> dir as u8 & 1 == 1
    }
}
impl fmt::Display for Dirs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Dir::ALL.iter().filter(|d| self.contains(**d)).try_for_each(|d| write!(f, "{}", d.letter()))
    }
}
impl Operand for Dirs {
    const BITS: u32 = 4;
    const NAME: &'static str = "directions";
    const FORMS: &'static str = "`n`, `e`, `s`, `w`, or several in that order";
    const PROSE: &'static str = "The neighbours that receive.";
    const ENCODING: &'static str = "bit 0: north, bit 1: east, bit 2: south, bit 3: west; at least one";
    fn to_bits(self) -> u64 {
        self.0 as u64
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        if bits == 0 || bits > 15 { Err(bad_bits::<Self>(bits)) } else { Ok(Self(bits as u8)) }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        let dirs = Dir::ALL.iter().filter(|d| text.contains(d.letter())).fold(Dirs(0), |set, d| set.with(*d));
        if dirs.0 != 0 && dirs.to_string() == text { Ok(dirs) } else { Err(bad_text::<Self>(text)) }
    }
}

/// The engines that a drain waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Engines(u8);

/// An engine beside the instruction stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Engine {
    /// Flow from on-chip memory into the array.
    FlowIn = 0,
    /// Flow from the array into on-chip memory.
    FlowOut = 1,
    /// Broadcast stream.
    Broadcast = 2,
    /// Random access unit.
    Rau = 3,
    /// External memory to on-chip memory.
    DmaIn = 4,
    /// On-chip memory to external memory.
    DmaOut = 5,
}

impl Engine {
    /// Every engine in encoding order.
    pub const ALL: [Engine; 6] =
        [Engine::FlowIn, Engine::FlowOut, Engine::Broadcast, Engine::Rau, Engine::DmaIn, Engine::DmaOut];

    /// The word in assembly text, tables and the timeline.
    pub const fn word(self) -> &'static str {
        ["flow_in", "flow_out", "broadcast", "rau", "dma_in", "dma_out"][self as usize]
    }
}
impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Engines {
    /// Every engine.
    pub const ALL: Engines = Engines(0b11_1111);

    /// One engine.
    pub const fn one(engine: Engine) -> Self {
        Self(1 << engine as u8)
    }
    /// Adds an engine.
    pub const fn with(self, engine: Engine) -> Self {
        Self(self.0 | 1 << engine as u8)
    }
    /// Whether `engine` is among them.
    pub const fn contains(self, engine: Engine) -> bool {
        self.0 >> engine as u8 & 1 == 1
    }
}
impl fmt::Display for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        for (i, engine) in Engine::ALL.iter().filter(|e| self.contains(**e)).enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { "|" }, engine.word())?;
        }
        Ok(())
    }
}
impl Operand for Engines {
    const BITS: u32 = 6;
    const NAME: &'static str = "engines";
    const FORMS: &'static str =
        "`all`, or of `flow_in`, `flow_out`, `broadcast`, `rau`, `dma_in`, `dma_out` those meant with `|` between";
    const PROSE: &'static str = "Engines to wait for.";
    const ENCODING: &'static str = "one bit an engine, from bit 0 in that order; at least one";
    fn to_bits(self) -> u64 {
        self.0 as u64
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        if bits == 0 || bits > 63 { Err(bad_bits::<Self>(bits)) } else { Ok(Self(bits as u8)) }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        let mut set = Engines(0);
        for word in text.split('|') {
            let engine = Engine::ALL.iter().find(|e| e.word() == word).ok_or_else(|| bad_text::<Self>(text))?;
            set = set.with(*engine);
        }
        Ok(set)
    }
}
