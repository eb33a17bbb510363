//! Builds programs in Rust: one method per instruction, labels, loops and regions as closures, descriptors as structs.
//!
//! Operands are checked where they are given, but errors wait for [`Program::finish`], which reports all of them with the
//! place in the Rust source. What the program means is not checked here: that is the simulator's.
//!
//! ```
//! use iss::builder::*;
//!
//! let mut p = Program::new(&iss::target::QC_U);
//! p.entry("main").scalar("n", s(4));
//! p.mov(acc(0), 0);
//! p.loop_n(s(4), |p| {
//!     p.region("count", |p| {
//!         p.add(acc(0), acc(0), w(16));
//!     });
//! });
//! let done = p.label();
//! p.branch(Cond::Eq, s(4), 0, done);
//! p.mov(w(16), acc(0));
//! p.bind(done);
//! p.halt();
//! let image = p.finish().unwrap();
//! assert_eq!(image.decode().len(), 8);
//! ```

mod arg;
mod desc;
mod error;
mod rows;

pub use arg::{Arg, At, Imm, Num, Value, acc, b, d, h, imm, q, s, t, w};
pub use desc::{BroadcastDesc, Desc, DmaDesc, FlowDesc, RauDesc};
pub use error::{BuildError, Cause, Fault};
pub use rows::Emit;

pub use crate::image::Direction;
pub use crate::isa::operand::{Cond, Dir, Dirs, Engine, Engines, Field, MacShape, Src, Tiles};

use std::panic::Location;

use crate::image::{Entry, Image, ImageParts, Interner, LineRange, MAX_CODE, MAX_CONSTANTS, Param, ParamKind, Space};
use crate::isa::operand::{CodeAddr, DReg, NameId, OperandError, SReg, Trips};
use crate::isa::{Inst, InstError};
use crate::target::Target;

/// Alignment of each constant in bytes: a burst of external memory, so that none straddles one more than it must.
pub const CONSTANT_ALIGN: usize = 64;
/// Faults that are kept; a program that is wrong in a loop has millions.
const MAX_FAULTS: usize = 100;

/// A place in the code, known once [`bound`](Program::bind).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(u32);

/// A program under construction.
#[derive(Debug)]
pub struct Program {
    parts: ImageParts,
    insts: Vec<Inst>,
    names: Interner,
    files: Interner,
    labels: Vec<Option<u32>>,
    fixups: Vec<Fixup>,
    line: Option<(u32, u32)>,
    faults: Vec<Fault>,
}

/// An instruction that waits for its label.
#[derive(Clone, Copy, Debug)]
struct Fixup {
    pc: u32,
    label: Label,
    location: &'static Location<'static>,
}

impl Program {
    /// An empty program for a target.
    pub fn new(target: &Target) -> Self {
        Self {
            parts: ImageParts::new(target.clone()),
            insts: Vec::new(),
            names: Interner::default(),
            files: Interner::default(),
            labels: Vec::new(),
            fixups: Vec::new(),
            line: None,
            faults: Vec::new(),
        }
    }

    /// The machine for which the program is built.
    pub const fn target(&self) -> &Target {
        &self.parts.target
    }

    /// The index of the next instruction.
    pub fn pc(&self) -> u32 {
        self.insts.len() as u32
    }

    /// Appends an instruction made elsewhere.
    #[track_caller]
    pub fn inst(&mut self, inst: Inst) -> &mut Self {
        let made = match Inst::decode(inst.encode()) {
            Ok(back) if back == inst => Ok(inst),
            Ok(_) => Err(InstError::Combination { inst: inst.to_string(), reason: "an operand is out of its range" }),
            Err(error) => Err(error),
        };
        self.emit(made)
    }

    /// A label to be bound later; jumps, branches, calls and loops may name it before that.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// A label of the next instruction.
    pub fn here(&mut self) -> Label {
        self.labels.push(Some(self.pc()));
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts a label before the next instruction.
    #[track_caller]
    pub fn bind(&mut self, label: Label) -> &mut Self {
        let pc = self.pc();
        match self.labels.get_mut(label.0 as usize) {
            Some(place @ None) => *place = Some(pc),
            Some(Some(first)) => {
                let first = *first;
                self.fault(Cause::LabelTwice { first });
            }
            None => self.fault(Cause::ForeignLabel),
        }
        self
    }

    /// A hardware loop around what `body` emits, at least one instruction; trips from a number or a scalar register.
    #[track_caller]
    pub fn loop_n(&mut self, trips: impl Into<Value>, body: impl FnOnce(&mut Self)) -> &mut Self {
        let end = self.label();
        match trips.into() {
            Value::Imm(trips) => self.loop_i(Num::<Trips>::new(trips), end),
            Value::Reg(reg) => self.loop_s(Num::<SReg>::new(reg), end),
        };
        body(self);
        self.bind(end)
    }

    /// A region of the profile around what `body` emits.
    #[track_caller]
    pub fn region(&mut self, name: &str, body: impl FnOnce(&mut Self)) -> &mut Self {
        Emit::region(self, name);
        body(self);
        self.region_end()
    }

    /// The id of a name; the same text has one id.
    pub fn name(&mut self, name: &str) -> Result<NameId, OperandError> {
        NameId::new(self.names.id(name) as i64)
    }

    /// The source line of the instructions from here on, counted from 1.
    pub fn line(&mut self, file: &str, line: u32) -> &mut Self {
        self.line = Some((self.files.id(file), line));
        self
    }

    /// The instructions from here on come from no source line.
    pub fn no_line(&mut self) -> &mut Self {
        self.line = None;
        self
    }

    /// Appends constants and gives their offset in bytes from the start of the constants, a multiple of
    /// [`CONSTANT_ALIGN`].
    #[track_caller]
    pub fn constant(&mut self, bytes: &[u8]) -> u32 {
        let at = self.parts.constants.len().next_multiple_of(CONSTANT_ALIGN);
        if at + bytes.len() > MAX_CONSTANTS {
            self.fault(Cause::Constants { len_bytes: at + bytes.len(), limit: MAX_CONSTANTS });
            return 0;
        }
        self.parts.constants.resize(at, 0);
        self.parts.constants.extend_from_slice(bytes);
        at as u32
    }

    /// An entry point at the next instruction; the calls behind add its parameters.
    pub fn entry(&mut self, name: &str) -> EntryBuilder<'_> {
        let (name, pc) = (name.to_owned(), self.pc());
        self.parts.entries.push(Entry { name, pc, params: Vec::new(), constants_reg: None });
        EntryBuilder { program: self }
    }

    /// Clears a descriptor register and sets the fields that are not 0.
    #[track_caller]
    fn descriptor(&mut self, desc: impl Arg<DReg>, fields: &impl Desc) -> &mut Self {
        match desc.arg(self) {
            Ok(desc) => {
                self.d_clear(desc);
                for (field, value) in fields.fields() {
                    if value != Value::Imm(0) {
                        self.d_set(desc, field, value);
                    }
                }
                self
            }
            Err(error) => self.emit(Err(InstError::Operand { mnemonic: "d_clear", field: "desc", error })),
        }
    }

    /// Sets a descriptor for [`flow_in`](Emit::flow_in) or [`flow_out`](Emit::flow_out).
    #[track_caller]
    pub fn flow(&mut self, desc: impl Arg<DReg>, fields: &FlowDesc) -> &mut Self {
        self.descriptor(desc, fields)
    }
    /// Sets a descriptor for [`bcast`](Emit::bcast).
    #[track_caller]
    pub fn broadcast(&mut self, desc: impl Arg<DReg>, fields: &BroadcastDesc) -> &mut Self {
        self.descriptor(desc, fields)
    }
    /// Sets a descriptor for [`rau_load`](Emit::rau_load) or [`rau_store`](Emit::rau_store).
    #[track_caller]
    pub fn rau(&mut self, desc: impl Arg<DReg>, fields: &RauDesc) -> &mut Self {
        self.descriptor(desc, fields)
    }
    /// Sets a descriptor for [`dma_in`](Emit::dma_in) or [`dma_out`](Emit::dma_out).
    #[track_caller]
    pub fn dma(&mut self, desc: impl Arg<DReg>, fields: &DmaDesc) -> &mut Self {
        self.descriptor(desc, fields)
    }

    /// The finished image.
    ///
    /// # Errors
    /// Every fault of the program: operands out of range, labels never bound, what an image does not allow.
    pub fn finish(mut self) -> Result<Image, BuildError> {
        self.patch();
        if !self.faults.is_empty() {
            return Err(BuildError { faults: self.faults });
        }
        self.parts.names = self.names.into_list();
        self.parts.lines.files = self.files.into_list();
        self.parts.code = self.insts.iter().map(Inst::encode).collect();
        Image::new(self.parts).map_err(|error| BuildError { faults: vec![Fault::of_image(error)] })
    }

    /// Gives every instruction that names a label its address.
    fn patch(&mut self) {
        for Fixup { pc, label, location } in std::mem::take(&mut self.fixups) {
            let cause = match self.labels.get(label.0 as usize) {
                Some(Some(at)) => match CodeAddr::new(*at as i64) {
                    Ok(addr) => {
                        let inst = &mut self.insts[pc as usize];
                        *inst = inst.with_code_addr(addr);
                        continue;
                    }
                    Err(error) => Cause::Inst(InstError::Operand { mnemonic: "label", field: "to", error }),
                },
                Some(None) => Cause::LabelUnbound,
                None => Cause::ForeignLabel,
            };
            self.push_fault(Fault { pc: Some(pc), location: Some(location), cause });
        }
    }

    /// Appends an instruction, or a placeholder that keeps the addresses of those behind it.
    #[track_caller]
    fn emit(&mut self, made: Result<Inst, InstError>) -> &mut Self {
        if self.insts.len() >= MAX_CODE {
            self.fault(Cause::TooLong { limit: MAX_CODE });
            return self;
        }
        // No closure: it would hide the caller's location.
        let inst = match made {
            Ok(inst) => inst,
            Err(error) => {
                self.fault(Cause::Inst(error));
                Inst::Nop {}
            }
        };
        if let Some((file, line)) = self.line {
            let start = self.pc();
            self.parts.lines.append(LineRange { start, end: start + 1, file, line });
        }
        self.insts.push(inst);
        self
    }

    #[track_caller]
    fn fault(&mut self, cause: Cause) {
        let fault = Fault { pc: Some(self.pc()), location: Some(Location::caller()), cause };
        self.push_fault(fault);
    }

    fn push_fault(&mut self, fault: Fault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }
}

/// Adds parameters to an entry point.
#[derive(Debug)]
pub struct EntryBuilder<'p> {
    program: &'p mut Program,
}

impl EntryBuilder<'_> {
    /// A buffer in external memory whose address is in `reg`.
    #[track_caller]
    pub fn ext(self, name: &str, dir: Direction, len_bytes: u32, reg: impl Arg<SReg>) -> Self {
        self.param(name, ParamKind::Buffer { space: Space::Ext, dir, len_bytes }, reg)
    }
    /// A buffer in on-chip memory whose address is in `reg`.
    #[track_caller]
    pub fn ocm(self, name: &str, dir: Direction, len_bytes: u32, reg: impl Arg<SReg>) -> Self {
        self.param(name, ParamKind::Buffer { space: Space::Ocm, dir, len_bytes }, reg)
    }
    /// A value in `reg`.
    #[track_caller]
    pub fn scalar(self, name: &str, reg: impl Arg<SReg>) -> Self {
        self.param(name, ParamKind::Scalar, reg)
    }
    /// Puts the address of the constants in external memory into `reg`.
    #[track_caller]
    pub fn constants(mut self, reg: impl Arg<SReg>) -> Self {
        if let Some(reg) = self.register(reg) {
            self.last().constants_reg = Some(reg);
        }
        self
    }

    #[track_caller]
    fn param(mut self, name: &str, kind: ParamKind, reg: impl Arg<SReg>) -> Self {
        if let Some(reg) = self.register(reg) {
            self.last().params.push(Param { name: name.to_owned(), kind, reg });
        }
        self
    }

    #[track_caller]
    fn register(&mut self, reg: impl Arg<SReg>) -> Option<SReg> {
        match reg.arg(self.program) {
            Ok(reg) => Some(reg),
            Err(error) => {
                self.program.fault(Cause::Param(error));
                None
            }
        }
    }

    fn last(&mut self) -> &mut Entry {
        self.program.parts.entries.last_mut().expect("an entry builder comes from `entry`, which pushed one")
    }
}

#[cfg(test)]
mod tests;
