//! Kernels as subjects of a check: those of a `ccl!` block, and those that were read from text.

use std::panic::{AssertUnwindSafe, catch_unwind};

use iss::sim::{Simulator, Stopped};

use super::check::{ReferenceRun, Subject};
use super::cost::Cost;
use super::mismatch::Origin;
use super::probe::Probed;
use crate::front::Markers;
use crate::interp::Limits;
use crate::kernel::{Arguments, CompiledKernel, Instance, InstanceError, Kernel, Param, Reference};
use crate::lower::Options;
use crate::native::{Probe, Probes, Session};

/// Operations that a report shows.
const HISTORY: usize = 8;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Subject for Kernel {
    fn name(&self) -> String {
        self.name.to_owned()
    }
    fn target(&self) -> String {
        self.target.spec().product.to_string()
    }
    fn params(&self) -> Vec<Param> {
        Kernel::params(self)
    }
    fn native(&self, arguments: &mut Arguments) -> Result<(), String> {
        self.run_native(&mut Session::new(self.target), arguments).map_err(text)
    }
    fn simulate(&self, arguments: &mut Arguments) -> Result<Cost, String> {
        simulate(self.name, &Instance::of_kernel(self).map_err(text)?, arguments)
    }
    fn origin(&self, arguments: &Arguments, output: &str, element: usize) -> Result<Option<Origin>, String> {
        origin(&Instance::of_kernel(self).map_err(text)?, arguments, output, element)
    }
    fn reference(&self, arguments: &mut Arguments) -> ReferenceRun {
        match self.reference {
            Reference::None { .. } => ReferenceRun::None,
            Reference::Missing => ReferenceRun::Missing,
            // A reference is the user's code: where extents surprise it, the check says whose panic it was.
            Reference::Golden { path, .. } => match catch_unwind(AssertUnwindSafe(|| self.run_reference(arguments))) {
                Ok(Ok(_)) => ReferenceRun::Done,
                Ok(Err(error)) => ReferenceRun::Failed(error.to_string()),
                Err(_) => ReferenceRun::Failed(format!("`{path}` panicked, with the message above")),
            },
        }
    }
    fn probes(&self, arguments: &Arguments) -> Result<Probed, String> {
        let mut session = Session::new(self.target);
        self.run_native(session.probes(Probes::Record), &mut arguments.clone()).map_err(text)?;
        simulated_probes(&Instance::of_kernel(self).map_err(text)?, session.probed().to_vec(), arguments)
    }
}

/// The interpreter is the native opinion; there is no reference.
impl Subject for Instance {
    fn name(&self) -> String {
        self.function().to_owned()
    }
    fn target(&self) -> String {
        Instance::target(self).spec().product.to_string()
    }
    fn params(&self) -> Vec<Param> {
        Instance::params(self).to_vec()
    }
    fn native(&self, arguments: &mut Arguments) -> Result<(), String> {
        self.interpret(arguments, Limits::default()).map_err(text)
    }
    fn simulate(&self, arguments: &mut Arguments) -> Result<Cost, String> {
        simulate(self.function(), self, arguments)
    }
    fn origin(&self, arguments: &Arguments, output: &str, element: usize) -> Result<Option<Origin>, String> {
        origin(self, arguments, output, element)
    }
    fn reference(&self, _: &mut Arguments) -> ReferenceRun {
        ReferenceRun::None
    }
    fn probes(&self, arguments: &Arguments) -> Result<Probed, String> {
        let mut session = Session::new(Instance::target(self));
        let arguments_of_run = &mut arguments.clone();
        self.interpret_on(session.probes(Probes::Record), arguments_of_run, Limits::default()).map_err(text)?;
        simulated_probes(self, session.probed().to_vec(), arguments)
    }
}

fn simulated_probes(instance: &Instance, native: Vec<Probe>, arguments: &Arguments) -> Result<Probed, String> {
    let compiled = instance.compile_with(Markers::All, arguments, &Options::default()).map_err(text)?;
    let simulated = compiled.run(arguments, &iss::sim::Options::default()).map_err(text)?.probes;
    Ok(Probed { native, simulated })
}

fn simulate(name: &str, instance: &Instance, arguments: &mut Arguments) -> Result<Cost, String> {
    let compiled = instance.compile(arguments, &Options::default()).map_err(text)?;
    let outcome = compiled.run(arguments, &iss::sim::Options::default()).map_err(text)?;
    *arguments = outcome.arguments;
    let report = compiled.report.kernels.first().ok_or("the compiler reports no kernel")?;
    Ok(Cost { kernel: name.to_owned(), ..Cost::new(report, &outcome.profile) })
}

/// A simulator at the start of a kernel.
fn started(compiled: &CompiledKernel, arguments: &Arguments) -> Result<Simulator, InstanceError> {
    compiled.start(arguments, &iss::sim::Options::default())
}

fn origin(instance: &Instance, arguments: &Arguments, output: &str, element: usize) -> Result<Option<Origin>, String> {
    let compiled = instance.compile(arguments, &Options::default()).map_err(text)?;
    let Some(tensor) = compiled.tensors.iter().find(|tensor| tensor.shown() == output) else { return Ok(None) };
    let Some(byte) = tensor.ty.byte_of(element) else { return Ok(None) };
    let mut sim = started(&compiled, arguments).map_err(text)?;
    sim.watch(&tensor.name, byte as u64).map_err(text)?;
    if sim.run().map_err(text)? != Stopped::Halt {
        return Ok(None);
    }
    let Some(write) = sim.writes().last().cloned() else { return Ok(None) };
    let line = sim.image().lines().lookup(write.pc).map(|(file, line)| (file.to_owned(), line));
    let mut again = started(&compiled, arguments).map_err(text)?;
    let operations = again.history(&write, HISTORY).map_err(text)?;
    Ok(Some(Origin { pc: write.pc, cycle: write.cycle, pe: write.pe, line, operations }))
}
