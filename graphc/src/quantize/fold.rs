//! Batch normalisations that become part of the convolutions in front of them, as every deployment does it: in inference they are
//! a factor and an offset for each channel, and 8 bits between the two would only cost precision.

use std::collections::HashMap;

use ndarray::{ArrayD, Axis};

use crate::graph::{Graph, Op, Tensor, TensorView};
use crate::quantize::network::Site;

/// Folds what can be, drops the sites that are gone, and returns the constants that are new.
pub(super) fn batch_norms(graph: &Graph, sites: &mut Vec<Site>) -> HashMap<String, Tensor> {
    let constants: HashMap<&str, &Tensor> =
        graph.values().iter().filter_map(|v| Some((v.name.as_str(), v.constant.as_deref()?))).collect();
    let mut folded = HashMap::new();
    let mut gone = Vec::new();
    for i in 0..sites.len() {
        let Op::BatchNormalization { epsilon } = sites[i].node.op else { continue };
        let Some(conv) = convolution_before(graph, sites, i) else { continue };
        let output = sites[i].proto.output[0].clone();
        let Some((weight, bias)) = fold(&constants, &sites[conv], &sites[i], epsilon) else { continue };
        let names = [format!("{output}_weight"), format!("{output}_bias")];
        let proto = &mut sites[conv].proto;
        proto.input.truncate(1);
        proto.input.extend(names.clone());
        proto.output[0] = output;
        folded.extend(names.into_iter().zip([weight, bias]));
        gone.push(i);
    }
    let mut at = 0;
    sites.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    folded
}

/// The convolution whose result a site alone reads.
fn convolution_before(graph: &Graph, sites: &[Site], at: usize) -> Option<usize> {
    let x = sites[at].proto.input.first()?;
    let conv = sites[..at].iter().position(|site| site.proto.output.first() == Some(x))?;
    let n_readers = sites.iter().flat_map(|site| &site.proto.input).filter(|name| *name == x).count();
    let is_output = graph.outputs().iter().any(|&id| graph.value(id).name == *x);
    (matches!(sites[conv].node.op, Op::Conv(_)) && n_readers == 1 && !is_output).then_some(conv)
}

/// Weights and biases of a convolution with the normalisation behind it.
fn fold(constants: &HashMap<&str, &Tensor>, conv: &Site, norm: &Site, epsilon: f32) -> Option<(Tensor, Tensor)> {
    let constant = |name: &String| constants.get(name.as_str()).and_then(|tensor| tensor.view::<f32>());
    let list = |place: usize| -> Option<Vec<f64>> {
        Some(constant(norm.proto.input.get(place)?)?.iter().map(|&v| f64::from(v)).collect())
    };
    let (gamma, beta, mean, variance) = (list(1)?, list(2)?, list(3)?, list(4)?);
    let mut weight: ArrayD<f32> = constant(conv.proto.input.get(1)?)?.to_owned();
    let bias = match conv.proto.input.get(2).filter(|name| !name.is_empty()) {
        Some(name) => constant(name)?.iter().map(|&v| f64::from(v)).collect(),
        None => vec![0.0; gamma.len()],
    };
    let mut biases = Vec::with_capacity(bias.len());
    for (channel, mut slice) in weight.axis_iter_mut(Axis(0)).enumerate() {
        let factor = gamma.get(channel)? / (variance.get(channel)? + f64::from(epsilon)).sqrt();
        slice.mapv_inplace(|w| (f64::from(w) * factor) as f32);
        biases.push(((bias.get(channel)? - mean.get(channel)?) * factor + beta.get(channel)?) as f32);
    }
    Some((weight.into(), ndarray::Array1::from(biases).into_dyn().into()))
}
