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
        return write_heads(cx, text, &stub, parts, [*q, *s, *out], y);
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

/// Writes heads that are a stub's; scales of queries, scores and result.
fn write_heads(
    cx: &Context,
    text: &mut Text,
    stub: &Stub,
    parts: &Attention,
    [q, scores, out]: [QParam; 3],
    y: &Variable,
) -> Reason {
    let (found, (table, scaled)) = (parts.found, &parts.table);
    if found.value != found.head || table.iter().enumerate().any(|(i, &entry)| i != usize::from(entry)) {
        return Err("its scores are scaled to other steps, or its values have other extents than its keys".to_owned());
    }
    text.open();
    let [queries, keys, values] = match parts.projections {
        Some(own) => one_by_one(cx, text, own, parts, y)?,
        None => operands(text, parts)?,
    };
    let heads = Heads {
        inputs: [&queries, &keys, &values],
        q: [q, parts.keys.q, parts.values.q, out],
        extents: [found.n_heads, found.n_queries, found.n_keys, found.head],
        width: cx.folded(1, found.n_keys)[2],
        factor: f64::from(scaled.scale) / f64::from(scores.scale),
        lrm_bytes: cx.lrm_bytes,
    };
    stub::write_whole(text, stub, &heads, y)?;
    text.close();
    Ok(())
}

/// Queries, keys and values token by token, which are there.
fn operands(text: &Text, parts: &Attention) -> Reason<[Variable; 3]> {
    let of = |x: &Operand| variable(text, x).cloned();
    Ok([of(parts.queries)?, of(parts.keys)?, of(parts.values)?])
}

/// Queries, keys and values token by token, by a call each.
fn one_by_one(
    cx: &Context,
    text: &mut Text,
    own: &Projections,
    parts: &Attention,
    y: &Variable,
) -> Reason<[Variable; 3]> {
    let found = parts.found;
    let tokens = |n: usize| TensorType::int8(format!("Tokens<{n}, {}>", found.n_heads * found.head));
    let queries = text.allocate("queries", tokens(found.n_queries));
    let keys = text.allocate("keys", tokens(found.n_keys));
    let values = write_layers(cx, text, own, (&queries, &keys), y)?;
    Ok([queries, keys, values])
}

/// Queries, keys and values, which are there or are made here.
fn factors(cx: &Context, text: &mut Text, parts: &Attention, y: &Variable) -> Reason<Factors> {
    let found = parts.found;
    let features = found.n_heads * found.head;
    let no_planes = || format!("{} keys are no planes of multiples of 16 on the array", found.n_keys);
    let planes = cx.planes(found.n_keys).ok_or_else(no_planes)?;
    let Some(own) = parts.projections else {
        let [queries, keys, values] = operands(text, parts)?;
        let values = to_planes(text, &values, features, planes);
        return Ok(Factors { queries, keys, values });
    };
    let tokens = |n: usize| TensorType::int8(format!("Tokens<{n}, {features}>"));
    let queries = text.allocate("queries", tokens(found.n_queries));
    let keys = text.allocate("keys", tokens(found.n_keys));
    if let Some(values) = fused(cx, text, own, (&queries, &keys), planes, y)? {
        return Ok(Factors { queries, keys, values });
    }
    let values = write_layers(cx, text, own, (&queries, &keys), y)?;
    let values = to_planes(text, &values, features, planes);
    Ok(Factors { queries, keys, values })
}

/// The sum and the layers before queries and keys, and the layer of values, whose variable it gives.
fn write_layers(
    cx: &Context,
    text: &mut Text,
    own: &Projections,
    (queries, keys): (&Variable, &Variable),
    y: &Variable,
) -> Reason<Variable> {
    text.notes.push(format!("`{}`: queries, keys and values are made one by one", y.name));
    let root = own.queries.x.view.root;
    let (n, c) = own.values.x.view.as_rows().map(|rows| (rows.tokens, rows.features)).ok_or("are no tokens")?;
    let sum = text.allocate("with_positions", TensorType::int8(format!("Tokens<{n}, {c}>")));
    text.variables.insert(root, sum.clone());
    write_binary(cx, text, own.sum, [&own.x, &own.positions], &sum)?;
    dense::write(cx, text, &own.queries, queries)?;
    dense::write(cx, text, &own.keys, keys)?;
    let values = text.allocate("values_of_tokens", keys.ty.clone());
    dense::write(cx, text, &own.values, &values)?;
    Ok(values)
}

/// The call that makes queries, keys and values at once, if there is one for them; gives the values plane by plane.
fn fused(
    cx: &Context,
    text: &mut Text,
    own: &Projections,
    (queries, keys): (&Variable, &Variable),
    [height, width, full]: [usize; 3],
    y: &Variable,
) -> Reason<Option<(Variable, usize)>> {
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
    Ok(Some((values, full * width)))
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
