//! Damaged files: truncated, with flipped bits, with bytes exchanged. Each gives an error or a graph, never a panic; what is
//! accepted can be rewritten and, if it is small, run.

mod support;

use std::collections::HashMap;
use std::path::Path;

use graphc::emit::{Emission, EmitError, emit};
use graphc::golden::{Keep, run};
use graphc::graph::{DType, Graph, Tensor, Type};
use graphc::import::{Options, import};
use graphc::onnx::{Folder, Model};
use graphc::{check, npy, plan, rewrite};
use iss::target::QC_U;
use ndarray::{ArrayD, IxDyn};
use prost::Message;
use support::{Lcg, Net, int, ints, list};

fn zeros(ty: &Type) -> Tensor {
    let shape = IxDyn(&ty.shape);
    match ty.dtype {
        DType::F32 => ArrayD::<f32>::zeros(shape).into(),
        DType::I8 => ArrayD::<i8>::zeros(shape).into(),
        DType::U8 => ArrayD::<u8>::zeros(shape).into(),
        DType::I32 => ArrayD::<i32>::zeros(shape).into(),
        DType::I64 => ArrayD::<i64>::zeros(shape).into(),
        DType::Bool => ArrayD::from_elem(shape, false).into(),
    }
}

/// Elements and steps that a run of damaged networks may take: enough for those that are as small as they were.
fn is_small(graph: &Graph) -> bool {
    graph.values().iter().all(|value| value.ty.len() < 20_000) && graphc::macs::of_graph(graph) < 1_000_000
}

/// Everything that a user's file goes through. Returns whether it was accepted.
fn go_through(bytes: Vec<u8>) -> bool {
    let Ok(model) = Model::decode(bytes.into(), Folder::none()) else { return false };
    let import = import(&model, &Options::default());
    assert!(!check::text(&import.report).is_empty());
    let Ok(graph) = import.into_graph() else { return false };
    let small = |graph: &Graph| is_small(graph);
    if small(&graph) {
        let inputs: HashMap<_, _> =
            graph.inputs().iter().map(|&id| (graph.value(id).name.clone(), zeros(&graph.value(id).ty))).collect();
        let before = run(&graph, &inputs, Keep::All);
        let (rewritten, _) = rewrite::all(&graph).unwrap();
        let after = run(&rewritten, &inputs, Keep::Outputs);
        assert!(before.is_err() || after.is_ok(), "{after:?}");
        if let Ok(plan) = plan::plan(rewritten, None) {
            // What is planned is emitted, or refused by name; a text that its own check refuses is a fault of ours.
            for error in emit(&plan, &Emission { target: QC_U }).err().unwrap_or_default() {
                assert!(matches!(error, EmitError::Step { .. }), "{error}");
            }
        }
    }
    true
}

fn samples() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let models = files.iter().filter(|path| path.extension().is_some_and(|e| e == "onnx"));
    let mut samples: Vec<Vec<u8>> = models.map(|path| std::fs::read(path).unwrap()).collect();
    let chain = Net::new(17)
        .input("x", &["2", "3", "4"])
        .constant("gamma", list(&[1.0_f32; 4]))
        .constant("to", list(&[6_i64, -1]))
        .node("LayerNormalization", &["x", "gamma"], &["n"])
        .node("Reshape", &["n", "to"], &["r"])
        .node("Shape", &["r"], &["s"])
        .node("ConstantOfShape", &["s"], &["c"])
        .node("Add", &["r", "c"], &["a"])
        .node_with("ReduceSum", &["a", "to"], &["y"], &[int("keepdims", 0)])
        .node_with("Transpose", &["a"], &["t"], &[ints("perm", &[1, 0])])
        .output("t");
    samples.push(support::small::encoder_block(4, 1, 1, 16).model().encode_to_vec());
    samples.push(chain.model().encode_to_vec());
    samples
}

#[test]
fn ten_thousand_damaged_files() {
    let samples = samples();
    let mut random = Lcg(11);
    let (mut accepted, mut refused) = (0, 0);
    for i in 0..10_000 {
        let mut bytes = samples[i % samples.len()].clone();
        for _ in 0..=random.next() % 3 {
            let at = random.next() as usize % bytes.len();
            match random.next() % 4 {
                0 => bytes[at] ^= 1 << (random.next() % 8),
                1 => bytes[at] = random.next() as u8,
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let other = random.next() as usize % bytes.len();
                    bytes.swap(at, other);
                }
            }
        }
        if go_through(bytes) { accepted += 1 } else { refused += 1 }
    }
    // Damage to a name or to an element is none; most other damage is found.
    assert!(accepted > 500 && refused > 2_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn every_truncation_of_one_file() {
    let sample = samples().pop().unwrap();
    for n in 0..sample.len() {
        go_through(sample[..n].to_vec());
    }
}

/// Damage that random bytes seldom find: extreme numbers in every attribute and every constant of small integers.
#[test]
fn extreme_numbers() {
    let extremes = [i64::MIN, i64::MIN + 1, -9, -1, 0, 1, 7, 1 << 31, 1 << 40, i64::MAX - 1, i64::MAX];
    for sample in samples() {
        let model = graphc::onnx::proto::ModelProto::decode(&sample[..]).unwrap();
        let graph = model.graph.as_ref().unwrap();
        let n_attributes = graph.node[0].attribute.len();
        for (a, &value) in (0..n_attributes).flat_map(|a| extremes.iter().map(move |v| (a, v))) {
            let mut model = model.clone();
            let attribute = &mut model.graph.as_mut().unwrap().node[0].attribute[a];
            attribute.i = value;
            attribute.f = value as f32;
            attribute.ints.iter_mut().for_each(|v| *v = value);
            go_through(model.encode_to_vec());
        }
        let integers =
            graph.initializer.iter().enumerate().filter(|(_, t)| t.data_type == 7 && t.name.starts_with('c'));
        for (t, tensor) in integers {
            for (i, &value) in (0..tensor.raw_data.len() / 8).flat_map(|i| extremes.iter().map(move |v| (i, v))) {
                let mut model = model.clone();
                let raw = &mut model.graph.as_mut().unwrap().initializer[t].raw_data;
                let mut bytes = raw.to_vec();
                bytes[8 * i..8 * i + 8].copy_from_slice(&value.to_le_bytes());
                *raw = bytes.into();
                go_through(model.encode_to_vec());
            }
        }
    }
}

#[test]
fn huge_dimensions_are_refused_before_memory_is_asked_for() {
    let errors = Net::new(17).input("x", &["1000000", "1000000"]).node("Relu", &["x"], &["y"]).output("y").errors();
    assert!(errors.contains("has more than"), "{errors}");
    let net = Net::new(17)
        .input("x", &["1"])
        .constant("shape", list(&[1_i64 << 20, 1 << 20]))
        .node("ConstantOfShape", &["shape"], &["c"])
        .node("Add", &["x", "c"], &["y"])
        .output("y");
    assert!(net.errors().contains("has more than"), "{}", net.errors());
    let filled =
        Net::new(17).constant("shape", list(&[1_i64 << 14, 1 << 12])).node("ConstantOfShape", &["shape"], &["y"]);
    assert!(filled.output("y").errors().contains("a shape of at most 16777216 elements"));
    let net = Net::new(17)
        .input("x", &["60000", "1"])
        .node_with("Transpose", &["x"], &["t"], &[ints("perm", &[1, 0])])
        .node("Add", &["x", "t"], &["y"])
        .output("y");
    assert!(net.errors().contains("more than"), "{}", net.errors());
}

/// A small file may ask for much: each tensor is within the limit, all of them together are not.
#[test]
fn memory_of_a_run_is_bounded() {
    let mut net =
        Net::new(17).input("x", &["1"]).constant("to", list(&[1_i64 << 28])).node("Expand", &["x", "to"], &["x0"]);
    for i in 0..4 {
        net = net.node("Neg", &[&format!("x{i}")], &[&format!("x{}", i + 1)]);
    }
    let graph = net.output("x4").build();
    let inputs = HashMap::from([("x".to_owned(), list(&[1.0_f32]))]);
    let error = run(&graph, &inputs, Keep::All).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node `Neg:x3`: with its results 4294967300 bytes would be alive at once, and at most 4294967296 may be"
    );
}

#[test]
fn damaged_arrays() {
    let sample = npy::encode(&list(&[1.0_f32, 2.0, 3.0]));
    let mut random = Lcg(13);
    for _ in 0..20_000 {
        let mut bytes = sample.clone();
        for _ in 0..=random.next() % 3 {
            let at = random.next() as usize % bytes.len();
            bytes[at] = random.next() as u8;
        }
        let _ = npy::decode(&bytes);
    }
}
