//! Validation: golden operators against ONNX Runtime and the simulator against golden operators on random networks; what a
//! failing node leads to; the command. Beside them what makes models: the quantiser and the cutting of parts.

#[path = "../support/mod.rs"]
mod support;

mod cutting;
mod quantise;
mod random;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::{Command, Output};
use std::sync::Arc;

use graphc::golden::{Keep, run};
use graphc::graph::Tensor;
use graphc::import::{Import, Options, import};
use graphc::npy;
use graphc::onnx::{Folder, Model};
use graphc::validate::{Golden, Named, Status, Stepwise, Validation, Values, compare, picture, reproduce};
use iss::target::QC_U;
use prost::Message;
use random::{Case, OPERATORS, case};
use support::Net;
use support::small::{Quantised, encoder_block};

/// How many seeds are tried: `CCL_SEEDS=100000 cargo test -p graphc --test validate` tries more.
fn seeds(usual: u64) -> u64 {
    std::env::var("CCL_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

fn imported(net: &Net) -> (Model, Import) {
    let model = Model::from(net.model());
    let import = import(&model, &Options::default());
    (model, import)
}

#[cfg(feature = "ort")]
#[test]
fn golden_equals_onnx_runtime_on_random_networks() {
    let runtime = graphc::validate::ort::Runtime::load().unwrap_or_else(|error| panic!("{error}"));
    let mut wrong = Vec::new();
    let mut elements = 0;
    for seed in 0..seeds(20 * OPERATORS.len() as u64) {
        let Case { name, net, inputs } = case(seed);
        let (model, import) = imported(&net);
        let nodes = import.report.nodes.clone();
        let graph = import.into_graph().unwrap_or_else(|error| panic!("{name}: {error}"));
        let reference = runtime.run_all(&model, &inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let validation = compare(&graph, &nodes, &Golden::run(&graph, &inputs).unwrap(), &reference);
        elements += validation.summary.elements;
        // What is fixed to an order of sums is equal on hosts that have it; QLinearSoftmax differs beside ties.
        let is_bound_to_host = ["Softmax", "LayerNormalization", "Erf"].iter().any(|op| name.starts_with(op));
        let must_be_equal = !name.starts_with("QLinearSoftmax") && (!is_bound_to_host || has_avx512());
        let unequal = must_be_equal && validation.summary.isolated_mismatches > 0;
        if unequal || validation.status == Status::Fail {
            wrong.push(format!("{name}\n{}", validation.text(5)));
        }
    }
    assert!(wrong.is_empty(), "{} networks of {elements} elements differ\n{}", wrong.len(), wrong.join("\n"));
}

#[cfg(feature = "ort")]
fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[test]
fn the_simulator_is_within_the_bar_of_golden_on_random_networks() {
    let mut compiled: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused: BTreeMap<&str, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut mismatches, mut elements) = (0, 0);
    for seed in 0..seeds(4 * OPERATORS.len() as u64) {
        let Case { name, net, inputs } = case(seed);
        let operator = OPERATORS[seed as usize % OPERATORS.len()].0;
        let (_, import) = imported(&net);
        let nodes = import.report.nodes.clone();
        let graph = import.into_graph().unwrap_or_else(|error| panic!("{name}: {error}"));
        let steps = match Stepwise::compile(&graph, &QC_U) {
            Ok(steps) => steps,
            Err(error) => {
                refused.insert(operator, error.to_string());
                continue;
            }
        };
        *compiled.entry(operator).or_default() += 1;
        let golden = Named::golden(&graph, &run(&graph, &inputs, Keep::All).unwrap());
        let simulated = steps.run(&graph, &inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let validation = compare(&graph, &nodes, &simulated, &golden);
        mismatches += validation.summary.quantised_mismatches;
        elements += validation.summary.quantised_elements;
        if validation.status == Status::Fail {
            wrong.push(format!("{name}\n{}", validation.text(5)));
        }
    }
    assert!(wrong.is_empty(), "{} networks fail\n{}", wrong.len(), wrong.join("\n"));
    let reached: BTreeSet<&str> = compiled.keys().copied().collect();
    println!("{mismatches} of {elements} elements differ; compiled {compiled:?}; refused {refused:?}");
    let expected = BTreeSet::from(COMPILED);
    assert!(
        expected.is_subset(&reached),
        "{expected:?} compile on their own, but {reached:?} did; refused: {refused:?}"
    );
}

/// Operators that compile as a network of their own, for some zero points and extents.
const COMPILED: [&str; 3] = ["MaxPool", "QLinearConv", "QLinearMatMul"];

/// A reference whose tensor `of` has another first element.
struct Bent<'a> {
    golden: &'a Named,
    of: &'a str,
}

impl Values for Bent<'_> {
    fn label(&self) -> &str {
        "bent"
    }

    fn tensor(&self, name: &str) -> Option<Arc<Tensor>> {
        let tensor = self.golden.tensor(name)?;
        match (name == self.of, &*tensor) {
            (true, Tensor::I8(array)) => {
                let mut array = array.clone();
                *array.iter_mut().next().unwrap() ^= 0x40;
                Some(Arc::new(array.into()))
            }
            _ => Some(tensor),
        }
    }
}

struct Block {
    model: Model,
    import: Import,
    inputs: HashMap<String, Tensor>,
}

fn block() -> Block {
    let (model, import) = imported(&encoder_block(16, 2, 4, 8));
    let image = support::Lcg(5).tensor(&[1, 3, 16, 32], 1.0);
    Block { model, import, inputs: HashMap::from([("image".to_owned(), image)]) }
}

/// The validation of an encoder block against itself with one element of one product bent.
fn bent_validation(of: &str, check: impl FnOnce(Block, &Validation, &Bent)) {
    let block = block();
    let graph = block.import.clone().into_graph().unwrap();
    let subject = Golden::run(&graph, &block.inputs).unwrap();
    let golden = Named::golden(&graph, &run(&graph, &block.inputs, Keep::All).unwrap());
    let reference = Bent { golden: &golden, of };
    let validation = compare(&graph, &block.import.report.nodes, &subject, &reference);
    check(block, &validation, &reference);
}

fn a_product() -> String {
    let (_, import) = imported(&encoder_block(16, 2, 4, 8));
    import.report.nodes.iter().find(|node| node.op == "QLinearMatMul").unwrap().tensors[0].clone()
}

#[test]
fn one_bent_element_is_found_where_it_is() {
    let tensor = a_product();
    bent_validation(&tensor, |_, validation, _| {
        let worst = validation.worst_first()[0];
        assert_eq!(
            (worst.tensor.as_str(), worst.op.as_str(), worst.status),
            (tensor.as_str(), "QLinearMatMul", Status::Fail)
        );
        let (isolated, first) = (worst.isolated.as_ref().unwrap(), worst.first.as_ref().unwrap());
        assert_eq!((isolated.mismatches, isolated.max_abs_err), (1, 64.0));
        assert!(first.index.iter().all(|&i| i == 0) && first.accumulator.is_some(), "{first:?}");
        assert_eq!((first.got.unwrap() - first.expected.unwrap()).abs(), 64.0);
        let accumulated = worst.accumulated.as_ref().unwrap();
        assert_eq!(accumulated.max_err_index, Some(first.index.clone()));
        let rmse = 64.0 / (worst.total as f64).sqrt();
        assert!((accumulated.rmse - rmse).abs() < 1e-9);
        assert!((accumulated.psnr_db.unwrap() - 20.0 * (255.0 / rmse).log10()).abs() < 1e-9);
        // Its reader sees the bent input, and so differs from the reference, which is that of the straight one.
        assert!(validation.summary.passed < validation.summary.nodes);
        assert!(!validation.reaches(f64::INFINITY) || validation.summary.output_psnr_db.is_none());
        let text = validation.text(3);
        assert!(text.contains("FAIL") && text.contains(", accumulator ") && text.contains("expected"), "{text}");
        let json = serde_json::to_value(validation).unwrap();
        assert_eq!(json["nodes"].as_array().unwrap().len(), validation.summary.nodes);
        for field in ["mismatches", "rmse", "psnr_db", "max_abs_err", "max_err_index"] {
            assert!(json["nodes"][0]["accumulated"].get(field).is_some(), "{field}");
        }
    });
}

#[test]
fn a_failing_node_becomes_a_model_that_shows_it() {
    let tensor = a_product();
    bent_validation(&tensor, |block, validation, reference| {
        let graph = block.import.clone().into_graph().unwrap();
        let row = validation.worst_first()[0];
        let node = block.import.report.nodes.iter().find(|node| node.name == row.name).unwrap();
        let reproducer = reproduce(&block.model, &graph, node, reference).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let command = reproducer.write(folder.path()).unwrap();
        assert!(command.starts_with("graphc validate ") && command.contains(" --input "), "{command}");
        let model = Model::read(&folder.path().join("model.onnx")).unwrap();
        let alone = import(&model, &Options::default()).into_graph().unwrap();
        assert_eq!(alone.nodes().len(), 1);
        let read =
            |name: &str, end: &str| npy::read(&folder.path().join(format!("{}{end}", npy::file_stem(name)))).unwrap();
        let inputs = alone.inputs().iter().map(|&id| alone.value(id).name.clone());
        let inputs: HashMap<String, Tensor> = inputs.map(|name| (name.clone(), read(&name, ".npy"))).collect();
        let ran = run(&alone, &inputs, Keep::All).unwrap();
        let got = ran.get(alone.outputs()[0]).unwrap();
        let expected = read(&tensor, ".expected.npy");
        let different = got.to_le_bytes().iter().zip(expected.to_le_bytes()).filter(|(a, b)| **a != *b).count();
        assert_eq!(different, 1);
        let png = picture(validation);
        assert!(image::load_from_memory(&png).unwrap().width() > 100);
    });
}

#[test]
fn every_node_of_a_block_is_shown_by_the_simulator() {
    let block = block();
    let nodes = block.import.report.nodes.clone();
    let graph = block.import.into_graph().unwrap();
    let golden = Named::golden(&graph, &run(&graph, &block.inputs, Keep::All).unwrap());
    let steps = Stepwise::compile(&graph, &QC_U).unwrap_or_else(|error| panic!("{error}"));
    let simulated = steps.run(&graph, &block.inputs).unwrap();
    let validation = compare(&graph, &nodes, &simulated, &golden);
    assert_eq!(validation.status, Status::Pass, "{}", validation.text(30));
    let rows: BTreeSet<&str> = validation.nodes.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(rows.len(), nodes.len(), "no node is skipped");
    let softmax = validation.nodes.iter().find(|row| row.op == "Softmax").unwrap();
    let context = validation.nodes.iter().find(|row| row.tensor == softmax.tensor && row.op == "QLinearMatMul");
    assert!(context.is_some(), "the scores are part of the heads' result: {softmax:?}");
}

fn graphc(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_graphc")).args(args).env_remove("ORT_DYLIB_PATH").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_command_writes_a_table_json_and_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let model = path("model.onnx");
    let net = Quantised::image(8, 6, 7).conv("x", "w", "y", &[]).net.output("y");
    let net = net.constant("w", support::Lcg(3).int8(&[4, 8, 3, 3]));
    std::fs::write(&model, net.model().encode_to_vec()).unwrap();
    let (json, out) = (path("v.json"), path("out"));
    let simulated = ["validate", &model, "--synthetic", "1", "--of", "simulator", "--against", "golden"];
    let done = graphc(&[&simulated[..], &["--json", &json, "--output-dir", &out, "--fail-under", "20"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}{}", text(&done.stdout), text(&done.stderr));
    assert!(text(&done.stdout).contains("simulator against golden, worst first"));
    let figures: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!((&figures["status"], &figures["nodes"][0]["status"]), (&"pass".into(), &"pass".into()));
    assert!(std::path::Path::new(&out).join("errors.png").exists());

    let unseen = graphc(&["validate", &model, "--of", "simulator", "--against", "golden"]);
    assert_eq!(unseen.status.code(), Some(2));
    assert!(text(&unseen.stderr).contains("input `image` (f32[1x8x6x7]) is missing"), "{}", text(&unseen.stderr));
    let itself = graphc(&["validate", &model, "--synthetic", "1", "--against", "golden"]);
    assert_eq!(itself.status.code(), Some(2));
    let nowhere = graphc(&[&simulated[..], &["--json", &path("no/such/folder.json")]].concat());
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(text(&nowhere.stderr).contains("cannot write `"), "{}", text(&nowhere.stderr));
}

#[test]
fn without_onnx_runtime_the_error_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.onnx");
    std::fs::write(&model, encoder_block(16, 2, 4, 8).model().encode_to_vec()).unwrap();
    let done = graphc(&["validate", model.to_str().unwrap(), "--synthetic", "1"]);
    assert_eq!(done.status.code(), Some(2));
    let errors = text(&done.stderr);
    assert!(errors.contains("ORT_DYLIB_PATH") && errors.contains("help: "), "{errors}");
}

#[test]
fn external_data_is_taken_into_the_rewritten_model() {
    let net = encoder_block(16, 2, 4, 8);
    let mut model = Model::from(net.model());
    let n_nodes = model.proto.graph.as_ref().unwrap().node.len();
    let folder = tempfile::tempdir().unwrap();
    let weights = &mut model.proto.graph.as_mut().unwrap().initializer[0];
    let (name, bytes) = (weights.name.clone(), weights.raw_data.clone());
    std::fs::write(folder.path().join("data"), &bytes).unwrap();
    let entry = |key: &str, value: String| graphc::onnx::proto::StringStringEntryProto { key: key.to_owned(), value };
    weights.external_data = vec![entry("location", "data".to_owned()), entry("length", bytes.len().to_string())];
    weights.raw_data = bytes::Bytes::new();
    weights.data_location = 1;
    model.folder = Folder::of(&folder.path().join("model.onnx"));
    let exposed = graphc::validate::with_all_outputs(&model).unwrap().graph.unwrap();
    let inside = exposed.initializer.iter().find(|tensor| tensor.name == name).unwrap();
    assert_eq!((&inside.raw_data, inside.data_location), (&bytes, 0));
    assert!(exposed.output.len() >= n_nodes, "each node's tensor is an output");
}
