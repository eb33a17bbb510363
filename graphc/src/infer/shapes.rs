//! Types of operators over axes and windows, and of those that move elements.

use ccl_golden::GoldenError;
use ccl_golden::broadcast::broadcast_shape;
use ccl_golden::pool::Pool;

use crate::graph::op::{Interpolation, PadKind};
use crate::graph::{DType, Op, Type};
use crate::infer::products::{as_image, from_image};
use crate::infer::{InferError, Inputs, alike, requantized};

pub(super) fn outputs(op: &Op, inputs: &Inputs) -> Result<Vec<Type>, InferError> {
    Ok(vec![match op {
        Op::Reduce { axes, keep, .. } => {
            let x = inputs.number(0)?;
            axes.iter().try_for_each(|&axis| check_axis(axis, x))?;
            Type::new(x.dtype, &reduced(&x.shape, axes, *keep))
        }
        Op::ArgMax { axis, keep, .. } => {
            let x = inputs.number(0)?;
            check_axis(*axis, x)?;
            Type::new(DType::I64, &reduced(&x.shape, &[*axis], *keep))
        }
        Op::Softmax { first, last } => range(*first, *last, inputs.float(0)?)?.clone(),
        Op::QLinearSoftmax { first, last, x, y } => {
            requantized(y, &range(*first, *last, inputs.quantized(0, x.dtype)?)?.shape)
        }
        Op::LayerNormalization { axis, .. } => layer_norm(*axis, inputs)?,
        Op::BatchNormalization { .. } => batch_norm(inputs)?,
        Op::MaxPool { pool, spatial } => pooled(pool, *spatial, inputs.number(0)?, "MaxPool")?,
        Op::AveragePool { pool, spatial } => pooled(pool, *spatial, inputs.float(0)?, "AveragePool")?,
        Op::QLinearAveragePool { pool, spatial, x, y } => {
            let ty = pooled(pool, *spatial, inputs.quantized(0, x.dtype)?, "QLinearAveragePool")?;
            requantized(y, &ty.shape)
        }
        Op::GlobalAveragePool => global_pool(inputs.float(0)?)?,
        Op::QLinearGlobalAveragePool { x, y } => requantized(y, &global_pool(inputs.quantized(0, x.dtype)?)?.shape),
        Op::Resize { resize, interpolation } => {
            let accepted = "f32, i8 and u8";
            let x = inputs.of(0, accepted, |t| t == DType::F32 || t.is_int8())?;
            if x.shape.len() != resize.sizes().len() {
                return Err(InferError::Rank { input: 0, found: x.shape.len(), accepted: "that of the sizes" });
            }
            if x.is_empty() {
                return Err(GoldenError::Empty { op: "Resize", tensor: "x" }.into());
            }
            if *interpolation == Interpolation::Linear {
                let moved = x.shape.len().saturating_sub(2);
                if x.shape[..moved] != resize.sizes()[..moved] || x.shape.len() < 2 {
                    let (found, expected) = (resize.sizes().to_vec(), x.shape.clone());
                    return Err(GoldenError::Shape { op: "Resize, leading axes", found, expected }.into());
                }
            }
            Type::new(x.dtype, resize.sizes())
        }
        Op::Transpose { permutation } => transpose(permutation, inputs.at(0)?)?,
        Op::Reshape { shape } => {
            let x = inputs.at(0)?;
            let found = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d));
            if found != Some(x.len()) {
                let (found, expected) = (shape.clone(), x.shape.clone());
                return Err(GoldenError::Shape { op: "Reshape", found, expected }.into());
            }
            Type::new(x.dtype, shape)
        }
        Op::Concat { axis } => {
            let first = inputs.at(0)?;
            (1..inputs.0.len()).try_for_each(|i| inputs.like(i, first).map(|_| ()))?;
            Type::new(first.dtype, &joined(*axis, inputs)?)
        }
        Op::QLinearConcat { axis, inputs: parameters, y } => {
            alike(&[&parameters[..], &[*y]].concat())?;
            for (i, q) in parameters.iter().enumerate() {
                inputs.quantized(i, q.dtype)?;
            }
            requantized(y, &joined(*axis, inputs)?)
        }
        Op::Split { axis, sizes } => return split(*axis, sizes, inputs.at(0)?),
        Op::Slice { cuts } => slice(cuts, inputs.at(0)?)?,
        Op::Pad { before, after, kind } => pad(before, after, *kind, inputs)?,
        Op::Expand { shape } => {
            let x = inputs.at(0)?;
            Type::new(x.dtype, &broadcast_shape("Expand", &x.shape, shape)?)
        }
        Op::Gather { axis } => {
            let x = inputs.at(0)?;
            let indices = inputs.of(1, "i32 and i64", |t| matches!(t, DType::I32 | DType::I64))?;
            check_axis(*axis, x)?;
            Type::new(x.dtype, &[&x.shape[..*axis], &indices.shape, &x.shape[*axis + 1..]].concat())
        }
        Op::SpaceToDepth { block } => space_to_depth(*block, inputs.at(0)?)?,
        Op::DepthToSpace { block, .. } => depth_to_space(*block, inputs.at(0)?)?,
        other => unreachable!("{other:?} is inferred with the other families"),
    }])
}

fn check_axis(axis: usize, x: &Type) -> Result<(), InferError> {
    if axis < x.shape.len() {
        return Ok(());
    }
    Err(GoldenError::Axis { op: "operator", axis: axis as isize, rank: x.shape.len() }.into())
}

fn reduced(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let extents = shape.iter().enumerate();
    if keep {
        extents.map(|(i, &n)| if axes.contains(&i) { 1 } else { n }).collect()
    } else {
        extents.filter(|(i, _)| !axes.contains(i)).map(|(_, &n)| n).collect()
    }
}

fn range(first: usize, last: usize, x: &Type) -> Result<&Type, InferError> {
    check_axis(last, x)?;
    check_axis(first, x)?;
    Ok(x)
}

fn extent(op: &'static str, what: &'static str, found: usize, expected: usize) -> Result<(), InferError> {
    if found == expected { Ok(()) } else { Err(GoldenError::Extent { op, what, found, expected }.into()) }
}

fn layer_norm(axis: usize, inputs: &Inputs) -> Result<Type, InferError> {
    const OP: &str = "LayerNormalization";
    let x = inputs.float(0)?;
    check_axis(axis, x)?;
    let n = x.shape[axis..].iter().product::<usize>();
    if n > 1 << 22 {
        return Err(GoldenError::TooLarge { op: OP }.into());
    }
    extent(OP, "scale", inputs.float(1)?.len(), n)?;
    if let Some(beta) = inputs.optional_float(2)? {
        extent(OP, "bias", beta.len(), n)?;
    }
    Ok(x.clone())
}

fn batch_norm(inputs: &Inputs) -> Result<Type, InferError> {
    let x = inputs.float(0)?;
    check_axis(1, x)?;
    for input in 1..5 {
        extent("BatchNormalization", "parameter", inputs.float(input)?.len(), x.shape[1])?;
    }
    Ok(x.clone())
}

fn pooled(pool: &Pool, spatial: usize, x: &Type, op: &'static str) -> Result<Type, InferError> {
    let [n, c, h, w] = as_image(0, x, spatial)?;
    let [oh, ow] = pool.output(op, [h, w])?;
    for (axis, n_out) in [(0, oh), (1, ow)] {
        // A window altogether in the padding has no value; the first and the last are the ones that can be there.
        let reach = (pool.kernel[axis] - 1).saturating_mul(pool.window.dilations[axis]);
        let last = (n_out - 1).saturating_mul(pool.window.strides[axis]);
        if pool.window.pads[axis] > reach || last >= pool.window.pads[axis].saturating_add([h, w][axis]) {
            return Err(GoldenError::Empty { op, tensor: "window" }.into());
        }
    }
    Ok(Type::new(x.dtype, &from_image([n, c, oh, ow], spatial)))
}

fn global_pool(x: &Type) -> Result<Type, InferError> {
    let [n, c, h, w] = as_image(0, x, x.shape.len().saturating_sub(2).clamp(1, 2))?;
    if h * w == 0 {
        return Err(GoldenError::Empty { op: "GlobalAveragePool", tensor: "plane" }.into());
    }
    Ok(Type::new(x.dtype, &from_image([n, c, 1, 1], x.shape.len() - 2)))
}

fn transpose(permutation: &[usize], x: &Type) -> Result<Type, InferError> {
    extent("Transpose", "perm", permutation.len(), x.shape.len())?;
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    if sorted.iter().enumerate().any(|(i, &axis)| i != axis) {
        let value = permutation.first().map_or(0, |&axis| axis as i64);
        let legal = "part of a list of every axis once";
        return Err(GoldenError::Parameter { op: "Transpose", name: "perm", value, legal }.into());
    }
    let shape: Vec<usize> = permutation.iter().map(|&axis| x.shape[axis]).collect();
    Ok(Type::new(x.dtype, &shape))
}

fn joined(axis: usize, inputs: &Inputs) -> Result<Vec<usize>, InferError> {
    let first = inputs.at(0)?;
    check_axis(axis, first)?;
    let mut shape = first.shape.clone();
    for i in 1..inputs.0.len() {
        let next = inputs.at(i)?;
        let mut expected = first.shape.clone();
        expected[axis] = next.shape.get(axis).copied().unwrap_or(0);
        if next.shape != expected {
            return Err(GoldenError::Shape { op: "Concat", found: next.shape.clone(), expected }.into());
        }
        shape[axis] = shape[axis].saturating_add(next.shape[axis]);
    }
    Ok(shape)
}

fn split(axis: usize, sizes: &[usize], x: &Type) -> Result<Vec<Type>, InferError> {
    check_axis(axis, x)?;
    extent("Split", "sum of sizes", sizes.iter().fold(0, |sum: usize, &n| sum.saturating_add(n)), x.shape[axis])?;
    let part = |&n: &usize| {
        let mut shape = x.shape.clone();
        shape[axis] = n;
        Type::new(x.dtype, &shape)
    };
    Ok(sizes.iter().map(part).collect())
}

fn slice(cuts: &[ccl_golden::moves::SliceAxis], x: &Type) -> Result<Type, InferError> {
    let mut shape = x.shape.clone();
    for cut in cuts {
        let rank = shape.len();
        let n = usize::try_from(cut.axis).ok().and_then(|axis| shape.get_mut(axis));
        let n = n.ok_or(GoldenError::Axis { op: "Slice", axis: cut.axis, rank })?;
        *n = cut.count(*n);
    }
    Ok(Type::new(x.dtype, &shape))
}

fn pad(before: &[i64], after: &[i64], kind: PadKind, inputs: &Inputs) -> Result<Type, InferError> {
    const OP: &str = "Pad";
    let x = inputs.at(0)?;
    if inputs.optional(1).is_some() {
        extent(OP, "constant_value", inputs.like(1, x)?.len(), 1)?;
    }
    extent(OP, "pads", before.len(), x.shape.len())?;
    extent(OP, "pads", after.len(), x.shape.len())?;
    let mut shape = Vec::with_capacity(x.shape.len());
    for ((&n, &before), &after) in x.shape.iter().zip(before).zip(after) {
        let most = before.max(after);
        if most > 0 && kind != PadKind::Constant && (n == 0 || (kind == PadKind::Reflect && most >= n as i64)) {
            let legal = "below the extent that is reflected";
            return Err(GoldenError::Parameter { op: OP, name: "pads", value: most, legal }.into());
        }
        let size = before.checked_add(after).and_then(|p| p.checked_add(n as i64));
        let size = size.ok_or(GoldenError::TooLarge { op: OP })?;
        let legal = "at least minus the extent";
        let negative = GoldenError::Parameter { op: OP, name: "pads", value: size.saturating_sub(n as i64), legal };
        shape.push(usize::try_from(size).map_err(|_| negative)?);
    }
    Ok(Type::new(x.dtype, &shape))
}

fn space_to_depth(block: usize, x: &Type) -> Result<Type, InferError> {
    let [n, c, h, w] = as_image(0, x, 2)?;
    if block == 0 || !h.is_multiple_of(block) || !w.is_multiple_of(block) {
        let legal = "a divisor of height and width";
        let fault = GoldenError::Parameter { op: "SpaceToDepth", name: "blocksize", value: block as i64, legal };
        return Err(fault.into());
    }
    Ok(Type::new(x.dtype, &[n, c.saturating_mul(block.saturating_mul(block)), h / block, w / block]))
}

fn depth_to_space(block: usize, x: &Type) -> Result<Type, InferError> {
    let [n, c, h, w] = as_image(0, x, 2)?;
    let Some(square) = block.checked_mul(block).filter(|&s| s > 0 && c.is_multiple_of(s)) else {
        let legal = "the root of a divisor of the channels";
        let fault = GoldenError::Parameter { op: "DepthToSpace", name: "blocksize", value: block as i64, legal };
        return Err(fault.into());
    };
    Ok(Type::new(x.dtype, &[n, c / square, h.saturating_mul(block), w.saturating_mul(block)]))
}
