//! One node of a file while it is read: its operands, attributes and opset, with the ways to ask for them.

use std::cell::RefCell;
use std::sync::Arc;

use ndarray::ArrayD;

use crate::graph::op::{QParam, QParams};
use crate::graph::{DType, Op, Tensor, Type, ValueId};
use crate::onnx::Folder;
use crate::onnx::proto::{AttributeProto, attribute_kind};
use crate::operators::Refusal;

/// An input of a node.
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a> {
    /// The value.
    pub id: ValueId,
    /// Its type.
    pub ty: &'a Type,
    /// Its value, where it is known.
    pub constant: Option<&'a Arc<Tensor>>,
}

/// What a node is read as.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// An operator on data inputs.
    Op(Op, Vec<Option<ValueId>>),
    /// A value that does not depend on the network's inputs.
    Value(Arc<Tensor>),
}

/// A node of a file.
pub struct Site<'a> {
    /// Version of the operator set that the node is written in.
    pub opset: i64,
    /// Number of outputs that are asked for, up to the last that has a name.
    pub n_outputs: usize,
    operands: Vec<Option<Operand<'a>>>,
    attributes: &'a [AttributeProto],
    folder: &'a Folder,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Site<'a> {
    /// A node as the table's functions read it.
    pub fn new(
        opset: i64,
        n_outputs: usize,
        operands: Vec<Option<Operand<'a>>>,
        attributes: &'a [AttributeProto],
        folder: &'a Folder,
    ) -> Self {
        Site { opset, n_outputs, operands, attributes, folder, asked: RefCell::new(Vec::new()) }
    }

    /// `Ok` if every attribute was asked for.
    pub fn check_attributes(&self) -> Result<(), Refusal> {
        let asked = self.asked.borrow();
        match self.attributes.iter().find(|a| !asked.contains(&a.name.as_str())) {
            Some(unknown) => Err(Refusal::AttributeUnknown { name: unknown.name.clone() }),
            None => Ok(()),
        }
    }

    /// Says that attributes have no influence on the result.
    pub fn ignore(&self, names: &[&'static str]) {
        self.asked.borrow_mut().extend(names);
    }

    fn attribute(&self, name: &'static str) -> Option<&'a AttributeProto> {
        self.asked.borrow_mut().push(name);
        self.attributes.iter().find(|a| a.name == name)
    }

    /// The attribute, if it is there and of the kind that the file says it is.
    fn of_kind(
        &self,
        name: &'static str,
        kind: i32,
        expected: &'static str,
    ) -> Result<Option<&'a AttributeProto>, Refusal> {
        match self.attribute(name) {
            Some(a) if a.kind != kind => Err(Refusal::AttributeKind { name: name.to_owned(), expected }),
            found => Ok(found),
        }
    }

    /// An integer.
    pub fn int(&self, name: &'static str) -> Result<Option<i64>, Refusal> {
        Ok(self.of_kind(name, attribute_kind::INT, "an integer")?.map(|a| a.i))
    }

    /// A float.
    pub fn float(&self, name: &'static str) -> Result<Option<f32>, Refusal> {
        Ok(self.of_kind(name, attribute_kind::FLOAT, "a float")?.map(|a| a.f))
    }

    /// A list of integers.
    pub fn ints(&self, name: &'static str) -> Result<Option<&'a [i64]>, Refusal> {
        Ok(self.of_kind(name, attribute_kind::INTS, "a list of integers")?.map(|a| &a.ints[..]))
    }

    /// A list of floats.
    pub fn floats(&self, name: &'static str) -> Result<Option<&'a [f32]>, Refusal> {
        Ok(self.of_kind(name, attribute_kind::FLOATS, "a list of floats")?.map(|a| &a.floats[..]))
    }

    /// A text, or its default.
    pub fn text(&self, name: &'static str, default: &'static str) -> Result<String, Refusal> {
        let found = self.of_kind(name, attribute_kind::STRING, "a string")?;
        Ok(found.map_or_else(|| default.to_owned(), |a| String::from_utf8_lossy(&a.s).into_owned()))
    }

    /// A tensor.
    pub fn tensor(&self, name: &'static str) -> Result<Option<Tensor>, Refusal> {
        let Some(attribute) = self.of_kind(name, attribute_kind::TENSOR, "a tensor")? else { return Ok(None) };
        let expected = "a tensor";
        let proto = attribute.t.as_ref().ok_or(Refusal::AttributeKind { name: name.to_owned(), expected })?;
        crate::onnx::tensor::tensor(proto, self.folder).map(Some).map_err(|source| Refusal::Tensor { name, source })
    }

    /// An integer that is 0 or 1.
    pub fn flag(&self, name: &'static str, default: bool) -> Result<bool, Refusal> {
        match self.int(name)? {
            None => Ok(default),
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(other) => Err(Refusal::value(name, other, "0 or 1")),
        }
    }

    /// `Ok` if an integer has the one value that is accepted, which also is its default.
    pub fn only(&self, name: &'static str, accepted: i64) -> Result<(), Refusal> {
        match self.int(name)? {
            Some(other) if other != accepted => Err(Refusal::value(name, other, accepted.to_string())),
            _ => Ok(()),
        }
    }

    /// `Ok` if no outputs beyond the first `given` are asked for.
    pub fn outputs(&self, given: usize) -> Result<(), Refusal> {
        if self.n_outputs <= given { Ok(()) } else { Err(Refusal::Output { place: given, given }) }
    }

    /// Number of inputs, those left out included.
    pub fn n_inputs(&self) -> usize {
        self.operands.len()
    }

    /// An input that may be left out.
    pub fn optional(&self, place: usize) -> Option<Operand<'a>> {
        self.operands.get(place).copied().flatten()
    }

    /// An input.
    pub fn input(&self, place: usize, name: &'static str) -> Result<Operand<'a>, Refusal> {
        self.optional(place).ok_or(Refusal::Missing { name })
    }

    /// Rank of an input.
    pub fn rank(&self, place: usize, name: &'static str) -> Result<usize, Refusal> {
        Ok(self.input(place, name)?.ty.shape.len())
    }

    /// The inputs at these places as the data of an operator.
    pub fn data(&self, places: &[usize]) -> Vec<Option<ValueId>> {
        let mut ids: Vec<_> = places.iter().map(|&place| self.optional(place).map(|o| o.id)).collect();
        while ids.last() == Some(&None) {
            ids.pop();
        }
        ids
    }

    /// An operator on the inputs at these places.
    pub fn op(&self, op: Op, places: &[usize]) -> Result<Meaning, Refusal> {
        Ok(Meaning::Op(op, self.data(places)))
    }

    /// An operator on all inputs.
    pub fn op_of_all(&self, op: Op) -> Result<Meaning, Refusal> {
        let places: Vec<usize> = (0..self.n_inputs()).collect();
        self.op(op, &places)
    }

    /// A constant input that may be left out.
    pub fn constant(&self, place: usize, name: &'static str) -> Result<Option<&'a Arc<Tensor>>, Refusal> {
        self.optional(place).map(|o| o.constant.ok_or(Refusal::NotConstant { name })).transpose()
    }

    /// A constant list of integers that may be left out; an empty tensor counts as left out.
    pub fn constant_ints(&self, place: usize, name: &'static str) -> Result<Option<Vec<i64>>, Refusal> {
        let Some(tensor) = self.constant(place, name)? else { return Ok(None) };
        let list = match &**tensor {
            Tensor::I64(a) => a.iter().copied().collect(),
            Tensor::I32(a) => a.iter().map(|&v| i64::from(v)).collect(),
            other => return Err(Refusal::DType { name, found: other.dtype(), accepted: "i64 and i32" }),
        };
        Ok(Some(list))
    }

    /// A constant list of floats that may be left out.
    pub fn constant_floats(&self, place: usize, name: &'static str) -> Result<Option<Vec<f32>>, Refusal> {
        let Some(tensor) = self.constant(place, name)? else { return Ok(None) };
        let wrong = Refusal::DType { name, found: tensor.dtype(), accepted: "f32" };
        tensor.to_vec::<f32>().map(Some).ok_or(wrong)
    }

    /// Scales and zero points from two constant inputs. Without zero points they are 0 of type `default`.
    pub fn qparams(&self, scale: usize, zero: usize, default: DType) -> Result<QParams, Refusal> {
        let (scale_name, zero_name) = ("scale", "zero_point");
        let scales = self.constant_floats(scale, scale_name)?.ok_or(Refusal::Missing { name: scale_name })?;
        for &s in &scales {
            ccl_golden::Quant::new(s, 0_i8)?;
        }
        if scales.is_empty() {
            return Err(Refusal::value(scale_name, "[]", "one number or more"));
        }
        let (zeros, dtype) = match self.constant(zero, zero_name)? {
            None => (vec![0], default),
            Some(tensor) => (zeros(tensor)?, tensor.dtype()),
        };
        let zeros = match zeros[..] {
            [one] => vec![one; scales.len()],
            _ if zeros.len() == scales.len() => zeros,
            _ => {
                let legal = format!("one zero point, or one for each of {} scales", scales.len());
                return Err(Refusal::value(zero_name, format!("{} numbers", zeros.len()), legal));
            }
        };
        Ok(QParams { scales, zeros, dtype })
    }

    /// One scale and zero point from two constant inputs.
    pub fn qparam(&self, scale: usize, zero: usize) -> Result<QParam, Refusal> {
        let q = self.qparams(scale, zero, DType::U8)?;
        let several = || Refusal::value("scale", format!("{} numbers", q.scales.len()), "one number for the tensor");
        let single = q.single().ok_or_else(several)?;
        if single.dtype.is_int8() {
            return Ok(single);
        }
        Err(Refusal::DType { name: "zero_point", found: single.dtype, accepted: "i8 and u8" })
    }

    /// An axis counted from the front.
    pub fn axis(&self, name: &'static str, axis: i64, rank: usize) -> Result<usize, Refusal> {
        let resolved = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        match usize::try_from(resolved) {
            Ok(a) if a < rank => Ok(a),
            _ => Err(Refusal::Axis { name, axis, rank }),
        }
    }

    /// Axes counted from the front, in the order given, each at most once.
    pub fn axes(&self, name: &'static str, axes: &[i64], rank: usize) -> Result<Vec<usize>, Refusal> {
        let mut seen = Vec::with_capacity(axes.len());
        for &axis in axes {
            let resolved = self.axis(name, axis, rank)?;
            if seen.contains(&resolved) {
                return Err(Refusal::value(name, format!("{axes:?}"), "a list of axes without repeats"));
            }
            seen.push(resolved);
        }
        Ok(seen)
    }
}

fn zeros(tensor: &Tensor) -> Result<Vec<i32>, Refusal> {
    let widened = match tensor {
        Tensor::I8(a) => a.iter().map(|&v| i32::from(v)).collect(),
        Tensor::U8(a) => a.iter().map(|&v| i32::from(v)).collect(),
        Tensor::I32(a) => a.iter().copied().collect(),
        other => return Err(Refusal::DType { name: "zero_point", found: other.dtype(), accepted: "i8, u8 and i32" }),
    };
    Ok(widened)
}

/// A tensor as the value of a node.
pub(super) fn known<T>(array: ArrayD<T>) -> Meaning
where
    Tensor: From<ArrayD<T>>,
{
    Meaning::Value(Arc::new(Tensor::from(array)))
}
