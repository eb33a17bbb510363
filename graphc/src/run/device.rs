//! Tensors of the graph as bytes of the device's buffers, and back.

use ndarray::{ArrayD, Dimension, IxDyn};

use crate::graph::{DType, Tensor, Type, ValueId};
use crate::plan::Plan;
use crate::plan::layout::View;
use crate::plan::step::{Buffer, FIXED, Order};

/// First byte of an element of a buffer.
fn address(buffer: &Buffer, channel: usize, pixel: usize) -> usize {
    let size = buffer.element_bytes;
    let index = match buffer.order {
        Order::Planar => channel * buffer.pixels + pixel,
        Order::Packed => {
            let pack = (4 / size.clamp(1, 4)).max(1);
            (channel / pack * buffer.pixels + pixel) * pack + channel % pack
        }
    };
    index * size
}

/// The buffer that a value of the plan lies in, and how.
fn place(plan: &Plan, id: ValueId) -> Option<(&View, &Buffer)> {
    let view = plan.grouped.views.get(&id)?;
    Some((view, plan.grouped.buffers.get(&view.root)?))
}

/// The bytes of the buffer that holds a value; what fills up words is 0. `None` for a value that no buffer holds, or one of float32 that
/// is not in fixed point there.
pub fn to_bytes(plan: &Plan, id: ValueId, tensor: &Tensor) -> Option<Vec<u8>> {
    let (view, buffer) = place(plan, id)?;
    if tensor.shape() != view.shape() {
        return None;
    }
    let mut bytes = vec![0; buffer.bytes()];
    let size = buffer.element_bytes;
    let values = if buffer.is_fixed() { fixed(tensor)? } else { integers(tensor)? };
    for (index, value) in ndarray::indices(IxDyn(tensor.shape())).into_iter().zip(values) {
        let (channel, pixel) = view.place(index.slice());
        bytes[address(buffer, channel, pixel)..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    Some(bytes)
}

/// Numbers of float32 in the fixed point of buffers.
fn fixed(tensor: &Tensor) -> Option<Vec<i64>> {
    let numbers: Vec<f32> = tensor.to_vec()?;
    Some(numbers.into_iter().map(|v| (v / FIXED.scale).round() as i64).collect())
}

fn integers(tensor: &Tensor) -> Option<Vec<i64>> {
    Some(match tensor {
        Tensor::I8(a) => a.iter().map(|&v| v.into()).collect(),
        Tensor::U8(a) => a.iter().map(|&v| v.into()).collect(),
        Tensor::I32(a) => a.iter().map(|&v| v.into()).collect(),
        Tensor::I64(a) => a.iter().copied().collect(),
        Tensor::Bool(a) => a.iter().map(|&v| v.into()).collect(),
        Tensor::F32(_) => return None,
    })
}

/// A value from the bytes of its buffer, in the type of the graph; fixed point becomes float32. `None` for a value that no buffer holds, or
/// one of float32 in another form.
pub fn from_bytes(plan: &Plan, id: ValueId, bytes: &[u8]) -> Option<Tensor> {
    let (view, buffer) = place(plan, id)?;
    let ty = &plan.graph.value(id).ty;
    if (ty.dtype == DType::F32) != buffer.is_fixed() || bytes.len() < buffer.bytes() {
        return None;
    }
    // Labels are counted from 0; all else of one byte has the sign of its type.
    let signed = matches!(ty.dtype, DType::I8);
    let size = buffer.element_bytes;
    let element = |index: IxDyn| {
        let (channel, pixel) = view.place(index.slice());
        let from = &bytes[address(buffer, channel, pixel)..][..size];
        match size {
            1 if signed => i64::from(from[0] as i8),
            1 => i64::from(from[0]),
            2 => i64::from(i16::from_le_bytes([from[0], from[1]])),
            _ => i64::from(i32::from_le_bytes([from[0], from[1], from[2], from[3]])),
        }
    };
    let elements = ArrayD::from_shape_fn(IxDyn(&ty.shape), element);
    Some(if buffer.is_fixed() { elements.mapv(|v| v as f32 * FIXED.scale).into() } else { of_integers(ty, elements) })
}

fn of_integers(ty: &Type, array: ArrayD<i64>) -> Tensor {
    match ty.dtype {
        DType::I8 => array.mapv(|v| v as i8).into(),
        DType::U8 => array.mapv(|v| v as u8).into(),
        DType::I32 => array.mapv(|v| v as i32).into(),
        DType::I64 => array.into(),
        DType::Bool => array.mapv(|v| v != 0).into(),
        DType::F32 => array.mapv(|v| v as f32).into(),
    }
}

/// A tensor of a type from whole numbers; a float32 one has `step` times those.
pub fn tensor(ty: &Type, numbers: &[i64], step: f32) -> Tensor {
    let array = ArrayD::from_shape_vec(IxDyn(&ty.shape), numbers.to_vec()).expect("a number for each element");
    match ty.dtype {
        DType::F32 => array.mapv(|v| v as f32 * step).into(),
        _ => of_integers(ty, array),
    }
}

/// Elements that differ, and by how much at most.
pub fn difference(a: &Tensor, b: &Tensor) -> Option<(usize, i64)> {
    let (a, b) = (integers(a)?, integers(b)?);
    let differences = || a.iter().zip(&b).map(|(a, b)| (a - b).abs());
    Some((differences().filter(|&d| d > 0).count(), differences().max().unwrap_or(0)))
}
