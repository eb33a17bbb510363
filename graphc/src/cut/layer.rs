//! Layers of encoders, which exporters write into the names of nodes: `/layers.3/self_attn/q_proj/MatMul`.

use std::collections::HashSet;

use crate::cut::{CutError, Ends};
use crate::graph::{Graph, Node, ValueId};

/// What a number in a name may count, first what is looked for first.
const STEMS: [&str; 5] = ["layers.", "layer.", "blocks.", "block.", "stages."];

/// The activations that cross into and out of a layer.
pub(super) fn ends(graph: &Graph, n: usize) -> Result<Ends, CutError> {
    let known = known_beforehand(graph);
    let is_known = |id: &ValueId| known.contains(id);
    let computes = |node: &&Node| !node.outputs.iter().all(is_known);
    let nodes: Vec<&Node> = graph.nodes().iter().filter(computes).collect();
    let layer = layer(&nodes, n)?;
    let (inside, outside): (Vec<&Node>, Vec<&Node>) =
        nodes.into_iter().partition(|node| STEMS.iter().any(|stem| prefix(&node.name, stem) == Some(layer.as_str())));
    let given: HashSet<ValueId> = inside.iter().flat_map(|node| &node.outputs).copied().collect();
    let reads =
        |nodes: &[&Node]| -> Vec<ValueId> { nodes.iter().flat_map(|n| n.inputs.iter().flatten()).copied().collect() };
    let read_outside: HashSet<ValueId> = reads(&outside).into_iter().chain(graph.outputs().iter().copied()).collect();
    let name = |id: ValueId| graph.value(id).name.clone();
    let mut seen = HashSet::new();
    let crosses = |id: &ValueId| !is_known(id) && !given.contains(id) && seen.insert(*id);
    let from = reads(&inside).into_iter().filter(crosses).map(name).collect();
    let outputs = inside.iter().flat_map(|node| &node.outputs).copied();
    let to = outputs.filter(|id| read_outside.contains(id)).map(name).collect();
    Ok(Ends { from, to })
}

/// Values that do not depend on inputs: constants, and what is computed from them, such as dequantised weights.
fn known_beforehand(graph: &Graph) -> HashSet<ValueId> {
    let constants = (0..graph.values().len() as u32).map(ValueId).filter(|&id| graph.value(id).constant.is_some());
    let mut known: HashSet<ValueId> = constants.collect();
    for node in graph.nodes() {
        if node.inputs.iter().flatten().all(|id| known.contains(id)) {
            known.extend(&node.outputs);
        }
    }
    known
}

/// What the names of a layer's nodes begin with. Where all layers are numbered together, `n` is the number; where there are
/// several series of them (blocks of stages, encoder and decoder), layers are counted in the order of the network.
fn layer(nodes: &[&Node], n: usize) -> Result<String, CutError> {
    let prefixes = |stem: &str| {
        let mut seen = HashSet::new();
        let all = nodes.iter().filter_map(|node| prefix(&node.name, stem));
        all.filter(|prefix| seen.insert(*prefix)).map(str::to_owned).collect::<Vec<_>>()
    };
    let Some(layers) = STEMS.iter().map(|stem| prefixes(stem)).find(|layers| !layers.is_empty()) else {
        let found = format!("no name of a node has one of `{}` and a number", STEMS.join("`, `"));
        return Err(CutError::Layer { n, found });
    };
    let series = |layer: &String| layer.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let together = layers.iter().all(|layer| series(layer) == series(&layers[0]));
    let found = if together {
        layers.iter().find(|layer| layer[series(layer).len()..].parse() == Ok(n))
    } else {
        layers.get(n)
    };
    let absent = || {
        let which = if together { "they are".to_owned() } else { format!("0 to {} are", layers.len() - 1) };
        CutError::Layer { n, found: format!("{which} `{}`", layers.join("`, `")) }
    };
    found.cloned().ok_or_else(absent)
}

/// A name up to the number behind the first `stem` that begins a word.
fn prefix<'a>(name: &'a str, stem: &str) -> Option<&'a str> {
    name.match_indices(stem).find_map(|(at, _)| {
        let begins = name[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let number = at + stem.len();
        let n_digits = name[number..].bytes().take_while(u8::is_ascii_digit).count();
        (begins && n_digits > 0).then(|| &name[..number + n_digits])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_up_to_the_number() {
        assert_eq!(prefix("/layers.12/mlp/Add", "layers."), Some("/layers.12"));
        assert_eq!(prefix("encoder.layer.3.output", "layer."), Some("encoder.layer.3"));
        assert_eq!(prefix("/sublayers.1/Add", "layers."), None);
        assert_eq!(prefix("/layers.norm/layers.4/Add", "layers."), Some("/layers.norm/layers.4"));
    }
}
