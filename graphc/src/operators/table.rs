//! The table of operators: the single place that says which there are, in which forms, and what becomes of them.

use serde::Serialize;

use crate::operators::{
    Meaning, Refusal, Site, axes, constants, moves, pointwise, products, quantized, resize, windows,
};

/// First version of ONNX's operator set that is read.
pub const MIN_OPSET: i64 = 11;

/// Last version of ONNX's operator set that is read.
pub const MAX_OPSET: i64 = 28;

/// An operator set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    /// ONNX's own.
    Onnx,
    /// ONNX Runtime's contributed operators.
    Microsoft,
}

impl Domain {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Domain::Onnx => "",
            Domain::Microsoft => "com.microsoft",
        }
    }

    /// The set that a file's name means.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "" | "ai.onnx" => Some(Domain::Onnx),
            "com.microsoft" => Some(Domain::Microsoft),
            _ => None,
        }
    }
}

/// What becomes of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mapping {
    /// Part of a kernel as it is.
    Mapped,
    /// Replaced by other operators, by a table or by a constant.
    Decomposed,
    /// Not accepted.
    Refused,
}

/// An operator of the table.
pub struct Row {
    /// Its set.
    pub domain: Domain,
    /// Its name.
    pub name: &'static str,
    /// First version of its set that has it, [`MIN_OPSET`] for older ones.
    pub since: i64,
    /// What becomes of it.
    pub mapping: Mapping,
    /// How: kernel, replacement, or what to write instead.
    pub how: &'static str,
    /// The forms that are accepted.
    pub forms: &'static str,
    /// Reads a node.
    pub parse: fn(&Site) -> Result<Meaning, Refusal>,
}

/// The row of an operator.
pub fn find(domain: Domain, name: &str) -> Option<&'static Row> {
    OPERATORS.iter().find(|row| row.domain == domain && row.name == name)
}

/// Never called: a refused operator is not read.
fn refused(_: &Site) -> Result<Meaning, Refusal> {
    Err(Refusal::Operator { name: "operator" })
}

macro_rules! operators { ($($mapping:ident $domain:ident $name:ident $since:literal: $how:literal, $forms:literal, $parse:expr;)*) => {
    /// Every operator that is known, by family.
    pub static OPERATORS: &[Row] = &[$(Row {
        domain: Domain::$domain,
        name: stringify!($name),
        since: $since,
        mapping: Mapping::$mapping,
        how: $how,
        forms: $forms,
        parse: $parse,
    }),*];
} }

operators! {
    Mapped Onnx Conv 11: "convolution", "f32, 1 or 2 spatial dimensions, any strides, dilations, pads, groups and auto_pad", products::conv;
    Mapped Onnx ConvInteger 11: "convolution to accumulators", "i8 or u8, 1 or 2 spatial dimensions; zero points per tensor, of w also per channel", products::conv_integer;
    Mapped Onnx QLinearConv 11: "convolution, requantised", "i8 or u8, constant scales and zero points, of w also per output channel; bias i32", quantized::conv;
    Mapped Onnx ConvTranspose 11: "transposed convolution", "f32, 1 or 2 spatial dimensions, output_padding or output_shape", products::conv_transpose;
    Mapped Onnx MatMul 11: "matrix product", "f32, rank 1 or more, leading dimensions broadcast", products::matmul;
    Mapped Onnx MatMulInteger 11: "matrix product to accumulators", "i8 or u8; zero points per tensor, of b also per column", products::matmul_integer;
    Mapped Onnx QLinearMatMul 11: "matrix product, requantised", "i8 or u8, constant scales and zero points, of b also per column", quantized::matmul;
    Mapped Onnx Gemm 11: "matrix product with bias", "f32, rank 2, any alpha, beta and transposition; c optional", products::gemm;
    Mapped Microsoft QGemm 1: "matrix product with bias, requantised", "i8 or u8, rank 2, constant scales and zero points, of b also per column; y_scale given", quantized::gemm;

    Mapped Onnx QuantizeLinear 11: "quantisation", "f32 to i8 or u8, constant scale and zero point, per tensor or per axis; no blocks", quantized::quantize;
    Mapped Onnx DequantizeLinear 11: "dequantisation", "i8, u8 or i32 to f32, constant scale and zero point, per tensor or per axis; no blocks", quantized::dequantize;
    Mapped Microsoft QuantizeLinear 1: "quantisation", "as ONNX's", quantized::quantize;
    Mapped Microsoft DequantizeLinear 1: "dequantisation", "as ONNX's", quantized::dequantize;
    Mapped Onnx DynamicQuantizeLinear 11: "range, then quantisation", "f32 to u8", quantized::dynamic;

    Mapped Onnx LayerNormalization 17: "layer normalisation in fixed point", "f32, one output; also recognised as ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add", axes::layer_norm;
    Decomposed Onnx BatchNormalization 11: "scale and offset per channel, folded into a convolution before it", "f32, inference, one output", axes::batch_norm;
    Mapped Onnx Softmax 11: "softmax in fixed point", "f32, any axis; opset 12 and older flatten from the axis on", axes::softmax;
    Mapped Microsoft QLinearSoftmax 1: "softmax in fixed point, quantised", "i8 or u8, constant scales and zero points", quantized::softmax;

    Mapped Onnx Gelu 20: "table or fixed point", "f32, approximate none or tanh; also recognised as Div, Erf, Add, Mul, Mul", pointwise::gelu;
    Mapped Microsoft Gelu 1: "table or fixed point", "f32", pointwise::gelu;
    Mapped Microsoft FastGelu 1: "table or fixed point", "f32, without bias", pointwise::fast_gelu;
    Mapped Onnx Relu 11: "maximum with 0", "f32, i8, i32, i64", pointwise::relu;
    Mapped Onnx LeakyRelu 11: "table or fixed point", "f32", pointwise::leaky_relu;
    Mapped Microsoft QLinearLeakyRelu 1: "table", "i8 or u8, constant scales and zero points", quantized::leaky_relu;
    Mapped Onnx Clip 11: "minimum and maximum", "any numbers; limits are constants", pointwise::clip;
    Mapped Onnx Sigmoid 11: "table or fixed point", "f32", pointwise::sigmoid;
    Mapped Microsoft QLinearSigmoid 1: "table", "i8 or u8, constant scales and zero points", quantized::sigmoid;
    Mapped Onnx HardSigmoid 11: "fixed point", "f32", pointwise::hard_sigmoid;
    Decomposed Onnx HardSwish 14: "x times HardSigmoid of x", "f32", pointwise::hard_swish;
    Mapped Onnx Tanh 11: "table or fixed point", "f32", pointwise::tanh;
    Mapped Onnx Erf 11: "table or fixed point", "f32", pointwise::erf;
    Mapped Onnx Exp 11: "table or fixed point", "f32", pointwise::exp;
    Mapped Onnx Log 11: "table or fixed point", "f32", pointwise::log;
    Mapped Onnx Sqrt 11: "table or fixed point", "f32", pointwise::sqrt;
    Mapped Onnx Reciprocal 11: "fixed-point division", "f32", pointwise::reciprocal;
    Mapped Onnx Elu 11: "table or fixed point", "f32", pointwise::elu;
    Mapped Onnx Softplus 11: "table or fixed point", "f32", pointwise::softplus;
    Mapped Onnx Abs 11: "magnitude", "f32, i8, i32, i64", pointwise::abs;
    Mapped Onnx Neg 11: "negation", "f32, i8, i32, i64", pointwise::neg;
    Mapped Onnx Not 11: "inversion", "bool", pointwise::not;

    Mapped Onnx Add 11: "sum", "f32, i32, i64; shapes broadcast", pointwise::add;
    Mapped Onnx Sub 11: "difference", "f32, i32, i64; shapes broadcast", pointwise::sub;
    Mapped Onnx Mul 11: "product", "f32, i32, i64; shapes broadcast", pointwise::mul;
    Mapped Onnx Div 11: "quotient", "f32, i32, i64; shapes broadcast", pointwise::div;
    Mapped Onnx Pow 11: "power", "f32, i32, i64, both alike; shapes broadcast", pointwise::pow;
    Mapped Onnx Min 11: "minimum", "any numbers, one input or more; shapes broadcast", pointwise::min;
    Mapped Onnx Max 11: "maximum", "any numbers, one input or more; shapes broadcast", pointwise::max;
    Mapped Microsoft QLinearAdd 1: "sum, requantised", "i8 or u8, constant scales and zero points; shapes broadcast", quantized::add;
    Mapped Microsoft QLinearMul 1: "product, requantised", "i8 or u8, constant scales and zero points; shapes broadcast", quantized::mul;
    Mapped Onnx Equal 11: "comparison", "any type, both alike; shapes broadcast", pointwise::equal;
    Mapped Onnx Less 11: "comparison", "any type, both alike; shapes broadcast", pointwise::less;
    Mapped Onnx LessOrEqual 12: "comparison", "any type, both alike; shapes broadcast", pointwise::less_or_equal;
    Mapped Onnx Greater 11: "comparison", "any type, both alike; shapes broadcast", pointwise::greater;
    Mapped Onnx GreaterOrEqual 12: "comparison", "any type, both alike; shapes broadcast", pointwise::greater_or_equal;
    Mapped Onnx Where 11: "select", "condition of bool, both others alike; shapes broadcast", pointwise::select;
    Mapped Onnx Cast 11: "conversion", "between f32, i8, u8, i32, i64 and bool; float16, bfloat16 and float64 count as f32", pointwise::cast;

    Mapped Onnx ReduceMean 11: "reduction", "any numbers; axes are constants", axes::reduce_mean;
    Mapped Onnx ReduceSum 11: "reduction", "any numbers; axes are constants", axes::reduce_sum;
    Mapped Onnx ReduceMax 11: "reduction", "any numbers; axes are constants", axes::reduce_max;
    Mapped Onnx ReduceMin 11: "reduction", "any numbers; axes are constants", axes::reduce_min;
    Mapped Onnx ArgMax 11: "index of the largest", "any numbers, any axis, first or last of equals", axes::argmax;

    Mapped Onnx MaxPool 11: "maximum of windows", "any numbers, 1 or 2 spatial dimensions, one output", windows::max_pool;
    Mapped Onnx AveragePool 11: "average of windows", "f32, 1 or 2 spatial dimensions", windows::average_pool;
    Mapped Onnx GlobalAveragePool 11: "average of planes", "f32, 1 or 2 spatial dimensions", windows::global_average_pool;
    Mapped Microsoft QLinearAveragePool 1: "average of windows, requantised", "i8 or u8, constant scales and zero points, channels first", quantized::average_pool;
    Mapped Microsoft QLinearGlobalAveragePool 1: "average of planes, requantised", "i8 or u8, constant scales and zero points, channels first", quantized::global_average_pool;
    Mapped Onnx Resize 11: "interpolation", "f32, i8, u8; mode linear over the last two axes, or nearest; half_pixel, pytorch_half_pixel, asymmetric or align_corners; constant scales or sizes; no antialiasing", resize::resize;

    Mapped Onnx Transpose 11: "movement", "any type", moves::transpose;
    Mapped Onnx Reshape 11: "no movement, or a change of layout", "any type; the shape is a constant", moves::reshape;
    Decomposed Onnx Flatten 11: "Reshape", "any type", moves::flatten;
    Decomposed Onnx Squeeze 11: "Reshape", "any type; axes are constants", moves::squeeze;
    Decomposed Onnx Unsqueeze 11: "Reshape", "any type; axes are constants", moves::unsqueeze;
    Mapped Onnx Concat 11: "movement", "any type, all alike", moves::concat;
    Mapped Microsoft QLinearConcat 1: "movement, requantised by a table", "i8 or u8, constant scales and zero points", quantized::concat;
    Mapped Onnx Split 11: "movement", "any type; sizes are constants", moves::split;
    Mapped Onnx Slice 11: "movement", "any type; starts, ends, axes and steps are constants", moves::slice;
    Mapped Onnx Pad 11: "movement", "any type; modes constant, reflect, edge and wrap; pads are constants", moves::pad;
    Mapped Onnx Expand 11: "movement", "any type; the shape is a constant", moves::expand;
    Mapped Onnx Gather 11: "movement", "any type; indices of i32 or i64", moves::gather;
    Mapped Onnx SpaceToDepth 11: "movement", "any type, rank 4", moves::space_to_depth;
    Mapped Onnx DepthToSpace 11: "movement", "any type, rank 4, modes DCR and CRD", moves::depth_to_space;
    Decomposed Onnx Identity 11: "nothing", "any type", moves::identity;
    Decomposed Onnx Dropout 11: "nothing", "any type, inference, one output", moves::dropout;
    Decomposed Onnx Constant 11: "a constant", "value, value_float, value_floats, value_int or value_ints", constants::constant;
    Decomposed Onnx ConstantOfShape 11: "a constant", "the shape is a constant", constants::constant_of_shape;
    Decomposed Onnx Shape 11: "a constant", "any type", constants::shape;

    Refused Onnx Einsum 12: "write Transpose, Reshape and MatMul", "none", refused;
    Refused Onnx InstanceNormalization 11: "write ReduceMean, Sub, Mul, Sqrt and Div", "none", refused;
    Refused Onnx GroupNormalization 18: "write Reshape and LayerNormalization", "none", refused;
    Refused Onnx LSTM 11: "unroll the steps into MatMul, Sigmoid and Tanh", "none", refused;
    Refused Onnx GRU 11: "unroll the steps into MatMul, Sigmoid and Tanh", "none", refused;
    Refused Onnx Loop 11: "unroll it", "none", refused;
    Refused Onnx If 11: "export the branch that is taken", "none", refused;
    Refused Onnx NonZero 11: "cut the network before it: its result has no static shape", "none", refused;
    Refused Onnx NonMaxSuppression 11: "cut the network before it: its result has no static shape", "none", refused;
    Refused Onnx TopK 11: "ArgMax where k is 1", "none", refused;
    Refused Onnx Upsample 11: "Resize, which replaces it from opset 10 on", "none", refused;
    Refused Microsoft Attention 1: "export without fusing attention", "none", refused;
    Refused Microsoft SkipLayerNormalization 1: "Add and LayerNormalization: export without fusing", "none", refused;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_has_two_rows() {
        for (i, row) in OPERATORS.iter().enumerate() {
            let same = |other: &&Row| other.name == row.name && other.domain == row.domain;
            assert_eq!(OPERATORS.iter().skip(i).filter(same).count(), 1, "{}", row.name);
            assert!((MIN_OPSET..=MAX_OPSET).contains(&row.since) || row.domain == Domain::Microsoft);
        }
    }
}
