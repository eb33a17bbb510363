//! Steps: parts of a graph that are one call of the kernel library, or a few.

use crate::attention::Attention;
use crate::graph::op::QParam;
use crate::graph::{DType, NodeId, ValueId};
use crate::plan::layout::{Digit, View};

/// A quantised tensor that a step reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Operand {
    /// Where its elements lie.
    pub view: View,
    /// What they stand for.
    pub q: QParam,
}

/// The buffer that a step writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Buffer {
    /// The value it is made for.
    pub root: ValueId,
    /// Channels.
    pub channels: usize,
    /// Pixels, or tokens.
    pub pixels: usize,
    /// Rows and columns of the pixels, as the writer sees them.
    pub grid: (usize, usize),
    /// How channels lie.
    pub order: Order,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// What elements stand for; labels have none.
    pub q: Option<QParam>,
}

/// What numbers stand for that the device writes for the host to take them for float32: 20 fraction bits.
pub const FIXED: QParam = QParam { scale: 1.0 / 1_048_576.0, zero: 0, dtype: DType::I32 };

/// How the channels of a buffer lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Four channels a word.
    Packed,
    /// Plane by plane.
    Planar,
}

impl Buffer {
    /// Whether its elements are numbers in fixed point, which are float32 to the host.
    pub fn is_fixed(&self) -> bool {
        self.q == Some(FIXED)
    }

    /// Bytes in on-chip memory.
    pub fn bytes(&self) -> usize {
        let channels = match self.order {
            Order::Packed => self.channels.next_multiple_of(4 / self.element_bytes.clamp(1, 4)),
            Order::Planar => self.channels,
        };
        channels * self.pixels * self.element_bytes
    }
}

/// A norm that another norm reads without quantisation between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Norm {
    /// The LayerNormalization.
    pub node: NodeId,
    /// The norm whose float32 result it reads, if any.
    pub before: Option<Box<Norm>>,
}

/// A matrix product with weights, and what is added to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    /// The QLinearMatMul, or the QGemm.
    pub product: NodeId,
    /// Its data.
    pub x: Operand,
    /// The QLinearAdd of constants.
    pub bias: Option<NodeId>,
    /// The QLinearAdd of another tensor, and that tensor.
    pub residual: Option<(NodeId, Operand)>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A network input, quantised by the host.
    Input {
        /// The float32 input; the tensor itself where it is quantised already.
        value: ValueId,
    },
    /// A quantised convolution.
    Conv {
        /// The node.
        node: NodeId,
        /// Its data.
        x: Operand,
    },
    /// Layer norm of steps to steps, or to fixed point for the host.
    Norm {
        /// The norm whose result is written.
        norm: Norm,
        /// The data of the first norm of the chain.
        x: Operand,
    },
    /// A dense layer.
    Dense(Dense),
    /// Softmax over the features of tokens, steps to steps.
    Softmax {
        /// The Softmax.
        node: NodeId,
        /// Its data.
        x: Operand,
    },
    /// All heads of an attention.
    Attention {
        /// Where it is.
        attention: Box<Attention>,
        /// Queries, as heads.
        queries: Operand,
        /// Keys, as heads.
        keys: Operand,
        /// Values, as heads.
        values: Operand,
    },
    /// Dense layer, depthwise convolution, table, dense layer: hidden channels that only this step sees.
    MixFfn {
        /// Into the hidden channels.
        expand: Dense,
        /// The convolution.
        depthwise: NodeId,
        /// The table.
        table: NodeId,
        /// Out of them.
        project: Dense,
        /// The buffers between them, in order.
        hidden: [ValueId; 3],
    },
    /// Four dense layers, of which three are enlarged, concatenated, a convolution of single pixels, a table, another such convolution.
    DecodeHead {
        /// The dense layers, in the order of their channels: enlarged by 8, by 4, by 2, not at all.
        levels: Box<[Dense; 4]>,
        /// The concatenation.
        concat: NodeId,
        /// What the elements stand for that it joins.
        inputs: [QParam; 4],
        /// The first convolution.
        fuse: NodeId,
        /// The table.
        gate: NodeId,
        /// The second convolution.
        classify: NodeId,
        /// The steps that it takes the place of, in order, for a machine that it does not fit.
        parts: Vec<Step>,
    },
    /// The index of the greatest channel of an image that is enlarged, pixel centres aligned.
    EnlargedArgMax {
        /// The enlargement.
        node: NodeId,
        /// Its data.
        x: Operand,
        /// How often it is enlarged.
        factor: usize,
        /// The steps that it takes the place of.
        parts: Vec<Step>,
    },
    /// A table of one tensor.
    Table {
        /// The node.
        node: NodeId,
        /// Its data.
        x: Operand,
    },
    /// Arithmetic of two tensors.
    Binary {
        /// The node.
        node: NodeId,
        /// First operand.
        a: Operand,
        /// Second operand.
        b: Operand,
    },
    /// A constant for each channel, added.
    Bias {
        /// The node.
        node: NodeId,
        /// Its data.
        x: Operand,
    },
    /// A change of height and width.
    Resize {
        /// The node.
        node: NodeId,
        /// Its data.
        x: Operand,
    },
    /// One of the tensors that a concatenation joins along their channels, put into its place as soon as it is there.
    Put {
        /// The concatenation.
        node: NodeId,
        /// The tensor.
        x: Operand,
        /// Its first channel in the result.
        first: usize,
        /// Whether none follows.
        is_last: bool,
    },
    /// The index of the greatest channel.
    ArgMax {
        /// The node.
        node: NodeId,
        /// Its data.
        x: Operand,
    },
    /// Pooling of any kind.
    Pool {
        /// The node.
        node: NodeId,
        /// Its data.
        x: Operand,
    },
    /// Elements moved: Reshapes and Transposes whose result is no view that the next step could read.
    Move {
        /// Its data.
        x: Operand,
        /// Where the elements of a channel, of the outer and of the inner pixels come from.
        source: [Digit; 3],
    },
}

/// A part of a graph that is one call of the kernel library, or a few.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What it does.
    pub kind: Kind,
    /// The nodes that become part of it.
    pub nodes: Vec<NodeId>,
    /// The buffer it writes; parts of a concatenation share one.
    pub writes: ValueId,
    /// Multiply-accumulate steps.
    pub macs: u64,
}

impl Step {
    /// Tensors that it reads.
    pub fn operands(&self) -> Vec<&Operand> {
        match &self.kind {
            Kind::Input { .. } => Vec::new(),
            Kind::Conv { x, .. }
            | Kind::Norm { x, .. }
            | Kind::Softmax { x, .. }
            | Kind::Table { x, .. }
            | Kind::Bias { x, .. }
            | Kind::Put { x, .. }
            | Kind::Resize { x, .. }
            | Kind::ArgMax { x, .. }
            | Kind::EnlargedArgMax { x, .. }
            | Kind::Pool { x, .. }
            | Kind::Move { x, .. } => vec![x],
            Kind::Binary { a, b, .. } => vec![a, b],
            Kind::Dense(dense) => dense.operands().collect(),
            Kind::MixFfn { expand, project, .. } => {
                std::iter::once(&expand.x).chain(project.residual.iter().map(|(_, x)| x)).collect()
            }
            Kind::DecodeHead { levels, .. } => levels.iter().map(|level| &level.x).collect(),
            Kind::Attention { queries, keys, values, .. } => vec![queries, keys, values],
        }
    }

    /// Buffers that it reads, each once.
    pub fn reads(&self) -> Vec<ValueId> {
        let mut roots: Vec<ValueId> = self.operands().iter().map(|x| x.view.root).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// A word for what it does, as part of a name.
    pub fn word(&self) -> &'static str {
        match self.kind {
            Kind::Input { .. } => "input",
            Kind::Conv { .. } => "conv",
            Kind::Norm { .. } => "norm",
            Kind::Softmax { .. } => "softmax",
            Kind::Dense(_) => "dense",
            Kind::Attention { .. } => "attention",
            Kind::MixFfn { .. } => "ffn",
            Kind::Table { .. } => "table",
            Kind::Binary { .. } => "sum",
            Kind::Bias { .. } => "bias",
            Kind::Resize { .. } => "resize",
            Kind::Put { .. } => "put",
            Kind::ArgMax { .. } | Kind::EnlargedArgMax { .. } => "labels",
            Kind::DecodeHead { .. } => "head",
            Kind::Pool { .. } => "pool",
            Kind::Move { .. } => "move",
        }
    }
}

impl Dense {
    /// Tensors that it reads.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        std::iter::once(&self.x).chain(self.residual.iter().map(|(_, x)| x))
    }

    /// The node whose result it writes.
    pub fn last(&self) -> NodeId {
        self.residual.as_ref().map(|(node, _)| *node).or(self.bias).unwrap_or(self.product)
    }
}
