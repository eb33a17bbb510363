//! The simulator as the implementation under test: the network with a kernel for each step, so that what every step writes can
//! be seen. Nodes merged into a step are shown by the tensor that they became part of.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use iss::sim::Options;
use iss::target::Target;

use crate::emit::manifest::Kernel;
use crate::emit::{Emission, EmitError, Emitted, emit};
use crate::graph::{Graph, Tensor, ValueId};
use crate::plan::kernel::Boundary;
use crate::plan::step::Kind;
use crate::plan::{Plan, PlanError, plan};
use crate::rewrite::{self, PatchError};
use crate::run::entry::{Entry, EntryError, Tensors};
use crate::run::host::{self, HostError};
use crate::run::texts::Texts;
use crate::run::{bindings, device};
use crate::validate::subject::{Subject, SubjectError, Unit};
use crate::validate::values::Values;

/// Why a network is not simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// A rewrite does not fit.
    #[error(transparent)]
    Rewrite(#[from] PatchError),
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There are no kernels.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Emit(Vec<EmitError>),
    /// A text has mistakes.
    #[error(transparent)]
    Load(#[from] ccl_runtime::interp::LoadError),
    /// A kernel does not compile or stopped.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The inputs do not fit.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// A network as kernels, a step each.
pub struct Stepwise {
    plan: Plan,
    emitted: Emitted,
    entries: Vec<Entry>,
    /// Index of the kernel that writes a buffer.
    writers: HashMap<ValueId, usize>,
}

/// A run of a network on the simulator.
pub struct Simulated<'a> {
    steps: &'a Stepwise,
    graph: &'a Graph,
    /// Inputs of the network.
    inputs: HashMap<String, Tensor>,
    tensors: Tensors,
    /// What kernels gave on the reference's inputs, by their index.
    alone: RefCell<HashMap<usize, Result<Arc<Tensors>, SubjectError>>>,
}

impl Stepwise {
    /// Compiles a graph as it was imported.
    ///
    /// # Errors
    /// [`SimulateError`], but for `Host`.
    pub fn compile(graph: &Graph, target: &Target) -> Result<Self, SimulateError> {
        let (rewritten, _) = rewrite::all(graph)?;
        let whole = plan(rewritten.clone(), None)?;
        let plan = plan(rewritten, Some(&a_kernel_each(&whole)))?;
        let emitted = emit(&plan, &Emission { target: target.clone() }).map_err(SimulateError::Emit)?;
        let texts = Texts::read(&emitted.sources)?;
        let compile = |kernel: &Kernel| Entry::compile(&texts, &kernel.name, bindings(kernel), target);
        let entries = emitted.manifest.kernels.iter().map(compile).collect::<Result<_, _>>()?;
        let writes = |(i, kernel): (usize, &crate::plan::Kernel)| {
            let roots: Vec<ValueId> = kernel.outputs.clone();
            roots.into_iter().map(move |root| (root, i))
        };
        let writers = plan.kernels.iter().enumerate().flat_map(writes).collect();
        Ok(Stepwise { plan, emitted, entries, writers })
    }

    /// Runs it.
    ///
    /// # Errors
    /// [`SimulateError::Host`], [`SimulateError::Entry`].
    pub fn run<'a>(
        &'a self,
        graph: &'a Graph,
        inputs: &HashMap<String, Tensor>,
    ) -> Result<Simulated<'a>, SimulateError> {
        let mut tensors = host::to_device(&self.plan, inputs)?;
        for entry in &self.entries {
            entry.run(&mut tensors, &self.emitted.blob, &Options::default())?;
        }
        Ok(Simulated { steps: self, graph, inputs: inputs.clone(), tensors, alone: RefCell::default() })
    }

    /// The value of that name, from bytes of the device or by the host's nodes behind them.
    fn value(&self, id: ValueId, inputs: &HashMap<String, Tensor>, tensors: &Tensors) -> Option<Tensor> {
        let given = |id: ValueId| match self.plan.grouped.views.get(&id) {
            Some(view) => device::from_bytes(&self.plan, id, tensors.get(&self.plan.graph.value(view.root).name)?),
            None => inputs.get(&self.plan.graph.value(id).name).cloned(),
        };
        host::evaluate(&self.plan.graph, id, &given).ok()
    }

    /// Whether a run shows the value itself: the device holds it, or the host computes it before or behind the device.
    fn shows(&self, id: ValueId) -> bool {
        let grouped = &self.plan.grouped;
        let is_of_host = || {
            let producer = self.plan.graph.value(id).producer;
            producer.is_some_and(|node| grouped.host.contains(&node))
        };
        // A float32 view without a buffer is of a network input, or of steps that the next node reads.
        let is_on_device = grouped.views.get(&id).is_some_and(|view| grouped.buffers.contains_key(&view.root));
        is_on_device || is_of_host()
    }

    /// The kernel alone, on tensors of the reference.
    fn alone(&self, kernel: usize, reference: &dyn Values) -> Result<Tensors, SubjectError> {
        let mut tensors = Tensors::new();
        for &root in &self.plan.kernels[kernel].inputs {
            tensors.insert(self.plan.graph.value(root).name.clone(), self.reference_bytes(root, reference)?);
        }
        let run = self.entries[kernel].run(&mut tensors, &self.emitted.blob, &Options::default());
        run.map_err(|error| SubjectError::Run { reason: error.to_string() })?;
        Ok(tensors)
    }

    /// A buffer as the reference has it, under any name that covers it all.
    fn reference_bytes(&self, root: ValueId, reference: &dyn Values) -> Result<Vec<u8>, SubjectError> {
        let graph = &self.plan.graph;
        let n = graph.value(root).ty.len();
        let mut views: Vec<ValueId> =
            self.plan.grouped.views.iter().filter(|(_, v)| v.root == root).map(|(&id, _)| id).collect();
        views.sort_unstable_by_key(|&id| (id != root, id));
        let whole = views.into_iter().filter(|&id| graph.value(id).ty.len() == n);
        let bytes = |id: ValueId| device::to_bytes(&self.plan, id, &*reference.tensor(&graph.value(id).name)?);
        let hidden =
            || SubjectError::Hidden { by: reference.label().to_owned(), tensor: graph.value(root).name.clone() };
        whole.map(bytes).next().flatten().ok_or_else(hidden)
    }
}

/// Boundaries behind every step of a plan.
fn a_kernel_each(plan: &Plan) -> Vec<Boundary> {
    let mut seen = std::collections::HashSet::new();
    let steps = plan.grouped.steps.iter().enumerate();
    let steps = steps.filter(|(_, step)| !matches!(step.kind, Kind::Input { .. }) && seen.insert(step.writes));
    let boundary = |(i, step): (usize, &crate::plan::step::Step)| Boundary {
        kernel: format!("step{i:03}_{}", step.word()),
        tensor: plan.graph.value(step.writes).name.clone(),
    };
    steps.map(boundary).collect()
}

impl Simulated<'_> {
    /// Gives each part the nodes of the parts before it that its buffer is of.
    fn share(&self, units: &mut [Unit]) {
        let plan = &self.steps.plan;
        let root = |unit: &Unit| Some(plan.grouped.views.get(&plan.graph.find(&unit.outputs[0])?)?.root);
        let mut before: HashMap<ValueId, Vec<String>> = HashMap::new();
        for unit in units {
            let Some(root) = root(unit).filter(|root| self.steps.writers.contains_key(root)) else { continue };
            let nodes = before.entry(root).or_default();
            unit.shares = nodes.clone();
            nodes.extend(unit.nodes.iter().cloned());
        }
    }

    /// The tensor that shows each value of the imported graph: itself, or that of the first reader that is shown.
    fn shown_by(&self) -> Vec<Option<String>> {
        let graph = self.graph;
        let readers = graph.readers();
        let mut shown: Vec<Option<String>> = vec![None; graph.values().len()];
        let inputs = graph.inputs().iter().copied();
        let produced: Vec<ValueId> = graph.nodes().iter().flat_map(|node| node.outputs.iter().copied()).collect();
        for id in inputs.chain(produced).collect::<Vec<_>>().into_iter().rev() {
            let name = &graph.value(id).name;
            shown[id.index()] = if self.steps.plan.graph.find(name).is_some_and(|own| self.steps.shows(own)) {
                Some(name.clone())
            } else {
                let next = readers[id.index()].iter().flat_map(|&node| &graph.node(node).outputs);
                next.filter_map(|output| shown[output.index()].clone()).next()
            };
        }
        shown
    }
}

impl Values for Simulated<'_> {
    fn label(&self) -> &str {
        "simulator"
    }

    fn tensor(&self, name: &str) -> Option<Arc<Tensor>> {
        let id = self.steps.plan.graph.find(name)?;
        self.steps.value(id, &self.inputs, &self.tensors).map(Arc::new)
    }
}

impl Subject for Simulated<'_> {
    fn units(&self) -> Vec<Unit> {
        let shown = self.shown_by();
        let mut units: Vec<Unit> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for node in self.graph.nodes() {
            // What nothing shows keeps its own name, and is reported as not shown.
            let own = || self.graph.value(node.outputs[0]).name.clone();
            let tensor = node.outputs.iter().find_map(|output| shown[output.index()].clone()).unwrap_or_else(own);
            let place = *places.entry(tensor.clone()).or_insert_with(|| {
                units.push(Unit { nodes: Vec::new(), shares: Vec::new(), outputs: vec![tensor] });
                units.len() - 1
            });
            units[place].nodes.push(node.name.clone());
        }
        self.share(&mut units);
        units
    }

    fn isolated(&self, unit: &Unit, reference: &dyn Values) -> Result<Vec<Arc<Tensor>>, SubjectError> {
        let name = &unit.outputs[0];
        let merged = || SubjectError::Run { reason: format!("no step shows `{name}`") };
        let (steps, graph) = (self.steps, &self.steps.plan.graph);
        let id = graph.find(name).filter(|&id| steps.shows(id)).ok_or_else(merged)?;
        let Some(view) = steps.plan.grouped.views.get(&id).filter(|view| steps.writers.contains_key(&view.root)) else {
            // The host's own node, on the reference's tensors.
            let given = |other: ValueId| {
                let tensor = (other != id).then(|| reference.tensor(&graph.value(other).name))?;
                tensor.map(|tensor| (*tensor).clone())
            };
            let result = host::evaluate(graph, id, &given).map_err(|e| SubjectError::Run { reason: e.to_string() })?;
            return Ok(vec![Arc::new(result)]);
        };
        let kernel = steps.writers[&view.root];
        let mut cache = self.alone.borrow_mut();
        let ran = cache.entry(kernel).or_insert_with(|| steps.alone(kernel, reference).map(Arc::new)).clone()?;
        let tensor = device::from_bytes(&steps.plan, id, &ran[&graph.value(view.root).name]).ok_or_else(merged)?;
        Ok(vec![Arc::new(tensor)])
    }
}
