//! Kernels on their way to the simulator: linked with what they call, compiled for the values of their scalars, run.

use ccl_syntax::eval::Value;
use ccl_syntax::{Diags, check};
use iss::image::Image;
use iss::profile::Profile;
use iss::sim::{self, Simulator};
use iss::target::Target;

use super::budget::LRM_RESERVE_BYTES;
use super::{Access, ArgError, Argument, Arguments, Fills, HostTensor, Kernel, Linked, Param, ParamType, Source};
use crate::front::program::{Markers, Program};
use crate::front::{self, Elaborated, FrontError, IrTensor};
use crate::interp::{self, Library, Linker, LoadError};
use crate::lower::{self, CompileErrors, Report};
use crate::native::Probe;

/// Why an instance is not made, compiled or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message states its fields")]
pub enum InstanceError {
    #[error(transparent)]
    Front(#[from] FrontError),
    #[error(transparent)]
    Lower(#[from] CompileErrors),
    #[error(transparent)]
    Argument(#[from] ArgError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("there is no {what} `{name}`")]
    Missing { what: &'static str, name: String },
    #[error("there is no function `{name}`\nhelp: functions with `#[stub(path)]` are {}", listed(.stubs))]
    NoStub { name: String, stubs: Vec<String> },
    #[error("there is no slot `{name}` in `{kernel}`\nhelp: of other blocks it calls {}", listed(.calls))]
    NoSlot { name: String, kernel: String, calls: Vec<String> },
    #[error("instance `{name}` names the machine `{target}`, which is not known\nhelp: machines are {}", listed(&machines()))]
    Target { name: String, target: String },
    #[error("the simulator: {0}")]
    Simulator(#[from] sim::SimError),
    #[error("the program stopped: {0}")]
    Trap(String),
}

/// Names in backticks, for an error.
fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) }
}

/// A kernel with its const arguments on a machine.
#[derive(Debug)]
pub struct Instance {
    program: Program,
    function: String,
    consts: Vec<i128>,
    target: Target,
    params: Vec<Param>,
}

impl Instance {
    /// An instance over a linked program; the kernel is a function of its first unit.
    ///
    /// # Errors
    /// If there is no such function, it takes other const arguments, or a parameter is of no type that can be passed.
    pub fn new(program: Program, function: &str, consts: &[i128], target: &Target) -> Result<Self, InstanceError> {
        let params = front::params(&program, (0, function), consts, target)?;
        let (function, consts, target) = (function.to_owned(), consts.to_vec(), target.clone());
        Ok(Instance { program, function, consts, target, params })
    }

    /// The instance of that name in the text of a file with `ccl!` blocks; functions of other blocks are those of the library.
    ///
    /// # Errors
    /// What is wrong with the text, with its place; an unknown instance, machine or function.
    pub fn from_text(file: &str, text: &str, instance: &str, library: &Library) -> Result<Self, InstanceError> {
        let mut all = Library::new();
        all.load("crate", file, text)?;
        library.units().iter().for_each(|unit| all.add(unit.clone()));
        Self::from_library(&all, instance)
    }

    /// The first instance of that name in a library.
    ///
    /// # Errors
    /// An unknown instance, machine or function.
    pub fn from_library(library: &Library, instance: &str) -> Result<Self, InstanceError> {
        let missing = |what, name: &str| InstanceError::Missing { what, name: name.to_owned() };
        let (unit, found) = library.instance(instance).ok_or_else(|| missing("instance", instance))?;
        let name = found.target.rsplit("::").next().unwrap_or_default();
        let target = preset(name)
            .ok_or_else(|| InstanceError::Target { name: instance.to_owned(), target: found.target.clone() })?;
        let consts: Option<Vec<i128>> = found.args.iter().map(number).collect();
        let consts = consts.ok_or_else(|| missing("number for each const parameter of", &found.kernel))?;
        if unit.function(&found.kernel).is_some() {
            check_budget(unit, found, &target)?;
            return Self::from_unit(unit, &found.kernel, &consts, &target, library);
        }
        let path: Vec<&str> = found.kernel.split("::").collect();
        let (of, kernel) = library.find(unit, &path).ok_or_else(|| missing("kernel", &found.kernel))?;
        Self::from_unit(of, &kernel, &consts, &target, library)
    }

    /// A kernel of a block that was read at run time.
    ///
    /// # Errors
    /// If there is no such function, or it cannot be an instance of these const arguments.
    pub fn from_unit(
        unit: &interp::Unit,
        function: &str,
        consts: &[i128],
        target: &Target,
        linker: &dyn Linker,
    ) -> Result<Self, InstanceError> {
        Self::new(Program::of_units(unit, linker), function, consts, target)
    }

    /// A kernel of a block that the macro has left behind.
    ///
    /// # Errors
    /// If there is no such function, or it cannot be an instance of these const arguments.
    pub fn from_source(
        source: &'static Source,
        function: &str,
        consts: &[i128],
        target: &Target,
    ) -> Result<Self, InstanceError> {
        Self::new(Program::of_source(source)?, function, consts, target)
    }

    /// What `#[instance(target = ..)]` declares.
    ///
    /// # Errors
    /// As [`from_source`](Self::from_source).
    pub fn of_kernel(kernel: &Kernel) -> Result<Self, InstanceError> {
        let consts: Vec<i128> = kernel.consts.iter().map(|(_, value)| *value).collect();
        Self::from_source(kernel.source(), kernel.function(), &consts, kernel.target)
    }

    /// Fills a slot that the kernel calls by a stub of a crate, for the simulator and the interpreter: native code has been built.
    ///
    /// # Errors
    /// If the kernel has no such slot.
    pub fn fill<Slot: Linked, Stub: Fills<Slot>>(mut self) -> Result<Self, InstanceError> {
        let slot = (Slot::source().module_path(), Slot::SIGNATURE.name);
        let filled = self.program.fill(&self.function, slot, (Stub::source(), Stub::SIGNATURE.name))?;
        if filled { Ok(self) } else { Err(self.no_slot(slot.1.to_owned())) }
    }

    /// Fills the slot that `#[stub(path)]` of a function of a library names by that function.
    ///
    /// # Errors
    /// If there is no such function, it names no slot, its signature is not the slot's, or the kernel has no such slot.
    pub fn fill_from(mut self, library: &Library, stub: &str) -> Result<Self, InstanceError> {
        let missing = || {
            let stubs = library.units().iter().flat_map(front::stub::stubs).map(|(_, f)| f.name.name.name.clone());
            InstanceError::NoStub { name: stub.to_owned(), stubs: stubs.collect() }
        };
        let unit = library.with_function(stub).ok_or_else(missing)?;
        match self.program.fill_from(&self.function, (unit, stub), library)? {
            None => Ok(self),
            Some(slot) => Err(self.no_slot(slot)),
        }
    }

    fn no_slot(&self, name: String) -> InstanceError {
        InstanceError::NoSlot { name, kernel: self.function.clone(), calls: self.program.calls(&self.function) }
    }

    /// The blocks and the const arguments.
    pub(crate) fn parts(&self) -> (&Program, &[i128]) {
        (&self.program, &self.consts)
    }

    /// The kernel's name.
    pub fn function(&self) -> &str {
        &self.function
    }
    /// The parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }
    /// The machine.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The kernel in the IR, its scalar parameters bound to those of `arguments`; tensors there are not looked at.
    ///
    /// # Errors
    /// What cannot be lowered, with its place and cure.
    pub fn elaborate(&self, arguments: &Arguments) -> Result<Elaborated, InstanceError> {
        self.elaborate_with(Markers::default(), arguments)
    }

    fn elaborate_with(&self, markers: Markers, arguments: &Arguments) -> Result<Elaborated, InstanceError> {
        Ok(front::elaborate(&self.program, (0, &self.function), &self.consts, &self.target, arguments, markers)?)
    }

    /// Compiles the kernel for the values of its scalar parameters.
    ///
    /// # Errors
    /// What cannot be lowered, with its place and cure.
    pub fn compile(&self, arguments: &Arguments, options: &lower::Options) -> Result<CompiledKernel, InstanceError> {
        self.compile_with(Markers::default(), arguments, options)
    }

    /// As [`compile`](Self::compile), with these markers of the text in place of its assertions.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_with(
        &self,
        markers: Markers,
        arguments: &Arguments,
        options: &lower::Options,
    ) -> Result<CompiledKernel, InstanceError> {
        let Elaborated { module, kernel, tensors } = self.elaborate_with(markers, arguments)?;
        let compiled = lower::compile(&module, &self.target, options)?;
        Ok(CompiledKernel { image: compiled.image, report: compiled.report, module, kernel, tensors })
    }

    /// Compiles the kernel, runs it on the simulator, and gives the tensors that it writes.
    ///
    /// # Errors
    /// What cannot be lowered; arguments that do not fit; a trap of the program.
    pub fn run(&self, arguments: &Arguments) -> Result<Outcome, InstanceError> {
        arguments.check(&self.params)?;
        self.compile(arguments, &lower::Options::default())?.run(arguments, &sim::Options::default())
    }
}

/// A const argument as a number.
fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(is_set) => Some(i128::from(*is_set)),
        value => value.as_int(),
    }
}

/// What the macro leaves to the compiler of Rust: whether the memories of the machine hold what the instance needs.
fn check_budget(unit: &interp::Unit, instance: &check::Instance, target: &Target) -> Result<(), LoadError> {
    let spec = target.spec();
    let budget = ccl_syntax::Budget {
        lrm_bytes: u64::from(spec.lrm_bytes).saturating_sub(LRM_RESERVE_BYTES),
        ocm_bytes: spec.ocm_bytes.into(),
        array: (spec.rows.into(), spec.cols.into()),
    };
    let mut diags = Diags::default();
    ccl_syntax::check_budget(unit.module(), unit.checked(), instance, budget, &mut diags);
    if diags.is_empty() {
        return Ok(());
    }
    let source = ccl_syntax::Source::named(&unit.module().file);
    Err(LoadError { n_mistakes: diags.len(), text: diags.render(&source) })
}

/// The constant of a machine.
fn constant(product: &str) -> String {
    product.replace('-', "_").to_uppercase()
}

fn machines() -> Vec<String> {
    Target::preset_names().map(constant).collect()
}

/// A machine by the name of its constant.
fn preset(name: &str) -> Option<Target> {
    Target::preset_names().find(|product| constant(product) == name).and_then(Target::preset)
}

/// A compiled kernel, and which buffer is which tensor.
#[derive(Clone, Debug)]
pub struct CompiledKernel {
    /// The program.
    pub image: Image,
    /// What it takes.
    pub report: Report,
    /// The IR that it was compiled from.
    pub module: crate::ir::Module,
    /// The entry point.
    pub kernel: String,
    /// Its buffers.
    pub tensors: Vec<IrTensor>,
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The arguments, tensors that the kernel writes as it left them.
    pub arguments: Arguments,
    /// Where the cycles went.
    pub profile: Profile,
    /// What was probed, in the order of the run: of instances with [`Markers::All`].
    pub probes: Vec<Probe>,
}

impl CompiledKernel {
    /// The bytes of every buffer, from the caller's tensors.
    ///
    /// # Errors
    /// An argument that is missing or does not fit.
    pub fn buffers(&self, arguments: &Arguments) -> Result<Vec<(String, Vec<u8>)>, InstanceError> {
        let bytes = self.tensors.iter().map(|tensor| {
            let argument = at(arguments.get(&tensor.param), &tensor.path)
                .ok_or_else(|| ArgError::Missing { name: tensor.name.clone() })?;
            let mut bytes = tensor.ty.pack(argument).map_err(|error| error.of(&tensor.param))?;
            bytes.resize(tensor.buffer_bytes(), 0);
            Ok((tensor.name.clone(), bytes))
        });
        bytes.collect()
    }

    /// A simulator at the start of the program.
    ///
    /// # Errors
    /// Arguments that do not fit; a machine that the simulator does not run.
    pub fn start(&self, arguments: &Arguments, options: &sim::Options) -> Result<Simulator, InstanceError> {
        let buffers = self.buffers(arguments)?;
        let mut sim = Simulator::new(&self.image, options.clone())?;
        let given: Vec<(&str, sim::Arg<'_>)> =
            buffers.iter().map(|(name, bytes)| (name.as_str(), sim::Arg::Bytes(bytes))).collect();
        sim.start(&self.kernel, &given)?;
        Ok(sim)
    }

    /// Runs the program.
    ///
    /// # Errors
    /// Arguments that do not fit; a trap of the program.
    pub fn run(&self, arguments: &Arguments, options: &sim::Options) -> Result<Outcome, InstanceError> {
        let mut sim = self.start(arguments, options)?;
        sim.run()?.into_result().map_err(|trap| InstanceError::Trap(trap.to_string()))?;
        let mut out = arguments.clone();
        for tensor in self.tensors.iter().filter(|tensor| tensor.ty.access == Access::Write) {
            let bytes = sim.buffer(&tensor.name)?;
            let host = tensor.ty.unpack(&bytes[..tensor.ty.size_bytes()]).map_err(|error| error.of(&tensor.param))?;
            if let Some(Argument::Tensor(to)) = out.get_mut(&tensor.param).and_then(|a| at_mut(a, &tensor.path)) {
                *to = host;
            }
        }
        let profile = sim.profile().expect("the run was started");
        let probes = sim.probes().iter().map(probe).collect();
        Ok(Outcome { arguments: out, profile, probes })
    }
}

/// A record of the simulator as the native layer keeps it.
fn probe(record: &sim::ProbeRecord) -> Probe {
    let (name, cells) = (record.name.clone(), record.grid.core());
    if record.is_scalar {
        let first = cells.flatten().next().copied().unwrap_or_default();
        let values = vec![first.into()];
        return Probe { name, values, cols: 0, enabled: vec![record.enabled.contains(&true)] };
    }
    let values = cells.flatten().map(|v| i64::from(*v)).collect();
    Probe { name, values, cols: record.grid.cols(), enabled: record.enabled.clone() }
}

fn at<'a>(argument: Option<&'a Argument>, path: &[usize]) -> Option<&'a Argument> {
    path.iter().try_fold(argument?, |argument, i| match argument {
        Argument::List(list) => list.get(*i),
        _ => None,
    })
}

fn at_mut<'a>(argument: &'a mut Argument, path: &[usize]) -> Option<&'a mut Argument> {
    path.iter().try_fold(argument, |argument, i| match argument {
        Argument::List(list) => list.get_mut(*i),
        _ => None,
    })
}

impl Instance {
    /// Arguments of zeros: a beginning for callers who set what matters.
    pub fn zeros(&self) -> Arguments {
        self.params.iter().fold(Arguments::new(), |arguments, param| arguments.with(&param.name, zero(&param.ty)))
    }
}

fn zero(ty: &ParamType) -> Argument {
    match ty {
        ParamType::Tensor(ty) => {
            let tensor = HostTensor::zeros(ty.elem, &ty.layout.host_dims());
            match ty.layout.kind {
                crate::tensor::Kind::Stream(_) => {
                    Argument::Stream { weights: tensor, bias: vec![0; ty.layout.dims[0]] }
                }
                _ => Argument::Tensor(tensor),
            }
        }
        ParamType::Scale => Argument::Scale(crate::value::Scale::new(0, 0)),
        ParamType::Scalar(_) => Argument::Scalar(0),
        ParamType::Array(of, n) => Argument::List(vec![zero(of); *n]),
        ParamType::Tuple(types) => Argument::List(types.iter().map(zero).collect()),
    }
}
