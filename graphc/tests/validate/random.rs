//! Random networks of one quantised operator: extents, scales, zero points and elements from a seed, with what tells wrong
//! arithmetic from right: scales with exact ties, zero points at the ends, full-scale elements.

use std::collections::HashMap;

use graphc::graph::{DType, Tensor};
use graphc::onnx::proto::{AttributeProto, attribute_kind};
use graphc::onnx::tensor::data_type_of;
use ndarray::{ArrayD, IxDyn};

use crate::support::{Lcg, Net, int, ints, list, scalar, text};

/// A network and inputs for it.
pub struct Case {
    /// Operator and seed.
    pub name: String,
    pub net: Net,
    pub inputs: HashMap<String, Tensor>,
}

/// An operator, and what makes a network of it.
type Operator = (&'static str, fn(Draw) -> Draw);

/// The operators, in the order in which seeds take them.
pub const OPERATORS: &[Operator] = &[
    ("QLinearConv", conv),
    ("QLinearMatMul", matmul),
    ("QLinearAdd", |d| binary(d, "com.microsoft.QLinearAdd")),
    ("QLinearMul", |d| binary(d, "com.microsoft.QLinearMul")),
    ("QuantizeLinear", quantize),
    ("DequantizeLinear", dequantize),
    ("MaxPool", max_pool),
    ("QLinearAveragePool", average_pool),
    ("QLinearGlobalAveragePool", global_average_pool),
    ("QLinearConcat", concat),
    ("Resize", resize),
    ("LayerNormalization", layer_norm),
    ("Softmax", softmax),
    ("QLinearSoftmax", qlinear_softmax),
    ("QLinearSigmoid", |d| unary(d, "com.microsoft.QLinearSigmoid")),
    ("QLinearLeakyRelu", |d| unary(d, "com.microsoft.QLinearLeakyRelu")),
    ("Erf", erf),
    ("ArgMax", arg_max),
];

/// The network of a seed.
pub fn case(seed: u64) -> Case {
    let (name, make) = OPERATORS[seed as usize % OPERATORS.len()];
    let draw = make(Draw::new(seed));
    Case { name: format!("{name}, seed {seed}"), net: draw.net.output("y"), inputs: draw.inputs }
}

/// A network in the making.
pub struct Draw {
    net: Net,
    inputs: HashMap<String, Tensor>,
    random: Lcg,
    /// Element type of the data.
    dtype: DType,
}

impl Draw {
    fn new(seed: u64) -> Self {
        let mut random = Lcg(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1);
        random.next();
        let dtype = if random.next().is_multiple_of(2) { DType::I8 } else { DType::U8 };
        Draw { net: Net::new(17), inputs: HashMap::new(), random, dtype }
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.next() as usize % n
    }

    fn extent(&mut self, most: usize) -> usize {
        1 + self.below(most)
    }

    /// Powers of two and simple multiples of them make ties; others seldom do.
    fn scale(&mut self) -> f32 {
        let power = 0.5_f32.powi(2 + self.below(6) as i32);
        match self.below(4) {
            0 => power,
            1 => power * [3.0, 5.0, 1.0 / 3.0][self.below(3)],
            _ => 0.003 + self.random.float().abs() * 0.2,
        }
    }

    fn zero(&mut self, dtype: DType) -> i32 {
        let middle = if dtype == DType::I8 { 0 } else { 128 };
        match self.below(4) {
            0 | 1 => middle,
            2 => middle + self.below(255) as i32 - 127,
            _ => middle + [-128, 127][self.below(2)],
        }
    }

    fn elements(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        let low = if dtype == DType::I8 { -128 } else { 0 };
        let kind = self.below(5);
        let n = shape.iter().product::<usize>();
        let element = |random: &mut Lcg| match kind {
            0 => low + 255 * (random.next() % 2) as i32,
            1 => low + 128 + (random.next() % 5) as i32 - 2,
            _ => low + (random.next() % 256) as i32,
        };
        let values: Vec<i32> = (0..n).map(|_| element(&mut self.random)).collect();
        let array = ArrayD::from_shape_vec(IxDyn(shape), values).unwrap();
        match dtype {
            DType::I8 => array.mapv(|v| v as i8).into(),
            _ => array.mapv(|v| v as u8).into(),
        }
    }

    /// Data that goes into the network.
    fn data(mut self, name: &str, dtype: DType, shape: &[usize]) -> Self {
        let tensor = self.elements(dtype, shape);
        self.feed(name, tensor)
    }

    fn feed(mut self, name: &str, tensor: Tensor) -> Self {
        let extents: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
        let extents: Vec<&str> = extents.iter().map(String::as_str).collect();
        self.net = self.net.typed_input(name, data_type_of(tensor.dtype()), &extents);
        self.inputs.insert(name.to_owned(), tensor);
        self
    }

    /// Scale and zero point, as `NAME_s` and `NAME_z`.
    fn quant(mut self, name: &str, dtype: DType) -> Self {
        let (scale, zero) = (self.scale(), self.zero(dtype));
        self.quant_of(name, dtype, scale, zero)
    }

    fn quant_of(mut self, name: &str, dtype: DType, scale: f32, zero: i32) -> Self {
        self.net = self.net.constant(&format!("{name}_s"), scalar(scale));
        self.net = self.net.constant(&format!("{name}_z"), one(dtype, zero));
        self
    }

    /// An output scale for which sums of so many products of random elements fill the range.
    fn quant_of_sum(mut self, terms: usize, scales: f32) -> Self {
        let spread = scales * 74.0 * 74.0 * (terms as f32).sqrt() / 60.0;
        // Half of them with ties: the nearest power of two.
        let scale = if self.below(2) == 0 { spread } else { scales * (spread / scales).log2().round().exp2() };
        let (dtype, zero) = (self.dtype, self.zero(self.dtype));
        self.quant_of("y", dtype, scale, zero)
    }

    fn constant(mut self, name: &str, tensor: Tensor) -> Self {
        self.net = self.net.constant(name, tensor);
        self
    }

    fn node(mut self, op: &str, inputs: &[&str], y: &str, attributes: &[AttributeProto]) -> Self {
        self.net = self.net.node_with(op, inputs, &[y], attributes);
        self
    }
}

fn one(dtype: DType, value: i32) -> Tensor {
    if dtype == DType::I8 { scalar(value as i8) } else { scalar(value as u8) }
}

fn float(name: &str, f: f32) -> AttributeProto {
    AttributeProto { name: name.to_owned(), f, kind: attribute_kind::FLOAT, ..Default::default() }
}

fn conv(mut d: Draw) -> Draw {
    let depthwise = d.below(3) == 0;
    let (channels, kernel, stride) = (d.extent(8), 1 + 2 * d.below(2), d.extent(2));
    let (out, per_group) = if depthwise { (channels, 1) } else { (d.extent(9), channels) };
    let (height, width, pad) = (3 + d.below(12), 3 + d.below(12), d.below(2) * (kernel / 2));
    let (sx, sw, x_zero) = (d.scale(), d.scale(), d.zero(d.dtype));
    let dtype = d.dtype;
    let weights = d.elements(DType::I8, &[out, per_group, kernel, kernel]);
    let bias: Vec<i32> = (0..out).map(|_| d.below(4001) as i32 - 2000).collect();
    let d = d.data("x", dtype, &[1, channels, height, width]).quant_of("x", dtype, sx, x_zero);
    let d = d.quant_of("w", DType::I8, sw, 0).constant("w", weights).constant("b", list(&bias));
    let d = d.quant_of_sum(per_group * kernel * kernel, sx * sw);
    let attributes = [
        ints("kernel_shape", &[kernel as i64; 2]),
        ints("strides", &[stride as i64; 2]),
        ints("pads", &[pad as i64; 4]),
        int("group", if depthwise { channels as i64 } else { 1 }),
    ];
    d.node("QLinearConv", &["x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z", "b"], "y", &attributes)
}

fn matmul(mut d: Draw) -> Draw {
    let (rows, inner, columns) = (d.extent(70), d.extent(40), d.extent(40));
    let (sa, sb, a_zero) = (d.scale(), d.scale(), d.zero(d.dtype));
    let dtype = d.dtype;
    let weights = d.elements(DType::I8, &[inner, columns]);
    let d = d.data("a", dtype, &[1, rows, inner]).quant_of("a", dtype, sa, a_zero);
    let d = d.quant_of("b", DType::I8, sb, 0).constant("b", weights).quant_of_sum(inner, sa * sb);
    d.node("QLinearMatMul", &["a", "a_s", "a_z", "b", "b_s", "b_z", "y_s", "y_z"], "y", &[])
}

fn binary(mut d: Draw, op: &str) -> Draw {
    let shape = [1, d.extent(9), d.extent(9), d.extent(40)];
    let dtype = d.dtype;
    let d = d.data("a", dtype, &shape).data("b", dtype, &shape);
    let d = d.quant("a", dtype).quant("b", dtype).quant("y", dtype);
    d.node(op, &["a", "a_s", "a_z", "b", "b_s", "b_z", "y_s", "y_z"], "y", &[])
}

fn quantize(mut d: Draw) -> Draw {
    let (scale, shape, dtype) = (d.scale(), [d.extent(40), d.extent(40)], d.dtype);
    let ties = d.below(2) == 0;
    let step = |random: &mut Lcg| (random.next() % 700) as f32 - 350.0;
    let value = |random: &mut Lcg| if ties { (step(random) + 0.5) * scale } else { random.float() * 140.0 * scale };
    let x = ArrayD::from_shape_simple_fn(IxDyn(&shape), || value(&mut d.random));
    let zero = d.zero(dtype);
    let d = d.feed("x", x.into()).quant_of("y", dtype, scale, zero);
    d.node("QuantizeLinear", &["x", "y_s", "y_z"], "y", &[])
}

fn dequantize(mut d: Draw) -> Draw {
    let (shape, dtype) = ([d.extent(40), d.extent(40)], d.dtype);
    d.data("x", dtype, &shape).quant("x", dtype).node("DequantizeLinear", &["x", "x_s", "x_z"], "y", &[])
}

fn windows(d: &mut Draw) -> ([usize; 4], Vec<AttributeProto>) {
    let (kernel, stride) = (2 + d.below(2), d.extent(2));
    let pad = d.below(2);
    let shape = [1, d.extent(6), 4 + d.below(14), 4 + d.below(14)];
    let list = |v: usize, n: usize| vec![v as i64; n];
    let attributes =
        vec![ints("kernel_shape", &list(kernel, 2)), ints("strides", &list(stride, 2)), ints("pads", &list(pad, 4))];
    (shape, attributes)
}

fn max_pool(mut d: Draw) -> Draw {
    let (shape, attributes) = windows(&mut d);
    let dtype = d.dtype;
    d.data("x", dtype, &shape).node("MaxPool", &["x"], "y", &attributes)
}

fn average_pool(mut d: Draw) -> Draw {
    let (shape, mut attributes) = windows(&mut d);
    attributes.push(int("count_include_pad", d.below(2) as i64));
    let dtype = d.dtype;
    let d = d.data("x", dtype, &shape).quant("x", dtype).quant("y", dtype);
    d.node("com.microsoft.QLinearAveragePool", &["x", "x_s", "x_z", "y_s", "y_z"], "y", &attributes)
}

fn global_average_pool(mut d: Draw) -> Draw {
    let shape = [1, d.extent(9), d.extent(12), d.extent(12)];
    let dtype = d.dtype;
    let d = d.data("x", dtype, &shape).quant("x", dtype).quant("y", dtype);
    d.node("com.microsoft.QLinearGlobalAveragePool", &["x", "x_s", "x_z", "y_s", "y_z"], "y", &[])
}

fn concat(mut d: Draw) -> Draw {
    let (height, width, dtype) = (d.extent(9), d.extent(9), d.dtype);
    let (first, second) = (4 * d.extent(3), 4 * d.extent(3));
    let d = d.data("a", dtype, &[1, first, height, width]).data("b", dtype, &[1, second, height, width]);
    let d = d.quant("a", dtype).quant("b", dtype).quant("y", dtype);
    let inputs = ["y_s", "y_z", "a", "a_s", "a_z", "b", "b_s", "b_z"];
    d.node("com.microsoft.QLinearConcat", &inputs, "y", &[int("axis", 1)])
}

fn resize(mut d: Draw) -> Draw {
    let shape = [1, d.extent(6), 2 + d.below(8), 2 + d.below(8)];
    let factor = 1 + d.extent(3);
    let sizes = [1, shape[1], shape[2] * factor, shape[3] * factor].map(|n| n as i64);
    let dtype = d.dtype;
    let d = d.data("x", dtype, &shape).constant("sizes", list(&sizes));
    let attributes = [text("mode", "linear"), text("coordinate_transformation_mode", "half_pixel")];
    d.node("Resize", &["x", "", "", "sizes"], "y", &attributes)
}

/// `op` between DequantizeLinear and QuantizeLinear.
fn between(d: Draw, op: &str, inputs: &[&str], attributes: &[AttributeProto]) -> Draw {
    let d = d.node("DequantizeLinear", &["x", "x_s", "x_z"], "real", &[]).node(op, inputs, "result", attributes);
    d.node("QuantizeLinear", &["result", "y_s", "y_z"], "y", &[])
}

fn layer_norm(mut d: Draw) -> Draw {
    let (rows, inner, dtype) = (d.extent(70), 8 + d.below(60), d.dtype);
    let gamma = d.random.tensor(&[inner], 2.0);
    let beta = d.random.tensor(&[inner], 1.0);
    let d = d.data("x", dtype, &[1, rows, inner]).quant("x", dtype).quant("y", dtype);
    let d = d.constant("gamma", gamma).constant("beta", beta);
    between(d, "LayerNormalization", &["real", "gamma", "beta"], &[int("axis", -1), float("epsilon", 1e-5)])
}

fn softmax(mut d: Draw) -> Draw {
    let (shape, dtype) = ([1, d.extent(4), d.extent(30), d.extent(90)], d.dtype);
    let lowest = if dtype == DType::I8 { -128 } else { 0 };
    let d = d.data("x", dtype, &shape).quant("x", dtype).quant_of("y", dtype, 1.0 / 255.0, lowest);
    between(d, "Softmax", &["real"], &[int("axis", -1)])
}

fn erf(mut d: Draw) -> Draw {
    let (shape, dtype) = ([1, d.extent(8), d.extent(90)], d.dtype);
    let d = d.data("x", dtype, &shape).quant("x", dtype).quant_of("y", dtype, 1.0 / 127.0, 0);
    between(d, "Erf", &["real"], &[])
}

fn qlinear_softmax(mut d: Draw) -> Draw {
    let (shape, dtype) = ([1, d.extent(4), d.extent(30), d.extent(90)], d.dtype);
    let lowest = if dtype == DType::I8 { -128 } else { 0 };
    let d = d.data("x", dtype, &shape).quant("x", dtype).quant_of("y", dtype, 1.0 / 256.0, lowest);
    let attributes = [int("axis", -1), int("opset", 13)];
    d.node("com.microsoft.QLinearSoftmax", &["x", "x_s", "x_z", "y_s", "y_z"], "y", &attributes)
}

fn unary(mut d: Draw, op: &str) -> Draw {
    let (shape, dtype) = ([1, d.extent(8), d.extent(9), d.extent(9)], d.dtype);
    let d = d.data("x", dtype, &shape).quant("x", dtype).quant("y", dtype);
    let alpha = float("alpha", 0.1);
    d.node(
        op,
        &["x", "x_s", "x_z", "y_s", "y_z"],
        "y",
        if op.contains("Leaky") { std::slice::from_ref(&alpha) } else { &[] },
    )
}

fn arg_max(mut d: Draw) -> Draw {
    let (shape, dtype) = ([1, 2 + d.below(20), d.extent(12), d.extent(12)], d.dtype);
    d.data("x", dtype, &shape).node("ArgMax", &["x"], "y", &[int("axis", 1)])
}
