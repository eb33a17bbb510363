//! What quantisation makes of each operator: the one table that says so.

/// How a node is quantised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// x, w, bias: QLinearConv.
    Conv,
    /// a, b: QLinearMatMul.
    MatMul,
    /// a, b, c: QGemm.
    Gemm,
    /// a, b: QLinearAdd, QLinearMul.
    Binary,
    /// Any number, joined: QLinearConcat.
    Concat,
    /// x: `QLinear` and the operator's name.
    Unary,
    /// x: QLinearSoftmax, whose results are from 0 to 1.
    Softmax,
    /// x: QLinearGlobalAveragePool, where x is quantised already.
    GlobalAveragePool,
    /// x, limited: nothing is left of it where a zero point says so.
    Clamp,
    /// x: elements are moved or chosen, so that 8-bit ones serve as well, where x is quantised already.
    Moves,
    /// x: gives indices, which 8-bit elements decide as well.
    Index,
    /// A float operator that only the QDQ form can put between 8-bit tensors.
    Between,
    /// Stays in float.
    Float,
}

impl Role {
    /// The role of an operator of ONNX's own set.
    pub fn of(op: &str) -> Role {
        match op {
            "Conv" => Role::Conv,
            "MatMul" => Role::MatMul,
            "Gemm" => Role::Gemm,
            "Add" | "Mul" => Role::Binary,
            "Concat" => Role::Concat,
            "AveragePool" | "LeakyRelu" | "Sigmoid" => Role::Unary,
            "Softmax" => Role::Softmax,
            "GlobalAveragePool" => Role::GlobalAveragePool,
            "Relu" | "Clip" => Role::Clamp,
            "Transpose" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Resize" | "MaxPool" | "Split"
            | "Slice" | "Pad" | "Gather" => Role::Moves,
            "ArgMax" => Role::Index,
            "ConvTranspose" | "LayerNormalization" => Role::Between,
            _ => Role::Float,
        }
    }

    /// Whether the 8-bit form computes, rather than passing elements on.
    pub fn computes(self) -> bool {
        !matches!(self, Role::Clamp | Role::Moves | Role::Index | Role::Float)
    }
}
