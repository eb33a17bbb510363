//! An entry point: a kernel compiled for a machine, with what its parameters are bound to, and its runs.

use std::collections::HashMap;
use std::time::Instant;

use ccl_runtime::kernel::{Access, Arguments, CompiledKernel, InstanceError};
use ccl_runtime::lower;
use iss::isa::Inst;
use iss::profile::Profile;
use iss::sim::{Arg, Options, Simulator, StopAt, Stopped};
use iss::target::Target;

use crate::run::texts::Texts;

/// Tensors of the device by name.
pub type Tensors = HashMap<String, Vec<u8>>;

/// What a parameter stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// A tensor between kernels, or of the host.
    Tensor(String),
    /// So many bytes of the constants from there on.
    Constants {
        /// First byte.
        offset: usize,
        /// Bytes.
        bytes: usize,
    },
}

/// A compiled entry point.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Name of its function.
    pub name: String,
    /// The program.
    pub compiled: CompiledKernel,
    bindings: HashMap<String, Binding>,
    /// Seconds that compiling took.
    pub compile_s: f64,
}

/// What a run gave, beside tensors.
#[derive(Debug, Clone)]
pub struct EntryRun {
    /// Where the cycles went.
    pub profile: Profile,
    /// Seconds that simulating took, by region.
    pub regions_s: Vec<(String, f64)>,
}

/// Why an entry point does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// It does not compile.
    #[error("kernel `{kernel}`: {source}")]
    Compile {
        /// Its name.
        kernel: String,
        /// Why.
        source: Box<InstanceError>,
    },
    /// A parameter has no tensor, or one of another size.
    #[error("kernel `{kernel}`, parameter `{parameter}`: {reason}")]
    Parameter {
        /// The kernel.
        kernel: String,
        /// The parameter.
        parameter: String,
        /// What is wrong.
        reason: String,
    },
    /// The program ended before its end.
    #[error("kernel `{kernel}` stopped: {reason}")]
    Stopped {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: String,
    },
}

impl EntryRun {
    /// Seconds that simulating took.
    pub fn simulate_s(&self) -> f64 {
        self.regions_s.iter().map(|(_, seconds)| seconds).sum()
    }
}

impl Entry {
    /// Compiles a kernel of texts.
    ///
    /// # Errors
    /// [`EntryError::Compile`].
    pub fn compile(
        texts: &Texts,
        name: &str,
        bindings: impl IntoIterator<Item = (String, Binding)>,
        target: &Target,
    ) -> Result<Self, EntryError> {
        let start = Instant::now();
        let fault = |source| EntryError::Compile { kernel: name.to_owned(), source: Box::new(source) };
        let instance = texts.instance(name, target).map_err(fault)?;
        let compiled = instance.compile(&Arguments::new(), &lower::Options::default()).map_err(fault)?;
        let compile_s = start.elapsed().as_secs_f64();
        Ok(Self { name: name.to_owned(), compiled, bindings: bindings.into_iter().collect(), compile_s })
    }

    /// Runs it on the simulator: reads tensors and constants, adds or replaces what it writes.
    ///
    /// # Errors
    /// [`EntryError::Parameter`], [`EntryError::Stopped`].
    pub fn run(&self, tensors: &mut Tensors, blob: &[u8], options: &Options) -> Result<EntryRun, EntryError> {
        self.run_by_regions(tensors, blob, options, &[], &mut |_, _| {})
    }

    /// As [`run`](Self::run), telling `begin` of each of these regions when it is first entered, and of the cycles so far. What is
    /// simulated before the first one counts as its own.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_by_regions(
        &self,
        tensors: &mut Tensors,
        blob: &[u8],
        options: &Options,
        regions: &[String],
        begin: &mut dyn FnMut(&str, u64),
    ) -> Result<EntryRun, EntryError> {
        let stopped = |reason: String| EntryError::Stopped { kernel: self.name.clone(), reason };
        let fault = |error: iss::sim::SimError| stopped(error.to_string());
        let mut start = Instant::now();
        let mut sim = self.start(tensors, blob, options)?;
        let mut regions_s: Vec<(String, f64)> = Vec::new();
        let mut how = Stopped::At { pc: 0, cycle: 0 };
        let mut end_part = |name: &str, start: &mut Instant| {
            regions_s.push((name.to_owned(), start.elapsed().as_secs_f64()));
            *start = Instant::now();
        };
        let mut current: Option<&str> = None;
        for (pc, region) in self.begins(regions) {
            how = sim.run_until(&StopAt::Pc(pc)).map_err(fault)?;
            if !matches!(how, Stopped::At { .. }) {
                break;
            }
            if let Some(name) = current.replace(region) {
                end_part(name, &mut start);
            }
            begin(region, sim.cycle());
        }
        if matches!(how, Stopped::At { .. }) {
            how = sim.run().map_err(fault)?;
        }
        end_part(current.unwrap_or(&self.name), &mut start);
        how.into_result().map_err(|trap| stopped(trap.to_string()))?;
        self.finish(&sim, tensors)?;
        let profile = sim.profile().ok_or_else(|| stopped("it was not started".to_owned()))?;
        Ok(EntryRun { profile, regions_s })
    }

    /// Where regions begin in the code, in its order.
    fn begins<'r>(&self, regions: &'r [String]) -> Vec<(u32, &'r str)> {
        let image = &self.compiled.image;
        let mut begins = Vec::new();
        for (pc, inst) in image.decode().into_iter().enumerate() {
            if let Inst::Region { name: id } = inst
                && let Some(name) = regions.iter().find(|name| **name == image.name(id))
                && begins.iter().all(|(_, known)| *known != name.as_str())
            {
                begins.push((pc as u32, name.as_str()));
            }
        }
        begins
    }

    /// Bytes of the tensor that a parameter takes.
    pub fn parameter_bytes(&self, name: &str) -> Option<usize> {
        self.compiled.tensors.iter().find(|tensor| tensor.param == name).map(|tensor| tensor.ty.size_bytes())
    }

    /// A simulator at the start of the program.
    ///
    /// # Errors
    /// [`EntryError::Parameter`], or [`EntryError::Stopped`] for a machine that is not simulated.
    pub fn start(&self, tensors: &Tensors, blob: &[u8], options: &Options) -> Result<Simulator, EntryError> {
        let stopped = |reason: String| EntryError::Stopped { kernel: self.name.clone(), reason };
        let mut buffers: Vec<(&str, Vec<u8>)> = Vec::new();
        for tensor in &self.compiled.tensors {
            let mut bytes = self.bytes(&tensor.param, tensor.ty.access, tensor.ty.size_bytes(), tensors, blob)?;
            bytes.resize(tensor.buffer_bytes(), 0);
            buffers.push((&tensor.name, bytes));
        }
        let mut sim =
            Simulator::new(&self.compiled.image, options.clone()).map_err(|error| stopped(error.to_string()))?;
        let given: Vec<(&str, Arg<'_>)> = buffers.iter().map(|(name, bytes)| (*name, Arg::Bytes(bytes))).collect();
        sim.start(&self.compiled.kernel, &given).map_err(|error| stopped(error.to_string()))?;
        Ok(sim)
    }

    /// Takes what the program has written.
    ///
    /// # Errors
    /// [`EntryError::Parameter`] for an output that is bound to nothing.
    pub fn finish(&self, sim: &Simulator, tensors: &mut Tensors) -> Result<(), EntryError> {
        for tensor in self.compiled.tensors.iter().filter(|tensor| tensor.ty.access == Access::Write) {
            let Some(Binding::Tensor(name)) = self.bindings.get(&tensor.param) else {
                return Err(self.parameter(&tensor.param, "is written, but bound to no tensor".to_owned()));
            };
            let bytes = sim.buffer(&tensor.name).map_err(|error| self.parameter(&tensor.param, error.to_string()))?;
            tensors.insert(name.clone(), bytes[..tensor.ty.size_bytes()].to_vec());
        }
        Ok(())
    }

    fn bytes(
        &self,
        param: &str,
        access: Access,
        len: usize,
        tensors: &Tensors,
        blob: &[u8],
    ) -> Result<Vec<u8>, EntryError> {
        let found = match self.bindings.get(param) {
            None => return Err(self.parameter(param, "is bound to nothing".to_owned())),
            Some(Binding::Constants { offset, bytes }) => {
                offset.checked_add(*bytes).and_then(|end| blob.get(*offset..end)).map(<[u8]>::to_vec)
            }
            Some(Binding::Tensor(_)) if access == Access::Write => Some(vec![0; len]),
            Some(Binding::Tensor(name)) => tensors.get(name).cloned(),
        };
        match found {
            Some(bytes) if bytes.len() == len => Ok(bytes),
            Some(bytes) => Err(self.parameter(param, format!("{} bytes are given, expected {len}", bytes.len()))),
            None => Err(self.parameter(param, "there are no bytes for it".to_owned())),
        }
    }

    fn parameter(&self, parameter: &str, reason: String) -> EntryError {
        EntryError::Parameter { kernel: self.name.clone(), parameter: parameter.to_owned(), reason }
    }
}
