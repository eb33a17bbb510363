//! The order in which nodes can be read: each after those whose outputs it reads.

use std::collections::{BinaryHeap, HashMap};

use crate::onnx::proto::NodeProto;

/// Indices of the nodes in topological order, that of the file where it is one, and of the nodes that have none because they
/// are part of a cycle or depend on one.
pub(super) fn topological(nodes: &[NodeProto]) -> (Vec<usize>, Vec<usize>) {
    let mut producers: HashMap<&str, usize> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            producers.entry(name).or_insert(index); // a second definition is an error when its node is added
        }
    }
    let mut waits_for = vec![0_usize; nodes.len()];
    let mut readers = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for producer in node.input.iter().filter_map(|name| producers.get(name.as_str())) {
            waits_for[index] += 1;
            readers[*producer].push(index);
        }
    }
    let ready = waits_for.iter().enumerate().filter(|(_, n)| **n == 0);
    let mut ready: BinaryHeap<_> = ready.map(|(index, _)| std::cmp::Reverse(index)).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(std::cmp::Reverse(index)) = ready.pop() {
        order.push(index);
        for &reader in &readers[index] {
            waits_for[reader] -= 1;
            if waits_for[reader] == 0 {
                ready.push(std::cmp::Reverse(reader));
            }
        }
    }
    let left = (0..nodes.len()).filter(|&index| waits_for[index] > 0).collect();
    (order, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(inputs: &[&str], outputs: &[&str]) -> NodeProto {
        let own = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        NodeProto { input: own(inputs), output: own(outputs), ..Default::default() }
    }

    #[test]
    fn later_nodes_that_come_first_and_cycles() {
        let nodes = [
            node(&["b"], &["c"]),
            node(&["x"], &["a"]),
            node(&["a", "a"], &["b"]),
            node(&["e", "a"], &["d"]),
            node(&["d"], &["e"]),
            node(&["e"], &["f"]),
            node(&["g"], &["g"]),
        ];
        assert_eq!(topological(&nodes), (vec![1, 2, 0], vec![3, 4, 5, 6]));
    }
}
