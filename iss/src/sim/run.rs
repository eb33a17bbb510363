//! The simulator as its users see it: load, bind, run, stop, look.

use std::collections::HashMap;

use super::grid::Grid;
use super::machine::{Fault, Machine, ProbeRecord};
use super::options::Options;
use super::trap::{Memory, Trap, TrapCause};
use crate::image::{Direction, Entry, Image, ParamKind, Space};
use crate::isa::Inst;
use crate::isa::operand::{Operand, OperandError, SReg, Src};
use crate::profile::Profile;

/// Buffers and constants begin at multiples of this.
const BUFFER_ALIGN: u64 = 64;

/// What an entry's parameter is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg<'a> {
    /// The bytes of an `in` or `inout` buffer, exactly as many as the parameter states.
    Bytes(&'a [u8]),
    /// The value of a scalar.
    Scalar(i32),
}

/// What a caller did wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message states its fields")]
pub enum SimError {
    #[error("the image has no entry point `{name}`; it has {known}")]
    NoEntry { name: String, known: String },
    #[error("entry point `{entry}` has no parameter `{name}`; it has {known}")]
    NoParam { entry: String, name: String, known: String },
    #[error("parameter `{name}` of `{entry}` was given twice")]
    Twice { entry: String, name: String },
    #[error("parameter `{name}` of `{entry}` is {expected}, not {found}")]
    Kind { entry: String, name: String, expected: &'static str, found: &'static str },
    #[error("parameter `{name}` of `{entry}` takes {expected} bytes, not {found}")]
    Length { entry: String, name: String, expected: u64, found: u64 },
    #[error("parameter `{name}` of `{entry}` was not given")]
    Missing { entry: String, name: String },
    #[error("the {memory} buffers and constants of `{entry}` take {needed} bytes, there are {available}")]
    Room { entry: String, memory: Memory, needed: u64, available: u64 },
    #[error(
        "target `{target}` has {cores} cores; the simulator runs one\nhelp: simulate one core of it with `cores=1`"
    )]
    Cores { target: String, cores: u32 },
    #[error("host path `{path}` is not available on this machine")]
    Path { path: String },
    #[error("no run was started\nhelp: call `start` first")]
    NotStarted,
    #[error("the run has ended: {how}")]
    Ended { how: String },
    #[error("nothing to stop at: {what}")]
    NoStop { what: String },
    #[error("cannot read `{operand}` while the program is stopped: {reason}")]
    Look { operand: String, reason: String },
    #[error("the trace cannot be written: {reason}")]
    Trace { kind: std::io::ErrorKind, reason: String },
}

/// Where [`Simulator::run_until`] stops, before the instruction there issues. An instruction at which the run has stopped
/// already is passed first, so that the same call again goes on to the next arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopAt {
    /// Before the next instruction: one step.
    Step,
    /// Before the instruction at a pc.
    Pc(u32),
    /// Before an instruction of a source line.
    Line(String, u32),
    /// At the first instruction that may issue at or after a cycle; at once if that has come.
    Cycle(u64),
    /// When a region of this name has been entered.
    Region(String),
}

/// Why a run came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The program ended.
    Halt,
    /// It reached what was asked for.
    At {
        /// Next instruction.
        pc: u32,
        /// Cycle at which it may issue.
        cycle: u64,
    },
    /// It cannot go on.
    Trap(Box<Trap>),
    /// A limit of the run was reached; it can go on when the limit is raised.
    Limit(Box<Trap>),
}

impl Stopped {
    /// The trap, for callers to whom anything but a halt is a failure.
    ///
    /// # Errors
    /// The trap or limit.
    pub fn into_result(self) -> Result<(), Box<Trap>> {
        match self {
            Stopped::Trap(trap) | Stopped::Limit(trap) => Err(trap),
            Stopped::Halt | Stopped::At { .. } => Ok(()),
        }
    }
}

/// What looks at a run while it goes on.
pub(super) trait Hooks {
    /// Whether there is anything to look; the fast loop is built without.
    const ACTIVE: bool;
    /// Before the instruction at `machine.pc` issues: whether to stop.
    fn before(&mut self, machine: &Machine) -> bool;
    /// After it issued at `cycle`, having stalled first.
    fn after(&mut self, machine: &Machine, pc: u32, cycle: u64);
}

struct NoHooks;
impl Hooks for NoHooks {
    const ACTIVE: bool = false;
    fn before(&mut self, _: &Machine) -> bool {
        false
    }
    fn after(&mut self, _: &Machine, _: u32, _: u64) {}
}

struct Break<'a> {
    at: &'a StopAt,
    pcs: Vec<std::ops::Range<u32>>,
    regions: usize,
    /// Whether the next instruction issues whatever it is: the last run stopped there, and nothing would move otherwise.
    pass: bool,
    issued: bool,
}
impl Hooks for Break<'_> {
    const ACTIVE: bool = true;
    fn before(&mut self, machine: &Machine) -> bool {
        let pass = std::mem::take(&mut self.pass);
        let entered = machine.regions.len() > self.regions;
        self.regions = machine.regions.len();
        match self.at {
            StopAt::Step => self.issued,
            StopAt::Pc(_) | StopAt::Line(..) => !pass && self.pcs.iter().any(|range| range.contains(&machine.pc)),
            StopAt::Cycle(cycle) => machine.now >= *cycle,
            StopAt::Region(name) => entered && machine.regions.last().is_some_and(|id| machine.name(*id) == *name),
        }
    }
    fn after(&mut self, _: &Machine, _: u32, _: u64) {
        self.issued = true;
    }
}

/// Where a buffer of the current run lies.
#[derive(Clone, Copy, Debug)]
struct Placed {
    space: Space,
    address: u64,
    len: u64,
}

/// A program and the machine that runs it.
///
/// ```
/// use iss::builder::{Emit, Program, imm, w};
/// use iss::sim::{Options, Simulator, Stopped};
/// use iss::target::QC_U;
///
/// let mut p = Program::new(&QC_U);
/// p.entry("main");
/// p.mov(w(0), imm(20)).add(w(4), w(0), imm(22)).halt();
/// let image = p.finish()?;
///
/// let mut sim = Simulator::new(&image, Options::default())?;
/// sim.start("main", &[])?;
/// assert_eq!(sim.run()?, Stopped::Halt);
/// assert_eq!(sim.value_of("[4]")?.get(31, 31), Some(42));
/// assert_eq!(sim.profile().expect("a run was started").cycles, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Simulator {
    image: Image,
    options: Options,
    machine: Option<Machine>,
    /// The entry point of the run.
    entry: String,
    placed: HashMap<String, Placed>,
    ended: Option<Stopped>,
    /// Whether the run has stopped at the next instruction.
    stopped: bool,
}

impl Simulator {
    /// A simulator for an image.
    ///
    /// # Errors
    /// [`SimError::Cores`] for a target of several cores, [`SimError::Path`] for a host path this host lacks.
    pub fn new(image: &Image, options: Options) -> Result<Self, SimError> {
        let target = image.target();
        let cores = target.spec().cores;
        if cores != 1 {
            return Err(SimError::Cores { target: target.to_string(), cores });
        }
        if let Some(path) = options.simd.filter(|path| !path.available()) {
            return Err(SimError::Path { path: path.to_string() });
        }
        Ok(Self {
            image: image.clone(),
            options,
            machine: None,
            entry: String::new(),
            placed: HashMap::new(),
            ended: None,
            stopped: false,
        })
    }

    /// The image.
    pub const fn image(&self) -> &Image {
        &self.image
    }

    /// Resets the machine and places constants and buffers: external ones behind the constants, on-chip ones from
    /// address 0, each at a multiple of 64 in the order of the entry's parameters. `out` buffers begin as zeros.
    ///
    /// # Errors
    /// Those of a caller who names an entry or parameter that is not there, gives bytes of another length, or asks for
    /// more room than there is.
    pub fn start(&mut self, entry: &str, args: &[(&str, Arg<'_>)]) -> Result<(), SimError> {
        let entry = self.image.entry(entry).cloned().ok_or_else(|| SimError::NoEntry {
            name: entry.to_owned(),
            known: list(self.image.entries().iter().map(|e| e.name.as_str())),
        })?;
        check_args(&entry, args)?;
        let constants = self.image.constants().len() as u64;
        let (placed, ext_bytes) = place(&entry, constants, self.image.target().spec().ocm_bytes as u64, &self.options)?;
        let mut machine = Machine::new(&self.image, self.options.clone(), ext_bytes as usize);
        machine.ext.slice_mut(0, constants as usize).copy_from_slice(self.image.constants());
        machine.pc = entry.pc;
        let mut set = |reg: SReg, value: i32| machine.scalars[reg.get() as usize] = value;
        if let Some(reg) = entry.constants_reg {
            set(reg, 0);
        }
        for param in &entry.params {
            match placed.get(&param.name) {
                Some(at) => set(param.reg, at.address as i32),
                None => {
                    if let Some(Arg::Scalar(value)) = args.iter().find(|(n, _)| *n == param.name).map(|(_, a)| a) {
                        set(param.reg, *value);
                    }
                }
            }
        }
        for (name, arg) in args {
            if let (Arg::Bytes(bytes), Some(at)) = (arg, placed.get(*name)) {
                memory(&mut machine, at.space).slice_mut(at.address, bytes.len()).copy_from_slice(bytes);
            }
        }
        self.entry = entry.name;
        (self.machine, self.placed, self.ended, self.stopped) = (Some(machine), placed, None, false);
        Ok(())
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// [`SimError::NotStarted`], [`SimError::Ended`].
    pub fn run(&mut self) -> Result<Stopped, SimError> {
        self.drive(&mut NoHooks)
    }

    /// Runs to the end, telling `trace` of every instruction.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`SimError::Trace`] if the trace cannot be written.
    pub fn run_traced<W: std::io::Write>(&mut self, trace: &mut super::TraceWriter<W>) -> Result<Stopped, SimError> {
        let stopped = self.drive(trace)?;
        trace.finish().map_err(|error| SimError::Trace { kind: error.kind(), reason: error.to_string() })?;
        Ok(stopped)
    }

    /// Issues one instruction.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn step(&mut self) -> Result<Stopped, SimError> {
        self.run_until(&StopAt::Step)
    }

    /// Runs until `at`, or to the end if that never comes.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`SimError::NoStop`] for a pc, line or region that the image does not have.
    pub fn run_until(&mut self, at: &StopAt) -> Result<Stopped, SimError> {
        let pcs: Vec<_> = match at {
            StopAt::Pc(pc) => std::iter::once(*pc..pc.saturating_add(1)).collect(),
            StopAt::Line(file, line) => self.image.lines().of_line(file, *line).collect(),
            _ => Vec::new(),
        };
        let code = self.image.code().len() as u32;
        let missing = match at {
            StopAt::Pc(pc) if *pc >= code => Some(format!("pc {pc}; the program has {code} instructions")),
            StopAt::Line(file, line) if pcs.is_empty() => Some(format!("no instruction comes from {file}:{line}")),
            StopAt::Region(name) if !self.image.names().contains(name) => Some(format!("no region is called `{name}`")),
            _ => None,
        };
        if let Some(what) = missing {
            return Err(SimError::NoStop { what });
        }
        let regions = self.machine.as_ref().map_or(0, |m| m.regions.len());
        self.drive(&mut Break { at, pcs, regions, pass: self.stopped, issued: false })
    }

    fn drive<H: Hooks>(&mut self, hooks: &mut H) -> Result<Stopped, SimError> {
        let machine = self.machine.as_mut().ok_or(SimError::NotStarted)?;
        if let Some(ended) = &self.ended {
            return Err(SimError::Ended { how: describe(ended) });
        }
        let stopped = match issue_loop(machine, hooks) {
            Ok(false) => Stopped::Halt,
            Ok(true) => match machine.flush() {
                Ok(()) => Stopped::At { pc: machine.pc, cycle: machine.now },
                Err(fault) => Stopped::Trap(report(machine, *fault)),
            },
            Err(fault) => {
                // What was issued before the fault is done, so that the state can be looked at.
                let earlier = machine.flush();
                let trap = report(machine, *earlier.err().unwrap_or(fault));
                match trap.cause {
                    TrapCause::CycleLimit { .. } | TrapCause::InstructionLimit { .. } => Stopped::Limit(trap),
                    _ => Stopped::Trap(trap),
                }
            }
        };
        self.stopped = true;
        if matches!(stopped, Stopped::Halt | Stopped::Trap(_)) {
            self.ended = Some(stopped.clone());
        }
        Ok(stopped)
    }

    /// Raises or lowers the limits of a run that reached them.
    pub fn set_limits(&mut self, max_cycles: u64, max_instructions: u64) {
        (self.options.max_cycles, self.options.max_instructions) = (max_cycles, max_instructions);
        if let Some(machine) = &mut self.machine {
            (machine.options.max_cycles, machine.options.max_instructions) = (max_cycles, max_instructions);
        }
    }

    /// The bytes of a buffer as they stand.
    ///
    /// # Errors
    /// [`SimError::NotStarted`], [`SimError::NoParam`].
    pub fn buffer(&self, name: &str) -> Result<&[u8], SimError> {
        let machine = self.machine.as_ref().ok_or(SimError::NotStarted)?;
        let (space, address, len) = self.place_of(name)?;
        let memory = if space == Space::Ext { &machine.ext } else { &machine.ocm };
        Ok(memory.slice(address, len as usize))
    }

    /// A value of every PE as the stopped program would read it.
    ///
    /// # Errors
    /// [`SimError::NotStarted`]; [`SimError::Look`] for the broadcast queue, bytes in flight or an address outside.
    pub fn value(&mut self, src: Src) -> Result<Grid, SimError> {
        let machine = self.machine.as_mut().ok_or(SimError::NotStarted)?;
        let look = |reason: String| SimError::Look { operand: src.to_string(), reason };
        if matches!(src, Src::Broadcast(_)) {
            return Err(look("reading the broadcast queue would change it".to_owned()));
        }
        let source = machine.marker_source(src).map_err(|fault| look(fault.to_string()))?;
        Ok(machine.grid_of(source))
    }

    /// As [`value`](Self::value), the operand as assembly text: `[16]`, `[17].b`, `a3`, `port.n`.
    ///
    /// # Errors
    /// As `value`, and [`SimError::Look`] for text that is no operand.
    pub fn value_of(&mut self, operand: &str) -> Result<Grid, SimError> {
        let look = |error: OperandError| SimError::Look { operand: operand.to_owned(), reason: error.to_string() };
        self.value(Src::parse(operand).map_err(look)?)
    }

    /// The scalar registers.
    ///
    /// # Errors
    /// [`SimError::NotStarted`].
    pub fn scalars(&self) -> Result<&[i32; 32], SimError> {
        Ok(&self.machine.as_ref().ok_or(SimError::NotStarted)?.scalars)
    }

    /// Bytes of on-chip memory.
    ///
    /// # Errors
    /// [`SimError::NotStarted`]; [`SimError::Look`] outside the memory.
    pub fn ocm(&self, address: u64, len: usize) -> Result<&[u8], SimError> {
        let machine = self.machine.as_ref().ok_or(SimError::NotStarted)?;
        let look = |fault: TrapCause| SimError::Look { operand: format!("{address:#x}"), reason: fault.to_string() };
        machine.ocm.check(i64::try_from(address).unwrap_or(i64::MAX), len as u64).map_err(look)?;
        Ok(machine.ocm.slice(address, len))
    }

    /// Memory, address and length of a buffer of the run.
    pub(super) fn place_of(&self, name: &str) -> Result<(Space, u64, u64), SimError> {
        let at = self.placed.get(name).ok_or_else(|| SimError::NoParam {
            entry: self.entry.clone(),
            name: name.to_owned(),
            known: list(self.placed.keys().map(String::as_str)),
        })?;
        Ok((at.space, at.address, at.len))
    }

    pub(super) fn machine_ref(&self) -> Option<&Machine> {
        self.machine.as_ref()
    }

    pub(super) fn machine_mut(&mut self) -> Result<&mut Machine, SimError> {
        self.machine.as_mut().ok_or(SimError::NotStarted)
    }

    /// Next instruction.
    pub fn pc(&self) -> Option<u32> {
        self.machine.as_ref().map(|m| m.pc)
    }

    /// Cycle at which the next instruction may issue: the cycles charged so far.
    pub fn cycle(&self) -> u64 {
        self.machine.as_ref().map_or(0, |m| m.now)
    }

    /// Instructions issued so far.
    pub fn instructions(&self) -> u64 {
        self.machine.as_ref().map_or(0, |m| m.executed)
    }

    /// What probes recorded so far.
    pub fn probes(&self) -> &[ProbeRecord] {
        self.machine.as_ref().map_or(&[], |m| &m.probes)
    }

    /// Where the cycles went so far.
    pub fn profile(&self) -> Option<Profile> {
        self.machine.as_ref().map(|m| m.recorder.clone().finish(m.now))
    }
}

/// Issues until halt (false), a hook's stop (true), a fault or a limit.
fn issue_loop<H: Hooks>(machine: &mut Machine, hooks: &mut H) -> Result<bool, Fault> {
    let (max_cycles, max_instructions) = (machine.options.max_cycles, machine.options.max_instructions);
    while !machine.halted {
        if H::ACTIVE && hooks.before(machine) {
            return Ok(true);
        }
        if machine.now >= max_cycles {
            return Err(TrapCause::CycleLimit { limit: max_cycles }.into());
        }
        if machine.executed >= max_instructions {
            return Err(TrapCause::InstructionLimit { limit: max_instructions }.into());
        }
        let (pc, cycle) = (machine.pc, machine.now);
        machine.issue_next()?;
        if H::ACTIVE {
            hooks.after(machine, pc, cycle);
        }
    }
    Ok(false)
}

/// The text of an instruction, a name as its words instead of its number.
fn named(machine: &Machine, inst: &Inst) -> String {
    match inst.name_id() {
        Some(id) => inst.to_string().replacen(&id.to_string(), &format!("\"{}\"", machine.name(id)), 1),
        None => inst.to_string(),
    }
}

fn report(machine: &Machine, cause: TrapCause) -> Box<Trap> {
    let pc = machine.pc;
    let instruction = machine
        .code
        .get(pc as usize)
        .map_or_else(|| "past the last instruction".to_owned(), |op| named(machine, &op.inst));
    let line = machine.lines.lookup(pc).map(|(file, line)| (file.to_owned(), line));
    let regions = machine.regions.iter().map(|id| machine.name(*id)).collect();
    Box::new(Trap { cause, pc, instruction, line, cycle: machine.now, regions })
}

fn describe(ended: &Stopped) -> String {
    match ended {
        Stopped::Trap(trap) => trap.cause.to_string(),
        _ => "it halted".to_owned(),
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.sort();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn memory(machine: &mut Machine, space: Space) -> &mut super::memory::ByteMemory {
    if space == Space::Ext { &mut machine.ext } else { &mut machine.ocm }
}

fn check_args(entry: &Entry, args: &[(&str, Arg<'_>)]) -> Result<(), SimError> {
    let entry_name = || entry.name.clone();
    for (i, (name, arg)) in args.iter().enumerate() {
        let owned = || (*name).to_owned();
        let Some(param) = entry.param(name) else {
            let known = list(entry.params.iter().map(|p| p.name.as_str()));
            return Err(SimError::NoParam { entry: entry_name(), name: owned(), known });
        };
        if args[..i].iter().any(|(n, _)| n == name) {
            return Err(SimError::Twice { entry: entry_name(), name: owned() });
        }
        let (expected, found) = match (param.kind, arg) {
            (ParamKind::Scalar, Arg::Scalar(_)) => continue,
            (ParamKind::Buffer { dir: Direction::Out, .. }, Arg::Bytes(_)) => {
                ("an output, which takes no bytes", "bytes")
            }
            (ParamKind::Buffer { len_bytes, .. }, Arg::Bytes(bytes)) if bytes.len() == len_bytes as usize => continue,
            (ParamKind::Buffer { len_bytes, .. }, Arg::Bytes(bytes)) => {
                let (expected, found) = (len_bytes as u64, bytes.len() as u64);
                return Err(SimError::Length { entry: entry_name(), name: owned(), expected, found });
            }
            (ParamKind::Scalar, Arg::Bytes(_)) => ("a scalar", "bytes"),
            (ParamKind::Buffer { .. }, Arg::Scalar(_)) => ("a buffer", "a scalar"),
        };
        return Err(SimError::Kind { entry: entry_name(), name: owned(), expected, found });
    }
    let needs = |kind: ParamKind| !matches!(kind, ParamKind::Buffer { dir: Direction::Out, .. });
    match entry.params.iter().find(|p| needs(p.kind) && !args.iter().any(|(n, _)| *n == p.name)) {
        Some(param) => Err(SimError::Missing { entry: entry_name(), name: param.name.clone() }),
        None => Ok(()),
    }
}

/// Addresses for the buffers of an entry, and the external bytes that they and the constants take.
fn place(
    entry: &Entry,
    constants: u64,
    ocm_bytes: u64,
    options: &Options,
) -> Result<(HashMap<String, Placed>, u64), SimError> {
    let mut placed = HashMap::new();
    let (mut ext, mut ocm) = (constants.next_multiple_of(BUFFER_ALIGN), 0u64);
    for param in &entry.params {
        let ParamKind::Buffer { space, len_bytes, .. } = param.kind else { continue };
        let end = if space == Space::Ext { &mut ext } else { &mut ocm };
        placed.insert(param.name.clone(), Placed { space, address: *end, len: len_bytes as u64 });
        *end = (*end + len_bytes as u64).next_multiple_of(BUFFER_ALIGN);
    }
    let limit = options.max_ext_bytes.min(u32::MAX as u64);
    for (memory, needed, available) in [(Memory::Ext, ext, limit), (Memory::Ocm, ocm, ocm_bytes)] {
        if needed > available {
            return Err(SimError::Room { entry: entry.name.clone(), memory, needed, available });
        }
    }
    Ok((placed, ext))
}

impl Machine {
    /// A source of the array as a grid, with the border if that executes.
    pub(super) fn grid_of(&self, source: super::array::Source) -> Grid {
        let spec = self.target.spec();
        let grid = Grid::new(spec.rows as usize, spec.cols as usize, spec.border as usize, self.array.read(source));
        if self.borders { grid } else { grid.without_border() }
    }

    /// The text of the instruction at a pc.
    pub(super) fn inst_at(&self, pc: u32) -> Option<Inst> {
        self.code.get(pc as usize).map(|op| op.inst)
    }
}
