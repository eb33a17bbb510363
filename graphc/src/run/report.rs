//! What a run cost and where, as data: `graphc run --json` writes it as it stands.

use std::collections::BTreeMap;

use iss::isa::Class;
use iss::profile::{Region, StallCause, Table};
use iss::target::Target;
use serde::{Deserialize, Serialize};

use crate::graph::Graph;
use crate::macs;
use crate::run::energy::Energy;

/// A run of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The network.
    pub network: String,
    /// The machine, as text that [`Target`] parses.
    pub target: String,
    /// Its sizes.
    pub machine: Machine,
    /// Entry points of the program.
    pub entries: usize,
    /// Of the whole run.
    #[serde(flatten)]
    pub figures: Figures,
    /// Bytes of all constants.
    pub constant_bytes: u64,
    /// Seconds of the run at the machine's clock.
    pub latency_s: f64,
    /// Runs a second at the machine's clock.
    pub frames_per_s: f64,
    /// What it may take of energy: an estimate.
    pub energy: Energy,
    /// Products of the network, by operator of the file.
    pub macs_by_operator: Vec<OperatorMacs>,
    /// Inputs of the network.
    pub inputs: Vec<TensorReport>,
    /// Outputs of the network.
    pub outputs: Vec<TensorReport>,
    /// Kernels, in the order in which they run.
    pub kernels: Vec<KernelReport>,
    /// What lies where in memory, and for how long.
    pub memory: Vec<Placement>,
    /// What is slow or inexact, and why.
    pub notes: Vec<String>,
}

/// Sizes of the machine, as the module table shows them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Product.
    pub product: String,
    /// Rows of PEs.
    pub rows: u32,
    /// Columns of PEs.
    pub cols: u32,
    /// int8 multiply-accumulates a PE and cycle.
    pub macs_per_pe: u32,
    /// MHz.
    pub clock_mhz: u32,
    /// Bytes of on-chip memory.
    pub ocm_bytes: u64,
    /// Bytes of local memory of a PE.
    pub lrm_bytes: u64,
    /// MB/s (10^6 bytes) from external memory.
    pub ext_read_mb_s: u32,
    /// MB/s (10^6 bytes) to external memory.
    pub ext_write_mb_s: u32,
}

/// What a part of a run cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Cycles.
    pub cycles: Cycles,
    /// Cycles of stalls among them, by cause; causes without any are absent.
    pub stalls: BTreeMap<StallCause, u64>,
    /// Multiply-accumulate steps that the network asks for.
    pub macs: u64,
    /// Those steps over what the MAC units could have done in the same cycles, 0 to 1.
    pub mac_utilisation: f64,
    /// Bytes read from external memory.
    pub ext_read_bytes: u64,
    /// Bytes written to external memory.
    pub ext_write_bytes: u64,
    /// Most that is used of each memory.
    pub peak: Peak,
    /// Time on the host.
    pub wall_s: WallTime,
}

/// Cycles by class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycles {
    /// All.
    pub total: u64,
    /// Of each of the six classes; they sum to `total`.
    pub by_class: BTreeMap<Class, u64>,
}

/// Most that is used of each memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// Bytes on the chip.
    pub ocm_bytes: u64,
    /// Bytes of local memory of a PE.
    pub lrm_bytes: u64,
    /// Bytes of external memory beside inputs, outputs and constants.
    pub temp_ext_bytes: u64,
}

/// Seconds on the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WallTime {
    /// From the texts of kernels to a program.
    pub compile: f64,
    /// The simulation.
    pub simulate: f64,
}

/// An input or output of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TensorReport {
    /// Its name in the graph.
    pub name: String,
    /// Its type in the graph: `f32[1x3x256x512]`.
    pub r#type: String,
    /// The tensor of the device that it becomes or comes from.
    pub tensor: String,
    /// Element type on the device.
    pub elem: String,
    /// Layout on the device.
    pub layout: String,
    /// Bytes on the device.
    pub bytes: u64,
    /// Real units a step, where it is quantised.
    pub scale: Option<f32>,
    /// The value that stands for 0.
    pub zero_point: Option<i32>,
}

/// A kernel of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Its name.
    pub name: String,
    /// What it cost.
    #[serde(flatten)]
    pub figures: Figures,
    /// Bytes of its constants.
    pub constant_bytes: u64,
    /// Functions of the library that it called and other regions in it, in the order of the run, with what they cost.
    pub operators: Vec<OperatorReport>,
    /// The file that replaces the generated text, where one does.
    pub replaced_by: Option<String>,
    /// What was changed by hand in it.
    pub edits: Vec<String>,
}

/// An operator of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorReport {
    /// Its name in the kernel.
    pub name: String,
    /// Cycles.
    pub cycles: Cycles,
    /// Cycles of stalls, by cause; causes without any are absent.
    pub stalls: BTreeMap<StallCause, u64>,
    /// Products issued to the MAC units.
    pub mac_products: u64,
}

/// Nodes of an operator that have products.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorMacs {
    /// The ONNX operator.
    pub op: String,
    /// Nodes.
    pub nodes: usize,
    /// Multiply-accumulate steps of all of them.
    pub macs: u64,
}

/// A tensor of a run in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Its name.
    pub name: String,
    /// Where.
    pub memory: MemoryKind,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Index of the first kernel of its life.
    pub first: usize,
    /// Index of the last kernel of its life.
    pub last: usize,
}

/// A memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// On-chip memory.
    Ocm,
    /// External memory.
    Ext,
}

impl Machine {
    /// Of a target.
    pub fn of(target: &Target) -> Self {
        let spec = target.spec();
        Self {
            product: spec.product.to_string(),
            rows: spec.rows,
            cols: spec.cols,
            macs_per_pe: spec.macs_per_pe,
            clock_mhz: spec.clock_mhz,
            ocm_bytes: spec.ocm_bytes.into(),
            lrm_bytes: spec.lrm_bytes.into(),
            ext_read_mb_s: spec.ext_read_mb_s,
            ext_write_mb_s: spec.ext_write_mb_s,
        }
    }

    /// Multiply-accumulates over those that the array could do in so many cycles.
    pub fn utilisation(&self, macs: u64, cycles: u64) -> f64 {
        let possible = cycles as f64 * f64::from(self.rows * self.cols * self.macs_per_pe);
        if possible > 0.0 { macs as f64 / possible } else { 0.0 }
    }
}

impl Cycles {
    /// Of a region with all inside it.
    pub fn of(table: &Table) -> Self {
        let by_class = Class::ALL.into_iter().map(|class| (class, table.class(class).cycles)).collect();
        Self { total: table.cycles, by_class }
    }
}

/// Cycles of stalls of a region, by cause.
fn stalls(table: &Table) -> BTreeMap<StallCause, u64> {
    StallCause::ALL.into_iter().map(|cause| (cause, table.stalls(cause))).filter(|(_, cycles)| *cycles > 0).collect()
}

impl Figures {
    /// Of a region that does so many steps of the network's arithmetic; `temp_ext_bytes` of the peak is 0.
    pub fn of(region: &Region, macs: u64, machine: &Machine, wall_s: WallTime) -> Self {
        use iss::isa::operand::Engine;
        let table = &region.inclusive;
        Self {
            cycles: Cycles::of(table),
            stalls: stalls(table),
            macs,
            mac_utilisation: machine.utilisation(macs, table.cycles),
            ext_read_bytes: table.engine(Engine::DmaIn).bytes,
            ext_write_bytes: table.engine(Engine::DmaOut).bytes,
            peak: Peak { ocm_bytes: region.peak_ocm_bytes, lrm_bytes: region.peak_lrm_bytes, temp_ext_bytes: 0 },
            wall_s,
        }
    }
}

impl OperatorMacs {
    /// Of a graph, those with most first.
    pub fn of(graph: &Graph) -> Vec<Self> {
        let mut all: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
        for node in graph.nodes() {
            let macs = macs::of_node(graph, node);
            if macs > 0 {
                let (nodes, sum) = all.entry(&node.origin.op_type).or_default();
                *nodes += 1;
                *sum += macs;
            }
        }
        let mut all: Vec<Self> =
            all.into_iter().map(|(op, (nodes, macs))| Self { op: op.to_owned(), nodes, macs }).collect();
        all.sort_by_key(|operator| std::cmp::Reverse(operator.macs));
        all
    }
}

impl OperatorReport {
    /// The regions right inside a kernel's.
    pub fn inside(region: &Region) -> Vec<Self> {
        let of = |region: &Region| OperatorReport {
            name: region.name.clone(),
            cycles: Cycles::of(&region.inclusive),
            stalls: stalls(&region.inclusive),
            mac_products: region.inclusive.mac_products,
        };
        region.children.iter().map(of).collect()
    }
}

impl RunReport {
    /// Writes it as JSON.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("names of maps are words");
        text.push('\n');
        text
    }
}
