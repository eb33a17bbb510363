//! What an array instruction reads.

use std::fmt;

use super::{
    Acc, Dir, Dst, Lrm, Operand, OperandError, SReg, Width, bad_bits, bad_text, in_range, number, sign_extend,
};

/// How an ALU operation reads the broadcast queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BroadcastRead {
    /// Lane width.
    pub width: Width,
    /// Lane within the head word: 0 for words, 0..2 for half-words, 0..4 for bytes.
    pub lane: u8,
    /// Whether the head word leaves the queue. A word read always takes it.
    pub pop: bool,
}

/// What an array instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Src {
    /// Local memory.
    Lrm(Lrm),
    /// An immediate in -8192..=8191, the same in every PE.
    Imm(i16),
    /// An accumulator.
    Acc(Acc),
    /// The port that the neighbour on that side writes.
    Port(Dir),
    /// A scalar register, the same in every PE.
    Scalar(SReg),
    /// The broadcast queue.
    Broadcast(BroadcastRead),
    /// Row of the PE.
    QRow,
    /// Column of the PE; -4..-1 and cols..cols+4 in the border.
    QCol,
}

impl Src {
    /// Smallest immediate.
    pub const IMM_MIN: i32 = -8192;
    /// Largest immediate.
    pub const IMM_MAX: i32 = 8191;

    /// The head word of the broadcast queue, taken.
    pub const BROADCAST: Src = Src::Broadcast(BroadcastRead { width: Width::Word, lane: 0, pop: true });

    /// Checks and makes an immediate.
    pub fn imm(value: i64) -> Result<Self, OperandError> {
        in_range::<Self>(value, Self::IMM_MIN as i64, Self::IMM_MAX as i64).map(|v| Src::Imm(v as i16))
    }
}
impl From<Lrm> for Src {
    fn from(lrm: Lrm) -> Self {
        Src::Lrm(lrm)
    }
}
impl From<Acc> for Src {
    fn from(acc: Acc) -> Self {
        Src::Acc(acc)
    }
}
impl From<Dst> for Src {
    fn from(dst: Dst) -> Self {
        match dst {
            Dst::Lrm(lrm) => lrm.into(),
            Dst::Acc(acc) => acc.into(),
        }
    }
}
impl From<SReg> for Src {
    fn from(reg: SReg) -> Self {
        Src::Scalar(reg)
    }
}
impl fmt::Display for Src {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Src::Lrm(lrm) => lrm.fmt(f),
            Src::Imm(v) => write!(f, "#{v}"),
            Src::Acc(acc) => acc.fmt(f),
            Src::Port(dir) => write!(f, "port.{}", dir.letter()),
            Src::Scalar(r) => r.fmt(f),
            Src::Broadcast(read) => match read.width {
                Width::Word => f.write_str("bc"),
                width => write!(f, "bc{}{}{}", width.suffix(), read.lane, if read.pop { "!" } else { "" }),
            },
            Src::QRow => f.write_str("q_row"),
            Src::QCol => f.write_str("q_col"),
        }
    }
}
impl Operand for Src {
    const BITS: u32 = 16;
    const NAME: &'static str = "source";
    const FORMS: &'static str = "`[addr]`, `[s0+offset]` (`.h`, `.b` behind), `#-8192`..`#8191`, `a0`..`a15`, `port.n` (`e`, `s`, `w`), \
         `s0`..`s31`, `bc`, `bc.b0`..`bc.b3`, `bc.h0`, `bc.h1` (`!` behind), `q_row` or `q_col`";
    const PROSE: &'static str = "Local memory in any width, sign-extended; a number; an accumulator; the port that the neighbour on that side \
         writes; a scalar register, the same in every PE; `bc`, the head word of the broadcast queue, taken; `bc.b0`.., `bc.h0`.., a \
         sign-extended lane of it, taken only with `!` behind; row and column of the PE.";
    const ENCODING: &'static str = "bits 14..16 are 0 or 1: local memory in bits 0..15; 2: number in bits 0..14; 3: by bits 10..14 \
         0: accumulator, 1: port (n, e, s, w), 2: scalar register, 3: broadcast (bits 3..5 width, 1..3 lane, 0 taken), 4: `q_row`, \
         5: `q_col`";
    fn to_bits(self) -> u64 {
        const SPECIAL: u64 = 3 << 14;
        match self {
            Src::Lrm(lrm) => lrm.to_bits(),
            Src::Imm(v) => 2 << 14 | (v as u64 & 0x3fff),
            Src::Acc(acc) => SPECIAL | acc.to_bits(),
            Src::Port(dir) => SPECIAL | 1 << 10 | dir as u64,
            Src::Scalar(r) => SPECIAL | 2 << 10 | r.to_bits(),
            Src::Broadcast(b) => SPECIAL | 3 << 10 | (b.width as u64) << 3 | (b.lane as u64) << 1 | b.pop as u64,
            Src::QRow => SPECIAL | 4 << 10,
            Src::QCol => SPECIAL | 5 << 10,
        }
    }
    fn from_bits(bits: u64) -> Result<Self, OperandError> {
        let bad = || bad_bits::<Self>(bits);
        let payload = bits & 0x3ff;
        match (bits >> 14, bits >> 10 & 15) {
            (0 | 1, _) => Lrm::from_bits(bits).map(Src::Lrm),
            (2, _) => Ok(Src::Imm(sign_extend(bits & 0x3fff, 14) as i16)),
            (3, 0) if payload < 16 => Acc::from_bits(payload).map(Src::Acc),
            (3, 1) if payload < 4 => Ok(Src::Port(Dir::ALL[payload as usize])),
            (3, 2) if payload < 32 => SReg::from_bits(payload).map(Src::Scalar),
            (3, 3) if payload < 32 => {
                let width = Width::from_bits(payload >> 3).ok_or_else(bad)?;
                let read = BroadcastRead { width, lane: (payload >> 1 & 3) as u8, pop: payload & 1 == 1 };
                let legal = read.lane as u32 * width.bytes() < 4 && (width != Width::Word || read.pop);
                if legal { Ok(Src::Broadcast(read)) } else { Err(bad()) }
            }
            (3, 4) if payload == 0 => Ok(Src::QRow),
            (3, 5) if payload == 0 => Ok(Src::QCol),
            _ => Err(bad()),
        }
    }
    fn parse(text: &str) -> Result<Self, OperandError> {
        let bad = || bad_text::<Self>(text);
        if let Some(lrm) = Lrm::parse_opt(text) {
            return lrm.map(Src::Lrm);
        }
        if let Some(digits) = text.strip_prefix('#') {
            return Src::imm(number(digits).ok_or_else(bad)?);
        }
        if let Some(side) = text.strip_prefix("port.") {
            let dir = Dir::ALL.into_iter().find(|d| side == d.letter().to_string()).ok_or_else(bad)?;
            return Ok(Src::Port(dir));
        }
        if let Some(lane) = text.strip_prefix("bc.") {
            let (lane, pop) = lane.strip_suffix('!').map_or((lane, false), |lane| (lane, true));
            let (width, lane) = match lane {
                "b0" | "b1" | "b2" | "b3" => (Width::Byte, lane.as_bytes()[1] - b'0'),
                "h0" | "h1" => (Width::Half, lane.as_bytes()[1] - b'0'),
                _ => return Err(bad()),
            };
            return Ok(Src::Broadcast(BroadcastRead { width, lane, pop }));
        }
        match text {
            "bc" => Ok(Src::BROADCAST),
            "q_row" => Ok(Src::QRow),
            "q_col" => Ok(Src::QCol),
            _ if text.starts_with('s') => SReg::parse(text).map(Src::Scalar).map_err(|_| bad()),
            _ if text.starts_with('a') => Acc::parse(text).map(Src::Acc).map_err(|_| bad()),
            _ => Err(bad()),
        }
    }
}
