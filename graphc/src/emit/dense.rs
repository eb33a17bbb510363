//! Dense layers: products with weights, their biases and the residual sums behind them, as calls of the kernel library.

use crate::emit::calls::{Context, NN, Reason, addable, packed, pair, symmetric, variable};
use crate::emit::constants::{Constant, scale};
use crate::emit::text::{TensorType, Text, Variable};
use crate::graph::op::{QParam, QParams};
use crate::graph::{NodeId, Op};
use crate::plan::step::Dense;

/// What a dense layer says to its kernel.
pub(crate) struct DenseParts {
    pub weights: Constant,
    pub rows: (usize, usize),
    pub outputs: usize,
    /// From sums to int8, and from there to the sum with the bias.
    pub scales: (f32, Option<f32>),
    /// Its zero point, without a bias.
    zero: i32,
    /// Zero point of the product in front of a bias, where one of the tensors around has a zero point.
    around: Option<i32>,
    /// Steps of the result and of the residual over those of the sum.
    pub residual: Option<(f32, f32)>,
    /// Zero points of both and of the sum.
    zeros: (i32, i32, i32),
}

impl DenseParts {
    /// No zero points, which what is fused with a residual asks for.
    pub fn is_symmetric(&self) -> bool {
        self.around.is_none() && self.zeros == (0, 0, 0)
    }
}

/// A product with weights, however the network writes it.
struct Product {
    a: QParam,
    b: QParams,
    y: QParam,
    /// What the product is multiplied by.
    alpha: f32,
    /// Weights of one output after the other.
    weights: Vec<i8>,
    outputs: usize,
    /// In steps of the product, one for each output.
    biases: Vec<i32>,
}

fn product(cx: &Context, id: NodeId) -> Reason<Product> {
    match &cx.plan.graph.node(id).op {
        Op::QLinearMatMul { a, b, y } => {
            let (weights, outputs) = cx.read.columns(id, 1)?;
            let biases = vec![0; outputs];
            Ok(Product { a: *a, b: b.clone(), y: *y, alpha: 1.0, weights, outputs, biases })
        }
        Op::QGemm { gemm, .. } if gemm.transpose_a => Err("a transposed input is not emitted".to_owned()),
        Op::QGemm { gemm, a, b, y } => {
            let (weights, outputs) = if gemm.transpose_b { cx.read.rows(id, 1)? } else { cx.read.columns(id, 1)? };
            let biases = cx.read.int32_or(id, 2, outputs)?;
            if biases.len() != outputs {
                return Err(format!("a bias of {} elements for {outputs} outputs is not emitted", biases.len()));
            }
            Ok(Product { a: *a, b: b.clone(), y: *y, alpha: gemm.alpha, weights, outputs, biases })
        }
        _ => Err("is no quantised product".to_owned()),
    }
}

pub(crate) fn dense_parts(cx: &Context, dense: &Dense) -> Reason<DenseParts> {
    let Product { a, b, y, alpha, weights, outputs, biases } = product(cx, dense.product)?;
    let b = b.single().ok_or("weights with a scale for each column are not emitted yet")?;
    if b.zero != 0 {
        return Err("weights with a zero point are not emitted".to_owned());
    }
    let rows = dense.x.view.as_rows().ok_or("its input does not lie as tokens")?;
    let sum = alpha * a.scale * b.scale / y.scale;
    let biases: Vec<i32> = zero_biases(&weights, outputs, a.zero)
        .iter()
        .zip(&biases)
        .map(|(zero, bias)| zero.wrapping_add(*bias))
        .collect();
    let mut parts = DenseParts {
        weights: Constant::stream(outputs, rows.features, &weights, &biases),
        rows: (rows.tokens, rows.features),
        outputs,
        scales: (sum, None),
        zero: y.zero,
        around: None,
        residual: None,
        zeros: (0, 0, 0),
    };
    let mut end = y;
    if let Some(bias) = dense.bias {
        let bias = cx.read.bias(bias)?;
        let (product, y, n) = (bias.product, bias.y, bias.elements.len());
        if n != outputs {
            return Err(format!("a bias of {n} elements for {outputs} outputs is not emitted yet"));
        }
        let steps = bias.elements.iter().map(|&v| (i32::from(v) - bias.q.zero).abs());
        let largest = steps.max().unwrap_or(0) as f32 * bias.q.scale / y.scale;
        if 255.0 * product.scale / y.scale + largest + 128.0 >= 1000.0 {
            return Err("the sum with its bias leaves the fixed point in which it is rounded".to_owned());
        }
        let words = bias.addends()?;
        parts.weights = if symmetric(&[a, product, y]) {
            Constant::stream(outputs, rows.features, &weights, &words)
        } else {
            parts.around = Some(product.zero);
            Constant::stream_with_addends(outputs, rows.features, &weights, &biases, &words)
        };
        parts.scales.1 = Some(product.scale / y.scale);
        end = y;
    }
    if let Some((sum, skip)) = &dense.residual {
        let Op::QLinearBinary { y, .. } = cx.plan.graph.node(*sum).op else {
            return Err("its residual is no quantised sum".to_owned());
        };
        parts.residual = Some(addable(end.scale / y.scale, skip.q.scale / y.scale)?);
        parts.zeros = (end.zero, skip.q.zero, y.zero);
    }
    Ok(parts)
}

/// Biases that take the zero point of the input out of each sum.
pub(crate) fn zero_biases(weights: &[i8], outputs: usize, zero: i32) -> Vec<i32> {
    let k = weights.len() / outputs.max(1);
    weights.chunks(k.max(1)).map(|row| -zero * row.iter().map(|&w| i32::from(w)).sum::<i32>()).collect()
}

/// Writes the call of a dense layer, with its bias and residual.
pub(crate) fn write(cx: &Context, text: &mut Text, dense: &Dense, y: &Variable) -> Reason {
    let parts = dense_parts(cx, dense)?;
    let skip = dense.residual.as_ref().map(|(_, x)| variable(text, x).cloned()).transpose()?;
    let x = variable(text, &dense.x)?.clone();
    write_parts(cx, text, parts, (&x, skip.as_ref()), y)
}

/// The same of parts, between variables.
pub(crate) fn write_parts(
    cx: &Context,
    text: &mut Text,
    parts: DenseParts,
    (x, skip): (&Variable, Option<&Variable>),
    y: &Variable,
) -> Reason {
    let (n, k) = parts.rows;
    let (from, to) = (format!("Tokens<{n}, {k}>"), format!("Tokens<{n}, {}>", parts.outputs));
    let grid = cx.grid(n);
    let generics = [n, k, parts.outputs, grid.0, grid.1];
    let is_fused = parts.outputs.is_multiple_of(4) && parts.is_symmetric();
    let weights = text.constant(&format!("{}_weights", y.name), parts.weights);
    let matmul = format!("{NN}::matmul");
    match (parts.scales, parts.residual.zip(skip)) {
        ((sum, Some(bias)), Some((residual, skip))) if is_fused => {
            let args = [x.read(&from), weights, skip.read(&to), y.write(&to), pair((sum, bias))?, pair(residual)?];
            text.call(&format!("{matmul}::dense_bias_residual"), &generics, &args);
        }
        ((sum, bias), Some((residual, skip))) => {
            text.open();
            let product = text.allocate("product", TensorType::int8(to.clone()));
            let (outputs, (a, b, sum_zero)) = (parts.outputs, parts.zeros);
            let own = DenseParts { weights: Constant::bytes(&[]), scales: (sum, bias), residual: None, ..parts };
            call_dense(text, &own, [x.read(&from), weights, product.write(&to)], &generics)?;
            let c = cx.folded(outputs, n);
            let args = [product.read(&packed(c)), skip.read(&packed(c)), y.write(&packed(c)), pair(residual)?];
            let args: Vec<String> = args.into_iter().chain([format!("({a}, {b}, {sum_zero})")]).collect();
            text.call(&format!("{NN}::elementwise::add"), &c, &args);
            text.close();
        }
        _ => {
            let own = DenseParts { weights: Constant::bytes(&[]), ..parts };
            call_dense(text, &own, [x.read(&from), weights, y.write(&to)], &generics)?;
        }
    }
    Ok(())
}

/// Pairs of scales as arguments.
pub(crate) fn pairs<const N: usize>(pairs: [(f32, f32); N]) -> Reason<Vec<String>> {
    pairs.into_iter().map(pair).collect()
}

fn call_dense(text: &mut Text, parts: &DenseParts, args: [String; 3], generics: &[usize]) -> Reason {
    let mut args = args.to_vec();
    let mut generics = generics.to_vec();
    let name = match (parts.scales, parts.around) {
        ((sum, Some(bias)), Some(zero)) => {
            args.extend([pair((sum, bias))?, zero.to_string()]);
            generics.push(parts.rows.1.next_multiple_of(4) + 4);
            "dense_bias_around"
        }
        ((sum, Some(bias)), None) => {
            args.push(pair((sum, bias))?);
            "dense_bias"
        }
        ((sum, None), _) => {
            args.extend([scale(sum)?, parts.zero.to_string()]);
            "dense"
        }
    };
    text.call(&format!("{NN}::matmul::{name}"), &generics, &args);
    Ok(())
}
