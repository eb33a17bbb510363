//! Networks for tests, written as the messages of a file.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod small;

use graphc::graph::{Graph, Tensor};
use graphc::import::{Import, Options, import};
use graphc::onnx::Model;
use graphc::onnx::proto::{
    AttributeProto, DimensionProto, Extent, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto, attribute_kind, data_type,
};
pub use graphc::onnx::tensor::proto as tensor_proto;

/// A network in the making.
#[derive(Debug, Clone)]
pub struct Net {
    pub opset: i64,
    pub graph: GraphProto,
}

/// An attribute that is an integer.
pub fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), i, kind: attribute_kind::INT, ..Default::default() }
}

/// An attribute that is a float.
pub fn float(name: &str, f: f32) -> AttributeProto {
    AttributeProto { name: name.to_owned(), f, kind: attribute_kind::FLOAT, ..Default::default() }
}

/// An attribute that is a list of integers.
pub fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto { name: name.to_owned(), ints: ints.to_vec(), kind: attribute_kind::INTS, ..Default::default() }
}

/// An attribute that is a text.
pub fn text(name: &str, s: &str) -> AttributeProto {
    let s = s.as_bytes().to_vec().into();
    AttributeProto { name: name.to_owned(), s, kind: attribute_kind::STRING, ..Default::default() }
}

impl Net {
    pub fn new(opset: i64) -> Self {
        Net { opset, graph: GraphProto { name: "net".to_owned(), ..Default::default() } }
    }

    /// An input of float32; an extent is a number or a name.
    pub fn input(self, name: &str, shape: &[&str]) -> Self {
        self.typed_input(name, data_type::FLOAT, shape)
    }

    pub fn typed_input(mut self, name: &str, elem_type: i32, shape: &[&str]) -> Self {
        let extent = |text: &&str| match text.parse() {
            Ok(n) => Extent::Value(n),
            Err(_) => Extent::Param((*text).to_owned()),
        };
        let dim = shape.iter().map(|text| DimensionProto { value: Some(extent(text)) }).collect();
        let tensor_type = Some(TensorTypeProto { elem_type, shape: Some(TensorShapeProto { dim }) });
        self.graph.input.push(ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) });
        self
    }

    pub fn constant(mut self, name: &str, tensor: impl Into<Tensor>) -> Self {
        self.graph.initializer.push(tensor_proto(name, &tensor.into()));
        self
    }

    pub fn node(self, op: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        self.node_with(op, inputs, outputs, &[])
    }

    /// A node; `com.microsoft.Op` is of that set.
    pub fn node_with(mut self, op: &str, inputs: &[&str], outputs: &[&str], attributes: &[AttributeProto]) -> Self {
        let own = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        let (domain, op_type) = op.rsplit_once('.').unwrap_or(("", op));
        self.graph.node.push(NodeProto {
            input: own(inputs),
            output: own(outputs),
            name: format!("{op_type}:{}", outputs.first().unwrap_or(&"")),
            op_type: op_type.to_owned(),
            domain: domain.to_owned(),
            attribute: attributes.to_vec(),
        });
        self
    }

    pub fn output(mut self, name: &str) -> Self {
        self.graph.output.push(ValueInfoProto { name: name.to_owned(), r#type: None });
        self
    }

    pub fn model(&self) -> ModelProto {
        let set = |domain: &str, version| OperatorSetIdProto { domain: domain.to_owned(), version };
        ModelProto {
            ir_version: 8,
            producer_name: "test".to_owned(),
            graph: Some(self.graph.clone()),
            opset_import: vec![set("", self.opset), set("com.microsoft", 1)],
            functions: Vec::new(),
        }
    }

    pub fn import(&self) -> Import {
        import(&Model::from(self.model()), &Options::default())
    }

    #[track_caller]
    pub fn build(&self) -> Graph {
        self.import().into_graph().unwrap()
    }

    /// What the import says is wrong.
    #[track_caller]
    pub fn errors(&self) -> String {
        self.import().into_graph().expect_err("the network is not accepted").to_string()
    }
}

/// Numbers without a pattern, the same in every run.
#[derive(Debug, Clone)]
pub struct Lcg(pub u64);

impl Lcg {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Evenly from `-1.0..1.0`.
    pub fn float(&mut self) -> f32 {
        (self.next() % 20_001) as f32 / 10_000.0 - 1.0
    }

    /// A float32 tensor with elements from `-scale..scale`.
    pub fn tensor(&mut self, shape: &[usize], scale: f32) -> Tensor {
        ndarray::ArrayD::from_shape_simple_fn(ndarray::IxDyn(shape), || self.float() * scale).into()
    }

    /// An int8 tensor.
    pub fn int8(&mut self, shape: &[usize]) -> Tensor {
        ndarray::ArrayD::from_shape_simple_fn(ndarray::IxDyn(shape), || self.next() as u8 as i8).into()
    }
}

/// A constant of one number.
pub fn scalar<T>(value: T) -> Tensor
where
    Tensor: From<ndarray::ArrayD<T>>,
{
    ndarray::arr0(value).into_dyn().into()
}

/// A constant list.
pub fn list<T: Clone>(values: &[T]) -> Tensor
where
    Tensor: From<ndarray::ArrayD<T>>,
{
    ndarray::arr1(values).into_dyn().into()
}
