//! Golden tensors at the boundaries of kernels, as they lie in the device's memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ccl_runtime::testing::Bar;

use crate::emit::manifest::{Boundary, Manifest};
use crate::golden::{Keep, RunError, run};
use crate::graph::{DType, Op, Tensor};
use crate::plan::Plan;
use crate::plan::step::Kind;
use crate::run::device;

/// Bytes to which tensors are aligned.
const ALIGNMENT: usize = 64;

/// Golden tensors of one run.
#[derive(Debug, Clone, Default)]
pub struct Golden {
    /// All of them.
    pub blob: Vec<u8>,
    /// Where each begins, by its name in the graph.
    offsets: BTreeMap<String, usize>,
    /// How far the outputs of a kernel may be from golden ones on golden inputs; `None` is not at all.
    pub bars: BTreeMap<String, Option<Bar>>,
    /// Kernels whose outputs a stub has made others: their tests compare native code with the simulator alone.
    pub changed: BTreeSet<String>,
}

impl Golden {
    /// Runs the plan's graph on the golden operators and keeps what is at boundaries.
    ///
    /// # Errors
    /// If the inputs are not the graph's.
    pub fn of(plan: &Plan, manifest: &Manifest, inputs: &HashMap<String, Tensor>) -> Result<Self, RunError> {
        let run = run(&plan.graph, inputs, Keep::All)?;
        let mut golden = Golden::default();
        for boundary in manifest.kernels.iter().flat_map(|kernel| kernel.inputs.iter().chain(&kernel.outputs)) {
            let id = plan.graph.find(&boundary.tensor);
            let bytes = id.and_then(|id| device::to_bytes(plan, id, run.get(id)?));
            golden.add(boundary, &bytes.expect("what is at a boundary is a value of the graph and lies in a buffer"));
        }
        golden.bars = bars(plan);
        Ok(golden)
    }

    /// What [`Golden::of`] gave for the same plan, from its bytes; nothing where they are not as many.
    pub fn from_blob(plan: &Plan, manifest: &Manifest, blob: &[u8]) -> Option<Self> {
        let mut golden = Golden { bars: bars(plan), ..Golden::default() };
        for boundary in manifest.kernels.iter().flat_map(|kernel| kernel.inputs.iter().chain(&kernel.outputs)) {
            let first = golden.blob.len().next_multiple_of(ALIGNMENT);
            if !golden.offsets.contains_key(&boundary.tensor) {
                golden.add(boundary, blob.get(first..first + boundary.bytes)?);
            }
        }
        (golden.blob == blob).then_some(golden)
    }

    fn add(&mut self, boundary: &Boundary, bytes: &[u8]) {
        if self.offsets.contains_key(&boundary.tensor) {
            return;
        }
        self.blob.resize(self.blob.len().next_multiple_of(ALIGNMENT), 0);
        self.offsets.insert(boundary.tensor.clone(), self.blob.len());
        self.blob.extend(bytes);
    }

    /// Whether so many elements of a kernel's output, by so much, are within its bar.
    pub fn allows(&self, kernel: &str, (count, largest): (usize, u64), elements: usize) -> bool {
        match self.bars.get(kernel).copied().flatten() {
            Some(bar) => largest <= bar.by && count <= (elements / bar.one_in.max(1) as usize).max(1),
            None => count == 0,
        }
    }

    /// The bytes of a tensor, as a range of the blob in Rust.
    pub(crate) fn range(&self, tensor: &str, bytes: usize) -> String {
        let first = self.offsets.get(tensor).copied().unwrap_or_default();
        format!("{first}..{}", first + bytes)
    }

    /// The bytes of a tensor.
    pub fn bytes(&self, boundary: &Boundary) -> &[u8] {
        let first = self.offsets.get(&boundary.tensor).copied().unwrap_or_default();
        &self.blob[first..first + boundary.bytes]
    }
}

fn bars(plan: &Plan) -> BTreeMap<String, Option<Bar>> {
    plan.kernels.iter().map(|kernel| (kernel.name.clone(), bar(plan, &kernel.steps))).collect()
}

/// How far a kernel may be from golden tensors: integer steps not at all. A norm or softmax in fixed point may round one element of
/// 1,000 to the next step, which what follows in the kernel spreads to a few more.
fn bar(plan: &Plan, steps: &[usize]) -> Option<Bar> {
    let is_fixed_point = |&i: &usize| matches!(plan.grouped.steps[i].kind, Kind::Norm { .. } | Kind::Attention { .. });
    let last = steps.iter().rposition(is_fixed_point)?;
    Some(if last + 1 == steps.len() { Bar { by: 1, one_in: 1000 } } else { Bar { by: 1, one_in: 200 } })
}

/// Inputs for a network of which none are given, drawn from a seed: each element any step of its quantisation.
pub fn sample(plan: &Plan, seed: u64) -> HashMap<String, Tensor> {
    let mut rng = iss::testing::Rng::new(seed);
    let mut draw = |lo: i64, hi: i64| lo + (rng.bits() % (hi.abs_diff(lo) + 1)) as i64;
    let mut inputs = HashMap::new();
    for &id in plan.graph.inputs() {
        let value = plan.graph.value(id);
        let step = plan.graph.nodes().iter().find_map(|node| match &node.op {
            Op::QuantizeLinear { q, .. } if node.inputs.first() == Some(&Some(id)) => q.single(),
            _ => None,
        });
        let step = step.map_or(1.0, |q| q.scale);
        let n = value.ty.len();
        let (lo, hi) = match value.ty.dtype {
            DType::U8 => (0, 255),
            DType::Bool => (0, 1),
            _ => (-128, 127),
        };
        let drawn: Vec<i64> = (0..n).map(|_| draw(lo, hi)).collect();
        inputs.insert(value.name.clone(), device::tensor(&value.ty, &drawn, step));
    }
    inputs
}
