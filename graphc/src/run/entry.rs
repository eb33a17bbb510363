//! An entry point: a kernel compiled for a machine, with what its parameters are bound to, and its runs.

use std::collections::HashMap;
use std::time::Instant;

use ccl_runtime::kernel::{Access, Arguments, CompiledKernel, InstanceError};
use ccl_runtime::lower;
use iss::profile::Profile;
use iss::sim::{Arg, Options, Simulator, Stopped};
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
    /// Seconds that simulating took.
    pub simulate_s: f64,
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
    /// `watch` is told the cycle and the region whenever one of `regions` is entered.
    ///
    /// # Errors
    /// [`EntryError::Parameter`], [`EntryError::Stopped`].
    pub fn run(&self, tensors: &mut Tensors, blob: &[u8], options: &Options) -> Result<EntryRun, EntryError> {
        let start = Instant::now();
        let mut sim = self.start(tensors, blob, options)?;
        let stopped = |reason: String| EntryError::Stopped { kernel: self.name.clone(), reason };
        match sim.run().map_err(|error| stopped(error.to_string()))? {
            Stopped::Halt => {}
            other => return Err(stopped(other.into_result().err().map_or_else(String::new, |trap| trap.to_string()))),
        }
        self.finish(&sim, tensors)?;
        let profile = sim.profile().ok_or_else(|| stopped("it was not started".to_owned()))?;
        Ok(EntryRun { profile, simulate_s: start.elapsed().as_secs_f64() })
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
            Some(Binding::Constants { offset, bytes }) => blob.get(*offset..offset + bytes).map(<[u8]>::to_vec),
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
