//! Planning: what of a rewritten graph becomes one call of the kernel library, where tensors lie, and how calls become kernels.

pub mod layout;
pub mod step;

mod decode_head;
mod ffn;
mod mix_ffn;
mod normed;
mod projections;
pub(crate) mod quantisation;

mod error;
pub mod group;

pub mod kernel;
pub mod memory;
pub mod names;

use std::collections::BTreeMap;

use crate::graph::{Graph, ValueId};

pub use error::{PlanError, Ungrouped};
pub use group::Grouped;
pub use kernel::{Boundary, Kernel};
pub use memory::Place;

/// A network as kernels.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The graph that it is a plan of.
    pub graph: Graph,
    /// Steps and buffers.
    pub grouped: Grouped,
    /// Kernels, in an order in which they can run.
    pub kernels: Vec<Kernel>,
    /// Where tensors at kernel boundaries lie in on-chip memory.
    pub places: BTreeMap<ValueId, Place>,
}

/// Memory and arithmetic of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Multiply-accumulate steps.
    pub macs: u64,
    /// Bytes of weights and tables.
    pub constant_bytes: usize,
    /// Bytes of its own buffers at most.
    pub inner_bytes: usize,
    /// Bytes of on-chip memory at most: tensors at boundaries, its own, constants.
    pub ocm_bytes: usize,
}

/// Plans a graph that was rewritten.
///
/// # Errors
/// [`PlanError::Ungrouped`] lists every node that no step takes, [`PlanError::Nothing`] is a network without any; others are faults
/// of the boundaries.
pub fn plan(graph: Graph, boundaries: Option<&[Boundary]>) -> Result<Plan, PlanError> {
    let ends = boundaries.unwrap_or_default().iter();
    let kept: Vec<ValueId> = ends.filter_map(|boundary| graph.find(&boundary.tensor)).collect();
    let grouped = group::group_keeping(&graph, &kept).map_err(PlanError::Ungrouped)?;
    let kernels = kernel::cut(&graph, &grouped, boundaries)?;
    if kernels.is_empty() {
        return Err(PlanError::Nothing);
    }
    let outputs: Vec<ValueId> =
        graph.outputs().iter().filter_map(|id| grouped.views.get(id)).map(|view| view.root).collect();
    let places = memory::places(&grouped, &kernels, &outputs);
    Ok(Plan { graph, grouped, kernels, places })
}

impl Plan {
    /// Tensors of the device that the host makes from inputs of the network.
    pub fn inputs(&self) -> impl Iterator<Item = ValueId> {
        let is_input = |step: &&step::Step| matches!(step.kind, step::Kind::Input { .. });
        self.grouped.steps.iter().filter(is_input).map(|step| step.writes)
    }

    /// Memory and arithmetic of a kernel.
    pub fn size(&self, kernel: usize) -> Size {
        let found = &self.kernels[kernel];
        let steps = || found.steps.iter().map(|&i| &self.grouped.steps[i]);
        let nodes = || steps().flat_map(|step| &step.nodes).flat_map(|&id| &self.graph.node(id).inputs);
        let constants = nodes().flatten().map(|&id| self.graph.value(id)).filter(|value| value.constant.is_some());
        let constant_bytes = constants.map(|value| value.ty.len() * value.ty.dtype.bytes()).sum();
        let inner_bytes = memory::inner_peak(&self.grouped, found);
        let alive = self.places.values().filter(|p| p.first <= kernel && kernel <= p.last);
        let outer = alive.map(|p| p.offset + p.bytes).max().unwrap_or(0);
        let ocm_bytes = outer + inner_bytes + constant_bytes;
        Size { macs: steps().map(|step| step.macs).sum(), constant_bytes, inner_bytes, ocm_bytes }
    }

    /// Notes on what is slow, and on kernels that need more on-chip memory than there is.
    pub fn notes(&self, ocm_bytes: usize) -> Vec<String> {
        let mut notes = self.grouped.notes.clone();
        for (i, kernel) in self.kernels.iter().enumerate() {
            let size = self.size(i);
            if size.ocm_bytes > ocm_bytes {
                let (name, needs) = (&kernel.name, size.ocm_bytes);
                notes.push(format!(
                    "kernel `{name}` needs {needs} bytes of on-chip memory of {ocm_bytes}: it must be tiled"
                ));
            }
        }
        notes
    }
}
