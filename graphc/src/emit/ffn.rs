//! Feed-forward blocks of transformers as calls of the kernel library.

use crate::emit::calls::{Context, NN, Reason, packed, variable};
use crate::emit::constants::Constant;
use crate::emit::dense::{self, dense_parts, pairs};
use crate::emit::text::{TensorType, Text, Variable};
use crate::graph::NodeId;
use crate::plan::step::Dense;

/// Bytes of local memory that `nn::ffn` needs: what it fetches, the hidden features, a table, four outputs and what is in flight of them.
pub(crate) fn bytes(features: usize, hidden: usize) -> usize {
    2 * features + hidden + 256 + 64
}

/// Whether a table is that of a ReLU without another scale.
pub(crate) fn is_relu(entries: &[u8; 256]) -> bool {
    (0..=255_u8).all(|bits| entries[usize::from(bits)] as i8 == (bits as i8).max(0))
}

/// Writes the call of a block, or those of its parts where it does not fit.
pub(crate) fn write(
    cx: &Context,
    text: &mut Text,
    [expand, project]: [&Dense; 2],
    table: NodeId,
    y: &Variable,
) -> Reason {
    let entries = cx.read.table(table)?;
    let x = variable(text, &expand.x)?.clone();
    let skip = project.residual.as_ref().map(|(_, x)| variable(text, x).cloned()).transpose()?;
    let (inner, outer) = (dense_parts(cx, expand)?, dense_parts(cx, project)?);
    let ((n, c), hidden) = (inner.rows, inner.outputs);
    let fits = bytes(c, hidden) <= cx.lrm_bytes && [c, hidden, outer.outputs].iter().all(|n| n.is_multiple_of(4));
    let plain = inner.is_symmetric() && outer.is_symmetric() && outer.outputs == c;
    let fused = (inner.scales.1, outer.scales.1, outer.residual, &skip);
    if let (true, (Some(first), Some(second), Some(residual), Some(skip))) = (fits && plain, fused) {
        let layout = format!("Tokens<{n}, {c}>");
        let is_relu = is_relu(&entries);
        let mut args =
            vec![x.read(&layout), skip.read(&layout), text.constant(&format!("{}_expand", y.name), inner.weights)];
        if !is_relu {
            args.push(text.constant(&format!("{}_table", y.name), Constant::bytes(&entries)));
        }
        args.push(text.constant(&format!("{}_project", y.name), outer.weights));
        args.push(y.write(&layout));
        args.extend(pairs([(inner.scales.0, first), (outer.scales.0, second), residual])?);
        let grid = cx.grid(n);
        let name = if is_relu { "ffn_relu" } else { "ffn_table" };
        text.call(&format!("{NN}::ffn::{name}"), &[n, c, hidden, grid.0, grid.1], &args);
        return Ok(());
    }
    text.notes.push(format!("`{}`: the hidden features go through on-chip memory", y.name));
    write_parts(cx, text, (inner, outer), &entries, (&x, skip.as_ref()), y)
}

/// A dense layer, a table, a dense layer.
fn write_parts(
    cx: &Context,
    text: &mut Text,
    (inner, outer): (dense::DenseParts, dense::DenseParts),
    entries: &[u8; 256],
    (x, skip): (&Variable, Option<&Variable>),
    y: &Variable,
) -> Reason {
    let all = cx.folded(inner.outputs, inner.rows.0);
    let layout = packed(all);
    text.open();
    let expanded = text.allocate("expanded", TensorType::int8(layout.clone()));
    dense::write_parts(cx, text, inner, (x, None), &expanded)?;
    let gated = text.allocate("gated", TensorType::int8(layout.clone()));
    let table = text.constant(&format!("{}_table", y.name), Constant::bytes(entries));
    let args = [expanded.read(&layout), table, gated.write(&layout)];
    text.call(&format!("{NN}::unary::unary"), &all, &args);
    dense::write_parts(cx, text, outer, (&gated, skip), y)?;
    text.close();
    Ok(())
}
