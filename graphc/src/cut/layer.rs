//! Layers of encoders, which exporters write into the names of nodes: `/layers.3/self_attn/q_proj/MatMul`.

use std::collections::{BTreeSet, HashSet};

use crate::cut::{CutError, Ends};
use crate::graph::{Graph, Node, ValueId};

/// What a number in a name may count, first what is looked for first.
const STEMS: [&str; 5] = ["layers.", "layer.", "blocks.", "block.", "stages."];

/// The activations that cross into and out of a layer.
pub(super) fn ends(graph: &Graph, n: usize) -> Result<Ends, CutError> {
    let numbers =
        |stem: &str| graph.nodes().iter().filter_map(|node| number(&node.name, stem)).collect::<BTreeSet<_>>();
    let Some((stem, found)) = STEMS.iter().map(|stem| (*stem, numbers(stem))).find(|(_, found)| !found.is_empty())
    else {
        let found = format!("no name of a node has one of `{}` and a number", STEMS.join("`, `"));
        return Err(CutError::Layer { n, found });
    };
    if !found.contains(&n) {
        let list: Vec<String> = found.iter().map(usize::to_string).collect();
        return Err(CutError::Layer { n, found: format!("names of nodes have `{stem}` with {}", list.join(", ")) });
    }
    let (inside, outside): (Vec<&Node>, Vec<&Node>) =
        graph.nodes().iter().partition(|node| number(&node.name, stem) == Some(n));
    let given: HashSet<ValueId> = inside.iter().flat_map(|node| &node.outputs).copied().collect();
    let read_outside: HashSet<ValueId> =
        outside.iter().flat_map(|node| node.inputs.iter().flatten()).chain(graph.outputs()).copied().collect();
    let name = |id: &ValueId| graph.value(*id).name.clone();
    let is_activation = |id: &&ValueId| graph.value(**id).constant.is_none() && !given.contains(*id);
    let mut seen = HashSet::new();
    let read = inside.iter().flat_map(|node| node.inputs.iter().flatten());
    let from = read.filter(is_activation).filter(|id| seen.insert(**id)).map(name).collect();
    let outputs = inside.iter().flat_map(|node| &node.outputs);
    let to = outputs.filter(|id| read_outside.contains(id)).map(name).collect();
    Ok(Ends { from, to })
}

/// The number behind the first `stem` that begins a word of a name.
fn number(name: &str, stem: &str) -> Option<usize> {
    name.match_indices(stem).find_map(|(at, _)| {
        let begins = name[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let digits: String = name[at + stem.len()..].chars().take_while(char::is_ascii_digit).collect();
        if begins { digits.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_behind_words() {
        assert_eq!(number("/layers.12/mlp/Add", "layers."), Some(12));
        assert_eq!(number("encoder.layer.3.output", "layer."), Some(3));
        assert_eq!(number("/sublayers.1/Add", "layers."), None);
        assert_eq!(number("/layers.norm/layers.4/Add", "layers."), Some(4));
    }
}
