//! The text of a kernel: a file with one block, one function and its instance.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::emit::calls::{self, Context};
use crate::emit::text::{TensorType, Text, Variable};
use crate::emit::{Emission, EmitError};
use crate::graph::ValueId;
use crate::plan::kernel::Kernel;
use crate::plan::memory::{self, Scope};
use crate::plan::names;

/// A kernel as text, and what it takes.
pub(crate) struct Written {
    /// The file.
    pub source: String,
    /// Its text in the making: constants, notes.
    pub text: Text,
    /// Variables of inputs and outputs.
    pub inputs: Vec<(ValueId, Variable)>,
    /// See `inputs`.
    pub outputs: Vec<(ValueId, Variable)>,
}

/// Writes a kernel.
pub(crate) fn write(cx: &Context, index: usize, emission: &Emission) -> Result<Written, EmitError> {
    let kernel = &cx.plan.kernels[index];
    let mut text = Text::new();
    let inputs = params(cx, &mut text, &kernel.inputs);
    let outputs = params(cx, &mut text, &kernel.outputs);
    let scopes = memory::scopes(&cx.plan.grouped, kernel);
    let last = kernel.steps.len().saturating_sub(1);
    region(cx, &mut text, kernel, (0, last), &scopes)?;
    let source = file(cx, index, emission, &text, &inputs, &outputs);
    Ok(Written { source, text, inputs, outputs })
}

fn params(cx: &Context, text: &mut Text, roots: &[ValueId]) -> Vec<(ValueId, Variable)> {
    let mut all = Vec::new();
    for &root in roots {
        let name = text.unique(&names::of_value(&cx.plan.graph, root));
        let variable = Variable { name, ty: type_of(cx, root), is_param: true };
        text.variables.insert(root, variable.clone());
        all.push((root, variable));
    }
    all
}

fn type_of(cx: &Context, root: ValueId) -> TensorType {
    let label = cx.plan.grouped.steps.iter().any(|step| step.writes == root && calls::is_label(cx.plan, step));
    TensorType::of(&cx.plan.grouped.buffers[&root], label)
}

/// Steps from `first` to `last`; a buffer that is gone before the last one has a block of its own.
fn region(
    cx: &Context,
    text: &mut Text,
    kernel: &Kernel,
    (first, last): (usize, usize),
    scopes: &[Scope],
) -> Result<(), EmitError> {
    let mut at = first;
    let mut open: Vec<Scope> = scopes.to_vec();
    while at <= last {
        let Some(i) = open.iter().position(|scope| scope.first == at) else {
            step(cx, text, kernel, at)?;
            at += 1;
            continue;
        };
        let scope = open[i];
        if scope.last >= last {
            open.remove(i);
            let name = names::of_value(&cx.plan.graph, scope.root);
            let variable = text.allocate(&name, type_of(cx, scope.root));
            text.variables.insert(scope.root, variable);
        } else {
            let inside = |s: &Scope| s.first >= at && s.last <= scope.last;
            let (inner, outer): (Vec<Scope>, Vec<Scope>) = open.into_iter().partition(inside);
            text.scope();
            region(cx, text, kernel, (at, scope.last), &inner)?;
            text.close();
            open = outer;
            at = scope.last + 1;
        }
    }
    Ok(())
}

fn step(cx: &Context, text: &mut Text, kernel: &Kernel, at: usize) -> Result<(), EmitError> {
    let step = &cx.plan.grouped.steps[kernel.steps[at]];
    calls::step(cx, text, step).map_err(|reason| {
        let node = step.nodes.last().map(|&id| cx.plan.graph.node(id));
        let name = |f: fn(&crate::graph::Node) -> String| node.map(f).unwrap_or_default();
        EmitError::Step {
            kernel: kernel.name.clone(),
            node: name(|node| node.name.clone()),
            origin: name(|node| node.origin.to_string()),
            reason,
        }
    })
}

fn file(
    cx: &Context,
    index: usize,
    emission: &Emission,
    text: &Text,
    inputs: &[(ValueId, Variable)],
    outputs: &[(ValueId, Variable)],
) -> String {
    let kernel = &cx.plan.kernels[index];
    let name = &kernel.name;
    let mut out = String::new();
    let _ = writeln!(out, "//! Kernel {} of {}, made by `graphc compile`.\n", index + 1, cx.plan.kernels.len());
    out += "use ccl_runtime::ccl;\n\nccl! {\n";
    for line in imports(text) {
        let _ = writeln!(out, "    use {line};");
    }
    text.helpers.iter().for_each(|helper| out += helper);
    let _ = writeln!(out, "\n    /// {}", about(cx, kernel));
    let size = cx.plan.size(index);
    let _ = writeln!(
        out,
        "    ///\n    /// {:.3} GMAC, {} bytes of constants.",
        size.macs as f64 / 1e9,
        size.constant_bytes
    );
    out += "    #[kernel]\n";
    out += "    #[no_reference(\"a part of a network: the tests of its package have golden inputs and outputs\")]\n";
    let _ = writeln!(out, "    pub fn {name}(");
    for (_, variable) in inputs {
        let _ = writeln!(out, "        {}: &Ocm<{}, {}>,", variable.name, variable.ty.elem, variable.ty.layout);
    }
    for (name, constant) in &text.constants {
        let elem = constant.elem.name();
        let _ = writeln!(out, "        {name}: &Ocm<{elem}, {}>,", constant.layout);
    }
    for (_, variable) in outputs {
        let _ = writeln!(out, "        {}: &mut Ocm<{}, {}>,", variable.name, variable.ty.elem, variable.ty.layout);
    }
    out += "    ) {\n";
    out += &text.body();
    out += "    }\n\n";
    let _ = writeln!(out, "    #[instance(target = {})]", emission.target_constant());
    let _ = writeln!(out, "    pub const {}: Kernel = {name};", name.to_ascii_uppercase());
    out += "}\n";
    out
}

/// One line a module of the library.
fn imports(text: &Text) -> Vec<String> {
    let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (module, function) in text.uses.iter().filter_map(|path| path.rsplit_once("::")) {
        modules.entry(module).or_default().push(function);
    }
    let line = |(module, functions): (&str, Vec<&str>)| match functions[..] {
        [one] => format!("{module}::{one}"),
        _ => format!("{module}::{{{}}}", functions.join(", ")),
    };
    modules.into_iter().map(line).collect()
}

/// The first and the last node of a kernel.
fn about(cx: &Context, kernel: &Kernel) -> String {
    let mut nodes: Vec<_> = kernel.steps.iter().flat_map(|&i| cx.plan.grouped.steps[i].nodes.iter()).collect();
    nodes.sort_unstable();
    let name = |id: Option<&&crate::graph::NodeId>| {
        let name = id.map(|id| cx.plan.graph.node(**id).name.clone()).unwrap_or_default();
        name.replace(['`', '\n', '\r'], "_")
    };
    match nodes.len() {
        1 => format!("Node `{}`.", name(nodes.first())),
        n => format!("{n} nodes, from `{}` to `{}`.", name(nodes.first()), name(nodes.last())),
    }
}
