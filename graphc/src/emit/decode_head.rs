//! The decode head of a SegFormer and the labels behind it, each as one call where the machine takes it.

use ccl_golden::{Quant, linear};

use crate::emit::calls::{self, Context, NN, Reason, image, packed, pair, symmetric, variable};
use crate::emit::constants::{Constant, scale};
use crate::emit::convolution;
use crate::emit::dense::dense_parts;
use crate::emit::text::{TensorType, Text, Variable};
use crate::graph::op::QParam;
use crate::graph::{NodeId, Op};
use crate::plan::step::{Dense, Operand, Step};

/// Columns of pixels that a PE has in `nn::decode_head`, and channels of maps that it fetches together.
const COLUMNS: usize = 4;
const GROUP: usize = 16;

/// Bytes of a result of which `nn::decode_head` stores a copy.
const MOST_COPIED: usize = 256;

/// Bytes of local memory that are not those of buffers.
const RESERVE: usize = 256;

/// What a decode head is made of.
pub(crate) struct DecodeHead<'a> {
    /// The dense layers that are enlarged by 8, 4, 2 and not at all.
    pub levels: &'a [Dense; 4],
    /// The concatenation.
    pub concat: NodeId,
    /// What the elements stand for that it joins.
    pub inputs: &'a [QParam; 4],
    /// The first convolution.
    pub fuse: NodeId,
    /// The table behind it.
    pub gate: NodeId,
    /// The second convolution.
    pub classify: NodeId,
    /// The steps that it takes the place of.
    pub parts: &'a [Step],
}

/// Sizes of a decode head.
struct Sizes {
    /// Channels of levels 1, 2, 4 and 8.
    levels: [usize; 4],
    /// Channels of each dense layer, of the first and of the second convolution.
    channels: [usize; 3],
    height: usize,
    width: usize,
    /// Rows of pixels that a PE has.
    rows: usize,
}

impl Sizes {
    /// Those of a head that `nn::decode_head` takes, on such an array.
    fn of(cx: &Context, levels: [usize; 4], channels: [usize; 3], (height, width): (usize, usize)) -> Option<Self> {
        let (array_rows, array_columns) = cx.array;
        let rows = [1, 2, 4].into_iter().find(|rows| height.div_ceil(*rows) <= array_rows)?;
        let sizes = Sizes { levels, channels, height, width, rows };
        let ([c, maps @ ..], [d, e, _]) = (levels, channels);
        let whole = height.is_multiple_of(8) && width.is_multiple_of(8) && width <= COLUMNS * array_columns;
        let grouped = maps.iter().chain([&d]).all(|c| c.is_multiple_of(GROUP));
        (whole && c.is_multiple_of(4) && e.is_multiple_of(4) && grouped && sizes.lrm_bytes() <= cx.lrm_bytes)
            .then_some(sizes)
    }

    /// Rows of level 2 in a PE.
    fn map_rows(&self) -> usize {
        (self.rows / 2).max(1)
    }

    /// Bytes of the result in a PE.
    fn out(&self) -> usize {
        COLUMNS * self.channels[2].next_multiple_of(4)
    }

    /// Bytes of local memory: maps, the concatenation, what is made of it, two tables, what is fetched and stored.
    fn lrm_bytes(&self) -> usize {
        let ([c, ..], [d, e, _]) = (self.levels, self.channels);
        let maps = 2 * d + 2 * self.map_rows() * d;
        let copies = if self.out() <= MOST_COPIED { 2 } else { 1 };
        maps + 4 * d + e + 2 * 256 + 2 * COLUMNS * c + copies * self.out() + RESERVE
    }

    fn generics(&self) -> Vec<usize> {
        let ([c1, c2, ..], [d, e, k], (h, w)) = (self.levels, self.channels, (self.height, self.width));
        let mut all = self.levels.to_vec();
        all.extend([d, e, k, h, w]);
        all.extend([2, 4, 8].into_iter().flat_map(|by| [h / by, w / by]));
        all.extend([self.rows, h / self.rows, w * self.rows, COLUMNS * c1]);
        let elements = 2 * self.map_rows();
        all.extend([self.map_rows(), elements * c2, elements * d, 4 * d, self.out()]);
        all
    }
}

/// Writes a decode head.
pub(crate) fn write(cx: &Context, text: &mut Text, head: &DecodeHead, y: &Variable) -> Reason {
    let graph = &cx.plan.graph;
    let Op::QLinearConcat { y: all, .. } = &graph.node(head.concat).op else {
        return Err("is no concatenation".to_owned());
    };
    let (fuse, classify) = (convolution::pixelwise(cx, head.fuse)?, convolution::pixelwise(cx, head.classify)?);
    let shape = &graph.value(graph.node(head.classify).outputs[0]).ty.shape;
    let &[_, _, height, width] = &shape[..] else { return Err("is no image".to_owned()) };
    // From the level that is not enlarged on.
    let levels = head.levels.iter().rev().map(|level| dense_parts(cx, level)).collect::<Reason<Vec<_>>>()?;
    let each = fuse.inputs / 4;
    let even = levels.iter().all(|level| level.outputs == each) && fuse.inputs == 4 * each;
    let zeros = symmetric(&[*all]) && symmetric(head.inputs) && fuse.zero == 0 && classify.zero == 0;
    let plain = zeros && levels.iter().all(|level| level.is_symmetric() && level.scales.1.is_some());
    let inputs: [usize; 4] = std::array::from_fn(|i| levels[i].rows.1);
    let sizes = Sizes::of(cx, inputs, [each, fuse.outputs, classify.outputs], (height, width));
    let (Some(sizes), true) = (sizes, even && plain) else { return separately(cx, text, head.parts, y) };
    let (mut maps, mut weights, mut scales) = (Vec::new(), Vec::new(), Vec::new());
    for ((level, by), of) in levels.into_iter().zip([1, 2, 4, 8]).zip(head.levels.iter().rev()) {
        maps.push(variable(text, &of.x)?.read(&packed([level.rows.1, height / by, width / by])));
        weights.push(text.constant(&format!("{}_project{by}", y.name), level.weights));
        scales.push(pair((level.scales.0, level.scales.1.ok_or("a level has no bias")?))?);
    }
    let tables: Vec<u8> = head.inputs.iter().map(|q| requantised(*q, *all)).collect::<Reason<Vec<_>>>()?.concat();
    let mut args = [maps, weights].concat();
    args.extend([
        text.constant(&format!("{}_tables", y.name), Constant::bytes(&tables)),
        text.constant(&format!("{}_fuse", y.name), fuse.weights),
        text.constant(&format!("{}_gate", y.name), Constant::bytes(&cx.read.table(head.gate)?)),
        text.constant(&format!("{}_classify", y.name), classify.weights),
        y.write(&packed([classify.outputs, height, width])),
    ]);
    args.extend(scales);
    args.extend([scale(fuse.scale)?, scale(classify.scale)?]);
    text.call(&format!("{NN}::decode_head::decode_head"), &sizes.generics(), &args);
    Ok(())
}

/// Writes the labels of an image that is enlarged.
pub(crate) fn write_labels(cx: &Context, text: &mut Text, (x, factor): (&Operand, usize), y: &Variable) -> Reason {
    let i = image(x)?;
    let (c, h, w) = (i.channels, i.height, i.width);
    let (height, width) = (factor * h, factor * w);
    let args = [cx.packed(text, x)?, y.write(&format!("Planar<1, {height}, {width}>"))];
    let generics = [c, h, w, height, width, factor, factor * factor, factor / 4, factor / 4 * w];
    text.call(&format!("{NN}::argmax::enlarge_argmax"), &generics, &args);
    Ok(())
}

/// The steps one by one, with what is between them in on-chip memory.
fn separately(cx: &Context, text: &mut Text, parts: &[Step], y: &Variable) -> Reason {
    text.notes.push(format!("`{}`: the concatenation goes through on-chip memory", y.name));
    text.open();
    for part in parts {
        if !text.variables.contains_key(&part.writes) {
            let buffer = cx.plan.grouped.buffers.get(&part.writes).ok_or("a part of it has no buffer")?;
            let name = crate::plan::names::of_value(&cx.plan.graph, part.writes);
            let variable = text.allocate(&name, TensorType::of(buffer, false));
            text.variables.insert(part.writes, variable);
        }
        calls::step(cx, text, part)?;
    }
    text.close();
    Ok(())
}

/// What each value becomes in other steps, by its bits.
fn requantised(from: QParam, to: QParam) -> Reason<Vec<u8>> {
    let quant = |q: QParam| Quant::new(q.scale, q.zero as i8).map_err(|error| error.to_string());
    let (from, to) = (quant(from)?, quant(to)?);
    let entry = |bits: u8| linear::quantize(linear::dequantize(bits as i8, from), to) as u8;
    Ok((0..=255).map(entry).collect())
}
