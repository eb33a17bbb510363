//! Every operator on single-node networks of a real exporter's library, against ONNX Runtime's outputs.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use ccl_golden::compare::compare;
use graphc::golden::{Keep, run};
use graphc::graph::{Graph, Tensor};
use graphc::import::{Options, import};
use graphc::onnx::{Folder, Model, tensor};
use graphc::operators::{Domain, Mapping, OPERATORS};

/// How far a result may be from ONNX Runtime's.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tolerance {
    /// Equal to the bit.
    Exact,
    /// Float32 functions that ORT works out in float32 and the golden operators in float64.
    Relative(f64),
}

fn tolerance(op: &str) -> Tolerance {
    match op {
        // Sums in ORT's order, and its float32 polynomials.
        "Conv" | "ConvTranspose" | "MatMul" | "Gemm" | "LayerNormalization" | "BatchNormalization" | "Softmax"
        | "ReduceMean" | "ReduceSum" | "GlobalAveragePool" | "AveragePool" | "Gelu" | "FastGelu" | "Sigmoid"
        | "Tanh" | "Erf" | "Exp" | "Log" | "Elu" | "Softplus" | "Pow" | "HardSwish" | "HardSigmoid" => {
            Tolerance::Relative(4e-6)
        }
        _ => Tolerance::Exact,
    }
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "onnx")).collect();
    files.sort();
    assert!(files.len() > 100);
    files
}

/// The tensors of a model whose names begin so, taken out of it.
fn take(model: &mut Model, prefix: &str) -> HashMap<String, Tensor> {
    let graph = model.proto.graph.as_mut().unwrap();
    let (taken, left) = graph.initializer.drain(..).partition(|t| t.name.starts_with(prefix));
    graph.initializer = left;
    let taken: Vec<graphc::onnx::proto::TensorProto> = taken;
    let value = |t: &_| tensor::tensor(t, &Folder::none()).unwrap();
    taken.iter().map(|t| (t.name[prefix.len()..].to_owned(), value(t))).collect()
}

fn close(got: &Tensor, expected: &Tensor, tolerance: Tolerance) -> bool {
    match (got, expected, tolerance) {
        (Tensor::F32(got), Tensor::F32(expected), Tolerance::Relative(relative)) => {
            let scale = expected.iter().fold(1e-3_f64, |m, v| m.max(f64::from(v.abs())));
            compare(got.view(), expected.view()).is_ok_and(|c| c.max_abs_err <= relative * scale)
        }
        _ => got == expected,
    }
}

fn graph(model: &Model) -> Graph {
    import(model, &Options::default()).into_graph().unwrap()
}

#[test]
fn every_vector_gives_what_onnx_runtime_gave() {
    let mut wrong = Vec::new();
    for path in cases() {
        let mut model = Model::read(&path).unwrap();
        let (inputs, expected) = (take(&mut model, "input/"), take(&mut model, "expected/"));
        let op = model.proto.graph.as_ref().unwrap().node[0].op_type.clone();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let graph = match import(&model, &Options::default()).into_graph() {
            Ok(graph) => graph,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let outcome = run(&graph, &inputs, Keep::Outputs).unwrap();
        for &id in graph.outputs() {
            let (output, got) = (&graph.value(id).name, outcome.get(id).unwrap());
            if !close(got, &expected[output], tolerance(&op)) {
                wrong.push(format!("{name}, {output}: {got:?}\nexpected {:?}", expected[output]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_operator_has_a_vector() {
    let used: BTreeSet<_> = cases()
        .iter()
        .map(|path| {
            let model = Model::read(path).unwrap();
            let node = &model.proto.graph.as_ref().unwrap().node[0];
            (node.domain.clone(), node.op_type.clone())
        })
        .collect();
    let lacks = OPERATORS
        .iter()
        .filter(|row| row.mapping != Mapping::Refused)
        .filter(|row| !used.contains(&(row.domain.name().to_owned(), row.name.to_owned())));
    let lacks: Vec<_> =
        lacks.map(|row| format!("{}{}", if row.domain == Domain::Onnx { "" } else { "ms " }, row.name)).collect();
    assert!(lacks.is_empty(), "{lacks:?}");
}

#[test]
fn constant_inputs_are_folded_to_the_same_values() {
    for path in cases() {
        let mut model = Model::read(&path).unwrap();
        let expected = take(&mut model, "expected/");
        let proto = model.proto.graph.as_mut().unwrap();
        proto.input.clear();
        for initializer in &mut proto.initializer {
            if let Some(name) = initializer.name.strip_prefix("input/") {
                initializer.name = name.to_owned();
            }
        }
        let op = proto.node[0].op_type.clone();
        let (folded, _) = graphc::rewrite::all(&graph(&model)).unwrap();
        assert!(folded.nodes().is_empty(), "{}", path.display());
        for &id in folded.outputs() {
            let value = folded.value(id);
            assert!(
                close(value.constant.as_ref().unwrap(), &expected[&value.name], tolerance(&op)),
                "{}",
                path.display()
            );
        }
    }
}
