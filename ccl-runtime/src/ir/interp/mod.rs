//! An interpreter of the IR over plain per-PE arrays: the oracle for passes and lowering. Its arithmetic is its own, in 64
//! and 128 bit, and shares nothing with the simulator. It knows no time: what lands in local memory does so when it is
//! waited for, what leaves does so when it is handed over.
//!
//! Lanes that nothing defined are tracked: they spread through operations, and an undefined lane that decides something or
//! reaches an output is an error. Border columns are lanes like any other.

mod arithmetic;
mod exact;
mod operand;
mod operation;
mod transfer;

pub use arithmetic::alu;
pub(crate) use arithmetic::{cond_holds, scalar_op};

use iss::image::Direction;
use iss::target::Target;

use super::types::*;

/// A lane that nothing defined.
const UNDEF: i64 = i64::MIN;
/// A byte that nothing defined.
const UNDEF_BYTE: u16 = 0x100;

/// What a parameter is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg<'a> {
    /// Bytes of an `in` or `inout` buffer.
    Bytes(&'a [u8]),
    /// A scalar.
    Scalar(i32),
}

/// What a run gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// `out` and `inout` buffers by name.
    pub buffers: Vec<(String, Vec<u8>)>,
    /// Probed values by name: one row after the other, without borders; undefined lanes are `None`.
    pub probes: Vec<(String, Vec<Option<i32>>)>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message states its fields")]
pub enum InterpError {
    #[error("no kernel is called @{0}")]
    NoKernel(String),
    #[error("parameter %{name}: {what}")]
    Param { name: String, what: String },
    #[error("line {line}: an undefined value {what}")]
    Undefined { line: u32, what: String },
    #[error("byte {at} of %{name} is undefined")]
    UndefinedOutput { name: String, at: usize },
    #[error("line {line}: {what}")]
    Trap { line: u32, what: String },
    #[error("line {line}: assertion `{name}` is false at row {row}, column {col}")]
    Assertion { line: u32, name: String, row: u32, col: i32 },
    #[error("more than {0} operations")]
    Fuel(u64),
}

type Result<T> = std::result::Result<T, InterpError>;
type Lanes = Vec<i64>;

/// Runs a kernel on an array of the target's size.
///
/// # Errors
/// [`InterpError`]; the module is taken to be verified, and what the verifier refuses may end in a panic.
pub fn run(m: &Module, kernel: &str, target: &Target, args: &[(&str, Arg<'_>)]) -> Result<Outcome> {
    let f =
        m.func(kernel).filter(|f| f.kind == FuncKind::Kernel).ok_or_else(|| InterpError::NoKernel(kernel.into()))?;
    let spec = target.spec();
    let mut machine = Machine {
        m,
        rows: spec.rows as i64,
        cols: spec.cols as i64,
        border: spec.border as i64,
        memory: Vec::new(),
        ports: vec![vec![0; (spec.rows * (spec.cols + 2 * spec.border)) as usize]; 4],
        masks: vec![vec![Mask::On; (spec.rows * (spec.cols + 2 * spec.border)) as usize]],
        streams: std::collections::VecDeque::new(),
        fuel: 200_000_000,
        probes: Vec::new(),
        line: 0,
    };
    let mut frame = Frame { f, values: vec![Val::None; f.values.len()] };
    for p in &f.params {
        let name = f.name_of(p.id);
        let given = args.iter().find(|(n, _)| *n == name).map(|(_, a)| a);
        let fail = |what: &str| Err(InterpError::Param { name: name.into(), what: what.into() });
        frame.values[p.id.0 as usize] = match (f.ty(p.id), given) {
            (Type::Scalar, Some(Arg::Scalar(v))) => Val::S(*v),
            (Type::Ocm(n) | Type::Ext(n), given) => {
                let bytes = match given {
                    Some(Arg::Bytes(b)) if b.len() == n as usize => b.iter().map(|b| *b as u16).collect(),
                    None if p.dir == Direction::Out => vec![0; n as usize],
                    Some(Arg::Bytes(b)) => return fail(&format!("takes {n} bytes, not {}", b.len())),
                    _ => return fail("takes bytes"),
                };
                machine.memory.push(bytes);
                Val::Mem(machine.memory.len() - 1)
            }
            _ => return fail("takes a scalar"),
        };
    }
    machine.block(&mut frame, &f.body)?;
    let mut outcome = Outcome { probes: machine.probes, ..Outcome::default() };
    for p in f.params.iter().filter(|p| p.dir != Direction::In) {
        if let Val::Mem(i) = frame.values[p.id.0 as usize] {
            let name = f.name_of(p.id).to_owned();
            if let Some(at) = machine.memory[i].iter().position(|b| *b >= UNDEF_BYTE) {
                return Err(InterpError::UndefinedOutput { name, at });
            }
            outcome.buffers.push((name, machine.memory[i].iter().map(|b| *b as u8).collect()));
        }
    }
    Ok(outcome)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mask {
    Off,
    On,
    /// The condition is undefined here.
    Unknown,
}

#[derive(Clone, Debug)]
enum Val {
    None,
    S(i32),
    Q(Lanes),
    Acc(Vec<Lanes>),
    /// Bytes of all instances, each with a value per lane; bytes of an instance; the instance held.
    Lrm {
        bytes: Vec<Vec<u16>>,
        len: usize,
        now: usize,
    },
    /// Byte offset into an instance.
    Addr(i64),
    Mem(usize),
    Flow {
        out: bool,
        walk: Walk,
        at: [i64; 4],
        taken: u64,
    },
    Token,
    Stream,
}

struct Frame<'a> {
    f: &'a Func,
    values: Vec<Val>,
}

/// A stream under way: its words in order, taken from the front.
struct Stream {
    memory: usize,
    at: i64,
    n0: i64,
    step0: i64,
    step1: i64,
    words: i64,
    taken: i64,
}

struct Machine<'a> {
    m: &'a Module,
    rows: i64,
    cols: i64,
    border: i64,
    memory: Vec<Vec<u16>>,
    ports: Vec<Lanes>,
    masks: Vec<Vec<Mask>>,
    streams: std::collections::VecDeque<Stream>,
    fuel: u64,
    probes: Vec<(String, Vec<Option<i32>>)>,
    line: u32,
}

impl Machine<'_> {
    fn full(&self) -> i64 {
        self.cols + 2 * self.border
    }
    fn lanes(&self) -> usize {
        (self.rows * self.full()) as usize
    }
    fn lane(&self, row: i64, col: i64) -> usize {
        (row * self.full() + self.border + col) as usize
    }
    /// Row and column of a lane.
    fn place(&self, lane: usize) -> (i64, i64) {
        let lane = lane as i64;
        (lane / self.full(), lane % self.full() - self.border)
    }
    fn in_array(&self, lane: usize) -> bool {
        (0..self.cols).contains(&self.place(lane).1)
    }
    fn mask(&self) -> &[Mask] {
        self.masks.last().expect("one mask is always there")
    }
    fn undefined<T>(&self, what: &str) -> Result<T> {
        Err(InterpError::Undefined { line: self.line, what: what.into() })
    }
}
