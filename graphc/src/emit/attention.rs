//! Attentions, and the dense layers before them that nothing else reads, as calls of the kernel library.

use crate::emit::calls::{Context, NN, Reason, addable, packed, pair, symmetric, variable, write_binary};
use crate::emit::constants::{Constant, exponent_bits, exponentials, fixed, step_bits};
use crate::emit::dense::{self, dense_parts, pairs};
use crate::emit::stub::{self, Heads, Stub};
use crate::emit::text::{TensorType, Text, Variable};
use crate::graph::Op;
use crate::graph::op::QParam;
use crate::plan::step::{Operand, Projections};
use crate::stub::Slot;

/// An attention as its calls need it.
pub(crate) struct Attention<'a> {
    /// Its nodes.
    pub found: &'a crate::attention::Attention,
    /// Its operands, as heads.
    pub queries: &'a Operand,
    pub keys: &'a Operand,
    pub values: &'a Operand,
    /// What makes the operands, if that belongs to it.
    pub projections: Option<&'a Projections>,
    /// What scaling does to scores between the product and the softmax, and what they stand for then.
    pub table: ([u8; 256], QParam),
}

/// Queries and keys token by token; values plane by plane, and the extent of a plane.
struct Factors {
    queries: Variable,
    keys: Variable,
    values: (Variable, usize),
}

/// Writes the calls of all heads.
pub(crate) fn write(cx: &Context, text: &mut Text, parts: &Attention, y: &Variable) -> Reason {
    let (graph, found) = (&cx.plan.graph, parts.found);
    let (Op::QLinearMatMul { a: q, y: s, .. }, Op::QLinearMatMul { a: p, y: out, .. }) =
        (&graph.node(found.scores).op, &graph.node(found.context).op)
    else {
        return Err("its products are not quantised".to_owned());
    };
    if let Some(stub) = cx.stub.filter(|stub| stub.stub.slot == Slot::WholeHead) {
        return write_heads(cx, text, &stub, parts, y);
    }
    let (n, k, d, h) = (found.n_queries, found.n_keys, found.head, found.n_heads);
    if k % 4 != 0 || d % 4 != 0 || found.value != d {
        return Err(format!("{k} keys of {d} features: the kernel wants multiples of 4, and values of as many"));
    }
    let identity: [u8; 256] = std::array::from_fn(|i| i as u8);
    if parts.table.0 != identity {
        return Err("its scores are scaled to other steps, which the kernel does not do".to_owned());
    }
    let steps = 1.0 / f64::from(p.scale);
    let (fraction, step) = (exponent_bits(k), step_bits(steps));
    let table = exponentials(parts.table.1.scale, fraction);
    let table = text.constant(&format!("{}_exponentials", y.name), Constant::words(&table));
    text.open();
    let Factors { queries, keys, values: (values, padded) } = factors(cx, text, parts, y)?;
    let scales = pair((q.scale * parts.keys.q.scale / s.scale, p.scale * parts.values.q.scale / out.scale))?;
    let steps = fixed(steps, step)?;
    let grid = cx.grid(n);
    let (of_queries, of_keys) = (format!("Tokens<{n}, {d}>"), format!("Tokens<{k}, {d}>"));
    for head in 0..h {
        let first = head * d;
        let args = [
            queries.part(first, h, &of_queries),
            keys.part(first, h, &of_keys),
            values.part(first, h, &format!("Planar<{d}, 1, {padded}>")),
            table.clone(),
            y.part_mut(first, h, &of_queries),
            scales.clone(),
            steps.clone(),
            format!("({}, {}, {})", q.zero, parts.keys.q.zero, parts.values.q.zero),
            format!("({}, {}, {})", s.zero, p.zero, out.zero),
        ];
        let generics = [n, k, padded, d, grid.0, grid.1, fraction as usize, step as usize];
        match &cx.stub {
            Some(stub) => stub::write_projected(text, stub, &generics, (args.to_vec(), head), *out)?,
            None => text.call(&format!("{NN}::attention::attention_head"), &generics, &args),
        }
    }
    text.close();
    Ok(())
}

/// An attention whose heads are a stub's.
fn write_heads(cx: &Context, text: &mut Text, stub: &Stub, parts: &Attention, y: &Variable) -> Reason {
    let found = parts.found;
    let node = |id| &cx.plan.graph.node(id).op;
    let (Op::QLinearMatMul { a: q, y: scores, .. }, Op::QLinearMatMul { y: out, .. }) =
        (node(found.scores), node(found.context))
    else {
        return Err("its products are not quantised".to_owned());
    };
    let (table, scaled) = &parts.table;
    if found.value != found.head || table.iter().enumerate().any(|(i, &entry)| i != usize::from(entry)) {
        return Err("its scores are scaled to other steps, or its values have other extents than its keys".to_owned());
    }
    text.open();
    let [queries, keys, values] = &tokens(cx, text, parts)?;
    let heads = Heads {
        inputs: [queries, keys, values],
        q: [*q, parts.keys.q, parts.values.q, *out],
        extents: [found.n_heads, found.n_queries, found.n_keys, found.head],
        width: cx.folded(1, found.n_keys)[2],
        factor: f64::from(scaled.scale) / f64::from(scores.scale),
        lrm_bytes: cx.lrm_bytes,
    };
    stub::write_whole(text, stub, &heads, y)?;
    text.close();
    Ok(())
}

/// Queries, keys and values, which are there or are made here; values plane by plane.
fn factors(cx: &Context, text: &mut Text, parts: &Attention, y: &Variable) -> Reason<Factors> {
    let found = parts.found;
    let features = found.n_heads * found.head;
    let no_planes = || format!("{} keys are no planes of multiples of 16 on the array", found.n_keys);
    let planes = cx.planes(found.n_keys).ok_or_else(no_planes)?;
    if let Some(own) = parts.projections {
        if let Some(factors) = fused(cx, text, own, planes, y)? {
            return Ok(factors);
        }
        text.notes.push(format!("`{}`: queries, keys and values are made one by one", y.name));
    }
    let [queries, keys, values] = tokens(cx, text, parts)?;
    let values = to_planes(text, &values, features, planes);
    Ok(Factors { queries, keys, values })
}

/// Queries, keys and values token by token, which are there or are made one by one.
fn tokens(cx: &Context, text: &mut Text, parts: &Attention) -> Reason<[Variable; 3]> {
    let of = |text: &Text, x: &Operand| variable(text, x).cloned();
    let Some(own) = parts.projections else {
        return Ok([of(text, parts.queries)?, of(text, parts.keys)?, of(text, parts.values)?]);
    };
    let rows = own.values.x.view.as_rows().ok_or("its input does not lie as tokens")?;
    let layout = |features: usize| TensorType::int8(format!("Tokens<{}, {features}>", rows.tokens));
    let sum = text.allocate("with_positions", layout(rows.features));
    text.variables.insert(own.queries.x.view.root, sum.clone());
    write_binary(cx, text, own.sum, [&own.x, &own.positions], &sum)?;
    let mut made = Vec::new();
    for (name, layer) in [("queries", &own.queries), ("keys", &own.keys), ("values", &own.values)] {
        let variable = text.allocate(name, layout(parts.found.n_heads * parts.found.head));
        dense::write(cx, text, layer, &variable)?;
        made.push(variable);
    }
    made.try_into().map_err(|_| "has no three operands".to_owned())
}

/// The call that makes queries, keys and values at once, if there is one for them.
fn fused(
    cx: &Context,
    text: &mut Text,
    own: &Projections,
    [height, width, full]: [usize; 3],
    y: &Variable,
) -> Reason<Option<Factors>> {
    let [q, k, v] = [dense_parts(cx, &own.queries)?, dense_parts(cx, &own.keys)?, dense_parts(cx, &own.values)?];
    let ((n, c), outputs, sum) = (q.rows, q.outputs, own.queries.x.q);
    let all = [&q, &k, &v];
    let alike = all.iter().all(|part| part.is_symmetric() && part.rows == (n, c) && part.outputs == outputs);
    let fits = n == height * width && outputs.is_multiple_of(4) && 8 * c + 256 <= cx.lrm_bytes;
    let plain = symmetric(&[own.x.q, own.positions.q, sum]);
    let biases = (q.scales.1, k.scales.1, v.scales.1);
    let (true, (Some(of_q), Some(of_k), Some(of_v))) = (alike && fits && plain, biases) else { return Ok(None) };
    let steps = addable(own.x.q.scale / sum.scale, own.positions.q.scale / sum.scale)?;
    let scales = pairs([steps, (q.scales.0, of_q), (k.scales.0, of_k), (v.scales.0, of_v)])?;
    let (x, positions) = (variable(text, &own.x)?.clone(), variable(text, &own.positions)?.clone());
    let layout = format!("Tokens<{n}, {outputs}>");
    let queries = text.allocate("queries", TensorType::int8(layout.clone()));
    let keys = text.allocate("keys", TensorType::int8(layout));
    let values = text.allocate("values", TensorType::int8(format!("Planar<{outputs}, {full}, {width}>")));
    let (from, to) = (packed([c, height, width]), packed([outputs, height, width]));
    let mut args = vec![
        x.read(&from),
        positions.read(&from),
        text.constant(&format!("{}_query", y.name), q.weights),
        text.constant(&format!("{}_key", y.name), k.weights),
        text.constant(&format!("{}_value", y.name), v.weights),
        queries.write(&to),
        keys.write(&to),
        values.write(&values.ty.layout),
    ];
    args.extend(scales);
    text.call(&format!("{NN}::projections::projections"), &[c, outputs, height, width, full], &args);
    Ok(Some(Factors { queries, keys, values: (values, full * width) }))
}

/// Values plane by plane, so that 16 keys are 16 bytes, with rows of 0 that make planes multiples of 16; and the extent of a plane.
fn to_planes(
    text: &mut Text,
    values: &Variable,
    channels: usize,
    [rows, columns, full]: [usize; 3],
) -> (Variable, usize) {
    text.comment("Values channel by channel, so that 16 keys are 16 bytes.");
    let whole = [channels, rows, columns];
    let planar = text.allocate("values", TensorType::int8(format!("Planar<{channels}, {full}, {columns}>")));
    let args = [values.read(&packed(whole)), planar.write(&planar.ty.layout)];
    let (name, generics) = match full == rows {
        true => ("to_planar", whole.to_vec()),
        false => ("to_planar_with_rows", [&whole[..], &[full]].concat()),
    };
    text.call(&format!("{NN}::moves::{name}"), &generics, &args);
    (planar, full * columns)
}
