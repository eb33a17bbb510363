//! What quantisation costs in precision: each 8-bit tensor of the result against the float network's.

use std::collections::HashMap;
use std::sync::Arc;

use crate::golden::{Keep, run_observed};
use crate::graph::op::QParam;
use crate::graph::{Graph, Tensor, TensorView, ValueId};
use crate::quantize::writer::Written;
use crate::quantize::{QuantizeError, Samples};

/// Signal and noise of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quality {
    /// The tensor's name in the float network.
    pub name: String,
    /// Scale and zero point; `None` for an output in float.
    pub q: Option<QParam>,
    /// Signal to quantisation noise in decibels, everything before the tensor quantised too; `None` where nothing differs.
    pub sqnr_db: Option<f64>,
}

/// Runs both networks on the first input and compares the 8-bit tensors, in the order in which they are computed, and then
/// the outputs.
pub(super) fn compare(
    float: &Graph,
    quantised: &Graph,
    written: &Written,
    inputs: &dyn Samples,
) -> Result<Vec<Quality>, QuantizeError> {
    let label = inputs.label(0);
    let sample = inputs.get(0).map_err(|source| QuantizeError::Sample { label: label.clone(), source })?;
    let failed = |source| QuantizeError::Run { label: label.clone(), source: Box::new(source) };
    let wanted: HashMap<&str, &str> = written.stored.iter().map(|s| (s.float.as_str(), s.name.as_str())).collect();
    let mut references: HashMap<&str, Tensor> = HashMap::new();
    let mut keep = |id: ValueId, tensor: &Tensor| {
        if let Some(&stored) = wanted.get(float.value(id).name.as_str()) {
            references.insert(stored, tensor.clone());
        }
    };
    for &id in float.inputs() {
        if let Some(tensor) = sample.get(&float.value(id).name) {
            keep(id, tensor);
        }
    }
    let reference = run_observed(float, &sample, Keep::Outputs, keep).map_err(failed)?;
    let parameters: HashMap<&str, (&str, QParam)> =
        written.stored.iter().map(|s| (s.name.as_str(), (s.float.as_str(), s.q))).collect();
    let mut qualities = Vec::new();
    let result = run_observed(quantised, &sample, Keep::Outputs, |id, tensor| {
        let stored = quantised.value(id).name.as_str();
        let (Some(&(name, q)), Some(x)) = (parameters.get(stored), references.remove(stored)) else { return };
        let (Some(x), Some(y)) = (x.to_vec::<f32>(), tensor.view::<i8>()) else { return };
        let y = y.iter().map(|&v| f64::from((f32::from(v) - q.zero as f32) * q.scale));
        qualities.push(Quality { name: name.to_owned(), q: Some(q), sqnr_db: sqnr(&x, y) });
    });
    let result = result.map_err(failed)?;
    for (&a, &b) in float.outputs().iter().zip(quantised.outputs()) {
        let floats = |tensor: Option<&Arc<Tensor>>| tensor.and_then(|t| t.to_vec::<f32>());
        if let (Some(x), Some(y)) = (floats(reference.get(a)), floats(result.get(b))) {
            let sqnr_db = sqnr(&x, y.iter().map(|&v| f64::from(v)));
            qualities.push(Quality { name: float.value(a).name.clone(), q: None, sqnr_db });
        }
    }
    Ok(qualities)
}

/// `10 log10(sum x^2 / sum (x - y)^2)`.
fn sqnr(x: &[f32], y: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut signal, mut noise) = (0.0, 0.0);
    for (&x, y) in x.iter().zip(y) {
        let x = f64::from(x);
        signal += x * x;
        noise += (x - y) * (x - y);
    }
    // A tensor of zeros has no signal, and nothing to lose.
    (noise > 0.0 && signal > 0.0).then(|| 10.0 * (signal / noise).log10())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_off_is_twenty_decibels() {
        let db = sqnr(&[1.0, -1.0], [1.1, -0.9].into_iter()).unwrap();
        assert!((db - 20.0).abs() < 1e-9);
        assert_eq!(sqnr(&[1.0], [1.0].into_iter()), None);
    }
}
