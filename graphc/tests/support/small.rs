//! Small quantised networks with every pattern that planning knows.

use graphc::onnx::proto::AttributeProto;

use super::{Lcg, Net, int, ints, scalar, text};

/// A network of 8-bit tensors; all of them have the scale `s` and the zero point `z`.
pub struct Quantised {
    pub net: Net,
    pub random: Lcg,
}

impl Quantised {
    /// One image `x`, quantised from `image`.
    pub fn image(channels: usize, height: usize, width: usize) -> Self {
        let shape: Vec<String> = [1, channels, height, width].iter().map(usize::to_string).collect();
        let shape: Vec<&str> = shape.iter().map(String::as_str).collect();
        let net = Net::new(17)
            .input("image", &shape)
            .constant("s", scalar(0.05_f32))
            .constant("sw", scalar(0.01_f32))
            .constant("sp", scalar(1.0_f32 / 127.0))
            .constant("z", scalar(0_i8))
            .node("QuantizeLinear", &["image", "s", "z"], &["x"]);
        Quantised { net, random: Lcg(7) }
    }

    fn with(mut self, f: impl FnOnce(Net) -> Net) -> Self {
        self.net = f(self.net);
        self
    }

    fn node(self, op: &str, inputs: &[&str], y: &str, attributes: &[AttributeProto]) -> Self {
        self.with(|net| net.node_with(op, inputs, &[y], attributes))
    }

    /// A convolution with weights of that name.
    pub fn conv(self, x: &str, w: &str, y: &str, attributes: &[AttributeProto]) -> Self {
        self.node("QLinearConv", &[x, "s", "z", w, "sw", "z", "s", "z"], y, attributes)
    }

    fn weights(mut self, name: &str, shape: &[usize]) -> Self {
        let tensor = self.random.int8(shape);
        self.with(|net| net.constant(name, tensor))
    }

    /// A convolution with random weights.
    fn layer(self, x: &str, y: &str, shape: [usize; 4], attributes: &[AttributeProto]) -> Self {
        let w = format!("{y}.weight");
        self.weights(&w, &shape).conv(x, &w, y, attributes)
    }

    /// A norm between float and 8 bits.
    fn norm(mut self, float: &str, y: &str, channels: usize) -> Self {
        let (gamma, beta) = (self.random.tensor(&[channels], 2.0), self.random.tensor(&[channels], 1.0));
        let (g, b, f) = (format!("{y}.gamma"), format!("{y}.beta"), format!("{y}.float"));
        self.with(|net| net.constant(&g, gamma).constant(&b, beta))
            .node("LayerNormalization", &[float, &g, &b], &f, &[int("axis", -1)])
            .node("QuantizeLinear", &[&f, "s", "z"], y, &[])
    }

    /// A matrix product, and a constant for each column.
    fn dense(self, x: &str, y: &str, shape: [usize; 2]) -> Self {
        let (w, b, p) = (format!("{y}.weight"), format!("{y}.bias"), format!("{y}.product"));
        self.weights(&w, &shape)
            .weights(&b, &[shape[1]])
            .node("QLinearMatMul", &[x, "s", "z", &w, "sw", "z", "s", "z"], &p, &[])
            .node("com.microsoft.QLinearAdd", &[&b, "s", "z", &p, "s", "z", "s", "z"], y, &[])
    }

    fn sum(self, a: &str, b: &str, y: &str) -> Self {
        self.node("com.microsoft.QLinearAdd", &[a, "s", "z", b, "s", "z", "s", "z"], y, &[])
    }

    fn reshape(self, x: &str, y: &str, shape: &[i64]) -> Self {
        let name = format!("{y}.shape");
        self.with(|net| net.constant(&name, super::list(shape))).node("Reshape", &[x, &name], y, &[])
    }

    fn transpose(self, x: &str, y: &str, permutation: &[i64]) -> Self {
        self.node("Transpose", &[x], y, &[ints("perm", permutation)])
    }

    /// Queries or values as heads.
    fn heads(self, x: &str, y: &str, shape: [i64; 3], permutation: &[i64]) -> Self {
        let split = format!("{y}.split");
        let [tokens, heads, features] = shape;
        self.reshape(x, &split, &[1, tokens, heads, features]).transpose(&split, y, permutation)
    }
}

/// A transformer block on an image of `height` x `width` patches, as SegFormer has it, with a little decode head behind it.
pub fn encoder_block(channels: usize, heads: usize, height: usize, width: usize) -> Net {
    let (c, hidden, tokens) = (channels, 4 * channels, (height * width) as i64);
    let (h, w, n_heads) = (height as i64, width as i64, heads as i64);
    let per_head = [tokens, n_heads, (channels / heads) as i64];
    let stem = [ints("strides", &[4, 4]), ints("pads", &[3, 3, 3, 3])];
    let depthwise = [int("group", hidden as i64), ints("pads", &[1, 1, 1, 1])];
    let q = Quantised::image(3, 4 * height, 4 * width)
        .layer("x", "block/stem/Conv_output_0", [c, 3, 7, 7], &stem)
        .reshape("block/stem/Conv_output_0", "flat", &[1, c as i64, tokens])
        .transpose("flat", "tokens", &[0, 2, 1])
        .node("DequantizeLinear", &["tokens", "s", "z"], "tokens.float", &[])
        .norm("tokens.float", "block/norm/Norm_output_0", c)
        .norm("block/norm/Norm_output_0.float", "block/norm_before/Norm_output_0", c)
        .dense("block/norm_before/Norm_output_0", "block/attention/q/Add_output_0", [c, c])
        .dense("block/norm_before/Norm_output_0", "block/attention/k/Add_output_0", [c, c])
        .dense("block/norm_before/Norm_output_0", "block/attention/v/Add_output_0", [c, c])
        .heads("block/attention/q/Add_output_0", "queries", per_head, &[0, 2, 1, 3])
        .heads("block/attention/k/Add_output_0", "keys", per_head, &[0, 2, 3, 1])
        .heads("block/attention/v/Add_output_0", "values", per_head, &[0, 2, 1, 3])
        .node("QLinearMatMul", &["queries", "s", "z", "keys", "s", "z", "s", "z"], "scores", &[])
        .node("DequantizeLinear", &["scores", "s", "z"], "scores.float", &[])
        .node("Softmax", &["scores.float"], "softmax", &[int("axis", -1)])
        .node("QuantizeLinear", &["softmax", "sp", "z"], "probabilities", &[])
        .node(
            "QLinearMatMul",
            &["probabilities", "sp", "z", "values", "s", "z", "s", "z"],
            "block/attention/MatMul_1_output_0",
            &[],
        )
        .transpose("block/attention/MatMul_1_output_0", "context", &[0, 2, 1, 3])
        .reshape("context", "merged", &[1, tokens, c as i64])
        .dense("merged", "block/attention/o/Add_output_0", [c, c])
        .sum("block/attention/o/Add_output_0", "block/norm/Norm_output_0", "block/Add_output_0")
        .node("DequantizeLinear", &["block/Add_output_0", "s", "z"], "sum.float", &[])
        .norm("sum.float", "block/norm_after/Norm_output_0", c)
        .dense("block/norm_after/Norm_output_0", "block/mlp/fc1/Add_output_0", [c, hidden])
        .reshape("block/mlp/fc1/Add_output_0", "hidden.rows", &[1, h, w, hidden as i64])
        .transpose("hidden.rows", "hidden", &[0, 3, 1, 2])
        .layer("hidden", "block/mlp/depthwise/Conv_output_0", [hidden, 1, 3, 3], &depthwise)
        .node("DequantizeLinear", &["block/mlp/depthwise/Conv_output_0", "s", "z"], "hidden.float", &[])
        .node("com.microsoft.Gelu", &["hidden.float"], "gelu", &[])
        .node("QuantizeLinear", &["gelu", "s", "z"], "block/mlp/gelu/Gelu_output_0", &[])
        .reshape("block/mlp/gelu/Gelu_output_0", "gelu.flat", &[1, hidden as i64, tokens])
        .transpose("gelu.flat", "gelu.tokens", &[0, 2, 1])
        .dense("gelu.tokens", "block/mlp/fc2/Add_output_0", [hidden, c])
        .sum("block/mlp/fc2/Add_output_0", "block/Add_output_0", "block/Add_1_output_0");
    head(q, c, [height, width])
}

/// A norm, two scales of it joined, classes, labels.
fn head(q: Quantised, channels: usize, [height, width]: [usize; 2]) -> Net {
    let (c, h, w) = (channels, height as i64, width as i64);
    let halves = |y: &str| ints(y, &[2, 2]);
    let sizes = [1, c as i64, h, w];
    let linear = [text("mode", "linear"), text("coordinate_transformation_mode", "half_pixel")];
    q.node("DequantizeLinear", &["block/Add_1_output_0", "s", "z"], "last.float", &[])
        .norm("last.float", "norm/Norm_output_0", c)
        .reshape("norm/Norm_output_0", "last.rows", &[1, h, w, c as i64])
        .transpose("last.rows", "last", &[0, 3, 1, 2])
        .layer("last", "head/half/Conv_output_0", [c, c, 2, 2], &[halves("strides"), ints("pads", &[0, 0, 1, 1])])
        .with(|net| net.constant("sizes", super::list(&sizes)))
        .node("Resize", &["head/half/Conv_output_0", "", "", "sizes"], "head/Resize_output_0", &linear)
        .node(
            "com.microsoft.QLinearConcat",
            &["s", "z", "head/Resize_output_0", "s", "z", "last", "s", "z"],
            "head/Concat_output_0",
            &[int("axis", 1)],
        )
        .layer("head/Concat_output_0", "head/classes/Conv_output_0", [5, 2 * c, 1, 1], &[])
        .node("ArgMax", &["head/classes/Conv_output_0"], "labels", &[int("axis", 1)])
        .net
        .output("labels")
}

/// Four levels of an image of `height` x `width`, each through a dense layer to 16 channels, three of them enlarged, concatenated, fused,
/// classified, enlarged by 4, labelled.
pub fn decode_head(height: usize, width: usize) -> Net {
    let linear = [text("mode", "linear"), text("coordinate_transformation_mode", "half_pixel")];
    let mut q = Quantised::image(4, height, width);
    for by in [1, 2, 4, 8] {
        let (h, w) = (height / by, width / by);
        let [level, rows, tokens, dense, columns, map, big] =
            ["level", "rows", "tokens", "dense", "columns", "map", "big"].map(|name| format!("{name}{by}"));
        q = q
            .layer("x", &level, [16, 4, by, by], &[ints("strides", &[by as i64; 2])])
            .reshape(&level, &rows, &[1, 16, (h * w) as i64])
            .transpose(&rows, &tokens, &[0, 2, 1])
            .dense(&tokens, &dense, [16, 16])
            .transpose(&dense, &columns, &[0, 2, 1])
            .reshape(&columns, &map, &[1, 16, h as i64, w as i64]);
        if by > 1 {
            let sizes = format!("{big}.sizes");
            let to = [1, 16, height as i64, width as i64];
            q = q.with(|net| net.constant(&sizes, super::list(&to))).node(
                "Resize",
                &[&map, "", "", &sizes],
                &big,
                &linear,
            );
        }
    }
    let joined = ["s", "z", "big8", "s", "z", "big4", "s", "z", "big2", "s", "z", "map1", "s", "z"];
    let to = [1, 5, 4 * height as i64, 4 * width as i64];
    q.node("com.microsoft.QLinearConcat", &joined, "all", &[int("axis", 1)])
        .layer("all", "fused", [8, 64, 1, 1], &[])
        .node("DequantizeLinear", &["fused", "s", "z"], "fused.float", &[])
        .node("com.microsoft.Gelu", &["fused.float"], "gate.float", &[])
        .node("QuantizeLinear", &["gate.float", "s", "z"], "gate", &[])
        .layer("gate", "classes", [5, 8, 1, 1], &[])
        .with(|net| net.constant("sizes", super::list(&to)))
        .node("Resize", &["classes", "", "", "sizes"], "logits", &linear)
        .node("ArgMax", &["logits"], "labels", &[int("axis", 1)])
        .net
        .output("labels")
}
