//! Steps with a residual whose sum only a layer norm reads, as calls of the kernel library.

use crate::emit::calls::{Context, NN, Reason, norm_constants, pair, step as write_step, variable, write_norm};
use crate::emit::constants::{Constant, NormParameters, fixed, layer_norm};
use crate::emit::dense::{dense_parts, pairs};
use crate::emit::ffn;
use crate::emit::text::{TensorType, Text, Variable};
use crate::graph::NodeId;
use crate::graph::op::QParam;
use crate::plan::step::{Dense, Kind, Norm, Operand, Step};

/// Writes the call of both, or the step and the norm one after the other.
pub(crate) fn write(
    cx: &Context,
    text: &mut Text,
    (step, norm, x): (&Step, &Norm, &Operand),
    y: &Variable,
    q: QParam,
) -> Reason {
    let (c, _) = x.view.extents();
    let (gamma, beta, epsilon) = norm_constants(cx, norm.node, c)?;
    let parameters = layer_norm(&gamma, &beta, epsilon, x.q.scale, (q.scale, q.zero));
    let is_written = match &step.kind {
        Kind::Dense(dense) => write_dense(cx, text, dense, &parameters, y)?,
        Kind::Ffn { expand, table, project, .. } => write_ffn(cx, text, ([expand, project], *table), &parameters, y)?,
        _ => false,
    };
    if is_written {
        return Ok(());
    }
    let buffer = cx.plan.grouped.buffers.get(&step.writes).ok_or("its sum has no buffer")?;
    text.scope();
    let sum = text.allocate(&format!("{}_sum", y.name), TensorType::of(buffer, false));
    text.variables.insert(step.writes, sum);
    write_step(cx, text, step)?;
    text.begin_step(&y.name);
    write_norm(cx, text, norm, x, y, q)?;
    text.close();
    Ok(())
}

/// Const arguments of the norm's part: words, and formats.
fn formats(parameters: &NormParameters) -> [usize; 6] {
    let [g, e, a, n, m] = parameters.formats.map(|bits| bits as usize);
    [parameters.words.len(), g, e, a, n, m]
}

fn write_dense(cx: &Context, text: &mut Text, dense: &Dense, norm: &NormParameters, y: &Variable) -> Reason<bool> {
    let parts = dense_parts(cx, dense)?;
    let skip = dense.residual.as_ref().map(|(_, x)| variable(text, x).cloned()).transpose()?;
    let ((n, k), outputs) = (parts.rows, parts.outputs);
    let fits = outputs.is_multiple_of(4) && 2 * (k + 3 * outputs) + 64 <= cx.lrm_bytes;
    let (true, Some(bias), Some(residual), Some(skip)) =
        (fits && parts.is_symmetric(), parts.scales.1, parts.residual, skip)
    else {
        return Ok(false);
    };
    let x = variable(text, &dense.x)?.clone();
    let (from, to) = (format!("Tokens<{n}, {k}>"), format!("Tokens<{n}, {outputs}>"));
    let mut args = vec![
        x.read(&from),
        text.constant(&format!("{}_weights", y.name), parts.weights),
        skip.read(&to),
        text.constant(&format!("{}_norm", y.name), Constant::words(&norm.words)),
        y.write(&to),
        pair((parts.scales.0, bias))?,
        pair(residual)?,
    ];
    args.push(fixed(norm.epsilon, norm.formats[1])?);
    let grid = cx.grid(n);
    let generics = [&[n, k, outputs, grid.0, grid.1][..], &formats(norm)].concat();
    text.call(&format!("{NN}::normed::dense_bias_residual_norm"), &generics, &args);
    Ok(true)
}

fn write_ffn(
    cx: &Context,
    text: &mut Text,
    ([expand, project], table): ([&Dense; 2], NodeId),
    norm: &NormParameters,
    y: &Variable,
) -> Reason<bool> {
    let (inner, outer) = (dense_parts(cx, expand)?, dense_parts(cx, project)?);
    let ((n, c), hidden) = (inner.rows, inner.outputs);
    let is_own = |(_, skip): &(NodeId, Operand)| skip.view.root == expand.x.view.root && skip.q == expand.x.q;
    let fits = ffn::bytes(c, hidden) <= cx.lrm_bytes && c.is_multiple_of(4) && hidden.is_multiple_of(4);
    let plain = inner.is_symmetric() && outer.is_symmetric() && outer.outputs == c;
    let is_relu = ffn::is_relu(&cx.read.table(table)?);
    let fused = (inner.scales.1, outer.scales.1, outer.residual, project.residual.as_ref().filter(|own| is_own(own)));
    let (true, (Some(first), Some(second), Some(residual), Some(_))) = (fits && plain && is_relu, fused) else {
        return Ok(false);
    };
    let layout = format!("Tokens<{n}, {c}>");
    let x = variable(text, &expand.x)?.clone();
    let mut args = vec![
        x.read(&layout),
        text.constant(&format!("{}_expand", y.name), inner.weights),
        text.constant(&format!("{}_project", y.name), outer.weights),
        text.constant(&format!("{}_norm", y.name), Constant::words(&norm.words)),
        y.write(&layout),
    ];
    args.extend(pairs([(inner.scales.0, first), (outer.scales.0, second), residual])?);
    args.push(fixed(norm.epsilon, norm.formats[1])?);
    let grid = cx.grid(n);
    let generics = [&[n, c, hidden, grid.0, grid.1][..], &formats(norm)].concat();
    text.call(&format!("{NN}::normed::ffn_relu_norm"), &generics, &args);
    Ok(true)
}
