//! Why a simulated program stopped short: causes as values, and the report that names instruction, line and cycle.

use std::fmt;

use serde::Serialize;

use crate::isa::operand::{Engine, Field};

/// A memory of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// Local register memory of a PE.
    Lrm,
    /// On-chip memory.
    Ocm,
    /// External memory.
    Ext,
}
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["local memory", "on-chip memory", "external memory"][*self as usize])
    }
}

/// A half-open byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}
impl Bytes {
    /// A range.
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }
    /// Whether the two share a byte.
    pub const fn overlaps(self, other: Bytes) -> bool {
        self.start < other.end && other.start < self.end
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.start, self.end)
    }
}

/// What a program did to bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Read bytes that are landing.
    Read,
    /// Wrote bytes that are landing or leaving.
    Write,
}
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["reads", "writes"][*self as usize])
    }
}

/// Why the program cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "cause", rename_all = "snake_case")]
#[allow(missing_docs, reason = "each message states its fields")]
pub enum TrapCause {
    #[error("execution ran past the last instruction\nhelp: end the program with `halt`")]
    FellOffTheEnd,
    #[error("the program stopped itself: {message}")]
    Program { message: String },
    #[error("assertion `{name}` is false at PE (row {row}, column {col})")]
    Assertion { name: String, row: u32, col: i32 },
    #[error("address {}, {bytes} bytes, is outside the {memory} of {size} bytes", signed_hex(*address))]
    Address { memory: Memory, address: i64, bytes: u64, size: u64 },
    #[error("address {} in {memory} is not a multiple of {align}", signed_hex(*address))]
    Alignment { memory: Memory, address: i64, align: u32 },
    #[error("descriptor of {engine}: field `{field}` is {value}, expected {expected}")]
    Descriptor { engine: Engine, field: String, value: i64, expected: String },
    #[error(
        "hazard: the instruction {access} {memory} {range}, which {engine} has in flight since pc {since_pc}\nhelp: wait for its token first"
    )]
    Hazard { access: Access, memory: Memory, range: Bytes, engine: Engine, since_pc: u32 },
    #[error(
        "hazard: {engine} {access} {memory} {range}, which {other} has in flight since pc {since_pc}\nhelp: wait for its token first"
    )]
    EngineHazard { engine: Engine, access: Access, memory: Memory, range: Bytes, other: Engine, since_pc: u32 },
    #[error("division by zero at PE (row {row}, column {col})")]
    Division { row: u32, col: i32 },
    #[error("the {stack} stack is full: {depth} entries")]
    StackOverflow { stack: &'static str, depth: u32 },
    #[error("the {stack} stack is empty")]
    StackUnderflow { stack: &'static str },
    #[error("a branch to @{to} leaves the hardware loop @{start}..@{end}")]
    LoopEscape { to: u32, start: u32, end: u32 },
    #[error("`ret` inside a hardware loop that this call entered")]
    ReturnInLoop,
    #[error(
        "token t{token} still belongs to {engine}, started at pc {since_pc}\nhelp: wait for it with `wait t{token}, all` before starting another transfer with it"
    )]
    TokenBusy { token: u8, engine: Engine, since_pc: u32 },
    #[error(
        "the RAU serves t{token} since pc {since_pc}, and one access at a time\nhelp: wait for it with `wait t{token}, all` first"
    )]
    RauBusy { token: u8, since_pc: u32 },
    #[error("token t{token} belongs to no transfer")]
    TokenIdle { token: u8 },
    #[error("token t{token} belongs to {engine}: {reason}")]
    TokenUse { token: u8, engine: Engine, reason: String },
    #[error("deadlock: {waits} can never end: {because}")]
    Deadlock { waits: String, because: String },
    #[error("the broadcast queue will never hold another entry\nhelp: start a broadcast that covers every read")]
    BroadcastEmpty,
    #[error("a MAC reads the broadcast queue in the middle of a 16-byte entry, {read} of 4 words taken")]
    BroadcastMisaligned { read: u8 },
    #[error("the program ends with {left} bytes of broadcast not read")]
    BroadcastLeft { left: u64 },
    #[error(
        "the program ends while {engine}, started at pc {since_pc}, is in flight\nhelp: wait for it, or `drain all`, before `halt`"
    )]
    Unretired { engine: Engine, since_pc: u32 },
    #[error("{reason}")]
    Regions { reason: String },
    #[error("limit of {limit} cycles reached")]
    CycleLimit { limit: u64 },
    #[error("limit of {limit} instructions reached")]
    InstructionLimit { limit: u64 },
}

fn signed_hex(address: i64) -> String {
    let sign = if address < 0 { "-" } else { "" };
    format!("{sign}{:#x}", address.unsigned_abs())
}

impl TrapCause {
    pub(crate) fn descriptor(engine: Engine, field: Field, value: i64, expected: impl Into<String>) -> Self {
        TrapCause::Descriptor { engine, field: field.word().to_owned(), value, expected: expected.into() }
    }
}

/// Where and why a run stopped short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trap {
    /// Why.
    #[serde(flatten)]
    pub cause: TrapCause,
    /// Index of the instruction.
    pub pc: u32,
    /// Its text.
    pub instruction: String,
    /// Source file and line, where the image knows them.
    pub line: Option<(String, u32)>,
    /// Cycle at which it would have issued.
    pub cycle: u64,
    /// Open regions, outermost first.
    pub regions: Vec<String>,
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.cause)?;
        write!(f, "  at pc {} `{}`, cycle {}", self.pc, self.instruction, self.cycle)?;
        if let Some((file, line)) = &self.line {
            write!(f, ", {file}:{line}")?;
        }
        if !self.regions.is_empty() {
            write!(f, "\n  in {}", self.regions.join(" > "))?;
        }
        Ok(())
    }
}
impl std::error::Error for Trap {}
