//! Lowering: from the kernel IR to an image of the array processor.
//!
//! Passes rewrite the IR, one file each, in the order of [`PASSES`]; each leaves a module that means the same and, in debug
//! builds, is verified again. What they leave is close to the instruction set: `alloc` gives values, buffers, tokens and
//! descriptors their places, `emit` writes the instructions.

mod address;
mod alloc;
mod double_buffer;
mod emit;
mod fold;
mod fuse;
mod immediate;
mod inline;
mod merge;
mod pipeline;
mod repeat;
mod schedule;
mod shift;
mod streams;
mod unroll;

use std::fmt;

use iss::image::Image;
use iss::target::Target;

use crate::ir::verify::{VerifyError, verify};
use crate::ir::{Loc, Module};

/// A pass: a name, and what it does.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Name, for [`Options::print_after`] and tests.
    pub name: &'static str,
    run: Run,
}

#[derive(Clone, Copy)]
enum Run {
    Plain(fn(&mut Module, &Target) -> Result<(), CompileError>),
    Noting(fn(&mut Module, &mut Vec<Note>) -> Result<(), CompileError>),
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Pass {
    /// Runs the pass on a verified module.
    ///
    /// # Errors
    /// What the pass cannot lower, named.
    pub fn run(&self, m: &mut Module, target: &Target) -> Result<(), CompileError> {
        self.run_noting(m, target, &mut Vec::new())
    }
    fn run_noting(&self, m: &mut Module, target: &Target, notes: &mut Vec<Note>) -> Result<(), CompileError> {
        match self.run {
            Run::Plain(run) => run(m, target),
            Run::Noting(run) => run(m, notes),
        }
    }
}

/// The passes in their order.
pub const PASSES: &[Pass] = &[
    Pass { name: "inline", run: Run::Plain(inline::inline) },
    Pass { name: "repeat", run: Run::Plain(repeat::repeat_streams) },
    Pass { name: "pipeline", run: Run::Noting(pipeline::pipeline) },
    Pass { name: "unroll", run: Run::Plain(unroll::unroll) },
    Pass { name: "streams", run: Run::Plain(streams::start_streams) },
    Pass { name: "shift", run: Run::Plain(shift::lower_shifts) },
    Pass { name: "fold", run: Run::Plain(fold::fold) },
    Pass { name: "fuse", run: Run::Plain(fuse::fuse) },
    Pass { name: "address", run: Run::Plain(address::reduce_indices) },
    Pass { name: "immediate", run: Run::Plain(immediate::legalise) },
    Pass { name: "schedule", run: Run::Plain(schedule::schedule) },
];

/// How to compile.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Passes after which the IR is kept as text, in [`Report::printed`].
    pub print_after: Vec<String>,
    /// Passes to leave out. `inline` and `shift` are not optional.
    pub skip: Vec<String>,
}

/// Why a module is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message states its fields")]
pub enum CompileError {
    #[error(transparent)]
    Verify(VerifyError),
    #[error("after `{pass}`: {error}")]
    Broken { pass: &'static str, error: VerifyError },
    #[error("{}@{func}: {what}", line_of(*loc))]
    Unsupported { func: String, loc: Loc, what: String },
    #[error("@{func}: local memory takes {need} bytes, a PE has {have}; live at the peak: {live}")]
    LocalMemory { func: String, need: u32, have: u32, live: String },
    #[error("@{func}: on-chip memory takes {need} bytes, there are {have}; live at the peak: {live}")]
    OnChip { func: String, need: u32, have: u32, live: String },
    #[error("@{func}: more {what} are live at once than the {have} there are: {live}")]
    Registers { func: String, what: &'static str, have: u32, live: String },
    #[error("the image: {0}")]
    Build(String),
}

fn line_of(loc: Loc) -> String {
    if loc.line == 0 { String::new() } else { format!("line {}: ", loc.line) }
}

/// Something that is correct but slower than asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Kernel or function.
    pub func: String,
    /// Where.
    pub loc: Loc,
    /// What, and why.
    pub what: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}: {}", line_of(self.loc), self.func, self.what)
    }
}

/// Every reason, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileErrors(pub Vec<CompileError>);

impl fmt::Display for CompileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}
impl std::error::Error for CompileErrors {}

/// A compiled module.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program.
    pub image: Image,
    /// What it takes.
    pub report: Report,
}

/// What a compiled module takes.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Per kernel, in the order of the module.
    pub kernels: Vec<KernelReport>,
    /// What is slower than asked for: flows of pipelined loops that are waited for where they start.
    pub notes: Vec<Note>,
    /// The IR after the passes asked for, without locations.
    pub printed: Vec<(String, String)>,
}

/// What a kernel takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelReport {
    /// Name.
    pub name: String,
    /// Local memory at the peak, in bytes, buffers and values.
    pub lrm_peak_bytes: u32,
    /// Buffers and values live at that peak with their bytes and source lines.
    pub lrm_live: Vec<(String, u32, u32)>,
    /// On-chip memory at the peak, in bytes, parameters included.
    pub ocm_peak_bytes: u32,
    /// Where buffers lie on the chip, parameters apart.
    pub ocm_buffers: Vec<OcmBuffer>,
    /// Accumulators used.
    pub accumulators: u32,
    /// Scalar registers used.
    pub scalars: u32,
    /// Instructions by region (path with `/`; empty outside) and class.
    pub instructions: std::collections::BTreeMap<String, std::collections::BTreeMap<&'static str, u32>>,
}

/// A buffer on the chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OcmBuffer {
    /// Where it is allocated.
    pub loc: Loc,
    /// Its first byte.
    pub address: u32,
    /// Its bytes.
    pub bytes: u32,
}

/// Compiles the kernels of a module for a target.
///
/// # Errors
/// Every broken rule, or what the lowering cannot do, named.
pub fn compile(m: &Module, target: &Target, options: &Options) -> Result<Compiled, CompileErrors> {
    verify(m, Some(target)).map_err(|e| CompileErrors(e.into_iter().map(CompileError::Verify).collect()))?;
    let mut m = m.clone();
    let mut report = Report::default();
    for pass in PASSES {
        if options.skip.iter().any(|s| s == pass.name) && !["inline", "shift", "immediate"].contains(&pass.name) {
            continue;
        }
        pass.run_noting(&mut m, target, &mut report.notes).map_err(|e| CompileErrors(vec![e]))?;
        if cfg!(debug_assertions)
            && let Err(errors) = verify(&m, Some(target))
        {
            let broken = |error| CompileError::Broken { pass: pass.name, error };
            return Err(CompileErrors(errors.into_iter().map(broken).collect()));
        }
        if options.print_after.iter().any(|p| p == pass.name) {
            report.printed.push((pass.name.into(), m.bare().to_string()));
        }
    }
    let image = emit::emit(&m, target, &mut report).map_err(|e| CompileErrors(vec![e]))?;
    Ok(Compiled { image, report })
}
