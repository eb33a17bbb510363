//! Emission: a plan as a folder of `ccl!` kernels that a person can read and edit, their constants and a manifest.

mod addends;
mod attention;
mod calls;
pub mod constants;
mod convolution;
mod decode_head;
mod dense;
mod ffn;
pub mod folder;
pub mod golden;
mod kernel;
pub mod manifest;
mod normed;
pub mod package;
mod read;
mod stub;
mod text;

use std::collections::BTreeMap;

use ccl_syntax::Diags;
use iss::target::Target;

use crate::emit::calls::Context;
pub(crate) use crate::emit::calls::FUNCTIONS;
use crate::emit::constants::Elem;
use crate::emit::manifest::{Boundary, Constant, Kernel, Manifest, Port};
use crate::emit::read::Reader;
use crate::emit::stub::Stub;
use crate::emit::text::Variable;
use crate::graph::ValueId;
use crate::plan::step::Kind;
use crate::plan::{Plan, memory};
use crate::stub::AttentionStub;

/// Bytes to which constants are aligned in the blob.
const ALIGNMENT: usize = 64;

/// Why a plan cannot be emitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The library has no kernel for a step.
    #[error("kernel `{kernel}`, node `{node}` ({origin}): {reason}")]
    Step {
        /// The kernel.
        kernel: String,
        /// The node.
        node: String,
        /// What it was in the file.
        origin: String,
        /// Why.
        reason: String,
    },
    /// A stub that nothing calls.
    #[error(
        "attention stub `{function}`: the network has no attention that runs as one kernel, so that nothing would call it"
    )]
    NoAttention {
        /// The stub.
        function: String,
    },
    /// A text that was emitted is no kernel, which is our fault.
    #[error("the text of kernel `{kernel}` is wrong, which is a fault of graphc:\n{findings}")]
    Text {
        /// The kernel.
        kernel: String,
        /// What its check says.
        findings: String,
    },
}

/// How a plan is emitted.
#[derive(Debug, Clone)]
pub struct Emission {
    /// The machine.
    pub target: Target,
}

impl Emission {
    /// The constant of the language that names the machine.
    fn target_constant(&self) -> String {
        target_constant(&self.target)
    }
}

/// The constant of the language that names a machine.
pub(crate) fn target_constant(target: &Target) -> String {
    target.spec().product.replace('-', "_").to_ascii_uppercase()
}

/// A folder in the making.
#[derive(Debug, Clone, PartialEq)]
pub struct Emitted {
    /// Kernels: file name to text.
    pub sources: BTreeMap<String, String>,
    /// Constants.
    pub blob: Vec<u8>,
    /// What they are.
    pub manifest: Manifest,
}

/// Emits a plan. The same plan gives the same bytes.
///
/// # Errors
/// [`EmitError`] for every kernel that has one.
pub fn emit(plan: &Plan, emission: &Emission) -> Result<Emitted, Vec<EmitError>> {
    emit_with(plan, emission, None)
}

/// As [`emit`], with a stub that each attention of the network calls.
///
/// # Errors
/// As [`emit`]; also if the network has no attention, or one that the stub cannot be called in.
pub fn emit_with(plan: &Plan, emission: &Emission, stub: Option<&AttentionStub>) -> Result<Emitted, Vec<EmitError>> {
    let module = stub.map(|stub| stub.module(plan.kernels.iter().map(|kernel| kernel.name.as_str())));
    let stub = stub.zip(module.as_deref()).map(|(stub, module)| Stub { stub, module });
    let target = emission.target.spec();
    let array = (target.rows as usize, target.cols as usize);
    let read = Reader::new(&plan.graph);
    let cx = Context { plan, read, array, lrm_bytes: target.lrm_bytes as usize, stub };
    let (mut sources, mut blob, mut kernels) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut notes = plan.notes(target.ocm_bytes as usize);
    let mut callers = Vec::new();
    let mut errors = Vec::new();
    for (i, kernel) in plan.kernels.iter().enumerate() {
        let written = match kernel::write(&cx, i, emission).and_then(|w| check(&kernel.name, &w.source).map(|()| w)) {
            Ok(written) => written,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let file = format!("{}.rs", kernel.name);
        let size = plan.size(i);
        kernels.push(Kernel {
            name: kernel.name.clone(),
            file: file.clone(),
            macs: size.macs,
            ocm_bytes: size.ocm_bytes,
            inputs: boundaries(plan, &written.inputs),
            constants: written.text.constants.iter().map(|(name, c)| append(&mut blob, name, c)).collect(),
            outputs: boundaries(plan, &written.outputs),
        });
        if !written.text.helpers.is_empty() {
            callers.push(kernel.name.clone());
        }
        notes.extend(written.text.notes.iter().map(|note| format!("kernel `{}`: {note}", kernel.name)));
        sources.insert(file, written.source);
    }
    if let (Some(Stub { stub, .. }), true, true) = (stub, callers.is_empty(), errors.is_empty()) {
        errors.push(EmitError::NoAttention { function: stub.function.clone() });
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let stub = stub.map(|Stub { stub, module }| {
        let file = format!("{module}.rs");
        sources.insert(file.clone(), stub.text.clone());
        notes.push(stub::note(stub, &callers));
        manifest::Stub { file, function: stub.function.clone(), slot: stub.slot, kernels: callers }
    });
    let manifest = Manifest {
        version: 1,
        network: plan.graph.name().to_owned(),
        target: target.product.to_string(),
        inputs: inputs(plan),
        outputs: plan
            .graph
            .outputs()
            .iter()
            .filter_map(|&id| port(plan, id, plan.grouped.views.get(&id)?.root))
            .collect(),
        ocm_bytes: kernels.iter().map(|kernel| kernel.ocm_bytes).max().unwrap_or(0),
        kernels,
        stub,
        constant_bytes: blob.len(),
        notes,
    };
    Ok(Emitted { sources, blob, manifest })
}

/// Reads a text as the compiler will.
fn check(kernel: &str, source: &str) -> Result<(), EmitError> {
    let mut diags = Diags::default();
    let file = ccl_syntax::parse_file(&format!("{kernel}.rs"), source, &mut diags);
    for block in &file.blocks {
        let _ = ccl_syntax::check(&block.module, &mut diags);
    }
    if diags.is_empty() {
        return Ok(());
    }
    Err(EmitError::Text { kernel: kernel.to_owned(), findings: diags.render(&file.source) })
}

fn append(blob: &mut Vec<u8>, name: &str, constant: &constants::Constant) -> Constant {
    blob.resize(blob.len().next_multiple_of(ALIGNMENT), 0);
    let offset = blob.len();
    blob.extend(&constant.bytes);
    let (elem, layout, bytes): (Elem, _, _) = (constant.elem, constant.layout.clone(), constant.bytes.len());
    Constant { parameter: name.to_owned(), elem, layout, offset, bytes }
}

fn boundaries(plan: &Plan, params: &[(ValueId, Variable)]) -> Vec<Boundary> {
    let boundary = |(root, variable): &(ValueId, Variable)| {
        let q = plan.grouped.buffers.get(root).and_then(|buffer| buffer.q);
        Boundary {
            parameter: variable.name.clone(),
            tensor: plan.graph.value(*root).name.clone(),
            elem: variable.ty.elem.to_owned(),
            layout: variable.ty.layout.clone(),
            offset: plan.places.get(root).map_or(0, |place| place.offset),
            bytes: memory::bytes(&plan.grouped, *root),
            scale: q.map(|q| q.scale),
            zero_point: q.map(|q| q.zero),
        }
    };
    params.iter().map(boundary).collect()
}

/// Inputs of the network: those that the host quantises, and those that are quantised.
fn inputs(plan: &Plan) -> Vec<Port> {
    let quantised = plan.grouped.steps.iter().filter_map(|step| match step.kind {
        Kind::Input { value } => port(plan, value, step.writes),
        _ => None,
    });
    quantised.collect()
}

fn port(plan: &Plan, id: ValueId, root: ValueId) -> Option<Port> {
    let value = plan.graph.value(id);
    let tensor = plan.graph.value(root).name.clone();
    Some(Port { name: value.name.clone(), r#type: value.ty.to_string(), tensor })
}
