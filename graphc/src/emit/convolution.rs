//! Convolutions: which kernel of the library serves, and how its weights lie.

use crate::emit::calls::{Context, NN, Reason, extents, image, packed, variable};
use crate::emit::constants::{Constant, scale};
use crate::emit::text::{Text, Variable};
use crate::graph::op::{Conv, QParam};
use crate::graph::{NodeId, Op};
use crate::plan::layout::Image;
use crate::plan::step::Operand;

/// A quantised convolution with everything that kernels ask.
struct Layer<'a> {
    conv: &'a Conv,
    x: QParam,
    y: QParam,
    scale: f32,
    /// Outputs, input channels of a group, rows and columns of the window.
    shape: [usize; 4],
    weights: Vec<i8>,
    /// With what the zero point of the input takes from each sum.
    biases: Vec<i32>,
}

impl Layer<'_> {
    /// Weight of an output for a channel of its group at a place of the window.
    fn weight(&self, output: usize, channel: usize, ky: usize, kx: usize) -> i8 {
        let [_, channels, kh, kw] = self.shape;
        self.weights[((output * channels + channel) * kh + ky) * kw + kx]
    }

    fn pads(&self) -> (usize, usize) {
        (self.conv.window.pads[0], self.conv.window.pads[1])
    }

    fn is_plain(&self) -> bool {
        self.conv.window.pads == [0; 4] && self.conv.window.dilations == [1, 1] && self.conv.groups == 1
    }
}

fn layer<'a>(cx: &Context<'a>, id: NodeId) -> Reason<Layer<'a>> {
    let graph = &cx.plan.graph;
    let node = graph.node(id);
    let Op::QLinearConv { conv, x, w, y } = &node.op else { return Err("is no quantised convolution".to_owned()) };
    let w = w.single().ok_or("weights with a scale for each output are not emitted yet")?;
    if w.zero != 0 {
        return Err("weights with a zero point are not emitted".to_owned());
    }
    let weights = cx.read.int8(id, 1)?;
    let shape = node.inputs[1].map(|id| graph.value(id).ty.shape.clone()).unwrap_or_default();
    let &[co, ci, kh, kw] = &shape[..] else { return Err("has one spatial axis, which is not emitted yet".to_owned()) };
    let sums = crate::emit::dense::zero_biases(&weights, co, x.zero);
    let biases = cx.read.int32_or(id, 2, co)?.iter().zip(sums).map(|(b, s)| b.wrapping_add(s)).collect();
    Ok(Layer { conv, x: *x, y: *y, scale: x.scale * w.scale / y.scale, shape: [co, ci, kh, kw], weights, biases })
}

/// A convolution of single pixels, for the kernels that take it.
pub(crate) struct Pixelwise {
    pub inputs: usize,
    pub outputs: usize,
    pub weights: Constant,
    pub scale: f32,
    pub zero: i32,
}

/// A convolution of single pixels.
pub(crate) fn pixelwise(cx: &Context, id: NodeId) -> Reason<Pixelwise> {
    let layer = layer(cx, id)?;
    let [outputs, inputs, 1, 1] = layer.shape else { return Err("is no convolution of single pixels".to_owned()) };
    let weights = Constant::stream(outputs, inputs, &layer.weights, &layer.biases);
    Ok(Pixelwise { inputs, outputs, weights, scale: layer.scale, zero: layer.y.zero })
}

/// A depthwise 3x3 layer, for the kernels that take it.
pub(crate) struct Depthwise {
    pub image: Image,
    pub weights: Constant,
    pub scale: f32,
    pub zero: i32,
}

/// A depthwise 3x3 layer of stride 1 with a border of zeros.
pub(crate) fn depthwise3(cx: &Context, id: NodeId) -> Reason<Depthwise> {
    let layer = layer(cx, id)?;
    let window = &layer.conv.window;
    let node = cx.plan.graph.node(id);
    let shape = &cx.plan.graph.value(node.outputs[0]).ty.shape;
    let [channels, 1, 3, 3] = layer.shape else { return Err("is no depthwise 3x3 convolution".to_owned()) };
    let plain = window.strides == [1, 1] && window.dilations == [1, 1] && window.pads == [1; 4] && layer.x.zero == 0;
    if !plain || layer.conv.groups != channels || shape.len() != 4 {
        return Err("is no depthwise 3x3 convolution of stride 1 with a border of zeros".to_owned());
    }
    let image = Image { channels, height: shape[2], width: shape[3] };
    Ok(Depthwise { image, weights: diagonal(&layer), scale: layer.scale, zero: layer.y.zero })
}

/// Weights of a depthwise layer: for each tap a row of four, of which only the output's own channel is not 0.
fn diagonal(layer: &Layer) -> Constant {
    let [co, _, kh, kw] = layer.shape;
    let k = kh * kw * 4;
    let mut weights = vec![0; co * k];
    for output in 0..co {
        for tap in 0..kh * kw {
            weights[output * k + tap * 4 + output % 4] = layer.weight(output, 0, tap / kw, tap % kw);
        }
    }
    Constant::stream(co, k, &weights, &layer.biases)
}

/// Weights tap by tap, the channels of each filled up with zeros.
fn by_taps(layer: &Layer, room: usize) -> Constant {
    let [co, ci, kh, kw] = layer.shape;
    let k = kh * kw * room;
    let mut weights = vec![0; co * k];
    for output in 0..co {
        for tap in 0..kh * kw {
            for channel in 0..ci {
                weights[output * k + tap * room + channel] = layer.weight(output, channel, tap / kw, tap % kw);
            }
        }
    }
    Constant::stream(co, k, &weights, &layer.biases)
}

/// Whether patches that lie side by side are best put together from neighbours: strided flows of few outputs leave most of the array idle.
fn is_near(cx: &Context, (stride, ci, co): (usize, usize, usize), from: Image, to: Image) -> bool {
    let (rows, columns) = cx.array;
    let fits = to.height <= rows && columns.is_multiple_of(stride) && from.width <= stride * columns;
    let lrm_bytes = stride * stride * ci + 3 * ci + 3 * co + 256;
    let is_worth = [4, 8].contains(&stride) && 2 * to.height * to.width <= rows * columns;
    fits && is_worth && ci.is_multiple_of(4) && co.is_multiple_of(4) && lrm_bytes <= cx.lrm_bytes
}

/// Writes the call of a convolution.
pub(crate) fn write(cx: &Context, text: &mut Text, id: NodeId, x: &Operand, y: &Variable) -> Reason {
    let layer = layer(cx, id)?;
    let from = image(x)?;
    let node = cx.plan.graph.node(id);
    let shape = &cx.plan.graph.value(node.outputs[0]).ty.shape;
    let to = Image { channels: shape[1], height: shape[2], width: shape[3] };
    let name = format!("{}_weights", y.name);
    let [co, ci, kh, kw] = layer.shape;
    let strides = layer.conv.window.strides;
    let square = strides[0] == strides[1];
    let scalars = [scale(layer.scale)?, layer.y.zero.to_string()];
    if layer.conv.groups == from.channels && layer.conv.groups > 1 {
        return write_depthwise(cx, text, id, &layer, x, y, to);
    }
    if let Some(patches) = Patches::of(&layer, from)
        && variable(text, x)?.ty.layout.starts_with("Planar")
    {
        return patches.write(text, &layer, x, y, (from, to));
    }
    let input = cx.packed(text, x)?;
    let output = y.write(&packed(extents(to)));
    if (kh, kw, strides) == (1, 1, [1, 1]) && layer.is_plain() {
        let weights = text.constant(&name, Constant::stream(co, ci, &layer.weights, &layer.biases));
        let args = [&[input, weights, output][..], &scalars[..]].concat();
        text.call(&format!("{NN}::pointwise::pointwise"), &[ci, co, from.height, from.width], &args);
        return Ok(());
    }
    let sizes = [from.channels, co, from.height, from.width, to.height, to.width];
    let whole = from.height == to.height * kh && from.width == to.width * kw;
    if kh == kw
        && strides == [kh, kw]
        && layer.is_plain()
        && ci % 4 == 0
        && whole
        && kh * kw * ci * 3 < cx.lrm_bytes * 2
    {
        let weights = text.constant(&name, by_taps(&layer, ci));
        let args = [&[input, weights, output][..], &scalars[..]].concat();
        let generics = [&sizes[..], &[kh, kh * kw * ci]].concat();
        if is_near(cx, (kh, ci, co), from, to) {
            let generics = [&generics[..], &[kh * from.width]].concat();
            text.call(&format!("{NN}::conv::conv_patches_near"), &generics, &args);
            return Ok(());
        }
        text.call(&format!("{NN}::conv::conv_patches"), &generics, &args);
        return Ok(());
    }
    let groups = layer.conv.groups;
    let room = ci.next_multiple_of(4);
    let k = kh * kw * room;
    if !square || (groups > 1 && (ci % 4 != 0 || !(co / groups).is_multiple_of(4))) || 2 * k + 256 > cx.lrm_bytes {
        return Err(format!("{kh} x {kw} windows of {ci} channels in {groups} groups are not emitted yet"));
    }
    let weights = text.constant(&name, by_taps(&layer, room));
    let two = |v: [usize; 2]| format!("({}, {})", v[0], v[1]);
    let (above, left) = layer.pads();
    let args = [
        input,
        weights,
        output,
        strides[0].to_string(),
        two(layer.conv.window.dilations),
        two([above, left]),
        scale(layer.scale)?,
        format!("({}, {})", layer.x.zero, layer.y.zero),
    ];
    let generics = [&sizes[..], &[kh, kw, groups, room, k]].concat();
    text.call(&format!("{NN}::conv::conv_gather"), &generics, &args);
    Ok(())
}

fn write_depthwise(
    cx: &Context,
    text: &mut Text,
    id: NodeId,
    layer: &Layer,
    x: &Operand,
    y: &Variable,
    to: Image,
) -> Reason {
    let from = image(x)?;
    let [co, _, kh, kw] = layer.shape;
    let window = &layer.conv.window;
    if co != from.channels || window.strides[0] != window.strides[1] || window.dilations[0] != window.dilations[1] {
        return Err("several outputs a channel, strides or dilations that differ are not emitted yet".to_owned());
    }
    let weights = text.constant(&format!("{}_weights", y.name), diagonal(layer));
    let mut args = vec![cx.packed(text, x)?, weights, y.write(&packed(extents(to)))];
    if depthwise3(cx, id).is_ok() {
        args.extend([scale(layer.scale)?, layer.y.zero.to_string()]);
        text.call(&format!("{NN}::depthwise::depthwise3"), &extents(from), &args);
        return Ok(());
    }
    let (above, left) = layer.pads();
    args.extend([window.strides[0].to_string(), window.dilations[0].to_string(), format!("({above}, {left})")]);
    args.extend([scale(layer.scale)?, format!("({}, {})", layer.x.zero, layer.y.zero)]);
    let generics = [&extents(from)[..], &[to.height, to.width, kh, kw, kh * kw * 4]].concat();
    text.call(&format!("{NN}::depthwise::depthwise"), &generics, &args);
    Ok(())
}

/// A strided window as whole patches of an image that lies plane by plane.
struct Patches {
    /// Side of a patch, which is the stride.
    side: usize,
    /// Patches of a window, and those before its origin, in rows and columns.
    count: [usize; 2],
    pad: [usize; 2],
}

impl Patches {
    fn of(layer: &Layer, from: Image) -> Option<Self> {
        let window = &layer.conv.window;
        let side = window.strides[0];
        let plain = window.strides == [side; 2] && window.dilations == [1, 1] && layer.conv.groups == 1;
        let fits = from.height.is_multiple_of(side) && from.width.is_multiple_of(side);
        if !plain || !fits || side < 2 {
            return None;
        }
        let pad = [0, 1].map(|axis| window.pads[axis].div_ceil(side));
        let extent = [layer.shape[2], layer.shape[3]];
        let end = |axis: usize| (pad[axis] * side - window.pads[axis] + extent[axis]).div_ceil(side);
        Some(Patches { side, count: [end(0), end(1)], pad })
    }

    /// Weights patch by patch, channel `(c * S + dy) * S + dx` of each; 0 where a patch leaves the window.
    fn weights(&self, layer: &Layer) -> Constant {
        let [co, ci, kh, kw] = layer.shape;
        let (s, patch) = (self.side, ci * self.side * self.side);
        let k = self.count[0] * self.count[1] * patch;
        let before = [0, 1].map(|axis| self.pad[axis] * s - layer.conv.window.pads[axis]);
        let mut weights = vec![0; co * k];
        for output in 0..co {
            for (channel, ky, kx) in (0..ci).flat_map(|c| (0..kh).flat_map(move |y| (0..kw).map(move |x| (c, y, x)))) {
                let (row, column) = (ky + before[0], kx + before[1]);
                let first = (row / s * self.count[1] + column / s) * patch;
                let inside = (channel * s + row % s) * s + column % s;
                weights[output * k + first + inside] = layer.weight(output, channel, ky, kx);
            }
        }
        Constant::stream(co, k, &weights, &layer.biases)
    }

    fn write(&self, text: &mut Text, layer: &Layer, x: &Operand, y: &Variable, (from, to): (Image, Image)) -> Reason {
        let [ci, h, w] = extents(from);
        let patch = ci * self.side * self.side;
        let [ty, tx] = self.count;
        let weights = text.constant(&format!("{}_weights", y.name), self.weights(layer));
        let args = [
            variable(text, x)?.read(&format!("Planar<{ci}, {h}, {w}>")),
            weights,
            y.write(&packed(extents(to))),
            format!("({}, {})", self.pad[0], self.pad[1]),
            scale(layer.scale)?,
            format!("({}, {})", layer.x.zero, layer.y.zero),
        ];
        let sizes = [ci, layer.shape[0], h, w, to.height, to.width];
        let generics = [&sizes[..], &[self.side, ty, tx, patch, ty * tx * patch]].concat();
        text.call(&format!("{NN}::conv::conv_space_to_depth"), &generics, &args);
        Ok(())
    }
}
