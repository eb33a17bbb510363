//! The reference machine: what a program means, written down as plainly as possible and sharing no code with the
//! simulator. One instruction at a time, one PE at a time, every effect at once; no time, no engines that run beside.
//!
//! It takes well-formed programs: addresses, descriptors and stacks are not checked. What it does check is what depends
//! on data or on the order of instructions: bytes in flight, division by zero, assertions.

pub mod alu;
mod engines;
mod step;

use std::collections::{HashMap, HashSet, VecDeque};

use iss::isa::Inst;
use iss::isa::operand::{Engine, Field};
use iss::sim::Memory;
use iss::target::Target;

/// One processing element.
#[derive(Clone, Debug)]
pub struct Pe {
    pub row: i32,
    pub col: i32,
    pub core: bool,
    pub lrm: Vec<u8>,
    pub acc: [i32; 16],
    /// By `Dir`: what the neighbour on that side sent.
    pub port: [i32; 4],
    pub pred: bool,
    pub on: bool,
    pub stack: Vec<bool>,
}

/// Why a program stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// An instruction touched bytes in flight.
    Hazard(Memory),
    /// A transfer touched bytes that another has in flight.
    EngineHazard(Memory),
    Division,
    Assertion,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Halt,
    Stop { pc: u32, why: Why },
}

/// Transfers that read and write each byte of a memory.
#[derive(Clone, Debug)]
pub struct Marks {
    reading: Vec<u32>,
    writing: Vec<u32>,
}

impl Marks {
    fn new(len: usize) -> Self {
        Self { reading: vec![0; len], writing: vec![0; len] }
    }
    /// Whether reading (writing) the byte collides with a transfer.
    fn hits(&self, writes: bool, byte: usize) -> bool {
        self.writing[byte] > 0 || (writes && self.reading[byte] > 0)
    }
    fn add(&mut self, writes: bool, byte: usize, n: i32) {
        let side = if writes { &mut self.writing } else { &mut self.reading };
        side[byte] = side[byte].checked_add_signed(n).expect("marks balance");
    }
}

/// A transfer in flight.
#[derive(Clone, Debug)]
struct Live {
    token: u8,
    engine: Engine,
    flow: Option<engines::Flow>,
    /// Bytes held until the wait, other than a flow's: on chip, outside, in local memory; with whether they are written.
    ocm: Vec<(bool, usize)>,
    ext: Vec<(bool, usize)>,
    lrm: Vec<(bool, usize)>,
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Model {
    code: Vec<Inst>,
    pub pes: Vec<Pe>,
    pub rows: i32,
    pub cols: i32,
    pub border: i32,
    pub scalars: [i32; 32],
    pub ocm: Vec<u8>,
    pub ext: Vec<u8>,
    descriptors: Vec<HashMap<Field, i32>>,
    live: Vec<Live>,
    queue: VecDeque<[u8; 16]>,
    words: usize,
    ocm_marks: Marks,
    ext_marks: Marks,
    lrm_marks: Marks,
    calls: Vec<(u32, usize)>,
    loops: Vec<(u32, u32, u32)>,
    pc: u32,
    next: u32,
    pub executed: u64,
    /// Opcodes executed.
    pub seen: HashSet<u8>,
    /// What probes saw: instruction, and the value of every PE, row by row, the border with them.
    pub probes: Vec<(u32, Vec<i32>)>,
}

impl Model {
    pub fn new(target: &Target, code: Vec<Inst>, ocm: Vec<u8>, ext: Vec<u8>) -> Self {
        let spec = target.spec();
        let (rows, cols, border) = (spec.rows as i32, spec.cols as i32, spec.border as i32);
        let place = |row: i32| (-border..cols + border).map(move |col| (row, col));
        let pe = |(row, col)| Pe {
            row,
            col,
            core: (0..cols).contains(&col),
            lrm: vec![0; spec.lrm_bytes as usize],
            acc: [0; 16],
            port: [0; 4],
            pred: false,
            on: true,
            stack: Vec::new(),
        };
        Self {
            code,
            pes: (0..rows).flat_map(place).map(pe).collect(),
            rows,
            cols,
            border,
            scalars: [0; 32],
            ocm_marks: Marks::new(ocm.len()),
            ext_marks: Marks::new(ext.len()),
            lrm_marks: Marks::new(spec.lrm_bytes as usize),
            ocm,
            ext,
            descriptors: vec![HashMap::new(); 8],
            live: Vec::new(),
            queue: VecDeque::new(),
            words: 0,
            calls: Vec::new(),
            loops: Vec::new(),
            pc: 0,
            next: 0,
            executed: 0,
            seen: HashSet::new(),
            probes: Vec::new(),
        }
    }

    /// Position of a PE in the list; none outside array and border.
    fn at(&self, row: i32, col: i32) -> Option<usize> {
        let inside = (0..self.rows).contains(&row) && (-self.border..self.cols + self.border).contains(&col);
        inside.then(|| (row * (self.cols + 2 * self.border) + col + self.border) as usize)
    }

    /// Runs from `pc` to the end.
    pub fn run(&mut self, pc: u32) -> End {
        self.pc = pc;
        loop {
            let inst = self.code[self.pc as usize];
            self.next = self.pc + 1;
            self.executed += 1;
            self.seen.insert(inst.opcode());
            assert!(self.executed < 1_000_000, "the generator makes programs that end");
            if let Err(why) = self.step(inst) {
                return End::Stop { pc: self.pc, why };
            }
            if matches!(inst, Inst::Halt {}) {
                return End::Halt;
            }
            self.pc = self.next;
            // Bodies that end here go round, the innermost first; only loops of this call count.
            while self.loops.len() > self.calls.last().map_or(0, |call| call.1) {
                let (start, end, left) = *self.loops.last().expect("just counted");
                if self.pc != end {
                    break;
                }
                self.loops.pop();
                if left > 0 {
                    self.loops.push((start, end, left - 1));
                    self.pc = start;
                    break;
                }
            }
        }
    }
}
