//! A network as a program: entry points compiled for a machine, runs of them one after the other, and what a run cost.

use std::collections::{BTreeMap, HashMap};

use iss::profile::{Profile, Region};
use iss::sim::Options;
use iss::target::Target;

use crate::compose::{Composed, Composition, EntriesError, compose};
use crate::emit::Emitted;
use crate::emit::manifest::{self, Boundary, Port};
use crate::graph::Tensor;
use crate::plan::Plan;
use crate::run::energy::Energy;
use crate::run::entry::{Binding, Entry, EntryError, Tensors};
use crate::run::host::{self, HostError};
use crate::run::report::{
    Cycles, Figures, KernelReport, Machine, MemoryKind, OperatorMacs, OperatorReport, Peak, Placement, RunReport,
    TensorReport, WallTime,
};
use crate::run::texts::Texts;

/// Why a network does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A text has mistakes.
    #[error(transparent)]
    Load(#[from] ccl_runtime::interp::LoadError),
    /// Groups that are no composition.
    #[error(transparent)]
    Entries(#[from] EntriesError),
    /// An entry point does not compile, or its run stopped.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// Inputs and outputs.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The kernel that begins.
    pub kernel: &'a str,
    /// Kernels before it.
    pub done: usize,
    /// All kernels.
    pub of: usize,
    /// Cycles so far.
    pub cycles: u64,
}

/// Edits of a program: files and what authors say, by kernel.
pub type EditsByKernel = BTreeMap<String, (String, Vec<String>)>;

/// A compiled network.
#[derive(Debug)]
pub struct Program {
    plan: Plan,
    emitted: Emitted,
    target: Target,
    edits: EditsByKernel,
    entries: Vec<(Composed, Entry)>,
    /// Seconds from the model to the program, where somebody has measured them.
    compile_s: Option<f64>,
}

/// What a run gave.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Outputs of the network, by name and in their order.
    pub outputs: Vec<(String, Tensor)>,
    /// Tensors between entry points, as bytes of the device.
    pub tensors: Tensors,
    /// Where the cycles went, an entry point each.
    pub profiles: Vec<Profile>,
    /// What it cost.
    pub report: RunReport,
}

impl Program {
    /// Compiles what was emitted for a machine.
    ///
    /// # Errors
    /// Texts with mistakes, groups that are no composition, kernels that do not compile.
    pub fn compile(plan: Plan, emitted: Emitted, composition: &Composition, target: &Target) -> Result<Self, RunError> {
        let composed = compose(&emitted.manifest, composition, crate::emit::target_constant(target).as_str())?;
        let mut sources = emitted.sources.clone();
        sources.extend(composed.iter().map(|c| (c.entry.file.clone(), c.source.clone())));
        let texts = Texts::read(&sources)?;
        let mut entries = Vec::new();
        for composed in composed {
            let bindings = bindings(&composed.entry, emitted.blob.len());
            let entry = Entry::compile(&texts, &composed.entry.name, bindings, target)?;
            entries.push((composed, entry));
        }
        Ok(Self { plan, emitted, target: target.clone(), edits: EditsByKernel::new(), entries, compile_s: None })
    }

    /// With hand edits, for the report.
    #[must_use]
    pub fn with_edits(mut self, edits: EditsByKernel) -> Self {
        self.edits = edits;
        self
    }

    /// With the seconds that it took from the file of the model to the program; else the report counts from the texts on.
    #[must_use]
    pub fn with_compile_s(mut self, seconds: f64) -> Self {
        self.compile_s = Some(seconds);
        self
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Kernels, constants and manifest.
    pub fn emitted(&self) -> &Emitted {
        &self.emitted
    }

    /// The entry points: their texts and what was compiled from them.
    pub fn entries(&self) -> &[(Composed, Entry)] {
        &self.entries
    }

    /// Runs the network; `progress` is told of each kernel that begins.
    ///
    /// # Errors
    /// Inputs that do not fit; a program that stopped.
    pub fn run(
        &self,
        inputs: &HashMap<String, Tensor>,
        options: &Options,
        mut progress: impl FnMut(Progress<'_>),
    ) -> Result<Outcome, RunError> {
        let mut tensors = host::to_device(&self.plan, inputs)?;
        let (mut profiles, mut simulated, mut done) = (Vec::new(), BTreeMap::new(), 0);
        let of = self.emitted.manifest.kernels.len();
        let mut before = 0;
        for (composed, entry) in &self.entries {
            let kernels = &composed.entry.kernels;
            let mut begin = |kernel: &str, cycles: u64| {
                progress(Progress { kernel, done, of, cycles: before + cycles });
                done += 1;
            };
            let ran = entry.run_by_regions(&mut tensors, &self.emitted.blob, options, kernels, &mut begin)?;
            before += ran.profile.cycles;
            simulated.extend(ran.regions_s);
            profiles.push(ran.profile);
        }
        let outputs = host::from_device(&self.plan, &tensors)?;
        let report = self.report(&profiles, &simulated);
        Ok(Outcome { outputs, tensors, profiles, report })
    }

    fn report(&self, profiles: &[Profile], simulated: &BTreeMap<String, f64>) -> RunReport {
        let (manifest, machine) = (&self.emitted.manifest, Machine::of(&self.target));
        let regions = || profiles.iter().flat_map(|profile| &profile.root.children);
        let kernels: Vec<KernelReport> = manifest
            .kernels
            .iter()
            .filter_map(|kernel| {
                let region = regions().find(|region| region.name == kernel.name)?;
                let wall_s = WallTime {
                    compile: self.compile_s(&kernel.name),
                    simulate: simulated.get(&kernel.name).copied().unwrap_or_default(),
                };
                Some(self.kernel(kernel, region, &machine, wall_s))
            })
            .collect();
        let wall_s = WallTime {
            compile: self.compile_s.unwrap_or_else(|| self.entries.iter().map(|(_, entry)| entry.compile_s).sum()),
            simulate: simulated.values().sum(),
        };
        let figures = self.whole(profiles, &machine, wall_s);
        let latency_s = self.target.seconds(figures.cycles.total);
        RunReport {
            network: manifest.network.clone(),
            target: self.target.to_string(),
            entries: self.entries.len(),
            constant_bytes: manifest.constant_bytes as u64,
            latency_s,
            frames_per_s: if latency_s > 0.0 { 1.0 / latency_s } else { 0.0 },
            energy: Energy::of(profiles.iter().map(|profile| &profile.root.inclusive), &machine),
            macs_by_operator: OperatorMacs::of(&self.plan.graph),
            inputs: manifest.inputs.iter().filter_map(|port| self.tensor(port)).collect(),
            outputs: manifest.outputs.iter().filter_map(|port| self.tensor(port)).collect(),
            kernels,
            memory: self.memory(),
            notes: self.notes(),
            machine,
            figures,
        }
    }

    /// Seconds of compiling that fall to a kernel: as its share in the instructions of its entry point.
    fn compile_s(&self, kernel: &str) -> f64 {
        let of = |(composed, entry): &&(Composed, Entry)| {
            let report = entry.compiled.report.kernels.first()?;
            composed.entry.kernels.iter().any(|name| name == kernel).then_some(())?;
            let count = |own: &dyn Fn(&str) -> bool| -> u32 {
                report.instructions.iter().filter(|(path, _)| own(path)).flat_map(|(_, classes)| classes.values()).sum()
            };
            let own = count(&|path| path.split('/').next() == Some(kernel));
            let all = count(&|_| true);
            Some(entry.compile_s * f64::from(own) / f64::from(all.max(1)))
        };
        self.entries.iter().find_map(|entry| of(&entry)).unwrap_or_default()
    }

    fn kernel(&self, kernel: &manifest::Kernel, region: &Region, machine: &Machine, wall_s: WallTime) -> KernelReport {
        let edit = self.edits.get(&kernel.name);
        KernelReport {
            name: kernel.name.clone(),
            figures: Figures::of(region, kernel.macs, machine, wall_s),
            constant_bytes: kernel.constants.iter().map(|c| c.bytes as u64).sum(),
            operators: OperatorReport::inside(region),
            replaced_by: edit.map(|(file, _)| file.clone()),
            edits: edit.map(|(_, says)| says.clone()).unwrap_or_default(),
        }
    }

    /// All entry points together.
    fn whole(&self, profiles: &[Profile], machine: &Machine, wall_s: WallTime) -> Figures {
        let mut cycles = Cycles::default();
        let mut stalls = BTreeMap::new();
        let mut peak = Peak { temp_ext_bytes: self.temp_ext_bytes(), ..Peak::default() };
        let (mut read, mut written) = (0, 0);
        for profile in profiles {
            let own = Figures::of(&profile.root, 0, machine, wall_s);
            cycles.total += own.cycles.total;
            own.cycles.by_class.into_iter().for_each(|(class, n)| *cycles.by_class.entry(class).or_default() += n);
            own.stalls.into_iter().for_each(|(cause, n)| *stalls.entry(cause).or_default() += n);
            peak.ocm_bytes = peak.ocm_bytes.max(own.peak.ocm_bytes);
            peak.lrm_bytes = peak.lrm_bytes.max(own.peak.lrm_bytes);
            read += own.ext_read_bytes;
            written += own.ext_write_bytes;
        }
        let macs: u64 = self.emitted.manifest.kernels.iter().map(|kernel| kernel.macs).sum();
        Figures {
            mac_utilisation: machine.utilisation(macs, cycles.total),
            cycles,
            stalls,
            macs,
            ext_read_bytes: read,
            ext_write_bytes: written,
            peak,
            wall_s,
        }
    }

    /// Tensors that go from one entry point to another through external memory.
    fn temp_ext_bytes(&self) -> u64 {
        let all = || self.entries.iter().map(|(composed, _)| &composed.entry);
        let is_read = |b: &Boundary| all().flat_map(|entry| &entry.inputs).any(|other| other.tensor == b.tensor);
        all().flat_map(|entry| &entry.outputs).filter(|&b| is_read(b)).map(|b| b.bytes as u64).sum()
    }

    fn boundary(&self, tensor: &str) -> Option<&Boundary> {
        let kernels = &self.emitted.manifest.kernels;
        kernels.iter().flat_map(|k| k.inputs.iter().chain(&k.outputs)).find(|b| b.tensor == tensor)
    }

    fn tensor(&self, port: &Port) -> Option<TensorReport> {
        let b = self.boundary(&port.tensor)?;
        Some(TensorReport {
            name: port.name.clone(),
            r#type: port.r#type.clone(),
            tensor: port.tensor.clone(),
            elem: b.elem.clone(),
            layout: b.layout.clone(),
            bytes: b.bytes as u64,
            scale: b.scale,
            zero_point: b.zero_point,
        })
    }

    /// Buffers on the chip: tensors between kernels by their own names, others by those of kernel and variable.
    fn memory(&self) -> Vec<Placement> {
        let kernels = &self.emitted.manifest.kernels;
        let (mut all, mut base) = (Vec::new(), 0);
        for (composed, entry) in &self.entries {
            let n = composed.entry.kernels.len();
            let buffers = entry.compiled.report.kernels.iter().flat_map(|kernel| &kernel.ocm_buffers);
            for buffer in buffers {
                let files = &entry.compiled.module.files;
                let Some(file) = files.get(buffer.loc.file as usize) else { continue };
                let place = |name: String, bytes: u64, first: usize, last: usize| Placement {
                    name,
                    memory: MemoryKind::Ocm,
                    offset: buffer.address.into(),
                    bytes,
                    first,
                    last,
                };
                if *file == composed.entry.file {
                    let name = variable(&composed.source, buffer.loc.line);
                    match composed.slot(name) {
                        Some(slot) => all.extend(slot.tensors.iter().map(|t| {
                            let last = t.last.min(n.saturating_sub(1));
                            place(t.tensor.clone(), t.bytes as u64, base + t.first, base + last)
                        })),
                        None => all.push(place(name.to_owned(), buffer.bytes.into(), base, base + n.saturating_sub(1))),
                    }
                } else if let Some(at) = kernels.iter().position(|kernel| kernel.file == *file) {
                    let name = variable(&self.emitted.sources[file], buffer.loc.line);
                    all.push(place(format!("{}.{name}", kernels[at].name), buffer.bytes.into(), at, at));
                }
            }
            base += n;
        }
        all
    }

    /// What planning and the compiler find slow.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.emitted.manifest.notes.clone();
        for (_, entry) in &self.entries {
            notes.extend(entry.compiled.report.notes.iter().map(|note| note.to_string()));
        }
        notes.dedup();
        notes
    }
}

/// The variable that a line of a text declares.
fn variable(text: &str, line: u32) -> &str {
    let line = text.lines().nth((line as usize).saturating_sub(1)).unwrap_or_default().trim_start();
    let name = line.strip_prefix("let ").map(|rest| rest.strip_prefix("mut ").unwrap_or(rest));
    name.and_then(|name| name.split([' ', ':', '=']).next()).unwrap_or(line)
}

fn bindings(entry: &manifest::Entry, blob: usize) -> Vec<(String, Binding)> {
    let tensors = entry.inputs.iter().chain(&entry.outputs);
    let constants = entry.constants.iter().map(|name| (name.clone(), Binding::Constants { offset: 0, bytes: blob }));
    tensors.map(|b| (b.parameter.clone(), Binding::Tensor(b.tensor.clone()))).chain(constants).collect()
}
