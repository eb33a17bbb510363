//! Patches, and the one place that applies them: builds the graph anew, so that every type is inferred again, and checks that
//! values which others read keep their types.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use crate::graph::{Builder, Graph, GraphError, NodeId, Op, Origin, Tensor, Type, ValueId};

/// An input of a new node.
#[derive(Debug, Clone)]
pub enum Input {
    /// A value of the graph.
    Value(ValueId),
    /// A new constant.
    Constant(Arc<Tensor>),
}

/// A node that a patch adds.
#[derive(Debug, Clone)]
pub struct NewNode {
    /// What it computes.
    pub op: Op,
    /// Its inputs.
    pub inputs: Vec<Option<Input>>,
    /// The value that it defines, whose producer the patch removes.
    pub output: ValueId,
    /// What it is called in messages.
    pub op_type: String,
}

/// A change of a graph.
#[derive(Debug, Clone, Default)]
pub struct Patch {
    /// Nodes that go.
    pub removed: Vec<NodeId>,
    /// Nodes that come.
    pub added: Vec<NewNode>,
    /// Values that become constants.
    pub known: Vec<(ValueId, Arc<Tensor>)>,
    /// Values whose readers read another value from now on.
    pub redirected: Vec<(ValueId, ValueId)>,
}

impl Patch {
    /// The name of the value whose computation changes.
    pub(super) fn place(&self, graph: &Graph) -> String {
        let added = self.added.iter().map(|node| node.output);
        let mut ids = added.chain(self.known.iter().map(|k| k.0)).chain(self.redirected.iter().map(|r| r.0));
        ids.next().map_or(String::new(), |id| graph.value(id).name.clone())
    }
}

/// Why a patch does not fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// A value that is still read has lost its producer.
    #[error("value `{name}` is read, and nothing defines it any more")]
    Undefined {
        /// The value.
        name: String,
    },
    /// A value has another type than before.
    #[error("value `{name}` was {before} and is {after}")]
    Type {
        /// The value.
        name: String,
        /// Its type before.
        before: Type,
        /// Its type after.
        after: Type,
    },
    /// The patched graph cannot be built.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A rewrite finds the same places again and again.
    #[error("rewrite `{rewrite}` does not come to an end")]
    Endless {
        /// The rewrite.
        rewrite: &'static str,
    },
    /// A patch of a rewrite does not fit.
    #[error("rewrite `{rewrite}`: {source}")]
    Rewrite {
        /// The rewrite.
        rewrite: &'static str,
        /// What is wrong.
        source: Box<PatchError>,
    },
}

impl PatchError {
    pub(super) fn of(self, rewrite: &'static str) -> Self {
        PatchError::Rewrite { rewrite, source: Box::new(self) }
    }
}

/// The patches that do not touch nodes or values that an earlier one of the list changes; the rest is found again afterwards.
pub(super) fn disjoint(patches: Vec<Patch>) -> Vec<Patch> {
    let (mut nodes, mut values) = (HashSet::new(), HashSet::new());
    let fits = |patch: &Patch| {
        let read = |node: &NewNode| node.inputs.clone();
        let reads = patch.added.iter().flat_map(read).flatten().filter_map(|i| match i {
            Input::Value(id) => Some(id),
            Input::Constant(_) => None,
        });
        let ends: Vec<ValueId> = reads.chain(patch.redirected.iter().map(|r| r.1)).collect();
        if patch.removed.iter().any(|n| nodes.contains(n)) || ends.iter().any(|v| values.contains(v)) {
            return false;
        }
        nodes.extend(patch.removed.iter().copied());
        values.extend(patch.redirected.iter().map(|r| r.0));
        true
    };
    patches.into_iter().filter(fits).collect()
}

/// A node of the graph that is being built.
struct Item {
    name: String,
    origin: Origin,
    op: Op,
    inputs: Vec<Option<Input>>,
    outputs: Vec<ValueId>,
}

/// Applies patches that are disjoint, and removes nodes that nothing reads. Returns the graph and how many those were.
///
/// # Errors
/// [`PatchError`]; the graph that was given is as it was.
pub fn apply(graph: &Graph, patches: &[Patch]) -> Result<(Graph, usize), PatchError> {
    let items = order(patched(graph, patches), graph);
    let known: HashMap<ValueId, Arc<Tensor>> = patches.iter().flat_map(|p| p.known.iter().cloned()).collect();
    let (items, dead) = live(items, graph);
    Ok((build(graph, items, &known)?, dead))
}

/// The nodes that stay and those that come.
fn patched(graph: &Graph, patches: &[Patch]) -> Vec<Item> {
    let removed: HashSet<NodeId> = patches.iter().flat_map(|p| p.removed.iter().copied()).collect();
    let redirected: HashMap<ValueId, ValueId> = patches.iter().flat_map(|p| p.redirected.iter().copied()).collect();
    let resolve = |mut id: ValueId| {
        while let Some(&next) = redirected.get(&id) {
            id = next;
        }
        Input::Value(id)
    };
    let kept = graph.nodes().iter().enumerate().filter(|(i, _)| !removed.contains(&NodeId(*i as u32)));
    let kept = kept.map(|(_, node)| Item {
        name: node.name.clone(),
        origin: node.origin.clone(),
        op: node.op.clone(),
        inputs: node.inputs.iter().map(|input| input.map(resolve)).collect(),
        outputs: node.outputs.clone(),
    });
    let added = patches.iter().flat_map(|p| &p.added).map(|new| {
        let replaced = graph.producer(new.output);
        let opset = replaced.map_or(0, |node| node.origin.opset);
        let again = |input: &Input| match input {
            Input::Value(id) => resolve(*id),
            constant => constant.clone(),
        };
        Item {
            name: replaced.map_or_else(|| graph.value(new.output).name.clone(), |node| node.name.clone()),
            origin: Origin { op_type: new.op_type.clone(), domain: String::new(), opset },
            op: new.op.clone(),
            inputs: new.inputs.iter().map(|input| input.as_ref().map(again)).collect(),
            outputs: vec![new.output],
        }
    });
    kept.chain(added).collect()
}

fn read_values(item: &Item) -> impl Iterator<Item = ValueId> {
    item.inputs.iter().flatten().filter_map(|input| match input {
        Input::Value(id) => Some(*id),
        Input::Constant(_) => None,
    })
}

/// Items in topological order; where that leaves a choice, in the order of the values that they define.
fn order(items: Vec<Item>, graph: &Graph) -> Vec<Item> {
    let mut producer = vec![None; graph.values().len()];
    for (i, item) in items.iter().enumerate() {
        item.outputs.iter().for_each(|id| producer[id.index()] = Some(i));
    }
    let mut waits_for = vec![0_usize; items.len()];
    let mut readers = vec![Vec::new(); items.len()];
    for (i, item) in items.iter().enumerate() {
        for source in read_values(item).filter_map(|id| producer[id.index()]) {
            waits_for[i] += 1;
            readers[source].push(i);
        }
    }
    let rank: Vec<_> = items.iter().map(|item| item.outputs.first().copied()).collect();
    let key = |i: usize| std::cmp::Reverse((rank[i], i));
    let mut ready: BinaryHeap<_> = (0..items.len()).filter(|&i| waits_for[i] == 0).map(key).collect();
    let mut slots: Vec<Option<Item>> = items.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(slots.len());
    while let Some(std::cmp::Reverse((_, i))) = ready.pop() {
        ordered.extend(slots[i].take());
        for &reader in &readers[i] {
            waits_for[reader] -= 1;
            if waits_for[reader] == 0 {
                ready.push(key(reader));
            }
        }
    }
    ordered
}

/// Items whose results reach an output, and the number of others.
fn live(items: Vec<Item>, graph: &Graph) -> (Vec<Item>, usize) {
    let mut wanted: HashSet<ValueId> = graph.outputs().iter().copied().collect();
    let n = items.len();
    let mut kept = Vec::with_capacity(n);
    for item in items.into_iter().rev() {
        if item.outputs.iter().any(|id| wanted.contains(id)) {
            wanted.extend(read_values(&item));
            kept.push(item);
        }
    }
    kept.reverse();
    let dead = n - kept.len();
    (kept, dead)
}

/// Builds the graph of ordered items, with the constants that they read.
fn build(graph: &Graph, items: Vec<Item>, known: &HashMap<ValueId, Arc<Tensor>>) -> Result<Graph, PatchError> {
    let mut builder = Builder::default();
    let mut ids: HashMap<ValueId, ValueId> = HashMap::new();
    for &input in graph.inputs() {
        let value = graph.value(input);
        ids.insert(input, builder.input(&value.name, value.ty.clone())?);
    }
    for item in items {
        let mut inputs = Vec::with_capacity(item.inputs.len());
        for (place, input) in item.inputs.iter().enumerate() {
            inputs.push(match input {
                None => None,
                Some(Input::Value(id)) => Some(resolve(graph, *id, known, &mut builder, &mut ids)?),
                Some(Input::Constant(tensor)) => {
                    let name = format!("{}.{}.{place}", item.name, item.origin.op_type);
                    Some(builder.constant(&name, tensor.clone())?)
                }
            });
        }
        let names: Vec<&str> = item.outputs.iter().map(|&id| graph.value(id).name.as_str()).collect();
        let outputs = builder.node(&item.name, item.origin, item.op, inputs, &names)?;
        for (&old, &new) in item.outputs.iter().zip(&outputs) {
            let (before, after) = (&graph.value(old).ty, &builder.get(new).ty);
            if before != after {
                let name = graph.value(old).name.clone();
                return Err(PatchError::Type { name, before: before.clone(), after: after.clone() });
            }
            ids.insert(old, new);
        }
    }
    let mut outputs = Vec::with_capacity(graph.outputs().len());
    for &output in graph.outputs() {
        outputs.push(resolve(graph, output, known, &mut builder, &mut ids)?);
    }
    Ok(builder.finish(graph.name(), outputs))
}

/// The new value of an old one; constants come along when they are first read.
fn resolve(
    graph: &Graph,
    id: ValueId,
    known: &HashMap<ValueId, Arc<Tensor>>,
    builder: &mut Builder,
    ids: &mut HashMap<ValueId, ValueId>,
) -> Result<ValueId, PatchError> {
    if let Some(&new) = ids.get(&id) {
        return Ok(new);
    }
    let value = graph.value(id);
    let constant = known.get(&id).or(value.constant.as_ref());
    let tensor = constant.ok_or_else(|| PatchError::Undefined { name: value.name.clone() })?;
    let new = builder.constant(&value.name, tensor.clone())?;
    ids.insert(id, new);
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DType;

    fn origin() -> Origin {
        Origin { op_type: "test".to_owned(), domain: String::new(), opset: 17 }
    }

    /// x -> Identity -> a -> Identity -> y.
    fn chain() -> Graph {
        let mut builder = Builder::default();
        let x = builder.input("x", Type::new(DType::F32, &[2])).unwrap();
        let a = builder.node("first", origin(), Op::Identity, vec![Some(x)], &["a"]).unwrap();
        let y = builder.node("second", origin(), Op::Identity, vec![Some(a[0])], &["y"]).unwrap();
        builder.finish("chain", y)
    }

    #[test]
    fn patches_that_do_not_fit_are_refused() {
        let graph = chain();
        let patch = Patch { removed: vec![NodeId(1)], ..Patch::default() };
        let err = apply(&graph, &[patch]).unwrap_err();
        assert_eq!(err, PatchError::Undefined { name: "y".to_owned() });
        let (x, y) = (graph.find("x").unwrap(), graph.find("y").unwrap());
        let node = NewNode {
            op: Op::Reshape { shape: vec![1, 2] },
            inputs: vec![Some(Input::Value(x))],
            output: y,
            op_type: "Reshape".to_owned(),
        };
        let patch = Patch { removed: vec![NodeId(1)], added: vec![node], ..Patch::default() };
        assert!(matches!(apply(&graph, &[patch]), Err(PatchError::Type { .. })));
    }

    #[test]
    fn unread_nodes_go() {
        let graph = chain();
        let (x, a) = (graph.find("x").unwrap(), graph.find("a").unwrap());
        let patch = Patch { redirected: vec![(a, x)], ..Patch::default() };
        let (patched, dead) = apply(&graph, &[patch]).unwrap();
        assert_eq!((patched.nodes().len(), dead), (1, 1));
        assert_eq!(patched.nodes()[0].name, "second");
    }
}
