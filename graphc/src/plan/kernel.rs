//! Kernels: runs of steps that are one function of the emitted text. They end where a boundaries file says, or behind each
//! sum with a residual.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::graph::{Graph, ValueId};
use crate::names::closest;
use crate::plan::error::PlanError;
use crate::plan::group::Grouped;
use crate::plan::names;
use crate::plan::step::Kind;

/// A kernel in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Its name, a Rust identifier.
    pub name: String,
    /// Its steps, in order.
    pub steps: Vec<usize>,
    /// Buffers from outside, in order of first use.
    pub inputs: Vec<ValueId>,
    /// Buffers that others read, in the order in which they are written.
    pub outputs: Vec<ValueId>,
}

/// A boundary: the kernel of that name ends with that tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boundary {
    /// Name of the kernel.
    pub kernel: String,
    /// The tensor, as the graph names it; the last kernel of a file may take what is left, `*`.
    pub tensor: String,
}

/// Reads a boundaries file: a line for each kernel, its name and its last tensor; `#` begins a comment.
///
/// # Errors
/// [`PlanError::Boundary`] names the line.
pub fn parse(text: &str) -> Result<Vec<Boundary>, PlanError> {
    let mut boundaries: Vec<Boundary> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let fault = |reason: String| PlanError::Boundary { line: i + 1, reason };
        let words: Vec<&str> = line.split_once('#').map_or(line, |(before, _)| before).split_whitespace().collect();
        let (kernel, tensor) = match words[..] {
            [] => continue,
            [kernel, tensor] => (kernel.to_owned(), tensor.to_owned()),
            _ => {
                return Err(fault(format!(
                    "{} words, expected the name of a kernel and of its last tensor",
                    words.len()
                )));
            }
        };
        if names::identifier(&kernel) != kernel {
            return Err(fault(format!("`{kernel}` is no name of a function")));
        }
        if boundaries.iter().any(|b| b.kernel == kernel) {
            return Err(fault(format!("kernel `{kernel}` stands twice")));
        }
        if boundaries.last().is_some_and(|b| b.tensor == "*") {
            return Err(fault("nothing is left behind `*`".to_owned()));
        }
        boundaries.push(Boundary { kernel, tensor });
    }
    Ok(boundaries)
}

/// Cuts steps into kernels.
///
/// A step belongs to the first kernel whose last tensor depends on it; what none depends on is the last kernel's.
///
/// # Errors
/// [`PlanError::NoTensor`] for a boundary that is no tensor of the plan.
pub fn cut(graph: &Graph, grouped: &Grouped, boundaries: Option<&[Boundary]>) -> Result<Vec<Kernel>, PlanError> {
    let ends = match boundaries {
        Some(boundaries) => named(graph, grouped, boundaries)?,
        None => residuals(grouped),
    };
    let mut writers: HashMap<ValueId, Vec<usize>> = HashMap::new();
    for (i, step) in grouped.steps.iter().enumerate() {
        writers.entry(step.writes).or_default().push(i);
    }
    let writers = |root: &ValueId| writers.get(root).cloned().unwrap_or_default();
    let mut owner = vec![None; grouped.steps.len()];
    for (kernel, end) in ends.iter().enumerate() {
        let mut open: Vec<usize> = end.tensor.iter().flat_map(&writers).collect();
        while let Some(step) = open.pop() {
            if owner[step].is_none() {
                owner[step] = Some(kernel);
                open.extend(grouped.steps[step].reads().iter().flat_map(&writers));
            }
        }
    }
    let last = if ends.last().is_some_and(|end| end.tensor.is_none()) { ends.len() - 1 } else { ends.len() };
    let mut kernels = Vec::new();
    for k in 0..=last {
        let steps: Vec<usize> =
            (0..owner.len()).filter(|&i| owner[i].unwrap_or(last) == k && is_device(grouped, i)).collect();
        if !steps.is_empty() {
            kernels.push((ends.get(k).and_then(|end| end.name.clone()), steps));
        }
    }
    Ok(finish(graph, grouped, kernels))
}

struct End {
    name: Option<String>,
    tensor: Option<ValueId>,
}

fn is_device(grouped: &Grouped, step: usize) -> bool {
    !matches!(grouped.steps[step].kind, Kind::Input { .. })
}

fn named(graph: &Graph, grouped: &Grouped, boundaries: &[Boundary]) -> Result<Vec<End>, PlanError> {
    let written = || grouped.steps.iter().map(|step| graph.value(step.writes).name.as_str());
    let find = |boundary: &Boundary| {
        let root = graph.find(&boundary.tensor).and_then(|id| grouped.views.get(&id)).map(|view| view.root);
        let root = root.filter(|root| grouped.steps.iter().any(|step| step.writes == *root));
        let missing = || PlanError::NoTensor {
            kernel: boundary.kernel.clone(),
            tensor: boundary.tensor.clone(),
            nearest: closest(&boundary.tensor, written()),
        };
        let tensor = if boundary.tensor == "*" { None } else { Some(root.ok_or_else(missing)?) };
        Ok(End { name: Some(boundary.kernel.clone()), tensor })
    };
    boundaries.iter().map(find).collect()
}

/// Without boundaries a kernel ends behind each sum with a residual.
fn residuals(grouped: &Grouped) -> Vec<End> {
    fn has_residual(kind: &Kind) -> bool {
        match kind {
            Kind::Dense(dense) => dense.residual.is_some(),
            Kind::Ffn { project, .. } | Kind::MixFfn { project, .. } => project.residual.is_some(),
            Kind::Normed { step, .. } => has_residual(&step.kind),
            _ => false,
        }
    }
    let ends = grouped.steps.iter().filter(|step| has_residual(&step.kind));
    ends.map(|step| End { name: None, tensor: Some(step.writes) }).collect()
}

/// Names, inputs and outputs.
fn finish(graph: &Graph, grouped: &Grouped, kernels: Vec<(Option<String>, Vec<usize>)>) -> Vec<Kernel> {
    let all: Vec<usize> = kernels.iter().flat_map(|(_, steps)| steps.iter().copied()).collect();
    let mut taken: BTreeSet<String> = kernels.iter().filter_map(|(name, _)| name.clone()).collect();
    taken.extend(crate::emit::FUNCTIONS.iter().map(|&name| name.to_owned()));
    let outputs: Vec<ValueId> =
        graph.outputs().iter().filter_map(|id| grouped.views.get(id)).map(|view| view.root).collect();
    let mut done = Vec::new();
    for (name, steps) in kernels {
        let name = name.unwrap_or_else(|| names::unique(names::of_steps(graph, grouped, &steps, &all), &mut taken));
        let inner: HashSet<ValueId> = steps.iter().map(|&i| grouped.steps[i].writes).collect();
        let mut inputs = Vec::new();
        for root in steps.iter().flat_map(|&i| grouped.steps[i].operands()).map(|x| x.view.root) {
            if !inner.contains(&root) && !inputs.contains(&root) {
                inputs.push(root);
            }
        }
        let outside: HashSet<ValueId> = all
            .iter()
            .filter(|i| !steps.contains(i))
            .flat_map(|&i| grouped.steps[i].reads())
            .chain(outputs.iter().copied())
            .collect();
        let mut written: Vec<ValueId> = Vec::new();
        for root in steps.iter().map(|&i| grouped.steps[i].writes).filter(|root| outside.contains(root)) {
            if !written.contains(&root) {
                written.push(root);
            }
        }
        done.push(Kernel { name, steps, inputs, outputs: written });
    }
    done
}
