//! Steps as calls of the kernel library. What a kernel of the library is called, takes and is told stands here and nowhere else.

use crate::emit::attention::{self, Attention};
use crate::emit::constants::{
    Constant, exponent_bits, exponentials, fixed, layer_norm, layer_norm_fixed, layer_norm_twice, scale, step_bits,
};
use crate::emit::convolution;
use crate::emit::decode_head::{self, DecodeHead};
use crate::emit::dense::{self, dense_parts};
use crate::emit::ffn;
use crate::emit::normed;
use crate::emit::read::Reader;
use crate::emit::stub::Stub;
use crate::emit::text::{TensorType, Text, Variable};
use crate::graph::op::{Binary, Interpolation, QParam};
use crate::graph::{NodeId, Op};
use crate::plan::Plan;
use crate::plan::layout::{Digit, Image, Side};
use crate::plan::step::{Dense, FIXED, Kind, Norm, Operand, Order, Step};

/// The library.
pub(crate) const NN: &str = "ccl_runtime::nn";

/// Functions of the library that are called: no variable and no kernel has such a name.
pub(crate) const FUNCTIONS: &[&str] = &[
    "add",
    "argmax",
    "attended",
    "attention_head",
    "average_pool",
    "conv_gather",
    "conv_patches",
    "conv_patches_near",
    "conv_space_to_depth",
    "decode_head",
    "dense",
    "dense_bias",
    "dense_bias_around",
    "dense_bias_residual",
    "dense_bias_residual_norm",
    "depthwise",
    "depthwise3",
    "enlarge_argmax",
    "enlarge_linear",
    "enlarge_nearest",
    "ffn_relu",
    "ffn_relu_norm",
    "ffn_table",
    "global_average_pool",
    "head_by_stub",
    "layer_norm",
    "layer_norm_fixed",
    "layer_norm_twice",
    "max_pool",
    "mix_ffn",
    "mul",
    "permute",
    "pointwise",
    "post_projection",
    "projections",
    "put",
    "requantise",
    "resize_linear",
    "resize_nearest",
    "slice",
    "softmax",
    "sub",
    "taken_by_zero",
    "to_packed",
    "to_planar",
    "to_planar_with_rows",
    "unary",
    "whole_head",
];

/// Bytes of a beat of a flow.
const BEAT: usize = 32;

/// What a step cannot be emitted for.
pub(crate) type Reason<T = ()> = Result<T, String>;

/// What calls are made for: the plan, and what of the machine they depend on.
pub(crate) struct Context<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Constants of its graph.
    pub read: Reader<'a>,
    /// Rows and columns of the array.
    pub array: (usize, usize),
    /// Bytes of local memory.
    pub lrm_bytes: usize,
    /// What takes a step of each attention over.
    pub stub: Option<Stub<'a>>,
}

/// Writes the calls of a step.
pub(crate) fn step(cx: &Context, text: &mut Text, step: &Step) -> Reason {
    let y = text.variables.get(&step.writes).cloned().ok_or("its result has no variable")?;
    text.begin_step(&y.name);
    let q = cx.plan.grouped.buffers.get(&step.writes).and_then(|buffer| buffer.q);
    let known = || q.ok_or_else(|| "the scale of its result is not known".to_owned());
    match &step.kind {
        Kind::Input { .. } => Err("is the host's".to_owned()),
        Kind::Conv { node, x } => convolution::write(cx, text, *node, x, &y),
        Kind::Norm { norm, x } => match q {
            Some(q) => write_norm(cx, text, norm, x, &y, q),
            None => Err("the scale of its result is not known".to_owned()),
        },
        Kind::Normed { step, norm, x } => normed::write(cx, text, (step, norm, x), &y, known()?),
        Kind::Softmax { x, .. } => write_softmax(text, x, &y, known()?),
        Kind::Dense(dense) => dense::write(cx, text, dense, &y),
        Kind::Attention { attention: found, queries, keys, values, projections } => {
            let table = cx.read.between(&found.before)?;
            let parts = Attention { found, queries, keys, values, projections: projections.as_deref(), table };
            attention::write(cx, text, &parts, &y)
        }
        Kind::Ffn { expand, table, project, .. } => ffn::write(cx, text, [expand, project], *table, &y),
        Kind::MixFfn { expand, depthwise, table, project, .. } => {
            write_mix_ffn(cx, text, [expand, project], *depthwise, *table, &y)
        }
        Kind::DecodeHead { levels, concat, inputs, fuse, gate, classify, parts } => {
            let (concat, fuse, gate, classify) = (*concat, *fuse, *gate, *classify);
            let head = DecodeHead { levels, concat, inputs, fuse, gate, classify, parts };
            decode_head::write(cx, text, &head, &y)
        }
        Kind::EnlargedArgMax { x, factor, .. } => decode_head::write_labels(cx, text, (x, *factor), &y),
        Kind::Table { node, x } => write_table(cx, text, *node, x, &y),
        Kind::Binary { node, a, b } => write_binary(cx, text, *node, [a, b], &y),
        Kind::Bias { .. } => Err("a constant for each channel is added only behind a dense layer".to_owned()),
        Kind::Resize { node, x } => write_resize(cx, text, *node, x, &y),
        Kind::Put { node, x, first, is_last } => write_put(cx, text, *node, (x, *first, *is_last), &y),
        Kind::ArgMax { x, .. } => {
            let i = image(x)?;
            let labels = format!("Planar<1, {}, {}>", i.height, i.width);
            let args = [cx.packed(text, x)?, y.write(&labels)];
            text.call(&format!("{NN}::argmax::argmax"), &extents(i), &args);
            Ok(())
        }
        Kind::Pool { node, x } => write_pool(cx, text, *node, x, &y, known()?),
        Kind::Move { x, source } => write_move(cx, text, x, source, &y),
    }
}

/// The extents of an operand as an image.
pub(crate) fn image(x: &Operand) -> Reason<Image> {
    x.view.as_image().ok_or_else(|| "its input does not lie as an image".to_owned())
}

/// `C, H, W` of an operand. Pixels that are no image are laid out so that each row fills one of the array, whose bytes are the same.
fn any_extents(cx: &Context, x: &Operand) -> [usize; 3] {
    let (channels, pixels) = x.view.extents();
    x.view.as_image().map_or_else(|| cx.folded(channels, pixels), extents)
}

pub(crate) fn extents(i: Image) -> [usize; 3] {
    [i.channels, i.height, i.width]
}

pub(crate) fn packed([c, h, w]: [usize; 3]) -> String {
    format!("Packed<{c}, {h}, {w}>")
}

pub(crate) fn variable<'t>(text: &'t Text, x: &Operand) -> Reason<&'t Variable> {
    text.variables.get(&x.view.root).ok_or_else(|| "reads what the kernel does not have".to_owned())
}

/// No zero points, which the fused kernels ask for.
pub(crate) fn symmetric(q: &[QParam]) -> bool {
    q.iter().all(|q| q.zero == 0)
}

impl Context<'_> {
    /// Channels of so many tokens as an image as wide as the array, or as wide as divides. Tokens of one tile lie so that a flow of them takes
    /// the fewest beats: rows of 24 words are 3, rows of 30 are 4 or 5.
    pub fn folded(&self, channels: usize, tokens: usize) -> [usize; 3] {
        let (rows, columns) = self.array;
        let widths = || (1..=columns).rev().filter(|&w| tokens.is_multiple_of(w));
        let beats = |w: usize| tokens / w * ((4 * w).div_ceil(BEAT) + usize::from(!(4 * w).is_multiple_of(BEAT)));
        let one_tile = widths().filter(|w| tokens / w <= rows).min_by_key(|&w| beats(w));
        let width = one_tile.or_else(|| widths().next()).unwrap_or(1);
        [channels, tokens / width, width]
    }

    /// Rows and columns of PEs for so many tokens: as [`Self::folded`] if they are one tile; few lie on the first rows of the array.
    pub fn grid(&self, tokens: usize) -> (usize, usize) {
        let (rows, columns) = self.array;
        match self.folded(1, tokens) {
            [_, height, width] if height <= rows => (height, width),
            _ => (tokens.div_ceil(columns).clamp(1, rows), columns),
        }
    }

    /// Rows and columns of tokens as an image, and its rows with those that fill it up to a multiple of 16; the rows of 0 are in the same tiles.
    pub fn planes(&self, tokens: usize) -> Option<[usize; 3]> {
        let (rows, columns) = self.array;
        let filled = |width: usize| {
            let height = tokens / width;
            let full = (height..height + 16).find(|full| (full * width).is_multiple_of(16))?;
            (full.div_ceil(rows) == height.div_ceil(rows)).then_some([height, width, full])
        };
        let all = (1..=columns).rev().filter(|&w| tokens.is_multiple_of(w)).filter_map(filled);
        all.min_by_key(|&[height, width, full]| (height.div_ceil(rows), full * width))
    }

    /// An operand with four channels a word, which takes a copy where it lies plane by plane.
    pub fn packed(&self, text: &mut Text, x: &Operand) -> Reason<String> {
        let dims = any_extents(self, x);
        let from = variable(text, x)?.clone();
        if !from.ty.layout.starts_with("Planar") {
            return Ok(from.read(&packed(dims)));
        }
        let [c, h, w] = dims;
        let copy = text.allocate(&format!("{}_packed", from.name), TensorType::int8(packed(dims)));
        let args = [from.read(&format!("Planar<{c}, {h}, {w}>")), copy.write(&packed(dims))];
        text.call(&format!("{NN}::moves::to_packed"), &dims, &args);
        Ok(copy.read(&packed(dims)))
    }
}

pub(crate) fn write_norm(cx: &Context, text: &mut Text, norm: &Norm, x: &Operand, y: &Variable, q: QParam) -> Reason {
    let (c, pixels) = x.view.extents();
    let from = variable(text, x)?.clone();
    let dims @ [_, h, w] = cx.folded(c, pixels);
    if q == FIXED {
        return write_norm_fixed(cx, text, norm, x, y);
    }
    let layout = packed(dims);
    let mut args = vec![from.read(&layout)];
    let (gamma, beta, epsilon) = norm_constants(cx, norm.node, c)?;
    let second = (gamma.as_slice(), beta.as_slice(), epsilon);
    let (name, words, generics, epsilons) = match norm.before.as_deref() {
        None => {
            let found = layer_norm(&gamma, &beta, epsilon, x.q.scale, (q.scale, q.zero));
            let formats = found.formats.map(|bits| bits as usize);
            let epsilons = vec![fixed(found.epsilon, found.formats[1])?];
            ("layer_norm", found.words, [&[c, h, w, 2 * c], formats.as_slice()].concat(), epsilons)
        }
        Some(Norm { before: Some(_), .. }) => {
            return Err(
                "is the third norm in a row without a quantisation, of which there are kernels for two".to_owned()
            );
        }
        Some(before) => {
            let bytes = layer_norm_twice_bytes(c);
            if bytes > cx.lrm_bytes {
                return Err(format!("a norm of a norm of {c} channels needs {bytes} bytes of local memory"));
            }
            let (gamma, beta, epsilon) = norm_constants(cx, before.node, c)?;
            let found = layer_norm_twice((&gamma, &beta, epsilon), second, x.q.scale, (q.scale, q.zero));
            let formats = found.formats.map(|bits| bits as usize);
            let [first, added] = found.epsilons;
            let epsilons = vec![fixed(first, found.formats[1])?, fixed(added, found.formats[5])?];
            ("layer_norm_twice", found.words, [&[c, h, w, 4 * c], formats.as_slice()].concat(), epsilons)
        }
    };
    args.extend([text.constant(&format!("{}_norm", y.name), Constant::words(&words)), y.write(&layout)]);
    args.extend(epsilons);
    text.call(&format!("{NN}::layer_norm::{name}"), &generics, &args);
    Ok(())
}

/// A norm whose result is float32 to the host.
fn write_norm_fixed(cx: &Context, text: &mut Text, norm: &Norm, x: &Operand, y: &Variable) -> Reason {
    let (c, pixels) = x.view.extents();
    let dims @ [_, h, w] = cx.folded(c, pixels);
    if norm.before.is_some() {
        return Err("is a norm of a norm that writes float32: quantise the network's output".to_owned());
    }
    let (gamma, beta, epsilon) = norm_constants(cx, norm.node, c)?;
    let fraction = FIXED.scale.recip().log2() as u32;
    let found = layer_norm_fixed(&gamma, &beta, epsilon, x.q.scale, fraction);
    let found = found.ok_or("its result is too large for the fixed point in which it leaves the device")?;
    let formats = found.formats.map(|bits| bits as usize);
    let args = [
        variable(text, x)?.clone().read(&packed(dims)),
        text.constant(&format!("{}_norm", y.name), Constant::words(&found.words)),
        y.write(&format!("Planar<{c}, {h}, {w}>")),
        fixed(found.epsilon, found.formats[1])?,
    ];
    let generics = [&[c, h, w, 2 * c], formats.as_slice()].concat();
    text.call(&format!("{NN}::layer_norm::layer_norm_fixed"), &generics, &args);
    Ok(())
}

/// Bytes of local memory that `nn::layer_norm_twice` needs: two pixels, and the first norm of each.
fn layer_norm_twice_bytes(channels: usize) -> usize {
    2 * (channels + 4 * channels + 4)
}

/// Gammas, betas and epsilon of a norm.
pub(crate) fn norm_constants(cx: &Context, node: NodeId, c: usize) -> Reason<(Vec<f32>, Vec<f32>, f32)> {
    let Op::LayerNormalization { epsilon, .. } = cx.plan.graph.node(node).op else {
        return Err("is no layer norm".to_owned());
    };
    Ok((cx.read.floats(node, 1)?, cx.read.floats_or(node, 2, c)?, epsilon))
}

/// The scales of two operands in steps of their sum, whose terms have room in the fixed point of the kernels.
pub(crate) fn addable(a: f32, b: f32) -> Reason<(f32, f32)> {
    if a + b < 3.5 {
        Ok((a, b))
    } else {
        Err(format!("its operands have {a} and {b} times the scale of their sum, together expected less than 3.5"))
    }
}

pub(crate) fn pair((a, b): (f32, f32)) -> Reason<String> {
    Ok(format!("({}, {})", scale(a)?, scale(b)?))
}

/// Softmax over the features of each token.
fn write_softmax(text: &mut Text, x: &Operand, y: &Variable, q: QParam) -> Reason {
    let rows = x.view.as_rows().ok_or("its input does not lie as tokens")?;
    let (n, k) = (rows.tokens, rows.features);
    let steps = 1.0 / f64::from(q.scale);
    let (fraction, step) = (exponent_bits(k), step_bits(steps));
    let table = Constant::words(&exponentials(x.q.scale, fraction));
    let table = text.constant(&format!("{}_exponentials", y.name), table);
    let layout = format!("Tokens<{n}, {k}>");
    let from = variable(text, x)?.read(&layout);
    let args = [from, table, y.write(&layout), fixed(steps, step)?, q.zero.to_string()];
    text.call(&format!("{NN}::softmax::softmax"), &[n, k, fraction as usize, step as usize], &args);
    Ok(())
}

/// Bytes of local memory that `nn::mix_ffn` needs: twice what it fetches and stores, once what it keeps.
fn mix_ffn_bytes(channels: usize, hidden: usize, rows: usize) -> usize {
    2 * 3 * rows * channels + rows * hidden + hidden + 256 + 64
}

fn write_mix_ffn(
    cx: &Context,
    text: &mut Text,
    [expand, project]: [&Dense; 2],
    depthwise: NodeId,
    table: NodeId,
    y: &Variable,
) -> Reason {
    let conv = convolution::depthwise3(cx, depthwise)?;
    let entries = Constant::bytes(&cx.read.table(table)?);
    let x = variable(text, &expand.x)?.clone();
    let skip = project.residual.as_ref().map(|(_, x)| variable(text, x).cloned()).transpose()?;
    let (inner, outer) = (dense_parts(cx, expand)?, dense_parts(cx, project)?);
    let Image { channels: hidden, height: h, width: w } = conv.image;
    let c = inner.rows.1;
    let by = h.div_ceil(cx.array.0);
    let fits = mix_ffn_bytes(c, hidden, by) <= cx.lrm_bytes && c % 4 == 0 && hidden % 4 == 0;
    let fused = (inner.scales.1, outer.scales.1, outer.residual, &skip);
    let plain = conv.zero == 0 && inner.is_symmetric() && outer.is_symmetric();
    if let (true, (Some(first), Some(second), Some(residual), Some(skip))) = (fits && plain, fused) {
        let image = packed([c, h, w]);
        let args = [
            x.read(&image),
            skip.read(&image),
            text.constant(&format!("{}_expand", y.name), inner.weights),
            text.constant(&format!("{}_depthwise", y.name), conv.weights),
            text.constant(&format!("{}_table", y.name), entries),
            text.constant(&format!("{}_project", y.name), outer.weights),
            y.write(&image),
            "true".to_owned(),
            pair((inner.scales.0, first))?,
            scale(conv.scale)?,
            pair((outer.scales.0, second))?,
            pair(residual)?,
        ];
        text.call(&format!("{NN}::mix_ffn::mix_ffn"), &[c, hidden, h, w, by, by * c, by * hidden], &args);
        return Ok(());
    }
    text.notes.push(format!("`{}`: the hidden channels go through on-chip memory", y.name));
    let all = [hidden, h, w];
    text.open();
    let expanded = text.allocate("expanded", TensorType::int8(packed(all)));
    dense::write_parts(cx, text, inner, (&x, None), &expanded)?;
    let mixed = text.allocate("mixed", TensorType::int8(packed(all)));
    let weights = text.constant(&format!("{}_depthwise", y.name), conv.weights);
    let args =
        [expanded.read(&packed(all)), weights, mixed.write(&packed(all)), scale(conv.scale)?, conv.zero.to_string()];
    text.call(&format!("{NN}::depthwise::depthwise3"), &all, &args);
    let entries = text.constant(&format!("{}_table", y.name), entries);
    let args = [mixed.read(&packed(all)), entries, expanded.write(&packed(all))];
    text.call(&format!("{NN}::unary::unary"), &all, &args);
    dense::write_parts(cx, text, outer, (&expanded, skip.as_ref()), y)?;
    text.close();
    Ok(())
}

fn write_table(cx: &Context, text: &mut Text, node: NodeId, x: &Operand, y: &Variable) -> Reason {
    let table = text.constant(&format!("{}_table", y.name), Constant::bytes(&cx.read.table(node)?));
    let dims = any_extents(cx, x);
    let args = [cx.packed(text, x)?, table, y.write(&packed(dims))];
    text.call(&format!("{NN}::unary::unary"), &dims, &args);
    Ok(())
}

pub(crate) fn write_binary(cx: &Context, text: &mut Text, node: NodeId, [a, b]: [&Operand; 2], y: &Variable) -> Reason {
    let Op::QLinearBinary { function, y: q, .. } = cx.plan.graph.node(node).op else {
        return Err("is no quantised arithmetic".to_owned());
    };
    let dims = any_extents(cx, a);
    let zeros = format!("({}, {}, {})", a.q.zero, b.q.zero, q.zero);
    let mut args = vec![cx.packed(text, a)?, cx.packed(text, b)?, y.write(&packed(dims))];
    let name = match function {
        Binary::Add | Binary::Sub => {
            args.push(pair(addable(a.q.scale / q.scale, b.q.scale / q.scale)?)?);
            if function == Binary::Add { "add" } else { "sub" }
        }
        Binary::Mul => {
            let product = a.q.scale * b.q.scale / q.scale;
            if product >= 1.0 / 64.0 {
                return Err(format!("the scale of its product is {product}, expected less than 1/64"));
            }
            args.push(scale(product)?);
            "mul"
        }
        _ => return Err(format!("{function:?} of two tensors is not emitted yet")),
    };
    args.push(zeros);
    text.call(&format!("{NN}::elementwise::{name}"), &dims, &args);
    Ok(())
}

fn write_resize(cx: &Context, text: &mut Text, node: NodeId, x: &Operand, y: &Variable) -> Reason {
    use ccl_golden::resize::{Coordinates, Nearest};
    let Op::Resize { resize, interpolation } = &cx.plan.graph.node(node).op else {
        return Err("is no resize".to_owned());
    };
    let from = image(x)?;
    let &[_, _, height, width] = resize.sizes() else { return Err("has no two spatial axes".to_owned()) };
    let (c, h, w) = (from.channels, from.height, from.width);
    let factor = (height % h == 0 && width % w == 0 && height / h == width / w).then_some(height / h);
    let to = [c, height, width];
    match (interpolation, resize.coordinates(), factor) {
        (Interpolation::Linear, Coordinates::HalfPixel, Some(s @ (2 | 4 | 8))) => {
            let args = [cx.packed(text, x)?, y.write(&packed(to))];
            text.call(&format!("{NN}::resize::enlarge_linear"), &[c, h, w, height, width, s, 4 * s * s], &args);
        }
        (Interpolation::Linear, Coordinates::HalfPixel, _) => {
            text.notes
                .push(format!("`{}`: {h} x {w} to {height} x {width} is read at random, four times a pixel", y.name));
            planar(cx, text, x, y, to, "resize_linear")?;
        }
        (Interpolation::Nearest(Nearest::RoundPreferFloor), Coordinates::HalfPixel, Some(s))
        | (Interpolation::Nearest(Nearest::Floor), Coordinates::Asymmetric, Some(s)) => {
            let args = [cx.packed(text, x)?, y.write(&packed(to))];
            text.call(&format!("{NN}::resize::enlarge_nearest"), &[c, h, w, height, width, s, 4 * s * s], &args);
        }
        (Interpolation::Nearest(Nearest::RoundPreferFloor), Coordinates::HalfPixel, None) => {
            planar(cx, text, x, y, to, "resize_nearest")?;
        }
        (kind, coordinates, _) => return Err(format!("{kind:?} at {coordinates:?} is not emitted yet")),
    }
    Ok(())
}

/// A resize plane by plane, with copies on both sides.
fn planar(cx: &Context, text: &mut Text, x: &Operand, y: &Variable, to: [usize; 3], name: &str) -> Reason {
    let from = extents(image(x)?);
    let [c, h, w] = from;
    let [_, height, width] = to;
    text.open();
    let before = text.allocate("planes", TensorType::int8(format!("Planar<{c}, {h}, {w}>")));
    let args = [cx.packed(text, x)?, before.write(&before.ty.layout)];
    text.call(&format!("{NN}::moves::to_planar"), &from, &args);
    let after = text.allocate("resized", TensorType::int8(format!("Planar<{c}, {height}, {width}>")));
    let args = [before.read(&before.ty.layout), after.write(&after.ty.layout)];
    text.call(&format!("{NN}::resize::{name}"), &[c, h, w, height, width], &args);
    text.call(&format!("{NN}::moves::to_packed"), &to, &[after.read(&after.ty.layout), y.write(&packed(to))]);
    text.close();
    Ok(())
}

fn write_put(
    cx: &Context,
    text: &mut Text,
    node: NodeId,
    (x, first, is_last): (&Operand, usize, bool),
    y: &Variable,
) -> Reason {
    let found = cx.plan.graph.node(node);
    let Op::QLinearConcat { y: q, .. } = found.op else { return Err("is no concatenation".to_owned()) };
    let all = cx.plan.graph.value(found.outputs[0]).ty.shape[1];
    let dims @ [c, h, w] = extents(image(x)?);
    if first % 4 != 0 || (c % 4 != 0 && !is_last) {
        return Err(format!("{c} channels from channel {first} on, expected multiples of 4"));
    }
    let generics = [c, h, w, all, h, w, first];
    let to = y.write(&packed([all, h, w]));
    let (row, column) = ("0".to_owned(), "0".to_owned());
    if (x.q.scale, x.q.zero) == (q.scale, q.zero) {
        let args = [cx.packed(text, x)?, to, row, column];
        text.call(&format!("{NN}::moves::put"), &generics, &args);
        return Ok(());
    }
    text.open();
    let part = text.allocate("part", TensorType::int8(packed(dims)));
    let zeros = format!("({}, {})", x.q.zero, q.zero);
    let args = [cx.packed(text, x)?, part.write(&packed(dims)), scale(x.q.scale / q.scale)?, zeros];
    text.call(&format!("{NN}::requantise::requantise"), &dims, &args);
    text.call(&format!("{NN}::moves::put"), &generics, &[part.read(&packed(dims)), to, row, column]);
    text.close();
    Ok(())
}

fn write_pool(cx: &Context, text: &mut Text, node: NodeId, x: &Operand, y: &Variable, q: QParam) -> Reason {
    let from = extents(image(x)?);
    let found = cx.plan.graph.node(node);
    let shape = &cx.plan.graph.value(found.outputs[0]).ty.shape;
    let [c, h, w] = from;
    let zeros = format!("({}, {})", x.q.zero, q.zero);
    let pool = match &found.op {
        Op::MaxPool { pool, spatial: 2 } | Op::QLinearAveragePool { pool, spatial: 2, .. } => pool,
        Op::QLinearGlobalAveragePool { .. } => {
            let ratio = scale(x.q.scale / (q.scale * (h * w) as f32))?;
            let args = [cx.packed(text, x)?, y.write(&packed([c, 1, 1])), ratio, zeros];
            text.call(&format!("{NN}::pool::global_average_pool"), &[c, h, w, c.next_multiple_of(4)], &args);
            return Ok(());
        }
        _ => return Err("pools along one axis only, which is not emitted yet".to_owned()),
    };
    let window = &pool.window;
    let inside = pool.divisor == ccl_golden::pool::PoolDivisor::Inside;
    let is_max = matches!(found.op, Op::MaxPool { .. });
    if window.strides[0] != window.strides[1] || window.dilations != [1, 1] || !(is_max || inside) {
        return Err("strides that differ, dilations, and padding that counts are not emitted yet".to_owned());
    }
    let (height, width) = (shape[2], shape[3]);
    let generics = [c, h, w, height, width, pool.kernel[0], pool.kernel[1]];
    let pad = format!("({}, {})", window.pads[0], window.pads[1]);
    let mut args = vec![cx.packed(text, x)?, y.write(&packed([c, height, width])), window.strides[0].to_string(), pad];
    if is_max {
        text.call(&format!("{NN}::pool::max_pool"), &generics, &args);
    } else {
        args.extend([fixed(f64::from(x.q.scale / q.scale), 24)?, zeros]);
        text.call(&format!("{NN}::pool::average_pool"), &generics, &args);
    }
    Ok(())
}

fn write_move(cx: &Context, text: &mut Text, x: &Operand, source: &[Digit; 3], y: &Variable) -> Reason {
    let from = variable(text, x)?.clone();
    let (channels, pixels) = x.view.extents();
    // In a buffer plane by plane a channel is all its pixels on.
    let step = |digit: &Digit| match digit.side {
        Side::Channel => digit.stride * pixels,
        Side::Pixel => digit.stride,
    };
    let [c, h, w] = [source[0].extent, source[1].extent, source[2].extent];
    text.open();
    let dims @ [_, rows, columns] = cx.folded(channels, pixels);
    let planes = text.allocate("planes", TensorType::int8(format!("Planar<{channels}, {rows}, {columns}>")));
    if from.ty.layout.starts_with("Planar") {
        return Err("elements of a tensor that lies plane by plane are not moved yet".to_owned());
    }
    text.call(&format!("{NN}::moves::to_planar"), &dims, &[from.read(&packed(dims)), planes.write(&planes.ty.layout)]);
    let moved = text.allocate("moved", TensorType::int8(format!("Planar<{c}, {h}, {w}>")));
    let n = channels * pixels;
    let steps = format!("({}, {}, {})", step(&source[0]), step(&source[1]), step(&source[2]));
    let args = [planes.read(&format!("Vector<{n}>")), moved.write(&moved.ty.layout), "0".to_owned(), steps];
    text.call(&format!("{NN}::moves::permute"), &[n, c, h, w], &args);
    let to = [c, h, w];
    text.call(&format!("{NN}::moves::to_packed"), &to, &[moved.read(&moved.ty.layout), y.write(&packed(to))]);
    text.close();
    Ok(())
}

/// Whether a buffer is one of labels.
pub(crate) fn is_label(plan: &Plan, step: &Step) -> bool {
    matches!(step.kind, Kind::ArgMax { .. } | Kind::EnlargedArgMax { .. })
        && plan.grouped.buffers.get(&step.writes).is_some_and(|buffer| buffer.order == Order::Planar)
}
